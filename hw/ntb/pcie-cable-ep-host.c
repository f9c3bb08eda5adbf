/*
 * PCIe cable, endpoint end: the host's memory as the functions reach it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One 64-bit region a function.  What the host mapped for the function and
 * shared as a file is RAM in it, shown while the link is up and the function
 * is bus master.  The rest traps: reads wait for the host's answer, writes
 * are posted, and a write of the function's MSI message raises the vector.
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "pcie-cable-ep-internal.h"
#include "trace.h"

/* Posted writes on their way, a function: more wait for the host. */
#define EP_POSTED_MAX 128

/*
 * The first write to a plain host waits to learn how the host wants it.  No
 * completion timeout counts for a write: this is for a host that hangs.
 */
#define EP_LAYOUT_TIMEOUT_MS 5000

/* A range of PCI addresses that the host lets the function reach. */
typedef struct EPMap {
    EPFunction *f;
    uint64_t address;           /* bytes */
    uint64_t size;              /* bytes */
    PCIeCableWindow *window;    /* NULL: by message only */
} EPMap;

/* Trapped requests */

void pcie_cable_ep_report_bme(EPFunction *f, uint64_t addr)
{
    if (!qatomic_xchg(&f->reported_bme, true)) {
        qemu_log_mask(LOG_GUEST_ERROR, "PCIe cable: function %u is not "
                      "bus master, request at 0x%" PRIx64 " dropped\n",
                      f->fn, addr);
    }
}

static bool host_may_request(EPFunction *f, hwaddr addr)
{
    if (!pcie_cable_ep_link_up(f->cable)) {
        return false;
    }
    if (!(qatomic_read(&f->command) & PCI_COMMAND_MASTER)) {
        pcie_cable_ep_report_bme(f, addr);
        return false;
    }
    if (pcie_cable_conn_serving()) {
        qemu_log_mask(LOG_GUEST_ERROR, "PCIe cable: a host request to "
                      "function %u leads back to the host at 0x%" HWADDR_PRIx
                      ", refused\n", f->fn, addr);
        return false;
    }
    return true;
}

static MemTxResult host_read(void *opaque, hwaddr addr, uint64_t *value,
                             unsigned size, MemTxAttrs attrs)
{
    EPFunction *f = opaque;
    PCIeCableEP *cable = f->cable;
    uint8_t reply[EP_REPLY_SIZE(8)];
    const uint8_t *data;
    PCIeCableConn *conn;
    int error;

    *value = ~0ull;
    if (!host_may_request(f, addr)) {
        return MEMTX_OK;
    }
    conn = pcie_cable_ep_get_conn(cable);
    if (!conn) {
        return MEMTX_OK;
    }
    error = pcie_cable_ep_request_read(cable, conn, f->fn, addr, reply, size,
                                       &data);
    pcie_cable_conn_unref(conn);
    if (error) {
        /* Unsupported Request, completion timeout or a lost link */
        trace_pcie_cable_ep_read_error(f->fn, addr, error);
        return MEMTX_OK;
    }
    *value = ldn_le_p(data, size);
    return MEMTX_OK;
}

/* The host has seen a posted write; MSIs right behind it go now. */
static void host_posted_done(void *opaque, int error)
{
    EPFunction *f = opaque;
    uint32_t msis = 0;

    WITH_QEMU_LOCK_GUARD(&f->cable->posted_lock) {
        f->completed++;
        for (unsigned v = 0; f->msi_deferred && v < EP_MSI_VECTORS; v++) {
            if (f->msi_deferred & 1u << v &&
                f->msi_behind[v] <= f->completed) {
                msis |= 1u << v;
            }
        }
        f->msi_deferred &= ~msis;
    }
    if (error && error != ECONNRESET) {
        trace_pcie_cable_ep_posted_error(f->fn, error);
    }
    while (msis) {
        pcie_cable_ep_signal(f, ctz32(msis));
        msis &= msis - 1;
    }
}

