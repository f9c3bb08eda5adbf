/*
 * libqos driver of the DesignWare eDMA and HDMA: plays the software
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/dma/dw-edma-regs.h"
#include "pcie-cable.h"
#include "dw-edma.h"

#define CH_FUNC_LENGTH 5

/* Registers that a direction of the eDMA's maps has once */
typedef struct DirRegs {
    uint32_t engine_en;
    uint32_t doorbell;
    uint32_t int_status;
    uint32_t int_mask;
    uint32_t int_clear;
    uint32_t err_status;
    uint32_t ll_err_en;
    uint32_t done_imwr;
    uint32_t abort_imwr;
    uint32_t imwr_data;
    uint32_t pwr_en;
} DirRegs;

static const DirRegs dir_regs[QEDMA_NUM_DIRS] = {
    [QEDMA_WRITE] = {
        .engine_en = DW_EDMA_WR_ENGINE_EN,
        .doorbell = DW_EDMA_WR_DOORBELL,
        .int_status = DW_EDMA_WR_INT_STATUS,
        .int_mask = DW_EDMA_WR_INT_MASK,
        .int_clear = DW_EDMA_WR_INT_CLEAR,
        .err_status = DW_EDMA_WR_ERR_STATUS,
        .ll_err_en = DW_EDMA_WR_LL_ERR_EN,
        .done_imwr = DW_EDMA_WR_DONE_IMWR_LOW,
        .abort_imwr = DW_EDMA_WR_ABORT_IMWR_LOW,
        .imwr_data = DW_EDMA_WR_IMWR_DATA(0),
        .pwr_en = DW_EDMA_WR_PWR_EN(0),
    },
    [QEDMA_READ] = {
        .engine_en = DW_EDMA_RD_ENGINE_EN,
        .doorbell = DW_EDMA_RD_DOORBELL,
        .int_status = DW_EDMA_RD_INT_STATUS,
        .int_mask = DW_EDMA_RD_INT_MASK,
        .int_clear = DW_EDMA_RD_INT_CLEAR,
        .err_status = DW_EDMA_RD_ERR_STATUS_LOW,
        .ll_err_en = DW_EDMA_RD_LL_ERR_EN,
        .done_imwr = DW_EDMA_RD_DONE_IMWR_LOW,
        .abort_imwr = DW_EDMA_RD_ABORT_IMWR_LOW,
        .imwr_data = DW_EDMA_RD_IMWR_DATA(0),
        .pwr_en = DW_EDMA_RD_PWR_EN(0),
    },
};

const char *qedma_map_name(QEdmaMap map)
{
    static const char * const names[] = {
        [QEDMA_MAP_LEGACY] = "legacy",
        [QEDMA_MAP_UNROLL] = "unroll",
        [QEDMA_MAP_COMPAT] = "hdma-compat",
        [QEDMA_MAP_NATIVE] = "hdma-native",
    };

    return names[map];
}

/* Registers */

uint32_t qedma_readl(QEdma *e, uint32_t reg)
{
    return qtest_readl(e->qts, e->regs + reg);
}

void qedma_writel(QEdma *e, uint32_t reg, uint32_t val)
{
    qtest_writel(e->qts, e->regs + reg, val);
}

static bool is_native(QEdmaChan *ch)
{
    return ch->edma->map == QEDMA_MAP_NATIVE;
}

/* Where the context is, after the viewport shows the channel */
static uint32_t context(QEdmaChan *ch)
{
    switch (ch->edma->map) {
    case QEDMA_MAP_LEGACY:
        qedma_writel(ch->edma, DW_EDMA_VIEWPORT, ch->id |
                     (ch->dir == QEDMA_READ ? DW_EDMA_VIEWPORT_READ : 0));
        return DW_EDMA_LEGACY_CONTEXT;
    case QEDMA_MAP_NATIVE:
        return ch->dir == QEDMA_READ ? DW_HDMA_RD_CHANNEL(ch->id) :
               DW_HDMA_WR_CHANNEL(ch->id);
    default:
        return ch->dir == QEDMA_READ ? DW_EDMA_RD_CONTEXT(ch->id) :
               DW_EDMA_WR_CONTEXT(ch->id);
    }
}

uint32_t qedma_ch_readl(QEdmaChan *ch, uint32_t reg)
{
    return qedma_readl(ch->edma, context(ch) + reg);
}

