/* SPDX-License-Identifier: Apache-2.0 */
/* How often attaching and detaching interrupt other CPUs: to change its own code the kernel
 * makes each of them stop for a moment, by function-call interrupts (see bpf/DETAILS.rst). */
#ifndef IPI_COUNT_H
#define IPI_COUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Function-call interrupts since the machine started. */
struct ipi_count {
	uint64_t received; /* by all CPUs together */
	uint32_t cpus;     /* that are online */
};

/* Reads a file as /proc/interrupts is. Returns false if it does not tell. */
bool ipi_count_parse(FILE *file, struct ipi_count *count);

/* The same of this machine; if it does not tell, cpus is 0. */
void ipi_count_begin(struct ipi_count *count);

/* Prints how many each other CPU has received since; by whomever they were sent, but between
 * two readings that are close those of others are few. Says nothing if there is only one CPU,
 * or if it is not known. what: what went on, as in "attaching". */
void ipi_count_end(const struct ipi_count *before, const char *what);

#endif
