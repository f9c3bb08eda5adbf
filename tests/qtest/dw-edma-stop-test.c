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
/* What a ring fills, in one arena, and where it comes from in the other */
#define RING_SIZE (RING_ELEMENTS * ELEMENT)
#define RING_AT(i) (EDMA_ARENA + (i) * 256 * KiB)
/* Each thing is done so often. */
#define ROUNDS 8

#define CANARY 0xca

static EdmaSide destination(QEdmaChan *ch)
{
    return ch->dir == QEDMA_WRITE ? EDMA_HOST : EDMA_SOC;
}

static void start_ring(EdmaLab *l, QEdmaChan *ch, unsigned i)
{
    QEdmaList list;

    *ch = edma_lab_chan(l, i % QEDMA_NUM_DIRS, i / QEDMA_NUM_DIRS);
    edma_lab_list(l, ch, &list);
    for (unsigned n = 0; n < RING_ELEMENTS; n++) {
        uint64_t at = RING_AT(i) + n * ELEMENT;

        edma_lab_element(&list, ch->dir, at, at, ELEMENT,
                         n == 0 ? QEDMA_LOCAL_INT : 0);
    }
    qedma_list_jump(&list, list.addr);
    qedma_start_list(ch, list.addr);
}

/* All rings run and have been round. */
static void start_rings(EdmaLab *l, QEdmaChan ch[NUM_RINGS])
{
    for (unsigned i = 0; i < NUM_RINGS; i++) {
        start_ring(l, &ch[i], i);
    }
    for (unsigned i = 0; i < NUM_RINGS; i++) {
        for (unsigned rounds = 0; rounds < 2; rounds++) {
            qedma_wait_done(&ch[i]);
            qedma_clear_done(&ch[i]);
        }
        g_assert_cmpint(qedma_status(&ch[i]), ==, QEDMA_RUNNING);
    }
}

static void put_canaries(EdmaLab *l, QEdmaChan ch[NUM_RINGS])
{
    for (unsigned i = 0; i < NUM_RINGS; i++) {
        memset(edma_lab_ram(l, destination(&ch[i]), RING_AT(i)), CANARY,
               RING_SIZE);
    }
}

/* The first byte that is no canary, or the size */
static size_t canaries(EdmaLab *l, EdmaSide side, uint64_t addr)
{
    const uint8_t *p = edma_lab_ram(l, side, addr);
    size_t n = 0;

    while (n < RING_SIZE && p[n] == CANARY) {
        n++;
    }
    return n;
}

static void check_canaries(EdmaLab *l, QEdmaChan ch[NUM_RINGS])
{
    for (unsigned i = 0; i < NUM_RINGS; i++) {
        g_assert_cmpuint(canaries(l, destination(&ch[i]), RING_AT(i)), ==,
                         RING_SIZE);
    }
}

/* Give whoever would still move something the occasion. */
static void look_around(EdmaLab *l)
{
    for (unsigned i = 0; i < 200; i++) {
        qedma_readl(&l->soc, DW_EDMA_CTRL);
    }
}

/* @status is what becomes of the channels, with @aborted their interrupt. */
static void check_stopped(EdmaLab *l, QEdmaChan ch[NUM_RINGS],
                          QEdmaStatus status, bool aborted)
{
    for (unsigned i = 0; i < NUM_RINGS; i++) {
        qedma_wait_status(&ch[i], status);
        g_assert_true(qedma_aborted(&ch[i]) == aborted);
    }
    look_around(l);
    check_canaries(l, ch);
    for (unsigned i = 0; i < NUM_RINGS; i++) {
        g_assert_cmpint(qedma_status(&ch[i]), ==, status);
        qedma_clear_abort(&ch[i]);
        qedma_clear_done(&ch[i]);
    }
    edma_lab_refill(l, 1);
}

static void host_returns(EdmaLab *l)
{
    cable_wait_link(l->c, true);
    cable_port_setup(l->c);
    cable_host_setup(l->c, 0);
}

/* The host's deeds */

