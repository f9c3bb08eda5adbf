/*
 * QTest of the PCIe cable: the wire protocol against the RC end
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The test is the server, a made-up endpoint.  After everything hostile that
 * it says the machine must be alive, must come back for a good endpoint and
 * must have as many open file descriptors as before.
 */
#include "qemu/osdep.h"
#include "libqos/pcie-cable.h"
#include "libqos/pcie-cable-peer.h"
#include "libqos/pcie-cable-server.h"

#define BAR2 cable_bar(0, 2)
#define MSI_CAP CABLE_SERVER_CAP_MSI
#define MSI_NOWHERE 0x3ffff000ULL
/* What the made-up endpoint answers to reads of BARs */
#define ANSWER 0x5a5a5a5a
/* Where an MSI is a write to RAM of the host */
#define MSI_OFFSET (8 * MiB)
#define MSI_DATA 0x4a20
#define PAGE 4096
#define READ_WRITE (VFU_REMAP_READ | VFU_REMAP_WRITE)

typedef struct Fixture {
    PCIeCable *c;
    CableServer *s;
    CableServer good;           /* how a good endpoint looks */
    unsigned connected_fds;
} Fixture;

/* The function is there and works. */
static void check_function(Fixture *f)
{
    cable_wait(cable_rc_link_up(f->c));
    cable_port_setup(f->c);
    cable_host_setup(f->c, 0);
    g_assert_cmphex(cable_cfg_readl(f->c, 0, PCI_VENDOR_ID), ==,
                    CABLE_VENDOR | CABLE_DEVICE << 16);
    g_assert_cmphex(qtest_readl(f->c->rc, BAR2), ==, ANSWER);
    g_assert_cmphex(qtest_readw(f->c->rc, cable_bar(0, 4) + 2), ==,
                    (uint16_t)ANSWER);
}

static void be_good(Fixture *f)
{
    f->s->json = f->good.json;
    f->s->major = 0;
    f->s->info_extra = f->s->read_extra = 0;
    qatomic_set(&f->s->mute, false);
    memcpy(f->s->config, f->good.config, sizeof(f->good.config));
    memcpy(f->s->bar_size, f->good.bar_size, sizeof(f->good.bar_size));
}

/* The connection closes; the RC end has noticed. */
static void hang_up(Fixture *f)
{
    cable_server_hang_up(f->s);
    cable_wait(!cable_rc_link_up(f->c));
}

static Fixture *start(const char *json, const char *props)
{
    Fixture *f = g_new0(Fixture, 1);

    f->c = cable_new();
    f->s = cable_server_new(f->c->socket);
    f->s->json = json;
    f->good = *f->s;
    cable_server_accept(f->s);
    cable_start_rc(f->c, props, "");
    check_function(f);
    f->connected_fds = cable_count_fds(f->c->rc);
    return f;
}

static void stop(Fixture *f)
{
    cable_quit_rc(f->c);
    cable_server_free(f->s);
    cable_free(f->c);
    g_free(f);
}

/* The RC end has closed; it comes again and finds a good endpoint. */
static void check_recovered(Fixture *f)
{
    cable_server_wait_close(f->s);
    cable_wait(!cable_rc_link_up(f->c));
    be_good(f);
    cable_server_accept(f->s);
    check_function(f);
    cable_wait(cable_count_fds(f->c->rc) == f->connected_fds);
}

/* A good endpoint */

