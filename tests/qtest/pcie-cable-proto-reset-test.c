/*
 * QTest of the PCIe cable: resets of one end, seen by the other
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Resets of the host: the test is the server, a made-up endpoint that answers
 * at its leisure, does DMA while it is reset, or has none of it.  Resets at
 * the endpoint: the test is the client, a raw socket.
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/bswap.h"
#include "libqos/pcie-cable.h"
#include "libqos/pcie-cable-peer.h"
#include "libqos/pcie-cable-server.h"
#include "libqos/shared-ram.h"

/* Where "virt" loads a kernel that is no Linux Image */
#define IMAGE_OFFSET 0x80000
#define IMAGE_SIZE 4096

typedef struct Fixture {
    PCIeCable *c;
    CableServer *s;
} Fixture;

/* The function is there, and bus master. */
static void check_function(Fixture *f)
{
    cable_wait(cable_rc_link_up(f->c));
    cable_port_setup(f->c);
    cable_host_setup(f->c, 0);
    g_assert_cmphex(cable_cfg_readl(f->c, 0, PCI_VENDOR_ID), ==,
                    CABLE_VENDOR | CABLE_DEVICE << 16);
}

static Fixture *start(const char *props, const char *args)
{
    Fixture *f = g_new0(Fixture, 1);

    f->c = cable_new();
    f->s = cable_server_new(f->c->socket);
    cable_server_accept(f->s);
    cable_start_rc(f->c, props, args);
    check_function(f);
    return f;
}

static void stop(Fixture *f)
{
    cable_quit_rc(f->c);
    cable_server_free(f->s);
    cable_free(f->c);
    g_free(f);
}

/* A reset of the machine waits for the endpoint, but not for ever. */
static void test_machine(void)
{
    Fixture *f = start("", "");
    unsigned resets = f->s->resets, unmaps = f->s->unmaps;

    qtest_system_reset(f->c->rc);
    g_assert_cmpuint(f->s->resets, ==, resets + 1);
    g_assert_cmpuint(f->s->unmaps, ==, unmaps + 1);
    check_function(f);

    qatomic_set(&f->s->mute, true);
    qtest_system_reset(f->c->rc);
    cable_server_wait_close(f->s);
    cable_wait(!cable_rc_link_up(f->c));
    qatomic_set(&f->s->mute, false);
    cable_server_accept(f->s);
    check_function(f);
    stop(f);
}

/* What is loaded for the next boot is loaded when the endpoint has stopped. */
static void test_machine_image(void)
{
    g_autofree char *dir = g_dir_make_tmp("image-XXXXXX", NULL);
    g_autofree char *path = g_strdup_printf("%s/image", dir);
    g_autofree char *args = g_strdup_printf("-kernel %s", path);
    g_autofree char *image = cable_pattern(IMAGE_SIZE, 1);
    g_autofree char *other = cable_pattern(IMAGE_SIZE, 2);
    Fixture *f;

    g_assert_true(g_file_set_contents(path, image, IMAGE_SIZE, NULL));
    f = start("", args);
    cable_check_memory(f->c->rc, CABLE_RAM_BASE + IMAGE_OFFSET, image,
                       IMAGE_SIZE);
    f->s->reset_dma_len = IMAGE_SIZE;
    f->s->reset_dma_offset = IMAGE_OFFSET;
    f->s->reset_dma = other;
    for (unsigned i = 0; i < 10; i++) {
        unsigned resets = f->s->resets;

        qtest_system_reset(f->c->rc);
        g_assert_cmpuint(f->s->resets, ==, resets + 1);
        cable_check_memory(f->c->rc, CABLE_RAM_BASE + IMAGE_OFFSET, image,
                           IMAGE_SIZE);
        check_function(f);
    }
    stop(f);
    unlink(path);
    rmdir(dir);
}

