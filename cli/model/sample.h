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

#include "bpf/kernel_delay.h"
#include "critical_path.h"
#include "culprit.h"
#include "disk_limit.h"
#include "excess.h"
#include "interruption.h"
#include "recording.h"
#include "thread_row.h"
#include "traces.h"
#include "words.h"

#define PROCESS_TITLE 256
#define PROCESS_LABEL 128 /* names of containers, images and pods; their IDs have 64 */

/* One process, or several of a name that were folded because all have ended. Texts are as they
 * were found, not escaped; "" if unknown. A PID may be used again within a window: which process
 * it is, PID and start say together. */
struct process_row {
	pid_t pid; /* of the first, if folded, */
	uint64_t
		start; /* and since when it is of the target, CLOCK_MONOTONIC ns; 0: all the time */
	char name[KD_COMM_LEN];
	char title[PROCESS_TITLE]; /* argv[0], or what the program wrote there; of several: all have
				      it */
	char container[PROCESS_LABEL]; /* its name, else its ID */
	char image[PROCESS_LABEL];
	char pod[PROCESS_LABEL];
	bool began, ended;    /* inside the window; of several: all of them */
	unsigned int members; /* processes in this row; 0 is as good as 1 */
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
	uint64_t sample_count; /* how many were asked for; 0: no limit, or not known */
	uint64_t sample_time;  /* ns; 0: none was given, or not known. Not in JSON */
	bool several;          /* the target may be more than one process */
	/* As in struct process_row, if it is one. */
	char container[PROCESS_LABEL], image[PROCESS_LABEL], pod[PROCESS_LABEL];
};

/* Estimates, ns; 0: not known. What entering and leaving the kernel costs, with the programs
 * for it, beyond what is booked. */
struct entry_cost {
	uint64_t call_ns;  /* of a system call: counted as running kernel, not user */
	uint64_t irq_ns;   /* of a hard interrupt: counted as that, not as what it hit */
	uint64_t fault_ns; /* of a page fault from user mode: counted as that, not user */
	/* For thread_move_entries() only: what timing a page fault costs, which those that are not
	 * timed do without; what one takes where none of the thread's was timed; and what it takes
	 * to call a signal's handler. */
	uint64_t fault_timing_ns, fault_mean_ns, signal_ns;
};

/* What this program itself and its child took, on CPUs; nothing of it is in the target's
 * figures. All 0: not known. */
struct own_cost {
	uint64_t cpu_ns;    /* CPU time */
	uint64_t wakeups;   /* of their threads */
	uint64_t period_ns; /* in this time: since the sample before was read, or since attaching */
};

/* Which condition of --record-on was true. */
struct fulfilled {
	char condition[128]; /* as it was given, as far as there is room; "": none */
	struct excess by;
};

struct verdict;

struct sample {
	const struct capture *capture; /* the run's; NULL: not known */
	uint64_t number;               /* of the run's samples, from 1 on; 0: not known */
	pid_t pid;
	uint64_t restarts;  /* of the target, since the run's sample before this one */
	pid_t predecessor;  /* whose successor it is then; 0: there was no restart */
	bool foreign_calls; /* of another machine: numbers that have no names here */

	uint64_t start, end;                  /* the window */
	struct timespec wall_start;           /* the wall clock at its start; zeros: not known */
	bool start_triggered, stop_triggered; /* by hits on these threads: */
	pid_t started_on, stopped_on;
	struct timespec wall_dump; /* when the report was made */
	bool interrupted;          /* by a signal */
	bool target_exited;        /* and ended the window */
	bool expired;              /* the run's duration ended it */
	bool overloaded;           /* the probes' cost ended it */
	bool pressed;              /* SIGUSR1 asked for it, and may have ended it early */
	struct fulfilled fulfilled;

	struct process_row *processes; /* sorted by PID; none if not known */
	size_t n_processes;

	struct thread_row *threads; /* sorted by process, name, then TID */
	size_t n_threads;

	char frozen_group[CULPRIT_GROUP_LEN]; /* that the freezer held, as in struct culprit; ""
						 if not known */

	/* What a control group of theirs may do with a disk, and did, while they waited; per_second
	 * is 0 if there is none that is known. */
	struct disk_limit disk_limit;

	struct upcall_row *upcalls; /* by CPU, then error */
	size_t n_upcalls;
	bool upcalls_known; /* they were counted */

	struct trace_list traces;
	struct recording_facts recorded; /* --record only */
	struct recording *recording;     /* the same; NULL: it is not known */
	const struct verdict *verdict;   /* of the finished sample, see verdict_find() */
	struct critical_path path;       /* computed from these; of replayed samples read */

	bool distributions; /* --histogram: of durations */
	/* Interruptions of at least this many ns, if they were asked for; by their start. */
	uint64_t interruptions_from;
	bool interruptions_known;
	struct interruption *interruptions;
	size_t n_interruptions;

	/* --resources: of each process, by PID; and sockets. */
	bool resources_known;
	struct usage_row *usages; /* see resource.h */
	size_t n_usages;
	struct resent_row *resent;
	size_t n_resent;

	uint64_t losses[KD_LOSSES];
	uint64_t skipped_runs;        /* of BPF programs, by the kernel */
	uint64_t hidden;              /* threads that /proc knows and tracing does not show */
	uint64_t resynced;            /* switches found by their effects, as none was reported */
	uint64_t page_faults_untimed; /* ns in which they were too many to be timed */
	struct entry_cost entry;
	struct own_cost own;
	uint64_t torn; /* threads whose record could not be read consistently */

	const struct absence *absent;
	size_t n_absent;
};

/* Whether triggers made its window: it is no sample of a given time. */
bool sample_is_triggered(const struct sample *sample);

/* The row of the process that had a PID at a time (CLOCK_MONOTONIC ns), NULL if the sample has
 * none. */
const struct process_row *process_at(const struct sample *sample, pid_t pid, uint64_t at);

/* The row of a thread's process, NULL if the sample has none. */
const struct process_row *process_of(const struct sample *sample, const struct thread_row *thread);

/* The order of two threads' processes, as strcmp(). */
int process_compare(const struct thread_row *a, const struct thread_row *b);

/* How many processes there are in all rows. */
uint64_t processes_count(const struct sample *sample);

/* The order of two rows of processes: by PID, then by start. */
int process_row_compare(const void *a, const void *b);

/* Sorts the rows by PID, then by start. */
void processes_sort_rows(struct sample *sample);

/* Adds a row to the upcalls. Returns 0 or -ENOMEM. */
int sample_add_upcalls(struct sample *sample, const struct upcall_row *row);

/* Releases all that the sample owns and clears it; safe on a zeroed sample. */
void sample_clear(struct sample *sample);

#endif
