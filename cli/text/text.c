/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/clock.h"
#include "cli/base/columns.h"
#include "cli/base/wall_clock.h"
#include "cli/model/sample.h"
#include "text_parts.h"

/* --- Report --- */

static void mark(struct columns *columns, const char *what, uint64_t trigger,
		 const struct timespec *when)
{
	char time[TIMESTAMP_LEN];

	timestamp_format(time, when);
	columns_print(columns, "# %s", what);
	if (trigger)
		columns_print(columns, " (trigger@%" PRIu64 ")", trigger);
	columns_print(columns, " @%s\n", time);
}

int report_text_mark(FILE *out, const char *what, uint64_t trigger, const struct timespec *when)
{
	struct columns columns;

	columns_begin(&columns, out);
	mark(&columns, what, trigger, when);
	return columns_end(&columns);
}

static void title(struct columns *columns, const struct sample *sample)
{
	char what[80] = "Sample dump";

	if (sample->start_triggered && sample->stop_triggered)
		snprintf(what, sizeof(what), "Triggered sample dump, stop-start delta %s ns",
			 GROUPED(sample->end - sample->start));
	mark(columns, what, 0, &sample->wall_dump);
	text_target_labels(columns, sample->capture);
}

/* Section of all processes. */
static int full_processes(struct text *text)
{
	int error;

	if (!text_is_multiprocess(text->sample))
		return 0;
	error = text_processes(text, text->sample->n_processes);
	columns_add(&text->columns, "\n");
	return error;
}

static int full(struct text *text, const struct report_options *options)
{
	const struct sample *sample = text->sample;
	const struct thread_row *last = NULL;
	bool multiple = text_is_multiprocess(sample);
	int error = full_processes(text) ?: text_path(text);

	columns_add(&text->columns, sample->path.n_rows || sample->recorded.memory ? "\n" : "");
	text_threads_header(&text->columns);
	for (size_t i = 0; i < sample->n_threads; i++) {
		if (!text_wants_thread(options, &sample->threads[i]))
			continue;
		columns_add(&text->columns, last ? "\n" : "");
		if (multiple && (!last || process_compare(&sample->threads[i], last)))
			text_process_heading(text, &sample->threads[i]);
		last = &sample->threads[i];
		text_thread(text, &sample->threads[i]);
	}
	return error;
}

int report_text(const struct sample *sample, const struct report_options *options, FILE *out)
{
	struct text text = {
		.sample = sample,
		.brief = options->extent != REPORT_FULL,
		.bold = options->bold,
	};
	int error = 0, failed;

	columns_begin(&text.columns, out);
	title(&text.columns, sample);
	if (options->extent == REPORT_FULL)
		error = full(&text, options);
	else
		error = text_short(&text, options);
	if (options->extent != REPORT_SUMMARY) {
		text_usages(&text, options->extent == REPORT_FULL ? SIZE_MAX : options->top);
		text_upcalls(&text.columns, sample);
		error = error ?: text_interruption_list(&text.columns, sample, options);
		text_traces(&text.columns, sample, options);
		text_footer(&text);
	}
	failed = columns_end(&text.columns);
	return error ? error : failed;
}

/* --- Sentences --- */

static struct text *begin(struct text *text, const struct sample *sample, FILE *out)
{
	text->sample = sample;
	columns_begin(&text->columns, out);
	return text;
}

int report_text_verdict(const struct sample *sample, FILE *out)
{
	struct text text = { 0 };

	text_sentences(begin(&text, sample, out));
	return columns_end(&text.columns);
}

int report_text_advice(const struct sample *sample, FILE *out)
{
	struct text text = { 0 };

	text_advice(begin(&text, sample, out));
	return columns_end(&text.columns);
}

int report_text_notes(const struct sample *sample, FILE *out)
{
	struct text text = { 0 };

	text_footer(begin(&text, sample, out));
	return columns_end(&text.columns);
}
