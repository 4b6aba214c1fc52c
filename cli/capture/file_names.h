/* SPDX-License-Identifier: Apache-2.0 */
/* Describes the target's descriptors in words: from what the BPF side recorded, and /proc/PID/fd
 * if that is still the same file. */
#ifndef FILE_NAMES_H
#define FILE_NAMES_H

#include <sys/types.h>

#include "cli/model/awaited.h"

struct file_names;

/* Returns NULL without memory. */
struct file_names *file_names_new(void);

/* Describes a process's file; valid until the next call. The first ones are looked up only once. */
const struct descriptor *file_names_find(struct file_names *names, pid_t pid,
					 const struct kd_file *file);

/* Returns its text, such as "fd 5, /tmp/fifo": the same pointer for the same file and
 * descriptor, until file_names_free(). NULL: no memory, or too many names. */
const char *file_names_text(struct file_names *names, pid_t pid, const struct kd_file *file);

/* NULL is allowed. */
void file_names_free(struct file_names *names);

#endif
