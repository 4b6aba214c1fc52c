// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "csv.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "cli/base/clock.h"
#include "cli/base/columns.h"
#include "cli/base/escape.h"
#include "cli/base/syscall_set.h"
#include "cli/model/figures.h"
#include "cli/model/losses.h"
#include "cli/model/measure.h"
#include "cli/model/verdict.h"
#include "cli/model/thread_row.h"
#include "cli/model/words.h"

/* --- Lines of fields --- */

struct csv_writer {
	struct columns columns;
	bool comma;  /* before the next field */
	char id[64]; /* of the sample */
	int lines;   /* so far */
};

#define TEXT_MOST 512

static void field_begin(struct csv_writer *writer)
{
	columns_add(&writer->columns, writer->comma ? "," : "");
	writer->comma = true;
}

/* Adds a constant without need for quotes: letters, digits. */
static void csv_word(struct csv_writer *writer, const char *word)
{
	field_begin(writer);
	columns_add(&writer->columns, word);
}

static void csv_u64(struct csv_writer *writer, uint64_t number)
{
	field_begin(writer);
	columns_count(&writer->columns, number, 0);
}

static void csv_i64(struct csv_writer *writer, int64_t number)
{
	field_begin(writer);
	columns_add(&writer->columns, number < 0 ? "-" : "");
	columns_count(&writer->columns, number < 0 ? -(uint64_t)number : (uint64_t)number, 0);
}

static void csv_bool(struct csv_writer *writer, bool truth)
{
	csv_word(writer, truth ? "true" : "false");
}

#define NOTHING "" /* an empty field: unknown */

/* Adds foreign text, up to length bytes or a NUL. Escaped as in the text report, so that it is
 * one line of valid UTF-8; quoted if it has commas or quotes; after an apostrophe if it starts
 * like a spreadsheet formula. */
static void csv_text(struct csv_writer *writer, const char *text, size_t length)
{
	/* Spreadsheets take it for a formula, which may start programs, unless it is marked as
	 * text. Tabs and the like are escaped. */
	const char *mark = length && *text && strchr("=+-@", *text) ? "'" : "";
	char escaped[ESCAPE_SIZE(TEXT_MOST)];

	field_begin(writer);
	escape_text(escaped, sizeof(escaped), text, length < TEXT_MOST ? length : TEXT_MOST);
	if (!strpbrk(escaped, ",\"")) {
		columns_add(&writer->columns, mark);
		columns_add(&writer->columns, escaped);
		return;
	}
	columns_add(&writer->columns, "\"");
	columns_add(&writer->columns, mark);
	for (const char *at = escaped; *at;) {
		size_t plain = strcspn(at, "\"");

		columns_bytes(&writer->columns, at, plain);
		at += plain;
		columns_add(&writer->columns, *at ? "\"\"" : "");
		at += *at == '"';
	}
	columns_add(&writer->columns, "\"");
}

/* Ends a line with CR and LF, as in RFC 4180. */
static void csv_line_end(struct csv_writer *writer)
{
	columns_add(&writer->columns, "\r\n");
	writer->lines++;
	writer->comma = false;
}

/* --- Leading columns of all tables --- */

#define SAMPLE_COLUMNS "host,sample"
#define THREAD_COLUMNS "tid,pid,process_start_ns,thread"
#define COUNT_COLUMNS "count,total_ns,max_ns"

static void line_begin(struct csv_writer *writer, const struct sample *sample)
{
	const char *host = sample->capture ? sample->capture->host : "";

	csv_text(writer, host, SIZE_MAX);
	csv_word(writer, writer->id);
}

static void thread_begin(struct csv_writer *writer, const struct sample *sample,
			 const struct thread_row *thread)
{
	line_begin(writer, sample);
	csv_i64(writer, thread->tid);
	csv_i64(writer, thread_pid(sample, thread));
	csv_u64(writer, thread->process_start);
	csv_text(writer, thread->name, sizeof(thread->name));
}

static void counts_add(struct csv_writer *writer, uint64_t count, uint64_t total, uint64_t max)
{
	csv_u64(writer, count);
	csv_u64(writer, total);
	csv_u64(writer, max);
}

/* A line of a table about threads. */
static void count_line(struct csv_writer *writer, const struct sample *sample,
		       const struct thread_row *thread, const char *kind, const char *name,
		       const struct kd_count *count)
{
	thread_begin(writer, sample, thread);
	csv_word(writer, kind);
	csv_text(writer, name, SIZE_MAX);
	counts_add(writer, count->count, count->total, count->max);
	csv_line_end(writer);
}

/* --- samples --- */

#define SAMPLES_COLUMNS                                                                            \
	"number,time,process,pid,version,kernel,start_ns,end_ns,duration_ns,interrupted,"          \
	"target_exited,expired,overloaded,threads,busy_ns,kept_ns,unexplained_ns,lost"

static int samples_more(struct csv_writer *writer)
{
	for (size_t i = 0; i < LOSSES; i++) {
		csv_word(writer, "lost_");
		columns_add(&writer->columns, losses[i].key);
	}
#define TIME_HEADER(member, key, ...) csv_word(writer, key);
	EACH_THREAD_TIME(TIME_HEADER)
	return 0;
}

