/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of a run by HTTP, while it goes on: what its samples add up to. */
#ifndef EXPORTER_H
#define EXPORTER_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/exit_status.h"
#include "cli/model/report_options.h"
#include "cli/model/sample.h"
#include "cli/model/trigger_stats.h"

struct exporter;

/* Where to listen: an address (IPv4 or IPv6, as numbers; :: takes both) and port (0:
 * any); and what for: a process, described as in its samples. */
struct exporter_config {
	const char *address;
	uint16_t port;
	const char *allowed;  /* names of hosts that requests may be for; NULL: none but its own */
	unsigned int without; /* enum sandbox_without; the program leaves none out */
	pid_t pid;
	const struct capture *capture;
	struct report_options report;
};

/* Listens and answers, at first with what is known without a sample; says so. Returns 0,
 * or after printing what failed an exit status. The caller ends it with
 * exporter_close(), also after an error. */
exit_status exporter_open(struct exporter **exporter, const struct exporter_config *config);

/* All of the following return 0, or after printing what failed an exit status; no
 * exporter, NULL, has nothing to do. None waits for a client. */

/* Adds a finished sample. */
exit_status exporter_add(struct exporter *exporter, const struct sample *sample);

/* What triggers did since the run began, in place of what was said before. */
exit_status exporter_add_triggers(struct exporter *exporter, const struct trigger_stats *stats);

/* Makes an answer of what was added, unless that has been done; to be called every few
 * milliseconds, for samples may be more frequent than answers can be made. */
exit_status exporter_refresh(struct exporter *exporter);

/* The port that it listens on. */
uint16_t exporter_port(const struct exporter *exporter);

/* The process that answers; 0: there is none. */
pid_t exporter_child(const struct exporter *exporter);

/* NULL is allowed. */
void exporter_close(struct exporter *exporter);

/* Listens on an address and port, as above (port 0: any, then *port becomes it). Returns 0, or
 * after printing what failed an exit status. The caller closes *fd, which is -1 after an error. */
exit_status exporter_socket_open(int *fd, bool *is_v6, const char *address, uint16_t *port);

#endif
