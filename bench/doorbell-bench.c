/*
 * Benchmark: how long until the other machine's interrupt line rises
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Two machines without software are joined twice, by the PCIe cable and by
 * ivshmem-doorbell.  A sample begins when this program sends one machine's
 * qtest socket the write that rings, and ends when the other machine's qtest
 * socket tells that the line of the interrupt controller's MSI frame rose.
 * So every path begins with the main loop of the one taking a line of text
 * and ends with whichever thread of the other raises the line; only what is
 * between them differs.  The two take turns, sample by sample.  The floor,
 * which comes behind them, is what is left without a path: the machine that is
 * to be interrupted writes to its MSI frame itself.
 *
 * Each machine gets a CPU, and this program runs on that of the interrupted
 * one, at real-time priority if it may: what either machine does after the
 * ring or after the interrupt is not to delay the end of a sample.
 *
 * Prints "NAME PATH MEDIAN P99" for each direction and path, in ns.
 */
#include "qemu/osdep.h"
#include <sched.h>
#include "qemu/cutils.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "tests/qtest/libqos/pcie-cable.h"
#include "ivshmem-pair.h"
#include "qtest-wire.h"

/* The GICv2m frame of "virt": each write of an SPI's number pulses it. */
#define V2M 0x08020000ULL
#define V2M_TYPER 0x008
#define V2M_SETSPI 0x040
#define V2M_TYPE "child<arm-gicv2m>"

enum { EP, RC, NUM_MACHINES };
enum { CABLE, IVSHMEM, FLOOR, NUM_PATHS };

static const char *const path_names[NUM_PATHS] = {
    "cable", "ivshmem", "floor",
};

/* SPI of each machine's frame that a path rings */
#define LINE(path) (path)

#define WARM_UP 500
/* Long enough for all threads of both machines to go to sleep again */
#define PAUSE_US 50
/* A doorbell that ivshmem does not know the peer of yet is lost. */
#define LOST_MS 1000

typedef struct Path {
    QTestWire *from, *to;
    char *command;              /* rings; for @from */
    char *rise, *fall;          /* what @to says then */
    int64_t *ns;                /* samples */
} Path;

typedef struct Bench {
    PCIeCable *cable;
    IvshmemPair ivshmem;
    QTestState *qts[NUM_MACHINES];
    QTestWire wire[NUM_MACHINES];
    uint32_t spi;               /* of line 0 */
    unsigned samples;
    cpu_set_t cpus;             /* ours when the program began */
} Bench;

/* Machines */

static char *v2m_path(QTestState *qts)
{
    QDict *rsp = qtest_qmp(qts, "{ 'execute': 'qom-list', 'arguments': "
                           "{ 'path': '/machine/unattached' } }");
    char *path = NULL;
    QListEntry *entry;

    g_assert_true(qdict_haskey(rsp, "return"));
    QLIST_FOREACH_ENTRY(qdict_get_qlist(rsp, "return"), entry) {
        QDict *child = qobject_to(QDict, qlist_entry_obj(entry));

        if (g_str_equal(qdict_get_str(child, "type"), V2M_TYPE)) {
            path = g_strdup_printf("/machine/unattached/%s",
                                   qdict_get_str(child, "name"));
        }
    }
    qobject_unref(rsp);
    g_assert_nonnull(path);
    return path;
}

/* More arguments of machine @m */
static char *machine_args(Bench *b, unsigned m)
{
    g_autofree char *ivshmem = ivshmem_pair_args(&b->ivshmem, m);

    return g_strdup_printf("-M gic-version=2 %s", ivshmem);
}

