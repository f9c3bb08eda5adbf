/*
 * QTest of the DesignWare HDMA: what its native register map has of its own
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Registers of each channel, stop, watermark and abort interrupts with their
 * messages, error codes.  Blocks and lists in this map are in dw-edma-test.c.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/dma/dw-edma-regs.h"
#include "libqos/dw-edma-lab.h"

#define ALL_ONES UINT32_MAX
#define PAGE 4096
#define LINE_DMA 0

/* Where each kind of message goes, and the data of all */
#define STOP_ADDR (EDMA_IMWR + 0x104)
#define WATERMARK_ADDR (EDMA_IMWR + 0x208)
#define ABORT_ADDR (EDMA_IMWR + 0x30c)
#define MESSAGE 0xc0de1234

static const struct {
    uint32_t reg;
    uint32_t mask;
} regs[] = {
    { DW_HDMA_CH_EN, DW_HDMA_EN },
    { DW_HDMA_CH_DOORBELL, 0 },
    { DW_HDMA_CH_PREFETCH, ALL_ONES },
    { DW_HDMA_CH_HANDSHAKE, ALL_ONES },
    { DW_HDMA_CH_LLP_LOW, ALL_ONES },
    { DW_HDMA_CH_LLP_HIGH, ALL_ONES },
    { DW_HDMA_CH_CYCLE_SYNC, DW_HDMA_CYCLE_BIT | DW_HDMA_CYCLE_STATE },
    { DW_HDMA_CH_TRANSFER_SIZE, ALL_ONES },
    { DW_HDMA_CH_SAR_LOW, ALL_ONES },
    { DW_HDMA_CH_SAR_HIGH, ALL_ONES },
    { DW_HDMA_CH_DAR_LOW, ALL_ONES },
    { DW_HDMA_CH_DAR_HIGH, ALL_ONES },
    { DW_HDMA_CH_WATERMARK_EN, DW_HDMA_WATERMARK_REMOTE |
      DW_HDMA_WATERMARK_LOCAL },
    { DW_HDMA_CH_CONTROL1, ALL_ONES },
    { DW_HDMA_CH_FUNC_NUM, ALL_ONES },
    { DW_HDMA_CH_QOS, ALL_ONES },
    { DW_HDMA_CH_STATUS, 0 },
    { DW_HDMA_CH_INT_STATUS, 0 },
    { DW_HDMA_CH_INT_SETUP, DW_HDMA_INT_SETUP_MASK },
    { DW_HDMA_CH_INT_CLEAR, 0 },
    { DW_HDMA_CH_MSI_STOP_LOW, ALL_ONES },
    { DW_HDMA_CH_MSI_STOP_HIGH, ALL_ONES },
    { DW_HDMA_CH_MSI_WATERMARK_LOW, ALL_ONES },
    { DW_HDMA_CH_MSI_WATERMARK_HIGH, ALL_ONES },
    { DW_HDMA_CH_MSI_ABORT_LOW, ALL_ONES },
    { DW_HDMA_CH_MSI_ABORT_HIGH, ALL_ONES },
    { DW_HDMA_CH_MSI_MSGDATA, ALL_ONES },
};

static EdmaLab *start(void)
{
    EdmaLab *l = edma_lab_start_map(QEDMA_MAP_NATIVE);

    qtest_irq_intercept_out_named(l->c->soc, DW_EP_QOM_PATH, "sysbus-irq");
    memset(edma_lab_ram(l, EDMA_HOST, EDMA_IMWR), 0, PAGE);
    return l;
}

/* A channel that nobody has enabled */
static QEdmaChan bare_chan(EdmaLab *l, QEdmaDir dir, unsigned id)
{
    return (QEdmaChan) { .edma = &l->soc, .dir = dir, .id = id };
}

static bool line(EdmaLab *l)
{
    return qtest_get_irq(l->c->soc, LINE_DMA);
}

/* Registers */

/* The doorbell starts nothing while the channel is disabled. */
static uint32_t test_value(uint32_t reg, unsigned salt)
{
    if (reg == DW_HDMA_CH_EN) {
        return 0;
    }
    return (reg + 1) * 0x01030507u + salt * 0x11111111u;
}

