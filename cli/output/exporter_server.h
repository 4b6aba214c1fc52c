/* SPDX-License-Identifier: Apache-2.0 */
/* The child that answers HTTP requests. */
#ifndef EXPORTER_SERVER_H
#define EXPORTER_SERVER_H

#include <stdbool.h>

/* --- Who may ask --- */

/* Checks that a request's Host header means this exporter. A web page can make a browser send
 * requests to the page's own name, which may be changed to one of our addresses (DNS rebinding).
 * Such requests carry that name. */

struct exporter_hosts {
	char own[256];       /* this machine's name; "": none */
	const char *allowed; /* comma-separated names, or "*"; NULL: none */
};

/* --- Format by the client's Accept header (RFC 9110, 12.5.1) --- */

enum exporter_form {
	EXPORTER_PROMETHEUS, /* text 0.0.4 */
	EXPORTER_OPENMETRICS,
	EXPORTER_FORMS,
};

/* Client's quality value per format, 0 to 1; zeros: not stated. */
struct exporter_accept {
	double quality[EXPORTER_FORMS];
};

/* --- HTTP process: answers with the latest published text --- */

/* Soname since 0.9.43, also in 1.0. Only the answering process loads it: its TLS libraries would
 * add 3 ms and 2 MB to each start of the program. */
#define HTTP_LIBRARY "libmicrohttpd.so.12"

struct exporter_server;

enum exporter_message {
	EXPORTER_SOCKET,  /* to listen on; number: IPv6; n: port */
	EXPORTER_TEXTS,   /* a file with all formats; the first one has t bytes */
	EXPORTER_STARTED, /* from the child; status: a negative errno, and the failed step */
};

/* Reads this machine's name. */
struct exporter_hosts exporter_hosts_new(const char *allowed);

/* True for addresses with or without a port, localhost and names below it, this machine's name
 * or its first label, and allowed names. */
bool exporter_host_is_allowed(const struct exporter_hosts *hosts, const char *header);

/* Adds a header's value; ignores types other than both formats. Splits lists at each comma, even
 * inside quotes. */
void exporter_accept_add(struct exporter_accept *accept, const char *header);

/* Format to answer with: OpenMetrics only if the client names it and prefers nothing else. */
enum exporter_form exporter_accept_form(const struct exporter_accept *accept);

/* channel: one end of packet_connect(), which delivers the listening socket, then texts; not
 * owned. Returns 0; -ENOMEM; -ELIBACC: no libmicrohttpd. */
int exporter_server_new(struct exporter_server **out, int channel,
			const struct exporter_hosts *hosts);

/* Takes the socket and the first texts. Returns 0 or a negative errno. */
int exporter_server_open(struct exporter_server *server);

/* Answers until the channel is closed: 0. Returns another -errno on failure. */
int exporter_server_run(struct exporter_server *server);

#endif
