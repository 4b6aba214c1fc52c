/* SPDX-License-Identifier: Apache-2.0 */
/* Targets that seccomp confines. Some kernels (6.11 to 6.13 without the fix
 * cf6cb56ef244) return from functions with return probes by a system call, which
 * the target's own filter may answer by killing it. */
#ifndef CONFINED_H
#define CONFINED_H

#include <stdbool.h>
#include <sys/types.h>

/* True if any thread of the process is under a seccomp filter. */
bool process_is_confined(pid_t pid);

/* True if the kernel has a system call of this number (that may not be called by
 * programs) and asks seccomp filters about it. Tries it in processes of its own. */
bool call_is_filtered(long number);

/* True if this kernel's probes would make system calls that the filter of the process
 * (0: of any) may refuse. */
bool probes_endanger(pid_t pid);

#endif
