// SPDX-License-Identifier: Apache-2.0
#include "protocol.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "stack_copy.h"

/* --- Deduplication of stacks --- */

#define MOST_MEMORY (256UL << 20)
#define CHUNK (64UL << 10)
#define FIRST_SLOTS 256

/* Memory that is freed as a unit. */
struct chunk {
	struct chunk *next;
	size_t used, capacity;
	_Alignas(16) char bytes[];
};

/* A hash table of texts or stacks. */
struct slot {
	uint64_t hash;
	const void *item; /* NULL: free */
};

struct index {
	struct slot *slots;
	size_t n, mask;
};

struct stack_table {
	size_t capacity;
	size_t memory;
	struct chunk *chunks;
	struct index texts;
	struct index stacks;
};

static int index_init(struct index *index)
{
	index->slots = calloc(FIRST_SLOTS, sizeof(*index->slots));
	index->mask = FIRST_SLOTS - 1;
	return index->slots ? 0 : -1;
}

static void index_put(struct slot *slots, size_t mask, uint64_t hash, const void *item)
{
	size_t at = hash & mask;

	while (slots[at].item)
		at = (at + 1) & mask;
	slots[at] = (struct slot){ hash, item };
}

/* Makes space for another item. */
static int index_reserve(struct index *index)
{
	size_t mask = index->mask * 2 + 1;
	struct slot *slots;

	if (index->n < index->mask / 2)
		return 0;
	slots = calloc(mask + 1, sizeof(*slots));
	if (!slots)
		return -1;
	for (size_t i = 0; i <= index->mask; i++) {
		if (index->slots[i].item)
			index_put(slots, mask, index->slots[i].hash, index->slots[i].item);
	}
	free(index->slots);
	index->slots = slots;
	index->mask = mask;
	return 0;
}

static uint64_t hash_add(uint64_t hash, const void *data, size_t size)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3;
	return hash ^ hash >> 29;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	return text ? hash_add(hash, text, strlen(text) + 1) : hash_add(hash, "\1", 1);
}

static uint64_t stack_hash(const struct frame *frames, size_t n)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < n; i++) {
		hash = hash_add(hash, &frames[i].offset, sizeof(frames[i].offset));
		hash = hash_text(hash, frames[i].function);
		hash = hash_text(hash, frames[i].object);
		hash = hash_text(hash, frames[i].build_id);
		hash = hash_add(hash, &frames[i].file, sizeof(frames[i].file));
	}
	return hash;
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool stacks_same(const struct stack *stack, const struct stack *like)
{
	const struct frame *frames = like->frames;

	if (stack->n != like->n || !is_same_text(stack->stop, like->stop) ||
	    stack->by_frame_pointers != like->by_frame_pointers)
		return false;
	for (size_t i = 0; i < like->n; i++) {
		if (stack->frames[i].offset != frames[i].offset ||
		    stack->frames[i].file != frames[i].file ||
		    !is_same_text(stack->frames[i].function, frames[i].function) ||
		    !is_same_text(stack->frames[i].object, frames[i].object) ||
		    !is_same_text(stack->frames[i].build_id, frames[i].build_id))
			return false;
	}
	return true;
}

static void *table_allocate(struct stack_table *table, size_t size)
{
	size_t capacity = size > CHUNK ? size : CHUNK;
	struct chunk *chunk = table->chunks;
	void *memory;

	size = (size + 15) / 16 * 16;
	if (!chunk || size > chunk->capacity - chunk->used) {
		capacity = (capacity + 15) / 16 * 16;
		if (capacity > MOST_MEMORY - table->memory)
			return NULL;
		chunk = malloc(sizeof(*chunk) + capacity);
		if (!chunk)
			return NULL;
		chunk->next = table->chunks;
		chunk->used = 0;
		chunk->capacity = capacity;
		table->chunks = chunk;
		table->memory += capacity;
	}
	memory = chunk->bytes + chunk->used;
	chunk->used += size;
	return memory;
}

/* Replaces a text by its stored copy. */
static int table_keep_text(struct stack_table *table, const char **text)
{
	struct index *texts = &table->texts;
	uint64_t hash;
	char *copy;

	if (!*text)
		return 0;
	hash = hash_text(0, *text);
	for (size_t at = hash & texts->mask; texts->slots[at].item; at = (at + 1) & texts->mask) {
		if (texts->slots[at].hash == hash && !strcmp(texts->slots[at].item, *text)) {
			*text = texts->slots[at].item;
			return 0;
		}
	}
	copy = index_reserve(texts) ? NULL : table_allocate(table, strlen(*text) + 1);
	if (!copy)
		return -1;
	strcpy(copy, *text);
	index_put(texts->slots, texts->mask, hash, copy);
	texts->n++;
	*text = copy;
	return 0;
}

