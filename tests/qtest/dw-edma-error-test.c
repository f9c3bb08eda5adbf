/*
 * QTest of the DesignWare eDMA: what goes wrong, and odd programs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each fault halts its channel, sets its bit and leaves memory alone; the
 * channel then works again.  Sizes and addresses at the edges of what there
 * is, and lists that lead nowhere.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "libqos/dw-edma-lab.h"

#define PAGE 4096
/* Right below RAM there is nothing either. */
#define HOLE 0x3ffff000ULL

/*
 * Writes are posted: nothing tells the engine how the host took them, and a
 * write channel that cannot send them halts without an error bit.
 */
#define HOST_ERROR(dir) ((dir) == QEDMA_WRITE ? QEDMA_OK : QEDMA_ERR_UR)
#define LINK_ERROR(dir) ((dir) == QEDMA_WRITE ? QEDMA_OK : QEDMA_ERR_TIMEOUT)

/*
 * Memory of the host behind BARs of ivshmem devices, one behind the other:
 * the first two are files, which the endpoint maps one by one, the third is
 * reached by messages.
 */
#define SHM_BASE (CABLE_MMIO64 + 128 * MiB)
#define SHM_SIZE (1 * MiB)
#define NUM_SHM 3
#define SHM_END (SHM_BASE + NUM_SHM * SHM_SIZE)
#define SHM_DEVFN(i) ((2 + (i)) << 3)
#define SHM_ARGS                                                        \
    "-object memory-backend-memfd,id=shm0,size=1M,share=on "            \
    "-object memory-backend-memfd,id=shm1,size=1M,share=on "            \
    "-object memory-backend-ram,id=shm2,size=1M "                       \
    "-device ivshmem-plain,memdev=shm0,bus=pcie.0,addr=2 "              \
    "-device ivshmem-plain,memdev=shm1,bus=pcie.0,addr=3 "              \
    "-device ivshmem-plain,memdev=shm2,bus=pcie.0,addr=4 "

#define EDU_DEVFN (2 << 3)
#define EDU_ARGS "-device edu,bus=pcie.0,addr=2"
#define EDU_BAR (CABLE_MMIO32 + 128 * MiB)
#define EDU_LIVENESS 0x04       /* reads as the inverse of what was written */

static void shm_setup(QTestState *qts)
{
    for (unsigned i = 0; i < NUM_SHM; i++) {
        uint64_t at = SHM_BASE + i * SHM_SIZE;
        unsigned devfn = SHM_DEVFN(i);

        qtest_writel(qts, cable_ecam(0, devfn, PCI_BASE_ADDRESS_2), at);
        qtest_writel(qts, cable_ecam(0, devfn, PCI_BASE_ADDRESS_3), at >> 32);
        qtest_writew(qts, cable_ecam(0, devfn, PCI_COMMAND),
                     PCI_COMMAND_MEMORY);
    }
}

static EdmaLab *start_shm(void)
{
    EdmaLab *l = edma_lab_start("", SHM_ARGS);

    shm_setup(l->c->rc);
    return l;
}

/* The channel halted as it should and works again. */
static void check_halted(EdmaLab *l, QEdmaChan *ch, QEdmaError error)
{
    qedma_wait_aborted(ch);
    g_assert_cmpint(qedma_status(ch), ==, QEDMA_HALTED);
    g_assert_cmpint(qedma_error(ch), ==, error);
    edma_lab_check(l);
    qedma_clear_abort(ch);
    g_assert_false(qedma_aborted(ch));
    g_assert_cmpint(qedma_error(ch), ==, QEDMA_OK);
}

static void check_works(EdmaLab *l, QEdmaChan *ch)
{
    uint64_t at = EDMA_ARENA + EDMA_ARENA_SIZE - (ch->id + 1) * PAGE;

    qedma_clear_done(ch);
    edma_lab_block(ch, at, at, PAGE, QEDMA_LOCAL_INT);
    edma_lab_expect(l, ch->dir, at, at, PAGE);
    qedma_wait_done(ch);
    qedma_wait_status(ch, QEDMA_STOPPED);
    qedma_clear_done(ch);
    edma_lab_check(l);
}

/* Faults */

