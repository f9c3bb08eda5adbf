/*
 * PCIe cable, root complex end: MSIs of the endpoint's functions
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each vector has an eventfd that the endpoint writes to.  One thread waits
 * for those of all functions and sends the MSIs: no work of the main loop
 * delays one.  The wait is edge-triggered and nobody reads the eventfds, so
 * an MSI costs one system call here, and a peer, which has the descriptors
 * too, cannot make this end wait in a read.
 */

#include "qemu/osdep.h"
#include <sys/epoll.h>
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "hw/pci/msi.h"
#include "pcie-cable-rc-internal.h"
#include "trace.h"

#define IRQ_EVENTS_MAX 16

/*
 * What an event carries: which eventfd it was, as numbers, because the
 * function may be gone or its vectors may be others when the event is handled.
 * Generation 0 is the request to stop.
 */
static uint64_t irq_tag(uint64_t generation, unsigned fn, unsigned vector)
{
    return generation << 16 | fn << 8 | vector;
}

static bool irq_watch(PCIeCableRC *rc, EventNotifier *event, uint64_t tag)
{
    struct epoll_event ev = { .events = EPOLLIN | EPOLLET, .data.u64 = tag };

    return epoll_ctl(rc->irq_epoll, EPOLL_CTL_ADD,
                     event_notifier_get_fd(event), &ev) == 0;
}

/* BQL held */
static void irq_raise(PCIeCableRC *rc, uint64_t tag)
{
    unsigned fn = tag >> 8 & 0xff, vector = tag & 0xff;
    PCIeCableFunction *f = rc->functions[fn];

    if (!f || f->irq_generation != tag >> 16 || vector >= f->num_irqs ||
        !msi_enabled(PCI_DEVICE(f))) {
        return;
    }
    trace_pcie_cable_rc_msi(fn, vector);
    /* An MSI address that leads to a device which drops the BQL */
    object_ref(OBJECT(f));
    msi_notify(PCI_DEVICE(f), vector);
    object_unref(OBJECT(f));
}

static void *irq_thread(void *opaque)
{
    PCIeCableRC *rc = opaque;
    bool stop = false;

    rcu_register_thread();
    while (!stop) {
        struct epoll_event events[IRQ_EVENTS_MAX];
        int n = RETRY_ON_EINTR(epoll_wait(rc->irq_epoll, events,
                                          IRQ_EVENTS_MAX, -1));

        bql_lock();
        for (int i = 0; i < n; i++) {
            if (events[i].data.u64) {
                irq_raise(rc, events[i].data.u64);
            } else {
                stop = true;
            }
        }
        bql_unlock();
    }
    rcu_unregister_thread();
    return NULL;
}

bool pcie_cable_rc_start_irqs(PCIeCableRC *rc, Error **errp)
{
    rc->irq_epoll = epoll_create1(EPOLL_CLOEXEC);
    if (rc->irq_epoll < 0 || event_notifier_init(&rc->irq_stop, 0) < 0 ||
        !irq_watch(rc, &rc->irq_stop, 0)) {
        error_setg_errno(errp, errno, "%s: cannot wait for MSIs",
                         TYPE_PCIE_CABLE_RC);
        return false;
    }
    qemu_thread_create(&rc->irq_thread, "cable-msi", irq_thread, rc,
                       QEMU_THREAD_JOINABLE);
    return true;
}

void pcie_cable_rc_stop_irqs(PCIeCableRC *rc)
{
    event_notifier_set(&rc->irq_stop);
    bql_unlock();
    qemu_thread_join(&rc->irq_thread);
    bql_lock();
    event_notifier_cleanup(&rc->irq_stop);
    close(rc->irq_epoll);
    /* For functions that go later */
    rc->irq_epoll = -1;
}

static void set_irqs_done(void *opaque, int error)
{
    if (error && error != ECONNRESET) {
        warn_report("PCIe cable: the endpoint refuses its MSI vectors: %s",
                    strerror(error));
    }
}

static void function_set_irqs(PCIeCableFunction *f, unsigned start,
                              unsigned count, uint32_t data_type)
{
    PCIeCableConn *conn = pcie_cable_rc_get_conn(f->rc);
    VfuIrqSet set = {
        .argsz = sizeof(set),
        .flags = VFU_IRQ_SET_ACTION_TRIGGER | data_type,
        .index = VFU_IRQ_MSI,
        .start = start,
        .count = count,
    };
    int fds[VFU_MAX_FDS];

    if (!conn) {
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        fds[i] = event_notifier_get_fd(&f->irqs[start + i]);
    }
    pcie_cable_conn_send_async(conn, VFU_DEVICE_SET_IRQS, f->fn, &set,
                               sizeof(set), NULL, 0, fds, count,
                               set_irqs_done, NULL);
    pcie_cable_conn_unref(conn);
}

void pcie_cable_rc_drop_irqs(PCIeCableFunction *f)
{
    if (!f->num_irqs) {
        return;
    }
    for (unsigned i = 0; i < f->num_irqs; i++) {
        /* Closing does not end the watch: the peer has the file open too. */
        epoll_ctl(f->rc->irq_epoll, EPOLL_CTL_DEL,
                  event_notifier_get_fd(&f->irqs[i]), NULL);
        event_notifier_cleanup(&f->irqs[i]);
    }
    f->num_irqs = 0;
    function_set_irqs(f, 0, 0, VFU_IRQ_SET_DATA_NONE);
}

void pcie_cable_rc_update_irqs(PCIeCableFunction *f)
{
    PCIDevice *d = PCI_DEVICE(f);
    PCIeCableRC *rc = f->rc;
    unsigned wanted = msi_enabled(d) ? msi_nr_vectors_allocated(d) : 0;

    wanted = MIN(wanted, RC_MSI_VECTORS);
    if (wanted == f->num_irqs) {
        return;
    }
    pcie_cable_rc_drop_irqs(f);
    rc->irq_generation++;
    f->irq_generation = rc->irq_generation;
    for (; f->num_irqs < wanted; f->num_irqs++) {
        unsigned i = f->num_irqs;

        if (event_notifier_init(&f->irqs[i], 0) < 0) {
            warn_report("PCIe cable: no eventfd for MSI vector %u", i);
            break;
        }
        if (!irq_watch(rc, &f->irqs[i], irq_tag(f->irq_generation, f->fn,
                                                i))) {
            warn_report("PCIe cable: cannot wait for MSI vector %u", i);
            event_notifier_cleanup(&f->irqs[i]);
            break;
        }
    }
    for (unsigned i = 0; i < f->num_irqs; i += rc->max_fds) {
        function_set_irqs(f, i, MIN(rc->max_fds, f->num_irqs - i),
                          VFU_IRQ_SET_DATA_EVENTFD);
    }
}
