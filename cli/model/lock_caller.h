/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that waited for a lock, in one line. */
#ifndef LOCK_CALLER_H
#define LOCK_CALLER_H

#include "cli/stack/stack_copy.h"

#define LOCK_CALLER_LEN 256

/* The innermost functions of a stack that are not of the C library or its like, which only pass
 * the wait on: "mutex_take+0x1b < serve+0x58 [server]". Not escaped; "" if there are none, or no
 * stack (NULL). */
void lock_caller_text(const struct stack *stack, char text[static LOCK_CALLER_LEN]);

#endif
