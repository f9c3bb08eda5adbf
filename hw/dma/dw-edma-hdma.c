/*
 * DesignWare HDMA: the native register map
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each channel has its own enable, doorbell, interrupts and messages; there is
 * nothing that channels share.  Interrupts tell that a channel stopped, gave
 * up, or passed an element that asked for it (watermark).  Register notes are
 * in docs/devices/dw-hdma.md.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "dw-edma-internal.h"

/* Bytes of registers of both directions of a channel */
#define HDMA_PAIR_SIZE DW_HDMA_WR_CHANNEL(1)

/* Registers that are not in the channel's context, by their offset */
typedef struct HDMARegs {
    uint32_t at[DW_HDMA_CHANNEL_SIZE / 4];
} HDMARegs;

typedef struct HDMAMap {
    HDMARegs ch[DW_EDMA_NUM_DIRS][DW_HDMA_MAX_CHANNELS];
} HDMAMap;

/* Register @reg of @ch */
static uint32_t *hdma_reg(DWEDMAChannel *ch, unsigned reg)
{
    HDMAMap *map = ch->dma->map;

    return &map->ch[ch->dir][ch->index].at[reg / 4];
}

static uint64_t hdma_reg64(DWEDMAChannel *ch, unsigned low)
{
    return *hdma_reg(ch, low) | (uint64_t)*hdma_reg(ch, low + 4) << 32;
}

/* The channel whose registers are at @offset, or NULL */
static DWEDMAChannel *hdma_channel_at(DWEDMA *dma, hwaddr offset)
{
    DWEDMADir dir = offset % HDMA_PAIR_SIZE < DW_HDMA_RD_CHANNEL(0) ?
                    DW_EDMA_WRITE : DW_EDMA_READ;

    return dw_edma_channel(dma, dir, offset / HDMA_PAIR_SIZE);
}

static void hdma_init(DWEDMA *dma)
{
    dma->map = g_new0(HDMAMap, 1);
}

static void hdma_reset(DWEDMA *dma)
{
    memset(dma->map, 0, sizeof(HDMAMap));
}

/* Reads */

static uint32_t hdma_cycle_sync(const DWEDMAContext *ctx)
{
    return (ctx->control & DW_EDMA_CH_CB ? DW_HDMA_CYCLE_BIT : 0) |
           (ctx->ccs ? DW_HDMA_CYCLE_STATE : 0);
}

static uint32_t hdma_watermark_en(const DWEDMAContext *ctx)
{
    return (ctx->control & DW_EDMA_CH_LIE ? DW_HDMA_WATERMARK_LOCAL : 0) |
           (ctx->control & DW_EDMA_CH_RIE ? DW_HDMA_WATERMARK_REMOTE : 0);
}

static uint32_t hdma_read(DWEDMA *dma, hwaddr offset)
{
    DWEDMAChannel *ch = hdma_channel_at(dma, offset);
    unsigned reg = offset % DW_HDMA_CHANNEL_SIZE;

    if (!ch) {
        return 0;
    }
    switch (reg) {
    case DW_HDMA_CH_LLP_LOW:
        return ch->ctx.llp;
    case DW_HDMA_CH_LLP_HIGH:
        return ch->ctx.llp >> 32;
    case DW_HDMA_CH_CYCLE_SYNC:
        return hdma_cycle_sync(&ch->ctx);
    case DW_HDMA_CH_TRANSFER_SIZE:
        return ch->ctx.size;
    case DW_HDMA_CH_SAR_LOW:
        return ch->ctx.sar;
    case DW_HDMA_CH_SAR_HIGH:
        return ch->ctx.sar >> 32;
    case DW_HDMA_CH_DAR_LOW:
        return ch->ctx.dar;
    case DW_HDMA_CH_DAR_HIGH:
        return ch->ctx.dar >> 32;
    case DW_HDMA_CH_WATERMARK_EN:
        return hdma_watermark_en(&ch->ctx);
    case DW_HDMA_CH_STATUS:
        return ch->state;
    default:
        return *hdma_reg(ch, reg);
    }
}

