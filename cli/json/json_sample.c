// SPDX-License-Identifier: Apache-2.0
/* A sample as JSON, both ways. Keys are a promise: they are added to, never changed. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/model/field.h"
#include "cli/model/losses.h"
#include "cli/model/resource.h"
#include "cli/model/verdict.h"
#include "cli/model/words.h"
#include "json.h"
#include "json_fields.h"
#include "json_recorded.h"
#include "json_verdict.h"

static void time_write(struct json_writer *writer, const struct field *field, const void *structure)
{
	writer_time(writer, field->key,
		    (const struct timespec *)((const char *)structure + field->at));
}

static void time_read(struct reader *reader, const json_t *object, const struct field *field,
		      void *structure)
{
	reader_time(reader, object, field->key, (struct timespec *)((char *)structure + field->at));
}

static const struct json_form time_form = { time_write, time_read };

/* --- Processes; their sums are only written, since they follow from the threads --- */

#define PROCESS(key, kind, member, ...) FIELD(key, kind, struct process_row, member, __VA_ARGS__)
static const struct field process_fields[] = {
	PROCESS("pid", FIELD_I32, pid, .flags = FIELD_REQUIRED),
	PROCESS("start_ns", FIELD_U64, start, .flags = FIELD_IF_ANY),
	PROCESS("name", FIELD_NAME, name),
	PROCESS("title", FIELD_NAME, title, .flags = FIELD_IF_ANY),
	PROCESS("container", FIELD_NAME, container, .flags = FIELD_IF_ANY),
	PROCESS("image", FIELD_NAME, image, .flags = FIELD_IF_ANY),
	PROCESS("pod", FIELD_NAME, pod, .flags = FIELD_IF_ANY),
	PROCESS("members", FIELD_U32, members, .flags = FIELD_ONE),
	PROCESS("began", FIELD_BOOL, began),
	PROCESS("ended", FIELD_BOOL, ended),
	FIELDS_END,
};

/* Processes kept from running longest come first. */
static void processes_write(struct json_writer *writer, const struct field *field,
			    const void *structure)
{
	const struct sample *sample = structure;
	struct process_sum *sums = NULL;
	int error;

	if (!sample->n_processes)
		return;
	error = processes_sum(sample, &sums);
	if (error)
		writer->columns.err = writer->columns.err ?: error;
	writer_array(writer, field->key);
	for (size_t i = 0; sums && i < sample->n_processes; i++) {
		writer_object(writer, NULL);
		json_fields_write(writer, process_fields, sums[i].process);
		json_fields_write(writer, process_sum_fields, &sums[i]);
		writer_object_end(writer);
	}
	writer_array_end(writer);
	free(sums);
}

static void processes_read(struct reader *reader, const json_t *object, const struct field *field,
			   void *structure)
{
	static const struct field rows[] = {
		FIELD_LIST("processes", struct sample, processes, .fields = process_fields),
		FIELDS_END,
	};
	struct sample *sample = structure;

	json_fields_read(reader, object, rows, sample);
	processes_sort_rows(sample);
	for (size_t i = 1; i < sample->n_processes; i++) {
		const struct process_row *row = &sample->processes[i];

		if (row->pid == row[-1].pid && row->start == row[-1].start)
			reader_fail(reader, field->key, "has process %d twice", (int)row->pid);
	}
}

static const struct json_form processes_form = { processes_write, processes_read };

/* --- The critical path --- */

/* The row in words: only written, since it follows from other members. */
static void text_write(struct json_writer *writer, const struct field *field, const void *structure)
{
	char text[PATH_TEXT_LEN];

	writer_text(writer, field->key,
		    path_row_text(structure, writer->sample->foreign_calls, text), sizeof(text));
}

static const struct json_form text_form = { text_write, NULL };

#define WHO(key, kind, member, ...) FIELD(key, kind, struct path_who, member, __VA_ARGS__)
static const struct field who_fields[] = {
	WHO("kind", FIELD_WORD, kind, .words = culprit_kinds, .of = CULPRIT_KINDS),
	WHO("tid", FIELD_I32, tid, .flags = FIELD_IF_ANY),
	WHO("pid", FIELD_I32, pid, .flags = FIELD_IF_ANY),
	WHO("name", FIELD_NAME, name, .flags = FIELD_IF_ANY),
	FIELDS_END,
};

