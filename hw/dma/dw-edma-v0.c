/*
 * DesignWare eDMA: the v0 registers - legacy, unrolled, HDMA compatible maps
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The three maps have the same direction-wide registers.  They differ in
 * where a channel's context is (behind a viewport or unrolled), and in what
 * enables a channel: the engine of its direction, in the HDMA compatible map
 * its own power enable instead.
 */
#include "qemu/osdep.h"
#include "dw-edma-internal.h"

#define IMWR_PAIRS (DW_EDMA_MAX_CHANNELS / 2)

typedef enum V0Reg {
    REG_ENGINE_EN,
    REG_DOORBELL,
    REG_ARB_WEIGHT,             /* low, high */
    REG_INT_STATUS,
    REG_INT_MASK,
    REG_INT_CLEAR,
    REG_ERR_STATUS,             /* read direction: low, high */
    REG_DONE_IMWR,              /* low, high */
    REG_ABORT_IMWR,             /* low, high */
    REG_IMWR_DATA,              /* one a pair of channels */
    REG_LL_ERR_EN,
    /* Not in the legacy map */
    REG_CHGROUP,
    REG_HSHAKE_CNT,             /* low, high */
    REG_PWR_EN,                 /* one a channel */
} V0Reg;

/* Where the registers of a direction are. */
typedef struct V0Place {
    uint16_t start[DW_EDMA_NUM_DIRS];
    uint8_t reg;
    uint8_t count[DW_EDMA_NUM_DIRS];    /* 32-bit registers in a row */
} V0Place;

static const V0Place places[] = {
    { { DW_EDMA_WR_ENGINE_EN, DW_EDMA_RD_ENGINE_EN },
      REG_ENGINE_EN, { 1, 1 } },
    { { DW_EDMA_WR_DOORBELL, DW_EDMA_RD_DOORBELL }, REG_DOORBELL, { 1, 1 } },
    { { DW_EDMA_WR_ARB_WEIGHT_LOW, DW_EDMA_RD_ARB_WEIGHT_LOW },
      REG_ARB_WEIGHT, { 2, 2 } },
    { { DW_EDMA_WR_INT_STATUS, DW_EDMA_RD_INT_STATUS },
      REG_INT_STATUS, { 1, 1 } },
    { { DW_EDMA_WR_INT_MASK, DW_EDMA_RD_INT_MASK }, REG_INT_MASK, { 1, 1 } },
    { { DW_EDMA_WR_INT_CLEAR, DW_EDMA_RD_INT_CLEAR },
      REG_INT_CLEAR, { 1, 1 } },
    { { DW_EDMA_WR_ERR_STATUS, DW_EDMA_RD_ERR_STATUS_LOW },
      REG_ERR_STATUS, { 1, 2 } },
    { { DW_EDMA_WR_DONE_IMWR_LOW, DW_EDMA_RD_DONE_IMWR_LOW },
      REG_DONE_IMWR, { 2, 2 } },
    { { DW_EDMA_WR_ABORT_IMWR_LOW, DW_EDMA_RD_ABORT_IMWR_LOW },
      REG_ABORT_IMWR, { 2, 2 } },
    { { DW_EDMA_WR_IMWR_DATA(0), DW_EDMA_RD_IMWR_DATA(0) },
      REG_IMWR_DATA, { IMWR_PAIRS, IMWR_PAIRS } },
    { { DW_EDMA_WR_LL_ERR_EN, DW_EDMA_RD_LL_ERR_EN },
      REG_LL_ERR_EN, { 1, 1 } },
    { { DW_EDMA_WR_CHGROUP, DW_EDMA_RD_CHGROUP }, REG_CHGROUP, { 1, 1 } },
    { { DW_EDMA_WR_HSHAKE_CNT_LOW, DW_EDMA_RD_HSHAKE_CNT_LOW },
      REG_HSHAKE_CNT, { 2, 2 } },
    { { DW_EDMA_WR_PWR_EN(0), DW_EDMA_RD_PWR_EN(0) },
      REG_PWR_EN, { DW_EDMA_MAX_CHANNELS, DW_EDMA_MAX_CHANNELS } },
};

