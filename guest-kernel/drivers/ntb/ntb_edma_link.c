// SPDX-License-Identifier: GPL-2.0
/*
 * Packets into posted buffers of the peer by DMA: channels and link state
 */

#include <linux/bitfield.h>
#include <linux/delay.h>
#include <linux/dmaengine.h>
#include <linux/module.h>
#include <linux/ntb.h>
#include <linux/overflow.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "ntb_edma_internal.h"

MODULE_DESCRIPTION("NTB transport by a DMA engine that reaches both sides");
MODULE_LICENSE("GPL");
MODULE_AUTHOR("vntb-lab");

/* How often a link that is up is looked at */
#define WATCH_MS	500
/* The engine finishes what it has in far less */
#define DRAIN_MS	1000
/* The peer has to notice, and to drain its own engine */
#define PEER_STOP_MS	(3 * DRAIN_MS)

static u32 ntb_edma_spad_read(struct ntb_edma *edma, int spad)
{
	return ntb_spad_read(edma->ntb, edma->spad + spad);
}

static void ntb_edma_peer_spad_write(struct ntb_edma *edma, int spad, u32 val)
{
	ntb_peer_spad_write(edma->ntb, NTB_EDMA_PIDX, edma->spad + spad, val);
}

static void ntb_edma_say(struct ntb_edma_qp *qp, u32 word)
{
	if (word == qp->word)
		return;

	qp->word = word;
	ntb_edma_peer_spad_write(qp->edma, NTB_EDMA_SPAD_QP + qp->idx, word);
}

static u32 ntb_edma_peer_word(struct ntb_edma_qp *qp)
{
	return ntb_edma_spad_read(qp->edma, NTB_EDMA_SPAD_QP + qp->idx);
}

/* What the peer says while it is in a link with us */
static u32 ntb_edma_link_word(struct ntb_edma_qp *qp)
{
	return NTB_EDMA_QP_READY |
	       FIELD_PREP(NTB_EDMA_QP_GEN, qp->peer_gen) |
	       FIELD_PREP(NTB_EDMA_QP_ACK, qp->gen);
}

/* Is the peer in a link with this incarnation of the queue pair? */
static bool ntb_edma_peer_uses(struct ntb_edma_qp *qp)
{
	return ntb_edma_peer_word(qp) == ntb_edma_link_word(qp);
}

/*
 * A peer that was loaded anew or whose scratchpads were cleared does not know
 * us: it does not say our SESSION. The owner tells it all again. A peer may
 * also have gone without a doorbell.
 */
static void ntb_edma_watch(struct work_struct *work)
{
	struct ntb_edma *edma = container_of(work, struct ntb_edma, watch.work);
	struct ntb_edma_qp *qp;
	unsigned int i;
	u32 session;

	guard(mutex)(&edma->lock);
	if (!edma->linked)
		return;

	session = ntb_edma_spad_read(edma, NTB_EDMA_SPAD_SESSION);
	if (session != edma->peer_session) {
		edma->peer_session = session;
		ntb_edma_peer_spad_write(edma, NTB_EDMA_SPAD_ACK, session);
	}

	if (ntb_edma_spad_read(edma, NTB_EDMA_SPAD_ACK) == edma->session)
		edma->unknown = 0;
	else if (++edma->unknown > 1)
		edma->ops->relink(edma->owner);

	for (i = 0; i < edma->qp_count; i++) {
		qp = edma->qp[i];
		if (!qp || !READ_ONCE(qp->up))
			continue;

		if (ntb_edma_peer_uses(qp))
			ntb_edma_qp_doorbell(qp);
		else if (ntb_edma_queue_down(qp))
			edma->ops->down(qp->ctx);
	}

	schedule_delayed_work(&edma->watch, msecs_to_jiffies(WATCH_MS));
}

/* Their transfers are terminated */
static void ntb_edma_release_chans(struct ntb_edma *edma)
{
	while (edma->chan_count)
		dma_release_channel(edma->chan[--edma->chan_count]);
}

