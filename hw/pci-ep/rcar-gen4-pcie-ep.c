/*
 * R-Car Gen4 PCIe controller in endpoint mode
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Glue around the DesignWare core as in the R-Car S4 (r8a779f0): application
 * registers, PHY, reset and interrupt lines.  A dynamic sysbus device that
 * writes its own device tree node, see rcar-gen4-pcie-fdt.c.
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/module.h"
#include "hw/irq.h"
#include "hw/pci-ep/rcar-gen4-pcie-ep.h"
#include "trace.h"

static const DWPCIeEPFeatures rcar_gen4_features = {
    .max_functions = RCAR_GEN4_MAX_FUNCTIONS,
    .max_windows = RCAR_GEN4_MAX_WINDOWS,
    .bar = {
        [0] = { .type = DW_PCIE_BAR_RESIZABLE },
        [2] = { .type = DW_PCIE_BAR_RESIZABLE },
        [4] = { .type = DW_PCIE_BAR_FIXED,
                .fixed_size = RCAR_GEN4_BAR4_SIZE },
    },
    .rebar_sizes = RCAR_GEN4_REBAR_SIZES,
    .vendor_id = RCAR_GEN4_RESET_VENDOR_ID,
    .device_id = RCAR_GEN4_RESET_DEVICE_ID,
    .class_code = RCAR_GEN4_RESET_CLASS,
    .version = DW_PCIE_VERSION_520A,
    .version_type = DW_PCIE_VERSION_TYPE_GA,
    .max_link_speed = 4,
    .max_link_width = 2,
    .mps_supported = 1 /* 256 bytes */,
    .mrrs_supported = 1 /* 256 bytes */,
    .atu_region_size = RCAR_GEN4_ATU_REGION_SIZE,
    .atu_upper_limit = RCAR_GEN4_ATU_UPPER_LIMIT,
    .dbi_stride = RCAR_GEN4_DBI_FUNC_STRIDE,
    .dbi2_stride = RCAR_GEN4_DBI2_FUNC_STRIDE,
    .dbi_size = RCAR_GEN4_DBI_SIZE,
    .dbi2_size = RCAR_GEN4_DBI2_SIZE,
    .atu_size = RCAR_GEN4_ATU_SIZE,
    .window_size = RCAR_GEN4_ADDR_SPACE_SIZE,
    .dma = true,
    .dma_map = DW_EDMA_MAP_UNROLL,
    .dma_size = RCAR_GEN4_DMA_SIZE,
};

static uint32_t int_status(RCarGen4PCIeEP *s)
{
    return s->core.link_up ? RCAR_GEN4_INTSTS0_RDLH_LINK_UP |
                             RCAR_GEN4_INTSTS0_SMLH_LINK_UP : 0;
}

static void update_irq(RCarGen4PCIeEP *s)
{
    qemu_set_irq(s->irq[RCAR_GEN4_IRQ_APP],
                 !!(int_status(s) & s->int_enable));
    qemu_set_irq(s->irq[RCAR_GEN4_IRQ_DMA],
                 !!(s->dma_int_status & s->dma_int_enable));
}

/* The LTSSM runs once it is enabled and nothing is held in reset. */
static void update_ltssm(RCarGen4PCIeEP *s)
{
    dw_pcie_ep_set_ltssm(&s->core, !s->core.in_reset &&
                         (s->rst_ctrl1 & RCAR_GEN4_RSTCTRL1_LTSSM_ENABLE) &&
                         !(s->rst_ctrl1 & RCAR_GEN4_RSTCTRL1_HOLD_PHY_RST));
}

static void link_change(DeviceState *dev, bool up)
{
    update_irq(RCAR_GEN4_PCIE_EP(dev));
}

/* All channels share one interrupt of the SoC. */
static void dma_irq(DeviceState *dev, const uint64_t levels[DW_EDMA_NUM_DIRS])
{
    RCarGen4PCIeEP *s = RCAR_GEN4_PCIE_EP(dev);

    s->dma_int_status = levels[DW_EDMA_WRITE] | levels[DW_EDMA_READ] << 8;
    update_irq(s);
}

