/* SPDX-License-Identifier: Apache-2.0 */
/* OpenMetrics 1.0, application/openmetrics-text: what Prometheus asks for first. */
#ifndef OPENMETRICS_H
#define OPENMETRICS_H

#include <stdio.h>

#include "metrics.h"

/* Writes and flushes what was added up so far. Returns 0 or a negative errno. */
int metrics_write_openmetrics(const struct metrics *metrics, FILE *out);

/* The same of a single sample, all of it. */
int report_openmetrics(const struct sample *sample, const struct report_options *options,
		       FILE *out);

#endif
