/*
 * libqos driver of the DesignWare PCIe endpoints: plays the SoC
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "libqtest.h"
#include "qobject/qdict.h"
#include "dw-pcie-ep.h"

#define REBAR_CAP_SHIFT 4

static QDict *qom_get(QTestState *qts, const char *path, const char *property)
{
    QDict *rsp = qtest_qmp(qts, "{ 'execute': 'qom-get', 'arguments': {"
                           " 'path': %s, 'property': %s } }", path, property);

    g_assert(qdict_haskey(rsp, "return"));
    return rsp;
}

static uint64_t qom_get_uint(QTestState *qts, const char *path,
                             const char *property)
{
    QDict *rsp = qom_get(qts, path, property);
    uint64_t val = qdict_get_int(rsp, "return");

    qobject_unref(rsp);
    return val;
}

static bool has_area(QTestState *qts, const char *name)
{
    g_autofree char *path = g_strdup_printf("%s/%s[0]", DW_EP_QOM_PATH, name);
    QDict *rsp = qtest_qmp(qts, "{ 'execute': 'qom-list', 'arguments': {"
                           " 'path': %s } }", path);
    bool there = qdict_haskey(rsp, "return");

    qobject_unref(rsp);
    return there;
}

/* CPU address of the region that the device calls @name */
static uint64_t area_address(QTestState *qts, const char *name)
{
    g_autofree char *path = g_strdup_printf("%s/%s[0]", DW_EP_QOM_PATH, name);
    uint64_t addr = 0;

    while (*path) {
        QDict *rsp;

        addr += qom_get_uint(qts, path, "addr");
        rsp = qom_get(qts, path, "container");
        g_free(path);
        path = g_strdup(qdict_get_str(rsp, "return"));
        qobject_unref(rsp);
    }
    return addr;
}

static bool is_type(QTestState *qts, const char *type)
{
    QDict *rsp = qom_get(qts, DW_EP_QOM_PATH, "type");
    bool equal = g_str_equal(qdict_get_str(rsp, "return"), type);

    qobject_unref(rsp);
    return equal;
}

DWEp *dw_ep_init(QTestState *qts)
{
    DWEp *ep = g_new0(DWEp, 1);

    ep->qts = qts;
    ep->plat = is_type(qts, DW_EP_PLAT);
    ep->dbi = area_address(qts, "dbi");
    ep->dbi2 = area_address(qts, "dbi2");
    ep->atu = area_address(qts, "atu");
    ep->app = area_address(qts, "app");
    ep->addr_space = area_address(qts, "addr-space");
    if (has_area(qts, "dma")) {
        ep->dma = area_address(qts, "dma");
    }
    if (ep->plat) {
        ep->dbi_stride = DW_PLAT_DBI_FUNC_STRIDE;
        ep->dbi2_stride = DW_PLAT_DBI2_FUNC_STRIDE;
    } else {
        ep->dbi_stride = RCAR_GEN4_DBI_FUNC_STRIDE;
        ep->dbi2_stride = RCAR_GEN4_DBI2_FUNC_STRIDE;
        ep->phy = area_address(qts, "phy");
        ep->reset_ctrl = area_address(qts, "reset");
    }
    return ep;
}

static uint64_t dbi_address(DWEp *ep, unsigned fn, uint32_t reg)
{
    return ep->dbi + fn * ep->dbi_stride + reg;
}

uint32_t dw_ep_dbi_readl(DWEp *ep, unsigned fn, uint32_t reg)
{
    return qtest_readl(ep->qts, dbi_address(ep, fn, reg));
}

uint16_t dw_ep_dbi_readw(DWEp *ep, unsigned fn, uint32_t reg)
{
    return qtest_readw(ep->qts, dbi_address(ep, fn, reg));
}

uint8_t dw_ep_dbi_readb(DWEp *ep, unsigned fn, uint32_t reg)
{
    return qtest_readb(ep->qts, dbi_address(ep, fn, reg));
}

void dw_ep_dbi_writel(DWEp *ep, unsigned fn, uint32_t reg, uint32_t val)
{
    qtest_writel(ep->qts, dbi_address(ep, fn, reg), val);
}

