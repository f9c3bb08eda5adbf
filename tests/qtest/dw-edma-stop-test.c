/*
 * QTest of the DesignWare eDMA: what takes a transfer's ground away
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Channels of both directions run rings that never end.  Then the host or the
 * SoC's software ends it: bus mastering off, memory unmapped, link down,
 * resets, stop, disable, a paused machine.  From the moment that this is
 * acknowledged no byte may move: the test fills the destinations with canaries
 * and they must stay.
 */
#include "qemu/osdep.h"
#include <sys/mman.h>
#include "hw/dma/dw-edma-regs.h"
#include "libqos/dw-edma-lab.h"
#include "libqos/pcie-cable-peer.h"
#include "libqos/shared-ram.h"

/* Two rings a direction */
#define NUM_RINGS 4
#define RING_ELEMENTS 2
#define ELEMENT (96 * KiB + 40)
/* What a ring fills, and where it comes from on the other side */
#define RING_SIZE (RING_ELEMENTS * ELEMENT)
#define RING_OFFSET(i) ((i) * 256 * KiB)
/* Each thing is done so often. */
#define ROUNDS 8

#define CANARY 0xca

/*
 * Memory of the host that the endpoint cannot map: an ordinary file behind
 * the BAR of an ivshmem device.
 */
#define SHM_DEVFN (2 << 3)
#define SHM_ADDR (CABLE_MMIO64 + 128 * MiB)
#define SHM_SIZE (NUM_RINGS * 256 * KiB)

typedef struct Rings {
    EdmaLab *l;
    bool mapped;                /* the host's memory, or reached by messages */
    uint64_t host;              /* its address */
    uint8_t *memory[EDMA_NUM_SIDES];
    QEdmaChan ch[NUM_RINGS];
} Rings;

