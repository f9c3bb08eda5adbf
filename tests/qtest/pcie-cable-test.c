/*
 * QTest of the PCIe cable: config space, BARs, DMA and MSI
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Two machines joined by the cable; the test plays the software of both.
 * What happens when the link goes is in pcie-cable-link-test.c.
 */
#include "qemu/osdep.h"
#include "hw/pci/pci_ids.h"
#include "libqos/pcie-cable.h"

/* What the outbound window maps is at its start. */
#define WINDOW(c) ((c)->ep->addr_space)

/* RAM of the SoC that BARs show; apart by more than a BAR */
#define TARGET_A (CABLE_RAM_BASE + 16 * MiB)
#define TARGET_B (CABLE_RAM_BASE + 20 * MiB)
/* RAM of the host */
#define HOST_BUF (CABLE_RAM_BASE + 32 * MiB)
#define MSI_ADDR (CABLE_RAM_BASE + 8 * MiB)
#define MSI_DATA 0x4a20
#define NUM_VECTORS 32

/* "edu": a device behind an own port of either machine */
#define EDU_DEVFN (2 << 3)
#define EDU_ARGS "-device edu,bus=pcie.0,addr=2"
#define EDU_BAR_SIZE (1 * MiB)
#define EDU_BAR (CABLE_MMIO32 + 128 * MiB)
#define EDU_LIVENESS 0x04       /* reads as the inverse of what was written */

#define PAGE 4096

static void edu_setup(QTestState *qts)
{
    qtest_writel(qts, cable_ecam(0, EDU_DEVFN, PCI_BASE_ADDRESS_0), EDU_BAR);
    qtest_writew(qts, cable_ecam(0, EDU_DEVFN, PCI_COMMAND),
                 PCI_COMMAND_MEMORY);
    qtest_writel(qts, EDU_BAR + EDU_LIVENESS, 1);
    g_assert_cmphex(qtest_readl(qts, EDU_BAR + EDU_LIVENESS), ==, ~1u);
}

/* Config space */

static void test_identity(void)
{
    PCIeCable *c = cable_start("", "", "", "");

    g_assert_cmphex(cable_cfg_readw(c, 0, PCI_VENDOR_ID), ==, CABLE_VENDOR);
    g_assert_cmphex(cable_cfg_readw(c, 0, PCI_DEVICE_ID), ==, CABLE_DEVICE);
    g_assert_cmphex(cable_cfg_readl(c, 0, PCI_CLASS_REVISION) >> 8, ==,
                    CABLE_CLASS);
    g_assert_cmphex(cable_cfg_readb(c, 0, PCI_HEADER_TYPE), ==,
                    PCI_HEADER_TYPE_NORMAL);
    /* Neither another function nor another device is there. */
    for (unsigned devfn = 1; devfn < 256; devfn++) {
        g_assert_cmphex(cable_cfg_readl(c, devfn, PCI_VENDOR_ID), ==,
                        UINT32_MAX);
    }
    cable_free(c);
}

static void test_bar_sizes(void)
{
    PCIeCable *c = cable_start("", "", "", "");

    g_assert_cmphex(cable_size_bar(c, 0, 0), ==, CABLE_BAR_SIZE);
    g_assert_cmphex(cable_size_bar(c, 0, 2), ==, CABLE_BAR_SIZE);
    g_assert_cmphex(cable_size_bar(c, 0, 4), ==, RCAR_GEN4_BAR4_SIZE);
    g_assert_cmphex(cable_size_bar(c, 0, 1), ==, 0);
    g_assert_cmphex(cable_size_bar(c, 0, 5), ==, 0);

    /* Type bits, and the addresses as written before */
    g_assert_cmphex(cable_cfg_readl(c, 0, PCI_BASE_ADDRESS_0), ==,
                    cable_bar(0, 0));
    g_assert_cmphex(cable_cfg_readl(c, 0, PCI_BASE_ADDRESS_2), ==,
                    (uint32_t)cable_bar(0, 2) | PCI_BASE_ADDRESS_MEM_TYPE_64 |
                    PCI_BASE_ADDRESS_MEM_PREFETCH);
    g_assert_cmphex(cable_cfg_readl(c, 0, PCI_BASE_ADDRESS_3), ==,
                    cable_bar(0, 2) >> 32);

    /* The SoC sees what the host assigned. */
    g_assert_cmphex(dw_ep_bar_assigned(c->ep, 0, 0), ==, cable_bar(0, 0));
    g_assert_cmphex(dw_ep_bar_assigned(c->ep, 0, 2), ==, cable_bar(0, 2));
    g_assert_cmphex(dw_ep_bar_assigned(c->ep, 0, 4), ==, cable_bar(0, 4));
    cable_free(c);
}

