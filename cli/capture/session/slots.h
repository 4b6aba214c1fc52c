/* SPDX-License-Identifier: Apache-2.0 */
/* Slots of threads, and how TIDs lead to them, see bpf/target.bpf.h. */
#ifndef SESSION_SLOTS_H
#define SESSION_SLOTS_H

#include <stdint.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"

struct kernel_delay;
struct session;
struct session_view;

/* Finds the slot of a thread of the target; KD_SLOT_FREE: it has none, or has ended. */
uint32_t view_slot(const struct session_view *view, pid_t tid);

/* Frees the slot of a thread that has ended and been accounted. */
void session_slot_free(struct session *session, uint32_t slot);

/* Sets the size for this many slots, before loading. Returns as session_map_resize() does. */
exit_status tids_select(struct kernel_delay *skel, uint32_t slots);

/* Makes a TID lead to this slot, or mark; KD_SLOT_FREE: to none. Only while no program does so.
 * Returns 0 or a negative errno. */
int tid_set(const struct kernel_delay *skel, pid_t tid, uint32_t slot);

/* Makes all TIDs lead to none. Only while no program sets one. */
void tids_clear(const struct kernel_delay *skel);

#endif
