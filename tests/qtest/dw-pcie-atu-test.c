/*
 * QTest of the DesignWare PCIe endpoint: iATU
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Register behaviour that drivers probe, where regions end up in BARs and in
 * the window, and the window without a link.  Payload is for the cable tests.
 */
#include "qemu/osdep.h"
#include "qemu/units.h"
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "libqos/dw-pcie-ep.h"

#define ALL_ONES UINT32_MAX
#define ALL_ONES_64 UINT64_MAX
/* What dw_pcie_iatu_detect() writes to see whether a region exists */
#define PROBE_TARGET 0x11110000
#define PCI_ADDR 0x40000000ULL
/* RAM of "virt", 128 MiB by default */
#define RAM_BASE 0x40000000ULL
#define LOW_MASK (RCAR_GEN4_ATU_REGION_SIZE - 1)

static QTestState *start(DWEp **ep, const char *properties)
{
    QTestState *qts = qtest_initf("-M %s -nodefaults "
                                  "-device rcar-gen4-pcie-ep,id=%s%s",
                                  DW_EP_MACHINE, DW_EP_ID, properties);

    *ep = dw_ep_init(qts);
    return qts;
}

static void stop(QTestState *qts, DWEp *ep)
{
    g_free(ep);
    qtest_quit(qts);
}

/* Count regions as the Linux driver does. */
static unsigned count_regions(DWEp *ep, DWEpAtuDir dir)
{
    unsigned fit = RCAR_GEN4_ATU_SIZE / DW_PCIE_ATU_STRIDE;
    unsigned i;

    for (i = 0; i < fit; i++) {
        dw_ep_atu_writel(ep, dir, i, DW_PCIE_ATU_LOWER_TARGET, PROBE_TARGET);
        if (dw_ep_atu_readl(ep, dir, i, DW_PCIE_ATU_LOWER_TARGET) !=
            PROBE_TARGET) {
            break;
        }
    }
    return i;
}

static void test_count(void)
{
    DWEp *ep;
    QTestState *qts = start(&ep, "");

    g_assert_cmpuint(count_regions(ep, DW_EP_OUTBOUND), ==,
                     RCAR_GEN4_MAX_WINDOWS);
    g_assert_cmpuint(count_regions(ep, DW_EP_INBOUND), ==,
                     RCAR_GEN4_MAX_WINDOWS);
    stop(qts, ep);

    qts = start(&ep, ",num-ob-windows=3,num-ib-windows=5");
    g_assert_cmpuint(count_regions(ep, DW_EP_OUTBOUND), ==, 3);
    g_assert_cmpuint(count_regions(ep, DW_EP_INBOUND), ==, 5);
    stop(qts, ep);
}

static void test_registers(void)
{
    static const struct {
        uint32_t reg;
        uint32_t reset;
        uint32_t wired_0;
        uint32_t wired_1;
    } regs[] = {
        { DW_PCIE_ATU_LOWER_BASE, 0, LOW_MASK, 0 },
        { DW_PCIE_ATU_UPPER_BASE, 0, 0, 0 },
        { DW_PCIE_ATU_LIMIT, LOW_MASK, 0, LOW_MASK },
        { DW_PCIE_ATU_LOWER_TARGET, 0, LOW_MASK, 0 },
        { DW_PCIE_ATU_UPPER_TARGET, 0, 0, 0 },
        { DW_PCIE_ATU_UPPER_LIMIT, 0, ~RCAR_GEN4_ATU_UPPER_LIMIT, 0 },
        { DW_PCIE_ATU_CTRL1, 0, 0, 0 },
    };
    DWEp *ep;
    QTestState *qts = start(&ep, "");

    for (int dir = DW_EP_OUTBOUND; dir <= DW_EP_INBOUND; dir++) {
        for (unsigned n = 0; n < RCAR_GEN4_MAX_WINDOWS; n++) {
            for (unsigned i = 0; i < ARRAY_SIZE(regs); i++) {
                uint32_t reg = regs[i].reg;

                g_assert_cmphex(dw_ep_atu_readl(ep, dir, n, reg), ==,
                                regs[i].reset);
                dw_ep_atu_writel(ep, dir, n, reg, ALL_ONES);
                g_assert_cmphex(dw_ep_atu_readl(ep, dir, n, reg), ==,
                                ~regs[i].wired_0);
                dw_ep_atu_writel(ep, dir, n, reg, 0);
                g_assert_cmphex(dw_ep_atu_readl(ep, dir, n, reg), ==,
                                regs[i].wired_1);
            }
        }
    }
    stop(qts, ep);
}

