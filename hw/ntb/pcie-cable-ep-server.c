/*
 * PCIe cable, endpoint end: answers the host's messages
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Everything here runs in the connection's thread.  Accesses to BARs go to
 * the BAR's address space without the BQL (the memory core takes it for what
 * is not RAM); config space and mappings take it.  A handler answers an
 * error for what the host may get wrong and returns false, which closes the
 * link, for what no vfio-user client sends.
 */

#include "qemu/osdep.h"
#include <glib-unix.h>
#include "qapi/error.h"
#include "qemu/host-utils.h"
#include "qemu/main-loop.h"
#include "pcie-cable-ep-internal.h"
#include "trace.h"

/* Copy the fixed part of a request; its length must at least be that. */
static bool take_fixed(PCIeCableRequest *req, void *fixed, size_t len,
                       Error **errp)
{
    if (req->len < len) {
        error_setg(errp, "command %u with %zu bytes, at least %zu are needed",
                   req->hdr.command, req->len, len);
        return false;
    }
    memcpy(fixed, req->payload, len);
    return true;
}

static EPFunction *request_function(PCIeCableEP *cable, const VfuHdr *hdr)
{
    unsigned fn = (hdr->flags & VFU_F_FUNCTION) >> VFU_F_FUNCTION_SHIFT;

    if (fn && !cable->peer.link_state) {
        return NULL;
    }
    return fn < cable->num_functions ? &cable->functions[fn] : NULL;
}

/* Interrupts */

/* Is @fd an eventfd?  The kernel tells only by the name of its inode. */
static bool fd_is_eventfd(int fd)
{
    g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", fd);
    g_autofree char *target = g_file_read_link(link, NULL);

    return target && g_str_equal(target, "anon_inode:[eventfd]");
}

static void irq_set_fd(EPFunction *f, unsigned vector, int fd)
{
    QEMU_LOCK_GUARD(&f->irq_lock);
    if (f->irq_fds[vector] >= 0) {
        close(f->irq_fds[vector]);
    }
    f->irq_fds[vector] = fd;
}

void pcie_cable_ep_drop_irqs(EPFunction *f)
{
    for (unsigned i = 0; i < EP_MSI_VECTORS; i++) {
        irq_set_fd(f, i, -1);
    }
}

void pcie_cable_ep_signal(EPFunction *f, unsigned vector)
{
    uint64_t one = 1;
    ssize_t ignored;

    QEMU_LOCK_GUARD(&f->irq_lock);
    if (f->irq_fds[vector] >= 0) {
        /* EAGAIN: so many are pending that one more changes nothing. */
        ignored = write(f->irq_fds[vector], &one, sizeof(one));
        (void)ignored;
    }
}

/*
 * Does the function's header name an INTx pin?  A host that follows it, as
 * QEMU does, insists on an interrupt for it.
 */
static bool has_intx(EPFunction *f)
{
    BQL_LOCK_GUARD();
    return f->cable->ops->config_read(f->cable->opaque, f->fn,
                                      PCI_INTERRUPT_PIN, 1);
}

static bool check_eventfds(PCIeCableRequest *req, Error **errp)
{
    for (unsigned i = 0; i < req->nfds; i++) {
        if (!fd_is_eventfd(req->fds[i])) {
            error_setg(errp, "SET_IRQS with a file descriptor that is not an "
                       "eventfd");
            return false;
        }
    }
    return true;
}

/*
 * INTx of a function that has it.  The controller cannot send Assert_INTx
 * (nor can the Linux driver of DesignWare endpoints ask for it), so the
 * eventfd is taken and never signalled, and there is nothing to mask.
 */
static bool handle_set_intx(PCIeCableConn *conn, PCIeCableRequest *req,
                            const VfuIrqSet *set, Error **errp)
{
    uint32_t data = set->flags & VFU_IRQ_SET_DATA_TYPE;
    uint32_t action = set->flags & VFU_IRQ_SET_ACTION_TYPE;
    bool eventfd = data == VFU_IRQ_SET_DATA_EVENTFD;

    if (set->start || set->count > 1 || !is_power_of_2(action) ||
        set->flags & ~(VFU_IRQ_SET_DATA_TYPE | VFU_IRQ_SET_ACTION_TYPE) ||
        (!eventfd && data != VFU_IRQ_SET_DATA_NONE) ||
        (eventfd && req->nfds && req->nfds != set->count)) {
        pcie_cable_conn_reply_error(conn, &req->hdr, EINVAL);
        return true;
    }
    if (eventfd && !check_eventfds(req, errp)) {
        return false;
    }
    pcie_cable_conn_reply(conn, &req->hdr, set, sizeof(*set), NULL, 0);
    return true;
}

