/*
 * DesignWare PCIe endpoint: base address registers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How large a BAR is follows from its type: the mask that software wrote
 * through DBI2, a wired mask, or the size selected in the resizable BAR
 * capability.  Bit 0 of the mask register enables a BAR of any type.
 */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "qemu/units.h"
#include "hw/pci/pci_regs.h"
#include "dw-pcie-internal.h"
#include "trace.h"

#define BAR_FLAGS_MASK 0xfu
/* Smallest memory BAR of PCI Express: 128 bytes (PCIe 7.5.1.2.1) */
#define BAR_MIN_SIZE 128
#define REBAR_SIZE_SHIFT 8
#define REBAR_SIZE_LENGTH 6
/* Bit of the smallest size, 1 MiB, in the REBAR capability register */
#define REBAR_CAP_SHIFT 4

static DWPCIeBarType bar_type(DWPCIeFunc *f, unsigned bar)
{
    return f->ep->features->bar[bar].type;
}

static bool bar_is_64(DWPCIeFunc *f, unsigned bar)
{
    DWPCIeBar *b = &f->bar[bar];

    return !(bar & 1) && b->enabled &&
           (b->flags & (PCI_BASE_ADDRESS_SPACE |
                        PCI_BASE_ADDRESS_MEM_TYPE_MASK)) ==
           PCI_BASE_ADDRESS_MEM_TYPE_64;
}

/* Is @bar the upper half of a 64-bit pair? */
static bool bar_is_upper(DWPCIeFunc *f, unsigned bar)
{
    return (bar & 1) && bar_is_64(f, bar - 1);
}

/* Size in bytes that the mask gives, enabled or not. */
static uint64_t bar_mask_size(DWPCIeFunc *f, unsigned bar)
{
    uint32_t entry = dw_pcie_rebar_entry(f->ep->features, bar);
    uint64_t mask;

    switch (bar_type(f, bar)) {
    case DW_PCIE_BAR_FIXED:
        return f->ep->features->bar[bar].fixed_size;
    case DW_PCIE_BAR_RESIZABLE:
        return MiB << extract32(ldl_le_p(f->cfg + entry + PCI_REBAR_CTRL),
                                REBAR_SIZE_SHIFT, REBAR_SIZE_LENGTH);
    case DW_PCIE_BAR_PROGRAMMABLE:
        mask = f->bar[bar].mask | (BAR_MIN_SIZE - 1);
        if (bar_is_64(f, bar)) {
            mask |= (uint64_t)f->bar[bar + 1].mask << 32;
        }
        /* A mask with holes decodes like the next larger one without. */
        return 1ULL << (64 - MAX(clz64(mask), 1));
    default:
        return 0;
    }
}

static uint64_t bar_address_mask(DWPCIeFunc *f, unsigned bar)
{
    return ~(bar_mask_size(f, bar) - 1);
}

uint64_t dw_pcie_bar_address(DWPCIeFunc *f, unsigned bar)
{
    uint64_t addr = f->bar[bar].addr;

    if (bar_is_64(f, bar)) {
        addr |= (uint64_t)f->bar[bar + 1].addr << 32;
    }
    return addr & bar_address_mask(f, bar);
}

uint32_t dw_pcie_bar_read(DWPCIeFunc *f, unsigned bar)
{
    if (bar_is_upper(f, bar)) {
        return f->bar[bar].addr & (bar_address_mask(f, bar - 1) >> 32);
    }
    if (!f->bar[bar].enabled) {
        return 0;
    }
    return (f->bar[bar].addr & bar_address_mask(f, bar)) | f->bar[bar].flags;
}

/* What the host can reach through the BAR. */
static uint64_t bar_visible_size(DWPCIeFunc *f, unsigned bar)
{
    DWPCIeBar *b = &f->bar[bar];

    if (!b->enabled || bar_is_upper(f, bar)) {
        return 0;
    }
    if (b->flags & PCI_BASE_ADDRESS_SPACE) {
        dw_pcie_guest_error(f->ep, DW_PCIE_ERR_BAR_IO,
                            "function %u BAR%u is set up as an I/O BAR: the "
                            "cable carries no I/O requests", f->number, bar);
        return 0;
    }
    return bar_mask_size(f, bar);
}

void dw_pcie_bar_update(DWPCIeFunc *f, unsigned bar)
{
    DWPCIeBar *b = &f->bar[bar];
    uint64_t size = bar_visible_size(f, bar);

    if (size != b->size) {
        trace_dw_pcie_bar_size(f->number, bar, size);
        b->size = size;
        f->ep->inbound_changed = true;
        pcie_cable_ep_set_bar_size(f->ep->cable, f->number, bar, size);
    }
    dw_pcie_map_bar(f, bar);
}

