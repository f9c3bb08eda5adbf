// SPDX-License-Identifier: GPL-2.0
/*
 * Exporting the DMA engine of an endpoint controller to the host
 *
 * An endpoint function driver delegates one direction of the engine's channels
 * and learns from here what it has to show the host in a BAR.
 */

#include <linux/align.h>
#include <linux/dma-mapping.h>
#include <linux/dmaengine.h>
#include <linux/export.h>
#include <linux/pci-ep-dma.h>
#include <linux/pci-epc.h>
#include <linux/pci-epf.h>
#include <linux/slab.h>

/**
 * struct pci_ep_dma_export - an engine that is exported
 * @epf: the function whose host drives the channels
 * @dir: direction of its channels
 * @type: programming interface of the engine
 * @num_local: channels that stay here
 * @num_remote: channels of the host
 * @reg_iova: DMA address of the pages of the registers
 * @reg_map_size: bytes mapped there
 * @reg_offset: offset of the registers in the exported region
 * @reg_size: bytes of registers
 * @size: of the whole region, with the table
 * @num_pieces: number of entries in @piece
 * @piece: the registers, then the descriptor memory of each channel
 * @desc_offset: offset of each channel's descriptors in the exported region
 * @desc: descriptor memory of each channel of the host
 * @local: channels of this side that were requested once
 */
struct pci_ep_dma_export {
	struct pci_epf *epf;
	enum pci_epc_dma_dir dir;
	enum pci_epc_dma_type type;
	unsigned int num_local;
	unsigned int num_remote;
	dma_addr_t reg_iova;
	size_t reg_map_size;
	size_t reg_offset;
	size_t reg_size;
	size_t size;
	unsigned int num_pieces;
	struct pci_ep_dma_piece piece[1 + PCI_EP_DMA_MAX_CHANS];
	size_t desc_offset[PCI_EP_DMA_MAX_CHANS];
	struct pci_epc_aux_resource desc[PCI_EP_DMA_MAX_CHANS];
	struct dma_chan *local[PCI_EP_DMA_MAX_CHANS];
};

static size_t pci_ep_dma_align(const struct pci_ep_dma_export *exp)
{
	const struct pci_epf *epf = exp->epf;
	const struct pci_epc_features *features;

	features = pci_epc_get_features(epf->epc, epf->func_no,
					epf->vfunc_no);

	return max_t(size_t, SZ_4K, features ? features->align : 0);
}

/* Put @len bytes at @addr behind what the region has; returns their offset. */
static size_t pci_ep_dma_add_piece(struct pci_ep_dma_export *exp,
				   dma_addr_t addr, size_t len)
{
	size_t align = pci_ep_dma_align(exp);
	size_t skew = addr & (align - 1);
	struct pci_ep_dma_piece *piece = &exp->piece[exp->num_pieces++];

	piece->offset = exp->size;
	piece->addr = addr - skew;
	piece->size = ALIGN(skew + len, align);
	exp->size += piece->size;

	return piece->offset + skew;
}

static int pci_ep_dma_add_regs(struct pci_ep_dma_export *exp,
			       const struct pci_epc_aux_resource *res)
{
	struct device *dev = exp->epf->epc->dev.parent;
	size_t align = max_t(size_t, PAGE_SIZE, pci_ep_dma_align(exp));
	phys_addr_t base = ALIGN_DOWN(res->phys_addr, align);
	size_t skew = res->phys_addr - base;

	/* Sharing a BAR that the platform reserves is not supported. */
	if (res->bar != NO_BAR)
		return -EOPNOTSUPP;

	exp->reg_map_size = ALIGN(skew + res->size, align);
	exp->reg_iova = dma_map_resource(dev, base, exp->reg_map_size,
					 DMA_BIDIRECTIONAL, 0);
	if (dma_mapping_error(dev, exp->reg_iova)) {
		exp->reg_map_size = 0;
		return -EIO;
	}

	exp->reg_size = res->size;
	exp->reg_offset = pci_ep_dma_add_piece(exp, exp->reg_iova + skew,
					       res->size);
	return 0;
}

/* Around descriptors there is memory that is not for the host to see. */
static bool pci_ep_dma_fills(const struct pci_ep_dma_export *exp,
			     const struct pci_epc_aux_resource *res)
{
	size_t align = pci_ep_dma_align(exp);

	if (IS_ALIGNED(res->phys_addr, align) && IS_ALIGNED(res->size, align))
		return true;

	dev_warn(&exp->epf->dev,
		 "Descriptors of DMA channel %u: %pa+%pa is not a multiple of %#zx\n",
		 res->u.dma_desc.chan, &res->phys_addr, &res->size, align);

	return false;
}

static const struct pci_epc_aux_resource *
pci_ep_dma_find_ctrl(const struct pci_epc_aux_resource *res, int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (res[i].type == PCI_EPC_AUX_DMA_CTRL_MMIO)
			return &res[i];

	return NULL;
}