/* The registers of one direction that the core does not keep. */
typedef struct V0Dir {
    bool engine_en;
    bool emulated;              /* the interrupt that software asserted */
    uint32_t doorbell;
    uint32_t arb_weight[2];
    uint32_t int_status;
    uint32_t int_mask;
    uint32_t err_status[2];
    uint32_t done_imwr[2];
    uint32_t abort_imwr[2];
    uint32_t imwr_data[IMWR_PAIRS];
    uint32_t ll_err_en;
    uint32_t chgroup;
    uint32_t hshake_cnt[2];
    uint32_t pwr_en[DW_EDMA_MAX_CHANNELS];
    uint32_t control1[DW_EDMA_MAX_CHANNELS];
    uint32_t control2[DW_EDMA_MAX_CHANNELS];
} V0Dir;

typedef struct V0 {
    uint32_t arb_prior;
    uint32_t ctrl;              /* RW bits */
    uint32_t viewport;
    V0Dir dir[DW_EDMA_NUM_DIRS];
} V0;

static V0Dir *v0_dir(DWEDMAChannel *ch)
{
    V0 *v0 = ch->dma->map;

    return &v0->dir[ch->dir];
}

/* Bits of all channels of a direction, done and abort */
static uint32_t int_bits(DWEDMA *dma, DWEDMADir dir)
{
    uint32_t channels = (1u << dma->config.channels[dir]) - 1;

    return channels | channels << 16;
}

/* Events of a channel */

static void queue_imwr(DWEDMAChannel *ch, const uint32_t addr[2])
{
    uint64_t to = addr[0] | (uint64_t)addr[1] << 32;
    uint32_t pair = v0_dir(ch)->imwr_data[ch->index / 2];

    /*
     * dw_edma_v0_core_ch_config() leaves 0 there when the engine interrupts
     * its own SoC only, and enables the remote abort interrupt nevertheless.
     */
    if (to) {
        dw_edma_queue_imwr(ch, to, extract32(pair, ch->index & 1 ? 16 : 0,
                                             16));
    }
}

static void signal_done(DWEDMAChannel *ch)
{
    V0Dir *d = v0_dir(ch);

    if (ch->ctx.control & DW_EDMA_CH_LIE) {
        d->int_status |= DW_EDMA_INT_DONE(ch->index);
    }
    if (ch->ctx.control & DW_EDMA_CH_RIE) {
        queue_imwr(ch, d->done_imwr);
    }
}

static void signal_abort(DWEDMAChannel *ch)
{
    V0Dir *d = v0_dir(ch);
    bool remote;

    d->int_status |= DW_EDMA_INT_ABORT(ch->index);
    if (ch->ctx.list) {
        remote = d->ll_err_en & DW_EDMA_LL_ERR_REMOTE(ch->index);
    } else {
        remote = ch->ctx.control & DW_EDMA_CH_RIE;
    }
    if (remote) {
        queue_imwr(ch, d->abort_imwr);
    }
}

static void v0_stopped(DWEDMAChannel *ch, DWEDMAStop why)
{
    switch (why) {
    case DW_EDMA_STOP_BLOCK_DONE:
        signal_done(ch);
        break;
    case DW_EDMA_STOP_REQUEST:
        signal_abort(ch);
        break;
    case DW_EDMA_STOP_LIST_END:     /* LIE of the last element did it */
        break;
    }
}

static void v0_failed(DWEDMAChannel *ch, DWEDMAFault fault)
{
    V0Dir *d = v0_dir(ch);
    unsigned i = ch->index;

    switch (fault) {
    case DW_EDMA_FAULT_LL_FETCH:
        d->err_status[0] |= DW_EDMA_ERR_LL_FETCH(i);
        break;
    case DW_EDMA_FAULT_LOCAL:
        d->err_status[0] |= DW_EDMA_ERR_APP(i);
        break;
    case DW_EDMA_FAULT_UNSUPPORTED:
    case DW_EDMA_FAULT_NOT_MASTER:
        d->err_status[1] |= DW_EDMA_ERR_UNSUPPORTED(i);
        break;
    case DW_EDMA_FAULT_CPL_ABORT:
        d->err_status[1] |= DW_EDMA_ERR_CPL_ABORT(i);
        break;
    case DW_EDMA_FAULT_CPL_TIMEOUT:
    case DW_EDMA_FAULT_LINK_DOWN:
        d->err_status[1] |= DW_EDMA_ERR_CPL_TIMEOUT(i);
        break;
    case DW_EDMA_FAULT_NONE:
        break;
    }
    if (ch->dir == DW_EDMA_WRITE) {
        /* Writes are posted: there is no completion to report on. */
        d->err_status[1] = 0;
    }
    signal_abort(ch);
}

