/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for locks, as the kernel side has counted them. */
#ifndef SESSION_LOCKS_H
#define SESSION_LOCKS_H

#include <stdbool.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "cli/base/signals.h"
#include "cli/model/sample.h"
#include "session_hash.h"

struct lock_callers;

/* The name that a thread of a process has now; left as it is if that has ended. */
void locks_name_read(pid_t pid, pid_t tid, char name[static KD_COMM_LEN]);

/* Adds the wait that a thread was in at the window's end, if it still is: else session_hashes(),
 * which comes after this, has it. Returns 0 or -ENOMEM. */
int locks_read_open(const struct session_view *view, uint32_t slot, const struct kd_thread *thread,
		    struct thread_row *row);

/* --- Which variables of the program the locks are that its threads waited for --- */

struct lock_places;

/* Signals: see signals_wait(); they are not owned. Returns NULL without memory. */
struct lock_places *lock_places_new(struct signals *signals);

/* NULL is allowed. */
void lock_places_free(struct lock_places *places);

/* Completes the rows of locks of a finished sample. What a process has mapped is read by a child
 * of this one, which is given up if that takes too long: then nothing is known of it for a while.
 * Returns 0 or -ENOMEM. */
int lock_places_find(struct lock_places *places, struct sample *sample);

/* Whether that was given up: who reads the same has to wait, too. */
bool lock_places_gave_up(const struct lock_places *places);

/* --- Which functions of the program waited for locks: from copies of their stacks to words --- */

struct stacks;

/* Returns NULL without memory. */
struct lock_callers *lock_callers_new(void);

/* NULL is allowed. */
void lock_callers_free(struct lock_callers *callers);

/* Completes the rows of locks of a finished sample, and forgets what was taken over; without
 * stacks (NULL) only that. */
void lock_callers_find(struct lock_callers *callers, struct stacks *stacks, struct sample *sample);

/* Whether that would do anything. */
bool lock_callers_wait(const struct lock_callers *callers);

#endif
