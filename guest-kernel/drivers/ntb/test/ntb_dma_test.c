// SPDX-License-Identifier: GPL-2.0
/*
 * Test client for DMA into the memory of the NTB peer
 *
 * Loaded on both sides. Each side has a receive buffer whose address the other
 * one finds in its scratchpads. A run copies blocks from memory of this side
 * into the buffer of the peer with a channel of ntb_dma_request_chan(). The
 * peer computes a checksum of each block and sees that nothing around it has
 * changed.
 *
 *   cd /sys/kernel/debug/ntb_dma_test/0000:10:00.0
 *   echo CHAN SIZE OFFSET SRC_OFFSET SEGMENT COUNT [nocheck] > run
 *   cat run
 *
 * CHAN: index of the channel. SIZE: bytes of a block. OFFSET, SRC_OFFSET: where
 * it is in the buffer of the peer and in the one of this side. SEGMENT: bytes
 * of a scatterlist entry, 0 for one entry. COUNT: number of blocks. With
 * nocheck the peer is not asked, and all blocks are in flight at once.
 */

#include <linux/completion.h>
#include <linux/crc32.h>
#include <linux/debugfs.h>
#include <linux/dma-mapping.h>
#include <linux/dmaengine.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/ntb.h>
#include <linux/pci.h>
#include <linux/random.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

MODULE_LICENSE("GPL");
MODULE_AUTHOR("vntb-lab");
MODULE_DESCRIPTION("Test client for DMA into the memory of the NTB peer");

#define NTB_DT_MAGIC		0x4e445401
#define NTB_DT_GUARD		0x5a
#define NTB_DT_GUARD_SIZE	256
#define NTB_DT_TIMEOUT_MS	10000
#define NTB_DT_MAX_COUNT	100000

static unsigned int buf_size = SZ_1M;
module_param(buf_size, uint, 0444);
MODULE_PARM_DESC(buf_size, "Bytes of the receive buffer");

/* Scratchpads, written by the peer of the side that reads them */
enum ntb_dt_spad {
	NTB_DT_SPAD_MAGIC,	/* NTB_DT_MAGIC: the buffer is there */
	NTB_DT_SPAD_ADDR_LO,
	NTB_DT_SPAD_ADDR_HI,
	NTB_DT_SPAD_SIZE,
	NTB_DT_SPAD_REQ_SEQ,	/* check a block; written last */
	NTB_DT_SPAD_REQ_OFFSET,
	NTB_DT_SPAD_REQ_SIZE,
	NTB_DT_SPAD_REQ_CRC,
	NTB_DT_SPAD_ACK_SEQ,	/* the block with this number was checked */
	NTB_DT_SPAD_ACK_STATUS,	/* negative errno */
	NTB_DT_SPAD_COUNT,
};

struct ntb_dt_run {
	unsigned int chan;
	unsigned int size;
	unsigned int offset;
	unsigned int src_offset;
	unsigned int segment;
	unsigned int count;
	bool check;
};

/**
 * struct ntb_dt - the test client on one NTB device
 * @ntb: the device
 * @dbgfs: its directory
 * @rx: receive buffer, the peer's target
 * @rx_addr: its address for the peer
 * @tx: source buffer
 * @work: handles link changes and requests of the peer
 * @lock: protects seq, the source buffer and what follows event
 * @link_up: the link is up and the peer may have a buffer
 * @seq: number of the last block
 * @req_seq: number of the last block of the peer that was checked
 * @event: something has happened that a run waits for
 * @done: transfers that have completed
 * @failed: transfers that have completed with an error
 * @last: result of the last run
 */
struct ntb_dt {
	struct ntb_dev *ntb;
	struct dentry *dbgfs;
	void *rx;
	dma_addr_t rx_addr;
	void *tx;
	struct work_struct work;
	struct mutex lock;	/* One run at a time */
	bool link_up;
	u32 seq;
	u32 req_seq;
	wait_queue_head_t event;
	atomic_t done;
	atomic_t failed;
	char last[160];
};

static struct dentry *ntb_dt_dbgfs;

