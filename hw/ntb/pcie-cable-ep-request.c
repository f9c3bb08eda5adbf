/*
 * PCIe cable, endpoint end: DMA_READ and DMA_WRITE as the host lays them out
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The document has a 64-bit count and the data at offset 16; QEMU's own
 * client has a 32-bit count and the data at offset 12.  Nothing that the
 * client says in VERSION tells which (docs/decisions/dma-layout.md), but its
 * answer to a DMA_READ has one length or the other: a host that has not
 * agreed to our extensions is asked to read no bytes before the first request
 * that carries data.
 */

#include "qemu/osdep.h"
#include "pcie-cable-ep-internal.h"
#include "trace.h"

/*
 * Remember what the peer of @conn does.  Its successor resets that behind a
 * grace period (ep_serve()), so that a late finder does not spoil it.
 */
static void layout_found(PCIeCableEP *cable, PCIeCableConn *conn,
                             EPDmaLayout layout)
{
    RCU_READ_LOCK_GUARD();
    if (qatomic_rcu_read((void **)&cable->conn) == conn) {
        trace_pcie_cable_ep_request_layout(layout == EP_DMA_PACKED);
        qatomic_set(&cable->dma_layout, layout);
    }
}

int pcie_cable_ep_request_layout(PCIeCableEP *cable, PCIeCableConn *conn,
                                 unsigned fn, uint64_t addr,
                                 uint32_t timeout_ms, EPDmaLayout *layout)
{
    VfuDmaRW nothing = { .address = addr };
    VfuDmaRW reply;
    size_t got;
    int error;

    *layout = qatomic_read(&cable->dma_layout);
    if (*layout != EP_DMA_UNKNOWN) {
        return 0;
    }
    error = pcie_cable_conn_call_upto(conn, VFU_DMA_READ, fn, &nothing,
                                      sizeof(nothing), &reply, sizeof(reply),
                                      &got, timeout_ms);
    switch (error) {
    case 0:
        if (got == sizeof(VfuDmaRWPacked)) {
            *layout = EP_DMA_PACKED;
        } else if (got == sizeof(VfuDmaRW)) {
            *layout = EP_DMA_DOCUMENT;
        } else {
            pcie_cable_conn_close(conn, "reply to a DMA_READ of no bytes is "
                                  "neither 12 nor 16 bytes long");
            return -EPROTO;
        }
        break;
    case -ETIMEDOUT:
    case -ECONNRESET:
    case -EDEADLK:
    case -EPROTO:
        return error;
    default:
        /* It does not read nothing, so take it at the document's word. */
        *layout = EP_DMA_DOCUMENT;
        break;
    }
    layout_found(cable, conn, *layout);
    return 0;
}

/* The fixed part of a request; returns its length. */
static size_t dma_fixed(EPDmaLayout layout, uint64_t addr, uint32_t size,
                        VfuDmaRW *fixed)
{
    if (layout == EP_DMA_PACKED) {
        VfuDmaRWPacked packed = { .address = addr, .count = size };

        memcpy(fixed, &packed, sizeof(packed));
        return sizeof(packed);
    }
    *fixed = (VfuDmaRW) { .address = addr, .count = size };
    return sizeof(*fixed);
}

int pcie_cable_ep_request_read(PCIeCableEP *cable, PCIeCableConn *conn,
                               unsigned fn, uint64_t addr, void *reply,
                               uint32_t size, const uint8_t **data)
{
    EPDmaLayout layout;
    VfuDmaRW fixed;
    size_t len;
    int error;

    *data = NULL;
    error = pcie_cable_ep_request_layout(cable, conn, fn, addr,
                                         cable->timeout_ms, &layout);
    if (error) {
        return error;
    }
    len = dma_fixed(layout, addr, size, &fixed);
    error = pcie_cable_conn_call(conn, VFU_DMA_READ, fn, &fixed, len, NULL, 0,
                                 reply, len + size, cable->timeout_ms);
    *data = (uint8_t *)reply + len;
    return error;
}

void pcie_cable_ep_request_write(PCIeCableConn *conn, EPDmaLayout layout,
                                 unsigned fn, uint64_t addr, const void *data,
                                 uint32_t size, PCIeCableReplyFn *done,
                                 void *opaque)
{
    VfuDmaRW fixed;
    size_t len = dma_fixed(layout, addr, size, &fixed);

    pcie_cable_conn_send_async(conn, VFU_DMA_WRITE, fn, &fixed, len,
                               data, size, NULL, 0, done, opaque);
}
