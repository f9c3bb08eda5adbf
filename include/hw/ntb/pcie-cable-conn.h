/*
 * PCIe cable: one connection between the two ends
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Framing, file descriptors, requests and replies in both directions.  Knows
 * nothing of PCI.  Sending never blocks and is allowed in any thread, with or
 * without the BQL; what the socket does not take at once is queued.  Replies
 * and requests of the peer are handled in the one thread that is inside
 * pcie_cable_conn_run().
 */
#ifndef HW_NTB_PCIE_CABLE_CONN_H
#define HW_NTB_PCIE_CABLE_CONN_H

#include "hw/ntb/vfio-user-proto.h"
#include "qemu/stats64.h"

typedef struct PCIeCableConn PCIeCableConn;

/* Counters of one end; they outlive its connections. */
typedef struct PCIeCableStats {
    Stat64 sent;                /* messages */
    Stat64 received;            /* messages */
    Stat64 timeouts;            /* requests not answered in time */
} PCIeCableStats;

/* A request as the peer sent it.  Valid during the handler only. */
typedef struct PCIeCableRequest {
    VfuHdr hdr;
    const uint8_t *payload;     /* no alignment promised */
    size_t len;                 /* bytes of @payload */
    int fds[VFU_MAX_FDS];       /* a handler that keeps one sets it to -1 */
    unsigned nfds;
} PCIeCableRequest;

/*
 * Handle a request in the connection's own thread, no lock held.  Returns
 * false and sets @errp when the peer broke the protocol: the connection
 * closes with that reason.
 */
typedef bool PCIeCableRequestFn(void *opaque, PCIeCableConn *conn,
                                PCIeCableRequest *req, Error **errp);

/*
 * A reply arrived: @error is 0 or a positive errno (of the peer, or
 * ECONNRESET when the connection closed first).  Called in the connection's
 * thread, no lock held, or from pcie_cable_conn_send_async() itself when the
 * connection is closed already.
 */
typedef void PCIeCableReplyFn(void *opaque, int error);

/**
 * pcie_cable_conn_new: take over the connected stream socket @fd
 *
 * The caller holds one reference; drop it with pcie_cable_conn_unref().
 */
PCIeCableConn *pcie_cable_conn_new(int fd, PCIeCableStats *stats,
                                   PCIeCableRequestFn *request, void *opaque);

void pcie_cable_conn_ref(PCIeCableConn *conn);
void pcie_cable_conn_unref(PCIeCableConn *conn);

/**
 * pcie_cable_conn_run: serve the peer until the connection closes
 * @use_poll: sleep in poll() and not in recvmsg().  A thread in recvmsg() is
 *            woken, at the expense of the peer's latency, even when the peer
 *            takes a message of ours from the socket: there is room again.
 *            poll() costs this end one more system call a message.  For the
 *            end whose posted writes matter more than those it gets.
 *
 * BQL not held.  Returns the reason.  On return every outstanding request
 * has been completed with an error and none can be sent any more.
 */
char *pcie_cable_conn_run(PCIeCableConn *conn, bool use_poll);

/* Close; pcie_cable_conn_run() returns a copy of @reason.  Any thread. */
void pcie_cable_conn_close(PCIeCableConn *conn, const char *reason);

/* Is this thread inside pcie_cable_conn_run()?  Then it must not wait. */
bool pcie_cable_conn_serving(void);

/*
 * Send a request that needs no reply: @fixed, then @data.  Any thread.
 * Returns false when the connection is closed.
 */
bool pcie_cable_conn_send(PCIeCableConn *conn, uint16_t command, unsigned fn,
                          const void *fixed, size_t fixed_len,
                          const void *data, size_t data_len);

/*
 * Send a request and have @done called when its reply comes.  @fds stay the
 * caller's.  Any thread.
 */
void pcie_cable_conn_send_async(PCIeCableConn *conn, uint16_t command,
                                unsigned fn,
                                const void *fixed, size_t fixed_len,
                                const void *data, size_t data_len,
                                const int *fds, unsigned nfds,
                                PCIeCableReplyFn *done, void *opaque);

/**
 * pcie_cable_conn_call: send a request and wait for the reply
 * @reply, @reply_len: the reply's payload must have exactly this length
 * @timeout_ms: 0 waits for ever
 *
 * Returns 0 or a negative errno: -ETIMEDOUT (counted), -ECONNRESET, -EDEADLK
 * in a serving thread or under the BQL in one that is no vCPU, -EPROTO for a
 * reply of the wrong length (the connection closes), or what the peer
 * answered.  Drops the BQL while it waits, when this thread holds it.
 */
int pcie_cable_conn_call(PCIeCableConn *conn, uint16_t command, unsigned fn,
                         const void *fixed, size_t fixed_len,
                         const void *data, size_t data_len,
                         void *reply, size_t reply_len, uint32_t timeout_ms);

/*
 * The same where the length of the reply is not known before: it has *@got
 * bytes, at most @reply_max.
 */
int pcie_cable_conn_call_upto(PCIeCableConn *conn, uint16_t command,
                              unsigned fn, const void *fixed, size_t fixed_len,
                              void *reply, size_t reply_max, size_t *got,
                              uint32_t timeout_ms);

/**
 * pcie_cable_conn_offer_ring: client: post writes through shared memory from
 * now on
 *
 * For a peer that has the capability "posted-ring".  Not twice.  Any thread.
 * False and @errp when there is none; pcie_cable_conn_post() sends messages
 * then.
 */
bool pcie_cable_conn_offer_ring(PCIeCableConn *conn, Error **errp);

/*
 * Server: a request VFU_POSTED_RING.  The connection's own thread.  False and
 * @errp when it is malformed.
 */
bool pcie_cable_conn_take_ring(PCIeCableConn *conn, PCIeCableRequest *req,
                               Error **errp);

/*
 * Post a write of at most VFU_WRITE_ONE_MAX bytes to a BAR: in order with all
 * messages, nobody waits.  Any thread.
 */
void pcie_cable_conn_post(PCIeCableConn *conn, unsigned fn,
                          const VfuRegionRW *rw, const void *data);

/*
 * Flow control of posted writes: wait while the peer is far behind, @timeout_ms
 * at the most (0: for ever).  Drops the BQL while it waits; does not wait
 * where pcie_cable_conn_call() would not.
 */
void pcie_cable_conn_throttle(PCIeCableConn *conn, uint32_t timeout_ms);

/* Answer @hdr; nothing is sent when it asked for no reply.  Any thread. */
void pcie_cable_conn_reply(PCIeCableConn *conn, const VfuHdr *hdr,
                           const void *fixed, size_t fixed_len,
                           const void *data, size_t data_len);
void pcie_cable_conn_reply_error(PCIeCableConn *conn, const VfuHdr *hdr,
                                 int error);

#endif /* HW_NTB_PCIE_CABLE_CONN_H */
