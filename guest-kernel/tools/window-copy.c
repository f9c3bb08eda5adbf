// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Copies through a memory window of the cable, and within the guest's own
 * memory for comparison; prints the rates and checks what was stored.
 *
 * Usage: window-copy FILE OFFSET SIZE TOTAL
 *
 *   FILE    what to map: /dev/vntb-window, as the NTB drivers do, or /dev/mem or
 *           resource2 of the NTB function, where it is device memory
 *   OFFSET  where the window starts in FILE, in bytes
 *   SIZE    bytes of the window to use, a multiple of 4096
 *   TOTAL   bytes to copy each way, in passes over SIZE
 *
 * Each pass stores to the window, stores to a buffer of the same size in the
 * guest's own memory, loads from the window and loads from the buffer, with the
 * same code. Prints a line "store WINDOW OWN" and a line "load WINDOW OWN",
 * the rate of the best pass in bytes a second: a pass is shorter than a turn of
 * the host's scheduler, so the best one was not interrupted. The window holds
 * what it held before when the program ends.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* As Linux calls it: measured code stays one function. */
#define noinline __attribute__((__noinline__))

static void fail(const char *what)
{
	fprintf(stderr, "window-copy: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/*
 * Aligned 64-bit accesses, eight a turn: the same instructions for the window
 * and for memory, and none that device memory would refuse.
 */
static noinline void copy(volatile uint64_t *to, const volatile uint64_t *from,
			  size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes / 8; i += 8) {
		to[i] = from[i];
		to[i + 1] = from[i + 1];
		to[i + 2] = from[i + 2];
		to[i + 3] = from[i + 3];
		to[i + 4] = from[i + 4];
		to[i + 5] = from[i + 5];
		to[i + 6] = from[i + 6];
		to[i + 7] = from[i + 7];
	}
}

/* Copy once; keep the best rate seen, in bytes a second. */
static void measure(double *best, volatile void *to, const volatile void *from,
		    size_t size)
{
	double start = now(), rate;

	copy(to, from, size);
	rate = size / (now() - start);
	if (rate > *best)
		*best = rate;
}

static void *own_buffer(size_t size)
{
	void *buffer = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (buffer == MAP_FAILED)
		fail("memory");
	return buffer;
}

int main(int argc, char **argv)
{
	double store_window = 0, store_own = 0, load_window = 0, load_own = 0;
	uint64_t *pattern, *own, *back, *before;
	size_t offset, size, total, done, i;
	int fd;
	void *window;

	if (argc < 5) {
		fprintf(stderr, "usage: window-copy FILE OFFSET SIZE TOTAL\n");
		return 2;
	}
	offset = strtoull(argv[2], NULL, 0);
	size = strtoull(argv[3], NULL, 0);
	total = strtoull(argv[4], NULL, 0);
	if (!size || size % 4096) {
		fprintf(stderr, "window-copy: SIZE must be a multiple of 4096\n");
		return 2;
	}

	fd = open(argv[1], O_RDWR | O_SYNC);
	if (fd < 0)
		fail(argv[1]);
	window = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
	if (window == MAP_FAILED)
		fail("mmap");
	pattern = own_buffer(size);
	own = own_buffer(size);
	back = own_buffer(size);
	before = own_buffer(size);
	copy(before, window, size);
	for (i = 0; i < size / 8; i++)
		pattern[i] = (i + 1) * 0x9e3779b97f4a7c15ULL;

	for (done = 0; done < total; done += size) {
		/*
		 * Whoever comes second finds the other buffer of the copy in
		 * the host's caches: take turns.
		 */
		bool own_first = done / size % 2;

		if (own_first)
			measure(&store_own, own, pattern, size);
		measure(&store_window, window, pattern, size);
		if (!own_first)
			measure(&store_own, own, pattern, size);
		if (own_first)
			measure(&load_own, back, own, size);
		measure(&load_window, back, window, size);
		if (!own_first)
			measure(&load_own, back, own, size);
	}
	copy(back, window, size);
	if (memcmp(back, pattern, size)) {
		fprintf(stderr, "window-copy: the window does not hold what was stored\n");
		copy(window, before, size);
		return 1;
	}
	copy(window, before, size);
	printf("store %.0f %.0f\nload %.0f %.0f\n", store_window, store_own,
	       load_window, load_own);
	return 0;
}
