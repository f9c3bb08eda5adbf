/*
 * PCIe cable: one connection between the two ends
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One thread reads (pcie_cable_conn_run), any thread sends.  A message goes
 * out with one sendmsg() in the thread that has it; only what the socket does
 * not take is queued for the drain thread, so that nobody ever blocks in a
 * send.  The reader takes whatever the socket has with one recvmsg().
 *
 * File descriptors: the kernel ends a recvmsg() behind the data that carried
 * descriptors, so they belong to the message that has the last byte of what
 * that call returned.  When that message is not complete the next recvmsg()
 * asks for no more than its rest.
 */

#include "qemu/osdep.h"
#include <poll.h>
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/iov.h"
#include "qemu/lockable.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "qemu/sockets.h"
#include "qemu/thread.h"
#include "hw/core/cpu.h"
#include "hw/ntb/pcie-cable-conn.h"
#include "system/qtest.h"
#include "trace.h"

/* Requests that wait for a reply; the index is the low part of the ID. */
#define CONN_SLOT_BITS      10
#define CONN_NUM_SLOTS      (1 << CONN_SLOT_BITS)
#define CONN_SLOT_MASK      (CONN_NUM_SLOTS - 1)

/* A peer that lets this much pile up does not read: the link is closed. */
#define CONN_BACKLOG_MAX    (16 * 1024 * 1024)
/* Posted writes wait above this much. */
#define CONN_BACKLOG_HIGH   (256 * 1024)

#define CONN_RX_SIZE        (VFU_MAX_MSG * 2)

typedef enum ConnSlotState {
    SLOT_FREE,
    SLOT_WAITING,               /* a thread waits in pcie_cable_conn_call() */
    SLOT_ASYNC,                 /* done() will be called */
    SLOT_ABANDONED,             /* timed out; its ID stays taken */
} ConnSlotState;

typedef struct ConnSlot {
    ConnSlotState state;
    uint8_t generation;
    uint16_t command;
    /* SLOT_WAITING: on the waiter's stack */
    QemuSemaphore *wake;
    void *reply;
    size_t reply_len;
    size_t *reply_got;          /* set: reply_len is a maximum */
    int *error;
    /* SLOT_ASYNC */
    PCIeCableReplyFn *done;
    void *opaque;
} ConnSlot;

/* What the socket did not take. */
typedef struct ConnQueued {
    QSIMPLEQ_ENTRY(ConnQueued) next;
    size_t len;
    size_t sent;
    unsigned nfds;
    int fds[VFU_MAX_FDS];
    uint8_t data[];
} ConnQueued;

struct PCIeCableConn {
    int fd;
    int refcount;
    PCIeCableStats *stats;
    PCIeCableRequestFn *request;
    void *opaque;

    /* Protects the sending side: order on the wire, the queue, closed. */
    QemuMutex tx_lock;
    QemuCond tx_cond;           /* queue changed, or closed */
    QSIMPLEQ_HEAD(, ConnQueued) queue;
    size_t queued;
    bool closed;
    char *reason;

    /* Protects the slots.  Inside tx_lock where both are taken. */
    QemuMutex slot_lock;
    ConnSlot slots[CONN_NUM_SLOTS];
    unsigned next_slot;
    bool reported_timeout;      /* atomic */

    /* Reader only */
    uint8_t *rx;
    size_t rx_start, rx_end;
    uint64_t rx_pos;            /* stream position of rx_start */
    uint64_t fds_pos;           /* the byte before belongs with fds[] */
    int fds[VFU_MAX_FDS];
    unsigned nfds;
};

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

static void conn_close_fds(int *fds, unsigned nfds)
{
    for (unsigned i = 0; i < nfds; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
            fds[i] = -1;
        }
    }
}

static void conn_drop_queue(PCIeCableConn *conn)
{
    ConnQueued *q;

    while ((q = QSIMPLEQ_FIRST(&conn->queue))) {
        QSIMPLEQ_REMOVE_HEAD(&conn->queue, next);
        conn_close_fds(q->fds, q->nfds);
        g_free(q);
    }
    conn->queued = 0;
}

void pcie_cable_conn_unref(PCIeCableConn *conn)
{
    if (qatomic_fetch_dec(&conn->refcount) != 1) {
        return;
    }
    conn_drop_queue(conn);
    conn_close_fds(conn->fds, conn->nfds);
    close(conn->fd);
    qemu_mutex_destroy(&conn->slot_lock);
    qemu_cond_destroy(&conn->tx_cond);
    qemu_mutex_destroy(&conn->tx_lock);
    g_free(conn->rx);
    g_free(conn->reason);
    g_free(conn);
}

