/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP process: answers with the latest published text. */
#ifndef EXPORTER_SERVER_H
#define EXPORTER_SERVER_H

#include "exporter_host.h"

/* Soname since 0.9.43, also in 1.0. Only the answering process loads it: its TLS libraries would
 * add 3 ms and 2 MB to each start of the program. */
#define HTTP_LIBRARY "libmicrohttpd.so.12"

struct exporter_server;

enum exporter_message {
	EXPORTER_SOCKET,  /* to listen on; number: IPv6; n: port */
	EXPORTER_TEXTS,   /* a file with all formats; the first one has t bytes */
	EXPORTER_STARTED, /* from the child; status: a negative errno, and the failed step */
};

/* channel: one end of packet_connect(), which delivers the listening socket, then texts; not
 * owned. Returns 0; -ENOMEM; -ELIBACC: no libmicrohttpd. */
int exporter_server_new(struct exporter_server **out, int channel,
			const struct exporter_hosts *hosts);

/* Takes the socket and the first texts. Returns 0 or a negative errno. */
int exporter_server_open(struct exporter_server *server);

/* Answers until the channel is closed: 0. Returns another -errno on failure. */
int exporter_server_run(struct exporter_server *server);

#endif
