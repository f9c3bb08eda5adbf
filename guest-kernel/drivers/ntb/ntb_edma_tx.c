// SPDX-License-Identifier: GPL-2.0
/*
 * Packets into posted buffers of the peer by DMA: sending
 *
 * The peer publishes the addresses of its receive buffers in our free ring.
 * Packets are moved there by the DMA engine in batches, and when a batch is
 * complete its packets are committed to the peer's done ring.
 */

#include <linux/dma-mapping.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/ntb.h>

#include "ntb_edma_internal.h"

static struct ntb_edma_slot *tx_slot(struct ntb_edma_qp *qp, u32 n)
{
	return &qp->tx_ring[n % NTB_EDMA_RING];
}

/* Commit the packets of batches that are complete, in order. Send work only. */
static void ntb_edma_reap(struct ntb_edma_qp *qp)
{
	struct ntb_edma_done __iomem *done;
	struct ntb_edma_batch *batch;
	u32 commit = qp->tx_commit;
	u32 len, end;

	while (qp->batch_tail != qp->batch_head) {
		batch = &qp->batch[qp->batch_tail % NTB_EDMA_BATCHES];
		/* Paired with the release in ntb_edma_batch_done() */
		if (!smp_load_acquire(&batch->done))
			break;

		qp->batch_tail++;
		if (!batch->copy)
			qp->dma_batches--;
		if (batch->failed)
			qp->failed = true;
		if (qp->failed)
			continue;

		for (end = commit + batch->count; commit != end; commit++) {
			done = &qp->remote->done[commit % NTB_EDMA_RING];
			len = tx_slot(qp, commit)->len;
			if (batch->copy)
				len |= NTB_EDMA_DONE_INLINE;
			writeq_relaxed((u64)commit << 32 | len,
				       (void __iomem *)done);
		}
	}

	if (commit == qp->tx_commit)
		return;

	/* Entries before the head, also in a write-combining window */
	wmb();
	writel(commit, &qp->remote->done_head);
	qp->tx_commit = commit;
	ntb_edma_ring(qp, NTB_EDMA_EVENT_DONE);
}

static void ntb_edma_batch_done(void *param,
				const struct dmaengine_result *result)
{
	struct ntb_edma_batch *batch = param;
	struct ntb_edma_qp *qp = batch->qp;

	if (result && result->result != DMA_TRANS_NOERROR) {
		batch->failed = true;
		/* The engine waits to be started again */
		dma_async_issue_pending(batch->chan);
	}

	/* The batch may be used again as soon as it is done */
	smp_store_release(&batch->done, true);
	/*
	 * A client frees large packets when they are back. Where it allocates
	 * them, too, it does not have to fight for the lock of the allocator.
	 */
	ntb_edma_queue_on(READ_ONCE(qp->tx_cpu), &qp->send);
	wake_up(&qp->drain);
}

/* Give the engine @count packets from tx_next on. Send work only. */
static int ntb_edma_submit(struct ntb_edma_qp *qp, unsigned int count)
{
	struct ntb_edma *edma = qp->edma;
	struct dma_interleaved_template *xt = qp->xt;
	struct dma_async_tx_descriptor *desc;
	u64 src_end = 0, dst_end = 0;
	struct ntb_edma_batch *batch;
	struct ntb_edma_slot *slot;
	struct ntb_edma_free *free;
	struct data_chunk *chunk;
	unsigned int i;
	u64 dst;

	/*
	 * One descriptor for all packets, wherever they are: an engine takes
	 * an interrupt for each descriptor. A gap may be negative: it is
	 * added modulo 2^64.
	 */
	for (i = 0; i < count; i++) {
		slot = tx_slot(qp, qp->tx_next + i);
		free = &qp->local->free[(qp->tx_next + i) % NTB_EDMA_RING];
		dst = le64_to_cpu(READ_ONCE(free->addr));
		chunk = &xt->sgl[i];
		chunk->size = min(slot->len, le32_to_cpu(READ_ONCE(free->len)));
		if (!chunk->size)
			return -EINVAL;

		if (i) {
			chunk[-1].src_icg = slot->dma - src_end;
			chunk[-1].dst_icg = dst - dst_end;
		} else {
			xt->src_start = slot->dma;
			xt->dst_start = dst;
		}
		src_end = slot->dma + chunk->size;
		dst_end = dst + chunk->size;
	}
	xt->sgl[count - 1].src_icg = 0;
	xt->sgl[count - 1].dst_icg = 0;
	xt->frame_size = count;

	batch = &qp->batch[qp->batch_head % NTB_EDMA_BATCHES];
	batch->chan = edma->chan[(qp->idx + qp->tx_batches) % edma->chan_count];
	batch->count = count;
	batch->copy = false;
	batch->done = false;
	batch->failed = false;

	desc = dmaengine_prep_interleaved_dma(batch->chan, xt,
					      DMA_PREP_INTERRUPT);
	if (!desc)
		return -ENOMEM;

	desc->callback_result = ntb_edma_batch_done;
	desc->callback_param = batch;
	if (dma_submit_error(dmaengine_submit(desc)))
		return -ENOMEM;

	qp->batch_head++;
	qp->dma_batches++;
	qp->tx_next += count;
	qp->tx_batches++;
	dma_async_issue_pending(batch->chan);

	return 0;
}

