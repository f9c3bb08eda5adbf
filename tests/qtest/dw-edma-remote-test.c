/*
 * QTest of the DesignWare eDMA: driven by the host
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * BARs show the engine's registers and memory of the SoC for lists.  The host
 * builds its lists there and rings the doorbells, alone or while the SoC does
 * the same with channels of its own.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/dma/dw-edma-regs.h"
#include "libqos/dw-edma-lab.h"

#define PAGE 4096
/* Room for the registers in a BAR, and where the lists are behind it */
#define REGS_SIZE (ROUND_UP(RCAR_GEN4_DMA_SIZE, PAGE))
#define LISTS_OFFSET (64 * KiB)
#define LISTS_SIZE (8 * EDMA_LIST_SIZE)
#define MSI_DATA 0x5b40
#define MSI_NOWHERE 0x3ffff000ULL
#define BLOCKS 5

typedef struct Remote {
    EdmaLab *l;
    QEdma edma;                 /* registers, for the host's software */
    uint64_t lists;             /* memory for lists, likewise */
} Remote;

/* One BAR in parts, by address match: what vNTB's submaps do */
static Remote *start_submaps(void)
{
    Remote *r = g_new0(Remote, 1);
    uint64_t bar = cable_bar(0, 2);

    r->l = edma_lab_start("", "");
    g_assert_cmphex(r->l->soc.regs % PAGE, ==, 0);
    dw_ep_inbound_addr_match(r->l->c->ep, 0, 0, bar, REGS_SIZE,
                             r->l->soc.regs);
    dw_ep_inbound_addr_match(r->l->c->ep, 1, 0, bar + LISTS_OFFSET,
                             LISTS_SIZE, EDMA_LISTS);
    r->lists = bar + LISTS_OFFSET;
    r->edma = (QEdma) {
        .qts = r->l->c->rc, .regs = bar, .map = QEDMA_MAP_UNROLL,
    };
    memset(edma_lab_ram(r->l, EDMA_HOST, EDMA_IMWR), 0, PAGE);
    return r;
}

/* Two whole BARs; the registers are somewhere in what one of them shows. */
static Remote *start_bars(void)
{
    Remote *r = start_submaps();
    DWEp *ep = r->l->c->ep;
    uint64_t offset = ep->dma % CABLE_BAR_SIZE;

    dw_ep_disable_atu(ep, DW_EP_INBOUND, 0);
    dw_ep_disable_atu(ep, DW_EP_INBOUND, 1);
    dw_ep_inbound_bar_match(ep, 2, 0, 0, EDMA_LISTS);
    dw_ep_inbound_bar_match(ep, 3, 0, 2, ep->dma - offset);
    r->lists = cable_bar(0, 0);
    r->edma.regs = cable_bar(0, 2) + offset;
    return r;
}

static void stop(Remote *r)
{
    edma_lab_free(r->l);
    g_free(r);
}

static QEdmaChan remote_chan(Remote *r, QEdmaDir dir, unsigned id)
{
    QEdmaChan ch = { .edma = &r->edma, .dir = dir, .id = id };

    qedma_enable(&ch, QEDMA_IRQ_REMOTE);
    return ch;
}

static uint64_t imwr_addr(QEdmaDir dir)
{
    return EDMA_IMWR + 0x40 + 0x40 * dir;
}

static uint16_t imwr_data(QEdmaChan *ch)
{
    return 0xd100 | ch->dir << 4 | ch->id;
}

/* Append the blocks of a round to a list and to what the test expects. */
static void append_blocks(EdmaLab *l, QEdmaList *list, QEdmaChan *ch,
                          unsigned ints, unsigned round)
{
    unsigned user = ch->id * QEDMA_NUM_DIRS + ch->dir;

    for (unsigned i = 0; i < BLOCKS; i++) {
        uint64_t soc = EDMA_ARENA + user * 128 * KiB + i * 8 * KiB + round;
        uint64_t host = EDMA_ARENA + user * 128 * KiB + i * 12 * KiB;

        edma_lab_element(list, ch->dir, soc, host, 7 * KiB + round,
                         i == BLOCKS - 1 ? ints : 0);
        edma_lab_expect(l, ch->dir, soc, host, 7 * KiB + round);
    }
}

