/*
 * QTest of the PCIe cable: hosts that know vfio-user and none of our extensions
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The test is the client of the endpoint end, a raw socket, and behaves as
 * QEMU's vfio-user-pci does, or as the document says where that differs.
 */
#include "qemu/osdep.h"
#include <sys/eventfd.h>
#include "libqos/pcie-cable.h"
#include "libqos/pcie-cable-peer.h"

/* What QEMU 10.1 to 11.1 offers */
#define QEMU_CAPS "{\"capabilities\":{\"migration\":{\"pgsize\":4096,"     \
                  "\"max_bitmap_size\":268435456},\"max_msg_fds\":16,"     \
                  "\"max_data_xfer_size\":1048576,\"pgsizes\":4096,"       \
                  "\"max_dma_maps\":65535,\"write_multiple\":true}}"

#define WINDOW(c) ((c)->ep->addr_space)
#define TARGET2 (CABLE_RAM_BASE + 16 * MiB)
/* PCI address that the outbound window shows */
#define DMA_ADDR 0x80000000ULL
#define DMA_SIZE (16 * KiB)
#define PAGE 4096

typedef struct Fixture {
    PCIeCable *c;
    CablePeer *p;
    unsigned idle_fds;          /* of the machine, without a client */
} Fixture;

static void set_command(CablePeer *p, uint16_t command)
{
    g_assert_cmpint(cable_peer_region_write(p, VFU_REGION_CONFIG, PCI_COMMAND,
                                            2, command), ==, 0);
}