/*
 * Small packets cost less when they are copied than the engine's registers do.
 * Give the peer @count of them from tx_next on. Send work only.
 */
static void ntb_edma_copy(struct ntb_edma_qp *qp, unsigned int count)
{
	struct ntb_edma_batch *batch;
	struct ntb_edma_slot *slot;
	unsigned int i;

	for (i = 0; i < count; i++) {
		slot = tx_slot(qp, qp->tx_next + i);
		memcpy_toio(qp->remote->data[(qp->tx_next + i) % NTB_EDMA_RING],
			    slot->buf, slot->len);
	}

	batch = &qp->batch[qp->batch_head % NTB_EDMA_BATCHES];
	batch->count = count;
	batch->copy = true;
	batch->done = true;
	batch->failed = false;

	qp->batch_head++;
	qp->tx_next += count;
	qp->tx_copied += count;
}

/* How many of @count packets from tx_next on are sent in the same way? */
static unsigned int ntb_edma_alike(struct ntb_edma_qp *qp, unsigned int count)
{
	bool copy = tx_slot(qp, qp->tx_next)->copy;
	unsigned int i;

	for (i = 1; i < count; i++)
		if (tx_slot(qp, qp->tx_next + i)->copy != copy)
			break;

	return i;
}

/* Start what can be started. Send work only. */
static void ntb_edma_dispatch(struct ntb_edma_qp *qp)
{
	/* Paired with the release in ntb_edma_qp_send() */
	u32 given = smp_load_acquire(&qp->tx_head);
	bool starved = false;
	u32 head, count;
	int rc;

	/* What the peer has published may be in other use */
	if (READ_ONCE(qp->local->down))
		return;

	while (qp->tx_next != given &&
	       qp->batch_head - qp->batch_tail < NTB_EDMA_BATCHES) {
		head = le32_to_cpu(READ_ONCE(qp->local->free_head));
		if (head - qp->tx_commit > NTB_EDMA_RING ||
		    head - qp->tx_next > NTB_EDMA_RING) {
			ntb_edma_fail(qp, "the peer's free ring runs wild");
			return;
		}

		count = min3(head - qp->tx_next, given - qp->tx_next,
			     NTB_EDMA_BATCH_MAX);
		if (!count) {
			starved = true;
			break;
		}

		count = ntb_edma_alike(qp, count);
		if (tx_slot(qp, qp->tx_next)->copy) {
			ntb_edma_copy(qp, count);
			continue;
		}
		if (qp->dma_batches >= NTB_EDMA_MAX_DMA)
			break;

		/* Entries after the head */
		dma_rmb();
		rc = ntb_edma_submit(qp, count);
		if (rc == -EINVAL) {
			ntb_edma_fail(qp, "the peer published an empty buffer");
			return;
		}
		if (rc) {
			/* No memory: the receive work tries again, also later */
			hrtimer_start(&qp->timer, ns_to_ktime(NSEC_PER_MSEC),
				      HRTIMER_MODE_REL_PINNED_SOFT);
			starved = true;
			break;
		}
	}

	if (starved == qp->starved)
		return;

	WRITE_ONCE(qp->starved, starved);
	/* The receive work asks for a doorbell when there are buffers */
	if (starved) {
		qp->tx_starved++;
		ntb_edma_kick(qp);
	}
}

/* Return packets to the client, up to @end; @error: they were not sent */
static void ntb_edma_tx_complete(struct ntb_edma_qp *qp, u32 end, int error)
{
	struct ntb_edma_slot *slot;
	u32 tail = qp->tx_tail;
	void *cb;
	int len;

	while (tail != end) {
		slot = tx_slot(qp, tail);
		if (!slot->copy)
			dma_unmap_single(qp->edma->dma_dev, slot->dma,
					 slot->len, DMA_TO_DEVICE);
		cb = slot->cb;
		len = slot->len;
		if (error) {
			qp->tx_errors++;
		} else {
			qp->tx_pkts++;
			qp->tx_bytes += len;
		}

		/* The slot is free from here on */
		smp_store_release(&qp->tx_tail, ++tail);
		qp->edma->ops->tx_done(qp->ctx, cb, error ?: len);
	}
}