static void test_capabilities(void)
{
    static const struct {
        uint8_t pos, id;
    } caps[] = {
        { DW_PCIE_CAP_PM, PCI_CAP_ID_PM },
        { DW_PCIE_CAP_MSI, PCI_CAP_ID_MSI },
        { DW_PCIE_CAP_EXP, PCI_CAP_ID_EXP },
    };
    static const struct {
        uint16_t pos, id;
    } ecaps[] = {
        { DW_PCIE_ECAP_AER, PCI_EXT_CAP_ID_ERR },
        { DW_PCIE_ECAP_REBAR, PCI_EXT_CAP_ID_REBAR },
        { DW_PCIE_ECAP_PTM, PCI_EXT_CAP_ID_PTM },
        { DW_PCIE_ECAP_VSEC, PCI_EXT_CAP_ID_VNDR },
    };
    PCIeCable *c = cable_start("", "", "", "");
    unsigned pos = cable_cfg_readb(c, 0, PCI_CAPABILITY_LIST);

    g_assert_true(cable_cfg_readw(c, 0, PCI_STATUS) & PCI_STATUS_CAP_LIST);
    for (unsigned i = 0; i < ARRAY_SIZE(caps); i++) {
        g_assert_cmphex(pos, ==, caps[i].pos);
        g_assert_cmphex(cable_cfg_readb(c, 0, pos), ==, caps[i].id);
        pos = cable_cfg_readb(c, 0, pos + PCI_CAP_LIST_NEXT);
    }
    g_assert_cmphex(pos, ==, 0);

    pos = PCI_CFG_SPACE_SIZE;
    for (unsigned i = 0; i < ARRAY_SIZE(ecaps); i++) {
        uint32_t header = cable_cfg_readl(c, 0, pos);

        g_assert_cmphex(pos, ==, ecaps[i].pos);
        g_assert_cmphex(PCI_EXT_CAP_ID(header), ==, ecaps[i].id);
        pos = PCI_EXT_CAP_NEXT(header);
    }
    g_assert_cmphex(pos, ==, 0);

    g_assert_cmphex(cable_cfg_readw(c, 0, DW_PCIE_CAP_MSI + PCI_MSI_FLAGS) &
                    (PCI_MSI_FLAGS_QMASK | PCI_MSI_FLAGS_64BIT |
                     PCI_MSI_FLAGS_MASKBIT), ==,
                    5 << 1 | PCI_MSI_FLAGS_64BIT | PCI_MSI_FLAGS_MASKBIT);
    g_assert_cmphex((cable_cfg_readw(c, 0, DW_PCIE_CAP_EXP + PCI_EXP_FLAGS) &
                     PCI_EXP_FLAGS_TYPE) >> 4, ==, PCI_EXP_TYPE_ENDPOINT);
    cable_free(c);
}

/* Read-only, writable and write-one-to-clear bits as the host finds them */
static void test_write_masks(void)
{
    unsigned devctl = DW_PCIE_CAP_EXP + PCI_EXP_DEVCTL;
    unsigned mask = DW_PCIE_ECAP_AER + PCI_ERR_UNCOR_MASK;
    PCIeCable *c = cable_start("", "", "", "");

    cable_cfg_writel(c, 0, PCI_VENDOR_ID, 0x12345678);
    g_assert_cmphex(cable_cfg_readl(c, 0, PCI_VENDOR_ID), ==,
                    CABLE_VENDOR | CABLE_DEVICE << 16);

    cable_cfg_writeb(c, 0, PCI_INTERRUPT_LINE, 0x5a);
    g_assert_cmphex(cable_cfg_readb(c, 0, PCI_INTERRUPT_LINE), ==, 0x5a);
    g_assert_cmphex(dw_ep_dbi_readb(c->ep, 0, PCI_INTERRUPT_LINE), ==, 0x5a);

    cable_cfg_writew(c, 0, devctl, PCI_EXP_DEVCTL_READRQ_256B |
                     PCI_EXP_DEVCTL_PAYLOAD_256B | PCI_EXP_DEVCTL_AUX_PME);
    g_assert_cmphex(cable_cfg_readw(c, 0, devctl), ==,
                    PCI_EXP_DEVCTL_READRQ_256B | PCI_EXP_DEVCTL_PAYLOAD_256B);
    g_assert_cmphex(dw_ep_dbi_readw(c->ep, 0, devctl), ==,
                    PCI_EXP_DEVCTL_READRQ_256B | PCI_EXP_DEVCTL_PAYLOAD_256B);

    cable_cfg_writel(c, 0, mask, PCI_ERR_UNC_POISON_TLP | 1);
    g_assert_cmphex(cable_cfg_readl(c, 0, mask), ==, PCI_ERR_UNC_POISON_TLP);

    /* Status bits are cleared by ones and left alone by zeros. */
    cable_cfg_writew(c, 0, PCI_STATUS, 0);
    g_assert_true(cable_cfg_readw(c, 0, PCI_STATUS) & PCI_STATUS_CAP_LIST);

    /* What the SoC changes the host sees, without a message to tell. */
    dw_ep_ro_wr(c->ep, true);
    dw_ep_dbi_writew(c->ep, 0, PCI_SUBSYSTEM_ID, 0x77aa);
    dw_ep_ro_wr(c->ep, false);
    g_assert_cmphex(cable_cfg_readw(c, 0, PCI_SUBSYSTEM_ID), ==, 0x77aa);

    /* Bytes and words inside a register */
    cable_cfg_writeb(c, 0, DW_PCIE_CAP_MSI + PCI_MSI_ADDRESS_HI + 3, 0x12);
    cable_cfg_writew(c, 0, DW_PCIE_CAP_MSI + PCI_MSI_ADDRESS_HI, 0x5678);
    g_assert_cmphex(cable_cfg_readl(c, 0, DW_PCIE_CAP_MSI +
                                    PCI_MSI_ADDRESS_HI), ==, 0x12005678);
    g_assert_cmphex(cable_cfg_readb(c, 0, DW_PCIE_CAP_MSI +
                                    PCI_MSI_ADDRESS_HI + 1), ==, 0x56);
    cable_free(c);
}