static bool handle_set_irqs(PCIeCableEP *cable, PCIeCableConn *conn,
                            EPFunction *f, PCIeCableRequest *req,
                            Error **errp)
{
    VfuIrqSet set;
    bool assign;

    if (!take_fixed(req, &set, sizeof(set), errp)) {
        return false;
    }
    if (set.argsz >= sizeof(set) && set.index == VFU_IRQ_INTX &&
        has_intx(f)) {
        return handle_set_intx(conn, req, &set, errp);
    }
    if (set.argsz < sizeof(set) || set.index >= VFU_NUM_IRQS ||
        (set.flags & VFU_IRQ_SET_ACTION_TYPE) != VFU_IRQ_SET_ACTION_TRIGGER ||
        set.flags & ~(VFU_IRQ_SET_DATA_TYPE | VFU_IRQ_SET_ACTION_TYPE)) {
        pcie_cable_conn_reply_error(conn, &req->hdr, EINVAL);
        return true;
    }
    if (set.index != VFU_IRQ_MSI) {
        /* No INTx, no MSI-X: taking nothing away is fine. */
        if (set.count) {
            pcie_cable_conn_reply_error(conn, &req->hdr, EINVAL);
        } else {
            pcie_cable_conn_reply(conn, &req->hdr, &set, sizeof(set), NULL, 0);
        }
        return true;
    }
    if (set.start > EP_MSI_VECTORS ||
        set.count > EP_MSI_VECTORS - set.start) {
        pcie_cable_conn_reply_error(conn, &req->hdr, EINVAL);
        return true;
    }
    switch (set.flags & VFU_IRQ_SET_DATA_TYPE) {
    case VFU_IRQ_SET_DATA_NONE:
        if (!set.count) {
            pcie_cable_ep_drop_irqs(f);
        }
        for (unsigned i = 0; i < set.count; i++) {
            pcie_cable_ep_signal(f, set.start + i);
        }
        break;
    case VFU_IRQ_SET_DATA_EVENTFD:
        assign = req->nfds > 0;
        if (assign && req->nfds != set.count) {
            pcie_cable_conn_reply_error(conn, &req->hdr, EINVAL);
            return true;
        }
        if (!check_eventfds(req, errp)) {
            return false;
        }
        for (unsigned i = 0; i < set.count; i++) {
            int fd = -1;

            if (assign) {
                fd = req->fds[i];
                req->fds[i] = -1;
                g_unix_set_fd_nonblocking(fd, true, NULL);
            }
            irq_set_fd(f, set.start + i, fd);
        }
        break;
    default:
        pcie_cable_conn_reply_error(conn, &req->hdr, EINVAL);
        return true;
    }
    pcie_cable_conn_reply(conn, &req->hdr, &set, sizeof(set), NULL, 0);
    return true;
}

/* Information */

static bool handle_get_info(PCIeCableEP *cable, PCIeCableConn *conn,
                            EPFunction *f, PCIeCableRequest *req,
                            Error **errp)
{
    VfuDeviceInfo info;

    if (!take_fixed(req, &info, sizeof(info), errp)) {
        return false;
    }
    if (info.argsz < sizeof(info)) {
        pcie_cable_conn_reply_error(conn, &req->hdr, EINVAL);
        return true;
    }
    info = (VfuDeviceInfo) {
        .argsz = sizeof(info),
        .flags = VFU_DEVICE_FLAGS_PCI | VFU_DEVICE_FLAGS_RESET,
        .num_regions = VFU_NUM_REGIONS,
        .num_irqs = VFU_NUM_IRQS,
    };
    pcie_cable_conn_reply(conn, &req->hdr, &info, sizeof(info), NULL, 0);
    return true;
}

static uint64_t region_size(EPFunction *f, uint32_t index)
{
    if (index <= VFU_REGION_BAR5) {
        return f->bars[index].as ? stat64_get(&f->bars[index].size) : 0;
    }
    return index == VFU_REGION_CONFIG ? PCIE_CONFIG_SPACE_SIZE : 0;
}

