/*
 * PCIe cable: posted writes through shared memory
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Who sleeps and who wakes: the server says that it is idle, then looks at
 * the ring once more; the client moves the head, then looks whether the
 * server is idle.  With a full barrier between the two steps of each, one of
 * them sees what the other did.
 */

#include "qemu/osdep.h"
#include <sys/epoll.h>
#include <sys/mman.h>
#include "qapi/error.h"
#include "qemu/atomic.h"
#include "qemu/event_notifier.h"
#include "qemu/memfd.h"
#include "hw/ntb/pcie-cable-window.h"
#include "pcie-cable-ring.h"

enum { RING_WAKE_MESSAGE, RING_WAKE_POSTED };

struct PCIeCableRing {
    VfuRing *shared;
    int memfd;
    EventNotifier event;
    int epoll;                  /* server; -1 in the client */
    uint32_t index;             /* client: the head, server: the tail */
};

PCIeCableRing *pcie_cable_ring_new(int *fds, Error **errp)
{
    PCIeCableRing *ring = g_new0(PCIeCableRing, 1);

    ring->epoll = -1;
    ring->memfd = -1;
    if (event_notifier_init(&ring->event, 0) < 0) {
        error_setg_errno(errp, errno, "no eventfd");
        g_free(ring);
        return NULL;
    }
    ring->shared = qemu_memfd_alloc("cable-ring", sizeof(VfuRing),
                                    F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL,
                                    &ring->memfd, errp);
    if (!ring->shared) {
        pcie_cable_ring_free(ring);
        return NULL;
    }
    fds[VFU_RING_FD_MEMORY] = ring->memfd;
    fds[VFU_RING_FD_EVENT] = event_notifier_get_fd(&ring->event);
    return ring;
}

/* The socket level-triggered, the eventfd edge-triggered: nobody reads it. */
static int ring_epoll(int event, int sock)
{
    struct epoll_event socket_in = {
        .events = EPOLLIN, .data.u32 = RING_WAKE_MESSAGE,
    };
    struct epoll_event ring_in = {
        .events = EPOLLIN | EPOLLET, .data.u32 = RING_WAKE_POSTED,
    };
    int epoll = epoll_create1(EPOLL_CLOEXEC);

    if (epoll >= 0 &&
        (epoll_ctl(epoll, EPOLL_CTL_ADD, sock, &socket_in) < 0 ||
         epoll_ctl(epoll, EPOLL_CTL_ADD, event, &ring_in) < 0)) {
        close(epoll);
        epoll = -1;
    }
    return epoll;
}

PCIeCableRing *pcie_cable_ring_open(int *fds, int sock, Error **errp)
{
    PCIeCableRing *ring;
    VfuRing *shared;
    int epoll;

    if (!pcie_cable_check_memory_file(fds[VFU_RING_FD_MEMORY], 0,
                                      sizeof(VfuRing), false, errp)) {
        return NULL;
    }
    epoll = ring_epoll(fds[VFU_RING_FD_EVENT], sock);
    if (epoll < 0) {
        error_setg_errno(errp, errno, "cannot wait for the file descriptor");
        return NULL;
    }
    shared = mmap(NULL, sizeof(VfuRing), PROT_READ | PROT_WRITE, MAP_SHARED,
                  fds[VFU_RING_FD_MEMORY], 0);
    if (shared == MAP_FAILED) {
        error_setg_errno(errp, errno, "cannot map the memory");
        close(epoll);
        return NULL;
    }
    ring = g_new0(PCIeCableRing, 1);
    ring->shared = shared;
    ring->memfd = fds[VFU_RING_FD_MEMORY];
    event_notifier_init_fd(&ring->event, fds[VFU_RING_FD_EVENT]);
    ring->epoll = epoll;
    fds[VFU_RING_FD_MEMORY] = fds[VFU_RING_FD_EVENT] = -1;
    return ring;
}

void pcie_cable_ring_free(PCIeCableRing *ring)
{
    if (!ring) {
        return;
    }
    if (ring->epoll >= 0) {
        close(ring->epoll);
        close(event_notifier_get_fd(&ring->event));
    } else {
        event_notifier_cleanup(&ring->event);
    }
    if (ring->shared) {
        qemu_memfd_free(ring->shared, sizeof(VfuRing), ring->memfd);
    }
    g_free(ring);
}

bool pcie_cable_ring_put(PCIeCableRing *ring, const VfuRingEntry *entry,
                         bool *wake)
{
    VfuRing *shared = ring->shared;

    if (ring->index - qatomic_load_acquire(&shared->tail) >=
        VFU_RING_ENTRIES) {
        return false;
    }
    shared->entries[ring->index % VFU_RING_ENTRIES] = *entry;
    ring->index++;
    qatomic_store_release(&shared->head, ring->index);
    smp_mb(); /* the head, then whether the server is idle */
    *wake = qatomic_read(&shared->idle) && qatomic_xchg(&shared->idle, 0);
    return true;
}

void pcie_cable_ring_wake(PCIeCableRing *ring)
{
    event_notifier_set(&ring->event);
}

bool pcie_cable_ring_level(PCIeCableRing *ring, uint32_t *level, Error **errp)
{
    uint32_t head = qatomic_load_acquire(&ring->shared->head);

    *level = head - ring->index;
    if (*level > VFU_RING_ENTRIES) {
        error_setg(errp, "a ring of %u writes that holds %u",
                   VFU_RING_ENTRIES, *level);
        return false;
    }
    return true;
}

/* @after is a count that wraps, at most half its range away. */
static bool ring_may_run(uint32_t after, uint32_t handled)
{
    return (int32_t)(handled - after) >= 0;
}

bool pcie_cable_ring_get(PCIeCableRing *ring, uint32_t handled,
                         uint32_t *left, VfuRingEntry *entry)
{
    VfuRing *shared = ring->shared;

    if (!*left) {
        return false;
    }
    /* A copy: the client may write there still. */
    memcpy(entry, &shared->entries[ring->index % VFU_RING_ENTRIES],
           sizeof(*entry));
    if (!ring_may_run(entry->after, handled)) {
        return false;
    }
    (*left)--;
    ring->index++;
    qatomic_store_release(&shared->tail, ring->index);
    return true;
}

static bool ring_runnable(PCIeCableRing *ring, uint32_t handled)
{
    VfuRing *shared = ring->shared;
    uint32_t head = qatomic_load_acquire(&shared->head);
    VfuRingEntry *entry = &shared->entries[ring->index % VFU_RING_ENTRIES];

    return head != ring->index &&
           ring_may_run(qatomic_read(&entry->after), handled);
}

bool pcie_cable_ring_wait(PCIeCableRing *ring, uint32_t handled)
{
    struct epoll_event events[2];
    bool message = false;
    int timeout = -1, n;

    qatomic_set(&ring->shared->idle, 1);
    smp_mb(); /* idle, then the head */
    if (ring_runnable(ring, handled)) {
        /* Is there a message meanwhile? */
        timeout = 0;
    }
    n = RETRY_ON_EINTR(epoll_wait(ring->epoll, events, ARRAY_SIZE(events),
                                  timeout));
    qatomic_set(&ring->shared->idle, 0);
    for (int i = 0; i < n; i++) {
        message |= events[i].data.u32 == RING_WAKE_MESSAGE;
    }
    return message;
}
