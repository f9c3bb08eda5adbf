/*
 * PCIe cable, root complex end: what is mapped on both sides
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Pages of the BARs, as the endpoint's REGION_REMAP messages say, and the
 * memory that a function may reach, as its bus master address space says
 * (nothing while the guest has bus mastering off).  What an IOMMU translates
 * is not published: the endpoint reaches it by messages, which this end
 * carries out with the function's requester ID.
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qemu/range.h"
#include "pcie-cable-rc-internal.h"
#include "trace.h"

/* Each holds two descriptors; a peer must not use up all we may have. */
#define RC_MAPPINGS_MAX 1024

/* Pages of the BARs */

static unsigned mappings_count(PCIeCableRC *rc)
{
    unsigned n = 0;

    for (unsigned fn = 0; fn < PCIE_CABLE_MAX_FUNCTIONS; fn++) {
        for (unsigned b = 0; b < PCIE_CABLE_NUM_BARS; b++) {
            n += rc->mappings[fn][b]->len;
        }
    }
    return n;
}

static void mapping_show(PCIeCableFunction *f, unsigned bar, RCMapping *m)
{
    Error *err = NULL;
    uint64_t bar_size = f->info->bar_size[bar];
    int fd;

    /* A BAR that the host made larger is known here with its old size. */
    if (m->offset > bar_size || m->size > bar_size - m->offset) {
        return;
    }
    fd = qemu_dup(m->fd);
    if (fd < 0) {
        return;
    }
    m->window = pcie_cable_window_new(&f->bars[bar].mr, m->offset, m->size,
                                      fd, m->fd_offset, m->readonly, &err);
    if (!m->window) {
        /* The pages trap, which is slow but right. */
        warn_report("PCIe cable: BAR %u of function %u is not mapped: %s",
                    bar, f->fn, error_get_pretty(err));
        error_free(err);
        close(fd);
    }
}

static void mapping_hide(RCMapping *m)
{
    if (m->window) {
        pcie_cable_window_remove(m->window);
        m->window = NULL;
    }
}

/*
 * Add the part [@start, @end) of @m, which has no window, to @list.  When
 * there are too many it traps.
 */
static void mapping_keep(PCIeCableRC *rc, GArray *list, const RCMapping *m,
                         uint64_t start, uint64_t end)
{
    RCMapping part = *m;

    if (start >= end || mappings_count(rc) >= RC_MAPPINGS_MAX) {
        return;
    }
    part.offset = start;
    part.size = end - start;
    part.fd_offset += start - m->offset;
    part.window = NULL;
    part.fd = qemu_dup(m->fd);
    if (part.fd >= 0) {
        g_array_append_val(list, part);
    }
}

/* Take [@offset, @offset + @size) out of the mappings of a BAR. */
static void mappings_cut(PCIeCableRC *rc, unsigned fn, unsigned bar,
                         uint64_t offset, uint64_t size)
{
    PCIeCableFunction *f = rc->stale ? NULL : rc->functions[fn];
    GArray *list = rc->mappings[fn][bar];
    unsigned i = 0;

    while (i < list->len) {
        RCMapping m = g_array_index(list, RCMapping, i);
        unsigned old_len;

        if (!ranges_overlap(m.offset, m.size, offset, size)) {
            i++;
            continue;
        }
        mapping_hide(&m);
        g_array_remove_index_fast(list, i);
        old_len = list->len;
        mapping_keep(rc, list, &m, m.offset, offset);
        mapping_keep(rc, list, &m, offset + size, m.offset + m.size);
        close(m.fd);
        for (unsigned n = old_len; f && n < list->len; n++) {
            mapping_show(f, bar, &g_array_index(list, RCMapping, n));
        }
    }
}

typedef struct RCRemapAck {
    PCIeCableConn *conn;
    VfuHdr hdr;
} RCRemapAck;

static void remap_ack(void *opaque)
{
    RCRemapAck *ack = opaque;

    pcie_cable_conn_reply(ack->conn, &ack->hdr, NULL, 0, NULL, 0);
    pcie_cable_conn_unref(ack->conn);
    g_free(ack);
}

