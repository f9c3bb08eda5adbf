// SPDX-License-Identifier: GPL-2.0
/*
 * Packets into posted buffers of the peer by DMA: receiving
 *
 * The addresses of posted buffers are published in the peer's free ring. The
 * peer moves packets there and commits them to our done ring. One work polls
 * it while there is something to do, and asks for a doorbell when there is not.
 */

#include <linux/dma-mapping.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/ntb.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "ntb_edma_internal.h"

/* Packets handed to the client in one run of the poll work */
#define RX_BUDGET	64U

/* Packets of one run from which on the rings are polled, and how often */
#define RX_BUSY		2
static const u64 poll_ns = 50 * NSEC_PER_USEC;

static struct ntb_edma_slot *rx_slot(struct ntb_edma_qp *qp, u32 n)
{
	return &qp->rx_ring[(qp->rx_base + n) % NTB_EDMA_RING];
}

void ntb_edma_queue_on(int cpu, struct work_struct *work)
{
	if (likely(cpu_online(cpu)))
		queue_work_on(cpu, system_bh_wq, work);
	else
		queue_work(system_bh_wq, work);
}

/*
 * Receive on one CPU: clients hand packets to the CPU that they are called on,
 * and packets of several CPUs would overtake each other.
 */
void ntb_edma_kick(struct ntb_edma_qp *qp)
{
	ntb_edma_queue_on(READ_ONCE(qp->cpu), &qp->poll);
}

/* Take a queue pair down because it cannot go on */
void ntb_edma_fail(struct ntb_edma_qp *qp, const char *why)
{
	if (!ntb_edma_queue_down(qp))
		return;

	dev_err_ratelimited(&qp->edma->ntb->dev, "qp %u: %s, link down\n",
			    qp->idx, why);
	qp->edma->ops->down(qp->ctx);
}

/* Ring the peer's doorbell if it has asked for that @event */
void ntb_edma_ring(struct ntb_edma_qp *qp, u32 event)
{
	u32 events;

	/*
	 * What was written is on its way before the look at the request: the
	 * peer sees it after its own write. Paired with ntb_edma_arm(). The
	 * window may be write-combining, too: it goes before the doorbell.
	 */
	mb();
	events = le32_to_cpu(READ_ONCE(qp->local->events));
	if (!(events & event) || READ_ONCE(qp->rung) == events)
		return;

	WRITE_ONCE(qp->rung, events);
	qp->doorbells_out++;
	ntb_peer_db_set(qp->edma->ntb, BIT_ULL(qp->idx));
}

/* Hand packets to the client; returns how many, or an error number */
static int ntb_edma_rx(struct ntb_edma_qp *qp)
{
	u32 head = le32_to_cpu(READ_ONCE(qp->local->done_head));
	struct ntb_edma_done *done;
	struct ntb_edma_slot *slot;
	u32 next = qp->rx_next;
	u32 count = head - next;
	unsigned int i;
	bool copy;
	void *cb;
	u32 len;

	if (count > READ_ONCE(qp->rx_pub) - next)
		return -EPROTO;

	/* Entries after the head */
	dma_rmb();
	count = min(count, RX_BUDGET);
	for (i = 0; i < count; i++) {
		done = &qp->local->done[next % NTB_EDMA_RING];
		if (le32_to_cpu(READ_ONCE(done->index)) != next)
			return -EPROTO;

		len = le32_to_cpu(READ_ONCE(done->len));
		copy = len & NTB_EDMA_DONE_INLINE;
		len &= ~NTB_EDMA_DONE_INLINE;
		if (copy && len > NTB_EDMA_INLINE)
			return -EPROTO;

		slot = rx_slot(qp, next);
		dma_unmap_single(qp->edma->dma_dev, slot->dma, slot->len,
				 DMA_FROM_DEVICE);
		cb = slot->cb;
		if (len && len <= slot->len) {
			if (copy)
				memcpy(slot->buf,
				       qp->local->data[next % NTB_EDMA_RING],
				       len);
			qp->rx_pkts++;
			qp->rx_bytes += len;
		} else {
			qp->rx_errors++;
			len = -EIO;
		}

		/* The slot is free from here on */
		smp_store_release(&qp->rx_next, ++next);
		qp->edma->ops->rx(qp->ctx, cb, len);
	}

	return count;
}

