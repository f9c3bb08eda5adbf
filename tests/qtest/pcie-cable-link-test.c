/*
 * QTest of the PCIe cable: link training and loss, timeouts, resets
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each test ends with data that crosses the cable both ways: whatever
 * happened before, the survivor still works.
 */
#include "qemu/osdep.h"
#include "libqos/pcie-cable.h"

#define WINDOW(c) ((c)->ep->addr_space)
#define TARGET (CABLE_RAM_BASE + 16 * MiB)
#define HOST_BUF (CABLE_RAM_BASE + 32 * MiB)
#define MSI_NOWHERE 0x3ffff000ULL
#define MSI_DATA 0x1240
#define PAGE 4096
#define DATA_SIZE (64 * KiB)

/* An "edu" device of the host: not RAM, so the SoC's reads are messages. */
#define EDU_ARGS "-device edu,bus=pcie.0,addr=2"
#define EDU_DEVFN (2 << 3)
#define EDU_BAR (CABLE_MMIO32 + 128 * MiB)
#define EDU_LIVENESS 0x04

static void edu_setup(QTestState *qts)
{
    qtest_writel(qts, cable_ecam(0, EDU_DEVFN, PCI_BASE_ADDRESS_0), EDU_BAR);
    qtest_writew(qts, cable_ecam(0, EDU_DEVFN, PCI_COMMAND),
                 PCI_COMMAND_MEMORY);
}

/* Both directions, through fresh iATU regions; Command is on. */
static void check_data(PCIeCable *c, uint32_t seed)
{
    g_autofree void *down = cable_pattern(DATA_SIZE, seed);
    g_autofree void *up = cable_pattern(DATA_SIZE, seed + 1);

    dw_ep_inbound_bar_match(c->ep, 0, 0, 2, TARGET);
    dw_ep_outbound(c->ep, 0, 0, WINDOW(c), HOST_BUF, DATA_SIZE);
    qtest_bufwrite(c->rc, cable_bar(0, 2), down, DATA_SIZE);
    cable_check_memory(c->soc, TARGET, down, DATA_SIZE);
    qtest_bufwrite(c->soc, WINDOW(c), up, DATA_SIZE);
    cable_check_memory(c->rc, HOST_BUF, up, DATA_SIZE);
    g_assert_cmphex(cable_cfg_readl(c, 0, PCI_VENDOR_ID), ==,
                    CABLE_VENDOR | CABLE_DEVICE << 16);
}

static void check_gone(PCIeCable *c)
{
    uint16_t status = cable_slot_status(c);

    g_assert_false(status & PCI_EXP_SLTSTA_PDS);
    g_assert_true(status & PCI_EXP_SLTSTA_PDC);
    g_assert_cmphex(cable_cfg_readl(c, 0, PCI_VENDOR_ID), ==, UINT32_MAX);
    g_assert_cmphex(qtest_readl(c->rc, cable_bar(0, 2)), !=, 0x600d600d);
    cable_slot_clear_events(c);
}

/* The function came back by hotplug. */
static void check_returned(PCIeCable *c, uint32_t seed)
{
    uint16_t status = cable_slot_status(c);

    g_assert_true(status & PCI_EXP_SLTSTA_PDS);
    g_assert_true(status & PCI_EXP_SLTSTA_PDC);
    g_assert_false(status & PCI_EXP_SLTSTA_ABP);
    cable_port_setup(c);
    cable_host_setup(c, 0);
    check_data(c, seed);
}

static void start_ep_trained(PCIeCable *c)
{
    cable_start_ep(c, "", "");
    cable_soc_setup(c, 0);
    dw_ep_start_link(c->ep);
}

/* Training */

static void test_ep_first(void)
{
    PCIeCable *c = cable_new();

    start_ep_trained(c);
    cable_start_rc(c, "", "");
    cable_wait_link(c, true);
    /* There when the machine starts: present, without an event. */
    g_assert_true(cable_slot_status(c) & PCI_EXP_SLTSTA_PDS);
    g_assert_false(cable_slot_status(c) & PCI_EXP_SLTSTA_PDC);
    cable_port_setup(c);
    cable_host_setup(c, 0);
    check_data(c, 1);
    cable_free(c);
}

