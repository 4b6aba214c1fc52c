/* SPDX-License-Identifier: Apache-2.0 */
/* Opens files that processes have mapped, in a process of its own: a file system that does not
 * answer keeps whoever opens a file there, without heeding signals. */
#ifndef OPENER_H
#define OPENER_H

#include <limits.h>
#include <sys/types.h>

#include "cli/base/signals.h"
#include "probes/elf/objects.h"
#include "jit_open.h"
#include "mounts.h"

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

/* See mounts_open(). */
int opener_gone(struct opener *opener, pid_t pid, const struct mounted_file *file,
		char path[PATH_MAX]);

/* Opens no ELF file: dump NULL: see jit_open_perf_map(); else what the process has mapped, see
 * jit_open_dump(). Returns as the others. */
int opener_jit(struct opener *opener, pid_t pid, const struct object *dump, struct jit_id *id);

#endif