void dw_ep_dbi_writew(DWEp *ep, unsigned fn, uint32_t reg, uint16_t val)
{
    qtest_writew(ep->qts, dbi_address(ep, fn, reg), val);
}

void dw_ep_dbi_writeb(DWEp *ep, unsigned fn, uint32_t reg, uint8_t val)
{
    qtest_writeb(ep->qts, dbi_address(ep, fn, reg), val);
}

void dw_ep_dbi2_writel(DWEp *ep, unsigned fn, uint32_t reg, uint32_t val)
{
    qtest_writel(ep->qts, ep->dbi2 + fn * ep->dbi2_stride + reg, val);
}

uint32_t dw_ep_dbi2_readl(DWEp *ep, unsigned fn, uint32_t reg)
{
    return qtest_readl(ep->qts, ep->dbi2 + fn * ep->dbi2_stride + reg);
}

void dw_ep_ro_wr(DWEp *ep, bool enable)
{
    uint32_t val = dw_ep_dbi_readl(ep, 0, DW_PCIE_MISC_CONTROL_1);

    val &= ~DW_PCIE_DBI_RO_WR_EN;
    val |= enable ? DW_PCIE_DBI_RO_WR_EN : 0;
    dw_ep_dbi_writel(ep, 0, DW_PCIE_MISC_CONTROL_1, val);
}

static uint64_t atu_address(DWEp *ep, DWEpAtuDir dir, unsigned index,
                            uint32_t reg)
{
    return ep->atu + index * DW_PCIE_ATU_STRIDE +
           (dir == DW_EP_INBOUND ? DW_PCIE_ATU_INBOUND : 0) + reg;
}

uint32_t dw_ep_atu_readl(DWEp *ep, DWEpAtuDir dir, unsigned index,
                         uint32_t reg)
{
    return qtest_readl(ep->qts, atu_address(ep, dir, index, reg));
}

void dw_ep_atu_writel(DWEp *ep, DWEpAtuDir dir, unsigned index,
                      uint32_t reg, uint32_t val)
{
    qtest_writel(ep->qts, atu_address(ep, dir, index, reg), val);
}

uint32_t dw_ep_app_readl(DWEp *ep, uint32_t reg)
{
    return qtest_readl(ep->qts, ep->app + reg);
}

void dw_ep_app_writel(DWEp *ep, uint32_t reg, uint32_t val)
{
    qtest_writel(ep->qts, ep->app + reg, val);
}

void dw_ep_write_header(DWEp *ep, unsigned fn, uint16_t vendor,
                        uint16_t device, uint32_t class_code)
{
    dw_ep_ro_wr(ep, true);
    dw_ep_dbi_writew(ep, fn, PCI_VENDOR_ID, vendor);
    dw_ep_dbi_writew(ep, fn, PCI_DEVICE_ID, device);
    dw_ep_dbi_writeb(ep, fn, PCI_CLASS_PROG, class_code);
    dw_ep_dbi_writew(ep, fn, PCI_CLASS_DEVICE, class_code >> 8);
    dw_ep_ro_wr(ep, false);
}

static uint32_t bar_register(unsigned bar)
{
    return PCI_BASE_ADDRESS_0 + 4 * bar;
}

static void write_bar(DWEp *ep, unsigned fn, unsigned bar, uint64_t mask,
                      uint32_t flags)
{
    uint32_t reg = bar_register(bar);

    dw_ep_dbi2_writel(ep, fn, reg, mask | DW_PCIE_BAR_ENABLE);
    dw_ep_dbi_writel(ep, fn, reg, flags);
    if (flags & PCI_BASE_ADDRESS_MEM_TYPE_64) {
        dw_ep_dbi2_writel(ep, fn, reg + 4, mask >> 32);
        dw_ep_dbi_writel(ep, fn, reg + 4, 0);
    }
}

