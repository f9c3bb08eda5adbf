/*
 * QTest of the R-Car Gen4 PCIe endpoint: what the SoC adds to the core
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Application registers, what they let out of the DMA engine, LTSSM without a
 * peer, reset controller and the places of the second function.
 */
#include "qemu/osdep.h"
#include "qemu/units.h"
#include "hw/pci/pci_ids.h"
#include "hw/dma/dw-edma-regs.h"
#include "hw/pci/pci_regs.h"
#include "libqos/dw-pcie-ep.h"

#define ALL_ONES UINT32_MAX
/* The first of the device's interrupts */
#define IRQ_DMA 0

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

static void test_app_registers(void)
{
    static const struct {
        uint32_t reg;
        uint32_t reset;
        uint32_t mask;
    } regs[] = {
        { RCAR_GEN4_PCIEMSR0, 0, RCAR_GEN4_MSR0_MASK },
        { RCAR_GEN4_PCIERSTCTRL1, RCAR_GEN4_RSTCTRL1_RESET,
          RCAR_GEN4_RSTCTRL1_MASK },
        { RCAR_GEN4_PCIEPWRMNGCTRL, 0, RCAR_GEN4_PWRMNG_MASK },
        { RCAR_GEN4_PCIEINTSTS0, 0, 0 },
        { RCAR_GEN4_PCIEINTSTS0EN, 0, RCAR_GEN4_INTSTS0EN_MASK },
        { RCAR_GEN4_PCIEDMAINTSTSEN, 0, RCAR_GEN4_DMAINTSTSEN_MASK },
        { RCAR_GEN4_AXIINTCADDR, 0, ALL_ONES },
        { RCAR_GEN4_AXIINTCCONT, 0, ALL_ONES },
    };
    DWEp *ep;
    QTestState *qts = start(&ep);

    for (unsigned i = 0; i < ARRAY_SIZE(regs); i++) {
        g_assert_cmphex(dw_ep_app_readl(ep, regs[i].reg), ==, regs[i].reset);
        dw_ep_app_writel(ep, regs[i].reg, ALL_ONES);
        g_assert_cmphex(dw_ep_app_readl(ep, regs[i].reg), ==, regs[i].mask);
        dw_ep_app_writel(ep, regs[i].reg, 0);
        g_assert_cmphex(dw_ep_app_readl(ep, regs[i].reg), ==, 0);
    }
    stop(qts, ep);
}

static void test_phy(void)
{
    DWEp *ep;
    QTestState *qts = start(&ep);
    uint64_t last = ep->phy + RCAR_GEN4_PHY_SIZE - 4;

    g_assert_cmphex(qtest_readl(qts, last), ==, 0);
    qtest_writel(qts, last, 0x5a5aa5a5);
    g_assert_cmphex(qtest_readl(qts, last), ==, 0x5a5aa5a5);
    stop(qts, ep);
}

static void check_dma_channels(const char *props, uint32_t ctrl)
{
    QTestState *qts = qtest_initf("-M %s -nodefaults "
                                  "-device rcar-gen4-pcie-ep,id=%s%s",
                                  DW_EP_MACHINE, DW_EP_ID, props);
    DWEp *ep = dw_ep_init(qts);

    g_assert_cmphex(qtest_readl(qts, ep->dma + DW_EDMA_CTRL), ==, ctrl);
    stop(qts, ep);
}

static void test_dma_channels(void)
{
    check_dma_channels("", 4 | 4 << DW_EDMA_CTRL_RD_CHANNELS_SHIFT);
    check_dma_channels(",num-dma-wr-ch=1,num-dma-rd-ch=8",
                       1 | 8 << DW_EDMA_CTRL_RD_CHANNELS_SHIFT);
    /* The Linux driver takes this for a core without an engine. */
    check_dma_channels(",num-dma-wr-ch=0,num-dma-rd-ch=0", 0);
}

