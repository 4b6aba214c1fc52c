/* SPDX-License-Identifier: Apache-2.0 */
/* Serves the metrics of a run over HTTP while it goes on: the sum of its samples. */
#ifndef EXPORTER_H
#define EXPORTER_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/exit_status.h"
#include "cli/model/report_options.h"
#include "cli/model/sample.h"
#include "cli/model/trigger_stats.h"

struct exporter;

/* Address to listen on (numeric IPv4 or IPv6; :: takes both), port (0: any), and the process,
 * described as in its samples. */
struct exporter_config {
	const char *address;
	uint16_t port;
	const char *allowed;  /* accepted host names besides the own; NULL: none */
	unsigned int without; /* enum sandbox_without; 0 in production */
	pid_t pid;
	const struct capture *capture;
	struct report_options report;
};

/* Listens and answers, at first without samples, and prints where. Returns 0, or an exit status
 * after printing what failed. The caller calls exporter_close() in either case. */
exit_status exporter_open(struct exporter **exporter, const struct exporter_config *config);

/* All functions below return 0, or an exit status after printing what failed; a NULL exporter
 * does nothing. None waits for a client. */

exit_status exporter_add(struct exporter *exporter, const struct sample *sample);

/* Replaces the trigger statistics of the run. */
exit_status exporter_add_triggers(struct exporter *exporter, const struct trigger_stats *stats);

/* Makes a new answer if anything was added. Call every few milliseconds: samples may come faster
 * than answers can be made. */
exit_status exporter_refresh(struct exporter *exporter);

/* Port it listens on. */
uint16_t exporter_port(const struct exporter *exporter);

/* PID of the answering process; 0: none. */
pid_t exporter_child(const struct exporter *exporter);

/* NULL is allowed. */
void exporter_close(struct exporter *exporter);

/* Listens on an address and port as above (port 0: any, set in *port). Returns 0, or an exit
 * status after printing what failed. The caller closes *fd, which is -1 after an error. */
exit_status exporter_socket_open(int *fd, bool *is_v6, const char *address, uint16_t *port);

/* --- Who may ask --- */

/* Checks that a request's Host header means this exporter. A web page can make a browser send
 * requests to the page's own name, which may be changed to one of our addresses (DNS rebinding).
 * Such requests carry that name. */

struct exporter_hosts {
	char own[256];       /* this machine's name; "": none */
	const char *allowed; /* comma-separated names, or "*"; NULL: none */
};

/* Reads this machine's name. */
struct exporter_hosts exporter_hosts_new(const char *allowed);

/* True for addresses with or without a port, localhost and names below it, this machine's name
 * or its first label, and allowed names. */
bool exporter_host_is_allowed(const struct exporter_hosts *hosts, const char *header);

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

/* Adds a header's value; ignores types other than both formats. Splits lists at each comma, even
 * inside quotes. */
void exporter_accept_add(struct exporter_accept *accept, const char *header);

/* Format to answer with: OpenMetrics only if the client names it and prefers nothing else. */
enum exporter_form exporter_accept_form(const struct exporter_accept *accept);

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

/* channel: one end of packet_connect(), which delivers the listening socket, then texts; not
 * owned. Returns 0; -ENOMEM; -ELIBACC: no libmicrohttpd. */
int exporter_server_new(struct exporter_server **out, int channel,
			const struct exporter_hosts *hosts);

/* Takes the socket and the first texts. Returns 0 or a negative errno. */
int exporter_server_open(struct exporter_server *server);

/* Answers until the channel is closed: 0. Returns another -errno on failure. */
int exporter_server_run(struct exporter_server *server);

#endif
