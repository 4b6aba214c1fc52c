/* SPDX-License-Identifier: Apache-2.0 */
/* Samples that report_json() has saved, to be rendered again. Needs neither root nor
 * the kernel that they are of. Files are foreign: all that they say is checked, and
 * what a sample may take of memory is bounded. */
#ifndef REPLAY_H
#define REPLAY_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/base/exit_status.h"
#include "cli/model/sample.h"
#include "cli/model/trigger_stats.h"

/* What is called with each object of a file, in order; NULL: such objects are skipped.
 * What they are given is valid during the call. They return 0, or an exit status that
 * ends the reading. */
struct replay_handlers {
	int (*sample)(const struct sample *sample, void *context);
	int (*triggers)(const struct trigger_stats *stats, void *context);
	void *context;
	uint64_t memory_max; /* that a sample may take, by estimate, and as much its recording;
				0: REPLAY_MEMORY_MAX */
	bool recordings;     /* samples are to have theirs, otherwise these are skipped */
};

/* More than busy threads need, as many as the kernel side has room for. */
#define REPLAY_MEMORY_MAX (2ULL << 30)

struct replay_error {
	unsigned long line; /* from 1 on; 0: no line is to blame */
	char text[512];     /* not escaped */
};

/* Reads a stream to its end: JSON objects one after the other, of a line or several
 * each. Objects of other types are skipped, and members that are not known. Returns 0,
 * what a handler has returned, or
 * EX_DATAERR  the stream is damaged, of another version, or without any sample
 * EX_IOERR    it could not be read
 * EX_OSERR    no memory
 * with *error saying what is wrong. */
exit_status replay_stream(FILE *in, const struct replay_handlers *handlers,
			  struct replay_error *error);

/* The same with a file, "-" being standard input; prints what is wrong.
 * EX_NOINPUT: it could not be opened. */
exit_status replay_read(const char *path, const struct replay_handlers *handlers);

#endif
