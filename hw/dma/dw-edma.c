/*
 * DesignWare eDMA: channels, their threads and what happens to them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A channel's thread works on a copy of the context and writes it back under
 * the lock after each step, unless the channel has got a new generation.
 * Whoever wants a channel to stop sets its attention flag, under the BQL;
 * the thread sees the flag before the next chunk.  Who must know that nothing
 * is being copied any more (reset, pause) then takes the busy lock once.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/lockable.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "hw/ntb/qemu-compat.h"
#include "system/runstate.h"
#include "dw-edma-internal.h"
#include "trace.h"

/*
 * A list that moves nothing (a link element that points at itself) may go on
 * for ever, but not as fast as it can: rest after so many steps.
 */
#define IDLE_STEPS 64
#define IDLE_REST_MS 1

bool dw_edma_first_error(DWEDMA *dma, DWEDMAGuestError err)
{
    uint32_t bit = 1u << err;

    return !(qatomic_fetch_or(&dma->errors_seen, bit) & bit);
}

static const DWEDMAMapOps *map_ops(DWEDMAMap map)
{
    switch (map) {
    case DW_EDMA_MAP_LEGACY:
        return &dw_edma_legacy_ops;
    case DW_EDMA_MAP_UNROLL:
        return &dw_edma_unroll_ops;
    case DW_EDMA_MAP_HDMA_COMPAT:
        return &dw_edma_hdma_compat_ops;
    case DW_EDMA_MAP_HDMA_NATIVE:
        return &dw_edma_hdma_native_ops;
    default:
        g_assert_not_reached();
    }
}

uint64_t dw_edma_map_size(const DWEDMAConfig *config)
{
    return map_ops(config->map)->size;
}

/* Interrupts */

/* Lock held.  True when the owner must be told by deliver_levels(). */
static bool update_levels(DWEDMA *dma)
{
    uint64_t levels[DW_EDMA_NUM_DIRS] = { };

    dma->ops->irq_levels(dma, levels);
    if (!memcmp(levels, dma->levels, sizeof(levels))) {
        return false;
    }
    memcpy(dma->levels, levels, sizeof(levels));
    return true;
}

/*
 * Whoever changes the levels tells the owner what they are by then, so that
 * the last one to tell has the last levels.  BQL held.
 */
static void deliver_levels(DWEDMA *dma)
{
    uint64_t levels[DW_EDMA_NUM_DIRS];

    WITH_QEMU_LOCK_GUARD(&dma->lock) {
        memcpy(levels, dma->levels, sizeof(levels));
    }
    trace_dw_edma_irq(levels[DW_EDMA_WRITE], levels[DW_EDMA_READ]);
    dma->config.ops->irq(dma->config.opaque, levels);
}

void dw_edma_queue_imwr(DWEDMAChannel *ch, uint64_t addr, uint32_t value)
{
    assert(ch->num_messages < DW_EDMA_MAX_MESSAGES);
    ch->messages[ch->num_messages++] = (DWEDMAMessage) {
        .addr = addr,
        .value = value,
    };
}

/* Thread of the channel, no lock held. */
static void post_messages(DWEDMAChannel *ch, const DWEDMAMessage *messages,
                          unsigned n, unsigned fn)
{
    DWEDMA *dma = ch->dma;

    for (unsigned i = 0; i < n; i++) {
        DWEDMAFault fault;

        trace_dw_edma_imwr(ch->dir, ch->index, messages[i].addr,
                           messages[i].value);
        fault = dma->config.ops->pcie_post(dma->config.opaque, ch->user, fn,
                                           messages[i].addr,
                                           messages[i].value);
        if (fault) {
            dw_edma_guest_error(dma, DW_EDMA_ERR_IMWR, "interrupt message to "
                                "0x%" PRIx64 " lost: the host cannot be "
                                "reached there", messages[i].addr);
        }
    }
}

/* What software asks of a channel; lock held */

static void *channel_thread(void *opaque);

/* Make the thread look at the channel. */
static void call_thread(DWEDMAChannel *ch)
{
    qatomic_set(&ch->attention, true);
    qemu_cond_signal(&ch->wake);
}

static void leave_running(DWEDMAChannel *ch, DWEDMAState state)
{
    ch->state = state;
    ch->stop_requested = false;
    ch->doorbell = false;
}

