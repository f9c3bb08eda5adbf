/*
 * DesignWare PCIe endpoint: what the device tree nodes of glue devices share
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Implementations of SysBusFDTNodeClass::add_fdt_node are made of these.
 * Nodes are children of the root and not of the platform bus: the iATU sees
 * CPU addresses, so dw_pcie_parent_bus_offset() in Linux wants a reg property
 * that needs no translation.
 */
#ifndef HW_PCI_EP_DW_PCIE_FDT_H
#define HW_PCI_EP_DW_PCIE_FDT_H

#include "hw/pci-ep/dw-pcie-ep.h"
#include "hw/platform-bus.h"
#include "hw/sysbus.h"

/* A node that is being written; @path is owned by it. */
typedef struct DWPCIeFDTNode {
    SysBusDevice *sbdev;
    PlatformBusDevice *pbus;
    int irq_start;              /* SPI of the bus's first interrupt */
    void *fdt;
    char *path;
} DWPCIeFDTNode;

/* A memory region of the device by its number, and its name in reg-names */
typedef struct DWPCIeFDTArea {
    unsigned region;
    const char *name;
} DWPCIeFDTArea;

/* CPU address of memory region @region. */
hwaddr dw_pcie_fdt_address(const DWPCIeFDTNode *n, unsigned region);

/*
 * Begin a node "/@name@ADDRESS", named after the CPU address of memory region
 * @region.  @compatible is a list of strings in @len bytes.  The caller frees
 * n->path.
 */
void dw_pcie_fdt_begin(DWPCIeFDTNode *n, const char *name, unsigned region,
                       const char *compatible, size_t len);

/* reg and reg-names, in the order of @areas. */
void dw_pcie_fdt_add_areas(const DWPCIeFDTNode *n, const DWPCIeFDTArea *areas,
                           unsigned count);

/* interrupts (SPIs, level) and interrupt-names: the device's first @count. */
void dw_pcie_fdt_add_interrupts(const DWPCIeFDTNode *n,
                                const char * const *names, unsigned count);

/* max-link-speed, num-lanes and max-functions of @ep. */
void dw_pcie_fdt_add_link(const DWPCIeFDTNode *n, const DWPCIeEP *ep);

/*
 * With an MSI parent, doorbells of pci_epf_alloc_doorbell() are interrupts of
 * the machine's ITS, with the stream ID as DeviceID.  A machine without one is
 * a user's mistake: exits with a message.
 */
void dw_pcie_fdt_add_msi_map(const DWPCIeFDTNode *n, const DWPCIeEP *ep);

#endif /* HW_PCI_EP_DW_PCIE_FDT_H */
