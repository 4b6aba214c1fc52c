// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>

#include "json_names.h"
#include "json_parts.h"

/* A stack and its index among those of the sample. */
struct place {
	const struct stack *stack;
	size_t index;
};

struct stack_list {
	struct place *places; /* by address */
	size_t n;
};

static int place_compare(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	uintptr_t one = (uintptr_t)x->stack, other = (uintptr_t)y->stack;

	return (one > other) - (one < other);
}

static int place_by_address(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = place_compare(a, b);

	return order ? order : (x->index > y->index) - (x->index < y->index);
}

static int place_by_index(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->index > y->index) - (x->index < y->index);
}

static void place_add(struct stack_list *list, const struct stack *stack)
{
	if (!stack)
		return;
	list->places[list->n] = (struct place){ stack, list->n };
	list->n++;
}

static void row_add(struct stack_list *list, const struct trace_row *row, unsigned int kind)
{
	if (row->kind != kind)
		return;
	place_add(list, row->kernel);
	place_add(list, row->user);
}

/* Finds the stacks, each once: in the order in which the rows mention them, for
 * addresses differ from run to run. Returns 0 or -ENOMEM. */
static int stacks_find(struct stack_list *list, const struct trace_list *traces)
{
	size_t left = 0;

	list->places = calloc(2 * traces->n + 1, sizeof(*list->places));
	if (!list->places)
		return -ENOMEM;
	for (unsigned int kind = 0; kind < TRACE_KINDS; kind++)
		for (size_t i = 0; i < traces->n; i++)
			row_add(list, &traces->rows[i], kind);
	qsort(list->places, list->n, sizeof(*list->places), place_by_address);
	for (size_t i = 0; i < list->n; i++)
		if (!left || list->places[left - 1].stack != list->places[i].stack)
			list->places[left++] = list->places[i];
	list->n = left;
	qsort(list->places, list->n, sizeof(*list->places), place_by_index);
	for (size_t i = 0; i < list->n; i++)
		list->places[i].index = i;
	return 0;
}

static void frame(struct json_writer *writer, const struct frame *frame)
{
	writer_object(writer, NULL);
	if (frame->function) {
		writer_text(writer, "function", frame->function, SIZE_MAX);
		writer_u64(writer, "offset", frame->offset);
	} else {
		writer_address(writer, "address", frame->offset);
	}
	if (frame->object)
		writer_text(writer, "object", frame->object, SIZE_MAX);
	if (frame->build_id)
		writer_text(writer, "build_id", frame->build_id, SIZE_MAX);
	writer_object_end(writer);
}

static void stacks(struct json_writer *writer, const struct stack_list *list)
{
	writer_array(writer, "stacks");
	for (size_t i = 0; i < list->n; i++) {
		const struct stack *stack = list->places[i].stack;

		writer_object(writer, NULL);
		writer_array(writer, "frames");
		for (size_t j = 0; j < stack->n; j++)
			frame(writer, &stack->frames[j]);
		writer_array_end(writer);
		if (stack->stop)
			writer_text(writer, "stop", stack->stop, SIZE_MAX);
		writer_object_end(writer);
	}
	writer_array_end(writer);
}

static void stack_reference(struct json_writer *writer, const char *key,
			    const struct stack_list *list, const struct stack *stack)
{
	const struct place wanted = { .stack = stack };
	const struct place *place;

	if (!stack)
		return;
	place = bsearch(&wanted, list->places, list->n, sizeof(wanted), place_compare);
	if (place)
		writer_u64(writer, key, place->index);
}

static void trace_syscall(struct json_writer *writer, const struct sample *sample, int32_t call)
{
	if (call == KD_CALL_NONE)
		return;
	writer_object(writer, "syscall");
	if (call >= 0)
		json_syscall(writer, sample, (uint32_t)call);
	writer_object_end(writer);
}

static void times(struct json_writer *writer, const struct sample *sample,
		  const struct trace_row *row)
{
	if (row->kind == TRACE_SAMPLE) {
		writer_u64(writer, "time_ns", row->start);
	} else {
		writer_u64(writer, "start_ns", row->start);
		if (row->end)
			writer_u64(writer, "end_ns", row->end);
	}
	writer_u64(writer, "duration_ns", trace_duration(&sample->traces, row, sample->end));
	if (row->earlier)
		writer_bool(writer, "earlier", true);
	if (row->since)
		writer_u64(writer, "since_ns", row->since);
}

