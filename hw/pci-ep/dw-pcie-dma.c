/*
 * DesignWare PCIe endpoint: the DMA engine in the core
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Shows the engine's registers, in an area of their own or behind the legacy
 * viewport in the port logic, and takes its requests to the host.  They pass
 * the outbound iATU: an address in an enabled region that is not marked
 * DMA_BYPASS is translated, any other is a PCI address already.
 */
#include "qemu/osdep.h"
#include "qemu/lockable.h"
#include "hw/ntb/pcie-cable-window.h"
#include "dw-pcie-internal.h"
#include "trace.h"

/* The core has the host's memory for the engine; any thread. */

static DWEDMAFault fault_of(PCIeCableDMAError error)
{
    switch (error) {
    case PCIE_CABLE_DMA_OK:
        return DW_EDMA_FAULT_NONE;
    case PCIE_CABLE_DMA_LINK_DOWN:
        return DW_EDMA_FAULT_LINK_DOWN;
    case PCIE_CABLE_DMA_NOT_MASTER:
        return DW_EDMA_FAULT_NOT_MASTER;
    case PCIE_CABLE_DMA_UNSUPPORTED:
        return DW_EDMA_FAULT_UNSUPPORTED;
    case PCIE_CABLE_DMA_TIMEOUT:
        return DW_EDMA_FAULT_CPL_TIMEOUT;
    case PCIE_CABLE_DMA_ABORT:
    default:
        return DW_EDMA_FAULT_CPL_ABORT;
    }
}

/*
 * Translate *@addr.  *@len, if given, goes down to what one region, or the
 * gap between two, translates alike.  False: not to memory.
 */
static bool translate(DWPCIeEP *ep, uint64_t *addr, uint64_t *len)
{
    uint64_t first = *addr;
    uint64_t last = len ? first + MIN(*len - 1, UINT64_MAX - first) : first;
    bool memory = true;

    WITH_QEMU_LOCK_GUARD(&ep->dma_lock) {
        for (unsigned i = 0; i < ep->num_outbound; i++) {
            const DWPCIeDMAWindow *w = &ep->dma_windows[i];

            if (w->first > w->last || last < w->first || first > w->last) {
                continue;
            }
            if (first < w->first) {
                /* It begins further on. */
                last = w->first - 1;
                continue;
            }
            *addr = w->target + (first - w->first);
            last = MIN(last, w->last);
            memory = w->memory;
            break;
        }
    }
    if (len) {
        *len = last - first + 1;
    }
    return memory;
}

static DWEDMAFault dma_pcie_begin(void *opaque, unsigned user, unsigned fn,
                                  uint64_t addr, bool write, uint64_t *len,
                                  void **host)
{
    DWPCIeEP *ep = opaque;

    if (!translate(ep, &addr, len)) {
        *host = NULL;
        return DW_EDMA_FAULT_UNSUPPORTED;
    }
    return fault_of(pcie_cable_dma_begin(ep->dma_users[user], fn, addr, write,
                                         len, host));
}

static void dma_pcie_end(void *opaque, unsigned user)
{
    DWPCIeEP *ep = opaque;

    pcie_cable_dma_end(ep->dma_users[user]);
}

static DWEDMAFault dma_pcie_read(void *opaque, unsigned user, unsigned fn,
                                 uint64_t addr, void *buf, uint32_t len)
{
    DWPCIeEP *ep = opaque;

    if (!translate(ep, &addr, NULL)) {
        return DW_EDMA_FAULT_UNSUPPORTED;
    }
    return fault_of(pcie_cable_dma_read(ep->dma_users[user], fn, addr, buf,
                                        len));
}

static DWEDMAFault dma_pcie_write(void *opaque, unsigned user, unsigned fn,
                                  uint64_t addr, const void *buf,
                                  uint32_t len)
{
    DWPCIeEP *ep = opaque;

    if (!translate(ep, &addr, NULL)) {
        return DW_EDMA_FAULT_UNSUPPORTED;
    }
    return fault_of(pcie_cable_dma_write(ep->dma_users[user], fn, addr, buf,
                                         len));
}

static DWEDMAFault dma_pcie_flush(void *opaque, unsigned user)
{
    DWPCIeEP *ep = opaque;

    return fault_of(pcie_cable_dma_flush(ep->dma_users[user]));
}

static DWEDMAFault dma_pcie_post(void *opaque, unsigned user, unsigned fn,
                                 uint64_t addr, uint32_t data)
{
    DWPCIeEP *ep = opaque;

    if (fn >= ep->num_functions || !translate(ep, &addr, NULL)) {
        return DW_EDMA_FAULT_UNSUPPORTED;
    }
    return fault_of(pcie_cable_dma_post(ep->dma_users[user], fn, addr, data));
}

/*
 * Not the controller itself (a request to the host made on behalf of the SoC
 * in a thread that must not wait), nor what the host shared (its unmapping
 * waits for vCPUs only, not for stores through the SoC's memory map).
 */
static bool dma_local_allowed(void *opaque, MemoryRegion *mr)
{
    DWPCIeEP *ep = opaque;

    return memory_region_owner(mr) != OBJECT(ep->dev) &&
           !pcie_cable_window_owns(mr);
}

static void dma_irq(void *opaque, const uint64_t levels[DW_EDMA_NUM_DIRS])
{
    DWPCIeEP *ep = opaque;

    ep->dma_irq(ep->dev, levels);
}

static const DWEDMAOps dma_ops = {
    .pcie_begin = dma_pcie_begin,
    .pcie_end = dma_pcie_end,
    .pcie_read = dma_pcie_read,
    .pcie_write = dma_pcie_write,
    .pcie_flush = dma_pcie_flush,
    .pcie_post = dma_pcie_post,
    .local_allowed = dma_local_allowed,
    .irq = dma_irq,
};