static void ntb_dt_put(struct ntb_dt *dt, enum ntb_dt_spad spad, u32 val)
{
	ntb_peer_spad_write(dt->ntb, NTB_DEF_PEER_IDX, spad, val);
}

static void ntb_dt_ring(struct ntb_dt *dt)
{
	ntb_peer_db_set(dt->ntb, BIT_ULL(0));
}

static void ntb_dt_publish(struct ntb_dt *dt)
{
	ntb_dt_put(dt, NTB_DT_SPAD_ADDR_LO, lower_32_bits(dt->rx_addr));
	ntb_dt_put(dt, NTB_DT_SPAD_ADDR_HI, upper_32_bits(dt->rx_addr));
	ntb_dt_put(dt, NTB_DT_SPAD_SIZE, buf_size);
	ntb_dt_put(dt, NTB_DT_SPAD_MAGIC, NTB_DT_MAGIC);
}

static bool ntb_dt_guarded(const struct ntb_dt *dt, u32 from, u32 to)
{
	return !memchr_inv(dt->rx + from, NTB_DT_GUARD, to - from);
}

static int ntb_dt_check(struct ntb_dt *dt)
{
	u32 offset = ntb_spad_read(dt->ntb, NTB_DT_SPAD_REQ_OFFSET);
	u32 size = ntb_spad_read(dt->ntb, NTB_DT_SPAD_REQ_SIZE);
	u32 crc = ntb_spad_read(dt->ntb, NTB_DT_SPAD_REQ_CRC);
	u32 before, after, seen;

	if (offset > buf_size || size > buf_size - offset)
		return -EINVAL;

	seen = crc32_le(~0, dt->rx + offset, size);
	before = offset - min_t(u32, offset, NTB_DT_GUARD_SIZE);
	after = offset + size + min_t(u32, buf_size - offset - size,
				      NTB_DT_GUARD_SIZE);

	if (seen != crc) {
		dev_err(&dt->ntb->dev, "%u bytes at %u: crc %08x, not %08x\n",
			size, offset, seen, crc);
		return -EBADMSG;
	}

	if (!ntb_dt_guarded(dt, before, offset) ||
	    !ntb_dt_guarded(dt, offset + size, after)) {
		dev_err(&dt->ntb->dev, "%u bytes at %u: changed around it\n",
			size, offset);
		return -EFAULT;
	}

	memset(dt->rx + offset, NTB_DT_GUARD, size);

	return 0;
}

static void ntb_dt_work(struct work_struct *work)
{
	struct ntb_dt *dt = container_of(work, struct ntb_dt, work);
	bool up = ntb_link_is_up(dt->ntb, NULL, NULL) == 1;
	u32 seq;
	int ret;

	/* What the scratchpads ask for now was asked in the past. */
	if (up && !dt->link_up) {
		dt->req_seq = ntb_spad_read(dt->ntb, NTB_DT_SPAD_REQ_SEQ);
		ntb_dt_publish(dt);
	}
	WRITE_ONCE(dt->link_up, up);
	wake_up_all(&dt->event);
	if (!up)
		return;

	seq = ntb_spad_read(dt->ntb, NTB_DT_SPAD_REQ_SEQ);
	if (seq == dt->req_seq)
		return;

	dt->req_seq = seq;
	ret = ntb_dt_check(dt);
	ntb_dt_put(dt, NTB_DT_SPAD_ACK_STATUS, ret);
	ntb_dt_put(dt, NTB_DT_SPAD_ACK_SEQ, seq);
	ntb_dt_ring(dt);
}

static void ntb_dt_link_event(void *ctx)
{
	struct ntb_dt *dt = ctx;

	schedule_work(&dt->work);
}

static void ntb_dt_db_event(void *ctx, int vec)
{
	struct ntb_dt *dt = ctx;

	ntb_db_clear(dt->ntb, ntb_db_read(dt->ntb));
	schedule_work(&dt->work);
}

static const struct ntb_ctx_ops ntb_dt_ops = {
	.link_event = ntb_dt_link_event,
	.db_event = ntb_dt_db_event,
};

static void ntb_dt_dma_done(void *arg, const struct dmaengine_result *result)
{
	struct ntb_dt *dt = arg;

	if (result->result != DMA_TRANS_NOERROR)
		atomic_inc(&dt->failed);
	atomic_inc(&dt->done);
	wake_up_all(&dt->event);
}

