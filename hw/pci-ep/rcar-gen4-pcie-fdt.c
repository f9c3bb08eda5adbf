/*
 * R-Car Gen4 PCIe controller in endpoint mode: its device tree nodes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The node follows the binding renesas,rcar-gen4-pci-ep; clocks and reset
 * controller, which in the SoC are parts of the CPG, are nodes of their own.
 * They are children of the root and not of the platform bus: the iATU sees
 * CPU addresses, so dw_pcie_parent_bus_offset() in Linux wants a reg property
 * that needs no translation.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "hw/arm/fdt.h"
#include "hw/pci-ep/rcar-gen4-pcie-ep.h"
#include "system/device_tree.h"
#include <libfdt.h>

#define CORE_CLOCK_HZ 200000000
#define REF_CLOCK_HZ 100000000

/* Compatible with reset-simple: a set bit asserts the line */
#define RESET_COMPATIBLE "snps,dw-high-reset"
#define ITS_COMPATIBLE "arm,gic-v3-its"

typedef struct AreaName {
    RCarGen4Area area;
    const char *name;
} AreaName;

static const AreaName area_names[] = {
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

/* Append @name and its terminator to a list of strings. */
static void append_name(GByteArray *list, const char *name)
{
    g_byte_array_append(list, (const guint8 *)name, strlen(name) + 1);
}

static void set_names(void *fdt, const char *node, const char *property,
                      GByteArray *list)
{
    qemu_fdt_setprop(fdt, node, property, list->data, list->len);
}

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

static void add_clocks(void *fdt, const char *node, hwaddr base)
{
    static const char names[] = "core\0ref";
    uint32_t core = add_clock(fdt, "pcie-ep-core-clk", base, CORE_CLOCK_HZ);
    uint32_t ref = add_clock(fdt, "pcie-ep-ref-clk", base, REF_CLOCK_HZ);

    qemu_fdt_setprop_cells(fdt, node, "clocks", core, ref);
    qemu_fdt_setprop(fdt, node, "clock-names", names, sizeof(names));
}

/* CPU address of an area; the platform bus knows offsets in itself. */
static hwaddr area_address(SysBusDevice *sbdev, PlatformBusDevice *pbus,
                           RCarGen4Area area)
{
    return object_property_get_uint(OBJECT(&pbus->mmio), "addr",
                                    &error_abort) +
           platform_bus_get_mmio_addr(pbus, sbdev, area);
}

static void add_reset(SysBusDevice *sbdev, PlatformBusDevice *pbus, void *fdt,
                      const char *node)
{
    hwaddr addr = area_address(sbdev, pbus, RCAR_GEN4_AREA_RESET);
    g_autofree char *reset = g_strdup_printf("/reset-controller@%"
                                             HWADDR_PRIx, addr);
    uint32_t phandle = qemu_fdt_alloc_phandle(fdt);

    qemu_fdt_add_subnode(fdt, reset);
    qemu_fdt_setprop_string(fdt, reset, "compatible", RESET_COMPATIBLE);
    qemu_fdt_setprop_sized_cells(fdt, reset, "reg", 2, addr,
                                 2, (uint64_t)RCAR_GEN4_RESET_SIZE);
    qemu_fdt_setprop_cell(fdt, reset, "#reset-cells", 1);
    qemu_fdt_setprop_cell(fdt, reset, "phandle", phandle);

    qemu_fdt_setprop_cells(fdt, node, "resets", phandle,
                           ctz32(RCAR_GEN4_RESET_PWR));
    qemu_fdt_setprop_string(fdt, node, "reset-names", "pwr");
}

static void add_regions(SysBusDevice *sbdev, PlatformBusDevice *pbus,
                        void *fdt, const char *node)
{
    g_autoptr(GByteArray) names = g_byte_array_new();
    uint64_t reg[ARRAY_SIZE(area_names) * 2];

    for (unsigned i = 0; i < ARRAY_SIZE(area_names); i++) {
        RCarGen4Area area = area_names[i].area;
        MemoryRegion *mr = sysbus_mmio_get_region(sbdev, area);

        reg[i * 2] = cpu_to_be64(area_address(sbdev, pbus, area));
        reg[i * 2 + 1] = cpu_to_be64(memory_region_size(mr));
        append_name(names, area_names[i].name);
    }
    qemu_fdt_setprop(fdt, node, "reg", reg, sizeof(reg));
    set_names(fdt, node, "reg-names", names);
}

static void add_interrupts(SysBusDevice *sbdev, PlatformBusDevice *pbus,
                           int irq_start, void *fdt, const char *node)
{
    g_autoptr(GByteArray) names = g_byte_array_new();
    uint32_t irqs[ARRAY_SIZE(irq_names) * 3];

    for (unsigned i = 0; i < ARRAY_SIZE(irq_names); i++) {
        int irq = irq_start + platform_bus_get_irqn(pbus, sbdev, i);

        irqs[i * 3] = cpu_to_be32(GIC_FDT_IRQ_TYPE_SPI);
        irqs[i * 3 + 1] = cpu_to_be32(irq);
        irqs[i * 3 + 2] = cpu_to_be32(GIC_FDT_IRQ_FLAGS_LEVEL_HI);
        append_name(names, irq_names[i]);
    }
    qemu_fdt_setprop(fdt, node, "interrupts", irqs, sizeof(irqs));
    set_names(fdt, node, "interrupt-names", names);
}

/*
 * Doorbells of pci_epf_alloc_doorbell() are interrupts of this ITS, with the
 * controller's stream ID as DeviceID.
 */
static void add_msi_map(RCarGen4PCIeEP *s, void *fdt, const char *node)
{
    int its = fdt_node_offset_by_compatible(fdt, -1, ITS_COMPATIBLE);

    if (its < 0) {
        error_report(TYPE_RCAR_GEN4_PCIE_EP ": msi-parent=on, but the machine "
                     "has no ITS: use -M virt,gic-version=3,its=on or "
                     "msi-parent=off");
        exit(EXIT_FAILURE);
    }
    qemu_fdt_setprop_cells(fdt, node, "msi-map", 0, fdt_get_phandle(fdt, its),
                           s->stream_id, 1);
}

void rcar_gen4_pcie_ep_add_fdt_node(SysBusDevice *sbdev,
                                    PlatformBusDevice *pbus, int irq_start,
                                    void *fdt, const char *parent)
{
    static const char compatible[] = "renesas,r8a779f0-pcie-ep\0"
                                     "renesas,rcar-gen4-pcie-ep";
    RCarGen4PCIeEP *s = RCAR_GEN4_PCIE_EP(sbdev);
    const DWPCIeEPFeatures *features = s->core.features;
    hwaddr base = area_address(sbdev, pbus, RCAR_GEN4_AREA_DBI);
    g_autofree char *node = g_strdup_printf("/pcie-ep@%" HWADDR_PRIx, base);

    qemu_fdt_add_subnode(fdt, node);
    qemu_fdt_setprop(fdt, node, "compatible", compatible, sizeof(compatible));
    add_regions(sbdev, pbus, fdt, node);
    add_interrupts(sbdev, pbus, irq_start, fdt, node);
    add_clocks(fdt, node, base);
    add_reset(sbdev, pbus, fdt, node);
    qemu_fdt_setprop_cell(fdt, node, "max-link-speed",
                          features->max_link_speed);
    qemu_fdt_setprop_cell(fdt, node, "num-lanes", features->max_link_width);
    qemu_fdt_setprop(fdt, node, "max-functions", &s->functions,
                     sizeof(s->functions));
    if (s->msi_parent) {
        add_msi_map(s, fdt, node);
    }
}