/* The element that was interrupted is the next one to be moved. */
static void go_back(DWEDMAContext *ctx)
{
    if (ctx->loaded && ctx->list) {
        ctx->llp = ctx->element;
        ctx->loaded = false;
    }
}

void dw_edma_start(DWEDMAChannel *ch)
{
    trace_dw_edma_doorbell(ch->dir, ch->index, ch->state, ch->ctx.llp);
    if (ch->state == DW_EDMA_RUNNING) {
        if (!ch->ctx.list) {
            dw_edma_guest_error(ch->dma, DW_EDMA_ERR_BUSY,
                                "doorbell of a channel that is moving its "
                                "block: ignored");
        }
        ch->doorbell = true;
        return;
    }
    ch->generation++;
    ch->state = DW_EDMA_RUNNING;
    ch->doorbell = false;
    ch->stop_requested = false;
    /* Without a list the block is in the registers. */
    ch->ctx.loaded = !ch->ctx.list;
    if (!ch->thread_started) {
        g_autofree char *name = g_strdup_printf("dma-%s%u",
                                                ch->dir == DW_EDMA_WRITE ?
                                                "wr" : "rd", ch->index);
        QemuThread thread;

        ch->bounce = g_malloc(DW_EDMA_REQUEST);
        ch->thread_started = true;
        qemu_thread_create(&thread, name, channel_thread, ch,
                           QEMU_THREAD_DETACHED);
    }
    call_thread(ch);
}

void dw_edma_stop(DWEDMAChannel *ch)
{
    if (ch->state != DW_EDMA_RUNNING) {
        dw_edma_guest_error(ch->dma, DW_EDMA_ERR_NOT_RUNNING,
                            "stop of a channel that does not run: ignored");
        return;
    }
    ch->stop_requested = true;
    call_thread(ch);
}

/* After call_thread(): the chunk on its way is done, no other one begins. */
static void wait_chunk(DWEDMAChannel *ch)
{
    qemu_mutex_lock(&ch->busy);
    qemu_mutex_unlock(&ch->busy);
}

void dw_edma_disable(DWEDMAChannel *ch)
{
    if (ch->state == DW_EDMA_RUNNING) {
        trace_dw_edma_disable(ch->dir, ch->index, ch->ctx.llp);
        ch->generation++;
        go_back(&ch->ctx);
        leave_running(ch, DW_EDMA_STOPPED);
        call_thread(ch);
        wait_chunk(ch);
    }
}

/* Steps of the thread; lock held, the generation is that of the thread */

static void halt(DWEDMAChannel *ch, DWEDMAFault fault)
{
    trace_dw_edma_fault(ch->dir, ch->index, fault, ch->ctx.sar, ch->ctx.dar,
                        ch->ctx.llp);
    leave_running(ch, DW_EDMA_HALTED);
    ch->dma->ops->failed(ch, fault);
}

static void stop(DWEDMAChannel *ch, DWEDMAStop why)
{
    trace_dw_edma_stop(ch->dir, ch->index, why, ch->ctx.llp);
    leave_running(ch, DW_EDMA_STOPPED);
    ch->dma->ops->stopped(ch, why);
}

static void take_next(DWEDMAChannel *ch, const DWEDMANext *next)
{
    DWEDMAContext *ctx = &ch->ctx;

    ctx->llp = next->llp;
    ctx->ccs = next->ccs;
    switch (next->kind) {
    case DW_EDMA_NEXT_DATA:
        ctx->control = next->control & DW_EDMA_LL_CONTROL_MASK;
        ctx->size = next->size;
        ctx->sar = next->sar;
        ctx->dar = next->dar;
        ctx->element = next->element;
        ctx->loaded = true;
        if (!ctx->size) {
            dw_edma_guest_error(ch->dma, DW_EDMA_ERR_ZERO_SIZE,
                                "list element at 0x%" PRIx64 " with transfer "
                                "size 0 moves nothing", next->element);
        }
        break;
    case DW_EDMA_NEXT_END:
        /* A doorbell since the look at the list: it may have grown. */
        if (!ch->doorbell) {
            stop(ch, DW_EDMA_STOP_LIST_END);
        }
        break;
    case DW_EDMA_NEXT_LINKS:
        break;
    case DW_EDMA_NEXT_FAULT:
        halt(ch, DW_EDMA_FAULT_LL_FETCH);
        break;
    }
}

/*
 * @moved bytes are done, or @fault is why none are.  @next: what follows in
 * the list, if that is known.
 */