void qedma_ch_writel(QEdmaChan *ch, uint32_t reg, uint32_t val)
{
    qedma_writel(ch->edma, context(ch) + reg, val);
}

static void ch_write64(QEdmaChan *ch, uint32_t low, uint64_t val)
{
    qedma_ch_writel(ch, low, val);
    qedma_ch_writel(ch, low + 4, val >> 32);
}

static void write64(QEdma *e, uint32_t low, uint64_t val)
{
    qedma_writel(e, low, val);
    qedma_writel(e, low + 4, val >> 32);
}

unsigned qedma_num_channels(QEdma *e, QEdmaDir dir)
{
    uint32_t ctrl = qedma_readl(e, DW_EDMA_CTRL);

    g_assert_cmpint(e->map, !=, QEDMA_MAP_NATIVE);
    return extract32(ctrl, dir == QEDMA_WRITE ? DW_EDMA_CTRL_WR_CHANNELS_SHIFT :
                     DW_EDMA_CTRL_RD_CHANNELS_SHIFT, 4);
}

/* Bits of a channel in INT_STATUS, INT_MASK and INT_CLEAR */
static uint32_t done_bit(QEdmaChan *ch)
{
    return is_native(ch) ? DW_HDMA_INT_STOP : DW_EDMA_INT_DONE(ch->id);
}

static uint32_t abort_bit(QEdmaChan *ch)
{
    return is_native(ch) ? DW_HDMA_INT_ABORT :
           DW_EDMA_INT_ABORT(ch->id);
}

static uint32_t int_status(QEdmaChan *ch)
{
    return is_native(ch) ? qedma_ch_readl(ch, DW_HDMA_CH_INT_STATUS) :
           qedma_readl(ch->edma, dir_regs[ch->dir].int_status);
}

static void int_clear(QEdmaChan *ch, uint32_t bits)
{
    if (is_native(ch)) {
        qedma_ch_writel(ch, DW_HDMA_CH_INT_CLEAR, bits);
    } else {
        qedma_writel(ch->edma, dir_regs[ch->dir].int_clear, bits);
    }
}

/* Setting up */

/* dw_edma_v0_core_ch_enable() */
static void edma_enable(QEdmaChan *ch, QEdmaIrq irq)
{
    const DirRegs *r = &dir_regs[ch->dir];
    uint32_t mask;

    qedma_writel(ch->edma, r->engine_en, DW_EDMA_ENGINE_EN);
    if (ch->edma->map == QEDMA_MAP_COMPAT) {
        qedma_writel(ch->edma, r->pwr_en + 4 * ch->id, DW_EDMA_PWR_EN);
    }
    mask = qedma_readl(ch->edma, r->int_mask);
    mask &= ~(done_bit(ch) | abort_bit(ch));
    if (irq == QEDMA_IRQ_REMOTE) {
        mask |= done_bit(ch) | abort_bit(ch);
    }
    qedma_writel(ch->edma, r->int_mask, mask);
    qedma_writel(ch->edma, r->ll_err_en,
                 qedma_readl(ch->edma, r->ll_err_en) |
                 DW_EDMA_LL_ERR_REMOTE(ch->id));
}

/* dw_hdma_v0_core_ch_enable() */
static void hdma_enable(QEdmaChan *ch, QEdmaIrq irq)
{
    uint32_t setup = DW_HDMA_LOCAL_STOP_EN | DW_HDMA_LOCAL_ABORT_EN;

    if (irq == QEDMA_IRQ_REMOTE) {
        setup |= DW_HDMA_REMOTE_STOP_EN | DW_HDMA_REMOTE_ABORT_EN |
                 DW_HDMA_STOP_MASK | DW_HDMA_ABORT_MASK;
    }
    qedma_ch_writel(ch, DW_HDMA_CH_EN, DW_HDMA_EN);
    qedma_ch_writel(ch, DW_HDMA_CH_INT_SETUP, setup);
}

void qedma_enable(QEdmaChan *ch, QEdmaIrq irq)
{
    if (is_native(ch)) {
        hdma_enable(ch, irq);
    } else {
        edma_enable(ch, irq);
    }
}

