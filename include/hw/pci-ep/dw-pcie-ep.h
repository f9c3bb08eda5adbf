/*
 * DesignWare PCIe controller in endpoint mode, independent of its SoC
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A glue device embeds DWPCIeEP, says in DWPCIeEPFeatures how the core was
 * synthesised, maps the core's memory regions where its SoC has them and
 * drives the core's reset and LTSSM.
 *
 * Locks: every function here is called with the BQL held.
 */
#ifndef HW_PCI_EP_DW_PCIE_EP_H
#define HW_PCI_EP_DW_PCIE_EP_H

#include "hw/dma/dw-edma.h"
#include "hw/ntb/pcie-cable-ep.h"
#include "hw/pci-ep/dw-pcie-regs.h"
#include "hw/qdev-properties.h"
#include "qemu/thread.h"

#define DW_PCIE_MAX_FUNCTIONS PCIE_CABLE_MAX_FUNCTIONS
#define DW_PCIE_NUM_BARS PCIE_CABLE_NUM_BARS

typedef enum DWPCIeBarType {
    DW_PCIE_BAR_DISABLED,       /* can only be the upper half of a pair */
    DW_PCIE_BAR_PROGRAMMABLE,   /* software writes the mask through DBI2 */
    DW_PCIE_BAR_FIXED,          /* the mask is wired */
    DW_PCIE_BAR_RESIZABLE,      /* the mask follows the REBAR capability */
} DWPCIeBarType;

/* How the core was synthesised; constant for the life of the device. */
typedef struct DWPCIeEPFeatures {
    uint8_t max_functions;
    uint8_t max_windows;                /* iATU regions a direction */
    struct {
        DWPCIeBarType type;
        uint64_t fixed_size;            /* bytes, a power of two */
    } bar[DW_PCIE_NUM_BARS];
    uint32_t rebar_sizes;               /* bit n: 1 MiB << (n - 4) */
    uint16_t vendor_id;
    uint16_t device_id;
    uint32_t class_code;                /* 24 bits */
    uint32_t version;                   /* VERSION_NUMBER register */
    uint32_t version_type;              /* VERSION_TYPE register */
    bool msix;                          /* has an MSI-X capability */
    uint8_t max_link_speed;             /* PCIe generation */
    uint8_t max_link_width;             /* lanes */
    uint8_t mps_supported;              /* code of Max_Payload_Size */
    uint8_t mrrs_supported;             /* code of Max_Read_Request_Size */
    uint32_t atu_region_size;           /* smallest region, power of two */
    uint32_t atu_upper_limit;           /* writable bits of UPPER_LIMIT */
    uint32_t dbi_stride;                /* bytes between functions */
    uint32_t dbi2_stride;
    uint32_t dbi_size;                  /* bytes of the areas */
    uint32_t dbi2_size;
    uint32_t atu_size;
    uint64_t window_size;
    bool dma;                           /* has a DMA engine */
    DWEDMAMap dma_map;                  /* where its registers are */
    uint64_t dma_size;                  /* of their area; legacy: none */
} DWPCIeEPFeatures;

/* What the user chooses: properties of every glue device */
typedef struct DWPCIeEPConf {
    char *socket;                       /* NULL: no cable */
    uint32_t completion_timeout;        /* ms, 0 waits for ever */
    uint8_t functions;
    uint8_t num_ob_windows;
    uint8_t num_ib_windows;
    uint8_t num_dma_wr_ch;
    uint8_t num_dma_rd_ch;
    bool msi_parent;                    /* in the device tree */
    uint16_t stream_id;                 /* as a bus master in its SoC */
} DWPCIeEPConf;

/*
 * Properties of a glue device: those of the DWPCIeEPConf @_conf in @_state and
 * the device's own.  @_functions is the default number of functions.  The
 * default stream ID, bus 255 and device 31, is a requester ID that no PCI
 * device of the machine has unless it fills 256 buses.
 */
