/*
 * QTest of the DesignWare eDMA: blocks and linked lists between two machines
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The test plays the software of the SoC and of the host.  Errors are in
 * dw-edma-error-test.c, interrupts in dw-edma-irq-test.c, what takes a
 * transfer's ground away in dw-edma-stop-test.c.
 */
#include "qemu/osdep.h"
#include "libqos/dw-edma-lab.h"

/* Bytes of Linux's list of a channel, here as small as it makes sense */
#define LL_MAX 4
#define PAGE 4096
#define ALL_CHANNELS (QEDMA_NUM_DIRS * EDMA_CHANNELS)

/* A lab whose engine has the register map that @map points at */
static EdmaLab *start(const QEdmaMap *map)
{
    return edma_lab_start_map(*map);
}

/* The i-th channel of both directions */
static QEdmaChan nth_chan(EdmaLab *l, unsigned i)
{
    return edma_lab_chan(l, i % QEDMA_NUM_DIRS, i / QEDMA_NUM_DIRS);
}

/* Finished without an error, and the test's model of it is right. */
static void check_done(EdmaLab *l, QEdmaChan *ch)
{
    qedma_wait_done(ch);
    qedma_wait_status(ch, QEDMA_STOPPED);
    g_assert_false(qedma_aborted(ch));
    g_assert_cmpint(qedma_error(ch), ==, QEDMA_OK);
    qedma_clear_done(ch);
    g_assert_false(qedma_done(ch));
    edma_lab_check(l);
}

/* Single blocks */

static void test_block(const void *map)
{
    EdmaLab *l = start(map);

    for (unsigned i = 0; i < ALL_CHANNELS; i++) {
        QEdmaChan ch = nth_chan(l, i);
        uint64_t soc = EDMA_ARENA + i * 64 * KiB;
        uint64_t host = EDMA_ARENA + EDMA_ARENA_SIZE - (i + 1) * 64 * KiB;

        edma_lab_block(&ch, soc, host, 48 * KiB, QEDMA_LOCAL_INT);
        edma_lab_expect(l, ch.dir, soc, host, 48 * KiB);
        check_done(l, &ch);
    }
    edma_lab_free(l);
}

/* Without an interrupt the status tells that the block is done. */
static void test_block_quiet(const void *map)
{
    EdmaLab *l = start(map);

    for (unsigned i = 0; i < QEDMA_NUM_DIRS; i++) {
        QEdmaChan ch = nth_chan(l, i);

        edma_lab_block(&ch, EDMA_ARENA, EDMA_ARENA + PAGE, PAGE, 0);
        edma_lab_expect(l, ch.dir, EDMA_ARENA, EDMA_ARENA + PAGE, PAGE);
        qedma_wait_status(&ch, QEDMA_STOPPED);
        g_assert_false(qedma_done(&ch));
        edma_lab_check(l);
    }
    edma_lab_free(l);
}

/* The same context again, and again with other values */
static void test_block_repeat(const void *map)
{
    EdmaLab *l = start(map);

    for (unsigned round = 0; round < 10; round++) {
        for (unsigned i = 0; i < QEDMA_NUM_DIRS; i++) {
            QEdmaChan ch = nth_chan(l, i);
            uint64_t soc = EDMA_ARENA + round * PAGE;
            uint64_t host = EDMA_ARENA + (20 + round) * PAGE;

            edma_lab_block(&ch, soc, host, 100 + round, QEDMA_LOCAL_INT);
            edma_lab_expect(l, ch.dir, soc, host, 100 + round);
            check_done(l, &ch);
        }
    }
    edma_lab_free(l);
}

/* Every offset in a word, at either end, and sizes around it */
static void test_unaligned(const void *map)
{
    EdmaLab *l = start(map);

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        QEdmaChan ch = edma_lab_chan(l, dir, 1);
        QEdmaList list;

        edma_lab_list(l, &ch, &list);
        for (unsigned i = 0; i < 256; i++) {
            uint64_t soc = EDMA_ARENA + dir * 256 * KiB + i * 512 + i % 16;
            uint64_t host = EDMA_ARENA + dir * 256 * KiB + i * 512 + i / 16;
            uint32_t size = 1 + i * 7 % 480;

            edma_lab_element(&list, dir, soc, host, size,
                             i == 255 ? QEDMA_LOCAL_INT : 0);
            edma_lab_expect(l, dir, soc, host, size);
        }
        qedma_list_end(&list, list.addr);
        qedma_start_list(&ch, list.addr);
        check_done(l, &ch);
    }
    edma_lab_free(l);
}

