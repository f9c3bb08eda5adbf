/*
 * QTest of the PCIe cable: shared memory and interrupts on the wire
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The test is the client of the endpoint end, a raw socket.  It shares memory
 * and eventfds, good and bad ones, and looks at what the SoC's software sees.
 */
#include "qemu/osdep.h"
#include <sys/eventfd.h>
#include <sys/mman.h>
#include "libqos/pcie-cable.h"
#include "libqos/pcie-cable-peer.h"

#define WINDOW(c) ((c)->ep->addr_space)
#define TARGET_A (CABLE_RAM_BASE + 16 * MiB)
#define TARGET_B (CABLE_RAM_BASE + 20 * MiB)
/* PCI address that the outbound window shows */
#define DMA_ADDR 0x80000000ULL
#define DMA_SIZE (16 * KiB)
#define MSI_ADDR 0x8090040ULL
#define MSI_DATA 0x20
#define NUM_VECTORS 32
#define PAGE 4096
#define READ_WRITE (VFU_DMA_MAP_READ | VFU_DMA_MAP_WRITE)

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
    uint64_t id;

    f->p = cable_peer_connect(f->c->socket);
    g_assert_cmpint(cable_peer_version(f->p, 0, CABLE_CAPS_ALL), ==, 0);
    g_assert_cmpint(cable_peer_region_read(f->p, VFU_REGION_CONFIG, 0, 2,
                                           &id), ==, 0);
    g_assert_cmphex(id, ==, CABLE_VENDOR);
    set_command(f->p, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
}

static void disconnect_client(Fixture *f)
{
    cable_peer_close(f->p);
    cable_wait_link(f->c, false);
}

static Fixture *start(void)
{
    Fixture *f = g_new0(Fixture, 1);

    f->c = cable_new();
    cable_start_ep(f->c, "", "");
    cable_soc_setup(f->c, 0);
    dw_ep_outbound(f->c->ep, 0, 0, WINDOW(f->c), DMA_ADDR, DMA_SIZE);
    dw_ep_start_link(f->c->ep);
    f->idle_fds = cable_count_fds(f->c->soc);
    connect_client(f);
    return f;
}

/* The client leaves: nothing of it stays open. */
static void stop(Fixture *f)
{
    disconnect_client(f);
    cable_wait(cable_count_fds(f->c->soc) == f->idle_fds);
    cable_free(f->c);
    g_free(f);
}

/* The SoC's load and store, in a thread: the client may have to answer. */

typedef struct Access {
    Fixture *f;
    uint64_t offset;            /* in the window */
    uint32_t value;
    GThread *thread;
} Access;

static void *load_thread(void *opaque)
{
    Access *a = opaque;

    a->value = qtest_readl(a->f->c->soc, WINDOW(a->f->c) + a->offset);
    return NULL;
}

static void start_load(Access *a, Fixture *f, uint64_t offset)
{
    a->f = f;
    a->offset = offset;
    a->thread = g_thread_new("load", load_thread, a);
}

static uint32_t finish_load(Access *a)
{
    g_thread_join(a->thread);
    return a->value;
}

/* The next message is this DMA request; *rw is what it says. */
static void expect_dma(CablePeer *p, uint16_t command, uint64_t address,
                       uint64_t count, VfuDmaRW *rw)
{
    g_assert_true(cable_peer_receive(p));
    g_assert_cmphex(p->msg.hdr.command, ==, command);
    g_assert_cmphex(p->msg.hdr.flags, ==, VFU_F_REQUEST);
    g_assert_cmpuint(p->msg.len, ==, sizeof(*rw) +
                     (command == VFU_DMA_WRITE ? count : 0));
    memcpy(rw, p->msg.payload, sizeof(*rw));
    g_assert_cmphex(rw->address, ==, address);
    g_assert_cmpuint(rw->count, ==, count);
}

/* The SoC's load is a DMA_READ that the client answers. */
static void check_load_by_message(Fixture *f, uint64_t offset)
{
    uint32_t value = g_random_int();
    VfuDmaRW rw;
    Access a;

    start_load(&a, f, offset);
    expect_dma(f->p, VFU_DMA_READ, DMA_ADDR + offset, 4, &rw);
    cable_peer_reply(f->p, &f->p->msg.hdr, &rw, sizeof(rw), &value,
                     sizeof(value));
    g_assert_cmphex(finish_load(&a), ==, value);
}

