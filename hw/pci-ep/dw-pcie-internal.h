/*
 * DesignWare PCIe endpoint: what the files of the core offer one another
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_PCI_EP_DW_PCIE_INTERNAL_H
#define HW_PCI_EP_DW_PCIE_INTERNAL_H

#include "hw/pci-ep/dw-pcie-ep.h"
#include "qemu/log.h"

/* dw-pcie-ep.c */

/* True the first time that @err is seen. */
bool dw_pcie_first_error(DWPCIeEP *ep, DWPCIeGuestError err);

#define dw_pcie_guest_error(ep, err, fmt, ...)                          \
    do {                                                                \
        if (dw_pcie_first_error(ep, err)) {                             \
            qemu_log_mask(LOG_GUEST_ERROR, "%s: " fmt "\n",             \
                          object_get_typename(OBJECT((ep)->dev)),       \
                          ## __VA_ARGS__);                              \
        }                                                               \
    } while (0)

/* The SoC gave @f an identity, so the host shall find it. */
void dw_pcie_func_appear(DWPCIeFunc *f);

/* Reset what a function-level reset resets. */
void dw_pcie_func_flr(DWPCIeFunc *f);

/* dw-pcie-config.c */

/* Fill in reset values and write masks of @f. */
void dw_pcie_config_init(DWPCIeFunc *f);

/* All registers of @f as after power-on. */
void dw_pcie_config_cold_reset(DWPCIeFunc *f);

/* Registers of @f that do not survive a hot reset or the loss of the link. */
void dw_pcie_config_hot_reset(DWPCIeFunc *f);

/* Show speed and width of the link in every function. */
void dw_pcie_config_update_link(DWPCIeEP *ep);

/* Where @bar's entry in the REBAR capability is, 0 when it has none. */
uint32_t dw_pcie_rebar_entry(const DWPCIeEPFeatures *features, unsigned bar);

/* dw-pcie-dbi.c */

void dw_pcie_dbi_init(DWPCIeEP *ep);

/* Little-endian value at @addr, which lies below the port logic. */
uint32_t dw_pcie_cfg_read(DWPCIeFunc *f, uint32_t addr, unsigned size);

/* A write by the host, or by the SoC through the DBI when @dbi is true. */
void dw_pcie_cfg_write(DWPCIeFunc *f, uint32_t addr, uint32_t val,
                       unsigned size, bool dbi);

/* The host's accesses: all of configuration space, port logic included. */
uint32_t dw_pcie_host_read(DWPCIeEP *ep, unsigned fn, uint32_t addr,
                           unsigned size);
void dw_pcie_host_write(DWPCIeEP *ep, unsigned fn, uint32_t addr,
                        uint32_t val, unsigned size);

/* Tell the cable what the function's Command and power state allow. */
void dw_pcie_update_command(DWPCIeFunc *f);

/* dw-pcie-port.c */

void dw_pcie_port_reset(DWPCIeEP *ep);
uint32_t dw_pcie_port_read(DWPCIeEP *ep, uint32_t addr);
void dw_pcie_port_write(DWPCIeEP *ep, uint32_t addr, uint32_t val,
                        uint32_t byte_mask);
bool dw_pcie_port_ro_wr_enabled(DWPCIeEP *ep);
bool dw_pcie_port_host_writable(DWPCIeEP *ep);

/* The link came up: a pending directed speed change has happened. */
void dw_pcie_port_link_trained(DWPCIeEP *ep);

/* dw-pcie-bar.c */

void dw_pcie_bar_init(DWPCIeFunc *f, MemoryRegion *soc, MemTxAttrs attrs);
void dw_pcie_dbi2_init(DWPCIeEP *ep);
void dw_pcie_bar_cold_reset(DWPCIeFunc *f);
void dw_pcie_bar_hot_reset(DWPCIeFunc *f);
uint32_t dw_pcie_bar_read(DWPCIeFunc *f, unsigned bar);
void dw_pcie_bar_write(DWPCIeFunc *f, unsigned bar, uint32_t val, bool dbi);

/* Address that the host assigned, all bits of a 64-bit pair. */
uint64_t dw_pcie_bar_address(DWPCIeFunc *f, unsigned bar);

/* The REBAR capability changed: derive the BAR's mask again. */
void dw_pcie_bar_update(DWPCIeFunc *f, unsigned bar);

/* Select the smallest size that the capability of @bar offers. */
void dw_pcie_rebar_select_smallest(DWPCIeFunc *f, unsigned bar);

/* Select size code @code for @bar; false when it is not offered. */
bool dw_pcie_rebar_select(DWPCIeFunc *f, unsigned bar, unsigned code);

/* dw-pcie-atu.c */

void dw_pcie_atu_init(DWPCIeEP *ep);
void dw_pcie_atu_reset(DWPCIeEP *ep);

/* First and last address that @r matches in address match mode. */
uint64_t dw_pcie_atu_base(const DWPCIeATURegion *r);
uint64_t dw_pcie_atu_limit(const DWPCIeATURegion *r);
uint64_t dw_pcie_atu_target(const DWPCIeATURegion *r);
bool dw_pcie_atu_is_mem(const DWPCIeATURegion *r);
unsigned dw_pcie_atu_func(const DWPCIeATURegion *r);

/* dw-pcie-atu-map.c */

void dw_pcie_window_init(DWPCIeEP *ep);
void dw_pcie_inbound_init(DWPCIeFunc *f, DWPCIeBar *bar, const char *name,
                          MemoryRegion *soc);

/* Show region @index of the outbound iATU in the window. */
void dw_pcie_map_outbound(DWPCIeEP *ep, unsigned index);

/* Show all inbound regions in one BAR, or in every BAR. */
void dw_pcie_map_bar(DWPCIeFunc *f, unsigned bar);
void dw_pcie_map_inbound(DWPCIeEP *ep);

/* dw-pcie-dma.c */

/* Can the engine be made as the properties want it? */
bool dw_pcie_dma_check(DWPCIeEP *ep, Error **errp);
void dw_pcie_dma_init(DWPCIeEP *ep, MemoryRegion *soc, MemTxAttrs attrs);
void dw_pcie_dma_reset(DWPCIeEP *ep);

/* The outbound iATU has changed. */
void dw_pcie_dma_update_windows(DWPCIeEP *ep);

/* The DMA register at @addr of the port logic; false when there is none. */
bool dw_pcie_dma_port_read(DWPCIeEP *ep, uint32_t addr, uint32_t *val);
bool dw_pcie_dma_port_write(DWPCIeEP *ep, uint32_t addr, uint32_t val,
                            uint32_t byte_mask);

/* dw-pcie-msi.c */

int dw_pcie_msi_vector(DWPCIeFunc *f, uint64_t addr, uint32_t data);

#endif /* HW_PCI_EP_DW_PCIE_INTERNAL_H */
