/*
 * PCIe cable, endpoint end: the host's memory for DMA engines
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a function reaches is one immutable table, replaced as a whole when
 * the host maps or unmaps memory, when BME or the link change.  A user marks
 * itself as inside before it looks at the table and until its copy is done.
 * Who replaces the table waits for the users that were inside at that moment;
 * those that come later see the new table, so nobody waits for more than one
 * copy, and nobody who copies ever waits.
 */

#include "qemu/osdep.h"
#include "qemu/lockable.h"
#include "qemu/main-loop.h"
#include "qemu/range.h"
#include "pcie-cable-ep-internal.h"
#include "trace.h"

typedef struct EPExtent {
    uint64_t addr;              /* PCI address, bytes */
    uint64_t size;              /* bytes */
    uint8_t *host;
    bool readonly;
} EPExtent;

struct EPExtents {
    PCIeCableDMAError gate;     /* OK: open */
    unsigned count;
    EPExtent extent[];          /* by address, no two overlap */
};

/* A write by request on its way; the user and the connection have it. */
typedef struct DMAWrite {
    int refcount;
    QemuSemaphore answered;
    int error;
} DMAWrite;

struct PCIeCableDMA {
    PCIeCableEP *cable;
    QLIST_ENTRY(PCIeCableDMA) next;
    unsigned inside;            /* atomic: odd while inside */
    DMAWrite *write;            /* its thread's */
    uint8_t *reply;             /* fixed part and data of a read; lazily */
};

/* The table; BQL held */

static PCIeCableDMAError gate(EPFunction *f)
{
    if (!f->cable->link_up) {
        return PCIE_CABLE_DMA_LINK_DOWN;
    }
    return f->command & PCI_COMMAND_MASTER ? PCIE_CABLE_DMA_OK
                                           : PCIE_CABLE_DMA_NOT_MASTER;
}

static EPExtents *extents_new(EPFunction *f, unsigned count)
{
    EPExtents *t = g_malloc(sizeof(*t) + count * sizeof(t->extent[0]));

    t->gate = gate(f);
    t->count = count;
    return t;
}

/* Wait until @dma is not inside, or was outside at some time. */
static void wait_outside(PCIeCableDMA *dma)
{
    PCIeCableEP *cable = dma->cable;
    /* Pairs with the release in leave(): what it read before is read. */
    unsigned seen = qatomic_load_acquire(&dma->inside);

    while (seen & 1 && qatomic_load_acquire(&dma->inside) == seen) {
        qemu_event_reset(&cable->dma_left);
        if (qatomic_load_acquire(&dma->inside) == seen) {
            qemu_event_wait(&cable->dma_left);
        }
    }
}

static void publish(EPFunction *f, EPExtents *t)
{
    PCIeCableEP *cable = f->cable;
    EPExtents *old = f->extents;
    PCIeCableDMA *dma;

    trace_pcie_cable_ep_dma_extents(f->fn, t->count, t->gate);
    qatomic_store_release(&f->extents, t);
    qatomic_inc(&cable->dma_waits);
    /* Pairs with the barrier in enter(). */
    smp_mb();
    QLIST_FOREACH(dma, &cable->dma_users, next) {
        wait_outside(dma);
    }
    qatomic_dec(&cable->dma_waits);
    g_free(old);
}