static void ended_by(struct json_writer *writer, const struct trace_row *row)
{
	if (!row->ended_by && !row->ended_by_name[0])
		return;
	writer_object(writer, "ended_by");
	if (row->ended_by)
		writer_i64(writer, "tid", row->ended_by);
	writer_text(writer, "name", row->ended_by_name, sizeof(row->ended_by_name));
	writer_object_end(writer);
}

static void user_stack(struct json_writer *writer, const struct stack_list *list,
		       const struct trace_row *row)
{
	stack_reference(writer, "user_stack", list, row->user);
	if (row->no_user)
		writer_text(writer, "no_user_stack", row->no_user, SIZE_MAX);
	if (row->limited)
		writer_bool(writer, "stack_limited", true);
	if (row->cut)
		writer_bool(writer, "stack_cut", true);
	if (row->user_ip)
		writer_address(writer, "user_ip", row->user_ip);
}

static void trace(struct json_writer *writer, const struct sample *sample,
		  const struct stack_list *list, const struct trace_row *row)
{
	const char *state = row->state < KD_STATES ? json_states[row->state] : NULL;

	writer_object(writer, NULL);
	writer_i64(writer, "tid", row->tid);
	writer_text(writer, "name", row->name, sizeof(row->name));
	times(writer, sample, row);
	writer_u64(writer, "cpu", row->cpu);
	trace_syscall(writer, sample, row->call);
	if (row->kind == TRACE_CALL) {
		writer_u64(writer, "waited_ns", row->waited);
		if (row->end)
			writer_i64(writer, "result", row->result);
	} else if (state) {
		writer_word(writer, "state", state);
	}
	ended_by(writer, row);
	stack_reference(writer, "kernel_stack", list, row->kernel);
	if (row->no_kernel)
		writer_text(writer, "no_kernel_stack", row->no_kernel, SIZE_MAX);
	user_stack(writer, list, row);
	writer_object_end(writer);
}

static void asked(struct json_writer *writer, const struct trace_list *traces)
{
	writer_bool(writer, "syscalls_asked", traces->calls_asked);
	writer_u64(writer, "syscall_threshold_ns", traces->call_threshold);
	writer_bool(writer, "waits_asked", traces->waits_asked);
	writer_u64(writer, "wait_threshold_ns", traces->wait_threshold);
	writer_u64(writer, "profile_hz", traces->profile_hz);
	writer_bool(writer, "kernel_stacks_asked", traces->kernel_stacks_asked);
	writer_bool(writer, "user_stacks_asked", traces->user_stacks_asked);
	writer_u64(writer, "stack_rate", traces->stack_rate);
	writer_u64(writer, "limited_stacks", traces->limited);
	writer_u64(writer, "incomplete_stacks", traces->incomplete);
	writer_bool(writer, "kernel_symbols_hidden", traces->kernel_hidden);
	if (traces->failure)
		writer_text(writer, "failure", traces->failure, SIZE_MAX);
}

static bool is_empty(const struct trace_list *traces)
{
	return !traces->n && !traces->calls_asked && !traces->waits_asked && !traces->profile_hz &&
	       !traces->call_threshold && !traces->wait_threshold && !traces->stack_rate &&
	       !traces->kernel_stacks_asked && !traces->user_stacks_asked && !traces->limited &&
	       !traces->incomplete && !traces->kernel_hidden && !traces->failure;
}

void json_traces(struct json_writer *writer, const struct sample *sample)
{
	const struct trace_list *traces = &sample->traces;
	struct stack_list list = { 0 };
	int err;

	if (is_empty(traces))
		return;
	err = stacks_find(&list, traces);
	if (err) {
		if (!writer->columns.err)
			writer->columns.err = err;
		return;
	}
	writer_object(writer, "traces");
	asked(writer, traces);
	stacks(writer, &list);
	qsort(list.places, list.n, sizeof(*list.places), place_compare);
	for (unsigned int kind = 0; kind < TRACE_KINDS; kind++) {
		writer_array(writer, json_trace_keys[kind]);
		for (size_t i = 0; i < traces->n; i++)
			if (traces->rows[i].kind == kind)
				trace(writer, sample, &list, &traces->rows[i]);
		writer_array_end(writer);
	}
	writer_object_end(writer);
	free(list.places);
}
