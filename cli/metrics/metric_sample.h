/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of a sample. */
#ifndef METRIC_SAMPLE_H
#define METRIC_SAMPLE_H

#include <sys/types.h>

#include "metrics.h"

/* Call before the first sample: creates the target's series with zeros, so that the first counts
 * show as an increase. Returns 0 or -ENOMEM. */
int metrics_expect(struct metrics *metrics, const struct capture *capture, pid_t pid);

/* Adds a finished sample: counters grow and saturate; gauges are of this sample, or maxima of
 * the last minutes. Returns 0, or -ENOMEM if parts are missing. */
int metrics_add(struct metrics *metrics, const struct sample *sample);

/* Sets the trigger statistics since the run began. Returns as above. */
int metrics_add_triggers(struct metrics *metrics, const struct trigger_stats *stats);

/* Sets statistics over several samples: of all threads, and 16 measures each of up to 16
 * threads. Returns as above. */
int metrics_add_summary(struct metrics *metrics, const struct summary *summary);

#endif
