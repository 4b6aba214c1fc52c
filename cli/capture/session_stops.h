/* SPDX-License-Identifier: Apache-2.0 */
/* Who stopped threads, as the kernel side has noted it. */
#ifndef SESSION_STOPS_H
#define SESSION_STOPS_H

#include "bpf/kernel_delay.h"
#include "session_hash.h"

struct kernel_delay;

/* Adds the stops of a window to the rows of its threads (hash->map is set here), and what of
 * their time nobody is known for. Returns 0 or -ENOMEM. */
int stops_read(const struct kernel_delay *skel, struct session_hash hash);

/* Adds the stop that a thread was in at the window's end, if it was in one. Returns 0 or
 * -ENOMEM. */
int stops_read_open(const struct session_view *view, const struct kd_thread *thread,
		    struct thread_row *row);

#endif
