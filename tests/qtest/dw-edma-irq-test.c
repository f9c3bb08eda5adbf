/*
 * QTest of the DesignWare eDMA: interrupts to the SoC and to the host
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Status, mask and clear registers and the line that they drive; the posted
 * writes (IMWr) by which the host is told; the emulated interrupt.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/dma/dw-edma-regs.h"
#include "libqos/dw-edma-lab.h"

#define PAGE 4096
/* Interrupt lines of the device in their order: dma, sft_ce, app */
#define LINE_DMA 0
#define MSI_DATA 0x4a20
/* An address of the host that nothing decodes, so that it is never mapped */
#define MSI_NOWHERE 0x3ffff000ULL
/* GITS_TRANSLATER of the host's machine */
#define ITS_TRANSLATER 0x08090040ULL

static const struct {
    uint32_t status, mask, clear;
} int_regs[QEDMA_NUM_DIRS] = {
    [QEDMA_WRITE] = { DW_EDMA_WR_INT_STATUS, DW_EDMA_WR_INT_MASK,
                      DW_EDMA_WR_INT_CLEAR },
    [QEDMA_READ] = { DW_EDMA_RD_INT_STATUS, DW_EDMA_RD_INT_MASK,
                     DW_EDMA_RD_INT_CLEAR },
};

static EdmaLab *start(void)
{
    EdmaLab *l = edma_lab_start("", "");

    qtest_irq_intercept_out_named(l->c->soc, DW_EP_QOM_PATH, "sysbus-irq");
    memset(edma_lab_ram(l, EDMA_HOST, EDMA_IMWR), 0, PAGE);
    return l;
}

static bool line(EdmaLab *l)
{
    return qtest_get_irq(l->c->soc, LINE_DMA);
}

/* A block whose end is of interest, somewhere in the arena */
static void run_block(EdmaLab *l, QEdmaChan *ch, unsigned ints)
{
    uint64_t at = EDMA_ARENA + (ch->id * QEDMA_NUM_DIRS + ch->dir) * PAGE;

    edma_lab_block(ch, at, at + 64 * KiB, 1000, ints);
    edma_lab_expect(l, ch->dir, at, at + 64 * KiB, 1000);
    qedma_wait_status(ch, QEDMA_STOPPED);
}

/* A block that cannot be read or written, for the abort interrupt */
static void run_abort(QEdmaChan *ch, unsigned ints)
{
    edma_lab_block(ch, EDMA_NOWHERE, EDMA_ARENA, PAGE, ints);
    qedma_wait_status(ch, QEDMA_HALTED);
}

/* The line */

static void test_mask(void)
{
    EdmaLab *l = start();

    g_assert_false(line(l));
    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        for (unsigned id = 0; id < EDMA_CHANNELS; id++) {
            QEdmaChan ch = edma_lab_chan(l, dir, id);
            uint32_t mask = qedma_readl(&l->soc, int_regs[dir].mask);

            run_block(l, &ch, QEDMA_LOCAL_INT);
            g_assert_cmphex(qedma_readl(&l->soc, int_regs[dir].status), ==,
                            DW_EDMA_INT_DONE(id));
            cable_wait(line(l));

            /* The mask is about the line, not about the status. */
            qedma_writel(&l->soc, int_regs[dir].mask,
                         mask | DW_EDMA_INT_DONE(id));
            g_assert_cmphex(qedma_readl(&l->soc, int_regs[dir].status), ==,
                            DW_EDMA_INT_DONE(id));
            cable_wait(!line(l));
            qedma_writel(&l->soc, int_regs[dir].mask, mask);
            cable_wait(line(l));

            /* Zeros and other bits clear nothing. */
            qedma_writel(&l->soc, int_regs[dir].clear, 0);
            qedma_writel(&l->soc, int_regs[dir].clear,
                         ~DW_EDMA_INT_DONE(id));
            g_assert_true(qedma_done(&ch));
            g_assert_true(line(l));
            qedma_clear_done(&ch);
            g_assert_cmphex(qedma_readl(&l->soc, int_regs[dir].status), ==,
                            0);
            cable_wait(!line(l));
        }
    }
    edma_lab_check(l);
    edma_lab_free(l);
}

