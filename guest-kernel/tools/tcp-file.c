// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Moves a file over TCP in large pieces: busybox nc moves a kilobyte at a time,
 * which under TCG is four times slower than the link.
 *
 * Usage: tcp-file receive PORT        one connection to standard output
 *        tcp-file send ADDRESS PORT   standard input; ends when the receiver
 *                                     has taken everything and hung up
 */

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PIECE (1 << 20)

static void fail(const char *what)
{
	fprintf(stderr, "tcp-file: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void move(int from, int to)
{
	static char piece[PIECE];
	ssize_t got, put, n;

	while ((got = read(from, piece, sizeof(piece))) > 0)
		for (put = 0; put < got; put += n) {
			n = write(to, piece + put, got - put);
			if (n < 0)
				fail("write");
		}
	if (got < 0)
		fail("read");
}

static void receive(const char *port)
{
	struct sockaddr_in any = {
		.sin_family = AF_INET,
		.sin_port = htons(atoi(port)),
	};
	int one = 1, listener, peer;

	listener = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, (struct sockaddr *)&any, sizeof(any)) ||
	    listen(listener, 1))
		fail("listen");
	peer = accept(listener, NULL, NULL);
	if (peer < 0)
		fail("accept");
	move(peer, STDOUT_FILENO);
}

static void send_to(const char *address, const char *port)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(atoi(port)),
	};
	int peer = socket(AF_INET, SOCK_STREAM, 0);
	char end;

	if (inet_pton(AF_INET, address, &to.sin_addr) != 1) {
		fprintf(stderr, "tcp-file: %s is no IPv4 address\n", address);
		exit(2);
	}
	if (connect(peer, (struct sockaddr *)&to, sizeof(to)))
		fail("connect");
	move(STDIN_FILENO, peer);
	shutdown(peer, SHUT_WR);
	if (read(peer, &end, 1) != 0)
		fail("the receiver hung up early");
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "receive")) {
		receive(argv[2]);
		return 0;
	}
	if (argc == 4 && !strcmp(argv[1], "send")) {
		send_to(argv[2], argv[3]);
		return 0;
	}
	fprintf(stderr, "usage: tcp-file receive PORT | send ADDRESS PORT\n");
	return 2;
}
