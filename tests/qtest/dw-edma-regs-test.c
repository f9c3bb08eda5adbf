/*
 * QTest of the DesignWare eDMA: its registers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Reset value, write mask and side effects of each register, in the SoC's
 * "dma" area and without a host.  What happens when transfers run is in the
 * other dw-edma tests.
 */
#include "qemu/osdep.h"
#include "hw/dma/dw-edma-regs.h"
#include "libqos/dw-edma-lab.h"
#include "libqos/shared-ram.h"

#define ALL_ONES UINT32_MAX
#define CHANNELS 4
/* A bit a channel, in both halves */
#define CHANNEL_BITS 0x000f000f
#define LIST (CABLE_RAM_BASE + 1 * MiB)
#define BUF (CABLE_RAM_BASE + 2 * MiB)

typedef struct Register {
    uint32_t offset;
    uint32_t reset;
    uint32_t mask;              /* bits that keep what is written */
} Register;

static const Register common_regs[] = {
    { DW_EDMA_CTRL_DATA_ARB_PRIOR, DW_EDMA_ARB_PRIOR_RESET,
      DW_EDMA_ARB_PRIOR_MASK },
    { DW_EDMA_CTRL, CHANNELS << DW_EDMA_CTRL_WR_CHANNELS_SHIFT |
      CHANNELS << DW_EDMA_CTRL_RD_CHANNELS_SHIFT,
      DW_EDMA_CTRL_DIS_C2W_CACHE_WR | DW_EDMA_CTRL_DIS_C2W_CACHE_RD },
    { DW_EDMA_WR_ENGINE_EN, 0, DW_EDMA_ENGINE_EN },
    { DW_EDMA_WR_ARB_WEIGHT_LOW, DW_EDMA_ARB_WEIGHT_RESET,
      DW_EDMA_ARB_WEIGHT_MASK },
    { DW_EDMA_WR_ARB_WEIGHT_HIGH, DW_EDMA_ARB_WEIGHT_RESET,
      DW_EDMA_ARB_WEIGHT_MASK },
    { DW_EDMA_RD_ENGINE_EN, 0, DW_EDMA_ENGINE_EN },
    { DW_EDMA_RD_ARB_WEIGHT_LOW, DW_EDMA_ARB_WEIGHT_RESET,
      DW_EDMA_ARB_WEIGHT_MASK },
    { DW_EDMA_RD_ARB_WEIGHT_HIGH, DW_EDMA_ARB_WEIGHT_RESET,
      DW_EDMA_ARB_WEIGHT_MASK },
    { DW_EDMA_WR_INT_STATUS, 0, 0 },
    { DW_EDMA_WR_INT_MASK, CHANNEL_BITS, CHANNEL_BITS },
    { DW_EDMA_WR_INT_CLEAR, 0, 0 },
    { DW_EDMA_WR_ERR_STATUS, 0, 0 },
    { DW_EDMA_WR_DONE_IMWR_LOW, 0, ~3u },
    { DW_EDMA_WR_DONE_IMWR_HIGH, 0, ALL_ONES },
    { DW_EDMA_WR_ABORT_IMWR_LOW, 0, ~3u },
    { DW_EDMA_WR_ABORT_IMWR_HIGH, 0, ALL_ONES },
    { DW_EDMA_WR_IMWR_DATA(0), 0, ALL_ONES },
    { DW_EDMA_WR_IMWR_DATA(1), 0, ALL_ONES },
    { DW_EDMA_WR_IMWR_DATA(2), 0, ALL_ONES },
    { DW_EDMA_WR_IMWR_DATA(3), 0, ALL_ONES },
    { DW_EDMA_WR_LL_ERR_EN, 0, CHANNEL_BITS },
    { DW_EDMA_RD_INT_STATUS, 0, 0 },
    { DW_EDMA_RD_INT_MASK, CHANNEL_BITS, CHANNEL_BITS },
    { DW_EDMA_RD_INT_CLEAR, 0, 0 },
    { DW_EDMA_RD_ERR_STATUS_LOW, 0, 0 },
    { DW_EDMA_RD_ERR_STATUS_HIGH, 0, 0 },
    { DW_EDMA_RD_LL_ERR_EN, 0, CHANNEL_BITS },
    { DW_EDMA_RD_DONE_IMWR_LOW, 0, ~3u },
    { DW_EDMA_RD_DONE_IMWR_HIGH, 0, ALL_ONES },
    { DW_EDMA_RD_ABORT_IMWR_LOW, 0, ~3u },
    { DW_EDMA_RD_ABORT_IMWR_HIGH, 0, ALL_ONES },
    { DW_EDMA_RD_IMWR_DATA(0), 0, ALL_ONES },
    { DW_EDMA_RD_IMWR_DATA(1), 0, ALL_ONES },
    { DW_EDMA_RD_IMWR_DATA(2), 0, ALL_ONES },
    { DW_EDMA_RD_IMWR_DATA(3), 0, ALL_ONES },
};