/*
 * The host writes a list into the SoC's memory, reads it back as
 * dw_edma_v0_sync_ll_data() does, and rings.
 */
static void host_start(Remote *r, QEdmaChan *ch, unsigned round)
{
    uint64_t offset = (ch->id * QEDMA_NUM_DIRS + ch->dir) * EDMA_LIST_SIZE;
    uint8_t bytes[(BLOCKS + 1) * QEDMA_ELEMENT_SIZE] = { 0 };
    QEdmaList list;

    qedma_list_init(&list, ch->edma->map, bytes, EDMA_LISTS + offset);
    append_blocks(r->l, &list, ch, QEDMA_LOCAL_INT | QEDMA_REMOTE_INT, round);
    qedma_list_end(&list, list.addr);
    qtest_bufwrite(r->l->c->rc, r->lists + offset, bytes, sizeof(bytes));
    qtest_readl(r->l->c->rc, r->lists + offset);
    qedma_set_imwr(ch, imwr_addr(ch->dir), imwr_addr(ch->dir),
                   imwr_data(ch));
    qedma_start_list(ch, list.addr);
}

/* The host hears of it by the posted write, then looks at the registers. */
static void host_finish(Remote *r, QEdmaChan *ch)
{
    uint8_t *word = edma_lab_ram(r->l, EDMA_HOST, imwr_addr(ch->dir));

    cable_wait(ldl_le_p(word) == imwr_data(ch));
    stl_le_p(word, 0);
    g_assert_true(qedma_done(ch));
    qedma_clear_done(ch);
    qedma_wait_status(ch, QEDMA_STOPPED);
    g_assert_cmpint(qedma_error(ch), ==, QEDMA_OK);
}

static void run_all_channels(Remote *r)
{
    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        g_assert_cmpuint(qedma_num_channels(&r->edma, dir), ==,
                         EDMA_CHANNELS);
        for (unsigned id = 0; id < EDMA_CHANNELS; id++) {
            QEdmaChan ch = remote_chan(r, dir, id);

            host_start(r, &ch, id);
            host_finish(r, &ch);
            edma_lab_check(r->l);
        }
    }
}

static void test_submaps(void)
{
    Remote *r = start_submaps();

    run_all_channels(r);
    stop(r);
}

static void test_bars(void)
{
    Remote *r = start_bars();

    run_all_channels(r);
    stop(r);
}

/* Both softwares read what the other wrote. */
static void test_same_registers(void)
{
    Remote *r = start_submaps();

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        QEdmaChan host = { .edma = &r->edma, .dir = dir, .id = 2 };
        QEdmaChan soc = { .edma = &r->l->soc, .dir = dir, .id = 2 };

        qedma_ch_writel(&host, DW_EDMA_CH_SAR_LOW, 0x12345678);
        /* The host's write is posted: its read pushes it. */
        g_assert_cmphex(qedma_ch_readl(&host, DW_EDMA_CH_SAR_LOW), ==,
                        0x12345678);
        g_assert_cmphex(qedma_ch_readl(&soc, DW_EDMA_CH_SAR_LOW), ==,
                        0x12345678);
        qedma_ch_writel(&soc, DW_EDMA_CH_DAR_HIGH, 0x9abcdef0);
        g_assert_cmphex(qedma_ch_readl(&host, DW_EDMA_CH_DAR_HIGH), ==,
                        0x9abcdef0);
    }
    stop(r);
}

/*
 * The SoC owns the write channels, the host the read channels: lists of both
 * run at the same time, each side sees and clears its own interrupts.
 */