static void v0_irq_levels(DWEDMA *dma, uint64_t levels[DW_EDMA_NUM_DIRS])
{
    V0 *v0 = dma->map;

    for (unsigned dir = 0; dir < DW_EDMA_NUM_DIRS; dir++) {
        V0Dir *d = &v0->dir[dir];
        uint32_t bits = d->int_status & ~d->int_mask;

        levels[dir] = (bits & 0xffff) | bits >> 16;
        if (d->emulated) {
            /* It belongs to no channel, and no mask stops it. */
            levels[dir] |= 1;
        }
    }
}

/* Enabling channels */

static bool has_engine_en(DWEDMA *dma)
{
    return dma->config.map != DW_EDMA_MAP_HDMA_COMPAT;
}

static bool has_pwr_en(DWEDMA *dma)
{
    return dma->config.map != DW_EDMA_MAP_LEGACY;
}

static void write_engine_en(DWEDMA *dma, DWEDMADir dir, bool enable)
{
    V0 *v0 = dma->map;

    if (!has_engine_en(dma)) {
        return;
    }
    v0->dir[dir].engine_en = enable;
    for (unsigned i = 0; !enable && i < dma->config.channels[dir]; i++) {
        dw_edma_disable(dw_edma_channel(dma, dir, i));
    }
}

static void write_pwr_en(DWEDMA *dma, DWEDMADir dir, unsigned i, uint32_t val)
{
    V0 *v0 = dma->map;
    DWEDMAChannel *ch = dw_edma_channel(dma, dir, i);

    if (!ch) {
        return;
    }
    v0->dir[dir].pwr_en[i] = val & DW_EDMA_PWR_EN;
    if (!v0->dir[dir].pwr_en[i]) {
        dw_edma_disable(ch);
    }
}

static void write_doorbell(DWEDMA *dma, DWEDMADir dir, uint32_t val)
{
    V0 *v0 = dma->map;
    V0Dir *d = &v0->dir[dir];
    unsigned i = val & DW_EDMA_DOORBELL_CHANNEL;
    DWEDMAChannel *ch = dw_edma_channel(dma, dir, i);

    d->doorbell = val & (DW_EDMA_DOORBELL_CHANNEL | DW_EDMA_DOORBELL_STOP);
    if (!ch) {
        dw_edma_guest_error(dma, DW_EDMA_ERR_NO_CHANNEL, "doorbell of channel "
                            "%u, which does not exist: ignored", i);
        return;
    }
    if (val & DW_EDMA_DOORBELL_STOP) {
        dw_edma_stop(ch);
        return;
    }
    if ((has_engine_en(dma) && !d->engine_en) ||
        (has_pwr_en(dma) && !d->pwr_en[i])) {
        dw_edma_guest_error(dma, DW_EDMA_ERR_DISABLED, "doorbell of channel "
                            "%u, which is not enabled: ignored", i);
        return;
    }
    dw_edma_start(ch);
}

/* Interrupt registers */

static void write_int_clear(V0Dir *d, uint32_t val)
{
    uint32_t aborts = val >> 16 & 0xff;

    if (!val) {
        /* dw_edma_v0_core_ack_emulated_irq() */
        d->emulated = false;
    }
    d->int_status &= ~val;
    /* What an abort was about goes with it. */
    d->err_status[0] &= ~(aborts | aborts << 16);
    d->err_status[1] &= ~(aborts | aborts << 8 | aborts << 16 | aborts << 24);
}

/* Registers of a direction */

