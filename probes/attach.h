/* SPDX-License-Identifier: Apache-2.0 */
/* Attaching a BPF program to a trigger's places. */
#ifndef ATTACH_H
#define ATTACH_H

#include <sys/types.h>

#include "resolve.h"

struct bpf_program;
struct attachment;

/* To be called before a trigger's program is loaded. */
void attachment_prepare(struct bpf_program *program, const struct trigger *trigger);

/* Attaches a loaded program of the fitting type (tracepoint or kprobe) to every
 * place of the sets; to those in files only where the process has them mapped.
 * Returns 0, or after printing what failed an exit status. The caller closes
 * *attachment either way. */
int attachment_open(struct attachment **attachment, const struct bpf_program *program,
		    const struct trigger *trigger, struct places *const *sets, size_t n_sets,
		    pid_t pid);

/* Attaches a loaded program to the entries and the exits of all system calls, which
 * its cookie tells apart: 0, 1. Returns and leaves to the caller the same. */
int attachment_open_calls(struct attachment **attachment, const struct bpf_program *program,
			  const struct trigger *trigger);

/* The same for one place, and without a word. Returns 0 or a negative errno. */
int attachment_open_one(struct attachment **attachment, const struct bpf_program *program,
			const struct trigger *trigger, const struct place *place, pid_t pid);

/* Detaches, which takes the kernel some 0.1 s if any place is in a file, before
 * Linux 6.6 for each. NULL is allowed. */
void attachment_close(struct attachment *attachment);

#endif