static void test_both_own(void)
{
    Remote *r = start_submaps();

    qtest_irq_intercept_out_named(r->l->c->soc, DW_EP_QOM_PATH, "sysbus-irq");
    for (unsigned round = 0; round < 60; round++) {
        unsigned id = round % EDMA_CHANNELS;
        QEdmaChan soc = edma_lab_chan(r->l, QEDMA_WRITE, id);
        QEdmaChan host = remote_chan(r, QEDMA_READ, (id + 1) % EDMA_CHANNELS);
        QEdmaList list;

        edma_lab_list(r->l, &soc, &list);
        append_blocks(r->l, &list, &soc, QEDMA_LOCAL_INT, round);
        qedma_list_end(&list, list.addr);
        qedma_set_list(&soc, list.addr);
        host_start(r, &host, round);
        qedma_doorbell(&soc);

        cable_wait(qtest_get_irq(r->l->c->soc, 0));
        g_assert_true(qedma_done(&soc));
        qedma_clear_done(&soc);
        /* Only the host's channel is left, which is masked for this line. */
        cable_wait(!qtest_get_irq(r->l->c->soc, 0));
        host_finish(r, &host);
        qedma_wait_status(&soc, QEDMA_STOPPED);
        edma_lab_check(r->l);
    }
    stop(r);
}

/* dw_edma_v0_core_quiesce() of one owner leaves the other's channels alone. */
static void test_owner_leaves(void)
{
    Remote *r = start_submaps();
    QEdmaChan soc = edma_lab_chan(r->l, QEDMA_WRITE, 1);
    QEdmaChan host = remote_chan(r, QEDMA_READ, 1);
    QEdmaList list;

    edma_lab_list(r->l, &soc, &list);
    append_blocks(r->l, &list, &soc, QEDMA_LOCAL_INT, 0);
    qedma_list_jump(&list, list.addr);
    qedma_start_list(&soc, list.addr);
    qedma_wait_done(&soc);
    for (unsigned round = 0; round < 20; round++) {
        qedma_off(&host);
        g_assert_cmpint(qedma_status(&soc), ==, QEDMA_RUNNING);
        qedma_enable(&host, QEDMA_IRQ_REMOTE);
        host_start(r, &host, round);
        host_finish(r, &host);
    }
    qedma_stop(&soc);
    qedma_wait_status(&soc, QEDMA_STOPPED);
    edma_lab_check(r->l);
    stop(r);
}

/* Interrupts of the host's channels as MSI */
static void test_msi(void)
{
    Remote *r = start_submaps();
    PCIeCable *c = r->l->c;
    unsigned cap = DW_PCIE_CAP_MSI;

    cable_cfg_writel(c, 0, cap + PCI_MSI_ADDRESS_LO, MSI_NOWHERE);
    cable_cfg_writel(c, 0, cap + PCI_MSI_ADDRESS_HI, 0);
    cable_cfg_writew(c, 0, cap + PCI_MSI_DATA_64, MSI_DATA);
    cable_cfg_writel(c, 0, cap + PCI_MSI_MASK_64, UINT32_MAX);
    cable_cfg_writew(c, 0, cap + PCI_MSI_FLAGS, PCI_MSI_FLAGS_ENABLE | 5 << 4);
    for (unsigned id = 0; id < EDMA_CHANNELS; id++) {
        QEdmaChan ch = remote_chan(r, QEDMA_READ, id);

        host_start(r, &ch, id);
        host_finish(r, &ch);
        /* The same again, with another address */
        qedma_set_imwr(&ch, MSI_NOWHERE, MSI_NOWHERE, MSI_DATA | (id + 3));
        qedma_start_list(&ch, EDMA_LISTS + EDMA_LIST_SIZE *
                         (id * QEDMA_NUM_DIRS + QEDMA_READ));
        cable_wait(cable_cfg_readl(c, 0, cap + PCI_MSI_PENDING_64) &
                   1u << (id + 3));
        g_assert_true(qedma_done(&ch));
        qedma_clear_done(&ch);
    }
    edma_lab_check(r->l);
    stop(r);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);

    qtest_add_func("/dw-edma-remote/submaps", test_submaps);
    qtest_add_func("/dw-edma-remote/bars", test_bars);
    qtest_add_func("/dw-edma-remote/same-registers", test_same_registers);
    qtest_add_func("/dw-edma-remote/both-own", test_both_own);
    qtest_add_func("/dw-edma-remote/owner-leaves", test_owner_leaves);
    qtest_add_func("/dw-edma-remote/msi", test_msi);

    return g_test_run();
}