/* Tell the peer of the buffers that were posted */
static void ntb_edma_publish(struct ntb_edma_qp *qp)
{
	struct ntb_edma_free __iomem *free;
	struct ntb_edma_slot *slot;
	unsigned long flags;
	u32 n;

	spin_lock_irqsave(&qp->rx_lock, flags);
	if (!READ_ONCE(qp->up) || qp->rx_pub == qp->rx_posted)
		goto out;

	for (n = qp->rx_pub; n != qp->rx_posted; n++) {
		slot = rx_slot(qp, n);
		free = &qp->remote->free[n % NTB_EDMA_RING];
		writeq_relaxed(slot->dma, (void __iomem *)&free->addr);
		writel_relaxed(slot->len, &free->len);
	}

	WRITE_ONCE(qp->rx_pub, n);
	/* Entries before the head, also in a write-combining window */
	wmb();
	writel(n, &qp->remote->free_head);
	ntb_edma_ring(qp, NTB_EDMA_EVENT_FREE);
out:
	spin_unlock_irqrestore(&qp->rx_lock, flags);
}

/* Is there anything in our block that the poll work has not dealt with? */
static bool ntb_edma_rx_pending(struct ntb_edma_qp *qp)
{
	u32 free_head = le32_to_cpu(READ_ONCE(qp->local->free_head));

	return le32_to_cpu(READ_ONCE(qp->local->done_head)) != qp->rx_next ||
	       (READ_ONCE(qp->starved) &&
		free_head != READ_ONCE(qp->tx_next)) ||
	       READ_ONCE(qp->local->down);
}

/*
 * Ask for a doorbell; returns whether something came that rings none.
 *
 * The read returns when the request is at the peer, and behind everything that
 * the peer wrote before it could see the request.
 */
static bool ntb_edma_arm(struct ntb_edma_qp *qp)
{
	u32 mask = NTB_EDMA_EVENT_DONE | NTB_EDMA_EVENT_FREE;
	u32 want = NTB_EDMA_EVENT_DONE;

	if (READ_ONCE(qp->starved))
		want |= NTB_EDMA_EVENT_FREE;

	if (!READ_ONCE(qp->consumed) && (qp->events & mask) == want)
		return false;

	WRITE_ONCE(qp->consumed, false);
	qp->events = ((qp->events & ~mask) + NTB_EDMA_EVENT_SEQ) | want;
	writel(qp->events, &qp->remote->events);
	/* A window may be memory: what is read below is not read before */
	mb();
	readl(&qp->remote->events);

	return ntb_edma_rx_pending(qp);
}

static void ntb_edma_poll(struct work_struct *work)
{
	struct ntb_edma_qp *qp = container_of(work, struct ntb_edma_qp, poll);
	bool down;
	int count;

	/* Whoever cleared it waits for the end of this work */
	if (!READ_ONCE(qp->up))
		return;

	/* The peer has committed all of its packets before it said so */
	down = READ_ONCE(qp->local->down);
	dma_rmb();
	qp->polls++;
	WRITE_ONCE(qp->polling, true);
	count = ntb_edma_rx(qp);
	WRITE_ONCE(qp->polling, false);
	/* Paired with the barrier in ntb_edma_qp_post() */
	smp_mb();
	ntb_edma_publish(qp);

	if (count < 0) {
		ntb_edma_fail(qp, "the peer's done ring runs wild");
		return;
	}
	if (down && count < RX_BUDGET) {
		if (ntb_edma_queue_down(qp))
			qp->edma->ops->down(qp->ctx);
		return;
	}

	if (READ_ONCE(qp->starved))
		queue_work(system_bh_wq, &qp->send);

	if (count == RX_BUDGET)
		ntb_edma_kick(qp);
	else if (count >= RX_BUSY)
		hrtimer_start(&qp->timer, ns_to_ktime(poll_ns),
			      HRTIMER_MODE_REL_PINNED_SOFT);
	else if (!hrtimer_is_queued(&qp->timer) && ntb_edma_arm(qp))
		ntb_edma_kick(qp);
}

