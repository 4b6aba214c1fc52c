// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "client.h"

#include <errno.h>
#include <poll.h>
#include <search.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "protocol.h"
#include "stack_copy.h"

/* --- Deduplication of stacks --- */

#define MOST_MEMORY (256UL << 20)
#define NODE_SIZE 64 /* bytes that an entry takes in its tree, with what malloc(3) adds */

struct stack_table {
	size_t capacity, n;
	size_t memory;
	void *texts, *stacks; /* tsearch(3) trees */
};

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static int texts_compare(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : !!a - !!b;
}

static int by_frames(const void *left, const void *right)
{
	const struct stack *a = left, *b = right;
	int order = ORDER(a->n, b->n)
			    ?: ORDER(a->by_frame_pointers, b->by_frame_pointers)
			    ?: texts_compare(a->stop, b->stop);

	for (size_t i = 0; !order && i < a->n; i++) {
		const struct frame *x = &a->frames[i], *y = &b->frames[i];

		order = ORDER(x->offset, y->offset)
				?: ORDER(x->file, y->file)
				?: texts_compare(x->function, y->function)
				?: texts_compare(x->object, y->object)
				?: texts_compare(x->build_id, y->build_id);
	}
	return order;
}

static void *table_allocate(struct stack_table *table, size_t size)
{
	if (size + NODE_SIZE > MOST_MEMORY - table->memory)
		return NULL;
	table->memory += size + NODE_SIZE;
	return malloc(size);
}

/* Adds an item from table_allocate() to a tree; frees it if that fails. */
static void *table_put(void *item, void **tree, int (*compare)(const void *, const void *))
{
	if (tsearch(item, tree, compare))
		return item;
	free(item);
	return NULL;
}

/* Replaces a text by its stored copy. Returns false if it does not fit. */
static bool table_keep_text(struct stack_table *table, const char **text)
{
	size_t size = *text ? strlen(*text) + 1 : 0;
	char **found = *text ? tfind(*text, &table->texts, by_text) : NULL, *copy;

	if (found)
		*text = *found;
	if (found || !*text)
		return true;
	copy = table_allocate(table, size);
	if (copy)
		*text = table_put(memcpy(copy, *text, size), &table->texts, by_text);
	return copy && *text;
}

static const struct stack *table_add(struct stack_table *table, const struct stack *like)
{
	struct stack *stack = NULL;
	struct frame *frames;

	if (table->n < table->capacity)
		stack = table_allocate(table, sizeof(*stack) + like->n * sizeof(*frames));
	if (!stack)
		return NULL;
	frames = (struct frame *)(stack + 1);
	*stack = *like;
	stack->frames = frames;
	for (size_t i = 0; i < like->n; i++) {
		frames[i] = like->frames[i];
		if (!table_keep_text(table, &frames[i].function) ||
		    !table_keep_text(table, &frames[i].object) ||
		    !table_keep_text(table, &frames[i].build_id)) {
			free(stack);
			return NULL;
		}
	}
	stack = table_put(stack, &table->stacks, by_frames);
	table->n += !!stack;
	return stack;
}

const struct stack *stack_table_get(struct stack_table *table, const struct stack *like)
{
	const struct stack **found = tfind(like, &table->stacks, by_frames);

	return found ? *found : table_add(table, like);
}

struct stack_table *stack_table_new(size_t capacity)
{
	struct stack_table *table = calloc(1, sizeof(*table));

	if (table)
		table->capacity = capacity;
	return table;
}

void stack_table_free(struct stack_table *table)
{
	if (!table)
		return;
	tdestroy(table->stacks, free);
	tdestroy(table->texts, free);
	free(table);
}

/* --- Connection --- */

#define AT_ONCE 1 /* a deadline in the past */
#define PATIENCE_PER_COPY (20 * NSEC_PER_MSEC)
#define MOST_TEXT (UNWIND_FRAMES * (PROTOCOL_FUNCTION + PROTOCOL_PATH + PROTOCOL_BUILD_ID))

/* Meaning of an ID. */
struct meaning {
	bool defined;
	const struct stack *stack; /* NULL: did not fit */
};

