/*
 * DesignWare eDMA: moves the bytes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Memory on both sides is one memcpy() for as far as both are contiguous, or
 * for DW_EDMA_CHUNK bytes.  PCI memory that is not mapped here goes by
 * requests, devices of the SoC are accessed under the BQL.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "hw/ntb/qemu-compat.h"
#include "dw-edma-internal.h"

/* Most that a device of the SoC is given at a time, the BQL is held for it. */
#define IO_PIECE 4096

/* The side of the SoC */
typedef struct Local {
    uint64_t addr;
    hwaddr len;                 /* contiguous bytes */
    bool store;
    void *ram;                  /* NULL: not memory */
} Local;

static DWEDMAFault local_map(DWEDMAChannel *ch, Local *local)
{
    const DWEDMAConfig *config = &ch->dma->config;
    hwaddr xlat, len = local->len;
    MemoryRegion *mr;

    RCU_READ_LOCK_GUARD();
    mr = address_space_translate(config->local, local->addr, &xlat, &len,
                                 local->store, config->attrs);
    if (!config->ops->local_allowed(config->opaque, mr)) {
        dw_edma_guest_error(ch->dma, DW_EDMA_ERR_LOCAL_TARGET,
                            "local address 0x%" PRIx64 " is the controller "
                            "itself or leads back to the host: bus error",
                            local->addr);
        return DW_EDMA_FAULT_LOCAL;
    }
    if (memory_access_is_direct(mr, local->store, config->attrs)) {
        /* Keeps the memory until local_unmap(), whatever happens to it. */
        local->ram = address_space_map(config->local, local->addr,
                                       &local->len, local->store,
                                       config->attrs);
    } else {
        local->ram = NULL;
        local->len = MIN(len, IO_PIECE);
    }
    return DW_EDMA_FAULT_NONE;
}

/* @moved: bytes that were stored there */
static void local_unmap(DWEDMAChannel *ch, Local *local, hwaddr moved)
{
    if (local->ram) {
        address_space_unmap(ch->dma->config.local, local->ram, local->len,
                            local->store && moved, moved);
    }
}

/* Access devices of the SoC; returns the bytes done. */
static uint32_t local_io(DWEDMAChannel *ch, const Local *local, uint8_t *buf,
                         uint32_t len, DWEDMAFault *fault)
{
    const DWEDMAConfig *config = &ch->dma->config;

    /* Nobody sets attention while we have the BQL. */
    BQL_LOCK_GUARD();
    if (qatomic_read(&ch->attention)) {
        return 0;
    }
    if (address_space_rw(config->local, local->addr, config->attrs, buf, len,
                         local->store) != MEMTX_OK) {
        *fault = DW_EDMA_FAULT_LOCAL;
        return 0;
    }
    return len;
}

static uint32_t copy_chunk(DWEDMAChannel *ch, void *dst, const void *src,
                           uint32_t len)
{
    if (!dw_edma_chunk_begin(ch)) {
        return 0;
    }
    memcpy(dst, src, len);
    dw_edma_chunk_end(ch);
    return len;
}

static DWEDMAFault pcie_begin(DWEDMAChannel *ch, unsigned fn, uint64_t addr,
                              bool write, uint32_t *len, void **host)
{
    const DWEDMAConfig *config = &ch->dma->config;
    uint64_t there = *len;
    DWEDMAFault fault;

    fault = config->ops->pcie_begin(config->opaque, ch->user, fn, addr, write,
                                    &there, host);
    *len = MIN(*len, there);
    return fault;
}

static void pcie_end(DWEDMAChannel *ch)
{
    ch->dma->config.ops->pcie_end(ch->dma->config.opaque, ch->user);
}

