/*
 * libqos helpers for two machines joined by a PCIe cable
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The test plays the software of both: the host's through config space and
 * BARs behind a root port of the RC machine, the SoC's through dw-pcie-ep.h.
 * Nothing waits for a fixed time; what happens in the other process is
 * polled, and a test that waits for longer than CABLE_DEADLINE_S fails.
 */
#ifndef TESTS_LIBQOS_PCIE_CABLE_H
#define TESTS_LIBQOS_PCIE_CABLE_H

#include "qemu/units.h"
#include "hw/pci/pci_regs.h"
#include "libqtest.h"
#include "dw-pcie-ep.h"

#define CABLE_DEADLINE_S 60

/* RAM of both machines */
#define CABLE_RAM_BASE (1 * GiB)
#define CABLE_RAM_SIZE (64 * MiB)

/* Where "virt" has its PCI host bridge */
#define CABLE_ECAM 0x4010000000ULL
#define CABLE_MMIO32 0x10000000ULL
#define CABLE_MMIO64 0x8000000000ULL

/* The root port is device 1 of bus 0, the functions are on this bus. */
#define CABLE_PORT_DEVFN (1 << 3)
#define CABLE_BUS 1
#define CABLE_RC_QOM_PATH "/objects/cable0"

/* Identity that cable_soc_setup() gives a function */
#define CABLE_VENDOR 0x1912
#define CABLE_DEVICE 0x0030
#define CABLE_CLASS 0x050000
/* Size of BAR0 and BAR2; BAR4 has RCAR_GEN4_BAR4_SIZE bytes. */
#define CABLE_BAR_SIZE (1 * MiB)

typedef struct PCIeCable {
    char *dir;
    char *socket;
    const char *controller;     /* of the EP machine; DW_EP_RCAR unless set */
    char *soc_log;              /* -D of the EP machine, -d guest_errors */
    char *rc_log;
    QTestState *rc;             /* NULL: not running */
    QTestState *soc;            /* NULL: not running */
    DWEp *ep;
} PCIeCable;

/* No machine runs yet.  cable_free() ends those that do. */
PCIeCable *cable_new(void);
void cable_free(PCIeCable *c);

/*
 * Start a machine: @props are more properties of the end, each behind a comma,
 * @args more arguments of QEMU.
 */
void cable_start_ep(PCIeCable *c, const char *props, const char *args);
void cable_start_rc(PCIeCable *c, const char *props, const char *args);
/* Both, trained and enumerated: what most tests begin with. */
PCIeCable *cable_start(const char *ep_props, const char *rc_props,
                       const char *ep_args, const char *rc_args);
/* The same with another controller than R-Car's */
PCIeCable *cable_start_controller(const char *controller,
                                  const char *ep_props, const char *rc_props,
                                  const char *ep_args, const char *rc_args);

void cable_quit_ep(PCIeCable *c);
void cable_quit_rc(PCIeCable *c);
/* SIGKILL */
void cable_kill_ep(PCIeCable *c);
void cable_kill_rc(PCIeCable *c);
/* SIGSTOP, returns when the process has stopped; SIGCONT */
void cable_pause(QTestState *qts);
void cable_continue(QTestState *qts);

/* uint64 properties of each end: "messages-sent" ... */
uint64_t cable_ep_counter(PCIeCable *c, const char *name);
uint64_t cable_rc_counter(PCIeCable *c, const char *name);
/* Change the RC end's completion timeout, in ms. */
void cable_rc_set_timeout(PCIeCable *c, unsigned ms);
/* Messages that both ends sent */
uint64_t cable_messages(PCIeCable *c);
/* The same once the answers that are on their way have been sent */
uint64_t cable_messages_settled(PCIeCable *c);
bool cable_rc_link_up(PCIeCable *c);
/* Both ends that run say so. */
void cable_wait_link(PCIeCable *c, bool up);

/*
 * Poll @condition until it holds.
 */
#define cable_wait(condition)                                           \
    do {                                                                \
        gint64 cable_deadline = g_get_monotonic_time() +                \
                                CABLE_DEADLINE_S * G_USEC_PER_SEC;      \
        while (!(condition)) {                                          \
            g_assert_cmpint(g_get_monotonic_time(), <, cable_deadline); \
            g_usleep(1000);                                             \
        }                                                               \
    } while (0)

/* Does the log file @path contain @text? */
bool cable_log_has(const char *path, const char *text);
/* Open file descriptors of the machine's process */
unsigned cable_count_fds(QTestState *qts);

/* Software of the SoC: identity and BARs 0 (32 bit), 2 (64 bit), 4. */
void cable_soc_setup(PCIeCable *c, unsigned fn);

/* Software of the host: config space of @fn, of any bus */
uint64_t cable_ecam(unsigned bus, unsigned devfn, unsigned reg);
uint32_t cable_cfg_readl(PCIeCable *c, unsigned fn, unsigned reg);
uint16_t cable_cfg_readw(PCIeCable *c, unsigned fn, unsigned reg);
uint8_t cable_cfg_readb(PCIeCable *c, unsigned fn, unsigned reg);
void cable_cfg_writel(PCIeCable *c, unsigned fn, unsigned reg, uint32_t val);
void cable_cfg_writew(PCIeCable *c, unsigned fn, unsigned reg, uint16_t val);
void cable_cfg_writeb(PCIeCable *c, unsigned fn, unsigned reg, uint8_t val);

/* Slot and bridge control of the root port */
uint16_t cable_slot_status(PCIeCable *c);
void cable_slot_clear_events(PCIeCable *c);
/* Set @set and clear @clear in Slot Control. */
void cable_slot_control(PCIeCable *c, uint16_t set, uint16_t clear);
void cable_hot_reset(PCIeCable *c);

/* Bus numbers, windows and slot power of the root port */
void cable_port_setup(PCIeCable *c);
/* Write BARs and Command of @fn. */
void cable_host_setup(PCIeCable *c, unsigned fn);
/* Where cable_host_setup() puts a BAR */
uint64_t cable_bar(unsigned fn, unsigned bar);
/* Size by writing all ones; the BAR's old value is written back. */
uint64_t cable_size_bar(PCIeCable *c, unsigned fn, unsigned bar);

/* A buffer that depends on @seed only; free with g_free(). */
void *cable_pattern(size_t len, uint32_t seed);
/* Memory of @qts holds these bytes: compared by SHA-256. */
void cable_check_memory(QTestState *qts, uint64_t addr, const void *expected,
                        size_t len);

#endif /* TESTS_LIBQOS_PCIE_CABLE_H */