static const Register unroll_regs[] = {
    { DW_EDMA_WR_CHGROUP, 0, ALL_ONES },
    { DW_EDMA_RD_CHGROUP, 0, ALL_ONES },
    { DW_EDMA_WR_HSHAKE_CNT_LOW, 0, ALL_ONES },
    { DW_EDMA_WR_HSHAKE_CNT_HIGH, 0, ALL_ONES },
    { DW_EDMA_RD_HSHAKE_CNT_LOW, 0, ALL_ONES },
    { DW_EDMA_RD_HSHAKE_CNT_HIGH, 0, ALL_ONES },
};

/* The context of each channel */
static const Register context_regs[] = {
    { DW_EDMA_CH_CONTROL1, 0, DW_EDMA_CH_CONTROL1_MASK },
    { DW_EDMA_CH_CONTROL2, 0, ALL_ONES },
    { DW_EDMA_CH_TRANSFER_SIZE, 0, ALL_ONES },
    { DW_EDMA_CH_SAR_LOW, 0, ALL_ONES },
    { DW_EDMA_CH_SAR_HIGH, 0, ALL_ONES },
    { DW_EDMA_CH_DAR_LOW, 0, ALL_ONES },
    { DW_EDMA_CH_DAR_HIGH, 0, ALL_ONES },
    { DW_EDMA_CH_LLP_LOW, 0, ~3u },
    { DW_EDMA_CH_LLP_HIGH, 0, ALL_ONES },
};

typedef struct Fixture {
    QTestState *qts;
    DWEp *ep;
    QEdma edma;
    GArray *regs;               /* of Register: all that there are */
} Fixture;

static void add_register(Fixture *f, Register reg)
{
    g_array_append_val(f->regs, reg);
}

static void add_registers(Fixture *f, const Register *regs, unsigned n,
                          uint32_t base)
{
    for (unsigned i = 0; i < n; i++) {
        Register reg = regs[i];

        reg.offset += base;
        add_register(f, reg);
    }
}

/* In the unrolled map channels are powered without software's help. */
static void add_power(Fixture *f, uint32_t reset)
{
    for (unsigned id = 0; id < DW_EDMA_MAX_CHANNELS; id++) {
        Register wr = { DW_EDMA_WR_PWR_EN(id), 0, 0 };

        if (id < CHANNELS) {
            wr.reset = reset;
            wr.mask = DW_EDMA_PWR_EN;
        }
        add_register(f, wr);
        wr.offset = DW_EDMA_RD_PWR_EN(id);
        add_register(f, wr);
    }
}

static void drop_bits(Fixture *f, uint32_t offset)
{
    for (unsigned i = 0; i < f->regs->len; i++) {
        Register *reg = &g_array_index(f->regs, Register, i);

        if (reg->offset == offset) {
            reg->mask = 0;
        }
    }
}

