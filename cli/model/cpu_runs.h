/* SPDX-License-Identifier: Apache-2.0 */
/* Who ran on each CPU, as far as a recording has it: of threads of the target that is all, of
 * others what ran while those waited. */
#ifndef CPU_RUNS_H
#define CPU_RUNS_H

#include "recording.h"

/* What counts where two say that they had the CPU: the first of these. */
enum cpu_run_source {
	CPU_RUN_TARGET, /* states of the target's threads, */
	CPU_RUN_OTHER,  /* and of others */
	CPU_RUN_ROW,    /* struct recorded_run */
};

struct cpu_run {
	uint64_t start, end;
	uint32_t cpu;
	enum cpu_run_source source;
	pid_t tid;    /* 0: not known, or no thread */
	uint32_t key; /* CPU_RUN_ROW: see struct recorded_run */
};

struct cpu_runs {
	struct cpu_run *all; /* by CPU and time; none overlaps another one of its CPU */
	size_t n, room;
};

/* Fills a zeroed list with what lies between two times. Returns 0 or -ENOMEM; the caller releases
 * all with free() in any case. */
int cpu_runs_make(struct cpu_runs *runs, const struct recording *recording, uint64_t from,
		  uint64_t until);

/* Who it was: "backup[812]", "idle", "soft irq"; foreign text is not escaped. Returns buffer. */
#define CPU_RUN_NAME_LEN CULPRIT_LABEL_LEN
const char *cpu_run_name(const struct cpu_run *run, const struct recording *recording,
			 char buffer[CPU_RUN_NAME_LEN]);

#endif
