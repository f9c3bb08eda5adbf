/*
 * PCIe cable, endpoint end: the link and its state
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One thread accepts a host at a time and serves it.  The link is up while
 * the controller lets it train and a host has been answered its VERSION; a
 * plain vfio-user host, which knows no link state, is answered only when the
 * controller is ready.
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "qemu/sockets.h"
#include "qapi/visitor.h"
#include "system/reset.h"
#include "system/system.h"
#include "pcie-cable-ep-internal.h"
#include "trace.h"

#define EP_NO_FD_US 100000

PCIeCableConn *pcie_cable_ep_get_conn(PCIeCableEP *cable)
{
    PCIeCableConn *conn;

    RCU_READ_LOCK_GUARD();
    conn = qatomic_rcu_read((void **)&cable->conn);
    if (conn) {
        pcie_cable_conn_ref(conn);
    }
    return conn;
}

/* Link state; BQL held */

static void ep_send_link_state(PCIeCableEP *cable)
{
    VfuLinkState state = {
        .argsz = sizeof(state),
        .up = cable->link_up,
        .functions = cable->link_up ? cable->link_functions : 0,
    };

    if (cable->conn && cable->negotiated && cable->peer.link_state) {
        pcie_cable_conn_send(cable->conn, VFU_LINK_STATE, 0,
                             &state, sizeof(state), NULL, 0);
    }
}

static void ep_set_link(PCIeCableEP *cable, bool up)
{
    if (up == cable->link_up) {
        return;
    }
    trace_pcie_cable_ep_link(up);
    if (up) {
        cable->link_functions = 0;
        for (unsigned i = 0; i < cable->num_functions; i++) {
            if (cable->functions[i].present) {
                cable->link_functions |= 1u << i;
            }
        }
    }
    if (!up) {
        /* The controller's caller waits for this in pcie_cable_ep_sync(). */
        pcie_cable_ep_remap_withdraw(cable);
    }
    qatomic_set(&cable->link_up, up);
    for (unsigned i = 0; i < cable->num_functions; i++) {
        pcie_cable_ep_host_update(&cable->functions[i]);
    }
    cable->ops->link_change(cable->opaque, up);
    ep_send_link_state(cable);
    if (up) {
        for (unsigned i = 0; i < cable->num_functions; i++) {
            for (unsigned b = 0; b < PCIE_CABLE_NUM_BARS; b++) {
                pcie_cable_ep_remap_update(&cable->functions[i].bars[b]);
            }
        }
    }
}

static void ep_answer_version(PCIeCableEP *cable, const VfuHdr *hdr)
{
    PCIeCableCaps caps = {
        .max_msg_fds = VFU_MAX_FDS,
        .max_data_xfer_size = VFU_MAX_XFER,
        .write_multiple = cable->peer.write_multiple,
        .region_remap = cable->peer.region_remap,
        .link_state = cable->peer.link_state,
        .posted_ring = cable->peer.posted_ring,
    };
    g_autoptr(GByteArray) payload = pcie_cable_caps_encode(&caps);

    if (cable->peer.link_state) {
        /* One of our own, which follows the document. */
        qatomic_set(&cable->dma_layout, EP_DMA_DOCUMENT);
    }
    pcie_cable_conn_reply(cable->conn, hdr, payload->data, payload->len,
                          NULL, 0);
    qatomic_set(&cable->negotiated, true);
    cable->version_waits = false;
}

void pcie_cable_ep_negotiated(PCIeCableEP *cable, const VfuHdr *hdr)
{
    if (!cable->peer.link_state && !cable->ltssm) {
        cable->version_hdr = *hdr;
        cable->version_waits = true;
        return;
    }
    ep_answer_version(cable, hdr);
    if (cable->ltssm) {
        ep_set_link(cable, true);
    } else {
        /* The host waits to hear how things stand. */
        ep_send_link_state(cable);
    }
}

void pcie_cable_ep_set_ltssm(PCIeCableEP *cable, bool enable)
{
    if (enable == cable->ltssm) {
        return;
    }
    cable->ltssm = enable;
    if (enable && cable->version_waits) {
        ep_answer_version(cable, &cable->version_hdr);
    }
    ep_set_link(cable, enable && cable->negotiated);
    if (!enable && cable->conn && cable->negotiated &&
        !cable->peer.link_state) {
        /* The only way to tell a plain host that the device is gone. */
        pcie_cable_conn_close(cable->conn, "the endpoint took the link down");
    }
}

