// SPDX-License-Identifier: Apache-2.0
/* Data with stacks as JSON, both ways. */
#define _GNU_SOURCE
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/model/traces.h"
#include "cli/model/words.h"
#include "json.h"
#include "json_fields.h"

const char *const json_trace_keys[TRACE_KINDS] = {
	[TRACE_CALL] = "syscalls",
	[TRACE_WAIT] = "waits",
	[TRACE_SAMPLE] = "samples",
};

/* Keys are a promise: they are added to, never changed. */

/* --- Stacks; rows refer to them by index --- */

static void frame_write(struct json_writer *writer, const struct field *field,
			const void *structure)
{
	const struct frame *frame = structure;

	if (frame->function) {
		writer_text(writer, field->key, frame->function, SIZE_MAX);
		writer_u64(writer, "offset", frame->offset);
	} else {
		writer_address(writer, "address", frame->offset);
	}
}

static void frame_read(struct reader *reader, const json_t *object, const struct field *field,
		       void *structure)
{
	struct frame *frame = structure;

	frame->function = reader_text(reader, object, field->key);
	frame->offset = frame->function ? reader_u64(reader, object, "offset")
					: reader_address(reader, object, "address");
}

static const struct json_form frame_form = { frame_write, frame_read };

static const struct field frame_fields[] = {
	JSON_FORM("function", frame_form),
	FIELD("object", FIELD_TEXT, struct frame, object),
	FIELD("build_id", FIELD_TEXT, struct frame, build_id),
	FIELD("file", FIELD_U32, struct frame, file, .flags = FIELD_IF_ANY),
	FIELDS_END,
};

const struct field json_stack_fields[] = {
	FIELD_LIST_OF("frames", struct stack, frames, n, .fields = frame_fields,
		      .flags = FIELD_LENT),
	FIELD("stop", FIELD_TEXT, struct stack, stop),
	FIELD("by_frame_pointers", FIELD_BOOL, struct stack, by_frame_pointers,
	      .flags = FIELD_IF_ANY),
	FIELDS_END,
};

struct stacks {
	struct stack *list;
	size_t n;
};

static const struct field stacks_fields[] = {
	FIELD_LIST_OF("stacks", struct stacks, list, n, .fields = json_stack_fields,
		      .flags = FIELD_LENT),
	FIELDS_END,
};

/* Stacks in order of the rows, as addresses vary between runs, and a tsearch(3) tree of them. */
struct stack_list {
	const struct stack **all;
	size_t n;
	void *by_address;
};

static int by_address(const void *a, const void *b)
{
	const struct stack *const *x = a, *const *y = b;

	return ORDER((uintptr_t)*x, (uintptr_t)*y);
}

static int stack_add(struct stack_list *list, const struct stack *stack)
{
	const struct stack **next = &list->all[list->n], ***found;

	*next = stack;
	if (!stack)
		return 0;
	found = tsearch(next, &list->by_address, by_address);
	list->n += found && *found == next;
	return found ? 0 : -ENOMEM;
}

static void element_keep(void *element)
{
	(void)element;
}

static void stacks_clear(struct stack_list *list)
{
	tdestroy(list->by_address, element_keep);
	free(list->all);
}

/* Collects the stacks, each once. Returns 0 or -ENOMEM. */
static int stacks_find(struct stack_list *list, const struct trace_list *traces)
{
	int err;

	list->all = calloc(2 * traces->n + 1, sizeof(*list->all));
	err = list->all ? 0 : -ENOMEM;
	for (unsigned int kind = 0; kind < TRACE_KINDS; kind++)
		for (size_t i = 0; i < traces->n && !err; i++)
			if (traces->rows[i].kind == kind)
				err = stack_add(list, traces->rows[i].kernel)
					      ?: stack_add(list, traces->rows[i].user);
	return err;
}

static void stacks_write(struct json_writer *writer, const struct stack_list *list)
{
	writer_array(writer, "stacks");
	for (size_t i = 0; i < list->n; i++) {
		writer_object(writer, NULL);
		json_fields_write(writer, json_stack_fields, list->all[i]);
		writer_object_end(writer);
	}
	writer_array_end(writer);
}

