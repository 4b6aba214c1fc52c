/* SPDX-License-Identifier: Apache-2.0 */
/* The unprivileged end: answers requests with resolver.h, in the sandbox. */
#ifndef SERVER_H
#define SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol.h"

struct server;

/* shared: PROTOCOL_SHARED bytes that the other process writes while this one waits; not owned,
 * nor is the socket. Returns NULL without memory. */
struct server *server_new(int socket, const void *shared);

/* NULL is allowed. */
void server_free(struct server *server);

/* Answers a request and takes over its file. Returns 0, or a negative errno if the connection is
 * no longer usable. */
int server_answer(struct server *server, struct packet *request);

/* Tells the other process whether it may send requests: status 0 or a negative errno, and a
 * text. Returns 0 or a negative errno. */
int server_greet(int socket, int status, const char *text);

/* Answers until the other process closes the connection: 0. Another -errno on failure. */
int server_run(struct server *server);

/* --- Stacks resolved before --- */

struct stack_cache;

/* IDs are 0 to capacity - 1. Returns NULL without memory. */
struct stack_cache *stack_cache_new(uint32_t capacity);

/* NULL is allowed. */
void stack_cache_free(struct stack_cache *cache);

/* Makes space for n more stacks, by dropping all if necessary. */
void stack_cache_reserve(struct stack_cache *cache, uint32_t n);

/* Finds the ID of a stack unwound with mappings of this version. Otherwise assigns the next one,
 * which needs space, and sets *added. Returns 0, -ENOSPC or -ENOMEM. */
int stack_cache_find(struct stack_cache *cache, uint64_t version, const struct unwound *unwound,
		     uint32_t *id, bool *added);

#endif
