/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for locks, as counted by the BPF side. */
#ifndef SESSION_LOCKS_H
#define SESSION_LOCKS_H

#include <stdbool.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "cli/base/signals.h"
#include "cli/model/sample.h"
#include "session_windows.h"

struct lock_callers;

/* Reads the present name of a thread of a process; leaves it unchanged if the thread has ended. */
void locks_name_read(pid_t pid, pid_t tid, char name[static KD_COMM_LEN]);

/* Adds the wait that a thread was in at the window's end, if it goes on. Otherwise
 * session_hashes(), which runs later, has it. Returns 0 or -ENOMEM. */
int locks_read_open(const struct session_view *view, uint32_t slot, const struct kd_thread *thread,
		    struct thread_row *row);

/* --- Variables of the program for the locks that its threads waited for --- */

struct lock_locations;

/* Signals: see signals_wait(); not owned. Returns NULL without memory. */
struct lock_locations *lock_locations_new(struct signals *signals);

/* NULL is allowed. */
void lock_locations_free(struct lock_locations *locations);

/* Completes lock rows of a finished sample. A child reads the mappings of a process. It is given
 * up if it takes too long: then the process is skipped for a while. Returns 0 or -ENOMEM. */
int lock_locations_find(struct lock_locations *locations, struct sample *sample);

/* True if that was given up: other readers of the same files would block too. */
bool lock_locations_gave_up(const struct lock_locations *locations);

/* --- Functions of the program that waited for locks: from stack copies to text --- */

struct stacks;

/* Returns NULL without memory. */
struct lock_callers *lock_callers_new(void);

/* NULL is allowed. */
void lock_callers_free(struct lock_callers *callers);

/* Completes lock rows of a finished sample, and forgets what was taken over; without stacks
 * (NULL) only forgets. */
void lock_callers_find(struct lock_callers *callers, struct stacks *stacks, struct sample *sample);

/* True if that has anything to do. */
bool lock_callers_wait(const struct lock_callers *callers);

#endif
