/* SPDX-License-Identifier: Apache-2.0 */
/* The command line, parsed once. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct options {
	pid_t pid;                /* 0: look for one */
	const char *comm;         /* look for this name instead of the default ones */
	uint64_t sample_time;     /* ns */
	uint64_t sample_interval; /* ns */
	uint64_t sample_count;    /* 0: until stopped */
	const char *btf_file;     /* NULL: the kernel's own */
	unsigned int debug;       /* 0: off */
	bool strict;
};

/* Fills *options from the command line. Returns 0; or, after printing one or
 * two lines of what is wrong, an exit status of <sysexits.h>. --help and
 * --version print and end the process with status 0. */
int options_parse(int argc, char **argv, struct options *options);

#endif