/* A copy in the batch. */
struct submitted {
	const struct stack **stack;
	uint64_t ip, sp, mapped_at;
	bool has_digest;      /* digest is set */
	struct digest digest; /* as the other process reported */
};

struct client {
	int socket;
	struct signals *signals;
	uint8_t *shared;
	uint64_t patience;
	client_open *open;
	void *context;
	uint32_t objects;
	size_t used;       /* bytes of shared in use */
	uint32_t n;        /* copies submitted */
	uint32_t received; /* stacks of this batch received */
	struct submitted submitted[PROTOCOL_COPIES];
	stacks_digested *tell_digest; /* NULL: not wanted */
	void *digest_context;
	struct stack_table *table;
	struct meaning meanings[PROTOCOL_STACKS];
	struct stack_counts counts;
	/* The stack being received. */
	size_t n_frames;
	struct frame frames[UNWIND_FRAMES];
	size_t n_text;
	char *text; /* MOST_TEXT bytes */
	struct packet packet;
};

struct client *client_new(int socket, void *shared, size_t capacity, uint64_t patience,
			  client_open *open, void *context)
{
	struct client *client = calloc(1, sizeof(*client));

	if (!client)
		return NULL;
	client->socket = socket;
	client->shared = shared;
	client->patience = patience;
	client->open = open;
	client->context = context;
	client->table = stack_table_new(capacity);
	client->text = malloc(MOST_TEXT);
	if (client->table && client->text)
		return client;
	client_free(client);
	return NULL;
}

void client_free(struct client *client)
{
	if (!client)
		return;
	stack_table_free(client->table);
	free(client->text);
	free(client);
}

void client_renew(struct client *client, int socket, void *shared)
{
	client_abandon(client);
	client->socket = socket;
	client->shared = shared;
	client->objects = 0;
	client->n_frames = client->n_text = 0;
	memset(client->meanings, 0, sizeof(client->meanings));
}

void client_heed(struct client *client, struct signals *signals)
{
	client->signals = signals;
}

static uint64_t client_deadline(const struct client *client)
{
	return clock_monotonic() + client->patience + client->n * PATIENCE_PER_COPY;
}

static int client_send(struct client *client, int fd, uint64_t deadline)
{
	return signals_wait(client->signals, client->socket, POLLOUT, deadline)
		       ?: packet_send(client->socket, &client->packet, fd, deadline);
}

/* Answers a request for a file. */
static int client_serve(struct client *client, uint64_t deadline)
{
	struct packet *packet = &client->packet;
	const char *path = packet_text(packet, PROTOCOL_PATH);
	int fd, err;

	if (!path || packet->head.number >= client->objects)
		return -EBADMSG;
	fd = client->open(client->context, packet->head.number, path);
	if (fd == -EBADMSG)
		return fd;
	packet_begin(packet, MESSAGE_FILE);
	err = client_send(client, fd, deadline);
	if (fd >= 0)
		close(fd);
	return err;
}

/* Receives the next packet, answering requests for files. Most packets are there already, which
 * saves checking signals; these are checked after each request. packet_receive() only checks the
 * deadline when it has to wait, which a busy sender could prevent forever. */
static int client_receive(struct client *client, uint64_t deadline)
{
	struct packet *packet = &client->packet;
	int err = packet_receive(client->socket, packet, false, AT_ONCE);

	for (;;) {
		if (err == -ETIMEDOUT)
			err = signals_wait(client->signals, client->socket, POLLIN, deadline)
				      ?: packet_receive(client->socket, packet, false, deadline);
		if (!err && clock_monotonic() >= deadline)
			err = -ETIMEDOUT;
		if (err || packet->head.type != MESSAGE_OPEN)
			return err;
		err = client_serve(client, deadline);
		if (err)
			return err;
		err = -ETIMEDOUT;
	}
}

static int client_done(struct client *client, uint64_t deadline)
{
	int err = client_receive(client, deadline);

	if (err)
		return err;
	if (client->packet.head.type != MESSAGE_DONE || client->packet.head.status > 0 ||
	    client->packet.head.status < -4095)
		return -EBADMSG;
	return client->packet.head.status;
}

