/* SPDX-License-Identifier: Apache-2.0 */
/* The connections of the exporter, and which of them has to make room for a newcomer. */
#ifndef EXPORTER_CLIENTS_H
#define EXPORTER_CLIENTS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

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