/* Memory of the host */

static void test_map(void)
{
    Fixture *f = start();
    g_autofree void *host = cable_pattern(2 * PAGE, 1);
    g_autofree void *soc = cable_pattern(PAGE, 2);
    g_autofree void *got = g_malloc(PAGE);
    VfuDmaUnmap unmap = {
        .argsz = sizeof(unmap), .address = DMA_ADDR, .size = 2 * PAGE,
    };
    int fd = cable_memfd(4 * PAGE, true);

    g_assert_cmpint(pwrite(fd, host, 2 * PAGE, PAGE), ==, 2 * PAGE);
    g_assert_cmpint(cable_peer_dma_map(f->p, DMA_ADDR, 2 * PAGE, PAGE,
                                       READ_WRITE, fd), ==, 0);
    cable_check_memory(f->c->soc, WINDOW(f->c), host, 2 * PAGE);
    qtest_bufwrite(f->c->soc, WINDOW(f->c) + PAGE, soc, PAGE);
    g_assert_cmpint(pread(fd, got, PAGE, 2 * PAGE), ==, PAGE);
    g_assert_cmpint(memcmp(got, soc, PAGE), ==, 0);
    check_load_by_message(f, 2 * PAGE);

    /* Bus mastering hides it. */
    set_command(f->p, PCI_COMMAND_MEMORY);
    g_assert_cmphex(qtest_readl(f->c->soc, WINDOW(f->c)), ==, UINT32_MAX);
    qtest_writel(f->c->soc, WINDOW(f->c), 0xbad);
    set_command(f->p, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    cable_check_memory(f->c->soc, WINDOW(f->c), host, PAGE);

    /* Only what was mapped can be unmapped, and then it is gone. */
    unmap.size = PAGE;
    g_assert_cmpint(cable_peer_call(f->p, VFU_DMA_UNMAP, 0, &unmap,
                                    sizeof(unmap), NULL, 0, NULL, 0), ==,
                    ENOENT);
    unmap.size = 2 * PAGE;
    g_assert_cmpint(cable_peer_call(f->p, VFU_DMA_UNMAP, 0, &unmap,
                                    sizeof(unmap), NULL, 0, NULL, 0), ==, 0);
    check_load_by_message(f, 0);

    /* All at once */
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmpint(cable_peer_dma_map(f->p, DMA_ADDR + i * PAGE, PAGE,
                                           i * PAGE, READ_WRITE, fd), ==, 0);
    }
    cable_check_memory(f->c->soc, WINDOW(f->c) + PAGE, host, PAGE);
    unmap = (VfuDmaUnmap) {
        .argsz = sizeof(unmap), .flags = VFU_DMA_UNMAP_ALL,
    };
    g_assert_cmpint(cable_peer_call(f->p, VFU_DMA_UNMAP, 0, &unmap,
                                    sizeof(unmap), NULL, 0, NULL, 0), ==, 0);
    check_load_by_message(f, PAGE);
    close(fd);
    stop(f);
}

/* What is mapped read-only cannot be changed by the SoC. */
static void test_map_readonly(void)
{
    Fixture *f = start();
    g_autofree void *host = cable_pattern(PAGE, 3);
    int fd = cable_memfd(PAGE, true);
    g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
    int readonly = open(path, O_RDONLY | O_CLOEXEC);
    int fds[] = { fd, readonly };
    uint32_t value;
    VfuDmaRW rw;

    g_assert_cmpint(pwrite(fd, host, PAGE, 0), ==, PAGE);
    for (unsigned i = 0; i < ARRAY_SIZE(fds); i++) {
        g_assert_cmpint(cable_peer_dma_map(f->p, DMA_ADDR + i * PAGE, PAGE, 0,
                                           VFU_DMA_MAP_READ, fds[i]), ==, 0);
        cable_check_memory(f->c->soc, WINDOW(f->c) + i * PAGE, host, PAGE);
        qtest_writel(f->c->soc, WINDOW(f->c) + i * PAGE, 0xbad);
        cable_check_memory(f->c->soc, WINDOW(f->c) + i * PAGE, host, PAGE);
    }
    g_assert_cmpint(pread(fd, &value, sizeof(value), 0), ==, sizeof(value));
    g_assert_cmphex(value, ==, *(uint32_t *)host);

    /* A descriptor for reading only is no memory to write to. */
    g_assert_cmpint(cable_peer_dma_map(f->p, DMA_ADDR + 2 * PAGE, PAGE, 0,
                                       READ_WRITE, readonly), ==, 0);
    check_load_by_message(f, 2 * PAGE);
    qtest_writel(f->c->soc, WINDOW(f->c) + 2 * PAGE, 0x1234);
    expect_dma(f->p, VFU_DMA_WRITE, DMA_ADDR + 2 * PAGE, 4, &rw);
    memcpy(&value, f->p->msg.payload + sizeof(rw), sizeof(value));
    g_assert_cmphex(value, ==, 0x1234);
    cable_peer_reply(f->p, &f->p->msg.hdr, &rw, sizeof(rw), NULL, 0);
    close(readonly);
    close(fd);
    stop(f);
}