/* The application registers let the engine's interrupts out. */
static void test_dma_interrupt(void)
{
    DWEp *ep;
    QTestState *qts = start(&ep);

    qtest_irq_intercept_out_named(qts, DW_EP_QOM_PATH, "sysbus-irq");
    qtest_writel(qts, ep->dma + DW_EDMA_RD_INT_STATUS, 0);
    g_assert_false(qtest_get_irq(qts, IRQ_DMA));
    dw_ep_app_writel(ep, RCAR_GEN4_PCIEDMAINTSTSEN,
                     RCAR_GEN4_DMAINTSTSEN_READ(0));
    g_assert_true(qtest_get_irq(qts, IRQ_DMA));
    qtest_writel(qts, ep->dma + DW_EDMA_RD_INT_CLEAR, 0);
    g_assert_false(qtest_get_irq(qts, IRQ_DMA));

    /* The controller's reset takes both the interrupt and the gate away. */
    qtest_writel(qts, ep->dma + DW_EDMA_RD_INT_STATUS, 0);
    g_assert_true(qtest_get_irq(qts, IRQ_DMA));
    dw_ep_set_reset(ep, true);
    g_assert_false(qtest_get_irq(qts, IRQ_DMA));
    dw_ep_set_reset(ep, false);
    dw_ep_app_writel(ep, RCAR_GEN4_PCIEDMAINTSTSEN,
                     RCAR_GEN4_DMAINTSTSEN_MASK);
    g_assert_false(qtest_get_irq(qts, IRQ_DMA));
    stop(qts, ep);
}

static uint32_t ltssm_state(DWEp *ep)
{
    return dw_ep_dbi_readl(ep, 0, DW_PCIE_PORT_DEBUG0) & DW_PCIE_LTSSM_MASK;
}

static void test_ltssm_without_peer(void)
{
    DWEp *ep;
    QTestState *qts = start(&ep);
    uint32_t width_speed;

    g_assert_cmphex(ltssm_state(ep), ==, DW_PCIE_LTSSM_DETECT_QUIET);

    /* Enabled, but the PHY is held in reset */
    dw_ep_app_writel(ep, RCAR_GEN4_PCIERSTCTRL1,
                     RCAR_GEN4_RSTCTRL1_LTSSM_ENABLE |
                     RCAR_GEN4_RSTCTRL1_HOLD_PHY_RST);
    g_assert_cmphex(ltssm_state(ep), ==, DW_PCIE_LTSSM_DETECT_QUIET);

    dw_ep_start_link(ep);
    g_assert_cmphex(ltssm_state(ep), ==, DW_PCIE_LTSSM_DETECT_ACT);
    g_assert_false(dw_ep_link_up(ep));

    /* rcar_gen4_pcie_speed_change() gives up on this bit without a peer */
    width_speed = dw_ep_dbi_readl(ep, 0, DW_PCIE_LINK_WIDTH_SPEED);
    dw_ep_dbi_writel(ep, 0, DW_PCIE_LINK_WIDTH_SPEED,
                     width_speed | DW_PCIE_LWS_SPEED_CHANGE);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, DW_PCIE_LINK_WIDTH_SPEED) &
                    DW_PCIE_LWS_SPEED_CHANGE, !=, 0);

    dw_ep_stop_link(ep);
    g_assert_cmphex(ltssm_state(ep), ==, DW_PCIE_LTSSM_DETECT_QUIET);
    stop(qts, ep);
}

static void test_reset_controller(void)
{
    DWEp *ep;
    QTestState *qts = start(&ep);
    uint64_t ctrl = ep->reset_ctrl + RCAR_GEN4_RESET_CTRL;

    g_assert_cmphex(qtest_readl(qts, ctrl), ==, 0);

    dw_ep_write_header(ep, 0, 0x1912, 0x0030, PCI_CLASS_MEMORY_RAM << 8);
    dw_ep_write_header(ep, 1, 0x1912, 0x0030, PCI_CLASS_MEMORY_RAM << 8);
    dw_ep_set_bar_resizable(ep, 0, 0, 4 * MiB, 0);
    dw_ep_outbound(ep, 0, 0, ep->addr_space, 0, RCAR_GEN4_ATU_REGION_SIZE);
    dw_ep_start_link(ep);

    dw_ep_set_reset(ep, true);
    g_assert_cmphex(qtest_readl(qts, ctrl), ==, RCAR_GEN4_RESET_PWR);
    g_assert_cmphex(dw_ep_app_readl(ep, RCAR_GEN4_PCIERSTCTRL1), ==,
                    RCAR_GEN4_RSTCTRL1_RESET);
    /* The driver chooses the mode while it holds the reset */
    dw_ep_app_writel(ep, RCAR_GEN4_PCIEMSR0, RCAR_GEN4_MSR0_BIFUR_MOD_SET_ON);
    dw_ep_set_reset(ep, false);

    g_assert_cmphex(qtest_readl(qts, ctrl), ==, 0);
    g_assert_cmphex(dw_ep_app_readl(ep, RCAR_GEN4_PCIEMSR0), ==,
                    RCAR_GEN4_MSR0_BIFUR_MOD_SET_ON);
    g_assert_cmphex(dw_ep_dbi_readw(ep, 0, PCI_DEVICE_ID), ==,
                    RCAR_GEN4_RESET_DEVICE_ID);
    g_assert_cmphex(dw_ep_dbi_readb(ep, 0, PCI_HEADER_TYPE), ==,
                    PCI_HEADER_TYPE_NORMAL);
    g_assert_cmphex(dw_ep_dbi2_readl(ep, 0, PCI_BASE_ADDRESS_0), ==, MiB - 1);
    g_assert_cmphex(dw_ep_atu_readl(ep, DW_EP_OUTBOUND, 0, DW_PCIE_ATU_CTRL2),
                    ==, 0);
    g_assert_cmphex(ltssm_state(ep), ==, DW_PCIE_LTSSM_DETECT_QUIET);
    stop(qts, ep);
}

