/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "outputs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/blocking.h"
#include "cli/base/columns.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/metrics/metric_sample.h"
#include "cli/metrics/metric_values.h"
#include "cli/model/summary.h"
#include "baseline.h"
#include "exporter.h"
#include "output_file.h"
#include "output_path.h"

/* Destination of the text if a command owns standard output. */
static const char TO_ERRORS[] = "/dev/stderr";

#define MOVING_ALPHA 0.2 /* the weight of a new sample in moving averages */

struct output_of_run {
	const struct output_format *format;
	const char *name; /* for messages */
	bool is_stdout, limited;
	const struct csv_table *table; /* table of the format; NULL: none */
	char *path;                    /* file of the table */
	struct output_file *file;
	struct buffer {
		FILE *stream; /* NULL: none */
		char *text;
		size_t length;
	} buffered,    /* for a pager */
		marks; /* of a file's next record */
	struct report_options report;
	struct metrics *metrics;
	bool each;                /* metrics: one record per sample, rather than the total so far */
	uint64_t samples, others; /* that it has; records of other kinds */
	uint64_t rows;            /* of the samples, if the format has them */
	bool held, kept;          /* the record at hand: it is complete, and in its file */
};

struct outputs {
	bool replayed;                       /* samples of another run */
	uint64_t count;                      /* samples so far */
	struct baseline *baseline;           /* NULL: none */
	const struct comparison *comparison; /* owned by the baseline; NULL: not yet made */
	struct summary *summary;             /* NULL: not wanted */
	struct timespec when;                /* time of the last sample */
	uint64_t left_out;                   /* waits of all samples that filters left out */
	size_t n;
	struct output_of_run all[OUTPUTS_MAX * CSV_TABLES];
	struct exporter *exporter; /* NULL: none */
};

/* Subject of a record: one of these. */
struct subject {
	const struct sample *sample;
	const struct trigger_stats *triggers;
	const struct timespec *skipped; /* the end of the window */
	const struct summary *summary;
	const struct comparison *comparison;
	uint64_t delta;
};

/* --- Errors --- */

static exit_status output_failed(const struct output_of_run *output, int error)
{
	if (error == -ENOMEM)
		return log_no_memory();
	if (error == -ELOOP) {
		log_error(
			"cannot write %s: it is, or leads through, a symbolic link in a directory "
			"that others can write to",
			output->name);
		log_hint("name the file itself, or take a directory of your own");
		return EX_IOERR;
	}
	if (output->is_stdout && error == -EPIPE)
		return log_write_failed(output->name, error);
	log_error("cannot write %s: %s", output->name, strerror(-error));
	switch (error) {
	case -ENOSPC:
		log_hint("is the disk full?");
		break;
	case -EPIPE:
		log_hint("has the reader gone away?");
		break;
	case -ENOENT:
		log_hint("does the directory exist?");
		break;
	case -EFBIG:
		log_hint(output->limited ? "a sample is larger than its limit"
					 : "the shell's `ulimit -f` limits files");
		break;
	}
	return EX_IOERR;
}

/* --- Opening and closing --- */

static void buffer_begin(struct buffer *buffer)
{
	buffer->stream = open_memstream(&buffer->text, &buffer->length);
}

