/*
 * Two machines joined by ivshmem-doorbell, one vector each way
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The program plays the ivshmem server (docs/specs/ivshmem-spec.rst of QEMU):
 * it makes the eventfds and writes what a server sends into a socket pair
 * whose other end the machine inherits.
 */
#ifndef BENCH_IVSHMEM_PAIR_H
#define BENCH_IVSHMEM_PAIR_H

#include "libqtest.h"

typedef struct IvshmemPair {
    int server[2];              /* our end of each machine's connection */
    int client[2];              /* the machine's end; -1 once it runs */
} IvshmemPair;

/* Make both connections; the messages wait in them. */
void ivshmem_pair_init(IvshmemPair *pair);
void ivshmem_pair_free(IvshmemPair *pair);

/* Arguments of QEMU for machine @id (0 or 1); free with g_free(). */
char *ivshmem_pair_args(IvshmemPair *pair, unsigned id);
/* Machine @id has started: it has its end. */
void ivshmem_pair_started(IvshmemPair *pair, unsigned id);

/*
 * Set up the device of machine @id: vector 0 is a write of @data at @addr.
 * Returns the address of its doorbell register.
 */
uint64_t ivshmem_setup(QTestState *qts, unsigned id, uint64_t addr,
                       uint32_t data);
/* What to write there to ring vector 0 of machine @id */
uint32_t ivshmem_doorbell_value(unsigned id);

#endif /* BENCH_IVSHMEM_PAIR_H */
