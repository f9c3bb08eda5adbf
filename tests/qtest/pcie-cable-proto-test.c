/*
 * QTest of the PCIe cable: the wire protocol against the endpoint end
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The test is the client, a raw socket.  After every broken message the
 * machine must be alive, must serve a good client and must have as many open
 * file descriptors as before.
 */
#include "qemu/osdep.h"
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <linux/sockios.h>
#include "libqos/pcie-cable.h"
#include "libqos/pcie-cable-peer.h"

#define WINDOW(c) ((c)->ep->addr_space)
/* RAM behind BAR2 and BAR4 */
#define TARGET2 (CABLE_RAM_BASE + 16 * MiB)
#define TARGET4 (CABLE_RAM_BASE + 20 * MiB)
/* PCI address of a page of the client's */
#define DMA_ADDR 0x80000000ULL
#define MSI_ADDR 0x8090040ULL
#define MSI_DATA 0x20
#define PAGE 4096

static PCIeCable *start(const char *props)
{
    PCIeCable *c = cable_new();

    cable_start_ep(c, props, "");
    cable_soc_setup(c, 0);
    dw_ep_inbound_bar_match(c->ep, 0, 0, 2, TARGET2);
    dw_ep_inbound_bar_match(c->ep, 1, 0, 4, TARGET4);
    dw_ep_outbound(c->ep, 0, 0, WINDOW(c), DMA_ADDR, 2 * PAGE);
    dw_ep_start_link(c->ep);
    return c;
}

static CablePeer *connect_peer(PCIeCable *c, const char *caps)
{
    CablePeer *p = cable_peer_connect(c->socket);

    g_assert_cmpint(cable_peer_version(p, 0, caps), ==, 0);
    return p;
}

static void set_command(CablePeer *p, uint16_t command)
{
    g_assert_cmpint(cable_peer_region_write(p, VFU_REGION_CONFIG, PCI_COMMAND,
                                            2, command), ==, 0);
}

