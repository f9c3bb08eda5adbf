// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts UDP datagrams to a port by the receive queue that the driver recorded
 * in the skb.
 *
 * Usage: rx-queues INTERFACE PORT COUNT
 *
 * Packet sockets in a group that the kernel spreads by skb->queue_mapping
 * (PACKET_FANOUT_QM): the first one gets what has no queue recorded, the others
 * get a queue each, up to 16. The group is of this process: closing so many
 * sockets takes a while, and the next one must not share it.
 * Prints "ready", and after COUNT datagrams, or when none came for ten
 * seconds, the counts: "none N", "0 N", "1 N", ... without those that are 0.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define QUEUES 17
#define IDLE_MS 10000
/* A datagram weighs what ntb_netdev received it into: 128 KiB. */
#define RECEIVE_BUFFER (64 << 20)
#define IP_PROTO 9
#define UDP 17

static void fail(const char *what)
{
	fprintf(stderr, "rx-queues: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int open_queue(unsigned int ifindex, int group)
{
	struct sockaddr_ll at = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_IP),
		.sll_ifindex = ifindex,
	};
	int arg = group | PACKET_FANOUT_QM << 16, size = RECEIVE_BUFFER;
	int fd = socket(AF_PACKET, SOCK_DGRAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)))
		fail("packet socket");
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		fail("SO_RCVBUFFORCE");
	if (setsockopt(fd, SOL_PACKET, PACKET_FANOUT, &arg, sizeof(arg)))
		fail("PACKET_FANOUT");
	return fd;
}

/* Whether the IPv4 packet at @p is a datagram to @port. */
static int matches(const unsigned char *p, ssize_t size, int port)
{
	int head = (p[0] & 0xf) * 4;

	return size >= head + 4 && p[IP_PROTO] == UDP &&
	       (p[head + 2] << 8 | p[head + 3]) == port;
}

int main(int argc, char **argv)
{
	struct pollfd fds[QUEUES];
	unsigned char packet[128];
	long counts[QUEUES] = { 0 }, left;
	int i, port;

	if (argc != 4) {
		fprintf(stderr, "usage: rx-queues INTERFACE PORT COUNT\n");
		return 2;
	}
	port = atoi(argv[2]);
	left = atol(argv[3]);
	for (i = 0; i < QUEUES; i++)
		fds[i] = (struct pollfd){
			.fd = open_queue(if_nametoindex(argv[1]),
					 getpid() & 0xffff),
			.events = POLLIN,
		};
	puts("ready");
	fflush(stdout);
	while (left > 0 && poll(fds, QUEUES, IDLE_MS) > 0)
		for (i = 0; i < QUEUES; i++)
			if (fds[i].revents & POLLIN &&
			    matches(packet, recv(fds[i].fd, packet,
						 sizeof(packet), 0), port)) {
				counts[i]++;
				left--;
			}
	for (i = 0; i < QUEUES; i++)
		if (counts[i] && i == 0)
			printf("none %ld\n", counts[i]);
		else if (counts[i])
			printf("%d %ld\n", i - 1, counts[i]);
	return 0;
}