static bool remap_check(PCIeCableRC *rc, unsigned fn, PCIeCableRequest *req,
                        VfuRegionRemap *remap, Error **errp)
{
    if (req->len != sizeof(*remap)) {
        error_setg(errp, "REGION_REMAP of %zu bytes", req->len);
        return false;
    }
    memcpy(remap, req->payload, sizeof(*remap));
    if (remap->argsz != sizeof(*remap) || remap->reserved ||
        remap->flags & ~(VFU_REMAP_READ | VFU_REMAP_WRITE) ||
        remap->flags == VFU_REMAP_WRITE) {
        error_setg(errp, "malformed REGION_REMAP");
        return false;
    }
    if (fn >= PCIE_CABLE_MAX_FUNCTIONS ||
        remap->region >= PCIE_CABLE_NUM_BARS) {
        error_setg(errp, "REGION_REMAP of region %u, function %u",
                   remap->region, fn);
        return false;
    }
    if (!remap->size ||
        !QEMU_IS_ALIGNED(remap->offset | remap->size | remap->fd_offset,
                         VFU_PAGE_SIZE) ||
        remap->size > INT64_MAX || remap->offset > INT64_MAX - remap->size ||
        remap->fd_offset > INT64_MAX - remap->size) {
        error_setg(errp, "REGION_REMAP of 0x%" PRIx64 " bytes at 0x%" PRIx64,
                   remap->size, remap->offset);
        return false;
    }
    if (req->nfds != (remap->flags ? 1 : 0)) {
        error_setg(errp, "REGION_REMAP with %u file descriptors", req->nfds);
        return false;
    }
    return true;
}

/*
 * May the file be mapped?  Asked without the BQL, of the file as it came from
 * the peer; one that may not is not kept either.
 */
static bool remap_file_good(unsigned fn, const VfuRegionRemap *remap, int fd)
{
    Error *err = NULL;

    if (pcie_cable_check_memory_file(fd, remap->fd_offset, remap->size,
                                     !(remap->flags & VFU_REMAP_WRITE),
                                     &err)) {
        return true;
    }
    /* The pages trap, which is slow but right. */
    warn_report("PCIe cable: BAR %u of function %u is not mapped: %s",
                remap->region, fn, error_get_pretty(err));
    error_free(err);
    return false;
}

bool pcie_cable_rc_remap(PCIeCableRC *rc, PCIeCableConn *conn, unsigned fn,
                         PCIeCableRequest *req, Error **errp)
{
    VfuRegionRemap remap;
    RCRemapAck *ack;
    GArray *list;

    if (!remap_check(rc, fn, req, &remap, errp)) {
        return false;
    }
    trace_pcie_cable_rc_remap(fn, remap.region, remap.offset, remap.size,
                              remap.flags);
    if (remap.flags && !remap_file_good(fn, &remap, req->fds[0])) {
        remap.flags = 0;
    }
    BQL_LOCK_GUARD();
    list = rc->mappings[fn][remap.region];
    if (remap.flags && mappings_count(rc) >= RC_MAPPINGS_MAX) {
        pcie_cable_conn_reply_error(conn, &req->hdr, ENOSPC);
        return true;
    }
    mappings_cut(rc, fn, remap.region, remap.offset, remap.size);
    if (remap.flags) {
        RCMapping m = {
            .offset = remap.offset,
            .size = remap.size,
            .fd = req->fds[0],
            .fd_offset = remap.fd_offset,
            .readonly = !(remap.flags & VFU_REMAP_WRITE),
        };

        req->fds[0] = -1;
        g_array_append_val(list, m);
        if (rc->functions[fn] && !rc->stale) {
            mapping_show(rc->functions[fn], remap.region,
                         &g_array_index(list, RCMapping, list->len - 1));
        }
    }
    ack = g_new(RCRemapAck, 1);
    ack->conn = conn;
    ack->hdr = req->hdr;
    pcie_cable_conn_ref(conn);
    pcie_cable_flush_vcpus(remap_ack, ack);
    return true;
}

void pcie_cable_rc_show_mappings(PCIeCableFunction *f)
{
    for (unsigned b = 0; b < PCIE_CABLE_NUM_BARS && !f->rc->stale; b++) {
        GArray *list = f->rc->mappings[f->fn][b];

        for (unsigned i = 0; i < list->len; i++) {
            mapping_show(f, b, &g_array_index(list, RCMapping, i));
        }
    }
}

void pcie_cable_rc_hide_mappings(PCIeCableFunction *f)
{
    for (unsigned b = 0; b < PCIE_CABLE_NUM_BARS; b++) {
        GArray *list = f->rc->mappings[f->fn][b];

        for (unsigned i = 0; i < list->len; i++) {
            mapping_hide(&g_array_index(list, RCMapping, i));
        }
    }
}

