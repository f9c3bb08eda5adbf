/*
 * PCIe cable, root complex end: learn what a remote function is
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_NTB_PCIE_CABLE_RC_ENUM_H
#define HW_NTB_PCIE_CABLE_RC_ENUM_H

#include "pcie-cable-rc-internal.h"

/**
 * pcie_cable_rc_query: ask the endpoint about function @fn and check it
 * @timeout_ms: for each answer
 *
 * Everything in the result can be used without further checks: sizes of BARs
 * are those a BAR can have, capabilities lie in config space.  Waits for the
 * peer, no lock held.  NULL and @errp on failure; g_free() the result.
 */
RCFunctionInfo *pcie_cable_rc_query(PCIeCableConn *conn, unsigned fn,
                                    uint32_t timeout_ms, Error **errp);

#endif /* HW_NTB_PCIE_CABLE_RC_ENUM_H */