#define DW_PCIE_EP_PROPERTIES(_state, _conf, _functions, ...)               \
    {                                                                       \
        DEFINE_PROP_STRING("socket", _state, _conf.socket),                 \
        DEFINE_PROP_UINT32("completion-timeout", _state,                    \
                           _conf.completion_timeout, 50),                   \
        DEFINE_PROP_UINT8("functions", _state, _conf.functions,             \
                          _functions),                                      \
        DEFINE_PROP_UINT8("num-ob-windows", _state, _conf.num_ob_windows,   \
                          16),                                              \
        DEFINE_PROP_UINT8("num-ib-windows", _state, _conf.num_ib_windows,   \
                          16),                                              \
        DEFINE_PROP_UINT8("num-dma-wr-ch", _state, _conf.num_dma_wr_ch, 4), \
        DEFINE_PROP_UINT8("num-dma-rd-ch", _state, _conf.num_dma_rd_ch, 4), \
        DEFINE_PROP_BOOL("msi-parent", _state, _conf.msi_parent, true),     \
        DEFINE_PROP_UINT16("stream-id", _state, _conf.stream_id, 0xfff8),   \
        ## __VA_ARGS__                                                      \
    }

/* Mistakes of the SoC's or the host's software, each reported once. */
typedef enum DWPCIeGuestError {
    DW_PCIE_ERR_IN_RESET,
    DW_PCIE_ERR_READ_ONLY,
    DW_PCIE_ERR_BAR_TYPE,
    DW_PCIE_ERR_BAR_MASK,
    DW_PCIE_ERR_BAR_IO,
    DW_PCIE_ERR_REBAR_SIZE,
    DW_PCIE_ERR_MRRS,
    DW_PCIE_ERR_MPS,
    DW_PCIE_ERR_ATU_ALIGN,
    DW_PCIE_ERR_ATU_LIMIT,
    DW_PCIE_ERR_ATU_TARGET,
    DW_PCIE_ERR_ATU_MODE,
    DW_PCIE_ERR_WINDOW_MISS,
    DW_PCIE_ERR_WINDOW_TYPE,
    DW_PCIE_ERR_REGISTER,
} DWPCIeGuestError;

typedef struct DWPCIeEP DWPCIeEP;

/* Registers of one iATU region. */
typedef struct DWPCIeATURegion {
    uint32_t ctrl1;
    uint32_t ctrl2;
    uint32_t lower_base;
    uint32_t upper_base;
    uint32_t lower_limit;
    uint32_t upper_limit;
    uint32_t lower_target;
    uint32_t upper_target;
} DWPCIeATURegion;

/* How an outbound region translates the addresses of the DMA engine. */
typedef struct DWPCIeDMAWindow {
    uint64_t first;
    uint64_t last;                      /* below first: not enabled */
    uint64_t target;
    bool memory;                        /* sends memory requests */
} DWPCIeDMAWindow;

/* One window through which addresses are translated. */
typedef struct DWPCIeATUAlias {
    MemoryRegion mr;
    bool enabled;
    hwaddr at;
    hwaddr size;
    hwaddr target;
} DWPCIeATUAlias;

typedef struct DWPCIeBar {
    /* Registers */
    bool enabled;                       /* bit 0 of the mask register */
    uint32_t mask;                      /* programmable bits of the mask */
    uint32_t flags;                     /* low 4 bits of the BAR register */
    uint32_t addr;                      /* the other 28 bits */
    /* What the host reaches: a container of inbound aliases */
    MemoryRegion space;
    AddressSpace as;
    DWPCIeATUAlias *inbound;
    uint64_t size;                      /* as told to the cable */
} DWPCIeBar;

typedef struct DWPCIeFunc {
    DWPCIeEP *ep;
    unsigned number;
    bool present;
    /* Configuration space below the port logic, and who may write it */
    uint8_t cfg[DW_PCIE_PORT_LOGIC_START];
    uint8_t reset[DW_PCIE_PORT_LOGIC_START];
    uint8_t wmask[DW_PCIE_PORT_LOGIC_START];    /* host and SoC */
    uint8_t w1c[DW_PCIE_PORT_LOGIC_START];      /* host and SoC */
    uint8_t hwinit[DW_PCIE_PORT_LOGIC_START];   /* SoC, DBI_RO_WR_EN */
    uint8_t sticky[DW_PCIE_PORT_LOGIC_START];   /* survives a hot reset */
    DWPCIeBar bar[DW_PCIE_NUM_BARS];
} DWPCIeFunc;