static void account(DWEDMAChannel *ch, uint32_t moved, DWEDMAFault fault,
                    const DWEDMANext *next)
{
    DWEDMAContext *ctx = &ch->ctx;

    ctx->sar += moved;
    ctx->dar += moved;
    ctx->size -= moved;
    if (fault) {
        go_back(ctx);
        halt(ch, fault);
        return;
    }
    if (ctx->loaded && !ctx->size) {
        ctx->loaded = false;
        if (!ctx->list) {
            stop(ch, DW_EDMA_STOP_BLOCK_DONE);
            return;
        }
        ch->dma->ops->element_done(ch);
    }
    if (next) {
        take_next(ch, next);
    }
    if (ch->state == DW_EDMA_RUNNING && ch->stop_requested) {
        go_back(ctx);
        stop(ch, DW_EDMA_STOP_REQUEST);
    }
}

/* The thread */

/* May the thread, which started with @generation, go on?  Lock held. */
static bool may_run(DWEDMAChannel *ch, unsigned generation)
{
    return ch->generation == generation && ch->state == DW_EDMA_RUNNING &&
           !ch->dma->paused;
}

/* Account for a step and tell the outside of it.  True: go on. */
static bool end_step(DWEDMAChannel *ch, unsigned generation, uint32_t moved,
                     DWEDMAFault fault, const DWEDMANext *next,
                     DWEDMAContext *ctx)
{
    DWEDMA *dma = ch->dma;
    DWEDMAMessage messages[DW_EDMA_MAX_MESSAGES];
    unsigned num_messages;
    bool run, irq;

    WITH_QEMU_LOCK_GUARD(&dma->lock) {
        if (ch->generation != generation) {
            return false;
        }
        account(ch, moved, fault, next);
        irq = update_levels(dma);
        num_messages = ch->num_messages;
        memcpy(messages, ch->messages, sizeof(messages));
        ch->num_messages = 0;
        *ctx = ch->ctx;
        ch->doorbell = false;
        run = may_run(ch, generation);
        if (run) {
            /* What it was set for has been seen. */
            qatomic_set(&ch->attention, false);
        }
    }
    post_messages(ch, messages, num_messages, ctx->fn);
    if (irq) {
        BQL_LOCK_GUARD();
        deliver_levels(dma);
    }
    return run;
}

/* Let a channel that moves nothing rest, until somebody wants something. */
static void rest(DWEDMAChannel *ch)
{
    QEMU_LOCK_GUARD(&ch->dma->lock);
    if (!qatomic_read(&ch->attention)) {
        qemu_cond_timedwait(&ch->wake, &ch->dma->lock, IDLE_REST_MS);
    }
}

/* Run from @ctx on until the channel stops or the thread has to wait. */
static void run_channel(DWEDMAChannel *ch, unsigned generation,
                        DWEDMAContext *ctx)
{
    unsigned idle = 0;
    bool more;

    do {
        DWEDMAFault fault = DW_EDMA_FAULT_NONE;
        DWEDMANext next;
        uint32_t moved = 0;
        bool looked = false;

        if (ctx->loaded && ctx->size) {
            moved = dw_edma_move(ch, ctx, &fault);
        }
        /*
         * Look at what follows before software hears that the element is
         * done: it may then write the next list over this one.
         */
        if (ctx->list && !fault && (!ctx->loaded || ctx->size == moved)) {
            dw_edma_next(ch, ctx, &next);
            looked = true;
        }
        idle = moved ? 0 : idle + 1;
        if (idle > IDLE_STEPS) {
            idle = 0;
            rest(ch);
        }
        more = end_step(ch, generation, moved, fault, looked ? &next : NULL,
                        ctx);
    } while (more);
}

static void *channel_thread(void *opaque)
{
    DWEDMAChannel *ch = opaque;
    DWEDMA *dma = ch->dma;

    rcu_register_thread();
    qemu_mutex_lock(&dma->lock);
    while (true) {
        unsigned generation = ch->generation;
        DWEDMAContext ctx;

        if (!may_run(ch, generation)) {
            qemu_cond_wait(&ch->wake, &dma->lock);
            continue;
        }
        /* A stop that came in between still has to be seen. */
        qatomic_set(&ch->attention, ch->stop_requested);
        ctx = ch->ctx;
        qemu_mutex_unlock(&dma->lock);
        run_channel(ch, generation, &ctx);
        qemu_mutex_lock(&dma->lock);
    }
    return NULL;
}

