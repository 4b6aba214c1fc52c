/* SPDX-License-Identifier: Apache-2.0 */
/* What the processes of a target that may be several add to the metrics. */
#ifndef METRIC_PROCESSES_H
#define METRIC_PROCESSES_H

#include "cli/model/verdict.h"
#include "metric_values.h"

/* Whether the target may be several processes: then series of threads name theirs. */
bool metric_is_several(const struct sample *sample);

/* Bytes of a process's labels, at most: a name, a container and a pod, each of whose bytes may
 * become 3, and a PID. */
#define METRIC_PROCESS_LABEL 64
#define METRIC_PROCESS_LABELS                                                                      \
	(sizeof(",process=\"\",container=\"\",pod=\"\",pid=\"2147483647\"") + 3 * KD_COMM_LEN +    \
	 2 * 3 * METRIC_PROCESS_LABEL)

/* Adds process, and container, pod and PID where there are any. process NULL: not known. */
void metric_process_labels(struct metric_labels *labels, const struct process_row *process,
			   bool with_pid);

/* Those of one process that is the target: of its container alone. */
void metric_target_labels(struct metric_labels *labels, const struct capture *capture);

/* Adds what is of processes. What fails is noted in metrics. */
void metric_take_processes(struct metrics *metrics, const struct sample *sample);

/* Adds what they used; nothing if that is not known. */
void metric_take_usages(struct metrics *metrics, const struct sample *sample);

#endif
