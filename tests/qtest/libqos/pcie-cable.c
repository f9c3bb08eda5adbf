/*
 * libqos helpers for two machines joined by a PCIe cable
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include "qobject/qdict.h"
#include "pcie-cable.h"

#define PORT_MEMORY_SIZE (64 * MiB)
#define FUNCTION_STRIDE (16 * MiB)
#define BAR4_OFFSET (8 * MiB)

/* Machines */

PCIeCable *cable_new(void)
{
    PCIeCable *c = g_new0(PCIeCable, 1);

    c->controller = DW_EP_RCAR;
    c->dir = g_dir_make_tmp("pcie-cable-XXXXXX", NULL);
    g_assert_nonnull(c->dir);
    c->socket = g_build_filename(c->dir, "cable", NULL);
    c->soc_log = g_build_filename(c->dir, "ep.log", NULL);
    c->rc_log = g_build_filename(c->dir, "rc.log", NULL);
    return c;
}

void cable_quit_ep(PCIeCable *c)
{
    if (c->soc) {
        qtest_quit(c->soc);
        c->soc = NULL;
        g_clear_pointer(&c->ep, g_free);
    }
}

void cable_quit_rc(PCIeCable *c)
{
    if (c->rc) {
        qtest_quit(c->rc);
        c->rc = NULL;
    }
}

void cable_free(PCIeCable *c)
{
    cable_quit_rc(c);
    cable_quit_ep(c);
    unlink(c->socket);
    unlink(c->soc_log);
    unlink(c->rc_log);
    g_assert_cmpint(g_rmdir(c->dir), ==, 0);
    g_free(c->rc_log);
    g_free(c->soc_log);
    g_free(c->socket);
    g_free(c->dir);
    g_free(c);
}

static QTestState *start_machine(const char *log, const char *args)
{
    return qtest_initf("-M %s,memory-backend=ram -cpu cortex-a57 "
                       "-nodefaults -m %u -object memory-backend-memfd,"
                       "id=ram,size=%uM,share=on -d guest_errors -D %s %s",
                       DW_EP_MACHINE, (unsigned)(CABLE_RAM_SIZE / MiB),
                       (unsigned)(CABLE_RAM_SIZE / MiB), log, args);
}

/*
 * Unless a test is about the completion timeout, requests wait for ever: a
 * busy machine must not make a test fail.
 */
static const char *timeout_property(const char *props)
{
    return strstr(props, "completion-timeout") ? "" : ",completion-timeout=0";
}

void cable_start_ep(PCIeCable *c, const char *props, const char *args)
{
    g_autofree char *device =
        g_strdup_printf("-device %s,id=%s,socket=%s%s%s %s", c->controller,
                        DW_EP_ID, c->socket, props, timeout_property(props),
                        args);

    g_assert_null(c->soc);
    c->soc = start_machine(c->soc_log, device);
    c->ep = dw_ep_init(c->soc);
}

void cable_start_rc(PCIeCable *c, const char *props, const char *args)
{
    g_autofree char *port =
        g_strdup_printf("-device pcie-root-port,id=rp0,bus=pcie.0,addr=%u,"
                        "chassis=1,slot=1,attention-button=off "
                        "-object pcie-cable-rc,id=cable0,bus=rp0,"
                        "socket=%s%s%s %s", CABLE_PORT_DEVFN >> 3, c->socket,
                        props, timeout_property(props), args);

    g_assert_null(c->rc);
    c->rc = start_machine(c->rc_log, port);
}

PCIeCable *cable_start_controller(const char *controller,
                                  const char *ep_props, const char *rc_props,
                                  const char *ep_args, const char *rc_args)
{
    PCIeCable *c = cable_new();

    c->controller = controller;
    cable_start_ep(c, ep_props, ep_args);
    cable_soc_setup(c, 0);
    dw_ep_start_link(c->ep);
    cable_start_rc(c, rc_props, rc_args);
    cable_wait_link(c, true);
    cable_port_setup(c);
    cable_host_setup(c, 0);
    return c;
}

PCIeCable *cable_start(const char *ep_props, const char *rc_props,
                       const char *ep_args, const char *rc_args)
{
    return cable_start_controller(DW_EP_RCAR, ep_props, rc_props, ep_args,
                                  rc_args);
}