/* Linked lists */

/* Append blocks in the order in which they are in both arenas. */
static void append_blocks(EdmaLab *l, QEdmaChan *ch, QEdmaList *list,
                          unsigned n, uint32_t size, uint64_t at)
{
    for (unsigned i = 0; i < n; i++) {
        uint64_t soc = at + i * 2 * size;
        uint64_t host = at + (n - i - 1) * 2 * size;

        edma_lab_element(list, ch->dir, soc, host, size,
                         i == n - 1 ? QEDMA_LOCAL_INT : 0);
        edma_lab_expect(l, ch->dir, soc, host, size);
    }
}

static void test_list(const void *map)
{
    EdmaLab *l = start(map);
    static const unsigned lengths[] = { 1, 2, 31, 1000 };

    for (unsigned i = 0; i < ALL_CHANNELS; i++) {
        QEdmaChan ch = nth_chan(l, i);
        QEdmaList list;

        edma_lab_list(l, &ch, &list);
        append_blocks(l, &ch, &list, lengths[i % ARRAY_SIZE(lengths)], 200,
                      EDMA_ARENA + i);
        qedma_list_end(&list, list.addr);
        qedma_start_list(&ch, list.addr);
        check_done(l, &ch);
        /* The link was followed; there the engine waits. */
        g_assert_cmphex(qedma_llp(&ch), ==, list.addr);
    }
    edma_lab_free(l);
}

/* Lists at several places, linked in both orders of addresses */
static void test_list_chained(const void *map)
{
    EdmaLab *l = start(map);
    static const unsigned order[] = { 3, 0, 5, 1, 4 };

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        QEdmaChan ch = edma_lab_chan(l, dir, 2);
        QEdmaList whole;

        edma_lab_list(l, &ch, &whole);
        for (unsigned i = 0; i < ARRAY_SIZE(order); i++) {
            bool last = i == ARRAY_SIZE(order) - 1;
            unsigned at = order[i] * PAGE;
            uint64_t soc = EDMA_ARENA + i * 5 * PAGE;
            uint64_t host = EDMA_ARENA + (20 - i * 4) * PAGE;
            QEdmaList part;

            qedma_list_init(&part, whole.map, whole.mem + at,
                            whole.addr + at);
            edma_lab_element(&part, dir, soc, host, 3000, 0);
            edma_lab_element(&part, dir, soc + PAGE, host + PAGE, 1111,
                             last ? QEDMA_LOCAL_INT : 0);
            edma_lab_expect(l, dir, soc, host, 3000);
            edma_lab_expect(l, dir, soc + PAGE, host + PAGE, 1111);
            if (last) {
                qedma_list_end(&part, whole.addr + order[0] * PAGE);
            } else {
                qedma_list_jump(&part, whole.addr + order[i + 1] * PAGE);
            }
        }
        qedma_start_list(&ch, whole.addr + order[0] * PAGE);
        check_done(l, &ch);
    }
    edma_lab_free(l);
}

/*
 * What dw_edma_core_start() does with a descriptor of more elements than the
 * list has room for: the first round programs the context, the others write
 * the list anew with the other cycle bit and ring the doorbell.  The last
 * round is shorter, so that its link is in front of the old one.
 */
