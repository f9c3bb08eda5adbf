/*
 * The qtest connection of a machine, for code that measures
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "qtest-wire.h"

/* Is @fd a unix socket that @pid has accepted or made the other end of? */
static bool socket_of(int fd, pid_t pid, const char *suffix)
{
    struct sockaddr_un addr = { 0 };
    struct ucred peer;
    socklen_t len = sizeof(peer), addr_len = sizeof(addr) - 1;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
           peer.pid == pid &&
           getsockname(fd, (struct sockaddr *)&addr, &addr_len) == 0 &&
           g_str_has_suffix(addr.sun_path, suffix);
}

void qtest_wire_init(QTestWire *wire, QTestState *qts)
{
    g_autoptr(GDir) dir = g_dir_open("/proc/self/fd", 0, NULL);
    const char *name;

    g_assert_nonnull(dir);
    wire->fd = -1;
    wire->len = wire->taken = 0;
    /* libqtest accepts it on qtest-PID.sock and does not tell the number. */
    while (wire->fd < 0 && (name = g_dir_read_name(dir))) {
        int fd = atoi(name);

        if (socket_of(fd, qtest_pid(qts), ".sock")) {
            wire->fd = fd;
        }
    }
    g_assert_cmpint(wire->fd, >=, 0);
}

void qtest_wire_send(QTestWire *wire, const char *command)
{
    size_t len = strlen(command);

    g_assert_cmpint(write(wire->fd, command, len), ==, len);
}

const char *qtest_wire_read(QTestWire *wire, int timeout_ms)
{
    char *end;

    wire->len -= wire->taken;
    memmove(wire->buf, wire->buf + wire->taken, wire->len);
    wire->taken = 0;
    while (!(end = memchr(wire->buf, '\n', wire->len))) {
        ssize_t n;

        if (timeout_ms >= 0) {
            struct pollfd pfd = { .fd = wire->fd, .events = POLLIN };

            if (poll(&pfd, 1, timeout_ms) == 0) {
                return NULL;
            }
        }
        n = read(wire->fd, wire->buf + wire->len,
                 sizeof(wire->buf) - wire->len);
        g_assert_cmpint(n, >, 0);
        wire->len += n;
    }
    *end = '\0';
    wire->taken = end + 1 - wire->buf;
    return wire->buf;
}

void qtest_wire_await(QTestWire *wire, const char *expected)
{
    g_assert_cmpstr(qtest_wire_read(wire, -1), ==, expected);
}

int64_t qtest_wire_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}