static void test_rc_first(void)
{
    PCIeCable *c = cable_new();

    cable_start_rc(c, "", "");
    g_assert_false(cable_rc_link_up(c));
    cable_port_setup(c);
    g_assert_false(cable_slot_status(c) & PCI_EXP_SLTSTA_PDS);
    g_assert_cmphex(cable_cfg_readl(c, 0, PCI_VENDOR_ID), ==, UINT32_MAX);

    start_ep_trained(c);
    cable_wait_link(c, true);
    check_returned(c, 2);
    cable_free(c);
}

/* The endpoint runs, its software has not enabled the LTSSM yet. */
static void test_untrained(void)
{
    PCIeCable *c = cable_new();

    cable_start_ep(c, "", "");
    cable_start_rc(c, "", "");
    cable_port_setup(c);
    g_assert_false(cable_rc_link_up(c));
    g_assert_false(dw_ep_link_up(c->ep));
    g_assert_false(cable_slot_status(c) & PCI_EXP_SLTSTA_PDS);

    cable_soc_setup(c, 0);
    dw_ep_start_link(c->ep);
    cable_wait_link(c, true);
    check_returned(c, 3);
    cable_free(c);
}

static void test_ltssm(void)
{
    PCIeCable *c = cable_start("", "", "", "");

    for (unsigned round = 0; round < 5; round++) {
        check_data(c, 10 + round);
        dw_ep_stop_link(c->ep);
        cable_wait_link(c, false);
        check_gone(c);
        dw_ep_start_link(c->ep);
        cable_wait_link(c, true);
        check_returned(c, 20 + round);
    }
    cable_free(c);
}

/* Loss */

static void test_ep_killed(void)
{
    PCIeCable *c = cable_start("", "", "", "");

    for (unsigned round = 0; round < 2; round++) {
        check_data(c, 30);
        cable_kill_ep(c);
        cable_wait_link(c, false);
        check_gone(c);
        start_ep_trained(c);
        cable_wait_link(c, true);
        check_returned(c, 31);
    }
    cable_free(c);
}

static void test_rc_killed(void)
{
    PCIeCable *c = cable_start("", "", "", "");

    for (unsigned round = 0; round < 2; round++) {
        check_data(c, 40);
        cable_kill_rc(c);
        cable_wait_link(c, false);
        /* Nobody assigned addresses or made it bus master. */
        g_assert_cmphex(dw_ep_bar_assigned(c->ep, 0, 2), ==, 0);
        g_assert_cmphex(dw_ep_dbi_readw(c->ep, 0, PCI_COMMAND), ==, 0);
        g_assert_cmphex(qtest_readl(c->soc, WINDOW(c)), ==, UINT32_MAX);
        qtest_writel(c->soc, WINDOW(c), 1);

        cable_start_rc(c, "", "");
        cable_wait_link(c, true);
        cable_port_setup(c);
        cable_host_setup(c, 0);
        check_data(c, 41);
    }
    cable_free(c);
}

/* What pciehp does with a slot: it wants events, and it is switched off. */
static void slot_handle_hotplug(PCIeCable *c)
{
    cable_slot_control(c, PCI_EXP_SLTCTL_HPIE | PCI_EXP_SLTCTL_PWR_IND_ON,
                       PCI_EXP_SLTCTL_PIC);
}

static void slot_power_off(PCIeCable *c)
{
    cable_slot_control(c, PCI_EXP_SLTCTL_PCC, 0);
    cable_slot_control(c, PCI_EXP_SLTCTL_PWR_IND_OFF, PCI_EXP_SLTCTL_PIC);
    cable_slot_clear_events(c);
}

/* Mapped pages outlive a dead peer until the guest has switched off. */
static void test_removal_grace(void)
{
    PCIeCable *c = cable_start("", ",removal-grace=600000", "", "");
    g_autofree void *data = cable_pattern(DATA_SIZE, 50);
    uint32_t first;

    slot_handle_hotplug(c);
    check_data(c, 50);
    cable_kill_ep(c);
    cable_wait_link(c, false);
    g_assert_false(cable_slot_status(c) & PCI_EXP_SLTSTA_PDS);
    g_assert_true(cable_slot_status(c) & PCI_EXP_SLTSTA_PDC);
    g_assert_cmphex(cable_cfg_readl(c, 0, PCI_VENDOR_ID), ==, UINT32_MAX);
    cable_check_memory(c->rc, cable_bar(0, 2), data, DATA_SIZE);
    g_assert_cmphex(qtest_readl(c->rc, cable_bar(0, 4)), ==, UINT32_MAX);

    slot_power_off(c);
    memcpy(&first, data, sizeof(first));
    cable_wait(qtest_readl(c->rc, cable_bar(0, 2)) != first);

    start_ep_trained(c);
    cable_wait_link(c, true);
    check_returned(c, 51);
    cable_free(c);
}

