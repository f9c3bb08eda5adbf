/*
 * DesignWare PCIe endpoint: iATU registers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The unrolled register file of the internal address translation unit.  What
 * the regions do is in dw-pcie-atu-map.c.
 */
#include "qemu/osdep.h"
#include "dw-pcie-internal.h"
#include "trace.h"

static uint32_t low_mask(DWPCIeEP *ep)
{
    return ep->features->atu_region_size - 1;
}

uint64_t dw_pcie_atu_base(const DWPCIeATURegion *r)
{
    return (uint64_t)r->upper_base << 32 | r->lower_base;
}

uint64_t dw_pcie_atu_limit(const DWPCIeATURegion *r)
{
    /* Without INCREASE_SIZE a region cannot cross a 4 GiB boundary. */
    uint32_t upper = r->ctrl1 & DW_PCIE_ATU_INCREASE_SIZE ? r->upper_limit :
                                                            r->upper_base;

    return (uint64_t)upper << 32 | r->lower_limit;
}

uint64_t dw_pcie_atu_target(const DWPCIeATURegion *r)
{
    return (uint64_t)r->upper_target << 32 | r->lower_target;
}

bool dw_pcie_atu_is_mem(const DWPCIeATURegion *r)
{
    return (r->ctrl1 & DW_PCIE_ATU_TYPE_MASK) == DW_PCIE_ATU_TYPE_MEM;
}

unsigned dw_pcie_atu_func(const DWPCIeATURegion *r)
{
    return extract32(r->ctrl1, DW_PCIE_ATU_FUNC_SHIFT,
                     DW_PCIE_ATU_FUNC_LENGTH);
}

/* The register at @reg of a region, or NULL */
static uint32_t *region_register(DWPCIeATURegion *r, uint32_t reg)
{
    switch (reg) {
    case DW_PCIE_ATU_CTRL1:
        return &r->ctrl1;
    case DW_PCIE_ATU_CTRL2:
        return &r->ctrl2;
    case DW_PCIE_ATU_LOWER_BASE:
        return &r->lower_base;
    case DW_PCIE_ATU_UPPER_BASE:
        return &r->upper_base;
    case DW_PCIE_ATU_LIMIT:
        return &r->lower_limit;
    case DW_PCIE_ATU_LOWER_TARGET:
        return &r->lower_target;
    case DW_PCIE_ATU_UPPER_TARGET:
        return &r->upper_target;
    case DW_PCIE_ATU_UPPER_LIMIT:
        return &r->upper_limit;
    default:
        return NULL;
    }
}

/*
 * The region at @offset of the register file; NULL beyond the last one, where
 * software that counts the regions finds nothing that keeps its value.
 */
static DWPCIeATURegion *find_region(DWPCIeEP *ep, hwaddr offset, bool *inbound,
                                    unsigned *index)
{
    *index = offset / DW_PCIE_ATU_STRIDE;
    *inbound = offset & DW_PCIE_ATU_INBOUND;
    if (*inbound) {
        return *index < ep->num_inbound ? &ep->inbound[*index] : NULL;
    }
    return *index < ep->num_outbound ? &ep->outbound[*index] : NULL;
}

static MemTxResult atu_read(void *opaque, hwaddr offset, uint64_t *val,
                            unsigned size, MemTxAttrs attrs)
{
    DWPCIeEP *ep = opaque;
    bool inbound;
    unsigned index;
    DWPCIeATURegion *r = find_region(ep, offset, &inbound, &index);
    uint32_t *reg;

    if (dw_pcie_ep_refuse_access(ep, "iATU", offset)) {
        *val = UINT64_MAX;
        return MEMTX_ERROR;
    }
    reg = r ? region_register(r, offset % DW_PCIE_ATU_INBOUND) : NULL;
    *val = reg ? *reg : 0;
    return MEMTX_OK;
}

/* Value that @reg takes when software writes @val */
static uint32_t wire_bits(DWPCIeEP *ep, uint32_t reg, uint32_t val)
{
    switch (reg) {
    case DW_PCIE_ATU_LOWER_BASE:
    case DW_PCIE_ATU_LOWER_TARGET:
        if (val & low_mask(ep)) {
            dw_pcie_guest_error(ep, DW_PCIE_ERR_ATU_ALIGN,
                                "iATU address 0x%08x is not a multiple of "
                                "0x%x: low bits ignored", val,
                                low_mask(ep) + 1);
        }
        return val & ~low_mask(ep);
    case DW_PCIE_ATU_LIMIT:
        return val | low_mask(ep);
    case DW_PCIE_ATU_UPPER_LIMIT:
        return val & ep->features->atu_upper_limit;
    default:
        return val;
    }
}

static MemTxResult atu_write(void *opaque, hwaddr offset, uint64_t val,
                             unsigned size, MemTxAttrs attrs)
{
    DWPCIeEP *ep = opaque;
    bool inbound;
    unsigned index;
    uint32_t regno = offset % DW_PCIE_ATU_INBOUND;
    DWPCIeATURegion *r = find_region(ep, offset, &inbound, &index);
    uint32_t *reg;

    if (dw_pcie_ep_refuse_access(ep, "iATU", offset)) {
        return MEMTX_ERROR;
    }
    reg = r ? region_register(r, regno) : NULL;
    if (!reg) {
        return MEMTX_OK;
    }

    trace_dw_pcie_atu_write(inbound ? "inbound" : "outbound", index, regno,
                            val);
    *reg = wire_bits(ep, regno, val);
    if (inbound) {
        dw_pcie_map_inbound(ep);
    } else {
        dw_pcie_map_outbound(ep, index);
        dw_pcie_dma_update_windows(ep);
    }
    dw_pcie_ep_write_done(ep);
    return MEMTX_OK;
}

static const MemoryRegionOps atu_ops = {
    .read_with_attrs = atu_read,
    .write_with_attrs = atu_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid.min_access_size = 4,
    .valid.max_access_size = 4,
    .impl.min_access_size = 4,
    .impl.max_access_size = 4,
};

static void reset_regions(DWPCIeEP *ep, DWPCIeATURegion *regions, unsigned n)
{
    memset(regions, 0, n * sizeof(*regions));
    for (unsigned i = 0; i < n; i++) {
        regions[i].lower_limit = low_mask(ep);
    }
}

void dw_pcie_atu_reset(DWPCIeEP *ep)
{
    reset_regions(ep, ep->outbound, ep->num_outbound);
    reset_regions(ep, ep->inbound, ep->num_inbound);
    for (unsigned i = 0; i < ep->num_outbound; i++) {
        dw_pcie_map_outbound(ep, i);
    }
    dw_pcie_dma_update_windows(ep);
    dw_pcie_map_inbound(ep);
}

void dw_pcie_atu_init(DWPCIeEP *ep)
{
    ep->outbound = g_new0(DWPCIeATURegion, ep->num_outbound);
    ep->inbound = g_new0(DWPCIeATURegion, ep->num_inbound);
    memory_region_init_io(&ep->atu, OBJECT(ep->dev), &atu_ops, ep, "atu",
                          ep->features->atu_size);
    /* dw_pcie_ep_write_done() lets other vCPUs in. */
    ep->atu.disable_reentrancy_guard = true;
}
