/* SPDX-License-Identifier: Apache-2.0 */
/* The session as a whole: opening it, and what all its parts do together.
 * Times given out are CLOCK_MONOTONIC ns; those in the maps count from the session's epoch. */
#ifndef SESSION_H
#define SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"
#include "cli/base/exit_status.h"
#include "cli/capture/session/types.h"
#include "cli/model/sample.h"

struct culprits;
struct entry_cost;
struct file_names;
struct lock_callers;
struct process_set;
struct programs;
struct recorder;
struct session;
struct session_config;
struct thread_row;
struct tracing;
struct triggers;

/* Loads and attaches all programs and finds the target's threads. Returns 0, or an exit status
 * of <sysexits.h> after printing what failed. The caller ends the session with session_close(). */
exit_status session_open(struct session **session, const struct session_config *config);

/* Detaches and frees everything; NULL is allowed. */
void session_close(struct session *session);

/* Parts of the session, used as their headers describe. They live as long as the session. */
struct windows *session_windows(struct session *session);
struct triggers *session_triggers(struct session *session);
struct tracing *session_tracing(struct session *session);
struct process_set *session_process_set(struct session *session);
struct culprits *session_culprits(struct session *session);
struct recorder *session_recorder(struct session *session);
struct file_names *session_file_names(struct session *session);
struct programs *session_programs(struct session *session);
const struct entry_cost *session_entry(const struct session *session);

/* Returns the number of possible CPUs. */
uint32_t session_cpus(const struct session *session);

/* Call it often: keeps the cost of timing page faults below its limit, and checks which
 * processes exist. Returns 0 or a negative errno. */
int session_tick(struct session *session);

/* Waits until programs that are running now have ended. */
void session_settle(struct session *session);

/* Waits, if needed, until programs that ran at an edge (ns of CLOCK_MONOTONIC) have ended. */
void session_settle_after(struct session *session, uint64_t edge);

/* Runs the task iterator over the target's threads: new ones get slots; run times and names are
 * read. Returns 0 or a negative errno. */
int session_visit(struct session *session, enum kd_visit visit);

/* True if the target can be left alone between windows: nothing else is recorded of it. */
bool session_can_rest(const struct session *session);

/* No window is open: until session_wake() the target's events cost what those of other processes
 * do. All threads lose their slots. */
void session_rest(struct session *session);

/* Finds the target's threads again. Returns 0, or an exit status after printing what failed. */
exit_status session_wake(struct session *session);

/* True if the triggers have detached. Starts that waited for their stop are then forgotten, and no
 * program sets an edge any more. */
bool session_detach_end(struct session *session);

/* True if a thread is still in the call entered at that time (as in its record). */
bool session_call_goes_on(const struct session *session, uint32_t tid, int32_t call,
			  uint64_t since);

/* Adds waits for locks and at descriptors in a window, and what stopped its threads, to their rows.
 * row_of[slot] - 1 is a thread's row; 0: none. Callers of locks go to callers, which completes them
 * later. Returns 0 or -ENOMEM. */
int session_hashes(struct session *session, const struct session_view *view,
		   struct thread_row *rows, const uint32_t *row_of, struct lock_callers *callers);

/* Checks what no event reports: counters of running threads, and whether a sched_ext scheduler
 * is loaded. */
void session_look(struct session *session);

/* Copies the name of an interrupt's action; "" if unknown. */
void session_irq_name(struct session *session, uint64_t key, char name[KD_IRQ_NAME_LEN]);

/* Sets *losses to what was lost, and returns how many program runs the kernel skipped, both
 * since the last call. */
uint64_t session_losses(struct session *session, uint64_t losses[KD_LOSSES]);

/* True if anything was lost for this reason since session_losses() was called. */
bool session_has_lost(const struct session *session, enum kd_loss reason);

/* Returns how many switches of target threads the kernel did not report since the last call.
 * Their times come from its run time. */
uint64_t session_resynced(struct session *session);

/* True if a thread was frozen at or after the start of the session. */
bool session_has_frozen(const struct session *session);

/* Returns the sections that this kernel does not support. */
const struct absence *session_absences(const struct session *session, size_t *count);

#endif
