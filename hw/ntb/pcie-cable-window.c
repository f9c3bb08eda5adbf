/*
 * PCIe cable: memory that the peer shared, as a memory region
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/main-loop.h"
#include "qemu/memfd.h"
#include "qemu/mmap-alloc.h"
#include "qemu/units.h"
#include "hw/boards.h"
#include "hw/core/cpu.h"
#include "hw/ntb/pcie-cable-window.h"
#include "hw/ntb/vfio-user-proto.h"
#include "trace.h"

/*
 * QEMU keeps bitmaps for all RAM and never gives them back: bound what a peer
 * can make it map.  All windows of the process; BQL.
 */
#define WINDOWS_MAX (256 * GiB)
static uint64_t windows_size;

bool pcie_cable_check_memory_file(int fd, uint64_t fd_offset, uint64_t size,
                                  bool readonly, Error **errp)
{
    int flags = fcntl(fd, F_GETFL);
    int seals = fcntl(fd, F_GET_SEALS);
    struct stat st;

    /*
     * Only memory files have seals.  Of others nothing more is asked: their
     * file system may be the peer's, which need not answer.  With the seal
     * the size found below cannot go down.
     */
    if (flags < 0 || seals < 0) {
        error_setg(errp, "the file descriptor is not a memory file");
        return false;
    }
    if (!(seals & F_SEAL_SHRINK)) {
        error_setg(errp, "the file may be shrunk (a memfd sealed with "
                   "F_SEAL_SHRINK is needed)");
        return false;
    }
    if (fstat(fd, &st) < 0) {
        error_setg_errno(errp, errno, "bad file descriptor");
        return false;
    }
    /* Huge pages may run out when they are touched. */
    if (qemu_fd_getpagesize(fd) != qemu_real_host_page_size()) {
        error_setg(errp, "the file has huge pages");
        return false;
    }
    if (fd_offset > st.st_size || size > st.st_size - fd_offset) {
        error_setg(errp, "the file is shorter (%" PRIu64 " bytes) than the "
                   "mapping", (uint64_t)st.st_size);
        return false;
    }
    if ((flags & O_ACCMODE) == O_WRONLY ||
        (!readonly && (flags & O_ACCMODE) != O_RDWR)) {
        error_setg(errp, "the file descriptor does not allow the access");
        return false;
    }
    return true;
}

PCIeCableWindow *pcie_cable_window_new(MemoryRegion *container, hwaddr addr,
                                       uint64_t size, int fd,
                                       uint64_t fd_offset, bool readonly,
                                       Error **errp)
{
    PCIeCableWindow *win;
    uint32_t ram_flags = RAM_SHARED;

    if (size > WINDOWS_MAX - windows_size || size != (size_t)size) {
        error_setg(errp, "more than 0x%" PRIx64 " bytes of windows",
                   WINDOWS_MAX);
        return NULL;
    }
    if (!pcie_cable_check_memory_file(fd, fd_offset, size, readonly, errp)) {
        return NULL;
    }
    if (readonly) {
        ram_flags |= RAM_READONLY;
        if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY) {
            ram_flags |= RAM_READONLY_FD;
        }
    }
    win = PCIE_CABLE_WINDOW(object_new(TYPE_PCIE_CABLE_WINDOW));
    win->addr = addr;
    win->size = size;
    win->fd_offset = fd_offset;
    win->readonly = readonly;
    if (!memory_region_init_ram_from_fd(&win->mr, OBJECT(win),
                                        "pcie-cable-window", size, ram_flags,
                                        fd, fd_offset, errp)) {
        object_unref(OBJECT(win));
        return NULL;
    }
    windows_size += size;
    win->accounted = true;
    win->container = container;
    memory_region_add_subregion(container, addr, &win->mr);
    trace_pcie_cable_window(memory_region_name(container), addr, size,
                            fd_offset, readonly);
    return win;
}

void pcie_cable_window_remove(PCIeCableWindow *win)
{
    trace_pcie_cable_window_remove(memory_region_name(win->container),
                                   win->addr, win->size);
    memory_region_del_subregion(win->container, &win->mr);
    object_unref(OBJECT(win));
}

bool pcie_cable_window_owns(MemoryRegion *mr)
{
    Object *owner = memory_region_owner(mr);

    /* A DMA engine asks for each descriptor; a cast would look types up. */
    return owner && g_str_equal(object_get_typename(owner),
                                TYPE_PCIE_CABLE_WINDOW);
}

/* Flushing */

typedef struct FlushVCPUs {
    int pending;
    void (*done)(void *opaque);
    void *opaque;
} FlushVCPUs;

static void flush_put(FlushVCPUs *flush)
{
    if (qatomic_fetch_dec(&flush->pending) == 1) {
        flush->done(flush->opaque);
        g_free(flush);
    }
}

static void flush_one(CPUState *cpu, run_on_cpu_data data)
{
    flush_put(data.host_ptr);
}

/*
 * tcg_commit() queued the TLB flush of the last memory map change on each
 * vCPU's work list; what is queued behind it runs when the flush is done.
 */
void pcie_cable_flush_vcpus(void (*done)(void *opaque), void *opaque)
{
    FlushVCPUs *flush = g_new(FlushVCPUs, 1);
    CPUState *cpu;

    flush->pending = 1;
    flush->done = done;
    flush->opaque = opaque;
    CPU_FOREACH(cpu) {
        qatomic_inc(&flush->pending);
        async_run_on_cpu(cpu, flush_one, RUN_ON_CPU_HOST_PTR(flush));
    }
    flush_put(flush);
}

/* Our own RAM */

bool pcie_cable_check_ram(Error **errp)
{
    MachineState *ms = current_machine;
    int fd, seals;
    uint64_t fd_offset;

    if (ms->ram && pcie_cable_mr_shareable(ms->ram, &fd, &fd_offset)) {
        seals = fcntl(fd, F_GET_SEALS);
        if (seals >= 0 && seals & F_SEAL_SHRINK) {
            return true;
        }
    }
    error_setg(errp, "guest RAM cannot be shared with the peer of the PCIe "
               "cable; use -object memory-backend-memfd,id=ram,share=on,"
               "size=%" PRIu64 "M -machine memory-backend=ram",
               (uint64_t)ms->ram_size / MiB);
    return false;
}

bool pcie_cable_mr_shareable(MemoryRegion *mr, int *fd, uint64_t *fd_offset)
{
    if (!memory_region_is_ram(mr) || memory_region_is_ram_device(mr) ||
        memory_region_is_romd(mr) || !mr->ram_block ||
        !qemu_ram_is_shared(mr->ram_block) || pcie_cable_window_owns(mr)) {
        return false;
    }
    *fd = memory_region_get_fd(mr);
    *fd_offset = mr->ram_block->fd_offset;
    return *fd >= 0;
}

static void window_finalize(Object *obj)
{
    PCIeCableWindow *win = PCIE_CABLE_WINDOW(obj);

    if (win->accounted) {
        windows_size -= win->size;
    }
}

static const TypeInfo pcie_cable_window_info = {
    .name = TYPE_PCIE_CABLE_WINDOW,
    .parent = TYPE_OBJECT,
    .instance_size = sizeof(PCIeCableWindow),
    .instance_finalize = window_finalize,
};

static void pcie_cable_window_register(void)
{
    type_register_static(&pcie_cable_window_info);
}

type_init(pcie_cable_window_register)