/* Registers behind the viewport are in no list. */
static void add_map(Fixture *f)
{
    static const Register viewport = {
        DW_EDMA_VIEWPORT, 0, DW_EDMA_VIEWPORT_CHANNEL | DW_EDMA_VIEWPORT_READ
    };

    add_registers(f, common_regs, ARRAY_SIZE(common_regs), 0);
    if (f->edma.map == QEDMA_MAP_COMPAT) {
        /* "HDMA compatibility mode does not implement ENGINE_EN" */
        drop_bits(f, DW_EDMA_WR_ENGINE_EN);
        drop_bits(f, DW_EDMA_RD_ENGINE_EN);
    }
    if (f->edma.map == QEDMA_MAP_LEGACY) {
        add_register(f, viewport);
        return;
    }
    add_registers(f, unroll_regs, ARRAY_SIZE(unroll_regs), 0);
    add_power(f, f->edma.map == QEDMA_MAP_UNROLL ? DW_EDMA_PWR_EN : 0);
    for (unsigned id = 0; id < CHANNELS; id++) {
        add_registers(f, context_regs, ARRAY_SIZE(context_regs),
                      DW_EDMA_WR_CONTEXT(id));
        add_registers(f, context_regs, ARRAY_SIZE(context_regs),
                      DW_EDMA_RD_CONTEXT(id));
    }
}

static Fixture *start_map(QEdmaMap map, const char *props)
{
    Fixture *f = g_new0(Fixture, 1);

    f->qts = qtest_initf("-M %s,memory-backend=ram -nodefaults -m 64M "
                         "-object memory-backend-memfd,id=ram,size=64M,"
                         "share=on -device %s,id=%s%s%s", DW_EP_MACHINE,
                         edma_lab_controller(map), DW_EP_ID,
                         edma_lab_map_property(map), props);
    f->ep = dw_ep_init(f->qts);
    f->edma = (QEdma) {
        .qts = f->qts, .map = map, .regs = edma_lab_regs(f->ep, map),
    };
    f->regs = g_array_new(false, false, sizeof(Register));
    add_map(f);
    return f;
}

static Fixture *start(const void *map)
{
    return start_map(*(const QEdmaMap *)map, "");
}

static void stop(Fixture *f)
{
    g_array_unref(f->regs);
    g_free(f->ep);
    qtest_quit(f->qts);
    g_free(f);
}

static const Register *find_register(Fixture *f, uint32_t offset)
{
    for (unsigned i = 0; i < f->regs->len; i++) {
        const Register *reg = &g_array_index(f->regs, Register, i);

        if (reg->offset == offset) {
            return reg;
        }
    }
    return NULL;
}

static void check_reset_values(Fixture *f)
{
    for (unsigned i = 0; i < f->regs->len; i++) {
        const Register *reg = &g_array_index(f->regs, Register, i);

        g_assert_cmphex(qedma_readl(&f->edma, reg->offset), ==, reg->reset);
    }
}

/* What a register reads after @val was written */
static uint32_t after_write(const Register *reg, uint32_t val)
{
    return (reg->reset & ~reg->mask) | (val & reg->mask);
}

static void test_reset(const void *map)
{
    Fixture *f = start(map);

    check_reset_values(f);
    stop(f);
}

static void test_masks(const void *map)
{
    static const uint32_t values[] = { ALL_ONES, 0, 0xa5a5a5a5, 0x5a5a5a5a };
    Fixture *f = start(map);

    for (unsigned i = 0; i < f->regs->len; i++) {
        const Register *reg = &g_array_index(f->regs, Register, i);

        for (unsigned v = 0; v < ARRAY_SIZE(values); v++) {
            qedma_writel(&f->edma, reg->offset, values[v]);
            g_assert_cmphex(qedma_readl(&f->edma, reg->offset), ==,
                            after_write(reg, values[v]));
        }
    }
    stop(f);
}

