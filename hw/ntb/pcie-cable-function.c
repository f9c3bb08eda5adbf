/*
 * PCIe cable, root complex end: one function of the endpoint, a PCIDevice
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The endpoint owns config space: reads and writes are non-posted requests
 * to it, and writes change the local copy first, from which QEMU's PCI core
 * places BARs, gates bus mastering and sends MSIs.  Writes to memory BARs are
 * posted, reads wait for the completion without the BQL.
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "hw/pci/msi.h"
#include "hw/pci/pcie.h"
#include "hw/qdev-properties.h"
#include "migration/vmstate.h"
#include "pcie-cable-rc-internal.h"
#include "trace.h"

/* Requests to the endpoint */

/* Read a region; all ones when there is no (good) completion. */
static uint64_t function_read(PCIeCableFunction *f, uint32_t region,
                              uint64_t offset, unsigned size)
{
    PCIeCableConn *conn = pcie_cable_rc_get_conn(f->rc);
    VfuRegionRW req = { .offset = offset, .region = region, .count = size };
    struct {
        VfuRegionRW fixed;
        uint8_t data[8];
    } reply;
    int error;

    if (!conn) {
        return ~0ull;
    }
    /* The guest may lose the function while this waits. */
    object_ref(OBJECT(f));
    error = pcie_cable_conn_call(conn, VFU_REGION_READ, f->fn, &req,
                                 sizeof(req), NULL, 0, &reply,
                                 sizeof(reply.fixed) + size,
                                 f->rc->timeout_ms);
    pcie_cable_conn_unref(conn);
    if (error) {
        trace_pcie_cable_rc_read_error(f->fn, region, offset, error);
    }
    object_unref(OBJECT(f));
    return error ? ~0ull : ldn_le_p(reply.data, size);
}

static uint64_t bar_read(void *opaque, hwaddr addr, unsigned size)
{
    RCBar *bar = opaque;

    return function_read(bar->f, bar->index, addr, size);
}

static void bar_write(void *opaque, hwaddr addr, uint64_t value,
                      unsigned size)
{
    RCBar *bar = opaque;
    PCIeCableFunction *f = bar->f;
    PCIeCableConn *conn = pcie_cable_rc_get_conn(f->rc);
    VfuRegionRW req = { .offset = addr, .region = bar->index, .count = size };
    uint8_t data[8];

    if (!conn) {
        return;
    }
    stn_le_p(data, size, value);
    pcie_cable_conn_post(conn, f->fn, &req, data);
    pcie_cable_conn_throttle(conn, f->rc->timeout_ms);
    pcie_cable_conn_unref(conn);
}

static const MemoryRegionOps bar_ops = {
    .read = bar_read,
    .write = bar_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
    .impl = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
};

/* Config space */

static uint32_t function_config_read(PCIDevice *d, uint32_t addr, int len)
{
    PCIeCableFunction *f = PCIE_CABLE_FUNCTION(d);
    uint32_t own = 0, local = 0;

    for (int i = 0; i < len; i++) {
        own |= (uint32_t)f->emulated[addr + i] << (8 * i);
        local |= (uint32_t)d->config[addr + i] << (8 * i);
    }
    /* The last use of the device: it may be unplugged while this waits. */
    return (function_read(f, VFU_REGION_CONFIG, addr, len) & ~own) |
           (local & own);
}

static bool config_write_is_flr(PCIeCableFunction *f, uint32_t addr,
                                uint32_t val, int len)
{
    /* The upper byte of Device Control has Initiate FLR. */
    uint32_t flr_byte = f->info->exp_cap + PCI_EXP_DEVCTL + 1;

    return f->info->exp_cap && addr <= flr_byte && flr_byte < addr + len &&
           (val >> (8 * (flr_byte - addr)) & (PCI_EXP_DEVCTL_BCR_FLR >> 8));
}

/*
 * The answer to a write that stops the function says that it has stopped; a
 * completion timeout does not.
 */
static uint32_t config_write_timeout(PCIeCableFunction *f, bool stops)
{
    uint32_t timeout_ms = f->rc->timeout_ms;

    return stops && timeout_ms ? MAX(timeout_ms, RC_STOP_TIMEOUT_MS)
                               : timeout_ms;
}

static bool bus_master(PCIDevice *d)
{
    return pci_get_word(d->config + PCI_COMMAND) & PCI_COMMAND_MASTER;
}

