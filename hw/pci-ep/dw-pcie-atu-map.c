/*
 * DesignWare PCIe endpoint: what the iATU regions map
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * An enabled region is an alias: an outbound one shows PCI memory in the
 * window of the SoC, an inbound one shows SoC memory in a BAR.  The memory
 * core then knows by itself what is RAM and what must be trapped.  The
 * lowest region that matches wins, as in hardware.
 */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "dw-pcie-internal.h"
#include "trace.h"

/* Modes that would need more than one linear mapping */
#define UNSUPPORTED_MODES (DW_PCIE_ATU_INVERT | DW_PCIE_ATU_RESPONSE_MASK)

typedef struct Mapping {
    hwaddr at;
    hwaddr size;        /* 0: maps nothing */
    hwaddr target;
} Mapping;

static int region_priority(unsigned index, unsigned n)
{
    return n - index;
}

/* Make @alias show @m; true if that changes anything. */
static bool alias_set(DWPCIeATUAlias *alias, Mapping m)
{
    bool enable = m.size;

    if (alias->enabled == enable &&
        (!enable || (alias->at == m.at && alias->size == m.size &&
                     alias->target == m.target))) {
        return false;
    }

    memory_region_transaction_begin();
    if (enable) {
        memory_region_set_size(&alias->mr, m.size);
        memory_region_set_alias_offset(&alias->mr, m.target);
        memory_region_set_address(&alias->mr, m.at);
        alias->at = m.at;
        alias->size = m.size;
        alias->target = m.target;
    }
    memory_region_set_enabled(&alias->mr, enable);
    memory_region_transaction_commit();
    alias->enabled = enable;
    return true;
}

static bool region_usable(DWPCIeEP *ep, const DWPCIeATURegion *r,
                          const char *dir, unsigned index)
{
    if (!(r->ctrl2 & DW_PCIE_ATU_ENABLE)) {
        return false;
    }
    if (r->ctrl2 & UNSUPPORTED_MODES) {
        if (dw_pcie_first_error(ep, DW_PCIE_ERR_ATU_MODE)) {
            qemu_log_mask(LOG_UNIMP, "%s: %s iATU region %u: invert mode and "
                          "response codes are not modelled, it matches "
                          "nothing\n", object_get_typename(OBJECT(ep->dev)),
                          dir, index);
        }
        return false;
    }
    return true;
}

static bool limit_valid(DWPCIeEP *ep, const DWPCIeATURegion *r,
                        const char *dir, unsigned index)
{
    if (dw_pcie_atu_limit(r) < dw_pcie_atu_base(r)) {
        dw_pcie_guest_error(ep, DW_PCIE_ERR_ATU_LIMIT,
                            "%s iATU region %u is enabled with limit 0x%"
                            PRIx64 " below base 0x%" PRIx64 ": it matches "
                            "nothing", dir, index, dw_pcie_atu_limit(r),
                            dw_pcie_atu_base(r));
        return false;
    }
    return true;
}

/*
 * Part of the range from @first to @last that lies in @size bytes at @start,
 * as offset from @start, translated so that @first becomes @target.
 */
static Mapping clip(uint64_t first, uint64_t last, uint64_t target,
                    uint64_t start, uint64_t size)
{
    uint64_t end = start + size - 1;
    uint64_t from = MAX(first, start);
    uint64_t to = MIN(last, end);

    if (from > to) {
        return (Mapping) { };
    }
    return (Mapping) {
        .at = from - start,
        .size = to - from + 1,
        .target = target + (from - first),
    };
}

static Mapping bar_match(DWPCIeEP *ep, const DWPCIeATURegion *r,
                         unsigned index, const DWPCIeBar *b)
{
    uint64_t target = dw_pcie_atu_target(r);

    /* The BAR's offset replaces the low bits of the target. */
    if (target & (b->size - 1)) {
        dw_pcie_guest_error(ep, DW_PCIE_ERR_ATU_TARGET,
                            "inbound iATU region %u: target 0x%" PRIx64
                            " is not a multiple of the BAR's size 0x%" PRIx64
                            ": low bits ignored", index, target, b->size);
    }
    return (Mapping) {
        .size = b->size,
        .target = target & ~(b->size - 1),
    };
}

