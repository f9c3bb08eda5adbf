/*
 * DesignWare eDMA: what the files of the engine offer one another
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * dw-edma.c owns the channels' states and threads, -ll.c walks the linked
 * list of one channel, -copy.c moves the data of one element, and a file for
 * each kind of register map (-v0.c, -hdma.c) owns its registers and says what
 * software is told about the events of a channel.
 *
 * Locks, outermost first: the BQL; DWEDMA.lock protects registers and
 * contexts, for a few instructions at a time, or for one chunk when a channel
 * is disabled; DWEDMAChannel.busy is held by the channel's thread while it
 * copies one chunk or sends one request, which takes the owner's locks for
 * sending, never the BQL or DWEDMA.lock.
 */
#ifndef HW_DMA_DW_EDMA_INTERNAL_H
#define HW_DMA_DW_EDMA_INTERNAL_H

#include "qemu/log.h"
#include "qemu/thread.h"
#include "hw/dma/dw-edma.h"

/* CS field of CH_CONTROL1, HDMA_STATUS */
typedef enum DWEDMAState {
    DW_EDMA_IDLE = 0,           /* never started */
    DW_EDMA_RUNNING = 1,
    DW_EDMA_HALTED = 2,         /* by a fault */
    DW_EDMA_STOPPED = 3,
} DWEDMAState;

/* Why a channel stopped without a fault. */
typedef enum DWEDMAStop {
    DW_EDMA_STOP_LIST_END,      /* an element whose CB is not CCS */
    DW_EDMA_STOP_BLOCK_DONE,    /* the block without a list */
    DW_EDMA_STOP_REQUEST,       /* software said so, dw_edma_stop() */
} DWEDMAStop;

/* An IMWr on its way */
typedef struct DWEDMAMessage {
    uint64_t addr;
    uint32_t value;
} DWEDMAMessage;

/* Most that one step of a channel can cause: element, stop */
#define DW_EDMA_MAX_MESSAGES 4

/* What a channel is programmed to do and how far it got. */
typedef struct DWEDMAContext {
    bool list;                  /* LLE: elements at llp, not one block */
    bool ccs;                   /* consumer cycle state */
    uint8_t fn;                 /* PCI function of its requests */
    uint32_t control;           /* CB to RIE, of the element or the block */
    uint32_t size;              /* bytes left */
    uint64_t sar, dar;          /* next byte */
    uint64_t llp;               /* next element */
    /* The thread's: an element or block is being moved, found at */
    bool loaded;
    uint64_t element;
} DWEDMAContext;

typedef struct DWEDMAChannel {
    DWEDMA *dma;
    DWEDMADir dir;
    unsigned index;             /* in its direction */
    unsigned user;              /* in the engine */

    /* lock */
    DWEDMAContext ctx;          /* software's unless RUNNING */
    DWEDMAState state;
    unsigned generation;        /* of ctx: a start or a reset makes a new one */
    bool doorbell;              /* rung since the thread looked at the list */
    bool stop_requested;
    DWEDMAMessage messages[DW_EDMA_MAX_MESSAGES];
    unsigned num_messages;
    QemuCond wake;
    bool thread_started;

    QemuMutex busy;
    bool attention;             /* atomic: look at the above before copying */

    uint8_t *bounce;            /* thread: DW_EDMA_REQUEST bytes */
} DWEDMAChannel;

/*
 * A register map.  Everything is called with the lock held and must not wait.
 * read() and write() come from software with the BQL held; the other two
 * come from the thread of the channel, with its state set already and its
 * ctx up to date.  Afterwards the core updates the interrupt lines and posts
 * what the functions queued with dw_edma_queue_imwr().
 */
typedef struct DWEDMAMapOps {
    unsigned max_channels;      /* a direction */
    uint64_t size;              /* bytes of registers */

    /* Allocate DWEDMA.map. */
    void (*init)(DWEDMA *dma);
    /* Registers as after power-on; the core has reset the channels. */
    void (*reset)(DWEDMA *dma);
    uint32_t (*read)(DWEDMA *dma, hwaddr offset);
    void (*write)(DWEDMA *dma, hwaddr offset, uint32_t val);

    /* The data of an element is moved: ctx.control says who wants to know. */
    void (*element_done)(DWEDMAChannel *ch);
    /* The channel stopped (state STOPPED). */
    void (*stopped)(DWEDMAChannel *ch, DWEDMAStop why);
    /* The channel gave up (state HALTED). */
    void (*failed)(DWEDMAChannel *ch, DWEDMAFault fault);

    /* Bit n of levels[dir]: the interrupt of that channel is asserted. */
    void (*irq_levels)(DWEDMA *dma, uint64_t levels[DW_EDMA_NUM_DIRS]);
} DWEDMAMapOps;