static void host_raise_msi(EPFunction *f, unsigned vector)
{
    bool deferred = false;

    WITH_QEMU_LOCK_GUARD(&f->cable->posted_lock) {
        if (f->posted != f->completed) {
            f->msi_deferred |= 1u << vector;
            f->msi_behind[vector] = f->posted;
            deferred = true;
        }
    }
    trace_pcie_cable_ep_msi(f->fn, vector, deferred);
    if (!deferred) {
        pcie_cable_ep_signal(f, vector);
    }
}

void pcie_cable_ep_host_push(EPFunction *f, PCIeCableConn *conn, uint64_t addr)
{
    uint8_t reply[EP_REPLY_SIZE(0)];
    const uint8_t *nothing;
    bool many;

    WITH_QEMU_LOCK_GUARD(&f->cable->posted_lock) {
        many = f->posted - f->completed >= EP_POSTED_MAX;
    }
    if (many) {
        /* A read pushes the writes before it. */
        pcie_cable_ep_request_read(f->cable, conn, f->fn, addr, reply, 0,
                                   &nothing);
    }
}

static MemTxResult host_write(void *opaque, hwaddr addr, uint64_t value,
                              unsigned size, MemTxAttrs attrs)
{
    EPFunction *f = opaque;
    PCIeCableEP *cable = f->cable;
    uint8_t data[8];
    PCIeCableConn *conn;
    EPDmaLayout layout;
    int error;

    if (!host_may_request(f, addr)) {
        return MEMTX_OK;
    }
    if (size == 4) {
        int vector = cable->ops->msi_vector(cable->opaque, f->fn, addr, value);

        if (vector >= 0 && vector < EP_MSI_VECTORS) {
            host_raise_msi(f, vector);
            return MEMTX_OK;
        }
    }
    conn = pcie_cable_ep_get_conn(cable);
    if (!conn) {
        return MEMTX_OK;
    }
    stn_le_p(data, size, value);
    error = pcie_cable_ep_request_layout(cable, conn, f->fn, addr,
                                         EP_LAYOUT_TIMEOUT_MS, &layout);
    pcie_cable_ep_host_push(f, conn, addr);
    if (error || !host_may_request(f, addr)) {
        /* The host did not answer, or took bus mastering away meanwhile. */
        trace_pcie_cable_ep_posted_error(f->fn, -error);
        pcie_cable_conn_unref(conn);
        return MEMTX_OK;
    }
    WITH_QEMU_LOCK_GUARD(&cable->posted_lock) {
        f->posted++;
    }
    pcie_cable_ep_request_write(conn, layout, f->fn, addr, data, size,
                                host_posted_done, f);
    pcie_cable_conn_unref(conn);
    return MEMTX_OK;
}

void pcie_cable_ep_host_post(EPFunction *f, uint64_t addr, uint64_t value,
                             unsigned size)
{
    host_write(f, addr, value, size, MEMTXATTRS_UNSPECIFIED);
}

static const MemoryRegionOps host_ops = {
    .read_with_attrs = host_read,
    .write_with_attrs = host_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
    .impl = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
};

/* Mappings; BQL held */

static bool map_overlaps(EPFunction *f, uint64_t address, uint64_t size)
{
    for (unsigned i = 0; i < f->maps->len; i++) {
        EPMap *map = g_ptr_array_index(f->maps, i);

        if (ranges_overlap(map->address, map->size, address, size)) {
            return true;
        }
    }
    return false;
}

static void map_free(gpointer p)
{
    EPMap *map = p;

    if (map->window) {
        pcie_cable_ep_dma_remove(map->f, map->address);
        pcie_cable_window_remove(map->window);
    }
    g_free(map);
}

/* Why @map is reached by messages, once.  Takes @err.  Any thread. */
static void report_map(EPFunction *f, const VfuDmaMap *map, Error *err)
{
    if (!qatomic_xchg(&f->reported_map, true)) {
        warn_report("PCIe cable: host memory at 0x%" PRIx64 " is reached by "
                    "messages, not mapped: %s", map->address,
                    error_get_pretty(err));
    }
    error_free(err);
}

