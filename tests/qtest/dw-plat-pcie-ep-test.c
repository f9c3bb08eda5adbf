/*
 * QTest of the generic DesignWare PCIe endpoint: registers, without a host
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What differs from R-Car Gen4: programmable BARs, the MSI-X capability, up
 * to eight functions, the LTSSM register and the choice of DMA engines.
 */
#include "qemu/osdep.h"
#include <sys/un.h>
#include "qemu/units.h"
#include "hw/dma/dw-edma-regs.h"
#include "hw/pci/pci_regs.h"
#include "libqos/dw-pcie-ep.h"

#define ALL_ONES UINT32_MAX
#define BAR_MIN_SIZE 128
#define NUM_BARS 6
#define MSIX_MAX_VECTORS 2048
/* The first and only interrupt */
#define IRQ_DMA 0
#define DMA_CHANNELS(n) ((n) | (n) << DW_EDMA_CTRL_RD_CHANNELS_SHIFT)

static QTestState *start(const char *props, DWEp **ep)
{
    QTestState *qts = qtest_initf("-M %s -nodefaults -device %s,id=%s%s",
                                  DW_EP_MACHINE, DW_EP_PLAT, DW_EP_ID, props);

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

static uint32_t ltssm_state(DWEp *ep)
{
    return dw_ep_dbi_readl(ep, 0, DW_PCIE_PORT_DEBUG0) & DW_PCIE_LTSSM_MASK;
}

static void test_ltssm(void)
{
    DWEp *ep;
    QTestState *qts = start("", &ep);

    g_assert_cmphex(dw_ep_app_readl(ep, DW_PLAT_APP_LTSSM), ==, 0);
    g_assert_cmphex(ltssm_state(ep), ==, DW_PCIE_LTSSM_DETECT_QUIET);

    dw_ep_app_writel(ep, DW_PLAT_APP_LTSSM, ALL_ONES);
    g_assert_cmphex(dw_ep_app_readl(ep, DW_PLAT_APP_LTSSM), ==,
                    DW_PLAT_APP_LTSSM_ENABLE);
    g_assert_cmphex(ltssm_state(ep), ==, DW_PCIE_LTSSM_DETECT_ACT);
    g_assert_false(dw_ep_link_up(ep));

    dw_ep_stop_link(ep);
    g_assert_cmphex(ltssm_state(ep), ==, DW_PCIE_LTSSM_DETECT_QUIET);

    /* There is no other application register. */
    dw_ep_app_writel(ep, DW_PLAT_APP_LTSSM + 4, ALL_ONES);
    g_assert_cmphex(dw_ep_app_readl(ep, DW_PLAT_APP_LTSSM + 4), ==, 0);

    dw_ep_start_link(ep);
    qtest_system_reset(qts);
    g_assert_cmphex(dw_ep_app_readl(ep, DW_PLAT_APP_LTSSM), ==, 0);
    g_assert_cmphex(ltssm_state(ep), ==, DW_PCIE_LTSSM_DETECT_QUIET);
    stop(qts, ep);
}

/* A SoC that enables the LTSSM by itself */
static void test_ltssm_strap(void)
{
    DWEp *ep;
    QTestState *qts = start(",ltssm-enable=on", &ep);

    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmphex(dw_ep_app_readl(ep, DW_PLAT_APP_LTSSM), ==,
                        DW_PLAT_APP_LTSSM_ENABLE);
        g_assert_cmphex(ltssm_state(ep), ==, DW_PCIE_LTSSM_DETECT_ACT);
        dw_ep_stop_link(ep);
        g_assert_cmphex(ltssm_state(ep), ==, DW_PCIE_LTSSM_DETECT_QUIET);
        qtest_system_reset(qts);
    }
    stop(qts, ep);
}

