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

#endif
