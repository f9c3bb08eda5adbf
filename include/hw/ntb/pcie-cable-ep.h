/*
 * PCIe cable, endpoint end: what an endpoint controller sees of its link
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The endpoint end is the vfio-user server.  It belongs to an endpoint
 * controller, which describes its functions (BAR address spaces, config
 * space accessors) and gets in return the address space of the host as each
 * function may reach it.
 *
 * Locks: unless a comment says otherwise, every function here is called with
 * the BQL held and every callback is called with the BQL held, from any
 * thread.  Only pcie_cable_ep_sync() drops the BQL.
 */
#ifndef HW_NTB_PCIE_CABLE_EP_H
#define HW_NTB_PCIE_CABLE_EP_H

#include "hw/ntb/qemu-compat.h"
#include "hw/pci/pci.h"
#include "qom/object.h"

#define PCIE_CABLE_MAX_FUNCTIONS 8
#define PCIE_CABLE_NUM_BARS 6

typedef struct PCIeCableEP PCIeCableEP;

/* What the endpoint controller does for its end of the cable. */
typedef struct PCIeCableEPOps {
    /*
     * The link came up (the physical layer and the data link layer at once)
     * or went down; also from within pcie_cable_ep_set_ltssm().
     */
    void (*link_change)(void *opaque, bool up);

    /*
     * The host reads config space of @fn: @size is 1, 2 or 4, @addr is a
     * multiple of it and below PCIE_CONFIG_SPACE_SIZE.
     */
    uint32_t (*config_read)(void *opaque, unsigned fn, uint32_t addr,
                            unsigned size);

    /* The host writes config space of @fn; same rules. */
    void (*config_write)(void *opaque, unsigned fn, uint32_t addr,
                         uint32_t val, unsigned size);

    /*
     * Which MSI vector of @fn is a write of the 32-bit @data at the PCI
     * address @addr?  Returns the vector's number, or -1 when MSI is off or
     * address or data are not those the host programmed.
     */
    int (*msi_vector)(void *opaque, unsigned fn, uint64_t addr, uint32_t data);

    /* Hot reset or fundamental reset: all functions. */
    void (*hot_reset)(void *opaque);
} PCIeCableEPOps;

/**
 * pcie_cable_ep_new: create the endpoint end
 * @owner: the controller, also the owner of the memory regions made here
 * @socket_path: where to listen; NULL makes an end that never has a peer
 * @num_functions: 1 to PCIE_CABLE_MAX_FUNCTIONS
 * @timeout_ms: completion timeout of outbound requests, 0 waits for ever
 * @ops, @opaque: the controller
 *
 * Listens at once; the link stays down until pcie_cable_ep_set_ltssm().
 * Fails (NULL and @errp) when the socket cannot be made or guest RAM cannot
 * be shared; otherwise the end exists until the machine does not, so make it
 * when nothing else about its owner can fail.
 */
PCIeCableEP *pcie_cable_ep_new(Object *owner, const char *socket_path,
                               unsigned num_functions, uint32_t timeout_ms,
                               const PCIeCableEPOps *ops, void *opaque,
                               Error **errp);

/**
 * pcie_cable_ep_set_ltssm: let the link train, or bring it down
 *
 * The link is up while @enable is true and a peer is connected.
 */
void pcie_cable_ep_set_ltssm(PCIeCableEP *cable, bool enable);

/* Is the link up? */
bool pcie_cable_ep_link_up(PCIeCableEP *cable);

/**
 * pcie_cable_ep_set_present: is there a function @fn?
 *
 * Function 0 is always there.  Takes effect at the next link training.
 */
void pcie_cable_ep_set_present(PCIeCableEP *cable, unsigned fn, bool present);

/**
 * pcie_cable_ep_init_bar: say what the host reaches through a BAR
 * @as: address space of the BAR, offset 0 is the BAR's start.  Accesses that
 *      hit nothing there complete as Unsupported Request.
 * @attrs: attributes of the host's accesses in @as (the stream ID with which
 *      the controller is a master in its SoC)
 *
 * Once for each BAR that can ever exist, at realize; the address space must
 * outlive the cable.  RAM in @as is mapped by the peer when it can be.
 */
void pcie_cable_ep_init_bar(PCIeCableEP *cable, unsigned fn, unsigned bar,
                            AddressSpace *as, MemTxAttrs attrs);

/**
 * pcie_cable_ep_set_bar_size: size in bytes of a BAR, 0 when it is disabled
 *
 * A 64-bit BAR is known by its even number.
 */
void pcie_cable_ep_set_bar_size(PCIeCableEP *cable, unsigned fn, unsigned bar,
                                uint64_t size);