#define ROW(key, kind, member, ...) FIELD(key, kind, struct path_row, member, __VA_ARGS__)
#define STATE(key, state) ROW(key, FIELD_U64, states[state], .flags = FIELD_IF_ANY),
#define LEDGER_STATE(state, key, ...) STATE(key, state)
static const struct field state_fields[] = {
	LEDGER_WORDS(LEDGER_STATE)     /* "user" and so on */
	STATE("running", PATH_RUNNING) /* */
	STATE("unknown", PATH_UNKNOWN) /* */
	FIELDS_END,
};

static const struct field row_fields[] = {
	ROW("start_ns", FIELD_U64, start, .flags = FIELD_REQUIRED),
	ROW("end_ns", FIELD_U64, end, .flags = FIELD_REQUIRED),
	ROW("legs", FIELD_U64, legs),
	{ .key = "states_ns", .kind = FIELD_OBJECT, .fields = state_fields },
	ROW("several_threads", FIELD_BOOL, multiple_threads, .flags = FIELD_IF_ANY),
	ROW("mostly_ns", FIELD_U64, mostly),
	ROW("thread", FIELD_OBJECT, thread, .fields = recorded_thread_fields),
	ROW("state", FIELD_WORD, state, .words = path_state_keys, .of = PATH_STATES),
	ROW("awaited", FIELD_WORD, awaited, .words = awaited_keys, .of = KD_AWAITED_KINDS,
	    .flags = FIELD_IF_ANY),
	ROW("ended_by", FIELD_WORD, ended_by, .words = from_keys, .of = KD_FROM_CONTEXTS,
	    .flags = FIELD_IF_ANY),
	ROW("reason", FIELD_WORD, reason, .words = path_reason_keys, .of = PATH_REASONS,
	    .flags = FIELD_IF_ANY),
	ROW("call", FIELD_SLEPT_IN, call),
	ROW("by", FIELD_OBJECT, by, .fields = who_fields, .flags = FIELD_IF_ANY),
	JSON_FORM("text", text_form),
	FIELDS_END,
};

#define PATH(key, kind, member, ...) FIELD(key, kind, struct critical_path, member, __VA_ARGS__)
static const struct field path_fields[] = {
	PATH("thread", FIELD_OBJECT, thread, .fields = recorded_thread_fields),
	PATH("chosen", FIELD_WORD, chosen, .words = path_choice_keys, .of = PATH_CHOICES),
	PATH("start_ns", FIELD_U64, start),
	PATH("end_ns", FIELD_U64, end),
	PATH("legs", FIELD_U64, legs),
	PATH("lost_events", FIELD_U64, lost),
	FIELD_LIST("rows", struct critical_path, rows, .fields = row_fields),
	FIELDS_END,
};

/* --- The sample --- */

#define CAPTURE(key, kind, member, ...) FIELD(key, kind, struct capture, member, __VA_ARGS__)
/* Always ends in a NUL. */
#define UNAME(text, member)                                                                        \
	{                                                                                          \
		.key = (text), .kind = FIELD_NAME, .at = offsetof(struct capture, member),         \
		.size = sizeof(((struct capture *)0)->member) - 1                                  \
	}
static const struct field capture_fields[] = {
	CAPTURE("version", FIELD_TEXT, version),
	CAPTURE("process", FIELD_NAME, process),
	UNAME("host", host),
	UNAME("kernel", kernel),
	CAPTURE("start_trigger", FIELD_TEXT, start_trigger),
	CAPTURE("stop_trigger", FIELD_TEXT, stop_trigger),
	CAPTURE("sample_count", FIELD_U64, sample_count),
	CAPTURE("several_processes", FIELD_BOOL, multiple, .flags = FIELD_IF_ANY),
	CAPTURE("command", FIELD_BOOL, command, .flags = FIELD_IF_ANY),
	CAPTURE("container", FIELD_NAME, container, .flags = FIELD_IF_ANY),
	CAPTURE("image", FIELD_NAME, image, .flags = FIELD_IF_ANY),
	CAPTURE("pod", FIELD_NAME, pod, .flags = FIELD_IF_ANY),
	FIELDS_END,
};