/* Index of the first extent that ends behind @addr */
static unsigned find_extent(const EPExtents *t, uint64_t addr)
{
    unsigned low = 0, high = t->count;

    while (low < high) {
        unsigned mid = (low + high) / 2;
        const EPExtent *e = &t->extent[mid];

        if (addr > e->addr + (e->size - 1)) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

void pcie_cable_ep_dma_add(EPFunction *f, uint64_t addr, uint64_t size,
                           void *host, bool readonly)
{
    const EPExtents *old = f->extents;
    EPExtents *t = extents_new(f, old->count + 1);
    unsigned i = find_extent(old, addr);

    memcpy(t->extent, old->extent, i * sizeof(EPExtent));
    t->extent[i] = (EPExtent) {
        .addr = addr, .size = size, .host = host, .readonly = readonly,
    };
    memcpy(t->extent + i + 1, old->extent + i,
           (old->count - i) * sizeof(EPExtent));
    publish(f, t);
}

void pcie_cable_ep_dma_remove(EPFunction *f, uint64_t addr)
{
    const EPExtents *old = f->extents;
    unsigned i = find_extent(old, addr);
    EPExtents *t;

    if (i == old->count || old->extent[i].addr != addr) {
        return;
    }
    t = extents_new(f, old->count - 1);
    memcpy(t->extent, old->extent, i * sizeof(EPExtent));
    memcpy(t->extent + i, old->extent + i + 1,
           (old->count - i - 1) * sizeof(EPExtent));
    publish(f, t);
}

void pcie_cable_ep_dma_update(EPFunction *f)
{
    const EPExtents *old = f->extents;
    EPExtents *t;

    if (old->gate == gate(f)) {
        return;
    }
    t = extents_new(f, old->count);
    memcpy(t->extent, old->extent, old->count * sizeof(EPExtent));
    publish(f, t);
}

void pcie_cable_ep_dma_init(EPFunction *f)
{
    f->extents = extents_new(f, 0);
}

PCIeCableDMA *pcie_cable_dma_new(PCIeCableEP *cable)
{
    PCIeCableDMA *dma = g_new0(PCIeCableDMA, 1);

    dma->cable = cable;
    QLIST_INSERT_HEAD(&cable->dma_users, dma, next);
    return dma;
}

/* Users; their threads */

static const EPExtents *enter(PCIeCableDMA *dma, EPFunction *f)
{
    qatomic_set(&dma->inside, dma->inside + 1);
    /* Pairs with the barrier in publish(). */
    smp_mb();
    return qatomic_load_acquire(&f->extents);
}

static void leave(PCIeCableDMA *dma)
{
    qatomic_store_release(&dma->inside, dma->inside + 1);
    /* Pairs with the reset of dma_left in wait_outside(). */
    smp_mb();
    if (qatomic_read(&dma->cable->dma_waits)) {
        qemu_event_set(&dma->cable->dma_left);
    }
}

static EPFunction *dma_function(PCIeCableDMA *dma, unsigned fn)
{
    assert(fn < dma->cable->num_functions);
    return &dma->cable->functions[fn];
}

static PCIeCableDMAError check_gate(EPFunction *f, const EPExtents *t,
                                    uint64_t addr)
{
    if (t->gate == PCIE_CABLE_DMA_NOT_MASTER) {
        pcie_cable_ep_report_bme(f, addr);
    }
    return t->gate;
}

/* How much one request may carry to or from @addr */
static uint64_t request_size(PCIeCableEP *cable, const EPExtents *t,
                             unsigned next, uint64_t addr, uint64_t len)
{
    len = MIN(len, MIN(cable->peer.max_data_xfer_size,
                       PCIE_CABLE_DMA_MAX_REQUEST));
    if (next < t->count) {
        len = MIN(len, t->extent[next].addr - addr);
    }
    return len;
}

/* What a completion with errno @error tells */
static PCIeCableDMAError completion(unsigned fn, bool write, uint64_t addr,
                                    int error)
{
    if (error) {
        trace_pcie_cable_ep_dma_error(fn, write, addr, error);
    }
    switch (error) {
    case 0:
        return PCIE_CABLE_DMA_OK;
    case ETIMEDOUT:
        return PCIE_CABLE_DMA_TIMEOUT;
    case ECONNRESET:
        return PCIE_CABLE_DMA_LINK_DOWN;
    case EFAULT:
    case EINVAL:
    case ENODEV:
    case ENOENT:
    case ENXIO:
        return PCIE_CABLE_DMA_UNSUPPORTED;
    default:
        return PCIE_CABLE_DMA_ABORT;
    }
}

/* Requests are about to follow: how does the host want them? */
static PCIeCableDMAError learn_layout(PCIeCableDMA *dma, unsigned fn,
                                      uint64_t addr, bool write)
{
    PCIeCableEP *cable = dma->cable;
    PCIeCableConn *conn;
    EPDmaLayout layout;
    int error;

    if (qatomic_read(&cable->dma_layout) != EP_DMA_UNKNOWN) {
        return PCIE_CABLE_DMA_OK;
    }
    conn = pcie_cable_ep_get_conn(cable);
    if (!conn) {
        return PCIE_CABLE_DMA_LINK_DOWN;
    }
    error = pcie_cable_ep_request_layout(cable, conn, fn, addr,
                                         cable->timeout_ms, &layout);
    pcie_cable_conn_unref(conn);
    return completion(fn, write, addr, -error);
}

PCIeCableDMAError pcie_cable_dma_begin(PCIeCableDMA *dma, unsigned fn,
                                       uint64_t addr, bool write,
                                       uint64_t *len, void **host)
{
    EPFunction *f = dma_function(dma, fn);
    const EPExtents *t = enter(dma, f);
    PCIeCableDMAError error = check_gate(f, t, addr);
    unsigned i;

    *host = NULL;
    if (!error) {
        const EPExtent *e;

        i = find_extent(t, addr);
        e = &t->extent[i];
        if (i == t->count || e->addr > addr) {
            *len = request_size(dma->cable, t, i, addr, *len);
        } else if (write && e->readonly) {
            error = PCIE_CABLE_DMA_UNSUPPORTED;
        } else {
            *host = e->host + (addr - e->addr);
            *len = MIN(*len, e->size - (addr - e->addr));
        }
    }
    if (error) {
        trace_pcie_cable_ep_dma_error(fn, write, addr, error);
    }
    if (*host) {
        return PCIE_CABLE_DMA_OK;
    }
    leave(dma);
    return error ?: learn_layout(dma, fn, addr, write);
}

void pcie_cable_dma_end(PCIeCableDMA *dma)
{
    leave(dma);
}

PCIeCableDMAError pcie_cable_dma_read(PCIeCableDMA *dma, unsigned fn,
                                      uint64_t addr, void *buf, uint32_t len)
{
    PCIeCableEP *cable = dma->cable;
    EPFunction *f = dma_function(dma, fn);
    PCIeCableDMAError error = check_gate(f, enter(dma, f), addr);
    const uint8_t *data;
    PCIeCableConn *conn;
    int r;

    leave(dma);
    if (error) {
        return error;
    }
    conn = pcie_cable_ep_get_conn(cable);
    if (!conn) {
        return PCIE_CABLE_DMA_LINK_DOWN;
    }
    if (!dma->reply) {
        dma->reply = g_malloc(EP_REPLY_SIZE(PCIE_CABLE_DMA_MAX_REQUEST));
    }
    r = pcie_cable_ep_request_read(cable, conn, fn, addr, dma->reply, len,
                                   &data);
    pcie_cable_conn_unref(conn);
    if (!r) {
        memcpy(buf, data, len);
    }
    return completion(fn, false, addr, -r);
}

static void write_unref(DMAWrite *w)
{
    if (qatomic_fetch_dec(&w->refcount) == 1) {
        qemu_sem_destroy(&w->answered);
        g_free(w);
    }
}

static void write_answered(void *opaque, int error)
{
    DMAWrite *w = opaque;

    w->error = error;
    qemu_sem_post(&w->answered);
    write_unref(w);
}

PCIeCableDMAError pcie_cable_dma_write(PCIeCableDMA *dma, unsigned fn,
                                       uint64_t addr, const void *buf,
                                       uint32_t len)
{
    PCIeCableEP *cable = dma->cable;
    EPFunction *f = dma_function(dma, fn);
    EPDmaLayout layout = qatomic_read(&cable->dma_layout);
    PCIeCableConn *conn = pcie_cable_ep_get_conn(cable);
    PCIeCableDMAError error;

    if (!conn) {
        return PCIE_CABLE_DMA_LINK_DOWN;
    }
    if (layout == EP_DMA_UNKNOWN) {
        /* Another host than pcie_cable_dma_begin() asked */
        pcie_cable_conn_unref(conn);
        return PCIE_CABLE_DMA_LINK_DOWN;
    }
    /*
     * Inside, so that the request is on the wire before the answer to what
     * forbids it.
     */
    error = check_gate(f, enter(dma, f), addr);
    if (!error) {
        assert(!dma->write);
        dma->write = g_new0(DMAWrite, 1);
        dma->write->refcount = 2;
        qemu_sem_init(&dma->write->answered, 0);
        pcie_cable_ep_request_write(conn, layout, fn, addr, buf, len,
                                    write_answered, dma->write);
    }
    leave(dma);
    pcie_cable_conn_unref(conn);
    return error;
}

PCIeCableDMAError pcie_cable_dma_flush(PCIeCableDMA *dma)
{
    PCIeCableEP *cable = dma->cable;
    uint32_t timeout_ms = MIN(cable->timeout_ms, INT_MAX);
    DMAWrite *w = dma->write;
    int error = 0;

    if (!w) {
        return PCIE_CABLE_DMA_OK;
    }
    if (!timeout_ms) {
        qemu_sem_wait(&w->answered);
    } else if (qemu_sem_timedwait(&w->answered, timeout_ms) < 0) {
        error = ETIMEDOUT;
        stat64_add(&cable->stats.timeouts, 1);
    }
    if (!error) {
        error = w->error;
    }
    dma->write = NULL;
    write_unref(w);
    return completion(0, true, 0, error);
}

static void post_message(EPFunction *f, uint64_t addr, uint32_t data)
{
    PCIeCableConn *conn = pcie_cable_ep_get_conn(f->cable);

    if (conn) {
        /* Before the BQL is taken, with which this thread may not wait */
        pcie_cable_ep_host_push(f, conn, addr);
        pcie_cable_conn_unref(conn);
    }
    BQL_LOCK_GUARD();
    pcie_cable_ep_host_post(f, addr, data, sizeof(data));
}

PCIeCableDMAError pcie_cable_dma_post(PCIeCableDMA *dma, unsigned fn,
                                      uint64_t addr, uint32_t data)
{
    EPFunction *f = dma_function(dma, fn);
    uint64_t len = sizeof(data);
    PCIeCableDMAError error;
    void *host;

    error = pcie_cable_dma_begin(dma, fn, addr, true, &len, &host);
    if (host) {
        if (len == sizeof(data)) {
            stl_le_p(host, data);
        } else {
            error = PCIE_CABLE_DMA_UNSUPPORTED;
        }
        pcie_cable_dma_end(dma);
    } else if (!error) {
        post_message(f, addr, data);
    }
    return error;
}
