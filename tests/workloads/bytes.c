/* SPDX-License-Identifier: Apache-2.0 */
/* Known numbers of bytes through descriptors of each kind: bytes FOLDER ROLE...
 *
 *   pair    a socket pair: read, write, send, recv, sendmsg, recvmsg
 *   tcp     a connection over loopback: the same
 *   udp     sendmmsg and recvmmsg over loopback
 *   file    read, write, readv, writev, pread, pwrite, preadv, pwritev, preadv2, pwritev2
 *   pipe    read, write, vmsplice, tee
 *   epoll   a loop that reads what it has written to an eventfd and a connection
 *   copy    sendfile, splice, copy_file_range
 *   tty     a pseudo-terminal
 *   direct  writes and reads past the page cache: requests to the disk
 *
 * Truths: io, by kind: calls read, bytes read, calls written, bytes written, of what was asked for
 * when "go" came; and requests' bytes to the disk (direct). Calls that fail are made, too, and in
 * none of it. Each worker also reads a byte of a pipe before, and writes one behind. */
#include "stage.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pty.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <termios.h>

#define ROUNDS 10
#define SIZE 3000
#define MESSAGES 70
#define DIRECT 65536

enum kind { NETWORK, FILES, PIPE, TTY, OTHER, KINDS };
enum way { READ, WRITE };

static const char *const kinds[KINDS] = { "network", "file", "pipe", "tty", "other" };
static const char *folder;
static __thread long long calls[KINDS][2], moved[KINDS][2];
static __thread char buffer[SIZE];

/* Notes a call's result, which must be that many bytes; 0: any. */
static void did(enum kind kind, enum way way, ssize_t result, ssize_t want)
{
	if (result < 0 || (want && result != want))
		die(kinds[kind]);
	calls[kind][way]++;
	moved[kind][way] += result;
}

static void tally_note(struct worker *worker)
{
	char text[1024] = "{";
	size_t used = 1;

	for (int i = 0; i < KINDS; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "%s\"%s\": [%lld, %lld, %lld, %lld]%s", comma(i), kinds[i],
					 calls[i][READ], moved[i][READ], calls[i][WRITE],
					 moved[i][WRITE], i == KINDS - 1 ? "}" : "");
	worker_note_text(worker, "io", text);
}

/* A connection between two sockets of this thread. */
static void connection(int ends[2])
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || ends[0] < 0 ||
	    bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&address, &length) ||
	    connect(ends[0], (struct sockaddr *)&address, sizeof(address)))
		die("connect");
	ends[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (ends[1] < 0)
		die("accept");
	close(listener);
}

/* All of it, in as many calls as it takes. */
static void receive(enum kind kind, int fd, ssize_t size)
{
	while (size) {
		ssize_t got = recv(fd, buffer, (size_t)size, 0);

		did(kind, READ, got, 0);
		size -= got;
	}
}

static void sockets(enum kind kind, const int ends[2])
{
	struct iovec parts[2] = { { buffer, 1000 }, { buffer + 1000, SIZE - 1000 } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

	for (int i = 0; i < ROUNDS; i++) {
		did(kind, WRITE, write(ends[0], buffer, SIZE), SIZE);
		receive(kind, ends[1], SIZE);
		did(kind, WRITE, send(ends[0], buffer, SIZE, 0), SIZE);
		receive(kind, ends[1], SIZE);
		did(kind, WRITE, sendmsg(ends[0], &message, 0), SIZE);
		did(kind, READ, recvmsg(ends[1], &message, MSG_WAITALL), SIZE);
		did(kind, WRITE, writev(ends[0], parts, 2), SIZE);
		did(kind, READ, recv(ends[1], buffer, SIZE, MSG_WAITALL), SIZE);
		if (recv(ends[1], buffer, SIZE, MSG_DONTWAIT) >= 0 || errno != EAGAIN)
			die("there should be nothing");
	}
}

static void do_pair(void)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		die("socketpair");
	sockets(PIPE, ends);
}

