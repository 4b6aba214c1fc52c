/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "outputs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../exit_status.h"
#include "../log.h"
#include "output_file.h"
#include "output_path.h"
#include "../report/folded.h"
#include "../report/json.h"
#include "../report/openmetrics.h"
#include "../report/prometheus.h"
#include "../report/text.h"
#include "../report/text_triggers.h"

static int write_json(const struct sample *sample, FILE *out)
{
	return report_json(sample, &(struct report_options){ 0 }, out);
}

/* A format writes each sample for itself; or metrics, which are sums. */
static const struct form {
	int (*write)(const struct sample *sample, FILE *out);
	int (*write_metrics)(const struct metrics *metrics, FILE *out);
} forms[OUTPUT_FORMATS] = {
	[OUTPUT_TEXT] = { .write = report_text },
	[OUTPUT_JSON] = { .write = write_json },
	[OUTPUT_OPENMETRICS] = { .write_metrics = metrics_write_openmetrics },
	[OUTPUT_PROMETHEUS] = { .write_metrics = metrics_write_prometheus },
	[OUTPUT_FOLDED] = { .write = report_folded },
};

struct output_of_run {
	enum output_format format;
	const char *name; /* for messages */
	struct output_file *file;
	FILE *marks; /* of a file: what is kept for its next record; NULL: nothing */
	char *marks_text;
	size_t marks_length;
	struct report_options report;
	struct metrics *metrics;
	bool each; /* metrics: of each sample, not of all until then */
};

struct outputs {
	bool limited;
	uint64_t count;       /* of samples */
	struct timespec when; /* the last one's time */
	size_t n;
	struct output_of_run all[OUTPUTS_MAX];
};

/* What a record is about: one of these. */
struct subject {
	const struct sample *sample;
	const struct trigger_stats *triggers;
	const struct timespec *skipped; /* its end */
	uint64_t delta;
};

/* --- Errors --- */

static int output_failed(const struct outputs *outputs, const struct output_of_run *output,
			 int error)
{
	if (error == -ELOOP) {
		log_error(
			"cannot write %s: it is, or leads through, a symbolic link in a directory "
			"that others can write",
			output->name);
		log_hint("name the file itself, or take a directory of your own");
		return EX_IOERR;
	}
	log_error("cannot write %s: %s", output->name, strerror(-error));
	switch (error) {
	case -ENOSPC:
		log_hint("is the disk full?");
		break;
	case -EPIPE:
		log_hint("has the reader gone away?");
		break;
	case -ENOENT:
		log_hint("is there such a directory?");
		break;
	case -EFBIG:
		log_hint(outputs->limited ? "a sample is larger than --output-limit"
					  : "the shell's `ulimit -f` limits files");
		break;
	}
	return EX_IOERR;
}

/* --- Opening and closing --- */

/* Of one sample there are no series that would go on under other TIDs. */
static void report_fill(struct output_of_run *output, const struct options *options)
{
	output->report = (struct report_options){
		.per_thread = options->per_thread || output->each || options->sample_count == 1,
		.fold_names = options->fold_names,
		.max_syscalls = (unsigned int)options->max_syscalls,
		.timestamps = options->timestamps,
	};
}

static int metrics_begin(struct output_of_run *output)
{
	metrics_free(output->metrics);
	output->metrics = metrics_new(&output->report);
	if (!output->metrics)
		return -ENOMEM;
	if (output->each)
		metrics_limit(output->metrics, SIZE_MAX);
	return 0;
}

static int output_open(struct outputs *outputs, const struct options *options,
		       const struct output *wanted)
{
	struct output_of_run *output = &outputs->all[outputs->n++];
	bool metrics = forms[wanted->format].write_metrics;
	const struct output_file_config config = {
		.path = wanted->file,
		.gather = !metrics,
		.mode = options->output_mode,
		.limit = options->output_limit,
	};
	int error;

	output->format = wanted->format;
	output->name = wanted->file ? wanted->file : "standard output";
	output->each = wanted->file && output_path_varies(wanted->file);
	report_fill(output, options);
	error = output_file_open(&output->file, &config);
	if (!error && metrics)
		error = metrics_begin(output);
	return error ? output_failed(outputs, output, error) : 0;
}

int outputs_open(struct outputs **out, const struct options *options)
{
	static const struct output by_default = { .format = OUTPUT_TEXT };
	struct outputs *outputs = calloc(1, sizeof(*outputs));
	int status = 0;

	*out = outputs;
	if (!outputs) {
		log_error("no memory");
		return EX_OSERR;
	}
	outputs->limited = options->output_limit;
	clock_gettime(CLOCK_REALTIME, &outputs->when);
	if (!options->n_outputs && !options->quiet && !options->listen)
		status = output_open(outputs, options, &by_default);
	for (size_t i = 0; i < options->n_outputs && !status; i++)
		status = output_open(outputs, options, &options->outputs[i]);
	return status;
}

static void marks_discard(struct output_of_run *output)
{
	if (output->marks)
		fclose(output->marks);
	free(output->marks_text);
	output->marks = NULL;
	output->marks_text = NULL;
}