/* BARs */

/* A mapped BAR: both sides work on the same memory, no message is sent. */
static void test_bar_mapped(void)
{
    PCIeCable *c = cable_start("", "", "", "");
    g_autofree void *down = cable_pattern(CABLE_BAR_SIZE, 1);
    g_autofree void *up = cable_pattern(CABLE_BAR_SIZE, 2);
    uint64_t messages;

    dw_ep_inbound_bar_match(c->ep, 0, 0, 0, TARGET_A);
    dw_ep_inbound_bar_match(c->ep, 1, 0, 2, TARGET_B);
    messages = cable_messages_settled(c);

    qtest_bufwrite(c->rc, cable_bar(0, 0), down, CABLE_BAR_SIZE);
    cable_check_memory(c->soc, TARGET_A, down, CABLE_BAR_SIZE);
    qtest_bufwrite(c->soc, TARGET_A, up, CABLE_BAR_SIZE);
    cable_check_memory(c->rc, cable_bar(0, 0), up, CABLE_BAR_SIZE);

    qtest_bufwrite(c->soc, TARGET_B, down, CABLE_BAR_SIZE);
    cable_check_memory(c->rc, cable_bar(0, 2), down, CABLE_BAR_SIZE);
    g_assert_cmpuint(cable_messages(c), ==, messages);
    cable_free(c);
}

/* Set up before the link is: mapped from the first access on */
static void test_bar_mapped_early(void)
{
    PCIeCable *c = cable_new();
    g_autofree void *data = cable_pattern(CABLE_BAR_SIZE, 3);
    uint64_t messages;

    cable_start_ep(c, "", "");
    cable_soc_setup(c, 0);
    dw_ep_inbound_bar_match(c->ep, 0, 0, 2, TARGET_A);
    cable_start_rc(c, "", "");
    dw_ep_start_link(c->ep);
    cable_wait_link(c, true);
    cable_port_setup(c);
    cable_host_setup(c, 0);

    messages = cable_messages_settled(c);
    qtest_bufwrite(c->rc, cable_bar(0, 2), data, CABLE_BAR_SIZE);
    cable_check_memory(c->soc, TARGET_A, data, CABLE_BAR_SIZE);
    g_assert_cmpuint(cable_messages(c), ==, messages);
    cable_free(c);
}

/* BAR4 is smaller than a page: every access is a message, of any size. */
static void test_bar_trapped(void)
{
    PCIeCable *c = cable_start("", "", "", "");
    uint64_t bar = cable_bar(0, 4);
    uint64_t sent;

    dw_ep_inbound_bar_match(c->ep, 0, 0, 4, TARGET_A);
    sent = cable_rc_counter(c, "messages-sent");
    qtest_writeq(c->rc, bar, 0x1122334455667788);
    qtest_writel(c->rc, bar + 8, 0x99aabbcc);
    qtest_writew(c->rc, bar + 12, 0xddee);
    qtest_writeb(c->rc, bar + RCAR_GEN4_BAR4_SIZE - 1, 0x5a);
    g_assert_cmphex(qtest_readq(c->rc, bar), ==, 0x1122334455667788);
    g_assert_cmphex(qtest_readl(c->rc, bar + 4), ==, 0x11223344);
    g_assert_cmphex(qtest_readw(c->rc, bar + 12), ==, 0xddee);
    g_assert_cmphex(qtest_readb(c->rc, bar + RCAR_GEN4_BAR4_SIZE - 1), ==,
                    0x5a);
    g_assert_cmpuint(cable_rc_counter(c, "messages-sent"), ==, sent + 8);

    g_assert_cmphex(qtest_readq(c->soc, TARGET_A), ==, 0x1122334455667788);
    g_assert_cmphex(qtest_readl(c->soc, TARGET_A + 8), ==, 0x99aabbcc);
    g_assert_cmphex(qtest_readb(c->soc, TARGET_A + RCAR_GEN4_BAR4_SIZE - 1),
                    ==, 0x5a);
    cable_free(c);
}

