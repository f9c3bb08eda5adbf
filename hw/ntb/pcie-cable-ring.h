/*
 * PCIe cable: posted writes through shared memory
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A ring of small writes (VfuRing) that the client fills and the server
 * empties, with a socket pair for a server that sleeps.  Putting a write there
 * costs the client one cheap system call, or none when the server is awake.
 * Either side keeps its own index to itself and takes nothing that the other
 * writes for granted.  Knows nothing of connections: the order with respect
 * to messages is what VfuRingEntry.after says.
 */
#ifndef HW_NTB_PCIE_CABLE_RING_H
#define HW_NTB_PCIE_CABLE_RING_H

#include "hw/ntb/vfio-user-proto.h"

typedef struct PCIeCableRing PCIeCableRing;

/**
 * pcie_cable_ring_new: make a ring, for the client
 * @fds: VFU_RING_FDS descriptors to send to the server; they stay the ring's,
 *       pcie_cable_ring_sent() when they have been sent
 *
 * NULL and @errp on failure.
 */
PCIeCableRing *pcie_cable_ring_new(int *fds, Error **errp);

/* Client: the server's end of what wakes it is the server's alone now. */
void pcie_cable_ring_sent(PCIeCableRing *ring);

/**
 * pcie_cable_ring_open: attach to the ring of a client, for the server
 * @fds: the descriptors that came with it; taken over (and set to -1) when
 *       this succeeds
 * @sock: what else pcie_cable_ring_wait() waits for
 *
 * NULL and @errp when they are not what they should be.
 */
PCIeCableRing *pcie_cable_ring_open(int *fds, int sock, Error **errp);

/* NULL is allowed. */
void pcie_cable_ring_free(PCIeCableRing *ring);

/*
 * Client: add @entry; false when the ring is full.  *@wake: call
 * pcie_cable_ring_wake() then.  The caller serializes calls.
 */
bool pcie_cable_ring_put(PCIeCableRing *ring, const VfuRingEntry *entry,
                         bool *wake);

/* Client: the server sleeps, wake it.  Any thread. */
void pcie_cable_ring_wake(PCIeCableRing *ring);

/**
 * pcie_cable_ring_get: server: take the oldest entry
 * @handled: messages of the client that have been handled
 * @left: entries to look at, counted down; pcie_cable_ring_level() before
 *
 * Returns false when there is none, or none that may be carried out yet.
 */
bool pcie_cable_ring_get(PCIeCableRing *ring, uint32_t handled,
                         uint32_t *left, VfuRingEntry *entry);

/*
 * Server: how many entries there are.  False and @errp when the client broke
 * the ring.
 */
bool pcie_cable_ring_level(PCIeCableRing *ring, uint32_t *level,
                           Error **errp);

/*
 * Server: sleep until the socket has something, which returns true, or the
 * ring an entry that may be carried out.
 */
bool pcie_cable_ring_wait(PCIeCableRing *ring, uint32_t handled);

#endif /* HW_NTB_PCIE_CABLE_RING_H */