/* Descriptors that could fault or vanish are not mapped but not an error. */
static void test_map_bad_fds(void)
{
    Fixture *f = start();
    g_autofree char *name = g_build_filename(f->c->dir, "file", NULL);
    int pipes[2], sockets[2];
    int fds[6];

    g_assert_cmpint(pipe(pipes), ==, 0);
    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), ==, 0);
    fds[0] = pipes[0];
    fds[1] = sockets[0];
    fds[2] = eventfd(0, EFD_CLOEXEC);
    fds[3] = cable_memfd(PAGE, false);
    fds[4] = cable_memfd(PAGE / 2, true);
    fds[5] = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    g_assert_cmpint(ftruncate(fds[5], PAGE), ==, 0);

    for (unsigned i = 0; i < ARRAY_SIZE(fds); i++) {
        VfuDmaUnmap unmap = {
            .argsz = sizeof(unmap), .flags = VFU_DMA_UNMAP_ALL,
        };

        g_assert_cmpint(cable_peer_dma_map(f->p, DMA_ADDR, PAGE, 0,
                                           READ_WRITE, fds[i]), ==, 0);
        check_load_by_message(f, 0);
        g_assert_cmpint(cable_peer_call(f->p, VFU_DMA_UNMAP, 0, &unmap,
                                        sizeof(unmap), NULL, 0, NULL, 0), ==,
                        0);
        close(fds[i]);
    }
    /* Beyond the end of the file */
    fds[0] = cable_memfd(2 * PAGE, true);
    g_assert_cmpint(cable_peer_dma_map(f->p, DMA_ADDR, 2 * PAGE, PAGE,
                                       READ_WRITE, fds[0]), ==, 0);
    check_load_by_message(f, 0);
    close(fds[0]);
    close(pipes[1]);
    close(sockets[1]);
    unlink(name);
    stop(f);
}