/* What happens while it is masked is there when it is unmasked. */
static void test_masked_before(void)
{
    EdmaLab *l = start();

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        QEdmaChan ch = edma_lab_chan(l, dir, 2);

        qedma_writel(&l->soc, int_regs[dir].mask, UINT32_MAX);
        run_block(l, &ch, QEDMA_LOCAL_INT);
        g_assert_true(qedma_done(&ch));
        g_assert_false(line(l));
        qedma_writel(&l->soc, int_regs[dir].mask, 0);
        cable_wait(line(l));
        qedma_clear_done(&ch);
        cable_wait(!line(l));
    }
    edma_lab_free(l);
}

/* The line is low only when nothing is left. */
static void test_line_shared(void)
{
    EdmaLab *l = start();
    QEdmaChan ch[] = {
        edma_lab_chan(l, QEDMA_WRITE, 0), edma_lab_chan(l, QEDMA_WRITE, 3),
        edma_lab_chan(l, QEDMA_READ, 0), edma_lab_chan(l, QEDMA_READ, 1),
    };

    for (unsigned i = 0; i < ARRAY_SIZE(ch); i++) {
        run_block(l, &ch[i], QEDMA_LOCAL_INT);
    }
    for (unsigned i = 0; i < ARRAY_SIZE(ch); i++) {
        cable_wait(line(l));
        qedma_clear_done(&ch[i]);
    }
    cable_wait(!line(l));
    edma_lab_check(l);
    edma_lab_free(l);
}

static void test_abort_line(void)
{
    EdmaLab *l = start();

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        QEdmaChan ch = edma_lab_chan(l, dir, 1);

        run_abort(&ch, QEDMA_LOCAL_INT);
        g_assert_cmphex(qedma_readl(&l->soc, int_regs[dir].status), ==,
                        DW_EDMA_INT_ABORT(1));
        cable_wait(line(l));
        qedma_clear_abort(&ch);
        g_assert_false(qedma_aborted(&ch));
        cable_wait(!line(l));
    }
    edma_lab_free(l);
}

/* R-Car Gen4 has an enable a channel in front of its line. */
static void test_soc_enable(void)
{
    EdmaLab *l = start();
    DWEp *ep = l->c->ep;

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        for (unsigned id = 0; id < EDMA_CHANNELS; id++) {
            uint32_t bit = dir == QEDMA_WRITE ?
                           RCAR_GEN4_DMAINTSTSEN_WRITE(id) :
                           RCAR_GEN4_DMAINTSTSEN_READ(id);
            QEdmaChan ch = edma_lab_chan(l, dir, id);

            dw_ep_app_writel(ep, RCAR_GEN4_PCIEDMAINTSTSEN,
                             RCAR_GEN4_DMAINTSTSEN_MASK & ~bit);
            run_block(l, &ch, QEDMA_LOCAL_INT);
            g_assert_true(qedma_done(&ch));
            g_assert_false(line(l));
            dw_ep_app_writel(ep, RCAR_GEN4_PCIEDMAINTSTSEN, bit);
            cable_wait(line(l));
            qedma_clear_done(&ch);
            cable_wait(!line(l));
        }
    }
    edma_lab_free(l);
}

