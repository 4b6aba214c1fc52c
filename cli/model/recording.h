/* SPDX-License-Identifier: Apache-2.0 */
/* What the flight recorder held when a window was reported: the window and the time before it.
 *
 * Rows are made of the kernel side's events by recording_make(); reports and the critical path
 * read them. Times are CLOCK_MONOTONIC, ns. */
#ifndef RECORDING_H
#define RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "culprit.h"

/* A thread in one state. Those of a thread follow one another without holes, from where the
 * recording is complete, or the thread is first known, to the recording's end, or its own. */
struct recorded_state {
	uint64_t start, end;
	pid_t tid;
	uint32_t cpu;    /* it runs there, or waits for it; of others: where it was last seen */
	uint8_t state;   /* enum kd_state: from KD_USER on; KD_UNSEEN: not known */
	uint8_t awaited; /* enum kd_awaited: of a blocked one */
	uint8_t from;    /* enum kd_from: what ended it, if that was a wake-up */
	bool of_target;
	bool goes_on; /* it had not ended when the recording did */
	bool early;   /* of others: it was in it when it was first seen; since when is not known */
	int32_t call; /* that it is in, as far as it is known; KD_CALL_NONE, KD_CALL_UNKNOWN */
	pid_t waker;  /* who ended it, 0: none */
	pid_t holder; /* of the lock that it waits for; 0: none, or not known */
};

/* What had a CPU while a thread of the target waited for it, or the idle task. */
struct recorded_run {
	uint64_t start, end; /* start: as far as it is known */
	uint32_t cpu;
	uint32_t key; /* among the culprits, or enum kd_who */
	pid_t tid;
};

struct recorded_irq {
	uint64_t start, end;
	uint32_t cpu;
	pid_t tid; /* it hit; 0: the idle task */
	bool hard;
	const char *name; /* as that of struct irq_row; static, or one of irq_names */
	uint8_t state;    /* that its time is booked from; KD_UNSEEN: of none of the target */
};

struct recorded_name {
	char text[KD_IRQ_NAME_LEN + 16];
};

struct recorded_call {
	uint64_t start, end; /* 0: not in the recording */
	pid_t tid;
	int32_t number; /* KD_CALL_UNKNOWN: it began before */
	int32_t result; /* cut to 32 bits; of one that has ended */
};

struct recorded_hit {
	uint64_t at;
	pid_t tid;
	enum kd_role role;
};

/* A run of a thread that lost time to the hypervisor, or began before its switch-in. */
struct recorded_stolen {
	uint64_t start, end; /* somewhere in there */
	uint64_t ns;
	pid_t tid;
};

/* Of a thread that rows name, whether it is the target's or not. */
struct recorded_thread {
	pid_t tid, pid;         /* pid 0: not known */
	char name[KD_COMM_LEN]; /* not escaped; "": not known */
	bool of_target, of_kernel;
};

/* Whose key struct recorded_run has. Its times are 0. */
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

/* What reports say of it. All 0: nothing was recorded. */
struct recording_facts {
	uint64_t asked,
		held; /* ns before the window; held is less if it was overwritten, or began later */
	uint64_t events;       /* since then, up to the window's end */
	uint64_t memory;       /* bytes for events */
	bool overwritten, cut; /* cut: by that the window's own beginning is missing */
};

struct recording {
	uint64_t from; /* complete from here on; the window's start, or as long before it as was
			  asked for, if that much was held */
	uint64_t to;
	uint64_t asked;   /* ns before the window */
	uint64_t memory;  /* bytes that hold events */
	uint64_t events;  /* in [from, to] */
	uint64_t lost;    /* events that found no place, since the sample before */
	bool overwritten; /* there was more, before from, that was asked for */
#define RECORDING_LIST(type, name)                                                                 \
	struct type *name;                                                                         \
	size_t n_##name, room_##name;
	RECORDING_LISTS(RECORDING_LIST)
#undef RECORDING_LIST
};

/* The states of a thread: the first one, and *n of them; NULL if there are none. */
const struct recorded_state *recording_states(const struct recording *recording, pid_t tid,
					      size_t *n);

/* NULL: not known. */
const struct recorded_thread *recording_thread(const struct recording *recording, pid_t tid);
const struct recorded_culprit *recording_culprit(const struct recording *recording, uint32_t key);

/* start: of the window. */
struct recording_facts recording_facts(const struct recording *recording, uint64_t start);

/* Releases all and clears it; NULL is allowed. */
void recording_clear(struct recording *recording);

/* --- Who ran on each CPU, as far as a recording has it: of threads of the target that is all, of
 * others what ran while those waited --- */

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
