/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged and hostile messages, to both ends of the connection with the process
 * that resolves stacks: no crash, no hang, nothing is believed that was not checked.
 * FUZZ_ROUNDS: how many more times. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "cli/stack/client.h"
#include "cli/stack/debug_paths.h"
#include "cli/stack/server.h"
#include "fuzz.h"
#include "tap.h"

#define CLIENT_ROUNDS 24000
#define SERVER_ROUNDS 12000
#define PATH_ROUNDS 12000
#define PACKETS 16 /* of an answer, at most */
#define COPIES 4
#define OBJECTS 3
#define MOST_OPENED 16
#define MAPPED_AT 17
#define PATIENCE_NS (100 * NSEC_PER_MSEC)

static uint64_t shared[PROTOCOL_SHARED / sizeof(uint64_t)];

/* How often a loop runs: that many times, or times what is wanted of all of them. */
static unsigned int rounds_of(unsigned int rounds)
{
	const unsigned long all = CLIENT_ROUNDS + SERVER_ROUNDS + PATH_ROUNDS;

	return (unsigned int)(fuzz_rounds(all) * rounds / all) ?: 1;
}

/* A number that is at the edge of something. */
static uint64_t edge(void)
{
	static const uint64_t edges[] = {
		0,
		1,
		2,
		7,
		0x7f,
		0xff,
		UNWIND_FRAMES - 1,
		UNWIND_FRAMES,
		UNWIND_FRAMES + 1,
		PROTOCOL_STACKS - 1,
		PROTOCOL_STACKS,
		PROTOCOL_COPIES,
		PROTOCOL_COPIES + 1,
		PROTOCOL_PATH,
		PROTOCOL_PAYLOAD,
		PROTOCOL_OBJECTS,
		PROTOCOL_MAPPINGS,
		PROTOCOL_MAPPINGS + 1,
		PROTOCOL_SHARED,
		KD_STACK_MAX,
		KD_STACK_MAX + 1,
		0xffff,
		0x7fffffff,
		0x80000000,
		0xffffffff,
		1ULL << 63,
		UINT64_MAX,
	};

	return edges[chance(sizeof(edges) / sizeof(*edges))];
}

static void bytes_mutate(uint8_t *bytes, size_t size)
{
	uint64_t value = edge();
	size_t width = 1U << chance(4), at;

	if (!size)
		return;
	if (chance(2)) {
		bytes[chance(size)] ^= (uint8_t)(1U << chance(8));
		return;
	}
	width = width < size ? width : size;
	at = chance(size - width + 1);
	if (chance(2))
		at -= at % width;
	memcpy(bytes + at, &value, width);
}

/* Some of it, in the head or in the payload. */
static void packet_mutate(struct packet *packet)
{
	for (uint64_t n = chance(3) + 1; n; n--) {
		switch (chance(6)) {
		case 0:
			bytes_mutate((uint8_t *)&packet->head, sizeof(packet->head));
			break;
		case 1:
			packet->head.type = (uint32_t)chance(MESSAGE_IDS + 2);
			break;
		case 2:
			packet->head.n += (uint32_t)chance(3) - 1;
			break;
		case 3:
			packet->size = chance(packet->size + 1);
			break;
		case 4:
			packet->size += chance(PROTOCOL_PAYLOAD - packet->size + 1) >> chance(14);
			break;
		default:
			bytes_mutate(packet->payload, packet->size);
		}
	}
}

/* --- Answers, to this process. --- */

struct answer {
	struct packet packets[PACKETS];
	unsigned int n;
};

static struct packet *answer_next(struct answer *answer, enum message_type type)
{
	struct packet *packet = &answer->packets[answer->n++];

	packet_begin(packet, type);
	return packet;
}