/* LIE of elements in the middle of a list, one interrupt each */
static void test_element(void)
{
    EdmaLab *l = start();

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        QEdmaChan ch = edma_lab_chan(l, dir, 0);
        QEdmaList list;

        edma_lab_list(l, &ch, &list);
        for (unsigned i = 0; i < 3; i++) {
            edma_lab_element(&list, dir, EDMA_ARENA + i * PAGE,
                             EDMA_ARENA + i * PAGE, PAGE,
                             i == 1 ? QEDMA_LOCAL_INT : 0);
            edma_lab_expect(l, dir, EDMA_ARENA + i * PAGE,
                            EDMA_ARENA + i * PAGE, PAGE);
        }
        qedma_list_end(&list, list.addr);
        qedma_start_list(&ch, list.addr);
        qedma_wait_status(&ch, QEDMA_STOPPED);
        g_assert_true(qedma_done(&ch));
        qedma_clear_done(&ch);
        edma_lab_check(l);

        /* No element asked for it. */
        qedma_list_recycle(&list);
        edma_lab_element(&list, dir, EDMA_ARENA, EDMA_ARENA + MiB, PAGE, 0);
        edma_lab_expect(l, dir, EDMA_ARENA, EDMA_ARENA + MiB, PAGE);
        qedma_list_end(&list, list.addr);
        qedma_doorbell(&ch);
        qedma_wait_status(&ch, QEDMA_STOPPED);
        g_assert_false(qedma_done(&ch));
        g_assert_false(line(l));
        edma_lab_check(l);
    }
    edma_lab_free(l);
}

/* Interrupt emulation: dw_edma_emul_irq_alloc() */

static void test_emulated(void)
{
    EdmaLab *l = start();
    static const uint32_t values[] = { 0, 1, UINT32_MAX };

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        /* dw_edma_v0_core_off() masks all; doorbells come all the same. */
        qedma_writel(&l->soc, int_regs[dir].mask, UINT32_MAX);
    }
    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        for (unsigned i = 0; i < ARRAY_SIZE(values); i++) {
            qedma_writel(&l->soc, int_regs[dir].status, values[i]);
            cable_wait(line(l));
            g_assert_cmphex(qedma_readl(&l->soc, int_regs[dir].status), ==,
                            0);
            /* dw_edma_v0_core_ack_emulated_irq() */
            qedma_writel(&l->soc, DW_EDMA_WR_INT_CLEAR, 0);
            qedma_writel(&l->soc, DW_EDMA_RD_INT_CLEAR, 0);
            cable_wait(!line(l));
        }
    }
    edma_lab_free(l);
}

/* Beside a real one: acknowledging either leaves the other. */
static void test_emulated_and_real(void)
{
    EdmaLab *l = start();

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        QEdmaChan ch = edma_lab_chan(l, dir, 3);

        run_block(l, &ch, QEDMA_LOCAL_INT);
        qedma_writel(&l->soc, int_regs[dir].status, 0);
        qedma_writel(&l->soc, int_regs[dir].clear, 0);
        g_assert_true(qedma_done(&ch));
        g_assert_true(line(l));

        qedma_writel(&l->soc, int_regs[dir].status, 0);
        qedma_clear_done(&ch);
        g_assert_true(line(l));
        qedma_writel(&l->soc, int_regs[dir].clear, 0);
        cable_wait(!line(l));
    }
    edma_lab_free(l);
}

/* The host rings: through BAR4, whose page shows the read status. */
static void test_emulated_by_host(void)
{
    EdmaLab *l = start();
    uint64_t page = (l->soc.regs + DW_EDMA_RD_INT_STATUS) & ~(PAGE - 1ULL);
    uint64_t reg = cable_bar(0, 4) + l->soc.regs + DW_EDMA_RD_INT_STATUS -
                   page;

    dw_ep_inbound_bar_match(l->c->ep, 0, 0, 4, page);
    for (unsigned i = 0; i < 50; i++) {
        qtest_writel(l->c->rc, reg, 0);
        cable_wait(line(l));
        qedma_writel(&l->soc, DW_EDMA_RD_INT_CLEAR, 0);
        cable_wait(!line(l));
    }
    edma_lab_free(l);
}

/* Posted writes */

