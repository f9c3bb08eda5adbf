/*
 * libqos helpers: a peer of the PCIe cable made of a raw socket
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include <poll.h>
#include <sys/mman.h>
#include <sys/un.h>
#include "qemu/bswap.h"
#include "qemu/memfd.h"
#include "pcie-cable.h"
#include "pcie-cable-peer.h"

static CablePeer *peer_new(int fd)
{
    CablePeer *p = g_new0(CablePeer, 1);

    p->fd = fd;
    return p;
}

static void unix_address(struct sockaddr_un *addr, const char *path)
{
    memset(addr, 0, sizeof(*addr));
    addr->sun_family = AF_UNIX;
    g_assert_cmpuint(strlen(path), <, sizeof(addr->sun_path));
    strcpy(addr->sun_path, path);
}

CablePeer *cable_peer_connect(const char *path)
{
    struct sockaddr_un addr;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    unix_address(&addr, path);
    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), ==,
                    0);
    return peer_new(fd);
}

int cable_peer_listen(const char *path)
{
    struct sockaddr_un addr;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    unix_address(&addr, path);
    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), ==, 0);
    g_assert_cmpint(listen(fd, 4), ==, 0);
    return fd;
}

CablePeer *cable_peer_accept(int listen_fd)
{
    struct pollfd pfd = { .fd = listen_fd, .events = POLLIN };
    int fd;

    g_assert_cmpint(poll(&pfd, 1, CABLE_DEADLINE_S * 1000), ==, 1);
    fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
    g_assert_cmpint(fd, >=, 0);
    return peer_new(fd);
}

static void drop_fds(CablePeer *p)
{
    for (unsigned i = 0; i < p->msg.nfds; i++) {
        close(p->msg.fds[i]);
    }
    p->msg.nfds = 0;
}

void cable_peer_close(CablePeer *p)
{
    drop_fds(p);
    close(p->fd);
    g_free(p);
}

/* Sending */

void cable_peer_send_raw(CablePeer *p, const void *bytes, size_t len,
                         const int *fds, unsigned nfds)
{
    g_autofree char *control = NULL;

    while (len) {
        struct iovec iov = { .iov_base = (void *)bytes, .iov_len = len };
        struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
        ssize_t n;

        if (nfds) {
            struct cmsghdr *cmsg;

            control = g_malloc0(CMSG_SPACE(sizeof(int) * nfds));
            msg.msg_control = control;
            msg.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
            cmsg = CMSG_FIRSTHDR(&msg);
            cmsg->cmsg_level = SOL_SOCKET;
            cmsg->cmsg_type = SCM_RIGHTS;
            cmsg->cmsg_len = CMSG_LEN(sizeof(int) * nfds);
            memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * nfds);
            nfds = 0;
        }
        n = RETRY_ON_EINTR(sendmsg(p->fd, &msg, MSG_NOSIGNAL));
        if (n < 0) {
            /* The other end has had enough, which the test will find. */
            g_assert_true(errno == EPIPE || errno == ECONNRESET);
            return;
        }
        bytes = (const char *)bytes + n;
        len -= n;
    }
}

static void send_message(CablePeer *p, VfuHdr *hdr, const void *fixed,
                         size_t fixed_len, const void *data, size_t data_len,
                         const int *fds, unsigned nfds)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();

    hdr->size = sizeof(*hdr) + fixed_len + data_len;
    g_byte_array_append(bytes, (void *)hdr, sizeof(*hdr));
    if (fixed_len) {
        g_byte_array_append(bytes, fixed, fixed_len);
    }
    if (data_len) {
        g_byte_array_append(bytes, data, data_len);
    }
    cable_peer_send_raw(p, bytes->data, bytes->len, fds, nfds);
    p->sent++;
}

uint16_t cable_peer_request(CablePeer *p, uint16_t command, uint32_t flags,
                            const void *fixed, size_t fixed_len,
                            const void *data, size_t data_len,
                            const int *fds, unsigned nfds)
{
    VfuHdr hdr = { .id = p->next_id++, .command = command, .flags = flags };

    send_message(p, &hdr, fixed, fixed_len, data, data_len, fds, nfds);
    return hdr.id;
}

void cable_peer_reply(CablePeer *p, const VfuHdr *hdr, const void *fixed,
                      size_t fixed_len, const void *data, size_t data_len)
{
    VfuHdr reply = {
        .id = hdr->id,
        .command = hdr->command,
        .flags = VFU_F_REPLY | (hdr->flags & VFU_F_FUNCTION),
    };

    send_message(p, &reply, fixed, fixed_len, data, data_len, NULL, 0);
}

/* Receiving */

bool cable_peer_readable(CablePeer *p, int ms)
{
    struct pollfd pfd = { .fd = p->fd, .events = POLLIN };

    return poll(&pfd, 1, ms) == 1;
}

static bool receive_bytes(CablePeer *p, void *bytes, size_t len)
{
    union {
        struct cmsghdr align;
        char buf[CMSG_SPACE(sizeof(int) * VFU_MAX_FDS)];
    } control;

    while (len) {
        struct iovec iov = { .iov_base = bytes, .iov_len = len };
        struct msghdr msg = {
            .msg_iov = &iov, .msg_iovlen = 1,
            .msg_control = control.buf, .msg_controllen = sizeof(control),
        };
        struct cmsghdr *cmsg;
        ssize_t n;

        g_assert_true(cable_peer_readable(p, CABLE_DEADLINE_S * 1000));
        n = RETRY_ON_EINTR(recvmsg(p->fd, &msg, MSG_CMSG_CLOEXEC));
        if (n <= 0) {
            g_assert_true(n == 0 || errno == ECONNRESET);
            return false;
        }
        for (cmsg = CMSG_FIRSTHDR(&msg); cmsg;
             cmsg = CMSG_NXTHDR(&msg, cmsg)) {
            p->msg.nfds = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            memcpy(p->msg.fds, CMSG_DATA(cmsg), p->msg.nfds * sizeof(int));
        }
        bytes = (char *)bytes + n;
        len -= n;
    }
    return true;
}