static void answer_stack(struct answer *answer, uint32_t id)
{
	static char longest[2 * PROTOCOL_PATH];
	struct packet *packet = answer_next(answer, MESSAGE_FRAMES);
	struct resolved_frame frame = { .object = "/usr/lib/libc.so.6" };

	memset(longest, 'x', sizeof(longest) - 1);
	for (uint64_t n = chance(chance(8) ? 6 : 300) + 1; n; n--) {
		frame.function = chance(4) ? "function" : chance(4) ? NULL : longest;
		frame.build_id = chance(4) ? NULL : "0123456789abcdef";
		frame.offset = edge();
		if (!packet_put_frame(packet, &frame))
			break;
	}
	packet = answer_next(answer, MESSAGE_STACK);
	packet->head.number = id;
	packet->head.status = (int32_t)chance(UNWIND_STOPS);
}

static void answer_known(struct answer *answer, uint32_t copy)
{
	struct packet *packet = answer_next(answer, MESSAGE_KNOWN);
	struct known known = { .hash = chance(UINT64_MAX), .shape.n = chance(KD_SHAPE_WORDS + 1) };

	for (unsigned int i = 0; i < known.shape.n; i++)
		known.shape.words[i] = (__typeof__(known.shape.words[0]))edge();
	packet_put_known(packet, &known);
	packet->head.number = copy;
}

/* What a child would say to COPIES copies. */
static void answer_make(struct answer *answer)
{
	uint32_t ids[COPIES];
	uint32_t n = (uint32_t)chance(3) + 1;
	struct packet *packet;

	answer->n = 0;
	for (uint32_t id = 0; id < n; id++) {
		if (!chance(4)) {
			packet = answer_next(answer, MESSAGE_OPEN);
			packet->head.number = (uint32_t)chance(OBJECTS);
			packet_put_text(packet, ".build-id/ab/cdef.debug");
		}
		answer_stack(answer, id);
	}
	for (unsigned int i = 0; i < COPIES; i++)
		ids[i] = (uint32_t)chance(n);
	for (uint32_t copy = 0; copy < COPIES; copy++)
		if (chance(2))
			answer_known(answer, copy);
	packet = answer_next(answer, MESSAGE_IDS);
	packet->head.n = COPIES;
	packet->size = sizeof(ids);
	memcpy(packet->payload, ids, sizeof(ids));
}

static void answer_mutate(struct answer *answer)
{
	unsigned int at = (unsigned int)chance(answer->n), other = (unsigned int)chance(answer->n);

	switch (chance(5)) {
	case 0: /* in another order */
		answer->packets[at] = answer->packets[other];
		break;
	case 1:
		answer->n--;
		break;
	case 2: /* once more */
		if (answer->n < PACKETS)
			answer->packets[answer->n++] = answer->packets[at];
		break;
	default:
		packet_mutate(&answer->packets[at]);
	}
}

struct opener {
	unsigned int n, invalid;
};

static int open_some(void *context, uint32_t object, const char *path)
{
	struct opener *opener = context;

	opener->invalid += object >= OBJECTS || strlen(path) >= PROTOCOL_PATH;
	if (++opener->n > MOST_OPENED)
		return -EBADMSG;
	return opener->n % 2 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -ENOENT;
}

/* What the client has been told of known stacks. */
struct knowledge {
	unsigned int n, invalid;
};

static void known_count(void *context, const struct known *known, const struct stack *stack,
			uint64_t mapped_at)
{
	struct knowledge *knowledge = context;

	knowledge->n++;
	knowledge->invalid += !stack || mapped_at != MAPPED_AT || known->shape.n > KD_SHAPE_WORDS;
}

/* True if it is a stack as the header has it. Reads all of it. */
static bool stack_is_sound(const struct stack *stack)
{
	if (!stack->n || stack->n > UNWIND_FRAMES)
		return false;
	for (size_t i = 0; i < stack->n; i++) {
		const struct frame *frame = &stack->frames[i];

		if ((frame->function && strlen(frame->function) >= PROTOCOL_FUNCTION) ||
		    (frame->object && strlen(frame->object) >= PROTOCOL_PATH) ||
		    (frame->build_id && strlen(frame->build_id) >= PROTOCOL_BUILD_ID))
			return false;
	}
	return true;
}