static int ntb_edma_request_chans(struct ntb_edma *edma)
{
	struct dma_slave_config config = {
		.direction = DMA_MEM_TO_DEV,
	};
	struct dma_chan *chan;
	int count, rc = -ENODEV;
	unsigned int i;

	count = ntb_dma_chan_count(edma->ntb, NTB_EDMA_PIDX);
	if (count < 0)
		return count;

	for (i = 0; i < count && edma->chan_count < NTB_EDMA_MAX_CHANS; i++) {
		chan = ntb_dma_request_chan(edma->ntb, NTB_EDMA_PIDX, i);
		if (IS_ERR(chan)) {
			rc = PTR_ERR(chan);
			continue;
		}

		/* A batch is one interleaved transfer */
		if (!dma_has_cap(DMA_INTERLEAVE, chan->device->cap_mask))
			rc = -EOPNOTSUPP;
		else
			rc = dmaengine_slave_config(chan, &config);
		if (rc) {
			dma_release_channel(chan);
			continue;
		}

		edma->chan[edma->chan_count++] = chan;
	}

	return edma->chan_count ? 0 : rc;
}

/*
 * Stop all channels with whatever they are doing. Queue pairs share them, so
 * those that are up go down. The lock of @edma is held.
 */
static void ntb_edma_abort(struct ntb_edma *edma)
{
	unsigned long ups = 0;
	unsigned int i;

	BUILD_BUG_ON(BITS_PER_LONG < 64);

	for (i = 0; i < edma->qp_count; i++)
		if (edma->qp[i] && ntb_edma_queue_down(edma->qp[i]))
			ups |= BIT(i);

	/* Nobody gives the engine anything any more */
	for (i = 0; i < edma->qp_count; i++)
		if (edma->qp[i])
			ntb_edma_queue_quiesce(edma->qp[i]);

	/* No callback runs and none will, also when an engine does not stop */
	for (i = 0; i < edma->chan_count; i++)
		dmaengine_terminate_sync(edma->chan[i]);
	edma->aborts++;

	for (i = 0; i < edma->qp_count; i++)
		if (ups & BIT(i))
			edma->ops->down(edma->qp[i]->ctx);
}

/**
 * ntb_edma_spads() - count the scratchpads that are needed
 * @qp_count:	Number of queue pairs.
 *
 * Return: the number of scratchpads.
 */
int ntb_edma_spads(unsigned int qp_count)
{
	return NTB_EDMA_SPAD_QP + qp_count;
}
EXPORT_SYMBOL_NS_GPL(ntb_edma_spads, "NTB_EDMA");

/**
 * ntb_edma_create() - create a DMA transport
 * @ntb:	The NTB device.
 * @qp_count:	The largest number of queue pairs, at most 64.
 * @spad:	The first of ntb_edma_spads() scratchpads.
 * @copy_bytes:	Packets up to this length are copied through the memory window, as
 *		long as its slots hold them.
 * @ops:	What the queue pairs tell their owner.
 * @owner:	For @ops->relink().
 *
 * Return: the transport, or ERR_PTR().
 */
struct ntb_edma *ntb_edma_create(struct ntb_dev *ntb, unsigned int qp_count,
				 int spad, unsigned int copy_bytes,
				 const struct ntb_edma_ops *ops, void *owner)
{
	struct ntb_edma *edma;

	if (qp_count > 64 ||
	    spad + ntb_edma_spads(qp_count) > ntb_spad_count(ntb)) {
		dev_err(&ntb->dev, "%u queues need %u scratchpads, there are %d\n",
			qp_count, spad + ntb_edma_spads(qp_count),
			ntb_spad_count(ntb));
		return ERR_PTR(-EINVAL);
	}

	edma = kzalloc_flex(*edma, qp, qp_count);
	if (!edma)
		return ERR_PTR(-ENOMEM);

	edma->ntb = ntb;
	edma->dma_dev = ntb_get_dma_dev(ntb);
	edma->copy_bytes = min(copy_bytes, NTB_EDMA_INLINE);
	edma->ops = ops;
	edma->owner = owner;
	edma->spad = spad;
	edma->session = get_random_u32() | 1;
	edma->qp_count = qp_count;
	mutex_init(&edma->lock);
	INIT_DELAYED_WORK(&edma->watch, ntb_edma_watch);

	return edma;
}
EXPORT_SYMBOL_NS_GPL(ntb_edma_create, "NTB_EDMA");

/**
 * ntb_edma_destroy() - end of a DMA transport
 * @edma:	The DMA transport, its link stopped, its queue pairs destroyed.
 */
void ntb_edma_destroy(struct ntb_edma *edma)
{
	kfree(edma);
}
EXPORT_SYMBOL_NS_GPL(ntb_edma_destroy, "NTB_EDMA");