/* No register is another one. */
static void test_apart(const void *map)
{
    Fixture *f = start(map);

    for (unsigned i = 0; i < f->regs->len; i++) {
        const Register *reg = &g_array_index(f->regs, Register, i);

        qedma_writel(&f->edma, reg->offset, reg->offset * 0x01010101u);
    }
    for (unsigned i = 0; i < f->regs->len; i++) {
        const Register *reg = &g_array_index(f->regs, Register, i);

        g_assert_cmphex(qedma_readl(&f->edma, reg->offset), ==,
                        after_write(reg, reg->offset * 0x01010101u));
    }
    stop(f);
}

/* Every other offset reads 0 and ignores writes. */
static void test_holes(const void *map)
{
    Fixture *f = start(map);
    uint32_t end = f->edma.map == QEDMA_MAP_LEGACY ? DW_EDMA_LEGACY_CONTEXT :
                   RCAR_GEN4_DMA_SIZE;

    for (uint32_t offset = 0; offset < end; offset += 4) {
        if (find_register(f, offset) || offset == DW_EDMA_WR_DOORBELL ||
            offset == DW_EDMA_RD_DOORBELL) {
            continue;
        }
        qedma_writel(&f->edma, offset, ALL_ONES);
        g_assert_cmphex(qedma_readl(&f->edma, offset), ==, 0);
    }
    check_reset_values(f);
    stop(f);
}

/* The controller's reset, if it has one, and the system's */
static void test_resets(const void *map)
{
    Fixture *f = start(map);

    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < f->regs->len; i++) {
            const Register *reg = &g_array_index(f->regs, Register, i);

            qedma_writel(&f->edma, reg->offset, ~reg->reset);
        }
        for (unsigned i = 0; i < ARRAY_SIZE(context_regs); i++) {
            QEdmaChan ch = { &f->edma, QEDMA_READ, 2 };

            qedma_ch_writel(&ch, context_regs[i].offset, ALL_ONES);
        }
        if (round || f->ep->plat) {
            qtest_system_reset(f->qts);
        } else {
            dw_ep_set_reset(f->ep, true);
            g_assert_cmphex(qedma_readl(&f->edma, DW_EDMA_CTRL), ==,
                            ALL_ONES);
            qedma_writel(&f->edma, DW_EDMA_WR_ENGINE_EN, DW_EDMA_ENGINE_EN);
            dw_ep_set_reset(f->ep, false);
        }
        check_reset_values(f);
        for (unsigned i = 0; i < ARRAY_SIZE(context_regs); i++) {
            QEdmaChan ch = { &f->edma, QEDMA_READ, 2 };

            g_assert_cmphex(qedma_ch_readl(&ch, context_regs[i].offset), ==,
                            0);
        }
    }
    stop(f);
}

/* The contexts as the map shows them: each channel has its own. */
static void test_contexts(const void *map)
{
    Fixture *f = start(map);

    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned user = 0; user < QEDMA_NUM_DIRS * CHANNELS; user++) {
            QEdmaChan ch = { &f->edma, user % QEDMA_NUM_DIRS,
                             user / QEDMA_NUM_DIRS };

            for (unsigned i = 0; i < ARRAY_SIZE(context_regs); i++) {
                const Register *reg = &context_regs[i];
                uint32_t val = (user * 64 + reg->offset + 1) * 0x01010101u;

                if (pass) {
                    g_assert_cmphex(qedma_ch_readl(&ch, reg->offset), ==,
                                    val & reg->mask);
                } else {
                    g_assert_cmphex(qedma_ch_readl(&ch, reg->offset), ==, 0);
                    qedma_ch_writel(&ch, reg->offset, val);
                }
            }
        }
    }
    stop(f);
}

