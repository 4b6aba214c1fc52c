/* SPDX-License-Identifier: Apache-2.0 */
/* The text of metrics. */
#ifndef METRIC_TEXT_H
#define METRIC_TEXT_H

#include "metrics.h"

/* OpenMetrics 1.0, application/openmetrics-text, which Prometheus prefers. Writes all values so
 * far and flushes. Returns 0 or a negative errno. */
int metrics_write_openmetrics(const struct metrics *metrics, FILE *out);

/* Older text format, text/plain; version=0.0.4, which node_exporter's textfile collector reads.
 * Has no infos, which become gauges, and no units. */
int metrics_write_prometheus(const struct metrics *metrics, FILE *out);

#endif
