/* SPDX-License-Identifier: Apache-2.0 */
/* Results of the parts of a session. Each part has its own file. */
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

/* Returns how long page faults were counted but not timed between two times, ns of
 * CLOCK_MONOTONIC. */
uint64_t session_faults_untimed(const struct session *session, uint64_t start, uint64_t end);

/* Adds the upcalls of openvswitch in a window to the sample. Returns 0 or -ENOMEM. */
int session_upcalls(const struct session *session, const struct session_view *view,
		    struct sample *sample);

/* Adds TCP retransmissions in a window to a sample whose usage has been summed. Returns 0 or
 * -ENOMEM. */
int session_resent(struct session *session, const struct session_view *view, struct sample *sample);

/* Sets in a row what a slot's thread read and wrote in a window, if that is counted. Returns 0 or
 * -ENOMEM. */
int session_usage(const struct session *session, const struct session_view *view, uint32_t slot,
		  struct thread_row *row);

/* Appends the durations of one kind (see struct kd_histogram_set) of a slot's thread in a
 * window; none without histograms. Returns 0 or -ENOMEM. */
int session_histogram(const struct session *session, const struct session_view *view, uint32_t slot,
		      uint32_t kind, struct distribution *distribution);

/* Adds a duration as the BPF side would; none without histograms. Returns 0 or -ENOMEM. */
int session_histogram_add(const struct session *session, struct distribution *distribution,
			  uint64_t ns);

/* Adds the stop that a thread was in at the window's end, if any. Returns 0 or -ENOMEM. */
int stops_read_open(const struct session_view *view, const struct kd_thread *thread,
		    struct thread_row *row);

/* True if a thread slept at a descriptor at the window's end: KD_VISIT_WAITING counts that too. */
bool session_files_pending(const struct session *session, const struct session_view *view);

/* Frees the slot of a thread that has ended and been accounted. */
void session_slot_free(struct session *session, uint32_t slot);

/* --- Rings of records, whose times are relative to the epoch --- */

enum session_ring {
	RING_TRACES,        /* struct kd_trace, whose size says where it ends */
	RING_INTERRUPTIONS, /* struct kd_interruption */
	RING_EVENTS, /* struct kd_event: a trigger has opened a window that no trigger closes,
		      * or has closed one, or the like */
	SESSION_RINGS,
};

/* Returns a descriptor that is readable when the ring should be read at once. -1: no ring. */
int session_ring_fd(const struct session *session, enum session_ring which);

/* Gets a record. Returns 0, or a negative errno that ends the walk. */
typedef int record_found_fn(void *context, void *data, size_t size);

/* Calls found() for each record since the last call. Returns 0 or a negative errno, which may be
 * from found(). */
int session_ring_read(struct session *session, enum session_ring which, record_found_fn *found,
		      void *context);

/* --- Tasks that had the CPU while threads waited --- */

/* True if a thread waited for a CPU at the window's end and is not charged up to there, for lack
 * of a switch since: the task iterator must visit it. */
bool culprits_pending(const struct culprits *culprits, const struct session_view *view);

/* Sets the row's culprits, which then add up to its waits for a CPU, and moves time taken by
 * limits to their ledger line. The thread is a copy read with the ledger. Returns 0 or -ENOMEM. */
int culprits_read(const struct culprits *culprits, const struct session_view *view, uint32_t slot,
		  const struct kd_thread *thread, struct thread_row *row);

/* Resolves a key to a task: its IDs, names, class and priority. Returns false if the tables no
 * longer have it. */
bool culprits_task(const struct culprits *culprits, uint32_t key, struct culprit *culprit);

/* Lists all tasks in the tables, by key. rows must hold KD_CULPRITS. Returns how many. */
size_t culprits_all(const struct culprits *culprits, struct recorded_culprit *rows);

/* Lists tasks on CPUs for which threads wait, without a switch since, after a visit for
 * culprits_pending(). Fills a row per such CPU, from the beginning of a wait on, with times
 * since the epoch and no end. rows must hold one per CPU. Returns how many. */
size_t culprits_running(const struct culprits *culprits, const struct session_view *view,
			struct span *rows);

/* --- Traces --- */

/* Records traces of system calls in progress. Returns 0 or a negative errno. */
int tracing_visit(struct tracing *tracing);

/* Returns how many code mappings did not fit into the ring since the last call. */
uint64_t tracing_maps_lost(struct tracing *tracing);

/* Caches a user stack for the programs by the hash of its shape and values, so that they copy
 * no equal one. stack: stands for it in records. */
void tracing_cache_stack(const struct tracing *tracing, const struct kd_shape *shape, uint64_t hash,
			 uint64_t stack, uint64_t mapped_at);

/* --- Resident memory of the target's processes, at the edges of windows --- */

/* Zeroed: nothing read. */
struct memory_log {
	struct memory_reading *all; /* at the last edge, by PID */
	size_t n;
};

/* Reads the memory of all processes that have a thread; call it before a window opens. Returns 0
 * or -ENOMEM. */
int memory_begin(struct memory_log *log, const struct session *session);

/* Completes the sample's process rows at a window's end; the processes may have ended. The next
 * window begins with this reading. Returns 0 or -ENOMEM. */
int memory_end(struct memory_log *log, const struct session *session, struct sample *sample);

/* Drops readings that belong to no later window. */
void memory_forget(struct memory_log *log);

#endif