static void test_identity(void)
{
    static const struct {
        uint8_t pos, id;
    } caps[] = {
        { DW_PCIE_CAP_PM, PCI_CAP_ID_PM },
        { DW_PCIE_CAP_MSI, PCI_CAP_ID_MSI },
        { DW_PCIE_CAP_EXP, PCI_CAP_ID_EXP },
        { DW_PCIE_CAP_MSIX, PCI_CAP_ID_MSIX },
    };
    /* No resizable BARs, so no capability for them */
    static const struct {
        uint16_t pos, id;
    } ecaps[] = {
        { DW_PCIE_ECAP_AER, PCI_EXT_CAP_ID_ERR },
        { DW_PCIE_ECAP_PTM, PCI_EXT_CAP_ID_PTM },
        { DW_PCIE_ECAP_VSEC, PCI_EXT_CAP_ID_VNDR },
    };
    DWEp *ep;
    QTestState *qts = start("", &ep);
    unsigned pos = dw_ep_dbi_readb(ep, 0, PCI_CAPABILITY_LIST);

    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, PCI_VENDOR_ID), ==,
                    DW_PLAT_RESET_VENDOR_ID |
                    (uint32_t)DW_PLAT_RESET_DEVICE_ID << 16);
    g_assert_cmphex(dw_ep_dbi_readb(ep, 0, PCI_HEADER_TYPE), ==,
                    PCI_HEADER_TYPE_NORMAL);
    for (unsigned i = 0; i < ARRAY_SIZE(caps); i++) {
        g_assert_cmphex(pos, ==, caps[i].pos);
        g_assert_cmphex(dw_ep_dbi_readb(ep, 0, pos), ==, caps[i].id);
        pos = dw_ep_dbi_readb(ep, 0, pos + PCI_CAP_LIST_NEXT);
    }
    g_assert_cmphex(pos, ==, 0);

    pos = PCI_CFG_SPACE_SIZE;
    for (unsigned i = 0; i < ARRAY_SIZE(ecaps); i++) {
        uint32_t header = dw_ep_dbi_readl(ep, 0, pos);

        g_assert_cmphex(pos, ==, ecaps[i].pos);
        g_assert_cmphex(PCI_EXT_CAP_ID(header), ==, ecaps[i].id);
        pos = PCI_EXT_CAP_NEXT(header);
    }
    g_assert_cmphex(pos, ==, 0);
    stop(qts, ep);
}

/* How dw_pcie_iatu_detect() counts the regions of a direction */
static unsigned count_regions(DWEp *ep, DWEpAtuDir dir)
{
    const uint32_t probe = 0x11110000;
    unsigned n = 0;

    while (n < DW_PLAT_ATU_SIZE / DW_PCIE_ATU_STRIDE) {
        dw_ep_atu_writel(ep, dir, n, DW_PCIE_ATU_LOWER_TARGET, probe);
        if (dw_ep_atu_readl(ep, dir, n, DW_PCIE_ATU_LOWER_TARGET) != probe) {
            break;
        }
        n++;
    }
    return n;
}

static void test_atu(void)
{
    DWEp *ep;
    QTestState *qts = start("", &ep);

    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, DW_PCIE_ATU_VIEWPORT), ==,
                    ALL_ONES);
    g_assert_cmpuint(count_regions(ep, DW_EP_OUTBOUND), ==, 16);
    g_assert_cmpuint(count_regions(ep, DW_EP_INBOUND), ==, 16);
    dw_ep_atu_writel(ep, DW_EP_OUTBOUND, 0, DW_PCIE_ATU_LIMIT, 0);
    g_assert_cmphex(dw_ep_atu_readl(ep, DW_EP_OUTBOUND, 0, DW_PCIE_ATU_LIMIT),
                    ==, DW_PLAT_ATU_REGION_SIZE - 1);
    dw_ep_atu_writel(ep, DW_EP_OUTBOUND, 0, DW_PCIE_ATU_UPPER_LIMIT, ALL_ONES);
    g_assert_cmphex(dw_ep_atu_readl(ep, DW_EP_OUTBOUND, 0,
                                    DW_PCIE_ATU_UPPER_LIMIT), ==,
                    DW_PLAT_ATU_UPPER_LIMIT);
    stop(qts, ep);

    qts = start(",num-ob-windows=32,num-ib-windows=1", &ep);
    g_assert_cmpuint(count_regions(ep, DW_EP_OUTBOUND), ==, 32);
    g_assert_cmpuint(count_regions(ep, DW_EP_INBOUND), ==, 1);
    stop(qts, ep);
}

