/*
 * PCIe cable: posted writes through shared memory
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Who sleeps and who wakes: the server says that it is idle, then looks at
 * the ring once more; the client moves the head, then looks whether the
 * server is idle.  With a full barrier between the two steps of each, one of
 * them sees what the other did.
 *
 * The wake-up is a byte through a socket pair.  An eventfd or a pipe would
 * cost less, but the peer could make the client, a vCPU with the BQL, sleep in
 * a write to it: what it does to its end of a socket pair changes nothing of a
 * send with MSG_DONTWAIT.
 */

#include "qemu/osdep.h"
#include <sys/epoll.h>
#include <sys/mman.h>
#include "qapi/error.h"
#include "qemu/atomic.h"
#include "qemu/memfd.h"
#include "qemu/sockets.h"
#include "hw/ntb/pcie-cable-window.h"
#include "pcie-cable-ring.h"

enum { RING_WAKE_MESSAGE, RING_WAKE_POSTED };

/*
 * The server takes the bytes away after so many sleeps, each of which one
 * byte at the most ends; the socket has room for more.
 */
#define RING_DRAIN_SLEEPS 32

struct PCIeCableRing {
    VfuRing *shared;
    int memfd;
    int wake;                   /* this side's end of the socket pair */
    int peer_wake;              /* client: the other end until it is sent */
    int epoll;                  /* server; -1 in the client */
    unsigned sleeps;            /* server: since the last drain */
    uint32_t index;             /* client: the head, server: the tail */
};

PCIeCableRing *pcie_cable_ring_new(int *fds, Error **errp)
{
    PCIeCableRing *ring = g_new0(PCIeCableRing, 1);
    int pair[2];

    if (qemu_socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0) {
        error_setg_errno(errp, errno, "no socket pair");
        g_free(ring);
        return NULL;
    }
    ring->wake = pair[0];
    ring->peer_wake = pair[1];
    ring->epoll = -1;
    ring->memfd = -1;
    ring->shared = qemu_memfd_alloc("cable-ring", sizeof(VfuRing),
                                    F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL,
                                    &ring->memfd, errp);
    if (!ring->shared) {
        pcie_cable_ring_free(ring);
        return NULL;
    }
    fds[VFU_RING_FD_MEMORY] = ring->memfd;
    fds[VFU_RING_FD_WAKE] = ring->peer_wake;
    return ring;
}

void pcie_cable_ring_sent(PCIeCableRing *ring)
{
    close(ring->peer_wake);
    ring->peer_wake = -1;
}

/* Is @fd one end of a unix stream?  Asks no file system, whatever it is. */
static bool is_stream(int fd)
{
    int domain, type;
    socklen_t len = sizeof(int);

    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 &&
           getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 &&
           domain == AF_UNIX && type == SOCK_STREAM;
}

/* Messages level-triggered; wake-ups edge-triggered, few are ever read. */
static int ring_epoll(int wake, int sock)
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
         epoll_ctl(epoll, EPOLL_CTL_ADD, wake, &ring_in) < 0)) {
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
    if (!is_stream(fds[VFU_RING_FD_WAKE])) {
        error_setg(errp, "the descriptor that wakes is no unix stream");
        return NULL;
    }
    epoll = ring_epoll(fds[VFU_RING_FD_WAKE], sock);
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
    ring->wake = fds[VFU_RING_FD_WAKE];
    ring->peer_wake = -1;
    ring->epoll = epoll;
    fds[VFU_RING_FD_MEMORY] = fds[VFU_RING_FD_WAKE] = -1;
    return ring;
}

void pcie_cable_ring_free(PCIeCableRing *ring)
{
    if (!ring) {
        return;
    }
    if (ring->epoll >= 0) {
        close(ring->epoll);
    }
    if (ring->peer_wake >= 0) {
        close(ring->peer_wake);
    }
    close(ring->wake);
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
    ssize_t ignored;

    /* No room: it has not taken what woke it, so it is awake. */
    ignored = send(ring->wake, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)ignored;
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

/* What came so far woke us before; the ring is looked at behind this. */
static void ring_drain(PCIeCableRing *ring)
{
    uint8_t bytes[8 * RING_DRAIN_SLEEPS];
    ssize_t ignored;

    if (++ring->sleeps % RING_DRAIN_SLEEPS == 0) {
        ignored = recv(ring->wake, bytes, sizeof(bytes), MSG_DONTWAIT);
        (void)ignored;
    }
}

bool pcie_cable_ring_wait(PCIeCableRing *ring, uint32_t handled)
{
    struct epoll_event events[2];
    bool message = false;
    int timeout = -1, n;

    ring_drain(ring);
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
