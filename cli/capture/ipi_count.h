/* SPDX-License-Identifier: Apache-2.0 */
/* Counts how often attaching and detaching interrupt other CPUs. To change its own code, the
 * kernel stops each of them briefly by function-call interrupts (see bpf/DETAILS.rst). */
#ifndef IPI_COUNT_H
#define IPI_COUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Function-call interrupts since boot. */
struct ipi_count {
	uint64_t received; /* by all CPUs in total */
	uint32_t cpus;     /* online */
};

/* Parses a file like /proc/interrupts. Returns false if the count is missing. */
bool ipi_count_parse(FILE *file, struct ipi_count *count);

/* Reads the counts of this machine; cpus is 0 if they are missing. */
void ipi_count_begin(struct ipi_count *count);

/* Prints how many each other CPU has received since. Counts those of any sender, but others send
 * few between two close reads. Prints nothing with one CPU, or if the count is unknown. what:
 * the activity, such as "attaching". */
void ipi_count_end(const struct ipi_count *before, const char *what);

#endif
