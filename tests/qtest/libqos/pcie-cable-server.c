/*
 * libqos helpers: an endpoint of the PCIe cable that a test makes up
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/bswap.h"
#include "pcie-cable.h"
#include "pcie-cable-peer.h"
#include "pcie-cable-server.h"

static void init_config(CableServer *s)
{
    uint8_t *c = s->config;

    stw_le_p(c + PCI_VENDOR_ID, CABLE_VENDOR);
    stw_le_p(c + PCI_DEVICE_ID, CABLE_DEVICE);
    stw_le_p(c + PCI_STATUS, PCI_STATUS_CAP_LIST);
    stl_le_p(c + PCI_CLASS_REVISION, CABLE_CLASS << 8);
    stl_le_p(c + PCI_BASE_ADDRESS_2, PCI_BASE_ADDRESS_MEM_TYPE_64 |
             PCI_BASE_ADDRESS_MEM_PREFETCH);
    c[PCI_CAPABILITY_LIST] = CABLE_SERVER_CAP_MSI;
    c[CABLE_SERVER_CAP_MSI] = PCI_CAP_ID_MSI;
    c[CABLE_SERVER_CAP_MSI + PCI_CAP_LIST_NEXT] = CABLE_SERVER_CAP_EXP;
    stw_le_p(c + CABLE_SERVER_CAP_MSI + PCI_MSI_FLAGS,
             5 << 1 | PCI_MSI_FLAGS_64BIT | PCI_MSI_FLAGS_MASKBIT);
    c[CABLE_SERVER_CAP_EXP] = PCI_CAP_ID_EXP;
    stw_le_p(c + CABLE_SERVER_CAP_EXP + PCI_EXP_FLAGS, 2);
    s->bar_size[0] = CABLE_BAR_SIZE;
    s->bar_size[2] = CABLE_BAR_SIZE;
    s->bar_size[4] = RCAR_GEN4_BAR4_SIZE;
}

CableServer *cable_server_new(const char *path)
{
    CableServer *s = g_new0(CableServer, 1);

    qemu_mutex_init(&s->lock);
    s->json = CABLE_CAPS_ALL;
    s->map_fd = s->ring_fd = s->ring_wake_fd = -1;
    for (unsigned i = 0; i < CABLE_SERVER_VECTORS; i++) {
        s->irq_fds[i] = -1;
    }
    init_config(s);
    s->listen_fd = cable_peer_listen(path);
    return s;
}

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

static void forget_client(CableServer *s)
{
    close_fd(&s->map_fd);
    close_fd(&s->ring_fd);
    close_fd(&s->ring_wake_fd);
    for (unsigned i = 0; i < CABLE_SERVER_VECTORS; i++) {
        close_fd(&s->irq_fds[i]);
    }
    s->maps = s->unmaps = s->resets = s->writes = s->max_irq_fds = 0;
}

void cable_server_free(CableServer *s)
{
    if (s->thread) {
        cable_server_hang_up(s);
    }
    forget_client(s);
    close(s->listen_fd);
    qemu_mutex_destroy(&s->lock);
    g_free(s);
}

/* Sending; lock held */

static void answer(CableServer *s, const void *fixed, size_t fixed_len,
                   const void *data, size_t data_len)
{
    if (!(s->p->msg.hdr.flags & VFU_F_NO_REPLY)) {
        cable_peer_reply(s->p, &s->p->msg.hdr, fixed, fixed_len, data,
                         data_len);
    }
}

static void send_link_state(CableServer *s, bool up)
{
    VfuLinkState state = {
        .argsz = sizeof(state), .up = up, .functions = up ? 1 : 0,
    };

    cable_peer_request(s->p, VFU_LINK_STATE, VFU_F_NO_REPLY, &state,
                       sizeof(state), NULL, 0, NULL, 0);
}

/* The client's requests; lock held */

static void serve_version(CableServer *s)
{
    VfuVersion version = { .major = s->major };

    answer(s, &version, sizeof(version), s->json,
           s->json ? strlen(s->json) + 1 : 0);
    if (s->json && strstr(s->json, VFU_CAP_LINK_STATE)) {
        send_link_state(s, true);
    }
}

