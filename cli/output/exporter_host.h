/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a request's Host header means this exporter. A page of the web can make a browser ask for
 * whatever the page's own name leads to, which may change to an address of ours (DNS rebinding);
 * its requests have that name. */
#ifndef EXPORTER_HOST_H
#define EXPORTER_HOST_H

#include <stdbool.h>

struct exporter_hosts {
	char own[256];       /* this machine's name; "": it has none */
	const char *allowed; /* names with commas between them, or "*"; NULL: none */
};

/* With this machine's name. */
struct exporter_hosts exporter_hosts_new(const char *allowed);

/* True of addresses, with or without a port, localhost and names below it, this machine's name or
 * its first part, and those that are allowed. */
bool exporter_host_is_known(const struct exporter_hosts *hosts, const char *header);

/* --- Which form of metrics a client takes: what its Accept header says (RFC 9110, 12.5.1) --- */

enum exporter_form {
	EXPORTER_PROMETHEUS, /* text 0.0.4 */
	EXPORTER_OPENMETRICS,
	EXPORTER_FORMS,
};

/* What is known of a client's wishes; zeros: nothing. */
struct exporter_accept {
	struct {
		unsigned int quality; /* thousandths */
		unsigned int rank;    /* of what said so: what is more specific counts */
	} forms[EXPORTER_FORMS];
};

/* Adds a header's value. What is no media range, or one of something else, is passed
 * over. */
void exporter_accept_add(struct exporter_accept *accept, const char *header);

/* What to answer with: OpenMetrics only to those who name it; 0.0.4 also to those who
 * take neither. */
enum exporter_form exporter_accept_form(const struct exporter_accept *accept);

#endif
