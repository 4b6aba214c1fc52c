/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the BPF programs a kernel takes. */
#ifndef SESSION_PROGRAMS_H
#define SESSION_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../sample.h"

#define MAX_ABSENCES 5

struct bpf_program;
struct kernel_delay;

struct programs {
	struct kernel_delay *skel;
	bool classic; /* raw tracepoints of system calls may be preempted: not used */
	struct absence absences[MAX_ABSENCES]; /* what the report lacks; no two alike */
	size_t n_absences;
};

/* Switches on the programs whose tracepoints this kernel has. To be called
 * before loading. Returns 0, or after printing what is missing EX_OSERR. */
int programs_select(struct programs *programs);

/* Attaches what was loaded. A section whose tracepoint refuses is left out.
 * Returns 0, or after printing what failed EX_NOPERM or EX_OSERR. */
int programs_attach(struct programs *programs);

/* Attaches the program that counts upcalls, if it was loaded; if that fails, the
 * section is left out. */
void programs_attach_upcalls(struct programs *programs);

/* How many runs of one program the kernel has skipped since it was loaded. */
uint64_t program_skipped(const struct bpf_program *program);

/* How many runs of the programs the kernel has skipped since they were loaded. */
uint64_t programs_skipped(const struct programs *programs);

#endif
