/*
 * QTest of the DesignWare eDMA: random programs against a reference model
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * All channels run a random linked list each, at the same time.  A simple
 * engine in the test runs the same lists over copies of the memories; status,
 * list pointer and all of both memories must come out the same.  The seed that
 * the test prints repeats a run (--seed).  DW_EDMA_RANDOM_PROGRAMS changes how
 * many there are.
 */
#include "qemu/osdep.h"
#include <sys/mman.h>
#include "qemu/bswap.h"
#include "qemu/cutils.h"
#include "hw/dma/dw-edma-regs.h"
#include "libqos/dw-edma-lab.h"
#include "libqos/shared-ram.h"

#define DEFAULT_PROGRAMS 10000
#define NUM_CHANNELS (QEDMA_NUM_DIRS * EDMA_CHANNELS)
/* A channel's part of either memory, its last bytes are never touched */
#define PART (220 * KiB)
/* Where the first part is at the host: pieces of memory end inside of parts. */
#define HOST_FIRST (200 * KiB)
#define GUARD 64
#define PAGE 4096

/* Lists have segments, linked in random order. */
#define MAX_SEGMENTS 5
#define MAX_ELEMENTS 9          /* of a segment, its link included */
#define SLOT_SIZE (256 + QEDMA_ELEMENT_SIZE * MAX_ELEMENTS)
#define NUM_SLOTS (EDMA_LIST_SIZE / SLOT_SIZE)
/* More elements than this: the list has no end. */
#define MAX_STEPS 1000

/* Where the host has what the engine reaches, and in which pieces */
typedef struct Piece {
    uint8_t *mem;
    size_t size;
} Piece;

typedef struct Host {
    uint64_t addr;
    Piece piece[3];
    unsigned pieces;
} Host;

typedef struct Program {
    QEdmaChan ch;
    uint64_t llp;
    uint64_t soc, host;         /* the channel's parts */
    unsigned segments;
    unsigned slot[MAX_SEGMENTS];
    /* What should come of it */
    QEdmaStatus status;
    QEdmaError error;
    bool done;
    bool posts;
    uint64_t end;
} Program;

typedef struct Random {
    EdmaLab *l;
    Host host;
    uint8_t *model[EDMA_NUM_SIDES];
    uint8_t *whole[EDMA_NUM_SIDES]; /* RAM as it was at first */
    Program program[NUM_CHANNELS];
    bool posted[QEDMA_NUM_DIRS];
    unsigned faults, lists;
} Random;

static bool one_in(unsigned n)
{
    return g_test_rand_int_range(0, n) == 0;
}

/* Reference model */

typedef struct Element {
    uint32_t control, size;
    uint64_t sar, dar;
} Element;

static bool read_element(Random *r, uint64_t addr, Element *el)
{
    const uint8_t *mem;

    if (addr < EDMA_LISTS || addr >= EDMA_LISTS + NUM_CHANNELS *
        EDMA_LIST_SIZE) {
        return false;
    }
    mem = edma_lab_ram(r->l, EDMA_SOC, addr);
    *el = (Element) {
        .control = ldl_le_p(mem), .size = ldl_le_p(mem + 4),
        .sar = ldq_le_p(mem + 8), .dar = ldq_le_p(mem + 16),
    };
    return true;
}

/* The model of the bytes at @addr, or NULL if nothing is there */
static uint8_t *model_at(Random *r, EdmaSide side, uint64_t addr)
{
    uint64_t base = side == EDMA_SOC ? EDMA_ARENA : r->host.addr;

    return addr < base || addr >= base + EDMA_ARENA_SIZE ? NULL :
           r->model[side] + (addr - base);
}

static void halt(Program *p, QEdmaError error)
{
    p->status = QEDMA_HALTED;
    p->error = error;
}

