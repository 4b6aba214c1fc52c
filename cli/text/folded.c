/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/columns.h"
#include "cli/base/escape.h"
#include "cli/base/texts.h"

#define NAME_MOST 1000 /* bytes of a name */

/* Placeholders for missing frames. */
#define NO_USER "[no_user_stack]"
#define INCOMPLETE "[incomplete]"
/* Marks a stack that may lack frames. */
#define BY_FRAME_POINTERS "[by_frame_pointers]"

static const char *const kinds[TRACE_KINDS] = {
	[TRACE_CALL] = "syscall",
	[TRACE_WAIT] = "off-cpu",
	[TRACE_SAMPLE] = "on-cpu",
};

/* Adds the text of a frame, or a part of it. Blanks are replaced because some readers end the
 * frames there: one takes two numbers at the end of a line for two columns. */
static void name_add(struct columns *columns, const char *name, size_t most)
{
	char escaped[ESCAPE_SIZE(NAME_MOST)];

	escape_text(escaped, sizeof(escaped), name, most < NAME_MOST ? most : NAME_MOST);
	for (char *at = escaped; *at; at++) {
		if (*at == ';')
			*at = ':';
		else if (*at == ' ')
			*at = '_';
	}
	columns_add(columns, *escaped ? escaped : "[unknown]");
}

static void frame_add(struct columns *columns, const struct frame *frame, bool is_kernel)
{
	columns_add(columns, ";");
	if (frame->function && *frame->function) {
		name_add(columns, frame->function, NAME_MOST);
	} else if (frame->object) {
		name_add(columns, path_last(frame->object), NAME_MOST);
		columns_add(columns, "+");
		columns_hex(columns, frame->offset);
	} else if (is_kernel) {
		columns_add(columns, "[no_symbol]"); /* generated code, such as a filter */
	} else {
		/* No address: all code generated at run time shares one frame. */
		columns_add(columns, "[unknown]");
	}
	if (is_kernel)
		columns_add(columns, "_[k]");
}

static void stack_add(struct columns *columns, const struct stack *stack, bool is_kernel)
{
	if (stack->by_frame_pointers)
		columns_add(columns, ";" BY_FRAME_POINTERS);
	if (stack->stop)
		columns_add(columns, is_kernel ? ";" INCOMPLETE "_[k]" : ";" INCOMPLETE);
	for (size_t i = stack->n; i-- > 0;)
		frame_add(columns, &stack->frames[i], is_kernel);
}

/* Fields of a line besides the stack. */
struct with {
	bool pid, tid, kind;
};

/* Returns whether there is one. */
static bool line_add(struct columns *columns, const struct trace_list *list,
		     const struct trace_sum *sum, const struct with *with)
{
	const struct trace_row *row = sum->longest;

	if (!sum->total)
		return false;
	name_add(columns, row->name, KD_COMM_LEN);
	if (with->pid) {
		columns_add(columns, "-");
		columns_count(columns, (uint64_t)row->pid, 0);
	}
	if (with->tid) {
		columns_add(columns, with->pid ? "/" : "-");
		columns_count(columns, (uint64_t)row->tid, 0);
	}
	if (with->kind) {
		columns_add(columns, ";");
		columns_add(columns, kinds[row->kind]);
	}
	if (row->user)
		stack_add(columns, row->user, false);
	else if (list->user_stacks_wanted)
		columns_add(columns, ";" NO_USER);
	if (row->kernel)
		stack_add(columns, row->kernel, true);
	columns_add(columns, " ");
	columns_count(columns, sum->total, 0);
	columns_add(columns, "\n");
	return true;
}

int report_folded(const struct sample *sample, const struct report_options *options, FILE *out)
{
	const struct trace_list *list = &sample->traces;
	const struct with with = {
		.pid = processes_count(sample) > 1,
		.tid = options->waits_per_thread,
		.kind = list->calls_wanted + list->waits_wanted + (list->profile_hz > 0) > 1,
	};
	const struct traces_merging merging = { .threads = with.tid ? MERGE_IN_THREAD
								    : MERGE_IN_NAME,
						.processes = with.pid };
	struct columns columns;
	int err = 0, write_err, lines = 0;

	columns_begin(&columns, out);
	for (unsigned int kind = 0; kind < TRACE_KINDS && !err; kind++) {
		struct trace_sum *sums;
		size_t n;

		err = traces_merge(list, (enum trace_kind)kind, sample->end, merging, &sums, &n);
		for (size_t i = 0; i < n; i++)
			lines += line_add(&columns, list, &sums[i], &with);
		free(sums);
	}
	write_err = columns_end(&columns);
	return err ? err : write_err ? write_err : lines;
}
