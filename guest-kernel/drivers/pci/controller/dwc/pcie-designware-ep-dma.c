// SPDX-License-Identifier: GPL-2.0
/*
 * Delegation of the DMA engine of a DesignWare PCIe endpoint to the host
 *
 * The dw-edma driver of the endpoint is probed anew as the owner of one
 * direction of channels and leaves the other one alone.
 */

#include <linux/bits.h>
#include <linux/device.h>
#include <linux/dma/edma.h>
#include <linux/interrupt.h>
#include <linux/pci-epc.h>

#include "pcie-designware.h"

static u16 *dw_pcie_ep_dma_cnt(struct dw_pcie *pci, enum pci_epc_dma_dir dir)
{
	return dir == PCI_EPC_DMA_WRITE ? &pci->edma.ll_wr_cnt :
					  &pci->edma.ll_rd_cnt;
}

static void dw_pcie_ep_dma_stop(struct dw_pcie *pci)
{
	struct dw_pcie_ep *ep = &pci->ep;

	if (pci->edma.dw)
		dw_edma_remove(&pci->edma);
	pci->edma.dw = NULL;

	if (ep->dma_reprobed)
		devres_release_group(pci->dev, &ep->dma_reprobed);
	ep->dma_reprobed = false;
}

/*
 * dw_edma_probe() takes managed memory, which would pile up with each
 * delegation were it not in a group of its own.
 */
static int dw_pcie_ep_dma_restart(struct dw_pcie *pci)
{
	struct dw_pcie_ep *ep = &pci->ep;
	int ret;

	if (!devres_open_group(pci->dev, &ep->dma_reprobed, GFP_KERNEL))
		return -ENOMEM;

	ret = dw_edma_probe(&pci->edma);
	if (ret) {
		devres_release_group(pci->dev, &ep->dma_reprobed);
		dev_err(pci->dev, "eDMA: re-probe failed: %d\n", ret);
		return ret;
	}

	devres_close_group(pci->dev, &ep->dma_reprobed);
	ep->dma_reprobed = true;

	return 0;
}

/*
 * Probes the whole engine again, unless that would take a channel of the other
 * direction away from a client.
 */
static void dw_pcie_ep_take_back(struct dw_pcie_ep *ep)
{
	struct dw_pcie *pci = to_dw_pcie_from_ep(ep);

	ep->dma_reclaim = true;
	if (dw_edma_retire(&pci->edma)) {
		dev_warn(pci->dev, "eDMA: in use, the host's channels stay unused\n");
		return;
	}

	dw_pcie_ep_dma_stop(pci);
	dw_pcie_ep_dma_forget(ep);
	dw_pcie_ep_dma_restart(pci);
}

/**
 * dw_pcie_ep_dma_count() - Count the channels of a direction
 * @ep: DWC EP device
 * @dir: the direction
 *
 * Return: the number of channels in hardware, delegated or not; zero if there
 * is no engine that a driver has bound to.
 */
u16 dw_pcie_ep_dma_count(struct dw_pcie_ep *ep, enum pci_epc_dma_dir dir)
{
	struct dw_pcie *pci = to_dw_pcie_from_ep(ep);

	if (ep->dma_delegated & BIT(dir))
		return ep->dma_delegated_cnt;

	return pci->edma.dw ? *dw_pcie_ep_dma_cnt(pci, dir) : 0;
}

/**
 * dw_pcie_ep_dma_type() - Tell the programming interface of the engine
 * @ep: DWC EP device
 *
 * Return: the type, or -EOPNOTSUPP if engines of this kind cannot be shared.
 */
int dw_pcie_ep_dma_type(struct dw_pcie_ep *ep)
{
	struct dw_pcie *pci = to_dw_pcie_from_ep(ep);

	switch (pci->edma.mf) {
	case EDMA_MF_EDMA_UNROLL:
		return PCI_EPC_DMA_DW_EDMA_UNROLL;
	case EDMA_MF_HDMA_COMPAT:
		return PCI_EPC_DMA_DW_HDMA_COMPAT;
	default:
		return -EOPNOTSUPP;
	}
}

/**
 * dw_pcie_ep_delegate_dma() - Hand one direction of channels to the host
 * @epc: EPC device
 * @func_no: function number
 * @vfunc_no: virtual function number
 * @dir: the direction
 *
 * Return: 0 on success, -errno otherwise.
 */
int dw_pcie_ep_delegate_dma(struct pci_epc *epc, u8 func_no, u8 vfunc_no,
			    enum pci_epc_dma_dir dir)
{
	struct dw_pcie_ep *ep = epc_get_drvdata(epc);
	struct dw_pcie *pci = to_dw_pcie_from_ep(ep);
	u16 *cnt = dw_pcie_ep_dma_cnt(pci, dir);
	int ret;

	if (!pci->edma.dw || !pci->edma_reg_size ||
	    dw_pcie_ep_dma_type(ep) < 0)
		return -EOPNOTSUPP;

	/* Somebody may have left since the channels were to be taken back. */
	if (ep->dma_reclaim)
		dw_pcie_ep_take_back(ep);
	if (ep->dma_delegated || !pci->edma.dw)
		return -EBUSY;

	/* The emulated interrupt goes, too. It may be another function's. */
	if (pci->edma.db_irq > 0 && irq_has_action(pci->edma.db_irq))
		return -EBUSY;

	ret = dw_edma_retire(&pci->edma);
	if (ret)
		return ret;

	dw_pcie_ep_dma_stop(pci);

	ep->dma_delegated = BIT(dir);
	ep->dma_delegated_cnt = *cnt;
	*cnt = 0;
	pci->edma.flags |= DW_EDMA_CHIP_PARTIAL;
	pci->edma.func_no = func_no;

	ret = dw_pcie_ep_dma_restart(pci);
	if (ret)
		dw_pcie_ep_reclaim_dma(epc, func_no, vfunc_no, dir);

	return ret;
}

/**
 * dw_pcie_ep_reclaim_dma() - Take delegated channels back
 * @epc: EPC device
 * @func_no: function number
 * @vfunc_no: virtual function number
 * @dir: the direction
 *
 * While a channel of the other direction has a client they remain unused, and
 * the next attempt to delegate takes them back.
 */
void dw_pcie_ep_reclaim_dma(struct pci_epc *epc, u8 func_no, u8 vfunc_no,
			    enum pci_epc_dma_dir dir)
{
	struct dw_pcie_ep *ep = epc_get_drvdata(epc);

	if (ep->dma_delegated & BIT(dir))
		dw_pcie_ep_take_back(ep);
}

/**
 * dw_pcie_ep_dma_forget() - Forget a delegation, the engine being stopped
 * @ep: DWC EP device
 */
void dw_pcie_ep_dma_forget(struct dw_pcie_ep *ep)
{
	struct dw_pcie *pci = to_dw_pcie_from_ep(ep);
	enum pci_epc_dma_dir dir;

	if (!ep->dma_delegated)
		return;

	dir = ep->dma_delegated & BIT(PCI_EPC_DMA_READ) ? PCI_EPC_DMA_READ :
							  PCI_EPC_DMA_WRITE;
	*dw_pcie_ep_dma_cnt(pci, dir) = ep->dma_delegated_cnt;
	ep->dma_delegated = 0;
	ep->dma_reclaim = false;
	pci->edma.flags &= ~DW_EDMA_CHIP_PARTIAL;
	pci->edma.func_no = 0;
}