static void test_good(void)
{
    Fixture *f = start(CABLE_CAPS_ALL, "");
    g_autofree void *data = cable_pattern(PAGE, 1);
    g_autofree void *seen = g_malloc(PAGE);
    unsigned resets = f->s->resets;

    /* Bus mastering is on: RAM of the host was shared, all of it. */
    g_assert_cmpuint(f->s->maps, ==, 1);
    g_assert_cmphex(f->s->map.address, ==, CABLE_RAM_BASE);
    g_assert_cmphex(f->s->map.size, ==, CABLE_RAM_SIZE);
    qtest_bufwrite(f->c->rc, CABLE_RAM_BASE + MiB, data, PAGE);
    g_assert_cmpint(pread(f->s->map_fd, seen, PAGE, f->s->map.offset + MiB),
                    ==, PAGE);
    g_assert_cmpint(memcmp(seen, data, PAGE), ==, 0);

    /* It is taken back before the config write is done. */
    cable_cfg_writew(f->c, 0, PCI_COMMAND, PCI_COMMAND_MEMORY);
    g_assert_cmpuint(f->s->unmaps, ==, 1);
    cable_cfg_writew(f->c, 0, PCI_COMMAND,
                     PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    g_assert_cmpuint(f->s->maps, ==, 2);

    /* Posted writes of each size */
    qtest_writeq(f->c->rc, BAR2 + 0x100, 0x1122334455667788);
    qtest_readl(f->c->rc, BAR2);
    g_assert_cmpuint(f->s->write.region, ==, 2);
    g_assert_cmphex(f->s->write.offset, ==, 0x100);
    g_assert_cmpuint(f->s->write.count, ==, 8);
    g_assert_cmphex(f->s->write_value, ==, 0x1122334455667788);
    qtest_writeb(f->c->rc, cable_bar(0, 4) + 255, 0xab);
    qtest_readl(f->c->rc, BAR2);
    g_assert_cmpuint(f->s->write.region, ==, 4);
    g_assert_cmphex(f->s->write.offset, ==, 255);
    g_assert_cmphex(f->s->write_value, ==, 0xab);

    cable_hot_reset(f->c);
    cable_cfg_readl(f->c, 0, PCI_VENDOR_ID);
    g_assert_cmpuint(f->s->resets, ==, resets + 1);
    stop(f);
}

static void enable_msi(PCIeCable *c, unsigned log2_vectors)
{
    cable_cfg_writel(c, 0, MSI_CAP + PCI_MSI_ADDRESS_LO, MSI_NOWHERE);
    cable_cfg_writel(c, 0, MSI_CAP + PCI_MSI_MASK_64, UINT32_MAX);
    cable_cfg_writew(c, 0, MSI_CAP + PCI_MSI_FLAGS,
                     PCI_MSI_FLAGS_ENABLE | log2_vectors << 4 |
                     5 << 1 | PCI_MSI_FLAGS_64BIT | PCI_MSI_FLAGS_MASKBIT);
}

static unsigned count_irq_fds(CableServer *s)
{
    unsigned n = 0;

    for (unsigned i = 0; i < CABLE_SERVER_VECTORS; i++) {
        n += s->irq_fds[i] >= 0;
    }
    return n;
}

static void check_vectors(Fixture *f)
{
    uint64_t one = 1;

    for (unsigned v = 0; v < CABLE_SERVER_VECTORS; v++) {
        uint32_t seen = v ? MAKE_64BIT_MASK(0, v) : 0;

        g_assert_cmphex(cable_cfg_readl(f->c, 0, MSI_CAP +
                                        PCI_MSI_PENDING_64), ==, seen);
        g_assert_cmpint(write(f->s->irq_fds[v], &one, sizeof(one)), ==,
                        sizeof(one));
        cable_wait(cable_cfg_readl(f->c, 0, MSI_CAP + PCI_MSI_PENDING_64) ==
                   (seen | 1u << v));
    }
}

static void test_irqs(void)
{
    Fixture *f = start(CABLE_CAPS_ALL, "");

    enable_msi(f->c, 5);
    g_assert_cmpuint(count_irq_fds(f->s), ==, 32);
    g_assert_cmpuint(f->s->max_irq_fds, <=, VFU_MAX_FDS);
    check_vectors(f);
    /* As many as the guest allowed */
    enable_msi(f->c, 2);
    g_assert_cmpuint(count_irq_fds(f->s), ==, 4);
    cable_cfg_writew(f->c, 0, MSI_CAP + PCI_MSI_FLAGS, 0);
    g_assert_cmpuint(count_irq_fds(f->s), ==, 0);
    stop(f);
}

static void *read_bar(void *opaque)
{
    Fixture *f = opaque;

    return GUINT_TO_POINTER(qtest_readl(f->c->rc, BAR2));
}

/* The word of the host's RAM at @offset, without the host's help */
static uint32_t ram_word(Fixture *f, uint64_t offset)
{
    uint32_t word;

    g_assert_cmpint(pread(f->s->map_fd, &word, sizeof(word),
                          f->s->map.offset + offset), ==, sizeof(word));
    return le32_to_cpu(word);
}

/*
 * MSIs wait for nothing that the host waits for: they arrive, again and again,
 * while its CPU wants a completion.
 */
static void test_irqs_busy(void)
{
    Fixture *f = start(CABLE_CAPS_ALL, "");
    const uint64_t one = 1, many = UINT64_MAX - 4;
    const uint64_t added[] = { one, one, many, one };
    const uint32_t zero = 0;
    GThread *reader;

    cable_cfg_writel(f->c, 0, MSI_CAP + PCI_MSI_ADDRESS_LO,
                     CABLE_RAM_BASE + MSI_OFFSET);
    cable_cfg_writew(f->c, 0, MSI_CAP + PCI_MSI_DATA_64, MSI_DATA);
    cable_cfg_writew(f->c, 0, MSI_CAP + PCI_MSI_FLAGS, PCI_MSI_FLAGS_ENABLE);
    g_assert_cmpuint(count_irq_fds(f->s), ==, 1);

    qatomic_set(&f->s->mute, true);
    reader = g_thread_new("reader", read_bar, f);
    for (unsigned i = 0; i < ARRAY_SIZE(added); i++) {
        g_assert_cmpint(write(f->s->irq_fds[0], &added[i], sizeof(added[i])),
                        ==, sizeof(added[i]));
        cable_wait(ram_word(f, MSI_OFFSET) == MSI_DATA);
        g_assert_cmpint(pwrite(f->s->map_fd, &zero, sizeof(zero),
                               f->s->map.offset + MSI_OFFSET), ==,
                        sizeof(zero));
    }
    cable_server_hang_up(f->s);
    g_assert_cmphex(GPOINTER_TO_UINT(g_thread_join(reader)), ==, UINT32_MAX);
    stop(f);
}

/* A server of plain vfio-user, of few words */
static void test_plain(void)
{
    static const char * const caps[] = {
        NULL,
        "{\"capabilities\":{}}",
        "{\"capabilities\":{\"max_msg_fds\":1}}",
        "{\"capabilities\":{\"max_msg_fds\":8,\"migration\":"
        "{\"pgsize\":4096}}}",
    };
    static const unsigned max_fds[] = { 1, 1, 1, 8 };

    for (unsigned i = 0; i < ARRAY_SIZE(caps); i++) {
        Fixture *f = start(caps[i], "");

        enable_msi(f->c, 5);
        g_assert_cmpuint(count_irq_fds(f->s), ==, 32);
        g_assert_cmpuint(f->s->max_irq_fds, <=, max_fds[i]);
        check_vectors(f);
        hang_up(f);
        stop(f);
    }
}

/* Bad answers while the link comes up */

static void test_version(void)
{
    static const char * const bad[] = {
        "", "{", "[]", "{\"capabilities\":7}",
        "{\"capabilities\":{\"max_msg_fds\":0}}",
        "{\"capabilities\":{\"max_data_xfer_size\":-5}}",
    };
    Fixture *f = start(CABLE_CAPS_ALL, "");
    VfuHdr huge = { .command = VFU_VERSION, .flags = VFU_F_REPLY,
                    .size = VFU_MAX_MSG };
    g_autofree uint8_t *bytes = g_malloc0(VFU_MAX_MSG);

    for (unsigned i = 0; i <= ARRAY_SIZE(bad); i++) {
        hang_up(f);
        if (i < ARRAY_SIZE(bad)) {
            f->s->json = bad[i];
        } else {
            f->s->major = 1;
        }
        cable_server_accept(f->s);
        check_recovered(f);
    }

    /* The largest answer there can be, of zeros, from a server of its own */
    hang_up(f);
    f->s->p = cable_peer_accept(f->s->listen_fd);
    g_assert_true(cable_peer_receive(f->s->p));
    huge.id = f->s->p->msg.hdr.id;
    memcpy(bytes, &huge, sizeof(huge));
    cable_peer_send_raw(f->s->p, bytes, VFU_MAX_MSG, NULL, 0);
    cable_peer_expect_close(f->s->p);
    cable_peer_close(f->s->p);
    f->s->p = NULL;
    be_good(f);
    cable_server_accept(f->s);
    check_function(f);
    stop(f);
}

/* Functions that QEMU's PCI core would not survive */
static void test_functions(void)
{
    enum {
        SIZE_NO_POWER, SIZE_TOO_SMALL, SIZE_TOO_LARGE, SIZE_OF_32_BIT,
        UPPER_HALF_MISSING, BRIDGE, TOO_MANY_VECTORS, INFO_SHORT, INFO_LONG,
        CASES
    };
    Fixture *f = start(CABLE_CAPS_ALL, "");

    for (int i = 0; i < CASES; i++) {
        CableServer *s = f->s;

        hang_up(f);
        be_good(f);
        switch (i) {
        case SIZE_NO_POWER:
            s->bar_size[0] = CABLE_BAR_SIZE + 1;
            break;
        case SIZE_TOO_SMALL:
            s->bar_size[4] = 8;
            break;
        case SIZE_TOO_LARGE:
            s->bar_size[2] = 1ULL << 63;
            break;
        case SIZE_OF_32_BIT:
            s->bar_size[0] = 1ULL << 32;
            break;
        case UPPER_HALF_MISSING:
            stl_le_p(s->config + PCI_BASE_ADDRESS_5,
                     PCI_BASE_ADDRESS_MEM_TYPE_64);
            s->bar_size[5] = CABLE_BAR_SIZE;
            break;
        case BRIDGE:
            s->config[PCI_HEADER_TYPE] = PCI_HEADER_TYPE_BRIDGE;
            break;
        case TOO_MANY_VECTORS:
            s->config[MSI_CAP + PCI_MSI_FLAGS] |= 7 << 1;
            break;
        case INFO_SHORT:
            s->info_extra = -1;
            break;
        case INFO_LONG:
            s->info_extra = 1;
            break;
        }
        cable_server_accept(s);
        check_recovered(f);
    }
    stop(f);
}

/* Odd, but a function all the same */
static void test_odd_functions(void)
{
    enum {
        CAP_LOOP, CAP_IN_HEADER, CAP_UNALIGNED, EXP_AT_END, MSI_AT_END,
        NO_CAPS, CAPS_OVERLAP, ALL_ONES_SIZES, CASES
    };
    Fixture *f = start(CABLE_CAPS_ALL, "");

    for (int i = 0; i < CASES; i++) {
        uint8_t *config = f->s->config;

        hang_up(f);
        be_good(f);
        switch (i) {
        case CAP_LOOP:
            config[MSI_CAP + PCI_CAP_LIST_NEXT] = MSI_CAP;
            break;
        case CAP_IN_HEADER:
            config[PCI_CAPABILITY_LIST] = 4;
            break;
        case CAP_UNALIGNED:
            config[PCI_CAPABILITY_LIST] = MSI_CAP + 1;
            break;
        case EXP_AT_END:
            config[MSI_CAP + PCI_CAP_LIST_NEXT] = 0xfc;
            config[0xfc] = PCI_CAP_ID_EXP;
            break;
        case MSI_AT_END:
            config[PCI_CAPABILITY_LIST] = 0xfc;
            config[0xfc] = PCI_CAP_ID_MSI;
            break;
        case NO_CAPS:
            config[PCI_STATUS] = 0;
            break;
        case CAPS_OVERLAP:
            config[MSI_CAP + PCI_CAP_LIST_NEXT] = MSI_CAP + 8;
            config[MSI_CAP + 8] = PCI_CAP_ID_EXP;
            break;
        case ALL_ONES_SIZES:
            /* Beyond BAR 5 nobody asks. */
            memset(config + 256, 0xff, sizeof(f->s->config) - 256);
            break;
        }
        g_test_message("function %d", i);
        cable_server_accept(f->s);
        if (i == CAPS_OVERLAP) {
            VfuDmaRW rw = { .address = CABLE_RAM_BASE, .count = 4 };

            /* The PCI core refuses it; the machine goes on. */
            cable_wait(qatomic_load_acquire(&f->s->p));
            g_assert_cmpint(cable_server_call(f->s, VFU_DMA_READ, &rw,
                                              sizeof(rw), NULL, 0, NULL, 0),
                            ==, ENODEV);
            g_assert_cmphex(cable_cfg_readl(f->c, 0, PCI_VENDOR_ID), ==,
                            UINT32_MAX);
        } else {
            check_function(f);
        }
        hang_up(f);
        be_good(f);
        cable_server_accept(f->s);
        check_function(f);
    }
    stop(f);
}

/* Hostile messages while the link is up */

typedef struct Hostile {
    VfuHdr hdr;
    union {
        VfuDmaRW dma;
        VfuRegionRemap remap;
        VfuLinkState link;
    };
    size_t len;                 /* behind the header; 0: hdr.size as it is */
    unsigned nfds;
} Hostile;

#define REMAP(...) { .hdr.command = VFU_REGION_REMAP, \
                     .len = sizeof(VfuRegionRemap), .remap = { __VA_ARGS__ } }