/* Writes */

/* Bits of the element's control word that registers show */
static void hdma_set_control(DWEDMAContext *ctx, uint32_t bit, bool set)
{
    ctx->control = set ? ctx->control | bit : ctx->control & ~bit;
}

/* Is @reg part of what the channel is programmed to do?  Then write it. */
static bool hdma_write_context(DWEDMAContext *ctx, unsigned reg, uint32_t val)
{
    switch (reg) {
    case DW_HDMA_CH_LLP_LOW:
        ctx->llp = deposit64(ctx->llp, 0, 32, val);
        return true;
    case DW_HDMA_CH_LLP_HIGH:
        ctx->llp = deposit64(ctx->llp, 32, 32, val);
        return true;
    case DW_HDMA_CH_CYCLE_SYNC:
        ctx->ccs = val & DW_HDMA_CYCLE_STATE;
        hdma_set_control(ctx, DW_EDMA_CH_CB, val & DW_HDMA_CYCLE_BIT);
        return true;
    case DW_HDMA_CH_TRANSFER_SIZE:
        ctx->size = val;
        return true;
    case DW_HDMA_CH_SAR_LOW:
        ctx->sar = deposit64(ctx->sar, 0, 32, val);
        return true;
    case DW_HDMA_CH_SAR_HIGH:
        ctx->sar = deposit64(ctx->sar, 32, 32, val);
        return true;
    case DW_HDMA_CH_DAR_LOW:
        ctx->dar = deposit64(ctx->dar, 0, 32, val);
        return true;
    case DW_HDMA_CH_DAR_HIGH:
        ctx->dar = deposit64(ctx->dar, 32, 32, val);
        return true;
    case DW_HDMA_CH_WATERMARK_EN:
        hdma_set_control(ctx, DW_EDMA_CH_LIE, val & DW_HDMA_WATERMARK_LOCAL);
        hdma_set_control(ctx, DW_EDMA_CH_RIE, val & DW_HDMA_WATERMARK_REMOTE);
        return true;
    case DW_HDMA_CH_CONTROL1:
        ctx->list = val & DW_HDMA_LINKLIST_EN;
        return true;
    case DW_HDMA_CH_FUNC_NUM:
        ctx->fn = val & DW_HDMA_FUNC_NUM_PF;
        return true;
    default:
        return false;
    }
}

static void hdma_write_enable(DWEDMAChannel *ch, uint32_t val)
{
    uint32_t *en = hdma_reg(ch, DW_HDMA_CH_EN);
    bool was = *en;

    *en = val & DW_HDMA_EN;
    if (was && !*en) {
        dw_edma_disable(ch);
    }
}

static void hdma_write_doorbell(DWEDMAChannel *ch, uint32_t val)
{
    if (val & DW_HDMA_DOORBELL_STOP) {
        dw_edma_stop(ch);
        return;
    }
    if (!(val & DW_HDMA_DOORBELL_START)) {
        return;
    }
    if (!(*hdma_reg(ch, DW_HDMA_CH_EN) & DW_HDMA_EN)) {
        dw_edma_guest_error(ch->dma, DW_EDMA_ERR_DISABLED, "doorbell of HDMA "
                            "channel %u while it is disabled", ch->index);
        return;
    }
    dw_edma_start(ch);
}

static void hdma_clear_interrupts(DWEDMAChannel *ch, uint32_t val)
{
    uint32_t *status = hdma_reg(ch, DW_HDMA_CH_INT_STATUS);

    if (val & DW_HDMA_INT_ABORT) {
        *status = deposit32(*status, DW_HDMA_INT_ERROR_SHIFT,
                            DW_HDMA_INT_ERROR_LENGTH, 0);
    }
    *status &= ~(val & (DW_HDMA_INT_STOP | DW_HDMA_INT_WATERMARK |
                        DW_HDMA_INT_ABORT));
}

