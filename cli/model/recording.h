/* SPDX-License-Identifier: Apache-2.0 */
/* What the flight recorder held when a window was reported: the window and the time before it.
 * recording_make() builds the rows from events; reports and the critical path read them. Times
 * are CLOCK_MONOTONIC, ns. */
#ifndef RECORDING_H
#define RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "culprit.h"

/* A thread in one state. States of a thread follow each other without gaps. They start where the
 * recording is complete, or where the thread first appears. They go on to the end of the
 * recording or thread. */
struct recorded_state {
	uint64_t start, end;
	pid_t tid;
	uint32_t cpu;    /* where it runs or waits to run; otherwise where it last ran */
	uint8_t state;   /* enum kd_state, KD_USER and up; KD_UNSEEN: unknown */
	uint8_t awaited; /* enum kd_awaited, if blocked */
	uint8_t from;    /* enum kd_from: what woke it */
	bool of_target;
	bool goes_on; /* still open at the end of the recording */
	bool early;   /* not of the target: the state began before the thread's first event */
	int32_t call; /* current system call, as far as known; KD_CALL_NONE, KD_CALL_UNKNOWN */
	pid_t waker;  /* waker, 0: none */
	pid_t holder; /* lock holder it waits for; 0: none, or unknown */
};

/* What had a CPU while a target thread waited for it; may be the idle task. */
struct recorded_run {
	uint64_t start, end; /* start: as far as known */
	uint32_t cpu;
	uint32_t key; /* culprit key, or enum kd_who */
	pid_t tid;
};

struct recorded_irq {
	uint64_t start, end;
	uint32_t cpu;
	pid_t tid; /* interrupted thread; 0: the idle task */
	bool hard;
	const char *name; /* as in struct irq_row; static, or in irq_names */
	uint8_t state;    /* state that loses this time; KD_UNSEEN: no target thread */
};

struct recorded_name {
	char text[KD_IRQ_NAME_LEN + 16];
};

struct recorded_call {
	uint64_t start, end; /* 0: outside the recording */
	pid_t tid;
	int32_t number; /* KD_CALL_UNKNOWN: began earlier */
	int32_t result; /* truncated to 32 bits; if it has ended */
};

struct recorded_hit {
	uint64_t at;
	pid_t tid;
	enum kd_role role;
};

/* A run of a thread that lost time to the hypervisor, or that began before its switch-in. */
struct recorded_stolen {
	uint64_t start, end; /* somewhere in between */
	uint64_t ns;
	pid_t tid;
};

/* A thread that rows refer to, of the target or not. */
struct recorded_thread {
	pid_t tid, pid;         /* pid 0: unknown */
	char name[KD_COMM_LEN]; /* not escaped; "": unknown */
	bool of_target, of_kernel;
};

/* Culprit behind a key of struct recorded_run. Its times are 0. */
struct recorded_culprit {
	uint32_t key;
	struct culprit is;
};

#define RECORDING_LISTS(EACH)                                                                      \
	EACH(recorded_state, states)     /* by tid, then start */                                  \
	EACH(recorded_run, runs)         /* by CPU, then start */                                  \
	EACH(recorded_irq, irqs)         /* by CPU, then end */                                    \
	EACH(recorded_call, calls)       /* by tid, then end */                                    \
	EACH(recorded_hit, hits)         /* by time */                                             \
	EACH(recorded_stolen, stolen)    /* by tid, then end */                                    \
	EACH(recorded_thread, threads)   /* by tid */                                              \
	EACH(recorded_culprit, culprits) /* by key */                                              \
	EACH(recorded_name, irq_names)

/* Summary for reports. All 0: nothing was recorded. */
struct recording_facts {
	uint64_t wanted,
		held;    /* ns before the window; held < wanted: overwritten, or began later */
	uint64_t events; /* from held to the window's end */
	uint64_t memory; /* bytes of event buffers */
	bool overwritten, cut; /* cut: overwritten into the window itself */
};

struct recording {
	uint64_t from; /* complete from here: window start minus what was asked for, or less if
			* less was held */
	uint64_t to;
	uint64_t wanted;  /* ns before the window */
	uint64_t memory;  /* bytes of event buffers */
	uint64_t events;  /* in [from, to] */
	uint64_t lost;    /* events dropped since the previous sample */
	bool overwritten; /* older events that were asked for are gone */
#define RECORDING_LIST(type, name)                                                                 \
	struct type *name;                                                                         \
	size_t n_##name, capacity_##name;
	RECORDING_LISTS(RECORDING_LIST)
#undef RECORDING_LIST
};

/* States of a thread: returns the first of *n; NULL: none. */
const struct recorded_state *recording_states(const struct recording *recording, pid_t tid,
					      size_t *n);

/* NULL: unknown. */
const struct recorded_thread *recording_thread(const struct recording *recording, pid_t tid);
const struct recorded_culprit *recording_culprit(const struct recording *recording, uint32_t key);

/* start: of the window. */
struct recording_facts recording_facts(const struct recording *recording, uint64_t start);

/* Frees and clears everything; NULL is allowed. */
void recording_clear(struct recording *recording);

/* --- What ran on each CPU, as far as recorded: all of the target, and what ran while target
 * threads waited --- */

/* Sources of a run. Where two overlap, the lower one wins. */
enum cpu_run_source {
	CPU_RUN_TARGET, /* states of target threads, */
	CPU_RUN_OTHER,  /* and of other threads */
	CPU_RUN_ROW,    /* struct recorded_run */
};

struct cpu_run {
	uint64_t start, end;
	uint32_t cpu;
	enum cpu_run_source source;
	pid_t tid;    /* 0: unknown, or no thread */
	uint32_t key; /* CPU_RUN_ROW: see struct recorded_run */
};

struct cpu_runs {
	struct cpu_run *all; /* by CPU and time; runs of a CPU never overlap */
	size_t n, capacity;
};

/* Fills a zeroed list with the runs between two times. Returns 0 or -ENOMEM; the caller frees
 * all in either case. */
int cpu_runs_make(struct cpu_runs *runs, const struct recording *recording, uint64_t from,
		  uint64_t until);

/* Name of what ran: "backup[812]", "idle", "soft irq". Task names are not escaped. Returns
 * buffer. */
#define CPU_RUN_NAME_LEN CULPRIT_LABEL_LEN
const char *cpu_run_name(const struct cpu_run *run, const struct recording *recording,
			 char buffer[CPU_RUN_NAME_LEN]);

#endif
