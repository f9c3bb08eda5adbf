/*
 * Two machines joined by ivshmem-doorbell, one vector each way
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include "hw/pci/pci_regs.h"
#include "qemu/bswap.h"
#include "tests/qtest/libqos/pcie-cable.h"
#include "ivshmem-pair.h"

#define PROTOCOL_VERSION 0
#define SHARED_MEMORY -1
#define SHARED_SIZE 4096

#define DEVFN (4 << 3)
/* Beyond what the cable's root port forwards */
#define REG_BAR (CABLE_MMIO32 + 128 * MiB)
#define MSIX_BAR (REG_BAR + 1 * MiB)
#define DOORBELL 12

static void send_message(int fd, int64_t value, int passed)
{
    union {
        struct cmsghdr align;
        char buf[CMSG_SPACE(sizeof(int))];
    } control = { 0 };
    uint64_t wire = cpu_to_le64(value);
    struct iovec iov = { .iov_base = &wire, .iov_len = sizeof(wire) };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

    if (passed >= 0) {
        struct cmsghdr *cmsg;

        msg.msg_control = control.buf;
        msg.msg_controllen = sizeof(control.buf);
        cmsg = CMSG_FIRSTHDR(&msg);
        cmsg->cmsg_level = SOL_SOCKET;
        cmsg->cmsg_type = SCM_RIGHTS;
        cmsg->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(cmsg), &passed, sizeof(int));
    }
    g_assert_cmpint(sendmsg(fd, &msg, 0), ==, sizeof(wire));
}

void ivshmem_pair_init(IvshmemPair *pair)
{
    int memory = memfd_create("ivshmem", MFD_CLOEXEC);
    int vector[2];

    g_assert_cmpint(memory, >=, 0);
    g_assert_cmpint(ftruncate(memory, SHARED_SIZE), ==, 0);
    for (unsigned id = 0; id < 2; id++) {
        int fds[2];

        vector[id] = eventfd(0, EFD_CLOEXEC);
        g_assert_cmpint(vector[id], >=, 0);
        g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
                                   fds), ==, 0);
        pair->server[id] = fds[0];
        pair->client[id] = fds[1];
    }
    for (unsigned id = 0; id < 2; id++) {
        int fd = pair->server[id];

        send_message(fd, PROTOCOL_VERSION, -1);
        send_message(fd, id, -1);
        send_message(fd, SHARED_MEMORY, memory);
        send_message(fd, !id, vector[!id]);
        send_message(fd, id, vector[id]);
    }
    for (unsigned id = 0; id < 2; id++) {
        close(vector[id]);
    }
    close(memory);
}

void ivshmem_pair_free(IvshmemPair *pair)
{
    for (unsigned id = 0; id < 2; id++) {
        close(pair->server[id]);
    }
}

char *ivshmem_pair_args(IvshmemPair *pair, unsigned id)
{
    g_assert_cmpint(fcntl(pair->client[id], F_SETFD, 0), ==, 0);
    return g_strdup_printf("-chardev socket,id=ivshmem,fd=%d "
                           "-device ivshmem-doorbell,bus=pcie.0,addr=%u,"
                           "vectors=1,chardev=ivshmem", pair->client[id],
                           DEVFN >> 3);
}

void ivshmem_pair_started(IvshmemPair *pair, unsigned id)
{
    close(pair->client[id]);
    pair->client[id] = -1;
}

static uint64_t reg(unsigned offset)
{
    return cable_ecam(0, DEVFN, offset);
}

static unsigned find_msix(QTestState *qts)
{
    unsigned cap = qtest_readb(qts, reg(PCI_CAPABILITY_LIST));

    while (cap && qtest_readb(qts, reg(cap)) != PCI_CAP_ID_MSIX) {
        cap = qtest_readb(qts, reg(cap + PCI_CAP_LIST_NEXT));
    }
    g_assert_cmpuint(cap, !=, 0);
    return cap;
}

uint64_t ivshmem_setup(QTestState *qts, unsigned id, uint64_t addr,
                       uint32_t data)
{
    unsigned msix = find_msix(qts);
    uint32_t table = qtest_readl(qts, reg(msix + PCI_MSIX_TABLE));
    uint64_t entry = MSIX_BAR + (table & PCI_MSIX_TABLE_OFFSET);

    g_assert_cmpuint(table & PCI_MSIX_TABLE_BIR, ==, 1);
    qtest_writel(qts, reg(PCI_BASE_ADDRESS_0), REG_BAR);
    qtest_writel(qts, reg(PCI_BASE_ADDRESS_1), MSIX_BAR);
    qtest_writew(qts, reg(PCI_COMMAND),
                 PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    qtest_writel(qts, entry + PCI_MSIX_ENTRY_LOWER_ADDR, addr);
    qtest_writel(qts, entry + PCI_MSIX_ENTRY_UPPER_ADDR, addr >> 32);
    qtest_writel(qts, entry + PCI_MSIX_ENTRY_DATA, data);
    qtest_writel(qts, entry + PCI_MSIX_ENTRY_VECTOR_CTRL, 0);
    qtest_writew(qts, reg(msix + PCI_MSIX_FLAGS), PCI_MSIX_FLAGS_ENABLE);
    return REG_BAR + DOORBELL;
}

uint32_t ivshmem_doorbell_value(unsigned id)
{
    return id << 16;
}