static void capture_write(struct json_writer *writer, const struct field *field,
			  const void *structure)
{
	const struct capture *capture = ((const struct sample *)structure)->capture;

	if (!capture)
		return;
	writer_object(writer, field->key);
	json_fields_write(writer, capture_fields, capture);
	writer_object_end(writer);
}

static void capture_read(struct reader *reader, const json_t *object, const struct field *field,
			 void *structure)
{
	const json_t *member = reader_enter(reader, object, field->key);
	struct capture *capture = member ? reader_memory(reader, 1, sizeof(*capture)) : NULL;

	if (capture)
		json_fields_read(reader, member, capture_fields, capture);
	((struct sample *)structure)->capture = capture;
	reader_leave(reader);
}

static const struct json_form capture_form = { capture_write, capture_read };

static void sample_machine_write(struct json_writer *writer, const struct field *field,
				 const void *structure)
{
	writer_word(writer, field->key, JSON_MACHINE);
	writer_bool(writer, "foreign_syscalls", ((const struct sample *)structure)->foreign_calls);
}

/* Without the machine's table, its system calls have no names. */
static void sample_machine_read(struct reader *reader, const json_t *object,
				const struct field *field, void *structure)
{
	const char *machine = reader_text(reader, object, field->key);
	bool foreign = reader_bool(reader, object, "foreign_syscalls");

	((struct sample *)structure)->foreign_calls =
		foreign || (machine && strcmp(machine, JSON_MACHINE) != 0);
}

static const struct json_form machine_form = { sample_machine_write, sample_machine_read };

static void duration_write(struct json_writer *writer, const struct field *field,
			   const void *structure)
{
	(void)structure;
	writer_u64(writer, field->key, writer->sample->end - writer->sample->start);
}

static const struct json_form duration_form = { duration_write, NULL };

static void losses_write(struct json_writer *writer, const struct field *field,
			 const void *structure)
{
	(void)structure;
	writer_u64(writer, "lost", sample_lost(writer->sample));
	writer_object(writer, field->key);
	for (size_t i = 0; i < LOSSES; i++)
		writer_u64(writer, losses[i].key, loss_count(writer->sample, &losses[i]));
	writer_object_end(writer);
}

static void losses_read(struct reader *reader, const json_t *object, const struct field *field,
			void *structure)
{
	const json_t *member = reader_enter(reader, object, field->key);

	for (size_t i = 0; i < LOSSES; i++)
		*loss_counter(structure, &losses[i]) = reader_u64(reader, member, losses[i].key);
	reader_leave(reader);
}

static const struct json_form losses_form = { losses_write, losses_read };

#define SAMPLE(key, kind, member, ...) FIELD(key, kind, struct sample, member, __VA_ARGS__)
static const struct field window_fields[] = {
	SAMPLE("start_ns", FIELD_U64, start, .flags = FIELD_REQUIRED),
	SAMPLE("end_ns", FIELD_U64, end, .flags = FIELD_REQUIRED),
	JSON_FORM("duration_ns", duration_form),
	SAMPLE("start_time", FIELD_FORM, wall_start, .form = &time_form, .flags = FIELD_IF_ANY),
	SAMPLE("start_tid", FIELD_I32, started_on,
	       .valid = offsetof(struct sample, start_triggered)),
	SAMPLE("stop_tid", FIELD_I32, stopped_on, .valid = offsetof(struct sample, stop_triggered)),
	FIELDS_END,
};

static const struct field absence_fields[] = {
	FIELD("section", FIELD_PHRASE, struct absence, section, .flags = FIELD_REQUIRED),
	FIELD("what", FIELD_PHRASE, struct absence, what, .flags = FIELD_REQUIRED),
	FIELDS_END,
};

