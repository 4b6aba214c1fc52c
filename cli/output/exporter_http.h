/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP side of the exporter: a process without privileges that answers from what was published
 * last. It never waits for who publishes, nor that for it. */
#ifndef EXPORTER_HTTP_H
#define EXPORTER_HTTP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"
#include "exporter_host.h"

struct exporter_http;

/* A text from malloc(). */
struct exporter_text {
	char *text;
	size_t length;
};

/* Where to listen: an address (IPv4 or IPv6, as numbers) and port (0: any). */
struct exporter_http_config {
	const char *address;
	uint16_t port;
	const char *allowed; /* names of hosts, as struct exporter_hosts has them */
	unsigned int
		without; /* a combination of enum sandbox_without; the program leaves none out */
};

/* Listens; clients wait until exporter_http_start(). Returns 0, or after printing what failed an
 * exit status. The caller ends it with exporter_http_close(), also after an error. */
exit_status exporter_http_open(struct exporter_http **http,
			       const struct exporter_http_config *config);

/* Starts the process; something must have been published. To be called while this one has no other
 * threads. Returns as above. */
exit_status exporter_http_start(struct exporter_http *http);

/* Takes the texts, also if it fails, to answer with from now on. Those that are being
 * sent stay. Returns 0; -EAGAIN if the other process is several behind; -EPIPE if it
 * has ended; another negative errno. */
int exporter_http_publish(struct exporter_http *http, struct exporter_text texts[EXPORTER_FORMS]);

/* The port that it listens on. */
uint16_t exporter_http_port(const struct exporter_http *http);

/* The process; 0: there is none. */
pid_t exporter_http_child(const struct exporter_http *http);

/* Cuts what is being sent. NULL is allowed. */
void exporter_http_close(struct exporter_http *http);

#endif
