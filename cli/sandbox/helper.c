// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "helper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "cli/base/escape.h"
#include "cli/base/proc_file.h"

/* --- Messages --- */

int packet_connect(int sockets[2])
{
	/* Space for some packets, whatever the system's default is. */
	const int bytes = 8 * sizeof(struct packet);

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	for (int i = 0; i < 2; i++)
		setsockopt(sockets[i], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	return 0;
}

/* Waits until a blocked operation may proceed. */
static int packet_wait(int socket, short events, uint64_t deadline)
{
	struct pollfd poller = { .fd = socket, .events = events };
	uint64_t now = clock_monotonic(), left = deadline > now ? deadline - now : 0;
	const struct timespec timeout = clock_timespec(left);
	int ready = left ? ppoll(&poller, 1, &timeout, NULL) : 0;

	if (ready < 0)
		return errno == EINTR ? 0 : -errno;
	return ready ? 0 : -ETIMEDOUT;
}

/* True if a failed call should be repeated. */
static bool packet_again(int socket, short events, uint64_t deadline, int *err)
{
	*err = -errno;
	if (*err == -EINTR)
		return true;
	if (*err == -EAGAIN && deadline) {
		*err = packet_wait(socket, events, deadline);
		return !*err;
	}
	if (*err == -ECONNRESET)
		*err = -EPIPE;
	return false;
}

int packet_send(int socket, const struct packet *packet, int fd, uint64_t deadline)
{
	const int flags = MSG_NOSIGNAL | (deadline ? MSG_DONTWAIT : 0);
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .header = {
			      .cmsg_len = CMSG_LEN(sizeof(int)),
			      .cmsg_level = SOL_SOCKET,
			      .cmsg_type = SCM_RIGHTS,
		      } };
	struct iovec parts[] = {
		{ (void *)&packet->head, sizeof(packet->head) },
		{ (void *)packet->payload, packet->size },
	};
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	int err;

	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
	}
	while (sendmsg(socket, &message, flags) < 0) {
		if (!packet_again(socket, POLLOUT, deadline, &err))
			return err;
	}
	return 0;
}

/* Returns the file in a message. */
static int message_file(struct msghdr *message)
{
	struct cmsghdr *header = CMSG_FIRSTHDR(message);
	int fd = -1;

	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
	    header->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

int packet_receive(int socket, struct packet *packet, bool files, uint64_t deadline)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec parts[] = {
		{ &packet->head, sizeof(packet->head) },
		{ packet->payload, sizeof(packet->payload) },
	};
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	ssize_t got;
	int err;

	packet->fd = -1;
	do {
		/* The kernel drops files without space, and any beyond the first; CMSG_SPACE()
		 * would fit two. */
		message.msg_control = files ? &control : NULL;
		message.msg_controllen = files ? CMSG_LEN(sizeof(int)) : 0;
		got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | (deadline ? MSG_DONTWAIT : 0));
		/* An end that closed with unread messages is reported once, before its own
		 * messages. */
		if (got < 0 && errno == ECONNRESET)
			continue;
		if (got < 0 && !packet_again(socket, POLLIN, deadline, &err))
			return err;
	} while (got < 0);
	if (!got)
		return -EPIPE;
	if (files)
		packet->fd = message_file(&message);
	if ((size_t)got < sizeof(packet->head) || message.msg_flags & MSG_TRUNC) {
		if (packet->fd >= 0)
			close(packet->fd);
		packet->fd = -1;
		return -EBADMSG;
	}
	packet->size = (size_t)got - sizeof(packet->head);
	return 0;
}

void packet_begin(struct packet *packet, uint32_t type)
{
	packet->fd = -1;
	packet->size = 0;
	packet->head = (struct message){ .type = type };
}

int packet_put_text(struct packet *packet, const char *text)
{
	size_t length = strlen(text);

	if (length >= PACKET_TEXT_MOST)
		return -ENAMETOOLONG;
	memcpy(packet->payload, text, length + 1);
	packet->size = length + 1;
	return 0;
}

