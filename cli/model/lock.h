/* SPDX-License-Identifier: Apache-2.0 */
/* A lock: which functions waited for it, and what its holder did meanwhile. */
#ifndef LOCK_H
#define LOCK_H

#include <stdint.h>

#include "bpf/kernel_delay.h"
#include "cli/stack/stack_copy.h"

#define LOCK_CALLER_LEN 256

/* The innermost functions of a stack that are not of the C library or its like, which only pass
 * the wait on: "mutex_take+0x1b < serve+0x58 [server]". Not escaped; "" if there are none, or no
 * stack (NULL). */
void lock_caller_text(const struct stack *stack, char text[static LOCK_CALLER_LEN]);

/* Takes away what is more than a wait of so many ns: of what the holder did later it is not known
 * what that was, so it is taken from what it did most. */
void doing_limit(struct kd_doing *doing, uint64_t ns);

#endif
