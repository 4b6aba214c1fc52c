/* SPDX-License-Identifier: Apache-2.0 */
/* Which functions of the program waited for locks: from copies of their stacks to words. */
#ifndef LOCK_CALLERS_H
#define LOCK_CALLERS_H

#include <stdbool.h>

#include "cli/model/sample.h"

struct lock_callers;
struct stacks;

/* Returns NULL without memory. */
struct lock_callers *lock_callers_new(void);

/* NULL is allowed. */
void lock_callers_free(struct lock_callers *callers);

/* Takes over what the kernel side has of a wait of a row's thread, which is of that process: for
 * the row's locks at this address. Returns 0 or -ENOMEM. */
int lock_callers_add(struct lock_callers *callers, pid_t pid, uint64_t address,
		     const struct kd_caller *caller, struct thread_row *row);

/* Completes the rows of locks of a finished sample, and forgets what was taken over; without
 * stacks (NULL) only that. */
void lock_callers_find(struct lock_callers *callers, struct stacks *stacks, struct sample *sample);

/* Whether that would do anything. */
bool lock_callers_wait(const struct lock_callers *callers);

#endif
