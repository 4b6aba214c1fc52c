// SPDX-License-Identifier: Apache-2.0
#include "output_format.h"

#include <string.h>

#include "cli/html/html.h"
#include "cli/json/json.h"
#include "cli/metrics/metric_text.h"
#include "cli/perfetto/perfetto.h"
#include "cli/text/text.h"

static const struct output_format formats[] = {
	{
		.name = "text",
		.suffixes = ".txt .text .log",
		.about = "the report",
		.sample = report_text,
		.triggers = report_text_triggers,
		.summary = report_text_summary,
		.comparison = report_text_comparison,
		.skipped = report_text_skipped,
		.mark = report_text_mark,
	},
	{
		.name = "json",
		.suffixes = ".json .jsonl",
		.about = "a line of JSON for each sample",
		.sample = report_json,
		.triggers = report_json_triggers,
		.summary = report_json_summary,
		.comparison = report_json_comparison,
	},
	{
		.name = "openmetrics",
		.about = "metrics as OpenMetrics 1.0",
		.metrics = metrics_write_openmetrics,
	},
	{
		.name = "prometheus",
		.suffixes = ".prom", /* as node_exporter wants it */
		.about = "metrics in Prometheus's text format 0.0.4",
		.metrics = metrics_write_prometheus,
	},
	{
		.name = "csv",
		.about = "tables for SQL, in a directory",
		.row = "row",
		.rows = "rows",
		.tables = csv_tables,
	},
	{
		.name = "html",
		.suffixes = ".html .htm",
		.about = "a page for browsers",
		.begin = html_begin,
		.sample = report_html,
		.triggers = report_html_triggers,
		.summary = report_html_summary,
		.comparison = report_html_comparison,
	},
	{
		.name = "folded",
		.suffixes = ".folded",
		.about = "stacks for flame graphs",
		.row = "stack",
		.rows = "stacks",
		.needs_stacks = true,
		.sample = report_folded,
	},
	{
		.name = "perfetto",
		.suffixes = ".pftrace .perfetto-trace",
		.about = "a timeline for ui.perfetto.dev",
		.is_binary = true,
		.sample = report_perfetto,
	},
};

const struct output_format *output_format_at(size_t index)
{
	return index < sizeof(formats) / sizeof(*formats) ? &formats[index] : NULL;
}

const struct output_format *output_format_of_suffix(const char *suffix)
{
	const size_t length = strlen(suffix);
	const struct output_format *format;

	for (size_t i = 0; (format = output_format_at(i)); i++)
		for (const char *at = format->suffixes; at && *at; at += strcspn(at, " ")) {
			at += *at == ' ';
			if (strcspn(at, " ") == length && !strncmp(at, suffix, length))
				return format;
		}
	return NULL;
}

const struct output_format *output_format_find(const char *name, size_t length)
{
	const struct output_format *format;

	for (size_t i = 0; (format = output_format_at(i)); i++)
		if (strlen(format->name) == length && !strncmp(format->name, name, length))
			break;
	return format;
}