static enum hrtimer_restart ntb_edma_timer(struct hrtimer *timer)
{
	struct ntb_edma_qp *qp = container_of(timer, struct ntb_edma_qp, timer);

	if (READ_ONCE(qp->up))
		ntb_edma_kick(qp);

	return HRTIMER_NORESTART;
}

/**
 * ntb_edma_qp_doorbell() - the peer has rung the doorbell of a queue pair
 * @qp:	The queue pair.
 *
 * Context: Any.
 */
void ntb_edma_qp_doorbell(struct ntb_edma_qp *qp)
{
	qp->doorbells_in++;
	if (in_hardirq())
		WRITE_ONCE(qp->cpu, smp_processor_id());
	WRITE_ONCE(qp->consumed, true);
	if (READ_ONCE(qp->up))
		ntb_edma_kick(qp);
}
EXPORT_SYMBOL_NS_GPL(ntb_edma_qp_doorbell, "NTB_EDMA");

/**
 * ntb_edma_qp_post() - give a queue pair a receive buffer
 * @qp:		The queue pair, whether its link is up or down.
 * @cb:		Given back with the buffer.
 * @buf:	Memory from the linear map, for DMA.
 * @len:	Its length.
 *
 * Context: Any but hard interrupts.
 * Return: 0, -ENOMEM when the ring is full, -EIO when @buf cannot be mapped,
 * -ESHUTDOWN in the call of rx() that gives a buffer back for good.
 */
int ntb_edma_qp_post(struct ntb_edma_qp *qp, void *cb, void *buf,
		     unsigned int len)
{
	struct device *dev = qp->edma->dma_dev;
	struct ntb_edma_slot *slot;
	unsigned long flags;
	dma_addr_t dma;

	if (!len)
		return -EINVAL;
	if (READ_ONCE(qp->rx_refuse))
		return -ESHUTDOWN;

	dma = dma_map_single(dev, buf, len, DMA_FROM_DEVICE);
	if (dma_mapping_error(dev, dma))
		return -EIO;

	spin_lock_irqsave(&qp->rx_lock, flags);
	/* Paired with the release in ntb_edma_rx() */
	if (qp->rx_posted - smp_load_acquire(&qp->rx_next) >= NTB_EDMA_RING) {
		spin_unlock_irqrestore(&qp->rx_lock, flags);
		dma_unmap_single(dev, dma, len, DMA_FROM_DEVICE);
		return -ENOMEM;
	}

	slot = rx_slot(qp, qp->rx_posted);
	slot->cb = cb;
	slot->buf = buf;
	slot->dma = dma;
	slot->len = len;
	qp->rx_posted++;
	spin_unlock_irqrestore(&qp->rx_lock, flags);

	/*
	 * The poll work publishes what its rx() has posted. Paired with the
	 * barrier in ntb_edma_poll(): it sees the buffer, or we that it ended.
	 */
	smp_mb();
	if (READ_ONCE(qp->up) && !READ_ONCE(qp->polling))
		ntb_edma_kick(qp);

	return 0;
}
EXPORT_SYMBOL_NS_GPL(ntb_edma_qp_post, "NTB_EDMA");

/**
 * ntb_edma_qp_unpost() - take back a receive buffer that was not used
 * @qp:		The queue pair, stopped.
 * @len:	Where the length of the buffer is stored.
 *
 * Context: Process.
 * Return: the @cb of ntb_edma_qp_post(), NULL when there is no buffer (more), or
 * when a peer that does not answer may write to them: then they are kept, for a
 * later call or for ntb_edma_qp_give_back().
 */
