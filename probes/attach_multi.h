/* SPDX-License-Identifier: Apache-2.0 */
/* Links of many user-space probes at once (uprobe.multi, Linux 6.6): detaching
 * such a link waits once, not once for each probe. By bpf() itself, as libbpf
 * knows them from 1.3 on only. Part of attach.c. */
#ifndef ATTACH_MULTI_H
#define ATTACH_MULTI_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "resolve.h"

struct bpf_program;

/* True if this kernel has them. */
bool attach_multi_is_possible(void);

/* To be told before the program is loaded: it can be attached so only. */
void attach_multi_prepare(struct bpf_program *program);

/* Attaches the program to places of one file. Returns the link, which is detached
 * by close(), or a negative errno. */
int attach_multi(const struct bpf_program *program, const struct trigger *trigger,
		 const struct places *places, size_t first, size_t n, pid_t pid);

#endif
