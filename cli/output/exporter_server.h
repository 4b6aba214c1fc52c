/* SPDX-License-Identifier: Apache-2.0 */
/* What the process does that speaks HTTP: it answers with what was published last. */
#ifndef EXPORTER_SERVER_H
#define EXPORTER_SERVER_H

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

#endif