static void test_map_values(void)
{
    static const struct {
        uint64_t address, size, offset;
        uint32_t flags;
        int error;
    } maps[] = {
        { DMA_ADDR, 0, 0, READ_WRITE, EINVAL },
        { DMA_ADDR + 1, PAGE, 0, READ_WRITE, EINVAL },
        { DMA_ADDR, PAGE + 1, 0, READ_WRITE, EINVAL },
        { DMA_ADDR, PAGE, 1, READ_WRITE, EINVAL },
        { DMA_ADDR, PAGE, 0, 4, EINVAL },
        { DMA_ADDR, PAGE, 0, UINT32_MAX, EINVAL },
        { -(uint64_t)PAGE, 2 * PAGE, 0, READ_WRITE, EINVAL },
        { DMA_ADDR, -(uint64_t)PAGE, 0, READ_WRITE, EINVAL },
        { DMA_ADDR, 2 * PAGE, 0, READ_WRITE, 0 },
        { DMA_ADDR, 2 * PAGE, 0, READ_WRITE, EEXIST },
        { DMA_ADDR + PAGE, PAGE, 0, READ_WRITE, EEXIST },
        { DMA_ADDR - PAGE, 2 * PAGE, 0, READ_WRITE, EEXIST },
        { DMA_ADDR - PAGE, PAGE, 0, READ_WRITE, 0 },
        /* Far beyond what the file has: by message */
        { 1ULL << 62, 1ULL << 60, 0, READ_WRITE, 0 },
        { 1ULL << 61, PAGE, -(uint64_t)PAGE, READ_WRITE, 0 },
        { -(uint64_t)PAGE, PAGE, 0, READ_WRITE, 0 },
    };
    Fixture *f = start();
    int fd = cable_memfd(2 * PAGE, true);
    VfuDmaMap map = { .argsz = sizeof(map) - 1, .size = PAGE };
    VfuDmaUnmap unmap = { .argsz = sizeof(unmap), .flags = 1 };

    for (unsigned i = 0; i < ARRAY_SIZE(maps); i++) {
        g_assert_cmpint(cable_peer_dma_map(f->p, maps[i].address,
                                           maps[i].size, maps[i].offset,
                                           maps[i].flags, fd), ==,
                        maps[i].error);
    }
    g_assert_cmpint(cable_peer_call(f->p, VFU_DMA_MAP, 0, &map, sizeof(map),
                                    NULL, 0, NULL, 0), ==, EINVAL);
    g_assert_cmpint(cable_peer_call(f->p, VFU_DMA_UNMAP, 0, &unmap,
                                    sizeof(unmap), NULL, 0, NULL, 0), ==,
                    EINVAL);
    unmap.flags = VFU_DMA_UNMAP_ALL;
    unmap.size = PAGE;
    g_assert_cmpint(cable_peer_call(f->p, VFU_DMA_UNMAP, 0, &unmap,
                                    sizeof(unmap), NULL, 0, NULL, 0), ==,
                    EINVAL);
    cable_check_memory(f->c->soc, WINDOW(f->c), (uint8_t[PAGE]) { }, PAGE);
    close(fd);
    stop(f);
}

/* As many maps as there may be, and no more */
static void test_map_many(void)
{
    Fixture *f = start();

    for (unsigned i = 0; i < VFU_MAX_DMA_MAPS; i++) {
        g_assert_cmpint(cable_peer_dma_map(f->p, (uint64_t)i * PAGE, PAGE, 0,
                                           READ_WRITE, -1), ==, 0);
    }
    g_assert_cmpint(cable_peer_dma_map(f->p, 1ULL << 40, PAGE, 0, READ_WRITE,
                                       -1), ==, ENOSPC);
    stop(f);
}

/* Answers to the SoC's requests */

static void test_dma_replies(void)
{
    Fixture *f = start();
    VfuDmaRW rw;
    Access a;

    check_load_by_message(f, 0);

    /* An error is an Unsupported Request. */
    start_load(&a, f, 8);
    expect_dma(f->p, VFU_DMA_READ, DMA_ADDR + 8, 4, &rw);
    f->p->msg.hdr.flags = VFU_F_REPLY | VFU_F_ERROR;
    f->p->msg.hdr.error = EFAULT;
    f->p->msg.hdr.size = sizeof(VfuHdr);
    cable_peer_send_raw(f->p, &f->p->msg.hdr, sizeof(VfuHdr), NULL, 0);
    g_assert_cmphex(finish_load(&a), ==, UINT32_MAX);
    check_load_by_message(f, 0);

    /* Completions may come in any order of posted and non-posted. */
    qtest_writel(f->c->soc, WINDOW(f->c), 1);
    expect_dma(f->p, VFU_DMA_WRITE, DMA_ADDR, 4, &rw);
    {
        VfuHdr write = f->p->msg.hdr;
        VfuDmaRW write_rw = rw;

        check_load_by_message(f, 16);
        cable_peer_reply(f->p, &write, &write_rw, sizeof(write_rw), NULL, 0);
    }

    /* Data of another length: the link goes, the load ends. */
    for (int wrong = -1; wrong <= 1; wrong += 2) {
        uint8_t data[8] = { };

        start_load(&a, f, 0);
        expect_dma(f->p, VFU_DMA_READ, DMA_ADDR, 4, &rw);
        cable_peer_reply(f->p, &f->p->msg.hdr, &rw, sizeof(rw), data,
                         4 + wrong);
        g_assert_cmphex(finish_load(&a), ==, UINT32_MAX);
        cable_peer_expect_close(f->p);
        disconnect_client(f);
        connect_client(f);
    }

    /* The same answer twice, and the answer to another command */
    start_load(&a, f, 0);
    expect_dma(f->p, VFU_DMA_READ, DMA_ADDR, 4, &rw);
    f->p->msg.hdr.command = VFU_DMA_WRITE;
    cable_peer_reply(f->p, &f->p->msg.hdr, &rw, sizeof(rw), &rw, 4);
    g_assert_cmphex(finish_load(&a), ==, UINT32_MAX);
    cable_peer_expect_close(f->p);
    disconnect_client(f);
    connect_client(f);

    start_load(&a, f, 0);
    expect_dma(f->p, VFU_DMA_READ, DMA_ADDR, 4, &rw);
    cable_peer_reply(f->p, &f->p->msg.hdr, &rw, sizeof(rw), &rw, 4);
    cable_peer_reply(f->p, &f->p->msg.hdr, &rw, sizeof(rw), &rw, 4);
    finish_load(&a);
    cable_peer_expect_close(f->p);
    disconnect_client(f);
    connect_client(f);
    check_load_by_message(f, 0);
    stop(f);
}

