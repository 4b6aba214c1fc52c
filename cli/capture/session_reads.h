/* SPDX-License-Identifier: Apache-2.0 */
/* What parts of a session have to give, each of which is a file of its own. */
#ifndef SESSION_READS_H
#define SESSION_READS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"
#include "cli/model/sample.h"
#include "session_types.h"

struct culprits;
struct distribution;
struct session;
struct tracing;

/* How long page faults were counted, not timed, between two times, ns of CLOCK_MONOTONIC. */
uint64_t session_faults_untimed(const struct session *session, uint64_t start, uint64_t end);

/* Adds the upcalls of openvswitch in a window to the sample. Returns 0 or
 * -ENOMEM. */
int session_upcalls(const struct session *session, const struct session_view *view,
		    struct sample *sample);

/* Adds what TCP sent again in a window to a sample, whose usage has been added up. Returns 0 or
 * -ENOMEM. */
int session_resent(struct session *session, const struct session_view *view, struct sample *sample);

/* What a slot's thread has read and written in a window, into its row; nothing, if that is not
 * counted. Returns 0 or -ENOMEM. */
int session_usage(const struct session *session, const struct session_view *view, uint32_t slot,
		  struct thread_row *row);

/* Appends the durations of one kind (see struct kd_histogram_set) of a slot's thread in
 * a window; none, if there are no histograms. Returns 0 or -ENOMEM. */
int session_histogram(const struct session *session, const struct session_view *view, uint32_t slot,
		      uint32_t kind, struct distribution *distribution);

/* Adds a duration as the kernel side would have; none, as above. Returns 0 or -ENOMEM. */
int session_histogram_add(const struct session *session, struct distribution *distribution,
			  uint64_t ns);

/* Of a part of an interruption. Returns 0, or a negative errno, which ends the walk. */
typedef int interruption_fn(void *context, const struct kd_interruption *part);

/* Calls found() for each part since the last call; times count from the epoch. Returns 0 or a
 * negative errno, which may be found()'s. */
int session_interruptions(struct session *session, interruption_fn *found, void *context);

/* Adds the stop that a thread was in at the window's end, if it was in one. Returns 0 or
 * -ENOMEM. */
int stops_read_open(const struct session_view *view, const struct kd_thread *thread,
		    struct thread_row *row);

/* True if a thread slept at a descriptor when the window ended: KD_VISIT_WAITING counts that, too.
 */
bool session_files_pending(const struct session *session, const struct session_view *view);

/* Calls found() for each (thread, system call) that found no site in its
 * thread's table. found() returns 1 to have the entry removed (its thread must
 * have ended or its window be closed), 0 to keep it, or a negative errno, which
 * ends the walk. Returns 0 or a negative errno. */
int session_overflow(struct session *session, session_overflow_fn *found, void *context);

/* Gives back the slot of a thread that has ended and been accounted. */
void session_slot_free(struct session *session, uint32_t slot);

/* --- Who had the CPU while threads waited --- */

/* True if a thread waited for a CPU at the window's end and has not been charged up to
 * there, as there has been no switch since: the task iterator has to visit it. */
bool culprits_pending(const struct culprits *culprits, const struct session_view *view);

/* Sets the row's culprits, which then add up to its waits for a CPU, and moves what limits
 * took to their line of the ledger. The thread is a copy that was read with the ledger. Returns
 * 0 or -ENOMEM. */
int culprits_read(const struct culprits *culprits, const struct session_view *view, uint32_t slot,
		  const struct kd_thread *thread, struct thread_row *row);

/* Says which task a key is of: its IDs, names, class and priority. Returns false if the tables do
 * not know it any more. */
bool culprits_task(const struct culprits *culprits, uint32_t key, struct culprit *culprit);

/* All tasks that the tables know, by key. rows has room for KD_CULPRITS. Returns how many. */
size_t culprits_all(const struct culprits *culprits, struct recorded_culprit *rows);

/* Who has CPUs on which threads wait and where there has been no switch since, after a visit that
 * culprits_pending() asked for: a row for each such CPU, from when on somebody has waited, with
 * times since the epoch and no end. rows has room for one of each CPU. Returns how many. */
size_t culprits_running(const struct culprits *culprits, const struct session_view *view,
			struct recorded_run *rows);

/* --- Traces --- */

/* Of a record; size says where it ends, see struct kd_trace. Returns 0, or a negative
 * errno, which ends the walk. */
typedef int trace_fn(void *context, const struct kd_trace *trace, size_t size);

/* Becomes readable when traces should be read at once. -1 if there are none. */
int tracing_fd(const struct tracing *tracing);

/* Calls found() for each record since the last call; times count from the epoch. Returns
 * 0 or a negative errno, which may be found()'s. */
int tracing_read(struct tracing *tracing, trace_fn *found, void *context);

/* Leaves traces of the system calls that are in progress. Returns 0 or a negative
 * errno. */
int tracing_visit(struct tracing *tracing);

/* Mappings of code for which there was no room in the ring, since the last call. */
uint64_t tracing_maps_lost(struct tracing *tracing);

/* Makes a user stack known, by the hash of its shape and values: copies that would be the
 * same are not made. stack: what records will call it. */
void tracing_known(const struct tracing *tracing, const struct kd_shape *shape, uint64_t hash,
		   uint64_t stack, uint64_t mapped_at);

#endif
