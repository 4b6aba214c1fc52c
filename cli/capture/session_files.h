/* SPDX-License-Identifier: Apache-2.0 */
/* Waits at descriptors, as the kernel side has counted them. Part of the session. */
#ifndef SESSION_FILES_H
#define SESSION_FILES_H

#include <stdbool.h>

#include "session_hash.h"

struct kernel_delay;
struct file_names;

/* Makes room for them before the programs are loaded. Returns 0 or a negative errno. */
int files_select(struct kernel_delay *skel, uint32_t slots);

/* True if a thread slept at a descriptor at the window's end: the task iterator has to visit
 * it. Says which window that is. */
bool files_pending(struct kernel_delay *skel, const struct session_view *view);

/* Adds the waits of a window to the rows of its threads. Returns 0 or -ENOMEM. */
int files_read(struct kernel_delay *skel, struct session_hash hash, struct file_names *names);

#endif
