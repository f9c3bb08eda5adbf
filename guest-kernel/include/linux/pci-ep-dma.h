/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A DMA engine of a PCI endpoint controller that the host drives
 *
 * The endpoint shows the host a region of a BAR: a page with the table below,
 * then what the table speaks of, the registers of the engine and the descriptor
 * memory of the channels that the host is to drive. On the host this becomes a
 * device on the auxiliary bus, to which the driver of the engine binds.
 */

#ifndef __LINUX_PCI_EP_DMA_H
#define __LINUX_PCI_EP_DMA_H

#include <linux/auxiliary_bus.h>
#include <linux/build_bug.h>
#include <linux/pci-epc.h>
#include <linux/sizes.h>
#include <linux/types.h>

struct dma_chan;

#define PCI_EP_DMA_MAGIC	0x414d4445	/* "EDMA" */
#define PCI_EP_DMA_VERSION	1
#define PCI_EP_DMA_TABLE_SIZE	SZ_4K
#define PCI_EP_DMA_MAX_CHANS	64

/**
 * struct pci_ep_dma_table_chan - a channel in the table
 * @offset: where its descriptor memory is, in bytes from the table
 * @size: bytes of descriptor memory
 * @dma_addr: the address by which the engine itself knows that memory
 */
struct pci_ep_dma_table_chan {
	__le32 offset;
	__le32 size;
	__le64 dma_addr;
};

/**
 * struct pci_ep_dma_table - what the endpoint tells the host of the engine
 * @magic: PCI_EP_DMA_MAGIC; written last
 * @version: PCI_EP_DMA_VERSION
 * @type: enum pci_epc_dma_type
 * @dir: enum pci_epc_dma_dir of the channels that the host owns
 * @nr_chans: number of these channels, and of entries in @chan
 * @size: bytes from the table to the end of what it describes
 * @reg_offset: where the registers are, in bytes from the table
 * @reg_size: bytes of registers
 * @reserved: zero
 * @chan: the channels
 */
struct pci_ep_dma_table {
	__le32 magic;
	__le16 version;
	__le16 type;
	__le16 dir;
	__le16 nr_chans;
	__le32 size;
	__le32 reg_offset;
	__le32 reg_size;
	__le64 reserved;
	struct pci_ep_dma_table_chan chan[PCI_EP_DMA_MAX_CHANS];
};

static_assert(offsetof(struct pci_ep_dma_table, chan) == 32);
static_assert(sizeof(struct pci_ep_dma_table) <= PCI_EP_DMA_TABLE_SIZE);

/**
 * struct pci_ep_dma_dev - the engine as the host sees it
 * @adev: device on the auxiliary bus
 * @type: programming interface, which a driver has to know to bind
 * @dir: direction of the channels, as the endpoint names it
 * @regs: registers of the engine
 * @regs_size: bytes of registers; for the driver to check, as is the size of
 *             @desc
 * @nr_chans: number of channels, numbered from zero
 * @desc: descriptor memory of each channel: where the host writes it, the
 *        address for the engine and the size
 * @nr_irqs: interrupts for the engine, each a vector of the PCI function
 * @irq: Linux interrupt numbers
 * @retire: set by the driver while it is bound, called with the device locked.
 *          Returns 0 when no channel has a client, and none will be handed out
 *          until the device is bound anew, or -EBUSY. The device must not be
 *          deleted before
 *
 * Interrupts are written by the engine: the driver finds address and data in
 * the MSI message of @irq.
 */
struct pci_ep_dma_dev {
	struct auxiliary_device adev;

	enum pci_epc_dma_type type;
	enum pci_epc_dma_dir dir;
	void __iomem *regs;
	size_t regs_size;

	unsigned int nr_chans;
	struct {
		void __iomem *io;
		u64 dma_addr;
		size_t size;
	} desc[PCI_EP_DMA_MAX_CHANS];

	unsigned int nr_irqs;
	int irq[PCI_EP_DMA_MAX_CHANS];

	int (*retire)(struct pci_ep_dma_dev *edev);
};

#define to_pci_ep_dma_dev(auxdev) \
	container_of((auxdev), struct pci_ep_dma_dev, adev)

/**
 * struct pci_ep_dma_piece - a part of the exported region
 * @offset: bytes from the table; a multiple of the EPC's alignment
 * @size: bytes; a multiple of the EPC's alignment
 * @addr: DMA address of the EPC's parent that belongs there
 */
struct pci_ep_dma_piece {
	size_t offset;
	size_t size;
	dma_addr_t addr;
};

struct pci_ep_dma_export;

struct pci_ep_dma_export *
pci_ep_dma_export(struct pci_epf *epf, enum pci_epc_dma_dir dir, size_t room);
void pci_ep_dma_unexport(struct pci_ep_dma_export *exp);
void pci_ep_dma_export_table(const struct pci_ep_dma_export *exp,
			     struct pci_ep_dma_table *table);
unsigned int pci_ep_dma_export_pieces(const struct pci_ep_dma_export *exp,
				      const struct pci_ep_dma_piece **pieces);
unsigned int pci_ep_dma_remote_chans(const struct pci_ep_dma_export *exp);
unsigned int pci_ep_dma_local_chans(const struct pci_ep_dma_export *exp);
struct dma_chan *
pci_ep_dma_request_local_chan(struct pci_ep_dma_export *exp, unsigned int idx);
bool pci_ep_dma_local_in_use(const struct pci_ep_dma_export *exp);

#endif /* __LINUX_PCI_EP_DMA_H */
