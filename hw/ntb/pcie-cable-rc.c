/*
 * PCIe cable, root complex end: the link and the functions behind it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A user-creatable object, not a PCI device.  Its link thread connects to
 * the endpoint (again and again), learns its functions while the link is up
 * and has the main loop plug them below a root port; when the link goes it
 * has them removed as by surprise.  A second thread, inside
 * pcie_cable_conn_run(), serves the endpoint's requests at all times.
 */

#include "qemu/osdep.h"
#include <glib-unix.h>
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "qemu/sockets.h"
#include "qom/object_interfaces.h"
#include "hw/pci/pci_bridge.h"
#include "hw/pci/pci_host.h"
#include "hw/pci/pcie_host.h"
#include "system/system.h"
#include "pcie-cable-rc-internal.h"
#include "pcie-cable-rc-enum.h"
#include "pcie-cable-rc-plug.h"
#include "trace.h"

/* How often to look whether the endpoint has come. */
#define RC_RECONNECT_MS     100
/* The endpoint's answer to VERSION and to questions about its functions. */
#define RC_SETUP_TIMEOUT_MS 5000

PCIeCableConn *pcie_cable_rc_get_conn(PCIeCableRC *rc)
{
    PCIeCableConn *conn;

    RCU_READ_LOCK_GUARD();
    conn = qatomic_rcu_read((void **)&rc->conn);
    if (conn) {
        pcie_cable_conn_ref(conn);
    }
    return conn;
}

void pcie_cable_rc_forget_function(PCIeCableRC *rc, PCIeCableFunction *f)
{
    if (rc->functions[f->fn] == f) {
        qatomic_rcu_set(&rc->functions[f->fn], NULL);
    }
}

/* Requests of the endpoint; the reader's thread */

static bool rc_dma(PCIeCableRC *rc, PCIeCableConn *conn, unsigned fn,
                   PCIeCableRequest *req, Error **errp)
{
    bool write = req->hdr.command == VFU_DMA_WRITE;
    PCIeCableFunction *f;
    MemTxAttrs attrs = { 0 };
    MemTxResult result;
    uint8_t data[VFU_MAX_XFER];
    VfuDmaRW rw;

    if (req->len < sizeof(rw)) {
        error_setg(errp, "DMA request of %zu bytes", req->len);
        return false;
    }
    memcpy(&rw, req->payload, sizeof(rw));
    if (rw.count > VFU_MAX_XFER ||
        req->len - sizeof(rw) != (write ? rw.count : 0)) {
        error_setg(errp, "DMA request for %" PRIu64 " bytes carries %zu",
                   rw.count, req->len - sizeof(rw));
        return false;
    }
    RCU_READ_LOCK_GUARD();
    /* The bus, and with it the requester ID, is safe with the BQL only. */
    bql_lock();
    f = fn < PCIE_CABLE_MAX_FUNCTIONS ? rc->functions[fn] : NULL;
    if (f) {
        attrs.requester_id = pci_requester_id(PCI_DEVICE(f));
    }
    bql_unlock();
    if (!f) {
        pcie_cable_conn_reply_error(conn, &req->hdr, ENODEV);
        return true;
    }
    if (write) {
        result = address_space_write(&PCI_DEVICE(f)->bus_master_as,
                                     rw.address, attrs,
                                     req->payload + sizeof(rw), rw.count);
    } else {
        result = address_space_read(&PCI_DEVICE(f)->bus_master_as,
                                    rw.address, attrs, data, rw.count);
    }
    trace_pcie_cable_rc_dma(fn, write, rw.address, rw.count, result);
    if (result != MEMTX_OK) {
        pcie_cable_conn_reply_error(conn, &req->hdr, EFAULT);
    } else {
        pcie_cable_conn_reply(conn, &req->hdr, &rw, sizeof(rw), data,
                              write ? 0 : rw.count);
    }
    return true;
}

