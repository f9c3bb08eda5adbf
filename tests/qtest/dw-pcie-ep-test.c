/*
 * QTest of the DesignWare PCIe endpoint: configuration space, DBI2 and REBAR
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The SoC's view, without a peer: what registers hold after reset, what the
 * DBI may write and how large BARs become.
 */
#include "qemu/osdep.h"
#include "qemu/units.h"
#include "hw/pci/pci_ids.h"
#include "hw/pci/pci_regs.h"
#include "libqos/dw-pcie-ep.h"

#define FIRST_BAR_SIZE MiB      /* the smallest resizable BAR */
#define ALL_ONES UINT32_MAX

static QTestState *start(DWEp **ep)
{
    QTestState *qts = qtest_initf("-M %s -nodefaults "
                                  "-device rcar-gen4-pcie-ep,id=%s",
                                  DW_EP_MACHINE, DW_EP_ID);

    *ep = dw_ep_init(qts);
    return qts;
}

static void stop(QTestState *qts, DWEp *ep)
{
    g_free(ep);
    qtest_quit(qts);
}

static uint32_t bar_reg(unsigned bar)
{
    return PCI_BASE_ADDRESS_0 + 4 * bar;
}

/* Offset of the standard capability @id of @fn, 0 if there is none */
static uint8_t find_cap(DWEp *ep, unsigned fn, uint8_t id)
{
    uint8_t pos = dw_ep_dbi_readb(ep, fn, PCI_CAPABILITY_LIST);

    while (pos && dw_ep_dbi_readb(ep, fn, pos + PCI_CAP_LIST_ID) != id) {
        pos = dw_ep_dbi_readb(ep, fn, pos + PCI_CAP_LIST_NEXT);
    }
    return pos;
}

static uint16_t find_ext_cap(DWEp *ep, unsigned fn, uint16_t id)
{
    uint16_t pos = PCI_CFG_SPACE_SIZE;

    while (pos) {
        uint32_t header = dw_ep_dbi_readl(ep, fn, pos);

        if (PCI_EXT_CAP_ID(header) == id) {
            break;
        }
        pos = PCI_EXT_CAP_NEXT(header);
    }
    return pos;
}

static void test_reset_header(void)
{
    DWEp *ep;
    QTestState *qts = start(&ep);

    for (unsigned fn = 0; fn < RCAR_GEN4_MAX_FUNCTIONS; fn++) {
        g_assert_cmphex(dw_ep_dbi_readw(ep, fn, PCI_VENDOR_ID), ==,
                        RCAR_GEN4_RESET_VENDOR_ID);
        g_assert_cmphex(dw_ep_dbi_readw(ep, fn, PCI_DEVICE_ID), ==,
                        RCAR_GEN4_RESET_DEVICE_ID);
        g_assert_cmphex(dw_ep_dbi_readl(ep, fn, PCI_CLASS_REVISION) >> 8, ==,
                        RCAR_GEN4_RESET_CLASS);
        g_assert_cmphex(dw_ep_dbi_readb(ep, fn, PCI_HEADER_TYPE), ==,
                        PCI_HEADER_TYPE_NORMAL);
        g_assert_cmphex(dw_ep_dbi_readw(ep, fn, PCI_COMMAND), ==, 0);
        g_assert_cmphex(dw_ep_dbi_readw(ep, fn, PCI_STATUS), ==,
                        PCI_STATUS_CAP_LIST);
    }
    stop(qts, ep);
}

