/*
 * PCIe cable, root complex end: what its files share
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * pcie-cable-rc.c owns the link: it connects and learns the functions.
 * pcie-cable-function.c is one remote function, a PCIDevice.
 * pcie-cable-rc-irq.c has their MSI vectors and the thread that sends MSIs.
 * pcie-cable-rc-plug.c puts the functions into the port and takes them out.
 * pcie-cable-rc-map.c owns what is mapped on both sides: the pages of the
 * BARs that the endpoint shares and the memory that a function may reach.
 * pcie-cable-rc-reset.c waits for the endpoint when the machine is reset.
 */
#ifndef HW_NTB_PCIE_CABLE_RC_INTERNAL_H
#define HW_NTB_PCIE_CABLE_RC_INTERNAL_H

#include "qemu/event_notifier.h"
#include "qemu/lockable.h"
#include "qemu/thread.h"
#include "hw/pci/pci_device.h"
#include "hw/pci/pcie_port.h"
#include "hw/ntb/pcie-cable-caps.h"
#include "hw/ntb/pcie-cable-conn.h"
#include "hw/ntb/pcie-cable-ep.h"
#include "hw/ntb/pcie-cable-window.h"

#define TYPE_PCIE_CABLE_RC "pcie-cable-rc"
OBJECT_DECLARE_SIMPLE_TYPE(PCIeCableRC, PCIE_CABLE_RC)

#define TYPE_PCIE_CABLE_FUNCTION "pcie-cable-function"
OBJECT_DECLARE_SIMPLE_TYPE(PCIeCableFunction, PCIE_CABLE_FUNCTION)

#define RC_MSI_VECTORS 32
/* An endpoint that has not answered what stops it by then is given up. */
#define RC_STOP_TIMEOUT_MS 5000

/* What the peer said of a function when the link came up; checked. */
typedef struct RCFunctionInfo {
    uint64_t bar_size[PCIE_CABLE_NUM_BARS]; /* bytes, 0: none */
    uint8_t bar_type[PCIE_CABLE_NUM_BARS];  /* low bits of the register */
    uint8_t exp_cap;            /* offset, 0: none */
    uint8_t msi_cap;            /* offset, 0: none */
    uint8_t config[PCIE_CONFIG_SPACE_SIZE];
} RCFunctionInfo;

/* Pages of a BAR that show a file; BQL. */
typedef struct RCMapping {
    uint64_t offset;            /* in the BAR, bytes */
    uint64_t size;              /* bytes */
    int fd;
    uint64_t fd_offset;
    bool readonly;
    PCIeCableWindow *window;    /* NULL while the function is not plugged */
} RCMapping;

typedef struct RCBar {
    PCIeCableFunction *f;
    unsigned index;
    MemoryRegion mr;            /* traps; the windows lie on top */
} RCBar;

struct PCIeCableFunction {
    PCIDevice parent_obj;

    PCIeCableRC *rc;
    unsigned fn;
    RCFunctionInfo *info;
    RCBar bars[PCIE_CABLE_NUM_BARS];
    uint8_t *emulated;          /* bits of config space that this end owns */
    bool live;                  /* plugged; resets are told to the peer */
    bool in_flr;                /* the peer resets itself */

    /* -rc-irq.c; BQL */
    unsigned num_irqs;          /* eventfds in use */
    EventNotifier irqs[RC_MSI_VECTORS];
    uint64_t irq_generation;    /* of these eventfds, never the same again */

    /* -rc-map.c */
    MemoryListener dma_listener;
};

struct PCIeCableRC {
    Object parent_obj;

    /* Properties */
    char *socket;
    char *bus;
    uint8_t slot;
    uint32_t timeout_ms;
    uint32_t grace_ms;

    PCIESlot *port;
    PCIeCableConn *conn;        /* RCU: other threads take a reference */
    PCIeCableStats stats;
    Notifier machine_done;
    QemuThread thread;
    bool thread_started;
    bool link_up;               /* atomic: functions are plugged */
    unsigned max_fds;           /* the peer takes in one message */
    char *last_reason;          /* of the last close; lock */