bool pcie_cable_ep_host_check_map(EPFunction *f, const VfuDmaMap *map, int fd)
{
    Error *err = NULL;

    if (!(map->flags & VFU_DMA_MAP_READ)) {
        return false;
    }
    if (!pcie_cable_check_memory_file(fd, map->offset, map->size,
                                      !(map->flags & VFU_DMA_MAP_WRITE),
                                      &err)) {
        report_map(f, map, err);
        return false;
    }
    return true;
}

int pcie_cable_ep_host_map(EPFunction *f, const VfuDmaMap *map, int *fd)
{
    Error *err = NULL;
    EPMap *m;

    if (map->argsz < sizeof(*map) ||
        map->flags & ~(VFU_DMA_MAP_READ | VFU_DMA_MAP_WRITE) ||
        !map->size || map->size - 1 > UINT64_MAX - map->address ||
        !QEMU_IS_ALIGNED(map->address | map->size | map->offset,
                         VFU_PAGE_SIZE)) {
        return -EINVAL;
    }
    if (f->maps->len >= VFU_MAX_DMA_MAPS) {
        return -ENOSPC;
    }
    if (map_overlaps(f, map->address, map->size)) {
        return -EEXIST;
    }
    m = g_new0(EPMap, 1);
    m->f = f;
    m->address = map->address;
    m->size = map->size;
    if (*fd >= 0 && map->flags & VFU_DMA_MAP_READ) {
        m->window = pcie_cable_window_new(&f->host_ram, map->address,
                                          map->size, *fd, map->offset,
                                          !(map->flags & VFU_DMA_MAP_WRITE),
                                          &err);
        if (m->window) {
            *fd = -1;
            pcie_cable_ep_dma_add(f, map->address, map->size,
                                  memory_region_get_ram_ptr(&m->window->mr),
                                  m->window->readonly);
        } else {
            report_map(f, map, err);
        }
    }
    g_ptr_array_add(f->maps, m);
    return 0;
}

int pcie_cable_ep_host_unmap(EPFunction *f, const VfuDmaUnmap *unmap)
{
    if (unmap->argsz < sizeof(*unmap) || unmap->flags & ~VFU_DMA_UNMAP_ALL) {
        return -EINVAL;
    }
    if (unmap->flags & VFU_DMA_UNMAP_ALL) {
        if (unmap->address || unmap->size) {
            return -EINVAL;
        }
        g_ptr_array_set_size(f->maps, 0);
        return 0;
    }
    for (unsigned i = 0; i < f->maps->len; i++) {
        EPMap *map = g_ptr_array_index(f->maps, i);

        if (map->address == unmap->address && map->size == unmap->size) {
            g_ptr_array_remove_index_fast(f->maps, i);
            return 0;
        }
    }
    return -ENOENT;
}

void pcie_cable_ep_host_drop_maps(EPFunction *f)
{
    g_ptr_array_set_size(f->maps, 0);
}

void pcie_cable_ep_host_update(EPFunction *f)
{
    pcie_cable_ep_dma_update(f);
    memory_region_set_enabled(&f->host_ram, f->cable->link_up &&
                              (f->command & PCI_COMMAND_MASTER));
}

void pcie_cable_ep_host_init(EPFunction *f)
{
    Object *owner = f->cable->owner;
    g_autofree char *name = g_strdup_printf("pcie-host-fn%u", f->fn);

    f->maps = g_ptr_array_new_with_free_func(map_free);
    pcie_cable_ep_dma_init(f);
    memory_region_init_io(&f->host, owner, &host_ops, f, name, UINT64_MAX);
    /* Reads drop the BQL while they wait for the host. */
    f->host.disable_reentrancy_guard = true;
    memory_region_init(&f->host_ram, owner, "pcie-host-ram", UINT64_MAX);
    memory_region_set_enabled(&f->host_ram, false);
    memory_region_add_subregion(&f->host, 0, &f->host_ram);
}

MemoryRegion *pcie_cable_ep_host_mr(PCIeCableEP *cable, unsigned fn)
{
    assert(fn < cable->num_functions);
    return &cable->functions[fn].host;
}