static uint32_t imwr_word(EdmaLab *l, uint64_t addr)
{
    return ldl_le_p(edma_lab_ram(l, EDMA_HOST, addr));
}

/* One word of the page changed, and that is taken back. */
static void check_imwr(EdmaLab *l, uint64_t addr, uint32_t value)
{
    static const uint8_t zeros[PAGE];
    uint8_t *page = edma_lab_ram(l, EDMA_HOST, EDMA_IMWR);

    cable_wait(imwr_word(l, addr));
    g_assert_cmphex(imwr_word(l, addr), ==, value);
    stl_le_p(edma_lab_ram(l, EDMA_HOST, addr), 0);
    g_assert_cmpint(memcmp(page, zeros, PAGE), ==, 0);
}

static void check_no_imwr(EdmaLab *l)
{
    static const uint8_t zeros[PAGE];

    g_assert_cmpint(memcmp(edma_lab_ram(l, EDMA_HOST, EDMA_IMWR), zeros,
                           PAGE), ==, 0);
}

static uint64_t done_addr(QEdmaDir dir)
{
    return EDMA_IMWR + 0x104 + dir * 0x400;
}

static uint64_t abort_addr(QEdmaDir dir)
{
    return EDMA_IMWR + 0x20c + dir * 0x400;
}

static uint16_t imwr_data(QEdmaChan *ch)
{
    return 0xa500 | ch->dir << 4 | ch->id;
}

/* All channels are set up before the first is used: pairs share a word. */
static void set_all_imwr(EdmaLab *l)
{
    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        for (unsigned id = 0; id < EDMA_CHANNELS; id++) {
            QEdmaChan ch = edma_lab_chan(l, dir, id);

            qedma_set_imwr(&ch, done_addr(dir), abort_addr(dir),
                           imwr_data(&ch));
        }
    }
}

static void test_imwr_done(void)
{
    EdmaLab *l = start();

    set_all_imwr(l);
    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        for (unsigned id = 0; id < EDMA_CHANNELS; id++) {
            QEdmaChan ch = edma_lab_chan(l, dir, id);

            /* Linux's recipe for the host: both, and the line masked */
            qedma_enable(&ch, QEDMA_IRQ_REMOTE);
            run_block(l, &ch, QEDMA_LOCAL_INT | QEDMA_REMOTE_INT);
            check_imwr(l, done_addr(dir), imwr_data(&ch));
            g_assert_true(qedma_done(&ch));
            g_assert_false(line(l));
            qedma_clear_done(&ch);

            /* To the SoC only */
            qedma_enable(&ch, QEDMA_IRQ_LOCAL);
            run_block(l, &ch, QEDMA_LOCAL_INT);
            cable_wait(line(l));
            qedma_clear_done(&ch);
            check_no_imwr(l);
        }
    }
    edma_lab_check(l);
    edma_lab_free(l);
}

static void test_imwr_abort(void)
{
    EdmaLab *l = start();

    set_all_imwr(l);
    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        for (unsigned id = 0; id < EDMA_CHANNELS; id++) {
            QEdmaChan ch = edma_lab_chan(l, dir, id);

            qedma_enable(&ch, QEDMA_IRQ_REMOTE);
            run_abort(&ch, QEDMA_LOCAL_INT | QEDMA_REMOTE_INT);
            check_imwr(l, abort_addr(dir), imwr_data(&ch));
            g_assert_true(qedma_aborted(&ch));
            g_assert_false(line(l));
            qedma_clear_abort(&ch);
        }
    }
    edma_lab_free(l);
}

