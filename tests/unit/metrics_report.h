/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of a single sample, as reports: all series of it, however many. */
#ifndef TESTS_UNIT_METRICS_REPORT_H
#define TESTS_UNIT_METRICS_REPORT_H

#include <errno.h>
#include <stdint.h>

#include "cli/metrics/metrics.h"
#include "cli/metrics/metric_sample.h"
#include "cli/metrics/metric_text.h"
#include "cli/metrics/metric_values.h"

static int metrics_report(const struct sample *sample, const struct report_options *options,
			  int (*write)(const struct metrics *metrics, FILE *out), FILE *out)
{
	struct metrics *metrics = metrics_new(options);
	int err;

	if (!metrics)
		return -ENOMEM;
	metrics_limit(metrics, SIZE_MAX);
	err = metrics_add(metrics, sample);
	if (!err)
		err = write(metrics, out);
	metrics_free(metrics);
	return err;
}

static int report_openmetrics(const struct sample *sample, const struct report_options *options,
			      FILE *out)
{
	return metrics_report(sample, options, metrics_write_openmetrics, out);
}

static int report_prometheus(const struct sample *sample, const struct report_options *options,
			     FILE *out)
{
	return metrics_report(sample, options, metrics_write_prometheus, out);
}

#endif
