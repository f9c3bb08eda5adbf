/*
 * The wire: vfio-user 0.0 messages and the extensions of the PCIe cable
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Layouts follow docs/interop/vfio-user.rst; constants that vfio-user takes
 * from the VFIO kernel interface follow linux/vfio.h.  All fields are in the
 * byte order of the host.  Every struct here is what is on the wire behind
 * the header, without the variable data that may follow it.
 */
#ifndef HW_NTB_VFIO_USER_PROTO_H
#define HW_NTB_VFIO_USER_PROTO_H

#define VFU_MAJOR 0
#define VFU_MINOR 0

typedef struct VfuHdr {
    uint16_t id;
    uint16_t command;
    uint32_t size;              /* of the whole message, this header too */
    uint32_t flags;
    uint32_t error;             /* errno, valid with VFU_F_ERROR */
} VfuHdr;
QEMU_BUILD_BUG_ON(sizeof(VfuHdr) != 16);

enum VfuCommand {
    VFU_VERSION                 = 1,
    VFU_DMA_MAP                 = 2,
    VFU_DMA_UNMAP               = 3,
    VFU_DEVICE_GET_INFO         = 4,
    VFU_DEVICE_GET_REGION_INFO  = 5,
    VFU_DEVICE_GET_REGION_IO_FDS = 6,
    VFU_DEVICE_GET_IRQ_INFO     = 7,
    VFU_DEVICE_SET_IRQS         = 8,
    VFU_REGION_READ             = 9,
    VFU_REGION_WRITE            = 10,
    VFU_DMA_READ                = 11,
    VFU_DMA_WRITE               = 12,
    VFU_DEVICE_RESET            = 13,
    VFU_REGION_WRITE_MULTI      = 15,
    /* Extension "region-remap", server to client */
    VFU_REGION_REMAP            = 0x8001,
    /* Extension "link-state", server to client */
    VFU_LINK_STATE              = 0x8002,
    /* Extension "posted-ring", client to server */
    VFU_POSTED_RING             = 0x8003,
};

/* VfuHdr.flags */
#define VFU_F_TYPE              0x0000000fu
#define VFU_F_REQUEST           0x00000000u
#define VFU_F_REPLY             0x00000001u
#define VFU_F_NO_REPLY          0x00000010u
#define VFU_F_ERROR             0x00000020u
/*
 * Extension "link-state": which PCI function a message is about.  Plain
 * vfio-user leaves these bits zero, which is function 0.
 */
#define VFU_F_FUNCTION_SHIFT    8
#define VFU_F_FUNCTION          0x0000ff00u
#define VFU_F_KNOWN             (VFU_F_TYPE | VFU_F_NO_REPLY | VFU_F_ERROR | \
                                 VFU_F_FUNCTION)

/* VFU_VERSION, then the capabilities as a NUL-terminated JSON object */
typedef struct VfuVersion {
    uint16_t major;
    uint16_t minor;
} VfuVersion;
QEMU_BUILD_BUG_ON(sizeof(VfuVersion) != 4);

#define VFU_CAP_MAX_FDS         "max_msg_fds"
#define VFU_CAP_MAX_XFER        "max_data_xfer_size"
#define VFU_CAP_PGSIZES         "pgsizes"
#define VFU_CAP_MAX_DMA_MAPS    "max_dma_maps"
#define VFU_CAP_WRITE_MULTIPLE  "write_multiple"
#define VFU_CAP_REGION_REMAP    "region-remap"
#define VFU_CAP_LINK_STATE      "link-state"
#define VFU_CAP_POSTED_RING     "posted-ring"

/* VFU_DMA_MAP, with the file descriptor unless the range is not mappable */
typedef struct VfuDmaMap {
    uint32_t argsz;
    uint32_t flags;
    uint64_t offset;            /* in the file */
    uint64_t address;
    uint64_t size;
} VfuDmaMap;
QEMU_BUILD_BUG_ON(sizeof(VfuDmaMap) != 32);

#define VFU_DMA_MAP_READ        0x1u
#define VFU_DMA_MAP_WRITE       0x2u

