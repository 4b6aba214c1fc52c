/* SPDX-License-Identifier: Apache-2.0 */
/* Describes the target's descriptors in words: from what the BPF side recorded, and /proc/PID/fd
 * if that is still the same file. */
#ifndef SESSION_FILE_NAMES_H
#define SESSION_FILE_NAMES_H

#include <sys/types.h>

#include "cli/model/awaited.h"

struct file_names;

/* Returns NULL without memory. */
struct file_names *file_names_new(void);

/* Describes a process's file; valid until the next call. The last ones are looked up only once. */
const struct descriptor *file_names_find(struct file_names *names, pid_t pid,
					 const struct kd_file *file);

/* Returns its text, such as "fd 5, /tmp/fifo", which the caller frees. NULL: no memory. */
char *file_names_text(struct file_names *names, pid_t pid, const struct kd_file *file);

/* NULL is allowed. */
void file_names_free(struct file_names *names);

#endif
