// SPDX-License-Identifier: Apache-2.0
#include "openmetrics.h"

#include "cli/base/parse.h"
#include "metric_text.h"

static void line_add(struct columns *columns, const char *what, const char *name, const char *text)
{
	columns_add(columns, what);
	columns_add(columns, name);
	columns_add(columns, " ");
	columns_add(columns, text);
	columns_add(columns, "\n");
}

static void family_begin(struct columns *columns, const struct metric_family *family)
{
	line_add(columns, "# TYPE ", family->name, metric_type_name(family->type));
	if (*family->unit)
		line_add(columns, "# UNIT ", family->name, family->unit);
	line_add(columns, "# HELP ", family->name, family->help);
}

/* In seconds. */
static size_t time_format(char text[static METRIC_TIME_LEN], uint64_t ms)
{
	/* Of the nine decimals the last six are none. */
	return metric_text_seconds(text, ms * 1000000) - 6;
}

static const struct metric_format format = { family_begin, time_format, "# EOF\n" };

int metrics_write_openmetrics(const struct metrics *metrics, FILE *out)
{
	return metric_text_write(metrics, &format, out);
}

int report_openmetrics(const struct sample *sample, const struct report_options *options, FILE *out)
{
	return metric_text_report(sample, options, &format, out);
}