#define DMA(cmd, n, ...) { .hdr.command = (cmd), .len = (n), \
                           .dma = { __VA_ARGS__ } }
#define LINK(n, ...) { .hdr.command = VFU_LINK_STATE, .len = (n), \
                       .link = { __VA_ARGS__ } }

static const Hostile hostile[] = {
    /* Framing */
    { .hdr = { .command = VFU_LINK_STATE, .size = 0 } },
    { .hdr = { .command = VFU_LINK_STATE, .size = 15 } },
    { .hdr = { .command = VFU_LINK_STATE, .size = VFU_MAX_MSG + 1 } },
    { .hdr = { .command = VFU_LINK_STATE, .size = UINT32_MAX } },
    { .hdr = { .command = 99, .size = 16, .flags = 2 } },
    { .hdr = { .command = 99, .size = 16, .flags = 0x40 } },
    { .hdr = { .command = 99, .size = 16, .flags = 0xffff0000 } },
    { .hdr = { .command = VFU_REGION_READ, .size = 16,
               .flags = VFU_F_REPLY } },
    { .hdr = { .id = 0x1234, .command = VFU_DMA_MAP, .size = 16,
               .flags = VFU_F_REPLY | VFU_F_ERROR, .error = 1 } },
    /* DMA requests */
    DMA(VFU_DMA_READ, 15, .count = 4),
    DMA(VFU_DMA_READ, 20, .count = 4),
    DMA(VFU_DMA_READ, 16, .count = VFU_MAX_XFER + 1),
    DMA(VFU_DMA_READ, 16, .count = UINT64_MAX),
    DMA(VFU_DMA_WRITE, 16, .count = 4),
    DMA(VFU_DMA_WRITE, 24, .count = 4),
    DMA(VFU_DMA_WRITE, 20, .count = UINT64_MAX),
    /* Link states */
    LINK(15, .argsz = 16),
    LINK(20, .argsz = 16),
    LINK(16, .argsz = 12, .up = 1, .functions = 1),
    LINK(16, .argsz = 16, .up = 2, .functions = 1),
    LINK(16, .argsz = 16, .up = 1, .functions = 0),
    LINK(16, .argsz = 16, .up = 1, .functions = 2),
    LINK(16, .argsz = 16, .up = 1, .functions = 0x101),
    LINK(16, .argsz = 16, .up = 1, .functions = 1, .reserved = 1),
    /* Remaps */
    { .hdr.command = VFU_REGION_REMAP, .len = 39 },
    REMAP(.argsz = 39, .region = 2, .size = PAGE),
    REMAP(.argsz = 40, .region = 2, .size = PAGE, .reserved = 1),
    REMAP(.argsz = 40, .region = 2, .size = PAGE, .flags = 4),
    REMAP(.argsz = 40, .region = 2, .size = PAGE, .flags = VFU_REMAP_WRITE),
    REMAP(.argsz = 40, .region = 6, .size = PAGE),
    REMAP(.argsz = 40, .region = UINT32_MAX, .size = PAGE),
    REMAP(.argsz = 40, .region = 2, .size = 0),
    REMAP(.argsz = 40, .region = 2, .size = PAGE - 1),
    REMAP(.argsz = 40, .region = 2, .size = PAGE, .offset = 8),
    REMAP(.argsz = 40, .region = 2, .size = PAGE, .fd_offset = 8),
    REMAP(.argsz = 40, .region = 2, .size = 2 * PAGE,
          .offset = -(uint64_t)PAGE),
    REMAP(.argsz = 40, .region = 2, .size = -(uint64_t)PAGE),
    REMAP(.argsz = 40, .region = 2, .size = PAGE, .flags = READ_WRITE),
    /* 256 functions there are not */
    { .hdr = { .command = VFU_REGION_REMAP,
               .flags = 8 << VFU_F_FUNCTION_SHIFT }, .len = 40,
      .remap = { .argsz = 40, .region = 2, .size = PAGE } },
    /* Descriptors that do not belong */
    { .hdr.command = VFU_REGION_REMAP, .len = 40, .nfds = 1,
      .remap = { .argsz = 40, .region = 2, .size = PAGE } },
    { .hdr.command = VFU_REGION_REMAP, .len = 40, .nfds = 2,
      .remap = { .argsz = 40, .region = 2, .size = PAGE,
                 .flags = READ_WRITE } },
    { .hdr.command = VFU_REGION_REMAP, .len = 40, .nfds = VFU_MAX_FDS + 1,
      .remap = { .argsz = 40, .region = 2, .size = PAGE } },
};