static void test_list_recycled(const void *map)
{
    EdmaLab *l = start(map);
    static const unsigned rounds[] = { LL_MAX, LL_MAX, LL_MAX, LL_MAX, 2 };

    for (unsigned i = 0; i < ALL_CHANNELS; i++) {
        QEdmaChan ch = nth_chan(l, i);
        QEdmaList list;

        edma_lab_list(l, &ch, &list);
        for (unsigned r = 0; r < ARRAY_SIZE(rounds); r++) {
            append_blocks(l, &ch, &list, rounds[r], 1000 + i,
                          EDMA_ARENA + r * 16 * KiB);
            qedma_list_end(&list, list.addr);
            if (r == 0) {
                qedma_start_list(&ch, list.addr);
            } else {
                qedma_doorbell(&ch);
            }
            check_done(l, &ch);
            qedma_list_recycle(&list);
        }
        /* The next descriptor begins with the context, cycle state 1. */
        edma_lab_list(l, &ch, &list);
        append_blocks(l, &ch, &list, 1, 777, EDMA_ARENA);
        qedma_list_end(&list, list.addr);
        qedma_start_list(&ch, list.addr);
        check_done(l, &ch);
    }
    edma_lab_free(l);
}

/*
 * The driver writes the next round when the interrupt of the last element
 * comes: the engine may be about to read the link, or waiting behind it, or
 * go on before the doorbell.  No round may be lost.
 */
static void test_list_recycled_early(const void *map)
{
    EdmaLab *l = start(map);

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        QEdmaChan ch = edma_lab_chan(l, dir, 0);
        QEdmaList list;

        edma_lab_list(l, &ch, &list);
        for (unsigned r = 0; r < 400; r++) {
            append_blocks(l, &ch, &list, 1 + r % LL_MAX, 64,
                          EDMA_ARENA + r * 1024);
            qedma_list_end(&list, list.addr);
            if (r == 0) {
                qedma_start_list(&ch, list.addr);
            } else {
                qedma_doorbell(&ch);
            }
            qedma_wait_done(&ch);
            qedma_clear_done(&ch);
            qedma_list_recycle(&list);
        }
        qedma_wait_status(&ch, QEDMA_STOPPED);
        g_assert_cmpint(qedma_error(&ch), ==, QEDMA_OK);
        edma_lab_check(l);
    }
    edma_lab_free(l);
}

/*
 * And its next descriptor likewise: a whole context and a doorbell, right at
 * the interrupt and without a look at the status.
 */
static void test_list_next_early(const void *map)
{
    EdmaLab *l = start(map);

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        QEdmaChan ch = edma_lab_chan(l, dir, 1);

        for (unsigned r = 0; r < 400; r++) {
            QEdmaList list;

            edma_lab_list(l, &ch, &list);
            append_blocks(l, &ch, &list, 1 + r % LL_MAX, 64,
                          EDMA_ARENA + r * 1024);
            qedma_list_end(&list, list.addr);
            qedma_start_list(&ch, list.addr);
            qedma_wait_done(&ch);
            qedma_clear_done(&ch);
        }
        qedma_wait_status(&ch, QEDMA_STOPPED);
        g_assert_cmpint(qedma_error(&ch), ==, QEDMA_OK);
        edma_lab_check(l);
    }
    edma_lab_free(l);
}

/* Elements appended while the engine runs: the producer's place is ahead. */
static void test_list_appended(const void *map)
{
    EdmaLab *l = start(map);

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        QEdmaChan ch = edma_lab_chan(l, dir, 3);
        QEdmaList list;

        edma_lab_list(l, &ch, &list);
        memset(list.mem, 0, EDMA_LIST_SIZE);
        append_blocks(l, &ch, &list, 1, 64, EDMA_ARENA);
        qedma_start_list(&ch, list.addr);
        for (unsigned i = 1; i < 300; i++) {
            append_blocks(l, &ch, &list, 1, 64, EDMA_ARENA + i * 256);
            qedma_doorbell(&ch);
        }
        qedma_wait_status(&ch, QEDMA_STOPPED);
        cable_wait(qedma_llp(&ch) == qedma_list_element(&list, 300));
        g_assert_true(qedma_done(&ch));
        qedma_clear_done(&ch);
        edma_lab_check(l);
    }
    edma_lab_free(l);
}

