/* SPDX-License-Identifier: Apache-2.0 */
/* Types of a session, for all of its parts. */
#ifndef SESSION_TYPES_H
#define SESSION_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "cli/model/trigger_stats.h"
#include "cli/options/options.h"
#include "probes/sites.h"

struct kernel_delay__data_word;
struct lock_callers;
struct processes;
struct syscall_set;
struct thread_row;
struct wait_filter;

/* Events to trace. */
struct tracing_config {
	bool on;
	uint64_t call_ns;                /* system calls at least this long; KD_UNWANTED: none */
	const struct syscall_set *calls; /* calls to trace */
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
	bool upcalls;         /* count those of openvswitch, if the kernel can */

	/* By enum kd_role. A probe for both roles is attached once. */
	struct trigger_sites triggers[KD_ROLES];
	struct tracing_config tracing;
	bool same_probe;
	bool everywhere; /* other processes hit probes in files too; see struct trigger_set */
	bool target_only[KD_ROLES];
	bool same_thread;
	struct deltas deltas; /* of windows that triggers open and close */
};

/* What the collector reads: the memory of the maps. */
struct session_view {
	struct kd_thread *threads; /* by slot; slot 0 is never used */
	struct kd_record *records; /* of the window's bank, by slot */
	uint32_t slots, bank;
	uint64_t epoch;
	uint32_t fault_gen;           /* a thread in a fault of another generation has left it */
	uint64_t start, end;          /* of the window, since the epoch; end: KD_NEVER while open */
	uint64_t gen;                 /* 0: no window */
	int32_t opened_by, closed_by; /* as in struct kd_window */
};

/* The window word and the banks, as seen and set by user space. Times are relative to the
 * session's epoch. */
struct windows {
	struct kernel_delay__data_word *shared;
	uint32_t banks, last; /* last: the bank last used by user space */
	uint64_t epoch;
	bool pairs;    /* of one thread: more than one window may be open */
	uint32_t held; /* bank taken by windows_hold(); KD_NO_BANK: none */
	int token;     /* map with the token for setting edges; -1: not needed */
};

/* For hashes of the BPF side, read for a view's window. */
struct session_hash {
	const struct windows *windows;
	const struct session_view *view; /* the window being read */
	struct lock_callers *callers;    /* completed later, see session_hashes() */
	void *context;                   /* of its reader */
	struct thread_row *rows;
	const uint32_t *row_of; /* by slot: a thread's row is rows[row_of[slot] - 1]; 0: none */
};

#endif