static void test_functions(void)
{
    DWEp *ep;
    QTestState *qts = start(",functions=8", &ep);

    for (unsigned fn = 0; fn < DW_PLAT_MAX_FUNCTIONS; fn++) {
        g_assert_cmphex(dw_ep_dbi_readb(ep, fn, PCI_HEADER_TYPE), ==,
                        fn < 2 ? PCI_HEADER_TYPE_NORMAL : PCI_HEADER_TYPE_MFD);
        dw_ep_write_header(ep, fn, 0x1912, 0x0100 + fn, 0);
        dw_ep_set_msix(ep, fn, 8 + fn, 0, 0x800);
        dw_ep_set_bar_programmable(ep, fn, 1, 4 * KiB << fn, 0);
    }
    for (unsigned fn = 0; fn < DW_PLAT_MAX_FUNCTIONS; fn++) {
        g_assert_cmphex(qtest_readw(qts, ep->dbi + fn *
                                    DW_PLAT_DBI_FUNC_STRIDE + PCI_DEVICE_ID),
                        ==, 0x0100 + fn);
        g_assert_cmphex(dw_ep_dbi_readb(ep, fn, PCI_HEADER_TYPE), ==,
                        PCI_HEADER_TYPE_MFD);
        g_assert_cmphex(dw_ep_dbi_readw(ep, fn, DW_PCIE_CAP_MSIX +
                                        PCI_MSIX_FLAGS), ==, 7 + fn);
        g_assert_cmphex(qtest_readl(qts, ep->dbi2 + fn *
                                    DW_PLAT_DBI2_FUNC_STRIDE + bar_reg(1)), ==,
                        (4 * KiB << fn) - 1);
    }
    stop(qts, ep);

    /* One function unless the user wants more */
    qts = start("", &ep);
    for (unsigned fn = 1; fn < DW_PLAT_MAX_FUNCTIONS; fn++) {
        g_assert_cmphex(dw_ep_dbi_readl(ep, fn, PCI_VENDOR_ID), ==, 0);
        dw_ep_dbi_writel(ep, fn, bar_reg(0), ALL_ONES);
        dw_ep_dbi2_writel(ep, fn, bar_reg(0), ALL_ONES);
    }
    g_assert_cmphex(dw_ep_dbi_readb(ep, 0, PCI_HEADER_TYPE), ==,
                    PCI_HEADER_TYPE_NORMAL);
    stop(qts, ep);
}

static void test_bar_programmable(void)
{
    DWEp *ep;
    QTestState *qts = start("", &ep);

    for (unsigned bar = 0; bar < NUM_BARS; bar++) {
        uint32_t reg = bar_reg(bar);

        g_assert_cmphex(dw_ep_dbi2_readl(ep, 0, reg), ==, BAR_MIN_SIZE - 1);
        for (uint64_t size = BAR_MIN_SIZE; size <= 2 * GiB; size *= 2) {
            uint32_t flags = size & 0x55555555 ? PCI_BASE_ADDRESS_MEM_PREFETCH
                                               : 0;

            dw_ep_set_bar_programmable(ep, 0, bar, size, flags);
            g_assert_cmphex(dw_ep_dbi2_readl(ep, 0, reg), ==, size - 1);
            /* Sizing as the host would do it */
            dw_ep_dbi_writel(ep, 0, reg, ALL_ONES);
            g_assert_cmphex(dw_ep_dbi_readl(ep, 0, reg), ==,
                            (uint32_t)-size | flags);
        }
        dw_ep_disable_bar(ep, 0, bar);
        dw_ep_dbi_writel(ep, 0, reg, ALL_ONES);
        g_assert_cmphex(dw_ep_dbi_readl(ep, 0, reg), ==, 0);
    }
    stop(qts, ep);
}

