/*
 * PCIe cable, root complex end: the endpoint stops when the machine is reset
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A reset unpublishes the machine's memory and resets the functions at the
 * endpoint; nobody waits for the answers while devices are reset.  Here the
 * machine waits for all of them at once, behind the reset of its devices and
 * before images are loaded for the next boot, where DMA would go into them.
 *
 * The BQL is dropped for that.  No vCPU runs and this is the main loop, but
 * another thread may carry out a request of the endpoint that it had begun
 * before.  Should that reset a bus below, then the bus is in reset already:
 * Resettable counts, and nothing is done twice.  The functions are no bus
 * masters any more, so no other request follows.
 */

#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "system/reset.h"
#include "pcie-cable-rc-internal.h"

void pcie_cable_rc_stop_sent(PCIeCableRC *rc)
{
    QEMU_LOCK_GUARD(&rc->lock);
    rc->stops++;
}

void pcie_cable_rc_stop_answered(PCIeCableRC *rc)
{
    QEMU_LOCK_GUARD(&rc->lock);
    rc->stops--;
    qemu_cond_broadcast(&rc->cond);
}

/* Wait for the endpoint's answers, BQL not held; false when it takes long. */
static bool wait_stopped(PCIeCableRC *rc)
{
    int64_t deadline = g_get_monotonic_time() / 1000 + RC_STOP_TIMEOUT_MS;

    QEMU_LOCK_GUARD(&rc->lock);
    while (rc->stops) {
        int64_t left = deadline - g_get_monotonic_time() / 1000;

        if (left <= 0) {
            return false;
        }
        qemu_cond_timedwait(&rc->cond, &rc->lock, left);
    }
    return true;
}

/* Hold phase of a reset of the machine; BQL held */
static void rc_machine_reset(void *opaque)
{
    PCIeCableRC *rc = opaque;
    PCIeCableConn *conn;

    bql_unlock();
    if (!wait_stopped(rc)) {
        conn = pcie_cable_rc_get_conn(rc);
        if (conn) {
            pcie_cable_conn_close(conn, "the endpoint does not answer a "
                                  "reset");
            pcie_cable_conn_unref(conn);
        }
    }
    bql_lock();
}

void pcie_cable_rc_start_resets(PCIeCableRC *rc)
{
    qemu_register_reset(rc_machine_reset, rc);
}

void pcie_cable_rc_stop_resets(PCIeCableRC *rc)
{
    qemu_unregister_reset(rc_machine_reset, rc);
}
