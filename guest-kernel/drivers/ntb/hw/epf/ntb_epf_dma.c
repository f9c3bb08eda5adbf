// SPDX-License-Identifier: GPL-2.0
/*
 * DMA engine of an endpoint that an NTB endpoint function exports
 *
 * The table in the memory window (linux/pci-ep-dma.h) becomes a device on the
 * auxiliary bus while the link is up. The driver of the engine binds to it and
 * offers its channels as a dmaengine provider.
 */

#define DEFAULT_SYMBOL_NAMESPACE "NTB_EPF_DMA"

#include <linux/align.h>
#include <linux/auxiliary_bus.h>
#include <linux/dmaengine.h>
#include <linux/iopoll.h>
#include <linux/kmod.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/pci-ep-dma.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "ntb_epf_dma.h"

#define NTB_EPF_DMA_NAME	"engine"
#define NTB_EPF_DMA_MODALIAS	"auxiliary:" KBUILD_MODNAME "." NTB_EPF_DMA_NAME

/* How long clients may take to release their channels when the link is down */
#define NTB_EPF_DMA_RELEASE_MS	10000

/* Registers and descriptors are accessed by up to 64 bits. */
#define NTB_EPF_DMA_ALIGN	8

/**
 * struct ntb_epf_dma - an exported engine
 * @pdev: the PCI function with the memory window
 * @window: the memory window
 * @table: its table, checked
 * @first_vector: first vector of @pdev that the engine may use
 * @nr_irqs: how many it may use from there
 * @lock: protects what is below
 * @edev: the auxiliary device while there is one
 * @open: channels are handed out
 */
struct ntb_epf_dma {
	struct pci_dev *pdev;
	void __iomem *window;
	struct pci_ep_dma_table table;
	unsigned int first_vector;
	unsigned int nr_irqs;

	struct mutex lock;	/* Protects edev and open */
	struct pci_ep_dma_dev *edev;
	bool open;
};

static bool ntb_epf_dma_fits(u64 offset, u64 size, u64 window)
{
	return size && IS_ALIGNED(offset, NTB_EPF_DMA_ALIGN) &&
	       offset >= PCI_EP_DMA_TABLE_SIZE && offset <= window &&
	       size <= window - offset;
}

/* The endpoint is not trusted: what it says is checked once and kept. */
static int ntb_epf_dma_check_table(const struct pci_ep_dma_table *table,
				   resource_size_t window)
{
	unsigned int i, nr_chans = le16_to_cpu(table->nr_chans);

	if (le32_to_cpu(table->magic) != PCI_EP_DMA_MAGIC)
		return -ENODEV;

	if (le16_to_cpu(table->version) != PCI_EP_DMA_VERSION)
		return -EPROTONOSUPPORT;

	/* Transfers are always from this side's memory to the peer's. */
	if (le16_to_cpu(table->dir) != PCI_EPC_DMA_READ)
		return -EPROTONOSUPPORT;

	if (!nr_chans || nr_chans > PCI_EP_DMA_MAX_CHANS ||
	    !ntb_epf_dma_fits(le32_to_cpu(table->reg_offset),
			      le32_to_cpu(table->reg_size), window))
		return -EINVAL;

	for (i = 0; i < nr_chans; i++)
		if (!ntb_epf_dma_fits(le32_to_cpu(table->chan[i].offset),
				      le32_to_cpu(table->chan[i].size), window))
			return -EINVAL;

	return 0;
}

/**
 * ntb_epf_dma_init() - look at an exported engine
 * @pdev: the PCI function, enabled
 * @bar: BAR of the memory window
 * @offset: where the window is in it
 * @size: its size
 *
 * Return: the engine, or an ERR_PTR().
 */
struct ntb_epf_dma *ntb_epf_dma_init(struct pci_dev *pdev, int bar,
				     resource_size_t offset,
				     resource_size_t size)
{
	struct ntb_epf_dma *dma;
	int ret;

	if (size < PCI_EP_DMA_TABLE_SIZE ||
	    !IS_ALIGNED(offset, NTB_EPF_DMA_ALIGN))
		return ERR_PTR(-EINVAL);

	dma = kzalloc_obj(*dma);
	if (!dma)
		return ERR_PTR(-ENOMEM);

	dma->pdev = pdev;
	mutex_init(&dma->lock);

	dma->window = ioremap(pci_resource_start(pdev, bar) + offset, size);
	if (!dma->window) {
		ret = -EIO;
		goto err_free;
	}

	memcpy_fromio(&dma->table, dma->window, sizeof(dma->table));
	ret = ntb_epf_dma_check_table(&dma->table, size);
	if (ret)
		goto err_unmap;

	return dma;

err_unmap:
	iounmap(dma->window);
err_free:
	kfree(dma);

	return ERR_PTR(ret);
}
EXPORT_SYMBOL_GPL(ntb_epf_dma_init);

