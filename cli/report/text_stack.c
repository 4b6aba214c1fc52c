/* SPDX-License-Identifier: Apache-2.0 */
#include "text_stack.h"

#include <string.h>

#include "../escape.h"

#define INDENT "          " /* as kernel_delay.py */
#define FUNCTION_MOST 1000  /* bytes; names of C++ templates can be of any length */
#define OBJECT_MOST 255

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

static void frame_line(struct columns *columns, const struct frame *frame, bool is_kernel)
{
	bool is_named = frame->function && *frame->function;

	columns_add(columns, INDENT);
	if (is_named) {
		name_add(columns, frame->function, FUNCTION_MOST);
		columns_add(columns, "+");
	} else if (!frame->object && !is_kernel) {
		columns_add(columns, "[unknown] ");
	}
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

static void stack_lines(struct columns *columns, const struct stack *stack, bool is_kernel)
{
	for (size_t i = 0; i < stack->n; i++)
		frame_line(columns, &stack->frames[i], is_kernel);
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
		columns_add(columns, ": more than --stack-rate allows");
	}
	if (show_ip && row->user_ip) {
		columns_add(columns, "; the instruction was at ");
		columns_hex(columns, row->user_ip);
	}
	columns_add(columns, ")\n");
}

static void no_kernel_stack(struct columns *columns, const struct trace_row *row)
{
	columns_add(columns, INDENT "(no kernel stack");
	if (row->no_kernel) {
		columns_add(columns, ": ");
		columns_add(columns, row->no_kernel);
	}
	columns_add(columns, ")\n");
}

void text_stacks(struct columns *columns, const struct trace_list *list,
		 const struct trace_row *row, bool show_ip)
{
	bool in_user = row->kind == TRACE_SAMPLE && row->state == KD_USER;

	if (row->kernel)
		stack_lines(columns, row->kernel, true);
	else if (list->kernel_stacks_asked && !in_user)
		no_kernel_stack(columns, row);
	if (row->user)
		stack_lines(columns, row->user, false);
	else if (list->user_stacks_asked)
		no_user_stack(columns, row, show_ip);
}
