/* SPDX-License-Identifier: Apache-2.0 */
/* Files in which daemons write their PID. */
#ifndef PIDFILE_H
#define PIDFILE_H

#include <stdint.h>
#include <sys/types.h>

/* Reads the PID in the file's first line. *written is when the file was changed last, ns of
 * the wall clock. Returns 0; -ENODATA: the file is empty; -EINVAL: there is no PID in it; another
 * negative errno: it cannot be read. */
int pidfile_read(const char *path, pid_t *pid, uint64_t *written);

#endif