/* Descriptors that came with the wrong message or in the wrong number */
static void test_stray_fds(void)
{
    Fixture *f = start();
    VfuDeviceInfo info = { .argsz = sizeof(info) };
    VfuDmaMap map = {
        .argsz = sizeof(map), .flags = READ_WRITE, .address = DMA_ADDR,
        .size = PAGE,
    };
    unsigned connected = cable_count_fds(f->c->soc);
    int fds[VFU_MAX_FDS + 1];

    for (unsigned i = 0; i < ARRAY_SIZE(fds); i++) {
        fds[i] = cable_memfd(PAGE, true);
    }
    for (unsigned i = 1; i <= VFU_MAX_FDS; i++) {
        g_assert_cmpint(cable_peer_call(f->p, VFU_DEVICE_GET_INFO, 0, &info,
                                        sizeof(info), NULL, 0, fds, i), ==,
                        0);
    }
    cable_wait(cable_count_fds(f->c->soc) == connected);

    g_assert_cmpint(cable_peer_call(f->p, VFU_DMA_MAP, 0, &map, sizeof(map),
                                    NULL, 0, fds, 2), ==, -1);
    disconnect_client(f);
    connect_client(f);
    g_assert_cmpint(cable_peer_call(f->p, VFU_DEVICE_GET_INFO, 0, &info,
                                    sizeof(info), NULL, 0, fds,
                                    VFU_MAX_FDS + 1), ==, -1);
    disconnect_client(f);
    connect_client(f);

    /* With the first byte of a message that never ends */
    cable_peer_send_raw(f->p, &map, 1, fds, 4);
    for (unsigned i = 0; i < ARRAY_SIZE(fds); i++) {
        close(fds[i]);
    }
    stop(f);
}

/* Interrupts */

static int set_irqs(CablePeer *p, uint32_t flags, uint32_t index,
                    uint32_t start, uint32_t count, const int *fds,
                    unsigned nfds)
{
    VfuIrqSet set = {
        .argsz = sizeof(set), .flags = flags, .index = index,
        .start = start, .count = count,
    };

    return cable_peer_call(p, VFU_DEVICE_SET_IRQS, 0, &set, sizeof(set),
                           NULL, 0, fds, nfds);
}

#define EVENTFDS (VFU_IRQ_SET_DATA_EVENTFD | VFU_IRQ_SET_ACTION_TRIGGER)
#define NO_FDS (VFU_IRQ_SET_DATA_NONE | VFU_IRQ_SET_ACTION_TRIGGER)

static void enable_msi(CablePeer *p)
{
    unsigned cap = DW_PCIE_CAP_MSI;

    g_assert_cmpint(cable_peer_region_write(p, VFU_REGION_CONFIG, cap +
                                            PCI_MSI_ADDRESS_LO, 8, MSI_ADDR),
                    ==, 0);
    g_assert_cmpint(cable_peer_region_write(p, VFU_REGION_CONFIG, cap +
                                            PCI_MSI_DATA_64, 2, MSI_DATA),
                    ==, 0);
    g_assert_cmpint(cable_peer_region_write(p, VFU_REGION_CONFIG, cap +
                                            PCI_MSI_FLAGS, 2,
                                            PCI_MSI_FLAGS_ENABLE | 5 << 4),
                    ==, 0);
}