    /* -rc-plug.c: waiting for the guest to power off the slot */
    QEMUTimer *slot_timer;
    int64_t slot_deadline;      /* ms of QEMU_CLOCK_REALTIME */
    bool cold, power_off_due;
    void (*plug_done)(struct PCIeCableRC *rc);
    void (*unplug_done)(struct PCIeCableRC *rc);

    /* -rc-irq.c */
    int irq_epoll;
    EventNotifier irq_stop;
    QemuThread irq_thread;
    uint64_t irq_generation;    /* last one given away; BQL */

    bool stale;                 /* functions are of an older training; BQL */

    PCIeCableFunction *functions[PCIE_CABLE_MAX_FUNCTIONS]; /* BQL, RCU */
    GArray *mappings[PCIE_CABLE_MAX_FUNCTIONS][PCIE_CABLE_NUM_BARS]; /* BQL */

    /* Between the link thread, the reader and the main loop */
    QemuMutex lock;
    QemuCond cond;
    bool quit;
    bool settled;               /* the first attempt to connect is over */
    bool closed;                /* the reader has ended */
    unsigned link_seq;          /* LINK_STATE messages */
    unsigned plug_seq;          /* link_seq that is being plugged */
    bool peer_up;
    uint32_t peer_functions;
    unsigned stops;             /* requests that stop DMA, not answered */
    RCFunctionInfo *infos[PCIE_CABLE_MAX_FUNCTIONS];
    enum { RC_TASK_NONE, RC_TASK_PLUG, RC_TASK_UNPLUG } task;
    QEMUBH *task_bh;            /* runs it in the main loop */
};

/* A reference to the connection, or NULL.  Any thread. */
PCIeCableConn *pcie_cable_rc_get_conn(PCIeCableRC *rc);

/*
 * Forget @f: no request of the peer reaches it any more (but for those that
 * run now, under RCU).  BQL held.
 */
void pcie_cable_rc_forget_function(PCIeCableRC *rc, PCIeCableFunction *f);

/* -rc-irq.c; BQL held */

/* Start and end the thread that sends MSIs; the end drops the BQL. */
bool pcie_cable_rc_start_irqs(PCIeCableRC *rc, Error **errp);
void pcie_cable_rc_stop_irqs(PCIeCableRC *rc);
/* Follow @f's MSI capability: an eventfd for each vector it allows. */
void pcie_cable_rc_update_irqs(PCIeCableFunction *f);
/* Take all vectors away. */
void pcie_cable_rc_drop_irqs(PCIeCableFunction *f);

/* -rc-map.c */

/* The peer's REGION_REMAP; the connection's thread. */
bool pcie_cable_rc_remap(PCIeCableRC *rc, PCIeCableConn *conn, unsigned fn,
                         PCIeCableRequest *req, Error **errp);
/* Show or take away what the peer mapped of @f's BARs.  BQL held. */
void pcie_cable_rc_show_mappings(PCIeCableFunction *f);
void pcie_cable_rc_hide_mappings(PCIeCableFunction *f);
/* Drop all mappings of a lost link.  BQL held. */
void pcie_cable_rc_drop_mappings(PCIeCableRC *rc);

/* Publish what @f may reach, from now on.  BQL held. */
void pcie_cable_rc_publish(PCIeCableFunction *f);
void pcie_cable_rc_unpublish(PCIeCableFunction *f);

/* -rc-reset.c */

/* From now on a reset of the machine waits for the endpoint.  BQL held. */
void pcie_cable_rc_start_resets(PCIeCableRC *rc);
void pcie_cable_rc_stop_resets(PCIeCableRC *rc);
/*
 * A request goes to the endpoint after whose answer it does less DMA; the
 * answer has come, or never will.  Any thread.
 */
void pcie_cable_rc_stop_sent(PCIeCableRC *rc);
void pcie_cable_rc_stop_answered(PCIeCableRC *rc);

#endif /* HW_NTB_PCIE_CABLE_RC_INTERNAL_H */
