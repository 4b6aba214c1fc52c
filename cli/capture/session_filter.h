/* SPDX-License-Identifier: Apache-2.0 */
/* Which threads of the target are followed. Others get no slot: they cost a lookup. */
#ifndef SESSION_FILTER_H
#define SESSION_FILTER_H

#include "cli/base/exit_status.h"
#include "session.h"

struct kernel_delay;

/* Before the programs are loaded. Returns 0 or, after printing why not, an exit status. */
exit_status filter_select(struct kernel_delay *skel, const struct thread_filter *filter);

/* True if not all threads are followed. */
bool filter_is_on(const struct thread_filter *filter);

/* Has the iterator give slots to threads that are named by TID, if they are the target's. To be
 * called while no thread has a slot. Returns 0 or, after printing why not, an exit status. */
exit_status filter_seed(struct kernel_delay *skel, const struct thread_filter *filter);

#endif