static int ntb_dt_submit(struct ntb_dt *dt, struct dma_chan *chan,
			 const struct ntb_dt_run *run, struct sg_table *sgt)
{
	struct dma_async_tx_descriptor *tx;
	struct dma_slave_config config = {};
	u64 addr;

	addr = ntb_spad_read(dt->ntb, NTB_DT_SPAD_ADDR_LO) |
	       (u64)ntb_spad_read(dt->ntb, NTB_DT_SPAD_ADDR_HI) << 32;
	config.direction = DMA_MEM_TO_DEV;
	config.dst_addr = addr + run->offset;

	tx = dmaengine_prep_config_sg(chan, sgt->sgl, sgt->nents,
				      DMA_MEM_TO_DEV,
				      DMA_PREP_INTERRUPT | DMA_CTRL_ACK,
				      &config);
	if (!tx)
		return -EIO;

	tx->callback_result = ntb_dt_dma_done;
	tx->callback_param = dt;

	return dma_submit_error(dmaengine_submit(tx)) ? -EIO : 0;
}

static int ntb_dt_await(struct ntb_dt *dt, unsigned int count)
{
	long left;

	left = wait_event_timeout(dt->event,
				  atomic_read(&dt->done) >= count ||
				  !READ_ONCE(dt->link_up),
				  msecs_to_jiffies(NTB_DT_TIMEOUT_MS));
	if (!READ_ONCE(dt->link_up))
		return -ENOLINK;
	if (!left)
		return -ETIMEDOUT;

	return atomic_read(&dt->failed) ? -EIO : 0;
}

static int ntb_dt_ask_peer(struct ntb_dt *dt, const struct ntb_dt_run *run)
{
	u32 crc = crc32_le(~0, dt->tx + run->src_offset, run->size);
	long left;

	dt->seq++;
	ntb_dt_put(dt, NTB_DT_SPAD_REQ_OFFSET, run->offset);
	ntb_dt_put(dt, NTB_DT_SPAD_REQ_SIZE, run->size);
	ntb_dt_put(dt, NTB_DT_SPAD_REQ_CRC, crc);
	ntb_dt_put(dt, NTB_DT_SPAD_REQ_SEQ, dt->seq);
	ntb_dt_ring(dt);

	left = wait_event_timeout(dt->event,
				  ntb_spad_read(dt->ntb, NTB_DT_SPAD_ACK_SEQ) ==
				  dt->seq || !READ_ONCE(dt->link_up),
				  msecs_to_jiffies(NTB_DT_TIMEOUT_MS));
	if (!READ_ONCE(dt->link_up))
		return -ENOLINK;
	if (!left)
		return -ETIME;

	return (int)ntb_spad_read(dt->ntb, NTB_DT_SPAD_ACK_STATUS);
}

static int ntb_dt_map(struct ntb_dt *dt, const struct ntb_dt_run *run,
		      struct sg_table *sgt)
{
	unsigned int segment = run->segment ?: run->size;
	unsigned int at = 0, len;
	struct scatterlist *sg;
	int ret, i;

	ret = sg_alloc_table(sgt, DIV_ROUND_UP(run->size, segment), GFP_KERNEL);
	if (ret)
		return ret;

	for_each_sg(sgt->sgl, sg, sgt->orig_nents, i) {
		len = min(segment, run->size - at);
		sg_set_buf(sg, dt->tx + run->src_offset + at, len);
		at += len;
	}

	ret = dma_map_sgtable(ntb_get_dma_dev(dt->ntb), sgt, DMA_TO_DEVICE, 0);
	if (ret)
		sg_free_table(sgt);

	return ret;
}