static void map_shm(Rings *r, const char *path)
{
    QTestState *rc = r->l->c->rc;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *memory;

    g_assert_cmpint(fd, >=, 0);
    memory = mmap(NULL, SHM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    g_assert_true(memory != MAP_FAILED);
    close(fd);
    unlink(path);
    memcpy(memory, r->l->model[EDMA_HOST], SHM_SIZE);
    r->memory[EDMA_HOST] = memory;
    r->host = SHM_ADDR;
    qtest_writel(rc, cable_ecam(0, SHM_DEVFN, PCI_BASE_ADDRESS_2),
                 (uint32_t)SHM_ADDR);
    qtest_writel(rc, cable_ecam(0, SHM_DEVFN, PCI_BASE_ADDRESS_3),
                 SHM_ADDR >> 32);
    qtest_writew(rc, cable_ecam(0, SHM_DEVFN, PCI_COMMAND),
                 PCI_COMMAND_MEMORY);
}

/* @mapped points at a bool. */
static Rings *start(const void *mapped)
{
    Rings *r = g_new0(Rings, 1);
    PCIeCable *c = cable_new();
    g_autofree char *path = g_build_filename(c->dir, "shm", NULL);
    g_autofree char *args =
        g_strdup_printf("-object memory-backend-file,id=shm,size=%u,share=on,"
                        "mem-path=%s -device ivshmem-plain,memdev=shm,"
                        "bus=pcie.0,addr=%u", (unsigned)SHM_SIZE, path,
                        SHM_DEVFN >> 3);

    cable_start_ep(c, "", "");
    cable_soc_setup(c, 0);
    dw_ep_start_link(c->ep);
    cable_start_rc(c, "", args);
    cable_wait_link(c, true);
    cable_port_setup(c);
    cable_host_setup(c, 0);

    r->l = edma_lab_new(c);
    r->mapped = *(const bool *)mapped;
    r->host = EDMA_ARENA;
    for (unsigned side = 0; side < EDMA_NUM_SIDES; side++) {
        r->memory[side] = edma_lab_ram(r->l, side, EDMA_ARENA);
    }
    if (r->mapped) {
        unlink(path);
    } else {
        map_shm(r, path);
    }
    return r;
}

static void stop(Rings *r)
{
    if (!r->mapped) {
        munmap(r->memory[EDMA_HOST], SHM_SIZE);
    }
    edma_lab_free(r->l);
    g_free(r);
}

static EdmaSide destination(QEdmaChan *ch)
{
    return ch->dir == QEDMA_WRITE ? EDMA_HOST : EDMA_SOC;
}

static void start_ring(Rings *r, unsigned i)
{
    QEdmaChan *ch = &r->ch[i];
    QEdmaList list;

    *ch = edma_lab_chan(r->l, i % QEDMA_NUM_DIRS, i / QEDMA_NUM_DIRS);
    edma_lab_list(r->l, ch, &list);
    for (unsigned n = 0; n < RING_ELEMENTS; n++) {
        uint64_t at = RING_OFFSET(i) + n * ELEMENT;

        edma_lab_element(&list, ch->dir, EDMA_ARENA + at, r->host + at,
                         ELEMENT, n == 0 ? QEDMA_LOCAL_INT : 0);
    }
    qedma_list_jump(&list, list.addr);
    qedma_start_list(ch, list.addr);
}

/* All rings run and have been round. */
static void start_rings(Rings *r)
{
    for (unsigned i = 0; i < NUM_RINGS; i++) {
        start_ring(r, i);
    }
    for (unsigned i = 0; i < NUM_RINGS; i++) {
        for (unsigned rounds = 0; rounds < 2; rounds++) {
            qedma_wait_done(&r->ch[i]);
            qedma_clear_done(&r->ch[i]);
        }
        g_assert_cmpint(qedma_status(&r->ch[i]), ==, QEDMA_RUNNING);
    }
}

/* Both sides are meant, or only the memory of the host. */
static bool concerns(QEdmaChan *ch, bool host_only)
{
    return !host_only || destination(ch) == EDMA_HOST;
}

static void put_canaries(Rings *r, bool host_only)
{
    for (unsigned i = 0; i < NUM_RINGS; i++) {
        if (concerns(&r->ch[i], host_only)) {
            memset(r->memory[destination(&r->ch[i])] + RING_OFFSET(i), CANARY,
                   RING_SIZE);
        }
    }
}

/* The first byte that is no canary, or the size */
static size_t canaries(const uint8_t *p)
{
    size_t n = 0;

    while (n < RING_SIZE && p[n] == CANARY) {
        n++;
    }
    return n;
}

static void check_canaries(Rings *r, bool host_only)
{
    for (unsigned i = 0; i < NUM_RINGS; i++) {
        if (concerns(&r->ch[i], host_only)) {
            g_assert_cmpuint(canaries(r->memory[destination(&r->ch[i])] +
                                      RING_OFFSET(i)), ==, RING_SIZE);
        }
    }
}

/* Give whoever would still move something the occasion. */
static void look_around(Rings *r)
{
    for (unsigned i = 0; i < 200; i++) {
        qedma_readl(&r->l->soc, DW_EDMA_CTRL);
    }
}

/* @status is what becomes of the channels, with @aborted their interrupt. */
static void check_status(Rings *r, QEdmaStatus status, bool aborted)
{
    for (unsigned i = 0; i < NUM_RINGS; i++) {
        qedma_wait_status(&r->ch[i], status);
        g_assert_true(qedma_aborted(&r->ch[i]) == aborted);
    }
}

/* Ready for the next round */
static void clear(Rings *r)
{
    for (unsigned i = 0; i < NUM_RINGS; i++) {
        qedma_clear_abort(&r->ch[i]);
        qedma_clear_done(&r->ch[i]);
    }
    edma_lab_refill(r->l, 1);
    if (!r->mapped) {
        memcpy(r->memory[EDMA_HOST], r->l->model[EDMA_HOST], SHM_SIZE);
    }
}

/*
 * The host has taken its memory away and knows it.  Completions of reads by
 * message may be on their way to the SoC's memory; the host's is at peace.
 */
static void check_taken(Rings *r)
{
    put_canaries(r, !r->mapped);
    check_status(r, QEDMA_HALTED, true);
    look_around(r);
    check_canaries(r, !r->mapped);
    check_status(r, QEDMA_HALTED, true);
    clear(r);
}

/*
 * The SoC has stopped the engine.  What was posted by message is through when
 * a read of the host, which it may not pass, has completed; what a read by
 * message brought may be stored until the channel says that it has stopped.
 */
static void check_stopped(Rings *r, QEdmaStatus status, bool aborted)
{
    if (!r->mapped && dw_ep_link_up(r->l->c->ep)) {
        cable_cfg_readw(r->l->c, 0, PCI_VENDOR_ID);
    }
    put_canaries(r, !r->mapped);
    check_status(r, status, aborted);
    check_canaries(r, !r->mapped);
    put_canaries(r, false);
    look_around(r);
    check_canaries(r, false);
    check_status(r, status, aborted);
    clear(r);
}

static void host_returns(Rings *r)
{
    cable_wait_link(r->l->c, true);
    cable_port_setup(r->l->c);
    cable_host_setup(r->l->c, 0);
}

/* The host's deeds */

static void test_bus_master(const void *mapped)
{
    Rings *r = start(mapped);

    for (unsigned round = 0; round < ROUNDS; round++) {
        start_rings(r);
        cable_cfg_writew(r->l->c, 0, PCI_COMMAND, PCI_COMMAND_MEMORY);
        check_taken(r);
        cable_cfg_writew(r->l->c, 0, PCI_COMMAND,
                         PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    }
    stop(r);
}

static void test_flr(const void *mapped)
{
    Rings *r = start(mapped);

    for (unsigned round = 0; round < ROUNDS; round++) {
        start_rings(r);
        cable_cfg_writew(r->l->c, 0, DW_PCIE_CAP_EXP + PCI_EXP_DEVCTL,
                         PCI_EXP_DEVCTL_BCR_FLR);
        check_taken(r);
        cable_host_setup(r->l->c, 0);
    }
    stop(r);
}

static void test_hot_reset(const void *mapped)
{
    Rings *r = start(mapped);

    for (unsigned round = 0; round < ROUNDS; round++) {
        start_rings(r);
        cable_hot_reset(r->l->c);
        /* The reset is through when config space answers behind it. */
        g_assert_cmphex(cable_cfg_readw(r->l->c, 0, PCI_COMMAND), ==, 0);
        check_taken(r);
        cable_host_setup(r->l->c, 0);
    }
    stop(r);
}

/* The host's machine is reset, as by a reboot. */
static void test_host_reset(const void *mapped)
{
    Rings *r = start(mapped);

    start_rings(r);
    /* Nothing more may come when the machine is about to start again. */
    qtest_system_reset(r->l->c->rc);
    check_taken(r);
    stop(r);
}

/* SIGKILL; the mappings of its RAM that the test has outlive it. */
static void test_host_dies(const void *mapped)
{
    Rings *r = start(mapped);

    start_rings(r);
    cable_kill_rc(r->l->c);
    cable_wait(!dw_ep_link_up(r->l->c->ep));
    check_taken(r);
    stop(r);
}

/* Either machine quits while all channels run. */
static void test_quit(const void *mapped)
{
    Rings *r = start(mapped);

    start_rings(r);
    cable_quit_ep(r->l->c);
    stop(r);

    r = start(mapped);
    start_rings(r);
    cable_quit_rc(r->l->c);
    check_status(r, QEDMA_HALTED, true);
    stop(r);
}

/*
 * A host that is a raw socket: its answer to DMA_UNMAP is the moment.
 */

#define PEER_ADDR 0x80000000ULL
#define PEER_SIZE (1 * MiB)
/* Where the read ring's data goes, in the SoC's RAM */
#define PEER_READ_TO (EDMA_ARENA - CABLE_RAM_BASE + RING_OFFSET(QEDMA_READ))

typedef struct Peer {
    PCIeCable *c;
    CablePeer *p;
    int fd;
    uint8_t *memory;
    uint8_t *soc_ram;
    QEdma edma;
    QEdmaChan ch[QEDMA_NUM_DIRS];
} Peer;

/* Send a request and wait for its reply; the engine's requests get none. */
static void peer_call(Peer *f, uint16_t command, const void *fixed,
                      size_t fixed_len, int fd)
{
    uint16_t id = cable_peer_request(f->p, command, 0, fixed, fixed_len, NULL,
                                     0, &fd, fd >= 0 ? 1 : 0);

    do {
        g_assert_true(cable_peer_receive(f->p));
    } while ((f->p->msg.hdr.flags & VFU_F_TYPE) != VFU_F_REPLY);
    g_assert_cmpuint(f->p->msg.hdr.id, ==, id);
    g_assert_false(f->p->msg.hdr.flags & VFU_F_ERROR);
}

static void peer_map(Peer *f)
{
    VfuDmaMap map = {
        .argsz = sizeof(map), .flags = VFU_DMA_MAP_READ | VFU_DMA_MAP_WRITE,
        .address = PEER_ADDR, .size = PEER_SIZE,
    };

    peer_call(f, VFU_DMA_MAP, &map, sizeof(map), f->fd);
}

static void peer_unmap(Peer *f)
{
    VfuDmaUnmap unmap = {
        .argsz = sizeof(unmap), .address = PEER_ADDR, .size = PEER_SIZE,
    };

    peer_call(f, VFU_DMA_UNMAP, &unmap, sizeof(unmap), -1);
}

static Peer *peer_start(void)
{
    Peer *f = g_new0(Peer, 1);

    f->c = cable_new();
    cable_start_ep(f->c, ",completion-timeout=50", "");
    cable_soc_setup(f->c, 0);
    dw_ep_start_link(f->c->ep);
    f->p = cable_peer_connect(f->c->socket);
    g_assert_cmpint(cable_peer_version(f->p, 0, CABLE_CAPS_ALL), ==, 0);
    g_assert_cmpint(cable_peer_region_write(f->p, VFU_REGION_CONFIG,
                                            PCI_COMMAND, 2,
                                            PCI_COMMAND_MEMORY |
                                            PCI_COMMAND_MASTER), ==, 0);
    f->fd = cable_memfd(PEER_SIZE, true);
    f->memory = mmap(NULL, PEER_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
                     f->fd, 0);
    g_assert_true(f->memory != MAP_FAILED);
    f->soc_ram = shared_ram_map(f->c->soc, CABLE_RAM_SIZE);
    f->edma = (QEdma) {
        .qts = f->c->soc, .regs = f->c->ep->dma, .map = QEDMA_MAP_UNROLL,
    };
    return f;
}

static void peer_free(Peer *f)
{
    cable_peer_close(f->p);
    cable_free(f->c);
    munmap(f->memory, PEER_SIZE);
    shared_ram_unmap(f->soc_ram, CABLE_RAM_SIZE);
    close(f->fd);
    g_free(f);
}

/* A ring a direction: write to the first half, read from the second */
static void peer_start_ring(Peer *f, QEdmaDir dir)
{
    uint64_t lists = EDMA_LISTS + dir * EDMA_LIST_SIZE;
    uint64_t host = PEER_ADDR + dir * PEER_SIZE / 2;
    QEdmaChan *ch = &f->ch[dir];
    QEdmaList list;

    *ch = (QEdmaChan) { .edma = &f->edma, .dir = dir };
    qedma_enable(ch, QEDMA_IRQ_LOCAL);
    qedma_list_init(&list, QEDMA_MAP_UNROLL,
                    f->soc_ram + (lists - CABLE_RAM_BASE), lists);
    for (unsigned n = 0; n < RING_ELEMENTS; n++) {
        edma_lab_element(&list, dir, EDMA_ARENA + RING_OFFSET(dir) +
                         n * ELEMENT, host + n * ELEMENT, ELEMENT,
                         QEDMA_LOCAL_INT);
    }
    qedma_list_jump(&list, lists);
    qedma_start_list(ch, lists);
}

static void peer_put_canaries(Peer *f)
{
    memset(f->memory, CANARY, PEER_SIZE / 2);
    memset(f->soc_ram + PEER_READ_TO, CANARY, RING_SIZE);
}

static void peer_check_canaries(Peer *f)
{
    const uint8_t *soc = f->soc_ram + PEER_READ_TO;

    for (size_t n = 0; n < RING_SIZE; n++) {
        g_assert_cmphex(f->memory[n], ==, CANARY);
        g_assert_cmphex(soc[n], ==, CANARY);
    }
}

/*
 * After the unmap what the engine sends are requests, which this host leaves
 * unanswered: the read channel's times out, the write channel's as well.
 */
static void test_unmap(void)
{
    Peer *f = peer_start();

    for (unsigned round = 0; round < ROUNDS; round++) {
        peer_map(f);
        for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
            peer_start_ring(f, dir);
            qedma_wait_done(&f->ch[dir]);
            qedma_clear_done(&f->ch[dir]);
            qedma_wait_done(&f->ch[dir]);
        }
        peer_unmap(f);
        peer_put_canaries(f);
        for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
            qedma_wait_status(&f->ch[dir], QEDMA_HALTED);
            g_assert_true(qedma_aborted(&f->ch[dir]));
            qedma_clear_abort(&f->ch[dir]);
            qedma_clear_done(&f->ch[dir]);
        }
        peer_check_canaries(f);
    }
    peer_free(f);
}