static bool rc_link_state(PCIeCableRC *rc, PCIeCableConn *conn,
                          PCIeCableRequest *req, Error **errp)
{
    VfuLinkState state;

    if (req->len != sizeof(state)) {
        error_setg(errp, "LINK_STATE of %zu bytes", req->len);
        return false;
    }
    memcpy(&state, req->payload, sizeof(state));
    if (state.argsz != sizeof(state) || state.reserved || state.up > 1 ||
        (state.up && !(state.functions & 1)) ||
        state.functions >> PCIE_CABLE_MAX_FUNCTIONS) {
        error_setg(errp, "malformed LINK_STATE");
        return false;
    }
    bql_lock();
    /* What the peer maps from here on belongs to another training. */
    rc->stale = true;
    pcie_cable_rc_drop_mappings(rc);
    WITH_QEMU_LOCK_GUARD(&rc->lock) {
        rc->link_seq++;
        rc->peer_up = state.up;
        rc->peer_functions = state.functions;
        qemu_cond_broadcast(&rc->cond);
    }
    bql_unlock();
    pcie_cable_conn_reply(conn, &req->hdr, NULL, 0, NULL, 0);
    return true;
}

static bool rc_request(void *opaque, PCIeCableConn *conn,
                       PCIeCableRequest *req, Error **errp)
{
    PCIeCableRC *rc = opaque;
    unsigned fn = (req->hdr.flags & VFU_F_FUNCTION) >> VFU_F_FUNCTION_SHIFT;

    switch (req->hdr.command) {
    case VFU_DMA_READ:
    case VFU_DMA_WRITE:
        return rc_dma(rc, conn, fn, req, errp);
    case VFU_REGION_REMAP:
        return pcie_cable_rc_remap(rc, conn, fn, req, errp);
    case VFU_LINK_STATE:
        return rc_link_state(rc, conn, req, errp);
    default:
        pcie_cable_conn_reply_error(conn, &req->hdr, ENOTSUP);
        return true;
    }
}

static void *rc_reader(void *opaque)
{
    PCIeCableRC *rc = opaque;
    g_autofree char *reason = NULL;

    rcu_register_thread();
    /* The endpoint's doorbells go this way, its own MSIs do not. */
    reason = pcie_cable_conn_run(rc->conn, true);
    WITH_QEMU_LOCK_GUARD(&rc->lock) {
        /* The link thread tries again at once; say only what is new. */
        if (g_strcmp0(reason, rc->last_reason)) {
            info_report("PCIe cable: connection to the endpoint closed: %s",
                        reason);
            g_free(rc->last_reason);
            rc->last_reason = g_strdup(reason);
        }
        rc->closed = true;
        qemu_cond_broadcast(&rc->cond);
    }
    rcu_unregister_thread();
    return NULL;
}

/* Tasks of the main loop; BQL held */

static void rc_task_done(PCIeCableRC *rc)
{
    QEMU_LOCK_GUARD(&rc->lock);
    rc->task = RC_TASK_NONE;
    qemu_cond_broadcast(&rc->cond);
}

static void rc_plugged(PCIeCableRC *rc)
{
    WITH_QEMU_LOCK_GUARD(&rc->lock) {
        g_clear_pointer(&rc->last_reason, g_free);
    }
    qatomic_set(&rc->link_up, rc->functions[0] != NULL);
    rc_task_done(rc);
}

/* Do what the link thread asks for. */
static void rc_run_task(PCIeCableRC *rc, bool cold)
{
    int task;

    WITH_QEMU_LOCK_GUARD(&rc->lock) {
        task = rc->task;
        if (task == RC_TASK_PLUG) {
            rc->stale = rc->link_seq != rc->plug_seq;
        }
    }
    if (task == RC_TASK_PLUG) {
        pcie_cable_rc_plug(rc, cold, rc_plugged);
    } else if (task == RC_TASK_UNPLUG) {
        qatomic_set(&rc->link_up, false);
        pcie_cable_rc_unplug(rc, rc_task_done);
    }
}

static void rc_task_bh(void *opaque)
{
    rc_run_task(opaque, false);
}

/* The link thread; no lock held unless said */

