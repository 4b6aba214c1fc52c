/* SPDX-License-Identifier: Apache-2.0 */
/* One finished sample: all data about a target in one window. capture/collect.c fills it; the
 * reports read only this. No libbpf, no options, no system calls here. Times are nanoseconds;
 * points in time are CLOCK_MONOTONIC. */
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
#include "faulted.h"
#include "interruption.h"
#include "pressure.h"
#include "recording.h"
#include "thread_row.h"
#include "traces.h"
#include "words.h"

/* --- Values that exceeded a condition --- */

#define EXCESS_WORDS_LEN 160

/* The most extreme value of all that were checked. */
struct excess {
	uint64_t times;         /* how often, over threads and samples; 0: never */
	uint64_t value, total;  /* total 0: value is a count or ns; else value out of total ns */
	uint64_t sample;        /* sample number; 0: from the comparison */
	bool is_time;           /* value is in ns */
	bool so_far;            /* value was still open at the end */
	pid_t tid;              /* 0: no single thread */
	uint32_t members;       /* if above 1: folded threads with this name */
	char name[KD_COMM_LEN]; /* not escaped */
};

/* Writes "6,123,456 ns so far of thread 17 'name'". The name is not escaped. */
void excess_words(char words[EXCESS_WORDS_LEN], const struct excess *excess);

#define PROCESS_TITLE 256
#define PROCESS_LABEL 128 /* name of a container, image or pod; IDs have 64 characters */

/* One process, or several of the same name that were folded after they ended. Texts are raw, not
 * escaped; "": unknown. PIDs may be reused within a window, so PID and start together identify a
 * process. */
struct process_row {
	pid_t pid;      /* of the first, if folded */
	uint64_t start; /* joined the target then, CLOCK_MONOTONIC ns; 0: member throughout */
	char name[KD_COMM_LEN];
	char title[PROCESS_TITLE]; /* argv[0], or the title the program set; if folded, common to
				    * all */
	char container[PROCESS_LABEL]; /* name, else ID */
	char image[PROCESS_LABEL];
	char pod[PROCESS_LABEL];
	bool began, ended;    /* inside the window; if folded, true for all */
	unsigned int members; /* processes in this row; 0 means 1 */
};

/* Open vSwitch upcalls on one CPU, by result: 0 or an errno. */
struct upcall_row {
	uint32_t cpu, error;
	uint64_t count;
};

/* How late softirqs of a vector ran on a CPU after they were raised, of whatever process they were
 * for. */
struct softirq_delay {
	uint32_t cpu, vector;
	char name[KD_COMM_LEN]; /* "net_rx" */
	struct kd_count delays; /* what of them lies in the window */
	bool open;              /* the longest had not run at the window's end */
	/* Who had the CPU when the longest was raised, and when it ran (without a name: it did
	 * not). TID 0: an idle CPU. Names raw, not escaped. */
	struct kd_task_name raised, ran;
};

/* What a worker of the kernel did at the window's end, or last: a work queue, or what that calls
 * it; raw, not escaped. */
#define WORK_LEN 32
struct worker_row {
	pid_t tid;
	char work[WORK_LEN];
};

/* A section that this kernel supports only in part. */
struct absence {
	const char *section; /* as in the report: "HARD IRQ STATISTICS" */
	const char *what;    /* "is left out: ..." */
};

/* Constants of a run. */
struct capture {
	const char *version;                      /* of kernel_delay */
	char process[KD_COMM_LEN];                /* target's name, not escaped */
	char host[65], kernel[65];                /* nodename and release of uname(2) */
	const char *start_trigger, *stop_trigger; /* as given; NULL: none */
	uint64_t sample_count; /* requested number of samples; 0: no limit, or unknown */
	uint64_t sample_time;  /* ns; 0: none given, or unknown. Not in JSON */
	bool multiple;         /* the target may have more than one process */
	bool command;          /* the target is a program that this one started */
	/* As in struct process_row, for a single process. */
	char container[PROCESS_LABEL], image[PROCESS_LABEL], pod[PROCESS_LABEL];
};