static int ntb_dt_blocks(struct ntb_dt *dt, struct dma_chan *chan,
			 const struct ntb_dt_run *run, struct sg_table *sgt)
{
	struct device *dev = ntb_get_dma_dev(dt->ntb);
	unsigned int i;
	int ret;

	for (i = 1; i <= run->count; i++) {
		if (run->check) {
			dma_sync_sgtable_for_cpu(dev, sgt, DMA_TO_DEVICE);
			get_random_bytes(dt->tx + run->src_offset, run->size);
			dma_sync_sgtable_for_device(dev, sgt, DMA_TO_DEVICE);
		}

		ret = ntb_dt_submit(dt, chan, run, sgt);
		if (ret)
			return ret;

		if (!run->check)
			continue;

		dma_async_issue_pending(chan);
		ret = ntb_dt_await(dt, i) ?: ntb_dt_ask_peer(dt, run);
		if (ret)
			return ret;
	}

	dma_async_issue_pending(chan);
	ret = ntb_dt_await(dt, run->count);

	/* One block more, which the peer checks, cleans its buffer. */
	return ret ?: run->check ? 0 : ntb_dt_ask_peer(dt, run);
}

static int ntb_dt_run(struct ntb_dt *dt, const struct ntb_dt_run *run)
{
	struct dma_chan *chan;
	struct sg_table sgt;
	u64 start, spent;
	int ret;

	if (!READ_ONCE(dt->link_up) ||
	    ntb_spad_read(dt->ntb, NTB_DT_SPAD_MAGIC) != NTB_DT_MAGIC)
		return -ENOLINK;

	if (!run->size || !run->count || run->count > NTB_DT_MAX_COUNT ||
	    run->offset > buf_size || run->src_offset > buf_size ||
	    run->size > buf_size - max(run->offset, run->src_offset) ||
	    run->offset + run->size > ntb_spad_read(dt->ntb, NTB_DT_SPAD_SIZE))
		return -EINVAL;

	chan = ntb_dma_request_chan(dt->ntb, NTB_DEF_PEER_IDX, run->chan);
	if (IS_ERR(chan))
		return PTR_ERR(chan);

	get_random_bytes(dt->tx + run->src_offset, run->size);
	ret = ntb_dt_map(dt, run, &sgt);
	if (ret)
		goto out_release;

	atomic_set(&dt->done, 0);
	atomic_set(&dt->failed, 0);
	start = ktime_get_ns();
	ret = ntb_dt_blocks(dt, chan, run, &sgt);
	spent = max(ktime_get_ns() - start, 1);

	dmaengine_terminate_sync(chan);
	dma_unmap_sgtable(ntb_get_dma_dev(dt->ntb), &sgt, DMA_TO_DEVICE, 0);
	sg_free_table(&sgt);

	scnprintf(dt->last, sizeof(dt->last),
		  "result %d chan %u size %u count %u done %d failed %d ns %llu mb_s %llu\n",
		  ret, run->chan, run->size, run->count,
		  atomic_read(&dt->done), atomic_read(&dt->failed), spent,
		  div64_u64((u64)run->size * run->count * 1000, spent));

out_release:
	dma_release_channel(chan);

	return ret;
}

static ssize_t ntb_dt_run_write(struct file *file, const char __user *ubuf,
				size_t len, loff_t *off)
{
	struct ntb_dt *dt = file->private_data;
	struct ntb_dt_run run;
	char buf[128], word[8];
	int n, ret;

	if (len >= sizeof(buf))
		return -EINVAL;
	if (copy_from_user(buf, ubuf, len))
		return -EFAULT;
	buf[len] = '\0';

	n = sscanf(buf, "%u %u %u %u %u %u %7s", &run.chan, &run.size,
		   &run.offset, &run.src_offset, &run.segment, &run.count,
		   word);
	if (n < 6 || (n == 7 && strcmp(word, "nocheck")))
		return -EINVAL;
	run.check = n == 6;

	guard(mutex)(&dt->lock);
	ret = ntb_dt_run(dt, &run);

	return ret ?: len;
}

static ssize_t ntb_dt_run_read(struct file *file, char __user *ubuf,
			       size_t len, loff_t *off)
{
	struct ntb_dt *dt = file->private_data;

	guard(mutex)(&dt->lock);

	return simple_read_from_buffer(ubuf, len, off, dt->last,
				       strlen(dt->last));
}

static const struct file_operations ntb_dt_run_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = ntb_dt_run_read,
	.write = ntb_dt_run_write,
};