struct DWPCIeEP {
    DeviceState *dev;
    const DWPCIeEPFeatures *features;
    DWPCIeEPConf conf;
    /* Of conf */
    unsigned num_functions;
    unsigned num_outbound;
    unsigned num_inbound;
    unsigned num_dma[DW_EDMA_NUM_DIRS]; /* channels; none: no DMA engine */
    /* The link went up or down; set by the glue before realize, or NULL */
    void (*link_change)(DeviceState *dev, bool up);
    /*
     * Interrupts of the DMA engine, bit n of levels[dir] for channel n of
     * that direction; set by the glue before realize
     */
    void (*dma_irq)(DeviceState *dev,
                    const uint64_t levels[DW_EDMA_NUM_DIRS]);

    PCIeCableEP *cable;
    bool in_reset;
    bool ltssm_enabled;
    bool link_up;
    bool inbound_changed;
    uint32_t errors_seen;

    MemoryRegion dbi;
    MemoryRegion dbi2;
    MemoryRegion atu;
    MemoryRegion window;
    MemoryRegion window_reject;
    MemoryRegion dma;                   /* unless the map is the legacy one */

    AddressSpace soc_as;                /* as the DMA engine sees it */
    DWEDMA *edma;
    PCIeCableDMA **dma_users;           /* a channel */
    QemuMutex dma_lock;                 /* protects dma_windows */
    DWPCIeDMAWindow *dma_windows;       /* an outbound region */

    DWPCIeFunc *func;
    uint32_t port[(DW_PCIE_PORT_LOGIC_END - DW_PCIE_PORT_LOGIC_START) / 4];
    DWPCIeATURegion *outbound;
    DWPCIeATURegion *inbound;
    DWPCIeATUAlias *outbound_alias;     /* a region: functions + reject */
};

/*
 * What the classes of glue devices have in common: the descriptions of
 * DW_PCIE_EP_PROPERTIES, that they cannot be plugged in later or
 * migrate.  @features: the limits of the properties.
 */
void dw_pcie_ep_class_init(DeviceClass *dc, const DWPCIeEPFeatures *features);

/**
 * dw_pcie_ep_realize: make the core's regions and its end of the cable
 * @soc: memory of the SoC, where inbound requests go
 *
 * The caller has set link_change and, where there can be a DMA engine,
 * dma_irq; it maps dbi, dbi2, atu, dma and window afterwards and must not fail
 * any more.  Without channels the DMA registers read as zero.
 */
bool dw_pcie_ep_realize(DWPCIeEP *ep, DeviceState *dev,
                        const DWPCIeEPFeatures *features, MemoryRegion *soc,
                        Error **errp);

/* Power-on reset: the link goes down, every register gets its reset value. */
void dw_pcie_ep_reset(DWPCIeEP *ep);

/*
 * The core's reset line.  While it is asserted the link is down and accesses
 * to DBI, DBI2 and iATU end in a bus error.
 */
void dw_pcie_ep_set_reset(DWPCIeEP *ep, bool asserted);

/* Let the link train, or bring it down. */
void dw_pcie_ep_set_ltssm(DWPCIeEP *ep, bool enable);

/*
 * The last step of a register write that may have changed what the host
 * reaches: waits, without the BQL, until the host maps nothing old any more.
 * The region of the register needs disable_reentrancy_guard.
 */
void dw_pcie_ep_write_done(DWPCIeEP *ep);

/*
 * Is the core held in reset?  Reports the access to register @offset of
 * @area if so; the caller then completes it with a bus error.
 */
bool dw_pcie_ep_refuse_access(DWPCIeEP *ep, const char *area, hwaddr offset);

#endif /* HW_PCI_EP_DW_PCIE_EP_H */