static void test_bar_smallest(void)
{
    DWEp *ep;
    QTestState *qts = start("", &ep);

    /* No memory BAR is smaller. */
    dw_ep_set_bar_programmable(ep, 0, 3, 16, 0);
    dw_ep_dbi_writel(ep, 0, bar_reg(3), ALL_ONES);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, bar_reg(3)), ==,
                    (uint32_t)-BAR_MIN_SIZE);

    /* A mask with a hole decodes like the next one without. */
    dw_ep_dbi2_writel(ep, 0, bar_reg(3), 0x10fff);
    dw_ep_dbi_writel(ep, 0, bar_reg(3), ALL_ONES);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, bar_reg(3)), ==,
                    (uint32_t)-(128 * KiB));
    stop(qts, ep);
}

static void test_bar_pairs(void)
{
    static const uint64_t sizes[] = {
        BAR_MIN_SIZE, 1 * MiB, 2 * GiB, 4 * GiB, 8 * GiB, 1 * TiB,
    };
    DWEp *ep;
    QTestState *qts = start("", &ep);

    for (unsigned bar = 0; bar < NUM_BARS; bar += 2) {
        for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
            dw_ep_set_bar_programmable(ep, 0, bar, sizes[i],
                                       PCI_BASE_ADDRESS_MEM_TYPE_64);
            dw_ep_dbi_writel(ep, 0, bar_reg(bar), ALL_ONES);
            dw_ep_dbi_writel(ep, 0, bar_reg(bar + 1), ALL_ONES);
            g_assert_cmphex(dw_ep_bar_assigned(ep, 0, bar), ==, -sizes[i]);
            g_assert_cmphex(dw_ep_dbi_readl(ep, 0, bar_reg(bar)) & 0xf, ==,
                            PCI_BASE_ADDRESS_MEM_TYPE_64);
        }

        /* The upper half is a BAR of its own when the pair is gone. */
        dw_ep_disable_bar(ep, 0, bar);
        g_assert_cmphex(dw_ep_dbi_readl(ep, 0, bar_reg(bar)), ==, 0);
        dw_ep_set_bar_programmable(ep, 0, bar + 1, 64 * KiB, 0);
        dw_ep_dbi_writel(ep, 0, bar_reg(bar + 1), ALL_ONES);
        g_assert_cmphex(dw_ep_dbi_readl(ep, 0, bar_reg(bar + 1)), ==,
                        (uint32_t)-(64 * KiB));
        g_assert_cmphex(dw_ep_dbi_readl(ep, 0, bar_reg(bar)), ==, 0);
    }
    stop(qts, ep);
}

static void test_msix_capability(void)
{
    const uint32_t cap = DW_PCIE_CAP_MSIX;
    DWEp *ep;
    QTestState *qts = start("", &ep);

    /* One vector, table and pending bits at the start of BAR0 */
    g_assert_cmphex(dw_ep_dbi_readw(ep, 0, cap + PCI_MSIX_FLAGS), ==, 0);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, cap + PCI_MSIX_TABLE), ==, 0);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, cap + PCI_MSIX_PBA), ==, 0);

    /* Only enable and function mask are not protected. */
    dw_ep_dbi_writew(ep, 0, cap + PCI_MSIX_FLAGS, UINT16_MAX);
    dw_ep_dbi_writel(ep, 0, cap + PCI_MSIX_TABLE, ALL_ONES);
    dw_ep_dbi_writel(ep, 0, cap + PCI_MSIX_PBA, ALL_ONES);
    g_assert_cmphex(dw_ep_dbi_readw(ep, 0, cap + PCI_MSIX_FLAGS), ==,
                    PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, cap + PCI_MSIX_TABLE), ==, 0);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, cap + PCI_MSIX_PBA), ==, 0);
    dw_ep_dbi_writew(ep, 0, cap + PCI_MSIX_FLAGS, 0);

    dw_ep_set_msix(ep, 0, 32, 2, 0x1000);
    g_assert_cmphex(dw_ep_dbi_readw(ep, 0, cap + PCI_MSIX_FLAGS), ==, 31);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, cap + PCI_MSIX_TABLE), ==, 0x1002);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, cap + PCI_MSIX_PBA), ==,
                    (0x1000 + 32 * PCI_MSIX_ENTRY_SIZE) | 2);
    dw_ep_set_msix(ep, 0, MSIX_MAX_VECTORS, 5, 0);
    g_assert_cmphex(dw_ep_dbi_readw(ep, 0, cap + PCI_MSIX_FLAGS), ==,
                    PCI_MSIX_FLAGS_QSIZE);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, cap + PCI_MSIX_TABLE), ==, 5);

    qtest_system_reset(qts);
    g_assert_cmphex(dw_ep_dbi_readw(ep, 0, cap + PCI_MSIX_FLAGS), ==, 0);
    g_assert_cmphex(dw_ep_dbi_readl(ep, 0, cap + PCI_MSIX_TABLE), ==, 0);
    stop(qts, ep);
}