/* The other half of a pair may have appeared or gone. */
static void bar_update_pair(DWPCIeFunc *f, unsigned bar)
{
    dw_pcie_bar_update(f, bar & ~1);
    dw_pcie_bar_update(f, bar | 1);
}

void dw_pcie_bar_write(DWPCIeFunc *f, unsigned bar, uint32_t val, bool dbi)
{
    DWPCIeBar *b = &f->bar[bar];

    trace_dw_pcie_bar_write(f->number, bar, val, dbi);
    if (bar_is_upper(f, bar)) {
        b->addr = val & (bar_address_mask(f, bar - 1) >> 32);
        dw_pcie_bar_update(f, bar - 1);
        return;
    }

    if (dbi && dw_pcie_port_ro_wr_enabled(f->ep)) {
        b->flags = val & BAR_FLAGS_MASK;
    }
    b->addr = val & ~BAR_FLAGS_MASK;
    if (bar_type(f, bar) != DW_PCIE_BAR_DISABLED) {
        b->addr &= bar_address_mask(f, bar);
    }
    bar_update_pair(f, bar);
}

static void dbi2_write_mask(DWPCIeFunc *f, unsigned bar, uint32_t val)
{
    DWPCIeBar *b = &f->bar[bar];

    if (bar_is_upper(f, bar)) {
        /* Only a programmable pair has bits to write here. */
        if (bar_type(f, bar - 1) == DW_PCIE_BAR_PROGRAMMABLE) {
            b->mask = val;
            dw_pcie_bar_update(f, bar - 1);
        }
        return;
    }

    switch (bar_type(f, bar)) {
    case DW_PCIE_BAR_DISABLED:
        if (val) {
            dw_pcie_guest_error(f->ep, DW_PCIE_ERR_BAR_TYPE,
                                "function %u BAR%u does not exist: mask "
                                "0x%08x ignored", f->number, bar, val);
        }
        return;
    case DW_PCIE_BAR_PROGRAMMABLE:
        b->mask = val & ~DW_PCIE_BAR_ENABLE;
        if (b->mask & ((b->mask | 1) + 1)) {
            dw_pcie_guest_error(f->ep, DW_PCIE_ERR_BAR_MASK,
                                "function %u BAR%u: mask 0x%08x has holes",
                                f->number, bar, val);
        }
        break;
    default:
        break;
    }
    b->enabled = val & DW_PCIE_BAR_ENABLE;
    bar_update_pair(f, bar);
}

static uint32_t dbi2_read_mask(DWPCIeFunc *f, unsigned bar)
{
    if (bar_is_upper(f, bar)) {
        return ~bar_address_mask(f, bar - 1) >> 32;
    }
    if (bar_type(f, bar) == DW_PCIE_BAR_DISABLED) {
        return 0;
    }
    return (~bar_address_mask(f, bar) & ~DW_PCIE_BAR_ENABLE) |
           (f->bar[bar].enabled ? DW_PCIE_BAR_ENABLE : 0);
}

/* The BAR whose mask is at @addr, or -1 */
static int dbi2_bar(uint32_t addr)
{
    if (addr < PCI_BASE_ADDRESS_0 || addr > PCI_BASE_ADDRESS_5) {
        return -1;
    }
    return (addr - PCI_BASE_ADDRESS_0) / 4;
}

static MemTxResult dbi2_read(void *opaque, hwaddr offset, uint64_t *val,
                             unsigned size, MemTxAttrs attrs)
{
    DWPCIeEP *ep = opaque;
    unsigned fn = offset / ep->features->dbi2_stride;
    int bar = dbi2_bar(offset % ep->features->dbi2_stride);

    if (dw_pcie_ep_refuse_access(ep, "DBI2", offset)) {
        *val = UINT64_MAX;
        return MEMTX_ERROR;
    }
    *val = 0;
    if (fn < ep->num_functions && bar >= 0) {
        *val = dbi2_read_mask(&ep->func[fn], bar);
    }
    return MEMTX_OK;
}

static MemTxResult dbi2_write(void *opaque, hwaddr offset, uint64_t val,
                              unsigned size, MemTxAttrs attrs)
{
    DWPCIeEP *ep = opaque;
    unsigned fn = offset / ep->features->dbi2_stride;
    uint32_t addr = offset % ep->features->dbi2_stride;
    int bar = dbi2_bar(addr);

    if (dw_pcie_ep_refuse_access(ep, "DBI2", offset)) {
        return MEMTX_ERROR;
    }
    trace_dw_pcie_dbi2_write(fn, addr, val);
    if (fn < ep->num_functions && bar >= 0) {
        dbi2_write_mask(&ep->func[fn], bar, val);
    } else {
        dw_pcie_guest_error(ep, DW_PCIE_ERR_REGISTER,
                            "write to DBI2 register 0x%03x of function %u, "
                            "which does not exist", addr, fn);
    }
    dw_pcie_ep_write_done(ep);
    return MEMTX_OK;
}