static void test_registers(void)
{
    EdmaLab *l = start();

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        for (unsigned id = 0; id < EDMA_CHANNELS; id++) {
            QEdmaChan ch = bare_chan(l, dir, id);

            for (unsigned i = 0; i < ARRAY_SIZE(regs); i++) {
                g_assert_cmphex(qedma_ch_readl(&ch, regs[i].reg), ==, 0);
                qedma_ch_writel(&ch, regs[i].reg, ALL_ONES &
                                ~DW_HDMA_DOORBELL_START);
                qedma_ch_writel(&ch, regs[i].reg,
                                test_value(regs[i].reg, dir + 2 * id));
            }
        }
    }
    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        for (unsigned id = 0; id < EDMA_CHANNELS; id++) {
            QEdmaChan ch = bare_chan(l, dir, id);

            for (unsigned i = 0; i < ARRAY_SIZE(regs); i++) {
                g_assert_cmphex(qedma_ch_readl(&ch, regs[i].reg), ==,
                                test_value(regs[i].reg, dir + 2 * id) &
                                regs[i].mask);
            }
        }
    }
    edma_lab_free(l);
}

/* Between the registers, and of channels that are not there */
static void test_holes(void)
{
    EdmaLab *l = start();
    QEdmaChan first = bare_chan(l, QEDMA_READ, 0);
    QEdmaChan absent = bare_chan(l, QEDMA_WRITE, EDMA_CHANNELS);

    for (uint32_t reg = 0; reg < DW_HDMA_CHANNEL_SIZE; reg += 4) {
        bool known = false;

        for (unsigned i = 0; i < ARRAY_SIZE(regs); i++) {
            known |= regs[i].reg == reg;
        }
        if (!known) {
            qedma_ch_writel(&first, reg, ALL_ONES);
            g_assert_cmphex(qedma_ch_readl(&first, reg), ==, 0);
        }
        qedma_ch_writel(&absent, reg, ALL_ONES);
        g_assert_cmphex(qedma_ch_readl(&absent, reg), ==, 0);
    }
    edma_lab_free(l);
}

/* Doorbells of a disabled channel; disabling one that runs */
static void test_enable(void)
{
    EdmaLab *l = start();

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        QEdmaChan ch = bare_chan(l, dir, 1);
        QEdmaList list;

        edma_lab_list(l, &ch, &list);
        qedma_list_jump(&list, list.addr);
        qedma_start_list(&ch, list.addr);
        g_assert_cmpint(qedma_status(&ch), ==, QEDMA_RESET);

        qedma_enable(&ch, QEDMA_IRQ_LOCAL);
        qedma_start_list(&ch, list.addr);
        g_assert_cmpint(qedma_status(&ch), ==, QEDMA_RUNNING);
        for (uint32_t reg = DW_HDMA_CH_LLP_LOW; reg <= DW_HDMA_CH_FUNC_NUM;
             reg += 4) {
            uint32_t before = qedma_ch_readl(&ch, reg);

            qedma_ch_writel(&ch, reg, ~before);
            g_assert_cmphex(qedma_ch_readl(&ch, reg), ==, before);
        }
        qedma_ch_writel(&ch, DW_HDMA_CH_EN, 0);
        qedma_wait_status(&ch, QEDMA_STOPPED);
        g_assert_cmphex(qedma_ch_readl(&ch, DW_HDMA_CH_INT_STATUS), ==, 0);
        qedma_doorbell(&ch);
        g_assert_cmpint(qedma_status(&ch), ==, QEDMA_STOPPED);
    }
    edma_lab_free(l);
}

/* Interrupts */

