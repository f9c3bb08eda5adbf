/*
 * QTest of the PCIe cable: a DMA engine and a host made of a raw socket
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The test is the client of the endpoint end.  It answers the requests of the
 * engine well, badly, late or not at all, and looks at what is on the wire.
 */
#include "qemu/osdep.h"
#include "libqos/dw-edma.h"
#include "libqos/pcie-cable.h"
#include "libqos/pcie-cable-peer.h"

/* Memory of the SoC that takes part, and PCI addresses */
#define LOCAL (CABLE_RAM_BASE + 16 * MiB)
#define LIST (CABLE_RAM_BASE + 8 * MiB)
#define DMA_ADDR 0x80000000ULL
#define PAGE 4096
#define LENGTH (4 * PAGE)
#define READ_WRITE (VFU_DMA_MAP_READ | VFU_DMA_MAP_WRITE)
/* Smaller than a page, and no power of two */
#define SMALL_XFER 3000
#define SMALL_CAPS "{\"capabilities\":{\"max_data_xfer_size\":3000," \
                   "\"link-state\":true}}"
/* Long enough to answer in, short enough to wait for */
#define TIMEOUT_MS 200
#define TIMEOUT_PROP ",completion-timeout=200"

typedef struct Fixture {
    PCIeCable *c;
    CablePeer *p;
    QEdma edma;
} Fixture;

static void set_command(CablePeer *p, uint16_t command)
{
    g_assert_cmpint(cable_peer_region_write(p, VFU_REGION_CONFIG, PCI_COMMAND,
                                            2, command), ==, 0);
}

