/*
 * DesignWare PCIe endpoint: life of the core - link, resets, functions
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Three resets, from the strongest: the core's reset line (every register),
 * hot reset, to which the loss of the link amounts (what the host wrote),
 * and function-level reset (the same in one function, but not the link's
 * settings).  What software of the SoC set up - identity, BAR masks, iATU -
 * survives the latter two: the Linux driver of R-Car is not told that the
 * link went down and does not set it up again.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "hw/pci/pci_regs.h"
#include "dw-pcie-internal.h"
#include "trace.h"

bool dw_pcie_first_error(DWPCIeEP *ep, DWPCIeGuestError err)
{
    uint32_t bit = 1u << err;
    bool first = !(ep->errors_seen & bit);

    ep->errors_seen |= bit;
    return first;
}

bool dw_pcie_ep_refuse_access(DWPCIeEP *ep, const char *area, hwaddr offset)
{
    if (ep->in_reset) {
        dw_pcie_guest_error(ep, DW_PCIE_ERR_IN_RESET,
                            "access to %s register 0x%" HWADDR_PRIx
                            " while the reset is asserted: bus error",
                            area, offset);
    }
    return ep->in_reset;
}

void dw_pcie_ep_write_done(DWPCIeEP *ep)
{
    if (ep->inbound_changed) {
        ep->inbound_changed = false;
        pcie_cable_ep_sync(ep->cable);
    }
}

static void update_multi_function(DWPCIeEP *ep)
{
    uint8_t type = PCI_HEADER_TYPE_NORMAL;

    for (unsigned i = 1; i < ep->num_functions; i++) {
        if (ep->func[i].present) {
            type |= PCI_HEADER_TYPE_MULTI_FUNCTION;
        }
    }
    for (unsigned i = 0; i < ep->num_functions; i++) {
        ep->func[i].cfg[PCI_HEADER_TYPE] = type;
    }
}

static void set_present(DWPCIeFunc *f, bool present)
{
    f->present = present;
    pcie_cable_ep_set_present(f->ep->cable, f->number, present);
    update_multi_function(f->ep);
}

void dw_pcie_func_appear(DWPCIeFunc *f)
{
    if (!f->present) {
        set_present(f, true);
    }
}

static void func_hot_reset(DWPCIeFunc *f)
{
    dw_pcie_config_hot_reset(f);
    dw_pcie_update_command(f);
}

void dw_pcie_func_flr(DWPCIeFunc *f)
{
    uint8_t *devctl = f->cfg + DW_PCIE_CAP_EXP + PCI_EXP_DEVCTL;
    uint8_t *lnkctl = f->cfg + DW_PCIE_CAP_EXP + PCI_EXP_LNKCTL;
    uint16_t mps = lduw_le_p(devctl) & PCI_EXP_DEVCTL_PAYLOAD;
    uint16_t link = lduw_le_p(lnkctl);

    trace_dw_pcie_reset("function level", f->number);
    func_hot_reset(f);
    /* FLR leaves alone what the link depends on (PCIe 6.0, 6.6.2). */
    stw_le_p(devctl, (lduw_le_p(devctl) & ~PCI_EXP_DEVCTL_PAYLOAD) | mps);
    stw_le_p(lnkctl, link);
}

static void all_hot_reset(DWPCIeEP *ep)
{
    for (unsigned i = 0; i < ep->num_functions; i++) {
        func_hot_reset(&ep->func[i]);
    }
}

static void cold_reset(DWPCIeEP *ep)
{
    trace_dw_pcie_reset("cold", 0);
    dw_pcie_ep_set_ltssm(ep, false);
    dw_pcie_port_reset(ep);
    for (unsigned i = 0; i < ep->num_functions; i++) {
        DWPCIeFunc *f = &ep->func[i];

        dw_pcie_config_cold_reset(f);
        set_present(f, !f->number);
        dw_pcie_update_command(f);
    }
    dw_pcie_atu_reset(ep);
    dw_pcie_dma_reset(ep);
    dw_pcie_config_update_link(ep);
}