static void buffer_discard(struct buffer *buffer)
{
	if (buffer->stream)
		fclose(buffer->stream);
	free(buffer->text);
	*buffer = (struct buffer){ .stream = NULL };
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

static exit_status output_open(struct outputs *outputs, const struct output *wanted,
			       const struct outputs_config *config, bool single);

/* Opens an output for each table of a format. */
static exit_status tables_open(struct outputs *outputs, const struct output *wanted,
			       const struct outputs_config *config, bool single)
{
	char directory[PATH_MAX];
	int error = output_directory_make(directory, wanted->file, wanted->settings.mode);
	int status = 0;

	if (error == -EINVAL) {
		log_error("the directory of --output csv cannot have %%n or %%t in its name");
		log_hint("all samples of a run go into the same tables");
		return EX_USAGE;
	}
	if (error) {
		outputs->all[outputs->n].name = wanted->file;
		return output_failed(&outputs->all[outputs->n], error);
	}
	for (const struct csv_table *table = wanted->format->tables; table->name && !status;
	     table++) {
		struct output_of_run *output = &outputs->all[outputs->n];
		struct output file = { .format = wanted->format, .settings = wanted->settings };

		output->table = table;
		if (asprintf(&output->path, "%s/%s.csv", directory, table->name) < 0) {
			output->path = NULL;
			return log_no_memory();
		}
		file.file = output->path;
		status = output_open(outputs, &file, config, single);
	}
	return status;
}

static exit_status refuse_twice(const struct outputs *outputs)
{
	const struct output_of_run *last = &outputs->all[outputs->n - 1];

	for (const struct output_of_run *other = outputs->all; other < last; other++) {
		if (!output_file_is_same(last->file, other->file))
			continue;
		log_error("option --output: %s and %s are the same file", other->name, last->name);
		log_hint("give each output a file of its own");
		return EX_USAGE;
	}
	return 0;
}

static exit_status output_open(struct outputs *outputs, const struct output *wanted,
			       const struct outputs_config *config, bool single)
{
	const struct output_settings *settings = &wanted->settings;
	struct output_of_run *output = &outputs->all[outputs->n];
	const struct output_file_config file = {
		.path = wanted->file,
		.gather = !wanted->format->metrics,
		.mode = settings->mode,
		.limit = settings->limit,
	};
	int error;

	if (wanted->format->tables && !output->table)
		return tables_open(outputs, wanted, config, single);
	outputs->n++;
	output->format = wanted->format;
	output->name = !wanted->file               ? "standard output"
		       : wanted->file == TO_ERRORS ? "standard error"
						   : wanted->file;
	output->is_stdout = !wanted->file;
	output->limited = settings->limit;
	output->each = wanted->file && output_path_varies(wanted->file);
	output->report = settings->report;
	output->report.waits_per_thread = settings->report.per_thread;
	output->report.per_thread |= output->each || single;
	if (!wanted->file || wanted->file == TO_ERRORS)
		output->report.bold = pager_color(settings->color,
						  wanted->file ? STDERR_FILENO : STDOUT_FILENO);
	if (!wanted->file && output->format == output_format_at(0) && config->one &&
	    !settings->no_pager && pager_is_usable())
		buffer_begin(&output->buffered);
	error = output_file_open(&output->file, &file);
	if (!error && wanted->format->is_binary && output_file_is_terminal(output->file)) {
		log_error("%s is a terminal, and --output %s is not text", output->name,
			  wanted->format->name);
		log_hint("give %s:FILE", wanted->format->name);
		return EX_USAGE;
	}
	if (!error && wanted->format->metrics)
		error = metrics_begin(output);
	return error ? output_failed(output, error) : refuse_twice(outputs);
}

exit_status outputs_open(struct outputs **out, const struct outputs_config *config, pid_t pid,
			 const struct capture *capture)
{
	const struct output by_default = { .format = output_format_at(0),
					   .file = config->has_command ? TO_ERRORS : NULL,
					   .settings = config->settings };
	const struct exporter_config exporter = {
		.address = config->address,
		.port = config->port,
		.allowed = config->allow_host,
		.pid = pid,
		.capture = capture,
		.report = config->served.settings.report,
	};
	struct outputs *outputs = calloc(1, sizeof(*outputs));
	/* A single sample has no series to continue under other TIDs. For replayed samples, the
	 * first one tells: outputs_follow(). */
	bool single = capture && capture->sample_count == 1;
	bool unasked = config->listen || config->live; /* samples are visible elsewhere */
	int status = 0;

	*out = outputs;
	if (!outputs)
		return log_no_memory();
	/* A single sample needs no summary. */
	if (!single && (!unasked || config->n))
		outputs->summary = summary_new(MOVING_ALPHA);
	outputs->replayed = !capture;
	clock_gettime(CLOCK_REALTIME, &outputs->when);
	blocking_begin();
	if (config->compare)
		status = baseline_open(&outputs->baseline, config->compare);
	if (!status && !config->n && !config->quiet && !unasked)
		status = output_open(outputs, &by_default, config, single);
	for (size_t i = 0; i < config->n && !status; i++)
		status = output_open(outputs, &config->all[i], config, single);
	if (!status && config->listen)
		status = exporter_open(&outputs->exporter, &exporter);
	blocking_end();
	return status;
}

exit_status outputs_read_baseline(struct outputs *outputs, uint64_t sample_time)
{
	int status;

	if (!outputs->baseline)
		return 0;
	blocking_begin();
	status = baseline_read(outputs->baseline, sample_time);
	blocking_end();
	return status;
}

exit_status outputs_show(struct outputs *outputs)
{
	int error = 0;

	for (size_t i = 0; outputs && i < outputs->n && !error; i++) {
		struct output_of_run *output = &outputs->all[i];

		if (!output->buffered.stream)
			continue;
		log_progress_end();
		error = fflush(output->buffered.stream)
				? -ENOMEM
				: pager_show(output->buffered.text, output->buffered.length);
		buffer_discard(&output->buffered);
		if (error)
			return output_failed(output, error);
	}
	return 0;
}

void outputs_close(struct outputs *outputs)
{
	if (!outputs)
		return;
	blocking_begin();
	for (size_t i = 0; i < outputs->n; i++) {
		buffer_discard(&outputs->all[i].buffered);
		buffer_discard(&outputs->all[i].marks);
		metrics_free(outputs->all[i].metrics);
		output_file_close(outputs->all[i].file);
		free(outputs->all[i].path);
	}
	blocking_end();
	exporter_close(outputs->exporter);
	summary_free(outputs->summary);
	baseline_free(outputs->baseline);
	free(outputs);
}

/* --- Records --- */

/* Writes the marks kept for this record. */
static int marks_write(struct output_of_run *output, FILE *out)
{
	struct buffer *marks = &output->marks;
	int error = 0;

	if (!marks->stream)
		return 0;
	if (fflush(marks->stream))
		error = -ENOMEM;
	else if (fwrite(marks->text, 1, marks->length, out) != marks->length)
		error = -(errno ?: EIO);
	buffer_discard(marks);
	return error;
}

/* Writes a sample. Uses and updates what its file already shows, which is in options. Returns as
 * the format does. */
static int output_format_sample(const struct output_format *format, const struct sample *sample,
				struct report_options *options, bool is_new, FILE *out)
{
	int rows;

	if (is_new)
		options->shown_from = options->shown_until = 0;
	rows = format->sample(sample, options, out);
	options->shown_from = sample->recording ? sample->recording->from : sample->start;
	options->shown_until = sample->end;
	return rows;
}

/* Returns a number of rows, or a negative errno. */
static int subject_print(struct output_of_run *output, const struct subject *subject, FILE *out)
{
	const struct output_format *format = output->format;
	int error = 0;

	if (format->begin && output_file_is_new(output->file))
		error = format->begin(out);
	if (error)
		return error;
	if (format->metrics)
		return format->metrics(output->metrics, out);
	if (output->table)
		return (output_file_is_new(output->file) ? csv_write_header(output->table, out) : 0)
			       ?: csv_write_rows(output->table, subject->sample, out);
	if (subject->sample)
		return output_format_sample(format, subject->sample, &output->report,
					    !output_file_is_stream(output->file) &&
						    output_file_is_new(output->file),
					    out);
	if (subject->summary)
		return format->summary(subject->summary, &output->report, out);
	if (subject->comparison)
		return format->comparison(subject->comparison, &output->report, out);
	if (subject->skipped)
		return format->skipped(out, subject->delta, subject->skipped);
	return format->triggers(subject->triggers, out);
}

static int subject_write(struct output_of_run *output, const struct subject *subject, FILE *out)
{
	int rows = subject_print(output, subject, out);

	if (rows < 0)
		return rows;
	output->rows += (uint64_t)rows;
	output->samples += subject->sample != NULL;
	output->others += !subject->sample;
	return 0;
}

/* True if the format writes such records. */
static bool subject_has_form(const struct subject *subject, const struct output_format *format)
{
	return subject->sample       ? format->sample || format->tables
	       : subject->skipped    ? !!format->skipped
	       : subject->summary    ? !!format->summary
	       : subject->comparison ? !!format->comparison
				     : !!format->triggers;
}

static exit_status record_write(struct outputs *outputs, struct output_of_run *output,
				const struct subject *subject)
{
	FILE *out;
	int error;

	if (output->buffered.stream) {
		error = subject_write(output, subject, output->buffered.stream);
		return error ? output_failed(output, error) : 0;
	}
	if (output_file_is_stream(output->file))
		log_progress_end(); /* both may be on the screen */
	error = output_file_begin(output->file, outputs->count, &outputs->when, &out);
	if (!error)
		error = output_file_hold(output->file,
					 marks_write(output, out)
						 ?: subject_write(output, subject, out));
	output->held = !error;
	return error ? output_failed(output, error) : 0;
}

/* Each record replaces a file of metrics. A stream only takes one text, at the end. */
static exit_status metrics_record(struct outputs *outputs, struct output_of_run *output,
				  const struct subject *subject)
{
	int error = 0;

	if (subject->sample && output->each)
		error = metrics_begin(output);
	if (!error && subject->sample)
		error = metrics_add(output->metrics, subject->sample);
	if (!error && subject->triggers)
		error = metrics_add_triggers(output->metrics, subject->triggers);
	if (!error && subject->summary)
		error = metrics_add_summary(output->metrics, subject->summary);
	if (error)
		return output_failed(output, error);
	if (!output_file_is_stream(output->file))
		return record_write(outputs, output, subject);
	output->samples += subject->sample != NULL;
	return 0;
}

/* Moves the records that are held to their files. What is appended comes first, as it takes room on
 * the disk once more; only a record that replaced another cannot be undone. */
static exit_status records_keep(struct outputs *outputs)
{
	int status = 0, error;

	for (unsigned int replaced = 0; replaced < 2; replaced++)
		for (size_t i = 0; i < outputs->n && !status; i++) {
			struct output_of_run *output = &outputs->all[i];

			if (!output->held || output_file_is_new(output->file) != replaced)
				continue;
			error = output_file_keep(output->file);
			output->held = false;
			output->kept = !error;
			status = error ? output_failed(output, error) : 0;
		}
	return status;
}

/* If one cannot be written, as the disk may be full, nobody has the record. */
static void records_settle(struct outputs *outputs, bool failed)
{
	for (size_t i = 0; i < outputs->n; i++) {
		struct output_of_run *output = &outputs->all[i];

		if (output->held)
			output_file_drop(output->file);
		if (output->kept && failed)
			output_file_undo(output->file);
		output->held = output->kept = false;
	}
}

static exit_status outputs_record(struct outputs *outputs, const struct subject *subject)
{
	int status = 0;

	blocking_begin();
	for (size_t i = 0; i < outputs->n && !status; i++) {
		struct output_of_run *output = &outputs->all[i];

		if (output->metrics && !subject->skipped && !subject->comparison)
			status = metrics_record(outputs, output, subject);
		else if (subject_has_form(subject, output->format))
			status = record_write(outputs, output, subject);
	}
	status = status ?: records_keep(outputs);
	records_settle(outputs, status);
	blocking_end();
	return status;
}

/* Gives metrics the labels of the run that took the first sample. */
static exit_status outputs_follow(struct outputs *outputs, const struct sample *first)
{
	int error = 0;

	if (!first->capture || first->capture->sample_count != 1)
		return 0;
	for (size_t i = 0; i < outputs->n && !error; i++) {
		struct output_of_run *output = &outputs->all[i];

		output->report.per_thread = true;
		if (output->metrics)
			error = metrics_begin(output);
		if (error)
			return output_failed(output, error);
	}
	return 0;
}

static exit_status samples_take(struct outputs *outputs, const struct sample *sample)
{
	outputs->left_out += sample->traces.left_out;
	if (outputs->summary && !sample_is_triggered(sample) &&
	    summary_add(outputs->summary, sample))
		return log_no_memory();
	return outputs->baseline ? baseline_add(outputs->baseline, sample) : 0;
}

exit_status outputs_write(struct outputs *outputs, const struct sample *sample)
{
	const struct subject subject = { .sample = sample };
	int status = 0;

	outputs->when = sample->wall_dump;
	if (!outputs->count++ && outputs->replayed)
		status = outputs_follow(outputs, sample);
	return status ?: outputs_record(outputs, &subject)
		      ?: samples_take(outputs, sample)
		      ?: exporter_add(outputs->exporter, sample);
}

exit_status outputs_skipped(struct outputs *outputs, uint64_t delta, const struct timespec *when)
{
	return outputs_record(outputs, &(struct subject){ .skipped = when, .delta = delta });
}

exit_status outputs_triggers(struct outputs *outputs, const struct trigger_stats *stats)
{
	return outputs_record(outputs, &(struct subject){ .triggers = stats });
}

exit_status outputs_triggers_now(struct outputs *outputs, const struct trigger_stats *stats)
{
	return exporter_add_triggers(outputs->exporter, stats);
}

bool outputs_are_served(const struct outputs *outputs)
{
	return outputs->exporter;
}

pid_t outputs_child(const struct outputs *outputs)
{
	return outputs ? exporter_child(outputs->exporter) : 0;
}

exit_status outputs_refresh(struct outputs *outputs)
{
	return exporter_refresh(outputs->exporter);
}

static exit_status comparison_write(struct outputs *outputs)
{
	struct subject subject = { 0 };
	int status;

	if (!outputs->baseline)
		return 0;
	status = baseline_compare(outputs->baseline, &subject.comparison);
	outputs->comparison = status ? NULL : subject.comparison;
	return status ? status : outputs_record(outputs, &subject);
}

const struct comparison *outputs_comparison(const struct outputs *outputs)
{
	return outputs->comparison;
}

/* Says of an output that there is nothing in it, and why. Some tables have no rows of a sample. */
static void empty_tell(const struct outputs *outputs, const struct output_of_run *output)
{
	bool is_first = !output->table || output->table == output->format->tables;

	if (is_first && !output->samples && !output->others)
		log_warn("%s: nothing was written, as there is no sample", output->name);
	else if (output->samples && output->format->needs_stacks && !output->rows)
		log_warn("%s: there is no stack in it: %s%s", output->name,
			 outputs->left_out ? "waits that --wait-filter left out: "
					   : "nothing was long enough, or seen running",
			 outputs->left_out ? GROUPED(outputs->left_out) : "");
}

void outputs_tell(const struct outputs *outputs)
{
	for (size_t i = 0; i < outputs->n; i++) {
		const struct output_of_run *output = &outputs->all[i];
		const char *rows = output->format->rows;
		const char *one = output->samples == 1 ? "" : "s";

		if (rows)
			log_note("%s: %s %s of %s sample%s", output->name, GROUPED(output->rows),
				 output->rows == 1 ? output->format->row : rows,
				 GROUPED(output->samples), one);
		else
			log_note("%s: %s sample%s", output->name, GROUPED(output->samples), one);
	}
}

exit_status outputs_finish(struct outputs *outputs)
{
	const struct subject nothing = { 0 }, summary = { .summary = outputs->summary };
	int status = 0;

	if (outputs->summary && outputs->summary->samples > 1)
		status = outputs_record(outputs, &summary);
	status = status ?: comparison_write(outputs);
	blocking_begin();
	for (size_t i = 0; i < outputs->n && !status; i++)
		if (outputs->all[i].metrics && output_file_is_stream(outputs->all[i].file))
			status = record_write(outputs, &outputs->all[i], &nothing);
	blocking_end();
	/* Without any sample, a live run says why. */
	for (size_t i = 0; i < outputs->n && !status && (outputs->count || outputs->replayed); i++)
		empty_tell(outputs, &outputs->all[i]);
	return status;
}

/* Streams get a mark at once: it says that the sample has begun. */
static int mark_write(struct outputs *outputs, struct output_of_run *output, const char *what,
		      uint64_t trigger, const struct timespec *when)
{
	FILE *out;

	if (output->buffered.stream)
		return output->format->mark(output->buffered.stream, what, trigger, when);
	if (!output_file_is_stream(output->file)) {
		if (!output->marks.stream)
			buffer_begin(&output->marks);
		if (!output->marks.stream)
			return -errno;
		return output->format->mark(output->marks.stream, what, trigger, when);
	}
	log_progress_end();
	return output_file_begin(output->file, outputs->count, when, &out)
		       ?: output_file_end(output->file,
					  output->format->mark(out, what, trigger, when));
}

exit_status outputs_mark(struct outputs *outputs, const char *what, uint64_t trigger,
			 const struct timespec *when)
{
	int status = 0;

	blocking_begin();
	for (size_t i = 0; i < outputs->n && !status; i++) {
		struct output_of_run *output = &outputs->all[i];
		int error = output->format->mark ? mark_write(outputs, output, what, trigger, when)
						 : 0;

		status = error ? output_failed(output, error) : 0;
	}
	blocking_end();
	return status;
}

bool outputs_have_samples(const struct outputs *outputs)
{
	for (size_t i = 0; i < outputs->n; i++)
		if (outputs->all[i].format->sample && !outputs->all[i].format->needs_stacks)
			return true;
	return false;
}

bool outputs_have_pager(const struct outputs *outputs)
{
	for (size_t i = 0; i < outputs->n; i++)
		if (outputs->all[i].buffered.stream)
			return true;
	return false;
}

bool outputs_have_text(const struct outputs *outputs)
{
	for (size_t i = 0; i < outputs->n; i++)
		if (outputs->all[i].format == output_format_at(0))
			return true;
	return false;
}