static void test_capabilities(void)
{
    DWEp *ep;
    QTestState *qts = start(&ep);

    for (unsigned fn = 0; fn < RCAR_GEN4_MAX_FUNCTIONS; fn++) {
        uint16_t flags;

        g_assert_cmphex(find_cap(ep, fn, PCI_CAP_ID_PM), ==, DW_PCIE_CAP_PM);
        g_assert_cmphex(find_cap(ep, fn, PCI_CAP_ID_MSI), ==,
                        DW_PCIE_CAP_MSI);
        g_assert_cmphex(find_cap(ep, fn, PCI_CAP_ID_EXP), ==,
                        DW_PCIE_CAP_EXP);
        g_assert_cmphex(find_cap(ep, fn, PCI_CAP_ID_MSIX), ==, 0);
        g_assert_cmphex(find_ext_cap(ep, fn, PCI_EXT_CAP_ID_ERR), ==,
                        DW_PCIE_ECAP_AER);
        g_assert_cmphex(find_ext_cap(ep, fn, PCI_EXT_CAP_ID_REBAR), ==,
                        DW_PCIE_ECAP_REBAR);
        /* One PTM capability for the whole port */
        g_assert_cmphex(find_ext_cap(ep, fn, PCI_EXT_CAP_ID_PTM), ==,
                        fn ? 0 : DW_PCIE_ECAP_PTM);
        g_assert_cmphex(find_ext_cap(ep, fn, PCI_EXT_CAP_ID_VNDR), ==,
                        DW_PCIE_ECAP_VSEC);

        flags = dw_ep_dbi_readw(ep, fn, DW_PCIE_CAP_MSI + PCI_MSI_FLAGS);
        g_assert_cmphex(flags & PCI_MSI_FLAGS_ENABLE, ==, 0);
        g_assert_cmphex(flags & PCI_MSI_FLAGS_64BIT, !=, 0);
        g_assert_cmphex(flags & PCI_MSI_FLAGS_MASKBIT, !=, 0);
        g_assert_cmpuint(1 << ((flags & PCI_MSI_FLAGS_QMASK) >> 1), ==, 32);

        flags = dw_ep_dbi_readw(ep, fn, DW_PCIE_CAP_EXP + PCI_EXP_FLAGS);
        g_assert_cmphex((flags & PCI_EXP_FLAGS_TYPE) >> 4, ==,
                        PCI_EXP_TYPE_ENDPOINT);
    }
    stop(qts, ep);
}

static void test_link_registers(void)
{
    DWEp *ep;
    QTestState *qts = start(&ep);
    uint32_t cap = dw_ep_dbi_readl(ep, 0, DW_PCIE_CAP_EXP + PCI_EXP_LNKCAP);
    uint16_t ctl2 = dw_ep_dbi_readw(ep, 0, DW_PCIE_CAP_EXP + PCI_EXP_LNKCTL2);
    uint32_t dev = dw_ep_dbi_readl(ep, 0, DW_PCIE_CAP_EXP + PCI_EXP_DEVCAP);

    g_assert_cmpuint(cap & PCI_EXP_LNKCAP_SLS, ==, PCI_EXP_LNKCAP_SLS_16_0GB);
    g_assert_cmpuint((cap & PCI_EXP_LNKCAP_MLW) >> 4, ==, 2);
    g_assert_cmpuint(ctl2 & PCI_EXP_LNKCTL2_TLS, ==,
                     PCI_EXP_LNKCTL2_TLS_16_0GT);
    g_assert_cmpuint(128 << (dev & PCI_EXP_DEVCAP_PAYLOAD), ==, 256);
    g_assert_cmphex(dev & PCI_EXP_DEVCAP_FLR, !=, 0);
    stop(qts, ep);
}

static void test_port_logic(void)
{
    DWEp *ep;
    QTestState *qts = start(&ep);
    uint32_t speed;

    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, DW_PCIE_VERSION_NUMBER), ==,
                    DW_PCIE_VERSION_520A);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, DW_PCIE_ATU_VIEWPORT), ==,
                    ALL_ONES);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, DW_PCIE_PORT_DEBUG0), ==,
                    DW_PCIE_LTSSM_DETECT_QUIET);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, DW_PCIE_PORT_DEBUG1) &
                    DW_PCIE_DEBUG1_LINK_UP, ==, 0);

    /* Read-only and non-existing registers ignore writes */
    dw_ep_dbi_writel(ep, 0, DW_PCIE_VERSION_NUMBER, 0);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, DW_PCIE_VERSION_NUMBER), ==,
                    DW_PCIE_VERSION_520A);
    dw_ep_dbi_writel(ep, 0, DW_PCIE_PORT_LOGIC_END - 4, ALL_ONES);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, DW_PCIE_PORT_LOGIC_END - 4), ==, 0);

    /* A tuning register keeps what is written */
    dw_ep_dbi_writel(ep, 0, DW_PCIE_GEN3_RELATED, ALL_ONES);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, DW_PCIE_GEN3_RELATED), ==,
                    ALL_ONES);

    /* Port logic is the port's: function 1 shows none */
    g_assert_cmphex(dw_ep_dbi_readl(ep, 1, DW_PCIE_VERSION_NUMBER), ==, 0);

    /* Without a link a directed speed change stays pending */
    speed = dw_ep_dbi_readl(ep, 0, DW_PCIE_LINK_WIDTH_SPEED);
    dw_ep_dbi_writel(ep, 0, DW_PCIE_LINK_WIDTH_SPEED,
                     speed | DW_PCIE_LWS_SPEED_CHANGE);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, DW_PCIE_LINK_WIDTH_SPEED) &
                    DW_PCIE_LWS_SPEED_CHANGE, !=, 0);
    stop(qts, ep);
}

