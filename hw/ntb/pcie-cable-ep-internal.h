/*
 * PCIe cable, endpoint end: what its files share
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * pcie-cable-ep.c owns the link and its state, -server.c answers the host's
 * messages, -host.c owns the host's memory as the functions reach it, -dma.c
 * hands it to DMA engines, -request.c knows how the host lays out DMA requests,
 * -remap.c owns what the host maps of the BARs.  Fields belong to the file
 * named at their group; BQL protects them unless said otherwise.
 */
#ifndef HW_NTB_PCIE_CABLE_EP_INTERNAL_H
#define HW_NTB_PCIE_CABLE_EP_INTERNAL_H

#include "qemu/lockable.h"
#include "qemu/notify.h"
#include "qemu/rcu.h"
#include "qemu/thread.h"
#include "hw/ntb/pcie-cable-caps.h"
#include "hw/ntb/pcie-cable-conn.h"
#include "hw/ntb/pcie-cable-ep.h"
#include "hw/ntb/pcie-cable-window.h"

#define EP_MSI_VECTORS 32
/* Longest reply to a DMA_READ of @n bytes */
#define EP_REPLY_SIZE(n) (sizeof(VfuDmaRW) + (n))

/* How the host lays out DMA_READ and DMA_WRITE */
typedef enum EPDmaLayout {
    EP_DMA_UNKNOWN,             /* a plain client that nobody has asked yet */
    EP_DMA_DOCUMENT,            /* VfuDmaRW */
    EP_DMA_PACKED,              /* VfuDmaRWPacked */
} EPDmaLayout;

/* What a DMA engine reaches of the host's memory, -dma.c. */
typedef struct EPExtents EPExtents;

/* One range of a BAR that is RAM of this machine. */
typedef struct EPRange {
    uint64_t offset;            /* in the BAR, bytes */
    uint64_t size;              /* bytes */
    int fd;                     /* of the RAM block, not ours */
    uint64_t fd_offset;
    bool readonly;
} EPRange;

typedef struct EPBar {
    PCIeCableEP *cable;
    unsigned fn, index;
    AddressSpace *as;           /* NULL: this BAR cannot exist */
    MemTxAttrs attrs;
    Stat64 size;                /* bytes; the server reads it */

    /* -remap.c */
    MemoryListener listener;
    bool touched;               /* callbacks since the last begin */
    GArray *found;              /* EPRange, as the callbacks found them */
    GArray *ranges;             /* EPRange, what the SoC shows now */
    GArray *shown;              /* EPRange, what the peer maps */
} EPBar;

typedef struct EPFunction {
    PCIeCableEP *cable;
    unsigned fn;
    bool present;
    uint16_t command;           /* atomic: the server reads it */
    EPBar bars[PCIE_CABLE_NUM_BARS];

    /* -host.c */
    MemoryRegion host;          /* root: traps unless a window is there */
    MemoryRegion host_ram;      /* container of windows */
    GPtrArray *maps;            /* EPMap, as the host made them */
    /* posted_lock: DMA_WRITEs sent and replied to, in order */
    uint64_t posted, completed;
    uint32_t msi_deferred;      /* bit per vector */
    uint64_t msi_behind[EP_MSI_VECTORS]; /* value of posted to wait for */
    bool reported_bme, reported_map;

    /* -dma.c */
    EPExtents *extents;         /* atomic, written with the BQL */

    /* -server.c */
    QemuMutex irq_lock;
    int irq_fds[EP_MSI_VECTORS]; /* -1: none; irq_lock */
} EPFunction;

struct PCIeCableEP {
    Object *owner;
    const PCIeCableEPOps *ops;
    void *opaque;
    unsigned num_functions;
    EPFunction functions[PCIE_CABLE_MAX_FUNCTIONS];
    uint32_t timeout_ms;

    /* -ep.c */
    char *socket_path;
    int listen_fd;
    Notifier exit_notifier, machine_done;
    PCIeCableConn *conn;        /* RCU: other threads take a reference */
    PCIeCableStats stats;
    PCIeCableCaps peer;
    bool negotiated;            /* peer's VERSION is answered; atomic read */
    bool version_waits;         /* a plain peer waits for the link */
    VfuHdr version_hdr;
    bool ltssm;
    bool link_up;               /* written with the BQL, atomic to read */
    char *last_reason;          /* of the last close; server thread */
    uint32_t link_functions;    /* bit N: function N, as trained */

    /* -host.c */
    QemuMutex posted_lock;

    /* -dma.c */
    QLIST_HEAD(, PCIeCableDMA) dma_users;
    QemuEvent dma_left;         /* a user ended a copy */
    int dma_waits;              /* atomic: somebody waits for dma_left */

    /* -request.c */
    EPDmaLayout dma_layout;     /* of this connection; atomic */