/* tx_lock held */
static void conn_close_locked(PCIeCableConn *conn, const char *reason)
{
    if (!conn->closed) {
        conn->closed = true;
        conn->reason = g_strdup(reason);
        shutdown(conn->fd, SHUT_RDWR);
        qemu_cond_broadcast(&conn->tx_cond);
    }
}

void pcie_cable_conn_close(PCIeCableConn *conn, const char *reason)
{
    QEMU_LOCK_GUARD(&conn->tx_lock);
    conn_close_locked(conn, reason);
}

/* Sending */

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
                conn_close_fds(q->fds, q->nfds);
                g_free(q);
                return false;
            }
        }
    }
    iov_to_buf(iov, niov, 0, q->data, len);
    QSIMPLEQ_INSERT_TAIL(&conn->queue, q, next);
    conn->queued += len;
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
            conn_close_locked(conn, "the peer is gone");
            return false;
        }
    }
    if (sent < len) {
        if (conn->queued > CONN_BACKLOG_MAX) {
            conn_close_locked(conn, "the peer does not read");
            return false;
        }
        if (!conn_enqueue(conn, iov, niov, sent, fds, nfds)) {
            conn_close_locked(conn, "out of file descriptors");
            return false;
        }
    }
    stat64_add(&conn->stats->sent, 1);
    return true;
}