/* Estimated costs of kernel entry and exit, BPF programs included, beyond what is measured. ns;
 * 0: unknown. */
struct entry_cost {
	uint64_t call_ns;  /* per system call: counted as kernel, not user */
	uint64_t irq_ns;   /* per hardirq: counted as hardirq, not as what it hit */
	uint64_t fault_ns; /* per page fault from user mode: counted as fault, not user */
	/* Only for thread_move_entries(): cost of timing a page fault, which untimed ones do not
	 * have; mean fault time for threads without timed ones; and cost of calling a signal
	 * handler. */
	uint64_t fault_timing_ns, fault_mean_ns, signal_ns;
};

/* CPU cost of this program and its child, never part of the target's figures. All 0: unknown. */
struct own_cost {
	uint64_t cpu_ns;    /* CPU time */
	uint64_t wakeups;   /* of all own threads */
	uint64_t period_ns; /* since the previous sample was read, or since attaching */
};

/* Condition of --record-on that was true. */
struct fulfilled {
	char condition[128]; /* as given, truncated to fit; "": none */
	struct excess by;
};

struct verdict;

struct sample {
	const struct capture *capture; /* NULL: unknown */
	uint64_t number;               /* counts from 1 within the run; 0: unknown */
	pid_t pid;
	uint64_t restarts;  /* target restarts since the previous sample */
	pid_t predecessor;  /* PID before the restart; 0: no restart */
	bool foreign_calls; /* from another machine: syscall numbers have no names here */

	uint64_t start, end;                  /* the window */
	struct timespec wall_start;           /* zeros: unknown */
	bool start_triggered, stop_triggered; /* by probe hits on these threads: */
	pid_t started_on, stopped_on;
	struct timespec wall_dump; /* time of the report */
	bool interrupted;          /* by a signal */
	bool target_exited;        /* and that ended the window */
	bool expired;              /* the run's duration ended it */
	bool overloaded;           /* the probes' cost ended it */
	bool pressed;              /* requested by SIGUSR1, maybe before the window's end */
	struct fulfilled fulfilled;

	struct process_row *processes; /* sorted by PID; none if unknown */
	size_t n_processes;

	struct thread_row *threads; /* sorted by process, name, then TID */
	size_t n_threads;

	struct cpu_quota quota; /* the tightest of its cgroup and those above; zeros: none */
	char frozen_group[CULPRIT_GROUP_LEN]; /* frozen cgroup, as in struct culprit; "": unknown */
	/* For how long the target's group of version 1 was seen frozen: its threads may have slept
	 * then without an event. And for how long before the end, if it was frozen then. */
	uint64_t group_frozen_ns, group_frozen_last_ns;

	/* Disk limit of the threads' cgroup, and its usage, while they waited; per_second is 0
	 * if no limit is known. */
	struct disk_limit disk_limit;

	struct disk_use disk_use; /* of the disk that threads waited for longest */
	struct journal_use journal_use;

	/* The memory limit that threads ran into; bytes is 0 if none is known. */
	struct memory_limit memory_limit;

	struct faulted_thread faulted; /* what most page faults of a thread were for */

	struct cpu_rules cpu_rules; /* tid is 0 if no thread waited for a CPU */
	struct quota_use quota_use;
	struct pressures pressures;

	struct worker_row *workers; /* that threads waited for */
	size_t n_workers;

	struct upcall_row *upcalls; /* by CPU, then error */
	size_t n_upcalls;
	bool has_upcalls; /* upcalls were counted */

	struct softirq_delay *softirq_delays; /* longest first */
	size_t n_softirq_delays;
	bool has_softirq_delays; /* --interruptions, and the kernel reports them */

