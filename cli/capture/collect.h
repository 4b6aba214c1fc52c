/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a sample from a session's maps. */
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

/* Accounts ended threads, folded by name, and frees their slots. Call it every few tens of
 * milliseconds. Returns 0 or -ENOMEM. */
int collector_drain(struct collector *collector);

/* True if every thread of the target has been drained. Threads no longer followed do not count,
 * though they keep their slots for a while. */
bool collector_is_empty(const struct collector *collector);

/* Given a count of threads from /proc just now, returns how many have no slot and were not
 * counted as lost for lack of one. */
unsigned int collector_hidden(const struct collector *collector, unsigned int threads);

/* Returns callers that waited for locks in the window finished last: complete them, or give up. */
struct lock_callers *collector_lock_callers(struct collector *collector);

/* Forgets ended threads and losses: a new sample begins. */
void collector_reset(struct collector *collector);

/* Reads a closed window into *sample and releases it. The caller adds wall clock times and how
 * the sample ended. The caller clears the sample. Returns 0 or a negative errno. */
int collector_finish(struct collector *collector, const struct session_view *view,
		     struct sample *sample);

#endif
