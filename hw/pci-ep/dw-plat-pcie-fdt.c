/*
 * Generic DesignWare PCIe controller in endpoint mode: device tree nodes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The controller's node follows the binding snps,dw-pcie-ep.  Its driver
 * knows no application registers: they are a node of their own, which no
 * driver claims.
 */
#include "qemu/osdep.h"
#include "hw/pci-ep/dw-plat-pcie-ep.h"
#include "system/device_tree.h"
#include "dw-pcie-fdt.h"

static const DWPCIeFDTArea areas[] = {
    { DW_PLAT_AREA_DBI, "dbi" },
    { DW_PLAT_AREA_DBI2, "dbi2" },
    { DW_PLAT_AREA_ATU, "atu" },
    { DW_PLAT_AREA_ADDR_SPACE, "addr_space" },
    { DW_PLAT_AREA_DMA, "dma" },
};

static const char * const irq_names[] = {
    [DW_PLAT_IRQ_DMA] = "dma",
};

static const DWPCIeFDTArea app_areas[] = {
    { DW_PLAT_AREA_APP, "app" },
};

static void add_app_node(const DWPCIeFDTNode *n)
{
    static const char compatible[] = "syscon";
    DWPCIeFDTNode app = *n;

    dw_pcie_fdt_begin(&app, "pcie-ep-app", DW_PLAT_AREA_APP, compatible,
                      sizeof(compatible));
    dw_pcie_fdt_add_areas(&app, app_areas, ARRAY_SIZE(app_areas));
    g_free(app.path);
}

void dw_plat_pcie_ep_add_fdt_node(SysBusDevice *sbdev,
                                  PlatformBusDevice *pbus, int irq_start,
                                  void *fdt, const char *parent)
{
    static const char compatible[] = "snps,dw-pcie-ep";
    DWPlatPCIeEP *s = DW_PLAT_PCIE_EP(sbdev);
    DWPCIeFDTNode n = {
        .sbdev = sbdev, .pbus = pbus, .irq_start = irq_start, .fdt = fdt,
    };

    dw_pcie_fdt_begin(&n, "pcie-ep", DW_PLAT_AREA_DBI, compatible,
                      sizeof(compatible));
    /* The DMA registers, the last area, may be in the port logic. */
    dw_pcie_fdt_add_areas(&n, areas, ARRAY_SIZE(areas) -
                          !s->features.dma_size);
    if (s->edma != DW_PLAT_EDMA_NONE) {
        dw_pcie_fdt_add_interrupts(&n, irq_names, ARRAY_SIZE(irq_names));
    }
    dw_pcie_fdt_add_link(&n, &s->core);
    dw_pcie_fdt_add_msi_map(&n, &s->core);
    add_app_node(&n);
    g_free(n.path);
}