void pcie_cable_rc_drop_mappings(PCIeCableRC *rc)
{
    for (unsigned fn = 0; fn < PCIE_CABLE_MAX_FUNCTIONS; fn++) {
        for (unsigned b = 0; b < PCIE_CABLE_NUM_BARS; b++) {
            GArray *list = rc->mappings[fn][b];

            for (unsigned i = 0; i < list->len; i++) {
                RCMapping *m = &g_array_index(list, RCMapping, i);

                mapping_hide(m);
                close(m->fd);
            }
            g_array_set_size(list, 0);
        }
    }
}

/* What a function may reach */

/*
 * The whole pages of @section that can be shared.  The region is @fd from
 * @fd_offset on.
 */
static bool section_to_map(const MemoryRegionSection *section, VfuDmaMap *map,
                           int *fd)
{
    uint64_t page = MAX(VFU_PAGE_SIZE, qemu_real_host_page_size());
    uint64_t start = section->offset_within_address_space;
    uint64_t end = start + int128_get64(section->size);
    uint64_t fd_offset;

    if (int128_get64(section->size) == 0 || end < start ||
        !pcie_cable_mr_shareable(section->mr, fd, &fd_offset)) {
        return false;
    }
    fd_offset += section->offset_within_region + ROUND_UP(start, page) - start;
    start = ROUND_UP(start, page);
    end = ROUND_DOWN(end, page);
    if (start >= end || !QEMU_IS_ALIGNED(fd_offset, page)) {
        return false;
    }
    *map = (VfuDmaMap) {
        .argsz = sizeof(*map),
        .flags = VFU_DMA_MAP_READ |
                 (section->readonly ? 0 : VFU_DMA_MAP_WRITE),
        .offset = fd_offset,
        .address = start,
        .size = end - start,
    };
    return true;
}

static void dma_done(void *opaque, int error)
{
    if (error && error != ECONNRESET) {
        trace_pcie_cable_rc_dma_refused(error);
    }
}

static void dma_region_add(MemoryListener *listener,
                           MemoryRegionSection *section)
{
    PCIeCableFunction *f = container_of(listener, PCIeCableFunction,
                                        dma_listener);
    PCIeCableConn *conn;
    VfuDmaMap map;
    int fd;

    if (!section_to_map(section, &map, &fd)) {
        return;
    }
    conn = pcie_cable_rc_get_conn(f->rc);
    if (conn) {
        trace_pcie_cable_rc_dma_map(f->fn, map.address, map.size, map.flags);
        pcie_cable_conn_send_async(conn, VFU_DMA_MAP, f->fn, &map,
                                   sizeof(map), NULL, 0, &fd, 1, dma_done,
                                   NULL);
        pcie_cable_conn_unref(conn);
    }
}

static void dma_unmapped(void *opaque, int error)
{
    dma_done(NULL, error);
    pcie_cable_rc_stop_answered(opaque);
}

static void dma_region_del(MemoryListener *listener,
                           MemoryRegionSection *section)
{
    PCIeCableFunction *f = container_of(listener, PCIeCableFunction,
                                        dma_listener);
    PCIeCableConn *conn;
    VfuDmaMap map;
    int fd;

    if (!section_to_map(section, &map, &fd)) {
        return;
    }
    conn = pcie_cable_rc_get_conn(f->rc);
    if (conn) {
        VfuDmaUnmap unmap = {
            .argsz = sizeof(unmap),
            .address = map.address,
            .size = map.size,
        };

        trace_pcie_cable_rc_dma_unmap(f->fn, map.address, map.size);
        pcie_cable_rc_stop_sent(f->rc);
        pcie_cable_conn_send_async(conn, VFU_DMA_UNMAP, f->fn, &unmap,
                                   sizeof(unmap), NULL, 0, NULL, 0,
                                   dma_unmapped, f->rc);
        pcie_cable_conn_unref(conn);
    }
}

void pcie_cable_rc_publish(PCIeCableFunction *f)
{
    f->dma_listener = (MemoryListener) {
        .name = "pcie-cable-dma",
        .priority = MEMORY_LISTENER_PRIORITY_DEV_BACKEND,
        .region_add = dma_region_add,
        .region_del = dma_region_del,
    };
    memory_listener_register(&f->dma_listener,
                             &PCI_DEVICE(f)->bus_master_as);
}

void pcie_cable_rc_unpublish(PCIeCableFunction *f)
{
    memory_listener_unregister(&f->dma_listener);
}
