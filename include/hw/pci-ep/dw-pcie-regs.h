/*
 * DesignWare PCIe controller: register map of DBI, DBI2 and the iATU
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Offsets and bits only, shared by the model and its tests.  Access notes:
 * RW = read/write, RO = read only, HwInit = writable through the DBI while
 * DBI_RO_WR_EN is set.
 */
#ifndef HW_PCI_EP_DW_PCIE_REGS_H
#define HW_PCI_EP_DW_PCIE_REGS_H

#include "qemu/bitops.h"

/* Layout of one function's part of the DBI: its configuration space. */
#define DW_PCIE_DBI_FUNC_SIZE           0x1000
#define DW_PCIE_PORT_LOGIC_START        0x700
#define DW_PCIE_PORT_LOGIC_END          0xc00

/* Capabilities (HwInit lists) */
#define DW_PCIE_CAP_PM                  0x040
#define DW_PCIE_CAP_MSI                 0x050
#define DW_PCIE_CAP_EXP                 0x070
#define DW_PCIE_CAP_MSIX                0x0b0
#define DW_PCIE_ECAP_AER                0x100
#define DW_PCIE_ECAP_REBAR              0x148
#define DW_PCIE_ECAP_PTM                0x160
#define DW_PCIE_ECAP_VSEC               0x170

/* Vendor-specific extended capability: which IP the host is talking to */
#define DW_PCIE_VSEC_ID                 0x0001
#define DW_PCIE_VSEC_REV                0x1
#define DW_PCIE_VSEC_SIZE               0x10
#define DW_PCIE_VSEC_IP_VERSION         0x08    /* RO, = VERSION_NUMBER */
#define DW_PCIE_VSEC_IP_TYPE            0x0c    /* RO, = VERSION_TYPE */

/* Port logic, function 0 only; reset values are set in dw-pcie-port.c */
#define DW_PCIE_PORT_FORCE              0x708   /* RW */
#define DW_PCIE_PORT_AFR                0x70c   /* RW */
#define DW_PCIE_PORT_LINK_CONTROL       0x710   /* RW */
#define   DW_PCIE_LINK_DLL_LINK_EN      BIT(5)
#define   DW_PCIE_LINK_FAST_MODE        BIT(7)
#define   DW_PCIE_LINK_MODE_SHIFT       16
#define   DW_PCIE_LINK_MODE_LENGTH      6
#define DW_PCIE_PORT_LANE_SKEW          0x714   /* RW */
#define DW_PCIE_TIMER_CTRL              0x718   /* RW */
#define DW_PCIE_PORT_DEBUG0             0x728   /* RO */
#define   DW_PCIE_LTSSM_MASK            0x3f
#define   DW_PCIE_LTSSM_DETECT_QUIET    0x00
#define   DW_PCIE_LTSSM_DETECT_ACT      0x01
#define   DW_PCIE_LTSSM_L0              0x11
#define DW_PCIE_PORT_DEBUG1             0x72c   /* RO */
#define   DW_PCIE_DEBUG1_LINK_UP        BIT(4)
#define DW_PCIE_LINK_WIDTH_SPEED        0x80c   /* RW */
#define   DW_PCIE_LWS_N_FTS_MASK        0xff
#define   DW_PCIE_LWS_WIDTH_SHIFT       8
#define   DW_PCIE_LWS_WIDTH_LENGTH      5
#define   DW_PCIE_LWS_SPEED_CHANGE      BIT(17) /* clears itself */
#define DW_PCIE_GEN3_RELATED            0x890   /* RW */
#define DW_PCIE_GEN3_EQ_CONTROL         0x8a8   /* RW */
#define DW_PCIE_GEN3_EQ_FB_MODE         0x8ac   /* RW */
#define DW_PCIE_PIPE_LOOPBACK_CONTROL   0x8b8   /* RW */
#define DW_PCIE_MISC_CONTROL_1          0x8bc   /* RW */
#define   DW_PCIE_DBI_RO_WR_EN          BIT(0)
#define   DW_PCIE_PORT_LOGIC_WR_DISABLE BIT(22)
#define DW_PCIE_MULTI_LANE_CONTROL      0x8c0   /* RW */
#define DW_PCIE_COHERENCY_CONTROL_1     0x8e0   /* RW */
#define DW_PCIE_COHERENCY_CONTROL_2     0x8e4   /* RW */
#define DW_PCIE_COHERENCY_CONTROL_3     0x8e8   /* RW */
#define DW_PCIE_VERSION_NUMBER          0x8f8   /* RO */
#define DW_PCIE_VERSION_TYPE            0x8fc   /* RO */
#define DW_PCIE_ATU_VIEWPORT            0x900   /* RO, ones: unrolled iATU */
#define DW_PCIE_PL_CHK_REG_STATUS       0xb20   /* RW */
#define   DW_PCIE_PL_CHK_START          BIT(0)  /* clears itself */
#define   DW_PCIE_PL_CHK_CONTINUOUS     BIT(1)
#define   DW_PCIE_PL_CHK_COMPLETE       BIT(18) /* RO */
#define DW_PCIE_PL_CHK_REG_ERR_ADDR     0xb28   /* RO */

