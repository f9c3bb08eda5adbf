/*
 * DesignWare PCIe endpoint: layout of a function's configuration space
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Says for every register which bits exist, who may write them, what they
 * are after reset and which resets they survive.  The BAR registers are the
 * business of dw-pcie-bar.c.
 */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "hw/pci/pcie_regs.h"
#include "dw-pcie-internal.h"

#define PTM_CAP_HWINIT (PCI_PTM_CAP_REQ | PCI_PTM_CAP_RES | \
                             PCI_PTM_CAP_ROOT | PCI_PTM_GRANULARITY_MASK)
#define PTM_GRANULARITY_16NS (16 << 8)

/* RW bits of Device Control that the core implements */
#define DEVCTL_WMASK (PCI_EXP_DEVCTL_CERE | PCI_EXP_DEVCTL_NFERE |       \
                      PCI_EXP_DEVCTL_FERE | PCI_EXP_DEVCTL_URRE |        \
                      PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_PAYLOAD | \
                      PCI_EXP_DEVCTL_EXT_TAG | PCI_EXP_DEVCTL_NOSNOOP_EN | \
                      PCI_EXP_DEVCTL_READRQ)

/* One entry a BAR at the most */
QEMU_BUILD_BUG_ON(DW_PCIE_ECAP_REBAR + 4 + 8 * DW_PCIE_NUM_BARS >
                  DW_PCIE_ECAP_PTM);

typedef struct Field {
    uint32_t addr;
    uint32_t reset;
    uint32_t wmask;
    uint32_t hwinit;
    uint32_t w1c;
    uint32_t sticky;
} Field;

static void add_field(DWPCIeFunc *f, const Field *d)
{
    stl_le_p(f->reset + d->addr, d->reset);
    stl_le_p(f->wmask + d->addr, d->wmask);
    stl_le_p(f->hwinit + d->addr, d->hwinit);
    stl_le_p(f->w1c + d->addr, d->w1c);
    stl_le_p(f->sticky + d->addr, d->sticky);
}

static void add_fields(DWPCIeFunc *f, const Field *fields, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        add_field(f, &fields[i]);
    }
}

static void config_header(DWPCIeFunc *f, const DWPCIeEPFeatures *s)
{
    const Field fields[] = {
        { .addr = PCI_VENDOR_ID,
          .reset = s->vendor_id | s->device_id << 16, .hwinit = UINT32_MAX },
        { .addr = PCI_COMMAND,
          .reset = PCI_STATUS_CAP_LIST << 16,
          .wmask = PCI_COMMAND_IO | PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER |
                   PCI_COMMAND_PARITY | PCI_COMMAND_SERR |
                   PCI_COMMAND_INTX_DISABLE,
          .w1c = (uint32_t)(PCI_STATUS_PARITY | PCI_STATUS_SIG_TARGET_ABORT |
                            PCI_STATUS_REC_TARGET_ABORT |
                            PCI_STATUS_REC_MASTER_ABORT |
                            PCI_STATUS_SIG_SYSTEM_ERROR |
                            PCI_STATUS_DETECTED_PARITY) << 16 },
        { .addr = PCI_CLASS_REVISION,
          .reset = s->class_code << 8, .hwinit = UINT32_MAX },
        { .addr = PCI_CACHE_LINE_SIZE, .wmask = 0xff },
        { .addr = PCI_CARDBUS_CIS, .hwinit = UINT32_MAX },
        { .addr = PCI_SUBSYSTEM_VENDOR_ID, .hwinit = UINT32_MAX },
        { .addr = PCI_CAPABILITY_LIST,
          .reset = DW_PCIE_CAP_PM, .hwinit = 0xff },
        { .addr = PCI_INTERRUPT_LINE, .wmask = 0xff, .hwinit = 0xff00 },
    };

    add_fields(f, fields, ARRAY_SIZE(fields));
}

