// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "ipi_count.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/log.h"

/* Label at the end of the row: CAL on x86, one of IPI0 to IPI7 on arm64. */
#define ROW_NAME "Function call interrupts"

static uint32_t header_count(const char *line)
{
	uint32_t cpus = 0;

	while ((line = strstr(line, "CPU"))) {
		line += 3;
		cpus++;
	}
	return cpus;
}

static uint64_t row_sum(const char *row, uint32_t cpus)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < cpus; i++) {
		char *end;
		uint64_t count = strtoull(row, &end, 10);

		if (end == row || !isspace((unsigned char)*end))
			break;
		sum += count;
		row = end;
	}
	return sum;
}

bool ipi_count_parse(FILE *file, struct ipi_count *count)
{
	char *line = NULL;
	size_t capacity = 0;
	bool found = false;

	*count = (struct ipi_count){ 0 };
	if (getline(&line, &capacity, file) > 0)
		count->cpus = header_count(line);
	while (!found && getline(&line, &capacity, file) > 0) {
		const char *colon = strchr(line, ':');

		found = colon && strstr(colon, ROW_NAME);
		if (found)
			count->received = row_sum(colon + 1, count->cpus);
	}
	free(line);
	return found && count->cpus;
}

void ipi_count_begin(struct ipi_count *count)
{
	FILE *file = fopen("/proc/interrupts", "re");

	if (!file || !ipi_count_parse(file, count))
		*count = (struct ipi_count){ 0 };
	if (file)
		fclose(file);
}

void ipi_count_end(const struct ipi_count *before, const char *what)
{
	struct ipi_count now;

	if (!before->cpus)
		return;
	ipi_count_begin(&now);
	/* All other CPUs receive what one CPU sends. */
	if (before->cpus > 1 && now.cpus == before->cpus)
		log_note("%s sent %" PRIu64 " function-call interrupts to each other CPU", what,
			 (now.received - before->received) / (now.cpus - 1));
}