/* The SoC's deeds */

static void test_link_down(const void *mapped)
{
    Rings *r = start(mapped);

    for (unsigned round = 0; round < ROUNDS; round++) {
        start_rings(r);
        dw_ep_stop_link(r->l->c->ep);
        if (!r->mapped) {
            /* Messages that were sent before arrive before the news. */
            cable_wait_link(r->l->c, false);
        }
        check_stopped(r, QEDMA_HALTED, true);
        cable_wait_link(r->l->c, false);
        dw_ep_start_link(r->l->c->ep);
        host_returns(r);
    }
    stop(r);
}

static void test_doorbell_stop(const void *mapped)
{
    Rings *r = start(mapped);

    for (unsigned round = 0; round < ROUNDS; round++) {
        start_rings(r);
        for (unsigned i = 0; i < NUM_RINGS; i++) {
            qedma_stop(&r->ch[i]);
        }
        check_status(r, QEDMA_STOPPED, true);
        check_stopped(r, QEDMA_STOPPED, true);
    }
    stop(r);
}

static void test_engine_off(const void *mapped)
{
    Rings *r = start(mapped);

    for (unsigned round = 0; round < ROUNDS; round++) {
        start_rings(r);
        for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
            /* The first two rings are the directions' channel 0. */
            qedma_off(&r->ch[dir]);
        }
        check_stopped(r, QEDMA_STOPPED, false);
    }
    stop(r);
}

