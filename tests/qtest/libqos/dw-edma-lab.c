/*
 * libqos helpers: two machines and the DMA engine between their memories
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "hw/dma/dw-edma-regs.h"
#include "dw-edma-lab.h"
#include "shared-ram.h"

static uint8_t *arena(EdmaLab *l, EdmaSide side)
{
    return edma_lab_ram(l, side, EDMA_ARENA);
}

void edma_lab_refill(EdmaLab *l, uint32_t seed)
{
    for (unsigned side = 0; side < EDMA_NUM_SIDES; side++) {
        g_free(l->model[side]);
        l->model[side] = cable_pattern(EDMA_ARENA_SIZE, 2 * seed + side);
        memcpy(arena(l, side), l->model[side], EDMA_ARENA_SIZE);
    }
}

EdmaLab *edma_lab_new(PCIeCable *c)
{
    EdmaLab *l = g_new0(EdmaLab, 1);

    l->c = c;
    l->soc = (QEdma) {
        .qts = c->soc, .regs = c->ep->dma, .map = QEDMA_MAP_UNROLL,
    };
    l->ram[EDMA_SOC] = shared_ram_map(c->soc, CABLE_RAM_SIZE);
    l->ram[EDMA_HOST] = shared_ram_map(c->rc, CABLE_RAM_SIZE);
    edma_lab_refill(l, 1);
    if (!c->ep->plat) {
        /* rcar_gen4_pcie_ep_pre_init() */
        dw_ep_app_writel(c->ep, RCAR_GEN4_PCIEDMAINTSTSEN,
                         RCAR_GEN4_DMAINTSTSEN_MASK);
    }
    return l;
}

EdmaLab *edma_lab_start(const char *ep_props, const char *rc_args)
{
    return edma_lab_new(cable_start(ep_props, "", "", rc_args));
}

const char *edma_lab_controller(QEdmaMap map)
{
    return map == QEDMA_MAP_UNROLL ? DW_EP_RCAR : DW_EP_PLAT;
}

const char *edma_lab_map_property(QEdmaMap map)
{
    static const char * const properties[] = {
        [QEDMA_MAP_LEGACY] = ",edma=legacy",
        [QEDMA_MAP_UNROLL] = "",
        [QEDMA_MAP_COMPAT] = ",edma=hdma-compat",
        [QEDMA_MAP_NATIVE] = ",edma=hdma-native",
    };

    return properties[map];
}

uint64_t edma_lab_regs(DWEp *ep, QEdmaMap map)
{
    return map == QEDMA_MAP_LEGACY ? ep->dbi + DW_EDMA_LEGACY_DBI_OFFSET :
           ep->dma;
}

EdmaLab *edma_lab_start_channels(QEdmaMap map, unsigned n)
{
    g_autofree char *props = g_strdup_printf("%s,num-dma-wr-ch=%u,"
                                             "num-dma-rd-ch=%u",
                                             edma_lab_map_property(map), n, n);
    EdmaLab *l = edma_lab_new(cable_start_controller(
        edma_lab_controller(map), props, "", "", ""));

    l->soc.map = map;
    l->soc.regs = edma_lab_regs(l->c->ep, map);
    return l;
}

EdmaLab *edma_lab_start_map(QEdmaMap map)
{
    return edma_lab_start_channels(map, EDMA_CHANNELS);
}

void edma_lab_free(EdmaLab *l)
{
    cable_free(l->c);
    for (unsigned side = 0; side < EDMA_NUM_SIDES; side++) {
        shared_ram_unmap(l->ram[side], CABLE_RAM_SIZE);
        g_free(l->model[side]);
    }
    g_free(l);
}

QEdmaChan edma_lab_chan(EdmaLab *l, QEdmaDir dir, unsigned id)
{
    QEdmaChan ch = { .edma = &l->soc, .dir = dir, .id = id };

    qedma_enable(&ch, QEDMA_IRQ_LOCAL);
    return ch;
}

uint8_t *edma_lab_ram(EdmaLab *l, EdmaSide side, uint64_t addr)
{
    g_assert_cmphex(addr, >=, CABLE_RAM_BASE);
    g_assert_cmphex(addr, <, EDMA_RAM_END);
    return l->ram[side] + (addr - CABLE_RAM_BASE);
}

void edma_lab_list(EdmaLab *l, QEdmaChan *ch, QEdmaList *list)
{
    uint64_t addr = EDMA_LISTS + EDMA_LIST_SIZE *
                    (ch->id * QEDMA_NUM_DIRS + ch->dir);

    qedma_list_init(list, ch->edma->map, edma_lab_ram(l, EDMA_SOC, addr),
                    addr);
}

static uint64_t source(QEdmaDir dir, uint64_t soc, uint64_t host)
{
    return dir == QEDMA_WRITE ? soc : host;
}

static uint64_t destination(QEdmaDir dir, uint64_t soc, uint64_t host)
{
    return dir == QEDMA_WRITE ? host : soc;
}

void edma_lab_element(QEdmaList *list, QEdmaDir dir, uint64_t soc,
                      uint64_t host, uint32_t size, unsigned ints)
{
    qedma_list_data(list, source(dir, soc, host), destination(dir, soc, host),
                    size, ints);
}

void edma_lab_block(QEdmaChan *ch, uint64_t soc, uint64_t host,
                    uint32_t size, unsigned ints)
{
    qedma_start_block(ch, source(ch->dir, soc, host),
                      destination(ch->dir, soc, host), size, ints);
}

static uint8_t *model_at(EdmaLab *l, EdmaSide side, uint64_t addr, size_t size)
{
    g_assert_cmphex(addr, >=, EDMA_ARENA);
    g_assert_cmphex(addr + size, <=, EDMA_ARENA + EDMA_ARENA_SIZE);
    return l->model[side] + (addr - EDMA_ARENA);
}

void edma_lab_expect(EdmaLab *l, QEdmaDir dir, uint64_t soc, uint64_t host,
                     size_t size)
{
    uint8_t *at_soc = model_at(l, EDMA_SOC, soc, size);
    uint8_t *at_host = model_at(l, EDMA_HOST, host, size);

    if (dir == QEDMA_WRITE) {
        memcpy(at_host, at_soc, size);
    } else {
        memcpy(at_soc, at_host, size);
    }
}

void edma_lab_expect_bytes(EdmaLab *l, EdmaSide side, uint64_t addr,
                           const void *bytes, size_t size)
{
    memcpy(model_at(l, side, addr, size), bytes, size);
}

void edma_lab_write(EdmaLab *l, EdmaSide side, uint64_t addr,
                    const void *bytes, size_t size)
{
    edma_lab_expect_bytes(l, side, addr, bytes, size);
    memcpy(edma_lab_ram(l, side, addr), bytes, size);
}

void edma_lab_check(EdmaLab *l)
{
    for (unsigned side = 0; side < EDMA_NUM_SIDES; side++) {
        g_autofree char *want =
            g_compute_checksum_for_data(G_CHECKSUM_SHA256, l->model[side],
                                        EDMA_ARENA_SIZE);
        g_autofree char *got =
            g_compute_checksum_for_data(G_CHECKSUM_SHA256, arena(l, side),
                                        EDMA_ARENA_SIZE);

        g_assert_cmpstr(got, ==, want);
    }
}