static void rc_ask_main_loop(PCIeCableRC *rc, int task)
{
    WITH_QEMU_LOCK_GUARD(&rc->lock) {
        rc->task = task;
        qemu_cond_broadcast(&rc->cond);
    }
    qemu_bh_schedule(rc->task_bh);
    WITH_QEMU_LOCK_GUARD(&rc->lock) {
        while (rc->task != RC_TASK_NONE && !rc->quit) {
            qemu_cond_wait(&rc->cond, &rc->lock);
        }
    }
}

static void rc_settled(PCIeCableRC *rc)
{
    QEMU_LOCK_GUARD(&rc->lock);
    rc->settled = true;
    qemu_cond_broadcast(&rc->cond);
}

/* Offer the extensions.  A server without them has function 0, always. */
static bool rc_handshake(PCIeCableRC *rc, Error **errp)
{
    PCIeCableCaps caps = {
        .max_msg_fds = VFU_MAX_FDS,
        .max_data_xfer_size = VFU_MAX_XFER,
        .region_remap = true,
        .link_state = true,
        .posted_ring = true,
    };
    g_autoptr(GByteArray) offer = pcie_cable_caps_encode(&caps);
    g_autofree uint8_t *reply = g_malloc(VFU_MAX_MSG);
    size_t got;
    Error *err = NULL;
    int error = pcie_cable_conn_call_upto(rc->conn, VFU_VERSION, 0,
                                          offer->data, offer->len, reply,
                                          VFU_MAX_MSG, &got,
                                          RC_SETUP_TIMEOUT_MS);

    if (error) {
        error_setg_errno(errp, -error, "no answer to VERSION");
        return false;
    }
    if (!pcie_cable_caps_decode(reply, got, &caps, errp)) {
        return false;
    }
    rc->max_fds = caps.max_msg_fds;
    if (caps.posted_ring && caps.max_msg_fds >= VFU_RING_FDS &&
        !pcie_cable_conn_offer_ring(rc->conn, &err)) {
        /* Messages do as well. */
        warn_report_err(err);
    }
    if (!caps.link_state) {
        WITH_QEMU_LOCK_GUARD(&rc->lock) {
            rc->link_seq++;
            rc->peer_up = true;
            rc->peer_functions = 1;
        }
    }
    return true;
}

static void rc_free_infos(PCIeCableRC *rc)
{
    for (unsigned fn = 0; fn < PCIE_CABLE_MAX_FUNCTIONS; fn++) {
        g_clear_pointer(&rc->infos[fn], g_free);
    }
}

/* Learn all functions of @mask. */
static bool rc_enumerate(PCIeCableRC *rc, uint32_t mask, Error **errp)
{
    rc_free_infos(rc);
    for (unsigned fn = 0; fn < PCIE_CABLE_MAX_FUNCTIONS; fn++) {
        if (mask & 1u << fn) {
            rc->infos[fn] = pcie_cable_rc_query(rc->conn, fn,
                                                RC_SETUP_TIMEOUT_MS, errp);
            if (!rc->infos[fn]) {
                rc_free_infos(rc);
                return false;
            }
        }
    }
    return true;
}

/* Follow the link until the connection closes. */
static void rc_follow_link(PCIeCableRC *rc)
{
    unsigned seen = 0;
    bool plugged = false;

    while (true) {
        Error *err = NULL;
        bool up, over;
        uint32_t functions;

        WITH_QEMU_LOCK_GUARD(&rc->lock) {
            while (rc->link_seq == seen && !rc->closed && !rc->quit) {
                qemu_cond_wait(&rc->cond, &rc->lock);
            }
            over = rc->closed || rc->quit;
            seen = rc->link_seq;
            rc->plug_seq = seen;
            up = rc->peer_up && !over;
            functions = rc->peer_functions;
        }
        if (plugged) {
            rc_ask_main_loop(rc, RC_TASK_UNPLUG);
            plugged = false;
        }
        if (over) {
            return;
        }
        if (up) {
            if (rc_enumerate(rc, functions, &err)) {
                rc_ask_main_loop(rc, RC_TASK_PLUG);
                plugged = true;
            } else {
                pcie_cable_conn_close(rc->conn, error_get_pretty(err));
                error_free(err);
            }
        }
        rc_settled(rc);
    }
}

