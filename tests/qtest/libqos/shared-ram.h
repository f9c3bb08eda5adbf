/*
 * libqos helper: a machine's RAM, mapped into the test
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Machines whose RAM is one memory-backend-memfd share it with whoever opens
 * the file.  A test that maps it reads, writes and compares at the speed of
 * memory, where the qtest protocol would need megabytes of hex digits.
 */
#ifndef TESTS_LIBQOS_SHARED_RAM_H
#define TESTS_LIBQOS_SHARED_RAM_H

#include "libqtest.h"

/*
 * Map all @size bytes of the only memory-backend-memfd of @qts.  The mapping
 * outlives the machine; end it with shared_ram_unmap().
 */
uint8_t *shared_ram_map(QTestState *qts, size_t size);
void shared_ram_unmap(uint8_t *ram, size_t size);

#endif /* TESTS_LIBQOS_SHARED_RAM_H */
