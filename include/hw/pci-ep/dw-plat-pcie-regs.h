/*
 * Generic DesignWare PCIe endpoint: register areas and application registers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Offsets and bits only, shared by the model and its tests.
 */
#ifndef HW_PCI_EP_DW_PLAT_PCIE_REGS_H
#define HW_PCI_EP_DW_PLAT_PCIE_REGS_H

#include "qemu/bitops.h"

/* Register areas and the distance between functions in them */
#define DW_PLAT_MAX_FUNCTIONS           8
#define DW_PLAT_DBI_FUNC_STRIDE         0x1000
#define DW_PLAT_DBI_SIZE                0x8000
#define DW_PLAT_DBI2_FUNC_STRIDE        0x1000
#define DW_PLAT_DBI2_SIZE               0x8000
#define DW_PLAT_MAX_WINDOWS             32
#define DW_PLAT_ATU_SIZE                0x4000
#define DW_PLAT_APP_SIZE                0x1000
#define DW_PLAT_ADDR_SPACE_SIZE         0x800000

/* What a function looks like before software wrote its header: Synopsys */
#define DW_PLAT_RESET_VENDOR_ID         0x16c3
#define DW_PLAT_RESET_DEVICE_ID         0xabcd
#define DW_PLAT_RESET_CLASS             0x000000
#define DW_PLAT_ATU_REGION_SIZE         0x1000
#define DW_PLAT_ATU_UPPER_LIMIT         0xff        /* regions to 1 TiB */

/* Application registers */
#define DW_PLAT_APP_LTSSM               0x000   /* RW */
#define   DW_PLAT_APP_LTSSM_ENABLE          BIT(0)

#endif /* HW_PCI_EP_DW_PLAT_PCIE_REGS_H */