/* Writes a row's reference to a stack. The list is the writer's parent; rows_read() reads it. */
static void reference_write(struct json_writer *writer, const struct field *field,
			    const void *structure)
{
	const struct stack_list *list = writer->parent;
	const struct stack *const **found = tfind((const char *)structure + field->at,
						  &list->by_address, by_address);

	if (found)
		writer_u64(writer, field->key, (size_t)(*found - list->all));
}

static const struct json_form reference_form = { reference_write, NULL };

static const struct stack *reference_find(struct reader *reader, const json_t *object,
					  const char *key, const struct stacks *stacks)
{
	uint64_t index;

	if (!reader_has(object, key))
		return NULL;
	index = reader_u64(reader, object, key);
	if (index < stacks->n)
		return &stacks->list[index];
	reader_fail(reader, key, "there is no such stack");
	return NULL;
}

/* --- Rows --- */

static void times_write(struct json_writer *writer, const struct field *field,
			const void *structure)
{
	const struct sample *sample = writer->sample;
	const struct trace_row *row = structure;

	if (row->kind == TRACE_SAMPLE) {
		writer_u64(writer, "time_ns", row->start);
	} else {
		writer_u64(writer, field->key, row->start);
		if (row->end)
			writer_u64(writer, "end_ns", row->end);
	}
	writer_u64(writer, "duration_ns", trace_duration(&sample->traces, row, sample->end));
}

static void times_read(struct reader *reader, const json_t *object, const struct field *field,
		       void *structure)
{
	struct trace_row *row = structure;
	const char *key = row->kind == TRACE_SAMPLE ? "time_ns" : field->key;

	reader_require(reader, object, key);
	row->start = row->end = reader_u64(reader, object, key);
	if (row->kind != TRACE_SAMPLE)
		row->end = reader_u64(reader, object, "end_ns");
}

static const struct json_form times_form = { times_write, times_read };

/* Writes a call's members, or those of other rows. */
static void state_write(struct json_writer *writer, const struct field *field,
			const void *structure)
{
	const struct trace_row *row = structure;
	const struct ledger_words *state = ledger_words_of(row->state);

	if (row->kind == TRACE_CALL) {
		writer_u64(writer, "waited_ns", row->waited);
		if (row->timed) {
			writer_u64(writer, "running_ns", row->ran);
			writer_u64(writer, "ready_ns", row->ready);
		}
		if (row->end)
			writer_i64(writer, "result", row->result);
	} else if (state) {
		writer_word(writer, field->key, state->key);
		if (row->kind == TRACE_WAIT && wait_has_kind(row->state))
			writer_word(writer, "waited_for", awaited_keys[row->awaited]);
	}
}

/* Unknown states count as missing. */
static void state_read(struct reader *reader, const json_t *object, const struct field *field,
		       void *structure)
{
	const char *name = reader_text(reader, object, field->key);
	const char *awaited = reader_text(reader, object, "waited_for");
	struct trace_row *row = structure;

	row->waited = reader_u64(reader, object, "waited_ns");
	row->timed = reader_has(object, "running_ns");
	row->ran = reader_u64(reader, object, "running_ns");
	row->ready = reader_u64(reader, object, "ready_ns");
	row->result = reader_i64(reader, object, "result");
	row->state = KD_UNSEEN;
	for (size_t i = 0; name && i < LEDGER_STATES; i++)
		if (!strcmp(ledger_words[i].key, name))
			row->state = ledger_words[i].of;
	for (uint32_t i = 0; awaited && i < KD_AWAITED_KINDS; i++)
		if (!strcmp(awaited_keys[i], awaited))
			row->awaited = i;
}

static const struct json_form state_form = { state_write, state_read };

#define ROW(key, kind, member, ...) FIELD(key, kind, struct trace_row, member, __VA_ARGS__)

/* A waker, with the previous one nested in it. */
#define WAKER(key, kind, member, ...) FIELD(key, kind, struct waker, member, __VA_ARGS__)
#define WAKER_FIELDS                                                                               \
	WAKER("tid", FIELD_I32, tid, .flags = FIELD_IF_ANY), WAKER("name", FIELD_NAME, name),      \
		WAKER("context", FIELD_WORD, from, .flags = FIELD_IF_ANY, .words = from_keys,      \
		      .of = KD_FROM_CONTEXTS),                                                     \
		WAKER("time_ns", FIELD_U64, at, .flags = FIELD_IF_ANY)