static uint32_t read_dir(DWEDMA *dma, DWEDMADir dir, V0Reg reg, unsigned i)
{
    V0 *v0 = dma->map;
    V0Dir *d = &v0->dir[dir];

    switch (reg) {
    case REG_ENGINE_EN:
        return d->engine_en ? DW_EDMA_ENGINE_EN : 0;
    case REG_DOORBELL:
        return d->doorbell;
    case REG_ARB_WEIGHT:
        return d->arb_weight[i];
    case REG_INT_STATUS:
        return d->int_status;
    case REG_INT_MASK:
        return d->int_mask;
    case REG_INT_CLEAR:
        return 0;
    case REG_ERR_STATUS:
        return d->err_status[i];
    case REG_DONE_IMWR:
        return d->done_imwr[i];
    case REG_ABORT_IMWR:
        return d->abort_imwr[i];
    case REG_IMWR_DATA:
        return d->imwr_data[i];
    case REG_LL_ERR_EN:
        return d->ll_err_en;
    case REG_CHGROUP:
        return d->chgroup;
    case REG_HSHAKE_CNT:
        return d->hshake_cnt[i];
    case REG_PWR_EN:
        return d->pwr_en[i];
    default:
        g_assert_not_reached();
    }
}

static void write_dir(DWEDMA *dma, DWEDMADir dir, V0Reg reg, unsigned i,
                      uint32_t val)
{
    V0 *v0 = dma->map;
    V0Dir *d = &v0->dir[dir];

    switch (reg) {
    case REG_ENGINE_EN:
        write_engine_en(dma, dir, val & DW_EDMA_ENGINE_EN);
        break;
    case REG_DOORBELL:
        write_doorbell(dma, dir, val);
        break;
    case REG_ARB_WEIGHT:
        d->arb_weight[i] = val & DW_EDMA_ARB_WEIGHT_MASK;
        break;
    case REG_INT_STATUS:
        /* Interrupt emulation: pci_epf_alloc_doorbell_embedded() writes 0 */
        d->emulated = true;
        break;
    case REG_INT_MASK:
        d->int_mask = val & int_bits(dma, dir);
        break;
    case REG_INT_CLEAR:
        write_int_clear(d, val);
        break;
    case REG_ERR_STATUS:
        dw_edma_guest_error(dma, DW_EDMA_ERR_REGISTER, "write to the read-"
                            "only error status: ignored");
        break;
    case REG_DONE_IMWR:
        d->done_imwr[i] = i ? val : val & ~3u;
        break;
    case REG_ABORT_IMWR:
        d->abort_imwr[i] = i ? val : val & ~3u;
        break;
    case REG_IMWR_DATA:
        d->imwr_data[i] = val;
        break;
    case REG_LL_ERR_EN:
        d->ll_err_en = val & int_bits(dma, dir);
        break;
    case REG_CHGROUP:
        d->chgroup = val;
        break;
    case REG_HSHAKE_CNT:
        d->hshake_cnt[i] = val;
        break;
    case REG_PWR_EN:
        write_pwr_en(dma, dir, i, val);
        break;
    }
}

/* The context of a channel */

static uint32_t read_context(DWEDMAChannel *ch, unsigned offset)
{
    V0Dir *d = v0_dir(ch);
    const DWEDMAContext *ctx = &ch->ctx;

    switch (offset) {
    case DW_EDMA_CH_CONTROL1:
        return d->control1[ch->index] | ctx->control |
               ch->state << DW_EDMA_CH_STATUS_SHIFT |
               (ctx->ccs ? DW_EDMA_CH_CCS : 0);
    case DW_EDMA_CH_CONTROL2:
        return d->control2[ch->index];
    case DW_EDMA_CH_TRANSFER_SIZE:
        return ctx->size;
    case DW_EDMA_CH_SAR_LOW:
        return ctx->sar;
    case DW_EDMA_CH_SAR_HIGH:
        return ctx->sar >> 32;
    case DW_EDMA_CH_DAR_LOW:
        return ctx->dar;
    case DW_EDMA_CH_DAR_HIGH:
        return ctx->dar >> 32;
    case DW_EDMA_CH_LLP_LOW:
        return ctx->llp;
    case DW_EDMA_CH_LLP_HIGH:
        return ctx->llp >> 32;
    default:
        g_assert_not_reached();
    }
}