/* One client, one answer. Returns its error; counts what is wrong. */
static int client_round(const struct answer *answer, unsigned int *wrong, unsigned int *told)
{
	const struct stack *stacks[COPIES] = { NULL };
	struct stack_copy copy = { .mapped_at = MAPPED_AT };
	struct knowledge knowledge = { .n = 0 };
	struct opener opener = { .n = 0 };
	struct client_counts counts;
	struct client *client;
	static struct packet packet;
	int sockets[2], err = 0;

	if (protocol_connect(sockets))
		abort();
	client = client_new(sockets[0], shared, 2, 60 * NSEC_PER_SEC, open_some, &opener);
	client_tell_known(client, known_count, &knowledge);
	packet_begin(&packet, MESSAGE_DONE);
	for (uint32_t i = 0; i < OBJECTS; i++) {
		protocol_send(sockets[1], &packet, -1, 0);
		err |= client_object(client, i, -1, "/object");
	}
	for (unsigned int i = 0; i < answer->n; i++)
		protocol_send(sockets[1], &answer->packets[i], i % 5 ? -1 : 0, 1);
	shutdown(sockets[1], SHUT_WR);
	for (unsigned int i = 0; i < COPIES; i++)
		err |= client_submit(client, 0, 0, &copy, &stacks[i]);
	*wrong += err != 0;
	err = client_flush(client);
	if (err)
		client_abandon(client);
	counts = client_counts(client);
	*wrong += counts.resolved + counts.beyond + counts.failed != COPIES;
	*wrong += (err != 0) != (counts.failed != 0);
	*wrong += opener.invalid + knowledge.invalid + (knowledge.n > COPIES) +
		  (err && knowledge.n);
	*told += knowledge.n;
	for (unsigned int i = 0; i < COPIES; i++)
		*wrong += stacks[i] && (err || !stack_is_sound(stacks[i]));
	client_free(client);
	close(sockets[0]);
	close(sockets[1]);
	return err;
}

/* Of this process, ns. Waiting would be seen by its error. */
static void test_client(void)
{
	unsigned int rounds = rounds_of(CLIENT_ROUNDS), wrong = 0, sound = 0, refused = 0,
		     other = 0, told = 0;
	static struct answer answer;
	double slowest = 0;

	for (unsigned int i = 0; i < 200; i++) {
		answer_make(&answer);
		sound += client_round(&answer, &wrong, &told) == 0;
	}
	is_u64(sound, 200, "proper answers are taken");
	ok(told > 200, "and what they know is told: %u", told);
	for (unsigned int i = 0; i < rounds; i++) {
		double before = cpu_seconds(), took;
		int err;

		answer_make(&answer);
		for (uint64_t n = chance(3) + 1; n; n--)
			answer_mutate(&answer);
		err = client_round(&answer, &wrong, &told);
		refused += err == -EBADMSG;
		other += err && err != -EBADMSG && err != -EPIPE;
		took = cpu_seconds() - before;
		slowest = took > slowest ? took : slowest;
	}
	is_u64(wrong, 0, "%u damaged answers: nothing unsound is handed on", rounds);
	is_u64(other, 0, "no other errors than that");
	ok(refused > rounds / 4, "many are refused: %u", refused);
	ok(slowest < 1, "none takes long: %.0f us at most", slowest * 1e6);
}

/* --- One that never comes to an end, to this process. --- */

static int open_none(void *context, uint32_t object, const char *path)
{
	unsigned int *opened = context;

	(void)object, (void)path;
	++*opened;
	return -ENOENT;
}

static _Noreturn void child_ask(int socket)
{
	static struct packet packet;

	packet_begin(&packet, MESSAGE_OPEN);
	packet_put_text(&packet, ".build-id/ab/cdef.debug");
	while (!protocol_send(socket, &packet, -1, 0))
		;
	_exit(0);
}

static int read_all(int socket)
{
	static struct packet packet;
	unsigned int n = 0;

	while (!protocol_receive(socket, &packet, false, 0))
		n++;
	return n > 0;
}