/* Write @src by a request; returns the bytes that the host has taken. */
static uint32_t pcie_send(DWEDMAChannel *ch, const DWEDMAContext *ctx,
                          const void *src, uint32_t len, DWEDMAFault *fault)
{
    const DWEDMAConfig *config = &ch->dma->config;

    len = MIN(len, DW_EDMA_REQUEST);
    if (!dw_edma_chunk_begin(ch)) {
        return 0;
    }
    *fault = config->ops->pcie_write(config->opaque, ch->user, ctx->fn,
                                     ctx->dar, src, len);
    dw_edma_chunk_end(ch);
    if (!*fault) {
        *fault = config->ops->pcie_flush(config->opaque, ch->user);
    }
    return *fault ? 0 : len;
}

/* Write channel: from @src in our memory to the host */
static uint32_t to_host(DWEDMAChannel *ch, const DWEDMAContext *ctx,
                        const void *src, uint32_t len, DWEDMAFault *fault)
{
    void *host;
    uint32_t moved;

    *fault = pcie_begin(ch, ctx->fn, ctx->dar, true, &len, &host);
    if (*fault) {
        return 0;
    }
    if (!host) {
        return pcie_send(ch, ctx, src, len, fault);
    }
    moved = copy_chunk(ch, host, src, len);
    pcie_end(ch);
    return moved;
}

static uint32_t write_piece(DWEDMAChannel *ch, const DWEDMAContext *ctx,
                            const Local *local, DWEDMAFault *fault)
{
    uint32_t len = local->len;

    if (local->ram) {
        return to_host(ch, ctx, local->ram, len, fault);
    }
    len = local_io(ch, local, ch->bounce, len, fault);
    return len ? to_host(ch, ctx, ch->bounce, len, fault) : 0;
}

/*
 * Read channel: to @dst in our memory, or to the bounce buffer when @dst is
 * NULL.
 */
static uint32_t from_host(DWEDMAChannel *ch, const DWEDMAContext *ctx,
                          void *dst, uint32_t len, DWEDMAFault *fault)
{
    const DWEDMAConfig *config = &ch->dma->config;
    void *host;
    uint32_t moved;

    *fault = pcie_begin(ch, ctx->fn, ctx->sar, false, &len, &host);
    if (*fault) {
        return 0;
    }
    if (host) {
        moved = copy_chunk(ch, dst ?: ch->bounce, host, len);
        pcie_end(ch);
        return moved;
    }
    len = MIN(len, DW_EDMA_REQUEST);
    *fault = config->ops->pcie_read(config->opaque, ch->user, ctx->fn,
                                    ctx->sar, ch->bounce, len);
    if (*fault) {
        return 0;
    }
    return dst ? copy_chunk(ch, dst, ch->bounce, len) : len;
}

static uint32_t read_piece(DWEDMAChannel *ch, const DWEDMAContext *ctx,
                           const Local *local, DWEDMAFault *fault)
{
    uint32_t len;

    if (local->ram) {
        return from_host(ch, ctx, local->ram, local->len, fault);
    }
    /* Not while the host waits for pcie_end(): the BQL is needed. */
    len = from_host(ch, ctx, NULL, local->len, fault);
    return len ? local_io(ch, local, ch->bounce, len, fault) : 0;
}

uint32_t dw_edma_move(DWEDMAChannel *ch, const DWEDMAContext *ctx,
                      DWEDMAFault *fault)
{
    bool write = ch->dir == DW_EDMA_WRITE;
    Local local = {
        .addr = write ? ctx->sar : ctx->dar,
        .len = MIN(ctx->size, DW_EDMA_CHUNK),
        .store = !write,
    };
    uint32_t moved;

    if (ctx->fn >= ch->dma->config.num_functions) {
        dw_edma_guest_error(ch->dma, DW_EDMA_ERR_FUNCTION,
                            "channel works for function %u, which does not "
                            "exist", ctx->fn);
        *fault = DW_EDMA_FAULT_UNSUPPORTED;
        return 0;
    }
    *fault = local_map(ch, &local);
    if (*fault) {
        return 0;
    }
    moved = write ? write_piece(ch, ctx, &local, fault)
                  : read_piece(ch, ctx, &local, fault);
    local_unmap(ch, &local, moved);
    return moved;
}
