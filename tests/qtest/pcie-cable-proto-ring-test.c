/*
 * QTest of the PCIe cable: the ring of posted writes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Against the endpoint the test is the client, a raw socket; against the RC
 * end it is the server.  BAR4 is smaller than a page and so never mapped:
 * all of its writes are posted.
 */
#include "qemu/osdep.h"
#include <sys/eventfd.h>
#include <sys/mman.h>
#include "qemu/atomic.h"
#include "qemu/bswap.h"
#include "libqos/pcie-cable.h"
#include "libqos/pcie-cable-peer.h"
#include "libqos/pcie-cable-server.h"

/* RAM behind BAR4 */
#define TARGET (CABLE_RAM_BASE + 20 * MiB)
#define BAR 4

typedef struct Ring {
    VfuRing *shared;
    int fds[VFU_RING_FDS];
    int wake;                   /* the client's end of the socket pair */
} Ring;

static PCIeCable *start(void)
{
    PCIeCable *c = cable_new();

    cable_start_ep(c, "", "");
    cable_soc_setup(c, 0);
    dw_ep_inbound_bar_match(c->ep, 0, 0, BAR, TARGET);
    dw_ep_start_link(c->ep);
    return c;
}

static CablePeer *connect_peer(PCIeCable *c, const char *caps)
{
    CablePeer *p = cable_peer_connect(c->socket);

    g_assert_cmpint(cable_peer_version(p, 0, caps), ==, 0);
    g_assert_cmpint(cable_peer_region_write(p, VFU_REGION_CONFIG, PCI_COMMAND,
                                            2, PCI_COMMAND_MEMORY), ==, 0);
    return p;
}

static void ring_map(Ring *r)
{
    r->shared = mmap(NULL, sizeof(VfuRing), PROT_READ | PROT_WRITE,
                     MAP_SHARED, r->fds[VFU_RING_FD_MEMORY], 0);
    g_assert_true(r->shared != MAP_FAILED);
}

static void ring_init(Ring *r)
{
    r->fds[VFU_RING_FD_MEMORY] = cable_memfd(sizeof(VfuRing), true);
    int pair[2];

    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair),
                    ==, 0);
    r->fds[VFU_RING_FD_MEMORY] = cable_memfd(sizeof(VfuRing), true);
    r->fds[VFU_RING_FD_WAKE] = pair[0];
    r->wake = pair[1];
    ring_map(r);
}