/* The entry of @bar in the resizable BAR capability */
static uint32_t rebar_entry(DWEp *ep, unsigned fn, unsigned bar)
{
    uint32_t entry = DW_PCIE_ECAP_REBAR;
    uint32_t ctrl = dw_ep_dbi_readl(ep, fn, entry + PCI_REBAR_CTRL);
    unsigned count = (ctrl & PCI_REBAR_CTRL_NBAR_MASK) >>
                     PCI_REBAR_CTRL_NBAR_SHIFT;

    for (unsigned i = 0; i < count; i++, entry += PCI_REBAR_CTRL) {
        ctrl = dw_ep_dbi_readl(ep, fn, entry + PCI_REBAR_CTRL);
        if ((ctrl & PCI_REBAR_CTRL_BAR_IDX) == bar) {
            return entry;
        }
    }
    g_assert_not_reached();
}

void dw_ep_set_bar_resizable(DWEp *ep, unsigned fn, unsigned bar,
                             uint64_t size, uint32_t flags)
{
    uint32_t entry = rebar_entry(ep, fn, bar);
    unsigned code = ctz64(size / (1024 * 1024));

    dw_ep_ro_wr(ep, true);
    write_bar(ep, fn, bar, 0, flags);
    dw_ep_dbi_writel(ep, fn, entry + PCI_REBAR_CAP,
                     1u << (code + REBAR_CAP_SHIFT));
    dw_ep_ro_wr(ep, false);
}

void dw_ep_set_bar_programmable(DWEp *ep, unsigned fn, unsigned bar,
                                uint64_t size, uint32_t flags)
{
    dw_ep_ro_wr(ep, true);
    write_bar(ep, fn, bar, size - 1, flags);
    dw_ep_ro_wr(ep, false);
}

void dw_ep_set_bar_fixed(DWEp *ep, unsigned fn, unsigned bar, uint64_t size,
                         uint32_t flags)
{
    /* The mask is written although it is wired. */
    dw_ep_set_bar_programmable(ep, fn, bar, size, flags);
}

void dw_ep_disable_bar(DWEp *ep, unsigned fn, unsigned bar)
{
    dw_ep_ro_wr(ep, true);
    dw_ep_dbi2_writel(ep, fn, bar_register(bar), 0);
    dw_ep_dbi_writel(ep, fn, bar_register(bar), 0);
    dw_ep_ro_wr(ep, false);
}

uint64_t dw_ep_bar_assigned(DWEp *ep, unsigned fn, unsigned bar)
{
    uint32_t low = dw_ep_dbi_readl(ep, fn, bar_register(bar));
    uint64_t addr = low & (uint32_t)PCI_BASE_ADDRESS_MEM_MASK;

    if (low & PCI_BASE_ADDRESS_MEM_TYPE_64) {
        addr |= (uint64_t)dw_ep_dbi_readl(ep, fn, bar_register(bar + 1)) << 32;
    }
    return addr;
}

static void write_range(DWEp *ep, DWEpAtuDir dir, unsigned index,
                        uint64_t base, uint64_t size)
{
    uint64_t limit = base + size - 1;

    dw_ep_atu_writel(ep, dir, index, DW_PCIE_ATU_LOWER_BASE, base);
    dw_ep_atu_writel(ep, dir, index, DW_PCIE_ATU_UPPER_BASE, base >> 32);
    dw_ep_atu_writel(ep, dir, index, DW_PCIE_ATU_LIMIT, limit);
    dw_ep_atu_writel(ep, dir, index, DW_PCIE_ATU_UPPER_LIMIT, limit >> 32);
}

static void write_target(DWEp *ep, DWEpAtuDir dir, unsigned index,
                         uint64_t target)
{
    dw_ep_atu_writel(ep, dir, index, DW_PCIE_ATU_LOWER_TARGET, target);
    dw_ep_atu_writel(ep, dir, index, DW_PCIE_ATU_UPPER_TARGET, target >> 32);
}

static uint32_t ctrl1(unsigned fn, bool crosses_4g)
{
    return DW_PCIE_ATU_TYPE_MEM | fn << DW_PCIE_ATU_FUNC_SHIFT |
           (crosses_4g ? DW_PCIE_ATU_INCREASE_SIZE : 0);
}

static bool crosses_4g(uint64_t base, uint64_t size)
{
    return (base + size - 1) >> 32 != base >> 32;
}