/* dw_edma_v0_core_dir_off(), dw_hdma_v0_core_ch_off() */
void qedma_off(QEdmaChan *ch)
{
    const DirRegs *r = &dir_regs[ch->dir];

    if (is_native(ch)) {
        qedma_ch_writel(ch, DW_HDMA_CH_INT_SETUP,
                        DW_HDMA_STOP_MASK | DW_HDMA_ABORT_MASK);
        qedma_ch_writel(ch, DW_HDMA_CH_EN, 0);
        int_clear(ch, done_bit(ch) | abort_bit(ch));
        return;
    }
    qedma_writel(ch->edma, r->int_mask, UINT32_MAX);
    if (ch->edma->map == QEDMA_MAP_COMPAT) {
        for (unsigned i = 0; i < qedma_num_channels(ch->edma, ch->dir); i++) {
            qedma_writel(ch->edma, r->pwr_en + 4 * i, 0);
        }
    } else {
        qedma_writel(ch->edma, r->engine_en, 0);
        cable_wait(!(qedma_readl(ch->edma, r->engine_en) &
                     DW_EDMA_ENGINE_EN));
    }
    qedma_writel(ch->edma, r->int_clear, UINT32_MAX);
}

void qedma_set_imwr(QEdmaChan *ch, uint64_t done, uint64_t abort,
                    uint16_t data)
{
    const DirRegs *r = &dir_regs[ch->dir];
    uint32_t reg = r->imwr_data + 4 * (ch->id / 2);
    unsigned shift = ch->id & 1 ? 16 : 0;

    if (is_native(ch)) {
        ch_write64(ch, DW_HDMA_CH_MSI_STOP_LOW, done);
        ch_write64(ch, DW_HDMA_CH_MSI_WATERMARK_LOW, done);
        ch_write64(ch, DW_HDMA_CH_MSI_ABORT_LOW, abort);
        qedma_ch_writel(ch, DW_HDMA_CH_MSI_MSGDATA, data);
        return;
    }
    write64(ch->edma, r->done_imwr, done);
    write64(ch->edma, r->abort_imwr, abort);
    qedma_writel(ch->edma, reg, deposit32(qedma_readl(ch->edma, reg), shift,
                                          16, data));
}

void qedma_set_function(QEdmaChan *ch, unsigned fn)
{
    if (is_native(ch)) {
        qedma_ch_writel(ch, DW_HDMA_CH_FUNC_NUM, fn);
    } else {
        uint32_t control = qedma_ch_readl(ch, DW_EDMA_CH_CONTROL1);

        qedma_ch_writel(ch, DW_EDMA_CH_CONTROL1,
                        deposit32(control, DW_EDMA_CH_FUNC_SHIFT,
                                  CH_FUNC_LENGTH, fn));
    }
}

/* Running */

void qedma_doorbell(QEdmaChan *ch)
{
    if (is_native(ch)) {
        qedma_ch_writel(ch, DW_HDMA_CH_DOORBELL, DW_HDMA_DOORBELL_START);
    } else {
        qedma_writel(ch->edma, dir_regs[ch->dir].doorbell, ch->id);
    }
}

void qedma_stop(QEdmaChan *ch)
{
    if (is_native(ch)) {
        qedma_ch_writel(ch, DW_HDMA_CH_DOORBELL, DW_HDMA_DOORBELL_STOP);
    } else {
        qedma_writel(ch->edma, dir_regs[ch->dir].doorbell,
                     DW_EDMA_DOORBELL_STOP | ch->id);
    }
}

/* Interrupt bits of an element, and of CONTROL1 for a single block */
static uint32_t element_ints(unsigned ints)
{
    return (ints & QEDMA_LOCAL_INT ? DW_EDMA_CH_LIE : 0) |
           (ints & QEDMA_REMOTE_INT ? DW_EDMA_CH_RIE : 0);
}

/* The function number stays. */
static void write_control(QEdmaChan *ch, uint32_t val)
{
    uint32_t fn = qedma_ch_readl(ch, DW_EDMA_CH_CONTROL1) &
                  MAKE_64BIT_MASK(DW_EDMA_CH_FUNC_SHIFT,
                                  CH_FUNC_LENGTH);

    qedma_ch_writel(ch, DW_EDMA_CH_CONTROL1, fn | val);
}