/* What inbound region @index shows in @bar of @f */
static Mapping inbound_mapping(DWPCIeFunc *f, unsigned bar, unsigned index)
{
    const DWPCIeATURegion *r = &f->ep->inbound[index];
    const DWPCIeBar *b = &f->bar[bar];

    if (!b->size || !region_usable(f->ep, r, "inbound", index) ||
        !dw_pcie_atu_is_mem(r)) {
        return (Mapping) { };
    }
    if ((r->ctrl2 & DW_PCIE_ATU_FUNC_MATCH) &&
        dw_pcie_atu_func(r) != f->number) {
        return (Mapping) { };
    }
    if (r->ctrl2 & DW_PCIE_ATU_BAR_MODE) {
        if (extract32(r->ctrl2, DW_PCIE_ATU_BAR_SHIFT,
                      DW_PCIE_ATU_BAR_LENGTH) != bar) {
            return (Mapping) { };
        }
        return bar_match(f->ep, r, index, b);
    }
    /* A BAR without an address decodes nothing. */
    if (!dw_pcie_bar_address(f, bar) ||
        !limit_valid(f->ep, r, "inbound", index)) {
        return (Mapping) { };
    }
    return clip(dw_pcie_atu_base(r), dw_pcie_atu_limit(r),
                dw_pcie_atu_target(r), dw_pcie_bar_address(f, bar), b->size);
}

void dw_pcie_map_bar(DWPCIeFunc *f, unsigned bar)
{
    DWPCIeBar *b = &f->bar[bar];

    if (!b->inbound) {
        return;
    }
    memory_region_transaction_begin();
    for (unsigned i = 0; i < f->ep->num_inbound; i++) {
        Mapping m = inbound_mapping(f, bar, i);

        if (alias_set(&b->inbound[i], m)) {
            trace_dw_pcie_map_inbound(f->number, bar, i, m.at, m.size,
                                      m.target);
            f->ep->inbound_changed = true;
        }
    }
    memory_region_transaction_commit();
}

void dw_pcie_map_inbound(DWPCIeEP *ep)
{
    memory_region_transaction_begin();
    for (unsigned i = 0; i < ep->num_functions; i++) {
        for (unsigned bar = 0; bar < DW_PCIE_NUM_BARS; bar++) {
            dw_pcie_map_bar(&ep->func[i], bar);
        }
    }
    memory_region_transaction_commit();
}

void dw_pcie_inbound_init(DWPCIeFunc *f, DWPCIeBar *bar, const char *name,
                          MemoryRegion *soc)
{
    DWPCIeEP *ep = f->ep;

    memory_region_init(&bar->space, OBJECT(ep->dev), name, UINT64_MAX);
    bar->inbound = g_new0(DWPCIeATUAlias, ep->num_inbound);
    for (unsigned i = 0; i < ep->num_inbound; i++) {
        MemoryRegion *mr = &bar->inbound[i].mr;
        g_autofree char *alias = g_strdup_printf("%s-inbound%u", name, i);

        memory_region_init_alias(mr, OBJECT(ep->dev), alias, soc, 0,
                                 ep->features->atu_region_size);
        memory_region_set_enabled(mr, false);
        memory_region_add_subregion_overlap(&bar->space, 0, mr,
                                            region_priority(i,
                                                            ep->num_inbound));
    }
}

/* Where the SoC has the window; it may have been moved since. */
static hwaddr window_base(DWPCIeEP *ep)
{
    hwaddr base = 0;

    for (MemoryRegion *mr = &ep->window; mr; mr = mr->container) {
        base += mr->addr;
    }
    return base;
}

/* Alias of outbound region @index: one for each function, then rejection */
static DWPCIeATUAlias *outbound_alias(DWPCIeEP *ep, unsigned index,
                                      unsigned which)
{
    return &ep->outbound_alias[index * (ep->num_functions + 1) + which];
}

