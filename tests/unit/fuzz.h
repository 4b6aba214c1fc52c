/* SPDX-License-Identifier: Apache-2.0 */
/* What fuzz tests have in common. */
#ifndef TESTS_UNIT_FUZZ_H
#define TESTS_UNIT_FUZZ_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "random.h"

/* How many rounds are wanted, or this many. */
static inline unsigned long fuzz_rounds(unsigned long usual)
{
	const char *wanted = getenv("FUZZ_ROUNDS");

	return wanted ? strtoul(wanted, NULL, 10) : usual;
}

/* Seconds of CPU time of this process: what a round takes, however busy the machine is. */
static inline double cpu_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

#endif
