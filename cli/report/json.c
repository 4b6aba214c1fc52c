// SPDX-License-Identifier: Apache-2.0
#include "json.h"

#include <limits.h>

#include "../syscall_names.h"
#include "json_names.h"
#include "json_parts.h"

#define NSEC 1000000000L
/* 0000-01-01 and 9999-12-31T23:59:59: what RFC 3339 has room for. */
#define FIRST_SECOND -62167219200
#define LAST_SECOND 253402300799

static void wall_clock(struct json_writer *writer, const struct timespec *when)
{
	time_t seconds = when->tv_sec;
	long ns = when->tv_nsec;
	char text[64];
	struct tm tm;

	seconds = seconds < FIRST_SECOND ? FIRST_SECOND : seconds;
	seconds = seconds > LAST_SECOND ? LAST_SECOND : seconds;
	ns = ns < 0 ? 0 : ns >= NSEC ? NSEC - 1 : ns;
	if (!gmtime_r(&seconds, &tm))
		return;
	snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%09ldZ", tm.tm_year + 1900,
		 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, ns);
	writer_word(writer, "time", text);
}

static void optional_text(struct json_writer *writer, const char *key, const char *text)
{
	if (text)
		writer_text(writer, key, text, SIZE_MAX);
}

static void capture(struct json_writer *writer, const struct capture *capture)
{
	if (!capture)
		return;
	writer_object(writer, "capture");
	optional_text(writer, "version", capture->version);
	writer_text(writer, "process", capture->process, sizeof(capture->process));
	writer_text(writer, "host", capture->host, sizeof(capture->host));
	writer_text(writer, "kernel", capture->kernel, sizeof(capture->kernel));
	optional_text(writer, "start_trigger", capture->start_trigger);
	optional_text(writer, "stop_trigger", capture->stop_trigger);
	writer_object_end(writer);
}

static void window(struct json_writer *writer, const struct sample *sample)
{
	writer_object(writer, "window");
	writer_u64(writer, "start_ns", sample->start);
	writer_u64(writer, "end_ns", sample->end);
	writer_u64(writer, "duration_ns", sample->end - sample->start);
	if (sample->start_triggered)
		writer_i64(writer, "start_tid", sample->started_on);
	if (sample->stop_triggered)
		writer_i64(writer, "stop_tid", sample->stopped_on);
	writer_object_end(writer);
}

static void losses(struct json_writer *writer, const struct sample *sample)
{
	writer_u64(writer, "lost", sample_lost(sample));
	writer_object(writer, "losses");
	for (size_t i = 0; i < KD_LOSSES; i++)
		writer_u64(writer, json_loss_keys[i], sample->losses[i]);
	writer_u64(writer, JSON_LOSS_SKIPPED_RUNS, sample->skipped_runs);
	writer_u64(writer, JSON_LOSS_HIDDEN, sample->hidden);
	writer_u64(writer, JSON_LOSS_TORN, sample->torn);
	writer_u64(writer, JSON_LOSS_TRACES, sample->traces.lost);
	writer_u64(writer, JSON_LOSS_STACKS, sample->traces.beyond);
	writer_u64(writer, JSON_LOSS_FAILED, sample->traces.failed);
	writer_object_end(writer);
	writer_u64(writer, "resynced", sample->resynced);
}

static void absences(struct json_writer *writer, const struct sample *sample)
{
	writer_array(writer, "absent");
	for (size_t i = 0; i < sample->n_absent; i++) {
		writer_object(writer, NULL);
		writer_text(writer, "section", sample->absent[i].section, SIZE_MAX);
		writer_text(writer, "what", sample->absent[i].what, SIZE_MAX);
		writer_object_end(writer);
	}
	writer_array_end(writer);
}

static void upcalls(struct json_writer *writer, const struct sample *sample)
{
	if (!sample->upcalls_known)
		return;
	writer_array(writer, "upcalls");
	for (size_t i = 0; i < sample->n_upcalls; i++) {
		writer_object(writer, NULL);
		writer_u64(writer, "cpu", sample->upcalls[i].cpu);
		writer_u64(writer, "error", sample->upcalls[i].error);
		writer_u64(writer, "count", sample->upcalls[i].count);
		writer_object_end(writer);
	}
	writer_array_end(writer);
}

void json_syscall(struct json_writer *writer, const struct sample *sample, uint32_t number)
{
	const char *name = sample->foreign_calls ? NULL : syscall_name(number);

	writer_u64(writer, "number", number);
	if (name)
		writer_word(writer, "name", name);
}

int report_json(const struct sample *sample, const struct report_options *options, FILE *out)
{
	struct json_writer writer;

	(void)options;
	writer_begin(&writer, out);
	writer_object(&writer, NULL);
	writer_word(&writer, "schema", JSON_SCHEMA);
	writer_word(&writer, "type", JSON_SAMPLE);
	capture(&writer, sample->capture);
	writer_u64(&writer, "number", sample->number);
	writer_i64(&writer, "pid", sample->pid);
	writer_word(&writer, "machine", JSON_MACHINE);
	writer_bool(&writer, "foreign_syscalls", sample->foreign_calls);
	wall_clock(&writer, &sample->wall_dump);
	window(&writer, sample);
	writer_bool(&writer, "interrupted", sample->interrupted);
	writer_bool(&writer, "target_exited", sample->target_exited);
	writer_bool(&writer, "expired", sample->expired);
	writer_bool(&writer, "overloaded", sample->overloaded);
	losses(&writer, sample);
	absences(&writer, sample);
	writer_array(&writer, "threads");
	for (size_t i = 0; i < sample->n_threads; i++)
		json_thread(&writer, sample, &sample->threads[i]);
	writer_array_end(&writer);
	upcalls(&writer, sample);
	json_traces(&writer, sample);
	writer_object_end(&writer);
	return writer_end(&writer);
}