/* The register at @offset and the bits of it that exist, or NULL */
static uint32_t *app_register(RCarGen4PCIeEP *s, hwaddr offset, uint32_t *mask)
{
    switch (offset) {
    case RCAR_GEN4_PCIEMSR0:
        *mask = RCAR_GEN4_MSR0_MASK;
        return &s->msr0;
    case RCAR_GEN4_PCIERSTCTRL1:
        *mask = RCAR_GEN4_RSTCTRL1_MASK;
        return &s->rst_ctrl1;
    case RCAR_GEN4_PCIEPWRMNGCTRL:
        *mask = RCAR_GEN4_PWRMNG_MASK;
        return &s->pwr_mng_ctrl;
    case RCAR_GEN4_PCIEINTSTS0EN:
        *mask = RCAR_GEN4_INTSTS0EN_MASK;
        return &s->int_enable;
    case RCAR_GEN4_PCIEDMAINTSTSEN:
        *mask = RCAR_GEN4_DMAINTSTSEN_MASK;
        return &s->dma_int_enable;
    case RCAR_GEN4_AXIINTCADDR:
        *mask = UINT32_MAX;
        return &s->axi_intc_addr;
    case RCAR_GEN4_AXIINTCCONT:
        *mask = UINT32_MAX;
        return &s->axi_intc_cont;
    default:
        return NULL;
    }
}

static uint64_t app_read(void *opaque, hwaddr offset, unsigned size)
{
    RCarGen4PCIeEP *s = opaque;
    uint32_t mask;
    uint32_t *reg = app_register(s, offset, &mask);
    uint32_t val = 0;

    if (reg) {
        val = *reg;
    } else if (offset == RCAR_GEN4_PCIEINTSTS0) {
        val = int_status(s);
    } else {
        qemu_log_mask(LOG_UNIMP, TYPE_RCAR_GEN4_PCIE_EP ": application "
                      "register 0x%03" HWADDR_PRIx " reads as 0\n", offset);
    }
    trace_rcar_gen4_app_read(offset, val);
    return val;
}

static void app_write(void *opaque, hwaddr offset, uint64_t val,
                      unsigned size)
{
    RCarGen4PCIeEP *s = opaque;
    uint32_t mask;
    uint32_t *reg = app_register(s, offset, &mask);

    trace_rcar_gen4_app_write(offset, val);
    if (!reg) {
        qemu_log_mask(LOG_UNIMP, TYPE_RCAR_GEN4_PCIE_EP ": write to "
                      "application register 0x%03" HWADDR_PRIx " ignored\n",
                      offset);
        return;
    }

    *reg = val & mask;
    switch (offset) {
    case RCAR_GEN4_PCIEMSR0:
        if (val & RCAR_GEN4_MSR0_DEVICE_TYPE_RC) {
            qemu_log_mask(LOG_UNIMP, TYPE_RCAR_GEN4_PCIE_EP ": root complex "
                          "mode is not modelled, this is an endpoint\n");
        }
        break;
    case RCAR_GEN4_PCIERSTCTRL1:
        update_ltssm(s);
        break;
    case RCAR_GEN4_PCIEINTSTS0EN:
    case RCAR_GEN4_PCIEDMAINTSTSEN:
        update_irq(s);
        break;
    }
    dw_pcie_ep_write_done(&s->core);
}

static const MemoryRegionOps app_ops = {
    .read = app_read,
    .write = app_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid.min_access_size = 4,
    .valid.max_access_size = 4,
    .impl.min_access_size = 4,
    .impl.max_access_size = 4,
};

/* The PHY's settings have nothing to act on; they keep what is written. */
static uint64_t phy_read(void *opaque, hwaddr offset, unsigned size)
{
    RCarGen4PCIeEP *s = opaque;

    return s->phy_regs[offset / 4];
}

static void phy_write(void *opaque, hwaddr offset, uint64_t val,
                      unsigned size)
{
    RCarGen4PCIeEP *s = opaque;

    s->phy_regs[offset / 4] = val;
}

static const MemoryRegionOps phy_ops = {
    .read = phy_read,
    .write = phy_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid.min_access_size = 4,
    .valid.max_access_size = 4,
    .impl.min_access_size = 4,
    .impl.max_access_size = 4,
};

static void reset_app(RCarGen4PCIeEP *s)
{
    s->msr0 = 0;
    s->rst_ctrl1 = RCAR_GEN4_RSTCTRL1_RESET;
    s->pwr_mng_ctrl = 0;
    s->int_enable = 0;
    s->dma_int_enable = 0;
    s->axi_intc_addr = 0;
    s->axi_intc_cont = 0;
    memset(s->phy_regs, 0, sizeof(s->phy_regs));
    update_irq(s);
}

static uint64_t reset_ctrl_read(void *opaque, hwaddr offset, unsigned size)
{
    RCarGen4PCIeEP *s = opaque;

    return s->core.in_reset ? RCAR_GEN4_RESET_PWR : 0;
}