static void test_bus_master(void)
{
    EdmaLab *l = edma_lab_start("", "");
    QEdmaChan ch[NUM_RINGS];

    for (unsigned round = 0; round < ROUNDS; round++) {
        start_rings(l, ch);
        cable_cfg_writew(l->c, 0, PCI_COMMAND, PCI_COMMAND_MEMORY);
        put_canaries(l, ch);
        check_stopped(l, ch, QEDMA_HALTED, true);
        cable_cfg_writew(l->c, 0, PCI_COMMAND,
                         PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    }
    edma_lab_free(l);
}

static void test_flr(void)
{
    EdmaLab *l = edma_lab_start("", "");
    QEdmaChan ch[NUM_RINGS];

    for (unsigned round = 0; round < ROUNDS; round++) {
        start_rings(l, ch);
        cable_cfg_writew(l->c, 0, DW_PCIE_CAP_EXP + PCI_EXP_DEVCTL,
                         PCI_EXP_DEVCTL_BCR_FLR);
        put_canaries(l, ch);
        check_stopped(l, ch, QEDMA_HALTED, true);
        cable_host_setup(l->c, 0);
    }
    edma_lab_free(l);
}

static void test_hot_reset(void)
{
    EdmaLab *l = edma_lab_start("", "");
    QEdmaChan ch[NUM_RINGS];

    for (unsigned round = 0; round < ROUNDS; round++) {
        start_rings(l, ch);
        cable_hot_reset(l->c);
        /* The reset is through when config space answers behind it. */
        g_assert_cmphex(cable_cfg_readw(l->c, 0, PCI_COMMAND), ==, 0);
        put_canaries(l, ch);
        check_stopped(l, ch, QEDMA_HALTED, true);
        cable_host_setup(l->c, 0);
    }
    edma_lab_free(l);
}

/* SIGKILL; the mappings of its RAM that the test has outlive it. */
static void test_host_dies(void)
{
    EdmaLab *l = edma_lab_start("", "");
    QEdmaChan ch[NUM_RINGS];

    start_rings(l, ch);
    cable_kill_rc(l->c);
    cable_wait(!dw_ep_link_up(l->c->ep));
    put_canaries(l, ch);
    check_stopped(l, ch, QEDMA_HALTED, true);
    edma_lab_free(l);
}

/*
 * A host that is a raw socket: its answer to DMA_UNMAP is the moment.
 */

#define PEER_ADDR 0x80000000ULL
#define PEER_SIZE (1 * MiB)

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
        edma_lab_element(&list, dir, RING_AT(dir) + n * ELEMENT,
                         host + n * ELEMENT, ELEMENT, QEDMA_LOCAL_INT);
    }
    qedma_list_jump(&list, lists);
    qedma_start_list(ch, lists);
}

static void peer_put_canaries(Peer *f)
{
    memset(f->memory, CANARY, PEER_SIZE / 2);
    memset(f->soc_ram + (RING_AT(QEDMA_READ) - CABLE_RAM_BASE), CANARY,
           RING_SIZE);
}

static void peer_check_canaries(Peer *f)
{
    const uint8_t *soc = f->soc_ram + (RING_AT(QEDMA_READ) - CABLE_RAM_BASE);

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

static void test_link_down(void)
{
    EdmaLab *l = edma_lab_start("", "");
    QEdmaChan ch[NUM_RINGS];

    for (unsigned round = 0; round < ROUNDS; round++) {
        start_rings(l, ch);
        dw_ep_stop_link(l->c->ep);
        put_canaries(l, ch);
        check_stopped(l, ch, QEDMA_HALTED, true);
        cable_wait_link(l->c, false);
        dw_ep_start_link(l->c->ep);
        host_returns(l);
    }
    edma_lab_free(l);
}

static void test_doorbell_stop(void)
{
    EdmaLab *l = edma_lab_start("", "");
    QEdmaChan ch[NUM_RINGS];

    for (unsigned round = 0; round < ROUNDS; round++) {
        start_rings(l, ch);
        for (unsigned i = 0; i < NUM_RINGS; i++) {
            qedma_stop(&ch[i]);
        }
        for (unsigned i = 0; i < NUM_RINGS; i++) {
            qedma_wait_status(&ch[i], QEDMA_STOPPED);
        }
        put_canaries(l, ch);
        check_stopped(l, ch, QEDMA_STOPPED, true);
    }
    edma_lab_free(l);
}

static void test_engine_off(void)
{
    EdmaLab *l = edma_lab_start("", "");
    QEdmaChan ch[NUM_RINGS];

    for (unsigned round = 0; round < ROUNDS; round++) {
        start_rings(l, ch);
        for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
            /* The first two rings are the directions' channel 0. */
            qedma_off(&ch[dir]);
        }
        put_canaries(l, ch);
        check_stopped(l, ch, QEDMA_STOPPED, false);
    }
    edma_lab_free(l);
}

