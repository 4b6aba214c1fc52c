/* SPDX-License-Identifier: Apache-2.0 */
/* What workers of the kernel do. */
#ifndef WORKER_H
#define WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* True for the name of a thread that does the work of several work queues. */
bool worker_is_name(const char *name);

/* Finds the work queue, or the description, of the work that a worker does, or did last. Returns
 * false if it did none yet, or is gone. */
bool worker_work(pid_t tid, char *work, size_t size);

#endif
