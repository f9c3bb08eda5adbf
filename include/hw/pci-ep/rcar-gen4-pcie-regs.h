/*
 * R-Car Gen4 PCIe controller: register areas and application registers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Offsets and bits only, shared by the model and its tests.
 */
#ifndef HW_PCI_EP_RCAR_GEN4_PCIE_REGS_H
#define HW_PCI_EP_RCAR_GEN4_PCIE_REGS_H

#include "qemu/bitops.h"

/* Register areas of r8a779f0 and the distance between functions in them */
#define RCAR_GEN4_DBI_SIZE              0x2000
#define RCAR_GEN4_DBI_FUNC_STRIDE       0x1000
#define RCAR_GEN4_DBI2_SIZE             0x1000
#define RCAR_GEN4_DBI2_FUNC_STRIDE      0x800
#define RCAR_GEN4_ATU_SIZE              0x2000
#define RCAR_GEN4_DMA_SIZE              0x1200
#define RCAR_GEN4_APP_SIZE              0xe00
#define RCAR_GEN4_PHY_SIZE              0x400
#define RCAR_GEN4_ADDR_SPACE_SIZE       0x400000
#define RCAR_GEN4_RESET_SIZE            0x4
#define RCAR_GEN4_MAX_FUNCTIONS         2
#define RCAR_GEN4_MAX_WINDOWS           16

/* What the functions look like before software wrote their headers */
#define RCAR_GEN4_RESET_VENDOR_ID       0x1912
#define RCAR_GEN4_RESET_DEVICE_ID       0x0031
#define RCAR_GEN4_RESET_CLASS           0x000000
#define RCAR_GEN4_BAR4_SIZE             256
#define RCAR_GEN4_REBAR_SIZES           0x0000fff0  /* 1 MiB to 2 GiB */
#define RCAR_GEN4_ATU_REGION_SIZE       0x1000
#define RCAR_GEN4_ATU_UPPER_LIMIT       0xff        /* regions to 1 TiB */

/* Application registers; all RW with the mask below unless noted */
#define RCAR_GEN4_PCIEMSR0              0x000
#define   RCAR_GEN4_MSR0_BIFUR_MOD_SET_ON   BIT(0)
#define   RCAR_GEN4_MSR0_DEVICE_TYPE_RC     BIT(4)
#define   RCAR_GEN4_MSR0_APP_SRIS_MODE      BIT(6)
#define   RCAR_GEN4_MSR0_MASK               0x000000ff
#define RCAR_GEN4_PCIERSTCTRL1          0x014
#define   RCAR_GEN4_RSTCTRL1_LTSSM_ENABLE   BIT(0)
#define   RCAR_GEN4_RSTCTRL1_HOLD_PHY_RST   BIT(16)
#define   RCAR_GEN4_RSTCTRL1_RESET          RCAR_GEN4_RSTCTRL1_HOLD_PHY_RST
#define   RCAR_GEN4_RSTCTRL1_MASK           0x00010001
#define RCAR_GEN4_PCIEPWRMNGCTRL        0x070
#define   RCAR_GEN4_PWRMNG_CLK_PM_EN        BIT(10)
#define   RCAR_GEN4_PWRMNG_CLK_REQ_N        BIT(11)
#define   RCAR_GEN4_PWRMNG_MASK             0x00000c00
#define RCAR_GEN4_PCIEINTSTS0           0x084   /* RO: levels */
#define   RCAR_GEN4_INTSTS0_RDLH_LINK_UP    BIT(6)
#define   RCAR_GEN4_INTSTS0_SMLH_LINK_UP    BIT(7)
#define   RCAR_GEN4_INTSTS0_MSI_CTRL_INT    BIT(26)
#define RCAR_GEN4_PCIEINTSTS0EN         0x310
#define   RCAR_GEN4_INTSTS0EN_MASK          0x040000c0
#define RCAR_GEN4_PCIEDMAINTSTSEN       0x314
#define   RCAR_GEN4_DMAINTSTSEN_MASK        0x0000ffff
#define   RCAR_GEN4_DMAINTSTSEN_WRITE(ch)   BIT(ch)
#define   RCAR_GEN4_DMAINTSTSEN_READ(ch)    BIT(8 + (ch))
#define RCAR_GEN4_AXIINTCADDR           0xa00
#define RCAR_GEN4_AXIINTCCONT           0xa04

/* Reset controller area: bit 0 is the controller's reset, set = asserted */
#define RCAR_GEN4_RESET_CTRL            0x0
#define   RCAR_GEN4_RESET_PWR               BIT(0)

#endif /* HW_PCI_EP_RCAR_GEN4_PCIE_REGS_H */
