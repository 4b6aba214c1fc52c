// SPDX-License-Identifier: Apache-2.0
#include "server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol.h"
#include "stack_copy.h"

/* --- Stacks resolved before --- */

#define EXACT_WORDS ((UNWIND_FRAMES + 63) / 64)

/* Identity of a stack: words, n + KEY_FIXED of them used. */
#define KEY_FIXED (2 + EXACT_WORDS)
struct key {
	uint64_t words[KEY_FIXED + UNWIND_FRAMES];
	size_t n;
};

struct cached_stack {
	uint64_t hash;
	size_t n;
	uint64_t *words;
};

struct stack_cache {
	uint32_t n, capacity;
	uint32_t mask;               /* of slots */
	struct cached_stack *stacks; /* by ID */
	uint32_t slots[];            /* ID + 1; 0: free */
};

struct stack_cache *stack_cache_new(uint32_t capacity)
{
	uint32_t slots = 1;
	struct stack_cache *cache;

	while (slots < 2 * capacity)
		slots *= 2;
	cache = calloc(1, sizeof(*cache) + slots * sizeof(*cache->slots));
	if (!cache)
		return NULL;
	cache->capacity = capacity;
	cache->mask = slots - 1;
	cache->stacks = calloc(capacity, sizeof(*cache->stacks));
	if (!cache->stacks) {
		free(cache);
		return NULL;
	}
	return cache;
}

/* Drops all stacks; the next ID is 0. */
static void stack_cache_clear(struct stack_cache *cache)
{
	for (uint32_t i = 0; i < cache->n; i++)
		free(cache->stacks[i].words);
	memset(cache->slots, 0, (cache->mask + 1) * sizeof(*cache->slots));
	cache->n = 0;
}

void stack_cache_free(struct stack_cache *cache)
{
	if (!cache)
		return;
	stack_cache_clear(cache);
	free(cache->stacks);
	free(cache);
}

void stack_cache_reserve(struct stack_cache *cache, uint32_t n)
{
	if (n > cache->capacity - cache->n)
		stack_cache_clear(cache);
}

static void key_make(struct key *key, uint64_t version, const struct unwound *unwound)
{
	uint64_t *exact = key->words + 2, *ip = key->words + KEY_FIXED;

	memset(key->words, 0, KEY_FIXED * sizeof(*key->words));
	key->words[0] = version;
	key->words[1] = unwound->stop | (uint64_t)unwound->by_frame_pointers << 32;
	for (unsigned int i = 0; i < unwound->n; i++) {
		exact[i / 64] |= (uint64_t)unwound->exact[i] << (i % 64);
		ip[i] = unwound->ip[i];
	}
	key->n = KEY_FIXED + unwound->n;
}

static uint64_t key_hash(const struct key *key)
{
	uint64_t hash = key->n;

	for (size_t i = 0; i < key->n; i++) {
		hash = (hash ^ key->words[i]) * 0x9fb21c651e98df25;
		hash ^= hash >> 32;
	}
	return hash;
}

int stack_cache_find(struct stack_cache *cache, uint64_t version, const struct unwound *unwound,
		     uint32_t *id, bool *added)
{
	struct cached_stack *stack;
	struct key key;
	uint64_t hash;
	uint32_t slot;

	if (unwound->n > UNWIND_FRAMES)
		return -ENOSPC;
	key_make(&key, version, unwound);
	hash = key_hash(&key);
	*added = false;
	for (slot = hash & cache->mask; cache->slots[slot]; slot = (slot + 1) & cache->mask) {
		*id = cache->slots[slot] - 1;
		stack = &cache->stacks[*id];
		if (stack->hash == hash && stack->n == key.n &&
		    !memcmp(stack->words, key.words, key.n * sizeof(*key.words)))
			return 0;
	}
	if (cache->n == cache->capacity)
		return -ENOSPC;
	stack = &cache->stacks[cache->n];
	stack->words = malloc(key.n * sizeof(*key.words));
	if (!stack->words)
		return -ENOMEM;
	memcpy(stack->words, key.words, key.n * sizeof(*key.words));
	stack->n = key.n;
	stack->hash = hash;
	*id = cache->n++;
	cache->slots[slot] = *id + 1;
	*added = true;
	return 0;
}

/* --- Requests --- */

