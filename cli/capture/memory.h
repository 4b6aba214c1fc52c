/* SPDX-License-Identifier: Apache-2.0 */
/* Reads resident memory of the target's processes at the edges of windows. */
#ifndef MEMORY_H
#define MEMORY_H

#include "cli/model/sample.h"
#include "session.h"

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
