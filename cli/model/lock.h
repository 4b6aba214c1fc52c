/* SPDX-License-Identifier: Apache-2.0 */
/* Locks: functions that waited for one, and what its holder did meanwhile. */
#ifndef LOCK_H
#define LOCK_H

#include <stdint.h>

#include "bpf/kernel_delay.h"
#include "cli/stack/stack_copy.h"

#define LOCK_CALLER_LEN 256

/* Innermost functions of a stack, without those of the C library and the like that only pass the
 * wait on: "mutex_take+0x1b < serve+0x58 [server]". Not escaped; "" without such functions or
 * without a stack (NULL). */
void lock_caller_text(const struct stack *stack, char text[static LOCK_CALLER_LEN]);

/* Cuts the times down to a wait of ns. The holder went on after the wait; since it is unknown
 * what that time was, the largest states lose it. */
void activity_limit(struct kd_activity *activity, uint64_t ns);

#endif