struct server {
	int socket;
	const uint8_t *shared;
	struct resolver *resolver;
	struct stack_cache *cache;
	uint32_t objects;
	uint32_t ids[PROTOCOL_COPIES];
	struct unwound unwound;
	struct packet request;
	struct packet reply;
	struct packet wanted; /* used while a reply is being built */
};

/* Requests a debug file for the resolver. */
static int server_ask(void *context, uint32_t object, const char *path)
{
	struct server *server = context;
	struct packet *packet = &server->wanted;
	int err;

	packet_begin(packet, MESSAGE_OPEN);
	packet->head.number = object;
	err = packet_put_text(packet, path);
	if (!err)
		err = packet_send(server->socket, packet, -1, 0);
	if (!err)
		err = packet_receive(server->socket, packet, true, 0);
	if (err)
		return -ENOENT;
	if (packet->head.type == MESSAGE_FILE && packet->fd >= 0)
		return packet->fd;
	if (packet->fd >= 0)
		close(packet->fd);
	return -ENOENT;
}

struct server *server_new(int socket, const void *shared)
{
	struct server *server = calloc(1, sizeof(*server));

	if (!server)
		return NULL;
	server->socket = socket;
	server->shared = shared;
	server->resolver = resolver_new(server_ask, server);
	server->cache = stack_cache_new(PROTOCOL_STACKS);
	if (server->resolver && server->cache)
		return server;
	server_free(server);
	return NULL;
}

void server_free(struct server *server)
{
	if (!server)
		return;
	resolver_free(server->resolver);
	stack_cache_free(server->cache);
	free(server);
}

static int server_done(struct server *server, int status)
{
	packet_begin(&server->reply, MESSAGE_DONE);
	server->reply.head.status = status;
	return packet_send(server->socket, &server->reply, -1, 0);
}

static int server_object(struct server *server, struct packet *request)
{
	const char *path = packet_text(request, PROTOCOL_PATH);
	int err;

	if (!path || request->head.number != server->objects || server->objects == PROTOCOL_OBJECTS)
		return -EBADMSG;
	err = resolver_add_object(server->resolver, server->objects, request->fd, path);
	request->fd = -1;
	if (!err)
		server->objects++;
	return server_done(server, err);
}

static int server_mappings(struct server *server, const struct packet *request)
{
	const struct mapping *mappings = (const void *)server->shared;
	uint64_t end = 0;
	int err;

	if (request->head.n > PROTOCOL_MAPPINGS || request->head.number >= PROTOCOL_SPACES)
		return -EBADMSG;
	for (uint32_t i = 0; i < request->head.n; i++) {
		if (mappings[i].start < end || mappings[i].end <= mappings[i].start ||
		    (mappings[i].object >= server->objects && mappings[i].object < SPACE_BEYOND))
			return -EBADMSG;
		end = mappings[i].end;
	}
	err = resolver_choose(server->resolver, request->head.number, request->head.status)
		      ?: resolver_set_mappings(server->resolver, request->head.t, mappings,
					       request->head.n);
	return server_done(server, err);
}

/* Reads the copy at *at in the shared memory, and advances *at. */
static int server_copy(const struct server *server, size_t *at, struct stack_copy *copy,
		       uint64_t *t, uint64_t *space)
{
	const struct shared_copy *shared = (const void *)(server->shared + *at);
	size_t size;

	if (sizeof(*shared) > PROTOCOL_SHARED - *at)
		return -EBADMSG;
	*at += sizeof(*shared);
	*t = shared->t;
	*space = shared->space;
	memcpy(copy, &shared->copy, offsetof(struct stack_copy, returns));
	copy->data = server->shared + *at;
	if (copy->size > KD_STACK_MAX || copy->other_size > KD_STACK_MAX - copy->size ||
	    copy->n_returns > KD_RETURNS || *space >= PROTOCOL_SPACES)
		return -EBADMSG;
	size = copy->size + copy->other_size;
	if (size > PROTOCOL_SHARED - *at)
		return -EBADMSG;
	memcpy(copy->returns, shared->copy.returns, copy->n_returns * sizeof(*copy->returns));
	*at += (size + 7) / 8 * 8;
	return 0;
}

