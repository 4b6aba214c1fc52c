/* SPDX-License-Identifier: Apache-2.0 */
/* What the target's descriptors stand for, in words: from what the kernel side has noted of a
 * file, and /proc/PID/fd as far as that is the same file still. */
#ifndef FILE_NAMES_H
#define FILE_NAMES_H

#include <sys/types.h>

#include "cli/model/descriptor.h"

struct file_names;

/* Returns NULL without memory. */
struct file_names *file_names_new(pid_t pid);

/* Descriptors are this process's from now on. */
void file_names_turn(struct file_names *names, pid_t pid);

/* What it stands for: valid until the next call. The first ones are looked at once only. */
const struct descriptor *file_names_find(struct file_names *names, const struct kd_file *file);

/* Its words, "fd 5, /tmp/fifo": the same for the same file and descriptor, until
 * file_names_free(). NULL: there is no memory, or there are too many. */
const char *file_names_text(struct file_names *names, const struct kd_file *file);

/* NULL is allowed. */
void file_names_free(struct file_names *names);

#endif
