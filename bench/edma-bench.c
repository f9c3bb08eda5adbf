/*
 * Benchmark: the DMA engine between two machines against memcpy()
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Two machines without software, joined by the PCIe cable.  Linked lists of
 * equal descriptors move TOTAL bytes, each byte once, between the RAM of the
 * endpoint and that of the host, by one channel or divided among four.  The
 * time is from sending the doorbell writes to the endpoint's qtest socket until
 * the engine's interrupt line says that the last channel is done.  The baseline
 * is memcpy() of the same blocks, in the same order, by this program, which
 * maps the same memory; it takes turns with the engine.
 *
 * Prints "CHANNELS BLOCK DIRECTION BYTES NS NS-OF-MEMCPY" for each, medians.
 */
#include "qemu/osdep.h"
#include "hw/dma/dw-edma-regs.h"
#include "tests/qtest/libqos/dw-edma.h"
#include "tests/qtest/libqos/pcie-cable.h"
#include "tests/qtest/libqos/shared-ram.h"
#include "qtest-wire.h"

#define TOTAL (256 * MiB)
#define MAX_CHANNELS 4
#define REPEATS 9

/* RAM of both machines: lists in front, then the data */
#define RAM_SIZE (384 * MiB)
#define LISTS_OFFSET (16 * MiB)
#define DATA_OFFSET (64 * MiB)
#define RAM_ARGS "-m 384 -M memory-backend=bench " \
                 "-object memory-backend-memfd,id=bench,size=384M,share=on"

static const uint64_t block_sizes[] = { 4 * KiB, 64 * KiB, 1 * MiB, 16 * MiB };

enum { MEMCPY, ONE_CHANNEL, FOUR_CHANNELS, NUM_WAYS };
static const unsigned way_channels[NUM_WAYS] = { 0, 1, MAX_CHANNELS };

typedef struct Bench {
    PCIeCable *cable;
    uint8_t *soc_ram, *host_ram;
    QEdma edma;
    QTestWire wire;
    bool line;                  /* the engine's interrupt line */
} Bench;

/* The engine, by whole lines of the qtest protocol */

static void append_write(GString *commands, Bench *b, uint32_t reg,
                         uint32_t val)
{
    g_string_append_printf(commands, "writel 0x%" PRIx64 " 0x%x\n",
                           b->edma.regs + reg, val);
}

/* Send @oks commands, sleep until all are answered and the line is @line. */
static void execute(Bench *b, GString *commands, unsigned oks, bool line)
{
    qtest_wire_send(&b->wire, commands->str);
    while (oks || b->line != line) {
        const char *said = qtest_wire_read(&b->wire, -1);

        if (g_str_equal(said, "OK")) {
            oks--;
        } else {
            b->line = g_str_equal(said, "IRQ raise 0");
            g_assert_true(b->line || g_str_equal(said, "IRQ lower 0"));
        }
    }
    g_string_truncate(commands, 0);
}

static uint32_t reg_of(QEdmaDir dir, uint32_t write, uint32_t read)
{
    return dir == QEDMA_WRITE ? write : read;
}

/* Errors of any channel raise the line, too; what is done is checked later. */
static uint32_t mask_but(unsigned channel)
{
    return MAKE_64BIT_MASK(0, MAX_CHANNELS) & ~BIT(channel);
}

/*
 * Ring @n channels, wait for all: the line tells of one after the other. In ns.
 */
static int64_t run_channels(Bench *b, QEdmaDir dir, unsigned n)
{
    uint32_t doorbell = reg_of(dir, DW_EDMA_WR_DOORBELL, DW_EDMA_RD_DOORBELL);
    uint32_t mask = reg_of(dir, DW_EDMA_WR_INT_MASK, DW_EDMA_RD_INT_MASK);
    g_autoptr(GString) commands = g_string_new(NULL);
    int64_t start;

    append_write(commands, b, mask, mask_but(0));
    execute(b, commands, 1, false);

    for (unsigned i = 0; i < n; i++) {
        append_write(commands, b, doorbell, i);
    }
    start = qtest_wire_now();
    execute(b, commands, n, true);
    for (unsigned i = 1; i < n; i++) {
        append_write(commands, b, mask, mask_but(i));
        execute(b, commands, 1, true);
    }
    return qtest_wire_now() - start;
}

/* Everything was done without an error; drop the interrupts. */
static void settle(Bench *b, QEdmaDir dir, unsigned n)
{
    uint32_t status = reg_of(dir, DW_EDMA_WR_INT_STATUS,
                             DW_EDMA_RD_INT_STATUS);
    uint32_t clear = reg_of(dir, DW_EDMA_WR_INT_CLEAR, DW_EDMA_RD_INT_CLEAR);
    g_autoptr(GString) commands = g_string_new(NULL);

    g_assert_cmphex(qedma_readl(&b->edma, status), ==,
                    MAKE_64BIT_MASK(0, n));
    append_write(commands, b, clear, UINT32_MAX);
    execute(b, commands, 1, false);
}

/* What is moved */

static uint64_t addr_of(uint64_t offset)
{
    return CABLE_RAM_BASE + offset;
}