static void rc_serve(PCIeCableRC *rc, int fd)
{
    PCIeCableConn *conn = pcie_cable_conn_new(fd, &rc->stats, rc_request, rc);
    QemuThread reader;
    Error *err = NULL;

    WITH_QEMU_LOCK_GUARD(&rc->lock) {
        rc->closed = false;
        rc->link_seq = 0;
        rc->peer_up = false;
    }
    qatomic_rcu_set((void **)&rc->conn, conn);
    WITH_QEMU_LOCK_GUARD(&rc->lock) {
        if (rc->quit) {
            pcie_cable_conn_close(conn, "this end goes away");
        }
    }
    qemu_thread_create(&reader, "cable-rc", rc_reader, rc,
                       QEMU_THREAD_JOINABLE);
    if (rc_handshake(rc, &err)) {
        rc_follow_link(rc);
        pcie_cable_conn_close(conn, "this end goes away");
    } else {
        pcie_cable_conn_close(conn, error_get_pretty(err));
        error_free(err);
    }
    qemu_thread_join(&reader);
    bql_lock();
    pcie_cable_rc_drop_mappings(rc);
    bql_unlock();
    qatomic_rcu_set((void **)&rc->conn, NULL);
    synchronize_rcu();
    pcie_cable_conn_unref(conn);
}

static int rc_connect(PCIeCableRC *rc)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    /* A peer that does not accept must not hold this thread. */
    int fd = qemu_socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

    if (fd < 0) {
        return -1;
    }
    pstrcpy(addr.sun_path, sizeof(addr.sun_path), rc->socket);
    if (RETRY_ON_EINTR(connect(fd, (struct sockaddr *)&addr,
                               sizeof(addr))) < 0) {
        close(fd);
        return -1;
    }
    g_unix_set_fd_nonblocking(fd, false, NULL);
    return fd;
}

static void *rc_thread(void *opaque)
{
    PCIeCableRC *rc = opaque;
    bool quit = false;

    rcu_register_thread();
    while (!quit) {
        int fd = rc_connect(rc);

        if (fd >= 0) {
            rc_serve(rc, fd);
        }
        rc_settled(rc);
        WITH_QEMU_LOCK_GUARD(&rc->lock) {
            if (!rc->quit) {
                qemu_cond_timedwait(&rc->cond, &rc->lock, RC_RECONNECT_MS);
            }
            quit = rc->quit;
        }
    }
    rcu_unregister_thread();
    return NULL;
}

/* The object */

/*
 * Config accesses drop the BQL while they wait for the endpoint, so that
 * another vCPU may access config space meanwhile.
 */
static void rc_allow_reentrancy(PCIeCableRC *rc)
{
    PCIBus *root = pci_device_root_bus(PCI_DEVICE(rc->port));
    PCIHostState *host = PCI_HOST_BRIDGE(BUS(root)->parent);

    host->conf_mem.disable_reentrancy_guard = true;
    host->data_mem.disable_reentrancy_guard = true;
    if (object_dynamic_cast(OBJECT(host), TYPE_PCIE_HOST_BRIDGE)) {
        PCIE_HOST_BRIDGE(host)->mmio.disable_reentrancy_guard = true;
    }
}

static PCIESlot *rc_find_port(PCIeCableRC *rc, Error **errp)
{
    bool ambiguous;
    Object *obj = object_resolve_path_type(rc->bus, TYPE_PCIE_SLOT,
                                           &ambiguous);

    if (!obj) {
        error_setg(errp, "%s: %s PCIe port named '%s'; add "
                   "-device pcie-root-port,id=%s,attention-button=off",
                   TYPE_PCIE_CABLE_RC, ambiguous ? "more than one" : "no",
                   rc->bus, rc->bus);
        return NULL;
    }
    return PCIE_SLOT(obj);
}

