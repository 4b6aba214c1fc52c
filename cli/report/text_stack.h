/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks in the text report: a line per frame. */
#ifndef TEXT_STACK_H
#define TEXT_STACK_H

#include "../traces.h"
#include "columns.h"

/* Writes the kernel stack of a row and below it its user stack, innermost frames
 * first. In place of one that was asked for and is not there stands why. show_ip:
 * without a user stack, its instruction pointer is to be told. */
void text_stacks(struct columns *columns, const struct trace_list *list,
		 const struct trace_row *row, bool show_ip);

#endif
