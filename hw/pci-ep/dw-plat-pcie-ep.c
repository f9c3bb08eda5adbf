/*
 * Generic DesignWare PCIe controller in endpoint mode
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The least glue around the DesignWare core that a SoC can have, for the
 * driver of "snps,dw-pcie-ep": every BAR is programmable, interrupts are MSI
 * or MSI-X.  That driver neither resets the core nor starts its LTSSM, so
 * the one application register here enables the LTSSM.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/log.h"
#include "qemu/module.h"
#include "qemu/units.h"
#include "hw/irq.h"
#include "hw/pci-ep/dw-plat-pcie-ep.h"
#include "trace.h"

/* All but the DMA engine's register map */
static const DWPCIeEPFeatures dw_plat_features = {
    .max_functions = DW_PLAT_MAX_FUNCTIONS,
    .max_windows = DW_PLAT_MAX_WINDOWS,
    .bar = {
        [0 ... DW_PCIE_NUM_BARS - 1] = { .type = DW_PCIE_BAR_PROGRAMMABLE },
    },
    .vendor_id = DW_PLAT_RESET_VENDOR_ID,
    .device_id = DW_PLAT_RESET_DEVICE_ID,
    .class_code = DW_PLAT_RESET_CLASS,
    .version = DW_PCIE_VERSION_520A,
    .version_type = DW_PCIE_VERSION_TYPE_GA,
    .msix = true,
    .max_link_speed = 4,
    .max_link_width = 4,
    .mps_supported = 1 /* 256 bytes */,
    .mrrs_supported = 5 /* 4096 bytes */,
    .atu_region_size = DW_PLAT_ATU_REGION_SIZE,
    .atu_upper_limit = DW_PLAT_ATU_UPPER_LIMIT,
    .dbi_stride = DW_PLAT_DBI_FUNC_STRIDE,
    .dbi2_stride = DW_PLAT_DBI2_FUNC_STRIDE,
    .dbi_size = DW_PLAT_DBI_SIZE,
    .dbi2_size = DW_PLAT_DBI2_SIZE,
    .atu_size = DW_PLAT_ATU_SIZE,
    .window_size = DW_PLAT_ADDR_SPACE_SIZE,
};

static const QEnumLookup edma_names = {
    .array = (const char * const []) {
        [DW_PLAT_EDMA_NONE] = "none",
        [DW_PLAT_EDMA_UNROLLED] = "unrolled",
        [DW_PLAT_EDMA_LEGACY] = "legacy",
        [DW_PLAT_EDMA_HDMA_COMPAT] = "hdma-compat",
        [DW_PLAT_EDMA_HDMA_NATIVE] = "hdma-native",
    },
    .size = DW_PLAT_EDMA_HDMA_NATIVE + 1,
};

static const DWEDMAMap edma_maps[] = {
    [DW_PLAT_EDMA_UNROLLED] = DW_EDMA_MAP_UNROLL,
    [DW_PLAT_EDMA_LEGACY] = DW_EDMA_MAP_LEGACY,
    [DW_PLAT_EDMA_HDMA_COMPAT] = DW_EDMA_MAP_HDMA_COMPAT,
    [DW_PLAT_EDMA_HDMA_NATIVE] = DW_EDMA_MAP_HDMA_NATIVE,
};

/* All channels share one interrupt of the SoC. */
static void dma_irq(DeviceState *dev, const uint64_t levels[DW_EDMA_NUM_DIRS])
{
    DWPlatPCIeEP *s = DW_PLAT_PCIE_EP(dev);

    qemu_set_irq(s->irq[DW_PLAT_IRQ_DMA],
                 levels[DW_EDMA_WRITE] || levels[DW_EDMA_READ]);
}

/* Have the engine that the property names built into the core. */
static void choose_dma(DWPlatPCIeEP *s)
{
    DWEDMAConfig config = { };

    s->features = dw_plat_features;
    if (s->edma == DW_PLAT_EDMA_NONE) {
        return;
    }
    config.map = edma_maps[s->edma];
    s->features.dma = true;
    s->features.dma_map = config.map;
    if (config.map != DW_EDMA_MAP_LEGACY) {
        /* The legacy map's registers are in the port logic. */
        s->features.dma_size = ROUND_UP(dw_edma_map_size(&config), 4 * KiB);
    }
}

static void set_ltssm(DWPlatPCIeEP *s, uint32_t val)
{
    s->app_ltssm = val & DW_PLAT_APP_LTSSM_ENABLE;
    dw_pcie_ep_set_ltssm(&s->core, s->app_ltssm);
}

static uint64_t app_read(void *opaque, hwaddr offset, unsigned size)
{
    DWPlatPCIeEP *s = opaque;
    uint32_t val = 0;

    if (offset == DW_PLAT_APP_LTSSM) {
        val = s->app_ltssm;
    } else {
        qemu_log_mask(LOG_GUEST_ERROR, TYPE_DW_PLAT_PCIE_EP ": there is no "
                      "application register 0x%03" HWADDR_PRIx ", it reads "
                      "as 0\n", offset);
    }
    trace_dw_plat_app_read(offset, val);
    return val;
}

