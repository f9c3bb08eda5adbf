/*
 * QTest of the DesignWare eDMA and HDMA: all the channels there can be at once
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The machine is paused while the doorbells are rung, so that every channel
 * is running before the first byte moves; then all of them move at once.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/dma/dw-edma-regs.h"
#include "hw/pci/pci_regs.h"
#include "libqos/dw-edma-lab.h"

#define LINE_DMA 0

/* Elements of a list.  Their size differs from channel to channel. */
#define PIECES 4
/* Room for the list of one channel of any map */
#define LIST_SIZE (4 * KiB)

/* 128 bytes of the host's memory are between two channels' messages. */
#define MESSAGE_STRIDE 128
#define MESSAGE_DATA(k) (0x5a00 + (k))
/* Nothing decodes this at the host, should a message go as a write. */
#define MSI_NOWHERE 0x3ffff000ULL
#define MSI_DATA 0xbe00
#define MSI_VECTORS_LOG2 4

typedef struct All {
    EdmaLab *l;
    unsigned n;                 /* channels, of both directions */
    uint32_t slot;              /* bytes of each arena for a channel */
} All;

static All all_start(QEdmaMap map)
{
    unsigned n = map == QEDMA_MAP_NATIVE ? DW_HDMA_MAX_CHANNELS :
                 DW_EDMA_MAX_CHANNELS;
    All a = {
        .l = edma_lab_start_channels(map, n),
        .n = QEDMA_NUM_DIRS * n,
    };

    a.slot = EDMA_ARENA_SIZE / a.n;
    qtest_irq_intercept_out_named(a.l->c->soc, DW_EP_QOM_PATH, "sysbus-irq");
    return a;
}

/* Channel @k of all: directions take turns. */
static QEdmaChan all_chan(All *a, unsigned k)
{
    return (QEdmaChan) {
        .edma = &a->l->soc, .dir = k % QEDMA_NUM_DIRS,
        .id = k / QEDMA_NUM_DIRS,
    };
}

/* Write the list of channel @k and say what it should do. */
static void program(All *a, unsigned k, unsigned ints)
{
    QEdmaChan ch = all_chan(a, k);
    uint64_t at = EDMA_LISTS + k * LIST_SIZE;
    /* The slots of the host in another order than those of the SoC */
    uint64_t soc = EDMA_ARENA + k * a->slot;
    uint64_t host = EDMA_ARENA + (a->n - 1 - k) * a->slot;
    uint32_t piece = a->slot / PIECES - 1 - k;
    QEdmaList list;

    qedma_list_init(&list, ch.edma->map, edma_lab_ram(a->l, EDMA_SOC, at), at);
    for (unsigned i = 0; i < PIECES; i++) {
        uint32_t offset = i * (a->slot / PIECES) + k % 8;

        edma_lab_element(&list, ch.dir, soc + offset, host + offset, piece,
                         i == PIECES - 1 ? ints : 0);
        edma_lab_expect(a->l, ch.dir, soc + offset, host + offset, piece);
    }
    qedma_list_end(&list, at);
    qedma_set_list(&ch, at);
}

/* Ring all doorbells, see all channels running, let them go. */
static void run_all(All *a)
{
    QTestState *soc = a->l->c->soc;

    qtest_qmp_assert_success(soc, "{ 'execute': 'stop' }");
    for (unsigned k = 0; k < a->n; k++) {
        QEdmaChan ch = all_chan(a, k);

        qedma_doorbell(&ch);
    }
    for (unsigned k = 0; k < a->n; k++) {
        QEdmaChan ch = all_chan(a, k);

        g_assert_cmpint(qedma_status(&ch), ==, QEDMA_RUNNING);
    }
    qtest_qmp_assert_success(soc, "{ 'execute': 'cont' }");
    for (unsigned k = 0; k < a->n; k++) {
        QEdmaChan ch = all_chan(a, k);

        qedma_wait_status(&ch, QEDMA_STOPPED);
        g_assert_cmpint(qedma_error(&ch), ==, QEDMA_OK);
        g_assert_false(qedma_aborted(&ch));
        g_assert_cmphex(qedma_transfer_size(&ch), ==, 0);
    }
    edma_lab_check(a->l);
}

static void clear(All *a, unsigned k)
{
    QEdmaChan ch = all_chan(a, k);

    qedma_clear_done(&ch);
}