/* Enable local and remote interrupts as @setup says. */
static QEdmaChan setup_chan(EdmaLab *l, QEdmaDir dir, unsigned id,
                            uint32_t setup)
{
    QEdmaChan ch = edma_lab_chan(l, dir, id);

    qedma_ch_writel(&ch, DW_HDMA_CH_INT_SETUP, setup);
    qedma_ch_writel(&ch, DW_HDMA_CH_MSI_STOP_LOW, STOP_ADDR);
    qedma_ch_writel(&ch, DW_HDMA_CH_MSI_WATERMARK_LOW, WATERMARK_ADDR);
    qedma_ch_writel(&ch, DW_HDMA_CH_MSI_ABORT_LOW, ABORT_ADDR);
    qedma_ch_writel(&ch, DW_HDMA_CH_MSI_MSGDATA, MESSAGE);
    return ch;
}

/* Messages went exactly to the places of @a and @b, 0 for none. */
static void check_messages(EdmaLab *l, uint64_t a, uint64_t b)
{
    g_autofree uint8_t *expected = g_malloc0(PAGE);
    uint8_t *page = edma_lab_ram(l, EDMA_HOST, EDMA_IMWR);

    if (a) {
        stl_le_p(expected + (a - EDMA_IMWR), MESSAGE);
    }
    if (b) {
        stl_le_p(expected + (b - EDMA_IMWR), MESSAGE);
    }
    cable_wait(memcmp(page, expected, PAGE) == 0);
    memset(page, 0, PAGE);
}

static void run_list(EdmaLab *l, QEdmaChan *ch, unsigned ints)
{
    QEdmaList list;

    edma_lab_list(l, ch, &list);
    edma_lab_element(&list, ch->dir, EDMA_ARENA, EDMA_ARENA + 64 * KiB, 500,
                     ints);
    edma_lab_expect(l, ch->dir, EDMA_ARENA, EDMA_ARENA + 64 * KiB, 500);
    qedma_list_end(&list, list.addr);
    qedma_start_list(ch, list.addr);
    qedma_wait_status(ch, QEDMA_STOPPED);
    edma_lab_check(l);
}

static uint32_t int_status(QEdmaChan *ch)
{
    return qedma_ch_readl(ch, DW_HDMA_CH_INT_STATUS);
}

static void clear_all(EdmaLab *l, QEdmaChan *ch)
{
    qedma_ch_writel(ch, DW_HDMA_CH_INT_CLEAR, ALL_ONES);
    g_assert_cmphex(int_status(ch), ==, 0);
    cable_wait(!line(l));
}

/* Every combination of the stop interrupt's enables and mask */
static void test_stop(void)
{
    EdmaLab *l = start();

    for (unsigned i = 0; i < 8; i++) {
        uint32_t setup = (i & 1 ? DW_HDMA_LOCAL_STOP_EN : 0) |
                         (i & 2 ? DW_HDMA_REMOTE_STOP_EN : 0) |
                         (i & 4 ? DW_HDMA_STOP_MASK : 0);

        for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
            QEdmaChan ch = setup_chan(l, dir, i % EDMA_CHANNELS, setup);

            run_list(l, &ch, 0);
            check_messages(l, i & 2 ? STOP_ADDR : 0, 0);
            g_assert_cmphex(int_status(&ch), ==, i & 1 ? DW_HDMA_INT_STOP :
                            0);
            if ((i & 5) == 1) {
                cable_wait(line(l));
                /* The mask is about the line only. */
                qedma_ch_writel(&ch, DW_HDMA_CH_INT_SETUP,
                                setup | DW_HDMA_STOP_MASK);
                cable_wait(!line(l));
                g_assert_cmphex(int_status(&ch), ==, DW_HDMA_INT_STOP);
                qedma_ch_writel(&ch, DW_HDMA_CH_INT_SETUP, setup);
                cable_wait(line(l));
                qedma_ch_writel(&ch, DW_HDMA_CH_INT_CLEAR,
                                (uint32_t)~DW_HDMA_INT_STOP);
                g_assert_true(line(l));
            } else {
                g_assert_false(line(l));
            }
            clear_all(l, &ch);
        }
    }
    edma_lab_free(l);
}

