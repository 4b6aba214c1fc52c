/* SPDX-License-Identifier: Apache-2.0 */
/* The older text format, text/plain; version=0.0.4: the one that the textfile collector
 * of node_exporter takes. It knows neither infos, which are gauges here, nor units. */
#ifndef PROMETHEUS_H
#define PROMETHEUS_H

#include <stdio.h>

#include "metrics.h"

/* Writes and flushes what was added up so far. Returns 0 or a negative errno. */
int metrics_write_prometheus(const struct metrics *metrics, FILE *out);

/* The same of a single sample, all of it. */
int report_prometheus(const struct sample *sample, const struct report_options *options, FILE *out);

#endif
