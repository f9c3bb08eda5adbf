/*
 * PCIe cable: sending on a connection
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A message goes out with one sendmsg() in the thread that has it; only what
 * the socket does not take is queued for the drain thread, so that nobody
 * ever blocks in a send.
 */

#include "qemu/osdep.h"
#include <poll.h>
#include "qapi/error.h"
#include "qemu/iov.h"
#include "qemu/lockable.h"
#include "qemu/main-loop.h"
#include "pcie-cable-conn-internal.h"
#include "trace.h"

void pcie_cable_conn_drop_queue(PCIeCableConn *conn)
{
    ConnQueued *q;

    while ((q = QSIMPLEQ_FIRST(&conn->queue))) {
        QSIMPLEQ_REMOVE_HEAD(&conn->queue, next);
        pcie_cable_conn_close_fds(q->fds, q->nfds);
        g_free(q);
    }
    qatomic_set(&conn->queued, 0);
}

/* Returns the number of bytes taken, 0 for none, -1 for a dead socket. */
static ssize_t conn_sendmsg(PCIeCableConn *conn, struct iovec *iov, int niov,
                            const int *fds, unsigned nfds)
{
    union {
        struct cmsghdr align;
        char buf[CMSG_SPACE(sizeof(int) * VFU_MAX_FDS)];
    } control = { 0 };
    struct msghdr msg = { .msg_iov = iov, .msg_iovlen = niov };
    ssize_t n;

    if (nfds) {
        struct cmsghdr *cmsg;

        msg.msg_control = control.buf;
        msg.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
        cmsg = CMSG_FIRSTHDR(&msg);
        cmsg->cmsg_level = SOL_SOCKET;
        cmsg->cmsg_type = SCM_RIGHTS;
        cmsg->cmsg_len = CMSG_LEN(sizeof(int) * nfds);
        memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * nfds);
    }
    n = RETRY_ON_EINTR(sendmsg(conn->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL));
    if (n < 0) {
        return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
    }
    return n;
}

/*
 * Put what is left of a message behind the others.  tx_lock held.
 * Returns false when a descriptor cannot be duplicated.
 */
static bool conn_enqueue(PCIeCableConn *conn, const struct iovec *iov,
                         int niov, size_t sent, const int *fds, unsigned nfds)
{
    size_t len = iov_size(iov, niov);
    ConnQueued *q = g_malloc(sizeof(*q) + len);

    q->len = len;
    q->sent = sent;
    q->nfds = 0;
    if (!sent) {
        for (; q->nfds < nfds; q->nfds++) {
            q->fds[q->nfds] = qemu_dup(fds[q->nfds]);
            if (q->fds[q->nfds] < 0) {
                pcie_cable_conn_close_fds(q->fds, q->nfds);
                g_free(q);
                return false;
            }
        }
    }
    iov_to_buf(iov, niov, 0, q->data, len);
    QSIMPLEQ_INSERT_TAIL(&conn->queue, q, next);
    qatomic_set(&conn->queued, conn->queued + len);
    qemu_cond_broadcast(&conn->tx_cond);
    return true;
}

/* tx_lock held.  Returns false when the connection is (now) closed. */
static bool conn_send_locked(PCIeCableConn *conn, struct iovec *iov, int niov,
                             const int *fds, unsigned nfds)
{
    size_t len = iov_size(iov, niov);
    ssize_t sent = 0;

    if (conn->closed) {
        return false;
    }
    if (QSIMPLEQ_EMPTY(&conn->queue)) {
        sent = conn_sendmsg(conn, iov, niov, fds, nfds);
        if (sent < 0) {
            pcie_cable_conn_close_locked(conn, "the peer is gone");
            return false;
        }
    }
    if (sent < len) {
        if (conn->queued > CONN_BACKLOG_MAX) {
            pcie_cable_conn_close_locked(conn, "the peer does not read");
            return false;
        }
        if (!conn_enqueue(conn, iov, niov, sent, fds, nfds)) {
            pcie_cable_conn_close_locked(conn, "out of file descriptors");
            return false;
        }
    }
    conn->tx_count++;
    stat64_add(&conn->stats->sent, 1);
    return true;
}

bool pcie_cable_conn_send_message(PCIeCableConn *conn, VfuHdr *hdr,
                                  const void *fixed, size_t fixed_len,
                                  const void *data, size_t data_len,
                                  const int *fds, unsigned nfds)
{
    struct iovec iov[3] = {
        { .iov_base = hdr, .iov_len = sizeof(*hdr) },
        { .iov_base = (void *)fixed, .iov_len = fixed_len },
        { .iov_base = (void *)data, .iov_len = data_len },
    };

    hdr->size = sizeof(*hdr) + fixed_len + data_len;
    trace_pcie_cable_send(conn, hdr->id, hdr->command, hdr->flags, hdr->size);
    QEMU_LOCK_GUARD(&conn->tx_lock);
    return conn_send_locked(conn, iov, data_len ? 3 : fixed_len ? 2 : 1,
                            fds, nfds);
}