void *ntb_edma_qp_unpost(struct ntb_edma_qp *qp, unsigned int *len)
{
	struct ntb_edma_slot *slot;
	unsigned long flags;

	if (ntb_edma_queue_held(qp)) {
		spin_lock_irqsave(&qp->rx_lock, flags);
		qp->rx_kept = qp->rx_posted - qp->rx_next;
		spin_unlock_irqrestore(&qp->rx_lock, flags);
		return NULL;
	}

	spin_lock_irqsave(&qp->rx_lock, flags);
	if (WARN_ON_ONCE(qp->up) || qp->rx_next == qp->rx_posted) {
		spin_unlock_irqrestore(&qp->rx_lock, flags);
		return NULL;
	}

	slot = rx_slot(qp, --qp->rx_posted);
	qp->rx_kept = min(qp->rx_kept, qp->rx_posted - qp->rx_next);
	spin_unlock_irqrestore(&qp->rx_lock, flags);

	dma_unmap_single(qp->edma->dma_dev, slot->dma, slot->len,
			 DMA_FROM_DEVICE);
	*len = slot->len;

	return slot->cb;
}
EXPORT_SYMBOL_NS_GPL(ntb_edma_qp_unpost, "NTB_EDMA");

/**
 * ntb_edma_qp_give_back() - give back buffers that the client once asked for
 * @qp:	The queue pair, stopped.
 *
 * The peer kept them when the client wanted them. It has others by now, perhaps
 * of another size, so rx() gets these with an error and cannot post them again.
 * Nothing is done while the peer still keeps them.
 *
 * Context: Process. The client does not post at the same time.
 */
void ntb_edma_qp_give_back(struct ntb_edma_qp *qp)
{
	struct ntb_edma_slot *slot;
	void *cb;

	if (!qp->rx_kept || ntb_edma_queue_held(qp))
		return;

	WRITE_ONCE(qp->rx_refuse, true);
	for (; qp->rx_kept; qp->rx_kept--) {
		slot = rx_slot(qp, qp->rx_next);
		dma_unmap_single(qp->edma->dma_dev, slot->dma, slot->len,
				 DMA_FROM_DEVICE);
		cb = slot->cb;
		qp->rx_errors++;
		/* The slot is free from here on */
		smp_store_release(&qp->rx_next, qp->rx_next + 1);
		qp->edma->ops->rx(qp->ctx, cb, -ECANCELED);
	}
	WRITE_ONCE(qp->rx_refuse, false);
}
EXPORT_SYMBOL_NS_GPL(ntb_edma_qp_give_back, "NTB_EDMA");

/**
 * ntb_edma_qp_lose() - forget receive buffers that cannot be taken back
 * @qp:		The queue pair, stopped.
 *
 * A peer that does not answer may write to them for ever: they stay mapped and
 * are never freed.
 *
 * Context: Any.
 * Return: the number of buffers.
 */
unsigned int ntb_edma_qp_lose(struct ntb_edma_qp *qp)
{
	unsigned int lost;

	guard(spinlock_irqsave)(&qp->rx_lock);
	lost = qp->rx_posted - qp->rx_next;
	qp->rx_posted = qp->rx_next;
	qp->rx_kept = 0;

	return lost;
}
EXPORT_SYMBOL_NS_GPL(ntb_edma_qp_lose, "NTB_EDMA");

void ntb_edma_queue_init(struct ntb_edma_qp *qp)
{
	unsigned int i;

	spin_lock_init(&qp->tx_lock);
	spin_lock_init(&qp->rx_lock);
	init_waitqueue_head(&qp->drain);
	INIT_WORK(&qp->poll, ntb_edma_poll);
	INIT_WORK(&qp->send, ntb_edma_send);
	hrtimer_setup(&qp->timer, ntb_edma_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_SOFT);

	for (i = 0; i < NTB_EDMA_BATCHES; i++)
		qp->batch[i].qp = qp;

	qp->xt->dir = DMA_MEM_TO_DEV;
	qp->xt->src_inc = true;
	qp->xt->dst_inc = true;
	qp->xt->src_sgl = true;
	qp->xt->dst_sgl = true;
	qp->xt->numf = 1;
}

