/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the files in which processes name the code that they make at run time, see jit_map.h: in
 * the process that opens files (opener.h), as it may take for ever. */
#ifndef JIT_OPEN_H
#define JIT_OPEN_H

#include <stdint.h>
#include <sys/types.h>

#include "probes/elf/objects.h"

/* Which file it is. */
struct jit_id {
	uint64_t inode; /* 0: none */
	uint32_t major, minor;
};

/* The process's /tmp/perf-PID.map where it is in its root directory, by its own number. Returns a
 * descriptor, which becomes the caller's, or a negative errno: -EACCES: it is no regular file of
 * the process's user, so that others may have written it. */
int jit_open_perf_map(pid_t pid, struct jit_id *id);

/* The same of a descriptor of what it has mapped, which is closed unless it is returned. */
int jit_open_dump(pid_t pid, int fd, struct jit_id *id);

#endif