/* LWIE and RWIE of an element */
static void test_watermark(void)
{
    EdmaLab *l = start();

    for (unsigned ints = 0; ints < 4; ints++) {
        for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
            QEdmaChan ch = setup_chan(l, dir, 2, 0);

            run_list(l, &ch, ints);
            check_messages(l, ints & QEDMA_REMOTE_INT ? WATERMARK_ADDR : 0, 0);
            g_assert_cmphex(int_status(&ch), ==, ints & QEDMA_LOCAL_INT ?
                            DW_HDMA_INT_WATERMARK : 0);
            /* Of the last element */
            g_assert_cmphex(qedma_ch_readl(&ch, DW_HDMA_CH_WATERMARK_EN), ==,
                            (ints & QEDMA_LOCAL_INT ?
                             DW_HDMA_WATERMARK_LOCAL : 0) |
                            (ints & QEDMA_REMOTE_INT ?
                             DW_HDMA_WATERMARK_REMOTE : 0));
            if (ints & QEDMA_LOCAL_INT) {
                cable_wait(line(l));
                qedma_ch_writel(&ch, DW_HDMA_CH_INT_SETUP,
                                DW_HDMA_WATERMARK_MASK);
                cable_wait(!line(l));
            }
            clear_all(l, &ch);
        }
    }
    edma_lab_free(l);
}

/* A ring tells of each round by its watermark, and of its end by the stop. */
static void test_ring(void)
{
    EdmaLab *l = start();

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        QEdmaChan ch = setup_chan(l, dir, 0, DW_HDMA_LOCAL_STOP_EN);
        QEdmaList list;

        edma_lab_list(l, &ch, &list);
        edma_lab_element(&list, dir, EDMA_ARENA, EDMA_ARENA + MiB, PAGE,
                         QEDMA_LOCAL_INT);
        edma_lab_expect(l, dir, EDMA_ARENA, EDMA_ARENA + MiB, PAGE);
        qedma_list_jump(&list, list.addr);
        qedma_start_list(&ch, list.addr);
        for (unsigned i = 0; i < 50; i++) {
            cable_wait(int_status(&ch) == DW_HDMA_INT_WATERMARK);
            qedma_ch_writel(&ch, DW_HDMA_CH_INT_CLEAR, DW_HDMA_INT_WATERMARK);
        }
        qedma_stop(&ch);
        qedma_wait_status(&ch, QEDMA_STOPPED);
        g_assert_cmphex(int_status(&ch) & ~DW_HDMA_INT_WATERMARK, ==,
                        DW_HDMA_INT_STOP);
        edma_lab_check(l);
        clear_all(l, &ch);
    }
    edma_lab_free(l);
}

/* Faults: the code, and every combination of enables and mask */

typedef struct Fault {
    QEdmaDir dir;
    uint64_t soc, host;
    uint32_t code;
} Fault;

static const Fault faults[] = {
    { QEDMA_WRITE, EDMA_NOWHERE, EDMA_ARENA, DW_HDMA_ERR_UNSUPPORTED },
    { QEDMA_WRITE, EDMA_ARENA, EDMA_NOWHERE, DW_HDMA_ERR_WRITE },
    { QEDMA_READ, EDMA_NOWHERE, EDMA_ARENA, DW_HDMA_ERR_WRITE },
    { QEDMA_READ, EDMA_ARENA, EDMA_NOWHERE, DW_HDMA_ERR_UNSUPPORTED },
};

static void check_fault(EdmaLab *l, QEdmaChan *ch, uint32_t code,
                        unsigned enables)
{
    qedma_wait_status(ch, QEDMA_HALTED);
    check_messages(l, enables & 2 ? ABORT_ADDR : 0, 0);
    g_assert_cmphex(int_status(ch), ==, code << DW_HDMA_INT_ERROR_SHIFT |
                    (enables & 1 ? DW_HDMA_INT_ABORT : 0));
    if ((enables & 5) == 1) {
        cable_wait(line(l));
    } else {
        g_assert_false(line(l));
    }
    /* The other bits leave the error alone. */
    qedma_ch_writel(ch, DW_HDMA_CH_INT_CLEAR, (uint32_t)~DW_HDMA_INT_ABORT);
    g_assert_cmphex(int_status(ch) >> DW_HDMA_INT_ERROR_SHIFT, ==, code);
    qedma_ch_writel(ch, DW_HDMA_CH_INT_CLEAR, DW_HDMA_INT_ABORT);
    g_assert_cmphex(int_status(ch), ==, 0);
    cable_wait(!line(l));
}