/**
 * ntb_epf_dma_exit() - forget the engine
 * @dma: the engine; freed
 *
 * Clients are gone, or on their way: this waits for the last channel.
 */
void ntb_epf_dma_exit(struct ntb_epf_dma *dma)
{
	while (ntb_epf_dma_detach(dma))
		;
	iounmap(dma->window);
	kfree(dma);
}
EXPORT_SYMBOL_GPL(ntb_epf_dma_exit);

/**
 * ntb_epf_dma_nr_chans() - the number of channels that the endpoint exports
 * @dma: the engine
 *
 * Return: the number, which is that of the interrupts it can use, too.
 */
unsigned int ntb_epf_dma_nr_chans(const struct ntb_epf_dma *dma)
{
	return le16_to_cpu(dma->table.nr_chans);
}
EXPORT_SYMBOL_GPL(ntb_epf_dma_nr_chans);

/**
 * ntb_epf_dma_set_irqs() - say which interrupts the engine has
 * @dma: the engine
 * @first_vector: first vector of the PCI function
 * @nr_irqs: number of vectors from there
 */
void ntb_epf_dma_set_irqs(struct ntb_epf_dma *dma, unsigned int first_vector,
			  unsigned int nr_irqs)
{
	dma->first_vector = first_vector;
	dma->nr_irqs = min(nr_irqs, ntb_epf_dma_nr_chans(dma));
}
EXPORT_SYMBOL_GPL(ntb_epf_dma_set_irqs);

static void ntb_epf_dma_release_dev(struct device *dev)
{
	kfree(to_pci_ep_dma_dev(to_auxiliary_dev(dev)));
}

static void ntb_epf_dma_fill_dev(struct ntb_epf_dma *dma,
				 struct pci_ep_dma_dev *edev)
{
	const struct pci_ep_dma_table *table = &dma->table;
	unsigned int i;

	edev->type = le16_to_cpu(table->type);
	edev->dir = le16_to_cpu(table->dir);
	edev->regs = dma->window + le32_to_cpu(table->reg_offset);
	edev->regs_size = le32_to_cpu(table->reg_size);
	edev->nr_chans = le16_to_cpu(table->nr_chans);

	for (i = 0; i < edev->nr_chans; i++) {
		edev->desc[i].io = dma->window +
				   le32_to_cpu(table->chan[i].offset);
		edev->desc[i].dma_addr = le64_to_cpu(table->chan[i].dma_addr);
		edev->desc[i].size = le32_to_cpu(table->chan[i].size);
	}

	edev->nr_irqs = dma->nr_irqs;
	for (i = 0; i < edev->nr_irqs; i++)
		edev->irq[i] = pci_irq_vector(dma->pdev, dma->first_vector + i);
}

static struct pci_ep_dma_dev *ntb_epf_dma_add_dev(struct ntb_epf_dma *dma)
{
	struct pci_ep_dma_dev *edev;
	int ret;

	edev = kzalloc_obj(*edev);
	if (!edev)
		return ERR_PTR(-ENOMEM);

	ntb_epf_dma_fill_dev(dma, edev);
	edev->adev.name = NTB_EPF_DMA_NAME;
	edev->adev.id = pci_domain_nr(dma->pdev->bus) << 16 |
			pci_dev_id(dma->pdev);
	edev->adev.dev.parent = &dma->pdev->dev;
	edev->adev.dev.release = ntb_epf_dma_release_dev;

	ret = auxiliary_device_init(&edev->adev);
	if (ret) {
		kfree(edev);
		return ERR_PTR(ret);
	}

	ret = auxiliary_device_add(&edev->adev);
	if (ret) {
		auxiliary_device_uninit(&edev->adev);
		return ERR_PTR(ret);
	}

	return edev;
}

static bool ntb_epf_dma_bound(struct ntb_epf_dma *dma)
{
	struct device *dev;

	if (!dma->edev)
		return false;

	dev = &dma->edev->adev.dev;
	guard(device)(dev);

	return device_is_bound(dev);
}

/*
 * Clients keep pointers to the channels that they have: the device and its
 * driver stay until all are released.
 */
static int ntb_epf_dma_delete(struct ntb_epf_dma *dma)
{
	struct pci_ep_dma_dev *edev = dma->edev;
	int ret = 0;

	lockdep_assert_held(&dma->lock);

	if (!edev)
		return 0;

	scoped_guard(device, &edev->adev.dev)
		if (edev->retire)
			ret = edev->retire(edev);
	if (ret)
		return ret;

	dma->edev = NULL;
	auxiliary_device_delete(&edev->adev);
	auxiliary_device_uninit(&edev->adev);

	return 0;
}