static void kill_machine(QTestState *qts)
{
    pid_t pid = qtest_pid(qts);
    int status;

    g_assert_cmpint(kill(pid, SIGKILL), ==, 0);
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    /* libqtest need not know how it ended. */
    g_assert_false(qtest_probe_child(qts));
}

void cable_kill_ep(PCIeCable *c)
{
    kill_machine(c->soc);
    cable_quit_ep(c);
}

void cable_kill_rc(PCIeCable *c)
{
    kill_machine(c->rc);
    cable_quit_rc(c);
}

void cable_pause(QTestState *qts)
{
    pid_t pid = qtest_pid(qts);
    int status;

    g_assert_cmpint(kill(pid, SIGSTOP), ==, 0);
    g_assert_cmpint(waitpid(pid, &status, WUNTRACED), ==, pid);
    g_assert_true(WIFSTOPPED(status));
}

void cable_continue(QTestState *qts)
{
    g_assert_cmpint(kill(qtest_pid(qts), SIGCONT), ==, 0);
}

/* State of the ends */

static uint64_t counter(QTestState *qts, const char *path, const char *name)
{
    QDict *rsp = qtest_qmp(qts, "{ 'execute': 'qom-get', 'arguments': {"
                           " 'path': %s, 'property': %s } }", path, name);
    uint64_t val;

    g_assert_true(qdict_haskey(rsp, "return"));
    val = qdict_get_int(rsp, "return");
    qobject_unref(rsp);
    return val;
}

uint64_t cable_ep_counter(PCIeCable *c, const char *name)
{
    return counter(c->soc, DW_EP_QOM_PATH, name);
}

uint64_t cable_rc_counter(PCIeCable *c, const char *name)
{
    return counter(c->rc, CABLE_RC_QOM_PATH, name);
}

void cable_rc_set_timeout(PCIeCable *c, unsigned ms)
{
    qtest_qmp_assert_success(c->rc, "{ 'execute': 'qom-set', 'arguments': "
                             "{ 'path': %s, "
                             "'property': 'completion-timeout', "
                             "'value': %u } }", CABLE_RC_QOM_PATH, ms);
}

uint64_t cable_messages(PCIeCable *c)
{
    return cable_ep_counter(c, "messages-sent") +
           cable_rc_counter(c, "messages-sent");
}

uint64_t cable_messages_settled(PCIeCable *c)
{
    uint64_t before, now = cable_messages(c);

    do {
        before = now;
        g_usleep(100 * 1000);
        now = cable_messages(c);
    } while (now != before);
    return now;
}

bool cable_rc_link_up(PCIeCable *c)
{
    return qtest_qom_get_bool(c->rc, CABLE_RC_QOM_PATH, "link-up");
}

void cable_wait_link(PCIeCable *c, bool up)
{
    if (c->soc) {
        cable_wait(dw_ep_link_up(c->ep) == up);
        g_assert_true(qtest_qom_get_bool(c->soc, DW_EP_QOM_PATH, "link-up") ==
                      up);
    }
    if (c->rc) {
        cable_wait(cable_rc_link_up(c) == up);
    }
}

bool cable_log_has(const char *path, const char *text)
{
    g_autofree char *log = NULL;

    return g_file_get_contents(path, &log, NULL, NULL) && strstr(log, text);
}

unsigned cable_count_fds(QTestState *qts)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/fd", qtest_pid(qts));
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    unsigned n = 0;

    g_assert_nonnull(dir);
    while (g_dir_read_name(dir)) {
        n++;
    }
    return n;
}

/* Software of the SoC */

static void set_bar(DWEp *ep, unsigned fn, unsigned bar, uint64_t size,
                    uint32_t flags)
{
    if (ep->plat) {
        dw_ep_set_bar_programmable(ep, fn, bar, size, flags);
    } else if (bar == 4) {
        dw_ep_set_bar_fixed(ep, fn, bar, size, flags);
    } else {
        dw_ep_set_bar_resizable(ep, fn, bar, size, flags);
    }
}

