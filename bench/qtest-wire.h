/*
 * The qtest connection of a machine, for code that measures
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * libqtest waits for the answer to each command before it returns. A benchmark
 * wants to send a command to one machine and to sleep until another one
 * reports an interrupt, with nothing in between; so it borrows the sockets
 * while libqtest has no command under way.
 */
#ifndef BENCH_QTEST_WIRE_H
#define BENCH_QTEST_WIRE_H

#include "libqtest.h"

typedef struct QTestWire {
    int fd;                     /* libqtest's */
    size_t len, taken;
    char buf[256];              /* what came; @taken bytes were returned */
} QTestWire;

/* Borrow the connection of @qts; nothing is to be released. */
void qtest_wire_init(QTestWire *wire, QTestState *qts);

/* Send one command, a line with its newline. */
void qtest_wire_send(QTestWire *wire, const char *command);

/*
 * Sleep until a line has come.  Returns it without its newline, valid until
 * the next call, or NULL when none came for @timeout_ms (-1: no limit).
 */
const char *qtest_wire_read(QTestWire *wire, int timeout_ms);

/* The next line must be @expected: sleep until it has come. */
void qtest_wire_await(QTestWire *wire, const char *expected);

/* ns of a clock that only goes forward */
int64_t qtest_wire_now(void);

#endif /* BENCH_QTEST_WIRE_H */
