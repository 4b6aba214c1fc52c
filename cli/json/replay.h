/* SPDX-License-Identifier: Apache-2.0 */
/* Reads samples saved by report_json() to render them again. Needs neither root nor the kernel
 * they come from. Files are not trusted: everything is checked, and memory per sample is
 * bounded. */
#ifndef REPLAY_H
#define REPLAY_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/base/exit_status.h"
#include "cli/model/sample.h"
#include "cli/model/trigger_stats.h"

/* Called for each object of a file, in order; NULL skips such objects. Arguments are valid
 * during the call. Each returns 0, or an exit status that ends reading. */
struct replay_handlers {
	int (*sample)(const struct sample *sample, void *context);
	int (*triggers)(const struct trigger_stats *stats, void *context);
	void *context;
	uint64_t memory_max; /* estimated limit for a sample, and again for its recording; 0:
			      * REPLAY_MEMORY_MAX */
	bool recordings;     /* attach recordings to samples; otherwise skip them */
};

/* More than busy threads need, as many as the kernel side can track. */
#define REPLAY_MEMORY_MAX (2ULL << 30)

struct replay_error {
	unsigned long line; /* from 1; 0: no single line */
	char text[512];     /* not escaped */
};

/* Reads a stream of JSON objects, on one or more lines each, to its end. Skips unknown types and
 * members. Returns 0, a handler's result, or, with *error set:
 * EX_DATAERR  the stream is damaged, of another version, or without any sample
 * EX_IOERR    it could not be read
 * EX_OSERR    no memory */
exit_status replay_stream(FILE *in, const struct replay_handlers *handlers,
			  struct replay_error *error);

/* Opens a file, "-" for standard input, so that it can be read with fewer privileges. Returns 0, or
 * EX_NOINPUT after printing why. */
exit_status replay_open(FILE **in, const char *path);

/* Reads it to its end and closes it, as replay_stream(), and prints errors. */
exit_status replay_read(FILE *in, const char *path, const struct replay_handlers *handlers);

/* Closes one that was not read; NULL is allowed. */
void replay_close(FILE *in);

#endif