void outputs_close(struct outputs *outputs)
{
	if (!outputs)
		return;
	for (size_t i = 0; i < outputs->n; i++) {
		marks_discard(&outputs->all[i]);
		metrics_free(outputs->all[i].metrics);
		output_file_close(outputs->all[i].file);
	}
	free(outputs);
}

/* --- Records --- */

/* The marks that were kept for this record. */
static int marks_write(struct output_of_run *output, FILE *out)
{
	int error = 0;

	if (!output->marks)
		return 0;
	if (fclose(output->marks))
		error = -ENOMEM;
	else if (fwrite(output->marks_text, 1, output->marks_length, out) != output->marks_length)
		error = -(errno ?: EIO);
	output->marks = NULL;
	marks_discard(output);
	return error;
}

static int subject_write(const struct output_of_run *output, const struct subject *subject,
			 FILE *out)
{
	const struct form *form = &forms[output->format];

	if (form->write_metrics)
		return form->write_metrics(output->metrics, out);
	if (subject->sample)
		return form->write(subject->sample, out);
	if (subject->skipped)
		return report_text_skipped(out, subject->delta, subject->skipped);
	if (output->format == OUTPUT_JSON)
		return report_json_triggers(subject->triggers, out);
	return report_text_triggers(subject->triggers, out);
}

static int record_write(struct outputs *outputs, struct output_of_run *output,
			const struct subject *subject)
{
	FILE *out;
	int error = output_file_begin(output->file, outputs->count, &outputs->when, &out);

	if (!error) {
		error = marks_write(output, out);
		if (!error)
			error = subject_write(output, subject, out);
		error = output_file_end(output->file, error);
	}
	return error ? output_failed(outputs, output, error) : 0;
}

/* A file of metrics is replaced by each record. A stream takes only one text of them,
 * which comes at the end. */
static int metrics_record(struct outputs *outputs, struct output_of_run *output,
			  const struct subject *subject)
{
	int error = 0;

	if (subject->sample && output->each)
		error = metrics_begin(output);
	if (!error && subject->sample)
		error = metrics_add(output->metrics, subject->sample);
	if (!error && subject->triggers)
		error = metrics_add_triggers(output->metrics, subject->triggers);
	if (error)
		return output_failed(outputs, output, error);
	return output_file_is_stream(output->file) ? 0 : record_write(outputs, output, subject);
}

static int outputs_record(struct outputs *outputs, const struct subject *subject)
{
	int status = 0;

	for (size_t i = 0; i < outputs->n && !status; i++) {
		struct output_of_run *output = &outputs->all[i];

		if (output->metrics && !subject->skipped)
			status = metrics_record(outputs, output, subject);
		else if (subject->sample || output->format == OUTPUT_TEXT ||
			 (subject->triggers && output->format == OUTPUT_JSON))
			status = record_write(outputs, output, subject);
	}
	return status;
}

int outputs_write(struct outputs *outputs, const struct sample *sample)
{
	const struct subject subject = { .sample = sample };

	outputs->count++;
	outputs->when = sample->wall_dump;
	return outputs_record(outputs, &subject);
}

int outputs_skipped(struct outputs *outputs, uint64_t delta, const struct timespec *when)
{
	const struct subject subject = { .skipped = when, .delta = delta };

	return outputs_record(outputs, &subject);
}

int outputs_triggers(struct outputs *outputs, const struct trigger_stats *stats)
{
	const struct subject subject = { .triggers = stats };

	return outputs_record(outputs, &subject);
}

int outputs_finish(struct outputs *outputs)
{
	const struct subject nothing = { 0 };
	int status = 0;

	for (size_t i = 0; i < outputs->n && !status; i++)
		if (outputs->all[i].metrics && output_file_is_stream(outputs->all[i].file))
			status = record_write(outputs, &outputs->all[i], &nothing);
	return status;
}

/* To a stream a mark goes at once: it says that the sample has begun. */
static int mark_write(struct outputs *outputs, struct output_of_run *output, const char *what,
		      uint64_t trigger, const struct timespec *when)
{
	FILE *out;

	if (!output_file_is_stream(output->file)) {
		if (!output->marks)
			output->marks = open_memstream(&output->marks_text, &output->marks_length);
		if (!output->marks)
			return -errno;
		return report_text_mark(output->marks, what, trigger, when);
	}
	return output_file_begin(output->file, outputs->count, when, &out)
		       ?: output_file_end(output->file, report_text_mark(out, what, trigger, when));
}

int outputs_mark(struct outputs *outputs, const char *what, uint64_t trigger,
		 const struct timespec *when)
{
	int error = 0;

	for (size_t i = 0; i < outputs->n; i++) {
		struct output_of_run *output = &outputs->all[i];

		if (output->format == OUTPUT_TEXT)
			error = mark_write(outputs, output, what, trigger, when);
		if (error)
			return output_failed(outputs, output, error);
	}
	return 0;
}

bool outputs_have_text(const struct outputs *outputs)
{
	for (size_t i = 0; i < outputs->n; i++)
		if (outputs->all[i].format == OUTPUT_TEXT)
			return true;
	return false;
}
