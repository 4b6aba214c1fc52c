// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "packet.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/base/clock.h"

int packet_connect(int sockets[2])
{
	/* Room for some packets, whatever the system's default is. */
	const int room = 8 * sizeof(struct packet);

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	for (int i = 0; i < 2; i++)
		setsockopt(sockets[i], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	return 0;
}

/* Waits for what was not possible at once. */
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

/* True if a call that failed is to be made again. */
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
		char room[CMSG_SPACE(sizeof(int))];
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

/* The file that came with a message. */
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
		char room[CMSG_SPACE(sizeof(int))];
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
		/* Without room for it the kernel drops a file, and any more than this has
		 * room for; CMSG_SPACE() is room for two of them. */
		message.msg_control = files ? &control : NULL;
		message.msg_controllen = files ? CMSG_LEN(sizeof(int)) : 0;
		got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | (deadline ? MSG_DONTWAIT : 0));
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
