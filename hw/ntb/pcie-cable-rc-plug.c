/*
 * PCIe cable, root complex end: functions come into the port and go
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Everything here runs in the main loop with the BQL held.
 *
 * Removal grace: hardware completes reads with all ones as soon as the link
 * is lost, and there are drivers whose remove path does not survive that
 * (Linux 7.3: ntb_epf_spad_write() takes an offset from the device).  With
 * the grace, pages of BARs that are mapped stay so while the guest takes its
 * driver off the function.
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/timer.h"
#include "hw/hotplug.h"
#include "hw/pci/pci_bridge.h"
#include "hw/qdev-properties.h"
#include "pcie-cable-rc-plug.h"
#include "trace.h"

/* How often to look whether the guest has powered off the slot. */
#define RC_GRACE_POLL_MS 20

static void plug_function(PCIeCableRC *rc, unsigned fn, bool cold, bool multi)
{
    PCIBus *bus = pci_bridge_get_sec_bus(PCI_BRIDGE(rc->port));
    DeviceState *dev = qdev_new(TYPE_PCIE_CABLE_FUNCTION);
    PCIeCableFunction *f = PCIE_CABLE_FUNCTION(dev);
    g_autofree char *name = g_strdup_printf("function%u", fn);
    Error *err = NULL;

    f->rc = rc;
    f->fn = fn;
    f->info = g_steal_pointer(&rc->infos[fn]);
    memcpy(rc->bar_size[fn], f->info->bar_size, sizeof(rc->bar_size[fn]));
    if (cold) {
        /* The machine has not started: it was there all the time. */
        dev->hotplugged = false;
    }
    object_property_add_child(OBJECT(rc), name, OBJECT(dev));
    qdev_prop_set_int32(dev, "addr", PCI_DEVFN(rc->slot, fn));
    qdev_prop_set_bit(dev, "multifunction", multi);
    if (!qdev_realize_and_unref(dev, BUS(bus), &err)) {
        error_reportf_err(err, "PCIe cable: function %u of the endpoint "
                          "cannot be plugged: ", fn);
        object_unparent(OBJECT(dev));
        return;
    }
    f->live = true;
    trace_pcie_cable_rc_plugged(fn, cold);
}

void pcie_cable_rc_plug(PCIeCableRC *rc, bool cold)
{
    bool multi = false;

    for (int fn = 1; fn < PCIE_CABLE_MAX_FUNCTIONS; fn++) {
        multi |= rc->infos[fn] != NULL;
    }
    /* Function 0 last: it is the one that raises the hotplug event. */
    for (int fn = PCIE_CABLE_MAX_FUNCTIONS - 1; fn >= 0; fn--) {
        if (rc->infos[fn]) {
            plug_function(rc, fn, cold, multi);
        }
    }
}

static uint16_t slot_control(PCIeCableRC *rc)
{
    PCIDevice *port = PCI_DEVICE(rc->port);

    return pci_get_word(port->config + port->exp.exp_cap + PCI_EXP_SLTCTL);
}

static bool any_function(PCIeCableRC *rc)
{
    for (int fn = 0; fn < PCIE_CABLE_MAX_FUNCTIONS; fn++) {
        if (rc->functions[fn]) {
            return true;
        }
    }
    return false;
}

static void unplug_functions(PCIeCableRC *rc)
{
    for (int fn = PCIE_CABLE_MAX_FUNCTIONS - 1; fn >= 0; fn--) {
        PCIeCableFunction *f = rc->functions[fn];

        if (f) {
            hotplug_handler_unplug(qdev_get_hotplug_handler(DEVICE(f)),
                                   DEVICE(f), &error_abort);
            object_unparent(OBJECT(f));
            trace_pcie_cable_rc_unplugged(fn);
        }
    }
}

static void grace_check(void *opaque)
{
    PCIeCableRC *rc = opaque;

    if (any_function(rc) && !(slot_control(rc) & PCI_EXP_SLTCTL_PCC) &&
        qemu_clock_get_ms(QEMU_CLOCK_REALTIME) < rc->grace_end) {
        timer_mod(rc->grace_timer, qemu_clock_get_ms(QEMU_CLOCK_REALTIME) +
                  RC_GRACE_POLL_MS);
        return;
    }
    unplug_functions(rc);
    rc->unplugged(rc);
}

void pcie_cable_rc_unplug(PCIeCableRC *rc, void (*done)(PCIeCableRC *rc))
{
    /* A guest that does not handle hotplug will not do it in order. */
    bool grace = rc->grace_ms && slot_control(rc) & PCI_EXP_SLTCTL_HPIE;

    if (!grace) {
        unplug_functions(rc);
        pcie_cap_slot_presence_lost(PCI_DEVICE(rc->port));
        done(rc);
        return;
    }
    rc->unplugged = done;
    rc->grace_end = qemu_clock_get_ms(QEMU_CLOCK_REALTIME) + rc->grace_ms;
    if (!rc->grace_timer) {
        rc->grace_timer = timer_new_ms(QEMU_CLOCK_REALTIME, grace_check, rc);
    }
    pcie_cap_slot_presence_lost(PCI_DEVICE(rc->port));
    grace_check(rc);
}

void pcie_cable_rc_stop_unplug(PCIeCableRC *rc)
{
    timer_free(rc->grace_timer);
    rc->grace_timer = NULL;
}
