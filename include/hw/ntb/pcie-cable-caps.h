/*
 * PCIe cable: capabilities that the ends exchange in VERSION
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_NTB_PCIE_CABLE_CAPS_H
#define HW_NTB_PCIE_CABLE_CAPS_H

typedef struct PCIeCableCaps {
    uint64_t max_msg_fds;
    uint64_t max_data_xfer_size; /* bytes */
    bool write_multiple;
    bool region_remap;          /* our extension */
    bool link_state;            /* our extension */
    bool posted_ring;           /* our extension */
} PCIeCableCaps;

/*
 * The payload of a VERSION message that offers @caps.  Owned by the caller.
 */
GByteArray *pcie_cable_caps_encode(const PCIeCableCaps *caps);

/**
 * pcie_cable_caps_decode: read a VERSION payload
 *
 * Capabilities that are not there get vfio-user's defaults, unknown ones are
 * ignored.  Fails on another major version, on what is not a NUL-terminated
 * JSON object and on values out of range.
 */
bool pcie_cable_caps_decode(const uint8_t *payload, size_t len,
                            PCIeCableCaps *caps, Error **errp);

#endif /* HW_NTB_PCIE_CABLE_CAPS_H */