#define QUOTA(key, kind, member) FIELD(key, kind, struct cpu_quota, member)
static const struct field quota_fields[] = {
	QUOTA("group", FIELD_NAME, group),
	QUOTA("quota_ns", FIELD_U64, quota_ns),
	QUOTA("period_ns", FIELD_U64, period_ns),
	FIELDS_END,
};

#define OWN(key, kind, member) FIELD(key, kind, struct own_cost, member)
static const struct field own_fields[] = {
	OWN("cpu_ns", FIELD_U64, cpu_ns),
	OWN("wakeups", FIELD_U64, wakeups),
	OWN("period_ns", FIELD_U64, period_ns),
	FIELDS_END,
};

#define RECORDED(key, kind, member) FIELD(key, kind, struct recording_facts, member)
static const struct field recorded_fields[] = {
	RECORDED("asked_ns", FIELD_U64, wanted),
	RECORDED("held_ns", FIELD_U64, held),
	RECORDED("events", FIELD_U64, events),
	RECORDED("memory_bytes", FIELD_U64, memory),
	RECORDED("overwritten", FIELD_BOOL, overwritten),
	RECORDED("window_cut", FIELD_BOOL, cut),
	FIELDS_END,
};

#define FULFILLED(key, kind, member, ...) FIELD(key, kind, struct fulfilled, member, __VA_ARGS__)
static const struct field fulfilled_fields[] = {
	FULFILLED("condition", FIELD_NAME, condition),
	FULFILLED("value", FIELD_U64, by.value),
	FULFILLED("of", FIELD_U64, by.total, .flags = FIELD_IF_ANY),
	FULFILLED("is_ns", FIELD_BOOL, by.is_time, .flags = FIELD_IF_ANY),
	FULFILLED("so_far", FIELD_BOOL, by.so_far, .flags = FIELD_IF_ANY),
	FULFILLED("tid", FIELD_I32, by.tid, .flags = FIELD_IF_ANY),
	FULFILLED("members", FIELD_U32, by.members, .flags = FIELD_IF_ANY),
	FULFILLED("thread", FIELD_NAME, by.name, .flags = FIELD_IF_ANY),
	FIELDS_END,
};

static const struct field upcall_fields[] = {
	FIELD("cpu", FIELD_U32, struct upcall_row, cpu, .flags = FIELD_REQUIRED),
	FIELD("error", FIELD_U32, struct upcall_row, error),
	FIELD("count", FIELD_U64, struct upcall_row, count),
	FIELDS_END,
};

#define INTERRUPTION(key, kind, member, ...)                                                       \
	FIELD(key, kind, struct interruption, member, __VA_ARGS__)
#define INTERRUPTION_BY(cause, key, title) INTERRUPTION(key "_ns", FIELD_U64, by[cause]),
static const struct field interruption_fields[] = {
	INTERRUPTION("since_ns", FIELD_U64, since, .flags = FIELD_REQUIRED),
	INTERRUPTION("until_ns", FIELD_U64, until, .flags = FIELD_REQUIRED),
	INTERRUPTION("ns", FIELD_U64, ns),
	INTERRUPTION("estimated_ns", FIELD_U64, entry_ns),
	INTERRUPTION("tid", FIELD_I32, tid),
	INTERRUPTION("name", FIELD_NAME, name),
	INTERRUPTION("cpu", FIELD_U32, cpu),
	INTERRUPTION("moved", FIELD_BOOL, moved),
	INTERRUPTION("open", FIELD_BOOL, open),
	INTERRUPTION("cause", FIELD_WORD, cause, .words = interruption_keys,
		     .of = INTERRUPTION_CAUSES),
	INTERRUPTION("by", FIELD_NAME, who, .flags = FIELD_IF_ANY),
	INTERRUPTION("by_tid", FIELD_I32, who_tid, .flags = FIELD_IF_ANY),
	INTERRUPTION("by_others", FIELD_U32, who_others, .flags = FIELD_IF_ANY),
	INTERRUPTION_WORDS(INTERRUPTION_BY) /* "hardirq_ns" and so on */
	INTERRUPTION("tick_late_ns", FIELD_U64, tick_late, .flags = FIELD_IF_ANY),
	FIELDS_END,
};