bool cable_peer_receive(CablePeer *p)
{
    drop_fds(p);
    if (!receive_bytes(p, &p->msg.hdr, sizeof(p->msg.hdr))) {
        return false;
    }
    g_assert_cmpuint(p->msg.hdr.size, >=, sizeof(VfuHdr));
    g_assert_cmpuint(p->msg.hdr.size, <=, VFU_MAX_MSG);
    g_assert_cmphex(p->msg.hdr.flags & ~VFU_F_KNOWN, ==, 0);
    p->msg.len = p->msg.hdr.size - sizeof(VfuHdr);
    return receive_bytes(p, p->msg.payload, p->msg.len);
}

/* A request of the other end, which a polite peer answers */
static void handle_request(CablePeer *p)
{
    CableMessage *m = &p->msg;

    if (m->hdr.command == VFU_LINK_STATE) {
        g_assert_cmpuint(m->len, ==, sizeof(p->link));
        memcpy(&p->link, m->payload, sizeof(p->link));
        p->link_states++;
    } else if (m->hdr.command == VFU_REGION_REMAP) {
        g_assert_cmpuint(m->len, ==, sizeof(p->remap));
        memcpy(&p->remap, m->payload, sizeof(p->remap));
        g_assert_cmpuint(m->nfds, ==, p->remap.flags ? 1 : 0);
        p->remaps++;
        if (p->ignore_remaps) {
            return;
        }
    }
    if (!(m->hdr.flags & VFU_F_NO_REPLY)) {
        cable_peer_reply(p, &m->hdr, NULL, 0, NULL, 0);
    }
}

void cable_peer_expect_close(CablePeer *p)
{
    while (cable_peer_receive(p)) {
        if ((p->msg.hdr.flags & VFU_F_TYPE) == VFU_F_REQUEST) {
            handle_request(p);
        }
    }
}

int cable_peer_call(CablePeer *p, uint16_t command, uint32_t flags,
                    const void *fixed, size_t fixed_len,
                    const void *data, size_t data_len,
                    const int *fds, unsigned nfds)
{
    uint16_t id = cable_peer_request(p, command, flags, fixed, fixed_len,
                                     data, data_len, fds, nfds);

    while (cable_peer_receive(p)) {
        if ((p->msg.hdr.flags & VFU_F_TYPE) == VFU_F_REQUEST) {
            handle_request(p);
            continue;
        }
        g_assert_cmphex(p->msg.hdr.flags & VFU_F_TYPE, ==, VFU_F_REPLY);
        g_assert_cmpuint(p->msg.hdr.id, ==, id);
        g_assert_cmpuint(p->msg.hdr.command, ==, command);
        if (p->msg.hdr.flags & VFU_F_ERROR) {
            g_assert_cmpuint(p->msg.hdr.error, !=, 0);
            return p->msg.hdr.error;
        }
        return 0;
    }
    return -1;
}

int cable_peer_version(CablePeer *p, uint16_t major, const char *json)
{
    VfuVersion version = { .major = major, .minor = VFU_MINOR };

    return cable_peer_call(p, VFU_VERSION, 0, &version, sizeof(version),
                           json, json ? strlen(json) + 1 : 0, NULL, 0);
}

int cable_peer_region_read(CablePeer *p, uint32_t region, uint64_t offset,
                           unsigned size, uint64_t *value)
{
    VfuRegionRW rw = { .offset = offset, .region = region, .count = size };
    int error = cable_peer_call(p, VFU_REGION_READ, 0, &rw, sizeof(rw), NULL,
                                0, NULL, 0);

    if (!error) {
        g_assert_cmpuint(p->msg.len, ==, sizeof(rw) + size);
        g_assert_cmpint(memcmp(p->msg.payload, &rw, sizeof(rw)), ==, 0);
        *value = 0;
        memcpy(value, p->msg.payload + sizeof(rw), size);
        *value = le64_to_cpu(*value);
    }
    return error;
}

int cable_peer_region_write(CablePeer *p, uint32_t region, uint64_t offset,
                            unsigned size, uint64_t value)
{
    VfuRegionRW rw = { .offset = offset, .region = region, .count = size };
    int error;

    value = cpu_to_le64(value);
    error = cable_peer_call(p, VFU_REGION_WRITE, 0, &rw, sizeof(rw), &value,
                            size, NULL, 0);
    if (!error) {
        g_assert_cmpuint(p->msg.len, ==, sizeof(rw));
    }
    return error;
}

int cable_peer_dma_map(CablePeer *p, uint64_t address, uint64_t size,
                       uint64_t offset, uint32_t flags, int fd)
{
    VfuDmaMap map = {
        .argsz = sizeof(map), .flags = flags, .offset = offset,
        .address = address, .size = size,
    };

    return cable_peer_call(p, VFU_DMA_MAP, 0, &map, sizeof(map), NULL, 0,
                           &fd, fd >= 0 ? 1 : 0);
}

int cable_memfd(size_t size, bool seal)
{
    int fd = memfd_create("pcie-cable-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(ftruncate(fd, size), ==, 0);
    if (seal) {
        g_assert_cmpint(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), ==, 0);
    }
    return fd;
}