static void function_config_write(PCIDevice *d, uint32_t addr, uint32_t val,
                                  int len)
{
    PCIeCableFunction *f = PCIE_CABLE_FUNCTION(d);
    VfuRegionRW req = {
        .offset = addr, .region = VFU_REGION_CONFIG, .count = len,
    };
    VfuRegionRW reply;
    uint8_t data[8];
    bool stops = config_write_is_flr(f, addr, val, len);
    bool was_master = bus_master(d);
    PCIeCableConn *conn;
    int error;

    /* What this unpublishes or publishes is on the wire before the write. */
    pci_default_write_config(d, addr, val, len);
    if (stops) {
        f->in_flr = true;
        pci_device_reset(d);
        f->in_flr = false;
    }
    pcie_cable_rc_update_irqs(f);
    stops |= was_master && !bus_master(d);

    conn = pcie_cable_rc_get_conn(f->rc);
    if (conn) {
        /* The last use of the device: it may be unplugged while this waits. */
        uint32_t timeout_ms = config_write_timeout(f, stops);

        stn_le_p(data, len, val);
        error = pcie_cable_conn_call(conn, VFU_REGION_WRITE, f->fn, &req,
                                     sizeof(req), data, len, &reply,
                                     sizeof(reply), timeout_ms);
        if (stops && error == -ETIMEDOUT) {
            pcie_cable_conn_close(conn, "the endpoint does not answer that it "
                                  "has stopped");
        }
        pcie_cable_conn_unref(conn);
    }
}

static void reset_done(void *opaque, int error)
{
    PCIeCableRC *rc = opaque;

    if (error && error != ECONNRESET) {
        warn_report("PCIe cable: the endpoint refuses a reset: %s",
                    strerror(error));
    }
    pcie_cable_rc_stop_answered(rc);
}

/*
 * Hot reset of the bus or reset of the machine: PERST or its like.  A hot
 * reset is over for the guest when it reads config space behind it, a reset
 * of the machine waits in pcie-cable-rc-reset.c.
 */
static void function_reset(DeviceState *dev)
{
    PCIeCableFunction *f = PCIE_CABLE_FUNCTION(dev);
    PCIDevice *d = PCI_DEVICE(f);
    PCIeCableConn *conn;

    /* The PCI core clears BME in the register only. */
    pci_default_write_config(d, PCI_COMMAND, 0, 2);
    msi_reset(d);
    pcie_cable_rc_update_irqs(f);
    if (!f->live || f->in_flr) {
        return;
    }
    conn = pcie_cable_rc_get_conn(f->rc);
    if (!conn) {
        return;
    }
    pcie_cable_rc_stop_sent(f->rc);
    pcie_cable_conn_send_async(conn, VFU_DEVICE_RESET, f->fn, NULL, 0, NULL,
                               0, NULL, 0, reset_done, f->rc);
    pcie_cable_conn_unref(conn);
}

/* Coming and going */

static void function_init_config(PCIeCableFunction *f)
{
    PCIDevice *d = PCI_DEVICE(f);
    const uint8_t *peer = f->info->config;
    static const uint8_t copied[] = {
        PCI_VENDOR_ID, PCI_VENDOR_ID + 1, PCI_DEVICE_ID, PCI_DEVICE_ID + 1,
        PCI_REVISION_ID, PCI_CLASS_PROG, PCI_CLASS_DEVICE,
        PCI_CLASS_DEVICE + 1, PCI_SUBSYSTEM_VENDOR_ID,
        PCI_SUBSYSTEM_VENDOR_ID + 1, PCI_SUBSYSTEM_ID, PCI_SUBSYSTEM_ID + 1,
        PCI_INTERRUPT_PIN,
    };

    for (unsigned i = 0; i < ARRAY_SIZE(copied); i++) {
        d->config[copied[i]] = peer[copied[i]];
    }
    /* How many functions are plugged is known here only. */
    f->emulated[PCI_HEADER_TYPE] = PCI_HEADER_TYPE_MULTI_FUNCTION;
}

