/* SPDX-License-Identifier: Apache-2.0 */
/* From the records of the session's ring to the traces of a sample. */
#ifndef TRACER_H
#define TRACER_H

#include <stdint.h>
#include <sys/types.h>

#include "cli/model/sample.h"
#include "session.h"

struct tracer;
struct stacks;

struct tracer_config {
	uint64_t epoch;
	const struct tracing_config *wanted;
	struct stacks *stacks; /* of the user; NULL: none are wanted */
	size_t room;           /* different kernel stacks that are kept */
};

/* Returns NULL without memory. Session and stacks must outlive the tracer. */
struct tracer *tracer_new(struct session *session, const struct tracer_config *config);

/* NULL is allowed. */
void tracer_free(struct tracer *tracer);

/* Reads the ring; to be called every few ten milliseconds, and when
 * tracing_fd() becomes readable. Returns 0 or a negative errno. */
int tracer_drain(struct tracer *tracer);

/* Reads the traces of a window that was closed, and is the session's still: what is lost
 * meanwhile of it is counted. Returns 0 or a negative errno. */
int tracer_read(struct tracer *tracer, const struct session_view *view);

/* Moves the traces of a window that was read (CLOCK_MONOTONIC ns) to the list, and
 * forgets what is older. The stacks are the tracer's. Returns 0 or a negative errno. */
int tracer_collect(struct tracer *tracer, uint64_t start, uint64_t end, struct trace_list *list);

#endif
