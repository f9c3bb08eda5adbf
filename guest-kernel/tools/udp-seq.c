// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Numbered UDP datagrams: which arrive, which twice, which damaged.
 *
 * Usage: udp-seq receive ADDRESS PORT FLOWS COUNT SIZE
 *        udp-seq send ADDRESS PORT FLOWS COUNT SIZE
 *
 * FLOWS sockets of the sender send COUNT datagrams of SIZE bytes each, in turns,
 * as fast as the sockets take them; the receiver takes any ADDRESS. Flow, number
 * and size determine what is in a datagram. The receiver prints one line
 *
 *   received N duplicates N damaged N overflow N
 *
 * once all have arrived or were counted by the kernel as dropped because the
 * receiver's socket was full (overflow), or when nothing came for ten seconds.
 * Duplicates are in none of the other counts.
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/sock_diag.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LARGEST 65507
#define IDLE_MS 10000
#define RECEIVE_BUFFER (64 << 20)

struct head {
	uint32_t flow;
	uint32_t number;
};

union datagram {
	struct head head;
	uint64_t words[LARGEST / 8 + 1];
	char bytes[LARGEST + 1];
};

static void fail(const char *what)
{
	fprintf(stderr, "udp-seq: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Everything behind the head, to the last whole word. */
static void fill(union datagram *d, size_t size)
{
	uint64_t x = d->words[0] * 0x9e3779b97f4a7c15 + size;
	size_t i;

	for (i = 1; i < size / 8; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		d->words[i] = x;
	}
}

static long overflows(int fd)
{
	uint32_t info[SK_MEMINFO_VARS] = { 0 };
	socklen_t size = sizeof(info);

	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &size))
		fail("SO_MEMINFO");
	return info[SK_MEMINFO_DROPS];
}

static int bound(int port)
{
	struct sockaddr_in any = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
	};
	int size = RECEIVE_BUFFER, fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		fail("SO_RCVBUFFORCE");
	if (bind(fd, (struct sockaddr *)&any, sizeof(any)))
		fail("bind");
	return fd;
}

static void receive(int port, uint32_t flows, uint32_t count, size_t size)
{
	static union datagram got, want;
	unsigned char *seen = calloc(flows, count);
	long received = 0, duplicates = 0, damaged = 0;
	struct pollfd p = { .fd = bound(port), .events = POLLIN };
	ssize_t n;

	while (received + damaged + overflows(p.fd) < (long)flows * count &&
	       poll(&p, 1, IDLE_MS) > 0) {
		n = recv(p.fd, &got, sizeof(got), 0);
		if (n < 0)
			fail("recv");
		want.head = got.head;
		if ((size_t)n == size)
			fill(&want, size);
		if ((size_t)n != size || got.head.flow >= flows ||
		    got.head.number >= count ||
		    memcmp(&got, &want, size / 8 * 8)) {
			damaged++;
			continue;
		}
		if (seen[(size_t)got.head.flow * count + got.head.number]++)
			duplicates++;
		else
			received++;
	}
	/* What comes twice may come late. */
	while (poll(&p, 1, 200) > 0 && recv(p.fd, &got, sizeof(got), 0) >= 0)
		duplicates++;
	printf("received %ld duplicates %ld damaged %ld overflow %ld\n",
	       received, duplicates, damaged, overflows(p.fd));
}

static void send_all(const char *address, int port, uint32_t flows,
		     uint32_t count, size_t size)
{
	static union datagram d;
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
	};
	int *fds = calloc(flows, sizeof(*fds)), one = 1;
	uint32_t flow, number;

	if (inet_pton(AF_INET, address, &to.sin_addr) != 1) {
		fprintf(stderr, "udp-seq: %s is no IPv4 address\n", address);
		exit(2);
	}
	for (flow = 0; flow < flows; flow++) {
		fds[flow] = socket(AF_INET, SOCK_DGRAM, 0);
		if (connect(fds[flow], (struct sockaddr *)&to, sizeof(to)))
			fail("connect");
		/* Else nobody hears of datagrams that the qdisc drops. */
		if (setsockopt(fds[flow], SOL_IP, IP_RECVERR, &one,
			       sizeof(one)))
			fail("IP_RECVERR");
	}
	for (number = 0; number < count; number++)
		for (flow = 0; flow < flows; flow++) {
			d.head = (struct head){ flow, number };
			fill(&d, size);
			/* Refused was an earlier one; this one was not sent. */
			while (send(fds[flow], &d, size, 0) < 0) {
				if (errno != ENOBUFS && errno != ECONNREFUSED)
					fail("send");
				usleep(100);
			}
		}
}

int main(int argc, char **argv)
{
	uint32_t flows, count;
	long size;

	if (argc != 7)
		goto usage;
	flows = atol(argv[4]);
	count = atol(argv[5]);
	size = atol(argv[6]);
	if (size < (long)sizeof(struct head) || size > LARGEST)
		goto usage;
	if (!strcmp(argv[1], "receive"))
		receive(atoi(argv[3]), flows, count, size);
	else if (!strcmp(argv[1], "send"))
		send_all(argv[2], atoi(argv[3]), flows, count, size);
	else
		goto usage;
	return 0;
usage:
	fprintf(stderr, "usage: udp-seq receive|send ADDRESS PORT FLOWS COUNT SIZE\n");
	return 2;
}
