// SPDX-License-Identifier: Apache-2.0
/* A sample as JSON, both ways. */
#include <string.h>

#include "cli/model/losses.h"
#include "cli/model/resource.h"
#include "cli/model/thread_fields.h"
#include "json.h"
#include "json_fields.h"
#include "json_names.h"
#include "json_parts.h"

/* Keys are a promise: they are added to, never changed. */

#define CAPTURE(key, kind, member, ...) FIELD(key, kind, struct capture, member, __VA_ARGS__)
/* With a NUL always. */
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
	CAPTURE("several_processes", FIELD_BOOL, several, .flags = FIELD_IF_ANY),
	CAPTURE("container", FIELD_NAME, container, .flags = FIELD_IF_ANY),
	CAPTURE("image", FIELD_NAME, image, .flags = FIELD_IF_ANY),
	CAPTURE("pod", FIELD_NAME, pod, .flags = FIELD_IF_ANY),
	FIELDS_END,
};

static void capture_write(struct json_writer *writer, const struct json_scope *scope,
			  const struct field *field, const void *structure)
{
	const struct capture *capture = ((const struct sample *)structure)->capture;

	if (!capture)
		return;
	writer_object(writer, field->key);
	json_fields_write(writer, scope, capture_fields, capture);
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

static void sample_machine_write(struct json_writer *writer, const struct json_scope *scope,
				 const struct field *field, const void *structure)
{
	(void)scope;
	writer_word(writer, field->key, JSON_MACHINE);
	writer_bool(writer, "foreign_syscalls", ((const struct sample *)structure)->foreign_calls);
}

/* Without the machine's table there are no names for its system calls. */
static void sample_machine_read(struct reader *reader, const json_t *object,
				const struct field *field, void *structure)
{
	const char *machine = reader_text(reader, object, field->key);
	bool foreign = reader_bool(reader, object, "foreign_syscalls");

	((struct sample *)structure)->foreign_calls =
		foreign || (machine && strcmp(machine, JSON_MACHINE) != 0);
}

static const struct json_form machine_form = { sample_machine_write, sample_machine_read };

static void duration_write(struct json_writer *writer, const struct json_scope *scope,
			   const struct field *field, const void *structure)
{
	(void)structure;
	writer_u64(writer, field->key, scope->sample->end - scope->sample->start);
}

static const struct json_form duration_form = { duration_write, NULL };

static void losses_write(struct json_writer *writer, const struct json_scope *scope,
			 const struct field *field, const void *structure)
{
	(void)structure;
	writer_u64(writer, "lost", sample_lost(scope->sample));
	writer_object(writer, field->key);
	for (size_t i = 0; i < LOSSES; i++)
		writer_u64(writer, losses[i].key, loss_count(scope->sample, &losses[i]));
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
	SAMPLE("start_time", FIELD_FORM, wall_start, .form = &json_form_time,
	       .flags = FIELD_IF_ANY),
	SAMPLE("start_tid", FIELD_I32, started_on,
	       .known = offsetof(struct sample, start_triggered)),
	SAMPLE("stop_tid", FIELD_I32, stopped_on, .known = offsetof(struct sample, stop_triggered)),
	FIELDS_END,
};

static const struct field absence_fields[] = {
	FIELD("section", FIELD_PHRASE, struct absence, section, .flags = FIELD_REQUIRED),
	FIELD("what", FIELD_PHRASE, struct absence, what, .flags = FIELD_REQUIRED),
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
	RECORDED("asked_ns", FIELD_U64, asked),
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
	FULFILLED("of", FIELD_U64, by.whole, .flags = FIELD_IF_ANY),
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

#define USAGE(key, kind, member, ...) FIELD(key, kind, struct usage_row, member, __VA_ARGS__)
#define USAGE_MEMORY(key, member) USAGE(key, FIELD_U64, memory.member, .flags = FIELD_IF_ANY)
static const struct field usage_fields[] = {
	USAGE("pid", FIELD_I32, pid, .flags = FIELD_REQUIRED),
	USAGE("process_start_ns", FIELD_U64, process_start, .flags = FIELD_IF_ANY),
	USAGE("cpu_ns", FIELD_U64, cpu_ns),
	USAGE_MEMORY("memory_start_bytes", start),
	USAGE_MEMORY("memory_end_bytes", end),
	USAGE_MEMORY("memory_peak_bytes", peak),
	USAGE("io", FIELD_OBJECT, io, .fields = io_fields),
	USAGE("disk_requests", FIELD_U64, disk_requests),
	USAGE("disk_bytes", FIELD_U64, disk_bytes),
	USAGE("io_uring_calls", FIELD_U64, rings, .flags = FIELD_IF_ANY),
	USAGE("forks", FIELD_U64, forks, .flags = FIELD_IF_ANY),
	USAGE("execs", FIELD_U64, execs, .flags = FIELD_IF_ANY),
	USAGE("tcp_retransmissions", FIELD_U64, resent),
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

static const struct field sample_fields[] = {
	JSON_FORM("capture", capture_form),
	SAMPLE("number", FIELD_U64, number),
	SAMPLE("pid", FIELD_I32, pid),
	SAMPLE("restarts", FIELD_U64, restarts, .flags = FIELD_IF_ANY),
	SAMPLE("predecessor", FIELD_I32, predecessor, .flags = FIELD_IF_ANY),
	JSON_FORM("machine", machine_form),
	SAMPLE("time", FIELD_FORM, wall_dump, .form = &json_form_time),
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
	SAMPLE("ipi_entry_exit_ns", FIELD_U64, entry.ipi_ns, .flags = FIELD_IF_ANY),
	SAMPLE("fault_entry_exit_ns", FIELD_U64, entry.fault_ns, .flags = FIELD_IF_ANY),
	SAMPLE("own_cost", FIELD_OBJECT, own, .fields = own_fields, .flags = FIELD_IF_ANY),
	SAMPLE("recorded", FIELD_OBJECT, recorded, .fields = recorded_fields,
	       .flags = FIELD_IF_ANY),
	SAMPLE("frozen_group", FIELD_NAME, frozen_group, .flags = FIELD_IF_ANY),
	SAMPLE("disk_limit", FIELD_OBJECT, disk_limit, .fields = disk_limit_fields,
	       .flags = FIELD_IF_ANY),
	FIELD_LIST("absent", struct sample, absent, .fields = absence_fields, .flags = FIELD_KEPT),
	JSON_FORM("verdict", json_form_verdict),
	SAMPLE("critical_path", FIELD_OBJECT, path, .fields = json_path_fields,
	       .flags = FIELD_IF_ANY),
	JSON_FORM("processes", json_form_processes),
	FIELD_LIST("threads", struct sample, threads, .fields = thread_fields),
	FIELD_LIST("upcalls", struct sample, upcalls, .fields = upcall_fields,
		   .known = offsetof(struct sample, upcalls_known)),
	SAMPLE("distributions", FIELD_BOOL, distributions, .flags = FIELD_IF_ANY),
	SAMPLE("interruptions_from_ns", FIELD_U64, interruptions_from, .flags = FIELD_IF_ANY),
	FIELD_LIST("interruptions", struct sample, interruptions, .fields = interruption_fields,
		   .known = offsetof(struct sample, interruptions_known)),
	FIELD_LIST("resources", struct sample, usages, .fields = usage_fields,
		   .known = offsetof(struct sample, resources_known)),
	FIELD_LIST("tcp_retransmissions", struct sample, resent, .fields = resent_fields,
		   .known = offsetof(struct sample, resources_known)),
	JSON_FORM("traces", json_form_traces),
	FIELDS_END,
};

int report_json(const struct sample *sample, const struct report_options *options, FILE *out)
{
	const struct json_scope scope = { .sample = sample };
	int error = sample->recording ? json_recording(sample, out) : 0;
	struct json_writer writer;

	(void)options;
	if (error)
		return error;
	writer_begin(&writer, out);
	writer_object(&writer, NULL);
	writer_word(&writer, "schema", JSON_SCHEMA);
	writer_word(&writer, "type", JSON_SAMPLE);
	json_fields_write(&writer, &scope, sample_fields, sample);
	writer_object_end(&writer);
	return writer_end(&writer);
}

void replay_sample(struct reader *reader, const json_t *object, struct sample *sample)
{
	json_fields_read(reader, object, sample_fields, sample);
}
