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

#endif
