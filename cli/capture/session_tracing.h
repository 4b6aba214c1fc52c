/* SPDX-License-Identifier: Apache-2.0 */
/* The programs that leave traces, and their ring. Part of the session. */
#ifndef SESSION_TRACING_H
#define SESSION_TRACING_H

#include <stdint.h>

#include "session.h"

struct bpf_link;
struct kernel_delay;
struct ring_buffer;

struct tracing {
	struct kernel_delay *skel;
	struct ring_buffer *ring;
	struct bpf_link *open_calls; /* iterator */
	struct bpf_link **samplers;  /* of each CPU */
	size_t n_samplers;
	bool on;
	uint64_t lost;           /* already told */
	session_trace_fn *found; /* of the walk in progress */
	void *context;
};

/* Before loading: tells the programs what is wanted, and makes room for it. Returns
 * 0, or after printing what failed an exit status. */
int tracing_select(struct tracing *tracing, struct kernel_delay *skel,
		   const struct session_tracing *wanted, uint32_t slots);

/* After loading. Returns 0, or after printing what failed an exit status. */
int tracing_attach(struct tracing *tracing, const struct session_tracing *wanted, pid_t tgid,
		   uint64_t epoch);

/* See the functions of the session that are named alike. */
int tracing_fd(const struct tracing *tracing);
int tracing_read(struct tracing *tracing, session_trace_fn *found, void *context);
int tracing_visit(struct tracing *tracing);
uint64_t tracing_lost(struct tracing *tracing);

/* Detaches and frees all. */
void tracing_close(struct tracing *tracing);

#endif