/* False: it cannot be moved. */
static bool move(Random *r, Program *p, const Element *el)
{
    EdmaSide from = p->ch.dir == QEDMA_WRITE ? EDMA_SOC : EDMA_HOST;
    uint8_t *src = model_at(r, from, el->sar);
    uint8_t *dst = model_at(r, !from, el->dar);

    if (!el->size) {
        return true;
    }
    if (!(from == EDMA_SOC ? src : dst)) {
        halt(p, QEDMA_ERR_LOCAL);
        return false;
    }
    if (!src || !dst) {
        halt(p, p->ch.dir == QEDMA_WRITE ? QEDMA_OK : QEDMA_ERR_UR);
        return false;
    }
    memcpy(dst, src, el->size);
    return true;
}

/* Run a list; false if it has no end.  @dry: move nothing. */
static bool run_model(Random *r, Program *p, bool dry)
{
    bool ccs = true;
    Element el;

    p->status = QEDMA_STOPPED;
    p->error = QEDMA_OK;
    p->done = p->posts = false;
    p->end = p->llp;
    for (unsigned step = 0; step < MAX_STEPS; step++) {
        if (!read_element(r, p->end, &el)) {
            halt(p, QEDMA_ERR_LL_FETCH);
            return true;
        }
        if (el.control & DW_EDMA_CH_LLP) {
            ccs ^= !!(el.control & DW_EDMA_CH_TCB);
            p->end = el.sar;
            continue;
        }
        if (!!(el.control & DW_EDMA_CH_CB) != ccs) {
            return true;
        }
        if (!dry && !move(r, p, &el)) {
            return true;
        }
        p->done |= !!(el.control & DW_EDMA_CH_LIE);
        p->posts |= !!(el.control & DW_EDMA_CH_RIE);
        p->end += QEDMA_ELEMENT_SIZE;
    }
    return false;
}

/* Programs */

static uint32_t random_size(void)
{
    switch (g_test_rand_int_range(0, 16)) {
    case 0:
        return 0;
    case 1 ... 8:
        return g_test_rand_int_range(1, 80);
    case 9 ... 13:
        return g_test_rand_int_range(1, PAGE + 8);
    default:
        return g_test_rand_int_range(1, 40 * KiB);
    }
}

static uint64_t random_place(uint64_t part, uint32_t size)
{
    return part + g_test_rand_int_range(0, PART - GUARD - size);
}

static void append_random_data(Program *p, QEdmaList *list)
{
    uint32_t size = random_size();
    uint64_t soc = random_place(p->soc, size);
    uint64_t host = random_place(p->host, size);

    if (one_in(100)) {
        soc = EDMA_NOWHERE;
    } else if (one_in(100)) {
        host = EDMA_NOWHERE;
    }
    edma_lab_element(list, p->ch.dir, soc, host, size,
                     (one_in(4) ? QEDMA_LOCAL_INT : 0) |
                     (one_in(8) ? QEDMA_REMOTE_INT : 0));
}

static uint64_t segment_addr(Random *r, Program *p, unsigned segment)
{
    QEdmaList whole;

    edma_lab_list(r->l, &p->ch, &whole);
    return whole.addr + p->slot[segment] * SLOT_SIZE;
}

/* Different slots for all segments */
static void choose_slots(Program *p)
{
    p->segments = g_test_rand_int_range(1, MAX_SEGMENTS + 1);
    for (unsigned i = 0; i < p->segments; i++) {
        unsigned j;

        p->slot[i] = g_test_rand_int_range(0, NUM_SLOTS);
        for (j = 0; j < i && p->slot[j] != p->slot[i]; j++) {
            continue;
        }
        i -= j < i;
    }
}

/* How the last segment ends */
static void append_end(Random *r, Program *p, QEdmaList *list)
{
    switch (g_test_rand_int_range(0, 8)) {
    case 0:
        qedma_list_stop(list);
        break;
    case 1:
        qedma_list_end(list, EDMA_NOWHERE);
        break;
    case 2:
        qedma_list_end(list, segment_addr(r, p, g_test_rand_int_range(
                                          0, p->segments)));
        break;
    default:
        /* As the driver does */
        qedma_list_end(list, p->llp);
        break;
    }
}