static void test_list_fetch(void)
{
    EdmaLab *l = edma_lab_start("", "");
    const uint64_t bad[] = {
        EDMA_NOWHERE, HOLE, EDMA_RAM_END, UINT64_MAX & ~7ull,
        /* Registers are no place for a list. */
        l->soc.regs,
        /* Its last bytes are outside. */
        EDMA_RAM_END - QEDMA_ELEMENT_SIZE + 4,
    };

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        for (unsigned id = 0; id < EDMA_CHANNELS; id++) {
            QEdmaChan ch = edma_lab_chan(l, dir, id);

            for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
                qedma_start_list(&ch, bad[i]);
                check_halted(l, &ch, QEDMA_ERR_LL_FETCH);
            }
            check_works(l, &ch);
        }
    }
    edma_lab_free(l);
}

/* The list runs out of memory behind good elements, or by a link. */
static void test_list_fetch_later(void)
{
    EdmaLab *l = edma_lab_start("", "");

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        QEdmaChan ch = edma_lab_chan(l, dir, 1);
        uint64_t at = EDMA_RAM_END - 2 * QEDMA_ELEMENT_SIZE;
        QEdmaList list;

        qedma_list_init(&list, QEDMA_MAP_UNROLL,
                        edma_lab_ram(l, EDMA_SOC, at), at);
        for (unsigned i = 0; i < 2; i++) {
            edma_lab_element(&list, dir, EDMA_ARENA + i * PAGE,
                             EDMA_ARENA + MiB + i * PAGE, PAGE, 0);
            edma_lab_expect(l, dir, EDMA_ARENA + i * PAGE,
                            EDMA_ARENA + MiB + i * PAGE, PAGE);
        }
        qedma_start_list(&ch, at);
        check_halted(l, &ch, QEDMA_ERR_LL_FETCH);

        edma_lab_list(l, &ch, &list);
        edma_lab_element(&list, dir, EDMA_ARENA + 3 * PAGE,
                         EDMA_ARENA + 5 * PAGE, PAGE, 0);
        edma_lab_expect(l, dir, EDMA_ARENA + 3 * PAGE, EDMA_ARENA + 5 * PAGE,
                        PAGE);
        qedma_list_end(&list, EDMA_NOWHERE);
        qedma_start_list(&ch, list.addr);
        check_halted(l, &ch, QEDMA_ERR_LL_FETCH);
        check_works(l, &ch);
    }
    edma_lab_free(l);
}

/* Where an element points, and what the engine finds there */
static void run_faulty(EdmaLab *l, QEdmaDir dir, uint64_t soc, uint64_t host,
                       QEdmaError error)
{
    for (unsigned id = 0; id < EDMA_CHANNELS; id++) {
        QEdmaChan ch = edma_lab_chan(l, dir, id);
        QEdmaList list;

        edma_lab_block(&ch, soc, host, PAGE, QEDMA_LOCAL_INT);
        check_halted(l, &ch, error);
        g_assert_false(qedma_done(&ch));

        /* The second of three: neither it nor the third is moved. */
        edma_lab_list(l, &ch, &list);
        edma_lab_element(&list, dir, EDMA_ARENA, EDMA_ARENA + PAGE, 100, 0);
        edma_lab_expect(l, dir, EDMA_ARENA, EDMA_ARENA + PAGE, 100);
        edma_lab_element(&list, dir, soc, host, PAGE, QEDMA_LOCAL_INT);
        edma_lab_element(&list, dir, EDMA_ARENA, EDMA_ARENA + 2 * PAGE, 100,
                         QEDMA_LOCAL_INT);
        qedma_list_end(&list, list.addr);
        qedma_start_list(&ch, list.addr);
        check_halted(l, &ch, error);
        g_assert_false(qedma_done(&ch));
        check_works(l, &ch);
    }
}

static void test_local(void)
{
    EdmaLab *l = edma_lab_start("", "");
    const uint64_t bad[] = {
        EDMA_NOWHERE, EDMA_RAM_END, UINT64_MAX & ~(PAGE - 1ull),
        /* The controller's own registers and its outbound window */
        l->soc.regs, l->c->ep->addr_space,
    };

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
            run_faulty(l, dir, bad[i], EDMA_ARENA, QEDMA_ERR_LOCAL);
        }
    }
    edma_lab_free(l);
}

