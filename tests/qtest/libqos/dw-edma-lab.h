/*
 * libqos helpers: two machines and the DMA engine between their memories
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The endpoint and the host of pcie-cable.h, trained and enumerated, with the
 * RAM of both mapped into the test.  In each RAM there is an arena, full of
 * random bytes, in which transfers take place.  The test says in words of its
 * own what they should have done, and the arenas are compared as a whole: what
 * is beside a transfer must not change.
 */
#ifndef TESTS_LIBQOS_DW_EDMA_LAB_H
#define TESTS_LIBQOS_DW_EDMA_LAB_H

#include "dw-edma.h"
#include "pcie-cable.h"

typedef enum EdmaSide {
    EDMA_SOC,
    EDMA_HOST,
} EdmaSide;
#define EDMA_NUM_SIDES 2

/* Addresses are the same in both machines. */
#define EDMA_ARENA (CABLE_RAM_BASE + 16 * MiB)
#define EDMA_ARENA_SIZE (2 * MiB)
/* Lists, outside of the arena: some room for each channel, in the SoC */
#define EDMA_LISTS (CABLE_RAM_BASE + 8 * MiB)
#define EDMA_LIST_SIZE (64 * KiB)
/* Where posted writes of the engine go at the host, a page */
#define EDMA_IMWR (CABLE_RAM_BASE + 12 * MiB)
#define EDMA_RAM_END (CABLE_RAM_BASE + CABLE_RAM_SIZE)
/* Nothing decodes these, in either machine. */
#define EDMA_NOWHERE 0x200000000000ULL

/* Channels of each direction as the device has them by default */
#define EDMA_CHANNELS 4

typedef struct EdmaLab {
    PCIeCable *c;
    QEdma soc;                      /* registers, for the SoC's software */
    uint8_t *ram[EDMA_NUM_SIDES];   /* all of it */
    uint8_t *model[EDMA_NUM_SIDES]; /* what the arenas should contain */
} EdmaLab;

EdmaLab *edma_lab_start(const char *ep_props, const char *rc_args);
/* With any register map: R-Car has the unrolled one */
EdmaLab *edma_lab_start_map(QEdmaMap map);
/* The same with @n channels in each direction */
EdmaLab *edma_lab_start_channels(QEdmaMap map, unsigned n);
/* The controller that can have the map, and what it needs for -device */
const char *edma_lab_controller(QEdmaMap map);
const char *edma_lab_map_property(QEdmaMap map);
/* Where a map's registers are */
uint64_t edma_lab_regs(DWEp *ep, QEdmaMap map);
/* The same around machines that the test has started and enumerated */
EdmaLab *edma_lab_new(PCIeCable *c);
void edma_lab_free(EdmaLab *l);

/* Channel @id of @dir, enabled with interrupts to the SoC */
QEdmaChan edma_lab_chan(EdmaLab *l, QEdmaDir dir, unsigned id);

/* The byte of a machine's RAM at @addr */
uint8_t *edma_lab_ram(EdmaLab *l, EdmaSide side, uint64_t addr);

/* Begin a list at the channel's place. */
void edma_lab_list(EdmaLab *l, QEdmaChan *ch, QEdmaList *list);
/* Source and destination in the engine's order */
void edma_lab_element(QEdmaList *list, QEdmaDir dir, uint64_t soc,
                      uint64_t host, uint32_t size, unsigned ints);
void edma_lab_block(QEdmaChan *ch, uint64_t soc, uint64_t host,
                    uint32_t size, unsigned ints);

/* A transfer between the arenas should have taken place. */
void edma_lab_expect(EdmaLab *l, QEdmaDir dir, uint64_t soc, uint64_t host,
                     size_t size);
/* These bytes should be in an arena now. */
void edma_lab_expect_bytes(EdmaLab *l, EdmaSide side, uint64_t addr,
                           const void *bytes, size_t size);
/* The test, or who it plays, writes into an arena. */
void edma_lab_write(EdmaLab *l, EdmaSide side, uint64_t addr,
                    const void *bytes, size_t size);
/* Both arenas hold what they should: compared by SHA-256. */
void edma_lab_check(EdmaLab *l);
/* What the engine did not finish is of no interest: begin anew. */
void edma_lab_refill(EdmaLab *l, uint32_t seed);

#endif /* TESTS_LIBQOS_DW_EDMA_LAB_H */