/* One direction is switched off, the other goes on. */
static void test_engine_off_one(const void *mapped)
{
    Rings *r = start(mapped);

    for (unsigned off = 0; off < QEDMA_NUM_DIRS; off++) {
        start_rings(r);
        qedma_off(&r->ch[off]);
        for (unsigned i = 0; i < NUM_RINGS; i++) {
            QEdmaChan *ch = &r->ch[i];

            if (ch->dir == off) {
                g_assert_cmpint(qedma_status(ch), ==, QEDMA_STOPPED);
                continue;
            }
            qedma_clear_done(ch);
            qedma_wait_done(ch);
            g_assert_cmpint(qedma_status(ch), ==, QEDMA_RUNNING);
            qedma_stop(ch);
            qedma_wait_status(ch, QEDMA_STOPPED);
        }
        clear(r);
    }
    stop(r);
}

static void test_controller_reset(const void *mapped)
{
    Rings *r = start(mapped);

    for (unsigned round = 0; round < ROUNDS; round++) {
        start_rings(r);
        dw_ep_set_reset(r->l->c->ep, true);
        if (!r->mapped) {
            cable_wait(!cable_rc_link_up(r->l->c));
        }
        put_canaries(r, false);
        dw_ep_set_reset(r->l->c->ep, false);
        check_canaries(r, false);
        check_stopped(r, QEDMA_RESET, false);

        cable_wait_link(r->l->c, false);
        cable_soc_setup(r->l->c, 0);
        dw_ep_start_link(r->l->c->ep);
        host_returns(r);
    }
    stop(r);
}

