// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The guest's end of `lab exec`: runs commands for the host over virtio-serial
 * ports, one command at a time on each port.
 *
 * Both sides send lines, so that a peer that died in the middle of one costs
 * no more than that line. DATA is the decimal length of the decoded bytes, a
 * space, and the bytes in base64.
 *
 *   host:   S NONCE     end what runs here, answer with the same line
 *           X DATA      run DATA with /bin/sh -c, in a session of its own
 *           I DATA      bytes for its standard input
 *           E           end of its standard input
 *           K NUMBER    send signal NUMBER to its process group
 *   guest:  S NONCE     ready
 *           O DATA      bytes from its standard output
 *           R DATA      bytes from its standard error
 *           D STATUS    it ended: exit status, or 128 + signal; 126 when it
 *                       could not be started, R says why
 *
 * Usage: vntb-agent PREFIX    serves every port whose name starts with PREFIX
 */

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* Bytes of output a line carries at most. */
#define CHUNK 24576
/* Longest line from the host; the lab sends far shorter ones. */
#define LINE_MAX_BYTES (1 << 20)
/* Unread standard input that stops us from reading more of it. */
#define INPUT_MAX (1 << 20)
/* Ports that are served at most; the lab has four. */
#define PORTS_MAX 16
/* Exit status of a command that could not be started, as shells have it. */
#define CANNOT_RUN 126

struct command {
	pid_t pid;		/* 0: none runs */
	int in, out, err;	/* our ends of its pipes, -1 when closed */
	unsigned char *input;	/* bytes that its standard input waits for */
	size_t input_len;
	bool input_ends;
};

/* The process that serves a port. */
struct server {
	pid_t pid;
	char device[256];	/* its name in /dev */
};

static int port_fd;
static int child_fd;
static struct command cmd = { .in = -1, .out = -1, .err = -1 };

static const char digits[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void fatal(const char *what)
{
	int error = errno;
	FILE *log = fopen("/dev/kmsg", "w");

	if (log) {
		fprintf(log, "vntb-agent: %s: %s\n", what, strerror(error));
		fclose(log);
	}
	_exit(1);
}

/* Without us the guest is deaf: the OOM killer should take something else. */
static void spare_oom(bool spare)
{
	FILE *file = fopen("/proc/self/oom_score_adj", "w");

	if (file) {
		fputs(spare ? "-1000" : "0", file);
		fclose(file);
	}
}

/* Blocks while no host is connected: that is how we wait for one. */
static void port_write(const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(port_fd, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			fatal("write to the host");
		bytes += n;
		len -= n;
	}
}

static void port_line(const char *format, ...)
{
	char line[128];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (len >= (int)sizeof(line))
		len = sizeof(line) - 1;
	port_write(line, len);
}

static void port_bytes(char kind, const unsigned char *bytes, size_t len)
{
	static char line[CHUNK / 3 * 4 + 64];
	int pos = sprintf(line, "%c %zu ", kind, len);
	size_t i;

	for (i = 0; i < len; i += 3) {
		uint32_t v = bytes[i] << 16;

		v |= i + 1 < len ? bytes[i + 1] << 8 : 0;
		v |= i + 2 < len ? bytes[i + 2] : 0;
		line[pos++] = digits[v >> 18];
		line[pos++] = digits[v >> 12 & 63];
		line[pos++] = i + 1 < len ? digits[v >> 6 & 63] : '=';
		line[pos++] = i + 2 < len ? digits[v & 63] : '=';
	}
	line[pos++] = '\n';
	port_write(line, pos);
}

/*
 * Decode "LENGTH BASE64". Returns the bytes with a NUL behind them, to be
 * freed, or NULL when they are not LENGTH bytes: a line that was cut short.
 */
static unsigned char *decode(const char *text, size_t *len)
{
	char *end;
	size_t want = strtoul(text, &end, 10), have = 0;
	unsigned char *bytes;
	uint32_t v = 0;
	int bits = 0;

	if (*end++ != ' ' || want > LINE_MAX_BYTES)
		return NULL;
	bytes = malloc(want + 1);
	if (!bytes)
		fatal("memory");
	for (; *end && *end != '='; end++) {
		const char *digit = strchr(digits, *end);

		if (!digit || have > want)
			break;
		v = v << 6 | (uint32_t)(digit - digits);
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			if (have < want)
				bytes[have] = v >> bits;
			have++;
		}
	}
	if (have != want) {
		free(bytes);
		return NULL;
	}
	bytes[want] = 0;
	*len = want;
	return bytes;
}

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void command_close(void)
{
	close_end(&cmd.in);
	close_end(&cmd.out);
	close_end(&cmd.err);
	free(cmd.input);
	cmd = (struct command) { .in = -1, .out = -1, .err = -1 };
}