int client_greeted(struct client *client, char text[PROTOCOL_PATH])
{
	int err = client_done(client, client_deadline(client));
	const char *said;

	*text = '\0';
	if (!err || err != client->packet.head.status)
		return err;
	said = packet_text(&client->packet, PROTOCOL_PATH);
	if (said)
		strcpy(text, said);
	return err;
}

/* Sends the packet, with a file unless it is -1, and waits until it was done. */
static int client_request(struct client *client, int fd)
{
	uint64_t deadline = client_deadline(client);

	return client_send(client, fd, deadline) ?: client_done(client, deadline);
}

int client_object(struct client *client, uint32_t number, int fd, const char *path)
{
	int err;

	packet_begin(&client->packet, MESSAGE_OBJECT);
	client->packet.head.number = number;
	err = packet_put_text(&client->packet, path);
	if (err)
		return err;
	client->objects = number + 1; /* set first: the other process may ask for its debug file
				       * at once */
	return client_request(client, fd);
}

int client_mappings(struct client *client, uint32_t space, bool anew, uint64_t t,
		    const struct mapping *mappings, size_t n)
{
	int err = client_flush(client); /* the batch occupies the memory for the mappings */

	if (err)
		return err;
	packet_begin(&client->packet, MESSAGE_MAPPINGS);
	client->packet.head.number = space;
	client->packet.head.status = anew;
	client->packet.head.t = t;
	client->packet.head.n = (uint32_t)n;
	if (n)
		memcpy(client->shared, mappings, n * sizeof(*mappings));
	return client_request(client, -1);
}

int client_jit(struct client *client, uint32_t space, enum jit_file kind, int fd)
{
	packet_begin(&client->packet, MESSAGE_JIT);
	client->packet.head.number = space;
	client->packet.head.status = (int32_t)kind;
	return client_request(client, fd);
}

int client_submit(struct client *client, uint32_t space, uint64_t t, const struct stack_copy *copy,
		  const struct stack **stack)
{
	struct shared_copy *shared;
	size_t size = copy->size < KD_STACK_MAX ? copy->size : KD_STACK_MAX;
	size_t other = copy->other_size < KD_STACK_MAX - size ? copy->other_size
							      : KD_STACK_MAX - size;
	size_t capacity = sizeof(*shared) + (size + other + 7) / 8 * 8;
	int err = 0;

	*stack = NULL;
	if (capacity > PROTOCOL_SHARED - client->used || client->n == PROTOCOL_COPIES)
		err = client_flush(client);
	if (err)
		return err;
	client->submitted[client->n++] = (struct submitted){
		.stack = stack,
		.ip = copy->regs[KD_REG_IP],
		.sp = copy->regs[KD_REG_SP],
		.mapped_at = client->tell_digest ? copy->mapped_at : 0,
	};
	shared = (struct shared_copy *)(void *)(client->shared + client->used);
	shared->t = t;
	shared->space = space;
	memcpy(&shared->copy, copy, offsetof(struct stack_copy, returns[copy->n_returns]));
	shared->copy.data = NULL;
	shared->copy.mapped_at = client->tell_digest ? copy->mapped_at : 0;
	shared->copy.size = size;
	shared->copy.other_size = other;
	if (size + other)
		memcpy(shared + 1, copy->data, size + other);
	client->used += capacity;
	return 0;
}

/* Copies a text of the packet, which the next packet overwrites. */
static const char *client_keep(struct client *client, const char *text)
{
	char *copy = client->text + client->n_text;
	size_t size;

	if (!text)
		return NULL;
	size = strlen(text) + 1;
	memcpy(copy, text, size);
	client->n_text += size;
	return copy;
}

static int client_frames(struct client *client)
{
	const struct packet *packet = &client->packet;
	struct frame frame;
	uint32_t n = 0;
	size_t at = 0;
	int got;

	while ((got = packet_get_frame(packet, &at, &frame)) > 0) {
		if (client->n_frames == UNWIND_FRAMES)
			return -EBADMSG;
		client->frames[client->n_frames++] = (struct frame){
			.function = client_keep(client, frame.function),
			.offset = frame.offset,
			.object = client_keep(client, frame.object),
			.build_id = client_keep(client, frame.build_id),
			.file = frame.file,
		};
		n++;
	}
	return got || !n || n != packet->head.n ? -EBADMSG : 0;
}