static bool handle_region_info(PCIeCableEP *cable, PCIeCableConn *conn,
                               EPFunction *f, PCIeCableRequest *req,
                               Error **errp)
{
    VfuRegionInfo info;

    if (!take_fixed(req, &info, sizeof(info), errp)) {
        return false;
    }
    if (info.argsz < sizeof(info) || info.index >= VFU_NUM_REGIONS) {
        pcie_cable_conn_reply_error(conn, &req->hdr, EINVAL);
        return true;
    }
    info.argsz = sizeof(info);
    info.cap_offset = 0;
    info.offset = 0;
    info.size = region_size(f, info.index);
    info.flags = info.size ? VFU_REGION_FLAG_READ | VFU_REGION_FLAG_WRITE : 0;
    pcie_cable_conn_reply(conn, &req->hdr, &info, sizeof(info), NULL, 0);
    return true;
}

static bool handle_irq_info(PCIeCableEP *cable, PCIeCableConn *conn,
                            EPFunction *f, PCIeCableRequest *req,
                            Error **errp)
{
    VfuIrqInfo info;

    if (!take_fixed(req, &info, sizeof(info), errp)) {
        return false;
    }
    if (info.argsz < sizeof(info) || info.index >= VFU_NUM_IRQS) {
        pcie_cable_conn_reply_error(conn, &req->hdr, EINVAL);
        return true;
    }
    info.argsz = sizeof(info);
    info.flags = 0;
    info.count = 0;
    if (info.index == VFU_IRQ_MSI) {
        info.flags = VFU_IRQ_INFO_EVENTFD | VFU_IRQ_INFO_NORESIZE;
        info.count = EP_MSI_VECTORS;
    } else if (info.index == VFU_IRQ_INTX && has_intx(f)) {
        info.flags = VFU_IRQ_INFO_EVENTFD | VFU_IRQ_INFO_MASKABLE |
                     VFU_IRQ_INFO_AUTOMASKED;
        info.count = 1;
    }
    pcie_cable_conn_reply(conn, &req->hdr, &info, sizeof(info), NULL, 0);
    return true;
}

/* Regions */

/* The largest aligned piece of @count bytes at @addr, 1, 2 or 4. */
static unsigned config_piece(uint64_t addr, uint32_t count)
{
    if (!(addr & 3) && count >= 4) {
        return 4;
    }
    return !(addr & 1) && count >= 2 ? 2 : 1;
}

static uint8_t config_byte(EPFunction *f, uint32_t addr)
{
    return f->cable->ops->config_read(f->cable->opaque, f->fn, addr, 1);
}

/*
 * Take the MSI-X capability out of the list in @count bytes read at @addr.
 * A plain client keeps the MSI-X table to itself, as VFIO does, so the SoC's
 * software would never find an address in the table that it has in memory.
 */
static void hide_msix(EPFunction *f, uint64_t addr, uint8_t *data,
                      uint32_t count)
{
    uint32_t link = PCI_CAPABILITY_LIST;

    for (int i = 0; i < PCI_CONFIG_SPACE_SIZE / 4; i++) {
        uint8_t pos = config_byte(f, link) & ~3;

        if (pos < PCI_CONFIG_HEADER_SIZE) {
            return;
        }
        if (config_byte(f, pos + PCI_CAP_LIST_ID) == PCI_CAP_ID_MSIX) {
            if (link >= addr && link - addr < count) {
                data[link - addr] = config_byte(f, pos + PCI_CAP_LIST_NEXT);
            }
            return;
        }
        link = pos + PCI_CAP_LIST_NEXT;
    }
}

/* BQL held */
static void config_read(PCIeCableEP *cable, EPFunction *f, uint64_t addr,
                        uint8_t *data, uint32_t count)
{
    uint64_t start = addr;
    uint8_t *bytes = data;
    uint32_t size = count;

    if (!cable->link_up) {
        memset(data, 0xff, count);
        return;
    }
    while (count) {
        unsigned n = config_piece(addr, count);

        stn_le_p(data, n, cable->ops->config_read(cable->opaque, f->fn, addr,
                                                  n));
        addr += n;
        data += n;
        count -= n;
    }
    if (!cable->peer.link_state) {
        hide_msix(f, start, bytes, size);
    }
}