/* Two processes keep the connection busy: one asks, the other takes what is answered. */
static void test_endless(void)
{
	const struct stack *stack = NULL;
	struct stack_copy copy = { .size = 0 };
	static struct packet packet;
	unsigned int opened = 0;
	struct client *client;
	int sockets[2], err;
	pid_t children[2];
	uint64_t took;

	if (protocol_connect(sockets))
		abort();
	client = client_new(sockets[0], shared, 2, PATIENCE_NS, open_none, &opened);
	packet_begin(&packet, MESSAGE_DONE);
	protocol_send(sockets[1], &packet, -1, 0);
	err = client_object(client, 0, -1, "/object") ?: client_submit(client, 0, 0, &copy, &stack);
	for (int i = 0; i < 2; i++) {
		children[i] = fork();
		if (children[i])
			continue;
		close(sockets[0]);
		if (i)
			child_ask(sockets[1]);
		_exit(read_all(sockets[1]));
	}
	close(sockets[1]);
	took = clock_monotonic();
	is_i64(err ? err : client_flush(client), -ETIMEDOUT, "requests without end: it gives up");
	took = clock_monotonic() - took;
	client_abandon(client);
	client_free(client);
	close(sockets[0]);
	for (int i = 0; i < 2; i++)
		if (children[i] > 0)
			waitpid(children[i], NULL, 0);
	ok(opened > 0 && !stack, "after %u of them", opened);
	ok(took >= PATIENCE_NS / 2, "not at once: %llu us", (unsigned long long)took / 1000);
}

/* --- One that is given up with a full memory. --- */

static void test_abandoned(void)
{
	static uint8_t data[KD_STACK_MAX];
	static struct {
		uint64_t shared[PROTOCOL_SHARED / sizeof(uint64_t)];
		uint8_t behind[2 * KD_STACK_MAX];
	} memory;
	const struct stack_copy copy = { .size = sizeof(data), .data = data };
	const struct stack *stack = NULL;
	struct client *client = client_new(-1, memory.shared, 2, 0, open_none, NULL);
	unsigned int n = 0, written = 0;
	int err = 0;

	memset(data, 0xff, sizeof(data));
	while (!err)
		err = client_submit(client, 0, 0, &copy, &stack) ?: (int)(++n == PROTOCOL_COPIES);
	ok(n > 1 && n < PROTOCOL_COPIES, "the memory is full with %u copies", n);
	client_abandon(client);
	is_i64(client_submit(client, 0, 0, &copy, &stack), 0, "given up, there is room again");
	for (size_t i = 0; i < sizeof(memory.behind); i++)
		written += memory.behind[i] != 0;
	is_u64(written, 0, "nothing is written behind it");
	client_free(client);
}

/* --- Requests, to the process without privileges. --- */

static void copies_make(unsigned int n)
{
	uint8_t *at = (uint8_t *)shared;

	for (unsigned int i = 0; i < n; i++) {
		struct shared_copy *shared_copy = (struct shared_copy *)(void *)at;
		struct stack_copy *copy = &shared_copy->copy;

		memset(shared_copy, 0, sizeof(*shared_copy));
		shared_copy->t = chance(1000);
		for (unsigned int j = 0; j < KD_REGS; j++)
			copy->regs[j] = 0x1000 * chance(64);
		copy->start = copy->regs[KD_REG_SP];
		copy->pages[0] = chance(16);
		copy->size = chance(600);
		at += sizeof(*shared_copy) + (copy->size + 7) / 8 * 8;
	}
}

static void mappings_make(unsigned int n, uint32_t objects)
{
	struct mapping *mappings = (struct mapping *)(void *)shared;

	for (unsigned int i = 0; i < n; i++)
		mappings[i] = (struct mapping){
			.start = 0x4000 * i,
			.end = 0x4000 * i + 0x3000,
			.object = objects ? (uint32_t)chance(objects) : 0,
		};
}

