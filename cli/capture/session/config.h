/* SPDX-License-Identifier: Apache-2.0 */
/* What a session is to record. */
#ifndef SESSION_CONFIG_H
#define SESSION_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/options/options.h"

struct kernel_symbols;
struct processes;
struct syscall_set;
struct trigger_set;
struct wait_filter;

/* Events to trace. */
struct tracing_config {
	bool on;
	uint64_t call_ns;                /* system calls at least this long; KD_UNWANTED: none */
	const struct syscall_set *calls; /* calls to trace */
	bool calls_named;                /* the user named these */
	uint64_t wait_ns;                /* waits; KD_UNWANTED: none */
	const struct wait_filter *waits; /* waits to trace */
	const struct syscall_set *wait_calls; /* calls in which waits are traced; NULL: anywhere */
	bool all_wakers;         /* also wakers of other processes' tasks that ended a wait */
	unsigned int profile_hz; /* samples of running code; 0: none */
	bool kernel_stacks;
	uint32_t user_bytes;   /* copied of a user stack; 0: no user stacks */
	uint64_t share;        /* of each CPU for user stack copies, millionths; 0: no limit */
	uint32_t ring_bytes;   /* a power of two, a multiple of the page size */
	uint64_t record_bytes; /* for the flight recorder, even without traces; 0: none */
};

struct session_config {
	const struct options *options; /* those that nothing else decides */
	pid_t tgid;                    /* of the target, or its first process */
	const struct processes *processes;
	unsigned int threads; /* of the target, now or later */
	unsigned int banks;   /* windows that may be unread at a time, 1 to KD_MAX_BANKS */
	unsigned int scans;   /* what it looks at beyond what every run does, enum scan */

	const struct trigger_set *triggers; /* outlives the session, */
	struct kernel_symbols *symbols;     /* as does this */
	struct tracing_config tracing;
};

#endif