static void do_tcp(void)
{
	int ends[2];

	connection(ends);
	sockets(NETWORK, ends);
}

static void do_udp(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);
	int from = socket(AF_INET, SOCK_DGRAM, 0), to = socket(AF_INET, SOCK_DGRAM, 0);
	struct mmsghdr messages[MESSAGES] = { 0 };
	struct iovec parts[MESSAGES];
	ssize_t all = 0;

	if (from < 0 || to < 0 || bind(to, (struct sockaddr *)&address, length) ||
	    getsockname(to, (struct sockaddr *)&address, &length) ||
	    connect(from, (struct sockaddr *)&address, length))
		die("udp");
	for (int i = 0; i < MESSAGES; i++) {
		parts[i] = (struct iovec){ buffer, (size_t)(100 + i) };
		messages[i].msg_hdr.msg_iov = &parts[i];
		messages[i].msg_hdr.msg_iovlen = 1;
		all += 100 + i;
	}
	for (int i = 0; i < ROUNDS; i++) {
		if (sendmmsg(from, messages, MESSAGES, 0) != MESSAGES)
			die("sendmmsg");
		did(NETWORK, WRITE, all, all);
		if (recvmmsg(to, messages, MESSAGES, 0, NULL) != MESSAGES)
			die("recvmmsg");
		did(NETWORK, READ, all, all);
	}
}

static int file_open(const char *name, int flags)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | flags, 0600);
	if (fd < 0)
		die(path);
	return fd;
}

static void do_file(void)
{
	int fd = file_open("file", 0);
	struct iovec parts[2] = { { buffer, 1000 }, { buffer + 1000, SIZE - 1000 } };

	for (int i = 0; i < ROUNDS; i++) {
		did(FILES, WRITE, write(fd, buffer, SIZE), SIZE);
		did(FILES, WRITE, writev(fd, parts, 2), SIZE);
		did(FILES, WRITE, pwrite(fd, buffer, 10, 0), 10);
		did(FILES, WRITE, pwritev(fd, parts, 2, 0), SIZE);
		did(FILES, WRITE, pwritev2(fd, parts, 2, 0, 0), SIZE);
		did(FILES, READ, pread(fd, buffer, 10, 0), 10);
		did(FILES, READ, preadv(fd, parts, 2, 0), SIZE);
		did(FILES, READ, preadv2(fd, parts, 2, 0, 0), SIZE);
	}
	lseek(fd, 0, SEEK_SET);
	for (int i = 0; i < ROUNDS; i++) {
		did(FILES, READ, read(fd, buffer, SIZE), SIZE);
		did(FILES, READ, readv(fd, parts, 2), SIZE);
	}
	did(FILES, READ, read(fd, buffer, SIZE), 0); /* its end */
	if (read(-1, buffer, SIZE) >= 0)
		die("there is no such descriptor");
}

static void do_pipe(void)
{
	struct iovec part = { buffer, SIZE };
	int ends[2], others[2];

	pipe_make(ends);
	pipe_make(others);
	for (int i = 0; i < ROUNDS; i++) {
		did(PIPE, WRITE, write(ends[1], buffer, SIZE), SIZE);
		did(PIPE, READ, read(ends[0], buffer, SIZE), SIZE);
		did(PIPE, WRITE, vmsplice(ends[1], &part, 1, 0), SIZE);
		did(PIPE, READ, tee(ends[0], others[1], SIZE, 0), SIZE);
		did(PIPE, WRITE, SIZE, SIZE); /* the same call */
		did(PIPE, READ, vmsplice(ends[0], &part, 1, 0), SIZE);
		did(PIPE, READ, read(others[0], buffer, SIZE), SIZE);
	}
}