static void test_ro_wr_en(void)
{
    DWEp *ep;
    QTestState *qts = start(&ep);

    /* Protected */
    dw_ep_dbi_writew(ep, 0, PCI_DEVICE_ID, 0xabcd);
    g_assert_cmphex(dw_ep_dbi_readw(ep, 0, PCI_DEVICE_ID), ==,
                    RCAR_GEN4_RESET_DEVICE_ID);
    dw_ep_dbi_writew(ep, 0, DW_PCIE_CAP_MSI + PCI_MSI_FLAGS, 0);
    g_assert_cmphex(dw_ep_dbi_readw(ep, 0, DW_PCIE_CAP_MSI + PCI_MSI_FLAGS) &
                    PCI_MSI_FLAGS_QMASK, !=, 0);

    /* Enabled: byte, word and dword writes */
    dw_ep_write_header(ep, 0, 0x1912, 0x0030, PCI_CLASS_MEMORY_RAM << 8);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, PCI_VENDOR_ID), ==, 0x00301912);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, PCI_CLASS_REVISION) >> 8, ==,
                    PCI_CLASS_MEMORY_RAM << 8);
    dw_ep_set_msi(ep, 0, 4);
    g_assert_cmphex(dw_ep_dbi_readw(ep, 0, DW_PCIE_CAP_MSI + PCI_MSI_FLAGS) &
                    PCI_MSI_FLAGS_QMASK, ==, 2 << 1);

    /* Protected again; function 1 was never touched */
    dw_ep_dbi_writew(ep, 0, PCI_VENDOR_ID, 0xdead);
    g_assert_cmphex(dw_ep_dbi_readw(ep, 0, PCI_VENDOR_ID), ==, 0x1912);
    g_assert_cmphex(dw_ep_dbi_readw(ep, 1, PCI_DEVICE_ID), ==,
                    RCAR_GEN4_RESET_DEVICE_ID);

    /* What the host may write the DBI may write at any time */
    dw_ep_dbi_writew(ep, 0, PCI_COMMAND, PCI_COMMAND_MEMORY);
    g_assert_cmphex(dw_ep_dbi_readw(ep, 0, PCI_COMMAND), ==,
                    PCI_COMMAND_MEMORY);
    stop(qts, ep);
}

static void test_multi_function(void)
{
    DWEp *ep;
    QTestState *qts = start(&ep);

    dw_ep_write_header(ep, 0, 0x1912, 0x0030, 0);
    g_assert_cmphex(dw_ep_dbi_readb(ep, 0, PCI_HEADER_TYPE), ==, 0);
    dw_ep_write_header(ep, 1, 0x1912, 0x0031, 0);
    for (unsigned fn = 0; fn < RCAR_GEN4_MAX_FUNCTIONS; fn++) {
        g_assert_cmphex(dw_ep_dbi_readb(ep, fn, PCI_HEADER_TYPE), ==,
                        PCI_HEADER_TYPE_MFD);
    }
    stop(qts, ep);
}