void dw_pcie_ep_reset(DWPCIeEP *ep)
{
    ep->in_reset = false;
    ep->errors_seen = 0;
    cold_reset(ep);
}

void dw_pcie_ep_set_reset(DWPCIeEP *ep, bool asserted)
{
    if (asserted && !ep->in_reset) {
        cold_reset(ep);
    }
    ep->in_reset = asserted;
}

void dw_pcie_ep_set_ltssm(DWPCIeEP *ep, bool enable)
{
    if (ep->ltssm_enabled != enable) {
        trace_dw_pcie_ltssm(enable);
        ep->ltssm_enabled = enable;
        /* A link that goes down takes what the host maps with it. */
        ep->inbound_changed = true;
        pcie_cable_ep_set_ltssm(ep->cable, enable);
    }
}

static void cable_link_change(void *opaque, bool up)
{
    DWPCIeEP *ep = opaque;

    trace_dw_pcie_link(up);
    ep->link_up = up;
    if (up) {
        dw_pcie_port_link_trained(ep);
    } else {
        /* DL_Down resets like a hot reset does (PCIe 6.0, 2.9.1). */
        all_hot_reset(ep);
    }
    dw_pcie_config_update_link(ep);
    if (ep->link_change) {
        ep->link_change(ep->dev, up);
    }
}

static void cable_hot_reset(void *opaque)
{
    DWPCIeEP *ep = opaque;

    trace_dw_pcie_reset("hot", 0);
    all_hot_reset(ep);
}

static uint32_t cable_config_read(void *opaque, unsigned fn, uint32_t addr,
                                  unsigned size)
{
    DWPCIeEP *ep = opaque;

    return dw_pcie_host_read(ep, fn, addr, size);
}

static void cable_config_write(void *opaque, unsigned fn, uint32_t addr,
                               uint32_t val, unsigned size)
{
    DWPCIeEP *ep = opaque;

    dw_pcie_host_write(ep, fn, addr, val, size);
}

static int cable_msi_vector(void *opaque, unsigned fn, uint64_t addr,
                            uint32_t data)
{
    DWPCIeEP *ep = opaque;

    return dw_pcie_msi_vector(&ep->func[fn], addr, data);
}

static const PCIeCableEPOps cable_ops = {
    .link_change = cable_link_change,
    .config_read = cable_config_read,
    .config_write = cable_config_write,
    .msi_vector = cable_msi_vector,
    .hot_reset = cable_hot_reset,
};

bool dw_pcie_ep_realize(DWPCIeEP *ep, DeviceState *dev,
                        const DWPCIeEPFeatures *features, MemoryRegion *soc,
                        const char *socket_path, uint32_t timeout_ms,
                        MemTxAttrs attrs, Error **errp)
{
    ep->dev = dev;
    ep->features = features;
    /* The cable comes last of what can fail: it cannot be taken back. */
    if (!dw_pcie_dma_check(ep, errp)) {
        return false;
    }
    ep->cable = pcie_cable_ep_new(OBJECT(dev), socket_path, ep->num_functions,
                                  timeout_ms, &cable_ops, ep, errp);
    if (!ep->cable) {
        return false;
    }

    dw_pcie_dbi_init(ep);
    dw_pcie_dbi2_init(ep);
    dw_pcie_atu_init(ep);
    dw_pcie_window_init(ep);

    ep->func = g_new0(DWPCIeFunc, ep->num_functions);
    for (unsigned i = 0; i < ep->num_functions; i++) {
        DWPCIeFunc *f = &ep->func[i];

        f->ep = ep;
        f->number = i;
        dw_pcie_config_init(f);
        dw_pcie_bar_init(f, soc, attrs);
    }
    dw_pcie_dma_init(ep, soc, attrs);
    return true;
}