static void test_irqs(void)
{
    Fixture *f = start();
    int fds[NUM_VECTORS];
    uint64_t count;
    VfuDmaRW rw;

    for (unsigned v = 0; v < NUM_VECTORS; v++) {
        fds[v] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    }
    enable_msi(f->p);
    g_assert_cmpint(set_irqs(f->p, EVENTFDS, VFU_IRQ_MSI, 0, 16, fds, 16), ==,
                    0);
    g_assert_cmpint(set_irqs(f->p, EVENTFDS, VFU_IRQ_MSI, 16, 16, fds + 16,
                             16), ==, 0);
    for (unsigned v = 0; v < NUM_VECTORS; v++) {
        g_assert_true(dw_ep_raise_msi(f->c->ep, 1, 0, WINDOW(f->c) + MiB, v));
        for (unsigned n = 0; n < NUM_VECTORS; n++) {
            ssize_t got = read(fds[n], &count, sizeof(count));

            g_assert_cmpint(got, ==, n == v ? (ssize_t)sizeof(count) : -1);
        }
        g_assert_cmpuint(count, ==, 1);
    }
    /* No message was sent for any of them. */
    g_assert_false(cable_peer_readable(f->p, 0));

    /* Behind a posted write: not before the host has answered that. */
    qtest_writel(f->c->soc, WINDOW(f->c), 1);
    dw_ep_raise_msi(f->c->ep, 1, 0, WINDOW(f->c) + MiB, 3);
    expect_dma(f->p, VFU_DMA_WRITE, DMA_ADDR, 4, &rw);
    g_assert_cmpint(read(fds[3], &count, sizeof(count)), ==, -1);
    cable_peer_reply(f->p, &f->p->msg.hdr, &rw, sizeof(rw), NULL, 0);
    cable_wait(read(fds[3], &count, sizeof(count)) == sizeof(count));

    /* Triggered by the client itself, replaced and taken away */
    g_assert_cmpint(set_irqs(f->p, NO_FDS, VFU_IRQ_MSI, 4, 2, NULL, 0), ==,
                    0);
    g_assert_cmpint(read(fds[4], &count, sizeof(count)), ==, sizeof(count));
    g_assert_cmpint(read(fds[5], &count, sizeof(count)), ==, sizeof(count));
    g_assert_cmpint(set_irqs(f->p, EVENTFDS, VFU_IRQ_MSI, 6, 1, NULL, 0), ==,
                    0);
    g_assert_cmpint(set_irqs(f->p, EVENTFDS, VFU_IRQ_MSI, 7, 1, fds + 8, 1),
                    ==, 0);
    dw_ep_raise_msi(f->c->ep, 1, 0, WINDOW(f->c) + MiB, 6);
    dw_ep_raise_msi(f->c->ep, 1, 0, WINDOW(f->c) + MiB, 7);
    g_assert_cmpint(read(fds[6], &count, sizeof(count)), ==, -1);
    g_assert_cmpint(read(fds[7], &count, sizeof(count)), ==, -1);
    g_assert_cmpint(read(fds[8], &count, sizeof(count)), ==, sizeof(count));
    g_assert_cmpint(set_irqs(f->p, NO_FDS, VFU_IRQ_MSI, 0, 0, NULL, 0), ==,
                    0);
    dw_ep_raise_msi(f->c->ep, 1, 0, WINDOW(f->c) + MiB, 8);
    g_assert_cmpint(read(fds[8], &count, sizeof(count)), ==, -1);
    for (unsigned v = 0; v < NUM_VECTORS; v++) {
        close(fds[v]);
    }
    stop(f);
}

