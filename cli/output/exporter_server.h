/* SPDX-License-Identifier: Apache-2.0 */
/* What the process does that speaks HTTP: it answers with what was published last. */
#ifndef EXPORTER_SERVER_H
#define EXPORTER_SERVER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "exporter_host.h"

/* So called since 0.9.43, also in 1.0. Loaded by the process that answers only: with it come
 * libraries of TLS, which cost each start of the program 3 ms and 2 MB. */
#define HTTP_LIBRARY "libmicrohttpd.so.12"

struct exporter_server;

enum exporter_message {
	EXPORTER_SOCKET,  /* to listen on; number: IPv6; n: the port */
	EXPORTER_TEXTS,   /* a file with all forms, of which the first has t bytes */
	EXPORTER_STARTED, /* from the child; status: a negative errno, and what was being done */
};

/* Channel: an end of packet_connect(), over which come the socket that it listens on, then what
 * is published; not owned. Returns 0; -ENOMEM; -ELIBACC: there is no libmicrohttpd. */
int exporter_server_new(struct exporter_server **out, int channel,
			const struct exporter_hosts *hosts);

/* Takes the socket and what was published first. Returns 0 or a negative errno. */
int exporter_server_open(struct exporter_server *server);

/* Answers until the channel is closed: 0. Another -errno if that cannot go on. */
int exporter_server_run(struct exporter_server *server);

/* --- Connections, and which of them has to make room for a newcomer --- */

#define EXPORTER_CLIENTS 64U
#define EXPORTER_CLIENTS_OF_ADDRESS 16U
/* Until one that makes room has gone, there are more. */
#define EXPORTER_CLIENTS_MOST (EXPORTER_CLIENTS + 16U)

struct exporter_client {
	int fd; /* -1: none */
	bool is_served, is_leaving;
	uint64_t since; /* CLOCK_MONOTONIC ns: it is there, or its last request has ended */
	struct in6_addr address;
};

struct exporter_clients {
	struct exporter_client all[EXPORTER_CLIENTS_MOST];
};

void exporter_clients_init(struct exporter_clients *clients);

/* Notes a connection, with the address of its other end. Returns NULL if there are too many. */
struct exporter_client *exporter_client_add(struct exporter_clients *clients, int fd,
					    const struct sockaddr *address, uint64_t now);

/* The one to be closed, now that `newcomer` is there: of its address, if there are more than
 * EXPORTER_CLIENTS_OF_ADDRESS, else of the address that has the most, if there are more than
 * EXPORTER_CLIENTS; the one that has been idle for longest, else the one that is served for
 * longest. NULL: none has to. */
struct exporter_client *exporter_client_oust(struct exporter_clients *clients,
					     const struct exporter_client *newcomer);

#endif