static void config_pm_msi(DWPCIeFunc *f)
{
    const Field fields[] = {
        { .addr = DW_PCIE_CAP_PM,
          .reset = PCI_CAP_ID_PM | DW_PCIE_CAP_MSI << 8 |
                   3 << 16 /* PCI PM 1.2, no D1, no D2, no PME */,
          .hwinit = UINT32_MAX },
        { .addr = DW_PCIE_CAP_PM + PCI_PM_CTRL,
          .reset = PCI_PM_CTRL_NO_SOFT_RESET,
          .wmask = PCI_PM_CTRL_STATE_MASK,
          .hwinit = PCI_PM_CTRL_NO_SOFT_RESET },
        { .addr = DW_PCIE_CAP_MSI,
          .reset = PCI_CAP_ID_MSI | DW_PCIE_CAP_EXP << 8 |
                   (uint32_t)(PCI_MSI_FLAGS_64BIT | PCI_MSI_FLAGS_MASKBIT |
                              5 << 1 /* 32 vectors */) << 16,
          .wmask = (PCI_MSI_FLAGS_ENABLE | PCI_MSI_FLAGS_QSIZE) << 16,
          .hwinit = (PCI_MSI_FLAGS_QMASK | PCI_MSI_FLAGS_64BIT |
                     PCI_MSI_FLAGS_MASKBIT) << 16 | 0xffff },
        { .addr = DW_PCIE_CAP_MSI + PCI_MSI_ADDRESS_LO, .wmask = ~3u },
        { .addr = DW_PCIE_CAP_MSI + PCI_MSI_ADDRESS_HI, .wmask = UINT32_MAX },
        { .addr = DW_PCIE_CAP_MSI + PCI_MSI_DATA_64, .wmask = 0xffff },
        { .addr = DW_PCIE_CAP_MSI + PCI_MSI_MASK_64, .wmask = UINT32_MAX },
        { .addr = DW_PCIE_CAP_MSI + PCI_MSI_PENDING_64,
          .hwinit = UINT32_MAX },
    };

    add_fields(f, fields, ARRAY_SIZE(fields));
}

static void config_msix(DWPCIeFunc *f)
{
    const Field fields[] = {
        { .addr = DW_PCIE_CAP_MSIX,
          .reset = PCI_CAP_ID_MSIX,
          .wmask = (uint32_t)(PCI_MSIX_FLAGS_ENABLE |
                              PCI_MSIX_FLAGS_MASKALL) << 16,
          .hwinit = PCI_MSIX_FLAGS_QSIZE << 16 | 0xffff },
        { .addr = DW_PCIE_CAP_MSIX + PCI_MSIX_TABLE, .hwinit = UINT32_MAX },
        { .addr = DW_PCIE_CAP_MSIX + PCI_MSIX_PBA, .hwinit = UINT32_MAX },
    };

    add_fields(f, fields, ARRAY_SIZE(fields));
}

static void config_exp(DWPCIeFunc *f, const DWPCIeEPFeatures *s)
{
    uint32_t next = s->msix ? DW_PCIE_CAP_MSIX : 0;
    uint32_t speeds = MAKE_64BIT_MASK(1, s->max_link_speed);
    const Field fields[] = {
        { .addr = DW_PCIE_CAP_EXP,
          .reset = PCI_CAP_ID_EXP | next << 8 |
                   (PCI_EXP_FLAGS_VER2 |
                    PCI_EXP_TYPE_ENDPOINT << PCI_EXP_FLAGS_TYPE_SHIFT) << 16,
          .hwinit = UINT32_MAX },
        { .addr = DW_PCIE_CAP_EXP + PCI_EXP_DEVCAP,
          .reset = s->mps_supported | PCI_EXP_DEVCAP_EXT_TAG |
                   PCI_EXP_DEVCAP_RBER | PCI_EXP_DEVCAP_FLR,
          .hwinit = UINT32_MAX },
        { .addr = DW_PCIE_CAP_EXP + PCI_EXP_DEVCTL,
          .reset = PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_NOSNOOP_EN |
                   PCI_EXP_DEVCTL_READRQ_512B,
          .wmask = DEVCTL_WMASK,
          .w1c = (PCI_EXP_DEVSTA_CED | PCI_EXP_DEVSTA_NFED |
                  PCI_EXP_DEVSTA_FED | PCI_EXP_DEVSTA_URD) << 16 },
        { .addr = DW_PCIE_CAP_EXP + PCI_EXP_LNKCAP,
          .reset = s->max_link_speed |
                   QEMU_PCI_EXP_LNKCAP_MLW(s->max_link_width),
          .hwinit = UINT32_MAX },
        { .addr = DW_PCIE_CAP_EXP + PCI_EXP_LNKCTL,
          .wmask = PCI_EXP_LNKCTL_ASPMC | PCI_EXP_LNKCTL_RCB |
                   PCI_EXP_LNKCTL_CCC | PCI_EXP_LNKCTL_ES },
        { .addr = DW_PCIE_CAP_EXP + PCI_EXP_DEVCAP2,
          .reset = 0xf /* ranges A to D */ | PCI_EXP_DEVCAP2_COMP_TMOUT_DIS,
          .hwinit = UINT32_MAX },
        { .addr = DW_PCIE_CAP_EXP + PCI_EXP_DEVCTL2,
          .wmask = PCI_EXP_DEVCTL2_COMP_TIMEOUT |
                   PCI_EXP_DEVCTL2_COMP_TMOUT_DIS },
        { .addr = DW_PCIE_CAP_EXP + PCI_EXP_LNKCAP2,
          .reset = speeds, .hwinit = UINT32_MAX },
        { .addr = DW_PCIE_CAP_EXP + PCI_EXP_LNKCTL2,
          .reset = s->max_link_speed, .wmask = 0xffff, .sticky = 0xffff },
    };

    add_fields(f, fields, ARRAY_SIZE(fields));
}