static void request_make(struct packet *packet, uint32_t objects, uint64_t t)
{
	packet_begin(packet, MESSAGE_COPIES);
	packet->head.n = (uint32_t)chance(8);
	switch (chance(4)) {
	case 0:
		packet_begin(packet, MESSAGE_OBJECT);
		packet->head.number = objects;
		packet_put_text(packet, "/usr/lib/object.so");
		if (chance(2))
			packet->fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		break;
	case 1:
		packet->head.type = MESSAGE_MAPPINGS;
		packet->head.t = t;
		mappings_make(packet->head.n, objects);
		break;
	default:
		copies_make(packet->head.n);
	}
}

/* Reads what was answered. Returns the number of proper messages. */
static unsigned int drain(int socket)
{
	static struct packet packet;
	unsigned int n = 0;

	while (!protocol_receive(socket, &packet, false, 1))
		n++;
	return n;
}

static void test_server(void)
{
	unsigned int rounds = rounds_of(SERVER_ROUNDS), answered = 0, refused = 0;
	struct server *server = NULL;
	static struct packet packet;
	uint32_t objects = 0;
	int sockets[2];

	if (protocol_connect(sockets))
		abort();
	for (unsigned int i = 0; i < rounds; i++) {
		if (i % 500 == 0) {
			server_free(server);
			server = server_new(sockets[0], shared);
			objects = 0;
		}
		request_make(&packet, objects, i);
		if (chance(3)) {
			packet_mutate(&packet);
			bytes_mutate((uint8_t *)shared, 4096);
		}
		/* More than a few answers would wait for their reader. */
		if (packet.head.type == MESSAGE_COPIES && packet.head.n > 16 &&
		    packet.head.n <= PROTOCOL_COPIES)
			packet.head.n = 16;
		if (server_answer(server, &packet))
			refused++;
		else if (packet.head.type == MESSAGE_OBJECT)
			objects++;
		answered += drain(sockets[1]);
	}
	ok(refused > rounds / 20, "%u damaged requests: %u are refused", rounds, refused);
	ok(answered > rounds / 4, "the others are answered: %u messages", answered);
	server_free(server);
	close(sockets[0]);
	close(sockets[1]);
}

/* --- Paths. --- */

static void test_paths(void)
{
	static const char *const seeds[] = { ".build-id/ab/cdef0123.debug", "/usr/lib/x.debug",
					     "/usr/lib/.debug/x", "/usr/lib/debug/usr/lib/x" };
	static const char pieces[] = "/.ab0-g~\1\xff";
	unsigned int rounds = rounds_of(PATH_ROUNDS), valid = 0, wrong = 0;
	char path[64];

	for (unsigned int i = 0; i < rounds; i++) {
		const char *last;

		strcpy(path, seeds[chance(4)]);
		for (uint64_t n = chance(4); n; n--)
			path[chance(strlen(path))] = pieces[chance(sizeof(pieces) - 1)];
		if (!debug_path_is_valid("/usr/lib/libx.so", path))
			continue;
		valid++;
		last = strrchr(path, '/') + 1;
		wrong += !*last || !strcmp(last, ".") || !strcmp(last, "..");
		*strrchr(path, '/') = '\0';
		wrong += *path == '.'
				 ? strncmp(path, ".build-id/", 10) || strlen(path) != 12
				 : strcmp(path, "/usr/lib") && strcmp(path, "/usr/lib/.debug") &&
					   strcmp(path, "/usr/lib/debug/usr/lib");
	}
	ok(valid > rounds / 8, "%u damaged paths: %u are still such", rounds, valid);
	is_u64(wrong, 0, "and lead nowhere else");
}

static unsigned int count_files(void)
{
	unsigned int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

int main(void)
{
	unsigned int files;

	server_free(server_new(-1, shared)); /* libunwind's first use opens a pipe */
	files = count_files();
	test_client();
	test_endless();
	test_abandoned();
	test_server();
	test_paths();
	is_u64(count_files(), files, "no files are left open");
	return done_testing();
}
