/*
 * QTest of the generic DesignWare PCIe endpoint at a PCIe cable
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Two machines: what the host sees of programmable BARs, of MSI-X and of
 * eight functions, and where MSI-X messages end.
 */
#include "qemu/osdep.h"
#include "libqos/pcie-cable.h"
#include "libqos/pcie-cable-peer.h"

#define PAGE 4096
#define NUM_BARS 6
#define ALL_ONES UINT32_MAX

/* What the outbound window maps is at its start. */
#define WINDOW(c) ((c)->ep->addr_space)

/* RAM of the SoC that BARs show */
#define TARGET (CABLE_RAM_BASE + 16 * MiB)
#define TARGET_STRIDE (2 * MiB)
/* RAM of the host */
#define HOST_BUF (CABLE_RAM_BASE + 32 * MiB)
/* An address of the host that nothing decodes, so that it is never mapped */
#define HOST_NOWHERE 0x3ffff000ULL
/* GITS_TRANSLATER of the host's machine */
#define ITS_TRANSLATER 0x08090040ULL

/* Where the tests' vectors are: in BAR0, behind something else */
#define MSIX_VECTORS 16
#define MSIX_BAR 0
#define MSIX_OFFSET 0x800
#define MSIX_BAR_SIZE (64 * KiB)

static uint64_t bar_address(unsigned fn, unsigned bar, bool is_64)
{
    return (is_64 ? CABLE_MMIO64 : CABLE_MMIO32) + fn * 4 * MiB +
           bar * 512 * KiB;
}

static void host_write_bar(PCIeCable *c, unsigned fn, unsigned bar,
                           uint64_t addr)
{
    unsigned reg = PCI_BASE_ADDRESS_0 + 4 * bar;

    cable_cfg_writel(c, fn, reg, addr);
    if (cable_cfg_readl(c, fn, reg) & PCI_BASE_ADDRESS_MEM_TYPE_64) {
        cable_cfg_writel(c, fn, reg + 4, addr >> 32);
    }
}

