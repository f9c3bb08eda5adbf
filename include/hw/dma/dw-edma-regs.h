/*
 * DesignWare eDMA and HDMA: registers and linked list elements
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Offsets, bits and reset values only, shared by the model and its tests.
 * Offsets are from the start of the DMA register area: of its own in the
 * unrolled, the HDMA compatible and the HDMA native map, 0x970 bytes into the
 * DBI in the legacy map.  Names follow the databook as the Linux driver
 * (drivers/dma/dw-edma) spells them.
 */
#ifndef HW_DMA_DW_EDMA_REGS_H
#define HW_DMA_DW_EDMA_REGS_H

#include "qemu/bitops.h"

#define DW_EDMA_MAX_CHANNELS            8       /* a direction, not HDMA */
#define DW_HDMA_MAX_CHANNELS            64      /* a direction */

/* Maps with v0 registers: legacy, unrolled, HDMA compatible */

#define DW_EDMA_CTRL_DATA_ARB_PRIOR     0x000   /* RW */
#define   DW_EDMA_ARB_PRIOR_RESET           0x00000688
#define   DW_EDMA_ARB_PRIOR_MASK            0x00000fff
#define DW_EDMA_CTRL                    0x008
#define   DW_EDMA_CTRL_WR_CHANNELS_SHIFT    0   /* RO, 4 bits */
#define   DW_EDMA_CTRL_RD_CHANNELS_SHIFT    16  /* RO, 4 bits */
#define   DW_EDMA_CTRL_DIS_C2W_CACHE_WR     BIT(24)     /* RW */
#define   DW_EDMA_CTRL_DIS_C2W_CACHE_RD     BIT(25)     /* RW */
#define DW_EDMA_WR_ENGINE_EN            0x00c   /* RW */
#define   DW_EDMA_ENGINE_EN                 BIT(0)
#define DW_EDMA_WR_DOORBELL             0x010   /* RW */
#define   DW_EDMA_DOORBELL_CHANNEL          0x00000007
#define   DW_EDMA_DOORBELL_STOP             BIT(31)
#define DW_EDMA_WR_ARB_WEIGHT_LOW       0x018   /* RW, 5 bits a channel */
#define DW_EDMA_WR_ARB_WEIGHT_HIGH      0x01c
#define   DW_EDMA_ARB_WEIGHT_RESET          0x00008421
#define   DW_EDMA_ARB_WEIGHT_MASK           0x000fffff
#define DW_EDMA_RD_ENGINE_EN            0x02c
#define DW_EDMA_RD_DOORBELL             0x030
#define DW_EDMA_RD_ARB_WEIGHT_LOW       0x038
#define DW_EDMA_RD_ARB_WEIGHT_HIGH      0x03c
/* Status RO, a write of anything asserts the emulated interrupt */
#define DW_EDMA_WR_INT_STATUS           0x04c
#define   DW_EDMA_INT_DONE(ch)              BIT(ch)
#define   DW_EDMA_INT_ABORT(ch)             BIT(16 + (ch))
#define DW_EDMA_WR_INT_MASK             0x054   /* RW, reset: all masked */
/* WO: bits as in the status; zero drops the emulated interrupt */
#define DW_EDMA_WR_INT_CLEAR            0x058
#define DW_EDMA_WR_ERR_STATUS           0x05c   /* RO, abort bits clear it */
#define   DW_EDMA_ERR_APP(ch)               BIT(ch)
#define   DW_EDMA_ERR_LL_FETCH(ch)          BIT(16 + (ch))
#define DW_EDMA_WR_DONE_IMWR_LOW        0x060   /* RW */
#define DW_EDMA_WR_DONE_IMWR_HIGH       0x064
#define DW_EDMA_WR_ABORT_IMWR_LOW       0x068
#define DW_EDMA_WR_ABORT_IMWR_HIGH      0x06c
/* RW: even channel in the low half, odd channel in the high half */
#define DW_EDMA_WR_IMWR_DATA(pair)      (0x070 + 4 * (pair))
/* RW: bit n remote, bit 16 + n local abort interrupt of channel n */
#define DW_EDMA_WR_LL_ERR_EN            0x090
#define   DW_EDMA_LL_ERR_REMOTE(ch)         BIT(ch)
#define   DW_EDMA_LL_ERR_LOCAL(ch)          BIT(16 + (ch))
#define DW_EDMA_RD_INT_STATUS           0x0a0
#define DW_EDMA_RD_INT_MASK             0x0a8
#define DW_EDMA_RD_INT_CLEAR            0x0ac
#define DW_EDMA_RD_ERR_STATUS_LOW       0x0b4   /* as WR_ERR_STATUS */
#define DW_EDMA_RD_ERR_STATUS_HIGH      0x0b8   /* how the host completed */
#define   DW_EDMA_ERR_UNSUPPORTED(ch)       BIT(ch)
#define   DW_EDMA_ERR_CPL_ABORT(ch)         BIT(8 + (ch))
#define   DW_EDMA_ERR_CPL_TIMEOUT(ch)       BIT(16 + (ch))
#define   DW_EDMA_ERR_POISONED(ch)          BIT(24 + (ch))
#define DW_EDMA_RD_LL_ERR_EN            0x0c4
#define DW_EDMA_RD_DONE_IMWR_LOW        0x0cc
#define DW_EDMA_RD_DONE_IMWR_HIGH       0x0d0
#define DW_EDMA_RD_ABORT_IMWR_LOW       0x0d4
#define DW_EDMA_RD_ABORT_IMWR_HIGH      0x0d8
#define DW_EDMA_RD_IMWR_DATA(pair)      (0x0dc + 4 * (pair))