#define DELAY(key, kind, member, ...) FIELD(key, kind, struct softirq_delay, member, __VA_ARGS__)
static const struct field softirq_delay_fields[] = {
	DELAY("cpu", FIELD_U32, cpu, .flags = FIELD_REQUIRED),
	DELAY("vector", FIELD_U32, vector, .flags = FIELD_REQUIRED),
	DELAY("name", FIELD_NAME, name),
	FIELDS_COUNTED(struct softirq_delay, delays.),
	DELAY("open", FIELD_BOOL, open, .flags = FIELD_IF_ANY),
	DELAY("raised_tid", FIELD_I32, raised.tid, .flags = FIELD_IF_ANY),
	DELAY("raised_name", FIELD_NAME, raised.comm, .flags = FIELD_IF_ANY),
	DELAY("ran_tid", FIELD_I32, ran.tid, .flags = FIELD_IF_ANY),
	DELAY("ran_name", FIELD_NAME, ran.comm, .flags = FIELD_IF_ANY),
	FIELDS_END,
};

#define RESENT(key, kind, member, ...) FIELD(key, kind, struct resent_row, member, __VA_ARGS__)
static const struct field resent_fields[] = {
	RESENT("pid", FIELD_I32, pid),
	RESENT("fd", FIELD_I32, is.fd),
	RESENT("inode", FIELD_U64, is.inode),
	RESENT("protocol", FIELD_NAME, is.protocol, .flags = FIELD_IF_ANY),
	RESENT("local", FIELD_NAME, is.local, .flags = FIELD_IF_ANY),
	RESENT("peer", FIELD_NAME, is.peer, .flags = FIELD_IF_ANY),
	RESENT("count", FIELD_U64, count, .flags = FIELD_REQUIRED),
	FIELDS_END,
};

#define DISK_LIMIT(key, kind, member, ...) FIELD(key, kind, struct disk_limit, member, __VA_ARGS__)
static const struct field disk_limit_fields[] = {
	DISK_LIMIT("group", FIELD_NAME, group),
	DISK_LIMIT("device", FIELD_NAME, device),
	DISK_LIMIT("of", FIELD_WORD, kind, .words = disk_limit_keys, .of = DISK_LIMIT_KINDS),
	DISK_LIMIT("version_1", FIELD_BOOL, version_1, .flags = FIELD_IF_ANY),
	DISK_LIMIT("per_second", FIELD_U64, per_second),
	DISK_LIMIT("used_per_second", FIELD_U64, used),
	FIELDS_END,
};

#define WORKER(key, kind, member, ...) FIELD(key, kind, struct worker_row, member, __VA_ARGS__)
static const struct field worker_fields[] = {
	WORKER("tid", FIELD_I32, tid, .flags = FIELD_REQUIRED),
	WORKER("work", FIELD_NAME, work, .flags = FIELD_REQUIRED),
	FIELDS_END,
};

#define DISK_USE(key, kind, member, ...) FIELD(key, kind, struct disk_use, member, __VA_ARGS__)
static const struct field disk_use_fields[] = {
	DISK_USE("device", FIELD_NAME, device),      DISK_USE("pid", FIELD_I32, pid),
	DISK_USE("name", FIELD_NAME, name),          DISK_USE("bytes", FIELD_U64, bytes),
	DISK_USE("all_bytes", FIELD_U64, all_bytes), FIELDS_END,
};

#define JOURNAL_USE(key, kind, member, ...)                                                        \
	FIELD(key, kind, struct journal_use, member, __VA_ARGS__)
static const struct field journal_use_fields[] = {
	JOURNAL_USE("journal", FIELD_NAME, journal),
	JOURNAL_USE("waits", FIELD_BOOL, waits, .flags = FIELD_IF_ANY),
	JOURNAL_USE("pid", FIELD_I32, pid, .flags = FIELD_IF_ANY),
	JOURNAL_USE("name", FIELD_NAME, name, .flags = FIELD_IF_ANY),
	JOURNAL_USE("limit", FIELD_OBJECT, limit, .fields = disk_limit_fields,
		    .flags = FIELD_IF_ANY),
	FIELDS_END,
};

