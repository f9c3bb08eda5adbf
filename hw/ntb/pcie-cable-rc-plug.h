/*
 * PCIe cable, root complex end: functions come into the port and go
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_NTB_PCIE_CABLE_RC_PLUG_H
#define HW_NTB_PCIE_CABLE_RC_PLUG_H

#include "pcie-cable-rc-internal.h"

/**
 * pcie_cable_rc_plug: plug a function for each of rc->infos, which are used up
 * @cold: the machine has not started, nothing is announced
 * @done: called when they are there, BQL held; maybe before this returns
 *
 * Waits, without blocking, until the guest has powered off the slot from the
 * functions that went before.  BQL held.
 */
void pcie_cable_rc_plug(PCIeCableRC *rc, bool cold,
                        void (*done)(PCIeCableRC *rc));

/**
 * pcie_cable_rc_unplug: surprise removal of all functions
 * @done: called when they are gone, BQL held; maybe before this returns
 *
 * With a removal grace the guest is told that nothing is present any more,
 * and the functions go when it has powered off the slot or the time is over.
 * BQL held.
 */
void pcie_cable_rc_unplug(PCIeCableRC *rc, void (*done)(PCIeCableRC *rc));

/* Forget what is under way, the object goes away.  BQL held. */
void pcie_cable_rc_stop_plugging(PCIeCableRC *rc);

#endif /* HW_NTB_PCIE_CABLE_RC_PLUG_H */