/**
 * ntb_edma_link_prepare() - get the channels and say hello to the peer
 * @edma:	The DMA transport.
 *
 * To be called when the NTB link is up, again and again until the peer is
 * there, before the owner writes its version. Prints why it fails, once.
 *
 * Return: 0, or an error number: this side cannot send.
 */
int ntb_edma_link_prepare(struct ntb_edma *edma)
{
	int rc;

	guard(mutex)(&edma->lock);

	if (!edma->chan_count) {
		rc = ntb_edma_request_chans(edma);
		if (rc) {
			if (!edma->told)
				dev_err(&edma->ntb->dev,
					"no DMA channel into the peer's memory (%d), transport link refused\n",
					rc);
			edma->told = true;
			return rc;
		}
		edma->told = false;
		dev_info(&edma->ntb->dev, "%u DMA channels into the peer's memory\n",
			 edma->chan_count);
	}

	edma->peer_session = ntb_edma_spad_read(edma, NTB_EDMA_SPAD_SESSION);
	ntb_edma_peer_spad_write(edma, NTB_EDMA_SPAD_SESSION, edma->session);
	ntb_edma_peer_spad_write(edma, NTB_EDMA_SPAD_ACK, edma->peer_session);

	return 0;
}
EXPORT_SYMBOL_NS_GPL(ntb_edma_link_prepare, "NTB_EDMA");

/**
 * ntb_edma_link_start() - the memory windows are there
 * @edma:	The DMA transport.
 * @local:	Our memory that the peer writes.
 * @local_size:	Its size.
 * @remote:	The peer's memory that we write.
 * @remote_size: Its size.
 *
 * May be called for a link that is up.
 *
 * Return: 0, or -ENOSPC when a window is too small.
 */
int ntb_edma_link_start(struct ntb_edma *edma, void *local, size_t local_size,
			void __iomem *remote, size_t remote_size)
{
	size_t size = array_size(edma->qp_count, sizeof(struct ntb_edma_block));
	unsigned int i;

	guard(mutex)(&edma->lock);
	if (edma->linked)
		return 0;

	if (size > local_size || size > remote_size) {
		dev_err(&edma->ntb->dev,
			"memory windows of %zu and %zu bytes, %zu needed\n",
			local_size, remote_size, size);
		return -ENOSPC;
	}

	for (i = 0; i < edma->qp_count; i++) {
		struct ntb_edma_qp *qp = edma->qp[i];

		if (!qp)
			continue;

		guard(mutex)(&qp->link_lock);
		qp->ready = false;
		qp->word = 0;
		ntb_edma_peer_spad_write(edma, NTB_EDMA_SPAD_QP + i, 0);
	}

	edma->local = local;
	edma->remote = remote;
	edma->unknown = 0;
	edma->linked = true;
	schedule_delayed_work(&edma->watch, msecs_to_jiffies(WATCH_MS));

	return 0;
}
EXPORT_SYMBOL_NS_GPL(ntb_edma_link_start, "NTB_EDMA");

/**
 * ntb_edma_link_lost() - the NTB link is down
 * @edma:	The DMA transport.
 *
 * Transfers may never complete and the peer does not answer any more. To be
 * called before the queue pairs are stopped because of that.
 */
void ntb_edma_link_lost(struct ntb_edma *edma)
{
	guard(mutex)(&edma->lock);
	WRITE_ONCE(edma->linked, false);
	ntb_edma_abort(edma);
}
EXPORT_SYMBOL_NS_GPL(ntb_edma_link_lost, "NTB_EDMA");

/**
 * ntb_edma_link_stop() - the queue pairs are stopped, the windows may go
 * @edma:	The DMA transport.
 *
 * Releases the DMA channels.
 */
void ntb_edma_link_stop(struct ntb_edma *edma)
{
	scoped_guard(mutex, &edma->lock) {
		WRITE_ONCE(edma->linked, false);
		edma->told = false;
		ntb_edma_abort(edma);
		ntb_edma_release_chans(edma);
	}
	cancel_delayed_work_sync(&edma->watch);
}
EXPORT_SYMBOL_NS_GPL(ntb_edma_link_stop, "NTB_EDMA");

/**
 * ntb_edma_link_hold() - the peer has not confirmed that it has stopped
 * @edma:	The DMA transport, its link stopped.
 *
 * It may write to posted buffers for ever: none is given back from here on.
 */
void ntb_edma_link_hold(struct ntb_edma *edma)
{
	WRITE_ONCE(edma->hold, true);
}
EXPORT_SYMBOL_NS_GPL(ntb_edma_link_hold, "NTB_EDMA");

