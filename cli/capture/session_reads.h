/* SPDX-License-Identifier: Apache-2.0 */
/* What parts of a session have to give, each of which is a file of its own. */
#ifndef SESSION_READS_H
#define SESSION_READS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"
#include "cli/model/sample.h"
#include "session_types.h"

struct distribution;
struct session;

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

#endif