const char *packet_text(const struct packet *packet, size_t most)
{
	if (!packet->size || packet->size > most ||
	    memchr(packet->payload, '\0', packet->size) != packet->payload + packet->size - 1)
		return NULL;
	return (const char *)packet->payload;
}

/* --- Children --- */

#define REAP_PATIENCE NSEC_PER_SEC

int helper_start(struct helper *helper, helper_main *run, void *context)
{
	pid_t parent = getpid();
	int sockets[2];
	int err = packet_connect(sockets);

	*helper = (struct helper){ .socket = -1 };
	if (err)
		return err;
	fflush(NULL); /* or both processes would write it */
	helper->pid = fork();
	if (!helper->pid) {
		run(context, sockets[1], parent);
		_exit(EXIT_SUCCESS);
	}
	err = helper->pid < 0 ? -errno : 0;
	close(sockets[1]);
	if (!err) {
		helper->socket = sockets[0];
		return 0;
	}
	close(sockets[0]);
	helper->pid = 0;
	return err;
}

static bool helper_reap(pid_t pid, int *status, uint64_t patience)
{
	const struct timespec pause = { .tv_nsec = NSEC_PER_MSEC };
	uint64_t until = clock_monotonic() + patience;
	pid_t ended;

	do {
		ended = waitpid(pid, status, WNOHANG);
		if (!ended)
			nanosleep(&pause, NULL);
	} while ((!ended || (ended < 0 && errno == EINTR)) && clock_monotonic() < until);
	return ended == pid;
}

static bool helper_stop(struct helper *helper, int *status, bool at_once)
{
	pid_t pid = helper->pid;
	bool ended = false;

	if (!pid)
		return true;
	helper->pid = 0;
	close(helper->socket);
	helper->socket = -1;
	if (!at_once)
		ended = helper_reap(pid, status, REAP_PATIENCE);
	if (ended)
		return true;
	kill(pid, SIGKILL);
	return helper_reap(pid, status, REAP_PATIENCE);
}

bool helper_end(struct helper *helper, int *status)
{
	return helper_stop(helper, status, true);
}

bool helper_await(struct helper *helper, int *status)
{
	return helper_stop(helper, status, false);
}

/* The kernel flushes a descriptor that is replaced; replace it by itself, so that helper_file()
 * still finds it. */
void helper_try_close(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (copy < 0)
		return;
	dup3(fd, copy, O_CLOEXEC);
	close(copy);
}

/* Reads the number in "/proc/self/fd/NUMBER" at an address of the process, see file_open(). */
static bool link_read(pid_t pid, unsigned long address, unsigned long *fd)
{
	char text[32] = "";
	struct iovec local = { text, sizeof(text) - 1 };
	struct iovec remote = { (void *)address, sizeof(text) - 1 };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) > 0 &&
	       sscanf(text, "/proc/self/fd/%lu", fd) == 1;
}

/* True if the first argument is the descriptor of a file being read or queried. */
static bool call_is_of_file(long call)
{
	static const long calls[] = { SYS_pread64, SYS_read, SYS_newfstatat, SYS_fstatfs,
				      SYS_dup3 };

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (call == calls[i])
			return true;
	return false;
}

bool helper_file(const struct helper *helper, char *path, size_t size)
{
	char link[PATH_MAX];
	struct proc_call call;
	unsigned long fd;

	if (!proc_call_read(&call, helper->pid))
		return false;
	fd = call.arguments[0];
	if (call.number == SYS_openat ? !link_read(helper->pid, call.arguments[1], &fd)
				      : !call_is_of_file(call.number))
		return false;
	if (!proc_fd_link(helper->pid, (int)fd, link, sizeof(link)) || *link != '/')
		return false;
	escape_text(path, size, link, sizeof(link));
	return true;
}
