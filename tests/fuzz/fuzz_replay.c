// SPDX-License-Identifier: Apache-2.0
/* Captures that --replay reads: what is taken for a sample can be rendered in every format,
 * saved, and read once more as the same. An input is the file. */
#define _GNU_SOURCE
#include <jansson.h>
#include <sysexits.h>

#include "cli/csv/csv.h"
#include "cli/html/html.h"
#include "cli/json/json.h"
#include "cli/json/replay.h"
#include "cli/model/summary.h"
#include "cli/output/output_format.h"
#include "cli/text/text.h"
#include "input.h"
#include "cli/metrics/metric_sample.h"
#include "cli/metrics/metric_text.h"
#include "cli/metrics/metric_values.h"

#define MEMORY_MAX (1 << 26)

static FILE *nowhere;

/* The last one that was read, saved. */
struct saved {
	char *text;
	size_t length;
};

static FILE *saved_open(struct saved *saved)
{
	FILE *out;

	free(saved->text);
	saved->text = NULL;
	out = open_memstream(&saved->text, &saved->length);
	MUST(out);
	return out;
}

static void metrics_render(const struct sample *sample)
{
	struct metrics *metrics = metrics_new(&(struct report_options){ 0 });

	MUST(metrics && !metrics_add(metrics, sample));
	MUST(!metrics_write_openmetrics(metrics, nowhere) &&
	     !metrics_write_prometheus(metrics, nowhere));
	metrics_free(metrics);
}

static void summary_render(const struct sample *sample)
{
	struct summary *summary = summary_new(0.5);
	struct saved json = { 0 };
	FILE *out = saved_open(&json);
	json_t *read;

	MUST(summary && !summary_add(summary, sample) && !summary_add(summary, sample));
	MUST(!report_text_summary(summary, &(struct report_options){ 0 }, nowhere));
	MUST(!report_json_summary(summary, NULL, out) && !fclose(out));
	read = json_loads(json.text, 0, NULL);
	MUST(read);
	json_decref(read);
	free(json.text);
	summary_free(summary);
}

static int sample_render(const struct sample *sample, void *context)
{
	const struct output_format *format;
	FILE *out = saved_open(context);

	for (int extent = REPORT_FULL; extent <= REPORT_SUMMARY; extent++)
		MUST(!report_text(sample,
				  &(struct report_options){ .extent = (enum report_extent)extent },
				  nowhere));
	for (size_t i = 1; (format = output_format_at(i)); i++) /* after the text */
		MUST(!format->sample ||
		     format->sample(sample, &(struct report_options){ 0 }, nowhere) >= 0);
	for (const struct csv_table *table = csv_tables; table->name; table++)
		MUST(csv_write_rows(table, sample, nowhere) >= 0);
	metrics_render(sample);
	summary_render(sample);
	MUST(!report_json(sample, NULL, out) && !fclose(out));
	return 0;
}

static int triggers_render(const struct trigger_stats *stats, void *context)
{
	FILE *out = saved_open(context);

	MUST(!report_text_triggers(stats, nowhere));
	MUST(!report_json_triggers(stats, out) && !fclose(out));
	return 0;
}

/* Returns the status; what is wrong must be said. */
static int document_read(const char *text, size_t length, const struct replay_handlers *handlers)
{
	struct replay_error error;
	/* A stream of no bytes cannot be opened; a line feed means as little. */
	FILE *in = length ? fmemopen((void *)text, length, "r") : fmemopen("\n", 1, "r");
	int status;

	MUST(in);
	status = replay_stream(in, handlers, &error);
	fclose(in);
	MUST(status ? status == EX_DATAERR && *error.text : !*error.text);
	return status;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	nowhere = fopen("/dev/null", "we");
	MUST(nowhere);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct saved saved = { 0 }, again = { 0 };
	struct replay_handlers handlers = { sample_render, triggers_render, &saved, MEMORY_MAX,
					    true };

	document_read((const char *)bytes, size, &handlers);
	if (saved.text) {
		handlers.context = &again;
		MUST(!document_read(saved.text, saved.length, &handlers));
		MUST(again.length == saved.length && !memcmp(again.text, saved.text, saved.length));
	}
	free(saved.text);
	free(again.text);
	return 0;
}