/* A ring without an end runs until the doorbell's stop bit. */
static void test_list_cyclic(const void *map)
{
    EdmaLab *l = start(map);

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        QEdmaChan ch = edma_lab_chan(l, dir, 1);
        QEdmaList list;

        edma_lab_list(l, &ch, &list);
        for (unsigned i = 0; i < LL_MAX; i++) {
            uint64_t soc = EDMA_ARENA + (dir * LL_MAX + i) * PAGE;

            edma_lab_element(&list, dir, soc, soc + 64 * KiB, PAGE,
                             QEDMA_LOCAL_INT);
            edma_lab_expect(l, dir, soc, soc + 64 * KiB, PAGE);
        }
        qedma_list_jump(&list, list.addr);
        qedma_start_list(&ch, list.addr);
        for (unsigned i = 0; i < 100; i++) {
            qedma_wait_done(&ch);
            g_assert_cmpint(qedma_status(&ch), ==, QEDMA_RUNNING);
            qedma_clear_done(&ch);
        }
        edma_lab_check(l);
        qedma_stop(&ch);
        qedma_wait_status(&ch, QEDMA_STOPPED);
        g_assert_cmpint(qedma_error(&ch), ==, QEDMA_OK);
        edma_lab_check(l);
    }
    edma_lab_free(l);
}

/* The first element is not the consumer's: nothing happens. */
static void test_list_empty(const void *map)
{
    EdmaLab *l = start(map);

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        QEdmaChan ch = edma_lab_chan(l, dir, 0);
        QEdmaList list;

        edma_lab_list(l, &ch, &list);
        list.cb = false;
        edma_lab_element(&list, dir, EDMA_ARENA, EDMA_ARENA, PAGE,
                         QEDMA_LOCAL_INT);
        qedma_start_list(&ch, list.addr);
        qedma_wait_status(&ch, QEDMA_STOPPED);
        g_assert_cmphex(qedma_llp(&ch), ==, list.addr);
        g_assert_cmpint(qedma_error(&ch), ==, QEDMA_OK);
        edma_lab_check(l);
    }
    edma_lab_free(l);
}

/* Stopped in the middle of a list, it goes on at the next doorbell. */
static void test_list_resumed(const void *map)
{
    EdmaLab *l = start(map);

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        QEdmaChan ch = edma_lab_chan(l, dir, 2);
        uint64_t at = EDMA_ARENA + dir * 64 * KiB;
        QEdmaList list;

        edma_lab_list(l, &ch, &list);
        append_blocks(l, &ch, &list, 3, 500, at);
        qedma_list_stop(&list);
        qedma_start_list(&ch, list.addr);
        check_done(l, &ch);
        g_assert_cmphex(qedma_llp(&ch), ==, qedma_list_element(&list, 3));

        list.n--;
        append_blocks(l, &ch, &list, 3, 500, at + 16 * KiB);
        qedma_list_end(&list, list.addr);
        qedma_doorbell(&ch);
        check_done(l, &ch);
    }
    edma_lab_free(l);
}

/* Several channels */

static void start_long_list(EdmaLab *l, QEdmaChan *ch, uint32_t size)
{
    uint64_t at = EDMA_ARENA + (ch->id * QEDMA_NUM_DIRS + ch->dir) * 128 * KiB;
    QEdmaList list;

    edma_lab_list(l, ch, &list);
    append_blocks(l, ch, &list, 16, size, at);
    qedma_list_end(&list, list.addr);
    qedma_set_list(ch, list.addr);
}

/* All at once, doorbells back to back */
static void test_channels(const void *map)
{
    EdmaLab *l = start(map);

    for (unsigned round = 0; round < 20; round++) {
        QEdmaChan ch[ALL_CHANNELS];

        for (unsigned i = 0; i < ALL_CHANNELS; i++) {
            ch[i] = nth_chan(l, i);
            start_long_list(l, &ch[i], 3000 + 13 * round);
        }
        for (unsigned i = 0; i < ALL_CHANNELS; i++) {
            qedma_doorbell(&ch[i]);
        }
        for (unsigned i = 0; i < ALL_CHANNELS; i++) {
            qedma_wait_done(&ch[i]);
        }
        for (unsigned i = 0; i < ALL_CHANNELS; i++) {
            qedma_wait_status(&ch[i], QEDMA_STOPPED);
            g_assert_cmpint(qedma_error(&ch[i]), ==, QEDMA_OK);
            qedma_clear_done(&ch[i]);
        }
        edma_lab_check(l);
        edma_lab_refill(l, 100 + round);
    }
    edma_lab_free(l);
}