static void test_hostile(void)
{
    Fixture *f = start(CABLE_CAPS_ALL, "");
    int fds[VFU_MAX_FDS + 1];

    for (unsigned i = 0; i < ARRAY_SIZE(fds); i++) {
        fds[i] = cable_memfd(PAGE, true);
    }
    for (unsigned i = 0; i < ARRAY_SIZE(hostile); i++) {
        Hostile h = hostile[i];
        struct {
            VfuHdr hdr;
            uint8_t payload[64];
        } bytes = { };

        if (h.len) {
            h.hdr.size = sizeof(h.hdr) + h.len;
        }
        bytes.hdr = h.hdr;
        memcpy(bytes.payload, &h.remap, sizeof(h.remap));
        g_test_message("message %u", i);
        cable_server_send(f->s, &bytes, sizeof(bytes.hdr) + h.len, fds,
                          h.nfds);
        check_recovered(f);
    }
    for (unsigned i = 0; i < ARRAY_SIZE(fds); i++) {
        close(fds[i]);
    }
    stop(f);
}

/* What is wrong but not hostile is answered with an error. */
static void test_errors(void)
{
    static const uint16_t unknown[] = {
        0, VFU_VERSION, VFU_DMA_MAP, VFU_REGION_READ, VFU_DEVICE_RESET, 14,
        0x8000, 0xffff,
    };
    Fixture *f = start(CABLE_CAPS_ALL, "");
    VfuDmaRW rw = { .address = 0x200000000000ULL, .count = 4 };
    uint32_t data = 0;
    int fd = cable_memfd(PAGE, true);

    for (unsigned i = 0; i < ARRAY_SIZE(unknown); i++) {
        g_assert_cmpint(cable_server_call(f->s, unknown[i], NULL, 0, NULL, 0,
                                          &fd, 1), ==, ENOTSUP);
    }
    g_assert_cmpint(cable_server_call(f->s, VFU_DMA_READ, &rw, sizeof(rw),
                                      NULL, 0, NULL, 0), ==, EFAULT);
    g_assert_cmpint(cable_server_call(f->s, VFU_DMA_WRITE, &rw, sizeof(rw),
                                      &data, sizeof(data), NULL, 0), ==,
                    EFAULT);
    /* Bus master off: nothing is reachable, RAM neither. */
    rw.address = CABLE_RAM_BASE;
    qtest_writel(f->c->rc, CABLE_RAM_BASE, 0x600d600d);
    g_assert_cmpint(cable_server_call(f->s, VFU_DMA_READ, &rw, sizeof(rw),
                                      NULL, 0, NULL, 0), ==, 0);
    g_assert_cmpint(memcmp(f->s->reply_payload + sizeof(rw),
                           (uint32_t[]) { 0x600d600d }, 4), ==, 0);
    cable_cfg_writew(f->c, 0, PCI_COMMAND, PCI_COMMAND_MEMORY);
    g_assert_cmpint(cable_server_call(f->s, VFU_DMA_READ, &rw, sizeof(rw),
                                      NULL, 0, NULL, 0), ==, EFAULT);
    g_assert_cmpint(cable_server_call(f->s, VFU_DMA_WRITE, &rw, sizeof(rw),
                                      &data, sizeof(data), NULL, 0), ==,
                    EFAULT);
    g_assert_cmphex(qtest_readl(f->c->rc, CABLE_RAM_BASE), ==, 0x600d600d);
    close(fd);
    cable_wait(cable_count_fds(f->c->rc) == f->connected_fds);
    stop(f);
}