static void test_system_reset(const void *mapped)
{
    Rings *r = start(mapped);

    start_rings(r);
    qtest_system_reset(r->l->c->soc);
    cable_wait(!cable_rc_link_up(r->l->c));
    check_stopped(r, QEDMA_RESET, false);
    stop(r);
}

/* A paused machine moves nothing, and goes on where it was. */
static void test_vm_stop(const void *mapped)
{
    Rings *r = start(mapped);

    for (unsigned round = 0; round < ROUNDS; round++) {
        start_rings(r);
        qtest_qmp_assert_success(r->l->c->soc, "{ 'execute': 'stop' }");
        if (!r->mapped) {
            cable_cfg_readw(r->l->c, 0, PCI_VENDOR_ID);
        }
        put_canaries(r, false);
        look_around(r);
        check_canaries(r, false);
        check_status(r, QEDMA_RUNNING, false);
        qtest_qmp_assert_success(r->l->c->soc, "{ 'execute': 'cont' }");
        for (unsigned i = 0; i < NUM_RINGS; i++) {
            const uint8_t *soc = r->memory[EDMA_SOC] + RING_OFFSET(i);
            const uint8_t *host = r->memory[EDMA_HOST] + RING_OFFSET(i);

            cable_wait(memcmp(soc, host, RING_SIZE) == 0);
            qedma_stop(&r->ch[i]);
        }
        check_status(r, QEDMA_STOPPED, true);
        check_stopped(r, QEDMA_STOPPED, true);
    }
    stop(r);
}