void dw_pcie_map_outbound(DWPCIeEP *ep, unsigned index)
{
    const DWPCIeATURegion *r = &ep->outbound[index];
    unsigned reject = ep->num_functions;
    unsigned which = dw_pcie_atu_func(r);
    Mapping m = { };

    if (region_usable(ep, r, "outbound", index) &&
        limit_valid(ep, r, "outbound", index)) {
        m = clip(dw_pcie_atu_base(r), dw_pcie_atu_limit(r),
                 dw_pcie_atu_target(r), window_base(ep),
                 ep->features->window_size);
    }
    if (!dw_pcie_atu_is_mem(r) || which >= ep->num_functions) {
        which = reject;
        m.target = m.at;
    }

    memory_region_transaction_begin();
    for (unsigned i = 0; i <= reject; i++) {
        if (alias_set(outbound_alias(ep, index, i),
                      i == which ? m : (Mapping) { })) {
            trace_dw_pcie_map_outbound(index, i, m.at, m.size, m.target);
        }
    }
    memory_region_transaction_commit();
}

static uint64_t window_read(void *opaque, hwaddr offset, unsigned size)
{
    DWPCIeEP *ep = opaque;

    dw_pcie_guest_error(ep, DW_PCIE_ERR_WINDOW_MISS,
                        "read at offset 0x%" HWADDR_PRIx " of the outbound "
                        "window, where no iATU region is enabled", offset);
    return UINT64_MAX;
}

static void window_write(void *opaque, hwaddr offset, uint64_t val,
                         unsigned size)
{
    DWPCIeEP *ep = opaque;

    dw_pcie_guest_error(ep, DW_PCIE_ERR_WINDOW_MISS,
                        "write at offset 0x%" HWADDR_PRIx " of the outbound "
                        "window, where no iATU region is enabled", offset);
}

static uint64_t reject_read(void *opaque, hwaddr offset, unsigned size)
{
    DWPCIeEP *ep = opaque;

    dw_pcie_guest_error(ep, DW_PCIE_ERR_WINDOW_TYPE,
                        "read at offset 0x%" HWADDR_PRIx " of the outbound "
                        "window through an iATU region that is not of type "
                        "MEM or names no function: an endpoint cannot send "
                        "that request", offset);
    return UINT64_MAX;
}

static void reject_write(void *opaque, hwaddr offset, uint64_t val,
                         unsigned size)
{
    DWPCIeEP *ep = opaque;

    dw_pcie_guest_error(ep, DW_PCIE_ERR_WINDOW_TYPE,
                        "write at offset 0x%" HWADDR_PRIx " of the outbound "
                        "window through an iATU region that is not of type "
                        "MEM or names no function: dropped", offset);
}

static const MemoryRegionOps window_ops = {
    .read = window_read,
    .write = window_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid.min_access_size = 1,
    .valid.max_access_size = 8,
    .impl.min_access_size = 1,
    .impl.max_access_size = 8,
};

static const MemoryRegionOps reject_ops = {
    .read = reject_read,
    .write = reject_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid.min_access_size = 1,
    .valid.max_access_size = 8,
    .impl.min_access_size = 1,
    .impl.max_access_size = 8,
};

void dw_pcie_window_init(DWPCIeEP *ep)
{
    unsigned reject = ep->num_functions;
    Object *owner = OBJECT(ep->dev);

    memory_region_init_io(&ep->window, owner, &window_ops, ep, "addr-space",
                          ep->features->window_size);
    memory_region_init_io(&ep->window_reject, owner, &reject_ops, ep,
                          "addr-space-reject", ep->features->window_size);
    ep->window.disable_reentrancy_guard = true;
    ep->window_reject.disable_reentrancy_guard = true;

    ep->outbound_alias = g_new0(DWPCIeATUAlias,
                                ep->num_outbound * (reject + 1));
    for (unsigned i = 0; i < ep->num_outbound; i++) {
        for (unsigned j = 0; j <= reject; j++) {
            MemoryRegion *mr = &outbound_alias(ep, i, j)->mr;
            g_autofree char *name = g_strdup_printf("outbound%u-%u", i, j);

            memory_region_init_alias(mr, owner, name,
                                     j == reject ? &ep->window_reject :
                                     pcie_cable_ep_host_mr(ep->cable, j),
                                     0, ep->features->atu_region_size);
            memory_region_set_enabled(mr, false);
            memory_region_add_subregion_overlap(&ep->window, 0, mr,
                                                region_priority(
                                                    i, ep->num_outbound));
        }
    }
}
