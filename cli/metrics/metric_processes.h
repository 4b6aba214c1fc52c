/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of processes, for targets with more than one. */
#ifndef METRIC_PROCESSES_H
#define METRIC_PROCESSES_H

#include "cli/model/verdict.h"
#include "metric_values.h"

/* True if the target may have several processes: thread series then have process labels. */
bool metric_is_multiprocess(const struct sample *sample);

/* Most bytes of a process's labels: name, container and pod, each byte of which may become 3,
 * and a PID. */
#define METRIC_PROCESS_LABEL 64
#define METRIC_PROCESS_LABELS                                                                      \
	(sizeof(",process=\"\",container=\"\",pod=\"\",pid=\"2147483647\"") + 3 * KD_COMM_LEN +    \
	 2 * 3 * METRIC_PROCESS_LABEL)

/* Adds process, and container, pod and PID where present. process NULL: unknown. */
void metric_process_labels(struct metric_labels *labels, const struct process_row *process,
			   bool with_pid);

/* Adds the labels of a single target process: only its container's. */
void metric_target_labels(struct metric_labels *labels, const struct capture *capture);

/* Adds the metrics of processes. Failures are noted in metrics. */
void metric_take_processes(struct metrics *metrics, const struct sample *sample);

/* Adds their resources; nothing if unknown. */
void metric_take_usages(struct metrics *metrics, const struct sample *sample);

#endif