/* A BAR that shows registers of the SoC */
static void test_bar_mmio(void)
{
    PCIeCable *c = cable_start("", "", EDU_ARGS, "");
    uint64_t reg = cable_bar(0, 2) + EDU_LIVENESS;

    edu_setup(c->soc);
    dw_ep_inbound_bar_match(c->ep, 0, 0, 2, EDU_BAR);
    qtest_writel(c->rc, reg, 0x12345678);
    g_assert_cmphex(qtest_readl(c->rc, reg), ==, ~0x12345678u);
    g_assert_cmphex(qtest_readl(c->soc, EDU_BAR + EDU_LIVENESS), ==,
                    ~0x12345678u);
    cable_free(c);
}

/* Unsupported Requests read as all ones, writes vanish. */
static void test_bar_unsupported(void)
{
    PCIeCable *c = cable_start("", "", "", "");
    uint64_t bar = cable_bar(0, 2);

    /* No iATU region matches. */
    g_assert_cmphex(qtest_readl(c->rc, bar), ==, UINT32_MAX);
    qtest_writel(c->rc, bar, 1);

    /* It does, but there is nothing in the SoC. */
    dw_ep_inbound_bar_match(c->ep, 0, 0, 2, 0x200000000000ULL);
    g_assert_cmphex(qtest_readl(c->rc, bar), ==, UINT32_MAX);
    qtest_writel(c->rc, bar, 1);

    /* RAM again, but the function does not decode memory. */
    dw_ep_inbound_bar_match(c->ep, 0, 0, 2, TARGET_A);
    qtest_writel(c->soc, TARGET_A, 0x600d600d);
    g_assert_cmphex(qtest_readl(c->rc, bar), ==, 0x600d600d);
    cable_cfg_writew(c, 0, PCI_COMMAND, PCI_COMMAND_MASTER);
    g_assert_cmphex(qtest_readl(c->rc, bar), !=, 0x600d600d);
    qtest_writel(c->rc, bar, 0xbadbad);
    g_assert_cmphex(qtest_readl(c->soc, TARGET_A), ==, 0x600d600d);
    cable_cfg_writew(c, 0, PCI_COMMAND,
                     PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    g_assert_cmphex(qtest_readl(c->rc, bar), ==, 0x600d600d);
    cable_free(c);
}

/* Address match: pages of one BAR show RAM, registers, RAM and nothing. */
static void test_bar_submaps(void)
{
    PCIeCable *c = cable_start("", "", EDU_ARGS, "");
    uint64_t bar = cable_bar(0, 2);
    g_autofree void *a = cable_pattern(2 * PAGE, 4);
    g_autofree void *b = cable_pattern(PAGE, 5);
    uint64_t messages;

    edu_setup(c->soc);
    dw_ep_inbound_addr_match(c->ep, 0, 0, bar, 2 * PAGE, TARGET_A);
    dw_ep_inbound_addr_match(c->ep, 1, 0, bar + 2 * PAGE, PAGE, EDU_BAR);
    dw_ep_inbound_addr_match(c->ep, 2, 0, bar + 3 * PAGE, PAGE,
                             TARGET_B + PAGE);

    messages = cable_messages_settled(c);
    qtest_bufwrite(c->rc, bar, a, 2 * PAGE);
    qtest_bufwrite(c->rc, bar + 3 * PAGE, b, PAGE);
    g_assert_cmpuint(cable_messages(c), ==, messages);
    cable_check_memory(c->soc, TARGET_A, a, 2 * PAGE);
    cable_check_memory(c->soc, TARGET_B + PAGE, b, PAGE);

    qtest_writel(c->rc, bar + 2 * PAGE + EDU_LIVENESS, 0xabcd);
    g_assert_cmphex(qtest_readl(c->rc, bar + 2 * PAGE + EDU_LIVENESS), ==,
                    ~0xabcdu);
    g_assert_cmphex(qtest_readl(c->rc, bar + 4 * PAGE), ==, UINT32_MAX);

    /* The lowest region that matches wins. */
    dw_ep_inbound_addr_match(c->ep, 3, 0, bar, PAGE, TARGET_B);
    cable_check_memory(c->rc, bar, a, 2 * PAGE);
    dw_ep_disable_atu(c->ep, DW_EP_INBOUND, 0);
    qtest_bufwrite(c->soc, TARGET_B, b, PAGE);
    cable_check_memory(c->rc, bar, b, PAGE);
    g_assert_cmphex(qtest_readl(c->rc, bar + PAGE), ==, UINT32_MAX);
    cable_free(c);
}

/* Remapping while the link is up */

typedef struct Hammer {
    PCIeCable *c;
    bool stop;                  /* atomic */
    unsigned stores;            /* atomic */
} Hammer;

static void *hammer_thread(void *opaque)
{
    Hammer *h = opaque;
    uint32_t value = 0;

    while (!qatomic_read(&h->stop)) {
        unsigned page = value % (CABLE_BAR_SIZE / PAGE);

        qtest_writel(h->c->rc, cable_bar(0, 2) + page * PAGE, ++value);
        qatomic_inc(&h->stores);
    }
    return NULL;
}

/* When the iATU write has returned, no store reaches the old target. */
static void test_remap_hammer(void)
{
    PCIeCable *c = cable_start("", "", "", "");
    g_autofree void *canary = cable_pattern(CABLE_BAR_SIZE, 6);
    Hammer h = { .c = c };
    GThread *thread;

    dw_ep_inbound_bar_match(c->ep, 0, 0, 2, TARGET_A);
    thread = g_thread_new("hammer", hammer_thread, &h);
    for (unsigned round = 0; round < 40; round++) {
        uint64_t old = round & 1 ? TARGET_B : TARGET_A;
        uint64_t new = round & 1 ? TARGET_A : TARGET_B;
        unsigned stores;

        dw_ep_atu_writel(c->ep, DW_EP_INBOUND, 0, DW_PCIE_ATU_LOWER_TARGET,
                         new);
        qtest_bufwrite(c->soc, old, canary, CABLE_BAR_SIZE);
        stores = qatomic_read(&h.stores);
        cable_wait(qatomic_read(&h.stores) > stores + 16);
        cable_check_memory(c->soc, old, canary, CABLE_BAR_SIZE);
    }
    qatomic_set(&h.stop, true);
    g_thread_join(thread);

    /* Loads see the new target, stores go there. */
    qtest_writel(c->soc, TARGET_A, 0xa);
    qtest_writel(c->soc, TARGET_B, 0xb);
    g_assert_cmphex(qtest_readl(c->rc, cable_bar(0, 2)), ==, 0xa);
    dw_ep_inbound_bar_match(c->ep, 0, 0, 2, TARGET_B);
    g_assert_cmphex(qtest_readl(c->rc, cable_bar(0, 2)), ==, 0xb);
    cable_free(c);
}

/* Between RAM, registers and nothing */
static void test_remap_kinds(void)
{
    PCIeCable *c = cable_start("", "", EDU_ARGS, "");
    uint64_t reg = cable_bar(0, 2) + EDU_LIVENESS;

    edu_setup(c->soc);
    for (unsigned round = 0; round < 3; round++) {
        dw_ep_inbound_bar_match(c->ep, 0, 0, 2, TARGET_A);
        qtest_writel(c->rc, reg, 0x1000 + round);
        g_assert_cmphex(qtest_readl(c->soc, TARGET_A + EDU_LIVENESS), ==,
                        0x1000 + round);
        dw_ep_inbound_bar_match(c->ep, 0, 0, 2, EDU_BAR);
        qtest_writel(c->rc, reg, 0x2000 + round);
        g_assert_cmphex(qtest_readl(c->rc, reg), ==, ~(0x2000 + round));
        dw_ep_disable_atu(c->ep, DW_EP_INBOUND, 0);
        g_assert_cmphex(qtest_readl(c->rc, reg), ==, UINT32_MAX);
        g_assert_cmphex(qtest_readl(c->soc, TARGET_A + EDU_LIVENESS), ==,
                        0x1000 + round);
    }
    cable_free(c);
}

/* The SoC's requests to the host */

static void test_outbound_ram(void)
{
    PCIeCable *c = cable_start("", "", "", "");
    g_autofree void *to_host = cable_pattern(1 * MiB, 7);
    g_autofree void *to_soc = cable_pattern(1 * MiB, 8);
    uint64_t messages;

    dw_ep_outbound(c->ep, 0, 0, WINDOW(c), HOST_BUF, 1 * MiB);
    messages = cable_messages_settled(c);
    qtest_bufwrite(c->soc, WINDOW(c), to_host, 1 * MiB);
    cable_check_memory(c->rc, HOST_BUF, to_host, 1 * MiB);
    qtest_bufwrite(c->rc, HOST_BUF, to_soc, 1 * MiB);
    cable_check_memory(c->soc, WINDOW(c), to_soc, 1 * MiB);
    g_assert_cmpuint(cable_messages(c), ==, messages);
    cable_free(c);
}

static void test_outbound_bme(void)
{
    PCIeCable *c = cable_start("", "", "", "");
    g_autofree void *canary = cable_pattern(PAGE, 9);

    dw_ep_outbound(c->ep, 0, 0, WINDOW(c), HOST_BUF, PAGE);
    qtest_bufwrite(c->rc, HOST_BUF, canary, PAGE);
    cable_check_memory(c->soc, WINDOW(c), canary, PAGE);

    cable_cfg_writew(c, 0, PCI_COMMAND, PCI_COMMAND_MEMORY);
    g_assert_cmphex(qtest_readl(c->soc, WINDOW(c)), ==, UINT32_MAX);
    for (unsigned i = 0; i < PAGE; i += 8) {
        qtest_writeq(c->soc, WINDOW(c) + i, 0xbad0bad0bad0bad0);
    }
    cable_check_memory(c->rc, HOST_BUF, canary, PAGE);
    g_assert_true(cable_log_has(c->soc_log, "is not bus master"));

    cable_cfg_writew(c, 0, PCI_COMMAND,
                     PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    cable_check_memory(c->soc, WINDOW(c), canary, PAGE);
    cable_free(c);
}

/* What is not RAM of the host is reached by message. */
static void test_outbound_mmio(void)
{
    PCIeCable *c = cable_start("", "", "", EDU_ARGS);
    uint64_t received;

    edu_setup(c->rc);
    dw_ep_outbound(c->ep, 0, 0, WINDOW(c), EDU_BAR, PAGE);
    received = cable_rc_counter(c, "messages-received");
    qtest_writel(c->soc, WINDOW(c) + EDU_LIVENESS, 0xfeedbeef);
    g_assert_cmphex(qtest_readl(c->soc, WINDOW(c) + EDU_LIVENESS), ==,
                    ~0xfeedbeefu);
    g_assert_cmphex(qtest_readl(c->rc, EDU_BAR + EDU_LIVENESS), ==,
                    ~0xfeedbeefu);
    g_assert_cmpuint(cable_rc_counter(c, "messages-received"), ==,
                     received + 2);

    /* Nothing there: Unsupported Request */
    dw_ep_outbound(c->ep, 0, 0, WINDOW(c), 0x200000000000ULL, PAGE);
    g_assert_cmphex(qtest_readl(c->soc, WINDOW(c)), ==, UINT32_MAX);
    qtest_writel(c->soc, WINDOW(c), 1);
    g_assert_cmphex(qtest_readl(c->soc, WINDOW(c)), ==, UINT32_MAX);
    cable_free(c);
}

/* MSI */

static void msi_setup(PCIeCable *c, unsigned fn, uint64_t addr)
{
    unsigned cap = DW_PCIE_CAP_MSI;

    cable_cfg_writel(c, fn, cap + PCI_MSI_ADDRESS_LO, addr);
    cable_cfg_writel(c, fn, cap + PCI_MSI_ADDRESS_HI, addr >> 32);
    cable_cfg_writew(c, fn, cap + PCI_MSI_DATA_64, MSI_DATA & ~0x1f);
    cable_cfg_writel(c, fn, cap + PCI_MSI_MASK_64, 0);
    cable_cfg_writew(c, fn, cap + PCI_MSI_FLAGS,
                     PCI_MSI_FLAGS_ENABLE | 5 << 4);
}

/*
 * The host's MSI address is RAM in these tests so that the message can be
 * read there.  The SoC's access to it must not be a mapped store: a vector
 * that is masked at the host proves that it was not.
 */
static uint32_t msi_pending(PCIeCable *c)
{
    return cable_cfg_readl(c, 0, DW_PCIE_CAP_MSI + PCI_MSI_PENDING_64);
}

/* An address of the host that nothing decodes, so that it is never mapped */
#define MSI_NOWHERE 0x3ffff000ULL

static void test_msi_vectors(void)
{
    PCIeCable *c = cable_start("", "", "", "");
    unsigned mask = DW_PCIE_CAP_MSI + PCI_MSI_MASK_64;

    msi_setup(c, 0, MSI_NOWHERE);
    for (unsigned v = 0; v < NUM_VECTORS; v++) {
        cable_cfg_writel(c, 0, mask, UINT32_MAX);
        g_assert_cmphex(msi_pending(c), ==, 0);
        g_assert_true(dw_ep_raise_msi(c->ep, 0, 0, WINDOW(c), v));
        cable_wait(msi_pending(c) == 1u << v);

        /* The message appears at the address that is programmed now. */
        qtest_writel(c->rc, MSI_ADDR, 0);
        cable_cfg_writel(c, 0, DW_PCIE_CAP_MSI + PCI_MSI_ADDRESS_LO, MSI_ADDR);
        cable_cfg_writel(c, 0, mask, 0);
        g_assert_cmphex(qtest_readl(c->rc, MSI_ADDR), ==,
                        (MSI_DATA & ~0x1f) | v);
        g_assert_cmphex(msi_pending(c), ==, 0);
        cable_cfg_writel(c, 0, DW_PCIE_CAP_MSI + PCI_MSI_ADDRESS_LO,
                         MSI_NOWHERE);
    }
    cable_free(c);
}

/* Other data or another address: an ordinary write to host memory */
static void test_msi_not(void)
{
    PCIeCable *c = cable_start("", "", "", EDU_ARGS);
    uint64_t page = EDU_BAR;

    edu_setup(c->rc);
    msi_setup(c, 0, page + EDU_LIVENESS);
    cable_cfg_writel(c, 0, DW_PCIE_CAP_MSI + PCI_MSI_MASK_64, UINT32_MAX);
    dw_ep_outbound(c->ep, 0, 0, WINDOW(c), page, PAGE);

    qtest_writel(c->soc, WINDOW(c) + EDU_LIVENESS, MSI_DATA ^ 0x100);
    g_assert_cmphex(qtest_readl(c->soc, WINDOW(c) + EDU_LIVENESS), ==,
                    ~(MSI_DATA ^ 0x100u));
    g_assert_cmphex(msi_pending(c), ==, 0);

    /* The message itself is no write. */
    qtest_writel(c->soc, WINDOW(c) + EDU_LIVENESS, MSI_DATA & ~0x1f);
    cable_wait(msi_pending(c) == 1);
    g_assert_cmphex(qtest_readl(c->rc, page + EDU_LIVENESS), ==,
                    ~(MSI_DATA ^ 0x100u));

    /* MSI off: a write again */
    cable_cfg_writew(c, 0, DW_PCIE_CAP_MSI + PCI_MSI_FLAGS, 0);
    qtest_writel(c->soc, WINDOW(c) + EDU_LIVENESS, MSI_DATA & ~0x1f);
    g_assert_cmphex(qtest_readl(c->soc, WINDOW(c) + EDU_LIVENESS), ==,
                    ~(MSI_DATA & ~0x1fu));
    cable_free(c);
}

/* An MSI does not overtake the writes before it. */
static void test_msi_order(void)
{
    PCIeCable *c = cable_start("", "", "", EDU_ARGS);
    unsigned mask = DW_PCIE_CAP_MSI + PCI_MSI_MASK_64;

    edu_setup(c->rc);
    msi_setup(c, 0, MSI_NOWHERE);
    dw_ep_outbound(c->ep, 1, 0, WINDOW(c) + PAGE, EDU_BAR, PAGE);
    for (unsigned round = 0; round < 50; round++) {
        uint32_t last = round * 100 + 99;

        cable_cfg_writel(c, 0, mask, UINT32_MAX);
        for (uint32_t i = round * 100; i <= last; i++) {
            qtest_writel(c->soc, WINDOW(c) + PAGE + EDU_LIVENESS, i);
        }
        dw_ep_raise_msi(c->ep, 0, 0, WINDOW(c), 0);
        cable_wait(msi_pending(c) == 1);
        g_assert_cmphex(qtest_readl(c->rc, EDU_BAR + EDU_LIVENESS), ==, ~last);
        cable_cfg_writel(c, 0, mask, 0);
        cable_wait(msi_pending(c) == 0);
    }
    cable_free(c);
}

/* Order of the host's requests */

/* A store to mapped RAM is there when a trapped write behind it arrives. */
static void test_order_store_doorbell(void)
{
    PCIeCable *c = cable_start("", "", "", "");

    dw_ep_inbound_bar_match(c->ep, 0, 0, 2, TARGET_A);
    dw_ep_inbound_bar_match(c->ep, 1, 0, 4, TARGET_B);
    for (uint32_t i = 1; i <= 500; i++) {
        qtest_writel(c->rc, cable_bar(0, 2), i);
        qtest_writel(c->rc, cable_bar(0, 4), i);
        cable_wait(qtest_readl(c->soc, TARGET_B) == i);
        g_assert_cmpuint(qtest_readl(c->soc, TARGET_A), ==, i);
    }
    cable_free(c);
}

/* A read, of memory or of config space, pushes the writes before it. */
static void test_order_read_pushes(void)
{
    PCIeCable *c = cable_start("", "", "", "");

    dw_ep_inbound_bar_match(c->ep, 0, 0, 4, TARGET_A);
    for (uint32_t i = 1; i <= 200; i++) {
        for (unsigned reg = 0; reg < RCAR_GEN4_BAR4_SIZE; reg += 4) {
            qtest_writel(c->rc, cable_bar(0, 4) + reg, i + reg);
        }
        if (i & 1) {
            cable_cfg_readw(c, 0, PCI_VENDOR_ID);
        } else {
            qtest_readb(c->rc, cable_bar(0, 4));
        }
        g_assert_cmpuint(qtest_readl(c->soc, TARGET_A + RCAR_GEN4_BAR4_SIZE -
                                     4), ==, i + RCAR_GEN4_BAR4_SIZE - 4);
    }
    cable_free(c);
}

/* Two functions */

static void start_two(PCIeCable *c, const char *rc_args)
{
    cable_start_ep(c, ",functions=2", "");
    cable_soc_setup(c, 0);
    cable_soc_setup(c, 1);
    dw_ep_start_link(c->ep);
    cable_start_rc(c, "", rc_args);
    cable_wait_link(c, true);
    cable_port_setup(c);
    cable_host_setup(c, 0);
    cable_host_setup(c, 1);
}

static void test_functions_present(void)
{
    PCIeCable *c = cable_start(",functions=2", "", "", "");

    /* Nobody wrote an identity for function 1. */
    g_assert_cmphex(cable_cfg_readl(c, 1, PCI_VENDOR_ID), ==, UINT32_MAX);
    g_assert_cmphex(cable_cfg_readb(c, 0, PCI_HEADER_TYPE), ==,
                    PCI_HEADER_TYPE_NORMAL);
    cable_free(c);

    c = cable_new();
    start_two(c, "");
    for (unsigned fn = 0; fn < 2; fn++) {
        g_assert_cmphex(cable_cfg_readl(c, fn, PCI_VENDOR_ID), ==,
                        CABLE_VENDOR | CABLE_DEVICE << 16);
        g_assert_cmphex(cable_cfg_readb(c, fn, PCI_HEADER_TYPE), ==,
                        PCI_HEADER_TYPE_MFD);
        g_assert_cmphex(cable_size_bar(c, fn, 2), ==, CABLE_BAR_SIZE);
    }
    cable_free(c);
}

static void test_functions_apart(void)
{
    PCIeCable *c = cable_new();
    g_autofree void *a = cable_pattern(PAGE, 10);
    g_autofree void *b = cable_pattern(PAGE, 11);

    start_two(c, "");
    dw_ep_inbound_bar_match(c->ep, 0, 0, 2, TARGET_A);
    dw_ep_inbound_bar_match(c->ep, 1, 1, 2, TARGET_B);
    qtest_bufwrite(c->rc, cable_bar(0, 2), a, PAGE);
    qtest_bufwrite(c->rc, cable_bar(1, 2), b, PAGE);
    cable_check_memory(c->soc, TARGET_A, a, PAGE);
    cable_check_memory(c->soc, TARGET_B, b, PAGE);

    /* MSI of function 1 is none of function 0. */
    msi_setup(c, 0, MSI_NOWHERE);
    msi_setup(c, 1, MSI_NOWHERE);
    for (unsigned fn = 0; fn < 2; fn++) {
        cable_cfg_writel(c, fn, DW_PCIE_CAP_MSI + PCI_MSI_MASK_64, UINT32_MAX);
    }
    dw_ep_raise_msi(c->ep, 0, 1, WINDOW(c), 7);
    cable_wait(cable_cfg_readl(c, 1, DW_PCIE_CAP_MSI + PCI_MSI_PENDING_64) ==
               1 << 7);
    g_assert_cmphex(msi_pending(c), ==, 0);

    /* Bus mastering is off for one function only. */
    qtest_bufwrite(c->rc, HOST_BUF, a, PAGE);
    cable_cfg_writew(c, 0, PCI_COMMAND, PCI_COMMAND_MEMORY);
    dw_ep_outbound(c->ep, 1, 0, WINDOW(c) + PAGE, HOST_BUF, PAGE);
    dw_ep_outbound(c->ep, 2, 1, WINDOW(c) + 2 * PAGE, HOST_BUF, PAGE);
    g_assert_cmphex(qtest_readl(c->soc, WINDOW(c) + PAGE), ==, UINT32_MAX);
    cable_check_memory(c->soc, WINDOW(c) + 2 * PAGE, a, PAGE);
    cable_free(c);
}

/* The host's ITS sees which function a write comes from. */
static void test_requester_id(void)
{
    PCIeCable *c = cable_new();
    const uint64_t translater = 0x08090040;

    start_two(c, "-trace gicv3_its_translation_write");
    for (unsigned fn = 0; fn < 2; fn++) {
        g_autofree char *seen =
            g_strdup_printf("data 0x%x size 4 requester_id 0x%x", 0x30 + fn,
                            CABLE_BUS << 8 | fn);

        dw_ep_outbound(c->ep, fn, fn, WINDOW(c) + fn * PAGE,
                       translater & ~(PAGE - 1ULL), PAGE);
        qtest_writel(c->soc, WINDOW(c) + fn * PAGE + (translater & 0xfff),
                     0x30 + fn);
        cable_wait(cable_log_has(c->rc_log, seen));
    }
    cable_free(c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);

    qtest_add_func("/pcie-cable/config/identity", test_identity);
    qtest_add_func("/pcie-cable/config/bar-sizes", test_bar_sizes);
    qtest_add_func("/pcie-cable/config/capabilities", test_capabilities);
    qtest_add_func("/pcie-cable/config/write-masks", test_write_masks);
    qtest_add_func("/pcie-cable/bar/mapped", test_bar_mapped);
    qtest_add_func("/pcie-cable/bar/mapped-early", test_bar_mapped_early);
    qtest_add_func("/pcie-cable/bar/trapped", test_bar_trapped);
    qtest_add_func("/pcie-cable/bar/mmio", test_bar_mmio);
    qtest_add_func("/pcie-cable/bar/unsupported", test_bar_unsupported);
    qtest_add_func("/pcie-cable/bar/submaps", test_bar_submaps);
    qtest_add_func("/pcie-cable/remap/hammer", test_remap_hammer);
    qtest_add_func("/pcie-cable/remap/kinds", test_remap_kinds);
    qtest_add_func("/pcie-cable/outbound/ram", test_outbound_ram);
    qtest_add_func("/pcie-cable/outbound/bus-master", test_outbound_bme);
    qtest_add_func("/pcie-cable/outbound/mmio", test_outbound_mmio);
    qtest_add_func("/pcie-cable/msi/vectors", test_msi_vectors);
    qtest_add_func("/pcie-cable/msi/ordinary-write", test_msi_not);
    qtest_add_func("/pcie-cable/msi/order", test_msi_order);
    qtest_add_func("/pcie-cable/order/store-doorbell",
                   test_order_store_doorbell);
    qtest_add_func("/pcie-cable/order/read-pushes", test_order_read_pushes);
    qtest_add_func("/pcie-cable/functions/present", test_functions_present);
    qtest_add_func("/pcie-cable/functions/apart", test_functions_apart);
    qtest_add_func("/pcie-cable/functions/requester-id", test_requester_id);

    return g_test_run();
}