void dw_ep_inbound_bar_match(DWEp *ep, unsigned index, unsigned fn,
                             unsigned bar, uint64_t target)
{
    write_target(ep, DW_EP_INBOUND, index, target);
    dw_ep_atu_writel(ep, DW_EP_INBOUND, index, DW_PCIE_ATU_CTRL1,
                     ctrl1(fn, false));
    dw_ep_atu_writel(ep, DW_EP_INBOUND, index, DW_PCIE_ATU_CTRL2,
                     DW_PCIE_ATU_ENABLE | DW_PCIE_ATU_BAR_MODE |
                     DW_PCIE_ATU_FUNC_MATCH | bar << DW_PCIE_ATU_BAR_SHIFT);
}

void dw_ep_inbound_addr_match(DWEp *ep, unsigned index, unsigned fn,
                              uint64_t pci_base, uint64_t size,
                              uint64_t target)
{
    write_range(ep, DW_EP_INBOUND, index, pci_base, size);
    write_target(ep, DW_EP_INBOUND, index, target);
    dw_ep_atu_writel(ep, DW_EP_INBOUND, index, DW_PCIE_ATU_CTRL1,
                     ctrl1(fn, crosses_4g(pci_base, size)));
    dw_ep_atu_writel(ep, DW_EP_INBOUND, index, DW_PCIE_ATU_CTRL2,
                     DW_PCIE_ATU_ENABLE | DW_PCIE_ATU_FUNC_MATCH);
}

void dw_ep_outbound(DWEp *ep, unsigned index, unsigned fn, uint64_t cpu_addr,
                    uint64_t pci_addr, uint64_t size)
{
    write_range(ep, DW_EP_OUTBOUND, index, cpu_addr, size);
    write_target(ep, DW_EP_OUTBOUND, index, pci_addr);
    dw_ep_atu_writel(ep, DW_EP_OUTBOUND, index, DW_PCIE_ATU_CTRL1,
                     ctrl1(fn, crosses_4g(cpu_addr, size)));
    dw_ep_atu_writel(ep, DW_EP_OUTBOUND, index, DW_PCIE_ATU_CTRL2,
                     DW_PCIE_ATU_ENABLE);
}

void dw_ep_disable_atu(DWEp *ep, DWEpAtuDir dir, unsigned index)
{
    dw_ep_atu_writel(ep, dir, index, DW_PCIE_ATU_CTRL2, 0);
}

void dw_ep_set_msi(DWEp *ep, unsigned fn, unsigned vectors)
{
    uint32_t reg = DW_PCIE_CAP_MSI + PCI_MSI_FLAGS;
    uint16_t flags = dw_ep_dbi_readw(ep, fn, reg);

    flags &= ~PCI_MSI_FLAGS_QMASK;
    flags |= ctz32(vectors) << 1;
    dw_ep_ro_wr(ep, true);
    dw_ep_dbi_writew(ep, fn, reg, flags);
    dw_ep_ro_wr(ep, false);
}

bool dw_ep_raise_msi(DWEp *ep, unsigned index, unsigned fn,
                     uint64_t cpu_addr, unsigned vector)
{
    uint16_t flags = dw_ep_dbi_readw(ep, fn, DW_PCIE_CAP_MSI + PCI_MSI_FLAGS);
    uint64_t addr = dw_ep_dbi_readl(ep, fn,
                                    DW_PCIE_CAP_MSI + PCI_MSI_ADDRESS_LO);
    uint16_t data = dw_ep_dbi_readw(ep, fn, DW_PCIE_CAP_MSI + PCI_MSI_DATA_64);
    uint64_t page = RCAR_GEN4_ATU_REGION_SIZE;

    if (!(flags & PCI_MSI_FLAGS_ENABLE)) {
        return false;
    }
    addr |= (uint64_t)dw_ep_dbi_readl(ep, fn, DW_PCIE_CAP_MSI +
                                      PCI_MSI_ADDRESS_HI) << 32;
    dw_ep_outbound(ep, index, fn, cpu_addr, addr & ~(page - 1), page);
    qtest_writel(ep->qts, cpu_addr + (addr & (page - 1)), data | vector);
    return true;
}

