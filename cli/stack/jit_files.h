/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for the files in which processes name the code that they make at run time, see jit_map.h.
 */
#ifndef JIT_FILES_H
#define JIT_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "jit_map.h"
#include "jit_open.h"
#include "mapped.h"
#include "opener.h"

/* Of a process: those that were found. */
struct jit_files {
	uint64_t looked; /* when, CLOCK_MONOTONIC ns; 0: never */
	bool is_silent; /* one of them could not be opened in bounded time: no more is looked for */
	struct jit_id found[JIT_FILES];
};

/* Looks for the files of a process that has mapped this, if it makes code at all and this was not
 * done within the last second. fds are set to descriptors of those that are new, which the caller
 * closes, or to -1. Whoever can write to them is the process's user: they are regular files of his,
 * /tmp/perf-PID.map where it is in the process's root directory, by its own number, and what it has
 * mapped as .../jit-PID.dump. */
void jit_files_look(struct jit_files *files, pid_t pid, const struct mapped *mapped,
		    const struct mapped_files *mapped_files, struct opener *opener,
		    int fds[JIT_FILES]);

#endif
