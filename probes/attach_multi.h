/* SPDX-License-Identifier: Apache-2.0 */
/* Links of many user-space probes at once (uprobe.multi, Linux 6.6): detaching
 * such a link waits once, not once for each probe. By bpf() itself, as libbpf
 * knows them from 1.3 on only. Part of attach.c. */
#ifndef ATTACH_MULTI_H
#define ATTACH_MULTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct bpf_program;

/* True if this kernel has them, and means a process where one is given: 6.6 to 6.9
 * at first took its main thread only (fixed by 46ba0e49b642). */
bool attach_multi_is_possible(void);

/* To be told before the program is loaded: it can be attached so only. */
void attach_multi_prepare(struct bpf_program *program);

/* Attaches the program to offsets in a file, with their semaphores (0: none) and cookies, where
 * the process has them mapped (0: any has); on_return: to the returns of the functions there.
 * Returns the link, which is detached by close(), or a negative errno. */
int attach_multi(const struct bpf_program *program, bool on_return, int file,
		 const uint64_t *offsets, const uint64_t *semaphores, const uint64_t *cookies,
		 size_t n, pid_t pid);

#endif