static void write_program(Random *r, Program *p)
{
    bool cb = true;

    choose_slots(p);
    p->llp = segment_addr(r, p, 0);
    for (unsigned i = 0; i < p->segments; i++) {
        uint64_t addr = segment_addr(r, p, i);
        unsigned n = g_test_rand_int_range(0, MAX_ELEMENTS - 1);
        QEdmaList list;

        qedma_list_init(&list, r->l->soc.map,
                        edma_lab_ram(r->l, EDMA_SOC, addr), addr);
        list.cb = cb;
        for (unsigned e = 0; e < n; e++) {
            if (one_in(100)) {
                list.cb = !list.cb;
            }
            append_random_data(p, &list);
        }
        list.cb = cb;
        if (i == p->segments - 1) {
            append_end(r, p, &list);
        } else if (one_in(2)) {
            qedma_list_jump(&list, segment_addr(r, p, i + 1));
        } else {
            qedma_list_end(&list, segment_addr(r, p, i + 1));
            cb = !cb;
        }
    }
}

static void make_program(Random *r, unsigned i)
{
    Program *p = &r->program[i];

    p->ch = (QEdmaChan) {
        .edma = &r->l->soc, .dir = i % QEDMA_NUM_DIRS,
        .id = i / QEDMA_NUM_DIRS,
    };
    p->soc = EDMA_ARENA + i * PART;
    p->host = r->host.addr + HOST_FIRST + i * PART;
    do {
        write_program(r, p);
    } while (!run_model(r, p, true));
}

/* Rounds */

static void check_program(Random *r, Program *p)
{
    QEdmaChan *ch = &p->ch;

    qedma_wait_idle(ch);
    g_assert_cmpint(qedma_status(ch), ==, p->status);
    g_assert_cmpint(qedma_error(ch), ==, p->error);
    g_assert_true(qedma_done(ch) == p->done);
    g_assert_true(qedma_aborted(ch) == (p->status == QEDMA_HALTED));
    g_assert_cmphex(qedma_llp(ch), ==, p->end);
    if (p->done) {
        qedma_clear_done(ch);
    }
    if (p->status == QEDMA_HALTED) {
        qedma_clear_abort(ch);
        r->faults++;
    }
    r->posted[ch->dir] |= p->posts;
    r->lists++;
}

static void check_memory(Random *r)
{
    const uint8_t *model = r->model[EDMA_HOST];

    g_assert_cmpint(memcmp(edma_lab_ram(r->l, EDMA_SOC, EDMA_ARENA),
                           r->model[EDMA_SOC], EDMA_ARENA_SIZE), ==, 0);
    for (unsigned i = 0; i < r->host.pieces; i++) {
        g_assert_cmpint(memcmp(r->host.piece[i].mem, model,
                               r->host.piece[i].size), ==, 0);
        model += r->host.piece[i].size;
    }
}

/* RAM between two addresses is as it was at first. */
static void check_untouched(Random *r, EdmaSide side, uint64_t from,
                            uint64_t to)
{
    g_assert_cmpint(memcmp(edma_lab_ram(r->l, side, from),
                           r->whole[side] + (from - CABLE_RAM_BASE),
                           to - from), ==, 0);
}

static void check_whole_memory(Random *r)
{
    uint64_t lists_end = EDMA_LISTS + NUM_CHANNELS * EDMA_LIST_SIZE;

    check_untouched(r, EDMA_SOC, CABLE_RAM_BASE, EDMA_LISTS);
    check_untouched(r, EDMA_SOC, lists_end, EDMA_ARENA);
    check_untouched(r, EDMA_SOC, EDMA_ARENA + EDMA_ARENA_SIZE, EDMA_RAM_END);
    check_untouched(r, EDMA_HOST, CABLE_RAM_BASE, EDMA_IMWR);
    check_untouched(r, EDMA_HOST, EDMA_IMWR + PAGE, EDMA_ARENA);
    check_untouched(r, EDMA_HOST, EDMA_ARENA + EDMA_ARENA_SIZE,
                    EDMA_RAM_END);
}

