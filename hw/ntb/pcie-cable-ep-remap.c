/*
 * PCIe cable, endpoint end: what the host maps of the BARs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A memory listener on each BAR's address space finds the pages that are RAM
 * of this machine.  A host that speaks "region-remap" maps those pages; after
 * each change of the iATU or of the memory map it is told what differs.
 * Messages are sent from within the listener, where the BQL cannot be
 * dropped; the vCPU that caused the change waits for the host's
 * acknowledgement in pcie_cable_ep_sync(), its last step.
 */

#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "pcie-cable-ep-internal.h"
#include "trace.h"

/* A host that has not acknowledged after this time is cut off. */
#define EP_REMAP_TIMEOUT_MS 5000

static bool range_equal(const EPRange *a, const EPRange *b)
{
    return a->offset == b->offset && a->size == b->size && a->fd == b->fd &&
           a->fd_offset == b->fd_offset && a->readonly == b->readonly;
}

static bool range_in(const GArray *ranges, const EPRange *range)
{
    for (unsigned i = 0; i < ranges->len; i++) {
        if (range_equal(&g_array_index(ranges, EPRange, i), range)) {
            return true;
        }
    }
    return false;
}

/* Waiting for the host */

static void remap_acknowledged(void *opaque, int error)
{
    EPBar *bar = opaque;
    PCIeCableEP *cable = bar->cable;

    if (error && error != ECONNRESET) {
        /* Without the mapping the host traps, which is slow but right. */
        trace_pcie_cable_ep_remap_refused(bar->fn, bar->index, error);
    }
    QEMU_LOCK_GUARD(&cable->remap_lock);
    qatomic_store_release(&cable->remaps, cable->remaps - 1);
    if (!cable->remaps) {
        qemu_cond_broadcast(&cable->remap_cond);
    }
}

void pcie_cable_ep_sync(PCIeCableEP *cable)
{
    int64_t deadline = g_get_monotonic_time() / 1000 + EP_REMAP_TIMEOUT_MS;
    bool late = false;

    if (pcie_cable_conn_serving() || !qatomic_load_acquire(&cable->remaps)) {
        return;
    }
    bql_unlock();
    WITH_QEMU_LOCK_GUARD(&cable->remap_lock) {
        while (cable->remaps && !late) {
            int64_t left = deadline - g_get_monotonic_time() / 1000;

            late = left <= 0 ||
                   !qemu_cond_timedwait(&cable->remap_cond,
                                        &cable->remap_lock, left);
            late = late && cable->remaps;
        }
    }
    if (late) {
        PCIeCableConn *conn = pcie_cable_ep_get_conn(cable);

        if (conn) {
            pcie_cable_conn_close(conn, "the host does not acknowledge that "
                                  "it dropped an old mapping of a BAR");
            pcie_cable_conn_unref(conn);
        }
    }
    bql_lock();
}

/* Telling the host; BQL held */

static void remap_send(EPBar *bar, const EPRange *range, bool map)
{
    PCIeCableEP *cable = bar->cable;
    VfuRegionRemap remap = {
        .argsz = sizeof(remap),
        .region = bar->index,
        .offset = range->offset,
        .size = range->size,
    };

    if (map) {
        remap.flags = VFU_REMAP_READ | (range->readonly ? 0 : VFU_REMAP_WRITE);
        remap.fd_offset = range->fd_offset;
    }
    trace_pcie_cable_ep_remap(bar->fn, bar->index, range->offset, range->size,
                              map);
    WITH_QEMU_LOCK_GUARD(&cable->remap_lock) {
        qatomic_set(&cable->remaps, cable->remaps + 1);
    }
    pcie_cable_conn_send_async(cable->conn, VFU_REGION_REMAP, bar->fn,
                               &remap, sizeof(remap), NULL, 0,
                               &range->fd, map ? 1 : 0,
                               remap_acknowledged, bar);
}

/* @range as far as it is in whole pages of the BAR; false: nothing is. */
static bool range_clip(const EPBar *bar, EPRange *range)
{
    uint64_t page = MAX(VFU_PAGE_SIZE, qemu_real_host_page_size());
    uint64_t start = ROUND_UP(range->offset, page);
    uint64_t end = MIN(range->offset + range->size, stat64_get(&bar->size));

    end = ROUND_DOWN(end, page);
    if (start >= end) {
        return false;
    }
    range->fd_offset += start - range->offset;
    range->offset = start;
    range->size = end - start;
    return QEMU_IS_ALIGNED(range->fd_offset, page);
}

