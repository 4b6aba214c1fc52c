/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for locks, as counted by the BPF side. */
#ifndef PART_LOCKS_H
#define PART_LOCKS_H

#include <stdbool.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "cli/base/signals.h"
#include "cli/capture/session/config.h"
#include "cli/capture/session/types.h"
#include "cli/model/sample.h"

struct lock_callers;

/* Reads the present name of a thread of a process; leaves it unchanged if the thread has ended. */
void locks_name_read(pid_t pid, pid_t tid, char name[static KD_COMM_LEN]);

/* Adds the wait that a thread was in at the window's end, if it still goes on. If it has ended
 * since, session_hashes() adds it later. Returns 0 or -ENOMEM. */
int locks_read_open(const struct session_view *view, uint32_t slot, const struct kd_thread *thread,
		    struct thread_row *row);

/* --- Variables of the program for the locks that its threads waited for --- */

struct lock_locations;

/* Signals: see signals_wait(); not owned. Returns NULL without memory. */
struct lock_locations *lock_locations_new(struct signals *signals);

/* NULL is allowed. */
void lock_locations_free(struct lock_locations *locations);

/* Adds variables to the lock rows of a finished sample. A child reads the mappings of processes and
 * their files. If that takes too long, no more are looked up for a minute or so. Returns 0 or
 * -ENOMEM. */
int lock_locations_find(struct lock_locations *locations, struct sample *sample);

/* True if lock_locations_find() has given up: other readers of the same files would block too. */
bool lock_locations_gave_up(const struct lock_locations *locations);

/* --- Variables of the kernel for its own locks --- */

struct kernel_symbols;

/* Adds variables to the rows of kernel locks with long waits in a finished sample, but for locks of
 * address spaces, which are in none. Reads the variables before, for the first such row. Returns 0
 * or -ENOMEM. */
int lock_variables_find(struct kernel_symbols *variables, struct sample *sample);

/* --- Functions of the program that waited for locks: from stack copies to text --- */

struct stacks;

/* Returns NULL without memory. */
struct lock_callers *lock_callers_new(void);

/* NULL is allowed. */
void lock_callers_free(struct lock_callers *callers);

/* Adds functions to the lock rows of a finished sample, and forgets the stack copies. With stacks
 * of NULL, only forgets them. */
void lock_callers_find(struct lock_callers *callers, struct stacks *stacks, struct sample *sample);

/* True if lock_callers_find() has anything to do. */
bool lock_callers_wait(const struct lock_callers *callers);

/* A thread's times until t (since the epoch), as activity_read() in bpf/lock.bpf.h has them. */
struct kd_activity locks_activity(const struct kd_thread *thread, uint64_t t);

#endif