void qedma_start_block(QEdmaChan *ch, uint64_t sar, uint64_t dar,
                       uint32_t size, unsigned ints)
{
    if (is_native(ch)) {
        ch_write64(ch, DW_HDMA_CH_SAR_LOW, sar);
        ch_write64(ch, DW_HDMA_CH_DAR_LOW, dar);
        qedma_ch_writel(ch, DW_HDMA_CH_TRANSFER_SIZE, size);
        qedma_ch_writel(ch, DW_HDMA_CH_CONTROL1, 0);
    } else {
        write_control(ch, element_ints(ints));
        qedma_ch_writel(ch, DW_EDMA_CH_TRANSFER_SIZE, size);
        ch_write64(ch, DW_EDMA_CH_SAR_LOW, sar);
        ch_write64(ch, DW_EDMA_CH_DAR_LOW, dar);
    }
    qedma_doorbell(ch);
}

void qedma_set_list(QEdmaChan *ch, uint64_t llp)
{
    if (is_native(ch)) {
        qedma_ch_writel(ch, DW_HDMA_CH_CONTROL1, DW_HDMA_LINKLIST_EN);
        ch_write64(ch, DW_HDMA_CH_LLP_LOW, llp);
        qedma_ch_writel(ch, DW_HDMA_CH_CYCLE_SYNC,
                        DW_HDMA_CYCLE_STATE | DW_HDMA_CYCLE_BIT);
    } else {
        write_control(ch, DW_EDMA_CH_CCS | DW_EDMA_CH_LLE);
        ch_write64(ch, DW_EDMA_CH_LLP_LOW, llp);
    }
}

void qedma_start_list(QEdmaChan *ch, uint64_t llp)
{
    qedma_set_list(ch, llp);
    qedma_doorbell(ch);
}

/* State */

QEdmaStatus qedma_status(QEdmaChan *ch)
{
    return is_native(ch) ?
           qedma_ch_readl(ch, DW_HDMA_CH_STATUS) & DW_HDMA_STATUS_MASK :
           extract32(qedma_ch_readl(ch, DW_EDMA_CH_CONTROL1),
                     DW_EDMA_CH_STATUS_SHIFT, 2);
}

uint64_t qedma_llp(QEdmaChan *ch)
{
    uint32_t low = is_native(ch) ? DW_HDMA_CH_LLP_LOW : DW_EDMA_CH_LLP_LOW;

    return qedma_ch_readl(ch, low) |
           (uint64_t)qedma_ch_readl(ch, low + 4) << 32;
}

uint32_t qedma_transfer_size(QEdmaChan *ch)
{
    return qedma_ch_readl(ch, is_native(ch) ? DW_HDMA_CH_TRANSFER_SIZE :
                          DW_EDMA_CH_TRANSFER_SIZE);
}

static QEdmaError hdma_error(QEdmaChan *ch)
{
    switch (extract32(int_status(ch), DW_HDMA_INT_ERROR_SHIFT,
                      DW_HDMA_INT_ERROR_LENGTH)) {
    case 0:
        return QEDMA_OK;
    case DW_HDMA_ERR_LL_UNSUPPORTED:
    case DW_HDMA_ERR_LL_CPL_ABORT:
    case DW_HDMA_ERR_LL_POISONED:
        return QEDMA_ERR_LL_FETCH;
    case DW_HDMA_ERR_CPL_TIMEOUT:
        return QEDMA_ERR_TIMEOUT;
    case DW_HDMA_ERR_UNSUPPORTED:
        return QEDMA_ERR_UR;
    case DW_HDMA_ERR_CPL_ABORT:
        return QEDMA_ERR_CA;
    case DW_HDMA_ERR_POISONED:
        return QEDMA_ERR_POISONED;
    case DW_HDMA_ERR_WRITE:
        return QEDMA_ERR_WRITE;
    default:
        g_assert_not_reached();
    }
}