static void serve_region_info(CableServer *s)
{
    struct {
        VfuRegionInfo info;
        uint8_t extra[16];
    } reply = { };

    memcpy(&reply.info, s->p->msg.payload, sizeof(reply.info));
    reply.info.size = reply.info.index < CABLE_SERVER_BARS ?
                      s->bar_size[reply.info.index] : sizeof(s->config);
    reply.info.flags = VFU_REGION_FLAG_READ | VFU_REGION_FLAG_WRITE;
    answer(s, &reply, sizeof(reply.info) + s->info_extra, NULL, 0);
}

static void serve_region_read(CableServer *s)
{
    g_autofree uint8_t *data = NULL;
    VfuRegionRW rw;

    memcpy(&rw, s->p->msg.payload, sizeof(rw));
    g_assert_cmpuint(rw.count, <=, sizeof(s->config));
    data = g_malloc(rw.count + 16);
    memset(data, 0x5a, rw.count + 16);
    if (rw.region == VFU_REGION_CONFIG) {
        g_assert_cmpuint(rw.offset + rw.count, <=, sizeof(s->config));
        memcpy(data, s->config + rw.offset, rw.count);
        answer(s, &rw, sizeof(rw), data, rw.count);
    } else {
        answer(s, &rw, sizeof(rw), data, rw.count + s->read_extra);
    }
}

/* The type bits of a BAR are read-only. */
static void write_config(CableServer *s, const VfuRegionRW *rw,
                         const uint8_t *data)
{
    uint8_t bar2_type = s->config[PCI_BASE_ADDRESS_2] & 0xf;

    memcpy(s->config + rw->offset, data, rw->count);
    s->config[PCI_BASE_ADDRESS_2] &= ~0xf;
    s->config[PCI_BASE_ADDRESS_2] |= bar2_type;
}

static void serve_region_write(CableServer *s)
{
    const uint8_t *data = s->p->msg.payload + sizeof(VfuRegionRW);
    VfuRegionRW rw;

    memcpy(&rw, s->p->msg.payload, sizeof(rw));
    g_assert_cmpuint(s->p->msg.len, ==, sizeof(rw) + rw.count);
    if (rw.region == VFU_REGION_CONFIG) {
        g_assert_cmpuint(rw.offset + rw.count, <=, sizeof(s->config));
        write_config(s, &rw, data);
    } else {
        s->writes++;
        s->write = rw;
        s->write_value = ldn_le_p(data, rw.count);
    }
    answer(s, &rw, sizeof(rw), NULL, 0);
}

static void serve_set_irqs(CableServer *s)
{
    CableMessage *m = &s->p->msg;
    VfuIrqSet set;

    memcpy(&set, m->payload, sizeof(set));
    g_assert_cmpuint(set.index, ==, VFU_IRQ_MSI);
    g_assert_cmpuint(set.start + set.count, <=, CABLE_SERVER_VECTORS);
    s->max_irq_fds = MAX(s->max_irq_fds, m->nfds);
    if (!set.count) {
        for (unsigned i = 0; i < CABLE_SERVER_VECTORS; i++) {
            close_fd(&s->irq_fds[i]);
        }
    }
    for (unsigned i = 0; i < m->nfds; i++) {
        close_fd(&s->irq_fds[set.start + i]);
        s->irq_fds[set.start + i] = dup(m->fds[i]);
    }
    answer(s, &set, sizeof(set), NULL, 0);
}

static void serve_request(CableServer *s)
{
    CableMessage *m = &s->p->msg;

    if (qatomic_read(&s->mute) && m->hdr.command != VFU_VERSION) {
        return;
    }
    switch (m->hdr.command) {
    case VFU_VERSION:
        serve_version(s);
        break;
    case VFU_DEVICE_GET_REGION_INFO:
        serve_region_info(s);
        break;
    case VFU_REGION_READ:
        serve_region_read(s);
        break;
    case VFU_REGION_WRITE:
        serve_region_write(s);
        break;
    case VFU_DEVICE_SET_IRQS:
        serve_set_irqs(s);
        break;
    case VFU_DMA_MAP:
        memcpy(&s->map, m->payload, sizeof(s->map));
        s->maps++;
        if (m->nfds) {
            close_fd(&s->map_fd);
            s->map_fd = dup(m->fds[0]);
        }
        answer(s, NULL, 0, NULL, 0);
        break;
    case VFU_POSTED_RING:
        g_assert_cmpuint(m->nfds, ==, VFU_RING_FDS);
        s->ring_wake_fd = dup(m->fds[VFU_RING_FD_WAKE]);
        qatomic_set(&s->ring_fd, dup(m->fds[VFU_RING_FD_MEMORY]));
        break;
    case VFU_DMA_UNMAP:
        s->unmaps++;
        answer(s, m->payload, m->len, NULL, 0);
        break;
    case VFU_DEVICE_RESET:
        s->resets++;
        if (s->reset_dma) {
            g_assert_cmpint(pwrite(s->map_fd, s->reset_dma, s->reset_dma_len,
                                   s->map.offset + s->reset_dma_offset), ==,
                            s->reset_dma_len);
        }
        answer(s, NULL, 0, NULL, 0);
        break;
    default:
        g_assert_not_reached();
    }
}

