/*
 * DesignWare eDMA: the engine, independent of its bus
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Moves data between the memory of an SoC (local) and PCI memory.  A write
 * channel reads locally at SAR and writes to PCI memory at DAR, a read channel
 * reads PCI memory at SAR and writes locally at DAR.  Linked lists are local.
 * The owner decodes register accesses, reaches PCI memory for the engine and
 * has its interrupt lines.
 *
 * Each channel has a thread of its own.  It copies in pieces of at most
 * DW_EDMA_CHUNK bytes and holds no lock of QEMU's while it copies memory.
 */
#ifndef HW_DMA_DW_EDMA_H
#define HW_DMA_DW_EDMA_H

#include "exec/hwaddr.h"
#include "exec/memattrs.h"
#include "qom/object.h"
#include "hw/dma/dw-edma-regs.h"

/* A stop, a reset or a pause takes effect after at most this many bytes. */
#define DW_EDMA_CHUNK (1024 * 1024)

/* Most that one request to the host carries, bytes. */
#define DW_EDMA_REQUEST (64 * 1024)

/* Register maps; the values are those of Linux's enum dw_edma_map_format. */
typedef enum DWEDMAMap {
    DW_EDMA_MAP_LEGACY = 0,
    DW_EDMA_MAP_UNROLL = 1,
    DW_EDMA_MAP_HDMA_COMPAT = 5,
    DW_EDMA_MAP_HDMA_NATIVE = 7,
} DWEDMAMap;

typedef enum DWEDMADir {
    DW_EDMA_WRITE,              /* local to PCI */
    DW_EDMA_READ,               /* PCI to local */
    DW_EDMA_NUM_DIRS,
} DWEDMADir;

/* Why a channel cannot go on. */
typedef enum DWEDMAFault {
    DW_EDMA_FAULT_NONE,
    DW_EDMA_FAULT_LL_FETCH,     /* no element can be read at LLP */
    DW_EDMA_FAULT_LOCAL,        /* bus error in the SoC */
    DW_EDMA_FAULT_UNSUPPORTED,  /* nothing is at that PCI address */
    DW_EDMA_FAULT_CPL_ABORT,    /* the host answered with another error */
    DW_EDMA_FAULT_CPL_TIMEOUT,  /* the host did not answer */
    DW_EDMA_FAULT_LINK_DOWN,
    DW_EDMA_FAULT_NOT_MASTER,   /* the function's bus master enable is off */
} DWEDMAFault;

/*
 * What the owner does for the engine.  All functions but irq() are called in
 * the threads of the channels, no lock held unless said otherwise.  @user is
 * the channel, counted from 0 over all write and then all read channels: calls
 * of one user never overlap.
 */
typedef struct DWEDMAOps {
    /*
     * Find PCI memory at @addr of function @fn, for writing when @write is
     * set.  *@len comes as what is asked for and returns as what is there,
     * at least 1.  If it is mapped here, *@host is where and may be used
     * until pcie_end(), for no longer than it takes to copy DW_EDMA_CHUNK
     * bytes: the host waits for it.  *@host = NULL: not mapped, there is no
     * pcie_end(), requests reach it.
     */
    DWEDMAFault (*pcie_begin)(void *opaque, unsigned user, unsigned fn,
                              uint64_t addr, bool write, uint64_t *len,
                              void **host);
    void (*pcie_end)(void *opaque, unsigned user);

    /* Read by request, DW_EDMA_REQUEST bytes at most; waits for the host. */
    DWEDMAFault (*pcie_read)(void *opaque, unsigned user, unsigned fn,
                             uint64_t addr, void *buf, uint32_t len);

    /*
     * Write by request, DW_EDMA_REQUEST bytes at most; pcie_flush() follows.
     * Neither waits nor takes the BQL: a lock of the channel is held.
     */
    DWEDMAFault (*pcie_write)(void *opaque, unsigned user, unsigned fn,
                              uint64_t addr, const void *buf, uint32_t len);

    /* Wait until the host has taken what pcie_write() sent. */
    DWEDMAFault (*pcie_flush)(void *opaque, unsigned user);

    /*
     * Post the interrupt message @data (IMWr) behind all that this user has
     * written.  It may be an MSI.  May take the BQL.
     */
    DWEDMAFault (*pcie_post)(void *opaque, unsigned user, unsigned fn,
                             uint64_t addr, uint32_t data);

    /* May the engine reach @mr of the SoC?  Called in an RCU read section. */
    bool (*local_allowed)(void *opaque, MemoryRegion *mr);

    /*
     * Interrupt levels of all channels, bit n of levels[dir] is channel n of
     * that direction.  BQL held.
     */
    void (*irq)(void *opaque, const uint64_t levels[DW_EDMA_NUM_DIRS]);
} DWEDMAOps;

/* How the engine was synthesised and where it sits. */
typedef struct DWEDMAConfig {
    DWEDMAMap map;
    unsigned channels[DW_EDMA_NUM_DIRS];
    unsigned num_functions;     /* PCI functions that a channel may name */
    AddressSpace *local;
    MemTxAttrs attrs;           /* of the engine as a master in its SoC */
    const DWEDMAOps *ops;
    void *opaque;
} DWEDMAConfig;

typedef struct DWEDMA DWEDMA;

/*
 * Does the map have the channels that @config asks for?  They are 1 to 8 a
 * direction, 1 to 64 in the HDMA native map; sets @errp otherwise.
 */
bool dw_edma_check(const DWEDMAConfig *config, Error **errp);

/*
 * An engine in its reset state, for as long as the machine exists.  @config
 * has passed dw_edma_check().  BQL held.
 */
DWEDMA *dw_edma_new(const DWEDMAConfig *config);

/*
 * Reset all registers and stop all channels.  Nothing is copied any more when
 * it returns; it waits for one bounded memcpy a channel, never for the host.
 * BQL held.
 */
void dw_edma_reset(DWEDMA *dma);

/* Access the 32-bit register at @offset, a multiple of 4.  BQL held. */
uint32_t dw_edma_read(DWEDMA *dma, hwaddr offset);
void dw_edma_write(DWEDMA *dma, hwaddr offset, uint32_t val);

/* Bytes that the register map of @config takes. */
uint64_t dw_edma_map_size(const DWEDMAConfig *config);

#endif /* HW_DMA_DW_EDMA_H */