static void test_bar_resizable(void)
{
    DWEp *ep;
    QTestState *qts = start(&ep);
    const unsigned bars[] = { 0, 2 };

    for (unsigned i = 0; i < ARRAY_SIZE(bars); i++) {
        unsigned bar = bars[i];
        uint32_t reg = bar_reg(bar);

        /* The mask is wired to the selected size, only bit 0 is software's */
        g_assert_cmphex(dw_ep_dbi2_readl(ep, 0, reg), ==, FIRST_BAR_SIZE - 1);
        dw_ep_dbi2_writel(ep, 0, reg, 0);
        g_assert_cmphex(dw_ep_dbi2_readl(ep, 0, reg), ==, FIRST_BAR_SIZE - 2);
        dw_ep_dbi2_writel(ep, 0, reg, ALL_ONES);
        g_assert_cmphex(dw_ep_dbi2_readl(ep, 0, reg), ==, FIRST_BAR_SIZE - 1);

        for (uint64_t size = FIRST_BAR_SIZE; size <= 2 * GiB; size *= 2) {
            dw_ep_set_bar_resizable(ep, 0, bar, size,
                                    PCI_BASE_ADDRESS_MEM_PREFETCH);
            g_assert_cmphex(dw_ep_dbi2_readl(ep, 0, reg), ==, size - 1);
            /* Sizing as the host would do it */
            dw_ep_dbi_writel(ep, 0, reg, ALL_ONES);
            g_assert_cmphex(dw_ep_dbi_readl(ep, 0, reg), ==,
                            (uint32_t)-size | PCI_BASE_ADDRESS_MEM_PREFETCH);
        }
        dw_ep_disable_bar(ep, 0, bar);
        dw_ep_dbi_writel(ep, 0, reg, ALL_ONES);
        g_assert_cmphex(dw_ep_dbi_readl(ep, 0, reg), ==, 0);
    }
    stop(qts, ep);
}

static void test_bar_64(void)
{
    DWEp *ep;
    QTestState *qts = start(&ep);

    dw_ep_set_bar_resizable(ep, 1, 2, 2 * GiB, PCI_BASE_ADDRESS_MEM_TYPE_64);
    dw_ep_dbi_writel(ep, 1, bar_reg(2), ALL_ONES);
    dw_ep_dbi_writel(ep, 1, bar_reg(3), ALL_ONES);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 1, bar_reg(2)), ==,
                    (uint32_t)-(2 * GiB) | PCI_BASE_ADDRESS_MEM_TYPE_64);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 1, bar_reg(3)), ==, ALL_ONES);
    g_assert_cmphex(dw_ep_bar_assigned(ep, 1, 2), ==, -(2 * GiB));

    /* Without its lower half the upper half does not exist */
    dw_ep_disable_bar(ep, 1, 2);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 1, bar_reg(3)), ==, 0);
    stop(qts, ep);
}

static void test_bar_fixed(void)
{
    DWEp *ep;
    QTestState *qts = start(&ep);
    uint32_t reg = bar_reg(4);

    g_assert_cmphex(dw_ep_dbi2_readl(ep, 0, reg), ==, RCAR_GEN4_BAR4_SIZE - 1);
    dw_ep_set_bar_fixed(ep, 0, 4, RCAR_GEN4_BAR4_SIZE, 0);
    g_assert_cmphex(dw_ep_dbi2_readl(ep, 0, reg), ==, RCAR_GEN4_BAR4_SIZE - 1);
    /* Another size is not taken */
    dw_ep_set_bar_fixed(ep, 0, 4, 64 * KiB, 0);
    g_assert_cmphex(dw_ep_dbi2_readl(ep, 0, reg), ==, RCAR_GEN4_BAR4_SIZE - 1);
    dw_ep_dbi_writel(ep, 0, reg, ALL_ONES);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, reg), ==,
                    (uint32_t)-RCAR_GEN4_BAR4_SIZE);
    stop(qts, ep);
}

static void test_bar_disabled(void)
{
    DWEp *ep;
    QTestState *qts = start(&ep);
    const unsigned bars[] = { 1, 3, 5 };

    for (unsigned i = 0; i < ARRAY_SIZE(bars); i++) {
        uint32_t reg = bar_reg(bars[i]);

        dw_ep_dbi2_writel(ep, 0, reg, FIRST_BAR_SIZE - 1);
        g_assert_cmphex(dw_ep_dbi2_readl(ep, 0, reg), ==, 0);
        dw_ep_dbi_writel(ep, 0, reg, ALL_ONES);
        g_assert_cmphex(dw_ep_dbi_readl(ep, 0, reg), ==, 0);
    }
    stop(qts, ep);
}