static void test_enable(void)
{
    DWEp *ep;
    QTestState *qts = start(&ep, "");

    dw_ep_outbound(ep, 0, 0, ep->addr_space, PCI_ADDR, 64 * KiB);
    g_assert_cmphex(dw_ep_atu_readl(ep, DW_EP_OUTBOUND, 0, DW_PCIE_ATU_CTRL2),
                    ==, DW_PCIE_ATU_ENABLE);
    dw_ep_disable_atu(ep, DW_EP_OUTBOUND, 0);
    g_assert_cmphex(dw_ep_atu_readl(ep, DW_EP_OUTBOUND, 0, DW_PCIE_ATU_CTRL2),
                    ==, 0);

    dw_ep_inbound_bar_match(ep, 3, 1, 2, PCI_ADDR);
    g_assert_cmphex(dw_ep_atu_readl(ep, DW_EP_INBOUND, 3, DW_PCIE_ATU_CTRL2) &
                    DW_PCIE_ATU_ENABLE, !=, 0);
    stop(qts, ep);
}

/* Flat view of the address space @name: what can be reached through it */
static char *flat_view(DWEp *ep, const char *name)
{
    g_autofree char *all = qtest_hmp(ep->qts, "info mtree -f");
    g_autofree char *title = g_strdup_printf("AS \"%s\"", name);
    char *start = strstr(all, title);
    char *end;

    g_assert_nonnull(start);
    end = strstr(start, "FlatView");
    return end ? g_strndup(start, end - start) : g_strdup(start);
}

/* Does BAR0 of function 0 show @size bytes of RAM from @ram at offset @at? */
static bool bar0_shows_ram(DWEp *ep, uint64_t at, uint64_t size, uint64_t ram)
{
    g_autofree char *view = flat_view(ep, "function0-bar0");
    uint64_t offset = ram - RAM_BASE;
    g_autofree char *line = offset ?
        g_strdup_printf("%016" PRIx64 "-%016" PRIx64 " (prio 0, ram): "
                        "mach-virt.ram @%016" PRIx64, at, at + size - 1,
                        offset) :
        g_strdup_printf("%016" PRIx64 "-%016" PRIx64 " (prio 0, ram): "
                        "mach-virt.ram", at, at + size - 1);

    return strstr(view, line);
}

static bool bar0_shows_nothing(DWEp *ep)
{
    g_autofree char *view = flat_view(ep, "function0-bar0");

    return !strstr(view, "ram): ") && !strstr(view, "i/o): ");
}

static void test_inbound_bar_match(void)
{
    DWEp *ep;
    QTestState *qts = start(&ep, "");

    dw_ep_set_bar_resizable(ep, 0, 0, 2 * MiB, 0);
    g_assert_true(bar0_shows_nothing(ep));

    /* The BAR needs no address for this */
    dw_ep_inbound_bar_match(ep, 4, 0, 0, RAM_BASE + 6 * MiB);
    g_assert_true(bar0_shows_ram(ep, 0, 2 * MiB, RAM_BASE + 6 * MiB));

    /* Another BAR's or another function's region does not show here */
    dw_ep_inbound_bar_match(ep, 4, 0, 2, RAM_BASE + 6 * MiB);
    g_assert_true(bar0_shows_nothing(ep));
    dw_ep_inbound_bar_match(ep, 4, 1, 0, RAM_BASE + 6 * MiB);
    g_assert_true(bar0_shows_nothing(ep));

    /* The lowest region wins */
    dw_ep_inbound_bar_match(ep, 4, 0, 0, RAM_BASE + 6 * MiB);
    dw_ep_inbound_bar_match(ep, 1, 0, 0, RAM_BASE + 8 * MiB);
    g_assert_true(bar0_shows_ram(ep, 0, 2 * MiB, RAM_BASE + 8 * MiB));
    dw_ep_disable_atu(ep, DW_EP_INBOUND, 1);
    g_assert_true(bar0_shows_ram(ep, 0, 2 * MiB, RAM_BASE + 6 * MiB));

    /* A larger BAR shows more, at once, and its offset replaces low bits */
    dw_ep_set_bar_resizable(ep, 0, 0, 4 * MiB, 0);
    g_assert_true(bar0_shows_ram(ep, 0, 4 * MiB, RAM_BASE + 4 * MiB));

    /* Regions of type IO do not match memory requests */
    dw_ep_atu_writel(ep, DW_EP_INBOUND, 4, DW_PCIE_ATU_CTRL1,
                     DW_PCIE_ATU_TYPE_IO);
    g_assert_true(bar0_shows_nothing(ep));
    stop(qts, ep);
}