/* Mistakes of software, each reported once a reset. */
typedef enum DWEDMAGuestError {
    DW_EDMA_ERR_REGISTER,
    DW_EDMA_ERR_DISABLED,
    DW_EDMA_ERR_NO_CHANNEL,
    DW_EDMA_ERR_BUSY,
    DW_EDMA_ERR_NOT_RUNNING,
    DW_EDMA_ERR_ZERO_SIZE,
    DW_EDMA_ERR_FUNCTION,
    DW_EDMA_ERR_LOCAL_TARGET,
    DW_EDMA_ERR_IMWR,
} DWEDMAGuestError;

struct DWEDMA {
    DWEDMAConfig config;
    const DWEDMAMapOps *ops;
    void *map;                  /* registers of the map; lock */
    DWEDMAChannel *channels[DW_EDMA_NUM_DIRS];

    QemuMutex lock;
    uint64_t levels[DW_EDMA_NUM_DIRS];  /* lock: as computed last */
    bool paused;                /* lock: the VM is stopped */
    uint32_t errors_seen;       /* atomic, bit per DWEDMAGuestError */
};

extern const DWEDMAMapOps dw_edma_legacy_ops;
extern const DWEDMAMapOps dw_edma_unroll_ops;
extern const DWEDMAMapOps dw_edma_hdma_compat_ops;
extern const DWEDMAMapOps dw_edma_hdma_native_ops;

/* dw-edma.c, for the maps; lock held */

static inline DWEDMAChannel *dw_edma_channel(DWEDMA *dma, DWEDMADir dir,
                                             unsigned index)
{
    return index < dma->config.channels[dir] ? &dma->channels[dir][index]
                                             : NULL;
}

/*
 * The doorbell: run from ctx on.  A running channel looks at its list once
 * more when it comes to the end.  The map has checked that it is enabled.
 */
void dw_edma_start(DWEDMAChannel *ch);

/* Stop a running channel soon; ends in stopped(STOP_REQUEST). */
void dw_edma_stop(DWEDMAChannel *ch);

/*
 * A channel loses its enable: when it returns the channel is STOPPED and copies
 * nothing any more.  Nobody is told.  Waits for one bounded memcpy.
 */
void dw_edma_disable(DWEDMAChannel *ch);

static inline bool dw_edma_running(const DWEDMAChannel *ch)
{
    return ch->state == DW_EDMA_RUNNING;
}

/* Have @value posted to PCI address @addr once the lock is released. */
void dw_edma_queue_imwr(DWEDMAChannel *ch, uint64_t addr, uint32_t value);

/* -copy.c; thread of the channel, no lock held */

/*
 * Move the next bytes of what @ctx has loaded, DW_EDMA_CHUNK at the most.
 * Returns how many were moved: none when *@fault is set or attention is.
 */
uint32_t dw_edma_move(DWEDMAChannel *ch, const DWEDMAContext *ctx,
                      DWEDMAFault *fault);

/* -ll.c; thread of the channel, no lock held */

typedef enum DWEDMANextKind {
    DW_EDMA_NEXT_DATA,
    DW_EDMA_NEXT_END,           /* not the engine's: CB is not CCS */
    DW_EDMA_NEXT_LINKS,         /* so far link elements only */
    DW_EDMA_NEXT_FAULT,         /* no memory there */
} DWEDMANextKind;

/* What follows in a list, and llp and ccs behind it. */
typedef struct DWEDMANext {
    DWEDMANextKind kind;
    uint64_t element;           /* address of the data element */
    uint32_t control;
    uint32_t size;
    uint64_t sar, dar;
    uint64_t llp;
    bool ccs;
} DWEDMANext;

/* Look for the next data element of the list at @ctx. */
void dw_edma_next(DWEDMAChannel *ch, const DWEDMAContext *ctx,
                  DWEDMANext *next);

/* dw-edma.c, any thread */

/*
 * Take ch->busy to copy one chunk; release it with dw_edma_chunk_end().
 * False when the channel must look at its state first.
 */
bool dw_edma_chunk_begin(DWEDMAChannel *ch);
void dw_edma_chunk_end(DWEDMAChannel *ch);

/* True the first time that @err is seen.  Any thread. */
bool dw_edma_first_error(DWEDMA *dma, DWEDMAGuestError err);

#define dw_edma_guest_error(dma, err, fmt, ...)                         \
    do {                                                                \
        if (dw_edma_first_error(dma, err)) {                            \
            qemu_log_mask(LOG_GUEST_ERROR, "dw-edma: " fmt "\n",        \
                          ## __VA_ARGS__);                              \
        }                                                               \
    } while (0)

#endif /* HW_DMA_DW_EDMA_INTERNAL_H */