/* Mapped pages of a BAR */

static void test_remap(void)
{
    Fixture *f = start(CABLE_CAPS_ALL, "");
    QTestState *rc = f->c->rc;
    int a = cable_memfd(8 * PAGE, true), b = cable_memfd(PAGE, true);
    g_autofree uint8_t *pattern = cable_pattern(8 * PAGE, 2);
    g_autofree uint8_t *other = cable_pattern(PAGE, 3);
    uint32_t value;

    g_assert_cmpint(pwrite(a, pattern, 8 * PAGE, 0), ==, 8 * PAGE);
    g_assert_cmpint(pwrite(b, other, PAGE, 0), ==, PAGE);
    g_assert_cmpint(cable_server_remap(f->s, 2, PAGE, 4 * PAGE, READ_WRITE, a,
                                       2 * PAGE), ==, 0);
    cable_check_memory(rc, BAR2 + PAGE, pattern + 2 * PAGE, 4 * PAGE);
    g_assert_cmphex(qtest_readl(rc, BAR2), ==, ANSWER);
    g_assert_cmphex(qtest_readl(rc, BAR2 + 5 * PAGE), ==, ANSWER);
    qtest_writel(rc, BAR2 + PAGE, 0xfeed);
    g_assert_cmpint(pread(a, &value, 4, 2 * PAGE), ==, 4);
    g_assert_cmphex(value, ==, 0xfeed);
    g_assert_cmpuint(f->s->writes, ==, 0);
    memcpy(pattern + 2 * PAGE, &value, 4);

    /* A hole in the middle, another file in the hole */
    g_assert_cmpint(cable_server_remap(f->s, 2, 2 * PAGE, PAGE, 0, -1, 0), ==,
                    0);
    cable_check_memory(rc, BAR2 + PAGE, pattern + 2 * PAGE, PAGE);
    g_assert_cmphex(qtest_readl(rc, BAR2 + 2 * PAGE), ==, ANSWER);
    cable_check_memory(rc, BAR2 + 3 * PAGE, pattern + 4 * PAGE, 2 * PAGE);
    g_assert_cmpint(cable_server_remap(f->s, 2, 2 * PAGE, PAGE, READ_WRITE, b,
                                       0), ==, 0);
    cable_check_memory(rc, BAR2 + 2 * PAGE, other, PAGE);
    cable_check_memory(rc, BAR2 + 3 * PAGE, pattern + 4 * PAGE, 2 * PAGE);

    /* Over everything, read-only: stores change nothing. */
    g_assert_cmpint(cable_server_remap(f->s, 2, 0, 8 * PAGE, VFU_REMAP_READ,
                                       a, 0), ==, 0);
    cable_check_memory(rc, BAR2, pattern, 8 * PAGE);
    qtest_writel(rc, BAR2, 0xbad);
    cable_check_memory(rc, BAR2, pattern, 8 * PAGE);

    /* The link goes: so do the mappings. */
    cable_server_link_state(f->s, false);
    cable_wait(!cable_rc_link_up(f->c));
    cable_server_link_state(f->s, true);
    check_function(f);
    close(a);
    close(b);
    cable_wait(cable_count_fds(f->c->rc) == f->connected_fds);
    stop(f);
}