static QEdmaError edma_error(QEdmaChan *ch)
{
    const struct {
        uint32_t bit;
        QEdmaError error;
    } low[] = {
        { DW_EDMA_ERR_APP(ch->id), QEDMA_ERR_LOCAL },
        { DW_EDMA_ERR_LL_FETCH(ch->id), QEDMA_ERR_LL_FETCH },
    }, high[] = {
        { DW_EDMA_ERR_UNSUPPORTED(ch->id), QEDMA_ERR_UR },
        { DW_EDMA_ERR_CPL_ABORT(ch->id), QEDMA_ERR_CA },
        { DW_EDMA_ERR_CPL_TIMEOUT(ch->id), QEDMA_ERR_TIMEOUT },
        { DW_EDMA_ERR_POISONED(ch->id), QEDMA_ERR_POISONED },
    };
    QEdmaError error = QEDMA_OK;
    uint32_t val;

    val = qedma_readl(ch->edma, dir_regs[ch->dir].err_status);
    for (unsigned i = 0; i < ARRAY_SIZE(low); i++) {
        if (val & low[i].bit) {
            error = error ? QEDMA_ERR_SEVERAL : low[i].error;
        }
    }
    if (ch->dir == QEDMA_READ) {
        val = qedma_readl(ch->edma, DW_EDMA_RD_ERR_STATUS_HIGH);
        for (unsigned i = 0; i < ARRAY_SIZE(high); i++) {
            if (val & high[i].bit) {
                error = error ? QEDMA_ERR_SEVERAL : high[i].error;
            }
        }
    }
    return error;
}

QEdmaError qedma_error(QEdmaChan *ch)
{
    return is_native(ch) ? hdma_error(ch) : edma_error(ch);
}

bool qedma_done(QEdmaChan *ch)
{
    return int_status(ch) & done_bit(ch);
}

bool qedma_aborted(QEdmaChan *ch)
{
    return int_status(ch) & abort_bit(ch);
}

void qedma_clear_done(QEdmaChan *ch)
{
    int_clear(ch, done_bit(ch));
}

void qedma_clear_abort(QEdmaChan *ch)
{
    int_clear(ch, abort_bit(ch));
}

void qedma_wait_status(QEdmaChan *ch, QEdmaStatus status)
{
    cable_wait(qedma_status(ch) == status);
}

void qedma_wait_done(QEdmaChan *ch)
{
    cable_wait(qedma_done(ch));
}

void qedma_wait_aborted(QEdmaChan *ch)
{
    cable_wait(qedma_aborted(ch));
}

void qedma_wait_idle(QEdmaChan *ch)
{
    cable_wait(qedma_status(ch) != QEDMA_RUNNING);
}

/* Linked lists */

void qedma_list_init(QEdmaList *l, QEdmaMap map, uint8_t *mem, uint64_t addr)
{
    *l = (QEdmaList) { .mem = mem, .addr = addr, .cb = true, .map = map };
}

uint64_t qedma_list_element(QEdmaList *l, unsigned i)
{
    return l->addr + i * QEDMA_ELEMENT_SIZE;
}

/*
 * The control word goes last: an engine that polls the element finds it
 * complete, as behind Linux's dma_wmb().
 */
static void append(QEdmaList *l, uint32_t control, uint32_t size,
                   const uint64_t *words, unsigned n)
{
    uint8_t *element = l->mem + l->n * QEDMA_ELEMENT_SIZE;

    stl_le_p(element + 4, size);
    for (unsigned i = 0; i < n; i++) {
        stq_le_p(element + 8 + 8 * i, words[i]);
    }
    /* Pairs with the engine's barrier behind its read of the control word. */
    smp_wmb();
    qatomic_set((uint32_t *)element, cpu_to_le32(control));
    l->n++;
}

void qedma_list_data(QEdmaList *l, uint64_t sar, uint64_t dar, uint32_t size,
                     unsigned ints)
{
    uint64_t words[] = { sar, dar };

    append(l, element_ints(ints) | (l->cb ? DW_EDMA_CH_CB : 0), size,
           words, ARRAY_SIZE(words));
}

static void append_link(QEdmaList *l, uint64_t target, uint32_t control)
{
    append(l, DW_EDMA_CH_LLP | control, 0, &target, 1);
}

void qedma_list_end(QEdmaList *l, uint64_t target)
{
    append_link(l, target, DW_EDMA_CH_TCB |
                (l->cb ? 0 : DW_EDMA_CH_CB));
}

void qedma_list_jump(QEdmaList *l, uint64_t target)
{
    append_link(l, target, l->cb ? DW_EDMA_CH_CB : 0);
}

void qedma_list_stop(QEdmaList *l)
{
    const uint64_t words[2] = { 0 };

    append(l, l->cb ? 0 : DW_EDMA_CH_CB, 0, words, ARRAY_SIZE(words));
}

void qedma_list_recycle(QEdmaList *l)
{
    l->n = 0;
    l->cb = !l->cb;
}