static void test_inbound_addr_match(void)
{
    DWEp *ep;
    QTestState *qts = start(&ep, "");
    uint64_t bar = PCI_ADDR;

    dw_ep_set_bar_resizable(ep, 0, 0, MiB, 0);
    dw_ep_inbound_addr_match(ep, 0, 0, bar, 64 * KiB, RAM_BASE + MiB);
    dw_ep_inbound_addr_match(ep, 1, 0, bar + 64 * KiB, MiB - 64 * KiB,
                             RAM_BASE + 16 * MiB);
    /* The host has not assigned the BAR yet */
    g_assert_true(bar0_shows_nothing(ep));

    dw_ep_dbi_writel(ep, 0, PCI_BASE_ADDRESS_0, bar);
    g_assert_cmphex(dw_ep_bar_assigned(ep, 0, 0), ==, bar);
    g_assert_true(bar0_shows_ram(ep, 0, 64 * KiB, RAM_BASE + MiB));
    g_assert_true(bar0_shows_ram(ep, 64 * KiB, MiB - 64 * KiB,
                                 RAM_BASE + 16 * MiB));

    /* The host moves the BAR up: region 1 now starts at its beginning */
    dw_ep_dbi_writel(ep, 0, PCI_BASE_ADDRESS_0, bar + MiB);
    g_assert_true(bar0_shows_nothing(ep));
    dw_ep_inbound_addr_match(ep, 2, 0, bar, 3 * MiB, RAM_BASE + 32 * MiB);
    g_assert_true(bar0_shows_ram(ep, 0, MiB, RAM_BASE + 33 * MiB));
    stop(qts, ep);
}

static void test_inbound_64(void)
{
    DWEp *ep;
    QTestState *qts = start(&ep, "");
    uint64_t bar = 0x8000000000ULL - MiB;

    dw_ep_set_bar_resizable(ep, 0, 0, MiB, PCI_BASE_ADDRESS_MEM_TYPE_64);
    dw_ep_dbi_writel(ep, 0, PCI_BASE_ADDRESS_0, bar);
    dw_ep_dbi_writel(ep, 0, PCI_BASE_ADDRESS_1, bar >> 32);

    /* One region across a 4 GiB boundary needs INCREASE_SIZE */
    dw_ep_inbound_addr_match(ep, 0, 0, bar - 8 * GiB, 16 * GiB, RAM_BASE);
    g_assert_cmphex(dw_ep_atu_readl(ep, DW_EP_INBOUND, 0, DW_PCIE_ATU_CTRL1) &
                    DW_PCIE_ATU_INCREASE_SIZE, !=, 0);
    /* The target lies beyond RAM, so the BAR shows none */
    g_assert_false(bar0_shows_ram(ep, 0, MiB, RAM_BASE));
    dw_ep_inbound_addr_match(ep, 0, 0, bar - 4 * MiB, 16 * GiB, RAM_BASE);
    g_assert_true(bar0_shows_ram(ep, 0, MiB, RAM_BASE + 4 * MiB));
    dw_ep_atu_writel(ep, DW_EP_INBOUND, 0, DW_PCIE_ATU_CTRL1, 0);
    dw_ep_atu_writel(ep, DW_EP_INBOUND, 0, DW_PCIE_ATU_LIMIT, ALL_ONES);
    g_assert_true(bar0_shows_ram(ep, 0, MiB, RAM_BASE + 4 * MiB));
    stop(qts, ep);
}

static void test_outbound_no_region(void)
{
    DWEp *ep;
    QTestState *qts = start(&ep, "");

    g_assert_cmphex(qtest_readl(qts, ep->addr_space), ==, ALL_ONES);
    g_assert_cmphex(qtest_readq(qts, ep->addr_space + 8), ==, ALL_ONES_64);
    g_assert_cmphex(qtest_readb(qts, ep->addr_space +
                                RCAR_GEN4_ADDR_SPACE_SIZE - 1), ==, 0xff);
    qtest_writel(qts, ep->addr_space, 0);
    stop(qts, ep);
}