static void *server_thread(void *opaque)
{
    CableServer *s = opaque;
    CablePeer *p = cable_peer_accept(s->listen_fd);

    qemu_mutex_lock(&s->lock);
    qatomic_store_release(&s->p, p);
    qemu_mutex_unlock(&s->lock);
    while (cable_peer_receive(p)) {
        qemu_mutex_lock(&s->lock);
        if ((s->p->msg.hdr.flags & VFU_F_TYPE) == VFU_F_REQUEST) {
            serve_request(s);
        } else {
            s->reply = s->p->msg.hdr;
            s->reply_len = s->p->msg.len;
            memcpy(s->reply_payload, s->p->msg.payload,
                   MIN(s->reply_len, sizeof(s->reply_payload)));
            s->replies++;
        }
        qemu_mutex_unlock(&s->lock);
    }
    qatomic_set(&s->closed, true);
    return NULL;
}

void cable_server_accept(CableServer *s)
{
    g_assert_null(s->thread);
    forget_client(s);
    s->closed = false;
    s->thread = g_thread_new("server", server_thread, s);
}

void cable_server_wait_close(CableServer *s)
{
    g_thread_join(s->thread);
    s->thread = NULL;
    cable_peer_close(s->p);
    s->p = NULL;
}

void cable_server_hang_up(CableServer *s)
{
    cable_wait(qatomic_load_acquire(&s->p));
    shutdown(s->p->fd, SHUT_RDWR);
    cable_server_wait_close(s);
}

/* Messages of the server's own */

void cable_server_send(CableServer *s, const void *bytes, size_t len,
                       const int *fds, unsigned nfds)
{
    qemu_mutex_lock(&s->lock);
    cable_peer_send_raw(s->p, bytes, len, fds, nfds);
    qemu_mutex_unlock(&s->lock);
}

void cable_server_link_state(CableServer *s, bool up)
{
    qemu_mutex_lock(&s->lock);
    send_link_state(s, up);
    qemu_mutex_unlock(&s->lock);
}

static bool has_reply(CableServer *s, uint16_t id)
{
    bool found;

    qemu_mutex_lock(&s->lock);
    found = s->replies && s->reply.id == id;
    qemu_mutex_unlock(&s->lock);
    return found;
}

int cable_server_call(CableServer *s, uint16_t command, const void *fixed,
                      size_t fixed_len, const void *data, size_t data_len,
                      const int *fds, unsigned nfds)
{
    uint16_t id;

    qemu_mutex_lock(&s->lock);
    s->replies = 0;
    id = cable_peer_request(s->p, command, 0, fixed, fixed_len, data,
                            data_len, fds, nfds);
    qemu_mutex_unlock(&s->lock);
    cable_wait(has_reply(s, id) || qatomic_read(&s->closed));
    if (!has_reply(s, id)) {
        return -1;
    }
    g_assert_cmpuint(s->reply.command, ==, command);
    return s->reply.flags & VFU_F_ERROR ? s->reply.error : 0;
}

int cable_server_remap(CableServer *s, uint32_t region, uint64_t offset,
                       uint64_t size, uint32_t flags, int fd,
                       uint64_t fd_offset)
{
    VfuRegionRemap remap = {
        .argsz = sizeof(remap), .flags = flags, .region = region,
        .offset = offset, .size = size, .fd_offset = fd_offset,
    };

    return cable_server_call(s, VFU_REGION_REMAP, &remap, sizeof(remap),
                             NULL, 0, &fd, fd >= 0 ? 1 : 0);
}