static int pci_ep_dma_lay_out(struct pci_ep_dma_export *exp)
{
	const struct pci_epf *epf = exp->epf;
	const struct pci_epc_aux_resource *ctrl;
	unsigned int chan, seen = 0;
	int count, ret, i;

	count = pci_epc_get_aux_resources_count(epf->epc, epf->func_no,
						epf->vfunc_no);
	if (count <= 0)
		return count ?: -ENODEV;

	struct pci_epc_aux_resource *res __free(kfree) =
						kzalloc_objs(*res, count);
	if (!res)
		return -ENOMEM;

	ret = pci_epc_get_aux_resources(epf->epc, epf->func_no, epf->vfunc_no,
					res, count);
	if (ret)
		return ret;

	ctrl = pci_ep_dma_find_ctrl(res, count);
	if (!ctrl)
		return -ENODEV;

	exp->type = ctrl->u.dma_ctrl.type;
	if (exp->dir == PCI_EPC_DMA_READ) {
		exp->num_remote = ctrl->u.dma_ctrl.num_read;
		exp->num_local = ctrl->u.dma_ctrl.num_write;
	} else {
		exp->num_remote = ctrl->u.dma_ctrl.num_write;
		exp->num_local = ctrl->u.dma_ctrl.num_read;
	}
	if (!exp->num_remote || exp->num_remote > PCI_EP_DMA_MAX_CHANS ||
	    exp->num_local > PCI_EP_DMA_MAX_CHANS)
		return -ENODEV;

	exp->size = max_t(size_t, PCI_EP_DMA_TABLE_SIZE,
			  pci_ep_dma_align(exp));
	ret = pci_ep_dma_add_regs(exp, ctrl);
	if (ret)
		return ret;

	for (i = 0; i < count; i++) {
		if (res[i].type != PCI_EPC_AUX_DMA_CHAN_DESC ||
		    res[i].u.dma_desc.dir != exp->dir)
			continue;

		chan = res[i].u.dma_desc.chan;
		if (chan >= exp->num_remote || exp->desc[chan].size)
			return -EINVAL;

		if (!pci_ep_dma_fills(exp, &res[i]))
			return -EOPNOTSUPP;

		exp->desc[chan] = res[i];
		exp->desc_offset[chan] = pci_ep_dma_add_piece(exp,
							      res[i].phys_addr,
							      res[i].size);
		seen++;
	}

	return seen == exp->num_remote ? 0 : -EINVAL;
}

/**
 * pci_ep_dma_export() - delegate DMA channels and lay out what the host needs
 * @epf: the endpoint function whose host is to drive the channels
 * @dir: direction of the channels
 * @room: bytes that there are in the BAR for table, registers and descriptors
 *
 * Return: the export, or an ERR_PTR(): -EOPNOTSUPP if the controller cannot do
 * it, -EBUSY if the engine is in use, -ENOSPC if @room is too small, or another
 * -errno.
 */
struct pci_ep_dma_export *
pci_ep_dma_export(struct pci_epf *epf, enum pci_epc_dma_dir dir, size_t room)
{
	struct pci_ep_dma_export *exp;
	int ret;

	exp = kzalloc_obj(*exp);
	if (!exp)
		return ERR_PTR(-ENOMEM);

	exp->epf = epf;
	exp->dir = dir;

	ret = pci_epc_delegate_dma(epf->epc, epf->func_no, epf->vfunc_no, dir);
	if (ret) {
		kfree(exp);
		return ERR_PTR(ret);
	}

	ret = pci_ep_dma_lay_out(exp);
	if (!ret && exp->size > room)
		ret = -ENOSPC;
	if (ret) {
		pci_ep_dma_unexport(exp);
		return ERR_PTR(ret);
	}

	return exp;
}
EXPORT_SYMBOL_GPL(pci_ep_dma_export);

/**
 * pci_ep_dma_unexport() - take the channels back
 * @exp: the export, no longer shown in any BAR; freed
 */
void pci_ep_dma_unexport(struct pci_ep_dma_export *exp)
{
	struct pci_epf *epf = exp->epf;

	if (exp->reg_map_size)
		dma_unmap_resource(epf->epc->dev.parent, exp->reg_iova,
				   exp->reg_map_size, DMA_BIDIRECTIONAL, 0);
	pci_epc_reclaim_dma(epf->epc, epf->func_no, epf->vfunc_no, exp->dir);
	kfree(exp);
}
EXPORT_SYMBOL_GPL(pci_ep_dma_unexport);

/**
 * pci_ep_dma_export_table() - write the table for the host
 * @exp: the export
 * @table: memory at the beginning of the exported region
 */
void pci_ep_dma_export_table(const struct pci_ep_dma_export *exp,
			     struct pci_ep_dma_table *table)
{
	unsigned int i;