static void connect_client(Fixture *f)
{
    f->p = cable_peer_connect(f->c->socket);
    g_assert_cmpint(cable_peer_version(f->p, 0, QEMU_CAPS), ==, 0);
    set_command(f->p, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
}

static void disconnect_client(Fixture *f)
{
    cable_peer_close(f->p);
    cable_wait_link(f->c, false);
}

static void start(Fixture *f, const char *props)
{
    f->c = cable_new();
    cable_start_ep(f->c, props, "");
    cable_soc_setup(f->c, 0);
    dw_ep_inbound_bar_match(f->c->ep, 0, 0, 2, TARGET2);
    dw_ep_outbound(f->c->ep, 0, 0, WINDOW(f->c), DMA_ADDR, DMA_SIZE);
    dw_ep_start_link(f->c->ep);
    f->idle_fds = cable_count_fds(f->c->soc);
    connect_client(f);
}

static void stop(Fixture *f)
{
    cable_peer_close(f->p);
    cable_free(f->c);
}

/* The SoC's loads and stores, in a thread: the client has to answer. */

typedef struct Access {
    Fixture *f;
    bool store;
    uint64_t offset;            /* in the window */
    unsigned size;              /* 1, 2, 4 or 8 bytes */
    uint64_t value;
    GThread *thread;
} Access;

static void *access_thread(void *opaque)
{
    Access *a = opaque;
    QTestState *soc = a->f->c->soc;
    uint64_t addr = WINDOW(a->f->c) + a->offset;

    switch (a->size) {
    case 1:
        a->store ? qtest_writeb(soc, addr, a->value)
                 : (void)(a->value = qtest_readb(soc, addr));
        break;
    case 2:
        a->store ? qtest_writew(soc, addr, a->value)
                 : (void)(a->value = qtest_readw(soc, addr));
        break;
    case 4:
        a->store ? qtest_writel(soc, addr, a->value)
                 : (void)(a->value = qtest_readl(soc, addr));
        break;
    default:
        a->store ? qtest_writeq(soc, addr, a->value)
                 : (void)(a->value = qtest_readq(soc, addr));
        break;
    }
    return NULL;
}

static void start_load(Access *a, Fixture *f, uint64_t offset, unsigned size)
{
    *a = (Access) { .f = f, .offset = offset, .size = size };
    a->thread = g_thread_new("load", access_thread, a);
}

static void start_store(Access *a, Fixture *f, uint64_t offset, unsigned size,
                        uint64_t value)
{
    *a = (Access) {
        .f = f, .store = true, .offset = offset, .size = size, .value = value,
    };
    a->thread = g_thread_new("store", access_thread, a);
}

static uint64_t finish(Access *a)
{
    g_thread_join(a->thread);
    return a->value;
}

/* DMA requests in either layout */

/*
 * The next message is this request: @fixed bytes, then @data for a write.
 * Both layouts begin with the address and have the count's low half next.
 */
static void expect_dma(CablePeer *p, uint16_t command, size_t fixed,
                       uint64_t address, uint32_t count, uint64_t data)
{
    VfuDmaRW rw = { };

    g_assert_true(cable_peer_receive(p));
    g_assert_cmphex(p->msg.hdr.command, ==, command);
    g_assert_cmphex(p->msg.hdr.flags, ==, VFU_F_REQUEST);
    g_assert_cmpuint(p->msg.len, ==, fixed +
                     (command == VFU_DMA_WRITE ? count : 0));
    if (fixed == sizeof(VfuDmaRWPacked)) {
        VfuDmaRWPacked packed;

        memcpy(&packed, p->msg.payload, sizeof(packed));
        rw.address = packed.address;
        rw.count = packed.count;
    } else {
        memcpy(&rw, p->msg.payload, sizeof(rw));
    }
    g_assert_cmphex(rw.address, ==, address);
    g_assert_cmpuint(rw.count, ==, count);
    if (command == VFU_DMA_WRITE) {
        data = cpu_to_le64(data);
        g_assert_cmpint(memcmp(p->msg.payload + fixed, &data, count), ==, 0);
    }
}

/* Answer what was received: its first @fixed bytes, then @count of @data. */
static void answer_dma(CablePeer *p, size_t fixed, uint64_t data,
                       uint32_t count)
{
    uint8_t head[sizeof(VfuDmaRW)];

    memcpy(head, p->msg.payload, sizeof(head));
    data = cpu_to_le64(data);
    cable_peer_reply(p, &p->msg.hdr, head, fixed, &data, count);
}

/* As QEMU answers a write: the header alone */
static void answer_write(CablePeer *p)
{
    cable_peer_reply(p, &p->msg.hdr, NULL, 0, NULL, 0);
}

static void answer_error(CablePeer *p, int error)
{
    VfuHdr reply = {
        .id = p->msg.hdr.id, .command = p->msg.hdr.command,
        .size = sizeof(reply), .flags = VFU_F_REPLY | VFU_F_ERROR,
        .error = error,
    };

    cable_peer_send_raw(p, &reply, sizeof(reply), NULL, 0);
}

/* Which layout is it?  The endpoint reads nothing to find out. */
static void expect_question(CablePeer *p, uint64_t offset)
{
    expect_dma(p, VFU_DMA_READ, sizeof(VfuDmaRW), DMA_ADDR + offset, 0, 0);
}

/* Loads and stores of every width arrive as they should. */
static void check_traffic(Fixture *f, size_t fixed)
{
    static const uint64_t value = 0x8877665544332211ULL;

    for (unsigned size = 1; size <= 8; size *= 2) {
        uint64_t mask = MAKE_64BIT_MASK(0, size * 8);
        Access a;

        start_load(&a, f, 64 + size, size);
        expect_dma(f->p, VFU_DMA_READ, fixed, DMA_ADDR + 64 + size, size, 0);
        answer_dma(f->p, fixed, value, size);
        g_assert_cmphex(finish(&a), ==, value & mask);

        start_store(&a, f, 128 + size, size, value);
        expect_dma(f->p, VFU_DMA_WRITE, fixed, DMA_ADDR + 128 + size, size,
                   value);
        finish(&a);
        answer_write(f->p);
    }
    g_assert_false(cable_peer_readable(f->p, 0));
}

static void test_layout_packed(void)
{
    Fixture f;
    Access a;

    start(&f, "");
    start_load(&a, &f, 8, 4);
    expect_question(f.p, 8);
    answer_dma(f.p, sizeof(VfuDmaRWPacked), 0, 0);
    expect_dma(f.p, VFU_DMA_READ, sizeof(VfuDmaRWPacked), DMA_ADDR + 8, 4, 0);
    answer_dma(f.p, sizeof(VfuDmaRWPacked), 0x600d1234, 4);
    g_assert_cmphex(finish(&a), ==, 0x600d1234);
    check_traffic(&f, sizeof(VfuDmaRWPacked));
    stop(&f);
}

static void test_layout_document(void)
{
    Fixture f;
    Access a;

    start(&f, "");
    start_load(&a, &f, 0, 8);
    expect_question(f.p, 0);
    answer_dma(f.p, sizeof(VfuDmaRW), 0, 0);
    expect_dma(f.p, VFU_DMA_READ, sizeof(VfuDmaRW), DMA_ADDR, 8, 0);
    answer_dma(f.p, sizeof(VfuDmaRW), 0x0123456789abcdefULL, 8);
    g_assert_cmphex(finish(&a), ==, 0x0123456789abcdefULL);
    check_traffic(&f, sizeof(VfuDmaRW));

    /* One that refuses to read nothing is taken at the document's word. */
    disconnect_client(&f);
    connect_client(&f);
    start_load(&a, &f, 0, 4);
    expect_question(f.p, 0);
    answer_error(f.p, EINVAL);
    expect_dma(f.p, VFU_DMA_READ, sizeof(VfuDmaRW), DMA_ADDR, 4, 0);
    answer_dma(f.p, sizeof(VfuDmaRW), 7, 4);
    g_assert_cmphex(finish(&a), ==, 7);
    check_traffic(&f, sizeof(VfuDmaRW));
    stop(&f);
}

/* Whoever comes next is asked again; a store asks as well. */
static void test_layout_store_first(void)
{
    static const size_t layouts[] = {
        sizeof(VfuDmaRWPacked), sizeof(VfuDmaRW), sizeof(VfuDmaRWPacked),
    };
    Fixture f;
    Access a;

    start(&f, "");
    for (unsigned i = 0; i < ARRAY_SIZE(layouts); i++) {
        if (i) {
            disconnect_client(&f);
            connect_client(&f);
        }
        start_store(&a, &f, 16 * i, 4, 0xabcd0000 + i);
        expect_question(f.p, 16 * i);
        g_assert_false(cable_peer_readable(f.p, 50));
        answer_dma(f.p, layouts[i], 0, 0);
        expect_dma(f.p, VFU_DMA_WRITE, layouts[i], DMA_ADDR + 16 * i, 4,
                   0xabcd0000 + i);
        finish(&a);
        answer_write(f.p);
        check_traffic(&f, layouts[i]);
    }
    stop(&f);
}

/* Bus mastering goes while the question is under way: nothing is written. */
static void test_layout_store_dropped(void)
{
    Fixture f;
    Access a;
    VfuHdr question;

    start(&f, "");
    start_store(&a, &f, 0, 4, 0xbad);
    expect_question(f.p, 0);
    question = f.p->msg.hdr;
    set_command(f.p, PCI_COMMAND_MEMORY);
    f.p->msg.hdr = question;
    answer_dma(f.p, sizeof(VfuDmaRWPacked), 0, 0);
    finish(&a);
    set_command(f.p, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    check_traffic(&f, sizeof(VfuDmaRWPacked));
    stop(&f);
}

static void test_layout_bad_answers(void)
{
    static const size_t lengths[] = { 0, 11, 13, 15 };
    Fixture f;
    Access a;

    start(&f, "");
    for (unsigned i = 0; i < ARRAY_SIZE(lengths); i++) {
        start_load(&a, &f, 0, 4);
        expect_question(f.p, 0);
        answer_dma(f.p, lengths[i], 0, 0);
        g_assert_cmphex(finish(&a), ==, UINT32_MAX);
        cable_peer_expect_close(f.p);
        disconnect_client(&f);
        connect_client(&f);
    }
    /* More than was asked for */
    start_store(&a, &f, 0, 4, 0xbad);
    expect_question(f.p, 0);
    answer_dma(f.p, sizeof(VfuDmaRW), 0, 1);
    finish(&a);
    cable_peer_expect_close(f.p);
    disconnect_client(&f);
    connect_client(&f);

    /* First the one, then the other */
    start_load(&a, &f, 0, 4);
    expect_question(f.p, 0);
    answer_dma(f.p, sizeof(VfuDmaRWPacked), 0, 0);
    expect_dma(f.p, VFU_DMA_READ, sizeof(VfuDmaRWPacked), DMA_ADDR, 4, 0);
    answer_dma(f.p, sizeof(VfuDmaRW), 0, 4);
    g_assert_cmphex(finish(&a), ==, UINT32_MAX);
    cable_peer_expect_close(f.p);
    disconnect_client(&f);
    connect_client(&f);

    start_load(&a, &f, 0, 4);
    expect_question(f.p, 0);
    answer_dma(f.p, sizeof(VfuDmaRWPacked), 0, 0);
    expect_dma(f.p, VFU_DMA_READ, sizeof(VfuDmaRWPacked), DMA_ADDR, 4, 0);
    answer_dma(f.p, sizeof(VfuDmaRWPacked), 1, 4);
    g_assert_cmphex(finish(&a), ==, 1);
    check_traffic(&f, sizeof(VfuDmaRWPacked));
    stop(&f);
}

/* A load gives up after its completion timeout; the next one asks again. */
static void test_layout_late(void)
{
    Fixture f;
    Access a;
    VfuHdr late;

    start(&f, ",completion-timeout=20");
    start_load(&a, &f, 0, 4);
    expect_question(f.p, 0);
    late = f.p->msg.hdr;
    g_assert_cmphex(finish(&a), ==, UINT32_MAX);
    g_assert_cmpuint(cable_ep_counter(f.c, "completion-timeouts"), ==, 1);
    f.p->msg.hdr = late;
    answer_dma(f.p, sizeof(VfuDmaRWPacked), 0, 0);

    /* A store has no completion to time out, so it waits. */
    start_store(&a, &f, 4, 4, 0x5709);
    expect_question(f.p, 4);
    g_assert_false(cable_peer_readable(f.p, 100));
    answer_dma(f.p, sizeof(VfuDmaRWPacked), 0, 0);
    expect_dma(f.p, VFU_DMA_WRITE, sizeof(VfuDmaRWPacked), DMA_ADDR + 4, 4,
               0x5709);
    finish(&a);
    answer_write(f.p);
    stop(&f);
}

/* What QEMU maps before the guest runs shows with bus mastering, not before */
static void test_mapped_ahead(void)
{
    g_autofree void *host = cable_pattern(2 * PAGE, 1);
    int fd = cable_memfd(2 * PAGE, true);
    Fixture f;

    start(&f, "");
    set_command(f.p, 0);
    g_assert_cmpint(pwrite(fd, host, 2 * PAGE, 0), ==, 2 * PAGE);
    g_assert_cmpint(cable_peer_dma_map(f.p, DMA_ADDR, 2 * PAGE, 0,
                                       VFU_DMA_MAP_READ | VFU_DMA_MAP_WRITE,
                                       fd), ==, 0);
    g_assert_cmphex(qtest_readl(f.c->soc, WINDOW(f.c)), ==, UINT32_MAX);
    qtest_writel(f.c->soc, WINDOW(f.c), 0xbad);
    set_command(f.p, PCI_COMMAND_MASTER);
    cable_check_memory(f.c->soc, WINDOW(f.c), host, 2 * PAGE);

    /* A reset takes bus mastering away and leaves the map. */
    g_assert_cmpint(cable_peer_call(f.p, VFU_DEVICE_RESET, 0, NULL, 0, NULL,
                                    0, NULL, 0), ==, 0);
    g_assert_cmphex(qtest_readl(f.c->soc, WINDOW(f.c)), ==, UINT32_MAX);
    set_command(f.p, PCI_COMMAND_MASTER);
    cable_check_memory(f.c->soc, WINDOW(f.c), host, 2 * PAGE);
    close(fd);
    stop(&f);
}

/*
 * A connection that the endpoint closes just ends: ECONNRESET, which unread
 * data causes, is more than QEMU's client survives.
 */
static void test_close_is_clean(void)
{
    g_autofree uint8_t *endless = g_malloc0(MiB);
    VfuRegionRW rw = { .region = VFU_REGION_CONFIG, .count = 64 };
    Fixture f;
    uint8_t buf[4096];
    ssize_t n;

    start(&f, "");
    for (unsigned i = 0; i < 5; i++) {
        /* No message: the endpoint has had enough before it has read all. */
        cable_peer_send_raw(f.p, endless, MiB, NULL, 0);
        cable_wait(cable_count_fds(f.c->soc) == f.idle_fds);
        g_assert_cmpint(RETRY_ON_EINTR(recv(f.p->fd, buf, 1, 0)), ==, 0);
        cable_peer_close(f.p);
        connect_client(&f);
    }

    /* So it does when the whole machine ends. */
    cable_pause(f.c->soc);
    for (unsigned i = 0; i < 100; i++) {
        cable_peer_request(f.p, VFU_REGION_READ, 0, &rw, sizeof(rw), NULL, 0,
                           NULL, 0);
    }
    g_assert_cmpint(kill(qtest_pid(f.c->soc), SIGTERM), ==, 0);
    cable_continue(f.c->soc);
    do {
        n = RETRY_ON_EINTR(recv(f.p->fd, buf, sizeof(buf), 0));
    } while (n > 0);
    g_assert_cmpint(n, ==, 0);
    stop(&f);
}

/* Interrupts */

#define EVENTFDS (VFU_IRQ_SET_DATA_EVENTFD | VFU_IRQ_SET_ACTION_TRIGGER)
#define NO_FDS (VFU_IRQ_SET_DATA_NONE | VFU_IRQ_SET_ACTION_TRIGGER)

static int set_intx(CablePeer *p, uint32_t flags, uint32_t start,
                    uint32_t count, const int *fds, unsigned nfds)
{
    VfuIrqSet set = {
        .argsz = sizeof(set), .flags = flags, .index = VFU_IRQ_INTX,
        .start = start, .count = count,
    };

    return cable_peer_call(p, VFU_DEVICE_SET_IRQS, 0, &set, sizeof(set),
                           NULL, 0, fds, nfds);
}

static VfuIrqInfo intx_info(CablePeer *p)
{
    VfuIrqInfo info = { .argsz = sizeof(info), .index = VFU_IRQ_INTX };

    g_assert_cmpint(cable_peer_call(p, VFU_DEVICE_GET_IRQ_INFO, 0, &info,
                                    sizeof(info), NULL, 0, NULL, 0), ==, 0);
    g_assert_cmpuint(p->msg.len, ==, sizeof(info));
    memcpy(&info, p->msg.payload, sizeof(info));
    return info;
}

/* A function whose header names a pin has an INTx that a host can set up. */
static void test_intx(void)
{
    static const struct {
        uint32_t flags, start, count;
    } bad[] = {
        { EVENTFDS, 1, 1 },
        { EVENTFDS, 0, 2 },
        { EVENTFDS, UINT32_MAX, 1 },
        { NO_FDS, 0, UINT32_MAX },
        { VFU_IRQ_SET_DATA_EVENTFD, 0, 1 },
        { EVENTFDS | VFU_IRQ_SET_ACTION_MASK, 0, 1 },
        { EVENTFDS | 0x40, 0, 1 },
        { VFU_IRQ_SET_DATA_BOOL | VFU_IRQ_SET_ACTION_TRIGGER, 0, 1 },
    };
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    unsigned connected;
    uint64_t count;
    int wrong;
    Fixture f;

    start(&f, "");
    connected = cable_count_fds(f.c->soc);
    g_assert_cmpuint(intx_info(f.p).count, ==, 0);
    g_assert_cmpint(set_intx(f.p, EVENTFDS, 0, 1, &fd, 1), ==, EINVAL);

    dw_ep_ro_wr(f.c->ep, true);
    dw_ep_dbi_writeb(f.c->ep, 0, PCI_INTERRUPT_PIN, 1);
    dw_ep_ro_wr(f.c->ep, false);
    g_assert_cmpuint(intx_info(f.p).count, ==, 1);
    g_assert_cmphex(intx_info(f.p).flags, ==, VFU_IRQ_INFO_EVENTFD |
                    VFU_IRQ_INFO_MASKABLE | VFU_IRQ_INFO_AUTOMASKED);
    g_assert_cmpint(set_intx(f.p, EVENTFDS, 0, 1, &fd, 1), ==, 0);
    g_assert_cmpint(set_intx(f.p, VFU_IRQ_SET_DATA_NONE |
                             VFU_IRQ_SET_ACTION_MASK, 0, 1, NULL, 0), ==, 0);
    g_assert_cmpint(set_intx(f.p, VFU_IRQ_SET_DATA_NONE |
                             VFU_IRQ_SET_ACTION_UNMASK, 0, 1, NULL, 0), ==,
                    0);
    for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
        g_assert_cmpint(set_intx(f.p, bad[i].flags, bad[i].start,
                                 bad[i].count, &fd, 1), ==, EINVAL);
    }
    /* Taken away: by no descriptor, and altogether */
    g_assert_cmpint(set_intx(f.p, EVENTFDS, 0, 1, NULL, 0), ==, 0);
    g_assert_cmpint(set_intx(f.p, NO_FDS, 0, 0, NULL, 0), ==, 0);
    g_assert_cmpint(read(fd, &count, sizeof(count)), ==, -1);
    cable_wait(cable_count_fds(f.c->soc) == connected);

    wrong = cable_memfd(PAGE, true);
    g_assert_cmpint(set_intx(f.p, EVENTFDS, 0, 1, &wrong, 1), ==, -1);
    close(wrong);
    close(fd);
    stop(&f);
}

/* REGION_WRITE_MULTI */

/* It is offered to those who offer it, and our extensions are not. */
static void test_capabilities(void)
{
    static const struct {
        const char *json;
        bool multi;
    } offers[] = {
        { CABLE_CAPS_NONE, false },
        { QEMU_CAPS, true },
        { "{\"capabilities\":{\"write_multiple\":false}}", false },
        { CABLE_CAPS_ALL, false },
    };
    Fixture f;

    start(&f, "");
    for (unsigned i = 0; i < ARRAY_SIZE(offers); i++) {
        const char *json;

        disconnect_client(&f);
        f.p = cable_peer_connect(f.c->socket);
        g_assert_cmpint(cable_peer_version(f.p, 0, offers[i].json), ==, 0);
        /* QEMU's client has no room for more than it has sent. */
        if (offers[i].multi) {
            g_assert_cmpuint(f.p->msg.len, <=, sizeof(VfuVersion) +
                             sizeof(QEMU_CAPS));
        }
        json = (char *)f.p->msg.payload + sizeof(VfuVersion);
        g_assert_true(!!strstr(json, VFU_CAP_WRITE_MULTIPLE) ==
                      offers[i].multi);
        g_assert_true(!!strstr(json, VFU_CAP_LINK_STATE) ==
                      (i == ARRAY_SIZE(offers) - 1));
    }
    stop(&f);
}

static int write_multi(CablePeer *p, uint32_t flags, uint64_t count,
                       const VfuWriteOne *writes, size_t len)
{
    VfuWriteMulti multi = { .count = count };

    if (flags & VFU_F_NO_REPLY) {
        cable_peer_request(p, VFU_REGION_WRITE_MULTI, flags, &multi,
                           sizeof(multi), writes, len, NULL, 0);
        return 0;
    }
    return cable_peer_call(p, VFU_REGION_WRITE_MULTI, flags, &multi,
                           sizeof(multi), writes, len, NULL, 0);
}

static uint64_t writes_done(CablePeer *p)
{
    VfuWriteMulti multi;

    g_assert_cmpuint(p->msg.len, ==, sizeof(multi));
    memcpy(&multi, p->msg.payload, sizeof(multi));
    return multi.count;
}

static VfuWriteOne one_write(uint32_t region, uint64_t offset, uint32_t count,
                             uint64_t value)
{
    VfuWriteOne one = {
        .rw = { .region = region, .offset = offset, .count = count },
    };

    value = cpu_to_le64(value);
    memcpy(one.data, &value, sizeof(value));
    return one;
}

static void test_write_multi(void)
{
    VfuWriteOne writes[200];
    uint64_t value;
    Fixture f;

    start(&f, "");
    /* As many as QEMU puts together, posted; the read comes behind them. */
    for (unsigned i = 0; i < ARRAY_SIZE(writes); i++) {
        writes[i] = one_write(2, 8 * i, 8, 0x0101010101010101ULL * i);
    }
    write_multi(f.p, VFU_F_NO_REPLY, ARRAY_SIZE(writes), writes,
                sizeof(writes));
    g_assert_cmpint(cable_peer_region_read(f.p, 2, 8 * 199, 8, &value), ==,
                    0);
    g_assert_cmphex(value, ==, 0x0101010101010101ULL * 199);
    for (unsigned i = 0; i < ARRAY_SIZE(writes); i++) {
        g_assert_cmphex(qtest_readq(f.c->soc, TARGET2 + 8 * i), ==,
                        0x0101010101010101ULL * i);
    }

    /* In order, of any width, to config space too */
    writes[0] = one_write(2, 0, 8, UINT64_MAX);
    writes[1] = one_write(2, 1, 1, 0);
    writes[2] = one_write(2, 4, 2, 0x1234);
    writes[3] = one_write(VFU_REGION_CONFIG, PCI_INTERRUPT_LINE, 1, 0x5a);
    g_assert_cmpint(write_multi(f.p, 0, 4, writes, 4 * sizeof(writes[0])), ==,
                    0);
    g_assert_cmpuint(writes_done(f.p), ==, 4);
    g_assert_cmphex(qtest_readq(f.c->soc, TARGET2), ==, 0xffff1234ffff00ffULL);
    g_assert_cmphex(dw_ep_dbi_readb(f.c->ep, 0, PCI_INTERRUPT_LINE), ==,
                    0x5a);
    g_assert_cmpint(write_multi(f.p, 0, 0, NULL, 0), ==, 0);
    g_assert_cmpuint(writes_done(f.p), ==, 0);

    /* One that clears bus mastering is answered when the SoC has noticed. */
    writes[0] = one_write(VFU_REGION_CONFIG, PCI_COMMAND, 2,
                          PCI_COMMAND_MEMORY);
    writes[1] = one_write(2, 0, 4, 0x600d);
    g_assert_cmpint(write_multi(f.p, 0, 2, writes, 2 * sizeof(writes[0])), ==,
                    0);
    g_assert_cmpuint(writes_done(f.p), ==, 2);
    g_assert_cmphex(qtest_readl(f.c->soc, TARGET2), ==, 0x600d);
    g_assert_cmphex(qtest_readl(f.c->soc, WINDOW(f.c)), ==, UINT32_MAX);
    stop(&f);
}

/* The first bad one ends it, and the answer says so. */
static void test_write_multi_bad(void)
{
    static const struct {
        uint32_t region, count;
        uint64_t offset;
    } bad[] = {
        { 2, 9, 0 },
        { 2, UINT32_MAX, 0 },
        { 2, 0, 0 },
        { 2, 4, CABLE_BAR_SIZE - 3 },
        { 2, 8, UINT64_MAX - 3 },
        { 1, 4, 0 },
        { VFU_REGION_ROM, 4, 0 },
        { UINT32_MAX, 4, 0 },
    };
    static const struct {
        uint64_t count;
        size_t len;
    } closes[] = {
        { 1, 0 }, { 1, 23 }, { 1, 25 }, { 2, 24 }, { 0, 24 },
        { UINT64_MAX, 24 }, { (1ULL << 61) + 1, 24 },
    };
    VfuWriteOne writes[3] = { };
    Fixture f;

    start(&f, "");
    for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
        qtest_writeq(f.c->soc, TARGET2 + 8, 0);
        writes[0] = one_write(2, 8, 4, 0x600d);
        writes[1] = one_write(bad[i].region, bad[i].offset, bad[i].count, 0);
        writes[2] = one_write(2, 12, 4, 0xbad);
        g_assert_cmpint(write_multi(f.p, 0, 3, writes, sizeof(writes)), ==,
                        0);
        g_assert_cmpuint(writes_done(f.p), ==, 1);
        g_assert_cmphex(qtest_readq(f.c->soc, TARGET2 + 8), ==, 0x600d);
    }
    writes[0] = one_write(2, 8, 4, 0xbad);
    for (unsigned i = 0; i < ARRAY_SIZE(closes); i++) {
        g_assert_cmpint(write_multi(f.p, 0, closes[i].count, writes,
                                    closes[i].len), ==, -1);
        disconnect_client(&f);
        connect_client(&f);
    }
    g_assert_cmphex(qtest_readq(f.c->soc, TARGET2 + 8), ==, 0x600d);
    stop(&f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);

    qtest_add_func("/pcie-cable-proto-plain/dma-layout/packed",
                   test_layout_packed);
    qtest_add_func("/pcie-cable-proto-plain/dma-layout/document",
                   test_layout_document);
    qtest_add_func("/pcie-cable-proto-plain/dma-layout/store-first",
                   test_layout_store_first);
    qtest_add_func("/pcie-cable-proto-plain/dma-layout/store-dropped",
                   test_layout_store_dropped);
    qtest_add_func("/pcie-cable-proto-plain/dma-layout/bad-answers",
                   test_layout_bad_answers);
    qtest_add_func("/pcie-cable-proto-plain/dma-layout/late",
                   test_layout_late);
    qtest_add_func("/pcie-cable-proto-plain/mapped-ahead", test_mapped_ahead);
    qtest_add_func("/pcie-cable-proto-plain/close", test_close_is_clean);
    qtest_add_func("/pcie-cable-proto-plain/intx", test_intx);
    qtest_add_func("/pcie-cable-proto-plain/capabilities", test_capabilities);
    qtest_add_func("/pcie-cable-proto-plain/write-multi/good",
                   test_write_multi);
    qtest_add_func("/pcie-cable-proto-plain/write-multi/bad",
                   test_write_multi_bad);

    return g_test_run();
}
