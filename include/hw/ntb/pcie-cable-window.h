/*
 * PCIe cable: memory that the peer shared, as a memory region
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each window is a QOM object of its own, because it comes and goes while the
 * machine runs: the memory core keeps the object (and so the mapping and the
 * file descriptor) until no vCPU and no RCU reader can reach the region.
 */
#ifndef HW_NTB_PCIE_CABLE_WINDOW_H
#define HW_NTB_PCIE_CABLE_WINDOW_H

#include "hw/ntb/qemu-compat.h"
#include "qom/object.h"

#define TYPE_PCIE_CABLE_WINDOW "pcie-cable-window"
OBJECT_DECLARE_SIMPLE_TYPE(PCIeCableWindow, PCIE_CABLE_WINDOW)

struct PCIeCableWindow {
    Object parent_obj;

    MemoryRegion mr;
    MemoryRegion *container;
    hwaddr addr;                /* in the container, bytes */
    uint64_t size;              /* bytes */
    uint64_t fd_offset;         /* bytes */
    bool readonly;
    bool accounted;             /* in the sum of all windows */
};

/**
 * pcie_cable_window_new: map @size bytes of @fd from @fd_offset on at @addr
 * of @container
 *
 * Takes @fd over when it succeeds.  Refuses anything that could later fault
 * or go away below us, see pcie_cable_check_memory_file(), and more than
 * 256 GiB of windows in all.  BQL held, so @fd is known to be a memory file.
 * NULL and @errp on failure.
 */
PCIeCableWindow *pcie_cable_window_new(MemoryRegion *container, hwaddr addr,
                                       uint64_t size, int fd,
                                       uint64_t fd_offset, bool readonly,
                                       Error **errp);

/*
 * Take the window out of its container and drop it.  BQL held.  vCPUs may
 * reach it until pcie_cable_flush_vcpus() has called back.
 */
void pcie_cable_window_remove(PCIeCableWindow *win);

/* Is @mr memory that some peer shared? */
bool pcie_cable_window_owns(MemoryRegion *mr);

/**
 * pcie_cable_flush_vcpus: call @done once every vCPU has seen the memory map
 * as it is now
 *
 * Does not wait.  @done runs in some vCPU's thread (or at once when there is
 * none), the BQL may be held or not.  Calls complete in order.  BQL held.
 */
void pcie_cable_flush_vcpus(void (*done)(void *opaque), void *opaque);

/**
 * pcie_cable_check_memory_file: may [@fd_offset, @fd_offset + @size) of @fd,
 * which came from a peer, be mapped?
 *
 * Fails with the reason for what is no memory file with all of the range in
 * it, what may be shrunk, has huge pages or (unless @readonly) cannot be
 * written.  Enters no file system but the kernel's own for memory files.  Any
 * thread.
 */
bool pcie_cable_check_memory_file(int fd, uint64_t fd_offset, uint64_t size,
                                  bool readonly, Error **errp);

/**
 * pcie_cable_check_ram: can guest RAM be shared with a peer?
 *
 * Fails with the option to add when the machine's RAM is not a shared memfd
 * that is sealed against shrinking.
 */
bool pcie_cable_check_ram(Error **errp);

/*
 * Can pages of @mr be shared with a peer?  Then *@fd and *@fd_offset say
 * where its first byte is.
 */
bool pcie_cable_mr_shareable(MemoryRegion *mr, int *fd, uint64_t *fd_offset);

#endif /* HW_NTB_PCIE_CABLE_WINDOW_H */
