/*
 * DesignWare PCIe endpoint: which memory writes are MSIs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "dw-pcie-internal.h"

int dw_pcie_msi_vector(DWPCIeFunc *f, uint64_t addr, uint32_t data)
{
    const uint8_t *cap = f->cfg + DW_PCIE_CAP_MSI;
    uint16_t flags = lduw_le_p(cap + PCI_MSI_FLAGS);
    uint64_t msi_addr = ldl_le_p(cap + PCI_MSI_ADDRESS_LO);
    uint32_t msi_data = lduw_le_p(cap + PCI_MSI_DATA_64);
    /* Codes 6 and 7 of the two fields are reserved. */
    unsigned capable = (flags & PCI_MSI_FLAGS_QMASK) >> 1;
    unsigned enabled = (flags & PCI_MSI_FLAGS_QSIZE) >> 4;
    uint32_t vector_mask = (1u << MIN(MIN(capable, enabled), 5)) - 1;

    if (!(flags & PCI_MSI_FLAGS_ENABLE)) {
        return -1;
    }
    msi_addr |= (uint64_t)ldl_le_p(cap + PCI_MSI_ADDRESS_HI) << 32;
    if (addr != msi_addr || (data ^ msi_data) & ~vector_mask) {
        return -1;
    }
    return data & vector_mask;
}