static void config_aer(DWPCIeFunc *f, uint32_t next)
{
    const Field fields[] = {
        { .addr = DW_PCIE_ECAP_AER,
          .reset = PCI_EXT_CAP(PCI_EXT_CAP_ID_ERR, PCI_ERR_VER, next),
          .hwinit = UINT32_MAX },
        { .addr = DW_PCIE_ECAP_AER + PCI_ERR_UNCOR_STATUS,
          .w1c = PCI_ERR_UNC_SUPPORTED, .sticky = PCI_ERR_UNC_SUPPORTED },
        { .addr = DW_PCIE_ECAP_AER + PCI_ERR_UNCOR_MASK,
          .wmask = PCI_ERR_UNC_SUPPORTED, .sticky = PCI_ERR_UNC_SUPPORTED },
        { .addr = DW_PCIE_ECAP_AER + PCI_ERR_UNCOR_SEVER,
          .reset = PCI_ERR_UNC_SEVERITY_DEFAULT,
          .wmask = PCI_ERR_UNC_SUPPORTED, .sticky = PCI_ERR_UNC_SUPPORTED },
        { .addr = DW_PCIE_ECAP_AER + PCI_ERR_COR_STATUS,
          .w1c = PCI_ERR_COR_SUPPORTED, .sticky = PCI_ERR_COR_SUPPORTED },
        { .addr = DW_PCIE_ECAP_AER + PCI_ERR_COR_MASK,
          .reset = PCI_ERR_COR_MASK_DEFAULT,
          .wmask = PCI_ERR_COR_SUPPORTED, .sticky = PCI_ERR_COR_SUPPORTED },
        { .addr = DW_PCIE_ECAP_AER + PCI_ERR_CAP,
          .reset = PCI_ERR_CAP_ECRC_GENC | PCI_ERR_CAP_ECRC_CHKC,
          .wmask = PCI_ERR_CAP_ECRC_GENE | PCI_ERR_CAP_ECRC_CHKE,
          .sticky = PCI_ERR_CAP_ECRC_GENE | PCI_ERR_CAP_ECRC_CHKE },
    };

    add_fields(f, fields, ARRAY_SIZE(fields));
}

static unsigned rebar_count(const DWPCIeEPFeatures *s)
{
    unsigned n = 0;

    for (unsigned i = 0; i < DW_PCIE_NUM_BARS; i++) {
        n += s->bar[i].type == DW_PCIE_BAR_RESIZABLE;
    }
    return n;
}

uint32_t dw_pcie_rebar_entry(const DWPCIeEPFeatures *s, unsigned bar)
{
    uint32_t entry = DW_PCIE_ECAP_REBAR;

    if (s->bar[bar].type != DW_PCIE_BAR_RESIZABLE) {
        return 0;
    }
    for (unsigned i = 0; i < bar; i++) {
        if (s->bar[i].type == DW_PCIE_BAR_RESIZABLE) {
            entry += PCI_REBAR_CTRL;
        }
    }
    return entry;
}

static void config_rebar(DWPCIeFunc *f, const DWPCIeEPFeatures *s,
                         uint32_t next)
{
    uint32_t count = rebar_count(s);
    const Field header = {
        .addr = DW_PCIE_ECAP_REBAR,
        .reset = PCI_EXT_CAP(PCI_EXT_CAP_ID_REBAR, 1, next),
        .hwinit = UINT32_MAX,
    };

    add_field(f, &header);
    for (unsigned i = 0; i < DW_PCIE_NUM_BARS; i++) {
        uint32_t entry = dw_pcie_rebar_entry(s, i);
        const Field cap = {
            .addr = entry + PCI_REBAR_CAP,
            .reset = s->rebar_sizes, .hwinit = s->rebar_sizes,
        };
        /* The selected size is written by dw_pcie_rebar_select(). */
        const Field ctrl = {
            .addr = entry + PCI_REBAR_CTRL,
            .reset = i | count << PCI_REBAR_CTRL_NBAR_SHIFT,
        };

        if (!entry) {
            continue;
        }
        add_field(f, &cap);
        add_field(f, &ctrl);
        count = 0;
    }
}