static void config_write(PCIeCableEP *cable, EPFunction *f, uint64_t addr,
                         const uint8_t *data, uint32_t count)
{
    while (count && cable->link_up) {
        unsigned n = config_piece(addr, count);

        cable->ops->config_write(cable->opaque, f->fn, addr, ldn_le_p(data, n),
                                 n);
        addr += n;
        data += n;
        count -= n;
    }
}

static bool check_region_rw(EPFunction *f, const VfuRegionRW *rw)
{
    uint64_t size;

    if ((rw->region > VFU_REGION_BAR5 && rw->region != VFU_REGION_CONFIG) ||
        !rw->count || rw->count > VFU_MAX_XFER) {
        return false;
    }
    size = region_size(f, rw->region);
    return rw->offset <= size && rw->count <= size - rw->offset;
}

/* A reply that waits until no vCPU reaches what was unmapped before it. */
typedef struct EPLateReply {
    PCIeCableEP *cable;
    PCIeCableConn *conn;
    VfuHdr hdr;
    size_t len;
    uint8_t payload[];
} EPLateReply;

static void late_reply(void *opaque)
{
    EPLateReply *late = opaque;

    pcie_cable_conn_reply(late->conn, &late->hdr, late->payload, late->len,
                          NULL, 0);
    /* What is read from now on may be answered at once. */
    qatomic_dec(&late->cable->flushes);
    pcie_cable_conn_unref(late->conn);
    g_free(late);
}

/* BQL held */
static void reply_after_flush(PCIeCableEP *cable, PCIeCableConn *conn,
                              const VfuHdr *hdr,
                              const void *fixed, size_t fixed_len,
                              const void *data, size_t data_len)
{
    EPLateReply *late = g_malloc(sizeof(*late) + fixed_len + data_len);

    late->cable = cable;
    late->conn = conn;
    late->hdr = *hdr;
    late->len = fixed_len + data_len;
    if (fixed_len) {
        memcpy(late->payload, fixed, fixed_len);
    }
    if (data_len) {
        memcpy(late->payload + fixed_len, data, data_len);
    }
    pcie_cable_conn_ref(conn);
    qatomic_inc(&cable->flushes);
    pcie_cable_flush_vcpus(late_reply, late);
}

/* May the host's memory requests reach the function? */
static bool memory_enabled(EPFunction *f)
{
    return pcie_cable_ep_link_up(f->cable) &&
           (qatomic_read(&f->command) & PCI_COMMAND_MEMORY);
}

static bool handle_region_read(PCIeCableEP *cable, PCIeCableConn *conn,
                               EPFunction *f, PCIeCableRequest *req,
                               Error **errp)
{
    VfuRegionRW rw;

    if (!take_fixed(req, &rw, sizeof(rw), errp)) {
        return false;
    }
    if (!check_region_rw(f, &rw)) {
        pcie_cable_conn_reply_error(conn, &req->hdr, EINVAL);
        return true;
    }
    if (rw.region == VFU_REGION_CONFIG) {
        BQL_LOCK_GUARD();
        config_read(cable, f, rw.offset, cable->xfer, rw.count);
        if (qatomic_read(&cable->flushes)) {
            /* It ends what the host takes it to be the end of. */
            reply_after_flush(cable, conn, &req->hdr, &rw, sizeof(rw),
                              cable->xfer, rw.count);
            return true;
        }
    } else {
        EPBar *bar = &f->bars[rw.region];

        /* Unsupported Request ends as all ones at the root port. */
        if (!memory_enabled(f) ||
            address_space_read(bar->as, rw.offset, bar->attrs, cable->xfer,
                               rw.count) != MEMTX_OK) {
            trace_pcie_cable_ep_unsupported(f->fn, rw.region, rw.offset);
            memset(cable->xfer, 0xff, rw.count);
        }
    }
    pcie_cable_conn_reply(conn, &req->hdr, &rw, sizeof(rw), cable->xfer,
                          rw.count);
    return true;
}

/*
 * Carry out a write that check_region_rw() allows.  Returns true when its
 * answer has to wait until the SoC's vCPUs have noticed.
 */
