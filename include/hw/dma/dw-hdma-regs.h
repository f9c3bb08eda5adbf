/*
 * DesignWare HDMA: the native register map
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Offsets and bits only, shared by the model and its tests.  Layout and names
 * of Linux's drivers/dma/dw-edma/dw-hdma-v0-regs.h; list elements are those
 * of the eDMA.  Access notes: RW = read/write, RO = read only, W1C = write one
 * to clear, reads 0.  Everything resets to 0 unless noted.
 */
#ifndef HW_DMA_DW_HDMA_REGS_H
#define HW_DMA_DW_HDMA_REGS_H

#include "qemu/bitops.h"

/* A page a channel pair: 0x200 bytes, the write channel first */
#define DW_HDMA_CH_STRIDE               0x200
#define DW_HDMA_READ_CH                 0x100
#define DW_HDMA_MAX_CHANNELS            64
#define DW_HDMA_CH_SIZE                 0x100

#define DW_HDMA_EN                      0x00    /* RW */
#define   DW_HDMA_EN_ENABLE             BIT(0)
#define DW_HDMA_DOORBELL                0x04    /* WO, reads 0 */
#define   DW_HDMA_DOORBELL_START        BIT(0)
#define   DW_HDMA_DOORBELL_STOP         BIT(1)
#define DW_HDMA_ELEM_PF                 0x08    /* RW, no effect */
#define   DW_HDMA_ELEM_PF_MASK          0x00000001
#define DW_HDMA_HANDSHAKE               0x0c    /* RO 0: no handshake */
#define DW_HDMA_LLP_LOW                 0x10    /* RW */
#define DW_HDMA_LLP_HIGH                0x14    /* RW */
#define DW_HDMA_CYCLE                   0x18    /* RW */
#define   DW_HDMA_CYCLE_BIT             BIT(0)  /* of the last element read */
#define   DW_HDMA_CYCLE_STATE           BIT(1)  /* of the consumer */
#define DW_HDMA_XFERSIZE                0x1c    /* RW */
#define DW_HDMA_SAR_LOW                 0x20    /* RW */
#define DW_HDMA_SAR_HIGH                0x24    /* RW */
#define DW_HDMA_DAR_LOW                 0x28    /* RW */
#define DW_HDMA_DAR_HIGH                0x2c    /* RW */
#define DW_HDMA_WATERMARK_EN            0x30    /* RW, without a list */
#define   DW_HDMA_WATERMARK_RWIE        BIT(0)
#define   DW_HDMA_WATERMARK_LWIE        BIT(1)
#define DW_HDMA_CONTROL1                0x34    /* RW, only LLEN acts */
#define   DW_HDMA_CONTROL1_LLEN         BIT(0)
#define DW_HDMA_FUNC_NUM                0x38    /* RW */
#define   DW_HDMA_FUNC_NUM_PF           0x000000ff
#define DW_HDMA_QOS                     0x3c    /* RW, no effect */
#define DW_HDMA_STATUS                  0x80    /* RO, DWEDMAStatus */
#define   DW_HDMA_STATUS_MASK           0x00000003
#define DW_HDMA_INT_STATUS              0x84    /* RO */
#define   DW_HDMA_INT_STOP              BIT(0)
#define   DW_HDMA_INT_WATERMARK         BIT(1)
#define   DW_HDMA_INT_ABORT             BIT(2)
#define   DW_HDMA_INT_ERROR_SHIFT       3
#define   DW_HDMA_INT_ERROR_LENGTH      4
#define DW_HDMA_INT_SETUP               0x88    /* RW */
#define   DW_HDMA_INT_STOP_MASK         BIT(0)
#define   DW_HDMA_INT_WATERMARK_MASK    BIT(1)
#define   DW_HDMA_INT_ABORT_MASK        BIT(2)
#define   DW_HDMA_INT_RSIE              BIT(3)  /* remote stop */
#define   DW_HDMA_INT_LSIE              BIT(4)  /* local stop */
#define   DW_HDMA_INT_RAIE              BIT(5)  /* remote abort */
#define   DW_HDMA_INT_LAIE              BIT(6)  /* local abort */
#define   DW_HDMA_INT_SETUP_MASK        0x0000007f
#define DW_HDMA_INT_CLEAR               0x8c    /* W1C, bits of INT_STATUS */
#define DW_HDMA_MSI_STOP_LOW            0x90    /* RW */
#define DW_HDMA_MSI_STOP_HIGH           0x94    /* RW */
#define DW_HDMA_MSI_WATERMARK_LOW       0x98    /* RW */
#define DW_HDMA_MSI_WATERMARK_HIGH      0x9c    /* RW */
#define DW_HDMA_MSI_ABORT_LOW           0xa0    /* RW */
#define DW_HDMA_MSI_ABORT_HIGH          0xa4    /* RW */
#define DW_HDMA_MSI_MSGD                0xa8    /* RW */

/* INT_STATUS.ERROR: why the channel halted; cleared with ABORT */
#define DW_HDMA_ERR_LL_UR               0x1     /* list: Unsupported Request */
#define DW_HDMA_ERR_LL_CA               0x2     /* list: Completer Abort */
#define DW_HDMA_ERR_LL_POISONED         0x3     /* list: poisoned */
#define DW_HDMA_ERR_DATA_TIMEOUT        0x8     /* data: no completion */
#define DW_HDMA_ERR_DATA_UR             0x9     /* data: Unsupported Request */
#define DW_HDMA_ERR_DATA_CA             0xa     /* data: Completer Abort */
#define DW_HDMA_ERR_DATA_POISONED       0xb     /* data: poisoned */
#define DW_HDMA_ERR_DATA_WRITE          0xc     /* data: write refused */

#endif /* HW_DMA_DW_HDMA_REGS_H */