static void test_host_unmapped(void)
{
    EdmaLab *l = edma_lab_start("", "");
    const uint64_t bad[] = { EDMA_NOWHERE, EDMA_RAM_END, HOLE };

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
            run_faulty(l, dir, EDMA_ARENA, bad[i], HOST_ERROR(dir));
        }
    }
    edma_lab_free(l);
}

static void test_bus_master(void)
{
    EdmaLab *l = edma_lab_start("", "");

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        for (unsigned id = 0; id < EDMA_CHANNELS; id++) {
            QEdmaChan ch = edma_lab_chan(l, dir, id);

            cable_cfg_writew(l->c, 0, PCI_COMMAND, PCI_COMMAND_MEMORY);
            edma_lab_block(&ch, EDMA_ARENA, EDMA_ARENA, PAGE,
                           QEDMA_LOCAL_INT);
            check_halted(l, &ch, HOST_ERROR(dir));
            cable_cfg_writew(l->c, 0, PCI_COMMAND,
                             PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
            check_works(l, &ch);
        }
    }
    edma_lab_free(l);
}

static void test_link_down(void)
{
    EdmaLab *l = edma_lab_start("", "");

    dw_ep_stop_link(l->c->ep);
    cable_wait_link(l->c, false);
    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        for (unsigned id = 0; id < EDMA_CHANNELS; id++) {
            QEdmaChan ch = edma_lab_chan(l, dir, id);

            edma_lab_block(&ch, EDMA_ARENA, EDMA_ARENA, PAGE,
                           QEDMA_LOCAL_INT);
            check_halted(l, &ch, LINK_ERROR(dir));
        }
    }
    dw_ep_start_link(l->c->ep);
    cable_wait_link(l->c, true);
    cable_port_setup(l->c);
    cable_host_setup(l->c, 0);
    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        QEdmaChan ch = edma_lab_chan(l, dir, 0);

        check_works(l, &ch);
    }
    edma_lab_free(l);
}

/* The host does not answer requests in time. */
static void test_completion_timeout(void)
{
    EdmaLab *l = edma_lab_new(cable_start(",completion-timeout=50", "", "",
                                          SHM_ARGS));

    shm_setup(l->c->rc);
    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        QEdmaChan ch = edma_lab_chan(l, dir, 1);
        QEdmaChan mapped = edma_lab_chan(l, dir, 2);
        uint64_t timeouts = cable_ep_counter(l->c, "completion-timeouts");

        cable_pause(l->c->rc);
        edma_lab_block(&ch, EDMA_ARENA, SHM_END - PAGE, PAGE,
                       QEDMA_LOCAL_INT);
        check_halted(l, &ch, LINK_ERROR(dir));
        g_assert_cmpuint(cable_ep_counter(l->c, "completion-timeouts"), >,
                         timeouts);
        /* Memory that is mapped needs no answer. */
        check_works(l, &mapped);
        cable_continue(l->c->rc);
        /* An answer comes late; it is nobody's any more. */
        g_assert_cmphex(cable_cfg_readw(l->c, 0, PCI_VENDOR_ID), ==,
                        CABLE_VENDOR);
        check_works(l, &ch);
    }
    edma_lab_free(l);
}

/* A function that the controller does not have */
static void test_function(void)
{
    EdmaLab *l = edma_lab_start("", "");

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        QEdmaChan ch = edma_lab_chan(l, dir, 2);

        qedma_set_function(&ch, 31);
        edma_lab_block(&ch, EDMA_ARENA, EDMA_ARENA, PAGE, QEDMA_LOCAL_INT);
        check_halted(l, &ch, HOST_ERROR(dir));
        qedma_set_function(&ch, 0);
        check_works(l, &ch);
    }
    edma_lab_free(l);
}

/* Lists that lead nowhere */

