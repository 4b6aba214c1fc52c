/* SPDX-License-Identifier: Apache-2.0 */
/* What threads read and write, and the memory of processes. */
#ifndef PART_RESOURCES_H
#define PART_RESOURCES_H

#include <stddef.h>
#include <stdint.h>

#include "cli/capture/session/types.h"
#include "cli/model/sample.h"

struct session;
struct thread_row;

/* Adds TCP retransmissions in a window to a sample whose usage has been summed. Returns 0 or
 * -ENOMEM. */
int session_resent(struct session *session, const struct session_view *view, struct sample *sample);

/* Sets in a row what a slot's thread read and wrote in a window, if that is counted. Returns 0 or
 * -ENOMEM. */
int session_usage(const struct session *session, const struct session_view *view, uint32_t slot,
		  struct thread_row *row);

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