/* The command that was just asked for cannot run; the next one may. */
static void command_failed(const char *what)
{
	char why[128];
	int len = snprintf(why, sizeof(why), "vntb-agent: %s: %s\n", what,
			   strerror(errno));

	command_close();
	port_bytes('R', (unsigned char *)why, len);
	port_line("D %d\n", CANNOT_RUN);
}

/* Runs in the child; @pipes begins with what becomes 0, 1 and 2. */
static void command_exec(const char *text, const int *pipes)
{
	sigset_t none;
	int fd;

	setsid();
	spare_oom(false);
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (fd = 0; fd < 3; fd++)
		dup2(pipes[fd], fd);
	execl("/bin/sh", "sh", "-c", text, NULL);
	_exit(127);
}

/*
 * Returns when the command has its session and its program: a signal that
 * follows at once finds its process group.
 */
static void command_start(const char *text)
{
	enum { IN, OUT, ERR, EXEC, PIPES };
	int theirs[PIPES] = { -1, -1, -1, -1 }, exec_done = -1;
	int *ours[PIPES] = { &cmd.in, &cmd.out, &cmd.err, &exec_done };
	const char *failed = NULL;
	int i, ends[2], error;
	char end;

	for (i = 0; i < PIPES; i++) {
		if (pipe2(ends, O_CLOEXEC)) {
			failed = "pipe";
			break;
		}
		*ours[i] = ends[i == IN];
		theirs[i] = ends[i != IN];
		if (i != EXEC)
			fcntl(*ours[i], F_SETFL, O_NONBLOCK);
	}
	if (!failed) {
		cmd.pid = fork();
		if (!cmd.pid)
			command_exec(text, theirs);
		if (cmd.pid < 0)
			failed = "fork";
	}
	error = errno;
	for (i = 0; i < PIPES; i++)
		close_end(&theirs[i]);
	/* Its end was closed by exec, or nobody has it. */
	while (exec_done >= 0 && read(exec_done, &end, 1) < 0 && errno == EINTR)
		;
	close_end(&exec_done);
	errno = error;
	if (failed)
		command_failed(failed);
}

