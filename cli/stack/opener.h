/* SPDX-License-Identifier: Apache-2.0 */
/* Opens files that processes have mapped, in a process of its own: a file system that does not
 * answer keeps whoever opens a file there, without heeding signals. */
#ifndef OPENER_H
#define OPENER_H

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "cli/base/signals.h"
#include "probes/elf/objects.h"

/* --- Files that are mapped, or were --- */

/* As the kernel knows a file. */
struct mounted_file {
	unsigned int major, minor; /* of its file system */
	uint64_t inode;
	const char *path; /* in its file system, from the root of that on: "/..." */
};

/* What the process without privileges may be given: a descriptor of an ELF file
 * stays what it is, any other is closed and becomes -ENOEXEC. */
static inline int elf_only(int fd)
{
	char magic[SELFMAG];

	if (fd < 0 || (pread(fd, magic, SELFMAG, 0) == SELFMAG && !memcmp(magic, ELFMAG, SELFMAG)))
		return fd;
	close(fd);
	return -ENOEXEC;
}

/* --- Files about code that is made at run time --- */

/* Which file it is. */
struct jit_id {
	uint64_t inode; /* 0: none */
	uint32_t major, minor;
};

/* --- The process that opens files --- */

struct opener;

/* Starts that process: while this one has the rights to open the files. Signals: see
 * signals_wait(). Without: as for sandbox_enter(). Returns 0 or a negative errno. The caller ends
 * it with opener_close(). */
int opener_open(struct opener **opener, struct signals *signals, unsigned int without);

/* That process; 0: there is none. */
pid_t opener_child(const struct opener *opener);

/* NULL is allowed. */
void opener_close(struct opener *opener);

/* All of these open an ELF file for reading. They return a descriptor, which becomes the caller's;
 * -ENOEXEC: it is another file; -ETIMEDOUT: its file system does not answer, which has been
 * printed; or another negative errno. */

/* The very file that the process has mapped. */
int opener_mapped(struct opener *opener, pid_t pid, const struct object *object);

/* See debug_path_open(). */
int opener_debug(struct opener *opener, pid_t pid, const char *object, const char *path);

/* One that is not mapped any more, below the process's root directory, where one of its mounts has
 * it; path becomes its path as the process sees it. -ENOENT: it is not there any more. */
int opener_gone(struct opener *opener, pid_t pid, const struct mounted_file *file,
		char path[PATH_MAX]);

/* Opens no ELF file: dump NULL: see jit_open_perf_map(); else what the process has mapped, see
 * jit_open_dump(). Returns as the others. */
int opener_jit(struct opener *opener, pid_t pid, const struct object *dump, struct jit_id *id);

/* --- Files with separate debug information --- */

/* Whether this path may be asked for on behalf of an object that is mapped by that
 * one: ".build-id/ab/cdef.debug", or an absolute path that its .gnu_debuglink can
 * mean: to a file in its directory, in .debug in that, or in that below
 * /usr/lib/debug. */
bool debug_path_is_valid(const char *object, const char *path);

/* Opens the file that such a path leads to, in the process's root or else in ours.
 * It is a regular ELF file; whether it is of that object is not known. Returns a
 * descriptor, which the caller closes; -EINVAL if the path may not be asked for;
 * another -errno. */
int debug_path_open(pid_t pid, const char *object, const char *path);

#endif