static uint64_t imwr_addr(QEdmaDir dir)
{
    return EDMA_IMWR + 0x80 + 0x40 * dir;
}

/*
 * A message goes out behind the state that software sees, but before the
 * channel does something else.
 */
static void push_messages(Random *r)
{
    for (unsigned i = 0; i < NUM_CHANNELS; i++) {
        QEdmaChan *ch = &r->program[i].ch;

        edma_lab_block(ch, EDMA_ARENA, r->host.addr, 0, 0);
        qedma_wait_status(ch, QEDMA_STOPPED);
    }
}

/* Channels of a direction share the address: any of their data may be last. */
static void check_imwr(Random *r)
{
    push_messages(r);
    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        uint8_t *word = edma_lab_ram(r->l, EDMA_HOST, imwr_addr(dir));
        uint32_t value = ldl_le_p(word);

        if (r->posted[dir]) {
            g_assert_cmphex(value & ~0xfu, ==, 0xbe00 | dir << 4);
            g_assert_cmpuint(value & 0xf, <, EDMA_CHANNELS);
            stl_le_p(word, 0);
        }
    }
    check_untouched(r, EDMA_HOST, EDMA_IMWR, EDMA_IMWR + PAGE);
}

static void setup_channels(Random *r)
{
    for (unsigned dir = 0; dir < QEDMA_NUM_DIRS; dir++) {
        for (unsigned id = 0; id < EDMA_CHANNELS; id++) {
            QEdmaChan ch = edma_lab_chan(r->l, dir, id);

            qedma_set_imwr(&ch, imwr_addr(dir), 0, 0xbe00 | dir << 4 | id);
        }
    }
}

static unsigned num_programs(void)
{
    const char *text = getenv("DW_EDMA_RANDOM_PROGRAMS");
    unsigned n = DEFAULT_PROGRAMS;

    if (text) {
        g_assert_cmpint(qemu_strtoui(text, NULL, 10, &n), ==, 0);
    }
    return n;
}

static void run(Random *r, unsigned programs)
{
    unsigned rounds = DIV_ROUND_UP(programs, NUM_CHANNELS);

    setup_channels(r);
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < NUM_CHANNELS; i++) {
            make_program(r, i);
        }
        for (unsigned i = 0; i < NUM_CHANNELS; i++) {
            qedma_start_list(&r->program[i].ch, r->program[i].llp);
        }
        for (unsigned i = 0; i < NUM_CHANNELS; i++) {
            run_model(r, &r->program[i], false);
        }
        for (unsigned i = 0; i < NUM_CHANNELS; i++) {
            check_program(r, &r->program[i]);
        }
        check_memory(r);
        if (round % 200 == 199 || round == rounds - 1) {
            check_whole_memory(r);
        }
    }
    check_imwr(r);
    g_test_message("%u lists, %u of them ended in a fault", r->lists,
                   r->faults);
}

static Random *random_new(EdmaLab *l)
{
    Random *r = g_new0(Random, 1);

    r->l = l;
    memset(edma_lab_ram(l, EDMA_HOST, EDMA_IMWR), 0, PAGE);
    for (unsigned side = 0; side < EDMA_NUM_SIDES; side++) {
        r->whole[side] = g_memdup2(l->ram[side], CABLE_RAM_SIZE);
        r->model[side] = g_memdup2(edma_lab_ram(l, side, EDMA_ARENA),
                                   EDMA_ARENA_SIZE);
    }
    return r;
}