static unsigned selected_size(DWEp *ep)
{
    return (dw_ep_dbi_readl(ep, 0, DW_PCIE_ECAP_REBAR + PCI_REBAR_CTRL) &
            PCI_REBAR_CTRL_BAR_SIZE) >> PCI_REBAR_CTRL_BAR_SHIFT;
}

static void write_rebar_ctrl(DWEp *ep, unsigned code)
{
    uint32_t ctrl = dw_ep_dbi_readl(ep, 0,
                                    DW_PCIE_ECAP_REBAR + PCI_REBAR_CTRL);

    dw_ep_dbi_writel(ep, 0, DW_PCIE_ECAP_REBAR + PCI_REBAR_CTRL,
                     (ctrl & ~PCI_REBAR_CTRL_BAR_SIZE) |
                     code << PCI_REBAR_CTRL_BAR_SHIFT);
}

static void test_rebar(void)
{
    DWEp *ep;
    QTestState *qts = start(&ep);
    uint32_t cap = DW_PCIE_ECAP_REBAR + PCI_REBAR_CAP;
    uint32_t ctrl = dw_ep_dbi_readl(ep, 0,
                                    DW_PCIE_ECAP_REBAR + PCI_REBAR_CTRL);

    g_assert_cmpuint((ctrl & PCI_REBAR_CTRL_NBAR_MASK) >>
                     PCI_REBAR_CTRL_NBAR_SHIFT, ==, 2);
    g_assert_cmpuint(ctrl & PCI_REBAR_CTRL_BAR_IDX, ==, 0);
    ctrl = dw_ep_dbi_readl(ep, 0, DW_PCIE_ECAP_REBAR + 2 * PCI_REBAR_CTRL);
    g_assert_cmpuint(ctrl & PCI_REBAR_CTRL_BAR_IDX, ==, 2);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, cap), ==, RCAR_GEN4_REBAR_SIZES);
    g_assert_cmpuint(selected_size(ep), ==, 0);

    /* Any offered size can be selected: here 8 MiB */
    write_rebar_ctrl(ep, 3);
    g_assert_cmpuint(selected_size(ep), ==, 3);
    g_assert_cmphex(dw_ep_dbi2_readl(ep, 0, bar_reg(0)), ==, 8 * MiB - 1);

    /* Writing the capability selects the smallest size left: 32 MiB */
    dw_ep_ro_wr(ep, true);
    dw_ep_dbi_writel(ep, 0, cap, BIT(9) | BIT(11));
    dw_ep_ro_wr(ep, false);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, cap), ==, BIT(9) | BIT(11));
    g_assert_cmpuint(selected_size(ep), ==, 5);
    g_assert_cmphex(dw_ep_dbi2_readl(ep, 0, bar_reg(0)), ==, 32 * MiB - 1);

    /* A size that is not offered is rejected, as is one beyond the field */
    write_rebar_ctrl(ep, 6);
    g_assert_cmpuint(selected_size(ep), ==, 5);
    write_rebar_ctrl(ep, PCI_REBAR_CTRL_BAR_SIZE >> PCI_REBAR_CTRL_BAR_SHIFT);
    g_assert_cmpuint(selected_size(ep), ==, 5);
    write_rebar_ctrl(ep, 7);
    g_assert_cmpuint(selected_size(ep), ==, 7);

    /* Sizes that the core was not made for do not stick: 4 GiB */
    dw_ep_ro_wr(ep, true);
    dw_ep_dbi_writel(ep, 0, cap, BIT(16));
    dw_ep_ro_wr(ep, false);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, cap), ==, 0);
    g_assert_cmpuint(selected_size(ep), ==, 7);

    /* The capability itself is read only without DBI_RO_WR_EN */
    dw_ep_dbi_writel(ep, 0, cap, BIT(4));
    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, cap), ==, 0);
    stop(qts, ep);
}

