/* SPDX-License-Identifier: Apache-2.0 */
/* Who moved threads to other CPUs, as the kernel side has noted it. */
#ifndef SESSION_MOVERS_H
#define SESSION_MOVERS_H

#include "bpf/kernel_delay.h"
#include "session_hash.h"

struct kernel_delay;

/* Says before the programs are loaded which call to look at. */
void movers_select(struct kernel_delay *skel);

/* Adds the moves of a window to the rows of its threads (hash->map is set here). Returns 0 or
 * -ENOMEM. */
int movers_read(const struct kernel_delay *skel, struct session_hash hash);

#endif
