/*
 * PCIe cable: what the files of a connection share
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * pcie-cable-conn.c owns the socket and reads it, -send.c owns the queue of
 * what the socket did not take, -call.c owns the requests that wait.
 */
#ifndef HW_NTB_PCIE_CABLE_CONN_INTERNAL_H
#define HW_NTB_PCIE_CABLE_CONN_INTERNAL_H

#include "qemu/queue.h"
#include "qemu/thread.h"
#include "hw/ntb/pcie-cable-conn.h"
#include "pcie-cable-ring.h"

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
    size_t queued;              /* bytes; atomic read */
    uint32_t tx_count;          /* messages sent or queued */
    PCIeCableRing *tx_ring;
    bool closed;                /* atomic read */
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
    uint32_t rx_count;          /* messages handled */
    PCIeCableRing *rx_ring;
};

/* -conn.c */

void pcie_cable_conn_close_fds(int *fds, unsigned nfds);
/* tx_lock held */
void pcie_cable_conn_close_locked(PCIeCableConn *conn, const char *reason);

/* -send.c */

/*
 * Send one message; @hdr's size is set here.  Returns false when the
 * connection is (now) closed.  Any thread.
 */
bool pcie_cable_conn_send_message(PCIeCableConn *conn, VfuHdr *hdr,
                                  const void *fixed, size_t fixed_len,
                                  const void *data, size_t data_len,
                                  const int *fds, unsigned nfds);
/* The drain thread: sends what the socket did not take at once. */
void *pcie_cable_conn_drain(void *opaque);
/* Nobody sends any more. */
void pcie_cable_conn_drop_queue(PCIeCableConn *conn);

/* -call.c */

/*
 * May this thread wait for the peer?  Only a vCPU's callback is written for
 * the BQL to go away under it (in a qtest the main loop plays the vCPU); a
 * device of the main loop that reaches here by DMA is not.
 */
bool pcie_cable_conn_may_wait(void);

/* A reply of the peer; false and @errp when nobody waits for it. */
bool pcie_cable_conn_handle_reply(PCIeCableConn *conn, const VfuHdr *hdr,
                                  const uint8_t *payload, size_t len,
                                  Error **errp);
/* The connection is closed: nothing of what waits will be answered. */
void pcie_cable_conn_fail_slots(PCIeCableConn *conn);

#endif /* HW_NTB_PCIE_CABLE_CONN_INTERNAL_H */