static void rc_machine_done(Notifier *notifier, void *data)
{
    PCIeCableRC *rc = container_of(notifier, PCIeCableRC, machine_done);
    bool task;

    if (!pcie_cable_check_ram(&error_fatal)) {
        return;
    }
    rc->port = rc_find_port(rc, &error_fatal);
    object_ref(OBJECT(rc->port));
    rc_allow_reentrancy(rc);
    if (!pcie_cable_rc_start_irqs(rc, &error_fatal)) {
        return;
    }
    /* Behind the sysbus, before the ROMs: the order of resets. */
    pcie_cable_rc_start_resets(rc);
    rc->task_bh = qemu_bh_new(rc_task_bh, rc);
    qemu_thread_create(&rc->thread, "cable-rc-link", rc_thread, rc,
                       QEMU_THREAD_JOINABLE);
    rc->thread_started = true;

    /* An endpoint that is ready now is there when the machine starts. */
    bql_unlock();
    WITH_QEMU_LOCK_GUARD(&rc->lock) {
        while (!rc->settled && rc->task == RC_TASK_NONE &&
               qemu_cond_timedwait(&rc->cond, &rc->lock,
                                   RC_SETUP_TIMEOUT_MS)) {
            /* woken: look again */
        }
        task = rc->task != RC_TASK_NONE;
    }
    bql_lock();
    if (task) {
        rc_run_task(rc, true);
    }
}

static void rc_complete(UserCreatable *uc, Error **errp)
{
    PCIeCableRC *rc = PCIE_CABLE_RC(uc);
    struct sockaddr_un addr;

    if (!rc->socket || !rc->bus) {
        error_setg(errp, "%s needs socket=PATH and bus=PORT",
                   TYPE_PCIE_CABLE_RC);
        return;
    }
    if (strlen(rc->socket) >= sizeof(addr.sun_path)) {
        error_setg(errp, "socket path '%s' is too long: %zu bytes, at most "
                   "%zu are possible", rc->socket, strlen(rc->socket),
                   sizeof(addr.sun_path) - 1);
        return;
    }
    if (rc->slot) {
        error_setg(errp, "slot %u: behind a PCIe port there is slot 0 only",
                   rc->slot);
        return;
    }
    rc->machine_done.notify = rc_machine_done;
    qemu_add_machine_init_done_notifier(&rc->machine_done);
}

static bool rc_can_be_deleted(UserCreatable *uc)
{
    return false;
}

static void rc_get_link_up(Object *obj, Visitor *v, const char *name,
                           void *opaque, Error **errp)
{
    bool up = qatomic_read(&PCIE_CABLE_RC(obj)->link_up);

    visit_type_bool(v, name, &up, errp);
}

static void rc_get_counter(Object *obj, Visitor *v, const char *name,
                           void *opaque, Error **errp)
{
    uint64_t value = stat64_get(opaque);

    visit_type_uint64(v, name, &value, errp);
}

static char *rc_get_socket(Object *obj, Error **errp)
{
    return g_strdup(PCIE_CABLE_RC(obj)->socket);
}

static void rc_set_socket(Object *obj, const char *value, Error **errp)
{
    PCIeCableRC *rc = PCIE_CABLE_RC(obj);

    g_free(rc->socket);
    rc->socket = g_strdup(value);
}

static char *rc_get_bus(Object *obj, Error **errp)
{
    return g_strdup(PCIE_CABLE_RC(obj)->bus);
}

static void rc_set_bus(Object *obj, const char *value, Error **errp)
{
    PCIeCableRC *rc = PCIE_CABLE_RC(obj);

    g_free(rc->bus);
    rc->bus = g_strdup(value);
}