/**
 * ntb_edma_qp_create() - create a queue pair
 * @edma:	The DMA transport.
 * @idx:	Its number, the bit of its doorbell.
 * @ctx:	For the operations.
 *
 * Return: the queue pair, or ERR_PTR().
 */
struct ntb_edma_qp *ntb_edma_qp_create(struct ntb_edma *edma, unsigned int idx,
				       void *ctx)
{
	struct ntb_edma_qp *qp;

	qp = kzalloc_obj(*qp);
	if (!qp)
		return ERR_PTR(-ENOMEM);

	qp->edma = edma;
	qp->idx = idx;
	qp->ctx = ctx;
	qp->gen = get_random_u32();
	mutex_init(&qp->stop_lock);
	mutex_init(&qp->link_lock);
	qp->tx_ring = kvzalloc_objs(*qp->tx_ring, NTB_EDMA_RING);
	qp->rx_ring = kvzalloc_objs(*qp->rx_ring, NTB_EDMA_RING);
	qp->xt = kzalloc_flex(*qp->xt, sgl, NTB_EDMA_BATCH_MAX);
	if (!qp->tx_ring || !qp->rx_ring || !qp->xt) {
		kfree(qp->xt);
		kvfree(qp->rx_ring);
		kvfree(qp->tx_ring);
		kfree(qp);
		return ERR_PTR(-ENOMEM);
	}
	ntb_edma_queue_init(qp);

	scoped_guard(mutex, &edma->lock)
		edma->qp[idx] = qp;

	return qp;
}
EXPORT_SYMBOL_NS_GPL(ntb_edma_qp_create, "NTB_EDMA");

/**
 * ntb_edma_qp_destroy() - end of a queue pair
 * @qp:	The queue pair, stopped, its receive buffers taken back, and no call to
 *	it under way.
 */
void ntb_edma_qp_destroy(struct ntb_edma_qp *qp)
{
	struct ntb_edma *edma = qp->edma;

	scoped_guard(mutex, &edma->lock)
		edma->qp[qp->idx] = NULL;

	/* A doorbell or an abort may have started them, with nothing to do */
	ntb_edma_queue_quiesce(qp);
	kfree(qp->xt);
	kvfree(qp->rx_ring);
	kvfree(qp->tx_ring);
	kfree(qp);
}
EXPORT_SYMBOL_NS_GPL(ntb_edma_qp_destroy, "NTB_EDMA");

static struct ntb_edma_block *ntb_edma_local_block(struct ntb_edma_qp *qp)
{
	return qp->edma->local + qp->idx * sizeof(struct ntb_edma_block);
}

static struct ntb_edma_block __iomem *
ntb_edma_remote_block(struct ntb_edma_qp *qp)
{
	return qp->edma->remote + qp->idx * sizeof(struct ntb_edma_block);
}

/* Has the peer written to our block? */
static bool ntb_edma_block_used(const struct ntb_edma_block *block)
{
	/* It wrote before it said the word that we have read */
	rmb();

	return READ_ONCE(block->free_head) || READ_ONCE(block->done_head) ||
	       READ_ONCE(block->events) || READ_ONCE(block->down);
}

/**
 * ntb_edma_qp_handshake() - go a step towards the peer
 * @qp:	The queue pair.
 *
 * To be called repeatedly while the client wants the link.
 *
 * Context: Process, may sleep.
 * Return: true when the link came up.
 */
