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

/* How much a client wants each form, from 0 to 1; zeros: it has not said. */
struct exporter_accept {
	double quality[EXPORTER_FORMS];
};

/* Adds a header's value; what names neither form says nothing. A list is cut at each comma, as if
 * nothing were in quotes. */
void exporter_accept_add(struct exporter_accept *accept, const char *header);

/* What to answer with: OpenMetrics only to those who name it and want nothing else more. */
enum exporter_form exporter_accept_form(const struct exporter_accept *accept);

#endif