static const struct stack *table_add(struct stack_table *table, uint64_t hash,
				     const struct stack *like)
{
	struct index *stacks = &table->stacks;
	size_t n = like->n;
	struct frame *copy;
	struct stack *stack;

	if (stacks->n == table->capacity || index_reserve(stacks))
		return NULL;
	stack = table_allocate(table, sizeof(*stack));
	copy = stack ? table_allocate(table, n * sizeof(*copy)) : NULL;
	if (!copy)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		copy[i] = like->frames[i];
		if (table_keep_text(table, &copy[i].function) ||
		    table_keep_text(table, &copy[i].object) ||
		    table_keep_text(table, &copy[i].build_id))
			return NULL;
	}
	*stack = *like;
	stack->frames = copy;
	index_put(stacks->slots, stacks->mask, hash, stack);
	stacks->n++;
	return stack;
}

const struct stack *stack_table_get(struct stack_table *table, const struct stack *like)
{
	const struct index *stacks = &table->stacks;
	uint64_t hash = stack_hash(like->frames, like->n);

	for (size_t at = hash & stacks->mask; stacks->slots[at].item;
	     at = (at + 1) & stacks->mask) {
		if (stacks->slots[at].hash == hash && stacks_same(stacks->slots[at].item, like))
			return stacks->slots[at].item;
	}
	return table_add(table, hash, like);
}

struct stack_table *stack_table_new(size_t capacity)
{
	struct stack_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->capacity = capacity;
	if (!index_init(&table->texts) && !index_init(&table->stacks))
		return table;
	stack_table_free(table);
	return NULL;
}

void stack_table_free(struct stack_table *table)
{
	struct chunk *chunk, *next;

	if (!table)
		return;
	for (chunk = table->chunks; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	free(table->texts.slots);
	free(table->stacks.slots);
	free(table);
}

/* --- Connection --- */

#define AT_ONCE 1 /* a deadline in the past */
#define PATIENCE_PER_COPY (20 * NSEC_PER_MSEC)
#define MOST_TEXT (UNWIND_FRAMES * (PROTOCOL_FUNCTION + PROTOCOL_PATH + PROTOCOL_BUILD_ID))

/* Meaning of an ID. */
struct meaning {
	bool known;
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
	client_digested *tell_digest; /* NULL: not wanted */
	void *digest_context;
	struct stack_table *table;
	struct meaning meanings[PROTOCOL_STACKS];
	struct client_counts counts;
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

int client_object(struct client *client, uint32_t number, int fd, const char *path)
{
	uint64_t deadline = client_deadline(client);
	int err;

	packet_begin(&client->packet, MESSAGE_OBJECT);
	client->packet.head.number = number;
	err = packet_put_text(&client->packet, path);
	if (err)
		return err;
	client->objects = number + 1; /* set first: the other process may ask for its debug file
				       * at once */
	err = client_send(client, fd, deadline);
	return err ? err : client_done(client, deadline);
}

int client_mappings(struct client *client, uint32_t space, bool anew, uint64_t t,
		    const struct mapping *mappings, size_t n)
{
	uint64_t deadline;
	int err = client_flush(client); /* the batch occupies the memory for the mappings */

	if (err)
		return err;
	deadline = client_deadline(client);
	packet_begin(&client->packet, MESSAGE_MAPPINGS);
	client->packet.head.number = space;
	client->packet.head.status = anew;
	client->packet.head.t = t;
	client->packet.head.n = (uint32_t)n;
	if (n)
		memcpy(client->shared, mappings, n * sizeof(*mappings));
	err = client_send(client, -1, deadline);
	return err ? err : client_done(client, deadline);
}

int client_jit(struct client *client, uint32_t space, enum jit_file kind, int fd)
{
	uint64_t deadline = client_deadline(client);
	int err;

	packet_begin(&client->packet, MESSAGE_JIT);
	client->packet.head.number = space;
	client->packet.head.status = (int32_t)kind;
	err = packet_send(client->socket, &client->packet, fd, deadline);
	return err ? err : client_done(client, deadline);
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
		.known = true,
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

void client_tell_digests(struct client *client, client_digested *tell, void *context)
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
		if (ids[i] >= PROTOCOL_STACKS || !client->meanings[ids[i]].known)
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

struct client_counts client_counts(const struct client *client)
{
	return client->counts;
}
