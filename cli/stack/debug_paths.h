/* SPDX-License-Identifier: Apache-2.0 */
/* Opens files with separate debug information, which a process that is not trusted
 * asks for. */
#ifndef DEBUG_PATHS_H
#define DEBUG_PATHS_H

#include <stdbool.h>
#include <sys/types.h>

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