void dw_ep_set_msix(DWEp *ep, unsigned fn, unsigned vectors, unsigned bir,
                    uint32_t offset)
{
    uint32_t reg = DW_PCIE_CAP_MSIX + PCI_MSIX_FLAGS;
    uint16_t flags = dw_ep_dbi_readw(ep, fn, reg) & ~PCI_MSIX_FLAGS_QSIZE;
    uint32_t pending = offset + vectors * PCI_MSIX_ENTRY_SIZE;

    dw_ep_ro_wr(ep, true);
    dw_ep_dbi_writew(ep, fn, reg, flags | (vectors - 1));
    dw_ep_dbi_writel(ep, fn, DW_PCIE_CAP_MSIX + PCI_MSIX_TABLE, offset | bir);
    dw_ep_dbi_writel(ep, fn, DW_PCIE_CAP_MSIX + PCI_MSIX_PBA, pending | bir);
    dw_ep_ro_wr(ep, false);
}

bool dw_ep_raise_msix(DWEp *ep, unsigned index, unsigned fn,
                      uint64_t cpu_addr, uint64_t table, unsigned vector)
{
    uint64_t entry = table + vector * PCI_MSIX_ENTRY_SIZE;
    uint64_t page = DW_PLAT_ATU_REGION_SIZE;
    uint64_t addr = qtest_readq(ep->qts, entry + PCI_MSIX_ENTRY_LOWER_ADDR);

    if (qtest_readl(ep->qts, entry + PCI_MSIX_ENTRY_VECTOR_CTRL) &
        PCI_MSIX_ENTRY_CTRL_MASKBIT) {
        return false;
    }
    dw_ep_outbound(ep, index, fn, cpu_addr, addr & ~(page - 1), page);
    qtest_writel(ep->qts, cpu_addr + (addr & (page - 1)),
                 qtest_readl(ep->qts, entry + PCI_MSIX_ENTRY_DATA));
    /* A read pushes the message out before the region goes. */
    qtest_readl(ep->qts, cpu_addr + (addr & (page - 1)));
    dw_ep_disable_atu(ep, DW_EP_OUTBOUND, index);
    return true;
}

static void plat_set_ltssm(DWEp *ep, bool enable)
{
    dw_ep_app_writel(ep, DW_PLAT_APP_LTSSM,
                     enable ? DW_PLAT_APP_LTSSM_ENABLE : 0);
}

static void rcar_set_ltssm(DWEp *ep, bool enable)
{
    uint32_t val = dw_ep_app_readl(ep, RCAR_GEN4_PCIERSTCTRL1);

    if (enable) {
        val |= RCAR_GEN4_RSTCTRL1_LTSSM_ENABLE;
        val &= ~RCAR_GEN4_RSTCTRL1_HOLD_PHY_RST;
    } else {
        val &= ~RCAR_GEN4_RSTCTRL1_LTSSM_ENABLE;
    }
    dw_ep_app_writel(ep, RCAR_GEN4_PCIERSTCTRL1, val);
}

static void set_ltssm(DWEp *ep, bool enable)
{
    if (ep->plat) {
        plat_set_ltssm(ep, enable);
    } else {
        rcar_set_ltssm(ep, enable);
    }
}

void dw_ep_start_link(DWEp *ep)
{
    set_ltssm(ep, true);
}

void dw_ep_stop_link(DWEp *ep)
{
    set_ltssm(ep, false);
}

bool dw_ep_link_up(DWEp *ep)
{
    uint32_t up = RCAR_GEN4_INTSTS0_SMLH_LINK_UP |
                  RCAR_GEN4_INTSTS0_RDLH_LINK_UP;

    if (ep->plat) {
        return dw_ep_dbi_readl(ep, 0, DW_PCIE_PORT_DEBUG1) &
               DW_PCIE_DEBUG1_LINK_UP;
    }
    return (dw_ep_app_readl(ep, RCAR_GEN4_PCIEINTSTS0) & up) == up;
}

void dw_ep_set_reset(DWEp *ep, bool asserted)
{
    g_assert_cmphex(ep->reset_ctrl, !=, 0);
    qtest_writel(ep->qts, ep->reset_ctrl + RCAR_GEN4_RESET_CTRL,
                 asserted ? RCAR_GEN4_RESET_PWR : 0);
}