/* A link that points at itself: bounded, and it can be stopped. */
static void test_list_self(void)
{
    EdmaLab *l = edma_lab_start("", "");

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        for (unsigned toggle = 0; toggle < 2; toggle++) {
            QEdmaChan self = edma_lab_chan(l, dir, 0);
            QEdmaChan other = edma_lab_chan(l, dir, 1);
            QEdmaList list;

            edma_lab_list(l, &self, &list);
            if (toggle) {
                qedma_list_end(&list, list.addr);
            } else {
                qedma_list_jump(&list, list.addr);
            }
            qedma_start_list(&self, list.addr);
            for (unsigned i = 0; i < 20; i++) {
                check_works(l, &other);
                g_assert_cmpint(qedma_status(&self), ==, QEDMA_RUNNING);
            }
            qedma_stop(&self);
            qedma_wait_status(&self, QEDMA_STOPPED);
            qedma_clear_abort(&self);
            check_works(l, &self);
        }
    }
    edma_lab_free(l);
}

/* Sizes and addresses */

static void test_zero(void)
{
    EdmaLab *l = edma_lab_start("", "");

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        QEdmaChan ch = edma_lab_chan(l, dir, 3);
        QEdmaList list;

        edma_lab_block(&ch, EDMA_ARENA, EDMA_ARENA, 0, QEDMA_LOCAL_INT);
        qedma_wait_done(&ch);
        qedma_wait_status(&ch, QEDMA_STOPPED);
        qedma_clear_done(&ch);
        edma_lab_check(l);

        /* Not even the addresses matter. */
        edma_lab_list(l, &ch, &list);
        edma_lab_element(&list, dir, EDMA_NOWHERE, EDMA_NOWHERE, 0, 0);
        edma_lab_element(&list, dir, EDMA_ARENA + PAGE, EDMA_ARENA + PAGE, 1,
                         0);
        edma_lab_expect(l, dir, EDMA_ARENA + PAGE, EDMA_ARENA + PAGE, 1);
        edma_lab_element(&list, dir, EDMA_ARENA, EDMA_ARENA, 0,
                         QEDMA_LOCAL_INT);
        qedma_list_end(&list, list.addr);
        qedma_start_list(&ch, list.addr);
        qedma_wait_done(&ch);
        qedma_wait_status(&ch, QEDMA_STOPPED);
        qedma_clear_done(&ch);
        edma_lab_check(l);
    }
    edma_lab_free(l);
}

/*
 * The largest size there is, from RAM that ends before: up to there all is
 * moved, and not a byte more.
 */
static void test_4g(void)
{
    EdmaLab *l = edma_lab_start("", "");
    const uint32_t left = 300 * KiB + 17;

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        EdmaSide from = dir == QEDMA_WRITE ? EDMA_SOC : EDMA_HOST;
        QEdmaChan ch = edma_lab_chan(l, dir, 2);
        uint64_t end = EDMA_RAM_END - left;
        g_autofree void *bytes = cable_pattern(left, 77 + dir);

        memcpy(edma_lab_ram(l, from, end), bytes, left);
        if (dir == QEDMA_WRITE) {
            edma_lab_block(&ch, end, EDMA_ARENA + 5, UINT32_MAX,
                           QEDMA_LOCAL_INT);
            edma_lab_expect_bytes(l, EDMA_HOST, EDMA_ARENA + 5, bytes, left);
            check_halted(l, &ch, QEDMA_ERR_LOCAL);
        } else {
            edma_lab_block(&ch, EDMA_ARENA + 5, end, UINT32_MAX,
                           QEDMA_LOCAL_INT);
            edma_lab_expect_bytes(l, EDMA_SOC, EDMA_ARENA + 5, bytes, left);
            check_halted(l, &ch, QEDMA_ERR_UR);
        }
        g_assert_cmphex(qedma_transfer_size(&ch), ==, UINT32_MAX - left);
        check_works(l, &ch);
    }
    edma_lab_free(l);
}

/* Addresses that wrap around at the end of 64 bits */
static void test_wrap(void)
{
    EdmaLab *l = edma_lab_start("", "");

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        QEdmaChan ch = edma_lab_chan(l, dir, 0);

        edma_lab_block(&ch, UINT64_MAX - 7, EDMA_ARENA, PAGE, 0);
        check_halted(l, &ch, QEDMA_ERR_LOCAL);
        edma_lab_block(&ch, EDMA_ARENA, UINT64_MAX - 7, PAGE, 0);
        check_halted(l, &ch, HOST_ERROR(dir));
        check_works(l, &ch);
    }
    edma_lab_free(l);
}