static void start_machines(Bench *b)
{
    g_autofree char *ep_args = NULL, *rc_args = NULL;
    PCIeCable *c = cable_new();

    b->cable = c;
    ivshmem_pair_init(&b->ivshmem);
    ep_args = machine_args(b, EP);
    cable_start_ep(c, ",msi-parent=off", ep_args);
    ivshmem_pair_started(&b->ivshmem, EP);
    cable_soc_setup(c, 0);
    dw_ep_start_link(c->ep);
    rc_args = machine_args(b, RC);
    cable_start_rc(c, "", rc_args);
    ivshmem_pair_started(&b->ivshmem, RC);
    cable_wait_link(c, true);
    cable_port_setup(c);
    cable_host_setup(c, 0);

    b->qts[EP] = c->soc;
    b->qts[RC] = c->rc;
    for (unsigned m = 0; m < NUM_MACHINES; m++) {
        g_autofree char *v2m = v2m_path(b->qts[m]);

        b->spi = qtest_readl(b->qts[m], V2M + V2M_TYPER) >> 16;
        qtest_irq_intercept_out_named(b->qts[m], v2m, "sysbus-irq");
        qtest_wire_init(&b->wire[m], b->qts[m]);
    }
}

static void stop_machines(Bench *b)
{
    cable_free(b->cable);
    ivshmem_pair_free(&b->ivshmem);
}

/* What rings */

/* BAR4 is smaller than a page and so always a message; it shows the frame. */
static uint64_t cable_doorbell(Bench *b)
{
    dw_ep_inbound_bar_match(b->cable->ep, 0, 0, 4, V2M);
    return cable_bar(0, 4) + V2M_SETSPI;
}

/* The SoC's window onto the host's MSI address, one vector enabled. */
static uint64_t cable_msi(Bench *b)
{
    unsigned cap = DW_PCIE_CAP_MSI;
    PCIeCable *c = b->cable;

    cable_cfg_writel(c, 0, cap + PCI_MSI_ADDRESS_LO, V2M + V2M_SETSPI);
    cable_cfg_writel(c, 0, cap + PCI_MSI_ADDRESS_HI, 0);
    cable_cfg_writew(c, 0, cap + PCI_MSI_DATA_64, b->spi + LINE(CABLE));
    cable_cfg_writel(c, 0, cap + PCI_MSI_MASK_64, 0);
    cable_cfg_writew(c, 0, cap + PCI_MSI_FLAGS, PCI_MSI_FLAGS_ENABLE);
    dw_ep_outbound(c->ep, 0, 0, c->ep->addr_space, V2M,
                   RCAR_GEN4_ATU_REGION_SIZE);
    return c->ep->addr_space + V2M_SETSPI;
}

static void path_init(Bench *b, Path *path, unsigned kind, unsigned from,
                      unsigned to, uint64_t addr, uint32_t value)
{
    path->from = &b->wire[from];
    path->to = &b->wire[to];
    path->command = g_strdup_printf("writel 0x%" PRIx64 " 0x%x\n", addr,
                                    value);
    path->rise = g_strdup_printf("IRQ raise %u", LINE(kind));
    path->fall = g_strdup_printf("IRQ lower %u", LINE(kind));
    path->ns = g_new(int64_t, b->samples);
}

static void path_clear(Path *path)
{
    g_free(path->command);
    g_free(path->rise);
    g_free(path->fall);
    g_free(path->ns);
}

/* CPUs */

/* The @n-th CPU that this program may use, modulo their number */
static int nth_cpu(const cpu_set_t *allowed, int n)
{
    int cpu = -1;

    for (n %= CPU_COUNT(allowed); n >= 0; n--) {
        do {
            cpu++;
        } while (!CPU_ISSET(cpu, allowed));
    }
    return cpu;
}

static void pin_thread(pid_t tid, int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    g_assert_cmpint(sched_setaffinity(tid, sizeof(set), &set), ==, 0);
}

static void pin_machine(QTestState *qts, int cpu)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task", qtest_pid(qts));
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *tid;

    g_assert_nonnull(dir);
    while ((tid = g_dir_read_name(dir))) {
        pin_thread(atoi(tid), cpu);
    }
}

static void place(Bench *b, unsigned from, unsigned to)
{
    const struct sched_param first = { .sched_priority = 1 };
    int cpu[] = { nth_cpu(&b->cpus, 0), nth_cpu(&b->cpus, 1) };

    pin_machine(b->qts[from], cpu[0]);
    pin_machine(b->qts[to], cpu[1]);
    pin_thread(0, cpu[1]);
    if (sched_setscheduler(0, SCHED_FIFO, &first) < 0) {
        fprintf(stderr, "no real-time priority: %s\n", strerror(errno));
    }
}

