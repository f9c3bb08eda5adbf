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
#define RC_SLOT_POLL_MS     20
/*
 * A function that comes while the guest still powers off the slot from the
 * last one would be powered off with it (remove_board() of pciehp waits 1 s
 * there); after this time it comes nevertheless.
 */
#define RC_POWER_OFF_MS     20000

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

static void plug_functions(PCIeCableRC *rc)
{
    bool multi = false;

    for (int fn = 1; fn < PCIE_CABLE_MAX_FUNCTIONS; fn++) {
        multi |= rc->infos[fn] != NULL;
    }
    /* Function 0 last: it is the one that raises the hotplug event. */
    for (int fn = PCIE_CABLE_MAX_FUNCTIONS - 1; fn >= 0; fn--) {
        if (rc->infos[fn]) {
            plug_function(rc, fn, rc->cold, multi);
        }
    }
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

static bool any_function(PCIeCableRC *rc)
{
    for (int fn = 0; fn < PCIE_CABLE_MAX_FUNCTIONS; fn++) {
        if (rc->functions[fn]) {
            return true;
        }
    }
    return false;
}

/* The slot */

static uint16_t slot_control(PCIeCableRC *rc)
{
    PCIDevice *port = PCI_DEVICE(rc->port);

    return pci_get_word(port->config + port->exp.exp_cap + PCI_EXP_SLTCTL);
}

/* Has the guest done with what was in the slot? */
static bool slot_powered_off(PCIeCableRC *rc)
{
    uint16_t control = slot_control(rc);

    return (control & PCI_EXP_SLTCTL_PCC) &&
           (control & PCI_EXP_SLTCTL_PIC) == PCI_EXP_SLTCTL_PWR_IND_OFF;
}

/* Will the guest power off the slot when its function has gone? */
static bool slot_power_off_due(PCIeCableRC *rc)
{
    PCIDevice *port = PCI_DEVICE(rc->port);
    uint32_t cap = pci_get_long(port->config + port->exp.exp_cap +
                                PCI_EXP_SLTCAP);

    return (cap & PCI_EXP_SLTCAP_PCP) &&
           (slot_control(rc) & PCI_EXP_SLTCTL_HPIE) && !slot_powered_off(rc);
}

static bool slot_wait_over(PCIeCableRC *rc)
{
    return !rc->power_off_due || slot_powered_off(rc) ||
           qemu_clock_get_ms(QEMU_CLOCK_REALTIME) >= rc->slot_deadline;
}

/* Go on as far as the slot allows; runs until nothing is left to do. */
static void slot_poll(void *opaque)
{
    PCIeCableRC *rc = opaque;
    void (*done)(PCIeCableRC *rc) = NULL;

    if (!slot_wait_over(rc) && (rc->plug_done || any_function(rc))) {
        timer_mod(rc->slot_timer, qemu_clock_get_ms(QEMU_CLOCK_REALTIME) +
                  RC_SLOT_POLL_MS);
        return;
    }
    if (rc->unplug_done) {
        unplug_functions(rc);
        done = g_steal_pointer(&rc->unplug_done);
    } else if (rc->plug_done) {
        rc->power_off_due = false;
        plug_functions(rc);
        done = g_steal_pointer(&rc->plug_done);
    }
    if (done) {
        done(rc);
    }
}

static void slot_wait(PCIeCableRC *rc, uint32_t ms)
{
    if (!rc->slot_timer) {
        rc->slot_timer = timer_new_ms(QEMU_CLOCK_REALTIME, slot_poll, rc);
    }
    rc->slot_deadline = qemu_clock_get_ms(QEMU_CLOCK_REALTIME) + ms;
    slot_poll(rc);
}

void pcie_cable_rc_plug(PCIeCableRC *rc, bool cold,
                        void (*done)(PCIeCableRC *rc))
{
    rc->cold = cold;
    rc->plug_done = done;
    slot_wait(rc, RC_POWER_OFF_MS);
}

void pcie_cable_rc_unplug(PCIeCableRC *rc, void (*done)(PCIeCableRC *rc))
{
    rc->power_off_due = slot_power_off_due(rc);
    rc->unplug_done = done;
    if (!rc->grace_ms || !rc->power_off_due) {
        unplug_functions(rc);
    }
    pcie_cap_slot_presence_lost(PCI_DEVICE(rc->port));
    slot_wait(rc, rc->grace_ms);
}

void pcie_cable_rc_stop_plugging(PCIeCableRC *rc)
{
    timer_free(rc->slot_timer);
    rc->slot_timer = NULL;
}