typedef struct RingTest {
    const char *name;
    void (*run)(const void *mapped);
} RingTest;

static const RingTest ring_tests[] = {
    { "host/bus-master", test_bus_master },
    { "host/flr", test_flr },
    { "host/hot-reset", test_hot_reset },
    { "host/reset", test_host_reset },
    { "host/dies", test_host_dies },
    { "quit", test_quit },
    { "soc/link-down", test_link_down },
    { "soc/doorbell", test_doorbell_stop },
    { "soc/engine-off", test_engine_off },
    { "soc/engine-off-one", test_engine_off_one },
    { "soc/controller-reset", test_controller_reset },
    { "soc/system-reset", test_system_reset },
    { "soc/vm-stop", test_vm_stop },
};

int main(int argc, char **argv)
{
    static const bool kinds[] = { true, false };

    g_test_init(&argc, &argv, NULL);

    for (unsigned k = 0; k < ARRAY_SIZE(kinds); k++) {
        for (unsigned i = 0; i < ARRAY_SIZE(ring_tests); i++) {
            g_autofree char *path =
                g_strdup_printf("/dw-edma-stop/%s/%s",
                                kinds[k] ? "mapped" : "messages",
                                ring_tests[i].name);

            qtest_add_data_func(path, &kinds[k], ring_tests[i].run);
        }
    }
    qtest_add_func("/dw-edma-stop/unmap", test_unmap);

    return g_test_run();
}
