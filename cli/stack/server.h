/* SPDX-License-Identifier: Apache-2.0 */
/* What the process without privileges does: it answers requests of protocol.h by
 * resolver.h. */
#ifndef SERVER_H
#define SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol.h"
#include "unwind.h"

struct server;

/* Shared: PROTOCOL_SHARED bytes that the other process writes while this one waits;
 * not owned, as is the socket. Returns NULL without memory. */
struct server *server_new(int socket, const void *shared);

/* NULL is allowed. */
void server_free(struct server *server);

/* Answers one request, whose file becomes the server's. Returns 0, or a negative
 * errno if the connection is of no use any more. */
int server_answer(struct server *server, const struct packet *request);

/* Tells the other process whether it may send requests: by status, 0 or a negative
 * errno, and a text about that. Returns 0 or a negative errno. */
int server_greet(int socket, int status, const char *text);

/* Answers until the other process closes the connection: 0. Another -errno if that
 * cannot go on. */
int server_run(struct server *server);

/* --- Stacks that were resolved before --- */

struct seen;

/* IDs are 0 to room - 1. Returns NULL without memory. */
struct seen *seen_new(uint32_t room);

/* NULL is allowed. */
void seen_free(struct seen *seen);

/* Makes sure that n further stacks find room, if need be by forgetting all. */
void seen_reserve(struct seen *seen, uint32_t n);

/* Finds the ID of a stack that was unwound by the mappings of that version, or
 * gives it the next one, which needs room, and sets *added. Returns 0, -ENOSPC or
 * -ENOMEM. */
int seen_find(struct seen *seen, uint64_t version, const struct unwound *unwound, uint32_t *id,
	      bool *added);

#endif
