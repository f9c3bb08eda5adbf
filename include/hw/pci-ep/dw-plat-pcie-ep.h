/*
 * Generic DesignWare PCIe controller in endpoint mode: state of the device
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_PCI_EP_DW_PLAT_PCIE_EP_H
#define HW_PCI_EP_DW_PLAT_PCIE_EP_H

#include "hw/ntb/qemu-compat.h"
#include "hw/pci-ep/dw-pcie-ep.h"
#include "hw/pci-ep/dw-plat-pcie-regs.h"
#include "hw/sysbus.h"
#include "hw/sysbus-fdt-node.h"
#include "qom/object.h"

#define TYPE_DW_PLAT_PCIE_EP "dw-plat-pcie-ep"
OBJECT_DECLARE_SIMPLE_TYPE(DWPlatPCIeEP, DW_PLAT_PCIE_EP)

/* Numbers of the sysbus memory regions */
typedef enum DWPlatArea {
    DW_PLAT_AREA_DBI,
    DW_PLAT_AREA_DBI2,
    DW_PLAT_AREA_ATU,
    DW_PLAT_AREA_ADDR_SPACE,
    DW_PLAT_AREA_APP,
    DW_PLAT_AREA_DMA,           /* if the engine has an area of its own */
} DWPlatArea;

/* Numbers of the sysbus interrupts */
typedef enum DWPlatIrq {
    DW_PLAT_IRQ_DMA,            /* if there is an engine */
    DW_PLAT_NUM_IRQS,
} DWPlatIrq;

/* Which DMA engine the controller was synthesised with */
typedef enum DWPlatEDMA {
    DW_PLAT_EDMA_NONE,
    DW_PLAT_EDMA_UNROLLED,
    DW_PLAT_EDMA_LEGACY,
    DW_PLAT_EDMA_HDMA_COMPAT,
    DW_PLAT_EDMA_HDMA_NATIVE,
} DWPlatEDMA;

struct DWPlatPCIeEP {
    SysBusDevice parent_obj;

    DWPCIeEP core;
    DWPCIeEPFeatures features;          /* the core's */
    MemoryRegion app;
    qemu_irq irq[DW_PLAT_NUM_IRQS];

    /* Properties, besides the core's */
    DWPlatEDMA edma;
    bool ltssm_enable;                  /* reset value of the register bit */

    /* Registers */
    uint32_t app_ltssm;
};

/* Implements SysBusFDTNodeClass::add_fdt_node; exits on a user's mistake. */
void dw_plat_pcie_ep_add_fdt_node(SysBusDevice *sbdev,
                                  PlatformBusDevice *pbus, int irq_start,
                                  void *fdt, const char *parent);

#endif /* HW_PCI_EP_DW_PLAT_PCIE_EP_H */