/**
 * ntb_epf_dma_attach() - make the engine's device
 * @dma: the engine, with interrupts
 *
 * On success a driver has bound to the device, or it is known, and has been
 * said, that none will. The caller sees to it that this does not run at the
 * same time as ntb_epf_dma_detach().
 *
 * Return: 0, -EBUSY while a client keeps channels of the last link, or another
 * error number: try again later.
 */
int ntb_epf_dma_attach(struct ntb_epf_dma *dma)
{
	struct device *dev = &dma->pdev->dev;
	struct pci_ep_dma_dev *edev;

	guard(mutex)(&dma->lock);

	if (dma->open)
		return 0;

	/* The endpoint may have reset the engine: it is always probed anew. */
	if (ntb_epf_dma_delete(dma)) {
		dev_warn_once(dev, "Channels of the last link are still in use\n");
		return -EBUSY;
	}

	if (!dma->nr_irqs) {
		dev_warn(dev, "No interrupt is left for the DMA engine\n");
		return 0;
	}

	edev = ntb_epf_dma_add_dev(dma);
	if (IS_ERR(edev)) {
		dev_err_once(dev, "No device for the DMA engine: %pe\n", edev);
		return PTR_ERR(edev);
	}

	dma->edev = edev;
	if (!ntb_epf_dma_bound(dma))
		request_module(NTB_EPF_DMA_MODALIAS);
	if (!ntb_epf_dma_bound(dma))
		dev_warn(dev, "No driver for the DMA engine (type %u)\n",
			 edev->type);

	dma->open = true;

	return 0;
}
EXPORT_SYMBOL_GPL(ntb_epf_dma_attach);

static int ntb_epf_dma_close(struct ntb_epf_dma *dma)
{
	guard(mutex)(&dma->lock);

	dma->open = false;

	return ntb_epf_dma_delete(dma);
}

/**
 * ntb_epf_dma_detach() - remove the engine's device
 * @dma: the engine
 *
 * No channel can be had from now on. Clients have been told; those that hold
 * a channel have some time to release it.
 *
 * Return: 0, or -EBUSY if the device is still there because a client does not
 * release its channels. The next attempt to attach or detach tries again.
 */
int ntb_epf_dma_detach(struct ntb_epf_dma *dma)
{
	int ret, err;

	ret = read_poll_timeout(ntb_epf_dma_close, err, !err, 1000,
				NTB_EPF_DMA_RELEASE_MS * USEC_PER_MSEC, false,
				dma);
	if (!ret)
		return 0;

	dev_warn(&dma->pdev->dev,
		 "Clients do not release channels of the DMA engine\n");

	return -EBUSY;
}
EXPORT_SYMBOL_GPL(ntb_epf_dma_detach);

/**
 * ntb_epf_dma_chan_count() - count the channels that can be had
 * @dma: the engine
 *
 * Return: the number, zero while there is no device or no driver for it.
 */
int ntb_epf_dma_chan_count(struct ntb_epf_dma *dma)
{
	guard(mutex)(&dma->lock);

	return dma->open && ntb_epf_dma_bound(dma) ? dma->edev->nr_chans : 0;
}
EXPORT_SYMBOL_GPL(ntb_epf_dma_chan_count);

struct ntb_epf_dma_filter {
	struct device *dev;
	unsigned int idx;
};

static bool ntb_epf_dma_filter_fn(struct dma_chan *chan, void *arg)
{
	const struct ntb_epf_dma_filter *filter = arg;

	return chan->device->dev == filter->dev &&
	       chan->chan_id == filter->idx;
}

/**
 * ntb_epf_dma_request_chan() - take a channel
 * @dma: the engine
 * @idx: index, less than ntb_epf_dma_chan_count()
 *
 * Return: the channel, or ERR_PTR(): see ntb_dma_request_chan().
 */
struct dma_chan *ntb_epf_dma_request_chan(struct ntb_epf_dma *dma,
					  unsigned int idx)
{
	struct ntb_epf_dma_filter filter;
	struct dma_chan *chan;
	dma_cap_mask_t mask;

	if (idx >= ntb_epf_dma_nr_chans(dma))
		return ERR_PTR(-ENODEV);

	guard(mutex)(&dma->lock);

	if (!dma->open || !ntb_epf_dma_bound(dma))
		return ERR_PTR(-EPROBE_DEFER);

	filter.dev = &dma->edev->adev.dev;
	filter.idx = idx;
	dma_cap_zero(mask);
	dma_cap_set(DMA_SLAVE, mask);

	chan = dma_request_channel(mask, ntb_epf_dma_filter_fn, &filter);

	return chan ?: ERR_PTR(-EBUSY);
}
EXPORT_SYMBOL_GPL(ntb_epf_dma_request_chan);

MODULE_DESCRIPTION("DMA engine exported by an NTB endpoint function");
MODULE_AUTHOR("vntb-lab");
MODULE_LICENSE("GPL");