#define MEMORY_LIMIT(key, kind, member, ...)                                                       \
	FIELD(key, kind, struct memory_limit, member, __VA_ARGS__)
static const struct field memory_limit_fields[] = {
	MEMORY_LIMIT("group", FIELD_NAME, group),
	MEMORY_LIMIT("file", FIELD_NAME, file),
	MEMORY_LIMIT("version_1", FIELD_BOOL, version_1, .flags = FIELD_IF_ANY),
	MEMORY_LIMIT("bytes", FIELD_U64, bytes),
	MEMORY_LIMIT("used_bytes", FIELD_U64, used),
	MEMORY_LIMIT("hits", FIELD_U64, hits),
	FIELDS_END,
};

#define FAULTED(key, kind, member, ...) FIELD(key, kind, struct faulted, member, __VA_ARGS__)
static const struct field faulted_kind_fields[] = {
	FAULTED("for", FIELD_WORD, kind, .words = faulted_keys, .of = FAULTED_SORTS),
	FAULTED("path", FIELD_NAME, path, .flags = FIELD_IF_ANY),
	FIELDS_END,
};

#define FAULTED_OF(key, kind, member, ...)                                                         \
	FIELD(key, kind, struct faulted_thread, member, __VA_ARGS__)
static const struct field faulted_fields[] = {
	FAULTED_OF("tid", FIELD_I32, tid),
	FAULTED_OF("minor", FIELD_OBJECT, minor, .fields = faulted_kind_fields,
		   .flags = FIELD_IF_ANY),
	FAULTED_OF("major", FIELD_OBJECT, major, .fields = faulted_kind_fields,
		   .flags = FIELD_IF_ANY),
	FAULTED_OF("shared_pid", FIELD_I32, shared_pid, .flags = FIELD_IF_ANY),
	FAULTED_OF("shared_name", FIELD_NAME, shared_name, .flags = FIELD_IF_ANY),
	FIELDS_END,
};

#define CPU_RULE(key, kind, member, ...)                                                           \
	FIELD(key, kind, struct cpu_rules, member, .flags = FIELD_IF_ANY, __VA_ARGS__)
static const struct field cpu_rules_fields[] = {
	FIELD("tid", FIELD_I32, struct cpu_rules, tid),
	CPU_RULE("version_1", FIELD_BOOL, version_1),
	CPU_RULE("rival", FIELD_I32, rival),
	CPU_RULE("decided_by", FIELD_WORD, decided_by, .words = cpu_by_keys, .of = CPU_BY_KINDS),
	CPU_RULE("weighed", FIELD_NAME, weighed),
	CPU_RULE("weight", FIELD_I64, weight),
	CPU_RULE("rival_weight", FIELD_I64, rival_weight),
	CPU_RULE("idle_group", FIELD_NAME, idle_group),
	CPU_RULE("policy", FIELD_WORD, policy, .words = culprit_policies, .of = CULPRIT_POLICIES),
	CPU_RULE("autogroup", FIELD_U32, autogroup),
	CPU_RULE("autogroup_nice", FIELD_I32, autogroup_nice),
	CPU_RULE("cpuset", FIELD_NAME, cpuset),
	CPU_RULE("cpus", FIELD_NAME, cpus),
	CPU_RULE("confined", FIELD_BOOL, confined),
	CPU_RULE("anywhere", FIELD_BOOL, anywhere),
	CPU_RULE("rt_group", FIELD_NAME, rt_group),
	CPU_RULE("rt_runtime_ns", FIELD_U64, rt_runtime_ns),
	CPU_RULE("rt_period_ns", FIELD_U64, rt_period_ns),
	FIELDS_END,
};