static void rc_init(Object *obj)
{
    PCIeCableRC *rc = PCIE_CABLE_RC(obj);

    rc->timeout_ms = 50;
    qemu_mutex_init(&rc->lock);
    qemu_cond_init(&rc->cond);
    for (unsigned fn = 0; fn < PCIE_CABLE_MAX_FUNCTIONS; fn++) {
        for (unsigned b = 0; b < PCIE_CABLE_NUM_BARS; b++) {
            rc->mappings[fn][b] = g_array_new(false, false,
                                              sizeof(RCMapping));
        }
    }
    object_property_add_uint8_ptr(obj, "slot", &rc->slot,
                                  OBJ_PROP_FLAG_READWRITE);
    object_property_add_uint32_ptr(obj, "completion-timeout", &rc->timeout_ms,
                                   OBJ_PROP_FLAG_READWRITE);
    object_property_add_uint32_ptr(obj, "removal-grace", &rc->grace_ms,
                                   OBJ_PROP_FLAG_READWRITE);
    object_property_add(obj, "messages-sent", "uint64", rc_get_counter, NULL,
                        NULL, &rc->stats.sent);
    object_property_add(obj, "messages-received", "uint64", rc_get_counter,
                        NULL, NULL, &rc->stats.received);
    object_property_add(obj, "completion-timeouts", "uint64", rc_get_counter,
                        NULL, NULL, &rc->stats.timeouts);
}

/* The threads end before the object does: they use it. */
static void rc_unparent(Object *obj)
{
    PCIeCableRC *rc = PCIE_CABLE_RC(obj);
    PCIeCableConn *conn;

    if (!rc->thread_started) {
        return;
    }
    WITH_QEMU_LOCK_GUARD(&rc->lock) {
        rc->quit = true;
        qemu_cond_broadcast(&rc->cond);
    }
    conn = pcie_cable_rc_get_conn(rc);
    if (conn) {
        pcie_cable_conn_close(conn, "this end goes away");
        pcie_cable_conn_unref(conn);
    }
    bql_unlock();
    qemu_thread_join(&rc->thread);
    bql_lock();
    rc->thread_started = false;
    pcie_cable_rc_stop_resets(rc);
    pcie_cable_rc_stop_irqs(rc);
    qemu_bh_delete(rc->task_bh);
    pcie_cable_rc_stop_plugging(rc);
    object_unref(OBJECT(rc->port));
}

static void rc_finalize(Object *obj)
{
    PCIeCableRC *rc = PCIE_CABLE_RC(obj);

    pcie_cable_rc_drop_mappings(rc);
    for (unsigned fn = 0; fn < PCIE_CABLE_MAX_FUNCTIONS; fn++) {
        for (unsigned b = 0; b < PCIE_CABLE_NUM_BARS; b++) {
            g_array_unref(rc->mappings[fn][b]);
        }
    }
    rc_free_infos(rc);
    qemu_cond_destroy(&rc->cond);
    qemu_mutex_destroy(&rc->lock);
    g_free(rc->last_reason);
    g_free(rc->socket);
    g_free(rc->bus);
}

static void rc_class_init(ObjectClass *klass, CABLE_CLASS_DATA data)
{
    UserCreatableClass *ucc = USER_CREATABLE_CLASS(klass);

    klass->unparent = rc_unparent;
    ucc->complete = rc_complete;
    ucc->can_be_deleted = rc_can_be_deleted;
    object_class_property_add_str(klass, "socket", rc_get_socket,
                                  rc_set_socket);
    object_class_property_set_description(klass, "socket",
        "Path of the unix socket at which the endpoint listens");
    object_class_property_add_str(klass, "bus", rc_get_bus, rc_set_bus);
    object_class_property_set_description(klass, "bus",
        "ID of the root port or downstream port to plug the functions into");
    object_class_property_add(klass, "link-up", "bool", rc_get_link_up, NULL,
                              NULL, NULL);
}

static CABLE_CONST InterfaceInfo rc_interfaces[] = {
    { TYPE_USER_CREATABLE },
    { }
};

static const TypeInfo rc_info = {
    .name = TYPE_PCIE_CABLE_RC,
    .parent = TYPE_OBJECT,
    .instance_size = sizeof(PCIeCableRC),
    .instance_init = rc_init,
    .instance_finalize = rc_finalize,
    .class_init = rc_class_init,
    .interfaces = rc_interfaces,
};

static void rc_register(void)
{
    type_register_static(&rc_info);
}

type_init(rc_register)