	struct trace_list traces;
	struct recording_facts recorded; /* --record only */
	struct recording *recording;     /* --record only; NULL: unknown */
	const struct verdict *verdict;   /* set by verdict_find() */
	struct critical_path path;       /* computed from these; read from replayed samples */

	bool distributions; /* --histogram */
	/* Interruptions of at least this many ns, if asked for; sorted by start. */
	uint64_t interruptions_from;
	bool has_interruptions;
	struct interruption *interruptions;
	size_t n_interruptions;

	/* --resources: processes sorted by PID, and sockets. */
	bool has_resources;
	struct usage_row *usages; /* see resource.h */
	size_t n_usages;
	struct resent_row *resent;
	size_t n_resent;

	uint64_t losses[KD_LOSSES];
	uint64_t skipped_runs;        /* skipped BPF program runs */
	uint64_t hidden;              /* threads in /proc that tracing cannot see */
	uint64_t resynced;            /* context switches the kernel did not report, found by
				       * their effects */
	uint64_t page_faults_untimed; /* ns with too many page faults to time them */
	struct entry_cost entry;
	struct own_cost own;
	uint64_t torn; /* threads without a consistent record */

	const struct absence *absent;
	size_t n_absent;
};

/* True if triggers made the window, so it has no fixed length. */
bool sample_is_triggered(const struct sample *sample);

/* Row of a thread; NULL: it has none of its own. */
struct thread_row *sample_thread(const struct sample *sample, pid_t tid);

/* The thread for which a time is longest, and that percentage of the window or more; NULL: none. */
struct thread_row *sample_most(const struct sample *sample,
			       uint64_t (*time_of)(const struct thread_row *),
			       unsigned int percent);

/* PID of a thread's process, also of a target that is one process. */
pid_t thread_pid(const struct sample *sample, const struct thread_row *thread);

/* Process with a PID at a time (CLOCK_MONOTONIC ns), NULL: none. */
const struct process_row *process_at(const struct sample *sample, pid_t pid, uint64_t at);

/* True for a process of the target, also if it is only one. */
bool sample_has_process(const struct sample *sample, pid_t pid);

/* Process of a thread, NULL: none. */
const struct process_row *process_of(const struct sample *sample, const struct thread_row *thread);

/* Compares the processes of two threads, like strcmp(). */
int process_compare(const struct thread_row *a, const struct thread_row *b);

/* Number of processes in all rows. */
uint64_t processes_count(const struct sample *sample);

/* Compares process rows by PID, then by start. */
int process_row_compare(const void *a, const void *b);

void processes_sort_rows(struct sample *sample);

/* The wall clock at a moment of CLOCK_MONOTONIC, as it went at the window's start. Returns false if
 * that is unknown. */
bool sample_wall_at(const struct sample *sample, uint64_t moment, struct timespec *when);

/* The reverse. 0: unknown, or out of range. */
uint64_t sample_moment_of(const struct sample *sample, const struct timespec *when);

/* Frees and clears everything; safe on a zeroed sample. */
void sample_clear(struct sample *sample);

/* --- Threads and processes that are alike --- */

/* They share a row once there are many. */

/* Sorts a sample and folds it. Calls and interrupts of a thread go by total, threads by process,
 * name and TID. Ended processes are folded by name where there are more than SAMPLE_FOLD. Within
 * a process, ended threads are folded by name; silent ones by name and state where there are
 * more than SAMPLE_FOLD. Sorts the traces. Returns 0 or -ENOMEM. */
int sample_finish(struct sample *sample);
#define SAMPLE_FOLD 4

/* Limit on rows of an open window, since the target chooses its names. Beyond it, the names with
 * the fewest processes, and their threads' names, become PROCESS_OTHERS. */
#define PROCESS_ROWS 4096
#define PROCESS_OTHERS "(others)"

/* Folds an open window: only processes and threads that have ended. Returns 0 or -ENOMEM. */
int processes_fold_open(struct sample *sample);

#endif
