/* SPDX-License-Identifier: Apache-2.0 */
/* Opens files that processes have mapped, in a process of its own: an unresponsive file system
 * blocks open() uninterruptibly. */
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

/* Restricts what the unprivileged process gets: keeps a descriptor of an ELF file; closes any
 * other and returns -ENOEXEC. */
static inline int elf_only(int fd)
{
	char magic[SELFMAG];

	if (fd < 0 || (pread(fd, magic, SELFMAG, 0) == SELFMAG && !memcmp(magic, ELFMAG, SELFMAG)))
		return fd;
	close(fd);
	return -ENOEXEC;
}

/* --- Opener process --- */

struct opener;

/* Starts the process; call while this one has the rights to open the files. signals: see
 * signals_wait(). without: as for sandbox_enter(). Returns 0 or a negative errno. The caller
 * ends it with opener_close(). */
int opener_open(struct opener **opener, struct signals *signals, unsigned int without);

/* PID of the process; 0: none. */
pid_t opener_child(const struct opener *opener);

/* NULL is allowed. */
void opener_close(struct opener *opener);

/* Each opens an ELF file for reading. They return a descriptor, which the caller takes over;
 * -ENOEXEC: not an ELF file; -ETIMEDOUT: its file system does not respond, which was reported;
 * or another negative errno. */

/* Opens the file that the process has mapped. */
int opener_mapped(struct opener *opener, pid_t pid, const struct object *object);

/* See debug_path_open(). */
int opener_debug(struct opener *opener, pid_t pid, const char *object, const char *path);

/* Opens a file that is no longer mapped, below the process's root, through one of its mounts. Its
 * path is from the root of its file system; path becomes that in the process's view. -ENOENT: the
 * file is gone. */
int opener_gone(struct opener *opener, pid_t pid, const struct object *file, char path[PATH_MAX]);

/* Opens files about JIT code: dump NULL: see jit_open_perf_map(); else a mapped file, see
 * jit_open_dump(). key: of the file. Returns as the others. */
int opener_jit(struct opener *opener, pid_t pid, const struct object *dump, struct inode_key *key);

/* --- Separate debug files --- */

/* True if a path is acceptable as debug file of an object with this path:
 * ".build-id/ab/cdef.debug", or an absolute one as of debug_link_path(). */
bool debug_path_is_valid(const char *object, const char *path);

/* Opens such a path in the process's root, or else in ours. It is a regular ELF file, but may
 * not belong to the object. Returns a descriptor, which the caller closes; -EINVAL if the path
 * is not acceptable; another -errno. */
int debug_path_open(pid_t pid, const char *object, const char *path);

#endif