	memset(table, 0, sizeof(*table));
	table->version = cpu_to_le16(PCI_EP_DMA_VERSION);
	table->type = cpu_to_le16(exp->type);
	table->dir = cpu_to_le16(exp->dir);
	table->nr_chans = cpu_to_le16(exp->num_remote);
	table->size = cpu_to_le32(exp->size);
	table->reg_offset = cpu_to_le32(exp->reg_offset);
	table->reg_size = cpu_to_le32(exp->reg_size);

	for (i = 0; i < exp->num_remote; i++) {
		table->chan[i].offset = cpu_to_le32(exp->desc_offset[i]);
		table->chan[i].size = cpu_to_le32(exp->desc[i].size);
		table->chan[i].dma_addr = cpu_to_le64(exp->desc[i].phys_addr);
	}

	/* The host takes the table for valid when it sees the magic. */
	dma_wmb();
	table->magic = cpu_to_le32(PCI_EP_DMA_MAGIC);
}
EXPORT_SYMBOL_GPL(pci_ep_dma_export_table);

/**
 * pci_ep_dma_export_pieces() - what to map into the BAR behind the table
 * @exp: the export
 * @pieces: set to the pieces, in ascending order of offsets
 *
 * Return: the number of pieces.
 */
unsigned int pci_ep_dma_export_pieces(const struct pci_ep_dma_export *exp,
				      const struct pci_ep_dma_piece **pieces)
{
	*pieces = exp->piece;

	return exp->num_pieces;
}
EXPORT_SYMBOL_GPL(pci_ep_dma_export_pieces);

/**
 * pci_ep_dma_remote_chans() - count the channels that the host drives
 * @exp: the export
 *
 * Return: their number.
 */
unsigned int pci_ep_dma_remote_chans(const struct pci_ep_dma_export *exp)
{
	return exp->num_remote;
}
EXPORT_SYMBOL_GPL(pci_ep_dma_remote_chans);

/**
 * pci_ep_dma_local_chans() - count the channels of the other direction
 * @exp: the export
 *
 * Return: the number of channels that this side has kept.
 */
unsigned int pci_ep_dma_local_chans(const struct pci_ep_dma_export *exp)
{
	return exp->num_local;
}
EXPORT_SYMBOL_GPL(pci_ep_dma_local_chans);

struct pci_ep_dma_filter {
	struct device *dev;
	u32 directions;
	unsigned int idx;
};

static bool pci_ep_dma_filter_fn(struct dma_chan *chan, void *arg)
{
	const struct pci_ep_dma_filter *filter = arg;
	struct dma_slave_caps caps = {};

	/* What is left of a shared engine is numbered from zero. */
	if (chan->device->dev != filter->dev || chan->chan_id != filter->idx)
		return false;

	return !dma_get_slave_caps(chan, &caps) &&
	       (caps.directions & filter->directions);
}

/**
 * pci_ep_dma_request_local_chan() - take a channel that this side has kept
 * @exp: the export
 * @idx: index, less than pci_ep_dma_local_chans()
 *
 * Return: the channel, or an ERR_PTR(): -ENODEV if there is no such channel,
 * -EBUSY if it is taken.
 */
struct dma_chan *
pci_ep_dma_request_local_chan(struct pci_ep_dma_export *exp, unsigned int idx)
{
	struct pci_ep_dma_filter filter = {
		.dev = exp->epf->epc->dev.parent,
		.directions = exp->dir == PCI_EPC_DMA_READ ?
			      BIT(DMA_MEM_TO_DEV) : BIT(DMA_DEV_TO_MEM),
		.idx = idx,
	};
	struct dma_chan *chan;
	dma_cap_mask_t mask;

	if (idx >= exp->num_local)
		return ERR_PTR(-ENODEV);

	dma_cap_zero(mask);
	dma_cap_set(DMA_SLAVE, mask);
	chan = dma_request_channel(mask, pci_ep_dma_filter_fn, &filter);
	if (!chan)
		return ERR_PTR(-EBUSY);

	WRITE_ONCE(exp->local[idx], chan);

	return chan;
}
EXPORT_SYMBOL_GPL(pci_ep_dma_request_local_chan);

/**
 * pci_ep_dma_local_in_use() - Does anybody hold a channel of this side?
 * @exp: the export
 *
 * Return: true if a channel from pci_ep_dma_request_local_chan() is in use.
 */
bool pci_ep_dma_local_in_use(const struct pci_ep_dma_export *exp)
{
	const struct dma_chan *chan;
	unsigned int i;

	for (i = 0; i < exp->num_local; i++) {
		chan = READ_ONCE(exp->local[i]);
		if (chan && READ_ONCE(chan->client_count))
			return true;
	}

	return false;
}
EXPORT_SYMBOL_GPL(pci_ep_dma_local_in_use);