/* VFU_DMA_UNMAP */
typedef struct VfuDmaUnmap {
    uint32_t argsz;
    uint32_t flags;
    uint64_t address;
    uint64_t size;
} VfuDmaUnmap;
QEMU_BUILD_BUG_ON(sizeof(VfuDmaUnmap) != 24);

#define VFU_DMA_UNMAP_ALL       0x2u

/* VFU_DEVICE_GET_INFO */
typedef struct VfuDeviceInfo {
    uint32_t argsz;
    uint32_t flags;
    uint32_t num_regions;
    uint32_t num_irqs;
} VfuDeviceInfo;
QEMU_BUILD_BUG_ON(sizeof(VfuDeviceInfo) != 16);

#define VFU_DEVICE_FLAGS_RESET  0x1u
#define VFU_DEVICE_FLAGS_PCI    0x2u

/* VFU_DEVICE_GET_REGION_INFO */
typedef struct VfuRegionInfo {
    uint32_t argsz;
    uint32_t flags;
    uint32_t index;
    uint32_t cap_offset;
    uint64_t size;
    uint64_t offset;
} VfuRegionInfo;
QEMU_BUILD_BUG_ON(sizeof(VfuRegionInfo) != 32);

#define VFU_REGION_FLAG_READ    0x1u
#define VFU_REGION_FLAG_WRITE   0x2u

enum VfuRegion {
    VFU_REGION_BAR0 = 0,
    VFU_REGION_BAR5 = 5,
    VFU_REGION_ROM = 6,
    VFU_REGION_CONFIG = 7,
    VFU_REGION_VGA = 8,
    VFU_NUM_REGIONS = 9,
};

/* VFU_DEVICE_GET_IRQ_INFO */
typedef struct VfuIrqInfo {
    uint32_t argsz;
    uint32_t flags;
    uint32_t index;
    uint32_t count;
} VfuIrqInfo;
QEMU_BUILD_BUG_ON(sizeof(VfuIrqInfo) != 16);

#define VFU_IRQ_INFO_EVENTFD    0x1u
#define VFU_IRQ_INFO_MASKABLE   0x2u
#define VFU_IRQ_INFO_AUTOMASKED 0x4u
#define VFU_IRQ_INFO_NORESIZE   0x8u

enum VfuIrq {
    VFU_IRQ_INTX = 0,
    VFU_IRQ_MSI = 1,
    VFU_IRQ_MSIX = 2,
    VFU_IRQ_ERR = 3,
    VFU_IRQ_REQ = 4,
    VFU_NUM_IRQS = 5,
};

/* VFU_DEVICE_SET_IRQS, with the eventfds */
typedef struct VfuIrqSet {
    uint32_t argsz;
    uint32_t flags;
    uint32_t index;
    uint32_t start;
    uint32_t count;
} VfuIrqSet;
QEMU_BUILD_BUG_ON(sizeof(VfuIrqSet) != 20);

#define VFU_IRQ_SET_DATA_NONE       0x01u
#define VFU_IRQ_SET_DATA_BOOL       0x02u
#define VFU_IRQ_SET_DATA_EVENTFD    0x04u
#define VFU_IRQ_SET_DATA_TYPE       0x07u
#define VFU_IRQ_SET_ACTION_MASK     0x08u
#define VFU_IRQ_SET_ACTION_UNMASK   0x10u
#define VFU_IRQ_SET_ACTION_TRIGGER  0x20u
#define VFU_IRQ_SET_ACTION_TYPE     0x38u

/* VFU_REGION_READ and VFU_REGION_WRITE, then data */
typedef struct VfuRegionRW {
    uint64_t offset;
    uint32_t region;
    uint32_t count;
} VfuRegionRW;
QEMU_BUILD_BUG_ON(sizeof(VfuRegionRW) != 16);

/* VFU_REGION_WRITE_MULTI, then @count times VfuWriteOne; its reply */
typedef struct VfuWriteMulti {
    uint64_t count;             /* of writes; in the reply: carried out */
} VfuWriteMulti;
QEMU_BUILD_BUG_ON(sizeof(VfuWriteMulti) != 8);

#define VFU_WRITE_ONE_MAX       8u