static const MemoryRegionOps dbi2_ops = {
    .read_with_attrs = dbi2_read,
    .write_with_attrs = dbi2_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid.min_access_size = 4,
    .valid.max_access_size = 4,
    .impl.min_access_size = 4,
    .impl.max_access_size = 4,
};

void dw_pcie_dbi2_init(DWPCIeEP *ep)
{
    memory_region_init_io(&ep->dbi2, OBJECT(ep->dev), &dbi2_ops, ep, "dbi2",
                          ep->features->dbi2_size);
    /* dw_pcie_ep_write_done() lets other vCPUs in. */
    ep->dbi2.disable_reentrancy_guard = true;
}

bool dw_pcie_rebar_select(DWPCIeFunc *f, unsigned bar, unsigned code)
{
    uint32_t entry = dw_pcie_rebar_entry(f->ep->features, bar);
    uint32_t sizes = ldl_le_p(f->cfg + entry + PCI_REBAR_CAP);
    uint8_t *ctrl = f->cfg + entry + PCI_REBAR_CTRL;

    if (code > 31 - REBAR_CAP_SHIFT ||
        !(sizes & BIT(code + REBAR_CAP_SHIFT))) {
        dw_pcie_guest_error(f->ep, DW_PCIE_ERR_REBAR_SIZE,
                            "function %u BAR%u: selected size code %u is not "
                            "among the supported sizes 0x%08x, the old size "
                            "stays", f->number, bar, code, sizes);
        return false;
    }
    stl_le_p(ctrl, deposit32(ldl_le_p(ctrl), REBAR_SIZE_SHIFT,
                             REBAR_SIZE_LENGTH, code));
    f->bar[bar].addr &= bar_address_mask(f, bar);
    dw_pcie_bar_update(f, bar);
    return true;
}

void dw_pcie_rebar_select_smallest(DWPCIeFunc *f, unsigned bar)
{
    uint32_t entry = dw_pcie_rebar_entry(f->ep->features, bar);
    uint32_t sizes = ldl_le_p(f->cfg + entry + PCI_REBAR_CAP);

    if (!sizes) {
        dw_pcie_guest_error(f->ep, DW_PCIE_ERR_REBAR_SIZE,
                            "function %u BAR%u: no supported size left, the "
                            "old size stays", f->number, bar);
        return;
    }
    dw_pcie_rebar_select(f, bar, ctz32(sizes) - REBAR_CAP_SHIFT);
}

void dw_pcie_bar_cold_reset(DWPCIeFunc *f)
{
    for (unsigned i = 0; i < DW_PCIE_NUM_BARS; i++) {
        DWPCIeBar *b = &f->bar[i];

        b->enabled = bar_type(f, i) != DW_PCIE_BAR_DISABLED;
        b->mask = 0;
        b->flags = 0;
        b->addr = 0;
    }
    for (unsigned i = 0; i < DW_PCIE_NUM_BARS; i++) {
        if (bar_type(f, i) == DW_PCIE_BAR_RESIZABLE) {
            dw_pcie_rebar_select_smallest(f, i);
        }
        dw_pcie_bar_update(f, i);
    }
}

void dw_pcie_bar_hot_reset(DWPCIeFunc *f)
{
    for (unsigned i = 0; i < DW_PCIE_NUM_BARS; i++) {
        f->bar[i].addr = 0;
    }
    for (unsigned i = 0; i < DW_PCIE_NUM_BARS; i++) {
        if (bar_type(f, i) == DW_PCIE_BAR_RESIZABLE) {
            dw_pcie_rebar_select_smallest(f, i);
        }
        dw_pcie_bar_update(f, i);
    }
}

void dw_pcie_bar_init(DWPCIeFunc *f, MemoryRegion *soc, MemTxAttrs attrs)
{
    for (unsigned i = 0; i < DW_PCIE_NUM_BARS; i++) {
        DWPCIeBar *b = &f->bar[i];
        g_autofree char *name = NULL;

        if (bar_type(f, i) == DW_PCIE_BAR_DISABLED) {
            continue;
        }
        name = g_strdup_printf("function%u-bar%u", f->number, i);
        dw_pcie_inbound_init(f, b, name, soc);
        address_space_init(&b->as, &b->space, name);
        pcie_cable_ep_init_bar(f->ep->cable, f->number, i, &b->as, attrs);
    }
}
