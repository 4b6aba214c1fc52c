/* SPDX-License-Identifier: Apache-2.0 */
/* One finished sample: all that is known of a target in one window. It is
 * built by capture/collect.c and read by the reports, which see nothing else.
 * No libbpf, no options, no system calls here.
 *
 * Times are nanoseconds; points in time are CLOCK_MONOTONIC. */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "../bpf/kernel_delay.h"
#include "distribution.h"
#include "traces.h"

/* The lines of the ledger, in the order of the report. Interrupts have been
 * subtracted from the running states: the lines add up to the life. */
enum ledger_state {
	LEDGER_USER,
	LEDGER_KERNEL,
	LEDGER_HARDIRQ,
	LEDGER_SOFTIRQ,
	LEDGER_READY_WOKEN,
	LEDGER_READY_PREEMPTED,
	LEDGER_BLOCKED,
	LEDGER_BLOCKED_UNINT,
	LEDGER_STOPPED,
	LEDGER_STATES,
};

struct ledger {
	uint64_t life; /* of the thread inside the window */
	uint64_t ns[LEDGER_STATES];
	/* The kernel's own count of the run time (sum_exec_runtime) over the
	 * window; set only if exec_known. */
	uint64_t exec;
	bool exec_known;
};

struct call_row {
	uint32_t number;
	uint64_t count, total, max;
	struct distribution times; /* --histogram only */
};

struct irq_row {
	char name[KD_IRQ_NAME_LEN + 16]; /* as the kernel has it: not escaped */
	uint32_t vector;                 /* softirqs only */
	bool unhandled;                  /* hardirqs only: the handler returned IRQ_NONE */
	uint64_t count, total, max;
};

/* A system call that was open at an edge of the window. */
struct open_call {
	int32_t number;  /* KD_CALL_UNKNOWN: in the kernel, number not known */
	uint64_t since;  /* when it was entered; 0: before tracing began */
	uint64_t until;  /* when it returned; 0: it had not when the sample was read */
	uint64_t inside; /* its share of the window */
	bool at_start, at_end;
};

/* One thread, or several that were folded because they are alike. */
struct thread_row {
	pid_t tid;              /* of the first, if folded */
	char name[KD_COMM_LEN]; /* as the kernel has it, not escaped; "" if unknown */
	bool ended;             /* inside the window */
	unsigned int members;   /* threads in this row; their figures are summed */

	struct ledger ledger;
	struct call_row *calls; /* by descending total */
	size_t n_calls;
	struct irq_row *hardirqs; /* by descending total */
	size_t n_hardirqs;
	struct irq_row *softirqs; /* by descending total */
	size_t n_softirqs;
	struct kd_span run, long_poll; /* count 0: nothing to print */
	struct kd_count ready, stopped;
	struct distribution run_times, ready_times; /* --histogram only */

	uint64_t voluntary, involuntary, migrations;
	uint64_t cpus[KD_CPU_WORDS]; /* bitmap */
	bool cpus_beyond;            /* and CPUs that the bitmap cannot hold */

	struct open_call open[2];
	size_t n_open;
};

/* Upcalls of openvswitch on one CPU, by result: 0 or an errno. */
struct upcall_row {
	uint32_t cpu, error;
	uint64_t count;
};

/* A section of which this kernel does not allow all. */
struct absence {
	const char *section; /* as in the report: "HARD IRQ STATISTICS" */
	const char *what;    /* "is left out: ..." */
};

/* What is the same for all samples of a run. */
struct capture {
	const char *version;                      /* of kernel_delay */
	char process[KD_COMM_LEN];                /* the target's name, not escaped */
	char host[65], kernel[65];                /* nodename and release of uname(2) */
	const char *start_trigger, *stop_trigger; /* as they were given; NULL: none */
};

struct sample {
	const struct capture *capture; /* the run's; NULL: not known */
	uint64_t number;               /* of the run's samples, from 1 on; 0: not known */
	pid_t pid;
	bool foreign_calls; /* 32-bit target: numbers are not this architecture's */

	uint64_t start, end;                  /* the window */
	bool start_triggered, stop_triggered; /* by hits on these threads: */
	pid_t started_on, stopped_on;
	struct timespec wall_dump; /* when the report was made */
	bool interrupted;          /* by a signal */
	bool target_exited;        /* and ended the window */
	bool expired;              /* the run's duration ended it */
	bool overloaded;           /* the probes' cost ended it */

	struct thread_row *threads; /* sorted by name, then TID */
	size_t n_threads;

	struct upcall_row *upcalls; /* by CPU, then error */
	size_t n_upcalls;
	bool upcalls_known; /* they were counted */

	struct trace_list traces;

	uint64_t losses[KD_LOSSES];
	uint64_t skipped_runs; /* of BPF programs, by the kernel */
	uint64_t hidden;       /* threads that /proc knows and tracing does not show */
	uint64_t resynced;     /* switches found by their effects, as none was reported */
	uint64_t torn;         /* threads whose record could not be read consistently */

	const struct absence *absent;
	size_t n_absent;
};

/* All that was lost, of whatever kind: what --strict asks about. */
uint64_t sample_lost(const struct sample *sample);

/* Sum of the ledger's lines. */
uint64_t ledger_sum(const struct ledger *ledger);

/* Running as the scheduler sees it: user, kernel and both interrupt lines. */
uint64_t ledger_running(const struct ledger *ledger);

/* True if the thread had no event in the window: it was in one state all the
 * time, which *state is set to. */
bool thread_is_silent(const struct thread_row *thread, enum ledger_state *state);

/* Adds all of from's figures to into. Takes over nothing: from is unchanged.
 * Returns 0 or -ENOMEM. */
int thread_merge(struct thread_row *into, const struct thread_row *from);

/* Adds a row to the upcalls. Returns 0 or -ENOMEM. */
int sample_add_upcalls(struct sample *sample, const struct upcall_row *row);

/* Sorts the calls and interrupts of each thread by total and the threads by
 * name and TID; folds threads that ended by name, and silent threads by name
 * and state where there are more than SAMPLE_FOLD of them; sorts the traces. Returns 0 or
 * -ENOMEM. */
int sample_finish(struct sample *sample);
#define SAMPLE_FOLD 4

/* Releases what the thread's row owns, not the row. */
void thread_clear(struct thread_row *thread);

/* Releases all that the sample owns and clears it; safe on a zeroed sample. */
void sample_clear(struct sample *sample);

#endif