/* What the host has behind SHM_BASE */
static void check_shm(EdmaLab *l, const uint8_t *expected)
{
    for (unsigned i = 0; i < NUM_SHM; i++) {
        cable_check_memory(l->c->rc, SHM_BASE + i * SHM_SIZE,
                           expected + i * SHM_SIZE, SHM_SIZE);
    }
}

static void fill_shm(EdmaLab *l, const uint8_t *bytes)
{
    qtest_bufwrite(l->c->rc, SHM_BASE, bytes, NUM_SHM * SHM_SIZE);
}

/* One element over two mapped extents and one that goes by messages */
static void test_extents_write(void)
{
    EdmaLab *l = start_shm();
    QEdmaChan ch = edma_lab_chan(l, QEDMA_WRITE, 0);
    g_autofree uint8_t *shm = cable_pattern(NUM_SHM * SHM_SIZE, 3);
    const uint32_t offset = SHM_SIZE - 200 * KiB - 3;
    const uint32_t size = SHM_SIZE + 500 * KiB + 8;
    QEdmaList list;

    fill_shm(l, shm);
    edma_lab_list(l, &ch, &list);
    edma_lab_element(&list, ch.dir, EDMA_ARENA + 1, SHM_BASE + offset, size,
                     QEDMA_LOCAL_INT);
    qedma_list_end(&list, list.addr);
    qedma_start_list(&ch, list.addr);
    qedma_wait_done(&ch);
    memcpy(shm + offset, edma_lab_ram(l, EDMA_SOC, EDMA_ARENA + 1), size);
    check_shm(l, shm);
    qedma_wait_status(&ch, QEDMA_STOPPED);
    qedma_clear_done(&ch);

    check_works(l, &ch);
    edma_lab_free(l);
}

static void test_extents_read(void)
{
    EdmaLab *l = start_shm();
    QEdmaChan ch = edma_lab_chan(l, QEDMA_READ, 3);
    g_autofree uint8_t *shm = cable_pattern(NUM_SHM * SHM_SIZE, 4);
    const uint32_t offset = SHM_SIZE - 200 * KiB - 3;
    const uint32_t size = SHM_SIZE + 500 * KiB + 8;

    fill_shm(l, shm);
    edma_lab_block(&ch, EDMA_ARENA + 7, SHM_BASE + offset, size,
                   QEDMA_LOCAL_INT);
    qedma_wait_done(&ch);
    edma_lab_expect_bytes(l, EDMA_SOC, EDMA_ARENA + 7, shm + offset, size);
    edma_lab_check(l);
    qedma_wait_status(&ch, QEDMA_STOPPED);
    qedma_clear_done(&ch);

    check_works(l, &ch);
    check_shm(l, shm);
    edma_lab_free(l);
}

/* Off the end of the host's RAM: what is before it is moved. */
static void test_extents_end(void)
{
    EdmaLab *l = edma_lab_start("", "");
    const uint32_t left = 1001;
    uint8_t *end = edma_lab_ram(l, EDMA_HOST, EDMA_RAM_END - left);

    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        QEdmaChan ch = edma_lab_chan(l, dir, 2);
        uint8_t *at_soc = edma_lab_ram(l, EDMA_SOC, EDMA_ARENA);

        edma_lab_block(&ch, EDMA_ARENA, EDMA_RAM_END - left, 2 * left,
                       QEDMA_LOCAL_INT);
        if (dir == QEDMA_READ) {
            edma_lab_expect_bytes(l, EDMA_SOC, EDMA_ARENA, end, left);
        }
        check_halted(l, &ch, HOST_ERROR(dir));
        g_assert_cmpint(memcmp(end, at_soc, left), ==, 0);
        g_assert_cmphex(qedma_transfer_size(&ch), ==, left);
        check_works(l, &ch);
    }
    edma_lab_free(l);
}

