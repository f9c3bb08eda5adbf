/*
 * libqos driver of the DesignWare eDMA and HDMA: plays the software
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The engine is driven by whoever reaches its registers: software of the SoC
 * through the "dma" area, software of the host through a BAR.  A QEdma is one
 * such view; there may be several of one engine.  Linked lists are built in
 * the order and with the bits of Linux's dw-edma driver, or otherwise if the
 * test wants.
 */
#ifndef TESTS_LIBQOS_DW_EDMA_H
#define TESTS_LIBQOS_DW_EDMA_H

#include "libqtest.h"

typedef enum QEdmaMap {
    QEDMA_MAP_LEGACY,           /* eDMA, channels behind a viewport */
    QEDMA_MAP_UNROLL,           /* eDMA, channels unrolled */
    QEDMA_MAP_COMPAT,           /* HDMA in the eDMA's unrolled registers */
    QEDMA_MAP_NATIVE,           /* HDMA */
} QEdmaMap;

/* "unroll" ... */
const char *qedma_map_name(QEdmaMap map);

typedef struct QEdma {
    QTestState *qts;
    uint64_t regs;              /* their address for the CPU of @qts */
    QEdmaMap map;
} QEdma;

typedef enum QEdmaDir {
    QEDMA_WRITE,                /* SAR in the SoC, DAR at the host */
    QEDMA_READ,                 /* SAR at the host, DAR in the SoC */
} QEdmaDir;
#define QEDMA_NUM_DIRS 2

typedef struct QEdmaChan {
    QEdma *edma;
    QEdmaDir dir;
    unsigned id;
} QEdmaChan;

/* Where interrupts of a channel go: Linux's DW_EDMA_CH_IRQ_LOCAL, _REMOTE */
typedef enum QEdmaIrq {
    QEDMA_IRQ_LOCAL,
    QEDMA_IRQ_REMOTE,
} QEdmaIrq;

/* Channel status, the same numbers in all register maps */
typedef enum QEdmaStatus {
    QEDMA_RESET,                /* never started */
    QEDMA_RUNNING,
    QEDMA_HALTED,               /* by an error */
    QEDMA_STOPPED,              /* all done, or by the doorbell's stop bit */
} QEdmaStatus;

/* Why a channel halted */
typedef enum QEdmaError {
    QEDMA_OK,
    QEDMA_ERR_LL_FETCH,
    QEDMA_ERR_LOCAL,            /* memory of the SoC */
    QEDMA_ERR_UR,               /* read completions: Unsupported Request, */
    QEDMA_ERR_CA,               /* Completer Abort, */
    QEDMA_ERR_TIMEOUT,          /* none, */
    QEDMA_ERR_POISONED,         /* poisoned */
    QEDMA_ERR_WRITE,            /* native map: writes, on either side */
    QEDMA_ERR_SEVERAL,          /* more than one bit is set */
} QEdmaError;

/* Interrupts of list elements and of a single block */
#define QEDMA_LOCAL_INT 1u
#define QEDMA_REMOTE_INT 2u

/* Registers by their offset */
uint32_t qedma_readl(QEdma *e, uint32_t reg);
void qedma_writel(QEdma *e, uint32_t reg, uint32_t val);
/* A channel's context by the offset in it, through the viewport if need be */
uint32_t qedma_ch_readl(QEdmaChan *ch, uint32_t reg);
void qedma_ch_writel(QEdmaChan *ch, uint32_t reg, uint32_t val);

/* Channels that the engine says it has.  Not for the native map. */
unsigned qedma_num_channels(QEdma *e, QEdmaDir dir);

/*
 * Enable engine and channel, interrupts as @irq says.  The addresses and the
 * data of the posted writes come from qedma_set_imwr().
 */
void qedma_enable(QEdmaChan *ch, QEdmaIrq irq);
/* Disable and drop all interrupts of the channel (native) or direction. */
void qedma_off(QEdmaChan *ch);
/* Posted writes to the host: addresses of the host, 16 bits of data */
void qedma_set_imwr(QEdmaChan *ch, uint64_t done, uint64_t abort,
                    uint16_t data);
/* The function whose requests these are */
void qedma_set_function(QEdmaChan *ch, unsigned fn);

/* Start one block; @ints are those of the block. */
void qedma_start_block(QEdmaChan *ch, uint64_t sar, uint64_t dar,
                       uint32_t size, unsigned ints);
/* Start a list from its first element; consumer cycle state 1. */
void qedma_start_list(QEdmaChan *ch, uint64_t llp);
/* The context of a list without the doorbell */
void qedma_set_list(QEdmaChan *ch, uint64_t llp);
/* Go on, or stop */
void qedma_doorbell(QEdmaChan *ch);
void qedma_stop(QEdmaChan *ch);

QEdmaStatus qedma_status(QEdmaChan *ch);
uint64_t qedma_llp(QEdmaChan *ch);
uint32_t qedma_transfer_size(QEdmaChan *ch);
QEdmaError qedma_error(QEdmaChan *ch);
bool qedma_done(QEdmaChan *ch);
bool qedma_aborted(QEdmaChan *ch);
void qedma_clear_done(QEdmaChan *ch);
void qedma_clear_abort(QEdmaChan *ch);

/* Poll, within CABLE_DEADLINE_S. */
void qedma_wait_status(QEdmaChan *ch, QEdmaStatus status);
void qedma_wait_done(QEdmaChan *ch);
void qedma_wait_aborted(QEdmaChan *ch);
/* Not running any more */
void qedma_wait_idle(QEdmaChan *ch);

/* Linked lists */

#define QEDMA_ELEMENT_SIZE 24

typedef struct QEdmaList {
    uint8_t *mem;               /* the list's first byte, in shared RAM */
    uint64_t addr;              /* its address for the engine */
    unsigned n;                 /* elements */
    bool cb;                    /* producer cycle state */
    QEdmaMap map;
} QEdmaList;

void qedma_list_init(QEdmaList *l, QEdmaMap map, uint8_t *mem, uint64_t addr);
/* Append an element; @ints are the interrupts when its data is there. */
void qedma_list_data(QEdmaList *l, uint64_t sar, uint64_t dar, uint32_t size,
                     unsigned ints);
/*
 * Append the link with which Linux ends a list: it has the other cycle bit
 * and toggles the consumer's.
 */
void qedma_list_end(QEdmaList *l, uint64_t target);
/* Append a link that keeps the consumer's cycle state. */
void qedma_list_jump(QEdmaList *l, uint64_t target);
/* Append an element that is not for the consumer yet. */
void qedma_list_stop(QEdmaList *l);
/* Write the list anew for the next round: from its start, other cycle bit. */
void qedma_list_recycle(QEdmaList *l);
/* The address of element @i */
uint64_t qedma_list_element(QEdmaList *l, unsigned i);

#endif /* TESTS_LIBQOS_DW_EDMA_H */
