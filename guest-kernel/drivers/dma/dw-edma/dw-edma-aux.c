// SPDX-License-Identifier: GPL-2.0
/*
 * DesignWare eDMA of a remote endpoint that hands channels to this host
 *
 * The engine is a device on the auxiliary bus that the driver of the endpoint
 * function makes (linux/pci-ep-dma.h). This instance owns one direction of its
 * channels; the endpoint owns the other one. Interrupts come as posted writes
 * of the engine, as vectors of the PCI function.
 */

#include <linux/auxiliary_bus.h>
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/dma/edma.h>
#include <linux/module.h>
#include <linux/pci-ep-dma.h>

#include "dw-edma-core.h"
#include "dw-edma-v0-regs.h"

struct dw_edma_aux {
	struct dw_edma_chip chip;
	struct device_dma_parameters dma_parms;
};

static int dw_edma_aux_irq_vector(struct device *dev, unsigned int nr)
{
	struct pci_ep_dma_dev *edev = to_pci_ep_dma_dev(to_auxiliary_dev(dev));

	if (nr >= edev->nr_irqs)
		return -EINVAL;

	return edev->irq[nr];
}

static const struct dw_edma_plat_ops dw_edma_aux_ops = {
	.irq_vector = dw_edma_aux_irq_vector,
};

static int dw_edma_aux_map_format(enum pci_epc_dma_type type)
{
	switch (type) {
	case PCI_EPC_DMA_DW_EDMA_UNROLL:
		return EDMA_MF_EDMA_UNROLL;
	case PCI_EPC_DMA_DW_HDMA_COMPAT:
		return EDMA_MF_HDMA_COMPAT;
	default:
		return -ENODEV;
	}
}

/* Sizes come from the endpoint. Both formats have the same register map. */
static int dw_edma_aux_check(const struct pci_ep_dma_dev *edev)
{
	size_t regs_size;
	unsigned int i;

	if (!edev->nr_chans || edev->nr_chans > EDMA_MAX_RD_CH)
		return -EINVAL;

	regs_size = offsetof(struct dw_edma_v0_regs, type.unroll.ch) +
		    edev->nr_chans * sizeof(struct dw_edma_v0_ch) -
		    sizeof_field(struct dw_edma_v0_ch, padding_2);
	if (edev->regs_size < regs_size)
		return -EINVAL;

	/* One element, and the link back to it */
	for (i = 0; i < edev->nr_chans; i++)
		if (edev->desc[i].size < 2 * EDMA_LL_SZ)
			return -EINVAL;

	return 0;
}

static int dw_edma_aux_retire(struct pci_ep_dma_dev *edev)
{
	struct dw_edma_aux *aux = auxiliary_get_drvdata(&edev->adev);

	return dw_edma_retire(&aux->chip);
}

static void dw_edma_aux_set_lists(struct dw_edma_chip *chip,
				  const struct pci_ep_dma_dev *edev)
{
	struct dw_edma_region *ll;
	unsigned int i;

	if (edev->dir == PCI_EPC_DMA_READ) {
		chip->ll_rd_cnt = edev->nr_chans;
		ll = chip->ll_region_rd;
	} else {
		chip->ll_wr_cnt = edev->nr_chans;
		ll = chip->ll_region_wr;
	}

	for (i = 0; i < edev->nr_chans; i++) {
		ll[i].paddr = edev->desc[i].dma_addr;
		ll[i].vaddr.io = edev->desc[i].io;
		ll[i].sz = edev->desc[i].size;
	}
}

static int dw_edma_aux_probe(struct auxiliary_device *adev,
			     const struct auxiliary_device_id *id)
{
	struct pci_ep_dma_dev *edev = to_pci_ep_dma_dev(adev);
	struct device *dev = &adev->dev;
	struct dw_edma_aux *aux;
	int format, ret;

	format = dw_edma_aux_map_format(edev->type);
	if (format < 0)
		return format;

	ret = dw_edma_aux_check(edev);
	if (ret)
		return dev_err_probe(dev, ret, "the endpoint's table is wrong\n");

	aux = devm_kzalloc(dev, sizeof(*aux), GFP_KERNEL);
	if (!aux)
		return -ENOMEM;

	dev->dma_parms = &aux->dma_parms;
	aux->chip.dev = dev;
	aux->chip.ops = &dw_edma_aux_ops;
	aux->chip.flags = DW_EDMA_CHIP_PARTIAL;
	aux->chip.mf = format;
	aux->chip.reg_base = edev->regs;
	aux->chip.nr_irqs = edev->nr_irqs;
	dw_edma_aux_set_lists(&aux->chip, edev);

	auxiliary_set_drvdata(adev, aux);
	ret = dw_edma_probe(&aux->chip);
	if (ret) {
		dev->dma_parms = NULL;
		return dev_err_probe(dev, ret, "cannot drive the engine\n");
	}
	edev->retire = dw_edma_aux_retire;

	dev_info(dev, "%u %s channels, %u interrupts\n", edev->nr_chans,
		 edev->dir == PCI_EPC_DMA_READ ? "read" : "write",
		 edev->nr_irqs);

	return 0;
}

static void dw_edma_aux_remove(struct auxiliary_device *adev)
{
	struct dw_edma_aux *aux = auxiliary_get_drvdata(adev);

	to_pci_ep_dma_dev(adev)->retire = NULL;
	dw_edma_remove(&aux->chip);
	adev->dev.dma_parms = NULL;
}

static const struct auxiliary_device_id dw_edma_aux_ids[] = {
	{ .name = "ntb_epf_dma.engine" },
	{ }
};
MODULE_DEVICE_TABLE(auxiliary, dw_edma_aux_ids);

static struct auxiliary_driver dw_edma_aux_driver = {
	.name = "dw-edma-aux",
	/* The module cannot go while a channel has a client; nor may this. */
	.driver.suppress_bind_attrs = true,
	.probe = dw_edma_aux_probe,
	.remove = dw_edma_aux_remove,
	.id_table = dw_edma_aux_ids,
};
module_auxiliary_driver(dw_edma_aux_driver);

MODULE_DESCRIPTION("Synopsys DesignWare eDMA of a remote endpoint");
MODULE_AUTHOR("vntb-lab");
MODULE_LICENSE("GPL");
