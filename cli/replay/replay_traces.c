// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "replay_parts.h"
#include "../report/json_names.h"

struct stacks {
	struct stack *list;
	size_t n;
};

static void frame(struct reader *reader, const json_t *object, struct frame *frame)
{
	frame->function = reader_text(reader, object, "function");
	frame->offset = frame->function ? reader_u64(reader, object, "offset")
					: reader_address(reader, object, "address");
	frame->object = reader_text(reader, object, "object");
	frame->build_id = reader_text(reader, object, "build_id");
}

static void stack(struct reader *reader, const json_t *object, struct stack *stack)
{
	const json_t *array, *row;
	struct frame *frames;
	size_t n;

	array = reader_array(reader, object, "frames", &n);
	frames = reader_memory(reader, n, sizeof(*frames));
	for (size_t i = 0; i < n && !reader->failed; i++) {
		row = reader_element(reader, array, "frames", i);
		frame(reader, row, &frames[i]);
		reader_leave(reader);
	}
	stack->frames = frames;
	stack->n = frames ? n : 0;
	stack->stop = reader_text(reader, object, "stop");
}

static void stacks(struct reader *reader, const json_t *object, struct stacks *stacks)
{
	const json_t *array, *row;
	size_t n;

	array = reader_array(reader, object, "stacks", &n);
	stacks->list = reader_memory(reader, n, sizeof(*stacks->list));
	for (size_t i = 0; i < n && !reader->failed; i++) {
		row = reader_element(reader, array, "stacks", i);
		stack(reader, row, &stacks->list[i]);
		reader_leave(reader);
	}
	stacks->n = stacks->list ? n : 0;
}

static const struct stack *stack_reference(struct reader *reader, const json_t *object,
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

static int32_t trace_syscall(struct reader *reader, const json_t *trace)
{
	const json_t *object = reader_enter(reader, trace, "syscall");
	int32_t call = object ? KD_CALL_UNKNOWN : KD_CALL_NONE;

	if (reader_has(object, "number"))
		call = (int32_t)reader_number(reader, object, "number", INT32_MAX);
	reader_leave(reader);
	return call;
}

/* States that are not known here are as good as missing. */
static uint32_t state_find(struct reader *reader, const json_t *object)
{
	const char *name = reader_text(reader, object, "state");

	for (uint32_t i = 0; name && i < KD_STATES; i++)
		if (json_states[i] && !strcmp(json_states[i], name))
			return i;
	return KD_UNSEEN;
}

static void times(struct reader *reader, const json_t *object, struct trace_row *row)
{
	if (row->kind == TRACE_SAMPLE) {
		reader_require(reader, object, "time_ns");
		row->start = row->end = reader_u64(reader, object, "time_ns");
	} else {
		reader_require(reader, object, "start_ns");
		row->start = reader_u64(reader, object, "start_ns");
		row->end = reader_u64(reader, object, "end_ns");
	}
	row->earlier = reader_bool(reader, object, "earlier");
	row->since = reader_u64(reader, object, "since_ns");
}

static void ended_by(struct reader *reader, const json_t *trace, struct trace_row *row)
{
	const json_t *object = reader_enter(reader, trace, "ended_by");

	row->ended_by = reader_i32(reader, object, "tid");
	reader_name(reader, object, "name", row->ended_by_name, sizeof(row->ended_by_name));
	reader_leave(reader);
}

static void trace(struct reader *reader, const json_t *object, const struct stacks *stacks,
		  struct trace_row *row)
{
	reader_require(reader, object, "tid");
	row->tid = reader_i32(reader, object, "tid");
	reader_name(reader, object, "name", row->name, sizeof(row->name));
	times(reader, object, row);
	row->cpu = reader_u32(reader, object, "cpu");
	row->call = trace_syscall(reader, object);
	row->waited = reader_u64(reader, object, "waited_ns");
	row->result = reader_i64(reader, object, "result");
	row->state = state_find(reader, object);
	ended_by(reader, object, row);
	row->kernel = stack_reference(reader, object, "kernel_stack", stacks);
	row->user = stack_reference(reader, object, "user_stack", stacks);
	row->no_kernel = reader_phrase(reader, object, "no_kernel_stack");
	row->no_user = reader_text(reader, object, "no_user_stack");
	row->limited = reader_bool(reader, object, "stack_limited");
	row->cut = reader_bool(reader, object, "stack_cut");
	row->user_ip = reader_address(reader, object, "user_ip");
}

static void rows(struct reader *reader, const json_t *object, const struct stacks *stacks,
		 enum trace_kind kind, struct trace_list *traces)
{
	const char *key = json_trace_keys[kind];
	const json_t *array, *element;
	size_t n;

	array = reader_array(reader, object, key, &n);
	for (size_t i = 0; i < n && !reader->failed; i++) {
		struct trace_row row = { .kind = kind };

		element = reader_element(reader, array, key, i);
		trace(reader, element, stacks, &row);
		if (traces_add(traces, &row)) {
			reader->no_memory = true;
			reader_fail(reader, NULL, "no memory");
		}
		reader_leave(reader);
	}
}

static void asked(struct reader *reader, const json_t *object, struct trace_list *traces)
{
	traces->calls_asked = reader_bool(reader, object, "syscalls_asked");
	traces->call_threshold = reader_u64(reader, object, "syscall_threshold_ns");
	traces->waits_asked = reader_bool(reader, object, "waits_asked");
	traces->wait_threshold = reader_u64(reader, object, "wait_threshold_ns");
	traces->profile_hz = reader_u32(reader, object, "profile_hz");
	traces->kernel_stacks_asked = reader_bool(reader, object, "kernel_stacks_asked");
	traces->user_stacks_asked = reader_bool(reader, object, "user_stacks_asked");
	traces->stack_rate = reader_u64(reader, object, "stack_rate");
	traces->limited = reader_u64(reader, object, "limited_stacks");
	traces->incomplete = reader_u64(reader, object, "incomplete_stacks");
	traces->kernel_hidden = reader_bool(reader, object, "kernel_symbols_hidden");
	traces->failure = reader_text(reader, object, "failure");
}

void replay_traces(struct reader *reader, const json_t *object, struct trace_list *traces)
{
	const json_t *member = reader_enter(reader, object, "traces");
	struct stacks list = { 0 };

	asked(reader, member, traces);
	stacks(reader, member, &list);
	for (unsigned int kind = 0; kind < TRACE_KINDS; kind++)
		rows(reader, member, &list, (enum trace_kind)kind, traces);
	reader_leave(reader);
}
