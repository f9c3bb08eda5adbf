/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Control region of an NTB endpoint function: what its version 1 adds
 *
 * Version 0 is the region as drivers have always had it, with a BAR for each
 * memory window. The version is in the upper half of the count of memory
 * windows: a host driver that knows of no versions takes the whole word for the
 * count, finds it too large and refuses the device.
 *
 * Both sides are little endian, as in the rest of the region.
 */

#ifndef __LINUX_NTB_EPF_H
#define __LINUX_NTB_EPF_H

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/types.h>

#define NTB_EPF_MW_COUNT_MASK		GENMASK(15, 0)
#define NTB_EPF_VERSION_MASK		GENMASK(31, 16)

#define NTB_EPF_VERSION			1

/* Where struct ntb_epf_ext is in the control region of version 1 */
#define NTB_EPF_EXT			0x138
#define NTB_EPF_EXT_MWS			4

#define NTB_EPF_NO_DMA_MW		(~0U)

/*
 * Command of version 1: the host has noticed that the endpoint took the link
 * down, and has stopped its DMA.
 */
#define NTB_EPF_CMD_LINK_QUIESCED	7

/**
 * struct ntb_epf_ext_mw - where a memory window is
 * @offset: in bytes from the beginning of the BAR
 * @size: in bytes
 * @bar: number of the BAR
 * @reserved: zero
 */
struct ntb_epf_ext_mw {
	u64 offset;
	u64 size;
	u32 bar;
	u32 reserved;
};

/**
 * struct ntb_epf_ext - what version 1 of the control region has more
 * @size: of this structure in bytes
 * @db_count: number of doorbell slots; interrupts behind those of the slots are
 *            free for other uses
 * @dma_mw: index of the window that exports a DMA engine (the last one, see
 *          linux/pci-ep-dma.h), or NTB_EPF_NO_DMA_MW
 * @reserved: zero
 * @mw: the memory windows
 */
struct ntb_epf_ext {
	u32 size;
	u32 db_count;
	u32 dma_mw;
	u32 reserved;
	struct ntb_epf_ext_mw mw[NTB_EPF_EXT_MWS];
};

static_assert(sizeof(struct ntb_epf_ext_mw) == 24);
static_assert(offsetof(struct ntb_epf_ext, mw) == 16);

#endif /* __LINUX_NTB_EPF_H */