static int client_stack(struct client *client)
{
	const struct message *message = &client->packet.head;

	if (client->packet.size || message->number >= PROTOCOL_STACKS || message->status < 0 ||
	    message->status >= UNWIND_STOPS || message->n > 1 || !client->n_frames ||
	    client->received++ == client->n)
		return -EBADMSG;
	client->meanings[message->number] = (struct meaning){
		.defined = true,
		.stack = stack_table_get(
			client->table,
			&(struct stack){
				.frames = client->frames,
				.n = client->n_frames,
				.stop = unwind_stop_text((enum unwind_stop)message->status),
				.by_frame_pointers = message->n,
			}),
	};
	client->n_frames = 0;
	client->n_text = 0;
	return 0;
}

void client_tell_digests(struct client *client, stacks_digested *tell, void *context)
{
	client->tell_digest = tell;
	client->digest_context = context;
}

static int client_digest(struct client *client)
{
	uint32_t number = client->packet.head.number;
	struct submitted *submitted;

	if (number >= client->n)
		return -EBADMSG;
	submitted = &client->submitted[number];
	if (!submitted->mapped_at || submitted->has_digest)
		return -EBADMSG;
	submitted->has_digest = true;
	return packet_get_digest(&client->packet, &submitted->digest);
}

/* Delivers one of the stacks. */
static void client_give(struct client *client, struct submitted *submitted,
			const struct stack *meant)
{
	*submitted->stack = meant;
	if (meant && submitted->has_digest) {
		submitted->digest.shape.ip = submitted->ip;
		submitted->digest.shape.sp = submitted->sp;
		client->tell_digest(client->digest_context, &submitted->digest, meant,
				    submitted->mapped_at);
	}
	client->counts.resolved += !!meant;
	client->counts.incomplete += meant && meant->stop;
	client->counts.beyond += !meant;
}

static int client_ids(struct client *client)
{
	const struct packet *packet = &client->packet;
	uint32_t ids[PROTOCOL_COPIES];

	if (packet->head.n != client->n || packet->size != client->n * sizeof(*ids) ||
	    client->n_frames)
		return -EBADMSG;
	memcpy(ids, packet->payload, packet->size);
	for (uint32_t i = 0; i < client->n; i++) {
		if (ids[i] >= PROTOCOL_STACKS || !client->meanings[ids[i]].defined)
			return -EBADMSG;
	}
	for (uint32_t i = 0; i < client->n; i++)
		client_give(client, &client->submitted[i], client->meanings[ids[i]].stack);
	client->n = 0;
	return 0;
}

/* Each message of the answer must make progress, so the loop ends. */
static int client_answer(struct client *client, uint64_t deadline)
{
	int err = 0;

	while (!err && client->n) {
		err = client_receive(client, deadline);
		if (err)
			break;
		switch (client->packet.head.type) {
		case MESSAGE_FRAMES:
			err = client_frames(client);
			break;
		case MESSAGE_STACK:
			err = client_stack(client);
			break;
		case MESSAGE_DIGEST:
			err = client_digest(client);
			break;
		case MESSAGE_IDS:
			err = client_ids(client);
			break;
		default:
			err = -EBADMSG;
		}
	}
	return err;
}

int client_flush(struct client *client)
{
	uint64_t deadline;
	int err;

	if (!client->n)
		return 0;
	deadline = client_deadline(client);
	packet_begin(&client->packet, MESSAGE_COPIES);
	client->packet.head.n = client->n;
	client->used = 0;
	client->received = 0;
	err = client_send(client, -1, deadline);
	return err ? err : client_answer(client, deadline);
}

void client_abandon(struct client *client)
{
	for (uint32_t i = 0; i < client->n; i++)
		*client->submitted[i].stack = NULL;
	client->counts.failed += client->n;
	client->n = 0;
	client->used = 0;
}

struct stack_counts client_counts(const struct client *client)
{
	return client->counts;
}