/* The drain thread: sends what the socket did not take at once. */
void *pcie_cable_conn_drain(void *opaque)
{
    PCIeCableConn *conn = opaque;

    qemu_mutex_lock(&conn->tx_lock);
    while (!conn->closed) {
        ConnQueued *q = QSIMPLEQ_FIRST(&conn->queue);
        struct iovec iov;
        ssize_t n;

        if (!q) {
            qemu_cond_wait(&conn->tx_cond, &conn->tx_lock);
            continue;
        }
        iov.iov_base = q->data + q->sent;
        iov.iov_len = q->len - q->sent;
        n = conn_sendmsg(conn, &iov, 1, q->fds, q->sent ? 0 : q->nfds);
        if (n < 0) {
            pcie_cable_conn_close_locked(conn, "the peer is gone");
        } else if (n == 0) {
            struct pollfd pfd = { .fd = conn->fd, .events = POLLOUT };

            qemu_mutex_unlock(&conn->tx_lock);
            poll(&pfd, 1, -1);
            qemu_mutex_lock(&conn->tx_lock);
        } else {
            q->sent += n;
            if (q->sent == q->len) {
                QSIMPLEQ_REMOVE_HEAD(&conn->queue, next);
                qatomic_set(&conn->queued, conn->queued - q->len);
                pcie_cable_conn_close_fds(q->fds, q->nfds);
                g_free(q);
                qemu_cond_broadcast(&conn->tx_cond);
            }
        }
    }
    qemu_mutex_unlock(&conn->tx_lock);
    return NULL;
}

bool pcie_cable_conn_send(PCIeCableConn *conn, uint16_t command, unsigned fn,
                          const void *fixed, size_t fixed_len,
                          const void *data, size_t data_len)
{
    VfuHdr hdr = {
        .command = command,
        .flags = VFU_F_REQUEST | VFU_F_NO_REPLY | fn << VFU_F_FUNCTION_SHIFT,
    };

    return pcie_cable_conn_send_message(conn, &hdr, fixed, fixed_len, data,
                                        data_len, NULL, 0);
}

bool pcie_cable_conn_offer_ring(PCIeCableConn *conn, Error **errp)
{
    VfuHdr hdr = {
        .command = VFU_POSTED_RING,
        .flags = VFU_F_REQUEST | VFU_F_NO_REPLY,
    };
    VfuPostedRing msg = {
        .argsz = sizeof(msg),
        .entries = VFU_RING_ENTRIES,
    };
    int fds[VFU_RING_FDS];
    PCIeCableRing *ring = pcie_cable_ring_new(fds, errp);

    if (!ring) {
        return false;
    }
    if (!pcie_cable_conn_send_message(conn, &hdr, &msg, sizeof(msg), NULL, 0,
                                      fds, VFU_RING_FDS)) {
        error_setg(errp, "the connection is closed");
        pcie_cable_ring_free(ring);
        return false;
    }
    pcie_cable_ring_sent(ring);
    QEMU_LOCK_GUARD(&conn->tx_lock);
    conn->tx_ring = ring;
    return true;
}

/* tx_lock held.  Returns false when there is no ring or no room in it. */
static bool conn_put(PCIeCableConn *conn, unsigned fn, const VfuRegionRW *rw,
                     const void *data, bool *wake)
{
    VfuRingEntry entry = {
        .write.rw = *rw,
        .function = fn,
        .after = conn->tx_count,
    };

    if (!conn->tx_ring || conn->closed) {
        return false;
    }
    memcpy(entry.write.data, data, rw->count);
    if (!pcie_cable_ring_put(conn->tx_ring, &entry, wake)) {
        return false;
    }
    stat64_add(&conn->stats->sent, 1);
    return true;
}

void pcie_cable_conn_post(PCIeCableConn *conn, unsigned fn,
                          const VfuRegionRW *rw, const void *data)
{
    bool put, wake = false;

    assert(rw->count <= VFU_WRITE_ONE_MAX);
    WITH_QEMU_LOCK_GUARD(&conn->tx_lock) {
        put = conn_put(conn, fn, rw, data, &wake);
    }
    if (wake) {
        pcie_cable_ring_wake(conn->tx_ring);
    }
    if (!put) {
        /* Whatever is put meanwhile says what it comes behind. */
        pcie_cable_conn_send(conn, VFU_REGION_WRITE, fn, rw, sizeof(*rw),
                             data, rw->count);
    }
}

void pcie_cable_conn_throttle(PCIeCableConn *conn, uint32_t timeout_ms)
{
    bool locked;

    if (qatomic_read(&conn->queued) < CONN_BACKLOG_HIGH ||
        !pcie_cable_conn_may_wait()) {
        return;
    }
    locked = bql_locked();
    if (locked) {
        bql_unlock();
    }
    qemu_mutex_lock(&conn->tx_lock);
    while (!conn->closed && conn->queued >= CONN_BACKLOG_HIGH) {
        if (!timeout_ms) {
            qemu_cond_wait(&conn->tx_cond, &conn->tx_lock);
        } else if (!qemu_cond_timedwait(&conn->tx_cond, &conn->tx_lock,
                                        timeout_ms)) {
            break;
        }
    }
    qemu_mutex_unlock(&conn->tx_lock);
    if (locked) {
        bql_lock();
    }
}

void pcie_cable_conn_reply(PCIeCableConn *conn, const VfuHdr *hdr,
                           const void *fixed, size_t fixed_len,
                           const void *data, size_t data_len)
{
    VfuHdr reply = {
        .id = hdr->id,
        .command = hdr->command,
        .flags = VFU_F_REPLY | (hdr->flags & VFU_F_FUNCTION),
    };

    if (!(hdr->flags & VFU_F_NO_REPLY)) {
        pcie_cable_conn_send_message(conn, &reply, fixed, fixed_len, data,
                                     data_len, NULL, 0);
    }
}

void pcie_cable_conn_reply_error(PCIeCableConn *conn, const VfuHdr *hdr,
                                 int error)
{
    VfuHdr reply = {
        .id = hdr->id,
        .command = hdr->command,
        .flags = VFU_F_REPLY | VFU_F_ERROR | (hdr->flags & VFU_F_FUNCTION),
        .error = error,
    };

    if (!(hdr->flags & VFU_F_NO_REPLY)) {
        pcie_cable_conn_send_message(conn, &reply, NULL, 0, NULL, 0, NULL, 0);
    }
}