/* False: the server has not taken what was sent before. */
static bool ring_wake(Ring *r)
{
    return send(r->wake, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

static void ring_clear(Ring *r)
{
    munmap(r->shared, sizeof(VfuRing));
    for (unsigned i = 0; i < VFU_RING_FDS; i++) {
        close(r->fds[i]);
    }
    close(r->wake);
}

static void offer(CablePeer *p, const VfuPostedRing *msg, size_t len,
                  const int *fds, unsigned nfds)
{
    cable_peer_request(p, VFU_POSTED_RING, VFU_F_NO_REPLY, msg, len, NULL, 0,
                       fds, nfds);
}

static void ring_offer(Ring *r, CablePeer *p)
{
    VfuPostedRing msg = {
        .argsz = sizeof(msg), .entries = VFU_RING_ENTRIES,
    };

    offer(p, &msg, sizeof(msg), r->fds, VFU_RING_FDS);
}

static void ring_put_entry(Ring *r, const VfuRingEntry *entry)
{
    uint32_t head = r->shared->head;

    r->shared->entries[head % VFU_RING_ENTRIES] = *entry;
    qatomic_store_release(&r->shared->head, head + 1);
    smp_mb(); /* the head, then whether the server is idle */
    if (qatomic_xchg(&r->shared->idle, 0)) {
        g_assert_true(ring_wake(r));
    }
}

static void ring_put(Ring *r, uint32_t after, uint64_t offset, uint32_t value)
{
    VfuRingEntry entry = {
        .write.rw = { .offset = offset, .region = BAR, .count = 4 },
        .after = after,
    };

    stl_le_p(entry.write.data, value);
    ring_put_entry(r, &entry);
}

static bool ring_empty(Ring *r)
{
    return qatomic_read(&r->shared->tail) == r->shared->head;
}

/* A client without a ring is served, and nothing was leaked. */
static void check_recovered(PCIeCable *c, unsigned fds)
{
    CablePeer *p = connect_peer(c, CABLE_CAPS_ALL);
    uint64_t value;

    g_assert_cmpint(cable_peer_region_write(p, BAR, 0, 4, 0x600d), ==, 0);
    g_assert_cmpint(cable_peer_region_read(p, BAR, 0, 4, &value), ==, 0);
    g_assert_cmphex(value, ==, 0x600d);
    cable_peer_close(p);
    cable_wait(cable_count_fds(c->soc) == fds);
}

static unsigned idle_fds(PCIeCable *c)
{
    unsigned fds = cable_count_fds(c->soc);

    check_recovered(c, fds);
    return fds;
}

/* The client: writes arrive, of each size, woken or not, many times round */

static void test_write(void)
{
    PCIeCable *c = start();
    unsigned fds = idle_fds(c);
    CablePeer *p = connect_peer(c, CABLE_CAPS_RING);
    Ring r;

    ring_init(&r);
    ring_offer(&r, p);
    for (uint32_t i = 0; i < 5 * VFU_RING_ENTRIES; i++) {
        /* Every now and then the server may fall asleep. */
        if (i % 37 == 0) {
            cable_wait(qatomic_read(&r.shared->idle));
        }
        ring_put(&r, p->sent, 4 * (i % 64), 0xabc00000 + i);
        if (i % VFU_RING_ENTRIES == VFU_RING_ENTRIES - 1) {
            cable_wait(ring_empty(&r));
        }
    }
    cable_wait(ring_empty(&r));
    for (uint32_t i = 0; i < 64; i++) {
        uint64_t value;

        g_assert_cmpint(cable_peer_region_read(p, BAR, 4 * i, 4, &value), ==,
                        0);
        g_assert_cmphex(value, ==,
                        0xabc00000 + 5 * VFU_RING_ENTRIES - 64 + i);
    }
    for (unsigned size = 1; size <= 8; size *= 2) {
        VfuRingEntry entry = {
            .write.rw = { .offset = 64, .region = BAR, .count = size },
            .after = p->sent,
        };
        uint64_t value;

        qtest_writeq(c->soc, TARGET + 64, 0);
        stq_le_p(entry.write.data, 0x1122334455667788);
        ring_put_entry(&r, &entry);
        g_assert_cmpint(cable_peer_region_read(p, BAR, 64, 8, &value), ==, 0);
        g_assert_cmphex(value, ==, 0x1122334455667788 &
                        MAKE_64BIT_MASK(0, 8 * size));
    }
    ring_clear(&r);
    cable_peer_close(p);
    check_recovered(c, fds);
    cable_free(c);
}

/* Behind the messages before it, before those behind it */
static void test_order(void)
{
    PCIeCable *c = start();
    CablePeer *p = connect_peer(c, CABLE_CAPS_RING);
    uint64_t value;
    Ring r;

    ring_init(&r);
    ring_offer(&r, p);
    g_assert_cmpint(cable_peer_region_write(p, BAR, 0, 4, 1), ==, 0);

    /* Behind two messages that have not been sent yet: what they see is old. */
    ring_put(&r, p->sent + 2, 0, 2);
    g_usleep(100000);
    g_assert_false(ring_empty(&r));
    g_assert_cmphex(qtest_readl(c->soc, TARGET), ==, 1);
    g_assert_cmpint(cable_peer_region_read(p, BAR, 0, 4, &value), ==, 0);
    g_assert_cmphex(value, ==, 1);
    g_assert_false(ring_empty(&r));
    g_assert_cmpint(cable_peer_region_write(p, BAR, 0, 4, 3), ==, 0);
    /* Now it is its turn, with no message behind it. */
    cable_wait(ring_empty(&r));
    g_assert_cmphex(qtest_readl(c->soc, TARGET), ==, 2);

    /* A read pushes the writes before it. */
    for (uint32_t i = 0; i < 1000; i++) {
        ring_put(&r, p->sent, 8, i);
        g_assert_cmpint(cable_peer_region_read(p, BAR, 8, 4, &value), ==, 0);
        g_assert_cmphex(value, ==, i);
    }
    /* In turns with messages of which nobody awaits an answer */
    for (uint32_t i = 0; i < 500; i++) {
        VfuRegionRW rw = { .region = BAR, .offset = 16, .count = 4 };
        uint32_t odd = 2 * i + 1;

        cable_wait(r.shared->head - qatomic_read(&r.shared->tail) <
                   VFU_RING_ENTRIES);
        ring_put(&r, p->sent, 16, 2 * i);
        cable_peer_request(p, VFU_REGION_WRITE, VFU_F_NO_REPLY, &rw,
                           sizeof(rw), &odd, sizeof(odd), NULL, 0);
    }
    g_assert_cmpint(cable_peer_region_read(p, BAR, 16, 4, &value), ==, 0);
    g_assert_cmphex(value, ==, 999);
    ring_clear(&r);
    cable_peer_close(p);
    cable_free(c);
}

/* What a client posted before it died is carried out, as what it had sent. */
static void test_last_words(void)
{
    PCIeCable *c = start();

    for (uint32_t i = 0; i < 50; i++) {
        CablePeer *p = connect_peer(c, CABLE_CAPS_RING);
        Ring r;

        ring_init(&r);
        ring_offer(&r, p);
        if (i % 2) {
            /* It dies before it wakes the server. */
            cable_wait(qatomic_read(&r.shared->idle));
            qatomic_set(&r.shared->idle, 0);
        }
        ring_put(&r, p->sent, 0, 0xdead0000 + i);
        cable_peer_close(p);
        cable_wait_link(c, false);
        g_assert_cmphex(qtest_readl(c->soc, TARGET), ==, 0xdead0000 + i);
        ring_clear(&r);
    }
    cable_free(c);
}

/* Writes that go nowhere, and no memory decoding: dropped, nothing else. */
static void test_nowhere(void)
{
    static const VfuRingEntry entries[] = {
        { .write.rw = { .region = BAR, .offset = 256, .count = 4 } },
        { .write.rw = { .region = BAR, .offset = 254, .count = 4 } },
        { .write.rw = { .region = BAR, .offset = UINT64_MAX, .count = 4 } },
        { .write.rw = { .region = BAR, .offset = 0, .count = 0 } },
        { .write.rw = { .region = 1, .offset = 0, .count = 4 } },
        { .write.rw = { .region = BAR, .count = 4 }, .function = 1 },
        { .write.rw = { .region = BAR, .count = 4 }, .function = 255 },
    };
    PCIeCable *c = start();
    CablePeer *p = connect_peer(c, CABLE_CAPS_RING);
    Ring r;

    ring_init(&r);
    ring_offer(&r, p);
    qtest_writel(c->soc, TARGET, 0xc0ffee);
    for (unsigned i = 0; i < ARRAY_SIZE(entries); i++) {
        VfuRingEntry entry = entries[i];

        entry.after = p->sent;
        ring_put_entry(&r, &entry);
        cable_wait(ring_empty(&r));
    }
    g_assert_cmpint(cable_peer_region_write(p, VFU_REGION_CONFIG, PCI_COMMAND,
                                            2, 0), ==, 0);
    ring_put(&r, p->sent, 0, 1);
    cable_wait(ring_empty(&r));
    g_assert_cmphex(qtest_readl(c->soc, TARGET), ==, 0xc0ffee);
    g_assert_cmpint(cable_peer_region_write(p, VFU_REGION_CONFIG, PCI_COMMAND,
                                            2, PCI_COMMAND_MEMORY), ==, 0);
    ring_put(&r, p->sent, 0, 2);
    cable_wait(ring_empty(&r));
    g_assert_cmphex(qtest_readl(c->soc, TARGET), ==, 2);
    ring_clear(&r);
    cable_peer_close(p);
    cable_free(c);
}

/* Hostile clients */

/* Offers that are none close the connection. */
static void test_bad_offer(void)
{
    const VfuPostedRing good = {
        .argsz = sizeof(good), .entries = VFU_RING_ENTRIES,
    };
    static const unsigned wrong_nfds[] = { 0, 1, 3 };
    const VfuPostedRing bad[] = {
        { .argsz = 0, .entries = VFU_RING_ENTRIES },
        { .argsz = sizeof(good), .entries = 0 },
        { .argsz = sizeof(good), .entries = UINT32_MAX },
    };
    g_autofree char *dir = g_dir_make_tmp("ring-XXXXXX", NULL);
    g_autofree char *path = g_strdup_printf("%s/file", dir);
    PCIeCable *c = start();
    unsigned fds = idle_fds(c);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    Ring r;

    ring_init(&r);
    g_assert_cmpint(ftruncate(file, sizeof(VfuRing)), ==, 0);
    for (unsigned i = 0; i < 19; i++) {
        CablePeer *p = connect_peer(c, CABLE_CAPS_RING);
        int memory = r.fds[VFU_RING_FD_MEMORY];
        int wake = r.fds[VFU_RING_FD_WAKE];
        int mine = -1, pair[2];

        switch (i) {
        case 0 ... 2:
            offer(p, &bad[i], sizeof(good), r.fds, 2);
            break;
        case 3 ... 5:
            offer(p, &good, sizeof(good), (int[]) { memory, wake, wake },
                  wrong_nfds[i - 3]);
            break;
        case 6 ... 7:
            offer(p, &good, i == 6 ? 4 : sizeof(good) - 1, r.fds, 2);
            break;
        case 8:         /* too short */
            mine = cable_memfd(sizeof(VfuRing) - 1, true);
            offer(p, &good, sizeof(good), (int[]) { mine, wake }, 2);
            break;
        case 9:         /* may be shrunk */
            mine = cable_memfd(sizeof(VfuRing), false);
            offer(p, &good, sizeof(good), (int[]) { mine, wake }, 2);
            break;
        case 10:        /* cannot be written */
            {
                g_autofree char *proc = g_strdup_printf("/proc/self/fd/%d",
                                                        memory);

                mine = open(proc, O_RDONLY | O_CLOEXEC);
                offer(p, &good, sizeof(good), (int[]) { mine, wake }, 2);
            }
            break;
        case 11:        /* no memory file */
            offer(p, &good, sizeof(good), (int[]) { file, wake }, 2);
            break;
        case 12:
            offer(p, &good, sizeof(good), (int[]) { wake, wake }, 2);
            break;
        case 13 ... 14: /* nothing to wait for */
            offer(p, &good, sizeof(good),
                  (int[]) { memory, i == 13 ? file : memory }, 2);
            break;
        case 15:        /* that could make the one who wakes sleep */
            mine = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
            offer(p, &good, sizeof(good), (int[]) { memory, mine }, 2);
            break;
        case 16 ... 17:
            if (i == 16) {
                g_assert_cmpint(pipe(pair), ==, 0);
            } else {
                g_assert_cmpint(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), ==,
                                0);
            }
            mine = pair[0];
            close(pair[1]);
            offer(p, &good, sizeof(good), (int[]) { memory, mine }, 2);
            break;
        case 18:        /* one is enough */
            ring_offer(&r, p);
            ring_offer(&r, p);
            break;
        }
        cable_peer_expect_close(p);
        cable_peer_close(p);
        if (mine >= 0) {
            close(mine);
        }
        check_recovered(c, fds);
    }
    close(file);
    unlink(path);
    rmdir(dir);
    ring_clear(&r);
    cable_free(c);
}

/* Who did not agree to the extension does not have it. */
static void test_not_agreed(void)
{
    VfuPostedRing msg = {
        .argsz = sizeof(msg), .entries = VFU_RING_ENTRIES,
    };
    PCIeCable *c = start();
    unsigned fds = idle_fds(c);
    CablePeer *p = connect_peer(c, CABLE_CAPS_ALL);
    Ring r;

    ring_init(&r);
    g_assert_cmpint(cable_peer_call(p, VFU_POSTED_RING, 0, &msg, sizeof(msg),
                                    NULL, 0, r.fds, VFU_RING_FDS), ==,
                    ENOTSUP);
    ring_put(&r, p->sent, 0, 1);
    g_usleep(100000);
    g_assert_false(ring_empty(&r));
    ring_clear(&r);
    cable_peer_close(p);
    check_recovered(c, fds);
    cable_free(c);
}

/* A ring that is none any more closes the connection. */
static void test_broken_ring(void)
{
    static const VfuRingEntry bad[] = {
        { .write.rw = { .region = BAR, .count = 9 } },
        { .write.rw = { .region = BAR, .count = UINT32_MAX } },
        { .write.rw = { .region = 6, .count = 4 } },
        { .write.rw = { .region = VFU_REGION_CONFIG, .count = 4 } },
        { .write.rw = { .region = UINT32_MAX, .count = 4 } },
        { .write.rw = { .region = BAR, .count = 4 }, .function = 256 },
        { .write.rw = { .region = BAR, .count = 4 }, .function = UINT32_MAX },
    };
    static const uint32_t heads[] = {
        VFU_RING_ENTRIES + 1, INT32_MAX, 1u << 31, UINT32_MAX,
    };
    PCIeCable *c = start();
    unsigned fds = idle_fds(c);

    qtest_writel(c->soc, TARGET, 0xc0ffee);
    for (unsigned i = 0; i < ARRAY_SIZE(bad) + ARRAY_SIZE(heads); i++) {
        CablePeer *p = connect_peer(c, CABLE_CAPS_RING);
        Ring r;

        ring_init(&r);
        ring_offer(&r, p);
        if (i < ARRAY_SIZE(bad)) {
            VfuRingEntry entry = bad[i];

            entry.after = p->sent;
            ring_put_entry(&r, &entry);
        } else {
            qatomic_set(&r.shared->head, heads[i - ARRAY_SIZE(bad)]);
            ring_wake(&r);
        }
        cable_peer_expect_close(p);
        g_assert_cmphex(qtest_readl(c->soc, TARGET), ==,
                        i ? 0x600d : 0xc0ffee);
        cable_peer_close(p);
        ring_clear(&r);
        check_recovered(c, fds);
    }
    cable_free(c);
}

/*
 * Everything scribbled on while the server works: it may close the
 * connection or carry on, and goes on serving others.
 */
static void test_scribble(void)
{
    PCIeCable *c = start();
    unsigned fds = idle_fds(c);
    GRand *rand = g_rand_new_with_seed(4711);

    for (unsigned round = 0; round < 40; round++) {
        CablePeer *p = connect_peer(c, CABLE_CAPS_RING);
        Ring r;

        ring_init(&r);
        ring_offer(&r, p);
        for (unsigned i = 0; i < 20000; i++) {
            uint32_t *word = (uint32_t *)r.shared +
                             g_rand_int_range(rand, 0, 256);

            qatomic_set(word, g_rand_int(rand) >> g_rand_int_range(rand, 0,
                                                                   32));
            if (i % 64 == 0) {
                qatomic_set(&r.shared->head, qatomic_read(&r.shared->tail) +
                            g_rand_int_range(rand, 0, 16));
                ring_wake(&r);
            }
        }
        cable_peer_close(p);
        ring_clear(&r);
    }
    g_rand_free(rand);
    check_recovered(c, fds);
    cable_free(c);
}

/*
 * A client that never stops to wake the server, or hangs up: what it posts
 * with its messages is carried out all the same.
 */
static void test_wake_abuse(void)
{
    PCIeCable *c = start();
    unsigned fds = idle_fds(c);

    for (unsigned round = 0; round < 3; round++) {
        CablePeer *p = connect_peer(c, CABLE_CAPS_RING);
        Ring r;

        ring_init(&r);
        ring_offer(&r, p);
        switch (round) {
        case 0:
            for (unsigned i = 0; i < 50000; i++) {
                ring_wake(&r);
            }
            break;
        case 1:
            shutdown(r.wake, SHUT_RDWR);
            break;
        case 2:
            /* With the server's end, as if it had been the server */
            shutdown(r.fds[VFU_RING_FD_WAKE], SHUT_RD);
            break;
        }
        for (unsigned i = 0; i < 100; i++) {
            uint64_t value;

            qatomic_set(&r.shared->idle, 0);
            ring_put(&r, p->sent, 0, 0xabcd0000 + i);
            g_assert_cmpint(cable_peer_region_read(p, BAR, 0, 4, &value), ==,
                            0);
            g_assert_cmphex(value, ==, 0xabcd0000 + i);
        }
        ring_clear(&r);
        cable_peer_close(p);
        check_recovered(c, fds);
    }
    cable_free(c);
}

/* The RC end as the client */

/* It offers a ring to those that know it and can take it, to no others. */
static void test_rc_offer(void)
{
    static const struct {
        const char *caps;
        bool ring;
    } servers[] = {
        { CABLE_CAPS_ALL, false },
        { CABLE_CAPS_RING, true },
        /* Two descriptors do not fit into a message. */
        { "{\"capabilities\":{\"max_msg_fds\":1,\"link-state\":true,"
          "\"posted-ring\":true}}", false },
        { CABLE_CAPS_NONE, false },
        { CABLE_CAPS_RING, true },
    };
    PCIeCable *c = cable_new();
    CableServer *s = cable_server_new(c->socket);

    for (unsigned i = 0; i < ARRAY_SIZE(servers); i++) {
        s->json = servers[i].caps;
        cable_server_accept(s);
        if (i == 0) {
            cable_start_rc(c, "", "");
        }
        cable_wait(cable_rc_link_up(c));
        cable_port_setup(c);
        cable_host_setup(c, 0);
        qtest_writel(c->rc, cable_bar(0, BAR), i);
        qtest_readl(c->rc, cable_bar(0, BAR));
        g_assert_true((s->ring_fd >= 0) == servers[i].ring);
        g_assert_cmpuint(s->writes, ==, !servers[i].ring);
        if (servers[i].ring) {
            g_assert_cmphex(fcntl(s->ring_fd, F_GET_SEALS) & F_SEAL_SHRINK,
                            ==, F_SEAL_SHRINK);
        }
        cable_server_hang_up(s);
        cable_wait(!cable_rc_link_up(c));
    }
    cable_quit_rc(c);
    cable_server_free(s);
    cable_free(c);
}

/* Start an RC end whose ring this is to be. */
static CableServer *start_rc(PCIeCable *c, Ring *r)
{
    CableServer *s = cable_server_new(c->socket);

    s->json = CABLE_CAPS_RING;
    cable_server_accept(s);
    cable_start_rc(c, "", "");
    cable_wait(cable_rc_link_up(c));
    cable_port_setup(c);
    cable_host_setup(c, 0);
    cable_wait(qatomic_read(&s->ring_fd) >= 0);
    r->fds[VFU_RING_FD_MEMORY] = dup(s->ring_fd);
    r->fds[VFU_RING_FD_WAKE] = -1;
    r->wake = dup(s->ring_wake_fd);
    ring_map(r);
    g_assert_cmpuint(s->writes, ==, 0);
    return s;
}

/*
 * A server that does what it can to have the host's CPU wait in its wake-up:
 * it takes none, fills the file, has it block, closes it.
 */
static void test_rc_wake_abuse(void)
{
    const uint64_t many = UINT64_MAX - 1;
    PCIeCable *c = cable_new();
    Ring r;
    CableServer *s = start_rc(c, &r);
    ssize_t ignored;

    g_assert_cmpint(fcntl(r.wake, F_SETFL, fcntl(r.wake, F_GETFL) &
                          ~O_NONBLOCK), ==, 0);
    ignored = write(r.wake, &many, sizeof(many));
    (void)ignored;
    for (uint32_t i = 0; i < 5000; i++) {
        if (i == 2500) {
            close(s->ring_wake_fd);
            s->ring_wake_fd = -1;
            close(r.wake);
            r.wake = -1;
        }
        qatomic_set(&r.shared->idle, 1);
        qtest_writel(c->rc, cable_bar(0, BAR), i);
        g_assert_cmpuint(r.shared->head, ==, i + 1);
        g_assert_cmpuint(r.shared->idle, ==, 0);
        qatomic_store_release(&r.shared->tail, i + 1);
    }
    g_assert_cmphex(qtest_readl(c->rc, cable_bar(0, BAR)), ==, 0x5a5a5a5a);
    g_assert_cmpuint(s->writes, ==, 0);
    ring_clear(&r);
    cable_quit_rc(c);
    cable_server_free(s);
    cable_free(c);
}

/* A server that does not empty it: what finds no room is sent. */
static void test_rc_full(void)
{
    PCIeCable *c = cable_new();
    uint32_t after;
    Ring r;
    CableServer *s = start_rc(c, &r);

    for (uint32_t i = 0; i < VFU_RING_ENTRIES + 10; i++) {
        qtest_writel(c->rc, cable_bar(0, BAR) + 4 * (i % 64), i);
    }
    /* The answer comes behind the writes that were sent. */
    qtest_readl(c->rc, cable_bar(0, BAR));
    g_assert_cmpuint(r.shared->head, ==, VFU_RING_ENTRIES);
    after = r.shared->entries[0].after;
    for (uint32_t i = 0; i < VFU_RING_ENTRIES; i++) {
        VfuRingEntry *e = &r.shared->entries[i];

        g_assert_cmpuint(e->write.rw.region, ==, BAR);
        g_assert_cmphex(e->write.rw.offset, ==, 4 * (i % 64));
        g_assert_cmpuint(e->write.rw.count, ==, 4);
        g_assert_cmpuint(ldl_le_p(e->write.data), ==, i);
        g_assert_cmpuint(e->function, ==, 0);
        g_assert_cmpuint(e->after, ==, after);
    }
    g_assert_cmpuint(s->writes, ==, 10);
    g_assert_cmpuint(s->write_value, ==, VFU_RING_ENTRIES + 9);

    /* There is room again: behind the ten writes and the read. */
    qatomic_store_release(&r.shared->tail, 1);
    qtest_writel(c->rc, cable_bar(0, BAR), 0x77);
    g_assert_cmpuint(r.shared->head, ==, VFU_RING_ENTRIES + 1);
    g_assert_cmphex(ldl_le_p(r.shared->entries[0].write.data), ==, 0x77);
    g_assert_cmpuint(r.shared->entries[0].after, ==, after + 11);

    /* A tail that cannot be is a ring without room. */
    qatomic_store_release(&r.shared->tail, VFU_RING_ENTRIES + 2);
    qtest_writel(c->rc, cable_bar(0, BAR), 0x78);
    qtest_readl(c->rc, cable_bar(0, BAR));
    g_assert_cmpuint(r.shared->head, ==, VFU_RING_ENTRIES + 1);
    g_assert_cmphex(s->write_value, ==, 0x78);

    ring_clear(&r);
    cable_quit_rc(c);
    cable_server_free(s);
    cable_free(c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);

    qtest_add_func("/pcie-cable-proto-ring/write", test_write);
    qtest_add_func("/pcie-cable-proto-ring/order", test_order);
    qtest_add_func("/pcie-cable-proto-ring/last-words", test_last_words);
    qtest_add_func("/pcie-cable-proto-ring/nowhere", test_nowhere);
    qtest_add_func("/pcie-cable-proto-ring/bad-offer", test_bad_offer);
    qtest_add_func("/pcie-cable-proto-ring/not-agreed", test_not_agreed);
    qtest_add_func("/pcie-cable-proto-ring/broken-ring", test_broken_ring);
    qtest_add_func("/pcie-cable-proto-ring/scribble", test_scribble);
    qtest_add_func("/pcie-cable-proto-ring/wake-abuse", test_wake_abuse);
    qtest_add_func("/pcie-cable-proto-ring/rc/offer", test_rc_offer);
    qtest_add_func("/pcie-cable-proto-ring/rc/full", test_rc_full);
    qtest_add_func("/pcie-cable-proto-ring/rc/wake-abuse",
                   test_rc_wake_abuse);

    return g_test_run();
}