/* Version and type registers hold ASCII: 5.20a is "520*" */
#define DW_PCIE_VERSION_520A            0x3532302a
#define DW_PCIE_VERSION_TYPE_GA         0x67612a2a

/* DBI2 at a BAR's offset: the BAR mask register */
#define DW_PCIE_BAR_ENABLE              BIT(0)

/* iATU, unrolled: 512 bytes a pair of regions, outbound first */
#define DW_PCIE_ATU_STRIDE              0x200
#define DW_PCIE_ATU_INBOUND             0x100
#define DW_PCIE_ATU_CTRL1               0x00    /* RW */
#define   DW_PCIE_ATU_TYPE_MASK         0x1f
#define   DW_PCIE_ATU_TYPE_MEM          0x00
#define   DW_PCIE_ATU_TYPE_IO           0x02
#define   DW_PCIE_ATU_TYPE_CFG0         0x04
#define   DW_PCIE_ATU_TYPE_CFG1         0x05
#define   DW_PCIE_ATU_TYPE_MSG          0x10
#define   DW_PCIE_ATU_INCREASE_SIZE     BIT(13)
#define   DW_PCIE_ATU_FUNC_SHIFT        20
#define   DW_PCIE_ATU_FUNC_LENGTH       5
#define DW_PCIE_ATU_CTRL2               0x04    /* RW */
#define   DW_PCIE_ATU_BAR_SHIFT         8
#define   DW_PCIE_ATU_BAR_LENGTH        3
#define   DW_PCIE_ATU_FUNC_MATCH        BIT(19)
#define   DW_PCIE_ATU_RESPONSE_MASK     (3u << 24)
#define   DW_PCIE_ATU_DMA_BYPASS        BIT(27) /* not for the DMA engine */
#define   DW_PCIE_ATU_INVERT            BIT(29)
#define   DW_PCIE_ATU_BAR_MODE          BIT(30)
#define   DW_PCIE_ATU_ENABLE            BIT(31)
#define DW_PCIE_ATU_LOWER_BASE          0x08    /* RW, low bits RO 0 */
#define DW_PCIE_ATU_UPPER_BASE          0x0c    /* RW */
#define DW_PCIE_ATU_LIMIT               0x10    /* RW, low bits RO 1 */
#define DW_PCIE_ATU_LOWER_TARGET        0x14    /* RW, low bits RO 0 */
#define DW_PCIE_ATU_UPPER_TARGET        0x18    /* RW */
#define DW_PCIE_ATU_UPPER_LIMIT         0x20    /* RW, high bits RO 0 */

#endif /* HW_PCI_EP_DW_PCIE_REGS_H */