/* Legacy map: one window for the context of the selected channel */
#define DW_EDMA_VIEWPORT                0x0fc   /* RW */
#define   DW_EDMA_VIEWPORT_CHANNEL          0x00000007
#define   DW_EDMA_VIEWPORT_READ             BIT(31)
#define DW_EDMA_LEGACY_CONTEXT          0x100
#define DW_EDMA_LEGACY_SIZE             0x124
#define DW_EDMA_LEGACY_DBI_OFFSET       0x970

/* Unrolled and HDMA compatible maps */
#define DW_EDMA_WR_CHGROUP              0x100   /* RW */
#define DW_EDMA_RD_CHGROUP              0x104
#define DW_EDMA_WR_HSHAKE_CNT_LOW       0x108   /* RW */
#define DW_EDMA_WR_HSHAKE_CNT_HIGH      0x10c
#define DW_EDMA_RD_HSHAKE_CNT_LOW       0x118
#define DW_EDMA_RD_HSHAKE_CNT_HIGH      0x11c
#define DW_EDMA_WR_PWR_EN(ch)           (0x128 + 4 * (ch))      /* RW */
#define DW_EDMA_RD_PWR_EN(ch)           (0x168 + 4 * (ch))
#define   DW_EDMA_PWR_EN                    BIT(0)
#define DW_EDMA_WR_CONTEXT(ch)          (0x200 + 0x200 * (ch))
#define DW_EDMA_RD_CONTEXT(ch)          (0x300 + 0x200 * (ch))
#define DW_EDMA_UNROLL_SIZE             0x1200

/* Context of a channel, from the start of its context */
#define DW_EDMA_CH_CONTROL1             0x00
#define   DW_EDMA_CH_CB                     BIT(0)
#define   DW_EDMA_CH_TCB                    BIT(1)
#define   DW_EDMA_CH_LLP                    BIT(2)
#define   DW_EDMA_CH_LIE                    BIT(3)
#define   DW_EDMA_CH_RIE                    BIT(4)
#define   DW_EDMA_CH_STATUS_SHIFT           5   /* RO, 2 bits: DWEDMAState */
#define   DW_EDMA_CH_CCS                    BIT(8)
#define   DW_EDMA_CH_LLE                    BIT(9)
#define   DW_EDMA_CH_FUNC_SHIFT             12  /* 5 bits */
#define   DW_EDMA_CH_CONTROL1_MASK          0xffffff9f  /* RW bits */
#define DW_EDMA_CH_CONTROL2             0x04
#define DW_EDMA_CH_TRANSFER_SIZE        0x08    /* counts down */
#define DW_EDMA_CH_SAR_LOW              0x0c    /* counts up */
#define DW_EDMA_CH_SAR_HIGH             0x10
#define DW_EDMA_CH_DAR_LOW              0x14    /* counts up */
#define DW_EDMA_CH_DAR_HIGH             0x18
#define DW_EDMA_CH_LLP_LOW              0x1c    /* the next element */
#define DW_EDMA_CH_LLP_HIGH             0x20
#define DW_EDMA_CONTEXT_SIZE            0x24

/*
 * Linked list, all maps: elements of 24 bytes in memory of the SoC.  Control
 * has the bits CB to RIE of CH_CONTROL1, the same for HDMA (LWIE, RWIE).
 */
#define DW_EDMA_LL_ELEMENT_SIZE         24
#define DW_EDMA_LL_CONTROL              0
#define   DW_EDMA_LL_CONTROL_MASK           0x0000001f
#define DW_EDMA_LL_TRANSFER_SIZE        4
#define DW_EDMA_LL_SAR                  8
#define DW_EDMA_LL_DAR                  16
#define DW_EDMA_LL_POINTER              8       /* link element */

/*
 * HDMA native map: every channel has all of its registers for itself.  All
 * reset to 0.
 */