/* Extents on the SoC's side: the same devices, in its machine */
static void test_extents_local(void)
{
    EdmaLab *l = edma_lab_new(cable_start("", "", SHM_ARGS, ""));
    g_autofree uint8_t *shm = cable_pattern(NUM_SHM * SHM_SIZE, 5);
    const uint32_t offset = SHM_SIZE - 300 * KiB + 1;
    const uint32_t size = SHM_SIZE + 400 * KiB;
    QEdmaChan wr = edma_lab_chan(l, QEDMA_WRITE, 1);
    QEdmaChan rd = edma_lab_chan(l, QEDMA_READ, 1);

    shm_setup(l->c->soc);
    qtest_bufwrite(l->c->soc, SHM_BASE, shm, NUM_SHM * SHM_SIZE);
    edma_lab_block(&wr, SHM_BASE + offset, EDMA_ARENA + 9, size,
                   QEDMA_LOCAL_INT);
    qedma_wait_done(&wr);
    edma_lab_expect_bytes(l, EDMA_HOST, EDMA_ARENA + 9, shm + offset, size);
    edma_lab_check(l);

    edma_lab_block(&rd, SHM_BASE + 123, EDMA_ARENA + 1000, size,
                   QEDMA_LOCAL_INT);
    qedma_wait_done(&rd);
    memcpy(shm + 123, edma_lab_ram(l, EDMA_HOST, EDMA_ARENA + 1000), size);
    for (unsigned i = 0; i < NUM_SHM; i++) {
        cable_check_memory(l->c->soc, SHM_BASE + i * SHM_SIZE,
                           shm + i * SHM_SIZE, SHM_SIZE);
    }
    edma_lab_check(l);
    edma_lab_free(l);
}

/* Registers of a device of the SoC and of one of the host */
static void test_devices(void)
{
    EdmaLab *l = edma_lab_new(cable_start("", "", EDU_ARGS, EDU_ARGS));
    QTestState *machines[] = { l->c->soc, l->c->rc };
    uint64_t reg = EDU_BAR + EDU_LIVENESS;
    QEdmaChan wr = edma_lab_chan(l, QEDMA_WRITE, 0);
    QEdmaChan rd = edma_lab_chan(l, QEDMA_READ, 0);
    uint32_t word = cpu_to_le32(0x12345678);

    for (unsigned i = 0; i < ARRAY_SIZE(machines); i++) {
        qtest_writel(machines[i], cable_ecam(0, EDU_DEVFN,
                                             PCI_BASE_ADDRESS_0), EDU_BAR);
        qtest_writew(machines[i], cable_ecam(0, EDU_DEVFN, PCI_COMMAND),
                     PCI_COMMAND_MEMORY);
    }
    edma_lab_write(l, EDMA_SOC, EDMA_ARENA, &word, sizeof(word));
    edma_lab_block(&wr, EDMA_ARENA, reg, sizeof(word), QEDMA_LOCAL_INT);
    qedma_wait_done(&wr);
    g_assert_cmphex(qtest_readl(l->c->rc, reg), ==, ~0x12345678u);

    /* From the host's device to the SoC's */
    edma_lab_block(&rd, reg, reg, sizeof(word), QEDMA_LOCAL_INT);
    qedma_wait_done(&rd);
    g_assert_cmphex(qtest_readl(l->c->soc, reg), ==, 0x12345678);
    edma_lab_check(l);
    edma_lab_free(l);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);

    qtest_add_func("/dw-edma-error/list/fetch", test_list_fetch);
    qtest_add_func("/dw-edma-error/list/fetch-later", test_list_fetch_later);
    qtest_add_func("/dw-edma-error/list/self", test_list_self);
    qtest_add_func("/dw-edma-error/fault/local", test_local);
    qtest_add_func("/dw-edma-error/fault/host-unmapped", test_host_unmapped);
    qtest_add_func("/dw-edma-error/fault/bus-master", test_bus_master);
    qtest_add_func("/dw-edma-error/fault/link-down", test_link_down);
    qtest_add_func("/dw-edma-error/fault/timeout", test_completion_timeout);
    qtest_add_func("/dw-edma-error/fault/function", test_function);
    qtest_add_func("/dw-edma-error/size/zero", test_zero);
    qtest_add_func("/dw-edma-error/size/4g", test_4g);
    qtest_add_func("/dw-edma-error/address/wrap", test_wrap);
    qtest_add_func("/dw-edma-error/extents/write", test_extents_write);
    qtest_add_func("/dw-edma-error/extents/read", test_extents_read);
    qtest_add_func("/dw-edma-error/extents/end", test_extents_end);
    qtest_add_func("/dw-edma-error/extents/local", test_extents_local);
    qtest_add_func("/dw-edma-error/extents/devices", test_devices);

    return g_test_run();
}
