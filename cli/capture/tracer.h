/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of traces. */
#ifndef TRACER_H
#define TRACER_H

#include <stdint.h>

#include "cli/capture/session/types.h"
#include "cli/model/sample.h"

struct stacks;
struct tracer;

struct tracer_config {
	uint64_t epoch;
	const struct tracing_config *wanted;
	struct stacks *stacks; /* user stacks; NULL: not wanted */
	struct kernel_symbols *symbols;
};

/* Returns NULL without memory. Session, stacks and symbols must outlive the tracer. */
struct tracer *tracer_new(struct session *session, const struct tracer_config *config);

/* NULL is allowed. */
void tracer_free(struct tracer *tracer);

/* Reads the ring; call it every few tens of milliseconds, and when RING_TRACES is readable.
 * Returns 0 or a negative errno. */
int tracer_drain(struct tracer *tracer);

/* Reads the traces of a closed window not released yet, and counts what it lost. Returns 0 or a
 * negative errno. */
int tracer_read(struct tracer *tracer, const struct session_view *view);

/* Moves the traces of a read window (CLOCK_MONOTONIC ns) to the list, and forgets older ones.
 * The tracer owns the stacks. Returns 0 or a negative errno. */
int tracer_collect(struct tracer *tracer, uint64_t start, uint64_t end, struct trace_list *list);

#endif
