/* SPDX-License-Identifier: GPL-2.0 */
/*
 * BARs that show other memory in places than their own
 */

#ifndef __LINUX_PCI_EPF_OVERLAY_H
#define __LINUX_PCI_EPF_OVERLAY_H

#include <linux/pci-epf.h>
#include <linux/types.h>

/**
 * struct pci_epf_overlay - a range of a BAR that shows something else
 * @offset: where it is in the BAR
 * @size: its size in bytes
 * @addr: the DMA address that the host reaches there
 */
struct pci_epf_overlay {
	size_t offset;
	size_t size;
	dma_addr_t addr;
};

int pci_epf_set_overlays(struct pci_epf *epf, enum pci_barno bar,
			 const struct pci_epf_overlay *overlays,
			 unsigned int num);
void pci_epf_drop_overlays(struct pci_epf *epf, enum pci_barno bar);

#endif /* __LINUX_PCI_EPF_OVERLAY_H */
