// SPDX-License-Identifier: Apache-2.0
#include "server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "seen.h"

struct server {
	int socket;
	const uint8_t *shared;
	struct resolver *resolver;
	struct seen *seen;
	uint32_t objects;
	/* When the latest mappings came into force, ascending: as many as the resolver
	 * knows. */
	uint64_t since[SPACE_SNAPSHOTS];
	size_t generations;
	uint32_t ids[PROTOCOL_COPIES];
	struct unwound unwound;
	struct packet request;
	struct packet reply;
	struct packet asked; /* while a reply is being made */
};

/* The resolver wants a debug file. */
static int server_ask(void *context, uint32_t object, const char *path)
{
	struct server *server = context;
	struct packet *packet = &server->asked;
	int err;

	packet_begin(packet, MESSAGE_OPEN);
	packet->head.number = object;
	err = packet_put_text(packet, path);
	if (!err)
		err = protocol_send(server->socket, packet, -1, 0);
	if (!err)
		err = protocol_receive(server->socket, packet, true, 0);
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
	server->seen = seen_new(PROTOCOL_STACKS);
	if (server->resolver && server->seen)
		return server;
	server_free(server);
	return NULL;
}

void server_free(struct server *server)
{
	if (!server)
		return;
	resolver_free(server->resolver);
	seen_free(server->seen);
	free(server);
}

static int server_done(struct server *server, int status)
{
	packet_begin(&server->reply, MESSAGE_DONE);
	server->reply.head.status = status;
	return protocol_send(server->socket, &server->reply, -1, 0);
}

static int server_object(struct server *server, const struct packet *request)
{
	const char *path = packet_text(request, PROTOCOL_PATH);
	int err;

	if (!path || request->head.number != server->objects ||
	    server->objects == PROTOCOL_OBJECTS) {
		if (request->fd >= 0)
			close(request->fd);
		return -EBADMSG;
	}
	err = resolver_add_object(server->resolver, server->objects, request->fd, path);
	if (!err)
		server->objects++;
	return server_done(server, err);
}

static void server_generation_add(struct server *server, uint64_t t)
{
	if (server->generations == SPACE_SNAPSHOTS) {
		server->generations--;
		memmove(server->since, server->since + 1,
			server->generations * sizeof(*server->since));
	}
	server->since[server->generations++] = t;
	/* What is in no mapping of its time is looked up in later ones. */
	seen_forget(server->seen);
}

/* How many generations had begun at t. */
static size_t server_generation(const struct server *server, uint64_t t)
{
	size_t low = 0, high = server->generations;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (server->since[middle] <= t)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int server_mappings(struct server *server, const struct packet *request)
{
	const struct mapping *mappings = (const void *)server->shared;
	uint64_t end = 0, t = request->head.t;
	int err;

	if (request->head.n > PROTOCOL_MAPPINGS ||
	    (server->generations && t < server->since[server->generations - 1]))
		return -EBADMSG;
	for (uint32_t i = 0; i < request->head.n; i++) {
		if (mappings[i].start < end || mappings[i].end <= mappings[i].start ||
		    (mappings[i].object >= server->objects && mappings[i].object != SPACE_NO_FILE))
			return -EBADMSG;
		end = mappings[i].end;
	}
	err = resolver_set_mappings(server->resolver, t, mappings, request->head.n);
	if (!err)
		server_generation_add(server, t);
	return server_done(server, err);
}

/* Takes the copy at *at of the shared memory, and moves *at to the next. */
static int server_copy(const struct server *server, size_t *at, struct stack_copy *copy,
		       uint64_t *t)
{
	const struct shared_copy *shared = (const void *)(server->shared + *at);
	size_t size;

	if (sizeof(*shared) > PROTOCOL_SHARED - *at)
		return -EBADMSG;
	*at += sizeof(*shared);
	if (shared->size > KD_STACK_MAX || shared->other_size > KD_STACK_MAX - shared->size)
		return -EBADMSG;
	size = shared->size + shared->other_size;
	if (size > PROTOCOL_SHARED - *at)
		return -EBADMSG;
	*t = shared->t;
	memcpy(copy->regs, shared->regs, sizeof(copy->regs));
	copy->start = shared->start;
	memcpy(copy->pages, shared->pages, sizeof(copy->pages));
	copy->data = server->shared + *at;
	copy->size = shared->size;
	copy->other_start = shared->other_start;
	copy->other_pages = shared->other_pages;
	copy->other_size = shared->other_size;
	*at += (size + 7) / 8 * 8;
	return 0;
}

/* Sends the names of the frames of what was unwound. */
static int server_describe(struct server *server, uint64_t t, uint32_t id)
{
	const struct unwound *unwound = &server->unwound;
	struct packet *reply = &server->reply;
	struct resolved_frame frame;
	int err;

	packet_begin(reply, MESSAGE_FRAMES);
	for (unsigned int i = 0; i < unwound->n; i++) {
		resolver_name(server->resolver, t, unwound->ip[i], unwound->exact[i], &frame);
		if (packet_put_frame(reply, &frame))
			continue;
		err = protocol_send(server->socket, reply, -1, 0);
		if (err)
			return err;
		packet_begin(reply, MESSAGE_FRAMES);
		packet_put_frame(reply, &frame);
	}
	err = reply->head.n ? protocol_send(server->socket, reply, -1, 0) : 0;
	if (err)
		return err;
	packet_begin(reply, MESSAGE_STACK);
	reply->head.number = id;
	reply->head.status = (int32_t)unwound->stop;
	return protocol_send(server->socket, reply, -1, 0);
}

static int server_copies(struct server *server, const struct packet *request)
{
	uint32_t n = request->head.n;
	struct stack_copy copy;
	size_t at = 0;
	uint64_t t;
	bool added;
	int err = n <= PROTOCOL_COPIES ? 0 : -EBADMSG;

	if (!err)
		seen_reserve(server->seen, n);
	for (uint32_t i = 0; !err && i < n; i++) {
		err = server_copy(server, &at, &copy, &t);
		if (err)
			break;
		resolver_unwind(server->resolver, t, &copy, &server->unwound);
		err = seen_find(server->seen, server_generation(server, t), &server->unwound,
				&server->ids[i], &added);
		if (!err && added)
			err = server_describe(server, t, server->ids[i]);
	}
	if (err)
		return err;
	packet_begin(&server->reply, MESSAGE_IDS);
	server->reply.head.n = n;
	server->reply.size = n * sizeof(*server->ids);
	memcpy(server->reply.payload, server->ids, server->reply.size);
	return protocol_send(server->socket, &server->reply, -1, 0);
}

int server_answer(struct server *server, const struct packet *request)
{
	if (request->head.type == MESSAGE_OBJECT)
		return server_object(server, request);
	if (request->fd >= 0)
		close(request->fd);
	else if (request->head.type == MESSAGE_MAPPINGS)
		return server_mappings(server, request);
	else if (request->head.type == MESSAGE_COPIES)
		return server_copies(server, request);
	return -EBADMSG;
}

int server_greet(int socket, int status, const char *text)
{
	struct packet packet;
	int err;

	packet_begin(&packet, MESSAGE_DONE);
	packet.head.status = status;
	err = packet_put_text(&packet, text);
	return err ? err : protocol_send(socket, &packet, -1, 0);
}

int server_run(struct server *server)
{
	int err = 0;

	while (!err) {
		err = protocol_receive(server->socket, &server->request, true, 0);
		if (err == -EPIPE)
			return 0;
		if (!err)
			err = server_answer(server, &server->request);
	}
	return err;
}