void cable_soc_setup(PCIeCable *c, unsigned fn)
{
    for (unsigned bar = 1; c->ep->plat && bar < 6; bar++) {
        dw_ep_disable_bar(c->ep, fn, bar);
    }
    dw_ep_write_header(c->ep, fn, CABLE_VENDOR, CABLE_DEVICE, CABLE_CLASS);
    set_bar(c->ep, fn, 0, CABLE_BAR_SIZE, 0);
    set_bar(c->ep, fn, 2, CABLE_BAR_SIZE, PCI_BASE_ADDRESS_MEM_TYPE_64 |
            PCI_BASE_ADDRESS_MEM_PREFETCH);
    set_bar(c->ep, fn, 4, RCAR_GEN4_BAR4_SIZE, 0);
    dw_ep_set_msi(c->ep, fn, 32);
}

/* Software of the host */

uint64_t cable_ecam(unsigned bus, unsigned devfn, unsigned reg)
{
    return CABLE_ECAM + ((uint64_t)bus << 20 | devfn << 12 | reg);
}

uint32_t cable_cfg_readl(PCIeCable *c, unsigned fn, unsigned reg)
{
    return qtest_readl(c->rc, cable_ecam(CABLE_BUS, fn, reg));
}

uint16_t cable_cfg_readw(PCIeCable *c, unsigned fn, unsigned reg)
{
    return qtest_readw(c->rc, cable_ecam(CABLE_BUS, fn, reg));
}

uint8_t cable_cfg_readb(PCIeCable *c, unsigned fn, unsigned reg)
{
    return qtest_readb(c->rc, cable_ecam(CABLE_BUS, fn, reg));
}

void cable_cfg_writel(PCIeCable *c, unsigned fn, unsigned reg, uint32_t val)
{
    qtest_writel(c->rc, cable_ecam(CABLE_BUS, fn, reg), val);
}

void cable_cfg_writew(PCIeCable *c, unsigned fn, unsigned reg, uint16_t val)
{
    qtest_writew(c->rc, cable_ecam(CABLE_BUS, fn, reg), val);
}

void cable_cfg_writeb(PCIeCable *c, unsigned fn, unsigned reg, uint8_t val)
{
    qtest_writeb(c->rc, cable_ecam(CABLE_BUS, fn, reg), val);
}

static uint64_t port_reg(unsigned reg)
{
    return cable_ecam(0, CABLE_PORT_DEVFN, reg);
}

static uint64_t port_exp_reg(PCIeCable *c, unsigned reg)
{
    unsigned cap = qtest_readb(c->rc, port_reg(PCI_CAPABILITY_LIST));

    while (cap && qtest_readb(c->rc, port_reg(cap)) != PCI_CAP_ID_EXP) {
        cap = qtest_readb(c->rc, port_reg(cap + PCI_CAP_LIST_NEXT));
    }
    g_assert_cmpuint(cap, !=, 0);
    return port_reg(cap + reg);
}

uint16_t cable_slot_status(PCIeCable *c)
{
    return qtest_readw(c->rc, port_exp_reg(c, PCI_EXP_SLTSTA));
}

void cable_slot_clear_events(PCIeCable *c)
{
    qtest_writew(c->rc, port_exp_reg(c, PCI_EXP_SLTSTA),
                 PCI_EXP_SLTSTA_PDC | PCI_EXP_SLTSTA_DLLSC |
                 PCI_EXP_SLTSTA_CC);
}

void cable_slot_control(PCIeCable *c, uint16_t set, uint16_t clear)
{
    uint64_t reg = port_exp_reg(c, PCI_EXP_SLTCTL);

    qtest_writew(c->rc, reg, (qtest_readw(c->rc, reg) & ~clear) | set);
}

void cable_hot_reset(PCIeCable *c)
{
    uint64_t reg = port_reg(PCI_BRIDGE_CONTROL);
    uint16_t control = qtest_readw(c->rc, reg);

    qtest_writew(c->rc, reg, control | PCI_BRIDGE_CTL_BUS_RESET);
    qtest_writew(c->rc, reg, control & ~PCI_BRIDGE_CTL_BUS_RESET);
}

