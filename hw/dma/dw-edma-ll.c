/*
 * DesignWare eDMA: linked lists
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Data elements belong to the engine when their cycle bit (CB) equals the
 * channel's consumer cycle state (CCS).  Link elements are followed whatever
 * their CB is, and toggle CCS when TCB is set: Linux' dw_edma_core_start()
 * reuses one list for a transfer that is longer than the list and then
 * relies on the engine waiting behind the link element, at the first element
 * of the list.
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/bswap.h"
#include "qemu/rcu.h"
#include "hw/ntb/qemu-compat.h"
#include "dw-edma-internal.h"
#include "trace.h"

/* Links that are followed at a time; then the thread looks up. */
#define MAX_LINKS 8

typedef struct Element {
    uint32_t control;
    uint32_t size;
    uint64_t sar;               /* the pointer of a link element */
    uint64_t dar;
} Element;

/*
 * The RAM at @addr that can be read there, or NULL; *@len goes down to what
 * is contiguous.  In an RCU read section.
 */
static const uint8_t *list_memory(DWEDMA *dma, uint64_t addr, hwaddr *len)
{
    MemTxAttrs attrs = dma->config.attrs;
    hwaddr xlat;
    MemoryRegion *mr;

    mr = address_space_translate(dma->config.local, addr, &xlat, len, false,
                                 attrs);
    if (!memory_access_is_direct(mr, false, attrs) ||
        !dma->config.ops->local_allowed(dma->config.opaque, mr)) {
        return NULL;
    }
    return qemu_map_ram_ptr(mr->ram_block, xlat);
}

static bool fetch_element(DWEDMA *dma, uint64_t addr, Element *el)
{
    uint8_t raw[DW_EDMA_LL_ELEMENT_SIZE];
    hwaddr done = 0;

    /* HDMA's LLP keeps all bits: a list is fetched in whole words. */
    if (addr % sizeof(el->control)) {
        return false;
    }
    RCU_READ_LOCK_GUARD();
    while (done < sizeof(raw)) {
        hwaddr len = sizeof(raw) - done;
        const uint8_t *mem = list_memory(dma, addr + done, &len);

        if (!mem) {
            return false;
        }
        if (!done) {
            if (len < sizeof(el->control)) {
                return false;
            }
            /*
             * The control word first: dw_edma_v0_write_ll_data() writes it
             * last, behind a barrier.
             */
            el->control = le32_to_cpu(qatomic_read((uint32_t *)mem));
            /* Pairs with the driver's dma_wmb(). */
            smp_rmb();
        }
        memcpy(raw + done, mem, len);
        done += len;
    }
    el->size = ldl_le_p(raw + DW_EDMA_LL_TRANSFER_SIZE);
    el->sar = ldq_le_p(raw + DW_EDMA_LL_SAR);
    el->dar = ldq_le_p(raw + DW_EDMA_LL_DAR);
    return true;
}

void dw_edma_next(DWEDMAChannel *ch, const DWEDMAContext *ctx,
                  DWEDMANext *next)
{
    next->llp = ctx->llp;
    next->ccs = ctx->ccs;
    for (unsigned i = 0; i < MAX_LINKS; i++) {
        Element el;

        if (!fetch_element(ch->dma, next->llp, &el)) {
            next->kind = DW_EDMA_NEXT_FAULT;
            return;
        }
        trace_dw_edma_element(ch->dir, ch->index, next->llp, el.control,
                              el.size, el.sar, el.dar);
        if (el.control & DW_EDMA_CH_LLP) {
            next->ccs ^= !!(el.control & DW_EDMA_CH_TCB);
            next->llp = el.sar & ~3ull;
            continue;
        }
        if (!!(el.control & DW_EDMA_CH_CB) != next->ccs) {
            next->kind = DW_EDMA_NEXT_END;
            return;
        }
        next->kind = DW_EDMA_NEXT_DATA;
        next->element = next->llp;
        next->control = el.control;
        next->size = el.size;
        next->sar = el.sar;
        next->dar = el.dar;
        next->llp += DW_EDMA_LL_ELEMENT_SIZE;
        return;
    }
    next->kind = DW_EDMA_NEXT_LINKS;
}