static void test_access_in_reset(void)
{
    DWEp *ep;
    QTestState *qts = start(&ep);

    dw_ep_set_reset(ep, true);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, PCI_VENDOR_ID), ==, ALL_ONES);
    g_assert_cmphex(dw_ep_dbi2_readl(ep, 0, PCI_BASE_ADDRESS_0), ==, ALL_ONES);
    g_assert_cmphex(dw_ep_atu_readl(ep, DW_EP_INBOUND, 0, DW_PCIE_ATU_LIMIT),
                    ==, ALL_ONES);
    g_assert_cmphex(qtest_readl(qts, ep->dma + DW_EDMA_CTRL), ==,
                    ALL_ONES);
    dw_ep_dbi_writew(ep, 0, PCI_COMMAND, PCI_COMMAND_MASTER);
    /* Application registers can be written, the LTSSM waits */
    dw_ep_start_link(ep);

    dw_ep_set_reset(ep, false);
    g_assert_cmphex(ltssm_state(ep), ==, DW_PCIE_LTSSM_DETECT_ACT);
    g_assert_cmphex(dw_ep_dbi_readw(ep, 0, PCI_COMMAND), ==, 0);
    g_assert_cmphex(dw_ep_dbi_readw(ep, 0, PCI_VENDOR_ID), ==,
                    RCAR_GEN4_RESET_VENDOR_ID);
    stop(qts, ep);
}

static void test_system_reset(void)
{
    DWEp *ep;
    QTestState *qts = start(&ep);

    dw_ep_write_header(ep, 0, 0x1912, 0x0030, 0);
    dw_ep_start_link(ep);
    qtest_system_reset(qts);
    g_assert_cmphex(dw_ep_dbi_readw(ep, 0, PCI_DEVICE_ID), ==,
                    RCAR_GEN4_RESET_DEVICE_ID);
    g_assert_cmphex(dw_ep_app_readl(ep, RCAR_GEN4_PCIERSTCTRL1), ==,
                    RCAR_GEN4_RSTCTRL1_RESET);
    g_assert_cmphex(ltssm_state(ep), ==, DW_PCIE_LTSSM_DETECT_QUIET);
    stop(qts, ep);
}

static void test_function_strides(void)
{
    DWEp *ep;
    QTestState *qts = start(&ep);
    uint64_t dbi1 = ep->dbi + RCAR_GEN4_DBI_FUNC_STRIDE;
    uint64_t dbi2_1 = ep->dbi2 + RCAR_GEN4_DBI2_FUNC_STRIDE;

    dw_ep_write_header(ep, 0, 0x1912, 0x0030, 0);
    dw_ep_write_header(ep, 1, 0x1912, 0x0031, 0);
    g_assert_cmphex(qtest_readw(qts, ep->dbi + PCI_DEVICE_ID), ==, 0x0030);
    g_assert_cmphex(qtest_readw(qts, dbi1 + PCI_DEVICE_ID), ==, 0x0031);

    dw_ep_set_bar_resizable(ep, 0, 0, 2 * MiB, 0);
    dw_ep_set_bar_resizable(ep, 1, 0, 8 * MiB, 0);
    g_assert_cmphex(qtest_readl(qts, ep->dbi2 + PCI_BASE_ADDRESS_0), ==,
                    2 * MiB - 1);
    g_assert_cmphex(qtest_readl(qts, dbi2_1 + PCI_BASE_ADDRESS_0), ==,
                    8 * MiB - 1);
    stop(qts, ep);
}

static void test_one_function(void)
{
    QTestState *qts = qtest_initf("-M %s -nodefaults -device "
                                  "rcar-gen4-pcie-ep,id=%s,functions=1",
                                  DW_EP_MACHINE, DW_EP_ID);
    DWEp *ep = dw_ep_init(qts);

    g_assert_cmphex(dw_ep_dbi_readl(ep, 1, PCI_VENDOR_ID), ==, 0);
    dw_ep_dbi_writel(ep, 1, PCI_BASE_ADDRESS_0, ALL_ONES);
    dw_ep_dbi2_writel(ep, 1, PCI_BASE_ADDRESS_0, ALL_ONES);
    g_assert_cmphex(dw_ep_dbi_readb(ep, 0, PCI_HEADER_TYPE), ==,
                    PCI_HEADER_TYPE_NORMAL);
    stop(qts, ep);
}

