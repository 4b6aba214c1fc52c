// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "protocol.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/base/clock.h"

#define CUT "..."

/* As it is sent: followed by its texts. The lengths include the NUL; 0: no text. */
struct sent_frame {
	uint64_t offset;
	uint16_t function;
	uint16_t object;
	uint16_t build_id;
	uint16_t file;
};

_Static_assert(PROTOCOL_PAYLOAD <= UINT16_MAX, "a length fits");
_Static_assert(PROTOCOL_OBJECTS < UINT16_MAX, "a file's number fits");

int protocol_connect(int sockets[2])
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
static int protocol_wait(int socket, short events, uint64_t deadline)
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
static bool protocol_again(int socket, short events, uint64_t deadline, int *err)
{
	*err = -errno;
	if (*err == -EINTR)
		return true;
	if (*err == -EAGAIN && deadline) {
		*err = protocol_wait(socket, events, deadline);
		return !*err;
	}
	if (*err == -ECONNRESET)
		*err = -EPIPE;
	return false;
}

int protocol_send(int socket, const struct packet *packet, int fd, uint64_t deadline)
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
		if (!protocol_again(socket, POLLOUT, deadline, &err))
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

int protocol_receive(int socket, struct packet *packet, bool files, uint64_t deadline)
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
		if (got < 0 && !protocol_again(socket, POLLIN, deadline, &err))
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

void packet_begin(struct packet *packet, enum message_type type)
{
	packet->fd = -1;
	packet->size = 0;
	packet->head = (struct message){ .type = type };
}

int packet_put_text(struct packet *packet, const char *text)
{
	size_t length = strlen(text);

	if (length >= PROTOCOL_PATH)
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

/* How long a text is, with its NUL, as it is sent. */
static uint16_t sent_length(const char *text, size_t most)
{
	return text ? (uint16_t)(strnlen(text, most - 1) + 1) : 0;
}

static uint8_t *sent_text(uint8_t *at, const char *text, uint16_t length)
{
	if (!length)
		return at;
	memcpy(at, text, length - 1U);
	at[length - 1] = '\0';
	if (text[length - 1])
		memcpy(at + length - sizeof(CUT), CUT, sizeof(CUT));
	return at + length;
}

bool packet_put_frame(struct packet *packet, const struct resolved_frame *frame)
{
	const struct sent_frame sent = {
		.offset = frame->offset,
		.function = sent_length(frame->function, PROTOCOL_FUNCTION),
		.object = sent_length(frame->object, PROTOCOL_PATH),
		.build_id = sent_length(frame->build_id, PROTOCOL_BUILD_ID),
		.file = (uint16_t)frame->file,
	};
	size_t size = sizeof(sent) + sent.function + sent.object + sent.build_id;
	uint8_t *at = packet->payload + packet->size;

	if (size > sizeof(packet->payload) - packet->size)
		return false;
	memcpy(at, &sent, sizeof(sent));
	at = sent_text(at + sizeof(sent), frame->function, sent.function);
	at = sent_text(at, frame->object, sent.object);
	sent_text(at, frame->build_id, sent.build_id);
	packet->size += size;
	packet->head.n++;
	return true;
}

/* Takes a text of that length, which must be exactly that long. */
static int received_text(const struct packet *packet, size_t *at, size_t length, size_t most,
			 const char **text)
{
	const uint8_t *start = packet->payload + *at;

	*text = NULL;
	if (!length)
		return 0;
	if (length > most || length > packet->size - *at ||
	    memchr(start, '\0', length) != start + length - 1)
		return -EBADMSG;
	*text = (const char *)start;
	*at += length;
	return 0;
}

int packet_get_frame(const struct packet *packet, size_t *at, struct frame *frame)
{
	struct sent_frame sent;

	if (*at == packet->size)
		return 0;
	if (packet->size - *at < sizeof(sent))
		return -EBADMSG;
	memcpy(&sent, packet->payload + *at, sizeof(sent));
	*at += sizeof(sent);
	frame->offset = sent.offset;
	frame->file = sent.file;
	if (received_text(packet, at, sent.function, PROTOCOL_FUNCTION, &frame->function) ||
	    received_text(packet, at, sent.object, PROTOCOL_PATH, &frame->object) ||
	    received_text(packet, at, sent.build_id, PROTOCOL_BUILD_ID, &frame->build_id))
		return -EBADMSG;
	return 1;
}

void packet_put_known(struct packet *packet, const struct known *known)
{
	packet->head.t = known->hash;
	packet->size = offsetof(struct kd_shape, words[known->shape.n]);
	memcpy(packet->payload, &known->shape, packet->size);
}

int packet_get_known(const struct packet *packet, struct known *known)
{
	struct kd_shape *shape = &known->shape;

	if (packet->size < offsetof(struct kd_shape, words) || packet->size > sizeof(*shape))
		return -EBADMSG;
	memset(shape, 0, sizeof(*shape));
	memcpy(shape, packet->payload, packet->size);
	known->hash = packet->head.t;
	return shape->n <= KD_SHAPE_WORDS &&
			       packet->size == offsetof(struct kd_shape, words[shape->n])
		       ? 0
		       : -EBADMSG;
}