static void test_irq_values(void)
{
    static const struct {
        uint32_t flags, index, start, count;
    } bad[] = {
        { 0, VFU_IRQ_MSI, 0, 1 },
        { VFU_IRQ_SET_DATA_EVENTFD | VFU_IRQ_SET_ACTION_MASK, VFU_IRQ_MSI, 0,
          1 },
        { EVENTFDS | 0x40, VFU_IRQ_MSI, 0, 1 },
        { UINT32_MAX, VFU_IRQ_MSI, 0, 1 },
        { VFU_IRQ_SET_DATA_BOOL | VFU_IRQ_SET_ACTION_TRIGGER, VFU_IRQ_MSI, 0,
          1 },
        { EVENTFDS, VFU_IRQ_MSIX, 0, 1 },
        { EVENTFDS, VFU_IRQ_INTX, 0, 1 },
        { EVENTFDS, VFU_NUM_IRQS, 0, 0 },
        { EVENTFDS, UINT32_MAX, 0, 1 },
        { EVENTFDS, VFU_IRQ_MSI, 32, 1 },
        { EVENTFDS, VFU_IRQ_MSI, 31, 2 },
        { EVENTFDS, VFU_IRQ_MSI, UINT32_MAX, 1 },
        { EVENTFDS, VFU_IRQ_MSI, 1, UINT32_MAX },
        { NO_FDS, VFU_IRQ_MSI, UINT32_MAX, UINT32_MAX },
        { EVENTFDS, VFU_IRQ_MSI, 0, 2 },
    };
    Fixture *f = start();
    unsigned connected = cable_count_fds(f->c->soc);
    int fd = eventfd(0, EFD_CLOEXEC);
    int wrong[2];

    for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
        g_assert_cmpint(set_irqs(f->p, bad[i].flags, bad[i].index,
                                 bad[i].start, bad[i].count, &fd, 1), ==,
                        EINVAL);
    }
    cable_wait(cable_count_fds(f->c->soc) == connected);

    /* Anything but an eventfd could block the SoC's doorbell. */
    g_assert_cmpint(pipe(wrong), ==, 0);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpint(set_irqs(f->p, EVENTFDS, VFU_IRQ_MSI, 0, 1,
                                 &wrong[i], 1), ==, -1);
        close(wrong[i]);
        disconnect_client(f);
        connect_client(f);
    }
    wrong[0] = cable_memfd(PAGE, true);
    g_assert_cmpint(set_irqs(f->p, EVENTFDS, VFU_IRQ_MSI, 0, 1, wrong, 1), ==,
                    -1);
    close(wrong[0]);
    disconnect_client(f);
    connect_client(f);

    /* A counter that is full must not block either. */
    enable_msi(f->p);
    g_assert_cmpint(eventfd_write(fd, UINT64_MAX - 1), ==, 0);
    g_assert_cmpint(set_irqs(f->p, EVENTFDS, VFU_IRQ_MSI, 0, 1, &fd, 1), ==,
                    0);
    dw_ep_raise_msi(f->c->ep, 1, 0, WINDOW(f->c) + MiB, 0);
    close(fd);
    stop(f);
}

/* Pages of the BARs */

static void check_remap(CablePeer *p, uint64_t offset, const void *expected)
{
    void *page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, p->msg.fds[0],
                      p->remap.fd_offset + offset);

    g_assert_true(page != MAP_FAILED);
    g_assert_cmpint(memcmp(page, expected, PAGE), ==, 0);
    munmap(page, PAGE);
}

static void take_remap(CablePeer *p)
{
    g_assert_true(cable_peer_receive(p));
    g_assert_cmphex(p->msg.hdr.command, ==, VFU_REGION_REMAP);
    g_assert_cmphex(p->msg.hdr.flags & VFU_F_TYPE, ==, VFU_F_REQUEST);
    g_assert_cmpuint(p->msg.len, ==, sizeof(p->remap));
    memcpy(&p->remap, p->msg.payload, sizeof(p->remap));
    g_assert_cmpuint(p->remap.argsz, ==, sizeof(p->remap));
    g_assert_cmpuint(p->msg.nfds, ==, p->remap.flags ? 1 : 0);
}

typedef struct Retarget {
    PCIeCable *c;
    uint64_t target;
    bool done;                  /* atomic */
} Retarget;

static void *retarget_thread(void *opaque)
{
    Retarget *r = opaque;

    dw_ep_atu_writel(r->c->ep, DW_EP_INBOUND, 0, DW_PCIE_ATU_LOWER_TARGET,
                     r->target);
    qatomic_set(&r->done, true);
    return NULL;
}

