/*
 * PCIe cable, root complex end: learn what a remote function is
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The peer is not trusted: whatever PCI's core would only assert is checked
 * here.
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "pcie-cable-rc-enum.h"

/* Larger BARs than this cannot be placed by any guest. */
#define RC_BAR_SIZE_MAX (1ull << 46)

static bool query_region(PCIeCableConn *conn, unsigned fn, unsigned index,
                         uint32_t timeout_ms, uint64_t *size, Error **errp)
{
    VfuRegionInfo info = { .argsz = sizeof(info), .index = index };
    VfuRegionInfo reply;
    int error = pcie_cable_conn_call(conn, VFU_DEVICE_GET_REGION_INFO, fn,
                                     &info, sizeof(info), NULL, 0,
                                     &reply, sizeof(reply), timeout_ms);

    if (error) {
        error_setg_errno(errp, -error, "no information on region %u of "
                         "function %u", index, fn);
        return false;
    }
    *size = reply.size;
    return true;
}

static bool query_config(PCIeCableConn *conn, unsigned fn,
                         uint32_t timeout_ms, uint8_t *config, Error **errp)
{
    VfuRegionRW req = {
        .region = VFU_REGION_CONFIG, .count = PCIE_CONFIG_SPACE_SIZE,
    };
    size_t len = sizeof(req) + PCIE_CONFIG_SPACE_SIZE;
    g_autofree uint8_t *reply = g_malloc(len);
    int error = pcie_cable_conn_call(conn, VFU_REGION_READ, fn, &req,
                                     sizeof(req), NULL, 0, reply, len,
                                     timeout_ms);

    if (error) {
        error_setg_errno(errp, -error, "config space of function %u cannot be "
                         "read", fn);
        return false;
    }
    memcpy(config, reply + sizeof(req), PCIE_CONFIG_SPACE_SIZE);
    return true;
}

/* Offset of a capability of at least @size bytes, 0 when there is none. */
static uint8_t find_cap(const uint8_t *config, uint8_t id, unsigned size)
{
    uint8_t pos = config[PCI_CAPABILITY_LIST];

    if (!(pci_get_word(config + PCI_STATUS) & PCI_STATUS_CAP_LIST)) {
        return 0;
    }
    for (int i = 0; i < PCI_CONFIG_SPACE_SIZE / 4; i++) {
        if (pos < PCI_CONFIG_HEADER_SIZE || pos & 3) {
            return 0;
        }
        if (config[pos + PCI_CAP_LIST_ID] == id) {
            return pos + size <= PCI_CONFIG_SPACE_SIZE ? pos : 0;
        }
        pos = config[pos + PCI_CAP_LIST_NEXT];
    }
    return 0;
}

/* Which kind of BAR, and may it have its size? */
static bool check_bars(RCFunctionInfo *info, unsigned fn, Error **errp)
{
    bool upper_half = false;

    for (unsigned i = 0; i < PCIE_CABLE_NUM_BARS; i++) {
        uint32_t reg = pci_get_long(info->config + PCI_BASE_ADDRESS_0 + i * 4);
        uint64_t size = info->bar_size[i];
        bool io = reg & PCI_BASE_ADDRESS_SPACE_IO;
        bool is_64 = !io && (reg & PCI_BASE_ADDRESS_MEM_TYPE_64);
        uint64_t max = io ? 256 : is_64 ? RC_BAR_SIZE_MAX : 1ull << 31;

        if (upper_half) {
            upper_half = false;
            info->bar_size[i] = 0;
            continue;
        }
        if (!size) {
            continue;
        }
        if (!is_power_of_2(size) || size < (io ? 4 : 16) || size > max ||
            (is_64 && i == PCIE_CABLE_NUM_BARS - 1)) {
            error_setg(errp, "BAR %u of function %u has the size 0x%" PRIx64,
                       i, fn, size);
            return false;
        }
        info->bar_type[i] = io ? PCI_BASE_ADDRESS_SPACE_IO :
            reg & (PCI_BASE_ADDRESS_MEM_TYPE_64 |
                   PCI_BASE_ADDRESS_MEM_PREFETCH);
        upper_half = is_64;
    }
    return true;
}

RCFunctionInfo *pcie_cable_rc_query(PCIeCableConn *conn, unsigned fn,
                                    uint32_t timeout_ms, Error **errp)
{
    g_autofree RCFunctionInfo *info = g_new0(RCFunctionInfo, 1);
    uint16_t flags;

    for (unsigned i = 0; i < PCIE_CABLE_NUM_BARS; i++) {
        if (!query_region(conn, fn, i, timeout_ms, &info->bar_size[i],
                          errp)) {
            return NULL;
        }
    }
    if (!query_config(conn, fn, timeout_ms, info->config, errp) ||
        !check_bars(info, fn, errp)) {
        return NULL;
    }
    if ((info->config[PCI_HEADER_TYPE] & PCI_HEADER_TYPE_MASK) !=
        PCI_HEADER_TYPE_NORMAL) {
        error_setg(errp, "function %u has header type 0x%x, an endpoint has "
                   "0", fn, info->config[PCI_HEADER_TYPE]);
        return NULL;
    }
    info->exp_cap = find_cap(info->config, PCI_CAP_ID_EXP,
                             PCI_EXP_VER2_SIZEOF);
    info->msi_cap = find_cap(info->config, PCI_CAP_ID_MSI, 0x18);
    if (info->msi_cap) {
        flags = pci_get_word(info->config + info->msi_cap + PCI_MSI_FLAGS);
        if ((flags & PCI_MSI_FLAGS_QMASK) >> 1 > 5) {
            error_setg(errp, "function %u asks for more than 32 MSI vectors",
                       fn);
            return NULL;
        }
    }
    return g_steal_pointer(&info);
}