/* Wall clock at the window's start, in UTC; in old files, that of the report. */
static struct timespec wall_of(const struct sample *sample)
{
	return sample->wall_start.tv_sec ? sample->wall_start : sample->wall_dump;
}

static void time_add(struct csv_writer *writer, const struct sample *sample)
{
	const struct timespec when = wall_of(sample);
	char text[64], fraction[16];
	struct tm tm;

	if (!gmtime_r(&when.tv_sec, &tm) || !strftime(text, sizeof(text), "%FT%T", &tm)) {
		csv_word(writer, NOTHING);
		return;
	}
	snprintf(fraction, sizeof(fraction), ".%06ldZ", when.tv_nsec / 1000 % 1000000);
	csv_word(writer, text);
	columns_add(&writer->columns, fraction);
}

static int samples_rows(struct csv_writer *writer, const struct sample *sample)
{
	static const struct capture unknown;
	const struct capture *capture = sample->capture ? sample->capture : &unknown;
	const struct verdict *verdict = sample->verdict;
	uint64_t threads = 0;

	for (size_t i = 0; i < sample->n_threads; i++)
		threads += sample->threads[i].members;
	line_begin(writer, sample);
	csv_u64(writer, sample->number);
	time_add(writer, sample);
	csv_text(writer, capture->process, sizeof(capture->process));
	csv_i64(writer, sample->pid);
	csv_text(writer, capture->version ? capture->version : "", SIZE_MAX);
	csv_text(writer, capture->kernel, sizeof(capture->kernel));
	csv_u64(writer, sample->start);
	csv_u64(writer, sample->end);
	csv_u64(writer, sample->end - sample->start);
	csv_bool(writer, sample->interrupted);
	csv_bool(writer, sample->target_exited);
	csv_bool(writer, sample->expired);
	csv_bool(writer, sample->overloaded);
	csv_u64(writer, threads);
	csv_u64(writer, verdict->busy);
	csv_u64(writer, verdict->delay);
	csv_u64(writer, verdict->unexplained);
	csv_u64(writer, sample_lost(sample));
	for (size_t i = 0; i < LOSSES; i++)
		csv_u64(writer, loss_count(sample, &losses[i]));
#define TIME_CELL(member, ...) csv_u64(writer, verdict->member);
	EACH_THREAD_TIME(TIME_CELL)
	csv_line_end(writer);
	return 0;
}

/* --- threads: one column per measure --- */

static int threads_more(struct csv_writer *writer)
{
	struct measures measures = { 0 };
	int error = measures_find(&measures);

	for (size_t i = 0; i < measures.n; i++) {
		char key[MEASURE_KEY];

		memcpy(key, measures.all[i].key, sizeof(key));
		for (char *dot = key; (dot = strchr(dot, '.'));)
			*dot = '_';
		csv_word(writer, key);
	}
	measures_clear(&measures);
	return error;
}

static void thread_line(struct csv_writer *writer, const struct sample *sample,
			const struct measures *measures, const struct verdict_thread *thread)
{
	thread_begin(writer, sample, thread->row);
	csv_u64(writer, thread->row->members);
	csv_bool(writer, thread->row->ended);
	for (size_t i = 0; i < measures->n; i++) {
		uint64_t figure;

		if (measure_figure(&measures->all[i], thread, &figure))
			csv_u64(writer, figure);
		else
			csv_word(writer, NOTHING);
	}
	csv_line_end(writer);
}

static int threads_rows(struct csv_writer *writer, const struct sample *sample)
{
	struct measures measures = { 0 };
	const struct verdict *verdict = sample->verdict;
	int error = measures_find(&measures);

	for (size_t i = 0; i < verdict->n_threads && !error; i++)
		thread_line(writer, sample, &measures, &verdict->threads[i]);
	measures_clear(&measures);
	return error;
}

/* --- syscalls --- */

static int syscalls_rows(struct csv_writer *writer, const struct sample *sample)
{
	for (size_t i = 0; i < sample->n_threads; i++) {
		const struct thread_row *thread = &sample->threads[i];

		for (size_t j = 0; j < thread->n_calls; j++) {
			const struct call_row *call = &thread->calls[j];
			const char *name = sample->foreign_calls ? NULL
								 : syscall_name(call->number);

			thread_begin(writer, sample, thread);
			csv_u64(writer, syscall_plain(call->number));
			csv_word(writer, syscall_mode_name(syscall_mode(call->number)));
			csv_word(writer, name ? name : "");
			counts_add(writer, call->count, call->total, call->max);
			csv_u64(writer, complete_call(thread, call).max);
			csv_line_end(writer);
		}
	}
	return 0;
}

/* --- waits: asleep by awaited kind, ready by what had the CPU --- */

