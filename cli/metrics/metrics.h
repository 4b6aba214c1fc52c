/* SPDX-License-Identifier: Apache-2.0 */
/* Samples as metrics: families of time series, listed once (metrics.c), accumulated over the
 * samples of a run. metric_text.c writes them. */
#ifndef METRICS_H
#define METRICS_H

#include <stdio.h>

#include "cli/model/report_options.h"
#include "cli/model/sample.h"
#include "cli/model/trigger_stats.h"

struct summary;

/* Default limit of series, see metrics_limit(). */
#define METRICS_SERIES 200000

/* Accumulated values. Not thread-safe. */
struct metrics;

/* Returns an empty set; NULL without memory. Free it with metrics_free(). */
struct metrics *metrics_new(const struct report_options *options);
void metrics_free(struct metrics *metrics); /* NULL is allowed */

/* Sets the limit of series. Values without space are dropped and counted as
 * lost_events{reason="series"}. */
void metrics_limit(struct metrics *metrics, size_t series);

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

/* Upper bound on the current number of series. */
size_t metrics_series(const struct metrics *metrics);

/* Writes and flushes the list of families: a line with name, type, unit and labels, and an
 * indented help line each. Returns 0 or a negative errno. */
int metrics_list(FILE *out);

/* --- Text --- */

/* OpenMetrics 1.0, application/openmetrics-text, which Prometheus prefers. Writes all values so
 * far and flushes. Returns 0 or a negative errno. */
int metrics_write_openmetrics(const struct metrics *metrics, FILE *out);

/* Older text format, text/plain; version=0.0.4, which node_exporter's textfile collector reads.
 * Has no infos, which become gauges, and no units. */
int metrics_write_prometheus(const struct metrics *metrics, FILE *out);

#endif