/* A file that could fault or vanish is not mapped: the page traps. */
static void test_remap_bad_fds(void)
{
    Fixture *f = start(CABLE_CAPS_ALL, "");
    g_autofree char *path = NULL;
    int pipes[2], fds[7];

    g_assert_cmpint(pipe(pipes), ==, 0);
    fds[0] = pipes[0];
    fds[1] = cable_memfd(PAGE, false);
    fds[2] = cable_memfd(PAGE / 2, true);
    fds[3] = open("/dev/zero", O_RDWR | O_CLOEXEC);
    fds[4] = open(f->c->dir, O_RDONLY | O_CLOEXEC);
    fds[5] = cable_memfd(PAGE, true);
    path = g_strdup_printf("/proc/self/fd/%d", fds[5]);
    close(fds[1]);
    fds[1] = open(path, O_RDONLY | O_CLOEXEC);
    close(fds[5]);
    fds[5] = cable_memfd(PAGE, false);
    fds[6] = memfd_create("huge", MFD_HUGETLB | MFD_ALLOW_SEALING);
    g_assert_cmpint(fds[6], >=, 0);
    g_assert_cmpint(ftruncate(fds[6], 1 * GiB), ==, 0);
    g_assert_cmpint(fcntl(fds[6], F_ADD_SEALS, F_SEAL_SHRINK), ==, 0);
    for (unsigned i = 0; i < ARRAY_SIZE(fds); i++) {
        g_assert_cmpint(cable_server_remap(f->s, 2, 0, PAGE, READ_WRITE,
                                           fds[i], 0), ==, 0);
        g_assert_cmphex(qtest_readl(f->c->rc, BAR2), ==, ANSWER);
        g_assert_cmpint(cable_server_remap(f->s, 2, 0, PAGE, 0, -1, 0), ==,
                        0);
        close(fds[i]);
    }
    close(pipes[1]);
    cable_wait(cable_count_fds(f->c->rc) == f->connected_fds);
    stop(f);
}

