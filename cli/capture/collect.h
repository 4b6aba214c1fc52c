/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a sample from a session: rows from its maps, interruptions and traces from its rings, and a
 * recording. */
#ifndef COLLECT_H
#define COLLECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/model/recording.h"
#include "cli/model/sample.h"
#include "session.h"

/* --- Rows --- */

struct collector;
struct kernel_symbols;
struct lock_callers;

/* Returns NULL without memory. The session and the symbols must outlive the collector. */
struct collector *collector_new(struct session *session, struct kernel_symbols *symbols, pid_t pid);
void collector_free(struct collector *collector);

/* Accounts ended threads, folded by name, and frees their slots. Call it every few tens of
 * milliseconds. Returns 0 or -ENOMEM. */
int collector_drain(struct collector *collector);

/* True if every thread of the target has been drained. Threads no longer followed do not count,
 * though they keep their slots for a while. */
bool collector_is_empty(const struct collector *collector);

/* Returns how many threads have no slot, and were not counted as lost for lack of one. threads:
 * their count in /proc right now. */
unsigned int collector_hidden(const struct collector *collector, unsigned int threads);

/* Returns the callers of locks in the window finished last, which the caller completes or drops. */
struct lock_callers *collector_lock_callers(struct collector *collector);

/* Forgets ended threads and losses: a new sample begins. */
void collector_reset(struct collector *collector);

/* Reads a closed window into *sample and releases it. The caller adds wall clock times and how
 * the sample ended. The caller clears the sample. Returns 0 or a negative errno. */
int collector_finish(struct collector *collector, const struct session_view *view,
		     struct sample *sample);

/* --- Interruptions --- */

struct interruptions;

/* threshold: shorter ones, in ns, are counted but not listed. Returns NULL without memory. The
 * session must outlive it. */
struct interruptions *interruptions_new(struct session *session, uint64_t threshold);

/* NULL is allowed. */
void interruptions_free(struct interruptions *interruptions);

/* Reads the ring; call it every few tens of milliseconds. NULL: nothing to do. Returns 0 or a
 * negative errno. */
int interruptions_drain(struct interruptions *interruptions);

/* Adds interruptions to a sample whose threads have been read: those that ended in its window,
 * and those going on at its end. NULL: none wanted. Returns 0 or a negative errno. */
int interruptions_collect(struct interruptions *interruptions, const struct session_view *view,
			  struct sample *sample);

/* --- Recordings --- */

/* Reads the recording of a closed window, and this many ns before it, before the window's release.
 * The caller clears and frees *recording, which is NULL without one. Returns 0 or a negative
 * errno. */
int recording_take(struct session *session, const struct session_view *view, uint64_t before,
		   struct recording **recording);

/* --- Traces --- */

struct tracer;
struct stacks;

struct tracer_config {
	uint64_t epoch;
	const struct tracing_config *wanted;
	struct stacks *stacks; /* user stacks; NULL: not wanted */
	struct kernel_symbols *symbols;
};

/* Returns NULL without memory. Session, stacks and symbols must outlive the tracer. */
struct tracer *tracer_new(struct session *session, const struct tracer_config *config);

/* NULL is allowed. */
void tracer_free(struct tracer *tracer);

/* Reads the ring; call it every few tens of milliseconds, and when RING_TRACES is readable.
 * Returns 0 or a negative errno. */
int tracer_drain(struct tracer *tracer);

/* Reads the traces of a closed window not released yet, and counts what it lost. Returns 0 or a
 * negative errno. */
int tracer_read(struct tracer *tracer, const struct session_view *view);

/* Moves the traces of a read window (CLOCK_MONOTONIC ns) to the list, and forgets older ones.
 * The tracer owns the stacks. Returns 0 or a negative errno. */
int tracer_collect(struct tracer *tracer, uint64_t start, uint64_t end, struct trace_list *list);

#endif