static void write_control1(DWEDMAChannel *ch, uint32_t val)
{
    /* The core has the bits that change while the channel runs. */
    uint32_t cores = DW_EDMA_LL_CONTROL_MASK | DW_EDMA_CH_CCS;

    v0_dir(ch)->control1[ch->index] = val & DW_EDMA_CH_CONTROL1_MASK & ~cores;
    ch->ctx.control = val & DW_EDMA_LL_CONTROL_MASK;
    ch->ctx.list = val & DW_EDMA_CH_LLE;
    ch->ctx.ccs = val & DW_EDMA_CH_CCS;
    ch->ctx.fn = extract32(val, DW_EDMA_CH_FUNC_SHIFT, 5);
}

static void write_context(DWEDMAChannel *ch, unsigned offset, uint32_t val)
{
    DWEDMAContext *ctx = &ch->ctx;

    if (dw_edma_running(ch)) {
        dw_edma_guest_error(ch->dma, DW_EDMA_ERR_BUSY, "write to context "
                            "register 0x%02x of a running channel: ignored",
                            offset);
        return;
    }
    switch (offset) {
    case DW_EDMA_CH_CONTROL1:
        write_control1(ch, val);
        break;
    case DW_EDMA_CH_CONTROL2:
        v0_dir(ch)->control2[ch->index] = val;
        break;
    case DW_EDMA_CH_TRANSFER_SIZE:
        ctx->size = val;
        break;
    case DW_EDMA_CH_SAR_LOW:
        ctx->sar = deposit64(ctx->sar, 0, 32, val);
        break;
    case DW_EDMA_CH_SAR_HIGH:
        ctx->sar = deposit64(ctx->sar, 32, 32, val);
        break;
    case DW_EDMA_CH_DAR_LOW:
        ctx->dar = deposit64(ctx->dar, 0, 32, val);
        break;
    case DW_EDMA_CH_DAR_HIGH:
        ctx->dar = deposit64(ctx->dar, 32, 32, val);
        break;
    case DW_EDMA_CH_LLP_LOW:
        ctx->llp = deposit64(ctx->llp, 0, 32, val & ~3u);
        break;
    case DW_EDMA_CH_LLP_HIGH:
        ctx->llp = deposit64(ctx->llp, 32, 32, val);
        break;
    }
}

/* Decoding */

/* The channel whose context is at @offset, and the register in it */
static DWEDMAChannel *find_context(DWEDMA *dma, hwaddr offset, unsigned *reg)
{
    V0 *v0 = dma->map;
    DWEDMADir dir;
    unsigned i;

    if (dma->config.map == DW_EDMA_MAP_LEGACY) {
        if (offset < DW_EDMA_LEGACY_CONTEXT) {
            return NULL;
        }
        *reg = offset - DW_EDMA_LEGACY_CONTEXT;
        dir = v0->viewport & DW_EDMA_VIEWPORT_READ ? DW_EDMA_READ
                                                   : DW_EDMA_WRITE;
        i = v0->viewport & DW_EDMA_VIEWPORT_CHANNEL;
    } else {
        if (offset < DW_EDMA_WR_CONTEXT(0)) {
            return NULL;
        }
        i = (offset - DW_EDMA_WR_CONTEXT(0)) / 0x200;
        dir = offset & 0x100 ? DW_EDMA_READ : DW_EDMA_WRITE;
        *reg = offset & 0xff;
    }
    return *reg < DW_EDMA_CONTEXT_SIZE ? dw_edma_channel(dma, dir, i) : NULL;
}

static const V0Place *find_place(DWEDMA *dma, hwaddr offset, DWEDMADir *dir,
                                 unsigned *i)
{
    for (unsigned n = 0; n < ARRAY_SIZE(places); n++) {
        const V0Place *p = &places[n];

        if (p->reg >= REG_CHGROUP && dma->config.map == DW_EDMA_MAP_LEGACY) {
            break;
        }
        for (unsigned d = 0; d < DW_EDMA_NUM_DIRS; d++) {
            if (offset >= p->start[d] &&
                offset < p->start[d] + 4 * p->count[d]) {
                *dir = d;
                *i = (offset - p->start[d]) / 4;
                return p;
            }
        }
    }
    return NULL;
}

static uint32_t read_ctrl(DWEDMA *dma)
{
    V0 *v0 = dma->map;

    return v0->ctrl |
           dma->config.channels[DW_EDMA_WRITE] <<
           DW_EDMA_CTRL_WR_CHANNELS_SHIFT |
           dma->config.channels[DW_EDMA_READ] <<
           DW_EDMA_CTRL_RD_CHANNELS_SHIFT;
}