void pcie_cable_ep_remap_update(EPBar *bar)
{
    PCIeCableEP *cable = bar->cable;
    GArray *wanted;

    if (!bar->as || !cable->link_up || !cable->conn ||
        !cable->peer.region_remap) {
        return;
    }
    wanted = g_array_new(false, false, sizeof(EPRange));
    for (unsigned i = 0; i < bar->ranges->len; i++) {
        EPRange range = g_array_index(bar->ranges, EPRange, i);

        if (range_clip(bar, &range)) {
            g_array_append_val(wanted, range);
        }
    }
    for (unsigned i = 0; i < bar->shown->len; i++) {
        EPRange *range = &g_array_index(bar->shown, EPRange, i);

        if (!range_in(wanted, range)) {
            remap_send(bar, range, false);
        }
    }
    for (unsigned i = 0; i < wanted->len; i++) {
        EPRange *range = &g_array_index(wanted, EPRange, i);

        if (!range_in(bar->shown, range)) {
            remap_send(bar, range, true);
        }
    }
    g_array_unref(bar->shown);
    bar->shown = wanted;
}

void pcie_cable_ep_remap_withdraw(PCIeCableEP *cable)
{
    for (unsigned i = 0; i < cable->num_functions; i++) {
        for (unsigned b = 0; b < PCIE_CABLE_NUM_BARS; b++) {
            EPBar *bar = &cable->functions[i].bars[b];

            if (!bar->as) {
                continue;
            }
            for (unsigned r = 0; cable->conn && r < bar->shown->len; r++) {
                remap_send(bar, &g_array_index(bar->shown, EPRange, r),
                           false);
            }
            g_array_set_size(bar->shown, 0);
        }
    }
}

/* Finding the pages: the listener's callbacks; BQL held */

static void bar_begin(MemoryListener *listener)
{
    EPBar *bar = container_of(listener, EPBar, listener);

    g_array_set_size(bar->found, 0);
    bar->touched = false;
}

static void bar_section(MemoryListener *listener, MemoryRegionSection *section)
{
    EPBar *bar = container_of(listener, EPBar, listener);
    EPRange range = {
        .offset = section->offset_within_address_space,
        .size = int128_get64(section->size),
        .readonly = section->readonly,
    };

    bar->touched = true;
    if (pcie_cable_mr_shareable(section->mr, &range.fd, &range.fd_offset)) {
        range.fd_offset += section->offset_within_region;
        g_array_append_val(bar->found, range);
    }
}

static void bar_section_gone(MemoryListener *listener,
                             MemoryRegionSection *section)
{
    container_of(listener, EPBar, listener)->touched = true;
}

static void bar_commit(MemoryListener *listener)
{
    EPBar *bar = container_of(listener, EPBar, listener);
    GArray *found = bar->found;

    if (!bar->touched) {
        return;
    }
    bar->found = bar->ranges;
    bar->ranges = found;
    pcie_cable_ep_remap_update(bar);
}

void pcie_cable_ep_init_bar(PCIeCableEP *cable, unsigned fn, unsigned index,
                            AddressSpace *as, MemTxAttrs attrs)
{
    EPBar *bar = &cable->functions[fn].bars[index];

    assert(fn < cable->num_functions && index < PCIE_CABLE_NUM_BARS);
    bar->cable = cable;
    bar->fn = fn;
    bar->index = index;
    bar->as = as;
    bar->attrs = attrs;
    bar->found = g_array_new(false, false, sizeof(EPRange));
    bar->ranges = g_array_new(false, false, sizeof(EPRange));
    bar->shown = g_array_new(false, false, sizeof(EPRange));
    bar->listener = (MemoryListener) {
        .name = "pcie-cable-bar",
        .priority = MEMORY_LISTENER_PRIORITY_DEV_BACKEND,
        .begin = bar_begin,
        .commit = bar_commit,
        .region_add = bar_section,
        .region_nop = bar_section,
        .region_del = bar_section_gone,
    };
    memory_listener_register(&bar->listener, as);
}
