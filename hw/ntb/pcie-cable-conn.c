/*
 * PCIe cable: one connection between the two ends, its socket and its reader
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One thread reads (pcie_cable_conn_run) and takes whatever the socket has
 * with one recvmsg().
 *
 * File descriptors: the kernel ends a recvmsg() behind the data that carried
 * descriptors, so they belong to the message that has the last byte of what
 * that call returned.  When that message is not complete the next recvmsg()
 * asks for no more than its rest.
 */

#include "qemu/osdep.h"
#include <poll.h>
#include "qapi/error.h"
#include "qemu/lockable.h"
#include "pcie-cable-conn-internal.h"
#include "trace.h"

static __thread bool conn_serving;

bool pcie_cable_conn_serving(void)
{
    return conn_serving;
}

PCIeCableConn *pcie_cable_conn_new(int fd, PCIeCableStats *stats,
                                   PCIeCableRequestFn *request, void *opaque)
{
    PCIeCableConn *conn = g_new0(PCIeCableConn, 1);

    conn->fd = fd;
    conn->refcount = 1;
    conn->stats = stats;
    conn->request = request;
    conn->opaque = opaque;
    qemu_mutex_init(&conn->tx_lock);
    qemu_cond_init(&conn->tx_cond);
    qemu_mutex_init(&conn->slot_lock);
    QSIMPLEQ_INIT(&conn->queue);
    conn->rx = g_malloc(CONN_RX_SIZE);
    return conn;
}

void pcie_cable_conn_ref(PCIeCableConn *conn)
{
    qatomic_inc(&conn->refcount);
}

void pcie_cable_conn_close_fds(int *fds, unsigned nfds)
{
    for (unsigned i = 0; i < nfds; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
            fds[i] = -1;
        }
    }
}

void pcie_cable_conn_unref(PCIeCableConn *conn)
{
    if (qatomic_fetch_dec(&conn->refcount) != 1) {
        return;
    }
    pcie_cable_conn_drop_queue(conn);
    pcie_cable_ring_free(conn->rx_ring);
    pcie_cable_ring_free(conn->tx_ring);
    close(conn->fd);
    qemu_mutex_destroy(&conn->slot_lock);
    qemu_cond_destroy(&conn->tx_cond);
    qemu_mutex_destroy(&conn->tx_lock);
    g_free(conn->rx);
    g_free(conn->reason);
    g_free(conn);
}

/*
 * Take what the peer has sent and nobody will read: left there it would make
 * the peer's next recvmsg() fail with ECONNRESET, whatever came before, and
 * not just end.  QEMU's own client (seen in 11.1.3) does not survive that.
 */
static void conn_discard(PCIeCableConn *conn)
{
    uint8_t buf[4096];

    while (RETRY_ON_EINTR(recv(conn->fd, buf, sizeof(buf),
                               MSG_DONTWAIT)) > 0) {
        continue;
    }
}

/* tx_lock held */
void pcie_cable_conn_close_locked(PCIeCableConn *conn, const char *reason)
{
    if (!conn->closed) {
        qatomic_set(&conn->closed, true);
        conn->reason = g_strdup(reason);
        shutdown(conn->fd, SHUT_RDWR);
        conn_discard(conn);
        qemu_cond_broadcast(&conn->tx_cond);
    }
}

void pcie_cable_conn_close(PCIeCableConn *conn, const char *reason)
{
    QEMU_LOCK_GUARD(&conn->tx_lock);
    pcie_cable_conn_close_locked(conn, reason);
}

static bool conn_closed(PCIeCableConn *conn)
{
    return qatomic_read(&conn->closed);
}

/* Receiving */

/* Take the descriptors that came with a recvmsg(). */
static bool conn_take_fds(PCIeCableConn *conn, struct msghdr *msg,
                          Error **errp)
{
    struct cmsghdr *cmsg;
    bool ok = true;

    for (cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
        unsigned n;

        if (cmsg->cmsg_level != SOL_SOCKET ||
            cmsg->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        n = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (unsigned i = 0; i < n; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(int));
            if (conn->nfds < VFU_MAX_FDS) {
                conn->fds[conn->nfds++] = fd;
            } else {
                close(fd);
                ok = false;
            }
        }
    }
    if (!ok || msg->msg_flags & MSG_CTRUNC) {
        error_setg(errp, "more than %d file descriptors", VFU_MAX_FDS);
        return false;
    }
    return true;
}

/*
 * How many bytes the message at the start of the buffer still lacks, as far
 * as it is known; at least 1.
 */