static void hdma_write_register(DWEDMAChannel *ch, unsigned reg, uint32_t val)
{
    switch (reg) {
    case DW_HDMA_CH_EN:
        hdma_write_enable(ch, val);
        break;
    case DW_HDMA_CH_DOORBELL:
        hdma_write_doorbell(ch, val);
        break;
    case DW_HDMA_CH_INT_SETUP:
        *hdma_reg(ch, reg) = val & DW_HDMA_INT_SETUP_MASK;
        break;
    case DW_HDMA_CH_INT_CLEAR:
        hdma_clear_interrupts(ch, val);
        break;
    case DW_HDMA_CH_PREFETCH:
    case DW_HDMA_CH_HANDSHAKE:
    case DW_HDMA_CH_QOS:
    case DW_HDMA_CH_MSI_STOP_LOW ... DW_HDMA_CH_MSI_MSGDATA:
        *hdma_reg(ch, reg) = val;
        break;
    default:
        dw_edma_guest_error(ch->dma, DW_EDMA_ERR_REGISTER, "write of 0x%08"
                            PRIx32 " to HDMA register 0x%02x, which is read "
                            "only or does not exist", val, reg);
    }
}

static void hdma_write(DWEDMA *dma, hwaddr offset, uint32_t val)
{
    DWEDMAChannel *ch = hdma_channel_at(dma, offset);
    unsigned reg = offset % DW_HDMA_CHANNEL_SIZE;
    DWEDMAContext next;

    if (!ch) {
        dw_edma_guest_error(dma, DW_EDMA_ERR_NO_CHANNEL, "write to HDMA "
                            "register 0x%" HWADDR_PRIx " of a channel that "
                            "does not exist", offset);
        return;
    }
    next = ch->ctx;
    if (!hdma_write_context(&next, reg, val)) {
        hdma_write_register(ch, reg, val);
        return;
    }
    if (dw_edma_running(ch)) {
        dw_edma_guest_error(dma, DW_EDMA_ERR_BUSY, "write to HDMA register "
                            "0x%02x of channel %u, which runs: ignored", reg,
                            ch->index);
        return;
    }
    ch->ctx = next;
    /* Bits beside those in the context only keep what is written. */
    *hdma_reg(ch, reg) = val;
}

/* Events of a channel */

static void hdma_interrupt(DWEDMAChannel *ch, uint32_t bits)
{
    *hdma_reg(ch, DW_HDMA_CH_INT_STATUS) |= bits;
}

/*
 * Messages do not look at the masks, those are for the pin: the driver's
 * remote mode, dw_hdma_v0_core_int_setup(), sets mask and message enable.
 */
static void hdma_message(DWEDMAChannel *ch, unsigned addr_low)
{
    dw_edma_queue_imwr(ch, hdma_reg64(ch, addr_low),
                       *hdma_reg(ch, DW_HDMA_CH_MSI_MSGDATA));
}

/* The watermarks are the interrupts of list elements. */
static void hdma_element_done(DWEDMAChannel *ch)
{
    if (!ch->ctx.list) {
        return;
    }
    if (ch->ctx.control & DW_EDMA_CH_LIE) {
        hdma_interrupt(ch, DW_HDMA_INT_WATERMARK);
    }
    if (ch->ctx.control & DW_EDMA_CH_RIE) {
        hdma_message(ch, DW_HDMA_CH_MSI_WATERMARK_LOW);
    }
}

/*
 * STOP and ABORT are latched only with their local enable, as the comment in
 * dw_hdma_v0_core_int_setup() says.
 */
static void hdma_stopped(DWEDMAChannel *ch, DWEDMAStop why)
{
    uint32_t setup = *hdma_reg(ch, DW_HDMA_CH_INT_SETUP);

    if (setup & DW_HDMA_LOCAL_STOP_EN) {
        hdma_interrupt(ch, DW_HDMA_INT_STOP);
    }
    if (setup & DW_HDMA_REMOTE_STOP_EN) {
        hdma_message(ch, DW_HDMA_CH_MSI_STOP_LOW);
    }
}