static Fixture *start(const char *props, const char *caps)
{
    Fixture *f = g_new0(Fixture, 1);

    f->c = cable_new();
    cable_start_ep(f->c, props, "");
    cable_soc_setup(f->c, 0);
    dw_ep_start_link(f->c->ep);
    f->p = cable_peer_connect(f->c->socket);
    g_assert_cmpint(cable_peer_version(f->p, 0, caps), ==, 0);
    set_command(f->p, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    f->edma.qts = f->c->soc;
    f->edma.regs = f->c->ep->dma;
    f->edma.map = QEDMA_MAP_UNROLL;
    return f;
}

static void stop(Fixture *f)
{
    cable_peer_close(f->p);
    cable_wait_link(f->c, false);
    cable_free(f->c);
    g_free(f);
}

static QEdmaChan channel(Fixture *f, QEdmaDir dir, unsigned id)
{
    QEdmaChan ch = { .edma = &f->edma, .dir = dir, .id = id };

    qedma_enable(&ch, QEDMA_IRQ_LOCAL);
    return ch;
}

/* Move @size bytes between LOCAL and @addr of the host. */
static void start_block(QEdmaChan *ch, uint64_t addr, uint32_t size)
{
    bool write = ch->dir == QEDMA_WRITE;

    qedma_start_block(ch, write ? LOCAL : addr, write ? addr : LOCAL, size,
                      QEDMA_LOCAL_INT);
}

/* The next message is this DMA request. */
static void receive_dma(Fixture *f, uint16_t command, VfuDmaRW *rw)
{
    g_assert_true(cable_peer_receive(f->p));
    g_assert_cmphex(f->p->msg.hdr.command, ==, command);
    g_assert_cmphex(f->p->msg.hdr.flags, ==, VFU_F_REQUEST);
    memcpy(rw, f->p->msg.payload, sizeof(*rw));
    g_assert_cmpuint(f->p->msg.len, ==, sizeof(*rw) +
                     (command == VFU_DMA_WRITE ? rw->count : 0));
}

static void reply_error(Fixture *f, uint32_t error)
{
    VfuHdr hdr = f->p->msg.hdr;

    hdr.flags = VFU_F_REPLY | VFU_F_ERROR;
    hdr.error = error;
    hdr.size = sizeof(hdr);
    cable_peer_send_raw(f->p, &hdr, sizeof(hdr), NULL, 0);
}

static void answer_write(Fixture *f, const VfuDmaRW *rw)
{
    cable_peer_reply(f->p, &f->p->msg.hdr, rw, sizeof(*rw), NULL, 0);
}

static void answer_read(Fixture *f, const VfuDmaRW *rw, const uint8_t *host)
{
    cable_peer_reply(f->p, &f->p->msg.hdr, rw, sizeof(*rw), host, rw->count);
}

static void expect_done(QEdmaChan *ch)
{
    qedma_wait_done(ch);
    g_assert_cmpint(qedma_status(ch), ==, QEDMA_STOPPED);
    g_assert_false(qedma_aborted(ch));
    qedma_clear_done(ch);
}

static void expect_halted(QEdmaChan *ch, QEdmaError error)
{
    qedma_wait_aborted(ch);
    g_assert_cmpint(qedma_status(ch), ==, QEDMA_HALTED);
    g_assert_cmpint(qedma_error(ch), ==, error);
    g_assert_false(qedma_done(ch));
    qedma_clear_abort(ch);
}

/* Requests */

/* Requests are no longer than the client takes, and cover all of it. */
static void test_request_size(void)
{
    Fixture *f = start("", SMALL_CAPS);
    QEdmaChan rd = channel(f, QEDMA_READ, 0);
    QEdmaChan wr = channel(f, QEDMA_WRITE, 3);
    g_autofree uint8_t *host = cable_pattern(LENGTH, 1);
    g_autofree uint8_t *got = g_malloc0(LENGTH);
    uint32_t done;
    VfuDmaRW rw;

    start_block(&rd, DMA_ADDR, LENGTH);
    for (done = 0; done < LENGTH; done += rw.count) {
        receive_dma(f, VFU_DMA_READ, &rw);
        g_assert_cmphex(rw.address, ==, DMA_ADDR + done);
        g_assert_cmpuint(rw.count, ==, MIN(SMALL_XFER, LENGTH - done));
        answer_read(f, &rw, host + done);
    }
    expect_done(&rd);
    cable_check_memory(f->c->soc, LOCAL, host, LENGTH);

    start_block(&wr, DMA_ADDR + 1, LENGTH);
    for (done = 0; done < LENGTH; done += rw.count) {
        receive_dma(f, VFU_DMA_WRITE, &rw);
        g_assert_cmphex(rw.address, ==, DMA_ADDR + 1 + done);
        g_assert_cmpuint(rw.count, ==, MIN(SMALL_XFER, LENGTH - done));
        memcpy(got + done, f->p->msg.payload + sizeof(rw), rw.count);
        answer_write(f, &rw);
    }
    expect_done(&wr);
    g_assert_cmpint(memcmp(got, host, LENGTH), ==, 0);
    stop(f);
}

/* How an error of the client reaches the engine's software */
static void test_request_errors(void)
{
    static const struct {
        int error;
        QEdmaError read;
    } errors[] = {
        { EFAULT, QEDMA_ERR_UR },
        { EINVAL, QEDMA_ERR_UR },
        { ENODEV, QEDMA_ERR_UR },
        { EPERM, QEDMA_ERR_CA },
        { EIO, QEDMA_ERR_CA },
    };
    Fixture *f = start("", CABLE_CAPS_ALL);
    QEdmaChan rd = channel(f, QEDMA_READ, 1);
    QEdmaChan wr = channel(f, QEDMA_WRITE, 1);
    g_autofree uint8_t *local = cable_pattern(LENGTH, 2);
    VfuDmaRW rw;

    qtest_bufwrite(f->c->soc, LOCAL, local, LENGTH);
    for (unsigned i = 0; i < ARRAY_SIZE(errors); i++) {
        start_block(&rd, DMA_ADDR, LENGTH);
        receive_dma(f, VFU_DMA_READ, &rw);
        reply_error(f, errors[i].error);
        expect_halted(&rd, errors[i].read);
        cable_check_memory(f->c->soc, LOCAL, local, LENGTH);

        /* Writes are posted: there is no bit for how they end. */
        start_block(&wr, DMA_ADDR, LENGTH);
        receive_dma(f, VFU_DMA_WRITE, &rw);
        reply_error(f, errors[i].error);
        expect_halted(&wr, QEDMA_OK);
    }
    stop(f);
}

/* An answer that comes too late changes nothing any more. */
static void test_late_answer(void)
{
    Fixture *f = start(TIMEOUT_PROP, CABLE_CAPS_ALL);
    QEdmaChan rd = channel(f, QEDMA_READ, 2);
    QEdmaChan wr = channel(f, QEDMA_WRITE, 2);
    g_autofree uint8_t *local = cable_pattern(PAGE, 3);
    g_autofree uint8_t *host = cable_pattern(PAGE, 4);
    uint64_t timeouts;
    VfuDmaRW rw;

    qtest_bufwrite(f->c->soc, LOCAL, local, PAGE);
    timeouts = cable_ep_counter(f->c, "completion-timeouts");
    start_block(&rd, DMA_ADDR, PAGE);
    receive_dma(f, VFU_DMA_READ, &rw);
    expect_halted(&rd, QEDMA_ERR_TIMEOUT);
    answer_read(f, &rw, host);

    start_block(&wr, DMA_ADDR, PAGE);
    receive_dma(f, VFU_DMA_WRITE, &rw);
    expect_halted(&wr, QEDMA_OK);
    answer_write(f, &rw);
    g_assert_cmpuint(cable_ep_counter(f->c, "completion-timeouts"), ==,
                     timeouts + 2);

    /* The same channels, and the answers now belong to these requests. */
    start_block(&wr, DMA_ADDR, PAGE);
    receive_dma(f, VFU_DMA_WRITE, &rw);
    g_assert_cmpint(memcmp(f->p->msg.payload + sizeof(rw), local, PAGE), ==,
                    0);
    answer_write(f, &rw);
    expect_done(&wr);
    start_block(&rd, DMA_ADDR, PAGE);
    receive_dma(f, VFU_DMA_READ, &rw);
    cable_check_memory(f->c->soc, LOCAL, local, PAGE);
    answer_read(f, &rw, host);
    expect_done(&rd);
    cable_check_memory(f->c->soc, LOCAL, host, PAGE);
    stop(f);
}

/* The engine is turned off while it waits for the host, which never answers. */
static void test_off_while_waiting(void)
{
    Fixture *f = start(",completion-timeout=0", CABLE_CAPS_ALL);
    QEdmaChan rd = channel(f, QEDMA_READ, 0);
    g_autofree uint8_t *local = cable_pattern(PAGE, 5);
    g_autofree uint8_t *host = cable_pattern(PAGE, 6);
    VfuDmaRW rw, next;
    VfuHdr hdr;

    qtest_bufwrite(f->c->soc, LOCAL, local, PAGE);
    start_block(&rd, DMA_ADDR, PAGE);
    receive_dma(f, VFU_DMA_READ, &rw);
    hdr = f->p->msg.hdr;
    qedma_off(&rd);
    g_assert_cmpint(qedma_status(&rd), ==, QEDMA_STOPPED);

    /* Started again it goes on when the old request is answered. */
    qedma_enable(&rd, QEDMA_IRQ_LOCAL);
    start_block(&rd, DMA_ADDR + PAGE, 100);
    g_assert_false(cable_peer_readable(f->p, 100));
    cable_peer_reply(f->p, &hdr, &rw, sizeof(rw), host, PAGE);
    receive_dma(f, VFU_DMA_READ, &next);
    g_assert_cmphex(next.address, ==, DMA_ADDR + PAGE);
    g_assert_cmpuint(next.count, ==, 100);
    /* Nothing of the old answer has been stored. */
    cable_check_memory(f->c->soc, LOCAL, local, PAGE);
    answer_read(f, &next, host);
    expect_done(&rd);
    memcpy(local, host, 100);
    cable_check_memory(f->c->soc, LOCAL, local, PAGE);
    stop(f);
}

/* What is mapped and what is not */

/* One block over a mapping, a gap without one, and another mapping */
static void test_gap(void)
{
    Fixture *f = start("", CABLE_CAPS_ALL);
    QEdmaChan rd = channel(f, QEDMA_READ, 0);
    QEdmaChan wr = channel(f, QEDMA_WRITE, 0);
    g_autofree uint8_t *host = cable_pattern(3 * PAGE, 7);
    g_autofree uint8_t *local = cable_pattern(3 * PAGE, 8);
    g_autofree uint8_t *got = g_malloc(3 * PAGE);
    int fd = cable_memfd(3 * PAGE, true);
    VfuDmaRW rw;

    g_assert_cmpint(pwrite(fd, host, 3 * PAGE, 0), ==, 3 * PAGE);
    g_assert_cmpint(cable_peer_dma_map(f->p, DMA_ADDR + 2 * PAGE, PAGE,
                                       2 * PAGE, READ_WRITE, fd), ==, 0);
    g_assert_cmpint(cable_peer_dma_map(f->p, DMA_ADDR, PAGE, 0, READ_WRITE,
                                       fd), ==, 0);

    start_block(&rd, DMA_ADDR, 3 * PAGE);
    receive_dma(f, VFU_DMA_READ, &rw);
    g_assert_cmphex(rw.address, ==, DMA_ADDR + PAGE);
    g_assert_cmpuint(rw.count, ==, PAGE);
    answer_read(f, &rw, host + PAGE);
    expect_done(&rd);
    cable_check_memory(f->c->soc, LOCAL, host, 3 * PAGE);

    qtest_bufwrite(f->c->soc, LOCAL, local, 3 * PAGE);
    start_block(&wr, DMA_ADDR, 3 * PAGE);
    receive_dma(f, VFU_DMA_WRITE, &rw);
    g_assert_cmphex(rw.address, ==, DMA_ADDR + PAGE);
    g_assert_cmpuint(rw.count, ==, PAGE);
    g_assert_cmpint(memcmp(f->p->msg.payload + sizeof(rw), local + PAGE,
                           PAGE), ==, 0);
    answer_write(f, &rw);
    expect_done(&wr);
    g_assert_cmpint(pread(fd, got, 3 * PAGE, 0), ==, 3 * PAGE);
    g_assert_cmpint(memcmp(got, local, PAGE), ==, 0);
    g_assert_cmpint(memcmp(got + PAGE, host + PAGE, PAGE), ==, 0);
    g_assert_cmpint(memcmp(got + 2 * PAGE, local + 2 * PAGE, PAGE), ==, 0);
    close(fd);
    stop(f);
}

static void test_readonly(void)
{
    Fixture *f = start("", CABLE_CAPS_ALL);
    QEdmaChan rd = channel(f, QEDMA_READ, 0);
    QEdmaChan wr = channel(f, QEDMA_WRITE, 0);
    g_autofree uint8_t *host = cable_pattern(PAGE, 9);
    g_autofree uint8_t *got = g_malloc(PAGE);
    int fd = cable_memfd(PAGE, true);

    g_assert_cmpint(pwrite(fd, host, PAGE, 0), ==, PAGE);
    g_assert_cmpint(cable_peer_dma_map(f->p, DMA_ADDR, PAGE, 0,
                                       VFU_DMA_MAP_READ, fd), ==, 0);
    start_block(&rd, DMA_ADDR, PAGE);
    expect_done(&rd);
    cable_check_memory(f->c->soc, LOCAL, host, PAGE);

    qtest_memset(f->c->soc, LOCAL, 0, PAGE);
    start_block(&wr, DMA_ADDR, PAGE);
    expect_halted(&wr, QEDMA_OK);
    g_assert_cmpint(pread(fd, got, PAGE, 0), ==, PAGE);
    g_assert_cmpint(memcmp(got, host, PAGE), ==, 0);
    close(fd);
    stop(f);
}

/*
 * The SoC's side of a channel does not reach the host's memory through the
 * outbound window: nobody would wait for such a store.
 */
static void test_through_window(void)
{
    Fixture *f = start("", CABLE_CAPS_ALL);
    uint64_t window = f->c->ep->addr_space;
    g_autofree uint8_t *host = cable_pattern(2 * PAGE, 10);
    g_autofree uint8_t *got = g_malloc(2 * PAGE);
    int fd = cable_memfd(2 * PAGE, true);
    QEdmaChan wr = channel(f, QEDMA_WRITE, 0);
    QEdmaChan rd = channel(f, QEDMA_READ, 0);

    g_assert_cmpint(pwrite(fd, host, 2 * PAGE, 0), ==, 2 * PAGE);
    g_assert_cmpint(cable_peer_dma_map(f->p, DMA_ADDR, 2 * PAGE, 0,
                                       READ_WRITE, fd), ==, 0);
    dw_ep_outbound(f->c->ep, 0, 0, window, DMA_ADDR, PAGE);
    cable_check_memory(f->c->soc, window, host, PAGE);

    qedma_start_block(&wr, window, DMA_ADDR + PAGE, PAGE, QEDMA_LOCAL_INT);
    expect_halted(&wr, QEDMA_ERR_LOCAL);
    qedma_start_block(&rd, DMA_ADDR + PAGE, window, PAGE, QEDMA_LOCAL_INT);
    expect_halted(&rd, QEDMA_ERR_LOCAL);
    qedma_start_list(&wr, window);
    expect_halted(&wr, QEDMA_ERR_LL_FETCH);
    g_assert_cmpint(pread(fd, got, 2 * PAGE, 0), ==, 2 * PAGE);
    g_assert_cmpint(memcmp(got, host, 2 * PAGE), ==, 0);
    close(fd);
    stop(f);
}

/* A list that writes the same bytes again and again */
static void start_cyclic(Fixture *f, QEdmaChan *ch, uint32_t size)
{
    uint8_t mem[2 * QEDMA_ELEMENT_SIZE];
    QEdmaList list;

    qedma_list_init(&list, QEDMA_MAP_UNROLL, mem, LIST);
    qedma_list_data(&list, LOCAL, DMA_ADDR, size, 0);
    qedma_list_jump(&list, LIST);
    qtest_bufwrite(f->c->soc, LIST, mem, sizeof(mem));
    qedma_start_list(ch, LIST);
}

/* The last request is on the wire before the answer to what forbids more. */
static void test_master_off(void)
{
    Fixture *f = start("", CABLE_CAPS_ALL);
    QEdmaChan wr = channel(f, QEDMA_WRITE, 0);
    uint16_t command = PCI_COMMAND_MEMORY;
    VfuRegionRW rw = {
        .offset = PCI_COMMAND, .region = VFU_REGION_CONFIG, .count = 2,
    };

    for (unsigned i = 0; i < 100; i++) {
        uint16_t id;
        VfuDmaRW dma;

        start_cyclic(f, &wr, PAGE);
        for (unsigned n = 0; n <= i % 3; n++) {
            receive_dma(f, VFU_DMA_WRITE, &dma);
            answer_write(f, &dma);
        }
        id = cable_peer_request(f->p, VFU_REGION_WRITE, 0, &rw, sizeof(rw),
                                &command, sizeof(command), NULL, 0);
        while (true) {
            g_assert_true(cable_peer_receive(f->p));
            if (f->p->msg.hdr.flags & VFU_F_REPLY) {
                g_assert_cmpuint(f->p->msg.hdr.id, ==, id);
                break;
            }
            memcpy(&dma, f->p->msg.payload, sizeof(dma));
            answer_write(f, &dma);
        }
        expect_halted(&wr, QEDMA_OK);
        g_assert_false(cable_peer_readable(f->p, 0));
        set_command(f->p, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    }
    stop(f);
}

/* No byte is stored in memory behind the answer that says it is unmapped. */
static void test_unmap(void)
{
    Fixture *f = start("", CABLE_CAPS_ALL);
    QEdmaChan wr = channel(f, QEDMA_WRITE, 0);
    g_autofree uint8_t *canary = g_malloc(4 * MiB);
    g_autofree uint8_t *got = g_malloc(4 * MiB);
    int fd = cable_memfd(4 * MiB, true);
    VfuDmaUnmap unmap = {
        .argsz = sizeof(unmap), .address = DMA_ADDR, .size = 4 * MiB,
    };

    qtest_memset(f->c->soc, LOCAL, 0x5a, 4 * MiB);
    for (unsigned i = 0; i < 50; i++) {
        uint8_t byte = 0;
        VfuDmaRW dma;

        memset(canary, i, 4 * MiB);
        g_assert_cmpint(pwrite(fd, &byte, 1, 0), ==, 1);
        g_assert_cmpint(cable_peer_dma_map(f->p, DMA_ADDR, 4 * MiB, 0,
                                           READ_WRITE, fd), ==, 0);
        start_cyclic(f, &wr, 4 * MiB);
        cable_wait(pread(fd, &byte, 1, 0) == 1 && byte == 0x5a);
        g_assert_cmpint(cable_peer_call(f->p, VFU_DMA_UNMAP, 0, &unmap,
                                        sizeof(unmap), NULL, 0, NULL, 0), ==,
                        0);
        g_assert_cmpint(pwrite(fd, canary, 4 * MiB, 0), ==, 4 * MiB);

        /* What is not mapped is asked for, and refused. */
        receive_dma(f, VFU_DMA_WRITE, &dma);
        reply_error(f, EFAULT);
        expect_halted(&wr, QEDMA_OK);
        g_assert_cmpint(pread(fd, got, 4 * MiB, 0), ==, 4 * MiB);
        g_assert_cmpint(memcmp(got, canary, 4 * MiB), ==, 0);
    }
    close(fd);
    stop(f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("pcie-cable-dma/request/size", test_request_size);
    qtest_add_func("pcie-cable-dma/request/errors", test_request_errors);
    qtest_add_func("pcie-cable-dma/request/late-answer", test_late_answer);
    qtest_add_func("pcie-cable-dma/request/off", test_off_while_waiting);
    qtest_add_func("pcie-cable-dma/memory/gap", test_gap);
    qtest_add_func("pcie-cable-dma/memory/readonly", test_readonly);
    qtest_add_func("pcie-cable-dma/memory/through-window",
                   test_through_window);
    qtest_add_func("pcie-cable-dma/end/master-off", test_master_off);
    qtest_add_func("pcie-cable-dma/end/unmap", test_unmap);
    return g_test_run();
}
