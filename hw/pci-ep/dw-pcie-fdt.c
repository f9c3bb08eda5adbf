/*
 * DesignWare PCIe endpoint: what the device tree nodes of glue devices share
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "hw/arm/fdt.h"
#include "system/device_tree.h"
#include <libfdt.h>
#include "dw-pcie-fdt.h"

#define ITS_COMPATIBLE "arm,gic-v3-its"

/* Append @name and its terminator to a list of strings. */
static void append_name(GByteArray *list, const char *name)
{
    g_byte_array_append(list, (const guint8 *)name, strlen(name) + 1);
}

static void set_names(const DWPCIeFDTNode *n, const char *property,
                      GByteArray *list)
{
    qemu_fdt_setprop(n->fdt, n->path, property, list->data, list->len);
}

hwaddr dw_pcie_fdt_address(const DWPCIeFDTNode *n, unsigned region)
{
    /* The platform bus knows offsets in itself. */
    return object_property_get_uint(OBJECT(&n->pbus->mmio), "addr",
                                    &error_abort) +
           platform_bus_get_mmio_addr(n->pbus, n->sbdev, region);
}

void dw_pcie_fdt_begin(DWPCIeFDTNode *n, const char *name, unsigned region,
                       const char *compatible, size_t len)
{
    n->path = g_strdup_printf("/%s@%" HWADDR_PRIx, name,
                              dw_pcie_fdt_address(n, region));
    qemu_fdt_add_subnode(n->fdt, n->path);
    qemu_fdt_setprop(n->fdt, n->path, "compatible", compatible, len);
}

void dw_pcie_fdt_add_areas(const DWPCIeFDTNode *n, const DWPCIeFDTArea *areas,
                           unsigned count)
{
    g_autoptr(GByteArray) names = g_byte_array_new();
    g_autofree uint64_t *reg = g_new(uint64_t, count * 2);

    for (unsigned i = 0; i < count; i++) {
        MemoryRegion *mr = sysbus_mmio_get_region(n->sbdev, areas[i].region);

        reg[i * 2] = cpu_to_be64(dw_pcie_fdt_address(n, areas[i].region));
        reg[i * 2 + 1] = cpu_to_be64(memory_region_size(mr));
        append_name(names, areas[i].name);
    }
    qemu_fdt_setprop(n->fdt, n->path, "reg", reg, count * 2 * sizeof(*reg));
    set_names(n, "reg-names", names);
}

void dw_pcie_fdt_add_interrupts(const DWPCIeFDTNode *n,
                                const char * const *irq_names, unsigned count)
{
    g_autoptr(GByteArray) names = g_byte_array_new();
    g_autofree uint32_t *irqs = g_new(uint32_t, count * 3);

    for (unsigned i = 0; i < count; i++) {
        int irq = n->irq_start + platform_bus_get_irqn(n->pbus, n->sbdev, i);

        irqs[i * 3] = cpu_to_be32(GIC_FDT_IRQ_TYPE_SPI);
        irqs[i * 3 + 1] = cpu_to_be32(irq);
        irqs[i * 3 + 2] = cpu_to_be32(GIC_FDT_IRQ_FLAGS_LEVEL_HI);
        append_name(names, irq_names[i]);
    }
    qemu_fdt_setprop(n->fdt, n->path, "interrupts", irqs,
                     count * 3 * sizeof(*irqs));
    set_names(n, "interrupt-names", names);
}

void dw_pcie_fdt_add_link(const DWPCIeFDTNode *n, const DWPCIeEP *ep)
{
    uint8_t functions = ep->num_functions;

    qemu_fdt_setprop_cell(n->fdt, n->path, "max-link-speed",
                          ep->features->max_link_speed);
    qemu_fdt_setprop_cell(n->fdt, n->path, "num-lanes",
                          ep->features->max_link_width);
    qemu_fdt_setprop(n->fdt, n->path, "max-functions", &functions,
                     sizeof(functions));
}

void dw_pcie_fdt_add_msi_map(const DWPCIeFDTNode *n, const DWPCIeEP *ep)
{
    int its;

    if (!ep->conf.msi_parent) {
        return;
    }
    its = fdt_node_offset_by_compatible(n->fdt, -1, ITS_COMPATIBLE);
    if (its < 0) {
        error_report("%s: msi-parent=on, but the machine has no ITS: use "
                     "-M virt,gic-version=3,its=on or msi-parent=off",
                     object_get_typename(OBJECT(n->sbdev)));
        exit(EXIT_FAILURE);
    }
    qemu_fdt_setprop_cells(n->fdt, n->path, "msi-map", 0,
                           fdt_get_phandle(n->fdt, its), ep->conf.stream_id,
                           1);
}
