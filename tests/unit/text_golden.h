/* SPDX-License-Identifier: Apache-2.0 */
/* Samples whose text report is compared with golden files. */
#ifndef TESTS_UNIT_TEXT_GOLDEN_H
#define TESTS_UNIT_TEXT_GOLDEN_H

#include <string.h>

#include "cli/text/text.h"
#include "golden.h"
#include "tap.h"

#define SECOND 1000000000ULL

static struct sample sample_begin(void)
{
	return (struct sample){
		.pid = 9719,
		.start = 100 * SECOND,
		.end = 101 * SECOND,
		.wall_dump = { .tv_sec = 1795218874, .tv_nsec = 981958999 },
	};
}

static struct thread_row thread(pid_t tid, const char *name)
{
	struct thread_row row = { .tid = tid, .members = 1 };

	memcpy(row.name, name, strlen(name) < sizeof(row.name) ? strlen(name) : sizeof(row.name));
	row.ledger = (struct ledger){ .life = SECOND };
	return row;
}

/* Compares what the sample's report is with the golden file of this name. */
static void is_golden(const struct sample *sample, const char *name)
{
	FILE *out = tmpfile();

	is_i64(report_text(sample, &(struct report_options){ 0 }, out), 0, "%s is written", name);
	golden_compare(out, name);
}

#endif