static void do_epoll(void)
{
	int poll = epoll_create1(0), event = eventfd(0, 0), ends[2];
	struct epoll_event wanted = { .events = EPOLLIN }, found;
	uint64_t count = 1;

	connection(ends);
	wanted.data.fd = event;
	if (epoll_ctl(poll, EPOLL_CTL_ADD, event, &wanted))
		die("epoll_ctl");
	wanted.data.fd = ends[1];
	if (epoll_ctl(poll, EPOLL_CTL_ADD, ends[1], &wanted))
		die("epoll_ctl");
	for (int i = 0; i < ROUNDS; i++) {
		if (i % 2)
			did(OTHER, WRITE, write(event, &count, sizeof(count)), sizeof(count));
		else
			did(NETWORK, WRITE, write(ends[0], buffer, 100), 100);
		if (epoll_wait(poll, &found, 1, -1) != 1)
			die("epoll_wait");
		if (found.data.fd == event)
			did(OTHER, READ, read(event, &count, sizeof(count)), sizeof(count));
		else
			receive(NETWORK, ends[1], 100);
	}
}

static void do_copy(void)
{
	int from = file_open("from", 0), to = file_open("to", 0), tubes[2], ends[2];

	connection(ends);
	pipe_make(tubes);
	did(FILES, WRITE, write(from, buffer, SIZE), SIZE);
	for (int i = 0; i < ROUNDS; i++) {
		off_t at = 0, at_too = 0, end = i * SIZE;

		did(FILES, READ, sendfile(ends[0], from, &at, SIZE), SIZE);
		did(NETWORK, WRITE, SIZE, SIZE);
		receive(NETWORK, ends[1], SIZE);
		did(FILES, READ, splice(from, &at_too, tubes[1], NULL, SIZE, 0), SIZE);
		did(PIPE, WRITE, SIZE, SIZE);
		did(PIPE, READ, splice(tubes[0], NULL, to, &end, SIZE, 0), SIZE);
		did(FILES, WRITE, SIZE, SIZE);
		at = at_too = 0;
		did(FILES, READ, copy_file_range(from, &at, to, &at_too, SIZE, 0), SIZE);
		did(FILES, WRITE, SIZE, SIZE);
	}
}

static void do_tty(void)
{
	struct termios raw;
	int master, slave;

	if (openpty(&master, &slave, NULL, NULL, NULL) || tcgetattr(slave, &raw))
		die("openpty");
	cfmakeraw(&raw);
	if (tcsetattr(slave, TCSANOW, &raw))
		die("tcsetattr");
	for (int i = 0; i < ROUNDS; i++) {
		did(TTY, WRITE, write(slave, buffer, 100), 100);
		did(TTY, READ, read(master, buffer, 200), 100);
	}
}

static void do_direct(void)
{
	int fd = file_open("direct", O_DIRECT);
	void *aligned;

	if (posix_memalign(&aligned, 4096, DIRECT))
		die("posix_memalign");
	memset(aligned, 1, DIRECT);
	for (int i = 0; i < ROUNDS; i++)
		did(FILES, WRITE, pwrite(fd, aligned, DIRECT, i * DIRECT), DIRECT);
	for (int i = 0; i < ROUNDS; i++)
		did(FILES, READ, pread(fd, aligned, DIRECT, i * DIRECT), DIRECT);
}

static const struct {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "pair", do_pair }, { "tcp", do_tcp },   { "udp", do_udp },
	{ "file", do_file }, { "pipe", do_pipe }, { "epoll", do_epoll },
	{ "copy", do_copy }, { "tty", do_tty },   { "direct", do_direct },
};

static void play(struct worker *worker)
{
	for (size_t i = 0; i < COUNT(parts); i++)
		if (!strcmp(worker->role, parts[i].name))
			parts[i].run();
	tally_note(worker);
	if (!strcmp(worker->role, "direct"))
		worker_note(worker, "direct", ROUNDS * DIRECT);
}

VERB(bytes, 2, MANY, "FOLDER ROLE...")
{
	static struct stage stage;

	folder = argv[1];
	for (int i = 2; i < argc; i++)
		stage_add(&stage, argv[i], play);
	stage_serve(&stage);
}
