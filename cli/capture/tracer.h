/* SPDX-License-Identifier: Apache-2.0 */
/* From the records of the session's ring to the traces of a sample. */
#ifndef TRACER_H
#define TRACER_H

#include <stdint.h>
#include <sys/types.h>

#include "../sample.h"
#include "session.h"

struct tracer;
struct stacks;

struct tracer_config {
	pid_t pid;
	uint64_t epoch;
	const struct session_tracing *wanted;
	struct stacks *stacks; /* of the user; NULL: none are wanted */
	size_t room;           /* different kernel stacks that are kept */
};

/* Returns NULL without memory. Session and stacks must outlive the tracer. */
struct tracer *tracer_new(struct session *session, const struct tracer_config *config);

/* NULL is allowed. */
void tracer_free(struct tracer *tracer);

/* Reads the ring; to be called every few ten milliseconds, and when
 * session_traces_fd() becomes readable. Returns 0 or a negative errno. */
int tracer_drain(struct tracer *tracer);

/* Moves the traces of a window that was closed (CLOCK_MONOTONIC ns) to the list, and
 * forgets what is older. The stacks are the tracer's. Returns 0 or a negative errno. */
int tracer_collect(struct tracer *tracer, uint64_t start, uint64_t end, struct trace_list *list);

#endif