/* Measuring */

/* The line is low again and the command answered: as before the ring. */
static void path_settle(Path *path)
{
    qtest_wire_await(path->to, path->fall);
    qtest_wire_await(path->from, "OK");
}

static int64_t path_sample(Path *path)
{
    int64_t start = qtest_wire_now(), end;

    qtest_wire_send(path->from, path->command);
    qtest_wire_await(path->to, path->rise);
    end = qtest_wire_now();
    path_settle(path);
    g_usleep(PAUSE_US);
    return end - start;
}

static void path_warm_up(Path *path)
{
    bool rang = false;

    for (unsigned i = 0; i < CABLE_DEADLINE_S && !rang; i++) {
        const char *line;

        qtest_wire_send(path->from, path->command);
        line = qtest_wire_read(path->to, LOST_MS);
        rang = line != NULL;
        if (rang) {
            g_assert_cmpstr(line, ==, path->rise);
            path_settle(path);
        } else {
            qtest_wire_await(path->from, "OK");
        }
    }
    g_assert_true(rang);
    for (unsigned i = 0; i < WARM_UP; i++) {
        path_sample(path);
    }
}

static int compare_ns(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static void measure(const char *name, Path *paths, unsigned samples)
{
    for (unsigned p = 0; p < NUM_PATHS; p++) {
        path_warm_up(&paths[p]);
    }
    for (unsigned i = 0; i < samples; i++) {
        paths[CABLE].ns[i] = path_sample(&paths[CABLE]);
        paths[IVSHMEM].ns[i] = path_sample(&paths[IVSHMEM]);
    }
    for (unsigned i = 0; i < samples; i++) {
        paths[FLOOR].ns[i] = path_sample(&paths[FLOOR]);
    }
    for (unsigned p = 0; p < NUM_PATHS; p++) {
        int64_t *ns = paths[p].ns;

        qsort(ns, samples, sizeof(*ns), compare_ns);
        printf("%s %s %" PRId64 " %" PRId64 "\n", name, path_names[p],
               ns[samples / 2], ns[samples - 1 - samples / 100]);
        path_clear(&paths[p]);
    }
    fflush(stdout);
}

/*
 * From one machine to the other: the cable is rung at @cable_addr with the
 * number of its SPI, as the floor is.
 */
static void measure_direction(Bench *b, const char *name, unsigned from,
                              unsigned to, uint64_t cable_addr,
                              uint64_t ivshmem_addr)
{
    Path paths[NUM_PATHS];

    place(b, from, to);
    path_init(b, &paths[CABLE], CABLE, from, to, cable_addr,
              b->spi + LINE(CABLE));
    path_init(b, &paths[IVSHMEM], IVSHMEM, from, to, ivshmem_addr,
              ivshmem_doorbell_value(to));
    path_init(b, &paths[FLOOR], FLOOR, to, to, V2M + V2M_SETSPI,
              b->spi + LINE(FLOOR));
    measure(name, paths, b->samples);
}

int main(int argc, char **argv)
{
    uint64_t ivshmem_addr[NUM_MACHINES];
    Bench b = { 0 };

    if (argc != 2 || qemu_strtoui(argv[1], NULL, 10, &b.samples) < 0 ||
        !b.samples) {
        fprintf(stderr, "usage: %s SAMPLES\n", argv[0]);
        return 2;
    }
    g_assert_cmpint(sched_getaffinity(0, sizeof(b.cpus), &b.cpus), ==, 0);
    start_machines(&b);
    for (unsigned m = 0; m < NUM_MACHINES; m++) {
        ivshmem_addr[m] = ivshmem_setup(b.qts[m], m, V2M + V2M_SETSPI,
                                        b.spi + LINE(IVSHMEM));
    }
    measure_direction(&b, "doorbell/rc-to-ep", RC, EP, cable_doorbell(&b),
                      ivshmem_addr[RC]);
    measure_direction(&b, "msi/ep-to-rc", EP, RC, cable_msi(&b),
                      ivshmem_addr[EP]);
    stop_machines(&b);
    return 0;
}