/* Nobody waits for the endpoint in a hot reset. */
static void test_hot(void)
{
    Fixture *f = start(",completion-timeout=1000", "");
    unsigned resets = f->s->resets, unmaps = f->s->unmaps;

    qatomic_set(&f->s->mute, true);
    cable_hot_reset(f->c);
    g_assert_true(cable_rc_link_up(f->c));
    g_assert_cmphex(cable_cfg_readl(f->c, 0, PCI_VENDOR_ID), ==, UINT32_MAX);
    qatomic_set(&f->s->mute, false);
    check_function(f);
    g_assert_cmpuint(f->s->resets, ==, resets);

    /* It ends bus mastering; both are through when config space answers. */
    cable_hot_reset(f->c);
    g_assert_cmphex(cable_cfg_readl(f->c, 0, PCI_VENDOR_ID), ==,
                    CABLE_VENDOR | CABLE_DEVICE << 16);
    g_assert_cmpuint(f->s->resets, ==, resets + 1);
    g_assert_cmpuint(f->s->unmaps, ==, unmaps + 1);
    check_function(f);
    stop(f);
}

/* An endpoint has the host's bridge reset it: as if the host had done it. */
static void test_hot_by_dma(void)
{
    Fixture *f = start("", "");
    uint64_t control = cable_ecam(0, CABLE_PORT_DEVFN, PCI_BRIDGE_CONTROL);
    VfuDmaRW rw = { .address = control, .count = 2 };
    uint16_t bus_reset = cpu_to_le16(PCI_BRIDGE_CTL_BUS_RESET);
    unsigned resets = f->s->resets;

    g_assert_cmpint(cable_server_call(f->s, VFU_DMA_WRITE, &rw, sizeof(rw),
                                      &bus_reset, sizeof(bus_reset), NULL,
                                      0), ==, 0);
    g_assert_cmpuint(f->s->resets, ==, resets + 1);
    /* It is no bus master any more. */
    g_assert_cmpint(cable_server_call(f->s, VFU_DMA_WRITE, &rw, sizeof(rw),
                                      &bus_reset, sizeof(bus_reset), NULL,
                                      0), ==, EFAULT);
    rw.address = CABLE_RAM_BASE;
    g_assert_cmpint(cable_server_call(f->s, VFU_DMA_READ, &rw, sizeof(rw),
                                      NULL, 0, NULL, 0), ==, EFAULT);
    qtest_writew(f->c->rc, control, 0);
    check_function(f);
    qtest_system_reset(f->c->rc);
    check_function(f);
    stop(f);
}