static unsigned count_in(const char *text, const char *needle)
{
    unsigned n = 0;

    while ((text = strstr(text, needle))) {
        text += strlen(needle);
        n++;
    }
    return n;
}

/* Each kind of mistake is reported, and once only */
static void test_guest_errors(void)
{
    static const char * const reports[] = {
        "while the reset is asserted", "DBI write to read-only bits",
        "does not exist: mask", "selected size code", "is not a multiple of",
        " below base 0x", "where no iATU region",
        "not of type MEM", "Max_Read_Request_Size 512", "port logic register",
    };
    g_autofree char *path = NULL;
    g_autofree char *log = NULL;
    int fd = g_file_open_tmp("rcar-gen4-pcie-ep-XXXXXX", &path, NULL);
    QTestState *qts;
    DWEp *ep;

    g_assert_cmpint(fd, >=, 0);
    close(fd);
    qts = qtest_initf("-M %s -nodefaults -device rcar-gen4-pcie-ep,id=%s "
                      "-d guest_errors -D %s", DW_EP_MACHINE, DW_EP_ID, path);
    ep = dw_ep_init(qts);

    for (int i = 0; i < 2; i++) {
        dw_ep_set_reset(ep, true);
        dw_ep_dbi_readl(ep, 0, PCI_VENDOR_ID);
        dw_ep_set_reset(ep, false);
        dw_ep_dbi_writew(ep, 0, PCI_DEVICE_ID, 0);
        dw_ep_dbi2_writel(ep, 0, PCI_BASE_ADDRESS_1, MiB - 1);
        dw_ep_dbi_writel(ep, 0, DW_PCIE_ECAP_REBAR + PCI_REBAR_CTRL,
                         PCI_REBAR_CTRL_BAR_SIZE);
        dw_ep_outbound(ep, 0, 0, ep->addr_space, MiB + 4, MiB);
        dw_ep_atu_writel(ep, DW_EP_OUTBOUND, 0, DW_PCIE_ATU_LIMIT, 0);
        qtest_readl(qts, ep->addr_space + 2 * MiB);
        dw_ep_outbound(ep, 1, 0, ep->addr_space + MiB, 0, MiB);
        dw_ep_atu_writel(ep, DW_EP_OUTBOUND, 1, DW_PCIE_ATU_CTRL1,
                         DW_PCIE_ATU_TYPE_CFG0);
        qtest_readl(qts, ep->addr_space + MiB);
        dw_ep_dbi_writew(ep, 0, DW_PCIE_CAP_EXP + PCI_EXP_DEVCTL,
                         PCI_EXP_DEVCTL_READRQ_512B);
        dw_ep_dbi_writel(ep, 0, DW_PCIE_PORT_LOGIC_END - 4, 0);
    }
    stop(qts, ep);

    g_assert_true(g_file_get_contents(path, &log, NULL, NULL));
    for (unsigned i = 0; i < ARRAY_SIZE(reports); i++) {
        g_test_message("expecting once: %s", reports[i]);
        g_assert_cmpuint(count_in(log, reports[i]), ==, 1);
    }
    unlink(path);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("rcar-gen4-pcie-ep/app", test_app_registers);
    qtest_add_func("rcar-gen4-pcie-ep/phy", test_phy);
    qtest_add_func("rcar-gen4-pcie-ep/dma/channels", test_dma_channels);
    qtest_add_func("rcar-gen4-pcie-ep/dma/interrupt", test_dma_interrupt);
    qtest_add_func("rcar-gen4-pcie-ep/ltssm", test_ltssm_without_peer);
    qtest_add_func("rcar-gen4-pcie-ep/guest-errors", test_guest_errors);
    qtest_add_func("rcar-gen4-pcie-ep/reset/controller",
                   test_reset_controller);
    qtest_add_func("rcar-gen4-pcie-ep/reset/access", test_access_in_reset);
    qtest_add_func("rcar-gen4-pcie-ep/reset/system", test_system_reset);
    qtest_add_func("rcar-gen4-pcie-ep/functions/strides",
                   test_function_strides);
    qtest_add_func("rcar-gen4-pcie-ep/functions/one", test_one_function);
    return g_test_run();
}
