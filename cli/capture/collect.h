/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a sample from a session: rows from its maps, interruptions and traces from its rings, and a
 * recording. */
#ifndef COLLECT_H
#define COLLECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/capture/session/config.h"
#include "cli/capture/session/types.h"
#include "cli/model/recording.h"
#include "cli/model/sample.h"

/* --- Rows --- */

struct collector;
struct kernel_symbols;
struct lock_callers;
struct user_waits;

/* Returns NULL without memory. The session and the others must outlive the collector. user_waits
 * says in which functions threads sleep; NULL: not wanted. capture: of all samples. */
struct collector *collector_new(struct session *session, struct kernel_symbols *symbols, pid_t pid,
				struct user_waits *user_waits, const struct capture *capture);
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

/* Lets the session rest, see session_rest(); what its slots had is forgotten. */
void collector_rest(struct collector *collector);

/* Reads a closed window into *sample and releases it. The caller adds wall clock times and how
 * the sample ended. The caller clears the sample. Returns 0 or a negative errno. */
int collector_finish(struct collector *collector, const struct session_view *view,
		     struct sample *sample);

#endif