/* What dw_pcie_edma_find_mf() and dw_pcie_edma_find_channels() go by */
static void test_edma_maps(void)
{
    static const struct {
        const char *props;
        uint32_t viewport;
        uint32_t channels;      /* in the area of its own, 0: no area */
    } engines[] = {
        { ",edma=none", 0, 0 },
        { ",edma=legacy,num-dma-wr-ch=0,num-dma-rd-ch=0", 0, 0 },
        { "", ALL_ONES, DMA_CHANNELS(4) },
        { ",edma=unrolled,num-dma-wr-ch=8,num-dma-rd-ch=8", ALL_ONES,
          DMA_CHANNELS(8) },
        { ",edma=legacy,num-dma-wr-ch=2,num-dma-rd-ch=2", DMA_CHANNELS(2),
          0 },
        { ",edma=hdma-compat", ALL_ONES, DMA_CHANNELS(4) },
    };
    const uint32_t viewport = DW_EDMA_LEGACY_DBI_OFFSET + DW_EDMA_CTRL;

    for (unsigned i = 0; i < ARRAY_SIZE(engines); i++) {
        DWEp *ep;
        QTestState *qts = start(engines[i].props, &ep);

        g_assert_cmphex(dw_ep_dbi_readl(ep, 0, viewport), ==,
                        engines[i].viewport);
        g_assert_cmpint(!!ep->dma, ==, !!engines[i].channels);
        if (ep->dma) {
            g_assert_cmphex(qtest_readl(qts, ep->dma + DW_EDMA_CTRL), ==,
                            engines[i].channels);
        }
        stop(qts, ep);
    }
}

/* The area has room for all channels that there can be. */
static void test_edma_native(void)
{
    DWEp *ep;
    QTestState *qts = start(",edma=hdma-native,num-dma-wr-ch=64,"
                            "num-dma-rd-ch=64", &ep);
    uint64_t last = ep->dma + DW_HDMA_RD_CHANNEL(DW_HDMA_MAX_CHANNELS - 1);

    g_assert_cmphex(qtest_readl(qts, last + DW_HDMA_CH_SAR_HIGH), ==, 0);
    qtest_writel(qts, last + DW_HDMA_CH_SAR_HIGH, 0x5a5aa5a5);
    g_assert_cmphex(qtest_readl(qts, last + DW_HDMA_CH_SAR_HIGH), ==,
                    0x5a5aa5a5);
    stop(qts, ep);
}

/* Both directions have the same line; no register of the glue gates it. */
static void test_edma_interrupt(void)
{
    static const uint32_t status[] = {
        DW_EDMA_WR_INT_STATUS, DW_EDMA_RD_INT_STATUS,
    };
    static const uint32_t clear[] = {
        DW_EDMA_WR_INT_CLEAR, DW_EDMA_RD_INT_CLEAR,
    };
    DWEp *ep;
    QTestState *qts = start("", &ep);

    qtest_irq_intercept_out_named(qts, DW_EP_QOM_PATH, "sysbus-irq");
    for (unsigned dir = 0; dir < ARRAY_SIZE(status); dir++) {
        g_assert_false(qtest_get_irq(qts, IRQ_DMA));
        /* Interrupt emulation */
        qtest_writel(qts, ep->dma + status[dir], 0);
        g_assert_true(qtest_get_irq(qts, IRQ_DMA));
        qtest_writel(qts, ep->dma + clear[dir], 0);
    }
    g_assert_false(qtest_get_irq(qts, IRQ_DMA));
    stop(qts, ep);
}

