// SPDX-License-Identifier: Apache-2.0
/* The child that resolves stacks has been taken over: whatever it says to the process with
 * privileges. An input is what it says, message by message:
 *   flags (1: with a file), struct message, size and bytes of the payload */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "cli/base/clock.h"
#include "cli/stack/opener.h"
#include "cli/stack/protocol.h"
#include "input.h"
#include "cli/stack/client.h"

#define COPIES 4
#define BATCHES 2
#define OBJECTS 3
#define MESSAGES 32
#define MOST_OPENED 16
#define MAPPED_AT 17
#define OBJECT "/usr/lib/libx.so"

static uint64_t shared[PROTOCOL_SHARED / sizeof(uint64_t)];

struct session {
	struct client *client;
	const struct stack *stacks[BATCHES * COPIES];
	unsigned int submitted, opened, digests;
};

/* A valid path leads to one of four directories. */
static void path_check(const char *path)
{
	const char *last = strrchr(path, '/') + 1;
	size_t length = (size_t)(last - path);

	MUST(*last && strcmp(last, ".") && strcmp(last, ".."));
	if (*path == '.')
		MUST(length == strlen(".build-id/ab/") && !strncmp(path, ".build-id/", 10) &&
		     path[10] != '.' && path[11] != '.');
	else
		MUST((length == 9 && !strncmp(path, "/usr/lib/", 9)) ||
		     (length == 16 && !strncmp(path, "/usr/lib/.debug/", 16)) ||
		     (length == 23 && !strncmp(path, "/usr/lib/debug/usr/lib/", 23)));
}

static int file_open_for(void *context, uint32_t object, const char *path)
{
	struct session *session = context;

	MUST(object < OBJECTS && strlen(path) < PROTOCOL_PATH);
	if (debug_path_is_valid(OBJECT, path))
		path_check(path);
	if (++session->opened > MOST_OPENED)
		return -EBADMSG;
	return session->opened % 2 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -ENOENT;
}

static void digest_take(void *context, const struct digest *digest, const struct stack *stack,
			uint64_t mapped_at)
{
	struct session *session = context;

	session->digests++;
	MUST(stack && mapped_at == MAPPED_AT && digest->shape.n <= KD_SHAPE_WORDS);
}

/* All of the texts are read. */
static void stack_check(const struct stack *stack)
{
	MUST(stack->n && stack->n <= UNWIND_FRAMES);
	for (size_t i = 0; i < stack->n; i++) {
		const struct frame *frame = &stack->frames[i];

		MUST(!frame->function || strlen(frame->function) < PROTOCOL_FUNCTION);
		MUST(!frame->object || strlen(frame->object) < PROTOCOL_PATH);
		MUST(!frame->build_id || strlen(frame->build_id) < PROTOCOL_BUILD_ID);
	}
}

static void say(int socket, struct input input)
{
	static struct packet packet;

	for (unsigned int n = 0; input.left && n < MESSAGES; n++) {
		bool with_file = input_u8(&input) & 1;
		struct input payload;

		packet_begin(&packet, 0);
		input_copy(&input, &packet.head, sizeof(packet.head));
		payload = input_part(&input);
		packet.size = payload.left < PACKET_PAYLOAD ? payload.left : PACKET_PAYLOAD;
		if (packet.size)
			memcpy(packet.payload, payload.at, packet.size);
		if (packet_send(socket, &packet, with_file ? socket : -1, 1))
			break;
	}
	shutdown(socket, SHUT_WR); /* that was all: nobody waits for more */
}

static int session_begin(struct session *session)
{
	const struct mapping mapping = { 0x1000, 0x2000, 0, 0 };
	char said[PROTOCOL_PATH];
	int err = client_greeted(session->client, said);

	MUST(strlen(said) < sizeof(said));
	for (uint32_t i = 0; !err && i < OBJECTS; i++)
		err = client_object(session->client, i, -1, OBJECT);
	if (!err)
		err = client_mappings(session->client, 0, true, 1, &mapping, 1);
	return err == -E2BIG ? 0 : err;
}

static int session_batch(struct session *session)
{
	const struct stack_copy copy = { .mapped_at = MAPPED_AT };
	int err = 0;

	for (unsigned int i = 0; !err && i < COPIES; i++) {
		err = client_submit(session->client, 0, 0, &copy,
				    &session->stacks[session->submitted]);
		session->submitted += !err;
	}
	return err ? err : client_flush(session->client);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct session session = { .submitted = 0 };
	struct stack_counts counts;
	int sockets[2], err;

	MUST(!packet_connect(sockets));
	session.client = client_new(sockets[0], shared, BATCHES, 60 * NSEC_PER_SEC, file_open_for,
				    &session);
	MUST(session.client);
	client_tell_digests(session.client, digest_take, &session);
	say(sockets[1], (struct input){ bytes, size });
	err = session_begin(&session);
	for (int i = 0; !err && i < BATCHES; i++)
		err = session_batch(&session);
	if (err)
		client_abandon(session.client);
	counts = client_counts(session.client);
	MUST(counts.resolved + counts.beyond + counts.failed == session.submitted);
	MUST(session.digests <= counts.resolved && counts.incomplete <= counts.resolved);
	for (unsigned int i = 0; i < session.submitted; i++)
		if (session.stacks[i])
			stack_check(session.stacks[i]);
	client_free(session.client);
	close(sockets[0]);
	close(sockets[1]);
	return 0;
}