/* A client that does what clients do finds everything in order. */
static void good_client(PCIeCable *c)
{
    CablePeer *p = connect_peer(c, CABLE_CAPS_ALL);
    g_autofree uint32_t *pattern = cable_pattern(PAGE, getpid());
    int fd = cable_memfd(PAGE, true);
    uint64_t value;

    g_assert_cmpint(pwrite(fd, pattern, PAGE, 0), ==, PAGE);
    g_assert_cmpint(cable_peer_region_read(p, VFU_REGION_CONFIG,
                                           PCI_VENDOR_ID, 4, &value), ==, 0);
    g_assert_cmphex(value, ==, CABLE_VENDOR | CABLE_DEVICE << 16);
    g_assert_cmpuint(p->link_states, ==, 1);
    g_assert_cmpuint(p->link.up, ==, 1);
    g_assert_cmphex(p->link.functions, ==, 1);

    set_command(p, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    g_assert_cmpint(cable_peer_region_write(p, 4, 8, 4, pattern[0]), ==, 0);
    g_assert_cmphex(qtest_readl(c->soc, TARGET4 + 8), ==, pattern[0]);
    g_assert_cmpint(cable_peer_region_read(p, 4, 8, 4, &value), ==, 0);
    g_assert_cmphex(value, ==, pattern[0]);

    g_assert_cmpint(cable_peer_dma_map(p, DMA_ADDR, PAGE, 0,
                                       VFU_DMA_MAP_READ | VFU_DMA_MAP_WRITE,
                                       fd), ==, 0);
    cable_check_memory(c->soc, WINDOW(c), pattern, PAGE);
    close(fd);
    cable_peer_close(p);
}

/* Open file descriptors without a client, the same after one */
static unsigned idle_fds(PCIeCable *c)
{
    unsigned fds = cable_count_fds(c->soc);

    good_client(c);
    cable_wait(cable_count_fds(c->soc) == fds);
    return fds;
}

static void check_recovered(PCIeCable *c, unsigned fds)
{
    good_client(c);
    cable_wait(cable_count_fds(c->soc) == fds);
}

/* The socket, VERSION */

static void test_socket(void)
{
    PCIeCable *c = start("");
    struct stat st;

    g_assert_cmpint(lstat(c->socket, &st), ==, 0);
    g_assert_true(S_ISSOCK(st.st_mode));
    g_assert_cmphex(st.st_mode & 07777, ==, 0600);
    cable_quit_ep(c);
    g_assert_cmpint(lstat(c->socket, &st), ==, -1);
    cable_free(c);
}

static void test_version_good(void)
{
    static const struct {
        const char *json;
        bool extensions;
    } offers[] = {
        { NULL, false },
        { CABLE_CAPS_NONE, false },
        { "{}", false },
        { "{\"capabilities\":{\"max_msg_fds\":1,\"migration\":{}}}", false },
        { "{\"capabilities\":{\"max_data_xfer_size\":1099511627776}}",
          false },
        { "{\"capabilities\":{\"region-remap\":false,"
          "\"link-state\":\"yes\"}}", false },
        { CABLE_CAPS_ALL, true },
    };
    PCIeCable *c = start("");

    for (unsigned i = 0; i < ARRAY_SIZE(offers); i++) {
        CablePeer *p = connect_peer(c, offers[i].json);
        const char *json = (char *)p->msg.payload + sizeof(VfuVersion);
        VfuVersion version;

        memcpy(&version, p->msg.payload, sizeof(version));
        g_assert_cmpuint(version.major, ==, 0);
        g_assert_cmpuint(version.minor, ==, 0);
        g_assert_cmpuint(strnlen(json, p->msg.len), ==,
                         p->msg.len - sizeof(version) - 1);
        g_assert_nonnull(strstr(json, VFU_CAP_MAX_XFER));
        g_assert_true(!!strstr(json, VFU_CAP_REGION_REMAP) ==
                      offers[i].extensions);
        g_assert_true(!!strstr(json, VFU_CAP_LINK_STATE) ==
                      offers[i].extensions);
        cable_wait_link(c, true);
        cable_peer_close(p);
        cable_wait_link(c, false);
    }
    cable_free(c);
}

static void test_version_bad(void)
{
    static const struct {
        uint16_t major;
        const char *json;
    } offers[] = {
        { 1, CABLE_CAPS_ALL },
        { 0xffff, NULL },
        { 0, "" },
        { 0, "{" },
        { 0, "[]" },
        { 0, "7" },
        { 0, "{\"capabilities\":[]}" },
        { 0, "{\"capabilities\":{\"max_msg_fds\":0}}" },
        { 0, "{\"capabilities\":{\"max_msg_fds\":-1}}" },
        { 0, "{\"capabilities\":{\"max_msg_fds\":\"16\"}}" },
        { 0, "{\"capabilities\":{\"max_data_xfer_size\":0}}" },
    };
    PCIeCable *c = start("");
    unsigned fds = idle_fds(c);
    VfuVersion version = { };
    CablePeer *p;

    for (unsigned i = 0; i < ARRAY_SIZE(offers); i++) {
        p = cable_peer_connect(c->socket);
        g_assert_cmpint(cable_peer_version(p, offers[i].major,
                                           offers[i].json), ==, -1);
        cable_peer_close(p);
        check_recovered(c, fds);
    }
    /* Shorter than the version, and without the NUL at the end */
    for (size_t len = 0; len < sizeof(version); len++) {
        p = cable_peer_connect(c->socket);
        g_assert_cmpint(cable_peer_call(p, VFU_VERSION, 0, &version, len,
                                        NULL, 0, NULL, 0), ==, -1);
        cable_peer_close(p);
    }
    p = cable_peer_connect(c->socket);
    g_assert_cmpint(cable_peer_call(p, VFU_VERSION, 0, &version,
                                    sizeof(version), "{}", 2, NULL, 0), ==,
                    -1);
    cable_peer_close(p);
    check_recovered(c, fds);

    /* A second one, and a request before the first */
    p = connect_peer(c, CABLE_CAPS_ALL);
    g_assert_cmpint(cable_peer_version(p, 0, CABLE_CAPS_ALL), ==, -1);
    cable_peer_close(p);
    p = cable_peer_connect(c->socket);
    g_assert_cmpint(cable_peer_call(p, VFU_DEVICE_RESET, 0, NULL, 0, NULL, 0,
                                    NULL, 0), ==, -1);
    cable_peer_close(p);
    check_recovered(c, fds);
    cable_free(c);
}

/* A plain client is answered when the link comes up, and let go with it. */
static void test_plain_waits(void)
{
    PCIeCable *c = start("");
    VfuVersion version = { };
    CablePeer *p;
    uint64_t value;

    dw_ep_stop_link(c->ep);
    p = cable_peer_connect(c->socket);
    cable_peer_request(p, VFU_VERSION, 0, &version, sizeof(version), NULL, 0,
                       NULL, 0);
    g_assert_false(cable_peer_readable(p, 200));
    g_assert_false(dw_ep_link_up(c->ep));
    dw_ep_start_link(c->ep);
    g_assert_true(cable_peer_receive(p));
    g_assert_cmphex(p->msg.hdr.command, ==, VFU_VERSION);
    g_assert_true(dw_ep_link_up(c->ep));
    g_assert_cmpint(cable_peer_region_read(p, VFU_REGION_CONFIG,
                                           PCI_VENDOR_ID, 2, &value), ==, 0);
    g_assert_cmphex(value, ==, CABLE_VENDOR);

    /* It has no BAR mapped, so no remaps, and no link states. */
    dw_ep_inbound_bar_match(c->ep, 0, 0, 2, TARGET4);
    g_assert_cmpuint(p->remaps + p->link_states, ==, 0);
    /* Function 1 is for those who asked for it. */
    g_assert_cmpint(cable_peer_call(p, VFU_DEVICE_GET_INFO,
                                    1 << VFU_F_FUNCTION_SHIFT, NULL, 0, NULL,
                                    0, NULL, 0), ==, ENODEV);
    dw_ep_stop_link(c->ep);
    cable_peer_expect_close(p);
    cable_peer_close(p);
    dw_ep_start_link(c->ep);
    good_client(c);

    /* It gives up waiting. */
    cable_wait_link(c, false);
    dw_ep_stop_link(c->ep);
    p = cable_peer_connect(c->socket);
    cable_peer_request(p, VFU_VERSION, 0, &version, sizeof(version), NULL, 0,
                       NULL, 0);
    cable_peer_close(p);
    dw_ep_start_link(c->ep);
    good_client(c);
    cable_free(c);
}

/* A client of our own kind hears how the link stands, and of every change. */
static void test_link_state(void)
{
    PCIeCable *c = start("");
    CablePeer *p;
    uint64_t value;

    /* Nothing is mapped: the SoC has no acknowledgement to wait for. */
    dw_ep_disable_atu(c->ep, DW_EP_INBOUND, 0);
    dw_ep_stop_link(c->ep);
    p = connect_peer(c, CABLE_CAPS_ALL);
    for (unsigned round = 1; round <= 3; round++) {
        g_assert_cmpint(cable_peer_region_read(p, VFU_REGION_CONFIG, 0, 4,
                                               &value), ==, 0);
        g_assert_cmpuint(p->link_states, ==, 2 * round - 1);
        g_assert_cmpuint(p->link.up, ==, 0);
        g_assert_cmphex(p->link.functions, ==, 0);
        dw_ep_start_link(c->ep);
        g_assert_cmpint(cable_peer_region_read(p, VFU_REGION_CONFIG, 0, 4,
                                               &value), ==, 0);
        g_assert_cmpuint(p->link_states, ==, 2 * round);
        g_assert_cmpuint(p->link.up, ==, 1);
        g_assert_cmphex(p->link.functions, ==, 1);
        dw_ep_stop_link(c->ep);
    }
    cable_peer_close(p);
    cable_free(c);
}

static void test_second_client(void)
{
    PCIeCable *c = start("");
    CablePeer *a = connect_peer(c, CABLE_CAPS_ALL);
    CablePeer *b = cable_peer_connect(c->socket);
    VfuVersion version = { };
    uint64_t value;

    cable_peer_request(b, VFU_VERSION, 0, &version, sizeof(version),
                       CABLE_CAPS_NONE, sizeof(CABLE_CAPS_NONE), NULL, 0);
    g_assert_false(cable_peer_readable(b, 200));
    g_assert_cmpint(cable_peer_region_read(a, VFU_REGION_CONFIG, 0, 2,
                                           &value), ==, 0);
    cable_peer_close(a);
    g_assert_true(cable_peer_receive(b));
    g_assert_cmphex(b->msg.hdr.command, ==, VFU_VERSION);
    g_assert_cmpint(cable_peer_region_read(b, VFU_REGION_CONFIG, 0, 2,
                                           &value), ==, 0);
    g_assert_cmphex(value, ==, CABLE_VENDOR);
    cable_peer_close(b);
    cable_free(c);
}

/* Requests */

static void test_device_info(void)
{
    static const uint64_t sizes[VFU_NUM_REGIONS] = {
        [0] = CABLE_BAR_SIZE, [2] = CABLE_BAR_SIZE,
        [4] = RCAR_GEN4_BAR4_SIZE, [VFU_REGION_CONFIG] = 4096,
    };
    PCIeCable *c = start("");
    CablePeer *p = connect_peer(c, CABLE_CAPS_NONE);
    VfuDeviceInfo info = { .argsz = sizeof(info) };
    VfuIrqInfo irq = { .argsz = sizeof(irq), .index = VFU_IRQ_MSI };

    g_assert_cmpint(cable_peer_call(p, VFU_DEVICE_GET_INFO, 0, &info,
                                    sizeof(info), NULL, 0, NULL, 0), ==, 0);
    g_assert_cmpuint(p->msg.len, ==, sizeof(info));
    memcpy(&info, p->msg.payload, sizeof(info));
    g_assert_cmphex(info.flags, ==,
                    VFU_DEVICE_FLAGS_PCI | VFU_DEVICE_FLAGS_RESET);
    g_assert_cmpuint(info.num_regions, ==, VFU_NUM_REGIONS);
    g_assert_cmpuint(info.num_irqs, ==, VFU_NUM_IRQS);

    for (unsigned i = 0; i < VFU_NUM_REGIONS; i++) {
        VfuRegionInfo region = { .argsz = sizeof(region), .index = i };

        g_assert_cmpint(cable_peer_call(p, VFU_DEVICE_GET_REGION_INFO, 0,
                                        &region, sizeof(region), NULL, 0,
                                        NULL, 0), ==, 0);
        g_assert_cmpuint(p->msg.len, ==, sizeof(region));
        memcpy(&region, p->msg.payload, sizeof(region));
        g_assert_cmpuint(region.index, ==, i);
        g_assert_cmphex(region.size, ==, sizes[i]);
        g_assert_cmphex(region.flags, ==, sizes[i] ? VFU_REGION_FLAG_READ |
                        VFU_REGION_FLAG_WRITE : 0);
    }
    g_assert_cmpint(cable_peer_call(p, VFU_DEVICE_GET_IRQ_INFO, 0, &irq,
                                    sizeof(irq), NULL, 0, NULL, 0), ==, 0);
    memcpy(&irq, p->msg.payload, sizeof(irq));
    g_assert_cmpuint(irq.count, ==, 32);
    g_assert_true(irq.flags & VFU_IRQ_INFO_EVENTFD);
    cable_peer_close(p);
    cable_free(c);
}

/* Too short for the command: no client sends that. */
static void test_short(void)
{
    static const struct {
        uint16_t command;
        size_t len;
    } commands[] = {
        { VFU_DMA_MAP, sizeof(VfuDmaMap) },
        { VFU_DMA_UNMAP, sizeof(VfuDmaUnmap) },
        { VFU_DEVICE_GET_INFO, sizeof(VfuDeviceInfo) },
        { VFU_DEVICE_GET_REGION_INFO, sizeof(VfuRegionInfo) },
        { VFU_DEVICE_GET_IRQ_INFO, sizeof(VfuIrqInfo) },
        { VFU_DEVICE_SET_IRQS, sizeof(VfuIrqSet) },
        { VFU_REGION_READ, sizeof(VfuRegionRW) },
        { VFU_REGION_WRITE, sizeof(VfuRegionRW) },
    };
    static const uint8_t zero[64];
    PCIeCable *c = start("");
    unsigned fds = idle_fds(c);

    for (unsigned i = 0; i < ARRAY_SIZE(commands); i++) {
        size_t lengths[] = { 0, 1, commands[i].len - 1 };

        for (unsigned n = 0; n < ARRAY_SIZE(lengths); n++) {
            CablePeer *p = connect_peer(c, CABLE_CAPS_ALL);

            g_assert_cmpint(cable_peer_call(p, commands[i].command, 0, zero,
                                            lengths[n], NULL, 0, NULL, 0),
                            ==, -1);
            cable_peer_close(p);
        }
    }
    check_recovered(c, fds);
    cable_free(c);
}

/* What a client may get wrong is answered with an error. */
static void test_region_values(void)
{
    static const struct {
        uint32_t region;
        uint64_t offset;
        uint32_t count;
        bool good;
    } reads[] = {
        { VFU_REGION_CONFIG, 0, 4096, true },
        { VFU_REGION_CONFIG, 4095, 1, true },
        { VFU_REGION_CONFIG, 0xfff, 2, false },
        { VFU_REGION_CONFIG, 4096, 1, false },
        { VFU_REGION_CONFIG, 0, 4097, false },
        { VFU_REGION_CONFIG, UINT64_MAX, 1, false },
        { VFU_REGION_CONFIG, UINT64_MAX, 2, false },
        { 2, 0, VFU_MAX_XFER, true },
        { 2, CABLE_BAR_SIZE - 3, 3, true },
        { 2, 0, VFU_MAX_XFER + 1, false },
        { 2, 0, UINT32_MAX, false },
        { 2, CABLE_BAR_SIZE - 3, 4, false },
        { 2, CABLE_BAR_SIZE, 1, false },
        { 2, UINT64_MAX - 3, 8, false },
        { 4, RCAR_GEN4_BAR4_SIZE, 1, false },
        { 1, 0, 1, false },
        { 3, 0, 1, false },
        { VFU_REGION_ROM, 0, 1, false },
        { VFU_REGION_VGA, 0, 1, false },
        { VFU_NUM_REGIONS, 0, 1, false },
        { UINT32_MAX, 0, 0, false },
    };
    PCIeCable *c = start("");
    CablePeer *p = connect_peer(c, CABLE_CAPS_ALL);
    uint64_t value;

    /* Nobody set Command.MEM: Unsupported Request, no error on the wire */
    qtest_writel(c->soc, TARGET4, 0x600d600d);
    g_assert_cmpint(cable_peer_region_write(p, 4, 0, 4, 0xbad), ==, 0);
    g_assert_cmpint(cable_peer_region_read(p, 4, 0, 4, &value), ==, 0);
    g_assert_cmphex(value, ==, UINT32_MAX);
    g_assert_cmphex(qtest_readl(c->soc, TARGET4), ==, 0x600d600d);

    set_command(p, PCI_COMMAND_MEMORY);
    for (unsigned i = 0; i < ARRAY_SIZE(reads); i++) {
        VfuRegionRW rw = {
            .offset = reads[i].offset, .region = reads[i].region,
            .count = reads[i].count,
        };
        int error = cable_peer_call(p, VFU_REGION_READ, 0, &rw, sizeof(rw),
                                    NULL, 0, NULL, 0);

        g_assert_cmpint(error, ==, reads[i].good ? 0 : EINVAL);
        if (reads[i].good) {
            g_assert_cmpuint(p->msg.len, ==, sizeof(rw) + rw.count);
        }
        if (!reads[i].good && rw.count <= 64) {
            static const uint8_t zero[64];

            g_assert_cmpint(cable_peer_call(p, VFU_REGION_WRITE, 0, &rw,
                                            sizeof(rw), zero, rw.count, NULL,
                                            0), ==, EINVAL);
        }
    }
    /* Nothing of no length, in regions that are not there too */
    for (uint32_t region = 0; region < VFU_NUM_REGIONS; region++) {
        VfuRegionRW rw = { .region = region };

        g_assert_cmpint(cable_peer_call(p, VFU_REGION_READ, 0, &rw,
                                        sizeof(rw), NULL, 0, NULL, 0), ==,
                        EINVAL);
        g_assert_cmpint(cable_peer_call(p, VFU_REGION_WRITE, 0, &rw,
                                        sizeof(rw), NULL, 0, NULL, 0), ==,
                        EINVAL);
    }
    /* Config space of odd width and alignment arrives byte by byte. */
    g_assert_cmpint(cable_peer_region_write(p, VFU_REGION_CONFIG,
                                            DW_PCIE_CAP_MSI +
                                            PCI_MSI_ADDRESS_HI + 1, 3,
                                            0xaabbcc), ==, 0);
    g_assert_cmphex(dw_ep_dbi_readl(c->ep, 0, DW_PCIE_CAP_MSI +
                                    PCI_MSI_ADDRESS_HI), ==, 0xaabbcc00);
    cable_peer_close(p);
    good_client(c);
    cable_free(c);
}

/* The length must be that of the data. */
static void test_write_length(void)
{
    static const struct {
        uint32_t count;
        size_t len;
    } writes[] = {
        { 4, 0 }, { 4, 3 }, { 4, 5 }, { 0, 1 },
        { UINT32_MAX, 4 }, { VFU_MAX_XFER + 1, 4 },
    };
    static const uint8_t zero[8];
    PCIeCable *c = start("");
    unsigned fds = idle_fds(c);

    for (unsigned i = 0; i < ARRAY_SIZE(writes); i++) {
        VfuRegionRW rw = { .region = 4, .count = writes[i].count };
        CablePeer *p = connect_peer(c, CABLE_CAPS_ALL);

        g_assert_cmpint(cable_peer_call(p, VFU_REGION_WRITE, 0, &rw,
                                        sizeof(rw), zero, writes[i].len,
                                        NULL, 0), ==, -1);
        cable_peer_close(p);
    }
    check_recovered(c, fds);
    cable_free(c);
}

static void test_info_values(void)
{
    PCIeCable *c = start("");
    CablePeer *p = connect_peer(c, CABLE_CAPS_ALL);
    VfuDeviceInfo info = { .argsz = sizeof(info) - 1 };
    VfuRegionInfo region = { .argsz = sizeof(region) };
    VfuIrqInfo irq = { .argsz = sizeof(irq) };
    static const uint16_t unknown[] = {
        0, VFU_DEVICE_GET_REGION_IO_FDS, VFU_DMA_READ, VFU_DMA_WRITE, 14, 16,
        17, 18, 99,
        VFU_REGION_REMAP, VFU_LINK_STATE, 0xffff,
    };

    g_assert_cmpint(cable_peer_call(p, VFU_DEVICE_GET_INFO, 0, &info,
                                    sizeof(info), NULL, 0, NULL, 0), ==,
                    EINVAL);
    for (uint64_t index = VFU_NUM_REGIONS; index <= UINT32_MAX;
         index = index * 256 + 255) {
        region.index = irq.index = index;
        g_assert_cmpint(cable_peer_call(p, VFU_DEVICE_GET_REGION_INFO, 0,
                                        &region, sizeof(region), NULL, 0,
                                        NULL, 0), ==, EINVAL);
        g_assert_cmpint(cable_peer_call(p, VFU_DEVICE_GET_IRQ_INFO, 0, &irq,
                                        sizeof(irq), NULL, 0, NULL, 0), ==,
                        EINVAL);
    }
    for (unsigned i = 0; i < ARRAY_SIZE(unknown); i++) {
        g_assert_cmpint(cable_peer_call(p, unknown[i], 0, NULL, 0, NULL, 0,
                                        NULL, 0), ==, ENOTSUP);
    }
    /* Functions that the endpoint has not */
    for (unsigned fn = 2; fn < 256; fn++) {
        g_assert_cmpint(cable_peer_call(p, VFU_DEVICE_RESET,
                                        fn << VFU_F_FUNCTION_SHIFT, NULL, 0,
                                        NULL, 0, NULL, 0), ==, ENODEV);
    }
    cable_peer_close(p);
    good_client(c);
    cable_free(c);
}

/* Framing */

static void test_bad_headers(void)
{
    static const VfuHdr headers[] = {
        { .command = VFU_DEVICE_RESET, .size = 0 },
        { .command = VFU_DEVICE_RESET, .size = 15 },
        { .command = VFU_DEVICE_RESET, .size = VFU_MAX_MSG + 1 },
        { .command = VFU_DEVICE_RESET, .size = UINT32_MAX },
        { .command = VFU_DEVICE_RESET, .size = 16, .flags = 2 },
        { .command = VFU_DEVICE_RESET, .size = 16, .flags = 0xf },
        { .command = VFU_DEVICE_RESET, .size = 16, .flags = 0x40 },
        { .command = VFU_DEVICE_RESET, .size = 16, .flags = 0x10000 },
        { .command = VFU_DEVICE_RESET, .size = 16, .flags = 0x80000000 },
        /* Replies that nobody asked for */
        { .command = VFU_DMA_READ, .size = 16, .flags = VFU_F_REPLY },
        { .command = VFU_REGION_REMAP, .size = 16, .flags = VFU_F_REPLY },
        { .id = 0xffff, .command = 0, .size = 16, .flags = VFU_F_REPLY },
        { .command = VFU_DMA_WRITE, .size = 16, .error = EIO,
          .flags = VFU_F_REPLY | VFU_F_ERROR },
    };
    PCIeCable *c = start("");
    unsigned fds = idle_fds(c);

    for (unsigned i = 0; i < ARRAY_SIZE(headers); i++) {
        CablePeer *p = connect_peer(c, CABLE_CAPS_NONE);

        cable_peer_send_raw(p, &headers[i], sizeof(headers[i]), NULL, 0);
        cable_peer_expect_close(p);
        cable_peer_close(p);
    }
    check_recovered(c, fds);
    cable_free(c);
}

/* A conversation in one piece: a write, a read of it, a read of config */
static GByteArray *conversation(uint32_t value)
{
    GByteArray *bytes = g_byte_array_new();
    VfuRegionRW ram = { .region = 4, .offset = 16, .count = 4 };
    VfuRegionRW id = { .region = VFU_REGION_CONFIG, .count = 2 };
    VfuHdr write = {
        .id = 1, .command = VFU_REGION_WRITE,
        .size = sizeof(write) + sizeof(ram) + 4, .flags = VFU_F_NO_REPLY,
    };
    VfuHdr read = {
        .id = 2, .command = VFU_REGION_READ,
        .size = sizeof(read) + sizeof(ram),
    };

    g_byte_array_append(bytes, (void *)&write, sizeof(write));
    g_byte_array_append(bytes, (void *)&ram, sizeof(ram));
    g_byte_array_append(bytes, (void *)&value, 4);
    g_byte_array_append(bytes, (void *)&read, sizeof(read));
    g_byte_array_append(bytes, (void *)&ram, sizeof(ram));
    read.id = 3;
    g_byte_array_append(bytes, (void *)&read, sizeof(read));
    g_byte_array_append(bytes, (void *)&id, sizeof(id));
    return bytes;
}

static void expect_data(CablePeer *p, uint16_t id, uint32_t value,
                        unsigned size)
{
    g_assert_true(cable_peer_receive(p));
    g_assert_cmpuint(p->msg.hdr.id, ==, id);
    g_assert_cmphex(p->msg.hdr.flags, ==, VFU_F_REPLY);
    g_assert_cmpuint(p->msg.len, ==, sizeof(VfuRegionRW) + size);
    g_assert_cmpint(memcmp(p->msg.payload + sizeof(VfuRegionRW), &value,
                           size), ==, 0);
}

/* Has the other end taken all that was sent? */
static bool all_taken(CablePeer *p)
{
    int left;

    g_assert_cmpint(ioctl(p->fd, SIOCOUTQ, &left), ==, 0);
    return !left;
}

static void test_split(void)
{
    PCIeCable *c = start("");
    CablePeer *p = connect_peer(c, CABLE_CAPS_NONE);

    set_command(p, PCI_COMMAND_MEMORY);
    for (unsigned cut = 0; ; cut++) {
        g_autoptr(GByteArray) bytes = conversation(0x1000 + cut);

        if (cut > bytes->len) {
            break;
        }
        if (cut) {
            cable_peer_send_raw(p, bytes->data, cut, NULL, 0);
            cable_wait(all_taken(p));
        }
        cable_peer_send_raw(p, bytes->data + cut, bytes->len - cut, NULL, 0);
        expect_data(p, 2, 0x1000 + cut, 4);
        expect_data(p, 3, CABLE_VENDOR, 2);
    }
    /* One byte at a time */
    for (unsigned i = 0; i < 2; i++) {
        g_autoptr(GByteArray) bytes = conversation(i);

        for (unsigned n = 0; n < bytes->len; n++) {
            cable_peer_send_raw(p, bytes->data + n, 1, NULL, 0);
            cable_wait(all_taken(p));
        }
        expect_data(p, 2, i, 4);
        expect_data(p, 3, CABLE_VENDOR, 2);
    }
    cable_peer_close(p);
    cable_free(c);
}

/* The client goes away in the middle of a message. */
static void test_truncated(void)
{
    PCIeCable *c = start("");
    unsigned fds = idle_fds(c);
    g_autoptr(GByteArray) bytes = conversation(0xbad);

    qtest_writel(c->soc, TARGET4 + 16, 0x600d);
    for (unsigned cut = 1; cut < sizeof(VfuHdr) + sizeof(VfuRegionRW) + 4;
         cut++) {
        CablePeer *p = connect_peer(c, CABLE_CAPS_NONE);

        set_command(p, PCI_COMMAND_MEMORY);
        cable_peer_send_raw(p, bytes->data, cut, NULL, 0);
        cable_peer_close(p);
    }
    check_recovered(c, fds);
    g_assert_cmphex(qtest_readl(c->soc, TARGET4 + 16), ==, 0x600d);
    cable_free(c);
}

/* A client that asks and does not listen is cut off. */
static void test_never_reads(void)
{
    PCIeCable *c = start("");
    unsigned fds = idle_fds(c);
    CablePeer *p = connect_peer(c, CABLE_CAPS_NONE);
    VfuRegionRW rw = { .region = 2, .count = VFU_MAX_XFER };
    VfuHdr hdr = {
        .command = VFU_REGION_READ, .size = sizeof(hdr) + sizeof(rw),
    };
    g_autoptr(GByteArray) bytes = g_byte_array_new();

    set_command(p, PCI_COMMAND_MEMORY);
    g_byte_array_append(bytes, (void *)&hdr, sizeof(hdr));
    g_byte_array_append(bytes, (void *)&rw, sizeof(rw));
    for (unsigned i = 0; i < 600; i++) {
        cable_peer_send_raw(p, bytes->data, bytes->len, NULL, 0);
    }
    cable_wait_link(c, false);
    cable_peer_expect_close(p);
    cable_peer_close(p);
    check_recovered(c, fds);
    cable_free(c);
}

static void test_flood(void)
{
    PCIeCable *c = start("");
    CablePeer *p = connect_peer(c, CABLE_CAPS_NONE);
    VfuRegionRW rw = { .region = 4, .offset = 0, .count = 4 };
    uint64_t value;

    set_command(p, PCI_COMMAND_MEMORY);
    for (uint32_t i = 0; i < 50000; i++) {
        cable_peer_request(p, VFU_REGION_WRITE, VFU_F_NO_REPLY, &rw,
                           sizeof(rw), &i, sizeof(i), NULL, 0);
    }
    g_assert_cmpint(cable_peer_region_read(p, 4, 0, 4, &value), ==, 0);
    g_assert_cmpuint(value, ==, 49999);
    cable_peer_close(p);
    good_client(c);
    cable_free(c);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);

    qtest_add_func("/pcie-cable-proto/socket", test_socket);
    qtest_add_func("/pcie-cable-proto/version/good", test_version_good);
    qtest_add_func("/pcie-cable-proto/version/bad", test_version_bad);
    qtest_add_func("/pcie-cable-proto/version/plain-waits", test_plain_waits);
    qtest_add_func("/pcie-cable-proto/link-state", test_link_state);
    qtest_add_func("/pcie-cable-proto/second-client", test_second_client);
    qtest_add_func("/pcie-cable-proto/device-info", test_device_info);
    qtest_add_func("/pcie-cable-proto/short", test_short);
    qtest_add_func("/pcie-cable-proto/region-values", test_region_values);
    qtest_add_func("/pcie-cable-proto/write-length", test_write_length);
    qtest_add_func("/pcie-cable-proto/info-values", test_info_values);
    qtest_add_func("/pcie-cable-proto/bad-headers", test_bad_headers);
    qtest_add_func("/pcie-cable-proto/split", test_split);
    qtest_add_func("/pcie-cable-proto/truncated", test_truncated);
    qtest_add_func("/pcie-cable-proto/never-reads", test_never_reads);
    qtest_add_func("/pcie-cable-proto/flood", test_flood);

    return g_test_run();
}