/* A list for each of @n channels, TOTAL / n bytes each, ready to be rung */
static void make_lists(Bench *b, QEdmaDir dir, unsigned n, uint64_t block)
{
    uint64_t share = TOTAL / n;
    uint64_t room = share / (4 * KiB) * QEDMA_ELEMENT_SIZE + 4 * KiB;

    for (unsigned i = 0; i < n; i++) {
        uint64_t list_offset = LISTS_OFFSET + i * room;
        QEdmaChan ch = { .edma = &b->edma, .dir = dir, .id = i };
        QEdmaList list;

        qedma_list_init(&list, b->edma.map, b->soc_ram + list_offset,
                        addr_of(list_offset));
        for (uint64_t at = i * share; at < (i + 1) * share; at += block) {
            bool last = at + block == (i + 1) * share;

            /* Data has the same address in both machines. */
            qedma_list_data(&list, addr_of(DATA_OFFSET + at),
                            addr_of(DATA_OFFSET + at), block,
                            last ? QEDMA_LOCAL_INT : 0);
        }
        qedma_list_end(&list, addr_of(list_offset));
        qedma_enable(&ch, QEDMA_IRQ_LOCAL);
        qedma_set_list(&ch, addr_of(list_offset));
    }
}

static uint8_t *source(Bench *b, QEdmaDir dir)
{
    return (dir == QEDMA_WRITE ? b->soc_ram : b->host_ram) + DATA_OFFSET;
}

static uint8_t *destination(Bench *b, QEdmaDir dir)
{
    return (dir == QEDMA_WRITE ? b->host_ram : b->soc_ram) + DATA_OFFSET;
}

/* In ns */
static int64_t run_memcpy(Bench *b, QEdmaDir dir, uint64_t block)
{
    uint8_t *from = source(b, dir), *to = destination(b, dir);
    int64_t start = qtest_wire_now();

    for (uint64_t at = 0; at < TOTAL; at += block) {
        memcpy(to + at, from + at, block);
    }
    return qtest_wire_now() - start;
}

static int64_t run_once(Bench *b, QEdmaDir dir, unsigned way, uint64_t block)
{
    unsigned n = way_channels[way];
    int64_t ns;

    if (way == MEMCPY) {
        return run_memcpy(b, dir, block);
    }
    make_lists(b, dir, n, block);
    ns = run_channels(b, dir, n);
    settle(b, dir, n);
    return ns;
}

/* It is the data that arrives: once for each way, not timed. */
static void check_once(Bench *b, QEdmaDir dir, unsigned way, uint64_t block)
{
    uint64_t *words = (uint64_t *)source(b, dir);

    for (uint64_t i = 0; i < TOTAL / sizeof(*words); i++) {
        words[i] = (i + block) * (way + 1);
    }
    memset(destination(b, dir), 0xa5, TOTAL);
    run_once(b, dir, way, block);
    g_assert_cmpint(memcmp(source(b, dir), destination(b, dir), TOTAL), ==, 0);
}

static int compare_ns(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static void measure(Bench *b, QEdmaDir dir, uint64_t block)
{
    int64_t ns[NUM_WAYS][REPEATS];

    for (unsigned way = 0; way < NUM_WAYS; way++) {
        check_once(b, dir, way, block);
    }
    for (unsigned i = 0; i < REPEATS; i++) {
        for (unsigned n = 0; n < NUM_WAYS; n++) {
            unsigned way = (i + n) % NUM_WAYS;

            ns[way][i] = run_once(b, dir, way, block);
        }
    }
    for (unsigned way = 0; way < NUM_WAYS; way++) {
        qsort(ns[way], REPEATS, sizeof(ns[way][0]), compare_ns);
    }
    for (unsigned way = ONE_CHANNEL; way < NUM_WAYS; way++) {
        printf("%u %" PRIu64 " %s %" PRIu64 " %" PRId64 " %" PRId64 "\n",
               way_channels[way], block,
               dir == QEDMA_WRITE ? "write" : "read", (uint64_t)TOTAL,
               ns[way][REPEATS / 2], ns[MEMCPY][REPEATS / 2]);
    }
    fflush(stdout);
}

/* Machines */

static void bench_start(Bench *b)
{
    PCIeCable *c = cable_start("", "", RAM_ARGS, RAM_ARGS);

    b->cable = c;
    b->soc_ram = shared_ram_map(c->soc, RAM_SIZE);
    b->host_ram = shared_ram_map(c->rc, RAM_SIZE);
    b->edma = (QEdma) {
        .qts = c->soc, .regs = c->ep->dma, .map = QEDMA_MAP_UNROLL,
    };
    /* rcar_gen4_pcie_ep_pre_init() */
    dw_ep_app_writel(c->ep, RCAR_GEN4_PCIEDMAINTSTSEN,
                     RCAR_GEN4_DMAINTSTSEN_MASK);
    qtest_irq_intercept_out_named(c->soc, DW_EP_QOM_PATH, "sysbus-irq");
    qtest_wire_init(&b->wire, c->soc);
}

static void bench_stop(Bench *b)
{
    shared_ram_unmap(b->soc_ram, RAM_SIZE);
    shared_ram_unmap(b->host_ram, RAM_SIZE);
    cable_free(b->cable);
}

int main(int argc, char **argv)
{
    Bench b = { 0 };

    if (argc != 1) {
        fprintf(stderr, "usage: %s\n", argv[0]);
        return 2;
    }
    bench_start(&b);
    for (QEdmaDir dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        for (unsigned i = 0; i < ARRAY_SIZE(block_sizes); i++) {
            measure(&b, dir, block_sizes[i]);
        }
    }
    bench_stop(&b);
    return 0;
}