/* There is no room for more mappings; those that are there can go. */
static void test_remap_many(void)
{
    const unsigned most = 1024;
    Fixture *f = start(CABLE_CAPS_ALL, "");
    int fd = cable_memfd(4 * PAGE, true);

    for (unsigned i = 0; i < most; i++) {
        g_assert_cmpint(cable_server_remap(f->s, 2, 8ULL * i * PAGE, 4 * PAGE,
                                           READ_WRITE, fd, 0), ==, 0);
    }
    g_assert_cmpint(cable_server_remap(f->s, 2, 8 * most * PAGE, PAGE,
                                       READ_WRITE, fd, 0), ==, ENOSPC);
    /* In the middle of one: what does not fit in traps. */
    g_assert_cmpint(cable_server_remap(f->s, 2, PAGE, PAGE, 0, -1, 0), ==, 0);
    g_assert_cmphex(qtest_readl(f->c->rc, BAR2), ==, 0);
    g_assert_cmphex(qtest_readl(f->c->rc, BAR2 + PAGE), ==, ANSWER);
    g_assert_cmphex(qtest_readl(f->c->rc, BAR2 + 2 * PAGE), ==, ANSWER);
    g_assert_cmpint(cable_server_remap(f->s, 2, 0, PAGE, 0, -1, 0), ==, 0);
    g_assert_cmphex(qtest_readl(f->c->rc, BAR2), ==, ANSWER);
    g_assert_cmpint(cable_server_remap(f->s, 2, 0, PAGE, READ_WRITE, fd, 0),
                    ==, 0);
    g_assert_cmphex(qtest_readl(f->c->rc, BAR2), ==, 0);
    close(fd);
    stop(f);
}