static uint32_t v0_read(DWEDMA *dma, hwaddr offset)
{
    V0 *v0 = dma->map;
    DWEDMAChannel *ch;
    const V0Place *place;
    DWEDMADir dir;
    unsigned i;

    switch (offset) {
    case DW_EDMA_CTRL_DATA_ARB_PRIOR:
        return v0->arb_prior;
    case DW_EDMA_CTRL:
        return read_ctrl(dma);
    case DW_EDMA_VIEWPORT:
        return v0->viewport;
    }
    ch = find_context(dma, offset, &i);
    if (ch) {
        return read_context(ch, i);
    }
    place = find_place(dma, offset, &dir, &i);
    return place ? read_dir(dma, dir, place->reg, i) : 0;
}

static void v0_write(DWEDMA *dma, hwaddr offset, uint32_t val)
{
    V0 *v0 = dma->map;
    DWEDMAChannel *ch;
    const V0Place *place;
    DWEDMADir dir;
    unsigned i;

    switch (offset) {
    case DW_EDMA_CTRL_DATA_ARB_PRIOR:
        v0->arb_prior = val & DW_EDMA_ARB_PRIOR_MASK;
        return;
    case DW_EDMA_CTRL:
        v0->ctrl = val & (DW_EDMA_CTRL_DIS_C2W_CACHE_WR |
                          DW_EDMA_CTRL_DIS_C2W_CACHE_RD);
        return;
    case DW_EDMA_VIEWPORT:
        if (dma->config.map == DW_EDMA_MAP_LEGACY) {
            v0->viewport = val & (DW_EDMA_VIEWPORT_CHANNEL |
                                  DW_EDMA_VIEWPORT_READ);
            return;
        }
        break;
    }
    ch = find_context(dma, offset, &i);
    if (ch) {
        write_context(ch, i, val);
        return;
    }
    place = find_place(dma, offset, &dir, &i);
    if (place) {
        write_dir(dma, dir, place->reg, i, val);
        return;
    }
    dw_edma_guest_error(dma, DW_EDMA_ERR_REGISTER, "write to register 0x%03"
                        HWADDR_PRIx ", which does not exist: ignored", offset);
}

static void v0_init(DWEDMA *dma)
{
    dma->map = g_new0(V0, 1);
}

static void v0_reset(DWEDMA *dma)
{
    V0 *v0 = dma->map;

    *v0 = (V0) { .arb_prior = DW_EDMA_ARB_PRIOR_RESET };
    for (unsigned dir = 0; dir < DW_EDMA_NUM_DIRS; dir++) {
        V0Dir *d = &v0->dir[dir];

        d->int_mask = int_bits(dma, dir);
        d->arb_weight[0] = DW_EDMA_ARB_WEIGHT_RESET;
        d->arb_weight[1] = DW_EDMA_ARB_WEIGHT_RESET;
        /*
         * dw_edma_v0_core_ch_enable() powers a channel up in the HDMA
         * compatible map only.
         */
        for (unsigned i = 0; dma->config.map == DW_EDMA_MAP_UNROLL &&
                             i < dma->config.channels[dir]; i++) {
            d->pwr_en[i] = DW_EDMA_PWR_EN;
        }
    }
}

#define V0_OPS(area_size)                       \
    {                                           \
        .max_channels = DW_EDMA_MAX_CHANNELS,   \
        .size = (area_size),                    \
        .init = v0_init,                        \
        .reset = v0_reset,                      \
        .read = v0_read,                        \
        .write = v0_write,                      \
        .element_done = signal_done,            \
        .stopped = v0_stopped,                  \
        .failed = v0_failed,                    \
        .irq_levels = v0_irq_levels,            \
    }

const DWEDMAMapOps dw_edma_legacy_ops = V0_OPS(DW_EDMA_LEGACY_SIZE);
const DWEDMAMapOps dw_edma_unroll_ops = V0_OPS(DW_EDMA_UNROLL_SIZE);
const DWEDMAMapOps dw_edma_hdma_compat_ops = V0_OPS(DW_EDMA_UNROLL_SIZE);