/* A living endpoint takes its memory back when it takes the link down. */
static void test_no_grace_for_the_living(void)
{
    PCIeCable *c = cable_start("", ",removal-grace=600000", "", "");
    uint32_t canary;

    slot_handle_hotplug(c);
    check_data(c, 60);
    canary = qtest_readl(c->soc, TARGET);
    dw_ep_stop_link(c->ep);
    /* The register write is over: no store may arrive any more. */
    qtest_writel(c->rc, cable_bar(0, 2), ~canary);
    g_assert_cmphex(qtest_readl(c->rc, cable_bar(0, 2)), ==, UINT32_MAX);
    g_assert_cmphex(qtest_readl(c->soc, TARGET), ==, canary);
    cable_free(c);
}

/* A new function is not switched off along with the old one. */
static void test_return_waits_for_power_off(void)
{
    PCIeCable *c = cable_start("", "", "", "");
    uint64_t received;

    slot_handle_hotplug(c);
    check_data(c, 70);
    dw_ep_stop_link(c->ep);
    cable_wait(!cable_rc_link_up(c));
    received = cable_rc_counter(c, "messages-received");
    dw_ep_start_link(c->ep);
    /* The RC end has asked the endpoint about its function ... */
    cable_wait(cable_rc_counter(c, "messages-received") > received + 7);
    g_assert_false(cable_slot_status(c) & PCI_EXP_SLTSTA_PDS);
    /* ... and plugs it when the guest is done with the last one. */
    slot_power_off(c);
    cable_wait_link(c, true);
    check_returned(c, 71);
    cable_free(c);
}

typedef struct Read {
    QTestState *qts;
    uint64_t addr;
    uint32_t value;
    bool started;               /* atomic */
} Read;

static void *read_thread(void *opaque)
{
    Read *r = opaque;

    qatomic_set(&r->started, true);
    r->value = qtest_readl(r->qts, r->addr);
    return NULL;
}

static GThread *start_read(Read *r)
{
    GThread *thread = g_thread_new("read", read_thread, r);

    cable_wait(qatomic_read(&r->started));
    return thread;
}

/* A read that would wait for ever ends when the peer dies. */
static void test_loss_ends_host_read(void)
{
    PCIeCable *c = cable_start("", "", "", "");
    Read r = { .qts = c->rc, .addr = cable_bar(0, 4) };
    GThread *thread;

    dw_ep_inbound_bar_match(c->ep, 0, 0, 4, TARGET);
    cable_pause(c->soc);
    thread = start_read(&r);
    cable_kill_ep(c);
    g_thread_join(thread);
    g_assert_cmphex(r.value, ==, UINT32_MAX);
    cable_wait_link(c, false);
    check_gone(c);
    start_ep_trained(c);
    cable_wait_link(c, true);
    check_returned(c, 50);
    cable_free(c);
}

static void test_loss_ends_soc_read(void)
{
    PCIeCable *c = cable_start("", "", "", EDU_ARGS);
    Read r = { .qts = c->soc, .addr = WINDOW(c) + EDU_LIVENESS };
    GThread *thread;

    edu_setup(c->rc);
    dw_ep_outbound(c->ep, 0, 0, WINDOW(c), EDU_BAR, PAGE);
    cable_pause(c->rc);
    thread = start_read(&r);
    cable_kill_rc(c);
    g_thread_join(thread);
    g_assert_cmphex(r.value, ==, UINT32_MAX);
    cable_wait_link(c, false);
    cable_start_rc(c, "", "");
    cable_wait_link(c, true);
    cable_port_setup(c);
    cable_host_setup(c, 0);
    check_data(c, 51);
    cable_free(c);
}

/* Completion timeout */