/* Two that finish together: neither's bit is lost or cleared by the other. */
static void test_two_finish(const void *map)
{
    EdmaLab *l = start(map);

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        QEdmaChan a = edma_lab_chan(l, dir, 0), b = edma_lab_chan(l, dir, 1);

        for (unsigned round = 0; round < 200; round++) {
            uint64_t at = EDMA_ARENA + round * 64;

            edma_lab_block(&a, at, at, 64, QEDMA_LOCAL_INT);
            edma_lab_block(&b, at + MiB, at + MiB, 64, QEDMA_LOCAL_INT);
            edma_lab_expect(l, dir, at, at, 64);
            edma_lab_expect(l, dir, at + MiB, at + MiB, 64);
            qedma_wait_done(&a);
            qedma_clear_done(&a);
            qedma_wait_done(&b);
            qedma_clear_done(&b);
            g_assert_false(qedma_done(&a));
            qedma_wait_status(&a, QEDMA_STOPPED);
            qedma_wait_status(&b, QEDMA_STOPPED);
        }
        edma_lab_check(l);
    }
    edma_lab_free(l);
}

/*
 * Doorbells while the channel runs: not a second start, and what they
 * announced is found.
 */
static void test_doorbell_running(const void *map)
{
    EdmaLab *l = start(map);

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        QEdmaChan ch = edma_lab_chan(l, dir, 3);

        start_long_list(l, &ch, 3800);
        for (unsigned i = 0; i < 8; i++) {
            qedma_doorbell(&ch);
        }
        check_done(l, &ch);
    }
    edma_lab_free(l);
}

/* Up to eight channels of each direction */
static void test_eight_channels(void)
{
    EdmaLab *l = edma_lab_start(",num-dma-wr-ch=8,num-dma-rd-ch=8", "");

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        g_assert_cmpuint(qedma_num_channels(&l->soc, dir), ==, 8);
        for (unsigned id = 0; id < 8; id++) {
            QEdmaChan ch = edma_lab_chan(l, dir, id);
            uint64_t at = EDMA_ARENA + id * PAGE;

            edma_lab_block(&ch, at, at + 64 * KiB, PAGE, QEDMA_LOCAL_INT);
            edma_lab_expect(l, dir, at, at + 64 * KiB, PAGE);
            check_done(l, &ch);
        }
    }
    edma_lab_free(l);
}

/*
 * An address in an outbound iATU region is translated by it, one beside all
 * regions is a PCI address already.
 */
static void test_outbound(void)
{
    EdmaLab *l = edma_lab_start("", "");
    DWEp *ep = l->c->ep;
    uint64_t window = ep->addr_space;

    /* Two regions side by side, with targets in the other order */
    dw_ep_outbound(ep, 0, 0, window, EDMA_ARENA + 64 * KiB, 64 * KiB);
    dw_ep_outbound(ep, 1, 0, window + 64 * KiB, EDMA_ARENA, 64 * KiB);
    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        QEdmaChan ch = edma_lab_chan(l, dir, 0);
        uint64_t soc = EDMA_ARENA + dir * MiB + 3;
        const uint32_t half = 10 * KiB;

        edma_lab_block(&ch, soc, window + 64 * KiB - half, 2 * half,
                       QEDMA_LOCAL_INT);
        edma_lab_expect(l, dir, soc, EDMA_ARENA + 128 * KiB - half, half);
        edma_lab_expect(l, dir, soc + half, EDMA_ARENA, half);
        check_done(l, &ch);

        /* Off the end of the second: its rest is somewhere else. */
        edma_lab_block(&ch, soc, window + 128 * KiB - PAGE, 2 * PAGE,
                       QEDMA_LOCAL_INT);
        edma_lab_expect(l, dir, soc, EDMA_ARENA + 64 * KiB - PAGE, PAGE);
        qedma_wait_aborted(&ch);
        g_assert_cmphex(qedma_transfer_size(&ch), ==, PAGE);
        edma_lab_check(l);
        qedma_clear_abort(&ch);
    }
    edma_lab_free(l);
}