static size_t conn_missing(PCIeCableConn *conn)
{
    size_t have = conn->rx_end - conn->rx_start;
    VfuHdr hdr;

    if (have < sizeof(hdr)) {
        return sizeof(hdr) - have;
    }
    memcpy(&hdr, conn->rx + conn->rx_start, sizeof(hdr));
    return hdr.size > have ? MIN(hdr.size, VFU_MAX_MSG) - have : 1;
}

/* Sleep until there is something to receive, and through anything else. */
static void conn_poll(PCIeCableConn *conn)
{
    struct pollfd pfd = { .fd = conn->fd, .events = POLLIN };

    RETRY_ON_EINTR(poll(&pfd, 1, -1));
}

/* Returns 1 for data, 0 for the end, a negative errno or (@errp set) -1. */
static int conn_fill(PCIeCableConn *conn, Error **errp)
{
    union {
        struct cmsghdr align;
        char buf[CMSG_SPACE(sizeof(int) * VFU_MAX_FDS)];
    } control;
    struct iovec iov;
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1,
        .msg_control = control.buf, .msg_controllen = sizeof(control.buf),
    };
    unsigned had_fds = conn->nfds;
    ssize_t n;

    if (conn->rx_start == conn->rx_end) {
        conn->rx_start = conn->rx_end = 0;
    } else if (CONN_RX_SIZE - conn->rx_start < VFU_MAX_MSG) {
        memmove(conn->rx, conn->rx + conn->rx_start,
                conn->rx_end - conn->rx_start);
        conn->rx_end -= conn->rx_start;
        conn->rx_start = 0;
    }
    iov.iov_base = conn->rx + conn->rx_end;
    iov.iov_len = CONN_RX_SIZE - conn->rx_end;
    if (conn->nfds) {
        /* Whose descriptors?  Do not read on into the next message. */
        iov.iov_len = conn_missing(conn);
    }

    n = RETRY_ON_EINTR(recvmsg(conn->fd, &msg, MSG_CMSG_CLOEXEC));
    if (n <= 0) {
        return n < 0 && errno != ECONNRESET ? -errno : 0;
    }
    conn->rx_end += n;
    if (!conn_take_fds(conn, &msg, errp)) {
        return -1;
    }
    if (conn->nfds != had_fds) {
        conn->fds_pos = conn->rx_pos + (conn->rx_end - conn->rx_start);
    }
    return 1;
}

static bool conn_dispatch(PCIeCableConn *conn, const VfuHdr *hdr,
                          const uint8_t *payload, size_t len, Error **errp)
{
    uint64_t end = conn->rx_pos + hdr->size;
    PCIeCableRequest req = {
        .hdr = *hdr,
        .payload = payload,
        .len = len,
    };
    bool ok;

    stat64_add(&conn->stats->received, 1);
    trace_pcie_cable_receive(conn, hdr->id, hdr->command, hdr->flags,
                             hdr->size);
    if (conn->nfds && conn->fds_pos <= end) {
        req.nfds = conn->nfds;
        memcpy(req.fds, conn->fds, sizeof(int) * conn->nfds);
        conn->nfds = 0;
    }
    if (hdr->flags & ~VFU_F_KNOWN) {
        error_setg(errp, "unknown message flags 0x%x", hdr->flags);
        ok = false;
    } else if ((hdr->flags & VFU_F_TYPE) == VFU_F_REPLY) {
        ok = pcie_cable_conn_handle_reply(conn, hdr, payload, len, errp);
    } else if ((hdr->flags & VFU_F_TYPE) == VFU_F_REQUEST) {
        ok = conn->request(conn->opaque, conn, &req, errp);
    } else {
        error_setg(errp, "unknown message type %u", hdr->flags & VFU_F_TYPE);
        ok = false;
    }
    pcie_cable_conn_close_fds(req.fds, req.nfds);
    return ok;
}

/* What the peer posted, as the request that it would have sent. */
static bool conn_dispatch_posted(PCIeCableConn *conn,
                                 const VfuRingEntry *entry, Error **errp)
{
    const VfuRegionRW *rw = &entry->write.rw;
    PCIeCableRequest req = {
        .hdr = {
            .command = VFU_REGION_WRITE,
            .size = sizeof(VfuHdr) + sizeof(*rw) + rw->count,
            .flags = VFU_F_REQUEST | VFU_F_NO_REPLY |
                     entry->function << VFU_F_FUNCTION_SHIFT,
        },
        .payload = (const uint8_t *)&entry->write,
        .len = sizeof(*rw) + rw->count,
    };

    if (rw->count > VFU_WRITE_ONE_MAX || rw->region > VFU_REGION_BAR5 ||
        entry->function > VFU_F_FUNCTION >> VFU_F_FUNCTION_SHIFT) {
        error_setg(errp, "posted write of %u bytes to region %u of function "
                   "%u", rw->count, rw->region, entry->function);
        return false;
    }
    stat64_add(&conn->stats->received, 1);
    trace_pcie_cable_posted(conn, entry->function, rw->region, rw->offset,
                            rw->count, entry->after);
    return conn->request(conn->opaque, conn, &req, errp);
}

