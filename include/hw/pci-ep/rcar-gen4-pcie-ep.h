/*
 * R-Car Gen4 PCIe controller in endpoint mode: state of the device
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_PCI_EP_RCAR_GEN4_PCIE_EP_H
#define HW_PCI_EP_RCAR_GEN4_PCIE_EP_H

#include "hw/ntb/qemu-compat.h"
#include "hw/pci-ep/dw-pcie-ep.h"
#include "hw/pci-ep/rcar-gen4-pcie-regs.h"
#include "hw/sysbus.h"
#include "hw/sysbus-fdt-node.h"
#include "qom/object.h"

#define TYPE_RCAR_GEN4_PCIE_EP "rcar-gen4-pcie-ep"
OBJECT_DECLARE_SIMPLE_TYPE(RCarGen4PCIeEP, RCAR_GEN4_PCIE_EP)

/* Numbers of the sysbus memory regions */
typedef enum RCarGen4Area {
    RCAR_GEN4_AREA_DBI,
    RCAR_GEN4_AREA_DBI2,
    RCAR_GEN4_AREA_ATU,
    RCAR_GEN4_AREA_DMA,
    RCAR_GEN4_AREA_APP,
    RCAR_GEN4_AREA_PHY,
    RCAR_GEN4_AREA_ADDR_SPACE,
    RCAR_GEN4_AREA_RESET,
} RCarGen4Area;

/* Numbers of the sysbus interrupts */
typedef enum RCarGen4Irq {
    RCAR_GEN4_IRQ_DMA,
    RCAR_GEN4_IRQ_SFT_CE,
    RCAR_GEN4_IRQ_APP,
    RCAR_GEN4_NUM_IRQS,
} RCarGen4Irq;

struct RCarGen4PCIeEP {
    SysBusDevice parent_obj;

    DWPCIeEP core;
    MemoryRegion app;
    MemoryRegion phy;
    MemoryRegion reset_ctrl;
    qemu_irq irq[RCAR_GEN4_NUM_IRQS];

    /* Registers */
    uint32_t msr0;
    uint32_t rst_ctrl1;
    uint32_t pwr_mng_ctrl;
    uint32_t int_enable;
    uint32_t dma_int_enable;
    uint32_t dma_int_status;            /* levels of the DMA engine */
    uint32_t axi_intc_addr;
    uint32_t axi_intc_cont;
    uint32_t phy_regs[RCAR_GEN4_PHY_SIZE / 4];
};

/* Implements SysBusFDTNodeClass::add_fdt_node; exits on a user's mistake. */
void rcar_gen4_pcie_ep_add_fdt_node(SysBusDevice *sbdev,
                                    PlatformBusDevice *pbus, int irq_start,
                                    void *fdt, const char *parent);

#endif /* HW_PCI_EP_RCAR_GEN4_PCIE_EP_H */