static void test_timeout_host(void)
{
    PCIeCable *c = cable_start("", "", "", "");
    uint32_t value;

    dw_ep_inbound_bar_match(c->ep, 0, 0, 2, TARGET);
    dw_ep_inbound_bar_match(c->ep, 1, 0, 4, TARGET + 4 * MiB);
    qtest_writel(c->soc, TARGET + 4 * MiB, 0x600d600d);
    g_assert_cmpuint(cable_rc_counter(c, "completion-timeouts"), ==, 0);
    cable_rc_set_timeout(c, 500);

    cable_pause(c->soc);
    g_assert_cmphex(qtest_readl(c->rc, cable_bar(0, 4)), ==, UINT32_MAX);
    g_assert_cmphex(cable_cfg_readl(c, 0, PCI_VENDOR_ID), ==, UINT32_MAX);
    g_assert_cmpuint(cable_rc_counter(c, "completion-timeouts"), ==, 2);
    /* Posted, and mapped: neither waits. */
    qtest_writel(c->rc, cable_bar(0, 4) + 4, 0x1234);
    qtest_writel(c->rc, cable_bar(0, 2), 0x5678);
    g_assert_cmphex(qtest_readl(c->rc, cable_bar(0, 2)), ==, 0x5678);
    g_assert_cmpuint(cable_rc_counter(c, "completion-timeouts"), ==, 2);
    g_assert_true(cable_rc_link_up(c));

    /* The late completions are for nobody. */
    cable_continue(c->soc);
    cable_wait((value = qtest_readl(c->rc, cable_bar(0, 4))) != UINT32_MAX);
    g_assert_cmphex(value, ==, 0x600d600d);
    g_assert_cmphex(qtest_readl(c->rc, cable_bar(0, 4) + 4), ==, 0x1234);
    g_assert_true(cable_rc_link_up(c));
    check_data(c, 60);
    cable_free(c);
}

static void test_timeout_soc(void)
{
    PCIeCable *c = cable_start(",completion-timeout=500", "", "", EDU_ARGS);
    uint32_t value;

    edu_setup(c->rc);
    dw_ep_outbound(c->ep, 1, 0, WINDOW(c) + MiB, EDU_BAR, PAGE);
    qtest_writel(c->soc, WINDOW(c) + MiB + EDU_LIVENESS, 1);
    g_assert_cmphex(qtest_readl(c->soc, WINDOW(c) + MiB + EDU_LIVENESS), ==,
                    ~1u);

    cable_pause(c->rc);
    g_assert_cmphex(qtest_readl(c->soc, WINDOW(c) + MiB + EDU_LIVENESS), ==,
                    UINT32_MAX);
    g_assert_cmpuint(cable_ep_counter(c, "completion-timeouts"), ==, 1);
    g_assert_true(dw_ep_link_up(c->ep));

    cable_continue(c->rc);
    cable_wait((value = qtest_readl(c->soc, WINDOW(c) + MiB + EDU_LIVENESS))
               != UINT32_MAX);
    g_assert_cmphex(value, ==, ~1u);
    check_data(c, 61);
    cable_free(c);
}

/* More reads time out than requests can be outstanding. */
static void test_timeout_many(void)
{
    PCIeCable *c = cable_start("", "", "", "");
    uint64_t before;

    dw_ep_inbound_bar_match(c->ep, 0, 0, 4, TARGET);
    qtest_writel(c->soc, TARGET, 0x600d600d);
    cable_pause(c->soc);
    before = cable_rc_counter(c, "completion-timeouts");
    cable_rc_set_timeout(c, 1);
    for (unsigned i = 0; i < 1200; i++) {
        g_assert_cmphex(qtest_readl(c->rc, cable_bar(0, 4)), ==, UINT32_MAX);
    }
    g_assert_cmpuint(cable_rc_counter(c, "completion-timeouts") - before, ==,
                     1200);
    cable_rc_set_timeout(c, 0);
    cable_continue(c->soc);
    cable_wait(qtest_readl(c->rc, cable_bar(0, 4)) == 0x600d600d);
    cable_free(c);
}

/* Resets */

#define AER_MASK (DW_PCIE_ECAP_AER + PCI_ERR_UNCOR_MASK)
#define DEVCTL (DW_PCIE_CAP_EXP + PCI_EXP_DEVCTL)
#define MSI_FLAGS (DW_PCIE_CAP_MSI + PCI_MSI_FLAGS)