static void test_outbound_no_link(void)
{
    DWEp *ep;
    QTestState *qts = start(&ep, "");

    dw_ep_outbound(ep, 0, 0, ep->addr_space, PCI_ADDR, 64 * KiB);
    g_assert_cmphex(qtest_readl(qts, ep->addr_space), ==, ALL_ONES);
    qtest_writel(qts, ep->addr_space, 0);
    g_assert_cmphex(qtest_readl(qts, ep->addr_space), ==, ALL_ONES);
    dw_ep_start_link(ep);
    g_assert_cmphex(qtest_readl(qts, ep->addr_space), ==, ALL_ONES);
    stop(qts, ep);
}

/* Types that an endpoint does not send read as all ones too */
static void test_outbound_types(void)
{
    static const uint32_t types[] = {
        DW_PCIE_ATU_TYPE_IO, DW_PCIE_ATU_TYPE_CFG0, DW_PCIE_ATU_TYPE_CFG1,
        DW_PCIE_ATU_TYPE_MSG,
    };
    DWEp *ep;
    QTestState *qts = start(&ep, "");

    for (unsigned i = 0; i < ARRAY_SIZE(types); i++) {
        dw_ep_outbound(ep, 0, 0, ep->addr_space, PCI_ADDR, 64 * KiB);
        dw_ep_atu_writel(ep, DW_EP_OUTBOUND, 0, DW_PCIE_ATU_CTRL1, types[i]);
        qtest_writel(qts, ep->addr_space, 0);
        g_assert_cmphex(qtest_readl(qts, ep->addr_space), ==, ALL_ONES);
    }
    stop(qts, ep);
}

/* Does the window hold outbound region @index from @at on? */
static bool window_shows(DWEp *ep, unsigned index, uint64_t at, uint64_t size)
{
    g_autofree char *path = g_strdup_printf("%s/outbound%u-0[0]",
                                            DW_EP_QOM_PATH, index);
    QDict *rsp = qtest_qmp(ep->qts, "{ 'execute': 'qom-get', 'arguments': {"
                           " 'path': %s, 'property': 'addr' } }", path);
    uint64_t addr = qdict_get_int(rsp, "return");
    uint64_t found;

    qobject_unref(rsp);
    rsp = qtest_qmp(ep->qts, "{ 'execute': 'qom-get', 'arguments': {"
                    " 'path': %s, 'property': 'size' } }", path);
    found = qdict_get_int(rsp, "return");
    qobject_unref(rsp);
    return addr == at && found == size;
}

static void test_outbound_limits(void)
{
    DWEp *ep;
    QTestState *qts = start(&ep, "");
    uint64_t end = ep->addr_space + RCAR_GEN4_ADDR_SPACE_SIZE;

    dw_ep_outbound(ep, 0, 0, ep->addr_space + 8 * KiB, PCI_ADDR, 12 * KiB);
    g_assert_true(window_shows(ep, 0, 8 * KiB, 12 * KiB));

    /* The smallest region is 4 KiB: a smaller one is rounded up */
    dw_ep_outbound(ep, 1, 0, ep->addr_space + 64 * KiB, PCI_ADDR, 16);
    g_assert_true(window_shows(ep, 1, 64 * KiB, RCAR_GEN4_ATU_REGION_SIZE));

    /* A region larger than the window is cut off at its ends */
    dw_ep_outbound(ep, 2, 0, ep->addr_space - MiB, PCI_ADDR, 2 * MiB);
    g_assert_true(window_shows(ep, 2, 0, MiB));
    dw_ep_outbound(ep, 3, 0, end - MiB, PCI_ADDR, 2 * MiB);
    g_assert_true(window_shows(ep, 3, RCAR_GEN4_ADDR_SPACE_SIZE - MiB, MiB));
    stop(qts, ep);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("dw-pcie-atu/count", test_count);
    qtest_add_func("dw-pcie-atu/registers", test_registers);
    qtest_add_func("dw-pcie-atu/enable", test_enable);
    qtest_add_func("dw-pcie-atu/inbound/bar-match", test_inbound_bar_match);
    qtest_add_func("dw-pcie-atu/inbound/addr-match", test_inbound_addr_match);
    qtest_add_func("dw-pcie-atu/inbound/64-bit", test_inbound_64);
    qtest_add_func("dw-pcie-atu/outbound/no-region", test_outbound_no_region);
    qtest_add_func("dw-pcie-atu/outbound/no-link", test_outbound_no_link);
    qtest_add_func("dw-pcie-atu/outbound/types", test_outbound_types);
    qtest_add_func("dw-pcie-atu/outbound/limits", test_outbound_limits);
    return g_test_run();
}
