// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "user_functions.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/model/awaited.h"
#include "cli/model/rows.h"
#include "cli/model/traces.h"
#include "cli/model/user_wait.h"
#include "cli/stack/stack_copy.h"

#define FRAMES_MOST 48

/* How many of the innermost frames are of libraries of the system and of the first other object:
 * what a function there says in general is not of what a function of another object waits for. */
static size_t frames_of_first(const struct stack *stack, size_t n)
{
	const char *object = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct frame *frame = &stack->frames[i];

		if (frame_is_of_library(frame))
			continue;
		if (object && frame->object && strcmp(object, frame->object) != 0)
			return i;
		object = object ?: frame->object;
	}
	return n;
}

/* The function that says what the sleep is for; without one, the innermost with a name that is not
 * of the C library. "": none. */
static void function_find(const struct stack *stack, enum wchan_cause kind,
			  char function[static USER_FUNCTION_LEN])
{
	const char *names[FRAMES_MOST] = { NULL };
	size_t n = stack && stack->n < FRAMES_MOST ? stack->n : stack ? FRAMES_MOST : 0, at = n;
	const struct user_wait *row;

	for (size_t i = 0; i < n; i++)
		names[i] = stack->frames[i].function;
	row = user_wait_find(names, n, kind, &at);
	if (row && row->general && at >= frames_of_first(stack, n))
		row = user_wait_find(names, frames_of_first(stack, n), kind, &at);
	if (!row)
		for (at = 0; at < n; at++)
			if (names[at] && !frame_is_of_library(&stack->frames[at]))
				break;
	memset(function, 0, USER_FUNCTION_LEN);
	if (at < n)
		snprintf(function, USER_FUNCTION_LEN, "%.*s", (int)function_name_length(names[at]),
			 names[at]);
}

void sleep_parts_add(struct sleep_parts *parts, const struct stack *stack, enum wchan_cause kind,
		     uint64_t times, uint64_t last)
{
	struct sleep_part_of *part = parts->all;
	char function[USER_FUNCTION_LEN];

	function_find(stack, kind, function);
	while (part < parts->all + parts->n && strcmp(part->function, function) != 0)
		part++;
	if (part == parts->all + SLEEP_PARTS) /* they count as the first */
		part = parts->all;
	if (part == parts->all + parts->n) {
		*part = (struct sleep_part_of){ .times = 0 };
		memcpy(part->function, function, sizeof(part->function));
		parts->n++;
	}
	part->times = u64_add(part->times, times);
	part->last = u64_max(part->last, last);
	parts->times = u64_add(parts->times, times);
}

int sleep_split(struct thread_row *thread, size_t index, const struct sleep_parts *parts)
{
	const struct descriptor_row whole = thread->descriptors[index];
	const struct sleep_part_of *most = parts->all, *last = parts->all;
	struct kd_count left = whole.waits;
	int result = 0;

	for (const struct sleep_part_of *part = parts->all; part < parts->all + parts->n; part++) {
		most = part->times > most->times ? part : most;
		last = part->last > last->last ? part : last;
	}
	thread->descriptors[index] = thread->descriptors[--thread->n_descriptors];
	for (size_t i = 0; i < parts->n && !result; i++) {
		const struct sleep_part_of *part = &parts->all[i];
		struct descriptor_row row = whole;

		memcpy(row.user_function, part->function, sizeof(row.user_function));
		row.in_progress = part == last ? whole.in_progress : 0;
		row.waits = left;
		if (i + 1 < parts->n) {
			row.waits.total = u64_share(whole.waits.total, part->times, parts->times);
			row.waits.count = u64_share(whole.waits.count, part->times, parts->times);
			row.others = u64_share(whole.others, part->times, parts->times);
		}
		left.total -= row.waits.total;
		left.count -= row.waits.count;
		if (part != most) {
			row.waits.max = u64_min(whole.waits.max, row.waits.total);
			row.waits.began = 0;
		}
		result = row_list_add(&descriptor_list, &thread->descriptors,
				      &thread->n_descriptors, &row);
	}
	return result;
}

/* Rows of less than this part of the window are not looked at. */
#define ROW_LEAST 10

bool sleep_needs_function(const struct descriptor_row *row, uint64_t window)
{
	return user_wait_kind(row) != WCHAN_THROUGH && !*row->user_function &&
	       row->waits.total >= window / ROW_LEAST;
}

/* --- Stacks that were taken anyway --- */

/* How long a thread slept there, ns; 0: it is of something else. */
static uint64_t trace_slept(const struct trace_list *traces, const struct trace_row *trace)
{
	if (traces->waits_wanted)
		return trace->kind == TRACE_WAIT ? u64_sub(trace->end, trace->start) : 0;
	return trace->kind == TRACE_CALL ? trace->waited : 0;
}

/* Returns false if they are of less than half of the sleeps. */
static bool parts_trace(struct sleep_parts *parts, const struct trace_list *traces,
			const struct thread_row *thread, const struct descriptor_row *row)
{
	*parts = (struct sleep_parts){ .n = 0 };
	for (size_t i = 0; i < traces->n; i++) {
		const struct trace_row *trace = &traces->rows[i];
		uint64_t slept = trace_slept(traces, trace);

		if (slept && trace->user && trace->tid == thread->tid && trace->call == row->call)
			sleep_parts_add(parts, trace->user, user_wait_kind(row), slept,
					trace->start);
	}
	return parts->n && parts->times >= row->waits.total / 2;
}

int user_functions_trace(struct sample *sample)
{
	struct sleep_parts parts;
	int result = 0;

	for (size_t i = 0; i < sample->n_threads && sample->traces.n; i++) {
		struct thread_row *thread = &sample->threads[i];

		for (size_t j = thread->n_descriptors; thread->members == 1 && j-- && !result;)
			if (sleep_needs_function(&thread->descriptors[j],
						 sample->end - sample->start) &&
			    parts_trace(&parts, &sample->traces, thread, &thread->descriptors[j]))
				result = sleep_split(thread, j, &parts);
	}
	return result;
}