bool dw_edma_chunk_begin(DWEDMAChannel *ch)
{
    if (qatomic_read(&ch->attention)) {
        return false;
    }
    qemu_mutex_lock(&ch->busy);
    if (qatomic_read(&ch->attention)) {
        qemu_mutex_unlock(&ch->busy);
        return false;
    }
    return true;
}

void dw_edma_chunk_end(DWEDMAChannel *ch)
{
    qemu_mutex_unlock(&ch->busy);
}

/* What the outside asks of all channels; BQL held */

static void for_each_channel(DWEDMA *dma, void (*f)(DWEDMAChannel *ch))
{
    for (unsigned dir = 0; dir < DW_EDMA_NUM_DIRS; dir++) {
        for (unsigned i = 0; i < dma->config.channels[dir]; i++) {
            f(&dma->channels[dir][i]);
        }
    }
}

static void reset_channel(DWEDMAChannel *ch)
{
    ch->generation++;
    ch->ctx = (DWEDMAContext) { };
    ch->num_messages = 0;
    leave_running(ch, DW_EDMA_IDLE);
    call_thread(ch);
}

void dw_edma_reset(DWEDMA *dma)
{
    bool irq;

    WITH_QEMU_LOCK_GUARD(&dma->lock) {
        for_each_channel(dma, reset_channel);
        dma->ops->reset(dma);
        irq = update_levels(dma);
        qatomic_set(&dma->errors_seen, 0);
    }
    for_each_channel(dma, wait_chunk);
    if (irq) {
        deliver_levels(dma);
    }
}

static void vm_state_change(void *opaque, bool running, RunState state)
{
    DWEDMA *dma = opaque;

    WITH_QEMU_LOCK_GUARD(&dma->lock) {
        dma->paused = !running;
        for_each_channel(dma, call_thread);
    }
    if (!running) {
        for_each_channel(dma, wait_chunk);
    }
}

uint32_t dw_edma_read(DWEDMA *dma, hwaddr offset)
{
    uint32_t val;

    WITH_QEMU_LOCK_GUARD(&dma->lock) {
        val = dma->ops->read(dma, offset);
    }
    trace_dw_edma_read(offset, val);
    return val;
}

void dw_edma_write(DWEDMA *dma, hwaddr offset, uint32_t val)
{
    bool irq;

    trace_dw_edma_write(offset, val);
    WITH_QEMU_LOCK_GUARD(&dma->lock) {
        dma->ops->write(dma, offset, val);
        irq = update_levels(dma);
    }
    if (irq) {
        deliver_levels(dma);
    }
}

static void init_channels(DWEDMA *dma, DWEDMADir dir)
{
    unsigned n = dma->config.channels[dir];

    dma->channels[dir] = g_new0(DWEDMAChannel, n);
    for (unsigned i = 0; i < n; i++) {
        DWEDMAChannel *ch = &dma->channels[dir][i];

        ch->dma = dma;
        ch->dir = dir;
        ch->index = i;
        ch->user = i + (dir == DW_EDMA_READ ?
                        dma->config.channels[DW_EDMA_WRITE] : 0);
        qemu_cond_init(&ch->wake);
        qemu_mutex_init(&ch->busy);
    }
}

bool dw_edma_check(const DWEDMAConfig *config, Error **errp)
{
    const DWEDMAMapOps *ops = map_ops(config->map);

    for (unsigned dir = 0; dir < DW_EDMA_NUM_DIRS; dir++) {
        unsigned n = config->channels[dir];

        if (n < 1 || n > ops->max_channels) {
            error_setg(errp, "%u DMA %s channels: this register map has 1 to "
                       "%u", n, dir == DW_EDMA_WRITE ? "write" : "read",
                       ops->max_channels);
            return false;
        }
    }
    return true;
}

DWEDMA *dw_edma_new(const DWEDMAConfig *config)
{
    const DWEDMAMapOps *ops = map_ops(config->map);
    DWEDMA *dma = g_new0(DWEDMA, 1);

    dma->config = *config;
    dma->ops = ops;
    dma->paused = !runstate_is_running();
    qemu_mutex_init(&dma->lock);
    init_channels(dma, DW_EDMA_WRITE);
    init_channels(dma, DW_EDMA_READ);
    ops->init(dma);
    ops->reset(dma);
    qemu_add_vm_change_state_handler(vm_state_change, dma);
    return dma;
}