/* The peer's block is empty and ours is too: start from 0. link_lock held. */
void ntb_edma_queue_start(struct ntb_edma_qp *qp)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->rx_lock, flags);
	qp->rx_base += qp->rx_next;
	qp->rx_posted -= qp->rx_next;
	qp->rx_next = 0;
	qp->rx_pub = 0;
	spin_unlock_irqrestore(&qp->rx_lock, flags);

	qp->cpu = raw_smp_processor_id();
	qp->events = 0;
	qp->rung = 0;
	qp->consumed = false;

	spin_lock_irqsave(&qp->tx_lock, flags);
	qp->tx_head = 0;
	qp->tx_next = 0;
	qp->tx_commit = 0;
	qp->tx_tail = 0;
	qp->batch_head = 0;
	qp->batch_tail = 0;
	qp->dma_batches = 0;
	qp->starved = false;
	qp->failed = false;
	WRITE_ONCE(qp->up, true);
	spin_unlock_irqrestore(&qp->tx_lock, flags);

	ntb_edma_kick(qp);
}

/* Wait for the end of sending and receiving. The queue is down. */
void ntb_edma_queue_quiesce(struct ntb_edma_qp *qp)
{
	hrtimer_cancel(&qp->timer);
	cancel_work_sync(&qp->poll);
	cancel_work_sync(&qp->send);
	/* The receive work may have started it once more */
	hrtimer_cancel(&qp->timer);
}

/**
 * ntb_edma_qp_show() - print the state of a queue pair
 * @qp:	The queue pair.
 * @s:	Where to.
 */
void ntb_edma_qp_show(struct ntb_edma_qp *qp, struct seq_file *s)
{
	seq_printf(s, "link - \t\t%s\n", READ_ONCE(qp->up) ? "Up" : "Down");
	seq_printf(s, "dma_channels - \t%u\n", qp->edma->chan_count);
	seq_printf(s, "ring - \t\t%u\n", NTB_EDMA_RING);
	seq_printf(s, "tx_pkts - \t%llu\n", qp->tx_pkts);
	seq_printf(s, "tx_bytes - \t%llu\n", qp->tx_bytes);
	seq_printf(s, "tx_batches - \t%llu\n", qp->tx_batches);
	seq_printf(s, "tx_copied - \t%llu\n", qp->tx_copied);
	seq_printf(s, "tx_errors - \t%llu\n", qp->tx_errors);
	seq_printf(s, "tx_full - \t%llu\n", qp->tx_full);
	seq_printf(s, "tx_starved - \t%llu\n", qp->tx_starved);
	seq_printf(s, "tx_head/next/commit/tail - %u/%u/%u/%u\n",
		   qp->tx_head, qp->tx_next, qp->tx_commit, qp->tx_tail);
	seq_printf(s, "rx_pkts - \t%llu\n", qp->rx_pkts);
	seq_printf(s, "rx_bytes - \t%llu\n", qp->rx_bytes);
	seq_printf(s, "rx_errors - \t%llu\n", qp->rx_errors);
	seq_printf(s, "rx_posted/pub/next - %u/%u/%u\n",
		   qp->rx_posted, qp->rx_pub, qp->rx_next);
	seq_printf(s, "polls - \t%llu\n", qp->polls);
	seq_printf(s, "doorbells_in - \t%llu\n", qp->doorbells_in);
	seq_printf(s, "doorbells_out - %llu\n", qp->doorbells_out);
}
EXPORT_SYMBOL_NS_GPL(ntb_edma_qp_show, "NTB_EDMA");