#define WOKEN_BY(fields_)                                                                          \
	{                                                                                          \
		.key = "woken_by", .kind = FIELD_OBJECT, .flags = FIELD_IF_ANY,                    \
		.at = sizeof(struct waker), .fields = (fields_)                                    \
	}
static const struct field third_fields[] = { WAKER_FIELDS, FIELDS_END };
static const struct field second_fields[] = { WAKER_FIELDS, WOKEN_BY(third_fields), FIELDS_END };
static const struct field first_fields[] = { WAKER_FIELDS, WOKEN_BY(second_fields), FIELDS_END };
_Static_assert(KD_WAKERS == 3, "a table for each");

#define BEHIND(key, kind, member, ...) FIELD(key, kind, struct behind, member, __VA_ARGS__)
static const struct field behind_fields[] = {
	BEHIND("ns", FIELD_U64, ns, .flags = FIELD_REQUIRED),
	BEHIND("tid", FIELD_I32, tid, .flags = FIELD_REQUIRED),
	BEHIND("name", FIELD_NAME, name),
	BEHIND("others", FIELD_U32, others, .flags = FIELD_IF_ANY),
	FIELDS_END,
};

const struct field json_trace_row_fields[] = {
	ROW("pid", FIELD_I32, pid, .flags = FIELD_IF_ANY),
	ROW("tid", FIELD_I32, tid, .flags = FIELD_REQUIRED),
	ROW("name", FIELD_NAME, name),
	JSON_FORM("start_ns", times_form),
	ROW("earlier", FIELD_BOOL, earlier, .flags = FIELD_IF_ANY),
	ROW("since_ns", FIELD_U64, since, .flags = FIELD_IF_ANY),
	ROW("cpu", FIELD_U32, cpu),
	ROW("syscall", FIELD_FORM, call, .form = &json_form_in_call),
	JSON_FORM("state", state_form),
	ROW("ready_behind", FIELD_OBJECT, behind, .flags = FIELD_IF_ANY, .fields = behind_fields),
	ROW("ended_by", FIELD_OBJECT, wakers, .flags = FIELD_IF_ANY, .fields = first_fields),
	ROW("at", FIELD_TEXT, at),
	ROW("lock", FIELD_ADDRESS, blocker.lock, .flags = FIELD_IF_ANY),
	ROW("lock_kind", FIELD_LOCK, blocker.kind, .flags = FIELD_IF_ANY),
	ROW("holder_tid", FIELD_I32, blocker.holder, .flags = FIELD_IF_ANY),
	ROW("holder_pid", FIELD_I32, blocker.holder_pid, .flags = FIELD_IF_ANY),
	ROW("holder_name", FIELD_NAME, blocker.holder_name, .flags = FIELD_IF_ANY),
	ROW("disk", FIELD_NAME, blocker.disk, .flags = FIELD_IF_ANY),
	ROW("request_ns", FIELD_U64, blocker.request, .flags = FIELD_IF_ANY),
	ROW("path", FIELD_TEXT, path),
	ROW("path_cut", FIELD_BOOL, path_cut, .flags = FIELD_IF_ANY),
	ROW("no_path", FIELD_BOOL, no_path, .flags = FIELD_IF_ANY),
	ROW("tracing", FIELD_BOOL, tracing, .flags = FIELD_IF_ANY),
	ROW("kernel_stack", FIELD_FORM, kernel, .form = &reference_form),
	ROW("no_kernel_stack", FIELD_PHRASE, no_kernel),
	ROW("user_stack", FIELD_FORM, user, .form = &reference_form),
	ROW("no_user_stack", FIELD_TEXT, no_user),
	ROW("stack_limited", FIELD_BOOL, limited, .flags = FIELD_IF_ANY),
	ROW("stack_cut", FIELD_BOOL, cut, .flags = FIELD_IF_ANY),
	ROW("user_ip", FIELD_ADDRESS, user_ip, .flags = FIELD_IF_ANY),
	ROW("user_sp", FIELD_ADDRESS, user_sp, .flags = FIELD_IF_ANY),
	FIELDS_END,
};

static void rows_write(struct json_writer *writer, enum trace_kind kind)
{
	const struct trace_list *traces = &writer->sample->traces;

	writer_array(writer, json_trace_keys[kind]);
	for (size_t i = 0; i < traces->n; i++) {
		if (traces->rows[i].kind != kind)
			continue;
		writer_object(writer, NULL);
		json_fields_write(writer, json_trace_row_fields, &traces->rows[i]);
		writer_object_end(writer);
	}
	writer_array_end(writer);
}