static void test_ptm(void)
{
    DWEp *ep;
    QTestState *qts = start(&ep);
    uint32_t reg = DW_PCIE_ECAP_PTM + PCI_PTM_CAP;

    /* As dw_pcie_ep_init_registers() does */
    dw_ep_ro_wr(ep, true);
    dw_ep_dbi_writel(ep, 0, reg, dw_ep_dbi_readl(ep, 0, reg) &
                     ~(PCI_PTM_CAP_ROOT | PCI_PTM_CAP_RES |
                       PCI_PTM_GRANULARITY_MASK));
    dw_ep_ro_wr(ep, false);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, reg), ==, PCI_PTM_CAP_REQ);
    stop(qts, ep);
}

static void test_flr(void)
{
    DWEp *ep;
    QTestState *qts = start(&ep);
    uint32_t devctl = DW_PCIE_CAP_EXP + PCI_EXP_DEVCTL;
    uint32_t msi_addr = DW_PCIE_CAP_MSI + PCI_MSI_ADDRESS_LO;
    uint32_t aer_mask = DW_PCIE_ECAP_AER + PCI_ERR_COR_MASK;

    dw_ep_write_header(ep, 0, 0x1912, 0x0030, 0);
    dw_ep_set_bar_resizable(ep, 0, 0, 4 * MiB, PCI_BASE_ADDRESS_MEM_TYPE_64);
    dw_ep_dbi_writel(ep, 0, bar_reg(0), 4 * MiB);
    dw_ep_dbi_writew(ep, 0, PCI_COMMAND, PCI_COMMAND_MASTER);
    dw_ep_dbi_writel(ep, 0, msi_addr, 0x08090040);
    dw_ep_dbi_writel(ep, 0, aer_mask, 0);
    dw_ep_dbi_writew(ep, 0, devctl, PCI_EXP_DEVCTL_PAYLOAD_256B);
    dw_ep_dbi_writew(ep, 1, PCI_COMMAND, PCI_COMMAND_MASTER);

    dw_ep_dbi_writew(ep, 0, devctl, PCI_EXP_DEVCTL_BCR_FLR |
                     PCI_EXP_DEVCTL_PAYLOAD_256B);

    /* Gone: what the host wrote */
    g_assert_cmphex(dw_ep_dbi_readw(ep, 0, PCI_COMMAND), ==, 0);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, msi_addr), ==, 0);
    g_assert_cmphex(dw_ep_bar_assigned(ep, 0, 0), ==, 0);
    /* Kept: identity, BAR setup, sticky registers, payload size, the other */
    g_assert_cmphex(dw_ep_dbi_readw(ep, 0, PCI_DEVICE_ID), ==, 0x0030);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, bar_reg(0)), ==,
                    PCI_BASE_ADDRESS_MEM_TYPE_64);
    g_assert_cmphex(dw_ep_dbi2_readl(ep, 0, bar_reg(0)), ==, 4 * MiB - 1);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, aer_mask), ==, 0);
    g_assert_cmphex(dw_ep_dbi_readw(ep, 0, devctl) &
                    (PCI_EXP_DEVCTL_PAYLOAD | PCI_EXP_DEVCTL_BCR_FLR), ==,
                    PCI_EXP_DEVCTL_PAYLOAD_256B);
    g_assert_cmphex(dw_ep_dbi_readw(ep, 1, PCI_COMMAND), ==,
                    PCI_COMMAND_MASTER);
    stop(qts, ep);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("dw-pcie-ep/reset/header", test_reset_header);
    qtest_add_func("dw-pcie-ep/reset/capabilities", test_capabilities);
    qtest_add_func("dw-pcie-ep/reset/link", test_link_registers);
    qtest_add_func("dw-pcie-ep/port-logic", test_port_logic);
    qtest_add_func("dw-pcie-ep/ro-wr-en", test_ro_wr_en);
    qtest_add_func("dw-pcie-ep/multi-function", test_multi_function);
    qtest_add_func("dw-pcie-ep/bar/resizable", test_bar_resizable);
    qtest_add_func("dw-pcie-ep/bar/64-bit", test_bar_64);
    qtest_add_func("dw-pcie-ep/bar/fixed", test_bar_fixed);
    qtest_add_func("dw-pcie-ep/bar/disabled", test_bar_disabled);
    qtest_add_func("dw-pcie-ep/rebar", test_rebar);
    qtest_add_func("dw-pcie-ep/ptm", test_ptm);
    qtest_add_func("dw-pcie-ep/flr", test_flr);
    return g_test_run();
}
