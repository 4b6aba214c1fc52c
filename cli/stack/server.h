/* SPDX-License-Identifier: Apache-2.0 */
/* Unprivileged process: answers requests of protocol.h with resolver.h. */
#ifndef SERVER_H
#define SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol.h"
#include "unwind.h"

struct server;

/* shared: PROTOCOL_SHARED bytes that the other process writes while this one waits; not owned,
 * nor is the socket. Returns NULL without memory. */
struct server *server_new(int socket, const void *shared);

/* NULL is allowed. */
void server_free(struct server *server);

/* Answers a request and takes over its file. Returns 0, or a negative errno if the connection is
 * no longer usable. */
int server_answer(struct server *server, const struct packet *request);

/* Tells the other process whether it may send requests: status 0 or a negative errno, and a
 * text. Returns 0 or a negative errno. */
int server_greet(int socket, int status, const char *text);

/* Answers until the other process closes the connection: 0. Another -errno on failure. */
int server_run(struct server *server);

/* --- Stacks resolved before --- */

struct seen;

/* IDs are 0 to room - 1. Returns NULL without memory. */
struct seen *seen_new(uint32_t capacity);

/* NULL is allowed. */
void seen_free(struct seen *seen);

/* Makes space for n more stacks, by dropping all if necessary. */
void seen_reserve(struct seen *seen, uint32_t n);

/* Finds the ID of a stack unwound with mappings of this version. Otherwise assigns the next one,
 * which needs space, and sets *added. Returns 0, -ENOSPC or -ENOMEM. */
int seen_find(struct seen *seen, uint64_t version, const struct unwound *unwound, uint32_t *id,
	      bool *added);

#endif