static bool function_init_caps(PCIeCableFunction *f, Error **errp)
{
    PCIDevice *d = PCI_DEVICE(f);
    const uint8_t *peer = f->info->config;
    uint8_t exp = f->info->exp_cap, msi = f->info->msi_cap;

    if (exp) {
        if (pci_add_capability(d, PCI_CAP_ID_EXP, exp, PCI_EXP_VER2_SIZEOF,
                               errp) < 0) {
            return false;
        }
        memcpy(d->config + exp + PCI_CAP_FLAGS, peer + exp + PCI_CAP_FLAGS,
               PCI_EXP_VER2_SIZEOF - PCI_CAP_FLAGS);
        d->exp.exp_cap = exp;
    }
    if (msi) {
        uint16_t flags = pci_get_word(peer + msi + PCI_MSI_FLAGS);
        Error *err = NULL;
        int r = msi_init(d, msi, 1 << ((flags & PCI_MSI_FLAGS_QMASK) >> 1),
                         flags & PCI_MSI_FLAGS_64BIT,
                         flags & PCI_MSI_FLAGS_MASKBIT, &err);

        if (r == -ENOTSUP) {
            /* The board has no MSI controller. */
            error_free(err);
        } else if (r < 0) {
            error_propagate(errp, err);
            return false;
        } else if (flags & PCI_MSI_FLAGS_MASKBIT) {
            /* Masked vectors become pending here, not at the endpoint. */
            memset(f->emulated + msi + (flags & PCI_MSI_FLAGS_64BIT ?
                                        PCI_MSI_PENDING_64 :
                                        PCI_MSI_PENDING_32), 0xff, 4);
        }
    }
    return true;
}

static void function_realize(PCIDevice *d, Error **errp)
{
    PCIeCableFunction *f = PCIE_CABLE_FUNCTION(d);

    if (!f->rc) {
        error_setg(errp, "a %s comes with a %s object, it cannot be added by "
                   "hand", TYPE_PCIE_CABLE_FUNCTION, TYPE_PCIE_CABLE_RC);
        return;
    }
    f->emulated = g_malloc0(PCIE_CONFIG_SPACE_SIZE);
    function_init_config(f);
    if (!function_init_caps(f, errp)) {
        return;
    }
    for (unsigned i = 0; i < PCIE_CABLE_NUM_BARS; i++) {
        RCBar *bar = &f->bars[i];
        g_autofree char *name = g_strdup_printf("pcie-cable-fn%u-bar%u",
                                                f->fn, i);

        bar->f = f;
        bar->index = i;
        if (f->info->bar_size[i]) {
            memory_region_init_io(&bar->mr, OBJECT(f), &bar_ops, bar, name,
                                  f->info->bar_size[i]);
            /* Accesses drop the BQL while they wait for the endpoint. */
            bar->mr.disable_reentrancy_guard = true;
            pci_register_bar(d, i, f->info->bar_type[i], &bar->mr);
        }
    }
    pcie_cable_rc_show_mappings(f);
    pcie_cable_rc_publish(f);
    qatomic_rcu_set(&f->rc->functions[f->fn], f);
}

static void function_exit(PCIDevice *d)
{
    PCIeCableFunction *f = PCIE_CABLE_FUNCTION(d);

    f->live = false;
    pcie_cable_rc_forget_function(f->rc, f);
    pcie_cable_rc_unpublish(f);
    pcie_cable_rc_hide_mappings(f);
    pcie_cable_rc_drop_irqs(f);
    msi_uninit(d);
}

static void function_finalize(Object *obj)
{
    PCIeCableFunction *f = PCIE_CABLE_FUNCTION(obj);

    g_free(f->emulated);
    g_free(f->info);
}

static const VMStateDescription function_vmstate = {
    .name = TYPE_PCIE_CABLE_FUNCTION,
    /* The other end of the cable does not move along. */
    .unmigratable = 1,
};

static void function_class_init(ObjectClass *klass, CABLE_CLASS_DATA data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *k = PCI_DEVICE_CLASS(klass);

    k->realize = function_realize;
    k->exit = function_exit;
    k->config_read = function_config_read;
    k->config_write = function_config_write;
    dc->desc = "Function of an endpoint at the other end of a PCIe cable";
    dc->vmsd = &function_vmstate;
    /* Made by a pcie-cable-rc object only. */
    dc->user_creatable = false;
    device_class_set_legacy_reset(dc, function_reset);
    set_bit(DEVICE_CATEGORY_BRIDGE, dc->categories);
}

static CABLE_CONST InterfaceInfo function_interfaces[] = {
    { INTERFACE_PCIE_DEVICE },
    { }
};

static const TypeInfo function_info = {
    .name = TYPE_PCIE_CABLE_FUNCTION,
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(PCIeCableFunction),
    .instance_finalize = function_finalize,
    .class_init = function_class_init,
    .interfaces = function_interfaces,
};

static void function_register(void)
{
    type_register_static(&function_info);
}

type_init(function_register)