#define DW_HDMA_WR_CHANNEL(ch)          (0x200 * (ch))
#define DW_HDMA_RD_CHANNEL(ch)          (0x200 * (ch) + 0x100)
#define DW_HDMA_CHANNEL_SIZE            0x100
#define DW_HDMA_CH_EN                   0x00    /* RW */
#define   DW_HDMA_EN                        BIT(0)
#define DW_HDMA_CH_DOORBELL             0x04    /* WO */
#define   DW_HDMA_DOORBELL_START            BIT(0)
#define   DW_HDMA_DOORBELL_STOP             BIT(1)
#define DW_HDMA_CH_PREFETCH             0x08    /* RW, no effect */
#define DW_HDMA_CH_HANDSHAKE            0x0c    /* RW, no effect */
#define DW_HDMA_CH_LLP_LOW              0x10    /* RW, the next element */
#define DW_HDMA_CH_LLP_HIGH             0x14
#define DW_HDMA_CH_CYCLE_SYNC           0x18    /* RW */
#define   DW_HDMA_CYCLE_BIT                 BIT(0)  /* of the last element */
#define   DW_HDMA_CYCLE_STATE               BIT(1)  /* of the consumer */
#define DW_HDMA_CH_TRANSFER_SIZE        0x1c    /* RW, counts down */
#define DW_HDMA_CH_SAR_LOW              0x20    /* RW, counts up */
#define DW_HDMA_CH_SAR_HIGH             0x24
#define DW_HDMA_CH_DAR_LOW              0x28    /* RW, counts up */
#define DW_HDMA_CH_DAR_HIGH             0x2c
#define DW_HDMA_CH_WATERMARK_EN         0x30    /* RW, no list: no effect */
#define   DW_HDMA_WATERMARK_REMOTE          BIT(0)
#define   DW_HDMA_WATERMARK_LOCAL           BIT(1)
#define DW_HDMA_CH_CONTROL1             0x34    /* RW, others no effect */
#define   DW_HDMA_LINKLIST_EN               BIT(0)
#define DW_HDMA_CH_FUNC_NUM             0x38    /* RW, others no effect */
#define   DW_HDMA_FUNC_NUM_PF               0x000000ff
#define DW_HDMA_CH_QOS                  0x3c    /* RW, no effect */
#define DW_HDMA_CH_STATUS               0x80    /* RO, bits 1:0: DWEDMAState */
#define   DW_HDMA_STATUS_MASK               0x00000003
#define DW_HDMA_CH_INT_STATUS           0x84    /* RO */
#define   DW_HDMA_INT_STOP                  BIT(0)
#define   DW_HDMA_INT_WATERMARK             BIT(1)
#define   DW_HDMA_INT_ABORT                 BIT(2)
#define   DW_HDMA_INT_ERROR_SHIFT           3   /* 4 bits, below */
#define   DW_HDMA_INT_ERROR_LENGTH          4
#define DW_HDMA_CH_INT_SETUP            0x88    /* RW */
#define   DW_HDMA_STOP_MASK                 BIT(0)
#define   DW_HDMA_WATERMARK_MASK            BIT(1)
#define   DW_HDMA_ABORT_MASK                BIT(2)
#define   DW_HDMA_REMOTE_STOP_EN            BIT(3)
#define   DW_HDMA_LOCAL_STOP_EN             BIT(4)
#define   DW_HDMA_REMOTE_ABORT_EN           BIT(5)
#define   DW_HDMA_LOCAL_ABORT_EN            BIT(6)
#define   DW_HDMA_INT_SETUP_MASK            0x0000007f
/* WO: bits as in the status; ABORT clears the error as well */
#define DW_HDMA_CH_INT_CLEAR            0x8c
#define DW_HDMA_CH_MSI_STOP_LOW         0x90    /* RW */
#define DW_HDMA_CH_MSI_STOP_HIGH        0x94
#define DW_HDMA_CH_MSI_WATERMARK_LOW    0x98    /* RW */
#define DW_HDMA_CH_MSI_WATERMARK_HIGH   0x9c
#define DW_HDMA_CH_MSI_ABORT_LOW        0xa0    /* RW */
#define DW_HDMA_CH_MSI_ABORT_HIGH       0xa4
#define DW_HDMA_CH_MSI_MSGDATA          0xa8    /* RW */

/* HDMA native map, error of INT_STATUS: why the channel halted */
#define DW_HDMA_ERR_LL_UNSUPPORTED      0x1     /* list element */
#define DW_HDMA_ERR_LL_CPL_ABORT        0x2
#define DW_HDMA_ERR_LL_POISONED         0x3
#define DW_HDMA_ERR_CPL_TIMEOUT         0x8     /* read of data */
#define DW_HDMA_ERR_UNSUPPORTED         0x9
#define DW_HDMA_ERR_CPL_ABORT           0xa
#define DW_HDMA_ERR_POISONED            0xb
#define DW_HDMA_ERR_WRITE               0xc     /* write of data */

#endif /* HW_DMA_DW_EDMA_REGS_H */