static void test_channel_counts(void)
{
    static const struct {
        unsigned wr, rd;
    } counts[] = { { 1, 1 }, { 8, 8 }, { 2, 5 } };

    for (unsigned i = 0; i < ARRAY_SIZE(counts); i++) {
        g_autofree char *props =
            g_strdup_printf(",num-dma-wr-ch=%u,num-dma-rd-ch=%u",
                            counts[i].wr, counts[i].rd);
        Fixture *f = start_map(QEDMA_MAP_UNROLL, props);
        uint32_t wr = (1u << counts[i].wr) - 1;
        uint32_t rd = (1u << counts[i].rd) - 1;

        g_assert_cmpuint(qedma_num_channels(&f->edma, QEDMA_WRITE), ==,
                         counts[i].wr);
        g_assert_cmpuint(qedma_num_channels(&f->edma, QEDMA_READ), ==,
                         counts[i].rd);
        g_assert_cmphex(qedma_readl(&f->edma, DW_EDMA_WR_INT_MASK), ==,
                        wr | wr << 16);
        g_assert_cmphex(qedma_readl(&f->edma, DW_EDMA_RD_INT_MASK), ==,
                        rd | rd << 16);
        /* The context of the last channel is there, of the next is not. */
        for (unsigned id = 0; id < DW_EDMA_MAX_CHANNELS; id++) {
            QEdmaChan ch = { &f->edma, QEDMA_WRITE, id };

            qedma_ch_writel(&ch, DW_EDMA_CH_SAR_LOW, 0x1000 + id);
            g_assert_cmphex(qedma_ch_readl(&ch, DW_EDMA_CH_SAR_LOW), ==,
                            id < counts[i].wr ? 0x1000 + id : 0);
            ch.dir = QEDMA_READ;
            qedma_ch_writel(&ch, DW_EDMA_CH_SAR_LOW, 0x2000 + id);
            g_assert_cmphex(qedma_ch_readl(&ch, DW_EDMA_CH_SAR_LOW), ==,
                            id < counts[i].rd ? 0x2000 + id : 0);
        }
        stop(f);
    }
}

/* Doorbells */

static const uint32_t doorbells[QEDMA_NUM_DIRS] = {
    [QEDMA_WRITE] = DW_EDMA_WR_DOORBELL,
    [QEDMA_READ] = DW_EDMA_RD_DOORBELL,
};

static const uint32_t int_statuses[QEDMA_NUM_DIRS] = {
    [QEDMA_WRITE] = DW_EDMA_WR_INT_STATUS,
    [QEDMA_READ] = DW_EDMA_RD_INT_STATUS,
};

static void check_all_idle(Fixture *f)
{
    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        g_assert_cmphex(qedma_readl(&f->edma, int_statuses[dir]), ==, 0);
        for (unsigned id = 0; id < CHANNELS; id++) {
            QEdmaChan ch = { &f->edma, dir, id };

            g_assert_cmpint(qedma_status(&ch), ==, QEDMA_RESET);
        }
    }
}

/* Engine off, power off, no such channel, nothing to stop: ignored */
static void test_doorbell_ignored(const void *map)
{
    Fixture *f = start(map);

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        QEdmaChan ch = { &f->edma, dir, 1 };

        for (unsigned id = 0; id < 8; id++) {
            qedma_writel(&f->edma, doorbells[dir], id);
        }
        check_all_idle(f);

        qedma_enable(&ch, QEDMA_IRQ_LOCAL);
        qedma_writel(&f->edma, doorbells[dir], CHANNELS);
        qedma_writel(&f->edma, doorbells[dir], 7);
        qedma_stop(&ch);
        if (f->edma.map != QEDMA_MAP_LEGACY) {
            qedma_writel(&f->edma, dir == QEDMA_WRITE ? DW_EDMA_WR_PWR_EN(1) :
                         DW_EDMA_RD_PWR_EN(1), 0);
            qedma_doorbell(&ch);
        }
        check_all_idle(f);
    }
    stop(f);
}