static bool region_write(PCIeCableEP *cable, EPFunction *f,
                         const VfuRegionRW *rw, const uint8_t *data)
{
    uint16_t command;

    if (rw->region != VFU_REGION_CONFIG) {
        EPBar *bar = &f->bars[rw->region];

        if (!memory_enabled(f) ||
            address_space_write(bar->as, rw->offset, bar->attrs, data,
                                rw->count) != MEMTX_OK) {
            trace_pcie_cable_ep_unsupported(f->fn, rw->region, rw->offset);
        }
        return false;
    }
    BQL_LOCK_GUARD();
    command = f->command;
    config_write(cable, f, rw->offset, data, rw->count);
    /*
     * When the host sees the completion of a write that cleared BME, or of
     * one behind an unmap, the SoC's accesses have stopped.
     */
    return qatomic_read(&cable->flushes) ||
           (command & ~f->command & PCI_COMMAND_MASTER);
}

static void reply_to_write(PCIeCableEP *cable, PCIeCableConn *conn,
                           const VfuHdr *hdr, const void *payload, size_t len,
                           bool late)
{
    if (late) {
        BQL_LOCK_GUARD();
        reply_after_flush(cable, conn, hdr, payload, len, NULL, 0);
    } else {
        pcie_cable_conn_reply(conn, hdr, payload, len, NULL, 0);
    }
}

static bool handle_region_write(PCIeCableEP *cable, PCIeCableConn *conn,
                                EPFunction *f, PCIeCableRequest *req,
                                Error **errp)
{
    VfuRegionRW rw;
    bool late;

    if (!take_fixed(req, &rw, sizeof(rw), errp)) {
        return false;
    }
    if (req->len - sizeof(rw) != rw.count) {
        error_setg(errp, "REGION_WRITE of %u bytes carries %zu", rw.count,
                   req->len - sizeof(rw));
        return false;
    }
    if (!check_region_rw(f, &rw)) {
        pcie_cable_conn_reply_error(conn, &req->hdr, EINVAL);
        return true;
    }
    late = region_write(cable, f, &rw, req->payload + sizeof(rw));
    reply_to_write(cable, conn, &req->hdr, &rw, sizeof(rw), late);
    return true;
}

/* Small writes that a client with a full queue put together, in their order */
static bool handle_region_write_multi(PCIeCableEP *cable, PCIeCableConn *conn,
                                      EPFunction *f, PCIeCableRequest *req,
                                      Error **errp)
{
    VfuWriteMulti multi;
    VfuWriteOne one;
    uint64_t n;
    bool late = false;

    if (!take_fixed(req, &multi, sizeof(multi), errp)) {
        return false;
    }
    n = (req->len - sizeof(multi)) / sizeof(one);
    if (multi.count != n || sizeof(multi) + n * sizeof(one) != req->len) {
        error_setg(errp, "REGION_WRITE_MULTI of %" PRIu64 " writes carries "
                   "%zu bytes", multi.count, req->len - sizeof(multi));
        return false;
    }
    /* The answer says how many were good. */
    for (multi.count = 0; multi.count < n; multi.count++) {
        memcpy(&one, req->payload + sizeof(multi) + multi.count * sizeof(one),
               sizeof(one));
        if (one.rw.count > VFU_WRITE_ONE_MAX || !check_region_rw(f, &one.rw)) {
            break;
        }
        late |= region_write(cable, f, &one.rw, one.data);
    }
    reply_to_write(cable, conn, &req->hdr, &multi, sizeof(multi), late);
    return true;
}

/* DMA mappings and reset */

static bool handle_dma_map(PCIeCableEP *cable, PCIeCableConn *conn,
                           EPFunction *f, PCIeCableRequest *req, Error **errp)
{
    VfuDmaMap map;
    int fd = -1, error;

    if (!take_fixed(req, &map, sizeof(map), errp)) {
        return false;
    }
    if (req->nfds > 1) {
        error_setg(errp, "DMA_MAP with %u file descriptors", req->nfds);
        return false;
    }
    trace_pcie_cable_ep_dma_map(f->fn, map.address, map.size, map.flags);
    if (req->nfds && pcie_cable_ep_host_check_map(f, &map, req->fds[0])) {
        fd = req->fds[0];
        req->fds[0] = -1;
    }
    bql_lock();
    error = pcie_cable_ep_host_map(f, &map, &fd);
    bql_unlock();
    if (fd >= 0) {
        close(fd);
    }
    if (error) {
        pcie_cable_conn_reply_error(conn, &req->hdr, -error);
    } else {
        pcie_cable_conn_reply(conn, &req->hdr, NULL, 0, NULL, 0);
    }
    return true;
}

