/* SPDX-License-Identifier: Apache-2.0 */
#include "text_processes.h"

#include <string.h>

#include "cli/base/escape.h"
#include "cli/base/parse.h"
#include "cli/model/words.h"
#include "text_words.h"

#define INDENT "          " /* as kernel_delay.py */
#define FUNCTION_MOST 1000  /* bytes; names of C++ templates can be of any length */
#define OBJECT_MOST 255
#define US 1000 /* ns */

/* A name from a file of the target, of so many bytes of which most are shown. */
static void bytes_add(struct columns *columns, const char *name, size_t length, size_t most)
{
	char escaped[ESCAPE_SIZE(FUNCTION_MOST)];

	escape_text(escaped, sizeof(escaped), name, length > most ? most : length);
	columns_add(columns, escaped);
	if (length > most)
		columns_add(columns, "...");
}

static void name_add(struct columns *columns, const char *name, size_t most)
{
	bytes_add(columns, name, strnlen(name, most + 1), most);
}

/* Without the path; an object that is no file has brackets already. */
static void object_add(struct columns *columns, const char *object)
{
	const char *slash = strrchr(object, '/');
	size_t length = strlen(object);

	if (slash && slash[1])
		name_add(columns, slash + 1, OBJECT_MOST);
	else if (length > 2 && object[0] == '[' && object[length - 1] == ']')
		bytes_add(columns, object + 1, length - 2, OBJECT_MOST);
	else
		name_add(columns, object, OBJECT_MOST);
}

/* varies: it was at several places of its function, which are not told. */
static void frame_line(struct columns *columns, const struct frame *frame, bool is_kernel,
		       bool varies)
{
	bool is_named = frame->function && *frame->function;

	columns_add(columns, INDENT);
	if (is_named) {
		name_add(columns, frame->function, FUNCTION_MOST);
		if (!varies)
			columns_add(columns, "+");
	} else if (!frame->object && !is_kernel) {
		columns_add(columns, "[unknown] ");
	}
	if (!is_named || !varies)
		columns_hex(columns, frame->offset);
	if (frame->object || is_kernel) {
		columns_add(columns, " [");
		if (frame->object)
			object_add(columns, frame->object);
		else
			columns_add(columns, "kernel");
		/* To find the function with, on a machine that has its symbols. */
		if (!is_named && frame->build_id) {
			columns_add(columns, " build-id ");
			name_add(columns, frame->build_id, OBJECT_MOST);
		}
		columns_add(columns, "]");
	}
	columns_add(columns, "\n");
}

static void stack_lines(struct columns *columns, const struct stack *stack, bool is_kernel,
			const struct frame_set *varies)
{
	for (size_t i = 0; i < stack->n; i++)
		frame_line(columns, &stack->frames[i], is_kernel,
			   varies && frame_set_has(varies, i));
	if (stack->by_frame_pointers)
		columns_add(columns, INDENT
			    "(some frames were found by frame pointers: callers may be missing)\n");
	if (!stack->stop)
		return;
	columns_add(columns, INDENT "(the stack goes on: ");
	name_add(columns, stack->stop, OBJECT_MOST);
	columns_add(columns, ")\n");
}

static void no_user_stack(struct columns *columns, const struct trace_row *row, bool show_ip)
{
	columns_add(columns, INDENT "(no user stack");
	if (row->no_user) {
		columns_add(columns, ": ");
		name_add(columns, row->no_user, OBJECT_MOST);
	} else if (row->limited) {
		columns_add(columns, ": more than --stack-overhead allows");
	}
	if (show_ip && row->user_ip) {
		columns_add(columns, "; the instruction was at ");
		columns_hex(columns, row->user_ip);
	}
	columns_add(columns, ")\n");
}

static void no_kernel_stack(struct columns *columns, const struct trace_row *row)
{
	columns_print(columns, INDENT "(no kernel stack%s%s)\n", row->no_kernel ? ": " : "",
		      row->no_kernel ? row->no_kernel : "");
}

