/* SPDX-License-Identifier: Apache-2.0 */
/* Where the symbols of a stripped file are: in a compressed part of itself
 * (.gnu_debugdata) or in a separate debug file. */
#ifndef DEBUG_FILE_H
#define DEBUG_FILE_H

#include <sys/types.h>

#include "elf_file.h"

/* Unpacks .gnu_debugdata. Returns 0; -ENOENT if there is none; -EBADMSG if it is
 * damaged; -E2BIG if it is larger than what is unpacked; another -errno. The caller
 * closes *debug. */
int debug_file_unpack(struct elf_file **debug, const struct elf_file *file);

/* Finds the separate debug file of a file: see debug_file_open(). */
typedef int debug_file_finder(void *context, struct elf_file **debug, int *fd,
			      const struct elf_file *file);

/* Opens a file for a search. Relative paths are below a directory for debug files,
 * such as /usr/lib/debug; absolute ones are the paths of a process. Returns a
 * descriptor, which becomes the caller's, or a negative errno. */
typedef int debug_file_opener(void *context, const char *path);

/* Looks for the separate debug file of a file that is at this path: by build ID
 * (".build-id/ab/cdef.debug"), then by .gnu_debuglink. What opener hands out need
 * not be the right file, or sound: it is checked. Returns 0; -ENOENT if there is none
 * that fits. The caller closes *debug and then *fd. */
int debug_file_search(struct elf_file **debug, int *fd, const struct elf_file *file,
		      const char *path, debug_file_opener *opener, void *context);

/* The same in the file system as a process (0: none) sees it, then as we do. */
int debug_file_open(struct elf_file **debug, int *fd, const struct elf_file *file, pid_t pid,
		    const char *path);

#endif