static bool handle_dma_unmap(PCIeCableEP *cable, PCIeCableConn *conn,
                             EPFunction *f, PCIeCableRequest *req,
                             Error **errp)
{
    VfuDmaUnmap unmap;
    int error;

    if (!take_fixed(req, &unmap, sizeof(unmap), errp)) {
        return false;
    }
    trace_pcie_cable_ep_dma_unmap(f->fn, unmap.address, unmap.size,
                                  unmap.flags);
    BQL_LOCK_GUARD();
    error = pcie_cable_ep_host_unmap(f, &unmap);
    if (error) {
        pcie_cable_conn_reply_error(conn, &req->hdr, -error);
    } else {
        reply_after_flush(cable, conn, &req->hdr, &unmap, sizeof(unmap), NULL,
                          0);
    }
    return true;
}

static bool handle_reset(PCIeCableEP *cable, PCIeCableConn *conn,
                         EPFunction *f, PCIeCableRequest *req, Error **errp)
{
    trace_pcie_cable_ep_reset(f->fn);
    /* A reset of the bus asks for one reset a function; one is enough. */
    if (f->fn == 0) {
        BQL_LOCK_GUARD();
        cable->ops->hot_reset(cable->opaque);
        pcie_cable_ep_drop_irqs(f);
        reply_after_flush(cable, conn, &req->hdr, NULL, 0, NULL, 0);
        return true;
    }
    pcie_cable_ep_drop_irqs(f);
    pcie_cable_conn_reply(conn, &req->hdr, NULL, 0, NULL, 0);
    return true;
}

static bool handle_version(PCIeCableEP *cable, PCIeCableConn *conn,
                           PCIeCableRequest *req, Error **errp)
{
    PCIeCableCaps caps;

    if (!pcie_cable_caps_decode(req->payload, req->len, &caps, errp)) {
        return false;
    }
    BQL_LOCK_GUARD();
    if (cable->negotiated || cable->version_waits) {
        error_setg(errp, "a second VERSION");
        return false;
    }
    cable->peer = caps;
    pcie_cable_ep_negotiated(cable, &req->hdr);
    return true;
}

bool pcie_cable_ep_request(void *opaque, PCIeCableConn *conn,
                           PCIeCableRequest *req, Error **errp)
{
    PCIeCableEP *cable = opaque;
    EPFunction *f;

    if (req->hdr.command == VFU_VERSION) {
        return handle_version(cable, conn, req, errp);
    }
    if (!qatomic_read(&cable->negotiated)) {
        error_setg(errp, "command %u before VERSION was answered",
                   req->hdr.command);
        return false;
    }
    if (req->hdr.command == VFU_POSTED_RING && cable->peer.posted_ring) {
        return pcie_cable_conn_take_ring(conn, req, errp);
    }
    f = request_function(cable, &req->hdr);
    if (!f) {
        pcie_cable_conn_reply_error(conn, &req->hdr, ENODEV);
        return true;
    }
    switch (req->hdr.command) {
    case VFU_DMA_MAP:
        return handle_dma_map(cable, conn, f, req, errp);
    case VFU_DMA_UNMAP:
        return handle_dma_unmap(cable, conn, f, req, errp);
    case VFU_DEVICE_GET_INFO:
        return handle_get_info(cable, conn, f, req, errp);
    case VFU_DEVICE_GET_REGION_INFO:
        return handle_region_info(cable, conn, f, req, errp);
    case VFU_DEVICE_GET_IRQ_INFO:
        return handle_irq_info(cable, conn, f, req, errp);
    case VFU_DEVICE_SET_IRQS:
        return handle_set_irqs(cable, conn, f, req, errp);
    case VFU_REGION_READ:
        return handle_region_read(cable, conn, f, req, errp);
    case VFU_REGION_WRITE:
        return handle_region_write(cable, conn, f, req, errp);
    case VFU_REGION_WRITE_MULTI:
        return handle_region_write_multi(cable, conn, f, req, errp);
    case VFU_DEVICE_RESET:
        return handle_reset(cable, conn, f, req, errp);
    default:
        /* DEVICE_GET_REGION_IO_FDS too: there are no ioeventfds to offer. */
        pcie_cable_conn_reply_error(conn, &req->hdr, ENOTSUP);
        return true;
    }
}
