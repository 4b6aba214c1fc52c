// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "replay_parts.h"
#include "../report/json_names.h"

static void capture(struct reader *reader, const json_t *sample, const struct capture **capture)
{
	const json_t *object = reader_enter(reader, sample, "capture");
	struct capture *filled = object ? reader_memory(reader, 1, sizeof(*filled)) : NULL;

	if (filled) {
		filled->version = reader_text(reader, object, "version");
		/* With a NUL always. */
		reader_name(reader, object, "process", filled->process, sizeof(filled->process));
		reader_name(reader, object, "host", filled->host, sizeof(filled->host) - 1);
		reader_name(reader, object, "kernel", filled->kernel, sizeof(filled->kernel) - 1);
		filled->start_trigger = reader_text(reader, object, "start_trigger");
		filled->stop_trigger = reader_text(reader, object, "stop_trigger");
	}
	*capture = filled;
	reader_leave(reader);
}

/* Exactly so many digits, then a character if it is not NUL. */
static bool field(const char **text, unsigned int digits, char then, int *number)
{
	for (*number = 0; digits; digits--, ++*text) {
		if (**text < '0' || **text > '9')
			return false;
		*number = *number * 10 + **text - '0';
	}
	if (!then)
		return true;
	return *(*text)++ == then;
}

static bool fraction(const char **text, long *ns)
{
	long unit = 100000000;

	if (**text != '.')
		return true;
	for (++*text; **text >= '0' && **text <= '9' && unit; ++*text, unit /= 10)
		*ns += unit * (**text - '0');
	return (*text)[-1] != '.';
}

/* As RFC 3339 has it, in UTC. */
static bool time_parse(const char *text, struct timespec *when)
{
	struct tm tm = { 0 };
	long ns = 0;

	if (!field(&text, 4, '-', &tm.tm_year) || !field(&text, 2, '-', &tm.tm_mon) ||
	    !field(&text, 2, 'T', &tm.tm_mday) || !field(&text, 2, ':', &tm.tm_hour) ||
	    !field(&text, 2, ':', &tm.tm_min) || !field(&text, 2, '\0', &tm.tm_sec) ||
	    !fraction(&text, &ns) || strcmp(text, "Z") != 0)
		return false;
	if (tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1 || tm.tm_mday > 31 ||
	    tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec > 60)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	when->tv_sec = timegm(&tm);
	when->tv_nsec = ns;
	return true;
}

static void wall_clock(struct reader *reader, const json_t *object, struct timespec *when)
{
	const char *text = reader_text(reader, object, "time");

	if (text && !time_parse(text, when))
		reader_fail(reader, "time", "a time such as \"2026-11-21T15:04:05Z\" is expected");
}

static void window(struct reader *reader, const json_t *object, struct sample *sample)
{
	const json_t *member = reader_enter(reader, object, "window");

	reader_require(reader, member, "start_ns");
	reader_require(reader, member, "end_ns");
	sample->start = reader_u64(reader, member, "start_ns");
	sample->end = reader_u64(reader, member, "end_ns");
	sample->start_triggered = reader_has(member, "start_tid");
	sample->started_on = reader_i32(reader, member, "start_tid");
	sample->stop_triggered = reader_has(member, "stop_tid");
	sample->stopped_on = reader_i32(reader, member, "stop_tid");
	reader_leave(reader);
}

static void losses(struct reader *reader, const json_t *object, struct sample *sample)
{
	const json_t *member = reader_enter(reader, object, "losses");

	for (size_t i = 0; i < KD_LOSSES; i++)
		sample->losses[i] = reader_u64(reader, member, json_loss_keys[i]);
	sample->skipped_runs = reader_u64(reader, member, JSON_LOSS_SKIPPED_RUNS);
	sample->hidden = reader_u64(reader, member, JSON_LOSS_HIDDEN);
	sample->torn = reader_u64(reader, member, JSON_LOSS_TORN);
	sample->traces.lost = reader_u64(reader, member, JSON_LOSS_TRACES);
	sample->traces.beyond = reader_u64(reader, member, JSON_LOSS_STACKS);
	sample->traces.failed = reader_u64(reader, member, JSON_LOSS_FAILED);
	reader_leave(reader);
	sample->resynced = reader_u64(reader, object, "resynced");
}

static void absences(struct reader *reader, const json_t *object, struct sample *sample)
{
	const json_t *array, *row;
	struct absence *absent;
	size_t n;

	array = reader_array(reader, object, "absent", &n);
	absent = reader_memory(reader, n, sizeof(*absent));
	for (size_t i = 0; i < n && !reader->failed; i++) {
		row = reader_element(reader, array, "absent", i);
		reader_require(reader, row, "section");
		reader_require(reader, row, "what");
		absent[i].section = reader_phrase(reader, row, "section");
		absent[i].what = reader_phrase(reader, row, "what");
		reader_leave(reader);
	}
	sample->absent = absent;
	sample->n_absent = absent ? n : 0;
}

static void upcalls(struct reader *reader, const json_t *object, struct sample *sample)
{
	const json_t *array, *row;
	size_t n;

	array = reader_array(reader, object, "upcalls", &n);
	sample->upcalls_known = array != NULL;
	for (size_t i = 0; i < n && !reader->failed; i++) {
		struct upcall_row upcall;

		row = reader_element(reader, array, "upcalls", i);
		reader_require(reader, row, "cpu");
		upcall.cpu = reader_u32(reader, row, "cpu");
		upcall.error = reader_u32(reader, row, "error");
		upcall.count = reader_u64(reader, row, "count");
		if (sample_add_upcalls(sample, &upcall)) {
			reader->no_memory = true;
			reader_fail(reader, NULL, "no memory");
		}
		reader_leave(reader);
	}
}

static void threads(struct reader *reader, const json_t *object, struct sample *sample)
{
	const json_t *array, *row;
	size_t n;

	array = reader_array(reader, object, "threads", &n);
	sample->threads = n ? calloc(n, sizeof(*sample->threads)) : NULL;
	if (n && !sample->threads) {
		reader->no_memory = true;
		reader_fail(reader, NULL, "no memory");
	}
	for (size_t i = 0; i < n && !reader->failed; i++) {
		row = reader_element(reader, array, "threads", i);
		sample->n_threads++;
		replay_thread(reader, row, &sample->threads[i]);
		reader_leave(reader);
	}
}

/* Without the machine's table there are no names for its system calls. */
static bool is_foreign(struct reader *reader, const json_t *object)
{
	const char *machine = reader_text(reader, object, "machine");
	bool foreign = reader_bool(reader, object, "foreign_syscalls");

	return foreign || (machine && strcmp(machine, JSON_MACHINE) != 0);
}

void replay_sample(struct reader *reader, const json_t *object, struct sample *sample)
{
	capture(reader, object, &sample->capture);
	sample->number = reader_u64(reader, object, "number");
	sample->pid = reader_i32(reader, object, "pid");
	sample->foreign_calls = is_foreign(reader, object);
	wall_clock(reader, object, &sample->wall_dump);
	window(reader, object, sample);
	sample->interrupted = reader_bool(reader, object, "interrupted");
	sample->target_exited = reader_bool(reader, object, "target_exited");
	sample->expired = reader_bool(reader, object, "expired");
	sample->overloaded = reader_bool(reader, object, "overloaded");
	losses(reader, object, sample);
	absences(reader, object, sample);
	threads(reader, object, sample);
	upcalls(reader, object, sample);
	replay_traces(reader, object, &sample->traces);
}