/* Answers that are wrong, late or missing */

static void test_answers(void)
{
    Fixture *f = start(CABLE_CAPS_ALL, ",completion-timeout=1000");
    uint64_t timeouts = cable_rc_counter(f->c, "completion-timeouts");

    for (int extra = -1; extra <= 1; extra += 2) {
        f->s->read_extra = extra;
        g_assert_cmphex(qtest_readl(f->c->rc, BAR2), ==, UINT32_MAX);
        check_recovered(f);
    }
    qatomic_set(&f->s->mute, true);
    g_assert_cmphex(qtest_readl(f->c->rc, BAR2), ==, UINT32_MAX);
    g_assert_cmphex(cable_cfg_readl(f->c, 0, 0), ==, UINT32_MAX);
    g_assert_cmpuint(cable_rc_counter(f->c, "completion-timeouts"), ==,
                     timeouts + 2);
    qatomic_set(&f->s->mute, false);
    check_function(f);

    /* In the middle of an answer */
    cable_server_send(f->s, &f->good.config, 7, NULL, 0);
    hang_up(f);
    be_good(f);
    cable_server_accept(f->s);
    check_function(f);
    stop(f);
}

/* Up and down faster than the functions come and go */
static void test_flapping(void)
{
    Fixture *f = start(CABLE_CAPS_ALL, "");

    for (unsigned i = 0; i < 300; i++) {
        cable_server_link_state(f->s, i & 1);
    }
    check_function(f);
    cable_wait(cable_count_fds(f->c->rc) == f->connected_fds);
    stop(f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);

    qtest_add_func("/pcie-cable-proto-rc/good", test_good);
    qtest_add_func("/pcie-cable-proto-rc/irqs", test_irqs);
    qtest_add_func("/pcie-cable-proto-rc/irqs/busy", test_irqs_busy);
    qtest_add_func("/pcie-cable-proto-rc/plain", test_plain);
    qtest_add_func("/pcie-cable-proto-rc/version", test_version);
    qtest_add_func("/pcie-cable-proto-rc/functions", test_functions);
    qtest_add_func("/pcie-cable-proto-rc/odd-functions", test_odd_functions);
    qtest_add_func("/pcie-cable-proto-rc/hostile", test_hostile);
    qtest_add_func("/pcie-cable-proto-rc/errors", test_errors);
    qtest_add_func("/pcie-cable-proto-rc/remap/good", test_remap);
    qtest_add_func("/pcie-cable-proto-rc/remap/bad-fds", test_remap_bad_fds);
    qtest_add_func("/pcie-cable-proto-rc/remap/many", test_remap_many);
    qtest_add_func("/pcie-cable-proto-rc/answers", test_answers);
    qtest_add_func("/pcie-cable-proto-rc/flapping", test_flapping);

    return g_test_run();
}
