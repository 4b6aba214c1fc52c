/* SPDX-License-Identifier: Apache-2.0 */
/* What is special about which system call. */
#ifndef PART_CLASSES_H
#define PART_CLASSES_H

struct kernel_delay;
struct syscall_set;

/* For --resources: sets which calls read and write. */
void classes_set_io(struct kernel_delay *skel);

/* Sets which calls are traced (calls; NULL: none), which have a path, and which may map code. */
void classes_set_traced(struct kernel_delay *skel, const struct syscall_set *calls);

#endif
