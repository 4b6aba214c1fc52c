/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the BPF programs, their links and maps, and the edges of windows.
 *
 * Times given out are CLOCK_MONOTONIC ns; those in the maps count from the
 * session's epoch. */
#ifndef SESSION_H
#define SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"
#include "cli/base/exit_status.h"
#include "cli/model/sample.h"
#include "session_reads.h"
#include "session_types.h"
#include "session_windows.h"

struct culprits;
struct file_names;
struct lock_callers;
struct programs;
struct recorder;
struct session;
struct several;
struct tracing;
struct triggers;
struct windows;

/* Loads and attaches all programs and learns the target's threads. Returns 0,
 * or after printing what failed an exit status of <sysexits.h>. The caller ends
 * the session with session_close(). */
exit_status session_open(struct session **session, const struct session_config *config);

/* Detaches and frees all; NULL is allowed. */
void session_close(struct session *session);

/* Its parts; their headers say what can be done with them. They live as long as it. */
struct windows *session_windows(struct session *session);
struct triggers *session_triggers(struct session *session);
struct tracing *session_tracing(struct session *session);
struct several *session_several(struct session *session);
struct culprits *session_culprits(struct session *session);
struct recorder *session_recorder(struct session *session);
struct file_names *session_file_names(struct session *session);
struct programs *session_programs(struct session *session);
const struct entry_cost *session_entry(const struct session *session);

/* How many CPUs there can be. */
uint32_t session_cpus(const struct session *session);

/* To be called often: keeps what timing page faults costs below its limit, and looks which
 * processes there are. Returns 0 or a negative errno. */
int session_tick(struct session *session);

/* Waits until the programs that are running now have ended. */
void session_settle(struct session *session);

/* Waits, if need be, until those have ended that were running at an edge (ns of
 * CLOCK_MONOTONIC). */
void session_settle_after(struct session *session, uint64_t edge);

/* Lets the task iterator visit the target's threads: new ones get a slot, run
 * times and names are read. Returns 0 or a negative errno. */
int session_visit(struct session *session, enum kd_visit visit);

/* True if that has come to its end. Then the starts are forgotten that were waiting for
 * their stop, and no program sets an edge any more. */
bool session_detach_end(struct session *session);

/* True if a thread is still in the call that it entered then (as in its record). */
bool session_call_goes_on(const struct session *session, uint32_t tid, int32_t call,
			  uint64_t since);

/* Adds the waits for locks and at descriptors in a window, and who stopped them, to the rows of its
 * threads: row_of[slot] - 1 is a thread's, 0: it has none. Who called for locks is added to those
 * that callers completes later. Returns 0 or -ENOMEM. */
int session_hashes(struct session *session, const struct session_view *view,
		   struct thread_row *rows, const uint32_t *row_of, struct lock_callers *callers);

/* Looks at what no event tells: counters of threads that run now, and whether a scheduler of
 * sched_ext is loaded. */
void session_look(struct session *session);

/* Copies the name of an interrupt's action; "" if unknown. */
void session_irq_name(struct session *session, uint64_t key, char name[KD_IRQ_NAME_LEN]);

/* Sets *losses to what was lost, and returns the number of program runs that
 * the kernel skipped, both since the last call. */
uint64_t session_losses(struct session *session, uint64_t losses[KD_LOSSES]);

/* Switches of target threads that the kernel did not report, since the last
 * call. Their times were taken from its count of the run time. */
uint64_t session_resynced(struct session *session);

/* Whether a thread has been frozen since the session began, or was then. */
bool session_has_frozen(const struct session *session);

/* Sections that this kernel does not allow. */
const struct absence *session_absences(const struct session *session, size_t *count);

#endif
