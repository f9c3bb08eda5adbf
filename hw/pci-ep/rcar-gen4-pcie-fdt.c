/*
 * R-Car Gen4 PCIe controller in endpoint mode: its device tree nodes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The node follows the binding renesas,rcar-gen4-pci-ep; clocks and reset
 * controller, which in the SoC are parts of the CPG, are nodes of their own.
 */
#include "qemu/osdep.h"
#include "hw/pci-ep/rcar-gen4-pcie-ep.h"
#include "system/device_tree.h"
#include "dw-pcie-fdt.h"

#define CORE_CLOCK_HZ 200000000
#define REF_CLOCK_HZ 100000000

/* Compatible with reset-simple: a set bit asserts the line */
#define RESET_COMPATIBLE "snps,dw-high-reset"

static const DWPCIeFDTArea areas[] = {
    { RCAR_GEN4_AREA_DBI, "dbi" },
    { RCAR_GEN4_AREA_DBI2, "dbi2" },
    { RCAR_GEN4_AREA_ATU, "atu" },
    { RCAR_GEN4_AREA_DMA, "dma" },
    { RCAR_GEN4_AREA_APP, "app" },
    { RCAR_GEN4_AREA_PHY, "phy" },
    { RCAR_GEN4_AREA_ADDR_SPACE, "addr_space" },
};

static const char * const irq_names[] = {
    [RCAR_GEN4_IRQ_DMA] = "dma",
    [RCAR_GEN4_IRQ_SFT_CE] = "sft_ce",
    [RCAR_GEN4_IRQ_APP] = "app",
};

static uint32_t add_clock(void *fdt, const char *name, hwaddr base,
                          uint32_t hz)
{
    g_autofree char *node = g_strdup_printf("/%s-%" HWADDR_PRIx, name, base);
    uint32_t phandle = qemu_fdt_alloc_phandle(fdt);

    qemu_fdt_add_subnode(fdt, node);
    qemu_fdt_setprop_string(fdt, node, "compatible", "fixed-clock");
    qemu_fdt_setprop_cell(fdt, node, "#clock-cells", 0);
    qemu_fdt_setprop_cell(fdt, node, "clock-frequency", hz);
    qemu_fdt_setprop_cell(fdt, node, "phandle", phandle);
    return phandle;
}

static void add_clocks(const DWPCIeFDTNode *n)
{
    static const char names[] = "core\0ref";
    hwaddr base = dw_pcie_fdt_address(n, RCAR_GEN4_AREA_DBI);
    uint32_t core = add_clock(n->fdt, "pcie-ep-core-clk", base, CORE_CLOCK_HZ);
    uint32_t ref = add_clock(n->fdt, "pcie-ep-ref-clk", base, REF_CLOCK_HZ);

    qemu_fdt_setprop_cells(n->fdt, n->path, "clocks", core, ref);
    qemu_fdt_setprop(n->fdt, n->path, "clock-names", names, sizeof(names));
}

static void add_reset(const DWPCIeFDTNode *n)
{
    static const char compatible[] = RESET_COMPATIBLE;
    uint32_t phandle = qemu_fdt_alloc_phandle(n->fdt);
    hwaddr addr = dw_pcie_fdt_address(n, RCAR_GEN4_AREA_RESET);
    DWPCIeFDTNode reset = *n;

    dw_pcie_fdt_begin(&reset, "reset-controller", RCAR_GEN4_AREA_RESET,
                      compatible, sizeof(compatible));
    qemu_fdt_setprop_sized_cells(n->fdt, reset.path, "reg", 2, addr,
                                 2, (uint64_t)RCAR_GEN4_RESET_SIZE);
    qemu_fdt_setprop_cell(n->fdt, reset.path, "#reset-cells", 1);
    qemu_fdt_setprop_cell(n->fdt, reset.path, "phandle", phandle);
    g_free(reset.path);

    qemu_fdt_setprop_cells(n->fdt, n->path, "resets", phandle,
                           ctz32(RCAR_GEN4_RESET_PWR));
    qemu_fdt_setprop_string(n->fdt, n->path, "reset-names", "pwr");
}

void rcar_gen4_pcie_ep_add_fdt_node(SysBusDevice *sbdev,
                                    PlatformBusDevice *pbus, int irq_start,
                                    void *fdt, const char *parent)
{
    static const char compatible[] = "renesas,r8a779f0-pcie-ep\0"
                                     "renesas,rcar-gen4-pcie-ep";
    RCarGen4PCIeEP *s = RCAR_GEN4_PCIE_EP(sbdev);
    DWPCIeFDTNode n = {
        .sbdev = sbdev, .pbus = pbus, .irq_start = irq_start, .fdt = fdt,
    };

    dw_pcie_fdt_begin(&n, "pcie-ep", RCAR_GEN4_AREA_DBI, compatible,
                      sizeof(compatible));
    dw_pcie_fdt_add_areas(&n, areas, ARRAY_SIZE(areas));
    dw_pcie_fdt_add_interrupts(&n, irq_names, ARRAY_SIZE(irq_names));
    add_clocks(&n);
    add_reset(&n);
    dw_pcie_fdt_add_link(&n, &s->core);
    dw_pcie_fdt_add_msi_map(&n, &s->core);
    g_free(n.path);
}
