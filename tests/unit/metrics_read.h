/* SPDX-License-Identifier: Apache-2.0 */
/* What metrics have, read back from their text. */
#ifndef TESTS_UNIT_METRICS_READ_H
#define TESTS_UNIT_METRICS_READ_H

#include <stdlib.h>
#include <string.h>

#include "cli/metrics/metrics.h"
#include "golden.h"
#include "judged.h"
#include "tap.h"
#include "cli/metrics/metric_sample.h"
#include "cli/metrics/metric_text.h"
#include "cli/metrics/metric_values.h"

static struct metrics *metrics_of(struct report_options options)
{
	struct metrics *metrics = metrics_new(&options);

	need(metrics);
	return metrics;
}

/* The caller frees it. */
static char *metrics_text(const struct metrics *metrics)
{
	FILE *out = tmpfile();
	size_t length;
	char *text;

	need(!metrics_write_openmetrics(metrics, out));
	text = golden_read(out, &length);
	fclose(out);
	return text;
}

/* The value of a series in a text, given as it is written but for kernel_delay_; "" if
 * there is none. For one use. */
static const char *value_in(const char *text, const char *series, size_t length)
{
	static char value[64];

	value[0] = '\0';
	for (const char *at = text; at && *at && !*value; at = strchr(at, '\n'), at += at != NULL)
		if (!strncmp(at, "kernel_delay_", 13) && !strncmp(at + 13, series, length) &&
		    at[13 + length] == ' ')
			snprintf(value, sizeof(value), "%.*s", (int)strcspn(at + 14 + length, "\n"),
				 at + 14 + length);
	return value;
}

static const char *value_of(const struct metrics *metrics, const char *series)
{
	char *text = metrics_text(metrics);
	const char *value = value_in(text, series, strlen(series));

	free(text);
	return value;
}

#define IS(series, want) is_str(value_of(metrics, series), want, series)

/* strstr() from each place on to the next takes long with sanitizers, which look at all that is
 * left. */
#define EACH_SERIES(line, text)                                                                    \
	for (const char *line = (text); *line; line = strchr(line, '\n') + 1)

/* How many series of a family there are. */
__attribute__((unused)) static size_t count_of(const struct metrics *metrics, const char *family)
{
	char *text = metrics_text(metrics);
	size_t n = 0, length = strlen(family);

	EACH_SERIES(line, text)
	{
		n += !strncmp(line, "kernel_delay_", 13) && !strncmp(line + 13, family, length) &&
		     line[13 + length] == '{';
	}
	free(text);
	return n;
}

static void add_and_clear(struct metrics *metrics, struct sample sample)
{
	is_i64(metrics_add(metrics, judged(&sample)), 0, "a sample is added");
	sample_clear(&sample);
}

#endif
