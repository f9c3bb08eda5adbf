/*
 * DesignWare PCIe endpoint: accesses to configuration space
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * There is one configuration space a function and two ways in: the host's
 * config requests, bound by the PCI write masks, and the SoC's DBI, which
 * may write read-only fields too while DBI_RO_WR_EN is set.
 */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "hw/pci/pcie_regs.h"
#include "dw-pcie-internal.h"
#include "trace.h"

#define REBAR_CTRL_SIZE_MASK 0x3f00

static bool is_bar(uint32_t addr)
{
    return addr >= PCI_BASE_ADDRESS_0 && addr <= PCI_BASE_ADDRESS_5;
}

static uint32_t extract_bytes(uint32_t dword, uint32_t addr, unsigned size)
{
    return extract32(dword, (addr & 3) * 8, size * 8);
}

uint32_t dw_pcie_cfg_read(DWPCIeFunc *f, uint32_t addr, unsigned size)
{
    uint32_t dword_addr = addr & ~3;
    uint32_t dword;

    if (is_bar(dword_addr)) {
        dword = dw_pcie_bar_read(f, (dword_addr - PCI_BASE_ADDRESS_0) / 4);
    } else {
        dword = ldl_le_p(f->cfg + dword_addr);
    }
    return extract_bytes(dword, addr, size);
}