    /* -server.c: unmaps and BME changes that vCPUs have not all seen */
    int flushes;                /* atomic */
    uint8_t *xfer;              /* VFU_MAX_XFER bytes, server thread */

    /* -remap.c */
    QemuMutex remap_lock;
    QemuCond remap_cond;
    unsigned remaps;            /* not acknowledged; remap_lock, atomic read */
};

/* A reference to the connection, or NULL.  Any thread. */
PCIeCableConn *pcie_cable_ep_get_conn(PCIeCableEP *cable);

/* -ep.c: the peer's VERSION was acceptable.  Server thread, BQL held. */
void pcie_cable_ep_negotiated(PCIeCableEP *cable, const VfuHdr *hdr);

/* -server.c */
bool pcie_cable_ep_request(void *opaque, PCIeCableConn *conn,
                           PCIeCableRequest *req, Error **errp);
void pcie_cable_ep_drop_irqs(EPFunction *f);
/* Signal a vector.  Any thread. */
void pcie_cable_ep_signal(EPFunction *f, unsigned vector);

/* -host.c */
void pcie_cable_ep_host_init(EPFunction *f);
/* Show or hide the windows, after a change of BME or of the link. */
void pcie_cable_ep_host_update(EPFunction *f);
void pcie_cable_ep_host_drop_maps(EPFunction *f);
/*
 * May @fd, as it came with @map, be mapped?  Otherwise the range is reached
 * by messages.  Server thread, BQL not held: what @fd is is not known yet.
 */
bool pcie_cable_ep_host_check_map(EPFunction *f, const VfuDmaMap *map, int fd);
/*
 * Returns 0 or a negative errno for the peer.  @fd is -1 or checked, and
 * taken over when it is set to -1.  Server thread, BQL held.
 */
int pcie_cable_ep_host_map(EPFunction *f, const VfuDmaMap *map, int *fd);
int pcie_cable_ep_host_unmap(EPFunction *f, const VfuDmaUnmap *unmap);

/*
 * Post a write of @size bytes, 8 at the most, to memory that is not mapped
 * here.  BQL held.
 */
void pcie_cable_ep_host_post(EPFunction *f, uint64_t addr, uint64_t value,
                             unsigned size);
/*
 * Wait for the host when too many posted writes are on their way; drops the
 * BQL.  A thread that is no vCPU waits without the BQL only.
 */
void pcie_cable_ep_host_push(EPFunction *f, PCIeCableConn *conn,
                             uint64_t addr);
/* Says once that a request of @f to @addr is dropped, BME is off. */
void pcie_cable_ep_report_bme(EPFunction *f, uint64_t addr);

/* -dma.c; BQL held.  They wait for copies of DMA engines on their way. */

void pcie_cable_ep_dma_init(EPFunction *f);
/* @host: where @size bytes of the host's memory at @addr are. */
void pcie_cable_ep_dma_add(EPFunction *f, uint64_t addr, uint64_t size,
                           void *host, bool readonly);
/* Whether or not anything was added there. */
void pcie_cable_ep_dma_remove(EPFunction *f, uint64_t addr);
/* The link or the function's BME has changed. */
void pcie_cable_ep_dma_update(EPFunction *f);

/*
 * -request.c: requests to the peer of @conn.  Those that wait drop the BQL
 * while they do and return 0 or a negative errno, as pcie_cable_conn_call().
 * Any thread.
 */

/*
 * How the peer lays out DMA requests.  When nobody knows yet it is asked to
 * read nothing at @addr, which a request follows, and has @timeout_ms (0: for
 * ever) to answer.
 */
int pcie_cable_ep_request_layout(PCIeCableEP *cable, PCIeCableConn *conn,
                                 unsigned fn, uint64_t addr,
                                 uint32_t timeout_ms, EPDmaLayout *layout);
/*
 * Read @size bytes; none pushes the writes before it.  @reply has room for
 * EP_REPLY_SIZE(@size) bytes, *@data is where in it they are.
 */
int pcie_cable_ep_request_read(PCIeCableEP *cable, PCIeCableConn *conn,
                               unsigned fn, uint64_t addr, void *reply,
                               uint32_t size, const uint8_t **data);
/* Write, posted; @done hears of the answer. */
void pcie_cable_ep_request_write(PCIeCableConn *conn, EPDmaLayout layout,
                                 unsigned fn, uint64_t addr, const void *data,
                                 uint32_t size, PCIeCableReplyFn *done,
                                 void *opaque);

/* -remap.c */
/* Have the peer drop all its mappings, the link goes down. */
void pcie_cable_ep_remap_withdraw(PCIeCableEP *cable);
/* Tell the peer what differs between ranges and shown. */
void pcie_cable_ep_remap_update(EPBar *bar);

#endif /* HW_NTB_PCIE_CABLE_EP_INTERNAL_H */