void cable_port_setup(PCIeCable *c)
{
    uint64_t sltctl = port_exp_reg(c, PCI_EXP_SLTCTL);
    uint64_t last32 = CABLE_MMIO32 + PORT_MEMORY_SIZE - 1;
    uint64_t last64 = CABLE_MMIO64 + PORT_MEMORY_SIZE - 1;

    qtest_writeb(c->rc, port_reg(PCI_PRIMARY_BUS), 0);
    qtest_writeb(c->rc, port_reg(PCI_SECONDARY_BUS), CABLE_BUS);
    qtest_writeb(c->rc, port_reg(PCI_SUBORDINATE_BUS), CABLE_BUS);
    qtest_writew(c->rc, port_reg(PCI_MEMORY_BASE), CABLE_MMIO32 >> 16);
    qtest_writew(c->rc, port_reg(PCI_MEMORY_LIMIT), last32 >> 16);
    qtest_writew(c->rc, port_reg(PCI_PREF_MEMORY_BASE),
                 (uint16_t)(CABLE_MMIO64 >> 16));
    qtest_writew(c->rc, port_reg(PCI_PREF_MEMORY_LIMIT), last64 >> 16);
    qtest_writel(c->rc, port_reg(PCI_PREF_BASE_UPPER32), CABLE_MMIO64 >> 32);
    qtest_writel(c->rc, port_reg(PCI_PREF_LIMIT_UPPER32), last64 >> 32);
    qtest_writew(c->rc, port_reg(PCI_COMMAND),
                 PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    qtest_writew(c->rc, sltctl, (qtest_readw(c->rc, sltctl) &
                                 ~PCI_EXP_SLTCTL_PCC) | PCI_EXP_SLTCTL_PWR_ON);
    cable_slot_clear_events(c);
}

uint64_t cable_bar(unsigned fn, unsigned bar)
{
    if (bar == 2) {
        return CABLE_MMIO64 + fn * FUNCTION_STRIDE;
    }
    return CABLE_MMIO32 + fn * FUNCTION_STRIDE + (bar == 4 ? BAR4_OFFSET : 0);
}

void cable_host_setup(PCIeCable *c, unsigned fn)
{
    cable_cfg_writel(c, fn, PCI_BASE_ADDRESS_0, cable_bar(fn, 0));
    cable_cfg_writel(c, fn, PCI_BASE_ADDRESS_2, cable_bar(fn, 2));
    cable_cfg_writel(c, fn, PCI_BASE_ADDRESS_3, cable_bar(fn, 2) >> 32);
    cable_cfg_writel(c, fn, PCI_BASE_ADDRESS_4, cable_bar(fn, 4));
    cable_cfg_writew(c, fn, PCI_COMMAND,
                     PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
}

uint64_t cable_size_bar(PCIeCable *c, unsigned fn, unsigned bar)
{
    unsigned reg = PCI_BASE_ADDRESS_0 + 4 * bar;
    uint32_t low = cable_cfg_readl(c, fn, reg);
    uint64_t mask;

    cable_cfg_writel(c, fn, reg, UINT32_MAX);
    mask = cable_cfg_readl(c, fn, reg) & (uint32_t)PCI_BASE_ADDRESS_MEM_MASK;
    cable_cfg_writel(c, fn, reg, low);
    if (low & PCI_BASE_ADDRESS_MEM_TYPE_64) {
        uint32_t high = cable_cfg_readl(c, fn, reg + 4);

        cable_cfg_writel(c, fn, reg + 4, UINT32_MAX);
        mask |= (uint64_t)cable_cfg_readl(c, fn, reg + 4) << 32;
        cable_cfg_writel(c, fn, reg + 4, high);
    } else if (mask) {
        mask |= MAKE_64BIT_MASK(32, 32);
    }
    return -mask;
}

/* Contents */

void *cable_pattern(size_t len, uint32_t seed)
{
    GRand *rand = g_rand_new_with_seed(seed);
    uint32_t *words = g_malloc(ROUND_UP(len, sizeof(uint32_t)));

    for (size_t i = 0; i < DIV_ROUND_UP(len, sizeof(uint32_t)); i++) {
        words[i] = g_rand_int(rand);
    }
    g_rand_free(rand);
    return words;
}

static char *sha256(const void *buf, size_t len)
{
    return g_compute_checksum_for_data(G_CHECKSUM_SHA256, buf, len);
}

void cable_check_memory(QTestState *qts, uint64_t addr, const void *expected,
                        size_t len)
{
    g_autofree void *buf = g_malloc(len);
    g_autofree char *want = sha256(expected, len);
    g_autofree char *got = NULL;

    qtest_bufread(qts, addr, buf, len);
    got = sha256(buf, len);
    g_assert_cmpstr(got, ==, want);
}