static void random_free(Random *r)
{
    for (unsigned side = 0; side < EDMA_NUM_SIDES; side++) {
        g_free(r->whole[side]);
        g_free(r->model[side]);
    }
    edma_lab_free(r->l);
    g_free(r);
}

/* Between the RAM of both */
static void test_ram(void)
{
    Random *r = random_new(edma_lab_start("", ""));

    r->host = (Host) {
        .addr = EDMA_ARENA,
        .piece[0] = { edma_lab_ram(r->l, EDMA_HOST, EDMA_ARENA),
                      EDMA_ARENA_SIZE },
        .pieces = 1,
    };
    run(r, num_programs());
    random_free(r);
}

/*
 * Between the SoC's RAM and three ivshmem BARs in a row at the host: the
 * first and the last are sealed files, which the endpoint maps; the one in
 * the middle is an ordinary file, which it reaches by messages.
 */
#define SHM_BASE (CABLE_MMIO64 + 128 * MiB)
#define SMALL (512 * KiB)
#define LARGE (1 * MiB)

static void shm_setup(QTestState *qts, unsigned devfn, uint64_t at)
{
    qtest_writel(qts, cable_ecam(0, devfn, PCI_BASE_ADDRESS_2), at);
    qtest_writel(qts, cable_ecam(0, devfn, PCI_BASE_ADDRESS_3), at >> 32);
    qtest_writew(qts, cable_ecam(0, devfn, PCI_COMMAND), PCI_COMMAND_MEMORY);
}

static uint8_t *map_file(const char *path, size_t size)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *mem;

    g_assert_cmpint(fd, >=, 0);
    mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    g_assert_true(mem != MAP_FAILED);
    close(fd);
    return mem;
}

static void test_extents(void)
{
    PCIeCable *c = cable_new();
    g_autofree char *path = g_build_filename(c->dir, "shm", NULL);
    g_autofree char *args =
        g_strdup_printf("-object memory-backend-memfd,id=shm0,size=512K,"
                        "share=on "
                        "-object memory-backend-file,id=shm1,size=512K,"
                        "share=on,mem-path=%s "
                        "-object memory-backend-memfd,id=shm2,size=1M,"
                        "share=on "
                        "-device ivshmem-plain,memdev=shm0,addr=2 "
                        "-device ivshmem-plain,memdev=shm1,addr=3 "
                        "-device ivshmem-plain,memdev=shm2,addr=4", path);
    const uint8_t *model;
    Random *r;

    cable_start_ep(c, "", "");
    cable_soc_setup(c, 0);
    dw_ep_start_link(c->ep);
    cable_start_rc(c, "", args);
    cable_wait_link(c, true);
    cable_port_setup(c);
    cable_host_setup(c, 0);
    shm_setup(c->rc, 2 << 3, SHM_BASE);
    shm_setup(c->rc, 3 << 3, SHM_BASE + SMALL);
    shm_setup(c->rc, 4 << 3, SHM_BASE + 2 * SMALL);

    r = random_new(edma_lab_new(c));
    r->host = (Host) {
        .addr = SHM_BASE,
        .piece = { { shared_ram_map(c->rc, SMALL), SMALL },
                   { map_file(path, SMALL), SMALL },
                   { shared_ram_map(c->rc, LARGE), LARGE } },
        .pieces = 3,
    };
    unlink(path);
    model = r->model[EDMA_HOST];
    for (unsigned i = 0; i < r->host.pieces; i++) {
        memcpy(r->host.piece[i].mem, model, r->host.piece[i].size);
        model += r->host.piece[i].size;
    }
    run(r, num_programs() / 10);
    for (unsigned i = 0; i < r->host.pieces; i++) {
        shared_ram_unmap(r->host.piece[i].mem, r->host.piece[i].size);
    }
    random_free(r);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);

    qtest_add_func("/dw-edma-random/ram", test_ram);
    qtest_add_func("/dw-edma-random/extents", test_extents);

    return g_test_run();
}
