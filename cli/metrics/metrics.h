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

/* Writes and flushes the list of families: a line with name, type, unit and labels, and an
 * indented help line each. Returns 0 or a negative errno. */
int metrics_list(FILE *out);

#endif
