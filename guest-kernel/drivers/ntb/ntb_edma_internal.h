/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets into posted buffers of the peer by DMA: layout of the memory window,
 * and what the files of the module share
 */

#ifndef NTB_EDMA_INTERNAL_H
#define NTB_EDMA_INTERNAL_H

#include <linux/build_bug.h>
#include <linux/dmaengine.h>
#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "ntb_edma.h"

/* Only two-port NTB devices are supported */
#define NTB_EDMA_PIDX		NTB_DEF_PEER_IDX

#define NTB_EDMA_RING		256	/* packets of a qp in either direction */
#define NTB_EDMA_MAX_CHANS	8
#define NTB_EDMA_BATCHES	8	/* of a qp that are not committed */
#define NTB_EDMA_MAX_DMA	2	/* of them with DMA: one moves, one waits */
#define NTB_EDMA_INLINE		256U	/* bytes of a packet that is copied */
#define NTB_EDMA_BATCH_MAX	32U	/* packets of a batch */

/*
 * A block for each qp in the memory window of either side. The peer writes
 * it, its owner only reads it. Heads run freely: entry n is in slot
 * n % NTB_EDMA_RING. Packet n of a link goes into the n-th buffer that was
 * published since the link came up, so both rings count alike, and a slot is
 * never written before its last content was used.
 */

/* A receive buffer of the peer */
struct ntb_edma_free {
	__le64 addr;	/* in the peer's DMA space */
	__le32 len;
	__le32 reserved;
};

/* A packet in one of our receive buffers */
struct ntb_edma_done {
	__le32 len;	/* more than the buffer holds: dropped */
#define NTB_EDMA_DONE_INLINE	BIT(31)	/* the packet is in data[] instead */
	__le32 index;	/* the packet's number, for checking only */
};

/* events: which of the peer's writes are to ring our doorbell, once */
#define NTB_EDMA_EVENT_DONE	BIT(0)
#define NTB_EDMA_EVENT_FREE	BIT(1)
#define NTB_EDMA_EVENT_SEQ	BIT(2)	/* counts above: a new request */

struct ntb_edma_block {
	__le32 free_head;
	__le32 done_head;
	__le32 events;
	__le32 down;		/* non-zero: the peer has stopped sending */
	__le32 reserved[12];
	struct ntb_edma_free free[NTB_EDMA_RING];
	struct ntb_edma_done done[NTB_EDMA_RING];
	u8 data[NTB_EDMA_RING][NTB_EDMA_INLINE];
};

static_assert(sizeof(struct ntb_edma_block) ==
	      64 + (24 + NTB_EDMA_INLINE) * NTB_EDMA_RING);

/*
 * Scratchpads, all written by the peer: SESSION names an incarnation of the
 * peer, ACK is the SESSION that the peer has read from us, QP(n) is the state
 * of a queue pair of the peer.
 */
enum {
	NTB_EDMA_SPAD_SESSION,
	NTB_EDMA_SPAD_ACK,
	NTB_EDMA_SPAD_QP,
};

/*
 * QP(n): a side is READY when its block is empty and may be written. GEN
 * counts its links; ACK is the GEN of the other side's READY, or 0. The link
 * is up for a side that reads READY with its own GEN in ACK.
 */
#define NTB_EDMA_QP_READY	BIT(0)
#define NTB_EDMA_QP_GEN		GENMASK(15, 1)
#define NTB_EDMA_QP_ACK		GENMASK(30, 16)

struct ntb_edma_slot {
	void *cb;
	void *buf;
	dma_addr_t dma;
	unsigned int len;
	bool copy;	/* of a packet to send: not mapped */
};

struct ntb_edma_batch {
	struct ntb_edma_qp *qp;
	struct dma_chan *chan;
	unsigned int count;
	bool copy;
	bool done;
	bool failed;
};

struct ntb_edma_qp {
	struct ntb_edma *edma;
	unsigned int idx;
	void *ctx;