/* The work that does all of the above: sends what there is, one at a time */
void ntb_edma_send(struct work_struct *work)
{
	struct ntb_edma_qp *qp = container_of(work, struct ntb_edma_qp, send);
	u32 batches;

	/* Whoever cleared it waits for the end of this work */
	if (!READ_ONCE(qp->up))
		return;

	/* Batches that were copied are complete at once */
	do {
		ntb_edma_reap(qp);
		if (qp->failed) {
			ntb_edma_fail(qp, "DMA into the peer's memory failed");
			return;
		}

		batches = qp->batch_head;
		ntb_edma_dispatch(qp);
	} while (qp->batch_head != batches);

	ntb_edma_tx_complete(qp, qp->tx_commit, 0);
}

/**
 * ntb_edma_qp_send() - send a packet
 * @qp:		The queue pair.
 * @cb:		Given back with the packet.
 * @buf:	Memory from the linear map, for DMA.
 * @len:	Its length.
 *
 * Context: Any but hard interrupts.
 * Return: 0: tx_done() will be called; -ENOLINK, -EBUSY when the ring is full,
 * -EIO when @buf cannot be mapped.
 */
int ntb_edma_qp_send(struct ntb_edma_qp *qp, void *cb, void *buf,
		     unsigned int len)
{
	bool copy = len <= qp->edma->copy_bytes;
	struct device *dev = qp->edma->dma_dev;
	dma_addr_t dma = DMA_MAPPING_ERROR;
	struct ntb_edma_slot *slot;
	unsigned long flags;
	int rc = 0;

	if (!READ_ONCE(qp->up))
		return -ENOLINK;

	if (!ntb_edma_qp_tx_free(qp)) {
		qp->tx_full++;
		return -EBUSY;
	}

	if (!copy) {
		dma = dma_map_single(dev, buf, len, DMA_TO_DEVICE);
		if (dma_mapping_error(dev, dma))
			return -EIO;
	}

	spin_lock_irqsave(&qp->tx_lock, flags);
	if (!qp->up) {
		rc = -ENOLINK;
	} else if (!ntb_edma_qp_tx_free(qp)) {
		rc = -EBUSY;
	} else {
		slot = tx_slot(qp, qp->tx_head);
		slot->cb = cb;
		slot->buf = buf;
		slot->dma = dma;
		slot->len = len;
		slot->copy = copy;
		WRITE_ONCE(qp->tx_cpu, smp_processor_id());
		/* The slot is filled. Paired with the acquire when sending */
		smp_store_release(&qp->tx_head, qp->tx_head + 1);
	}
	spin_unlock_irqrestore(&qp->tx_lock, flags);

	if (!rc)
		queue_work(system_bh_wq, &qp->send);
	else if (!copy)
		dma_unmap_single(dev, dma, len, DMA_TO_DEVICE);

	return rc;
}
EXPORT_SYMBOL_NS_GPL(ntb_edma_qp_send, "NTB_EDMA");

/**
 * ntb_edma_qp_tx_free() - count the packets that can be sent now
 * @qp:	The queue pair.
 *
 * Return: the number of free slots.
 */
unsigned int ntb_edma_qp_tx_free(struct ntb_edma_qp *qp)
{
	/* Paired with the release in ntb_edma_tx_complete() */
	u32 tail = smp_load_acquire(&qp->tx_tail);

	return NTB_EDMA_RING - (READ_ONCE(qp->tx_head) - tail);
}
EXPORT_SYMBOL_NS_GPL(ntb_edma_qp_tx_free, "NTB_EDMA");

/* No packet is taken and nothing written to the peer from here on */
bool ntb_edma_queue_down(struct ntb_edma_qp *qp)
{
	unsigned long flags;
	bool was_up;

	spin_lock_irqsave(&qp->tx_lock, flags);
	was_up = qp->up;
	WRITE_ONCE(qp->up, false);
	spin_unlock_irqrestore(&qp->tx_lock, flags);

	return was_up;
}

/* Does the engine have nothing of ours any more? The queue is quiesced. */
bool ntb_edma_queue_drained(struct ntb_edma_qp *qp)
{
	u32 n;

	for (n = qp->batch_tail; n != qp->batch_head; n++) {
		/* Paired with the release in ntb_edma_batch_done() */
		if (!smp_load_acquire(&qp->batch[n % NTB_EDMA_BATCHES].done))
			return false;
	}

	return true;
}

/*
 * The engine has none of our packets: give them all back. Those that it has
 * moved are committed if the peer is still @there. Quiesced.
 */
void ntb_edma_queue_flush(struct ntb_edma_qp *qp, bool there)
{
	if (there)
		ntb_edma_reap(qp);
	ntb_edma_tx_complete(qp, qp->tx_commit, 0);
	ntb_edma_tx_complete(qp, qp->tx_head, -ECONNABORTED);
}
