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

/* Opens the separate debug file of a file that is at this path in the process (0:
 * as we see it): by build ID and by .gnu_debuglink, in the process's root first,
 * then in ours. Returns 0; -ENOENT if there is none that fits; another -errno. The
 * caller closes *debug and then *fd. */
int debug_file_open(struct elf_file **debug, int *fd, const struct elf_file *file, pid_t pid,
		    const char *path);

#endif
