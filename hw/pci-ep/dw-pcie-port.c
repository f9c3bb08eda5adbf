/*
 * DesignWare PCIe endpoint: port logic registers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * They belong to the port, so there is one set, seen at 0x700 of function 0.
 * Most only tune the physical layer, which a cable made of a socket has not:
 * those keep what is written to them.
 */
#include "qemu/osdep.h"
#include "dw-pcie-internal.h"

/* Fast training sequences that the receivers ask for */
#define N_FTS_RESET 0x80
/* Entrance latencies of L0s (4 us) and L1 (8 us) */
#define AFR_LATENCY_RESET (3u << 24 | 3u << 27)

typedef struct PortRegister {
    uint32_t addr;
    uint32_t wmask;
} PortRegister;

static const PortRegister port_registers[] = {
    { DW_PCIE_PORT_FORCE, UINT32_MAX },
    { DW_PCIE_PORT_AFR, UINT32_MAX },
    { DW_PCIE_PORT_LINK_CONTROL, UINT32_MAX },
    { DW_PCIE_PORT_LANE_SKEW, UINT32_MAX },
    { DW_PCIE_TIMER_CTRL, 0xffffff00 },
    { DW_PCIE_PORT_DEBUG0, 0 },
    { DW_PCIE_PORT_DEBUG1, 0 },
    { DW_PCIE_LINK_WIDTH_SPEED, UINT32_MAX },
    { DW_PCIE_GEN3_RELATED, UINT32_MAX },
    { DW_PCIE_GEN3_EQ_CONTROL, UINT32_MAX },
    { DW_PCIE_GEN3_EQ_FB_MODE, UINT32_MAX },
    { DW_PCIE_PIPE_LOOPBACK_CONTROL, UINT32_MAX },
    { DW_PCIE_MISC_CONTROL_1,
      DW_PCIE_DBI_RO_WR_EN | DW_PCIE_PORT_LOGIC_WR_DISABLE },
    { DW_PCIE_MULTI_LANE_CONTROL, 0xff },
    { DW_PCIE_COHERENCY_CONTROL_1, UINT32_MAX },
    { DW_PCIE_COHERENCY_CONTROL_2, UINT32_MAX },
    { DW_PCIE_COHERENCY_CONTROL_3, UINT32_MAX },
    { DW_PCIE_VERSION_NUMBER, 0 },
    { DW_PCIE_VERSION_TYPE, 0 },
    { DW_PCIE_ATU_VIEWPORT, 0 },
    { DW_PCIE_PL_CHK_REG_STATUS,
      DW_PCIE_PL_CHK_START | DW_PCIE_PL_CHK_CONTINUOUS },
    { DW_PCIE_PL_CHK_REG_ERR_ADDR, 0 },
};

static const PortRegister *find_register(uint32_t addr)
{
    for (unsigned i = 0; i < ARRAY_SIZE(port_registers); i++) {
        if (port_registers[i].addr == addr) {
            return &port_registers[i];
        }
    }
    return NULL;
}

static uint32_t *port_register(DWPCIeEP *ep, uint32_t addr)
{
    return &ep->port[(addr - DW_PCIE_PORT_LOGIC_START) / 4];
}

void dw_pcie_port_reset(DWPCIeEP *ep)
{
    const DWPCIeEPFeatures *s = ep->features;
    uint32_t lanes = s->max_link_width;

    memset(ep->port, 0, sizeof(ep->port));
    *port_register(ep, DW_PCIE_PORT_AFR) =
        AFR_LATENCY_RESET | N_FTS_RESET << 8 | N_FTS_RESET << 16;
    *port_register(ep, DW_PCIE_PORT_LINK_CONTROL) =
        DW_PCIE_LINK_DLL_LINK_EN |
        (2 * lanes - 1) << DW_PCIE_LINK_MODE_SHIFT;
    *port_register(ep, DW_PCIE_TIMER_CTRL) = ep->num_functions - 1;
    *port_register(ep, DW_PCIE_LINK_WIDTH_SPEED) =
        N_FTS_RESET | lanes << DW_PCIE_LWS_WIDTH_SHIFT;
    *port_register(ep, DW_PCIE_VERSION_NUMBER) = s->version;
    *port_register(ep, DW_PCIE_VERSION_TYPE) = s->version_type;
    /* All ones say that the iATU is unrolled. */
    *port_register(ep, DW_PCIE_ATU_VIEWPORT) = UINT32_MAX;
}

static uint32_t ltssm_state(DWPCIeEP *ep)
{
    if (ep->link_up) {
        return DW_PCIE_LTSSM_L0;
    }
    return ep->ltssm_enabled ? DW_PCIE_LTSSM_DETECT_ACT :
                               DW_PCIE_LTSSM_DETECT_QUIET;
}

uint32_t dw_pcie_port_read(DWPCIeEP *ep, uint32_t addr)
{
    uint32_t val;

    if (dw_pcie_dma_port_read(ep, addr, &val)) {
        return val;
    }
    switch (addr) {
    case DW_PCIE_PORT_DEBUG0:
        return ltssm_state(ep);
    case DW_PCIE_PORT_DEBUG1:
        return ep->link_up ? DW_PCIE_DEBUG1_LINK_UP : 0;
    default:
        return find_register(addr) ? *port_register(ep, addr) : 0;
    }
}

void dw_pcie_port_write(DWPCIeEP *ep, uint32_t addr, uint32_t val,
                        uint32_t byte_mask)
{
    const PortRegister *r = find_register(addr);
    uint32_t mask, *reg;

    if (dw_pcie_dma_port_write(ep, addr, val, byte_mask)) {
        return;
    }
    if (!r) {
        dw_pcie_guest_error(ep, DW_PCIE_ERR_REGISTER,
                            "write to port logic register 0x%03x, which does "
                            "not exist", addr);
        return;
    }

    reg = port_register(ep, addr);
    mask = r->wmask & byte_mask;
    *reg = (*reg & ~mask) | (val & mask);

    switch (addr) {
    case DW_PCIE_LINK_WIDTH_SPEED:
        if (ep->link_up) {
            dw_pcie_port_link_trained(ep);
        }
        break;
    case DW_PCIE_PL_CHK_REG_STATUS:
        /* Registers in memory do not decay: the check passes at once. */
        if (*reg & DW_PCIE_PL_CHK_START) {
            *reg |= DW_PCIE_PL_CHK_COMPLETE;
            *reg &= ~DW_PCIE_PL_CHK_START;
        }
        break;
    }
}

bool dw_pcie_port_ro_wr_enabled(DWPCIeEP *ep)
{
    return *port_register(ep, DW_PCIE_MISC_CONTROL_1) & DW_PCIE_DBI_RO_WR_EN;
}

bool dw_pcie_port_host_writable(DWPCIeEP *ep)
{
    return !(*port_register(ep, DW_PCIE_MISC_CONTROL_1) &
             DW_PCIE_PORT_LOGIC_WR_DISABLE);
}

void dw_pcie_port_link_trained(DWPCIeEP *ep)
{
    *port_register(ep, DW_PCIE_LINK_WIDTH_SPEED) &= ~DW_PCIE_LWS_SPEED_CHANGE;
}