bool pcie_cable_ep_link_up(PCIeCableEP *cable)
{
    return qatomic_read(&cable->link_up);
}

void pcie_cable_ep_set_present(PCIeCableEP *cable, unsigned fn, bool present)
{
    assert(fn < cable->num_functions);
    cable->functions[fn].present = present || fn == 0;
}

void pcie_cable_ep_set_bar_size(PCIeCableEP *cable, unsigned fn, unsigned bar,
                                uint64_t size)
{
    EPBar *b = &cable->functions[fn].bars[bar];

    assert(fn < cable->num_functions && bar < PCIE_CABLE_NUM_BARS);
    if (stat64_get(&b->size) != size) {
        stat64_set(&b->size, size);
        pcie_cable_ep_remap_update(b);
    }
}

void pcie_cable_ep_set_command(PCIeCableEP *cable, unsigned fn, uint16_t value)
{
    EPFunction *f = &cable->functions[fn];

    assert(fn < cable->num_functions);
    if (f->command != value) {
        qatomic_set(&f->command, value);
        pcie_cable_ep_host_update(f);
    }
}

/* Connections; server thread */

static void ep_serve(PCIeCableEP *cable, int fd)
{
    PCIeCableConn *conn = pcie_cable_conn_new(fd, &cable->stats,
                                              pcie_cable_ep_request, cable);
    g_autofree char *reason = NULL;

    bql_lock();
    qatomic_set(&cable->negotiated, false);
    cable->version_waits = false;
    qatomic_set(&cable->dma_layout, EP_DMA_UNKNOWN);
    qatomic_rcu_set((void **)&cable->conn, conn);
    bql_unlock();
    trace_pcie_cable_ep_connected();

    reason = pcie_cable_conn_run(conn, false);
    /* A host may try again and again; say only what is new. */
    if (g_strcmp0(reason, cable->last_reason)) {
        info_report("PCIe cable: connection to the host closed: %s", reason);
        g_free(cable->last_reason);
        cable->last_reason = g_strdup(reason);
    }

    bql_lock();
    qatomic_rcu_set((void **)&cable->conn, NULL);
    qatomic_set(&cable->negotiated, false);
    cable->version_waits = false;
    ep_set_link(cable, false);
    for (unsigned i = 0; i < cable->num_functions; i++) {
        pcie_cable_ep_host_drop_maps(&cable->functions[i]);
        pcie_cable_ep_drop_irqs(&cable->functions[i]);
    }
    bql_unlock();
    synchronize_rcu();
    pcie_cable_conn_unref(conn);
}

static void *ep_thread(void *opaque)
{
    PCIeCableEP *cable = opaque;

    rcu_register_thread();
    while (true) {
        int fd = qemu_accept(cable->listen_fd, NULL, NULL);

        if (fd >= 0) {
            ep_serve(cable, fd);
        } else if (errno == EMFILE || errno == ENFILE) {
            /* The host stays in the queue until a descriptor is free. */
            g_usleep(EP_NO_FD_US);
        }
    }
    return NULL;
}

/*
 * Listen at @path with mode 0600.  A socket that nobody listens on is left
 * over from a dead process and replaced; one in use is an error.
 */
static int ep_listen(const char *path, Error **errp)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    struct stat st;
    int fd;

    if (strlen(path) >= sizeof(addr.sun_path)) {
        error_setg(errp, "socket path '%s' is too long: %zu bytes, at most "
                   "%zu are possible", path, strlen(path),
                   sizeof(addr.sun_path) - 1);
        return -1;
    }
    strcpy(addr.sun_path, path);

    fd = qemu_socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0) {
        error_setg_errno(errp, errno, "cannot make a unix socket");
        return -1;
    }
    if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0) {
        error_setg(errp, "another process listens on socket '%s'", path);
        close(fd);
        return -1;
    }
    /* Connecting to what is no socket is refused as well. */
    if (errno == ECONNREFUSED && lstat(path, &st) == 0 &&
        S_ISSOCK(st.st_mode)) {
        unlink(path);
    }
    close(fd);

    fd = qemu_socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0) {
        error_setg_errno(errp, errno, "cannot make a unix socket");
        return -1;
    }
    /* Linux gives the socket file the mode of the socket's own inode. */
    if (fchmod(fd, 0600) < 0 ||
        bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
        listen(fd, 4) < 0) {
        error_setg_errno(errp, errno, "cannot listen on socket '%s'", path);
        close(fd);
        return -1;
    }
    return fd;
}