/* The SoC's iATU write ends when the client has acknowledged. */
static void test_remap(void)
{
    Fixture *f = start();
    g_autofree void *a = cable_pattern(PAGE, 4);
    g_autofree void *b = cable_pattern(PAGE, 5);
    Retarget r = { .c = f->c, .target = TARGET_B };
    GThread *thread;
    VfuHdr unmap;

    qtest_bufwrite(f->c->soc, TARGET_A + PAGE, a, PAGE);
    qtest_bufwrite(f->c->soc, TARGET_B + PAGE, b, PAGE);
    disconnect_client(f);
    dw_ep_inbound_bar_match(f->c->ep, 0, 0, 2, TARGET_A);

    /* What is set up already is told when the link comes up. */
    f->p = cable_peer_connect(f->c->socket);
    g_assert_cmpint(cable_peer_version(f->p, 0, CABLE_CAPS_ALL), ==, 0);
    g_assert_true(cable_peer_receive(f->p));
    g_assert_cmphex(f->p->msg.hdr.command, ==, VFU_LINK_STATE);
    take_remap(f->p);
    g_assert_cmpuint(f->p->remap.region, ==, 2);
    g_assert_cmphex(f->p->remap.offset, ==, 0);
    g_assert_cmphex(f->p->remap.size, ==, CABLE_BAR_SIZE);
    g_assert_cmphex(f->p->remap.flags, ==, VFU_REMAP_READ | VFU_REMAP_WRITE);
    check_remap(f->p, PAGE, a);
    cable_peer_reply(f->p, &f->p->msg.hdr, NULL, 0, NULL, 0);

    thread = g_thread_new("retarget", retarget_thread, &r);
    take_remap(f->p);
    g_assert_cmphex(f->p->remap.flags, ==, 0);
    g_assert_cmphex(f->p->remap.size, ==, CABLE_BAR_SIZE);
    unmap = f->p->msg.hdr;
    take_remap(f->p);
    check_remap(f->p, PAGE, b);
    cable_peer_reply(f->p, &f->p->msg.hdr, NULL, 0, NULL, 0);
    g_usleep(50 * 1000);
    g_assert_false(qatomic_read(&r.done));
    cable_peer_reply(f->p, &unmap, NULL, 0, NULL, 0);
    g_thread_join(thread);

    /* An error says that the client traps, which is as good. */
    r.target = TARGET_A;
    thread = g_thread_new("retarget", retarget_thread, &r);
    for (unsigned i = 0; i < 2; i++) {
        VfuHdr reply;

        take_remap(f->p);
        reply = (VfuHdr) {
            .id = f->p->msg.hdr.id, .command = VFU_REGION_REMAP,
            .size = sizeof(reply), .flags = VFU_F_REPLY | VFU_F_ERROR,
            .error = ENOMEM,
        };
        cable_peer_send_raw(f->p, &reply, sizeof(reply), NULL, 0);
    }
    g_thread_join(thread);
    set_command(f->p, PCI_COMMAND_MEMORY);
    stop(f);
}

/* One that never acknowledges is cut off, and the SoC goes on. */
static void test_remap_ignored(void)
{
    Fixture *f = start();
    Retarget r = { .c = f->c, .target = TARGET_B };
    GThread *thread;

    dw_ep_disable_atu(f->c->ep, DW_EP_INBOUND, 0);
    disconnect_client(f);
    dw_ep_inbound_bar_match(f->c->ep, 0, 0, 2, TARGET_A);
    connect_client(f);
    f->p->ignore_remaps = true;
    thread = g_thread_new("retarget", retarget_thread, &r);
    cable_peer_expect_close(f->p);
    g_thread_join(thread);
    g_assert_cmpuint(f->p->remaps, ==, 3);
    disconnect_client(f);
    connect_client(f);
    stop(f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);

    qtest_add_func("/pcie-cable-proto-dma/map/good", test_map);
    qtest_add_func("/pcie-cable-proto-dma/map/readonly", test_map_readonly);
    qtest_add_func("/pcie-cable-proto-dma/map/bad-fds", test_map_bad_fds);
    qtest_add_func("/pcie-cable-proto-dma/map/values", test_map_values);
    qtest_add_func("/pcie-cable-proto-dma/map/many", test_map_many);
    qtest_add_func("/pcie-cable-proto-dma/replies", test_dma_replies);
    qtest_add_func("/pcie-cable-proto-dma/stray-fds", test_stray_fds);
    qtest_add_func("/pcie-cable-proto-dma/irqs/good", test_irqs);
    qtest_add_func("/pcie-cable-proto-dma/irqs/values", test_irq_values);
    qtest_add_func("/pcie-cable-proto-dma/remap/acknowledged", test_remap);
    qtest_add_func("/pcie-cable-proto-dma/remap/ignored",
                   test_remap_ignored);

    return g_test_run();
}