void dw_pcie_dma_update_windows(DWPCIeEP *ep)
{
    QEMU_LOCK_GUARD(&ep->dma_lock);
    for (unsigned i = 0; i < ep->num_outbound; i++) {
        const DWPCIeATURegion *r = &ep->outbound[i];
        DWPCIeDMAWindow *w = &ep->dma_windows[i];

        if ((r->ctrl2 & DW_PCIE_ATU_ENABLE) &&
            !(r->ctrl2 & DW_PCIE_ATU_DMA_BYPASS)) {
            w->first = dw_pcie_atu_base(r);
            w->last = dw_pcie_atu_limit(r);
        } else {
            w->first = 1;
            w->last = 0;
        }
        w->target = dw_pcie_atu_target(r);
        w->memory = dw_pcie_atu_is_mem(r);
    }
}

/* Registers; BQL held */

static MemTxResult dma_read(void *opaque, hwaddr offset, uint64_t *val,
                            unsigned size, MemTxAttrs attrs)
{
    DWPCIeEP *ep = opaque;

    if (dw_pcie_ep_refuse_access(ep, "DMA", offset)) {
        *val = UINT64_MAX;
        return MEMTX_ERROR;
    }
    *val = ep->edma ? dw_edma_read(ep->edma, offset) : 0;
    return MEMTX_OK;
}

static MemTxResult dma_write(void *opaque, hwaddr offset, uint64_t val,
                             unsigned size, MemTxAttrs attrs)
{
    DWPCIeEP *ep = opaque;

    if (dw_pcie_ep_refuse_access(ep, "DMA", offset)) {
        return MEMTX_ERROR;
    }
    if (ep->edma) {
        dw_edma_write(ep->edma, offset, val);
    } else {
        dw_pcie_guest_error(ep, DW_PCIE_ERR_REGISTER, "write to DMA register "
                            "0x%03" HWADDR_PRIx ": there are no channels",
                            offset);
    }
    return MEMTX_OK;
}

/* 64-bit accesses of the host's writeq() come as one request. */
static const MemoryRegionOps dma_region_ops = {
    .read_with_attrs = dma_read,
    .write_with_attrs = dma_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid.min_access_size = 4,
    .valid.max_access_size = 8,
    .impl.min_access_size = 4,
    .impl.max_access_size = 4,
};

static bool port_offset(DWPCIeEP *ep, uint32_t addr, hwaddr *offset)
{
    *offset = addr - DW_EDMA_LEGACY_DBI_OFFSET;
    return ep->edma && addr >= DW_EDMA_LEGACY_DBI_OFFSET &&
           *offset < DW_EDMA_LEGACY_SIZE;
}

bool dw_pcie_dma_port_read(DWPCIeEP *ep, uint32_t addr, uint32_t *val)
{
    hwaddr offset;

    if (!port_offset(ep, addr, &offset)) {
        return false;
    }
    if (ep->features->dma_map == DW_EDMA_MAP_LEGACY) {
        *val = dw_edma_read(ep->edma, offset);
        return true;
    }
    /* dw_pcie_edma_find_mf() takes all ones here for an unrolled map. */
    *val = UINT32_MAX;
    return offset == DW_EDMA_CTRL;
}

bool dw_pcie_dma_port_write(DWPCIeEP *ep, uint32_t addr, uint32_t val,
                            uint32_t byte_mask)
{
    hwaddr offset;

    if (!port_offset(ep, addr, &offset) ||
        ep->features->dma_map != DW_EDMA_MAP_LEGACY) {
        return false;
    }
    if (byte_mask == UINT32_MAX) {
        dw_edma_write(ep->edma, offset, val);
    } else {
        dw_pcie_guest_error(ep, DW_PCIE_ERR_REGISTER, "write of less than 32 "
                            "bits to DMA register 0x%03x: ignored", addr);
    }
    return true;
}

void dw_pcie_dma_reset(DWPCIeEP *ep)
{
    if (ep->edma) {
        dw_edma_reset(ep->edma);
    }
}

static DWEDMAConfig engine_config(DWPCIeEP *ep)
{
    return (DWEDMAConfig) {
        .map = ep->features->dma_map,
        .channels = { ep->num_dma[DW_EDMA_WRITE], ep->num_dma[DW_EDMA_READ] },
        .num_functions = ep->num_functions,
        .local = &ep->soc_as,
        .ops = &dma_ops,
        .opaque = ep,
    };
}

bool dw_pcie_dma_check(DWPCIeEP *ep, Error **errp)
{
    DWEDMAConfig config = engine_config(ep);

    return !(config.channels[0] + config.channels[1]) ||
           dw_edma_check(&config, errp);
}

void dw_pcie_dma_init(DWPCIeEP *ep, MemoryRegion *soc, MemTxAttrs attrs)
{
    DWEDMAConfig config = engine_config(ep);
    unsigned users = config.channels[0] + config.channels[1];

    qemu_mutex_init(&ep->dma_lock);
    ep->dma_windows = g_new0(DWPCIeDMAWindow, ep->num_outbound);
    dw_pcie_dma_update_windows(ep);
    if (ep->features->dma_size) {
        memory_region_init_io(&ep->dma, OBJECT(ep->dev), &dma_region_ops, ep,
                              "dma", ep->features->dma_size);
    }
    if (!users) {
        return;
    }
    address_space_init(&ep->soc_as, soc, "dw-pcie-dma");
    config.attrs = attrs;
    ep->edma = dw_edma_new(&config);
    ep->dma_users = g_new0(PCIeCableDMA *, users);
    for (unsigned i = 0; i < users; i++) {
        ep->dma_users[i] = pcie_cable_dma_new(ep->cable);
    }
}