/* Each channel has raised its own interrupt; the line is that of all. */
static void test_local(const void *opaque)
{
    QEdmaMap map = GPOINTER_TO_INT(opaque);
    All a = all_start(map);
    QTestState *soc = a.l->c->soc;

    for (unsigned k = 0; k < a.n; k++) {
        QEdmaChan ch = all_chan(&a, k);

        qedma_enable(&ch, QEDMA_IRQ_LOCAL);
        /* The native map's is about elements: the end is reported anyway. */
        program(&a, k, map == QEDMA_MAP_NATIVE ? 0 : QEDMA_LOCAL_INT);
    }
    run_all(&a);
    for (unsigned k = 0; k < a.n; k++) {
        for (unsigned other = 0; other < a.n; other++) {
            QEdmaChan ch = all_chan(&a, other);

            g_assert_cmpint(qedma_done(&ch), ==, other >= k);
        }
        cable_wait(qtest_get_irq(soc, LINE_DMA));
        clear(&a, k);
    }
    cable_wait(!qtest_get_irq(soc, LINE_DMA));
    edma_lab_free(a.l);
}

/* The native map has an address and data for each channel. */
static void test_messages(void)
{
    All a = all_start(QEDMA_MAP_NATIVE);
    size_t size = a.n * MESSAGE_STRIDE;
    g_autofree uint8_t *expected = g_malloc0(size);
    uint8_t *got = edma_lab_ram(a.l, EDMA_HOST, EDMA_IMWR);

    memset(got, 0, size);
    for (unsigned k = 0; k < a.n; k++) {
        QEdmaChan ch = all_chan(&a, k);
        uint64_t addr = EDMA_IMWR + k * MESSAGE_STRIDE;

        qedma_enable(&ch, QEDMA_IRQ_REMOTE);
        qedma_set_imwr(&ch, addr, EDMA_NOWHERE, MESSAGE_DATA(k));
        stl_le_p(expected + k * MESSAGE_STRIDE, MESSAGE_DATA(k));
        program(&a, k, 0);
    }
    run_all(&a);
    cable_wait(!memcmp(got, expected, size));
    g_assert_false(qtest_get_irq(a.l->c->soc, LINE_DMA));
    edma_lab_free(a.l);
}

/* The eDMA's have data for each channel: an MSI vector. */
static void test_vectors(const void *opaque)
{
    All a = all_start(GPOINTER_TO_INT(opaque));
    PCIeCable *c = a.l->c;
    unsigned cap = DW_PCIE_CAP_MSI;

    cable_cfg_writel(c, 0, cap + PCI_MSI_ADDRESS_LO, MSI_NOWHERE);
    cable_cfg_writel(c, 0, cap + PCI_MSI_ADDRESS_HI, 0);
    cable_cfg_writew(c, 0, cap + PCI_MSI_DATA_64, MSI_DATA);
    cable_cfg_writel(c, 0, cap + PCI_MSI_MASK_64, UINT32_MAX);
    cable_cfg_writew(c, 0, cap + PCI_MSI_FLAGS, PCI_MSI_FLAGS_ENABLE |
                     MSI_VECTORS_LOG2 << 4);
    for (unsigned k = 0; k < a.n; k++) {
        QEdmaChan ch = all_chan(&a, k);

        qedma_enable(&ch, QEDMA_IRQ_REMOTE);
        qedma_set_imwr(&ch, MSI_NOWHERE, MSI_NOWHERE, MSI_DATA | k);
        program(&a, k, QEDMA_REMOTE_INT);
    }
    run_all(&a);
    cable_wait(cable_cfg_readl(c, 0, cap + PCI_MSI_PENDING_64) ==
               MAKE_64BIT_MASK(0, a.n));
    g_assert_false(qtest_get_irq(c->soc, LINE_DMA));
    edma_lab_free(a.l);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (QEdmaMap map = QEDMA_MAP_LEGACY; map <= QEDMA_MAP_NATIVE; map++) {
        g_autofree char *local = g_strdup_printf("dw-edma/all/%s/local",
                                                 qedma_map_name(map));
        g_autofree char *vectors = g_strdup_printf("dw-edma/all/%s/vectors",
                                                   qedma_map_name(map));

        qtest_add_data_func(local, GINT_TO_POINTER(map), test_local);
        if (map != QEDMA_MAP_NATIVE) {
            qtest_add_data_func(vectors, GINT_TO_POINTER(map), test_vectors);
        }
    }
    qtest_add_func("dw-edma/all/hdma-native/messages", test_messages);
    return g_test_run();
}
