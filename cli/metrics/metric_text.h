/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics as text. */
#ifndef METRIC_TEXT_H
#define METRIC_TEXT_H

#include <stdio.h>

#include "metrics.h"

#define METRIC_TIME_LEN 40

/* Writes ns as seconds with nine decimals, digits only. Returns the length. */
size_t metric_text_seconds(char text[static METRIC_TIME_LEN], uint64_t ns);

/* OpenMetrics 1.0, application/openmetrics-text: what Prometheus asks for first. Writes and flushes
 * what was added up so far. Returns 0 or a negative errno. */
int metrics_write_openmetrics(const struct metrics *metrics, FILE *out);

/* The same of a single sample, all of it. */
int report_openmetrics(const struct sample *sample, const struct report_options *options,
		       FILE *out);

/* The older text format, text/plain; version=0.0.4: the one that the textfile collector of
 * node_exporter takes. It knows neither infos, which are gauges here, nor units. */
int metrics_write_prometheus(const struct metrics *metrics, FILE *out);

/* The same of a single sample, all of it. */
int report_prometheus(const struct sample *sample, const struct report_options *options, FILE *out);

#endif
