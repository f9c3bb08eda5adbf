/*
 * PCIe cable: capabilities that the ends exchange in VERSION
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qobject/qbool.h"
#include "qobject/qdict.h"
#include "qobject/qjson.h"
#include "hw/ntb/pcie-cable-caps.h"
#include "hw/ntb/vfio-user-proto.h"

#define VFU_CAPABILITIES    "capabilities"

GByteArray *pcie_cable_caps_encode(const PCIeCableCaps *caps)
{
    VfuVersion version = { .major = VFU_MAJOR, .minor = VFU_MINOR };
    g_autoptr(QDict) dict = qdict_new();
    g_autoptr(GString) json = NULL;
    QDict *inner = qdict_new();
    GByteArray *out = g_byte_array_new();

    qdict_put_int(inner, VFU_CAP_MAX_FDS, caps->max_msg_fds);
    qdict_put_int(inner, VFU_CAP_MAX_XFER, caps->max_data_xfer_size);
    qdict_put_int(inner, VFU_CAP_PGSIZES, VFU_PAGE_SIZE);
    qdict_put_int(inner, VFU_CAP_MAX_DMA_MAPS, VFU_MAX_DMA_MAPS);
    if (caps->write_multiple) {
        qdict_put_bool(inner, VFU_CAP_WRITE_MULTIPLE, true);
    }
    if (caps->region_remap) {
        qdict_put_bool(inner, VFU_CAP_REGION_REMAP, true);
    }
    if (caps->link_state) {
        qdict_put_bool(inner, VFU_CAP_LINK_STATE, true);
    }
    if (caps->posted_ring) {
        qdict_put_bool(inner, VFU_CAP_POSTED_RING, true);
    }
    qdict_put(dict, VFU_CAPABILITIES, inner);
    json = qobject_to_json(QOBJECT(dict));

    g_byte_array_append(out, (const guint8 *)&version, sizeof(version));
    g_byte_array_append(out, (const guint8 *)json->str, json->len + 1);
    return out;
}

/* A number from 1 to @max, or the default that is in @value already. */
static bool caps_get_number(const QDict *dict, const char *key, uint64_t max,
                            uint64_t *value, Error **errp)
{
    int64_t n;

    if (!qdict_haskey(dict, key)) {
        return true;
    }
    n = qdict_get_try_int(dict, key, -1);
    if (n < 1) {
        error_setg(errp, "capability %s is not a positive number", key);
        return false;
    }
    *value = MIN(n, max);
    return true;
}

bool pcie_cable_caps_decode(const uint8_t *payload, size_t len,
                            PCIeCableCaps *caps, Error **errp)
{
    VfuVersion version;
    g_autoptr(QDict) owner = NULL;
    QObject *json;
    const char *text = (const char *)payload + sizeof(version);
    QDict *dict;

    *caps = (PCIeCableCaps) {
        .max_msg_fds = 1,
        .max_data_xfer_size = VFU_MAX_XFER,
    };
    if (len < sizeof(version)) {
        error_setg(errp, "VERSION of %zu bytes", len);
        return false;
    }
    memcpy(&version, payload, sizeof(version));
    if (version.major != VFU_MAJOR) {
        error_setg(errp, "protocol version %u.%u, this end speaks %u.%u",
                   version.major, version.minor, VFU_MAJOR, VFU_MINOR);
        return false;
    }
    if (len == sizeof(version)) {
        return true;
    }
    if (payload[len - 1] != '\0') {
        error_setg(errp, "VERSION's capabilities do not end with a NUL");
        return false;
    }
    json = qobject_from_json(text, NULL);
    owner = json ? qobject_to(QDict, json) : NULL;
    if (!owner) {
        qobject_unref(json);
        error_setg(errp, "VERSION's capabilities are not a JSON object");
        return false;
    }
    if (!qdict_haskey(owner, VFU_CAPABILITIES)) {
        return true;
    }
    dict = qobject_to(QDict, qdict_get(owner, VFU_CAPABILITIES));
    if (!dict) {
        error_setg(errp, "VERSION's capabilities are not a JSON object");
        return false;
    }
    caps->write_multiple = qdict_get_try_bool(dict, VFU_CAP_WRITE_MULTIPLE,
                                              false);
    caps->region_remap = qdict_get_try_bool(dict, VFU_CAP_REGION_REMAP, false);
    caps->link_state = qdict_get_try_bool(dict, VFU_CAP_LINK_STATE, false);
    caps->posted_ring = qdict_get_try_bool(dict, VFU_CAP_POSTED_RING, false);
    return caps_get_number(dict, VFU_CAP_MAX_FDS, VFU_MAX_FDS,
                           &caps->max_msg_fds, errp) &&
           caps_get_number(dict, VFU_CAP_MAX_XFER, VFU_MAX_XFER,
                           &caps->max_data_xfer_size, errp);
}
