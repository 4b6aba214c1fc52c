/* SPDX-License-Identifier: Apache-2.0 */
/* What the process without privileges does: it answers requests of protocol.h by
 * resolver.h. */
#ifndef SERVER_H
#define SERVER_H

#include <stddef.h>

#include "protocol.h"

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

#endif