bool ntb_edma_qp_handshake(struct ntb_edma_qp *qp)
{
	struct ntb_edma *edma = qp->edma;
	u16 peer_gen;
	u32 word;

	guard(mutex)(&edma->lock);
	guard(mutex)(&qp->link_lock);
	if (!edma->linked || qp->running || qp->stopping)
		return false;

	if (!qp->ready) {
		qp->gen = (qp->gen + 1) & FIELD_MAX(NTB_EDMA_QP_GEN);
		if (!qp->gen)
			qp->gen = 1;
		qp->local = ntb_edma_local_block(qp);
		qp->remote = ntb_edma_remote_block(qp);
		memset(qp->local, 0, sizeof(*qp->local));
		qp->peer_gen = 0;
		qp->ready = true;
	}

	word = ntb_edma_peer_word(qp);
	if ((word & ~(NTB_EDMA_QP_GEN | NTB_EDMA_QP_ACK)) == NTB_EDMA_QP_READY)
		peer_gen = FIELD_GET(NTB_EDMA_QP_GEN, word);
	else
		peer_gen = 0;

	/*
	 * The peer had its link with us and has gone before we had ours: what
	 * it has left in our block is not of its next one.
	 */
	if (qp->peer_gen && qp->peer_gen != peer_gen &&
	    ntb_edma_block_used(qp->local)) {
		qp->ready = false;
		ntb_edma_say(qp, 0);
		return false;
	}

	qp->peer_gen = peer_gen;
	ntb_edma_say(qp, NTB_EDMA_QP_READY |
		     FIELD_PREP(NTB_EDMA_QP_GEN, qp->gen) |
		     FIELD_PREP(NTB_EDMA_QP_ACK, peer_gen));

	if (!peer_gen || FIELD_GET(NTB_EDMA_QP_ACK, word) != qp->gen)
		return false;

	/* It is in a new link, so it has stopped in the old one */
	qp->held = 0;
	ntb_edma_qp_give_back(qp);

	qp->aborts = edma->aborts;
	qp->running = true;
	ntb_edma_queue_start(qp);

	return true;
}
EXPORT_SYMBOL_NS_GPL(ntb_edma_qp_handshake, "NTB_EDMA");

/* The engine may be slow, but what it has it finishes */
static void ntb_edma_qp_drain(struct ntb_edma_qp *qp)
{
	struct ntb_edma *edma = qp->edma;

	/* An abort since the link came up has taken all batches */
	if (qp->aborts != edma->aborts)
		return;

	if (!edma->linked ||
	    !wait_event_timeout(qp->drain, ntb_edma_queue_drained(qp),
				msecs_to_jiffies(DRAIN_MS)))
		ntb_edma_abort(edma);
}

/*
 * Its engine may write to our buffers until the peer has stopped, too. If it
 * does not, they stay posted.
 */
static void ntb_edma_wait_for_peer(struct ntb_edma_qp *qp)
{
	struct ntb_edma *edma = qp->edma;
	unsigned long end = jiffies + msecs_to_jiffies(PEER_STOP_MS);

	while (READ_ONCE(edma->linked) && ntb_edma_peer_uses(qp) &&
	       ntb_link_is_up(edma->ntb, NULL, NULL) == 1) {
		if (time_after(jiffies, end)) {
			dev_warn(&edma->ntb->dev,
				 "qp %u: the peer does not stop sending, it keeps our buffers\n",
				 qp->idx);
			qp->held = ntb_edma_link_word(qp);
			return;
		}
		usleep_range(500, 1000);
	}
}

/* May the peer still write to posted buffers? The queue is stopped. */
bool ntb_edma_queue_held(struct ntb_edma_qp *qp)
{
	if (qp->held && (ntb_link_is_up(qp->edma->ntb, NULL, NULL) != 1 ||
			 ntb_edma_peer_word(qp) != qp->held))
		qp->held = 0;

	return qp->held || READ_ONCE(qp->edma->hold);
}

/**
 * ntb_edma_qp_stop() - take a queue pair down
 * @qp:	The queue pair, in any state.
 *
 * All packets are back at the client then. The receive buffers stay posted for
 * the next link, or for ntb_edma_qp_unpost(); the peer does not use them, unless
 * it does not answer.
 *
 * Context: Process, may sleep.
 */
void ntb_edma_qp_stop(struct ntb_edma_qp *qp)
{
	struct ntb_edma *edma = qp->edma;

	guard(mutex)(&qp->stop_lock);
	scoped_guard(mutex, &edma->lock) {
		guard(mutex)(&qp->link_lock);
		qp->ready = false;
		if (!qp->running) {
			if (edma->linked)
				ntb_edma_say(qp, 0);
			return;
		}

		ntb_edma_queue_down(qp);
		ntb_edma_queue_quiesce(qp);
		ntb_edma_qp_drain(qp);
		ntb_edma_queue_flush(qp, edma->linked);
		qp->running = false;
		qp->stopping = true;

		if (edma->linked) {
			writel(1, &qp->remote->down);
			ntb_edma_say(qp, 0);
			/* The window may be write-combining */
			wmb();
			ntb_peer_db_set(edma->ntb, BIT_ULL(qp->idx));
		}
	}

	ntb_edma_wait_for_peer(qp);

	guard(mutex)(&qp->link_lock);
	qp->stopping = false;
}
EXPORT_SYMBOL_NS_GPL(ntb_edma_qp_stop, "NTB_EDMA");