/* Sends the names of the unwound frames. */
static int server_describe(struct server *server, uint64_t t, uint32_t id)
{
	const struct unwound *unwound = &server->unwound;
	struct packet *reply = &server->reply;
	struct frame frame;
	int err;

	packet_begin(reply, MESSAGE_FRAMES);
	for (unsigned int i = 0; i < unwound->n; i++) {
		resolver_name(server->resolver, t, unwound->ip[i], unwound->exact[i], &frame);
		if (packet_put_frame(reply, &frame))
			continue;
		err = packet_send(server->socket, reply, -1, 0);
		if (err)
			return err;
		packet_begin(reply, MESSAGE_FRAMES);
		packet_put_frame(reply, &frame);
	}
	err = reply->head.n ? packet_send(server->socket, reply, -1, 0) : 0;
	if (err)
		return err;
	packet_begin(reply, MESSAGE_STACK);
	reply->head.number = id;
	reply->head.status = (int32_t)unwound->stop;
	reply->head.n = unwound->by_frame_pointers;
	return packet_send(server->socket, reply, -1, 0);
}

/* Sends what the stack of a copy was unwound from, if that can be told. */
static int server_digest(struct server *server, uint32_t number, const struct stack_copy *copy)
{
	struct digest *digest = &server->unwound.digest;
	struct packet *reply = &server->reply;

	if (!copy->mapped_at || !digest_finish(digest, copy))
		return 0;
	packet_begin(reply, MESSAGE_DIGEST);
	reply->head.number = number;
	packet_put_digest(reply, digest);
	return packet_send(server->socket, reply, -1, 0);
}

static int server_copies(struct server *server, const struct packet *request)
{
	uint32_t n = request->head.n;
	struct stack_copy copy;
	uint64_t t, space;
	size_t at = 0;
	bool added;
	int err = n <= PROTOCOL_COPIES ? 0 : -EBADMSG;

	if (!err)
		stack_cache_reserve(server->cache, n);
	resolver_renew(server->resolver);
	for (uint32_t i = 0; !err && i < n; i++) {
		err = server_copy(server, &at, &copy, &t, &space)
			      ?: resolver_choose(server->resolver, (uint32_t)space, false);
		if (err)
			break;
		resolver_unwind(server->resolver, t, &copy, &server->unwound);
		err = stack_cache_find(server->cache,
				       resolver_version(server->resolver, t, &server->unwound),
				       &server->unwound, &server->ids[i], &added);
		if (!err && added)
			err = server_describe(server, t, server->ids[i]);
		if (!err)
			err = server_digest(server, i, &copy);
	}
	if (err)
		return err;
	packet_begin(&server->reply, MESSAGE_IDS);
	server->reply.head.n = n;
	server->reply.size = n * sizeof(*server->ids);
	memcpy(server->reply.payload, server->ids, server->reply.size);
	return packet_send(server->socket, &server->reply, -1, 0);
}

static int server_jit(struct server *server, struct packet *request)
{
	const struct message *message = &request->head;
	int err = -EBADMSG;

	if (message->status >= 0 && message->status < JIT_FILES && request->fd >= 0 &&
	    message->number < PROTOCOL_SPACES)
		err = resolver_choose(server->resolver, message->number, false);
	if (err)
		return err;
	resolver_add_jit(server->resolver, (enum jit_file)message->status, request->fd);
	request->fd = -1;
	return server_done(server, 0);
}

int server_answer(struct server *server, struct packet *request)
{
	int err = -EBADMSG;

	if (request->head.type == MESSAGE_OBJECT)
		err = server_object(server, request);
	else if (request->head.type == MESSAGE_JIT)
		err = server_jit(server, request);
	else if (request->head.type == MESSAGE_MAPPINGS && request->fd < 0)
		err = server_mappings(server, request);
	else if (request->head.type == MESSAGE_COPIES && request->fd < 0)
		err = server_copies(server, request);
	if (request->fd >= 0)
		close(request->fd);
	return err;
}

int server_greet(int socket, int status, const char *text)
{
	struct packet packet;
	int err;

	packet_begin(&packet, MESSAGE_DONE);
	packet.head.status = status;
	err = packet_put_text(&packet, text);
	return err ? err : packet_send(socket, &packet, -1, 0);
}

int server_run(struct server *server)
{
	int err = 0;

	while (!err) {
		err = packet_receive(server->socket, &server->request, true, 0);
		if (err == -EPIPE)
			return 0;
		if (!err)
			err = server_answer(server, &server->request);
	}
	return err;
}
