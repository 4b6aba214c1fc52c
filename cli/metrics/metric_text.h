/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics as text. */
#ifndef METRIC_TEXT_H
#define METRIC_TEXT_H

#include <stdio.h>

#include "metrics.h"

/* OpenMetrics 1.0, application/openmetrics-text: what Prometheus asks for first. Writes and flushes
 * what was added up so far. Returns 0 or a negative errno. */
int metrics_write_openmetrics(const struct metrics *metrics, FILE *out);

/* The older text format, text/plain; version=0.0.4: the one that the textfile collector of
 * node_exporter takes. It knows neither infos, which are gauges here, nor units. */
int metrics_write_prometheus(const struct metrics *metrics, FILE *out);

#endif