/* At which descriptor that was. */
static void at_line(struct columns *columns, const char *at, bool others)
{
	char escaped[ESCAPE_SIZE(DESCRIPTOR_TEXT_LEN)];

	escape_text(escaped, sizeof(escaped), at, SIZE_MAX);
	columns_print(columns, INDENT "(at %s%s)\n", escaped, others ? ", and others" : "");
}

/* The path of the call, or how it is that there is none. */
static void path_line(struct columns *columns, const struct trace_row *row, bool others)
{
	if (row->path) {
		columns_add(columns, INDENT "(path ");
		name_add(columns, row->path, FUNCTION_MOST);
		columns_print(columns, "%s%s)\n", row->path_cut ? "..." : "",
			      others ? ", and others" : "");
	} else if (row->no_path) {
		columns_add(columns, INDENT "(the path could not be read)\n");
	}
}

/* The lock of the wait, and who had it. */
static void lock_line(struct columns *columns, const struct blocker *blocker, bool others)
{
	columns_add(columns, INDENT "(lock ");
	columns_hex(columns, blocker->lock);
	if (blocker->kind != KD_LOCK_NO_OWNER)
		columns_print(columns, ", %s", lock_keys[blocker->kind]);
	if (blocker->holder) {
		columns_add(columns, ", held by ");
		columns_count(columns, (uint64_t)blocker->holder, 0);
		columns_add(columns, " ");
		if (!columns_foreign(columns, blocker->holder_name, KD_COMM_LEN, SIZE_MAX))
			columns_add(columns, "[unknown]");
	}
	if (blocker->holder_pid) {
		columns_add(columns, " of process ");
		columns_count(columns, (uint64_t)blocker->holder_pid, 0);
	}
	columns_add(columns, others ? ", and others)\n" : ")\n");
}

/* How long the disk took for the request that ended the wait. */
static void disk_line(struct columns *columns, const struct blocker *blocker, bool others)
{
	columns_add(columns, INDENT "(disk ");
	if (!columns_foreign(columns, blocker->disk, sizeof(blocker->disk), SIZE_MAX))
		columns_add(columns, "[unknown]");
	columns_print(columns, ", its request took %s us%s)\n", GROUPED(blocker->request / US),
		      others ? ", and others" : "");
}

/* Of which processes it is. */
static void processes_line(struct columns *columns, const struct sample *sample,
			   const struct trace_row *row, const struct trace_sum *sum)
{
	columns_add(columns, INDENT "(of ");
	if (sum && sum->processes > 1) {
		columns_print(columns, "%s processes: ", GROUPED(sum->processes));
		for (size_t i = 0; i < sum->processes && i < TRACE_PIDS; i++) {
			columns_add(columns, i ? ", " : "");
			columns_count(columns, (uint64_t)sum->pids[i], 0);
		}
		columns_add(columns, sum->processes > TRACE_PIDS ? ", ..." : "");
		columns_add(columns, "; the longest is of ");
	}
	text_process(columns, sample, row->pid, row->end ?: UINT64_MAX);
	columns_add(columns, ")\n");
}

void text_stacks(struct columns *columns, const struct sample *sample, const struct trace_row *row,
		 const struct trace_sum *sum)
{
	const struct trace_list *list = &sample->traces;
	bool in_user = row->kind == TRACE_SAMPLE && row->state == KD_USER;

	if (text_is_several(sample) && row->pid)
		processes_line(columns, sample, row, sum);
	if (row->at)
		at_line(columns, row->at, sum && !sum->same_at);
	path_line(columns, row, sum && !sum->same_path);
	if (row->blocker.lock)
		lock_line(columns, &row->blocker, sum && !sum->same_lock);
	if (row->blocker.request)
		disk_line(columns, &row->blocker, sum && !sum->same_disk);
	if (row->kernel)
		stack_lines(columns, row->kernel, true, sum ? &sum->kernel_varies : NULL);
	else if (list->kernel_stacks_asked && !in_user)
		no_kernel_stack(columns, row);
	if (row->user)
		stack_lines(columns, row->user, false, sum ? &sum->user_varies : NULL);
	else if (list->user_stacks_asked)
		no_user_stack(columns, row, !sum || sum->same_ip);
}