static void host_enable(PCIeCable *c, unsigned fn)
{
    cable_cfg_writew(c, fn, PCI_COMMAND,
                     PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
}

static PCIeCable *start_soc(const char *props)
{
    PCIeCable *c = cable_new();

    c->controller = DW_EP_PLAT;
    cable_start_ep(c, props, "");
    for (unsigned bar = 0; bar < NUM_BARS; bar++) {
        /* As dw_pcie_ep_disable_bars() does */
        dw_ep_disable_bar(c->ep, 0, bar);
    }
    return c;
}

static void start_host(PCIeCable *c, const char *args)
{
    dw_ep_start_link(c->ep);
    cable_start_rc(c, "", args);
    cable_wait_link(c, true);
    cable_port_setup(c);
}

/* BARs */

static void test_no_bars(void)
{
    PCIeCable *c = start_soc("");

    start_host(c, "");
    for (unsigned bar = 0; bar < NUM_BARS; bar++) {
        g_assert_cmphex(cable_size_bar(c, 0, bar), ==, 0);
    }
    cable_free(c);
}

/* Data written at the host arrives where the SoC pointed the BAR, and back. */
static void check_bar(PCIeCable *c, unsigned bar, uint64_t addr, size_t size,
                      uint64_t target)
{
    g_autofree void *down = cable_pattern(size, 2 * bar);
    g_autofree void *up = cable_pattern(size, 2 * bar + 1);

    dw_ep_inbound_bar_match(c->ep, bar, 0, bar, target);
    qtest_bufwrite(c->rc, addr, down, size);
    /* A read pushes what was posted. */
    qtest_readb(c->rc, addr);
    cable_check_memory(c->soc, target, down, size);
    qtest_bufwrite(c->soc, target, up, size);
    cable_check_memory(c->rc, addr, up, size);
}

static void test_six_bars(void)
{
    static const size_t sizes[NUM_BARS] = {
        128, 512 * KiB, 4 * KiB, 256, 64 * KiB, 128 * KiB,
    };
    PCIeCable *c = start_soc("");

    for (unsigned bar = 0; bar < NUM_BARS; bar++) {
        dw_ep_set_bar_programmable(c->ep, 0, bar, sizes[bar],
                                   bar & 1 ? PCI_BASE_ADDRESS_MEM_PREFETCH :
                                   0);
    }
    start_host(c, "");
    for (unsigned bar = 0; bar < NUM_BARS; bar++) {
        g_assert_cmphex(cable_size_bar(c, 0, bar), ==, sizes[bar]);
        host_write_bar(c, 0, bar, bar_address(0, bar, false));
        g_assert_cmphex(cable_cfg_readl(c, 0, PCI_BASE_ADDRESS_0 + 4 * bar),
                        ==, bar_address(0, bar, false) |
                        (bar & 1 ? PCI_BASE_ADDRESS_MEM_PREFETCH : 0));
    }
    host_enable(c, 0);
    for (unsigned bar = 0; bar < NUM_BARS; bar++) {
        check_bar(c, bar, bar_address(0, bar, false), sizes[bar],
                  TARGET + bar * TARGET_STRIDE);
    }
    /* All at once: none has disturbed another. */
    for (unsigned bar = 0; bar < NUM_BARS; bar++) {
        g_autofree void *up = cable_pattern(sizes[bar], 2 * bar + 1);

        cable_check_memory(c->rc, bar_address(0, bar, false), up, sizes[bar]);
    }
    cable_free(c);
}

static void test_bar_pairs(void)
{
    static const uint64_t sizes[NUM_BARS] = {
        [0] = 512 * KiB, [2] = 8 * GiB, [4] = 4 * KiB,
    };
    const uint64_t big = CABLE_MMIO64 + 512 * GiB;
    PCIeCable *c = start_soc("");

    for (unsigned bar = 0; bar < NUM_BARS; bar += 2) {
        dw_ep_set_bar_programmable(c->ep, 0, bar, sizes[bar],
                                   PCI_BASE_ADDRESS_MEM_TYPE_64 |
                                   PCI_BASE_ADDRESS_MEM_PREFETCH);
    }
    start_host(c, "");
    for (unsigned bar = 0; bar < NUM_BARS; bar += 2) {
        uint64_t addr = sizes[bar] > 1 * GiB ? big : bar_address(0, bar, true);

        g_assert_cmphex(cable_size_bar(c, 0, bar), ==, sizes[bar]);
        host_write_bar(c, 0, bar, addr);
        g_assert_cmphex(dw_ep_bar_assigned(c->ep, 0, bar), ==, addr);
    }
    host_enable(c, 0);
    check_bar(c, 0, bar_address(0, 0, true), sizes[0], TARGET);
    check_bar(c, 4, bar_address(0, 4, true), sizes[4], TARGET + TARGET_STRIDE);
    cable_free(c);
}

/* MSI-X */

/* SoC and host up to the point where vectors can be written. */
static PCIeCable *start_msix(unsigned functions, const char *rc_args)
{
    g_autofree char *props = g_strdup_printf(",functions=%u", functions);
    PCIeCable *c = start_soc(props);

    for (unsigned fn = 0; fn < functions; fn++) {
        dw_ep_write_header(c->ep, fn, CABLE_VENDOR, CABLE_DEVICE + fn,
                           CABLE_CLASS);
        dw_ep_set_bar_programmable(c->ep, fn, MSIX_BAR, MSIX_BAR_SIZE, 0);
        dw_ep_set_msix(c->ep, fn, MSIX_VECTORS, MSIX_BAR, MSIX_OFFSET);
        dw_ep_inbound_bar_match(c->ep, fn, fn, MSIX_BAR,
                                TARGET + fn * TARGET_STRIDE);
    }
    start_host(c, rc_args);
    for (unsigned fn = 0; fn < functions; fn++) {
        host_write_bar(c, fn, MSIX_BAR, bar_address(fn, MSIX_BAR, false));
        host_enable(c, fn);
    }
    return c;
}

/* The host's driver writes a vector into the table, through the BAR. */
static void host_write_vector(PCIeCable *c, unsigned fn, unsigned vector,
                              uint64_t addr, uint32_t data, uint32_t control)
{
    uint64_t entry = bar_address(fn, MSIX_BAR, false) + MSIX_OFFSET +
                     vector * PCI_MSIX_ENTRY_SIZE;

    qtest_writel(c->rc, entry + PCI_MSIX_ENTRY_LOWER_ADDR, addr);
    qtest_writel(c->rc, entry + PCI_MSIX_ENTRY_UPPER_ADDR, addr >> 32);
    qtest_writel(c->rc, entry + PCI_MSIX_ENTRY_DATA, data);
    qtest_writel(c->rc, entry + PCI_MSIX_ENTRY_VECTOR_CTRL, control);
}

static uint64_t soc_table(unsigned fn)
{
    return TARGET + fn * TARGET_STRIDE + MSIX_OFFSET;
}

static void msix_control(PCIeCable *c, unsigned fn, uint16_t flags)
{
    cable_cfg_writew(c, fn, DW_PCIE_CAP_MSIX + PCI_MSIX_FLAGS, flags);
}

static void test_msix_capability(void)
{
    const unsigned cap = DW_PCIE_CAP_MSIX;
    PCIeCable *c = start_msix(1, "");

    g_assert_cmphex(cable_cfg_readb(c, 0, cap), ==, PCI_CAP_ID_MSIX);
    g_assert_cmphex(cable_cfg_readw(c, 0, cap + PCI_MSIX_FLAGS), ==,
                    MSIX_VECTORS - 1);
    g_assert_cmphex(cable_cfg_readl(c, 0, cap + PCI_MSIX_TABLE), ==,
                    MSIX_OFFSET | MSIX_BAR);
    g_assert_cmphex(cable_cfg_readl(c, 0, cap + PCI_MSIX_PBA), ==,
                    (MSIX_OFFSET + MSIX_VECTORS * PCI_MSIX_ENTRY_SIZE) |
                    MSIX_BAR);

    /* The host writes enable and function mask, nothing else. */
    cable_cfg_writel(c, 0, cap + PCI_MSIX_TABLE, ALL_ONES);
    cable_cfg_writel(c, 0, cap + PCI_MSIX_PBA, ALL_ONES);
    msix_control(c, 0, UINT16_MAX);
    g_assert_cmphex(cable_cfg_readw(c, 0, cap + PCI_MSIX_FLAGS), ==,
                    PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL |
                    (MSIX_VECTORS - 1));
    g_assert_cmphex(cable_cfg_readl(c, 0, cap + PCI_MSIX_TABLE), ==,
                    MSIX_OFFSET | MSIX_BAR);
    g_assert_cmphex(dw_ep_dbi_readw(c->ep, 0, cap + PCI_MSIX_FLAGS), ==,
                    PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL |
                    (MSIX_VECTORS - 1));

    /* A reset of the bus takes what the host wrote, not what the SoC did. */
    cable_hot_reset(c);
    cable_wait(dw_ep_dbi_readw(c->ep, 0, cap + PCI_MSIX_FLAGS) ==
               MSIX_VECTORS - 1);
    g_assert_cmphex(dw_ep_dbi_readl(c->ep, 0, cap + PCI_MSIX_TABLE), ==,
                    MSIX_OFFSET | MSIX_BAR);
    cable_free(c);
}

/* The table is memory behind the BAR, whatever the capability says of it. */
static void test_msix_table(void)
{
    PCIeCable *c = start_msix(1, "");
    const size_t size = MSIX_VECTORS * PCI_MSIX_ENTRY_SIZE;
    uint64_t table = bar_address(0, MSIX_BAR, false) + MSIX_OFFSET;
    g_autofree void *down = cable_pattern(size, 1);
    g_autofree void *up = cable_pattern(size, 2);
    uint64_t messages;

    for (unsigned round = 0; round < 2; round++) {
        messages = cable_messages_settled(c);
        qtest_bufwrite(c->rc, table, down, size);
        cable_check_memory(c->soc, soc_table(0), down, size);
        qtest_bufwrite(c->soc, soc_table(0), up, size);
        cable_check_memory(c->rc, table, up, size);
        g_assert_cmpuint(cable_messages(c), ==, messages);
        msix_control(c, 0, PCI_MSIX_FLAGS_ENABLE);
    }
    cable_free(c);
}

/* A message whose address is RAM of the host */
static void test_msix_memory(void)
{
    PCIeCable *c = start_msix(1, "");

    msix_control(c, 0, PCI_MSIX_FLAGS_ENABLE);
    for (unsigned v = 0; v < MSIX_VECTORS; v++) {
        uint64_t addr = HOST_BUF + v * (PAGE + 16);

        host_write_vector(c, 0, v, addr, 0xabcd0000 | v, 0);
        qtest_writel(c->rc, addr, 0);
        g_assert_true(dw_ep_raise_msix(c->ep, 0, 0, WINDOW(c), soc_table(0),
                                       v));
        g_assert_cmphex(qtest_readl(c->rc, addr), ==, 0xabcd0000 | v);

        /* Masked: that is for the SoC's software to see. */
        qtest_writel(c->rc, addr, 0);
        host_write_vector(c, 0, v, addr, 0xabcd0000 | v,
                          PCI_MSIX_ENTRY_CTRL_MASKBIT);
        g_assert_false(dw_ep_raise_msix(c->ep, 0, 0, WINDOW(c), soc_table(0),
                                        v));
        g_assert_cmphex(qtest_readl(c->rc, addr), ==, 0);
    }
    cable_free(c);
}

/* A message to the ITS arrives with the function's requester ID. */
static void test_msix_its(void)
{
    const unsigned functions = DW_PLAT_MAX_FUNCTIONS;
    PCIeCable *c = start_msix(functions,
                              "-trace gicv3_its_translation_write");

    for (unsigned fn = 0; fn < functions; fn++) {
        unsigned vector = fn * 2;
        g_autofree char *seen =
            g_strdup_printf("data 0x%x size 4 requester_id 0x%x", 0x40 + fn,
                            CABLE_BUS << 8 | fn);

        msix_control(c, fn, PCI_MSIX_FLAGS_ENABLE);
        host_write_vector(c, fn, vector, ITS_TRANSLATER, 0x40 + fn, 0);
        g_assert_false(cable_log_has(c->rc_log, seen));
        g_assert_true(dw_ep_raise_msix(c->ep, 0, fn, WINDOW(c), soc_table(fn),
                                       vector));
        cable_wait(cable_log_has(c->rc_log, seen));
    }
    cable_free(c);
}

/* A function that is not bus master sends no message. */
static void test_msix_bus_master(void)
{
    PCIeCable *c = start_msix(1, "");

    msix_control(c, 0, PCI_MSIX_FLAGS_ENABLE);
    host_write_vector(c, 0, 3, HOST_BUF, 0x55, 0);
    qtest_writel(c->rc, HOST_BUF, 0);
    cable_cfg_writew(c, 0, PCI_COMMAND, PCI_COMMAND_MEMORY);
    g_assert_true(dw_ep_raise_msix(c->ep, 0, 0, WINDOW(c), soc_table(0), 3));
    g_assert_cmphex(qtest_readl(c->rc, HOST_BUF), ==, 0);
    host_enable(c, 0);
    g_assert_true(dw_ep_raise_msix(c->ep, 0, 0, WINDOW(c), soc_table(0), 3));
    g_assert_cmphex(qtest_readl(c->rc, HOST_BUF), ==, 0x55);
    cable_free(c);
}

/* Does a peer that offers @caps find the capability @id? */
static bool peer_finds(PCIeCable *c, const char *caps, uint8_t id)
{
    CablePeer *p = cable_peer_connect(c->socket);
    VfuRegionRW rw = { .region = VFU_REGION_CONFIG,
                       .count = PCI_CFG_SPACE_SIZE };
    uint64_t pos = PCI_CAPABILITY_LIST, header;
    const uint8_t *config = p->msg.payload + sizeof(rw);
    bool found = false;

    g_assert_cmpint(cable_peer_version(p, 0, caps), ==, 0);
    g_assert_cmpint(cable_peer_region_read(p, VFU_REGION_CONFIG, pos, 1, &pos),
                    ==, 0);
    while (pos) {
        g_assert_cmpint(cable_peer_region_read(p, VFU_REGION_CONFIG, pos, 2,
                                               &header), ==, 0);
        found |= (header & 0xff) == id;
        pos = header >> 8;
    }

    /* All at once it reads the same. */
    g_assert_cmpint(cable_peer_call(p, VFU_REGION_READ, 0, &rw, sizeof(rw),
                                    NULL, 0, NULL, 0), ==, 0);
    pos = config[PCI_CAPABILITY_LIST];
    while (pos && config[pos] != id) {
        pos = config[pos + PCI_CAP_LIST_NEXT];
    }
    g_assert_true(!!pos == found);
    cable_peer_close(p);
    return found;
}

/*
 * A plain client does not write its MSI-X table to the BAR: it is not offered
 * what could not work.
 */
static void test_msix_plain(void)
{
    PCIeCable *c = start_soc("");

    dw_ep_start_link(c->ep);
    g_assert_true(peer_finds(c, CABLE_CAPS_ALL, PCI_CAP_ID_MSIX));
    g_assert_false(peer_finds(c, CABLE_CAPS_NONE, PCI_CAP_ID_MSIX));
    g_assert_true(peer_finds(c, CABLE_CAPS_NONE, PCI_CAP_ID_MSI));
    g_assert_true(peer_finds(c, CABLE_CAPS_NONE, PCI_CAP_ID_EXP));
    cable_free(c);
}

/* The controller's other kind of interrupt */
static void test_msi(void)
{
    const unsigned cap = DW_PCIE_CAP_MSI;
    PCIeCable *c = start_soc("");

    dw_ep_set_msi(c->ep, 0, 32);
    start_host(c, "");
    host_enable(c, 0);
    /* Masked, so that the vectors stay pending at the host */
    cable_cfg_writel(c, 0, cap + PCI_MSI_ADDRESS_LO, HOST_NOWHERE);
    cable_cfg_writel(c, 0, cap + PCI_MSI_MASK_64, ALL_ONES);
    cable_cfg_writew(c, 0, cap + PCI_MSI_FLAGS, PCI_MSI_FLAGS_ENABLE | 5 << 4);
    g_assert_true(dw_ep_raise_msi(c->ep, 0, 0, WINDOW(c), 31));
    cable_wait(cable_cfg_readl(c, 0, cap + PCI_MSI_PENDING_64) == 1u << 31);
    cable_free(c);
}

/* Functions */

static void test_eight_functions(void)
{
    const unsigned functions = DW_PLAT_MAX_FUNCTIONS;
    PCIeCable *c = start_msix(functions, "");

    for (unsigned fn = 0; fn < functions; fn++) {
        uint64_t bar = bar_address(fn, MSIX_BAR, false);
        g_autofree void *data = cable_pattern(PAGE, fn);

        g_assert_cmphex(cable_cfg_readl(c, fn, PCI_VENDOR_ID), ==,
                        CABLE_VENDOR | (CABLE_DEVICE + fn) << 16);
        g_assert_cmphex(cable_cfg_readb(c, fn, PCI_HEADER_TYPE), ==,
                        PCI_HEADER_TYPE_MFD);
        qtest_bufwrite(c->rc, bar, data, PAGE);
    }
    for (unsigned fn = 0; fn < functions; fn++) {
        g_autofree void *data = cable_pattern(PAGE, fn);

        cable_check_memory(c->soc, TARGET + fn * TARGET_STRIDE, data, PAGE);
    }
    cable_free(c);
}

/* The SoC's software decides when the link trains, and ends it. */
static void test_link(void)
{
    PCIeCable *c = start_soc("");

    cable_start_rc(c, "", "");
    g_assert_false(dw_ep_link_up(c->ep));
    dw_ep_start_link(c->ep);
    cable_wait_link(c, true);
    dw_ep_stop_link(c->ep);
    cable_wait_link(c, false);
    cable_free(c);

    c = cable_new();
    c->controller = DW_EP_PLAT;
    cable_start_ep(c, ",ltssm-enable=on", "");
    cable_start_rc(c, "", "");
    cable_wait_link(c, true);
    cable_free(c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);

    qtest_add_func("/dw-plat-pcie-cable/bar/none", test_no_bars);
    qtest_add_func("/dw-plat-pcie-cable/bar/six", test_six_bars);
    qtest_add_func("/dw-plat-pcie-cable/bar/pairs", test_bar_pairs);
    qtest_add_func("/dw-plat-pcie-cable/msix/capability",
                   test_msix_capability);
    qtest_add_func("/dw-plat-pcie-cable/msix/table", test_msix_table);
    qtest_add_func("/dw-plat-pcie-cable/msix/memory", test_msix_memory);
    qtest_add_func("/dw-plat-pcie-cable/msix/its", test_msix_its);
    qtest_add_func("/dw-plat-pcie-cable/msix/bus-master",
                   test_msix_bus_master);
    qtest_add_func("/dw-plat-pcie-cable/msix/plain", test_msix_plain);
    qtest_add_func("/dw-plat-pcie-cable/msi", test_msi);
    qtest_add_func("/dw-plat-pcie-cable/functions/eight",
                   test_eight_functions);
    qtest_add_func("/dw-plat-pcie-cable/link", test_link);

    return g_test_run();
}
