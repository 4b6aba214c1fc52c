/* SPDX-License-Identifier: Apache-2.0 */
/* The command line, parsed once. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../bpf/kernel_delay.h"
#include "syscall_set.h"

#define OUTPUTS_MAX 8
#define FAIL_IF_MAX 16
#define ADDRESS_LEN 64
#define BUFFER_PAGE 4096 /* bytes, whatever the machine's pages are */

/* Forms in which samples are written. */
enum output_format {
	OUTPUT_TEXT,
	OUTPUT_JSON,
	OUTPUT_OPENMETRICS,
	OUTPUT_PROMETHEUS,
	OUTPUT_FOLDED,
	OUTPUT_FORMATS,
};

struct output {
	enum output_format format;
	const char *file; /* with % sequences; NULL: standard output */
};

struct options {
	pid_t pid;                /* 0: look for one */
	const char *comm;         /* look for this name instead of the default ones */
	uint64_t sample_time;     /* ns */
	uint64_t sample_interval; /* ns */
	uint64_t sample_count;    /* 0: until stopped */
	uint64_t duration;        /* of the whole run, ns; UINT64_MAX: not bounded */
	bool histogram;           /* distributions of durations, too */

	const char *triggers[KD_ROLES]; /* by enum kd_role; NULL: none */
	uint64_t trigger_delta;         /* ns; shorter windows are skipped */
	uint64_t trigger_worst;         /* print only so many, the longest; 0: all */
	uint64_t long_poll;             /* ns; 0: not asked for */
	bool target_only, same_thread;
	uint64_t max_overhead; /* percent of a thread's time; 0: no limit */
	unsigned int window_banks;
	bool verbose;

	bool list_probes, check; /* instead of sampling */
	const char *list_glob;   /* NULL: an overview */

	bool call_events;         /* list slow system calls */
	uint64_t call_threshold;  /* ns; 0: all calls */
	struct syscall_set calls; /* which of them */
	bool calls_chosen;        /* not all */
	bool skip_polls;          /* calls is without them */
	uint64_t off_cpu;         /* waits of so many ns or more; 0: not asked for */
	unsigned int profile_hz;  /* 0: not asked for */

	uint64_t buffer_pages; /* of BUFFER_PAGE bytes: a power of two, room for two stacks */
	uint64_t stacks;       /* different ones that are kept; 0: no stacks at all */
	uint64_t stack_bytes;  /* of each user stack, whole KD_STACK_PAGEs; 0: no user stacks */
	uint64_t stack_rate;   /* user stacks per second; 0: no limit */

	struct output outputs[OUTPUTS_MAX]; /* none: the text on standard output */
	size_t n_outputs;
	mode_t output_mode;    /* of files */
	uint64_t output_limit; /* bytes, for each output; 0: no limit */
	bool quiet;            /* nothing but what was asked for, and errors */

	bool per_thread, fold_names, timestamps; /* of metrics */
	uint64_t max_syscalls;                   /* of a thread, in metrics; 0: no limit */
	bool list_metrics;                       /* instead of sampling */

	const char *replay; /* a file to read samples from instead of sampling */

	bool listen; /* serve metrics */
	char listen_address[ADDRESS_LEN];
	uint16_t listen_port;

	const char *fail_if[FAIL_IF_MAX]; /* as given: not looked at */
	size_t n_fail_if;

	bool skip_upcall_stats;
	const char *btf_file; /* NULL: the kernel's own */
	unsigned int debug;   /* 0: off */
	bool strict;
};

/* As people type it. */
const char *options_format_name(enum output_format format);

/* Of this program. */
const char *options_version(void);

/* True if slow calls, waits or samples of running code are asked for. */
bool options_want_traces(const struct options *options);

/* Fills *options from the command line. Returns 0; or, after printing one or
 * two lines of what is wrong, an exit status of <sysexits.h>. --help and
 * --version print and end the process with status 0. */
int options_parse(int argc, char **argv, struct options *options);

#endif
