/* SPDX-License-Identifier: Apache-2.0 */
/* What is special about which system call: enum kd_class, told to the programs before
 * they are loaded. */
#ifndef SESSION_CLASSES_H
#define SESSION_CLASSES_H

#include "cli/base/syscall_set.h"

struct kernel_delay;

/* What holds in any run. */
void classes_set(struct kernel_delay *skel);

/* For traces: which calls leave them, of whom calls (NULL: none) tells; and those that
 * may map code. */
void classes_set_traced(struct kernel_delay *skel, const struct syscall_set *calls);

/* For --resources: which calls read and write. */
void classes_set_io(struct kernel_delay *skel);

#endif
