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

/* A stretch of time of which one thing is known. Each list below uses some members; the others are
 * 0. No padding: what spans have in common is compared as bytes. */
struct span {
	uint64_t start, end; /* equal: an instant */
	union {
		struct {
			pid_t waker, holder; /* who ended the wait, and whose lock it waited for;
					      * 0: nobody, or unknown */
		};
		const char *name; /* as in struct irq_row; static, or in irq_names */
		int64_t value;    /* result of a call, in 32 bits; stolen ns */
	};
	pid_t tid; /* 0: the idle task, or none */
	union {
		int32_t call; /* as far as known; KD_CALL_NONE, KD_CALL_UNKNOWN */
		uint32_t key; /* of SPAN_RUNS: culprit key, or enum kd_who */
	};
	uint16_t cpu;  /* of a state: where it runs or waits to run; otherwise where it last ran */
	uint8_t state; /* enum kd_state, KD_USER and up; KD_UNSEEN: unknown. Of an interrupt: the
			* state that loses this time; KD_UNSEEN: no target thread */
	uint8_t awaited; /* enum kd_awaited, if blocked */
	union {
		uint8_t from; /* enum kd_from: what woke it */
		uint8_t role; /* enum kd_role of a hit */
	};
	union {
		bool of_target;
		bool hard; /* of an interrupt */
	};
	bool early;   /* began earlier: a call before the recording; a state, not of the target,
		       * before the thread's first event */
	bool goes_on; /* still open at the end of the recording */
};
_Static_assert(sizeof(struct span) == 40, "no padding");

struct spans {
	struct span *all;
	size_t n, capacity;
};

enum span_list {
	/* Threads in one state, by tid, then start. They follow each other without gaps, from where
	 * the recording is complete, or the thread first appears, to the end of the recording or
	 * thread. */
	SPAN_STATES,
	/* What had a CPU while a target thread waited for it, by CPU, then start: key, and tid if
	 * known. start: as far as known. May be the idle task. */
	SPAN_RUNS,
	SPAN_IRQS,   /* interrupts, by CPU, then end; tid: the interrupted thread */
	SPAN_CALLS,  /* system calls, by tid, then end. An end that is missing equals the other one
		      */
	SPAN_HITS,   /* trigger hits, by time */
	SPAN_STOLEN, /* runs that lost time to the hypervisor, or that began before their switch-in;
		      * by tid, then end. The time lies somewhere in between */
	SPAN_LISTS,
};

/* A thread that rows refer to, of the target or not. */
struct recorded_thread {
	pid_t tid, pid;         /* pid 0: unknown */
	char name[KD_COMM_LEN]; /* not escaped; "": unknown */
	bool of_target, of_kernel;
};

/* Culprit behind the key of a run. Its times are 0. */
struct recorded_culprit {
	uint32_t key;
	struct culprit is;
};

struct recorded_name {
	char text[KD_IRQ_NAME_LEN + 16];
};

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
	struct spans spans[SPAN_LISTS];
	struct recorded_thread *threads;   /* by TID */
	struct recorded_culprit *culprits; /* by key */
	struct recorded_name *irq_names;
	size_t n_threads, capacity_threads, n_culprits, capacity_culprits;
	size_t n_irq_names, capacity_irq_names;
};

/* Adds a span to a list. Returns 0 or -ENOMEM. */
int spans_add(struct spans *spans, const struct span *span);

/* A thread's spans in a list ordered by TID: returns the first of *n; NULL: none. */
const struct span *spans_of_thread(const struct spans *spans, pid_t tid, size_t *n);

/* NULL: unknown. */
const struct recorded_thread *recording_thread(const struct recording *recording, pid_t tid);
const struct recorded_culprit *recording_culprit(const struct recording *recording, uint32_t key);

/* start: of the window. */
struct recording_facts recording_facts(const struct recording *recording, uint64_t start);

/* Frees and clears everything; NULL is allowed. */
void recording_clear(struct recording *recording);

/* --- What ran on each CPU, as far as recorded: all of the target, and what ran while target
 * threads waited --- */

/* Fills a zeroed list with what ran between two times, by CPU and time, without overlaps: spans of
 * a CPU, of the target or not, and a tid if known. state is KD_RUNNING if a thread's states have
 * it, else KD_UNSEEN, with the key of SPAN_RUNS. Returns 0 or -ENOMEM; the caller frees all in
 * either case. */
int cpu_runs_make(struct spans *runs, const struct recording *recording, uint64_t from,
		  uint64_t until);

/* Name of what ran: "backup[812]", "idle", "soft irq". Task names are not escaped. Returns
 * buffer. */
#define CPU_RUN_NAME_LEN CULPRIT_LABEL_LEN
const char *cpu_run_name(const struct span *run, const struct recording *recording,
			 char buffer[CPU_RUN_NAME_LEN]);

#endif
