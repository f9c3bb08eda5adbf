/*
 * libqos helpers: an endpoint of the PCIe cable that a test makes up
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A thread plays the server of the wire protocol for the RC end.  The test
 * says what the function looks like, and may send bytes of its own.
 */
#ifndef TESTS_LIBQOS_PCIE_CABLE_SERVER_H
#define TESTS_LIBQOS_PCIE_CABLE_SERVER_H

#include "qemu/thread.h"
#include "pcie-cable-peer.h"

#define CABLE_SERVER_BARS 6
#define CABLE_SERVER_VECTORS 32
#define CABLE_SERVER_CAP_MSI 0x50
#define CABLE_SERVER_CAP_EXP 0x70

typedef struct CableServer {
    /* What the function is: changed while no client is served */
    const char *json;           /* VERSION's answer, NULL: no capabilities */
    uint16_t major;
    uint8_t config[4096];
    uint64_t bar_size[CABLE_SERVER_BARS];
    int info_extra;             /* bytes more in GET_REGION_INFO's answer */
    int read_extra;             /* bytes more in BAR reads' answers */
    bool mute;                  /* atomic: no answers but to VERSION */
    /* Bytes that DMA puts at an offset of what is mapped while it resets */
    const void *reset_dma;
    size_t reset_dma_len;
    uint64_t reset_dma_offset;

    /* What the client did; lock */
    unsigned maps, unmaps, resets, writes;
    VfuDmaMap map;
    VfuRegionRW write;
    uint64_t write_value;
    unsigned max_irq_fds;       /* in one message */
    int irq_fds[CABLE_SERVER_VECTORS];
    int map_fd;
    int ring_fd;                /* memory of the client's ring; not emptied */
    int ring_wake_fd;           /* what wakes its server; nothing is taken */
    unsigned replies;
    VfuHdr reply;
    uint8_t reply_payload[64];
    size_t reply_len;

    QemuMutex lock;
    int listen_fd;
    CablePeer *p;               /* atomic; NULL until a client connects */
    GThread *thread;
    bool closed;                /* atomic */
} CableServer;

/* Listen at @path, as a good endpoint of region-remap and link-state. */
CableServer *cable_server_new(const char *path);
void cable_server_free(CableServer *s);
/* Serve the next client that connects; returns before it does. */
void cable_server_accept(CableServer *s);
/* The client has closed, or shall be closed: the thread ends. */
void cable_server_wait_close(CableServer *s);
void cable_server_hang_up(CableServer *s);

/* Messages of the server's own */
void cable_server_send(CableServer *s, const void *bytes, size_t len,
                       const int *fds, unsigned nfds);
void cable_server_link_state(CableServer *s, bool up);
/* Send a request and wait for the reply: its errno, or -1 when closed. */
int cable_server_call(CableServer *s, uint16_t command, const void *fixed,
                      size_t fixed_len, const void *data, size_t data_len,
                      const int *fds, unsigned nfds);
int cable_server_remap(CableServer *s, uint32_t region, uint64_t offset,
                       uint64_t size, uint32_t flags, int fd,
                       uint64_t fd_offset);

#endif /* TESTS_LIBQOS_PCIE_CABLE_SERVER_H */