/* Set what a reset clears and what it keeps. */
static void reset_prepare(PCIeCable *c)
{
    check_data(c, 70);
    cable_cfg_writeb(c, 0, PCI_INTERRUPT_LINE, 0x42);
    cable_cfg_writel(c, 0, AER_MASK, PCI_ERR_UNC_POISON_TLP);
    cable_cfg_writew(c, 0, DEVCTL, PCI_EXP_DEVCTL_PAYLOAD_256B);
    cable_cfg_writel(c, 0, DW_PCIE_CAP_MSI + PCI_MSI_ADDRESS_LO, MSI_NOWHERE);
    cable_cfg_writew(c, 0, DW_PCIE_CAP_MSI + PCI_MSI_DATA_64, MSI_DATA);
    cable_cfg_writew(c, 0, MSI_FLAGS, PCI_MSI_FLAGS_ENABLE);
}

static void reset_check_function(PCIeCable *c)
{
    /* What the host wrote is gone. */
    g_assert_cmphex(cable_cfg_readw(c, 0, PCI_COMMAND), ==, 0);
    g_assert_cmphex(cable_cfg_readb(c, 0, PCI_INTERRUPT_LINE), ==, 0);
    g_assert_cmphex(cable_cfg_readl(c, 0, PCI_BASE_ADDRESS_0), ==, 0);
    g_assert_cmphex(cable_cfg_readw(c, 0, MSI_FLAGS) & PCI_MSI_FLAGS_ENABLE,
                    ==, 0);
    g_assert_false(dw_ep_raise_msi(c->ep, 1, 0, WINDOW(c) + MiB, 0));
    /* Sticky bits stay, and what the SoC set up. */
    g_assert_cmphex(cable_cfg_readl(c, 0, AER_MASK), ==,
                    PCI_ERR_UNC_POISON_TLP);
    g_assert_cmphex(cable_cfg_readl(c, 0, PCI_VENDOR_ID), ==,
                    CABLE_VENDOR | CABLE_DEVICE << 16);
    /* Neither direction works until the host allows it again. */
    g_assert_cmphex(qtest_readl(c->soc, WINDOW(c)), ==, UINT32_MAX);
    g_assert_true(dw_ep_link_up(c->ep));
}

/* The iATU regions of check_data() are still there. */
static void reset_check_data(PCIeCable *c)
{
    g_autofree void *data = cable_pattern(DATA_SIZE, 71);

    cable_host_setup(c, 0);
    qtest_bufwrite(c->rc, cable_bar(0, 2), data, DATA_SIZE);
    cable_check_memory(c->soc, TARGET, data, DATA_SIZE);
    qtest_bufwrite(c->rc, HOST_BUF, data, DATA_SIZE);
    cable_check_memory(c->soc, WINDOW(c), data, DATA_SIZE);
    g_assert_cmphex(cable_size_bar(c, 0, 2), ==, CABLE_BAR_SIZE);
    check_data(c, 72);
}

static void test_flr(void)
{
    PCIeCable *c = cable_start("", "", "", "");

    reset_prepare(c);
    g_assert_true(cable_cfg_readl(c, 0, DW_PCIE_CAP_EXP + PCI_EXP_DEVCAP) &
                  PCI_EXP_DEVCAP_FLR);
    cable_cfg_writew(c, 0, DEVCTL, PCI_EXP_DEVCTL_PAYLOAD_256B |
                     PCI_EXP_DEVCTL_BCR_FLR);
    reset_check_function(c);
    /* The link's payload size is not the function's to reset. */
    g_assert_cmphex(cable_cfg_readw(c, 0, DEVCTL) & PCI_EXP_DEVCTL_PAYLOAD,
                    ==, PCI_EXP_DEVCTL_PAYLOAD_256B);
    reset_check_data(c);
    cable_free(c);
}