/* A list that never gets anywhere: the channel runs, its context is closed. */
static void test_running(const void *map)
{
    Fixture *f = start(map);
    uint8_t *ram = shared_ram_map(f->qts, 64 * MiB);

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        uint32_t engine_en = dir == QEDMA_WRITE ? DW_EDMA_WR_ENGINE_EN :
                             DW_EDMA_RD_ENGINE_EN;
        QEdmaChan ch = { &f->edma, dir, 3 };
        QEdmaList list;

        qedma_list_init(&list, f->edma.map, ram + (LIST - CABLE_RAM_BASE),
                        LIST);
        qedma_list_jump(&list, LIST);
        qedma_enable(&ch, QEDMA_IRQ_LOCAL);
        qedma_start_list(&ch, LIST);
        g_assert_cmpint(qedma_status(&ch), ==, QEDMA_RUNNING);
        for (unsigned i = 0; i < ARRAY_SIZE(context_regs); i++) {
            uint32_t before = qedma_ch_readl(&ch, context_regs[i].offset);

            qedma_ch_writel(&ch, context_regs[i].offset, ~before);
            g_assert_cmphex(qedma_ch_readl(&ch, context_regs[i].offset), ==,
                            before);
        }
        g_assert_cmphex(qedma_readl(&f->edma, engine_en), ==,
                        f->edma.map == QEDMA_MAP_COMPAT ? 0 :
                        DW_EDMA_ENGINE_EN);
        qedma_off(&ch);
        g_assert_cmpint(qedma_status(&ch), ==, QEDMA_STOPPED);
        g_assert_cmphex(qedma_readl(&f->edma, int_statuses[dir]), ==, 0);
    }
    shared_ram_unmap(ram, 64 * MiB);
    stop(f);
}

/* Without a cable there is no link: transfers end at once. */
static void test_no_cable(const void *map)
{
    Fixture *f = start(map);

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        for (unsigned id = 0; id < CHANNELS; id++) {
            QEdmaChan ch = { &f->edma, dir, id };

            qedma_enable(&ch, QEDMA_IRQ_LOCAL);
            qedma_start_block(&ch, BUF, BUF, 4096, QEDMA_LOCAL_INT);
            qedma_wait_aborted(&ch);
            g_assert_cmpint(qedma_status(&ch), ==, QEDMA_HALTED);
            g_assert_cmpint(qedma_error(&ch), ==, dir == QEDMA_WRITE ?
                            QEDMA_OK : QEDMA_ERR_TIMEOUT);
            qedma_clear_abort(&ch);
            g_assert_cmphex(qedma_readl(&f->edma, int_statuses[dir]), ==, 0);
        }
    }
    stop(f);
}

typedef struct MapTest {
    const char *name;
    void (*run)(const void *map);
} MapTest;

static const MapTest map_tests[] = {
    { "reset", test_reset },
    { "masks", test_masks },
    { "apart", test_apart },
    { "holes", test_holes },
    { "resets", test_resets },
    { "contexts", test_contexts },
    { "doorbell-ignored", test_doorbell_ignored },
    { "running", test_running },
    { "no-cable", test_no_cable },
};

static void add_map_tests(const QEdmaMap *map)
{
    for (unsigned i = 0; i < ARRAY_SIZE(map_tests); i++) {
        g_autofree char *path = g_strdup_printf("/dw-edma-regs/%s/%s",
                                                qedma_map_name(*map),
                                                map_tests[i].name);

        qtest_add_data_func(path, map, map_tests[i].run);
    }
}

int main(int argc, char **argv)
{
    static const QEdmaMap maps[] = {
        QEDMA_MAP_UNROLL, QEDMA_MAP_LEGACY, QEDMA_MAP_COMPAT,
    };

    g_test_init(&argc, &argv, NULL);

    for (unsigned i = 0; i < ARRAY_SIZE(maps); i++) {
        add_map_tests(&maps[i]);
    }
    qtest_add_func("/dw-edma-regs/channel-counts", test_channel_counts);

    return g_test_run();
}
