/* SPDX-License-Identifier: Apache-2.0 */
/* Samples as metrics: families of time series, listed once (metrics.c), whose values
 * add up over the samples of a run. metric_text.h writes them. */
#ifndef METRICS_H
#define METRICS_H

#include <stdio.h>

#include "cli/model/report_options.h"
#include "cli/model/sample.h"
#include "cli/model/trigger_stats.h"

struct summary;

/* Series that are kept unless metrics_limit() says otherwise. */
#define METRICS_SERIES 200000

/* What has been added up so far. Not for two threads at once. */
struct metrics;

/* Empty; NULL if there is no memory. The caller ends it with metrics_free(). */
struct metrics *metrics_new(const struct report_options *options);
void metrics_free(struct metrics *metrics); /* NULL is allowed */

/* Sets how many series are kept. Values for which there is no room are left out and
 * counted as lost_events{reason="series"}. */
void metrics_limit(struct metrics *metrics, size_t series);

/* Before the first sample: says what will be sampled, and that nothing was counted so
 * far, or else the first counts would look as if they had been there before. Returns 0
 * or -ENOMEM. */
int metrics_expect(struct metrics *metrics, const struct capture *capture, pid_t pid);

/* Adds a finished sample: counters grow, up to the largest number; gauges are of
 * this sample, or maxima of the last minutes. Returns 0, or -ENOMEM if not all of it
 * could be added. */
int metrics_add(struct metrics *metrics, const struct sample *sample);

/* Sets what triggers did since the run began. Returns as above. */
int metrics_add_triggers(struct metrics *metrics, const struct trigger_stats *stats);

/* Sets the statistics over several samples: of all threads, and of up to 16 of them 16 measures
 * each. Returns as above. */
int metrics_add_summary(struct metrics *metrics, const struct summary *summary);

/* How many series there are now, at most. */
size_t metrics_series(const struct metrics *metrics);

/* Writes and flushes the list of families: per family a line with name, type, unit
 * and labels and an indented one of help. Returns 0 or a negative errno. */
int metrics_list(FILE *out);

#endif