#define QUOTA_USE(key, kind, member, ...) FIELD(key, kind, struct quota_use, member, __VA_ARGS__)
static const struct field quota_use_fields[] = {
	QUOTA_USE("group", FIELD_NAME, group),
	QUOTA_USE("user", FIELD_NAME, user),
	QUOTA_USE("own", FIELD_BOOL, own, .flags = FIELD_IF_ANY),
	QUOTA_USE("used_ns", FIELD_U64, used_ns),
	QUOTA_USE("all_ns", FIELD_U64, all_ns),
	QUOTA_USE("target_ns", FIELD_U64, target_ns,
		  .valid = offsetof(struct quota_use, has_target)),
	QUOTA_USE("pid", FIELD_I32, pid, .flags = FIELD_IF_ANY),
	QUOTA_USE("name", FIELD_NAME, name, .flags = FIELD_IF_ANY),
	QUOTA_USE("pid_ns", FIELD_U64, pid_ns, .flags = FIELD_IF_ANY),
	FIELDS_END,
};

#define PRESSURE(key, member) FIELD(key, FIELD_U64, struct pressure, member)
static const struct field pressure_fields[] = {
	PRESSURE("some_ns", some),
	PRESSURE("full_ns", full),
	FIELDS_END,
};

#define PRESSURE_FIELD(kind, key, title)                                                           \
	FIELD(key, FIELD_OBJECT, struct pressure_set, of[kind], .fields = pressure_fields,         \
	      .valid = offsetof(struct pressure_set, of[kind].known)),
static const struct field pressure_set_fields[] = { PRESSURE_WORDS(PRESSURE_FIELD) FIELDS_END };

#define PRESSURE_SET(key, member)                                                                  \
	FIELD(key, FIELD_OBJECT, struct pressures, member, .fields = pressure_set_fields,          \
	      .valid = offsetof(struct pressures, member.known))
static const struct field pressures_fields[] = {
	FIELD("period_ns", FIELD_U64, struct pressures, ns),
	PRESSURE_SET("machine", machine),
	PRESSURE_SET("group", group),
	FIELD("path", FIELD_NAME, struct pressures, path, .flags = FIELD_IF_ANY),
	FIELDS_END,
};