/**
 * pcie_cable_ep_set_command: the function's Command register
 * @value: PCI_COMMAND_MEMORY and PCI_COMMAND_MASTER matter: inbound and
 *         outbound requests are refused while they are clear
 */
void pcie_cable_ep_set_command(PCIeCableEP *cable, unsigned fn,
                               uint16_t value);

/**
 * pcie_cable_ep_host_mr: PCI memory space of the host, as function @fn
 * reaches it
 *
 * A 64-bit region for the controller to alias from its outbound window.
 * Host RAM that the host shared appears as RAM in it; everything else traps
 * and goes to the host as a request with the function's requester ID.
 * Requests that cannot be sent or are not answered in time read as all ones.
 */
MemoryRegion *pcie_cable_ep_host_mr(PCIeCableEP *cable, unsigned fn);

/*
 * The host's memory for a DMA engine
 *
 * Each channel of the engine is a user and has its own thread, which needs no
 * BQL.  What the host has shared is copied to and from directly, in short
 * copies between pcie_cable_dma_begin() and pcie_cable_dma_end().  When the
 * host takes memory or bus mastering away, resets the function or the link
 * goes down, copies on their way are waited for before the host is told that
 * it is done, and later ones are refused: no byte is stored after that.
 */

typedef struct PCIeCableDMA PCIeCableDMA;

typedef enum PCIeCableDMAError {
    PCIE_CABLE_DMA_OK,
    PCIE_CABLE_DMA_LINK_DOWN,
    PCIE_CABLE_DMA_NOT_MASTER,  /* the function's BME is off */
    PCIE_CABLE_DMA_UNSUPPORTED, /* nothing there, or read-only */
    PCIE_CABLE_DMA_ABORT,       /* the host answered with another error */
    PCIE_CABLE_DMA_TIMEOUT,     /* the host did not answer in time */
} PCIeCableDMAError;

/* Most that one read or write by request carries, bytes. */
#define PCIE_CABLE_DMA_MAX_REQUEST (64 * 1024)

/* A new user, for as long as the cable exists; BQL held. */
PCIeCableDMA *pcie_cable_dma_new(PCIeCableEP *cable);

/**
 * pcie_cable_dma_begin: find host memory
 * @len: the bytes wanted; on return how many of them are there, at least 1
 * @host: where they are mapped; NULL when they are reached by request
 *
 * With @host set the host waits for pcie_cable_dma_end(): the caller copies
 * at most 1 MiB, and takes no lock that others hold for long, the BQL least
 * of all.  With @host NULL or an error there is nothing to end.
 */
PCIeCableDMAError pcie_cable_dma_begin(PCIeCableDMA *dma, unsigned fn,
                                       uint64_t addr, bool write,
                                       uint64_t *len, void **host);
void pcie_cable_dma_end(PCIeCableDMA *dma);

/*
 * Read by request; waits for the host, up to the completion timeout.  @len is
 * what pcie_cable_dma_begin() found.  BQL not held.
 */
PCIeCableDMAError pcie_cable_dma_read(PCIeCableDMA *dma, unsigned fn,
                                      uint64_t addr, void *buf, uint32_t len);

/*
 * Write by request, of what pcie_cable_dma_begin() found.  Never waits; one
 * at a time: pcie_cable_dma_flush() must come before the next.
 */
PCIeCableDMAError pcie_cable_dma_write(PCIeCableDMA *dma, unsigned fn,
                                       uint64_t addr, const void *buf,
                                       uint32_t len);

/* Wait until the host has done the write.  BQL not held. */
PCIeCableDMAError pcie_cable_dma_flush(PCIeCableDMA *dma);

/*
 * Post a write of the 32-bit @data, an interrupt message: it may raise an
 * MSI.  The host sees it behind all that this user has copied or flushed.
 * BQL not held.
 */
PCIeCableDMAError pcie_cable_dma_post(PCIeCableDMA *dma, unsigned fn,
                                      uint64_t addr, uint32_t data);

/**
 * pcie_cable_ep_sync: wait until the host has no old inbound mapping left
 *
 * Call it as the very last step of a register write that may have changed
 * what a BAR shows (iATU, BAR mask): it drops the BQL until the host has
 * acknowledged every change.  Does nothing in a thread that serves the host
 * (a host that writes the iATU through a BAR does not wait for itself).
 * Memory regions whose callbacks call this need disable_reentrancy_guard.
 */
void pcie_cable_ep_sync(PCIeCableEP *cable);

#endif /* HW_NTB_PCIE_CABLE_EP_H */
