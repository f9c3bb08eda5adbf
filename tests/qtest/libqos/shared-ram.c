/*
 * libqos helper: a machine's RAM, mapped into the test
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "shared-ram.h"

/* What backends/hostmem-memfd.c calls its file */
#define MEMFD_LINK "/memfd:memory-backend-memfd"

static int open_backend(QTestState *qts, size_t size)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/fd", qtest_pid(qts));
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *name;

    g_assert_nonnull(dir);
    while ((name = g_dir_read_name(dir))) {
        g_autofree char *fd_path = g_build_filename(path, name, NULL);
        g_autofree char *target = g_file_read_link(fd_path, NULL);
        struct stat st;
        int fd;

        if (!target || !g_str_has_prefix(target, MEMFD_LINK)) {
            continue;
        }
        fd = open(fd_path, O_RDWR | O_CLOEXEC);
        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(fstat(fd, &st), ==, 0);
        if (st.st_size == size) {
            return fd;
        }
        close(fd);
    }
    g_assert_not_reached();
}

uint8_t *shared_ram_map(QTestState *qts, size_t size)
{
    int fd = open_backend(qts, size);
    void *ram = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    g_assert_true(ram != MAP_FAILED);
    close(fd);
    return ram;
}

void shared_ram_unmap(uint8_t *ram, size_t size)
{
    g_assert_cmpint(munmap(ram, size), ==, 0);
}