const struct field json_sample_fields[] = {
	JSON_FORM("capture", capture_form, .fields = capture_fields),
	SAMPLE("number", FIELD_U64, number),
	SAMPLE("pid", FIELD_I32, pid),
	SAMPLE("restarts", FIELD_U64, restarts, .flags = FIELD_IF_ANY),
	SAMPLE("predecessor", FIELD_I32, predecessor, .flags = FIELD_IF_ANY),
	JSON_FORM("machine", machine_form),
	SAMPLE("time", FIELD_FORM, wall_dump, .form = &time_form),
	{ .key = "window", .kind = FIELD_OBJECT, .fields = window_fields },
	SAMPLE("interrupted", FIELD_BOOL, interrupted),
	SAMPLE("target_exited", FIELD_BOOL, target_exited),
	SAMPLE("expired", FIELD_BOOL, expired),
	SAMPLE("overloaded", FIELD_BOOL, overloaded),
	SAMPLE("sigusr1", FIELD_BOOL, pressed, .flags = FIELD_IF_ANY),
	SAMPLE("record_on", FIELD_OBJECT, fulfilled, .fields = fulfilled_fields,
	       .flags = FIELD_IF_ANY),
	JSON_FORM("losses", losses_form),
	SAMPLE("resynced", FIELD_U64, resynced),
	SAMPLE("page_faults_untimed_ns", FIELD_U64, page_faults_untimed, .flags = FIELD_IF_ANY),
	SAMPLE("entry_exit_ns", FIELD_U64, entry.call_ns, .flags = FIELD_IF_ANY),
	SAMPLE("irq_entry_exit_ns", FIELD_U64, entry.irq_ns, .flags = FIELD_IF_ANY),
	SAMPLE("fault_entry_exit_ns", FIELD_U64, entry.fault_ns, .flags = FIELD_IF_ANY),
	SAMPLE("own_cost", FIELD_OBJECT, own, .fields = own_fields, .flags = FIELD_IF_ANY),
	SAMPLE("recorded", FIELD_OBJECT, recorded, .fields = recorded_fields,
	       .flags = FIELD_IF_ANY),
	SAMPLE("cpu_quota", FIELD_OBJECT, quota, .fields = quota_fields, .flags = FIELD_IF_ANY),
	SAMPLE("frozen_group", FIELD_NAME, frozen_group, .flags = FIELD_IF_ANY),
	SAMPLE("group_frozen_ns", FIELD_U64, group_frozen_ns, .flags = FIELD_IF_ANY),
	SAMPLE("group_frozen_last_ns", FIELD_U64, group_frozen_last_ns, .flags = FIELD_IF_ANY),
	SAMPLE("disk_limit", FIELD_OBJECT, disk_limit, .fields = disk_limit_fields,
	       .flags = FIELD_IF_ANY),
	SAMPLE("disk_use", FIELD_OBJECT, disk_use, .fields = disk_use_fields,
	       .flags = FIELD_IF_ANY),
	SAMPLE("journal_use", FIELD_OBJECT, journal_use, .fields = journal_use_fields,
	       .flags = FIELD_IF_ANY),
	SAMPLE("memory_limit", FIELD_OBJECT, memory_limit, .fields = memory_limit_fields,
	       .flags = FIELD_IF_ANY),
	SAMPLE("faulted", FIELD_OBJECT, faulted, .fields = faulted_fields, .flags = FIELD_IF_ANY),
	SAMPLE("cpu_rules", FIELD_OBJECT, cpu_rules, .fields = cpu_rules_fields,
	       .flags = FIELD_IF_ANY),
	SAMPLE("quota_use", FIELD_OBJECT, quota_use, .fields = quota_use_fields,
	       .flags = FIELD_IF_ANY),
	SAMPLE("pressure", FIELD_OBJECT, pressures, .fields = pressures_fields,
	       .flags = FIELD_IF_ANY),
	FIELD_LIST("absent", struct sample, absent, .fields = absence_fields, .flags = FIELD_LENT),
	JSON_FORM("verdict", json_verdict_form),
	SAMPLE("critical_path", FIELD_OBJECT, path, .fields = path_fields, .flags = FIELD_IF_ANY),
	JSON_FORM("processes", processes_form, .fields = process_fields),
	FIELD_LIST("threads", struct sample, threads, .fields = thread_fields),
	FIELD_LIST("workers", struct sample, workers, .fields = worker_fields,
		   .flags = FIELD_IF_ANY),
	FIELD_LIST("upcalls", struct sample, upcalls, .fields = upcall_fields,
		   .valid = offsetof(struct sample, has_upcalls)),
	SAMPLE("distributions", FIELD_BOOL, distributions, .flags = FIELD_IF_ANY),
	SAMPLE("interruptions_from_ns", FIELD_U64, interruptions_from, .flags = FIELD_IF_ANY),
	FIELD_LIST("interruptions", struct sample, interruptions, .fields = interruption_fields,
		   .valid = offsetof(struct sample, has_interruptions)),
	FIELD_LIST("softirq_delays", struct sample, softirq_delays, .fields = softirq_delay_fields,
		   .valid = offsetof(struct sample, has_softirq_delays)),
	FIELD_LIST("resources", struct sample, usages, .fields = usage_fields,
		   .valid = offsetof(struct sample, has_resources)),
	FIELD_LIST("tcp_retransmissions", struct sample, resent, .fields = resent_fields,
		   .valid = offsetof(struct sample, has_resources)),
	JSON_FORM("traces", json_form_traces),
	FIELDS_END,
};

int report_json(const struct sample *sample, const struct report_options *options, FILE *out)
{
	int error = sample->recording ? json_recording(sample, out) : 0;
	struct json_writer writer;

	(void)options;
	if (error)
		return error;
	json_document(&writer, JSON_SAMPLE, out);
	writer.sample = sample;
	json_fields_write(&writer, json_sample_fields, sample);
	writer_object_end(&writer);
	return writer_end(&writer);
}

void replay_sample(struct reader *reader, const json_t *object, struct sample *sample)
{
	reader->sample = sample;
	json_fields_read(reader, object, json_sample_fields, sample);
	/* Older captures lack some sums. */
	for (size_t i = 0; i < sample->n_threads; i++)
		thread_times_sum(&sample->threads[i]);
}
