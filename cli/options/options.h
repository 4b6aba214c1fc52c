/* SPDX-License-Identifier: Apache-2.0 */
/* Command line options, parsed once. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "cli/base/syscall_set.h"
#include "cli/base/wall_clock.h"
#include "cli/model/counter.h"
#include "cli/model/traces.h"
#include "cli/model/trigger_stats.h"
#include "cli/output/outputs.h"

#define FAIL_IF_MAX 16
#define PIDS_MAX 1024
#define UID_ANY ((uid_t)-1)
#define BUFFER_PAGE 4096 /* bytes, whatever the page size */

/* Texts from options files. */
struct option_texts {
	char **all;
	size_t n, capacity;
};

#define OPTIONS_FILE_MAX 65536 /* bytes of an options file */

struct options {
	pid_t pids[PIDS_MAX];  /* the first is 0: search for one */
	const char *comm;      /* search for this name, not the default ones */
	const char *exe;       /* of a process that runs this file; NULL: any */
	uid_t uid;             /* of this user; UID_ANY: any */
	bool all;              /* all processes of this name */
	const char *cgroup;    /* all processes of this cgroup */
	const char *container; /* all processes of this container */
	pid_t tids[PIDS_MAX];  /* only these threads; the first is 0: all */
	bool follow_fork;      /* also children of each process, from birth */
	bool show_arguments;   /* on its command lines */
	char **command;        /* start this instead, words up to NULL; NULL: none */
	const char *pidfile;   /* file that holds the PID */
	pid_t pid_ns;          /* PIDs are in the PID namespace of this process; 0: in our own */
	uint64_t wait;         /* for the target, ns; UINT64_MAX: no limit; 0: no wait */
	bool follow_restart;   /* continue with the successor of the process */
	bool pass_status;      /* exit with the command's status */
	struct schedule at;    /* when samples begin; zeros: immediately */
	uint64_t sample_time;  /* ns; UINT64_MAX: until the process ends */
	bool sample_time_given;
	uint64_t sample_interval;    /* ns */
	uint64_t sample_count;       /* 0: until stopped */
	uint64_t duration;           /* of the run, ns; UINT64_MAX: no limit */
	uint64_t interruptions;      /* ns: list those at least this long; 0: none */
	uint64_t detail;             /* ns: shorter sleeps, and waits for locks, are summed */
	bool histogram;              /* also distributions of durations */
	uint64_t record;             /* ns before a window that the recorder holds; 0: off */
	uint64_t record_memory;      /* bytes */
	const char *record_on;       /* report only samples that meet this; NULL: all */
	struct counter_set counters; /* perf events to count; n 0: none */
	bool resources;              /* also what threads and processes use */

	const char *triggers[KD_ROLES]; /* by enum kd_role; NULL: none */
	struct deltas trigger_deltas;   /* shorter windows are skipped */
	uint64_t trigger_worst;         /* print only the longest, this many; 0: all */
	uint64_t long_poll;             /* ns; 0: off */
	bool target_only, any, same_thread, unsafe_returns;
	uint64_t max_overhead; /* percent of a thread's CPU time; 0: no limit */
	bool overhead_stops;   /* exceeding it ends the run */
	unsigned int window_banks;
	bool verbose;

	bool machine, machine_json; /* print the machine's setup instead of sampling */
	bool list_probes, check;    /* instead of sampling */
	const char *list_glob;      /* NULL: an overview */

	bool call_events;         /* list slow system calls */
	uint64_t call_threshold;  /* ns; 0: all calls */
	struct syscall_set calls; /* calls to list */
	bool calls_chosen;        /* not all calls, */
	bool calls_named;         /* but some by name */
	bool skip_polls;          /* calls excludes polls */
	uint64_t off_cpu;         /* waits of at least this long, ns; 0: off */
	struct wait_filter waits; /* waits to list */
	bool all_wakers;          /* not only the target's threads */
	unsigned int profile_hz;  /* 0: off */

	uint64_t buffer_pages; /* of BUFFER_PAGE bytes: a power of two, space for two stacks */
	uint64_t stacks;       /* number of distinct stacks; 0: no stacks */
	uint64_t stack_bytes;  /* of a user stack, in KD_STACK_PAGE units; 0: no user stacks */
	uint64_t stack_share;  /* of each CPU for user stack copies, millionths; 0: no limit */

	struct outputs_config outputs;
	bool full, summary; /* detail on threads in text: more, or less than usual */
	bool list_metrics;  /* instead of sampling */
	const char *replay; /* read samples from this file instead */

	const char *fail_if[FAIL_IF_MAX]; /* as given, not parsed */
	size_t n_fail_if;

	bool skip_upcall_stats;
	const char *btf_file; /* NULL: the running kernel's */
	unsigned int debug;   /* 0: off */
	bool strict;
	bool keep_privileges; /* also those needed only at the beginning */

	char *attributes;          /* while an option is read: what stands behind its value */
	struct option_texts texts; /* storage for the strings */
};

/* What the run looks at beyond what every run does, enum scan. */
static inline unsigned int options_scans(const struct options *options)
{
	return (options->call_events ? SCAN_CALLS : 0) | (options->off_cpu ? SCAN_WAITS : 0) |
	       (options->profile_hz ? SCAN_PROFILE : 0) | (options->record ? SCAN_RECORDING : 0) |
	       (options->histogram ? SCAN_HISTOGRAMS : 0) |
	       (options->interruptions ? SCAN_INTERRUPTIONS : 0) |
	       (options->resources ? SCAN_RESOURCES : 0) |
	       (options->counters.n ? SCAN_COUNTERS : 0);
}

#endif