/* One direction is switched off, the other goes on. */
static void test_engine_off_one(void)
{
    EdmaLab *l = edma_lab_start("", "");

    for (unsigned off = 0; off < QEDMA_NUM_DIRS; off++) {
        QEdmaChan ch[NUM_RINGS];

        start_rings(l, ch);
        qedma_off(&ch[off]);
        for (unsigned i = 0; i < NUM_RINGS; i++) {
            QEdmaStatus status = ch[i].dir == off ? QEDMA_STOPPED :
                                 QEDMA_RUNNING;

            g_assert_cmpint(qedma_status(&ch[i]), ==, status);
            if (status == QEDMA_RUNNING) {
                qedma_clear_done(&ch[i]);
                qedma_wait_done(&ch[i]);
                qedma_stop(&ch[i]);
                qedma_wait_status(&ch[i], QEDMA_STOPPED);
                qedma_clear_abort(&ch[i]);
            }
            qedma_clear_done(&ch[i]);
        }
    }
    edma_lab_free(l);
}

static void test_controller_reset(void)
{
    EdmaLab *l = edma_lab_start("", "");
    QEdmaChan ch[NUM_RINGS];

    for (unsigned round = 0; round < ROUNDS; round++) {
        start_rings(l, ch);
        dw_ep_set_reset(l->c->ep, true);
        put_canaries(l, ch);
        dw_ep_set_reset(l->c->ep, false);
        check_stopped(l, ch, QEDMA_RESET, false);

        cable_wait_link(l->c, false);
        cable_soc_setup(l->c, 0);
        dw_ep_start_link(l->c->ep);
        host_returns(l);
    }
    edma_lab_free(l);
}

static void test_system_reset(void)
{
    EdmaLab *l = edma_lab_start("", "");
    QEdmaChan ch[NUM_RINGS];

    start_rings(l, ch);
    qtest_system_reset(l->c->soc);
    put_canaries(l, ch);
    check_stopped(l, ch, QEDMA_RESET, false);
    edma_lab_free(l);
}

/* A paused machine moves nothing, and goes on where it was. */
static void test_vm_stop(void)
{
    EdmaLab *l = edma_lab_start("", "");
    QEdmaChan ch[NUM_RINGS];

    for (unsigned round = 0; round < ROUNDS; round++) {
        start_rings(l, ch);
        qtest_qmp_assert_success(l->c->soc, "{ 'execute': 'stop' }");
        put_canaries(l, ch);
        look_around(l);
        check_canaries(l, ch);
        for (unsigned i = 0; i < NUM_RINGS; i++) {
            g_assert_cmpint(qedma_status(&ch[i]), ==, QEDMA_RUNNING);
        }
        qtest_qmp_assert_success(l->c->soc, "{ 'execute': 'cont' }");
        for (unsigned i = 0; i < NUM_RINGS; i++) {
            EdmaSide side = destination(&ch[i]);

            cable_wait(memcmp(edma_lab_ram(l, side, RING_AT(i)),
                              edma_lab_ram(l, !side, RING_AT(i)),
                              RING_SIZE) == 0);
            qedma_stop(&ch[i]);
            qedma_wait_status(&ch[i], QEDMA_STOPPED);
            qedma_clear_abort(&ch[i]);
            qedma_clear_done(&ch[i]);
        }
    }
    edma_lab_free(l);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);

    qtest_add_func("/dw-edma-stop/host/bus-master", test_bus_master);
    qtest_add_func("/dw-edma-stop/host/unmap", test_unmap);
    qtest_add_func("/dw-edma-stop/host/flr", test_flr);
    qtest_add_func("/dw-edma-stop/host/hot-reset", test_hot_reset);
    qtest_add_func("/dw-edma-stop/host/dies", test_host_dies);
    qtest_add_func("/dw-edma-stop/soc/link-down", test_link_down);
    qtest_add_func("/dw-edma-stop/soc/doorbell", test_doorbell_stop);
    qtest_add_func("/dw-edma-stop/soc/engine-off", test_engine_off);
    qtest_add_func("/dw-edma-stop/soc/engine-off-one", test_engine_off_one);
    qtest_add_func("/dw-edma-stop/soc/controller-reset",
                   test_controller_reset);
    qtest_add_func("/dw-edma-stop/soc/system-reset", test_system_reset);
    qtest_add_func("/dw-edma-stop/soc/vm-stop", test_vm_stop);

    return g_test_run();
}