/* In a list the enable of abort messages is LINKED_LIST_ERR_EN. */
static void test_imwr_list_abort(void)
{
    EdmaLab *l = start();

    set_all_imwr(l);
    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        uint32_t reg = dir == QEDMA_WRITE ? DW_EDMA_WR_LL_ERR_EN :
                       DW_EDMA_RD_LL_ERR_EN;

        for (unsigned id = 0; id < EDMA_CHANNELS; id++) {
            QEdmaChan ch = edma_lab_chan(l, dir, id);

            qedma_enable(&ch, QEDMA_IRQ_REMOTE);
            qedma_start_list(&ch, EDMA_NOWHERE);
            qedma_wait_status(&ch, QEDMA_HALTED);
            check_imwr(l, abort_addr(dir), imwr_data(&ch));
            g_assert_true(qedma_aborted(&ch));
            qedma_clear_abort(&ch);

            qedma_writel(&l->soc, reg, 0);
            qedma_start_list(&ch, EDMA_NOWHERE);
            qedma_wait_aborted(&ch);
            check_no_imwr(l);
            qedma_clear_abort(&ch);
        }
    }
    edma_lab_free(l);
}

/* Each RIE of a list posts; the data before it is there. */
static void test_imwr_order(void)
{
    EdmaLab *l = start();

    set_all_imwr(l);
    for (unsigned round = 0; round < 100; round++) {
        QEdmaChan ch = edma_lab_chan(l, QEDMA_WRITE, round % EDMA_CHANNELS);
        QEdmaList list;

        edma_lab_list(l, &ch, &list);
        for (unsigned i = 0; i < 8; i++) {
            uint64_t at = EDMA_ARENA + (round + i) * PAGE;

            edma_lab_element(&list, ch.dir, at, at + MiB, PAGE,
                             i == 7 ? QEDMA_REMOTE_INT : 0);
            edma_lab_expect(l, ch.dir, at, at + MiB, PAGE);
        }
        qedma_list_end(&list, list.addr);
        qedma_start_list(&ch, list.addr);
        /* No message to the engine, only the memory the host has. */
        cable_wait(imwr_word(l, done_addr(ch.dir)));
        g_assert_cmpint(memcmp(edma_lab_ram(l, EDMA_HOST, EDMA_ARENA + MiB +
                                            round * PAGE),
                               edma_lab_ram(l, EDMA_SOC, EDMA_ARENA +
                                            round * PAGE), 8 * PAGE), ==, 0);
        check_imwr(l, done_addr(ch.dir), imwr_data(&ch));
        qedma_wait_status(&ch, QEDMA_STOPPED);
    }
    edma_lab_check(l);
    edma_lab_free(l);
}

/* Address and data are those of the function's MSI: the vector is raised. */
static void test_imwr_msi(void)
{
    EdmaLab *l = start();
    PCIeCable *c = l->c;
    unsigned cap = DW_PCIE_CAP_MSI;

    cable_cfg_writel(c, 0, cap + PCI_MSI_ADDRESS_LO, MSI_NOWHERE);
    cable_cfg_writel(c, 0, cap + PCI_MSI_ADDRESS_HI, 0);
    cable_cfg_writew(c, 0, cap + PCI_MSI_DATA_64, MSI_DATA);
    cable_cfg_writel(c, 0, cap + PCI_MSI_MASK_64, UINT32_MAX);
    cable_cfg_writew(c, 0, cap + PCI_MSI_FLAGS, PCI_MSI_FLAGS_ENABLE | 5 << 4);
    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        for (unsigned id = 0; id < EDMA_CHANNELS; id++) {
            unsigned vector = dir * EDMA_CHANNELS + id;
            QEdmaChan ch = edma_lab_chan(l, dir, id);

            qedma_set_imwr(&ch, MSI_NOWHERE, MSI_NOWHERE, MSI_DATA | vector);
            run_block(l, &ch, QEDMA_REMOTE_INT);
            cable_wait(cable_cfg_readl(c, 0, cap + PCI_MSI_PENDING_64) ==
                       1u << vector);
            /* The vector goes out when it is unmasked. */
            cable_cfg_writel(c, 0, cap + PCI_MSI_ADDRESS_LO, EDMA_IMWR);
            cable_cfg_writel(c, 0, cap + PCI_MSI_MASK_64, 0);
            check_imwr(l, EDMA_IMWR, MSI_DATA | vector);
            cable_cfg_writel(c, 0, cap + PCI_MSI_MASK_64, UINT32_MAX);
            cable_cfg_writel(c, 0, cap + PCI_MSI_ADDRESS_LO, MSI_NOWHERE);
        }
    }
    edma_lab_check(l);
    edma_lab_free(l);
}

