/*
 * QTest of the PCIe cable: both machines read each other at the same time
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each side's requests are answered while its own are outstanding: nobody may
 * wait for the peer with a lock that serving the peer needs.  If somebody
 * does, a thread here makes no progress and the test fails.  It runs for 30
 * seconds or as long as PCIE_CABLE_STRESS_S says.
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/cutils.h"
#include "libqos/pcie-cable.h"

#define DEFAULT_SECONDS 30
/* A thread that does nothing for so long is stuck. */
#define STUCK_S 20

#define WINDOW(c) ((c)->ep->addr_space)
#define TARGET (CABLE_RAM_BASE + 16 * MiB)
#define PAGE 4096
#define EDU_ARGS "-device edu,bus=pcie.0,addr=2"
#define EDU_DEVFN (2 << 3)
#define EDU_BAR (CABLE_MMIO32 + 128 * MiB)
#define EDU_LIVENESS 0x04

typedef struct Side {
    PCIeCable *c;
    bool *stop;                 /* atomic */
    unsigned rounds;            /* atomic */
} Side;

static void edu_setup(QTestState *qts)
{
    qtest_writel(qts, cable_ecam(0, EDU_DEVFN, PCI_BASE_ADDRESS_0), EDU_BAR);
    qtest_writew(qts, cable_ecam(0, EDU_DEVFN, PCI_COMMAND),
                 PCI_COMMAND_MEMORY);
}

/* Config reads, config writes, reads and writes of trapped BARs */
static void *host_thread(void *opaque)
{
    Side *s = opaque;
    QTestState *rc = s->c->rc;
    uint64_t reg = cable_bar(0, 2) + EDU_LIVENESS;
    uint64_t ram = cable_bar(0, 4);

    for (uint32_t i = 1; !qatomic_read(s->stop); i++) {
        qtest_writel(rc, reg, i);
        g_assert_cmphex(qtest_readl(rc, reg), ==, ~i);
        qtest_writeq(rc, ram, i);
        cable_cfg_writeb(s->c, 0, PCI_INTERRUPT_LINE, i);
        g_assert_cmphex(cable_cfg_readb(s->c, 0, PCI_INTERRUPT_LINE), ==,
                        (uint8_t)i);
        g_assert_cmpuint(qtest_readq(rc, ram), ==, i);
        qatomic_inc(&s->rounds);
    }
    return NULL;
}

/* Reads and writes of a device of the host, by message */
static void *soc_thread(void *opaque)
{
    Side *s = opaque;
    QTestState *soc = s->c->soc;
    uint64_t reg = WINDOW(s->c) + EDU_LIVENESS;

    for (uint32_t i = 1; !qatomic_read(s->stop); i++) {
        qtest_writel(soc, reg, i);
        g_assert_cmphex(qtest_readl(soc, reg), ==, ~i);
        qatomic_inc(&s->rounds);
    }
    return NULL;
}

/* Run both threads, see that each goes on all the time. */
static void run_crossing(PCIeCable *c, unsigned seconds)
{
    bool stop = false;
    Side host = { .c = c, .stop = &stop }, soc = { .c = c, .stop = &stop };
    GThread *threads[2];
    gint64 now = g_get_monotonic_time();
    gint64 end = now + seconds * G_USEC_PER_SEC;
    gint64 moved[2] = { now, now };
    unsigned seen[2] = { 0, 0 };

    threads[0] = g_thread_new("host", host_thread, &host);
    threads[1] = g_thread_new("soc", soc_thread, &soc);
    while (now < end) {
        unsigned rounds[2];

        g_usleep(100 * 1000);
        now = g_get_monotonic_time();
        rounds[0] = qatomic_read(&host.rounds);
        rounds[1] = qatomic_read(&soc.rounds);
        for (unsigned i = 0; i < 2; i++) {
            if (rounds[i] != seen[i]) {
                seen[i] = rounds[i];
                moved[i] = now;
            }
            g_assert_cmpint(now - moved[i], <, STUCK_S * G_USEC_PER_SEC);
        }
    }
    qatomic_set(&stop, true);
    g_thread_join(threads[0]);
    g_thread_join(threads[1]);
    g_test_message("%u rounds of the host, %u of the SoC", host.rounds,
                   soc.rounds);
    g_assert_cmpuint(host.rounds, >, 0);
    g_assert_cmpuint(soc.rounds, >, 0);
}

