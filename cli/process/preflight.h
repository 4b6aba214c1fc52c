/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that can fail before anything is loaded, and what the kernel offers. */
#ifndef PREFLIGHT_H
#define PREFLIGHT_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"

/* Checks privileges and the PID namespace. Returns 0, or EX_NOPERM after printing what is
 * missing. */
exit_status preflight_check(void);

/* --- CPUs of this process --- */

/* Moves this process off CPUs that target threads are bound to, and off isolated and nohz_full
 * CPUs, if any others remain. Otherwise to those whose bound threads are idle; prints a note if
 * there are none. */
void placement_choose(pid_t pid);

/* Makes the same choice among the CPUs in all, with the machine's files below root, for tests.
 * Fills *cpus; false: bound threads use them all. */
bool placement_find(const char *root, pid_t pid, const cpu_set_t *all, cpu_set_t *cpus);

/* --- What the kernel offers --- */

/* The kernel's BTF. */
#define BTF_DIR "/sys/kernel/btf"
#define BTF_FILE BTF_DIR "/vmlinux"

/* Makes the kernel's BTF available to libbpf: /sys/kernel/btf/vmlinux, or the given file in its
 * place if not NULL. Returns 0, or EX_OSFILE after printing what is wrong. */
exit_status btf_provide(const char *file);

/* Makes the classic tracepoints available to libbpf: mounts tracefs if necessary, visible only
 * to this process. Returns 0; -EACCES if tracefs is there but unreadable; or another negative
 * errno: cannot be mounted. */
int tracefs_provide(void);

#endif