/* Requests are those of the function that the channel names. */
static void test_function(void)
{
    PCIeCable *c = cable_new();
    EdmaLab *l;

    cable_start_ep(c, ",functions=2", "");
    cable_soc_setup(c, 0);
    cable_soc_setup(c, 1);
    dw_ep_start_link(c->ep);
    cable_start_rc(c, "", "-trace gicv3_its_translation_write");
    cable_wait_link(c, true);
    cable_port_setup(c);
    cable_host_setup(c, 0);
    cable_host_setup(c, 1);
    l = edma_lab_new(c);
    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        for (unsigned fn = 0; fn < 2; fn++) {
            QEdmaChan ch = edma_lab_chan(l, dir, fn);
            uint32_t data = 0x30 + 2 * dir + fn;
            g_autofree char *seen =
                g_strdup_printf("data 0x%x size 4 requester_id 0x%x", data,
                                CABLE_BUS << 8 | fn);

            qedma_set_function(&ch, fn);
            qedma_set_imwr(&ch, ITS_TRANSLATER, ITS_TRANSLATER, data);
            qedma_enable(&ch, QEDMA_IRQ_REMOTE);
            qedma_start_list(&ch, EDMA_NOWHERE);
            cable_wait(cable_log_has(c->rc_log, seen));
            qedma_clear_abort(&ch);

            /* The other function's bus mastering is of no interest. */
            cable_cfg_writew(c, !fn, PCI_COMMAND, PCI_COMMAND_MEMORY);
            run_block(l, &ch, 0);
            edma_lab_check(l);
            cable_cfg_writew(c, fn, PCI_COMMAND, PCI_COMMAND_MEMORY);
            cable_cfg_writew(c, !fn, PCI_COMMAND,
                             PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
            edma_lab_block(&ch, EDMA_ARENA, EDMA_ARENA, PAGE, 0);
            qedma_wait_status(&ch, QEDMA_HALTED);
            edma_lab_check(l);
            cable_cfg_writew(c, fn, PCI_COMMAND,
                             PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
            qedma_clear_abort(&ch);
        }
    }
    edma_lab_free(l);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);

    qtest_add_func("/dw-edma-irq/line/mask", test_mask);
    qtest_add_func("/dw-edma-irq/line/masked-before", test_masked_before);
    qtest_add_func("/dw-edma-irq/line/shared", test_line_shared);
    qtest_add_func("/dw-edma-irq/line/abort", test_abort_line);
    qtest_add_func("/dw-edma-irq/line/element", test_element);
    qtest_add_func("/dw-edma-irq/line/soc-enable", test_soc_enable);
    qtest_add_func("/dw-edma-irq/emulated/alone", test_emulated);
    qtest_add_func("/dw-edma-irq/emulated/and-real", test_emulated_and_real);
    qtest_add_func("/dw-edma-irq/emulated/by-host", test_emulated_by_host);
    qtest_add_func("/dw-edma-irq/imwr/done", test_imwr_done);
    qtest_add_func("/dw-edma-irq/imwr/abort", test_imwr_abort);
    qtest_add_func("/dw-edma-irq/imwr/list-abort", test_imwr_list_abort);
    qtest_add_func("/dw-edma-irq/imwr/order", test_imwr_order);
    qtest_add_func("/dw-edma-irq/imwr/msi", test_imwr_msi);
    qtest_add_func("/dw-edma-irq/function", test_function);

    return g_test_run();
}
