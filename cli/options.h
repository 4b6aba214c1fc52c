/* SPDX-License-Identifier: Apache-2.0 */
/* The command line, parsed once. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../bpf/kernel_delay.h"

struct options {
	pid_t pid;                /* 0: look for one */
	const char *comm;         /* look for this name instead of the default ones */
	uint64_t sample_time;     /* ns */
	uint64_t sample_interval; /* ns */
	uint64_t sample_count;    /* 0: until stopped */
	uint64_t duration;        /* of the whole run, ns; UINT64_MAX: not bounded */

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

	bool skip_upcall_stats;
	const char *btf_file; /* NULL: the kernel's own */
	unsigned int debug;   /* 0: off */
	bool strict;
};

/* Fills *options from the command line. Returns 0; or, after printing one or
 * two lines of what is wrong, an exit status of <sysexits.h>. --help and
 * --version print and end the process with status 0. */
int options_parse(int argc, char **argv, struct options *options);

#endif