/* DMA_BYPASS leaves the engine's addresses alone, config regions refuse. */
static void test_outbound_kinds(void)
{
    EdmaLab *l = edma_lab_start("", "");
    DWEp *ep = l->c->ep;

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        QEdmaChan ch = edma_lab_chan(l, dir, 0);

        /* The region is where the host has its arena. */
        dw_ep_outbound(ep, 0, 0, EDMA_ARENA, EDMA_ARENA + MiB, 64 * KiB);
        edma_lab_block(&ch, EDMA_ARENA, EDMA_ARENA, PAGE, QEDMA_LOCAL_INT);
        edma_lab_expect(l, dir, EDMA_ARENA, EDMA_ARENA + MiB, PAGE);
        check_done(l, &ch);

        dw_ep_atu_writel(ep, DW_EP_OUTBOUND, 0, DW_PCIE_ATU_CTRL2,
                         DW_PCIE_ATU_ENABLE | DW_PCIE_ATU_DMA_BYPASS);
        edma_lab_block(&ch, EDMA_ARENA, EDMA_ARENA + PAGE, PAGE,
                       QEDMA_LOCAL_INT);
        edma_lab_expect(l, dir, EDMA_ARENA, EDMA_ARENA + PAGE, PAGE);
        check_done(l, &ch);

        dw_ep_atu_writel(ep, DW_EP_OUTBOUND, 0, DW_PCIE_ATU_CTRL1,
                         DW_PCIE_ATU_TYPE_CFG0);
        dw_ep_atu_writel(ep, DW_EP_OUTBOUND, 0, DW_PCIE_ATU_CTRL2,
                         DW_PCIE_ATU_ENABLE);
        edma_lab_block(&ch, EDMA_ARENA, EDMA_ARENA, PAGE, QEDMA_LOCAL_INT);
        qedma_wait_aborted(&ch);
        edma_lab_check(l);
        qedma_clear_abort(&ch);
        dw_ep_disable_atu(ep, DW_EP_OUTBOUND, 0);
    }
    edma_lab_free(l);
}

typedef struct MapTest {
    const char *name;
    void (*run)(const void *map);
    bool needs_element_ints;    /* interrupts of elements: not the HDMA's */
} MapTest;

static const MapTest map_tests[] = {
    { "block/channels", test_block },
    { "block/quiet", test_block_quiet, true },
    { "block/repeat", test_block_repeat },
    { "block/unaligned", test_unaligned },
    { "list/channels", test_list },
    { "list/chained", test_list_chained },
    { "list/recycled", test_list_recycled },
    { "list/recycled-early", test_list_recycled_early },
    { "list/next-early", test_list_next_early },
    { "list/appended", test_list_appended },
    { "list/cyclic", test_list_cyclic, true },
    { "list/empty", test_list_empty },
    { "list/resumed", test_list_resumed },
    { "channels/all", test_channels },
    { "channels/two-finish", test_two_finish },
    { "channels/doorbell-running", test_doorbell_running },
};

static void add_map_tests(const QEdmaMap *map)
{
    for (unsigned i = 0; i < ARRAY_SIZE(map_tests); i++) {
        const MapTest *test = &map_tests[i];
        g_autofree char *path = g_strdup_printf("/dw-edma/%s/%s",
                                                qedma_map_name(*map),
                                                test->name);

        if (!test->needs_element_ints || *map != QEDMA_MAP_NATIVE) {
            qtest_add_data_func(path, map, test->run);
        }
    }
}

int main(int argc, char **argv)
{
    static const QEdmaMap maps[] = {
        QEDMA_MAP_UNROLL, QEDMA_MAP_LEGACY, QEDMA_MAP_COMPAT,
        QEDMA_MAP_NATIVE,
    };

    g_test_init(&argc, &argv, NULL);

    for (unsigned i = 0; i < ARRAY_SIZE(maps); i++) {
        add_map_tests(&maps[i]);
    }
    qtest_add_func("/dw-edma/channels/eight", test_eight_channels);
    qtest_add_func("/dw-edma/outbound/translated", test_outbound);
    qtest_add_func("/dw-edma/outbound/kinds", test_outbound_kinds);

    return g_test_run();
}
