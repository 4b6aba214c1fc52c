// SPDX-License-Identifier: Apache-2.0
#include "prometheus.h"

#include "cli/base/parse.h"
#include "metric_text.h"

static void line_add(struct columns *columns, const char *what, const struct metric_family *family,
		     const char *text)
{
	columns_add(columns, what);
	columns_add(columns, family->name);
	if (family->type == METRIC_COUNTER)
		columns_add(columns, "_total");
	else if (family->type == METRIC_INFO)
		columns_add(columns, "_info");
	columns_add(columns, " ");
	columns_add(columns, text);
	columns_add(columns, "\n");
}

static void family_begin(struct columns *columns, const struct metric_family *family)
{
	line_add(columns, "# HELP ", family, family->help);
	line_add(columns, "# TYPE ", family,
		 metric_type_name(family->type == METRIC_INFO ? METRIC_GAUGE : family->type));
}

static size_t time_format(char text[static METRIC_TIME_LEN], uint64_t ms)
{
	return number_plain(text, ms);
}

static const struct metric_format format = { family_begin, time_format, "" };

int metrics_write_prometheus(const struct metrics *metrics, FILE *out)
{
	return metric_text_write(metrics, &format, out);
}

int report_prometheus(const struct sample *sample, const struct report_options *options, FILE *out)
{
	return metric_text_report(sample, options, &format, out);
}
