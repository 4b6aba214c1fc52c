/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for locks, as the kernel side has counted them. */
#ifndef SESSION_LOCKS_H
#define SESSION_LOCKS_H

#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "cli/process/processes.h"
#include "session_hash.h"

struct kernel_delay;
struct lock_callers;

/* Says before the programs are loaded which call to look at, and whether TIDs in the target's
 * memory, and its clocks, mean what they say here: of several processes, in all of them. */
void locks_select(struct kernel_delay *skel, pid_t tgid, const struct processes *processes);

/* The name that a thread of a process has now; left as it is if that has ended. */
void locks_name_read(pid_t pid, pid_t tid, char name[static KD_COMM_LEN]);

/* Adds the waits of a window to the rows of its threads (hash->map is set here), and who called for
 * them to those that callers completes later. Returns 0 or -ENOMEM. */
int locks_read(const struct kernel_delay *skel, struct session_hash hash,
	       struct lock_callers *callers);

/* Adds the wait that a thread was in at the window's end, if it still is: else locks_read(), which
 * comes after this, has it. Returns 0 or -ENOMEM. */
int locks_read_open(const struct session_view *view, uint32_t slot, const struct kd_thread *thread,
		    struct thread_row *row);

#endif