/* A config write that stops the endpoint waits until it has. */
static void test_stop_unanswered(void)
{
    static const struct {
        unsigned reg;
        uint16_t value;
    } stops[] = {
        { PCI_COMMAND, PCI_COMMAND_MEMORY },
        { CABLE_SERVER_CAP_EXP + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_BCR_FLR },
    };
    Fixture *f = start("", "");

    for (unsigned i = 0; i < ARRAY_SIZE(stops); i++) {
        cable_rc_set_timeout(f->c, 50);
        qatomic_set(&f->s->mute, true);
        /* Of another write the host waits for no longer than it takes. */
        cable_cfg_writew(f->c, 0, PCI_COMMAND,
                         PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
        g_assert_false(qatomic_read(&f->s->closed));
        cable_cfg_writew(f->c, 0, stops[i].reg, stops[i].value);
        cable_server_wait_close(f->s);
        cable_wait(!cable_rc_link_up(f->c));
        qatomic_set(&f->s->mute, false);
        cable_server_accept(f->s);
        cable_rc_set_timeout(f->c, 0);
        check_function(f);
    }
    stop(f);
}

/* The endpoint */

static PCIeCable *start_ep(const char *args)
{
    PCIeCable *c = cable_new();

    cable_start_ep(c, "", args);
    cable_soc_setup(c, 0);
    dw_ep_inbound_bar_match(c->ep, 0, 0, 2, CABLE_RAM_BASE);
    dw_ep_start_link(c->ep);
    return c;
}

/* What a reset does is done when config space answers behind it. */
static void test_config_behind(void)
{
    PCIeCable *c = start_ep("");
    CablePeer *p = cable_peer_connect(c->socket);
    struct {
        VfuHdr reset, read;
        VfuRegionRW rw;
    } bytes = {
        .reset = { .id = 1, .command = VFU_DEVICE_RESET,
                   .size = sizeof(VfuHdr) },
        .read = { .id = 2, .command = VFU_REGION_READ,
                  .size = sizeof(VfuHdr) + sizeof(VfuRegionRW) },
        .rw = { .region = VFU_REGION_CONFIG, .count = 4 },
    };

    g_assert_cmpint(cable_peer_version(p, 0, CABLE_CAPS_NONE), ==, 0);
    for (unsigned i = 0; i < 1000; i++) {
        cable_peer_send_raw(p, &bytes, sizeof(bytes), NULL, 0);
        for (unsigned id = 1; id <= 2; id++) {
            g_assert_true(cable_peer_receive(p));
            g_assert_cmphex(p->msg.hdr.flags, ==, VFU_F_REPLY);
            g_assert_cmpuint(p->msg.hdr.id, ==, id);
        }
        g_assert_cmphex(ldl_le_p(p->msg.payload + sizeof(VfuRegionRW)), ==,
                        CABLE_VENDOR | CABLE_DEVICE << 16);
    }
    cable_peer_close(p);
    cable_free(c);
}

typedef struct Host {
    CablePeer *p;
    uint8_t *ram;               /* of the endpoint */
    const void *bytes;
} Host;

/* A host that goes on storing until it drops the mapping of a BAR */
static void *host_thread(void *opaque)
{
    Host *h = opaque;
    VfuRegionRemap remap;

    while (cable_peer_receive(h->p)) {
        if (h->p->msg.hdr.command == VFU_REGION_REMAP) {
            memcpy(&remap, h->p->msg.payload, sizeof(remap));
            if (!remap.flags) {
                g_usleep(100000);
                memcpy(h->ram + IMAGE_OFFSET, h->bytes, IMAGE_SIZE);
            }
        }
        if (!(h->p->msg.hdr.flags & VFU_F_NO_REPLY)) {
            cable_peer_reply(h->p, &h->p->msg.hdr, NULL, 0, NULL, 0);
        }
    }
    return NULL;
}

static void test_ep_machine_image(void)
{
    g_autofree char *dir = g_dir_make_tmp("image-XXXXXX", NULL);
    g_autofree char *path = g_strdup_printf("%s/image", dir);
    g_autofree char *args = g_strdup_printf("-kernel %s", path);
    g_autofree char *image = cable_pattern(IMAGE_SIZE, 1);
    g_autofree char *other = cable_pattern(IMAGE_SIZE, 2);
    Host h = { .bytes = other };
    GThread *thread;
    PCIeCable *c;

    g_assert_true(g_file_set_contents(path, image, IMAGE_SIZE, NULL));
    c = start_ep(args);
    h.ram = shared_ram_map(c->soc, CABLE_RAM_SIZE);
    h.p = cable_peer_connect(c->socket);
    g_assert_cmpint(cable_peer_version(h.p, 0, CABLE_CAPS_ALL), ==, 0);
    thread = g_thread_new("host", host_thread, &h);

    qtest_system_reset(c->soc);
    g_assert_cmpint(memcmp(h.ram + IMAGE_OFFSET, image, IMAGE_SIZE), ==, 0);
    cable_quit_ep(c);
    g_thread_join(thread);
    g_assert_cmpint(memcmp(h.ram + IMAGE_OFFSET, image, IMAGE_SIZE), ==, 0);
    cable_peer_close(h.p);
    shared_ram_unmap(h.ram, CABLE_RAM_SIZE);
    cable_free(c);
    unlink(path);
    rmdir(dir);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);

    qtest_add_func("/pcie-cable-proto-reset/machine", test_machine);
    qtest_add_func("/pcie-cable-proto-reset/machine/image",
                   test_machine_image);
    qtest_add_func("/pcie-cable-proto-reset/stop-unanswered",
                   test_stop_unanswered);
    qtest_add_func("/pcie-cable-proto-reset/ep/config-behind",
                   test_config_behind);
    qtest_add_func("/pcie-cable-proto-reset/ep/machine-image",
                   test_ep_machine_image);
    qtest_add_func("/pcie-cable-proto-reset/hot", test_hot);
    qtest_add_func("/pcie-cable-proto-reset/hot/by-dma", test_hot_by_dma);

    return g_test_run();
}