/* A socket file that nobody listens on, as a dead process leaves it */
static void leave_socket(const char *path)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    g_assert_cmpuint(g_strlcpy(addr.sun_path, path, sizeof(addr.sun_path)),
                     <, sizeof(addr.sun_path));
    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), ==, 0);
    close(fd);
}

/*
 * What the controller cannot be made with is found before it listens: the end
 * of the cable, which takes the place of the dead one, is there for good.
 */
static void test_refused(void)
{
    static const struct {
        const char *props;
        const char *message;
    } mistakes[] = {
        { "functions=9", "functions=9" },
        { "num-ob-windows=33", "num-ob-windows=33" },
        { "num-ib-windows=0", "num-ib-windows=0" },
        { "num-dma-rd-ch=0", "num-dma-rd-ch=0" },
        { "num-dma-wr-ch=9", "9 DMA write channels" },
        { "edma=legacy,num-dma-rd-ch=9", "9 DMA read channels" },
        { "edma=hdma-native,num-dma-wr-ch=65", "65 DMA write channels" },
    };
    g_autofree char *dir = g_dir_make_tmp("dw-plat-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "cable", NULL);
    struct stat before, after;

    leave_socket(path);
    g_assert_cmpint(stat(path, &before), ==, 0);
    for (unsigned i = 0; i < ARRAY_SIZE(mistakes); i++) {
        g_autofree char *device = g_strdup_printf("%s,socket=%s,%s",
                                                  DW_EP_PLAT, path,
                                                  mistakes[i].props);
        const char *argv[] = {
            getenv("QTEST_QEMU_BINARY"), "-accel", "qtest", "-display", "none",
            "-nodefaults", "-m", "64M",
            "-object", "memory-backend-memfd,id=ram,size=64M,share=on",
            "-M", DW_EP_MACHINE ",memory-backend=ram", "-device", device, NULL
        };
        g_autofree char *said = NULL;
        int status;

        g_assert_true(g_spawn_sync(NULL, (char **)argv, NULL,
                                   G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL,
                                   NULL, &said, &status, NULL));
        g_assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
        g_assert_nonnull(strstr(said, mistakes[i].message));
        g_assert_cmpint(stat(path, &after), ==, 0);
        g_assert_cmpuint(after.st_ino, ==, before.st_ino);
    }
    unlink(path);
    rmdir(dir);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("dw-plat-pcie-ep/ltssm/register", test_ltssm);
    qtest_add_func("dw-plat-pcie-ep/ltssm/strap", test_ltssm_strap);
    qtest_add_func("dw-plat-pcie-ep/identity", test_identity);
    qtest_add_func("dw-plat-pcie-ep/atu", test_atu);
    qtest_add_func("dw-plat-pcie-ep/functions", test_functions);
    qtest_add_func("dw-plat-pcie-ep/bar/programmable", test_bar_programmable);
    qtest_add_func("dw-plat-pcie-ep/bar/smallest", test_bar_smallest);
    qtest_add_func("dw-plat-pcie-ep/bar/pairs", test_bar_pairs);
    qtest_add_func("dw-plat-pcie-ep/msix/capability", test_msix_capability);
    qtest_add_func("dw-plat-pcie-ep/edma/maps", test_edma_maps);
    qtest_add_func("dw-plat-pcie-ep/edma/native", test_edma_native);
    qtest_add_func("dw-plat-pcie-ep/edma/interrupt", test_edma_interrupt);
    qtest_add_func("dw-plat-pcie-ep/refused", test_refused);
    return g_test_run();
}