static unsigned stress_seconds(void)
{
    unsigned seconds = DEFAULT_SECONDS;
    const char *text = getenv("PCIE_CABLE_STRESS_S");

    if (text) {
        g_assert_cmpint(qemu_strtoui(text, NULL, 10, &seconds), ==, 0);
    }
    return seconds;
}

/*
 * Without a completion timeout, as cable_start() has it: every read gets its
 * data or waits for ever, so a deadlock cannot hide as a timeout.
 */
static void test_crossing(void)
{
    PCIeCable *c = cable_start("", "", EDU_ARGS, EDU_ARGS);

    edu_setup(c->rc);
    edu_setup(c->soc);
    dw_ep_inbound_bar_match(c->ep, 0, 0, 2, EDU_BAR);
    dw_ep_inbound_bar_match(c->ep, 1, 0, 4, TARGET);
    dw_ep_outbound(c->ep, 0, 0, WINDOW(c), EDU_BAR, PAGE);
    run_crossing(c, stress_seconds());

    g_assert_cmpuint(cable_rc_counter(c, "completion-timeouts"), ==, 0);
    g_assert_cmpuint(cable_ep_counter(c, "completion-timeouts"), ==, 0);
    g_assert_true(cable_rc_link_up(c));
    cable_free(c);
}

/* The SoC remaps a BAR that the host writes to and reads from. */

#define NUM_TARGETS 4
#define TARGET_N(n) (TARGET + ((n) + 1) * 2 * MiB)

static void *remap_host_thread(void *opaque)
{
    Side *s = opaque;
    uint64_t bar = cable_bar(0, 2);

    for (uint32_t i = 0; !qatomic_read(s->stop); i++) {
        uint64_t tag = qtest_readq(s->c->rc, bar + 8);

        /* Every target has its number there: nothing else may be seen. */
        g_assert_cmpuint(tag, >=, 1);
        g_assert_cmpuint(tag, <=, NUM_TARGETS);
        qtest_writel(s->c->rc, bar + (i % 256) * PAGE, i);
        qatomic_inc(&s->rounds);
    }
    return NULL;
}

static void test_remap(void)
{
    PCIeCable *c = cable_start("", "", "", "");
    gint64 end = g_get_monotonic_time() +
                 MAX(1, stress_seconds() / 3) * G_USEC_PER_SEC;
    bool stop = false;
    Side host = { .c = c, .stop = &stop };
    GThread *thread;
    unsigned n = 0, remaps = 0;

    for (unsigned i = 0; i < NUM_TARGETS; i++) {
        qtest_writeq(c->soc, TARGET_N(i) + 8, i + 1);
    }
    dw_ep_inbound_bar_match(c->ep, 0, 0, 2, TARGET_N(0));
    thread = g_thread_new("host", remap_host_thread, &host);
    while (g_get_monotonic_time() < end) {
        uint64_t old = TARGET_N(n);

        n = (n + 1) % NUM_TARGETS;
        dw_ep_atu_writel(c->ep, DW_EP_INBOUND, 0, DW_PCIE_ATU_LOWER_TARGET,
                         TARGET_N(n));
        /* No store of the host lands here any more. */
        qtest_writel(c->soc, old, 0xca11ab1e);
        qtest_writel(c->soc, old + 255 * PAGE, 0xca11ab1e);
        for (unsigned i = 0; i < 4; i++) {
            unsigned rounds = qatomic_read(&host.rounds);

            cable_wait(qatomic_read(&host.rounds) != rounds);
            g_assert_cmphex(qtest_readl(c->soc, old), ==, 0xca11ab1e);
            g_assert_cmphex(qtest_readl(c->soc, old + 255 * PAGE), ==,
                            0xca11ab1e);
        }
        remaps++;
    }
    qatomic_set(&stop, true);
    g_thread_join(thread);
    g_test_message("%u remaps, %u rounds of the host", remaps, host.rounds);
    g_assert_cmpuint(remaps, >, 0);
    cable_free(c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);

    qtest_add_func("/pcie-cable-stress/crossing", test_crossing);
    qtest_add_func("/pcie-cable-stress/remap", test_remap);

    return g_test_run();
}
