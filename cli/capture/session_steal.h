/* SPDX-License-Identifier: Apache-2.0 */
/* What the hypervisor takes from a virtual machine's CPUs, where it says so: the kernel's steal
 * clock. Part of the session. */
#ifndef SESSION_STEAL_H
#define SESSION_STEAL_H

#include <stdint.h>

struct kernel_delay;
struct programs;

/* Before loading: the programs look at the clock if there is one. Returns 0 or a negative errno. */
int steal_select(struct kernel_delay *skel, uint32_t cpus);

/* After the first visit of the iterator: says if the report lacks what is stolen. On a machine
 * without a hypervisor there is nothing to say. */
void steal_tell(const struct kernel_delay *skel, struct programs *programs);

#endif
