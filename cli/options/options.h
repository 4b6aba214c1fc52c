/* SPDX-License-Identifier: Apache-2.0 */
/* The command line, parsed once. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "cli/base/schedule.h"
#include "cli/base/syscall_set.h"
#include "cli/model/counter.h"
#include "cli/model/deltas.h"
#include "cli/model/traces.h"
#include "cli/output/outputs.h"

#define FAIL_IF_MAX 16
#define PIDS_MAX 1024
#define UID_ANY ((uid_t)-1)
#define BUFFER_PAGE 4096 /* bytes, whatever the machine's pages are */

/* Of files of options. */
struct option_texts {
	char **all;
	size_t n, room;
};

#define OPTIONS_FILE_MAX 65536 /* bytes of a file of options */

struct options {
	pid_t pids[PIDS_MAX];  /* the first is 0: look for one */
	const char *comm;      /* look for this name instead of the default ones */
	const char *exe;       /* of a process that runs this file; NULL: any */
	uid_t uid;             /* and is this user; UID_ANY: any */
	bool all;              /* all processes of this name */
	const char *cgroup;    /* all processes of this control group */
	const char *container; /* all processes of this container */
	pid_t tids[PIDS_MAX];  /* only these threads of it; the first is 0: all */
	bool follow_fork;      /* and the children of each, as they are born */
	bool show_arguments;   /* of its command lines */
	char **command;        /* start this one instead, words up to NULL; NULL: none */
	const char *pidfile;   /* its PID is in this file */
	pid_t pid_ns;          /* pid is meant as this process's PID namespace has it; 0: ours */
	uint64_t wait;         /* until it is there, ns; UINT64_MAX: however long; 0: not at all */
	bool follow_restart;   /* go on with the process's successor */
	bool pass_status;      /* end with the command's exit status */
	struct schedule at;    /* when samples begin; zeros: at once */
	uint64_t sample_time;  /* ns; UINT64_MAX: to the process's end */
	bool sample_time_given;
	uint64_t sample_interval;    /* ns */
	uint64_t sample_count;       /* 0: until stopped */
	uint64_t duration;           /* of the whole run, ns; UINT64_MAX: not bounded */
	uint64_t interruptions;      /* ns: list those of at least so long; 0: none are wanted */
	uint64_t detail;             /* ns: shorter waits at descriptors and locks are summed up */
	bool histogram;              /* distributions of durations, too */
	uint64_t record;             /* ns before a window that the recorder is to hold; 0: off */
	uint64_t record_memory;      /* bytes */
	const char *record_on;       /* report only samples of which this is true; NULL: all */
	struct counter_set counters; /* perf events to count; n 0: none */
	bool resources;              /* what threads and processes use, too */

	const char *triggers[KD_ROLES]; /* by enum kd_role; NULL: none */
	struct deltas trigger_deltas;   /* shorter windows are skipped */
	uint64_t trigger_worst;         /* print only so many, the longest; 0: all */
	uint64_t long_poll;             /* ns; 0: not asked for */
	bool target_only, any, same_thread, unsafe_returns;
	uint64_t max_overhead; /* percent of a thread's CPU time; 0: no limit */
	bool overhead_stops;   /* the run, if it is more */
	unsigned int window_banks;
	bool verbose;

	bool machine, machine_json; /* print what there is to say of it instead of sampling */
	bool list_probes, check;    /* instead of sampling */
	const char *list_glob;      /* NULL: an overview */

	bool call_events;         /* list slow system calls */
	uint64_t call_threshold;  /* ns; 0: all calls */
	struct syscall_set calls; /* which of them */
	bool calls_chosen;        /* not all */
	bool skip_polls;          /* calls is without them */
	uint64_t off_cpu;         /* waits of so many ns or more; 0: not asked for */
	struct wait_filter waits; /* which of them */
	bool waits_chosen;        /* by the command line */
	bool all_wakers;          /* not only the target's threads are followed */
	unsigned int profile_hz;  /* 0: not asked for */

	uint64_t buffer_pages; /* of BUFFER_PAGE bytes: a power of two, room for two stacks */
	uint64_t stacks;       /* different ones that are kept; 0: no stacks at all */
	uint64_t stack_bytes;  /* of each user stack, whole KD_STACK_PAGEs; 0: no user stacks */
	uint64_t stack_share;  /* of each CPU for copying user stacks, millionths; 0: no limit */

	struct outputs_config outputs;
	bool full, summary; /* what the text has of threads: more, or less than usual */
	bool list_metrics;  /* instead of sampling */
	const char *replay; /* a file to read samples from instead of sampling */

	const char *fail_if[FAIL_IF_MAX]; /* as given: not looked at */
	size_t n_fail_if;

	bool skip_upcall_stats;
	const char *btf_file; /* NULL: the kernel's own */
	unsigned int debug;   /* 0: off */
	bool strict;
	bool keep_privileges; /* also those that only the beginning of a run needs */

	struct option_texts texts; /* to which the others may point */
};

#endif