/*
 * Hold phase of a reset of the machine, behind that of its devices and before
 * images are loaded: the host may store into RAM until it has dropped what
 * the link, which went down, let it map.
 */
static void ep_machine_reset(void *opaque)
{
    pcie_cable_ep_sync(opaque);
}

static void ep_machine_done(Notifier *notifier, void *data)
{
    PCIeCableEP *cable = container_of(notifier, PCIeCableEP, machine_done);

    qemu_register_reset(ep_machine_reset, cable);
}

/* QEMU exits without unrealizing its devices. */
static void ep_exit(Notifier *notifier, void *data)
{
    PCIeCableEP *cable = container_of(notifier, PCIeCableEP, exit_notifier);
    PCIeCableConn *conn = pcie_cable_ep_get_conn(cable);

    if (conn) {
        pcie_cable_conn_close(conn, "the endpoint's machine ends");
        pcie_cable_conn_unref(conn);
    }
    unlink(cable->socket_path);
}

/* Properties of the controller that show the state of its link */

static void ep_get_counter(Object *obj, Visitor *v, const char *name,
                           void *opaque, Error **errp)
{
    uint64_t value = stat64_get((Stat64 *)opaque);

    visit_type_uint64(v, name, &value, errp);
}

static void ep_get_link(Object *obj, Visitor *v, const char *name,
                        void *opaque, Error **errp)
{
    bool up = pcie_cable_ep_link_up(opaque);

    visit_type_bool(v, name, &up, errp);
}

static void ep_add_properties(PCIeCableEP *cable)
{
    object_property_add(cable->owner, "messages-sent", "uint64",
                        ep_get_counter, NULL, NULL, &cable->stats.sent);
    object_property_add(cable->owner, "messages-received", "uint64",
                        ep_get_counter, NULL, NULL, &cable->stats.received);
    object_property_add(cable->owner, "completion-timeouts", "uint64",
                        ep_get_counter, NULL, NULL, &cable->stats.timeouts);
    object_property_add(cable->owner, "link-up", "bool",
                        ep_get_link, NULL, NULL, cable);
}

PCIeCableEP *pcie_cable_ep_new(Object *owner, const char *socket_path,
                               unsigned num_functions, uint32_t timeout_ms,
                               const PCIeCableEPOps *ops, void *opaque,
                               Error **errp)
{
    PCIeCableEP *cable;
    QemuThread thread;
    int listen_fd = -1;

    assert(num_functions >= 1 && num_functions <= PCIE_CABLE_MAX_FUNCTIONS);
    if (socket_path) {
        if (!pcie_cable_check_ram(errp)) {
            return NULL;
        }
        listen_fd = ep_listen(socket_path, errp);
        if (listen_fd < 0) {
            return NULL;
        }
    }
    cable = g_new0(PCIeCableEP, 1);
    cable->owner = owner;
    cable->ops = ops;
    cable->opaque = opaque;
    cable->num_functions = num_functions;
    cable->timeout_ms = timeout_ms;
    cable->socket_path = g_strdup(socket_path);
    cable->listen_fd = listen_fd;
    cable->xfer = g_malloc(VFU_MAX_XFER);
    qemu_mutex_init(&cable->posted_lock);
    qemu_mutex_init(&cable->remap_lock);
    qemu_cond_init(&cable->remap_cond);
    QLIST_INIT(&cable->dma_users);
    qemu_event_init(&cable->dma_left, false);
    for (unsigned i = 0; i < num_functions; i++) {
        EPFunction *f = &cable->functions[i];

        f->cable = cable;
        f->fn = i;
        f->present = i == 0;
        qemu_mutex_init(&f->irq_lock);
        for (unsigned v = 0; v < EP_MSI_VECTORS; v++) {
            f->irq_fds[v] = -1;
        }
        pcie_cable_ep_host_init(f);
    }
    ep_add_properties(cable);
    if (socket_path) {
        cable->exit_notifier.notify = ep_exit;
        qemu_add_exit_notifier(&cable->exit_notifier);
        cable->machine_done.notify = ep_machine_done;
        qemu_add_machine_init_done_notifier(&cable->machine_done);
        qemu_thread_create(&thread, "cable-ep", ep_thread, cable,
                           QEMU_THREAD_DETACHED);
    }
    return cable;
}
