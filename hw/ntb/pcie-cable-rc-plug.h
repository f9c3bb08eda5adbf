/*
 * PCIe cable, root complex end: functions come into the port and go
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_NTB_PCIE_CABLE_RC_PLUG_H
#define HW_NTB_PCIE_CABLE_RC_PLUG_H

#include "pcie-cable-rc-internal.h"

/*
 * Plug a function for each of rc->infos, which are used up.  @cold: the
 * machine has not started, nothing is announced.  BQL held.
 */
void pcie_cable_rc_plug(PCIeCableRC *rc, bool cold);

/**
 * pcie_cable_rc_unplug: surprise removal of all functions
 * @done: called when they are gone, BQL held; maybe before this returns
 *
 * With a removal grace the guest is told that nothing is present any more,
 * and the functions go when it has powered off the slot or the time is over.
 * BQL held.
 */
void pcie_cable_rc_unplug(PCIeCableRC *rc, void (*done)(PCIeCableRC *rc));

/* Forget a removal under way, the object goes away.  BQL held. */
void pcie_cable_rc_stop_unplug(PCIeCableRC *rc);

#endif /* HW_NTB_PCIE_CABLE_RC_PLUG_H */