static void command_end(void)
{
	if (cmd.pid) {
		kill(-cmd.pid, SIGKILL);
		while (waitpid(cmd.pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	command_close();
}

/* Pass on what has come out; false once there is nothing at the moment. */
static bool command_output(int *fd, char kind)
{
	unsigned char bytes[CHUNK];
	ssize_t n = *fd < 0 ? -1 : read(*fd, bytes, sizeof(bytes));

	if (n > 0)
		port_bytes(kind, bytes, n);
	else if (!n)
		close_end(fd);
	return n > 0;
}

static void command_reap(void)
{
	int status;

	if (!cmd.pid || waitpid(cmd.pid, &status, WNOHANG) != cmd.pid)
		return;
	/*
	 * Whatever it left in the background may keep the pipes open for ever:
	 * drain them, do not wait for their end.
	 */
	while (command_output(&cmd.out, 'O'))
		;
	while (command_output(&cmd.err, 'R'))
		;
	command_close();
	port_line("D %d\n", WIFSIGNALED(status) ? 128 + WTERMSIG(status)
						: WEXITSTATUS(status));
}

static void command_feed(void)
{
	ssize_t n;

	if (cmd.in < 0)
		return;
	if (cmd.input_len) {
		n = write(cmd.in, cmd.input, cmd.input_len);
		if (n < 0 && errno != EAGAIN && errno != EINTR) {
			/* It does not read its input: drop the rest. */
			close_end(&cmd.in);
			cmd.input_len = 0;
		} else if (n > 0) {
			cmd.input_len -= n;
			memmove(cmd.input, cmd.input + n, cmd.input_len);
		}
	}
	if (!cmd.input_len && cmd.input_ends)
		close_end(&cmd.in);
}

static void command_input(const unsigned char *bytes, size_t len)
{
	if (cmd.in < 0)
		return;
	cmd.input = realloc(cmd.input, cmd.input_len + len + 1);
	if (!cmd.input)
		fatal("memory");
	memcpy(cmd.input + cmd.input_len, bytes, len);
	cmd.input_len += len;
}

static void host_line(char *line)
{
	unsigned char *bytes = NULL;
	size_t len;

	if (line[0] && line[1] && line[1] != ' ')
		return;
	switch (line[0]) {
	case 'S':
		command_end();
		port_line("\n%.100s\n", line);
		break;
	case 'X':
		bytes = decode(line + 2, &len);
		if (bytes && !cmd.pid)
			command_start((char *)bytes);
		break;
	case 'I':
		bytes = decode(line + 2, &len);
		if (bytes)
			command_input(bytes, len);
		break;
	case 'E':
		cmd.input_ends = true;
		break;
	case 'K':
		if (cmd.pid)
			kill(-cmd.pid, atoi(line + 2));
		break;
	}
	free(bytes);
	command_feed();
}

/* False when the host has hung up. */
static bool host_read(void)
{
	static char line[LINE_MAX_BYTES * 4 / 3 + 64];
	static size_t fill;
	char *end;
	ssize_t n;

	n = read(port_fd, line + fill, sizeof(line) - 1 - fill);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	if (!n) {
		fill = 0;
		return false;
	}
	fill += n;
	while ((end = memchr(line, '\n', fill))) {
		*end++ = 0;
		host_line(line);
		fill -= end - line;
		memmove(line, end, fill);
	}
	if (fill == sizeof(line) - 1)
		fill = 0;
	return true;
}

static void serve(void)
{
	enum { PORT, CHILD, OUT, ERR, IN, NFDS };

	for (;;) {
		struct signalfd_siginfo gone;
		struct pollfd fds[NFDS] = {
			[PORT] = { port_fd,
				   cmd.input_len < INPUT_MAX ? POLLIN : 0 },
			[CHILD] = { child_fd, POLLIN },
			[OUT] = { cmd.out, POLLIN },
			[ERR] = { cmd.err, POLLIN },
			[IN] = { cmd.input_len ? cmd.in : -1, POLLOUT },
		};

		if (poll(fds, NFDS, -1) < 0) {
			if (errno == EINTR)
				continue;
			fatal("poll");
		}
		if (fds[OUT].revents)
			command_output(&cmd.out, 'O');
		if (fds[ERR].revents)
			command_output(&cmd.err, 'R');
		if (fds[IN].revents)
			command_feed();
		if (fds[CHILD].revents &&
		    read(child_fd, &gone, sizeof(gone)) > 0)
			command_reap();
		if (fds[PORT].revents && !host_read()) {
			command_end();
			/* Returns when a host is there again. */
			port_line("\n");
		}
	}
}

static void serve_port(const char *device)
{
	char path[300];
	sigset_t child;

	snprintf(path, sizeof(path), "/dev/%s", device);
	port_fd = open(path, O_RDWR | O_CLOEXEC);
	if (port_fd < 0)
		fatal(path);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	signal(SIGPIPE, SIG_IGN);
	child_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (child_fd < 0)
		fatal("signalfd");
	serve();
}

static bool port_is_ours(const char *device, const char *prefix)
{
	char path[300], name[64] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/virtio-ports/%s/name", device);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (!fgets(name, sizeof(name), file))
		name[0] = 0;
	fclose(file);
	return !strncmp(name, prefix, strlen(prefix));
}

/* A server that dies, of lack of memory for example, costs its session only. */
static void server_start(struct server *server)
{
	while ((server->pid = fork()) < 0)
		sleep(1);
	if (!server->pid)
		serve_port(server->device);
}

int main(int argc, char **argv)
{
	struct server servers[PORTS_MAX];
	struct dirent *entry;
	int ports = 0, i;
	pid_t ended;
	DIR *dir;

	if (argc != 2) {
		fprintf(stderr, "usage: vntb-agent PREFIX\n");
		return 2;
	}
	spare_oom(true);
	dir = opendir("/sys/class/virtio-ports");
	while (dir && ports < PORTS_MAX && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' ||
		    !port_is_ours(entry->d_name, argv[1]))
			continue;
		snprintf(servers[ports].device, sizeof(servers[ports].device),
			 "%s", entry->d_name);
		server_start(&servers[ports++]);
	}
	if (!ports) {
		errno = ENODEV;
		fatal(argv[1]);
	}
	closedir(dir);
	for (;;) {
		ended = wait(NULL);
		/* One that cannot even open its port tries once a second. */
		sleep(1);
		for (i = 0; i < ports; i++)
			if (servers[i].pid == ended)
				server_start(&servers[i]);
	}
}
