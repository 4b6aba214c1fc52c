/* SPDX-License-Identifier: Apache-2.0 */
/* From the maps of a session to a sample. */
#ifndef COLLECT_H
#define COLLECT_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/model/sample.h"
#include "session.h"

struct collector;
struct lock_callers;

/* Returns NULL without memory. The session must outlive the collector. */
struct collector *collector_new(struct session *session, pid_t pid);
void collector_free(struct collector *collector);

/* Accounts threads that have ended, folded by name, and gives their slots back.
 * To be called every few ten milliseconds. Returns 0 or -ENOMEM. */
int collector_drain(struct collector *collector);

/* True if no thread of the target is left that has not been drained; but for those that are not
 * followed any more, which keep their slots for a while. */
bool collector_is_empty(const struct collector *collector);

/* How many of the given number of threads, which /proc counted a moment ago, have
 * no slot and have not been counted as lost for want of one. */
unsigned int collector_hidden(const struct collector *collector, unsigned int threads);

/* Who waited for locks in the window that was finished last: to be completed by it, or given up. */
struct lock_callers *collector_lock_callers(struct collector *collector);

/* Forgets ended threads and losses: a new sample begins. */
void collector_reset(struct collector *collector);

/* Reads a closed window into *sample, of which only the wall clock's times and
 * how it ended are left to the caller, and releases it. The caller clears the
 * sample. Returns 0 or a negative errno. */
int collector_finish(struct collector *collector, const struct session_view *view,
		     struct sample *sample);

#endif