/* One function's reset leaves the other alone. */
static void test_flr_other(void)
{
    PCIeCable *c = cable_new();
    g_autofree void *data = cable_pattern(PAGE, 73);

    cable_start_ep(c, ",functions=2", "");
    cable_soc_setup(c, 0);
    cable_soc_setup(c, 1);
    dw_ep_start_link(c->ep);
    cable_start_rc(c, "", "");
    cable_wait_link(c, true);
    cable_port_setup(c);
    cable_host_setup(c, 0);
    cable_host_setup(c, 1);
    dw_ep_inbound_bar_match(c->ep, 4, 1, 2, TARGET + 4 * MiB);

    cable_cfg_writew(c, 0, DEVCTL, PCI_EXP_DEVCTL_BCR_FLR);
    g_assert_cmphex(cable_cfg_readw(c, 0, PCI_COMMAND), ==, 0);
    g_assert_cmphex(cable_cfg_readw(c, 1, PCI_COMMAND), ==,
                    PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    qtest_bufwrite(c->rc, cable_bar(1, 2), data, PAGE);
    cable_check_memory(c->soc, TARGET + 4 * MiB, data, PAGE);
    cable_host_setup(c, 0);
    check_data(c, 74);
    cable_free(c);
}

static void test_hot_reset(void)
{
    PCIeCable *c = cable_start("", "", "", "");

    reset_prepare(c);
    cable_hot_reset(c);
    reset_check_function(c);
    g_assert_cmphex(cable_cfg_readw(c, 0, DEVCTL) & PCI_EXP_DEVCTL_PAYLOAD,
                    ==, 0);
    reset_check_data(c);
    cable_free(c);
}

static void test_rc_machine_reset(void)
{
    PCIeCable *c = cable_start("", "", "", "");

    reset_prepare(c);
    qtest_system_reset(c->rc);
    cable_wait_link(c, true);
    cable_port_setup(c);
    reset_check_function(c);
    reset_check_data(c);
    cable_free(c);
}

static void test_ep_machine_reset(void)
{
    PCIeCable *c = cable_start("", "", "", "");

    check_data(c, 80);
    qtest_system_reset(c->soc);
    cable_wait_link(c, false);
    check_gone(c);
    cable_soc_setup(c, 0);
    dw_ep_start_link(c->ep);
    cable_wait_link(c, true);
    check_returned(c, 81);
    cable_free(c);
}

/* The controller's reset line: nothing of the SoC's setup survives. */
static void test_ep_reset_line(void)
{
    PCIeCable *c = cable_start("", "", "", "");

    check_data(c, 82);
    dw_ep_set_reset(c->ep, true);
    cable_wait(!cable_rc_link_up(c));
    check_gone(c);
    dw_ep_set_reset(c->ep, false);
    cable_soc_setup(c, 0);
    dw_ep_start_link(c->ep);
    cable_wait_link(c, true);
    cable_port_setup(c);
    cable_host_setup(c, 0);
    /* The iATU is empty: Unsupported Request */
    g_assert_cmphex(qtest_readl(c->rc, cable_bar(0, 2)), ==, UINT32_MAX);
    check_data(c, 83);
    cable_free(c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);

    qtest_add_func("/pcie-cable-link/train/ep-first", test_ep_first);
    qtest_add_func("/pcie-cable-link/train/rc-first", test_rc_first);
    qtest_add_func("/pcie-cable-link/train/untrained", test_untrained);
    qtest_add_func("/pcie-cable-link/train/ltssm", test_ltssm);
    qtest_add_func("/pcie-cable-link/loss/ep-killed", test_ep_killed);
    qtest_add_func("/pcie-cable-link/loss/rc-killed", test_rc_killed);
    qtest_add_func("/pcie-cable-link/loss/removal-grace", test_removal_grace);
    qtest_add_func("/pcie-cable-link/loss/no-grace-for-the-living",
                   test_no_grace_for_the_living);
    qtest_add_func("/pcie-cable-link/loss/return-waits-for-power-off",
                   test_return_waits_for_power_off);
    qtest_add_func("/pcie-cable-link/loss/ends-host-read",
                   test_loss_ends_host_read);
    qtest_add_func("/pcie-cable-link/loss/ends-soc-read",
                   test_loss_ends_soc_read);
    qtest_add_func("/pcie-cable-link/timeout/host", test_timeout_host);
    qtest_add_func("/pcie-cable-link/timeout/soc", test_timeout_soc);
    qtest_add_func("/pcie-cable-link/timeout/many", test_timeout_many);
    qtest_add_func("/pcie-cable-link/reset/flr", test_flr);
    qtest_add_func("/pcie-cable-link/reset/flr-other", test_flr_other);
    qtest_add_func("/pcie-cable-link/reset/hot", test_hot_reset);
    qtest_add_func("/pcie-cable-link/reset/rc-machine",
                   test_rc_machine_reset);
    qtest_add_func("/pcie-cable-link/reset/ep-machine",
                   test_ep_machine_reset);
    qtest_add_func("/pcie-cable-link/reset/ep-line", test_ep_reset_line);

    return g_test_run();
}
