/*
 * libqos helpers: a peer of the PCIe cable made of a raw socket
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Speaks either end of the wire protocol, as well or as badly as the test
 * wants.  Receiving never waits for longer than CABLE_DEADLINE_S.
 */
#ifndef TESTS_LIBQOS_PCIE_CABLE_PEER_H
#define TESTS_LIBQOS_PCIE_CABLE_PEER_H

#include "hw/ntb/vfio-user-proto.h"

/* What a peer offers in VERSION */
#define CABLE_CAPS_NONE "{\"capabilities\":{}}"
#define CABLE_CAPS_ALL "{\"capabilities\":{\"max_msg_fds\":16,"         \
                       "\"max_data_xfer_size\":65536,"                  \
                       "\"region-remap\":true,\"link-state\":true}}"
#define CABLE_CAPS_RING "{\"capabilities\":{\"max_msg_fds\":16,"        \
                        "\"region-remap\":true,\"link-state\":true,"    \
                        "\"posted-ring\":true}}"

typedef struct CableMessage {
    VfuHdr hdr;
    uint8_t payload[VFU_MAX_MSG];
    size_t len;                 /* bytes of @payload */
    int fds[VFU_MAX_FDS];       /* closed by the next receive */
    unsigned nfds;
} CableMessage;

typedef struct CablePeer {
    int fd;
    uint16_t next_id;
    uint32_t sent;              /* messages, but for cable_peer_send_raw() */
    CableMessage msg;           /* the last one received */
    /* What requests of the other end said while a reply was awaited */
    unsigned link_states;
    VfuLinkState link;
    unsigned remaps;
    VfuRegionRemap remap;
    bool ignore_remaps;         /* do not acknowledge them */
} CablePeer;

CablePeer *cable_peer_connect(const char *path);
/* A server: a socket that listens, and the next who connects to it */
int cable_peer_listen(const char *path);
CablePeer *cable_peer_accept(int listen_fd);
void cable_peer_close(CablePeer *p);

/* Send bytes as they are. */
void cable_peer_send_raw(CablePeer *p, const void *bytes, size_t len,
                         const int *fds, unsigned nfds);
/* Send a request; returns its ID. */
uint16_t cable_peer_request(CablePeer *p, uint16_t command, uint32_t flags,
                            const void *fixed, size_t fixed_len,
                            const void *data, size_t data_len,
                            const int *fds, unsigned nfds);
void cable_peer_reply(CablePeer *p, const VfuHdr *hdr, const void *fixed,
                      size_t fixed_len, const void *data, size_t data_len);

/* Receive into p->msg.  False: the other end closed the connection. */
bool cable_peer_receive(CablePeer *p);
/* Is there something to receive (or the end) within @ms? */
bool cable_peer_readable(CablePeer *p, int ms);
/* Receive and answer requests until the other end closes. */
void cable_peer_expect_close(CablePeer *p);

/*
 * Send a request and receive until its reply is in p->msg.  Returns the
 * errno of the reply, 0 for success, -1 when the connection closed.
 */
int cable_peer_call(CablePeer *p, uint16_t command, uint32_t flags,
                    const void *fixed, size_t fixed_len,
                    const void *data, size_t data_len,
                    const int *fds, unsigned nfds);
/* VERSION with this JSON; the same results */
int cable_peer_version(CablePeer *p, uint16_t major, const char *json);
/* Region accesses; @size is 1 to 8. */
int cable_peer_region_read(CablePeer *p, uint32_t region, uint64_t offset,
                           unsigned size, uint64_t *value);
int cable_peer_region_write(CablePeer *p, uint32_t region, uint64_t offset,
                            unsigned size, uint64_t value);
int cable_peer_dma_map(CablePeer *p, uint64_t address, uint64_t size,
                       uint64_t offset, uint32_t flags, int fd);

/* A memfd of @size bytes, sealed against shrinking if @seal. */
int cable_memfd(size_t size, bool seal);

#endif /* TESTS_LIBQOS_PCIE_CABLE_PEER_H */