void dw_pcie_update_command(DWPCIeFunc *f)
{
    uint16_t command = lduw_le_p(f->cfg + PCI_COMMAND);
    uint16_t pmcsr = lduw_le_p(f->cfg + DW_PCIE_CAP_PM + PCI_PM_CTRL);

    /* In D3hot a function answers config requests only (PCIe 5.3.1.4). */
    if (pmcsr & PCI_PM_CTRL_STATE_MASK) {
        command &= ~(PCI_COMMAND_IO | PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    }
    pcie_cable_ep_set_command(f->ep->cable, f->number, command);
}

static void write_rebar(DWPCIeFunc *f, uint32_t addr, uint32_t val,
                        uint32_t mask, bool dbi)
{
    uint32_t cap = 0;
    unsigned bar;

    for (bar = 0; bar < DW_PCIE_NUM_BARS; bar++) {
        cap = dw_pcie_rebar_entry(f->ep->features, bar);
        if (cap && (addr == cap + PCI_REBAR_CAP ||
                    addr == cap + PCI_REBAR_CTRL)) {
            break;
        }
    }
    if (bar == DW_PCIE_NUM_BARS) {
        return;
    }

    if (addr == cap + PCI_REBAR_CAP) {
        if (dbi && mask && dw_pcie_port_ro_wr_enabled(f->ep)) {
            dw_pcie_rebar_select_smallest(f, bar);
        }
    } else if (mask & REBAR_CTRL_SIZE_MASK) {
        uint32_t old = ldl_le_p(f->cfg + addr);
        uint32_t merged = (old & ~mask) | (val & mask);

        dw_pcie_rebar_select(f, bar, extract32(merged, 8, 6));
    }
}

static void check_device_control(DWPCIeFunc *f)
{
    const DWPCIeEPFeatures *s = f->ep->features;
    uint16_t ctl = lduw_le_p(f->cfg + DW_PCIE_CAP_EXP + PCI_EXP_DEVCTL);
    unsigned mps = (ctl & PCI_EXP_DEVCTL_PAYLOAD) >> 5;
    unsigned mrrs = (ctl & PCI_EXP_DEVCTL_READRQ) >> 12;

    if (mps > s->mps_supported) {
        dw_pcie_guest_error(f->ep, DW_PCIE_ERR_MPS,
                            "function %u: Max_Payload_Size %u is over the %u "
                            "that the core supports: such TLPs are malformed "
                            "to it", f->number, 128 << mps,
                            128 << s->mps_supported);
    }
    if (mrrs > s->mrrs_supported) {
        dw_pcie_guest_error(f->ep, DW_PCIE_ERR_MRRS,
                            "function %u: Max_Read_Request_Size %u is over "
                            "%u: on hardware longer DMA reads return wrong "
                            "data", f->number, 128 << mrrs,
                            128 << s->mrrs_supported);
    }
}

static void write_pm_state(DWPCIeFunc *f, uint8_t old)
{
    uint8_t *pmcsr = f->cfg + DW_PCIE_CAP_PM + PCI_PM_CTRL;
    uint8_t state = *pmcsr & PCI_PM_CTRL_STATE_MASK;

    /* D1 and D2 do not exist: the write is completed and ignored. */
    if (state == 1 || state == 2) {
        *pmcsr = (*pmcsr & ~PCI_PM_CTRL_STATE_MASK) |
                 (old & PCI_PM_CTRL_STATE_MASK);
    }
    dw_pcie_update_command(f);
}

/* What a write of @val under @mask to the dword at @addr sets off. */
static void cfg_written(DWPCIeFunc *f, uint32_t addr, uint32_t old,
                        uint32_t val, uint32_t mask, bool dbi)
{
    switch (addr) {
    case PCI_VENDOR_ID:
        if (dbi && (mask & 0xffff) && dw_pcie_port_ro_wr_enabled(f->ep)) {
            dw_pcie_func_appear(f);
        }
        break;
    case PCI_COMMAND:
        dw_pcie_update_command(f);
        break;
    case DW_PCIE_CAP_PM + PCI_PM_CTRL:
        write_pm_state(f, old);
        break;
    case DW_PCIE_CAP_EXP + PCI_EXP_DEVCTL:
        if (val & mask & PCI_EXP_DEVCTL_BCR_FLR) {
            dw_pcie_func_flr(f);
        } else if (mask & 0xffff) {
            check_device_control(f);
        }
        break;
    case DW_PCIE_CAP_EXP + PCI_EXP_LNKCAP:
    case DW_PCIE_CAP_EXP + PCI_EXP_LNKCTL2:
        dw_pcie_config_update_link(f->ep);
        break;
    default:
        write_rebar(f, addr, val, mask, dbi);
        break;
    }
}

static void check_read_only(DWPCIeFunc *f, uint32_t addr, uint32_t ignored)
{
    if (ignored) {
        dw_pcie_guest_error(f->ep, DW_PCIE_ERR_READ_ONLY,
                            "function %u: DBI write to read-only bits 0x%08x "
                            "of register 0x%03x ignored%s", f->number,
                            ignored, addr,
                            dw_pcie_port_ro_wr_enabled(f->ep) ? "" :
                            " (DBI_RO_WR_EN is clear)");
    }
}

void dw_pcie_cfg_write(DWPCIeFunc *f, uint32_t addr, uint32_t val,
                       unsigned size, bool dbi)
{
    uint32_t dword_addr = addr & ~3;
    unsigned shift = (addr & 3) * 8;
    uint32_t mask = MAKE_64BIT_MASK(shift, size * 8);
    uint32_t old, writable, w1c;

    val <<= shift;
    if (is_bar(dword_addr)) {
        unsigned bar = (dword_addr - PCI_BASE_ADDRESS_0) / 4;

        old = dw_pcie_bar_read(f, bar);
        dw_pcie_bar_write(f, bar, (old & ~mask) | (val & mask), dbi);
        return;
    }

    old = ldl_le_p(f->cfg + dword_addr);
    w1c = ldl_le_p(f->w1c + dword_addr);
    writable = ldl_le_p(f->wmask + dword_addr);
    if (dbi && dw_pcie_port_ro_wr_enabled(f->ep)) {
        writable |= ldl_le_p(f->hwinit + dword_addr);
    }
    if (dbi) {
        check_read_only(f, dword_addr, (old ^ val) & mask & ~writable & ~w1c &
                        ldl_le_p(f->hwinit + dword_addr));
    }

    writable &= mask;
    stl_le_p(f->cfg + dword_addr,
             ((old & ~writable) | (val & writable)) & ~(val & mask & w1c));
    cfg_written(f, dword_addr, old, val, mask, dbi);
}

uint32_t dw_pcie_host_read(DWPCIeEP *ep, unsigned fn, uint32_t addr,
                           unsigned size)
{
    uint32_t val = 0;

    if (addr < DW_PCIE_PORT_LOGIC_START) {
        val = dw_pcie_cfg_read(&ep->func[fn], addr, size);
    } else if (!fn) {
        val = extract_bytes(dw_pcie_port_read(ep, addr & ~3), addr, size);
    }
    trace_dw_pcie_host_read(fn, addr, size, val);
    return val;
}

void dw_pcie_host_write(DWPCIeEP *ep, unsigned fn, uint32_t addr,
                        uint32_t val, unsigned size)
{
    unsigned shift = (addr & 3) * 8;

    trace_dw_pcie_host_write(fn, addr, size, val);
    if (addr < DW_PCIE_PORT_LOGIC_START) {
        dw_pcie_cfg_write(&ep->func[fn], addr, val, size, false);
    } else if (!fn && dw_pcie_port_host_writable(ep)) {
        dw_pcie_port_write(ep, addr & ~3, val << shift,
                           MAKE_64BIT_MASK(shift, size * 8));
    }
}

static MemTxResult dbi_read(void *opaque, hwaddr offset, uint64_t *val,
                            unsigned size, MemTxAttrs attrs)
{
    DWPCIeEP *ep = opaque;
    unsigned fn = offset / ep->features->dbi_stride;
    uint32_t addr = offset % ep->features->dbi_stride;

    if (dw_pcie_ep_refuse_access(ep, "DBI", offset)) {
        *val = UINT64_MAX;
        return MEMTX_ERROR;
    }

    *val = 0;
    if (fn < ep->num_functions) {
        if (addr < DW_PCIE_PORT_LOGIC_START) {
            *val = dw_pcie_cfg_read(&ep->func[fn], addr, size);
        } else if (!fn) {
            *val = extract_bytes(dw_pcie_port_read(ep, addr & ~3), addr, size);
        }
    }
    trace_dw_pcie_dbi_read(fn, addr, size, *val);
    return MEMTX_OK;
}

static MemTxResult dbi_write(void *opaque, hwaddr offset, uint64_t val,
                             unsigned size, MemTxAttrs attrs)
{
    DWPCIeEP *ep = opaque;
    unsigned fn = offset / ep->features->dbi_stride;
    uint32_t addr = offset % ep->features->dbi_stride;
    unsigned shift = (addr & 3) * 8;

    if (dw_pcie_ep_refuse_access(ep, "DBI", offset)) {
        return MEMTX_ERROR;
    }

    trace_dw_pcie_dbi_write(fn, addr, size, val);
    if (fn < ep->num_functions) {
        if (addr < DW_PCIE_PORT_LOGIC_START) {
            dw_pcie_cfg_write(&ep->func[fn], addr, val, size, true);
        } else if (!fn) {
            dw_pcie_port_write(ep, addr & ~3, (uint32_t)val << shift,
                               MAKE_64BIT_MASK(shift, size * 8));
        }
    }
    dw_pcie_ep_write_done(ep);
    return MEMTX_OK;
}

static const MemoryRegionOps dbi_ops = {
    .read_with_attrs = dbi_read,
    .write_with_attrs = dbi_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid.min_access_size = 1,
    .valid.max_access_size = 4,
    .impl.min_access_size = 1,
    .impl.max_access_size = 4,
};

void dw_pcie_dbi_init(DWPCIeEP *ep)
{
    memory_region_init_io(&ep->dbi, OBJECT(ep->dev), &dbi_ops, ep, "dbi",
                          ep->features->dbi_size);
    /* dw_pcie_ep_write_done() lets other vCPUs in. */
    ep->dbi.disable_reentrancy_guard = true;
}
