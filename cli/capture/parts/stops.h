/* SPDX-License-Identifier: Apache-2.0 */
/* What stopped threads. */
#ifndef PART_STOPS_H
#define PART_STOPS_H

#include "cli/capture/session/types.h"

struct thread_row;

/* Adds the stop that a thread was in at the window's end, if any. Returns 0 or -ENOMEM. */
int stops_read_open(const struct session_view *view, const struct kd_thread *thread,
		    struct thread_row *row);

#endif