static void config_ptm(DWPCIeFunc *f)
{
    const Field fields[] = {
        { .addr = DW_PCIE_ECAP_PTM,
          .reset = PCI_EXT_CAP(PCI_EXT_CAP_ID_PTM, 1, DW_PCIE_ECAP_VSEC),
          .hwinit = UINT32_MAX },
        { .addr = DW_PCIE_ECAP_PTM + PCI_PTM_CAP,
          .reset = PCI_PTM_CAP_REQ | PCI_PTM_CAP_RES | PCI_PTM_CAP_ROOT |
                   PTM_GRANULARITY_16NS,
          .hwinit = PTM_CAP_HWINIT },
        { .addr = DW_PCIE_ECAP_PTM + PCI_PTM_CTRL,
          .wmask = PCI_PTM_CTRL_ENABLE | PCI_PTM_CTRL_ROOT |
                   PCI_PTM_GRANULARITY_MASK },
    };

    add_fields(f, fields, ARRAY_SIZE(fields));
}

static void config_vsec(DWPCIeFunc *f, const DWPCIeEPFeatures *s)
{
    const Field fields[] = {
        { .addr = DW_PCIE_ECAP_VSEC,
          .reset = PCI_EXT_CAP(PCI_EXT_CAP_ID_VNDR, 1, 0),
          .hwinit = UINT32_MAX },
        { .addr = DW_PCIE_ECAP_VSEC + PCI_VNDR_HEADER,
          .reset = DW_PCIE_VSEC_ID | DW_PCIE_VSEC_REV << 16 |
                   DW_PCIE_VSEC_SIZE << 20 },
        { .addr = DW_PCIE_ECAP_VSEC + DW_PCIE_VSEC_IP_VERSION,
          .reset = s->version },
        { .addr = DW_PCIE_ECAP_VSEC + DW_PCIE_VSEC_IP_TYPE,
          .reset = s->version_type },
    };

    add_fields(f, fields, ARRAY_SIZE(fields));
}

void dw_pcie_config_init(DWPCIeFunc *f)
{
    const DWPCIeEPFeatures *s = f->ep->features;
    /* PTM is the port's, so only one function has it (PCIe 6.0, 7.9.15) */
    uint32_t after_rebar = f->number ? DW_PCIE_ECAP_VSEC : DW_PCIE_ECAP_PTM;

    config_header(f, s);
    config_pm_msi(f);
    config_exp(f, s);
    if (s->msix) {
        config_msix(f);
    }
    if (rebar_count(s)) {
        config_aer(f, DW_PCIE_ECAP_REBAR);
        config_rebar(f, s, after_rebar);
    } else {
        config_aer(f, after_rebar);
    }
    if (!f->number) {
        config_ptm(f);
    }
    config_vsec(f, s);
}

void dw_pcie_config_cold_reset(DWPCIeFunc *f)
{
    memcpy(f->cfg, f->reset, sizeof(f->cfg));
    dw_pcie_bar_cold_reset(f);
}

void dw_pcie_config_hot_reset(DWPCIeFunc *f)
{
    for (unsigned i = 0; i < sizeof(f->cfg); i++) {
        uint8_t lost = (f->wmask[i] | f->w1c[i]) & ~f->sticky[i] &
                       ~f->hwinit[i];

        f->cfg[i] = (f->cfg[i] & ~lost) | (f->reset[i] & lost);
    }
    dw_pcie_bar_hot_reset(f);
}

void dw_pcie_config_update_link(DWPCIeEP *ep)
{
    const uint8_t *exp0 = ep->func[0].cfg + DW_PCIE_CAP_EXP;
    uint32_t cap = ldl_le_p(exp0 + PCI_EXP_LNKCAP);
    uint16_t target = lduw_le_p(exp0 + PCI_EXP_LNKCTL2) & PCI_EXP_LNKCTL2_TLS;
    uint16_t speed = 1;
    uint16_t width = 1;

    if (ep->link_up) {
        speed = MAX(1, MIN(cap & PCI_EXP_LNKCAP_SLS, target));
        width = MAX(1, (cap & PCI_EXP_LNKCAP_MLW) >> PCI_EXP_LNK_MLW_SHIFT);
    }
    for (unsigned i = 0; i < ep->num_functions; i++) {
        stw_le_p(ep->func[i].cfg + DW_PCIE_CAP_EXP + PCI_EXP_LNKSTA,
                 speed | QEMU_PCI_EXP_LNKCAP_MLW(width) | PCI_EXP_LNKSTA_SLC);
    }
}
