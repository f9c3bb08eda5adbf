/*
 * PCIe cable: requests that wait for the peer's reply
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each has a slot, found by the low part of its message ID.  A request that
 * timed out keeps its slot until the late reply comes, so that the reply
 * cannot be taken for another one's.
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/lockable.h"
#include "qemu/main-loop.h"
#include "hw/core/cpu.h"
#include "pcie-cable-conn-internal.h"
#include "system/qtest.h"
#include "trace.h"

/* Returns a free slot, slot_lock held, or NULL when all are taken. */
static ConnSlot *conn_get_slot(PCIeCableConn *conn, uint16_t command,
                               uint16_t *id)
{
    for (unsigned i = 0; i < CONN_NUM_SLOTS; i++) {
        unsigned index = (conn->next_slot + i) & CONN_SLOT_MASK;
        ConnSlot *slot = &conn->slots[index];

        if (slot->state == SLOT_FREE) {
            conn->next_slot = index + 1;
            slot->generation++;
            slot->command = command;
            *id = index | slot->generation << CONN_SLOT_BITS;
            return slot;
        }
    }
    return NULL;
}

void pcie_cable_conn_send_async(PCIeCableConn *conn, uint16_t command,
                                unsigned fn,
                                const void *fixed, size_t fixed_len,
                                const void *data, size_t data_len,
                                const int *fds, unsigned nfds,
                                PCIeCableReplyFn *done, void *opaque)
{
    VfuHdr hdr = {
        .command = command,
        .flags = VFU_F_REQUEST | fn << VFU_F_FUNCTION_SHIFT,
    };
    ConnSlot *slot;

    WITH_QEMU_LOCK_GUARD(&conn->slot_lock) {
        slot = conn_get_slot(conn, command, &hdr.id);
        if (slot) {
            slot->state = SLOT_ASYNC;
            slot->done = done;
            slot->opaque = opaque;
        }
    }
    if (!slot) {
        pcie_cable_conn_close(conn, "too many requests without a reply");
        done(opaque, ECONNRESET);
        return;
    }
    if (!pcie_cable_conn_send_message(conn, &hdr, fixed, fixed_len, data,
                                      data_len, fds, nfds)) {
        bool mine = false;

        /* Unless the end of pcie_cable_conn_run() completed it already. */
        WITH_QEMU_LOCK_GUARD(&conn->slot_lock) {
            if (slot->state == SLOT_ASYNC && slot->opaque == opaque &&
                slot->done == done) {
                slot->state = SLOT_FREE;
                mine = true;
            }
        }
        if (mine) {
            done(opaque, ECONNRESET);
        }
    }
}

bool pcie_cable_conn_may_wait(void)
{
    return !pcie_cable_conn_serving() &&
           (!bql_locked() || current_cpu || qtest_enabled());
}

static int conn_call(PCIeCableConn *conn, uint16_t command, unsigned fn,
                     const void *fixed, size_t fixed_len,
                     const void *data, size_t data_len,
                     void *reply, size_t reply_len, size_t *reply_got,
                     uint32_t timeout_ms)
{
    VfuHdr hdr = {
        .command = command,
        .flags = VFU_F_REQUEST | fn << VFU_F_FUNCTION_SHIFT,
    };
    bool locked = bql_locked();
    QemuSemaphore wake;
    ConnSlot *slot;
    int error = ECONNRESET;

    timeout_ms = MIN(timeout_ms, INT_MAX);
    qemu_sem_init(&wake, 0);
    WITH_QEMU_LOCK_GUARD(&conn->slot_lock) {
        slot = conn_get_slot(conn, command, &hdr.id);
        if (slot) {
            slot->state = SLOT_WAITING;
            slot->wake = &wake;
            slot->reply = reply;
            slot->reply_len = reply_len;
            slot->reply_got = reply_got;
            slot->error = &error;
        }
    }
    if (!slot) {
        qemu_sem_destroy(&wake);
        stat64_add(&conn->stats->timeouts, 1);
        return -ETIMEDOUT;
    }

    if (pcie_cable_conn_send_message(conn, &hdr, fixed, fixed_len, data,
                                     data_len, NULL, 0)) {
        int timed_out = 0;

        if (locked) {
            bql_unlock();
        }
        if (timeout_ms) {
            timed_out = qemu_sem_timedwait(&wake, timeout_ms);
        } else {
            qemu_sem_wait(&wake);
        }
        if (locked) {
            bql_lock();
        }
        if (timed_out) {
            QEMU_LOCK_GUARD(&conn->slot_lock);
            if (slot->state == SLOT_WAITING && slot->wake == &wake) {
                slot->state = SLOT_ABANDONED;
                error = ETIMEDOUT;
            }
        }
    } else {
        QEMU_LOCK_GUARD(&conn->slot_lock);
        if (slot->state == SLOT_WAITING && slot->wake == &wake) {
            slot->state = SLOT_FREE;
        }
    }
    /* Whoever took the slot may still be inside qemu_sem_post(). */
    WITH_QEMU_LOCK_GUARD(&conn->slot_lock) {
        qemu_sem_destroy(&wake);
    }
    if (error == ETIMEDOUT) {
        stat64_add(&conn->stats->timeouts, 1);
        trace_pcie_cable_timeout(conn, hdr.id, command);
        if (!qatomic_xchg(&conn->reported_timeout, true)) {
            warn_report("PCIe cable: completion timeout: command %u not "
                        "answered within %u ms (the next ones on this "
                        "connection are only counted)", command, timeout_ms);
        }
    }
    return -error;
}

