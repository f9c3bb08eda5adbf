/*
 * libqos driver of the DesignWare PCIe endpoints: plays the SoC
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The machine is "virt" with "-device TYPE,id=ep0[,...]" where TYPE is
 * "rcar-gen4-pcie-ep" or "dw-plat-pcie-ep".  The platform bus decides where
 * the register areas are; dw_ep_init() asks QEMU which controller it is and
 * for the address of each area's memory region by its QOM path, so nothing
 * here depends on the order of devices.
 */
#ifndef TESTS_LIBQOS_DW_PCIE_EP_H
#define TESTS_LIBQOS_DW_PCIE_EP_H

#include "libqtest.h"
#include "hw/pci-ep/dw-pcie-regs.h"
#include "hw/pci-ep/dw-plat-pcie-regs.h"
#include "hw/pci-ep/rcar-gen4-pcie-regs.h"

/* The controllers */
#define DW_EP_RCAR "rcar-gen4-pcie-ep"
#define DW_EP_PLAT "dw-plat-pcie-ep"

/* The id= of the device and its QOM path (qom-get of its counters). */
#define DW_EP_ID "ep0"
#define DW_EP_QOM_PATH "/machine/peripheral/" DW_EP_ID

/* "-M" of a machine that can hold the device; add memory-backend to it. */
#define DW_EP_MACHINE "virt,gic-version=3"

typedef struct DWEp {
    QTestState *qts;
    bool plat;                  /* dw-plat-pcie-ep */
    /* Bytes between functions in the register areas */
    uint32_t dbi_stride;
    uint32_t dbi2_stride;
    /* CPU addresses of the register areas and of the outbound window */
    uint64_t dbi;
    uint64_t dbi2;
    uint64_t atu;
    uint64_t app;
    uint64_t addr_space;
    uint64_t dma;               /* 0: no DMA registers of their own */
    /* R-Car only */
    uint64_t phy;
    uint64_t reset_ctrl;
} DWEp;

typedef enum DWEpAtuDir {
    DW_EP_OUTBOUND,
    DW_EP_INBOUND,
} DWEpAtuDir;

/* Find the device "ep0" of @qts.  Free with g_free(). */
DWEp *dw_ep_init(QTestState *qts);

/* Configuration space of @fn through the DBI */
uint32_t dw_ep_dbi_readl(DWEp *ep, unsigned fn, uint32_t reg);
uint16_t dw_ep_dbi_readw(DWEp *ep, unsigned fn, uint32_t reg);
uint8_t dw_ep_dbi_readb(DWEp *ep, unsigned fn, uint32_t reg);
void dw_ep_dbi_writel(DWEp *ep, unsigned fn, uint32_t reg, uint32_t val);
void dw_ep_dbi_writew(DWEp *ep, unsigned fn, uint32_t reg, uint16_t val);
void dw_ep_dbi_writeb(DWEp *ep, unsigned fn, uint32_t reg, uint8_t val);
void dw_ep_dbi2_writel(DWEp *ep, unsigned fn, uint32_t reg, uint32_t val);
uint32_t dw_ep_dbi2_readl(DWEp *ep, unsigned fn, uint32_t reg);

/* Let the DBI write read-only fields (DBI_RO_WR_EN). */
void dw_ep_ro_wr(DWEp *ep, bool enable);

/* iATU and application registers */
uint32_t dw_ep_atu_readl(DWEp *ep, DWEpAtuDir dir, unsigned index,
                         uint32_t reg);
void dw_ep_atu_writel(DWEp *ep, DWEpAtuDir dir, unsigned index,
                      uint32_t reg, uint32_t val);
uint32_t dw_ep_app_readl(DWEp *ep, uint32_t reg);
void dw_ep_app_writel(DWEp *ep, uint32_t reg, uint32_t val);

/* The identity that the host sees; @class_code is 24 bits. */
void dw_ep_write_header(DWEp *ep, unsigned fn, uint16_t vendor,
                        uint16_t device, uint32_t class_code);

/*
 * Enable a BAR as the Linux driver does.  @flags are the low bits of the BAR
 * register (PCI_BASE_ADDRESS_MEM_TYPE_64, ..._MEM_PREFETCH); @size is a power
 * of two, at least 1 MiB for a resizable BAR.
 */
void dw_ep_set_bar_resizable(DWEp *ep, unsigned fn, unsigned bar,
                             uint64_t size, uint32_t flags);
void dw_ep_set_bar_programmable(DWEp *ep, unsigned fn, unsigned bar,
                                uint64_t size, uint32_t flags);
void dw_ep_set_bar_fixed(DWEp *ep, unsigned fn, unsigned bar, uint64_t size,
                         uint32_t flags);
void dw_ep_disable_bar(DWEp *ep, unsigned fn, unsigned bar);

/* The address that the host assigned to a BAR, 0 when it has not yet. */
uint64_t dw_ep_bar_assigned(DWEp *ep, unsigned fn, unsigned bar);

/* iATU regions of type MEM.  Addresses are multiples of 4 KiB. */
void dw_ep_inbound_bar_match(DWEp *ep, unsigned index, unsigned fn,
                             unsigned bar, uint64_t target);
void dw_ep_inbound_addr_match(DWEp *ep, unsigned index, unsigned fn,
                              uint64_t pci_base, uint64_t size,
                              uint64_t target);
void dw_ep_outbound(DWEp *ep, unsigned index, unsigned fn, uint64_t cpu_addr,
                    uint64_t pci_addr, uint64_t size);
void dw_ep_disable_atu(DWEp *ep, DWEpAtuDir dir, unsigned index);

/* How many MSI vectors the function asks for (a power of two, to 32). */
void dw_ep_set_msi(DWEp *ep, unsigned fn, unsigned vectors);

/*
 * Raise MSI @vector as the Linux driver does: map the host's MSI address
 * with outbound region @index at @cpu_addr and write the vector's data.
 * Returns false when the host has MSI off.
 */
bool dw_ep_raise_msi(DWEp *ep, unsigned index, unsigned fn,
                     uint64_t cpu_addr, unsigned vector);

/*
 * MSI-X: @vectors of them, table and pending bits behind one another from
 * @offset on in BAR @bir, as the Linux driver lays them out.
 */
void dw_ep_set_msix(DWEp *ep, unsigned fn, unsigned vectors, unsigned bir,
                    uint32_t offset);

/*
 * Raise MSI-X @vector as the Linux driver does: read the vector from the
 * table, which is in the SoC's memory at @table, map the address found there
 * with outbound region @index at @cpu_addr and write the data found there.
 * Returns false when the host has masked the vector.
 */
bool dw_ep_raise_msix(DWEp *ep, unsigned index, unsigned fn,
                      uint64_t cpu_addr, uint64_t table, unsigned vector);

/* LTSSM on or off; the link is up when a peer is there too. */
void dw_ep_start_link(DWEp *ep);
void dw_ep_stop_link(DWEp *ep);
bool dw_ep_link_up(DWEp *ep);

/* The controller's reset line; R-Car only. */
void dw_ep_set_reset(DWEp *ep, bool asserted);

#endif /* TESTS_LIBQOS_DW_PCIE_EP_H */