static int ntb_dt_info_show(struct seq_file *s, void *unused)
{
	struct ntb_dt *dt = s->private;

	seq_printf(s, "link %d\n", READ_ONCE(dt->link_up));
	seq_printf(s, "channels %d\n",
		   ntb_dma_chan_count(dt->ntb, NTB_DEF_PEER_IDX));
	seq_printf(s, "peer %d\n", READ_ONCE(dt->link_up) &&
		   ntb_spad_read(dt->ntb, NTB_DT_SPAD_MAGIC) == NTB_DT_MAGIC);

	return 0;
}
DEFINE_SHOW_ATTRIBUTE(ntb_dt_info);

static int ntb_dt_probe(struct ntb_client *client, struct ntb_dev *ntb)
{
	struct ntb_dt *dt;
	int ret;

	if (ntb_spad_count(ntb) < NTB_DT_SPAD_COUNT) {
		dev_err(&ntb->dev, "too few scratchpads\n");
		return -EINVAL;
	}

	dt = kzalloc_obj(*dt);
	if (!dt)
		return -ENOMEM;

	dt->ntb = ntb;
	dt->seq = get_random_u32();
	mutex_init(&dt->lock);
	init_waitqueue_head(&dt->event);
	INIT_WORK(&dt->work, ntb_dt_work);

	ret = -ENOMEM;
	dt->tx = kmalloc(buf_size, GFP_KERNEL);
	if (!dt->tx)
		goto err_free;

	dt->rx = dma_alloc_coherent(ntb_get_dma_dev(ntb), buf_size,
				    &dt->rx_addr, GFP_KERNEL);
	if (!dt->rx)
		goto err_free_tx;
	memset(dt->rx, NTB_DT_GUARD, buf_size);

	ret = ntb_set_ctx(ntb, dt, &ntb_dt_ops);
	if (ret)
		goto err_free_rx;

	dt->dbgfs = debugfs_create_dir(pci_name(ntb->pdev), ntb_dt_dbgfs);
	debugfs_create_file("run", 0600, dt->dbgfs, dt, &ntb_dt_run_fops);
	debugfs_create_file("info", 0400, dt->dbgfs, dt, &ntb_dt_info_fops);

	ntb_db_clear_mask(ntb, BIT_ULL(0));
	ntb_link_enable(ntb, NTB_SPEED_AUTO, NTB_WIDTH_AUTO);
	ntb_link_event(ntb);

	return 0;

err_free_rx:
	dma_free_coherent(ntb_get_dma_dev(ntb), buf_size, dt->rx, dt->rx_addr);
err_free_tx:
	kfree(dt->tx);
err_free:
	kfree(dt);

	return ret;
}

static void ntb_dt_remove(struct ntb_client *client, struct ntb_dev *ntb)
{
	struct ntb_dt *dt = ntb->ctx;

	/* A run must see the link go down before its file waits for it. */
	ntb_dt_put(dt, NTB_DT_SPAD_MAGIC, 0);
	WRITE_ONCE(dt->link_up, false);
	wake_up_all(&dt->event);
	debugfs_remove_recursive(dt->dbgfs);

	ntb_link_disable(ntb);
	ntb_db_set_mask(ntb, ntb_db_valid_mask(ntb));
	ntb_clear_ctx(ntb);
	cancel_work_sync(&dt->work);

	dma_free_coherent(ntb_get_dma_dev(ntb), buf_size, dt->rx, dt->rx_addr);
	kfree(dt->tx);
	kfree(dt);
}

static struct ntb_client ntb_dt_client = {
	.ops = {
		.probe = ntb_dt_probe,
		.remove = ntb_dt_remove,
	},
};

static int __init ntb_dt_init(void)
{
	int ret;

	ntb_dt_dbgfs = debugfs_create_dir(KBUILD_MODNAME, NULL);

	ret = ntb_register_client(&ntb_dt_client);
	if (ret)
		debugfs_remove(ntb_dt_dbgfs);

	return ret;
}
module_init(ntb_dt_init);

static void __exit ntb_dt_exit(void)
{
	ntb_unregister_client(&ntb_dt_client);
	debugfs_remove(ntb_dt_dbgfs);
}
module_exit(ntb_dt_exit);