/* Carry out what was posted before the next message. */
static bool conn_handle_posted(PCIeCableConn *conn, Error **errp)
{
    VfuRingEntry entry;
    uint32_t level;

    if (!conn->rx_ring) {
        return true;
    }
    if (!pcie_cable_ring_level(conn->rx_ring, &level, errp)) {
        return false;
    }
    while (pcie_cable_ring_get(conn->rx_ring, conn->rx_count, &level,
                               &entry)) {
        if (!conn_dispatch_posted(conn, &entry, errp) || conn_closed(conn)) {
            return false;
        }
    }
    return true;
}

bool pcie_cable_conn_take_ring(PCIeCableConn *conn, PCIeCableRequest *req,
                               Error **errp)
{
    VfuPostedRing msg;

    if (req->len != sizeof(msg) || req->nfds != VFU_RING_FDS) {
        error_setg(errp, "POSTED_RING of %zu bytes with %u file descriptors",
                   req->len, req->nfds);
        return false;
    }
    memcpy(&msg, req->payload, sizeof(msg));
    if (msg.argsz != sizeof(msg) || msg.entries != VFU_RING_ENTRIES) {
        error_setg(errp, "malformed POSTED_RING");
        return false;
    }
    if (conn->rx_ring) {
        error_setg(errp, "a second POSTED_RING");
        return false;
    }
    conn->rx_ring = pcie_cable_ring_open(req->fds, conn->fd, errp);
    return conn->rx_ring;
}

/*
 * Handle the complete messages in the buffer; false ends it, with @errp or
 * because this end has closed.
 */
static bool conn_handle_buffer(PCIeCableConn *conn, Error **errp)
{
    while (conn->rx_end - conn->rx_start >= sizeof(VfuHdr)) {
        const uint8_t *msg = conn->rx + conn->rx_start;
        VfuHdr hdr;

        memcpy(&hdr, msg, sizeof(hdr));
        if (hdr.size < sizeof(hdr) || hdr.size > VFU_MAX_MSG) {
            error_setg(errp, "message of %u bytes (command %u), allowed are "
                       "%zu to %u", hdr.size, hdr.command, sizeof(hdr),
                       VFU_MAX_MSG);
            return false;
        }
        if (conn->rx_end - conn->rx_start < hdr.size) {
            break;
        }
        if (!conn_handle_posted(conn, errp) ||
            !conn_dispatch(conn, &hdr, msg + sizeof(hdr),
                           hdr.size - sizeof(hdr), errp)) {
            return false;
        }
        conn->rx_count++;
        conn->rx_start += hdr.size;
        conn->rx_pos += hdr.size;
        if (conn_closed(conn)) {
            return false;
        }
    }
    return true;
}

/*
 * Sleep until there is something to receive, carrying out posted writes.
 * Returns false and @errp when the peer broke the ring.
 */
static bool conn_wait(PCIeCableConn *conn, bool use_poll, Error **errp)
{
    if (!conn->rx_ring) {
        if (use_poll) {
            conn_poll(conn);
        }
        return true;
    }
    while (conn_handle_posted(conn, errp)) {
        if (pcie_cable_ring_wait(conn->rx_ring, conn->rx_count)) {
            return true;
        }
    }
    return false;
}

char *pcie_cable_conn_run(PCIeCableConn *conn, bool use_poll)
{
    Error *err = NULL;
    QemuThread drain;
    int r = -1;

    qemu_thread_create(&drain, "cable-drain", pcie_cable_conn_drain, conn,
                       QEMU_THREAD_JOINABLE);
    conn_serving = true;
    while (conn_wait(conn, use_poll, &err)) {
        r = conn_fill(conn, &err);
        if (r <= 0 || !conn_handle_buffer(conn, &err)) {
            break;
        }
    }
    if (r == 0 && !conn_closed(conn)) {
        /* The last that a peer which is gone had posted */
        conn_handle_posted(conn, &err);
    }
    conn_serving = false;

    if (err) {
        pcie_cable_conn_close(conn, error_get_pretty(err));
        error_free(err);
    } else if (r < 0) {
        pcie_cable_conn_close(conn, strerror(-r));
    } else {
        pcie_cable_conn_close(conn, "the peer closed it");
    }
    qemu_thread_join(&drain);
    pcie_cable_conn_fail_slots(conn);
    /* Of unknown kind still: not to be closed with the BQL held */
    pcie_cable_conn_close_fds(conn->fds, conn->nfds);
    conn->nfds = 0;
    return g_strdup(conn->reason);
}