static void ready_line(struct csv_writer *writer, const struct sample *sample,
		       const struct thread_row *thread, const struct culprit *culprit)
{
	char name[CULPRIT_NAME_LEN];

	thread_begin(writer, sample, thread);
	csv_word(writer, "ready");
	csv_text(writer, culprit_name(culprit, name), sizeof(name));
	csv_word(writer, NOTHING); /* the number of cases */
	csv_u64(writer, culprit_ns(culprit));
	csv_u64(writer, culprit->longest_ns);
	csv_line_end(writer);
}

static int waits_rows(struct csv_writer *writer, const struct sample *sample)
{
	for (size_t i = 0; i < sample->n_threads; i++) {
		const struct thread_row *thread = &sample->threads[i];

		for (unsigned int kind = 0; kind < KD_AWAITED_KINDS; kind++) {
			const struct kd_count *count = &thread->ledger.awaited[kind];

			if (count->count || count->total)
				count_line(writer, sample, thread, "blocked", awaited_keys[kind],
					   count);
		}
		for (size_t j = 0; j < thread->n_culprits; j++)
			ready_line(writer, sample, thread, &thread->culprits[j]);
	}
	return 0;
}

/* --- interruptions --- */

static void figures_lines(struct csv_writer *writer, const struct sample *sample,
			  const struct thread_row *thread, const char *kind,
			  const struct figures_source *source)
{
	struct figures is;

	for (size_t i = 0; source->read(source, thread, i, &is); i++)
		if (is.count)
			count_line(writer, sample, thread, kind, is.name,
				   &(struct kd_count){ is.count, is.total, is.complete.max, 0 });
}

static int interruptions_rows(struct csv_writer *writer, const struct sample *sample)
{
	static const struct {
		const char *kind;
		struct figures_source source;
	} kinds[] = {
		{ "hardirq", { .read = figures_of_list, .list = &hardirq_list } },
		{ "softirq", { .read = figures_of_list, .list = &softirq_list } },
		{ "interruption", { .read = figures_of_cause } },
	};

	for (size_t i = 0; i < sample->n_threads; i++)
		for (size_t j = 0; j < sizeof(kinds) / sizeof(*kinds); j++)
			figures_lines(writer, sample, &sample->threads[i], kinds[j].kind,
				      &kinds[j].source);
	return 0;
}

/* --- verdicts --- */

static int verdicts_rows(struct csv_writer *writer, const struct sample *sample)
{
	const struct verdict *verdict = sample->verdict;

	for (size_t i = 0; i < verdict->n_rows; i++) {
		const struct verdict_row *row = &verdict->rows[i];

		line_begin(writer, sample);
		csv_word(writer, cause_words[row->cause].key);
		csv_text(writer, row->who.comm, sizeof(row->who.comm));
		csv_i64(writer, row->who.tid);
		csv_i64(writer, row->who.pid);
		csv_u64(writer, row->ns);
		csv_u64(writer, row->count);
		csv_u64(writer, row->longest);
		csv_u64(writer, row->threads);
		csv_i64(writer, row->worst->tid);
		csv_u64(writer, row->worst_ns);
		csv_bool(writer, row->blamed);
		csv_line_end(writer);
	}
	return 0;
}

/* In output order: a sample listed in samples is complete in all tables. */
const struct csv_table csv_tables[CSV_TABLES + 1] = {
	{ "threads", THREAD_COLUMNS ",members,ended", threads_rows, threads_more },
	{ "syscalls", THREAD_COLUMNS ",number,mode,syscall," COUNT_COLUMNS ",longest_ns",
	  syscalls_rows, NULL },
	{ "waits", THREAD_COLUMNS ",state,wait_for," COUNT_COLUMNS, waits_rows, NULL },
	{ "interruptions", THREAD_COLUMNS ",kind,name," COUNT_COLUMNS, interruptions_rows, NULL },
	{ "verdicts",
	  "cause,who,who_tid,who_pid,ns,count,longest_ns,threads,worst_tid,worst_ns,blamed",
	  verdicts_rows, NULL },
	{ "samples", SAMPLES_COLUMNS, samples_rows, samples_more },
	{ .name = NULL },
};

int csv_write_header(const struct csv_table *table, FILE *out)
{
	struct csv_writer writer = { .comma = false };
	int error, failed;

	columns_begin(&writer.columns, out);
	csv_word(&writer, SAMPLE_COLUMNS);
	csv_word(&writer, table->columns);
	error = table->more ? table->more(&writer) : 0;
	csv_line_end(&writer);
	failed = columns_end(&writer.columns);
	return error ? error : failed;
}

/* A sample's ID is its start and process: no host has two such samples. */
int csv_write_rows(const struct csv_table *table, const struct sample *sample, FILE *out)
{
	struct csv_writer writer = { .comma = false };
	const struct timespec when = wall_of(sample);
	int error, failed;

	snprintf(writer.id, sizeof(writer.id), "%" PRIu64 "-%d", clock_ns(&when), (int)sample->pid);
	columns_begin(&writer.columns, out);
	error = table->rows(&writer, sample);
	failed = columns_end(&writer.columns);
	return error ? error : failed ? failed : writer.lines;
}