int pcie_cable_conn_call(PCIeCableConn *conn, uint16_t command, unsigned fn,
                         const void *fixed, size_t fixed_len,
                         const void *data, size_t data_len,
                         void *reply, size_t reply_len, uint32_t timeout_ms)
{
    if (!pcie_cable_conn_may_wait()) {
        return -EDEADLK;
    }
    return conn_call(conn, command, fn, fixed, fixed_len, data, data_len,
                     reply, reply_len, NULL, timeout_ms);
}

int pcie_cable_conn_call_upto(PCIeCableConn *conn, uint16_t command,
                              unsigned fn, const void *fixed, size_t fixed_len,
                              void *reply, size_t reply_max, size_t *got,
                              uint32_t timeout_ms)
{
    if (!pcie_cable_conn_may_wait()) {
        return -EDEADLK;
    }
    return conn_call(conn, command, fn, fixed, fixed_len, NULL, 0,
                     reply, reply_max, got, timeout_ms);
}

/* Complete a slot; slot_lock held for SLOT_WAITING.  Frees the slot. */
static void conn_wake_slot(ConnSlot *slot, int error)
{
    *slot->error = error;
    slot->state = SLOT_FREE;
    qemu_sem_post(slot->wake);
}

bool pcie_cable_conn_handle_reply(PCIeCableConn *conn, const VfuHdr *hdr,
                                  const uint8_t *payload, size_t len,
                                  Error **errp)
{
    unsigned index = hdr->id & CONN_SLOT_MASK;
    ConnSlot *slot = &conn->slots[index];
    PCIeCableReplyFn *done = NULL;
    void *opaque = NULL;
    int error = 0;

    if (hdr->flags & VFU_F_ERROR) {
        error = hdr->error > 0 && hdr->error < 4096 ? hdr->error : EIO;
    }
    WITH_QEMU_LOCK_GUARD(&conn->slot_lock) {
        uint16_t id = index | slot->generation << CONN_SLOT_BITS;

        if (slot->state == SLOT_FREE || hdr->id != id ||
            hdr->command != slot->command) {
            error_setg(errp, "reply %u to a request that nobody made "
                       "(command %u)", hdr->id, hdr->command);
            return false;
        }
        switch (slot->state) {
        case SLOT_WAITING:
            if (!error && (slot->reply_got ? len > slot->reply_len
                                           : len != slot->reply_len)) {
                error_setg(errp, "reply of %zu bytes to command %u, "
                           "expected %zu", len, hdr->command,
                           slot->reply_len);
                conn_wake_slot(slot, EPROTO);
                return false;
            }
            if (!error && len) {
                memcpy(slot->reply, payload, len);
            }
            if (slot->reply_got) {
                *slot->reply_got = len;
            }
            conn_wake_slot(slot, error);
            break;
        case SLOT_ASYNC:
            done = slot->done;
            opaque = slot->opaque;
            /* fall through */
        default:
            slot->state = SLOT_FREE;
            break;
        }
    }
    if (done) {
        done(opaque, error);
    }
    return true;
}

/* The connection is closed: nothing of this will be answered. */
void pcie_cable_conn_fail_slots(PCIeCableConn *conn)
{
    for (unsigned i = 0; i < CONN_NUM_SLOTS; i++) {
        ConnSlot *slot = &conn->slots[i];
        PCIeCableReplyFn *done = NULL;
        void *opaque = NULL;

        WITH_QEMU_LOCK_GUARD(&conn->slot_lock) {
            if (slot->state == SLOT_WAITING) {
                conn_wake_slot(slot, ECONNRESET);
            } else if (slot->state == SLOT_ASYNC) {
                done = slot->done;
                opaque = slot->opaque;
                slot->state = SLOT_FREE;
            }
        }
        if (done) {
            done(opaque, ECONNRESET);
        }
    }
}