static bool conn_send_message(PCIeCableConn *conn, VfuHdr *hdr,
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
static void *conn_drain(void *opaque)
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
            conn_close_locked(conn, "the peer is gone");
        } else if (n == 0) {
            struct pollfd pfd = { .fd = conn->fd, .events = POLLOUT };

            qemu_mutex_unlock(&conn->tx_lock);
            poll(&pfd, 1, -1);
            qemu_mutex_lock(&conn->tx_lock);
        } else {
            q->sent += n;
            if (q->sent == q->len) {
                QSIMPLEQ_REMOVE_HEAD(&conn->queue, next);
                conn->queued -= q->len;
                conn_close_fds(q->fds, q->nfds);
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

    return conn_send_message(conn, &hdr, fixed, fixed_len, data, data_len,
                             NULL, 0);
}

void pcie_cable_conn_throttle(PCIeCableConn *conn, uint32_t timeout_ms)
{
    bool locked;

    if (qatomic_read(&conn->queued) < CONN_BACKLOG_HIGH || conn_serving) {
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
        conn_send_message(conn, &reply, fixed, fixed_len, data, data_len,
                          NULL, 0);
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
        conn_send_message(conn, &reply, NULL, 0, NULL, 0, NULL, 0);
    }
}

/* Requests that wait for a reply */

/* Returns a free slot, slot_lock held, or NULL when all are taken. */
static ConnSlot *conn_get_slot(PCIeCableConn *conn, uint16_t command,
                               uint16_t *id)
{
    for (unsigned i = 0; i < CONN_NUM_SLOTS; i++) {
        unsigned index = (conn->next_slot + i) & CONN_SLOT_MASK;
        ConnSlot *slot = &conn->slots[index];

        if (slot->state == SLOT_FREE) {
            conn->next_slot = index + 1;
            slot->generation++;
            slot->command = command;
            *id = index | slot->generation << CONN_SLOT_BITS;
            return slot;
        }
    }
    return NULL;
}

void pcie_cable_conn_send_async(PCIeCableConn *conn, uint16_t command,
                                unsigned fn,
                                const void *fixed, size_t fixed_len,
                                const void *data, size_t data_len,
                                const int *fds, unsigned nfds,
                                PCIeCableReplyFn *done, void *opaque)
{
    VfuHdr hdr = {
        .command = command,
        .flags = VFU_F_REQUEST | fn << VFU_F_FUNCTION_SHIFT,
    };
    ConnSlot *slot;

    WITH_QEMU_LOCK_GUARD(&conn->slot_lock) {
        slot = conn_get_slot(conn, command, &hdr.id);
        if (slot) {
            slot->state = SLOT_ASYNC;
            slot->done = done;
            slot->opaque = opaque;
        }
    }
    if (!slot) {
        pcie_cable_conn_close(conn, "too many requests without a reply");
        done(opaque, ECONNRESET);
        return;
    }
    if (!conn_send_message(conn, &hdr, fixed, fixed_len, data, data_len,
                           fds, nfds)) {
        bool mine = false;

        /* Unless the end of pcie_cable_conn_run() completed it already. */
        WITH_QEMU_LOCK_GUARD(&conn->slot_lock) {
            if (slot->state == SLOT_ASYNC && slot->opaque == opaque &&
                slot->done == done) {
                slot->state = SLOT_FREE;
                mine = true;
            }
        }
        if (mine) {
            done(opaque, ECONNRESET);
        }
    }
}

static int conn_call(PCIeCableConn *conn, uint16_t command, unsigned fn,
                     const void *fixed, size_t fixed_len,
                     const void *data, size_t data_len,
                     void *reply, size_t reply_len, size_t *reply_got,
                     uint32_t timeout_ms)
{
    VfuHdr hdr = {
        .command = command,
        .flags = VFU_F_REQUEST | fn << VFU_F_FUNCTION_SHIFT,
    };
    bool locked = bql_locked();
    QemuSemaphore wake;
    ConnSlot *slot;
    int error = ECONNRESET;

    /*
     * Only a vCPU's callback is written for the BQL to go away under it (in
     * a qtest the main loop plays the vCPU); a device of the main loop that
     * reaches here by DMA is not.
     */
    if (conn_serving || (locked && !current_cpu && !qtest_enabled())) {
        return -EDEADLK;
    }
    timeout_ms = MIN(timeout_ms, INT_MAX);
    qemu_sem_init(&wake, 0);
    WITH_QEMU_LOCK_GUARD(&conn->slot_lock) {
        slot = conn_get_slot(conn, command, &hdr.id);
        if (slot) {
            slot->state = SLOT_WAITING;
            slot->wake = &wake;
            slot->reply = reply;
            slot->reply_len = reply_len;
            slot->reply_got = reply_got;
            slot->error = &error;
        }
    }
    if (!slot) {
        qemu_sem_destroy(&wake);
        stat64_add(&conn->stats->timeouts, 1);
        return -ETIMEDOUT;
    }

    if (conn_send_message(conn, &hdr, fixed, fixed_len, data, data_len,
                          NULL, 0)) {
        int timed_out = 0;

        if (locked) {
            bql_unlock();
        }
        if (timeout_ms) {
            timed_out = qemu_sem_timedwait(&wake, timeout_ms);
        } else {
            qemu_sem_wait(&wake);
        }
        if (locked) {
            bql_lock();
        }
        if (timed_out) {
            QEMU_LOCK_GUARD(&conn->slot_lock);
            if (slot->state == SLOT_WAITING && slot->wake == &wake) {
                slot->state = SLOT_ABANDONED;
                error = ETIMEDOUT;
            }
        }
    } else {
        QEMU_LOCK_GUARD(&conn->slot_lock);
        if (slot->state == SLOT_WAITING && slot->wake == &wake) {
            slot->state = SLOT_FREE;
        }
    }
    /* Whoever took the slot may still be inside qemu_sem_post(). */
    WITH_QEMU_LOCK_GUARD(&conn->slot_lock) {
        qemu_sem_destroy(&wake);
    }
    if (error == ETIMEDOUT) {
        stat64_add(&conn->stats->timeouts, 1);
        trace_pcie_cable_timeout(conn, hdr.id, command);
        if (!qatomic_xchg(&conn->reported_timeout, true)) {
            warn_report("PCIe cable: completion timeout: command %u not "
                        "answered within %u ms (the next ones on this "
                        "connection are only counted)", command, timeout_ms);
        }
    }
    return -error;
}

int pcie_cable_conn_call(PCIeCableConn *conn, uint16_t command, unsigned fn,
                         const void *fixed, size_t fixed_len,
                         const void *data, size_t data_len,
                         void *reply, size_t reply_len, uint32_t timeout_ms)
{
    return conn_call(conn, command, fn, fixed, fixed_len, data, data_len,
                     reply, reply_len, NULL, timeout_ms);
}

int pcie_cable_conn_call_version(PCIeCableConn *conn, const GByteArray *offer,
                                 void *reply, size_t reply_max, size_t *got,
                                 uint32_t timeout_ms)
{
    return conn_call(conn, VFU_VERSION, 0, offer->data, offer->len, NULL, 0,
                     reply, reply_max, got, timeout_ms);
}

/* Complete a slot; slot_lock held for SLOT_WAITING.  Frees the slot. */
static void conn_wake_slot(ConnSlot *slot, int error)
{
    *slot->error = error;
    slot->state = SLOT_FREE;
    qemu_sem_post(slot->wake);
}

static bool conn_handle_reply(PCIeCableConn *conn, const VfuHdr *hdr,
                              const uint8_t *payload, size_t len,
                              Error **errp)
{
    unsigned index = hdr->id & CONN_SLOT_MASK;
    ConnSlot *slot = &conn->slots[index];
    PCIeCableReplyFn *done = NULL;
    void *opaque = NULL;
    int error = 0;

    if (hdr->flags & VFU_F_ERROR) {
        error = hdr->error > 0 && hdr->error < 4096 ? hdr->error : EIO;
    }
    WITH_QEMU_LOCK_GUARD(&conn->slot_lock) {
        uint16_t id = index | slot->generation << CONN_SLOT_BITS;

        if (slot->state == SLOT_FREE || hdr->id != id ||
            hdr->command != slot->command) {
            error_setg(errp, "reply %u to a request that nobody made "
                       "(command %u)", hdr->id, hdr->command);
            return false;
        }
        switch (slot->state) {
        case SLOT_WAITING:
            if (!error && (slot->reply_got ? len > slot->reply_len
                                           : len != slot->reply_len)) {
                error_setg(errp, "reply of %zu bytes to command %u, "
                           "expected %zu", len, hdr->command,
                           slot->reply_len);
                conn_wake_slot(slot, EPROTO);
                return false;
            }
            if (!error && len) {
                memcpy(slot->reply, payload, len);
            }
            if (slot->reply_got) {
                *slot->reply_got = len;
            }
            conn_wake_slot(slot, error);
            break;
        case SLOT_ASYNC:
            done = slot->done;
            opaque = slot->opaque;
            /* fall through */
        default:
            slot->state = SLOT_FREE;
            break;
        }
    }
    if (done) {
        done(opaque, error);
    }
    return true;
}

/* The connection is closed: nothing of this will be answered. */
static void conn_fail_slots(PCIeCableConn *conn)
{
    for (unsigned i = 0; i < CONN_NUM_SLOTS; i++) {
        ConnSlot *slot = &conn->slots[i];
        PCIeCableReplyFn *done = NULL;
        void *opaque = NULL;

        WITH_QEMU_LOCK_GUARD(&conn->slot_lock) {
            if (slot->state == SLOT_WAITING) {
                conn_wake_slot(slot, ECONNRESET);
            } else if (slot->state == SLOT_ASYNC) {
                done = slot->done;
                opaque = slot->opaque;
                slot->state = SLOT_FREE;
            }
        }
        if (done) {
            done(opaque, ECONNRESET);
        }
    }
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

/* Returns 1 for data, 0 for the end, -1 for an error. */
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
        return n < 0 && errno != ECONNRESET ? -1 : 0;
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
        ok = conn_handle_reply(conn, hdr, payload, len, errp);
    } else if ((hdr->flags & VFU_F_TYPE) == VFU_F_REQUEST) {
        ok = conn->request(conn->opaque, conn, &req, errp);
    } else {
        error_setg(errp, "unknown message type %u", hdr->flags & VFU_F_TYPE);
        ok = false;
    }
    conn_close_fds(req.fds, req.nfds);
    return ok;
}

/* Handle the complete messages in the buffer. */
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
        if (!conn_dispatch(conn, &hdr, msg + sizeof(hdr),
                           hdr.size - sizeof(hdr), errp)) {
            return false;
        }
        conn->rx_start += hdr.size;
        conn->rx_pos += hdr.size;
    }
    return true;
}

char *pcie_cable_conn_run(PCIeCableConn *conn)
{
    Error *err = NULL;
    QemuThread drain;
    int r;

    qemu_thread_create(&drain, "cable-drain", conn_drain, conn,
                       QEMU_THREAD_JOINABLE);
    conn_serving = true;
    do {
        r = conn_fill(conn, &err);
    } while (r > 0 && conn_handle_buffer(conn, &err));
    conn_serving = false;

    if (err) {
        pcie_cable_conn_close(conn, error_get_pretty(err));
        error_free(err);
    } else if (r < 0) {
        pcie_cable_conn_close(conn, strerror(errno));
    } else {
        pcie_cable_conn_close(conn, "the peer closed it");
    }
    qemu_thread_join(&drain);
    conn_fail_slots(conn);
    return g_strdup(conn->reason);
}