static void rows_read(struct reader *reader, const json_t *object, const struct stacks *stacks,
		      enum trace_kind kind, struct trace_list *traces)
{
	const char *key = json_trace_keys[kind];
	const json_t *array, *element;
	size_t n;

	array = reader_array(reader, object, key, &n);
	for (size_t i = 0; i < n && !reader->failed; i++) {
		struct trace_row row = { .kind = kind };

		element = reader_element(reader, array, key, i);
		json_fields_read(reader, element, json_trace_row_fields, &row);
		row.kernel = reference_find(reader, element, "kernel_stack", stacks);
		row.user = reference_find(reader, element, "user_stack", stacks);
		if (reader_may_keep(reader, 3, sizeof(row)) && /* old and new array */
		    traces_add(traces, &row))
			reader_no_memory(reader);
		reader_leave(reader);
	}
}

/* --- Trace lists --- */

#define LIST(key, kind, member, ...) FIELD(key, kind, struct trace_list, member, __VA_ARGS__)
const struct field json_trace_fields[] = {
	LIST("syscalls_asked", FIELD_BOOL, calls_wanted),
	LIST("syscall_threshold_ns", FIELD_U64, call_threshold),
	LIST("syscalls_chosen", FIELD_BOOL, calls_chosen, .flags = FIELD_IF_ANY),
	LIST("waits_asked", FIELD_BOOL, waits_wanted),
	LIST("wait_threshold_ns", FIELD_U64, wait_threshold),
	LIST("wait_filter", FIELD_TEXT, wait_filter),
	LIST("wait_syscalls_chosen", FIELD_BOOL, wait_calls_chosen, .flags = FIELD_IF_ANY),
	LIST("waits_left_out", FIELD_U64, left_out),
	LIST("waits_left_out_ns", FIELD_U64, left_out_ns),
	LIST("profile_hz", FIELD_U32, profile_hz),
	LIST("kernel_stacks_asked", FIELD_BOOL, kernel_stacks_wanted),
	LIST("user_stacks_asked", FIELD_BOOL, user_stacks_wanted),
	LIST("stack_share_ppm", FIELD_U64, stack_share),
	LIST("limited_stacks", FIELD_U64, limited),
	LIST("incomplete_stacks", FIELD_U64, incomplete),
	LIST("own_samples", FIELD_U64, own_samples),
	LIST("kernel_symbols_hidden", FIELD_BOOL, kernel_hidden),
	LIST("failure", FIELD_TEXT, failure),
	FIELDS_END,
};

/* Writes nothing if traces were neither asked for nor present. */
static void traces_write(struct json_writer *writer, const struct field *field,
			 const void *structure)
{
	const struct sample *sample = structure;
	const struct trace_list *traces = &sample->traces;
	struct stack_list list = { 0 };
	int err;

	if (!traces->n && !json_fields_any(json_trace_fields, traces))
		return;
	err = stacks_find(&list, traces);
	writer->columns.err = writer->columns.err ?: err;
	writer_object(writer, field->key);
	json_fields_write(writer, json_trace_fields, traces);
	writer_u64(writer, "joined_stacks", 0); /* promised; no row is given another's stack */
	stacks_write(writer, &list);
	writer->parent = &list;
	for (unsigned int kind = 0; kind < TRACE_KINDS; kind++)
		rows_write(writer, (enum trace_kind)kind);
	writer->parent = NULL;
	writer_object_end(writer);
	stacks_clear(&list);
}

static void traces_read(struct reader *reader, const json_t *object, const struct field *field,
			void *structure)
{
	struct trace_list *traces = &((struct sample *)structure)->traces;
	const json_t *member = reader_enter(reader, object, field->key);
	struct stacks stacks = { 0 };

	json_fields_read(reader, member, json_trace_fields, traces);
	json_fields_read(reader, member, stacks_fields, &stacks);
	for (unsigned int kind = 0; kind < TRACE_KINDS; kind++)
		rows_read(reader, member, &stacks, (enum trace_kind)kind, traces);
	reader_leave(reader);
}

const struct json_form json_form_traces = { traces_write, traces_read };