	/* stop_lock, the lock of @edma, link_lock are taken in this order */
	struct mutex stop_lock;
	/* Guards what follows, up to word */
	struct mutex link_lock;
	bool ready;
	bool running;
	bool stopping;
	unsigned int aborts;
	u16 gen;
	u16 peer_gen;	/* that our word acknowledges */
	u32 word;
	u32 held;	/* the peer's word that keeps our buffers, or 0 */

	/* Written under tx_lock */
	bool up;
	struct ntb_edma_block *local;
	struct ntb_edma_block __iomem *remote;

	/*
	 * tx_tail <= tx_commit <= tx_next <= tx_head: completed to the client,
	 * committed to the peer, given to the engine, given by the client.
	 * tx_lock serialises clients, which move tx_head; all else is the
	 * send work's.
	 */
	spinlock_t tx_lock;
	struct ntb_edma_slot *tx_ring;
	u32 tx_head;
	u32 tx_next;
	u32 tx_commit;
	u32 tx_tail;
	bool starved;
	bool failed;
	struct ntb_edma_batch batch[NTB_EDMA_BATCHES];
	u32 batch_head;
	u32 batch_tail;
	unsigned int dma_batches;
	struct dma_interleaved_template *xt;
	wait_queue_head_t drain;
	struct work_struct send;
	int tx_cpu;

	/*
	 * rx_next <= rx_pub <= rx_posted: handed to the client, published to
	 * the peer, posted by the client. rx_lock guards the latter two; the
	 * poll work moves rx_next. rx_base is the slot of buffer 0.
	 */
	spinlock_t rx_lock;
	struct ntb_edma_slot *rx_ring;
	u32 rx_base;
	u32 rx_next;
	u32 rx_pub;
	u32 rx_posted;
	u32 rx_kept;	/* from rx_next on: the client wanted them back */
	bool rx_refuse;

	/* The receive work, and when to look again */
	struct work_struct poll;
	struct hrtimer timer;
	int cpu;
	bool polling;
	bool consumed;
	u32 events;
	u32 rung;

	/* Statistics, each with one writer at a time */
	u64 tx_pkts;
	u64 tx_bytes;
	u64 tx_batches;
	u64 tx_copied;
	u64 tx_errors;
	u64 tx_full;
	u64 tx_starved;
	u64 rx_pkts;
	u64 rx_bytes;
	u64 rx_errors;
	u64 polls;
	u64 doorbells_in;
	u64 doorbells_out;
};

struct ntb_edma {
	struct ntb_dev *ntb;
	unsigned int copy_bytes;
	struct device *dma_dev;
	const struct ntb_edma_ops *ops;
	void *owner;
	int spad;
	u32 session;

	/* Guards what follows */
	struct mutex lock;
	struct dma_chan *chan[NTB_EDMA_MAX_CHANS];
	unsigned int chan_count;
	unsigned int aborts;
	bool hold;	/* the peer may write for ever */
	void *local;
	void __iomem *remote;
	bool told;
	bool linked;
	u32 peer_session;
	unsigned int unknown;
	struct delayed_work watch;

	unsigned int qp_count;
	struct ntb_edma_qp *qp[] __counted_by(qp_count);
};

/* ntb_edma_link.c */
bool ntb_edma_queue_held(struct ntb_edma_qp *qp);

/* ntb_edma_rx.c */
void ntb_edma_queue_init(struct ntb_edma_qp *qp);
void ntb_edma_queue_start(struct ntb_edma_qp *qp);
void ntb_edma_queue_quiesce(struct ntb_edma_qp *qp);
void ntb_edma_queue_on(int cpu, struct work_struct *work);
void ntb_edma_kick(struct ntb_edma_qp *qp);
void ntb_edma_ring(struct ntb_edma_qp *qp, u32 event);
void ntb_edma_fail(struct ntb_edma_qp *qp, const char *why);

/* ntb_edma_tx.c */
void ntb_edma_send(struct work_struct *work);
bool ntb_edma_queue_down(struct ntb_edma_qp *qp);
bool ntb_edma_queue_drained(struct ntb_edma_qp *qp);
void ntb_edma_queue_flush(struct ntb_edma_qp *qp, bool there);

#endif