static void app_write(void *opaque, hwaddr offset, uint64_t val,
                      unsigned size)
{
    DWPlatPCIeEP *s = opaque;

    trace_dw_plat_app_write(offset, val);
    if (offset == DW_PLAT_APP_LTSSM) {
        set_ltssm(s, val);
    } else {
        qemu_log_mask(LOG_GUEST_ERROR, TYPE_DW_PLAT_PCIE_EP ": there is no "
                      "application register 0x%03" HWADDR_PRIx ", write "
                      "ignored\n", offset);
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

static void dw_plat_pcie_ep_reset(DeviceState *dev)
{
    DWPlatPCIeEP *s = DW_PLAT_PCIE_EP(dev);

    dw_pcie_ep_reset(&s->core);
    set_ltssm(s, s->ltssm_enable ? DW_PLAT_APP_LTSSM_ENABLE : 0);
}

static void dw_plat_pcie_ep_realize(DeviceState *dev, Error **errp)
{
    DWPlatPCIeEP *s = DW_PLAT_PCIE_EP(dev);
    SysBusDevice *sbd = SYS_BUS_DEVICE(dev);

    choose_dma(s);
    s->core.dma_irq = dma_irq;
    if (!dw_pcie_ep_realize(&s->core, dev, &s->features,
                            get_system_memory(), errp)) {
        return;
    }

    memory_region_init_io(&s->app, OBJECT(dev), &app_ops, s, "app",
                          DW_PLAT_APP_SIZE);
    /* Its writes wait for the host to drop its mappings. */
    s->app.disable_reentrancy_guard = true;

    /* In the order of DWPlatArea */
    sysbus_init_mmio(sbd, &s->core.dbi);
    sysbus_init_mmio(sbd, &s->core.dbi2);
    sysbus_init_mmio(sbd, &s->core.atu);
    sysbus_init_mmio(sbd, &s->core.window);
    sysbus_init_mmio(sbd, &s->app);
    if (s->features.dma_size) {
        sysbus_init_mmio(sbd, &s->core.dma);
    }
    if (s->edma != DW_PLAT_EDMA_NONE) {
        sysbus_init_irq(sbd, &s->irq[DW_PLAT_IRQ_DMA]);
    }
}

static int get_edma(Object *obj, Error **errp)
{
    return DW_PLAT_PCIE_EP(obj)->edma;
}

static void set_edma(Object *obj, int value, Error **errp)
{
    if (DEVICE(obj)->realized) {
        error_setg(errp, "'edma' is how the device was made: it cannot be "
                   "changed");
        return;
    }
    DW_PLAT_PCIE_EP(obj)->edma = value;
}

static void dw_plat_pcie_ep_init(Object *obj)
{
    DW_PLAT_PCIE_EP(obj)->edma = DW_PLAT_EDMA_UNROLLED;
}

static const Property dw_plat_pcie_ep_properties[] =
    DW_PCIE_EP_PROPERTIES(DWPlatPCIeEP, core.conf, 1,
        DEFINE_PROP_BOOL("ltssm-enable", DWPlatPCIeEP, ltssm_enable, false));

static void dw_plat_pcie_ep_class_init(ObjectClass *klass,
                                       CABLE_CLASS_DATA data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    SysBusFDTNodeClass *nc = SYSBUS_FDT_NODE_CLASS(klass);

    dc->desc = "Generic DesignWare PCIe endpoint controller";
    dc->realize = dw_plat_pcie_ep_realize;
    device_class_set_legacy_reset(dc, dw_plat_pcie_ep_reset);
    device_class_set_props(dc, dw_plat_pcie_ep_properties);
    object_class_property_add_enum(klass, "edma", "DWPlatEDMA", &edma_names,
                                   get_edma, set_edma);
    dw_pcie_ep_class_init(dc, &dw_plat_features);
    object_class_property_set_description(klass, "edma",
        "register map of the DMA engine: none (no engine), unrolled, legacy, "
        "hdma-compat or hdma-native");
    object_class_property_set_description(klass, "ltssm-enable",
        "the link trains from reset on, not only when software enables it");
    nc->add_fdt_node = dw_plat_pcie_ep_add_fdt_node;
}

static const TypeInfo dw_plat_pcie_ep_info = {
    .name = TYPE_DW_PLAT_PCIE_EP,
    .parent = TYPE_SYS_BUS_DEVICE,
    .instance_size = sizeof(DWPlatPCIeEP),
    .instance_init = dw_plat_pcie_ep_init,
    .class_init = dw_plat_pcie_ep_class_init,
    .interfaces = (CABLE_CONST InterfaceInfo[]) {
        { TYPE_SYSBUS_FDT_NODE },
        { }
    },
};

static void dw_plat_pcie_ep_register_types(void)
{
    type_register_static(&dw_plat_pcie_ep_info);
}

type_init(dw_plat_pcie_ep_register_types)