/*
 * A read that nobody answers, because the link is down or the function may
 * not send it, is told apart from one that the host refuses.  Writes have
 * one code for all of it.
 */
static unsigned hdma_error(DWEDMAChannel *ch, DWEDMAFault fault)
{
    bool reads_pcie = ch->dir == DW_EDMA_READ;

    switch (fault) {
    case DW_EDMA_FAULT_LL_FETCH:
        return DW_HDMA_ERR_LL_UNSUPPORTED;
    case DW_EDMA_FAULT_LOCAL:
        return reads_pcie ? DW_HDMA_ERR_WRITE : DW_HDMA_ERR_UNSUPPORTED;
    case DW_EDMA_FAULT_CPL_ABORT:
        return reads_pcie ? DW_HDMA_ERR_CPL_ABORT : DW_HDMA_ERR_WRITE;
    case DW_EDMA_FAULT_CPL_TIMEOUT:
    case DW_EDMA_FAULT_LINK_DOWN:
        return reads_pcie ? DW_HDMA_ERR_CPL_TIMEOUT : DW_HDMA_ERR_WRITE;
    default:
        return reads_pcie ? DW_HDMA_ERR_UNSUPPORTED : DW_HDMA_ERR_WRITE;
    }
}

static void hdma_failed(DWEDMAChannel *ch, DWEDMAFault fault)
{
    uint32_t *status = hdma_reg(ch, DW_HDMA_CH_INT_STATUS);
    uint32_t setup = *hdma_reg(ch, DW_HDMA_CH_INT_SETUP);

    *status = deposit32(*status, DW_HDMA_INT_ERROR_SHIFT,
                        DW_HDMA_INT_ERROR_LENGTH, hdma_error(ch, fault));
    if (setup & DW_HDMA_LOCAL_ABORT_EN) {
        hdma_interrupt(ch, DW_HDMA_INT_ABORT);
    }
    if (setup & DW_HDMA_REMOTE_ABORT_EN) {
        hdma_message(ch, DW_HDMA_CH_MSI_ABORT_LOW);
    }
}

static bool hdma_irq_level(DWEDMAChannel *ch)
{
    uint32_t status = *hdma_reg(ch, DW_HDMA_CH_INT_STATUS);
    uint32_t setup = *hdma_reg(ch, DW_HDMA_CH_INT_SETUP);

    return (status & DW_HDMA_INT_STOP && !(setup & DW_HDMA_STOP_MASK)) ||
           (status & DW_HDMA_INT_WATERMARK &&
            !(setup & DW_HDMA_WATERMARK_MASK)) ||
           (status & DW_HDMA_INT_ABORT && !(setup & DW_HDMA_ABORT_MASK));
}

static void hdma_irq_levels(DWEDMA *dma, uint64_t levels[DW_EDMA_NUM_DIRS])
{
    for (unsigned dir = 0; dir < DW_EDMA_NUM_DIRS; dir++) {
        levels[dir] = 0;
        for (unsigned i = 0; i < dma->config.channels[dir]; i++) {
            if (hdma_irq_level(dw_edma_channel(dma, dir, i))) {
                levels[dir] |= BIT_ULL(i);
            }
        }
    }
}

const DWEDMAMapOps dw_edma_hdma_native_ops = {
    .max_channels = DW_HDMA_MAX_CHANNELS,
    .size = DW_HDMA_MAX_CHANNELS * HDMA_PAIR_SIZE,
    .init = hdma_init,
    .reset = hdma_reset,
    .read = hdma_read,
    .write = hdma_write,
    .element_done = hdma_element_done,
    .stopped = hdma_stopped,
    .failed = hdma_failed,
    .irq_levels = hdma_irq_levels,
};
