/* SPDX-License-Identifier: Apache-2.0 */
/* Resident memory of the target's processes, read at the edges of windows. */
#ifndef MEMORY_H
#define MEMORY_H

#include "cli/model/sample.h"
#include "session.h"

/* Zeroed: nothing has been read. */
struct memory_log {
	struct memory_reading *all; /* at the last edge, by PID */
	size_t n;
};

/* Reads that of all processes that have a thread: a window is about to open. Returns 0 or
 * -ENOMEM. */
int memory_begin(struct memory_log *log, const struct session *session);

/* A window has ended: completes the sample's rows of processes, which may have ended meanwhile. The
 * next window begins with what is read now. Returns 0 or -ENOMEM. */
int memory_end(struct memory_log *log, const struct session *session, struct sample *sample);

/* What was read is of no window that is to come. */
void memory_forget(struct memory_log *log);

#endif
