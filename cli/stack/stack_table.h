/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks, each kept once, with their texts. */
#ifndef STACK_TABLE_H
#define STACK_TABLE_H

#include <stddef.h>

#include "stack.h"

struct stack_table;

/* Room: how many stacks are kept; there is a limit to the memory as well. Returns
 * NULL without memory. */
struct stack_table *stack_table_new(size_t room);

/* Frees all stacks, too. NULL is allowed. */
void stack_table_free(struct stack_table *table);

/* The kept stack that is like this one, whose reason to stop is a constant. All texts of the frames
 * are copied. NULL if there is no room for another. */
const struct stack *stack_table_get(struct stack_table *table, const struct stack *like);

#endif