typedef struct VfuWriteOne {
    VfuRegionRW rw;             /* at most VFU_WRITE_ONE_MAX bytes */
    uint8_t data[VFU_WRITE_ONE_MAX];
} VfuWriteOne;
QEMU_BUILD_BUG_ON(sizeof(VfuWriteOne) != 24);

/* VFU_DMA_READ and VFU_DMA_WRITE, then data */
typedef struct VfuDmaRW {
    uint64_t address;
    uint64_t count;
} VfuDmaRW;
QEMU_BUILD_BUG_ON(sizeof(VfuDmaRW) != 16);

/*
 * The same as QEMU's own client (hw/vfio-user, 10.1 and later) has it, other
 * than the document: requests and replies, data right behind.
 */
typedef struct QEMU_PACKED VfuDmaRWPacked {
    uint64_t address;
    uint32_t count;
} VfuDmaRWPacked;
QEMU_BUILD_BUG_ON(sizeof(VfuDmaRWPacked) != 12);

/*
 * VFU_REGION_REMAP (extension "region-remap"): from now on the pages
 * [offset, offset + size) of BAR @region show a file's contents from
 * @fd_offset on, or (flags 0, no file descriptor) trap.  The reply is sent
 * when no vCPU can reach the old mapping any more.
 */
typedef struct VfuRegionRemap {
    uint32_t argsz;
    uint32_t flags;
    uint32_t region;
    uint32_t reserved;
    uint64_t offset;
    uint64_t size;
    uint64_t fd_offset;
} VfuRegionRemap;
QEMU_BUILD_BUG_ON(sizeof(VfuRegionRemap) != 40);

#define VFU_REMAP_READ          0x1u
#define VFU_REMAP_WRITE         0x2u

/*
 * VFU_LINK_STATE (extension "link-state"): the link went up or down.
 * Region and IRQ information of a function is valid while the link is up.
 */
typedef struct VfuLinkState {
    uint32_t argsz;
    uint32_t up;                /* 0 or 1 */
    uint32_t functions;         /* bit N: function N is there */
    uint32_t reserved;
} VfuLinkState;
QEMU_BUILD_BUG_ON(sizeof(VfuLinkState) != 16);

/*
 * VFU_POSTED_RING (extension "posted-ring"), with two file descriptors: from
 * now on the client may put writes to BARs into a ring in memory instead of
 * sending a REGION_WRITE.  No reply.
 */
typedef struct VfuPostedRing {
    uint32_t argsz;
    uint32_t entries;           /* VFU_RING_ENTRIES */
} VfuPostedRing;
QEMU_BUILD_BUG_ON(sizeof(VfuPostedRing) != 8);

enum {
    VFU_RING_FD_MEMORY,         /* memfd with a VfuRing, may not be shrunk */
    VFU_RING_FD_WAKE,           /* unix stream, a byte wakes the server */
    VFU_RING_FDS,
};

#define VFU_RING_ENTRIES        256u

typedef struct VfuRingEntry {
    VfuWriteOne write;          /* to a BAR */
    uint32_t function;
    /*
     * How many messages the client had sent before on this connection,
     * modulo 2^32.  The server carries the write out behind the last of them
     * and before any later one.
     */
    uint32_t after;
} VfuRingEntry;
QEMU_BUILD_BUG_ON(sizeof(VfuRingEntry) != 32);

/* Counts of entries run freely and wrap; a cache line for each side. */
typedef struct VfuRing {
    uint32_t head;              /* client: entries put */
    uint32_t reserved0[15];
    uint32_t tail;              /* server: entries taken */
    uint32_t idle;              /* server sets 1: wake me; client sets 0 */
    uint32_t reserved1[14];
    VfuRingEntry entries[VFU_RING_ENTRIES];
} VfuRing;
QEMU_BUILD_BUG_ON(sizeof(VfuRing) != 128 + 32 * VFU_RING_ENTRIES);

/* What this implementation offers and accepts */
#define VFU_PAGE_SIZE           4096u
#define VFU_MAX_FDS             16
#define VFU_MAX_XFER            (64 * 1024)
#define VFU_MAX_DMA_MAPS        4096
/* Header, fixed part and data; VERSION's JSON fits too. */
#define VFU_MAX_MSG             (VFU_MAX_XFER + 256)

#endif /* HW_NTB_VFIO_USER_PROTO_H */
