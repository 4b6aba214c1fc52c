// SPDX-License-Identifier: Apache-2.0
#include "metric_text.h"

#include <errno.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/base/columns.h"
#include "cli/base/parse.h"
#include "metric_family.h"
#include "metric_values.h"

#define TIME_LEN 40 /* formatted time or duration */

/* --- Families and their series --- */

/* Format-specific parts. */
struct metric_format {
	/* Writes the header of a family. */
	void (*family)(struct columns *columns, const struct metric_family *family);
	/* Formats the time of a sample; ms: since 1970. Returns the length. */
	size_t (*time)(char text[static TIME_LEN], uint64_t ms);
	const char *end; /* of the document */
};

struct writing {
	const struct metrics *metrics;
	const struct metric_format *format;
	const struct metric_family *family;
	bool is_seconds;
	char time[TIME_LEN + 1]; /* with a leading blank; "": none */
	size_t time_length;
	struct columns columns;
};

/* Formats ns as seconds with nine decimals, digits only. Returns the length. */
static size_t seconds_text(char text[static TIME_LEN], uint64_t ns)
{
	size_t length = number_plain(text, ns / NSEC_PER_SEC);
	uint64_t rest = ns % NSEC_PER_SEC;

	text[length] = '.';
	for (size_t i = 9; i > 0; i--, rest /= 10)
		text[length + i] = (char)('0' + rest % 10);
	return length + 10;
}

static void value_end(struct writing *writing, uint64_t value, bool is_seconds)
{
	char text[TIME_LEN];
	size_t length = is_seconds ? seconds_text(text, value) : number_plain(text, value);

	columns_bytes(&writing->columns, text, length);
	columns_bytes(&writing->columns, writing->time, writing->time_length);
	columns_add(&writing->columns, "\n");
}

/* Adds the name with the row's labels, and more. */
static void name_add(struct writing *writing, const char *suffix, const struct metric_row *row,
		     const char *more)
{
	struct columns *columns = &writing->columns;

	columns_add(columns, metric_family_name(writing->family));
	columns_add(columns, suffix);
	if (row->length || *more) {
		columns_add(columns, "{");
		columns_bytes(columns, row->labels, row->length);
		if (row->length && *more)
			columns_add(columns, ",");
		columns_add(columns, more);
		columns_add(columns, "}");
	}
	columns_add(columns, " ");
}

static void histogram_add(struct writing *writing, const struct metric_row *row)
{
	uint64_t count = 0;
	char le[32] = "le=\"";

	for (unsigned int i = 0; i <= METRIC_BUCKETS; i++) {
		const char *limit = i < METRIC_BUCKETS ? metric_buckets[i].le : "+Inf";

		count = u64_add(count, row->values[i]);
		strcpy(stpcpy(le + 4, limit), "\"");
		name_add(writing, "_bucket", row, le);
		value_end(writing, count, false);
	}
	name_add(writing, "_sum", row, "");
	value_end(writing, row->values[HISTOGRAM_SUM], true);
	name_add(writing, "_count", row, "");
	value_end(writing, count, false);
}

static const char *const suffixes[] = {
	[METRIC_COUNTER] = "_total",
	[METRIC_GAUGE] = "",
	[METRIC_INFO] = "_info",
	[METRIC_HISTOGRAM] = "",
};

static void row_add(struct writing *writing, const struct metric_row *row)
{
	const struct metric_family *family = writing->family;

	if (family->type == METRIC_HISTOGRAM) {
		histogram_add(writing, row);
		return;
	}
	for (size_t i = 0; i < family->n_points; i++) {
		const struct metric_point *point = &family->points[i];
		uint64_t value = metric_row_value(writing->metrics, row, point->column);

		if (!value && point->not_zero)
			continue;
		name_add(writing, suffixes[family->type], row, point->labels);
		value_end(writing, value, writing->is_seconds);
	}
}

/* True if any series will be written. */
static bool has_values(const struct metrics *metrics, const struct metric_family *family)
{
	const struct metric_rows *rows = &metrics->kinds[family->kind];

	for (size_t i = 0; i < rows->n; i++)
		for (size_t j = 0; j < family->n_points; j++)
			if (!family->points[j].not_zero ||
			    metric_row_value(metrics, rows->rows[i], family->points[j].column))
				return true;
	return false;
}

static void time_set(struct writing *writing)
{
	const struct timespec *wall = &writing->metrics->wall;

	if (!writing->metrics->options.timestamps || wall->tv_sec < 0 ||
	    (uint64_t)wall->tv_sec > UINT64_MAX / NSEC_PER_SEC)
		return;
	writing->time[0] = ' ';
	writing->time_length = 1 + writing->format->time(writing->time + 1,
							 (uint64_t)wall->tv_sec * 1000 +
								 (uint64_t)wall->tv_nsec / 1000000);
}

/* Writes and flushes all families with values. Returns 0 or a negative errno. */
static int metric_text_write(const struct metrics *metrics, const struct metric_format *format,
			     FILE *out)
{
	struct writing writing;

	writing.metrics = metrics;
	writing.format = format;
	writing.time_length = 0;
	time_set(&writing);
	columns_begin(&writing.columns, out);
	for (size_t i = 0; i < metric_n_families; i++) {
		const struct metric_family *family = &metric_families[i];
		const struct metric_rows *rows = &metrics->kinds[family->kind];

		if (!has_values(metrics, family))
			continue;
		writing.family = family;
		writing.is_seconds = !strcmp(family->unit, "seconds") || family->billionths;
		format->family(&writing.columns, family);
		for (size_t j = 0; j < rows->n; j++)
			row_add(&writing, rows->rows[j]);
	}
	columns_add(&writing.columns, format->end);
	return columns_end(&writing.columns);
}

/* --- OpenMetrics --- */

static void openmetrics_family(struct columns *columns, const struct metric_family *family)
{
	columns_print(columns, "# TYPE %s %s\n", metric_family_name(family),
		      metric_type_name(family->type));
	if (*family->unit)
		columns_print(columns, "# UNIT %s %s\n", metric_family_name(family), family->unit);
	columns_print(columns, "# HELP %s %s\n", metric_family_name(family),
		      metric_family_help(family));
}

/* In seconds. */
static size_t openmetrics_time(char text[static TIME_LEN], uint64_t ms)
{
	/* The last six of nine decimals are always 0. */
	return seconds_text(text, ms * 1000000) - 6;
}

static const struct metric_format openmetrics = { openmetrics_family, openmetrics_time, "# EOF\n" };

int metrics_write_openmetrics(const struct metrics *metrics, FILE *out)
{
	return metric_text_write(metrics, &openmetrics, out);
}

/* --- Older text format --- */

static void prometheus_family(struct columns *columns, const struct metric_family *family)
{
	const char *suffix = suffixes[family->type];

	columns_print(columns, "# HELP %s%s %s\n# TYPE %s%s %s\n", metric_family_name(family),
		      suffix, metric_family_help(family), metric_family_name(family), suffix,
		      metric_type_name(family->type == METRIC_INFO ? METRIC_GAUGE : family->type));
}

static size_t prometheus_time(char text[static TIME_LEN], uint64_t ms)
{
	return number_plain(text, ms);
}

static const struct metric_format prometheus = { prometheus_family, prometheus_time, "" };

int metrics_write_prometheus(const struct metrics *metrics, FILE *out)
{
	return metric_text_write(metrics, &prometheus, out);
}