static void test_abort(void)
{
    EdmaLab *l = start();

    for (unsigned enables = 0; enables < 8; enables++) {
        uint32_t setup = (enables & 1 ? DW_HDMA_LOCAL_ABORT_EN : 0) |
                         (enables & 2 ? DW_HDMA_REMOTE_ABORT_EN : 0) |
                         (enables & 4 ? DW_HDMA_ABORT_MASK : 0);

        for (unsigned i = 0; i < ARRAY_SIZE(faults); i++) {
            QEdmaChan ch = setup_chan(l, faults[i].dir, enables % 4, setup);

            edma_lab_block(&ch, faults[i].soc, faults[i].host, PAGE, 0);
            check_fault(l, &ch, faults[i].code, enables);
            qedma_start_list(&ch, EDMA_NOWHERE);
            check_fault(l, &ch, DW_HDMA_ERR_LL_UNSUPPORTED, enables);
        }
        edma_lab_check(l);
    }
    edma_lab_free(l);
}

/* A list that is not at a whole word, up to the last byte of memory */
static void test_unaligned_list(void)
{
    EdmaLab *l = start();
    const uint64_t bad[] = {
        EDMA_RAM_END - 1, EDMA_RAM_END - 2, EDMA_RAM_END - 3, EDMA_ARENA + 1,
    };

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        QEdmaChan ch = setup_chan(l, dir, 1, DW_HDMA_LOCAL_ABORT_EN);

        for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
            qedma_start_list(&ch, bad[i]);
            check_fault(l, &ch, DW_HDMA_ERR_LL_UNSUPPORTED, 1);
        }
        run_list(l, &ch, 0);
    }
    edma_lab_free(l);
}

/* Bus mastering off, and no link */
static void test_no_host(void)
{
    EdmaLab *l = start();
    static const uint32_t codes[2][QEDMA_NUM_DIRS] = {
        { DW_HDMA_ERR_WRITE, DW_HDMA_ERR_UNSUPPORTED },
        { DW_HDMA_ERR_WRITE, DW_HDMA_ERR_CPL_TIMEOUT },
    };

    cable_cfg_writew(l->c, 0, PCI_COMMAND, PCI_COMMAND_MEMORY);
    for (unsigned link_down = 0; link_down < 2; link_down++) {
        if (link_down) {
            dw_ep_stop_link(l->c->ep);
        }
        for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
            QEdmaChan ch = setup_chan(l, dir, 3, DW_HDMA_LOCAL_ABORT_EN |
                                      DW_HDMA_REMOTE_ABORT_EN);

            edma_lab_block(&ch, EDMA_ARENA, EDMA_ARENA, PAGE, 0);
            qedma_wait_status(&ch, QEDMA_HALTED);
            g_assert_cmphex(int_status(&ch), ==, DW_HDMA_INT_ABORT |
                            codes[link_down][dir] <<
                            DW_HDMA_INT_ERROR_SHIFT);
            /* The message cannot get through either. */
            check_messages(l, 0, 0);
            clear_all(l, &ch);
        }
        edma_lab_check(l);
    }
    edma_lab_free(l);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);

    qtest_add_func("/dw-edma-hdma/registers", test_registers);
    qtest_add_func("/dw-edma-hdma/holes", test_holes);
    qtest_add_func("/dw-edma-hdma/enable", test_enable);
    qtest_add_func("/dw-edma-hdma/stop", test_stop);
    qtest_add_func("/dw-edma-hdma/watermark", test_watermark);
    qtest_add_func("/dw-edma-hdma/ring", test_ring);
    qtest_add_func("/dw-edma-hdma/abort", test_abort);
    qtest_add_func("/dw-edma-hdma/unaligned-list", test_unaligned_list);
    qtest_add_func("/dw-edma-hdma/no-host", test_no_host);
    return g_test_run();
}