static void reset_ctrl_write(void *opaque, hwaddr offset, uint64_t val,
                             unsigned size)
{
    RCarGen4PCIeEP *s = opaque;
    bool assert = val & RCAR_GEN4_RESET_PWR;

    trace_rcar_gen4_reset_line(assert);
    if (assert && !s->core.in_reset) {
        /*
         * At the edge only: rcar_gen4_pcie_common_init() chooses the mode in
         * PCIEMSR0 while it holds the reset.
         */
        reset_app(s);
    }
    dw_pcie_ep_set_reset(&s->core, assert);
    update_ltssm(s);
    dw_pcie_ep_write_done(&s->core);
}

static const MemoryRegionOps reset_ctrl_ops = {
    .read = reset_ctrl_read,
    .write = reset_ctrl_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid.min_access_size = 4,
    .valid.max_access_size = 4,
    .impl.min_access_size = 4,
    .impl.max_access_size = 4,
};

static void rcar_gen4_pcie_ep_reset(DeviceState *dev)
{
    RCarGen4PCIeEP *s = RCAR_GEN4_PCIE_EP(dev);

    dw_pcie_ep_reset(&s->core);
    reset_app(s);
}

static void rcar_gen4_pcie_ep_realize(DeviceState *dev, Error **errp)
{
    RCarGen4PCIeEP *s = RCAR_GEN4_PCIE_EP(dev);
    SysBusDevice *sbd = SYS_BUS_DEVICE(dev);

    s->core.link_change = link_change;
    s->core.dma_irq = dma_irq;
    if (!dw_pcie_ep_realize(&s->core, dev, &rcar_gen4_features,
                            get_system_memory(), errp)) {
        return;
    }

    memory_region_init_io(&s->app, OBJECT(dev), &app_ops, s, "app",
                          RCAR_GEN4_APP_SIZE);
    memory_region_init_io(&s->phy, OBJECT(dev), &phy_ops, s, "phy",
                          RCAR_GEN4_PHY_SIZE);
    memory_region_init_io(&s->reset_ctrl, OBJECT(dev), &reset_ctrl_ops, s,
                          "reset", RCAR_GEN4_RESET_SIZE);

    /* Their writes wait for the host to drop its mappings. */
    s->app.disable_reentrancy_guard = true;
    s->reset_ctrl.disable_reentrancy_guard = true;

    /* In the order of RCarGen4Area */
    sysbus_init_mmio(sbd, &s->core.dbi);
    sysbus_init_mmio(sbd, &s->core.dbi2);
    sysbus_init_mmio(sbd, &s->core.atu);
    sysbus_init_mmio(sbd, &s->core.dma);
    sysbus_init_mmio(sbd, &s->app);
    sysbus_init_mmio(sbd, &s->phy);
    sysbus_init_mmio(sbd, &s->core.window);
    sysbus_init_mmio(sbd, &s->reset_ctrl);
    for (unsigned i = 0; i < RCAR_GEN4_NUM_IRQS; i++) {
        sysbus_init_irq(sbd, &s->irq[i]);
    }
}

static const Property rcar_gen4_pcie_ep_properties[] =
    DW_PCIE_EP_PROPERTIES(RCarGen4PCIeEP, core.conf, RCAR_GEN4_MAX_FUNCTIONS);

static void rcar_gen4_pcie_ep_class_init(ObjectClass *klass,
                                         CABLE_CLASS_DATA data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    SysBusFDTNodeClass *nc = SYSBUS_FDT_NODE_CLASS(klass);

    dc->desc = "R-Car Gen4 PCIe endpoint controller";
    dc->realize = rcar_gen4_pcie_ep_realize;
    device_class_set_legacy_reset(dc, rcar_gen4_pcie_ep_reset);
    device_class_set_props(dc, rcar_gen4_pcie_ep_properties);
    dw_pcie_ep_class_init(dc, &rcar_gen4_features);
    nc->add_fdt_node = rcar_gen4_pcie_ep_add_fdt_node;
}

static const TypeInfo rcar_gen4_pcie_ep_info = {
    .name = TYPE_RCAR_GEN4_PCIE_EP,
    .parent = TYPE_SYS_BUS_DEVICE,
    .instance_size = sizeof(RCarGen4PCIeEP),
    .class_init = rcar_gen4_pcie_ep_class_init,
    .interfaces = (CABLE_CONST InterfaceInfo[]) {
        { TYPE_SYSBUS_FDT_NODE },
        { }
    },
};

static void rcar_gen4_pcie_ep_register_types(void)
{
    type_register_static(&rcar_gen4_pcie_ep_info);
}

type_init(rcar_gen4_pcie_ep_register_types)
