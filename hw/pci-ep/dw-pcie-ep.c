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
#include "migration/vmstate.h"
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

static bool check_range(const char *property, unsigned value, unsigned max,
                        Error **errp)
{
    if (value < 1 || value > max) {
        error_setg(errp, "%s=%u: this controller has 1 to %u", property,
                   value, max);
        return false;
    }
    return true;
}

static bool check_conf(const DWPCIeEPConf *conf,
                       const DWPCIeEPFeatures *features, Error **errp)
{
    if (!check_range("functions", conf->functions, features->max_functions,
                     errp) ||
        !check_range("num-ob-windows", conf->num_ob_windows,
                     features->max_windows, errp) ||
        !check_range("num-ib-windows", conf->num_ib_windows,
                     features->max_windows, errp)) {
        return false;
    }
    if (!conf->num_dma_wr_ch != !conf->num_dma_rd_ch) {
        error_setg(errp, "num-dma-wr-ch=%u, num-dma-rd-ch=%u: a DMA engine "
                   "has channels of both directions", conf->num_dma_wr_ch,
                   conf->num_dma_rd_ch);
        return false;
    }
    return true;
}

bool dw_pcie_ep_realize(DWPCIeEP *ep, DeviceState *dev,
                        const DWPCIeEPFeatures *features, MemoryRegion *soc,
                        Error **errp)
{
    const DWPCIeEPConf *conf = &ep->conf;
    /* Under this ID the controller is a master in its SoC, ITS included. */
    MemTxAttrs attrs = { .requester_id = conf->stream_id };

    if (!check_conf(conf, features, errp)) {
        return false;
    }
    ep->dev = dev;
    ep->features = features;
    ep->num_functions = conf->functions;
    ep->num_outbound = conf->num_ob_windows;
    ep->num_inbound = conf->num_ib_windows;
    if (features->dma) {
        ep->num_dma[DW_EDMA_WRITE] = conf->num_dma_wr_ch;
        ep->num_dma[DW_EDMA_READ] = conf->num_dma_rd_ch;
    }
    /* The cable comes last of what can fail: it cannot be taken back. */
    if (!dw_pcie_dma_check(ep, errp)) {
        return false;
    }
    ep->cable = pcie_cable_ep_new(OBJECT(dev), conf->socket,
                                  ep->num_functions, conf->completion_timeout,
                                  &cable_ops, ep, errp);
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

/*
 * The peer holds mappings of this VM's RAM and the socket connects to one
 * process: neither can move to another host with the VM.
 */
static const VMStateDescription vmstate_dw_pcie_ep = {
    .name = "dw-pcie-ep",
    .unmigratable = 1,
};

static void G_GNUC_PRINTF(3, 4) describe(DeviceClass *dc, const char *name,
                                         const char *fmt, ...)
{
    g_autofree char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    object_class_property_set_description(OBJECT_CLASS(dc), name, text);
}

void dw_pcie_ep_class_init(DeviceClass *dc, const DWPCIeEPFeatures *features)
{
    dc->vmsd = &vmstate_dw_pcie_ep;
    dc->user_creatable = true;
    /* Its interrupts and device tree node exist from the start or never. */
    dc->hotpluggable = false;
    set_bit(DEVICE_CATEGORY_BRIDGE, dc->categories);

    describe(dc, "socket", "UNIX socket where this end of the PCIe cable "
             "listens; without it the cable is not plugged in");
    describe(dc, "completion-timeout", "ms until a read of the host completes "
             "with all ones, 0 = never");
    describe(dc, "functions", "PCI functions, 1 to %u",
             features->max_functions);
    describe(dc, "num-ob-windows", "outbound iATU regions, 1 to %u",
             features->max_windows);
    describe(dc, "num-ib-windows", "inbound iATU regions, 1 to %u",
             features->max_windows);
    describe(dc, "num-dma-wr-ch", "DMA channels that write to the host, 1 to "
             "8, HDMA's native map 1 to 64; 0 with num-dma-rd-ch=0 leaves the "
             "DMA engine out");
    describe(dc, "num-dma-rd-ch", "DMA channels that read from the host, like "
             "num-dma-wr-ch");
    describe(dc, "msi-parent", "the device tree names the machine's ITS as "
             "MSI parent");
    describe(dc, "stream-id", "requester ID of the controller in its SoC");
}
