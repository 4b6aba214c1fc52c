/* SPDX-License-Identifier: Apache-2.0 */
/* What a session is made of, for all of its parts. */
#ifndef SESSION_TYPES_H
#define SESSION_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "cli/model/deltas.h"
#include "probes/sites.h"

struct bpf_map;
struct counter_set;
struct kernel_delay__data_word;
struct lock_callers;
struct processes;
struct syscall_set;
struct thread_row;
struct wait_filter;

/* What is to leave traces. */
struct tracing_config {
	bool on;
	uint64_t call_ns; /* system calls that take at least so long; KD_UNWANTED: none */
	const struct syscall_set *calls;      /* which of them */
	uint64_t wait_ns;                     /* waits; KD_UNWANTED: none */
	const struct wait_filter *waits;      /* which of them, */
	const struct syscall_set *wait_calls; /* and in which calls; NULL: anywhere */
	bool all_wakers;         /* who woke tasks of other processes that ended a wait */
	unsigned int profile_hz; /* samples of running code; 0: none */
	bool kernel_stacks;
	uint32_t user_bytes;   /* copied of a user stack; 0: no user stacks */
	uint64_t share;        /* of each CPU for copying user stacks, millionths; 0: no limit */
	uint32_t ring_bytes;   /* a power of two, whole pages */
	uint64_t record_bytes; /* of the flight recorder, also where the rest is off; 0: none */
};

/* Which threads are followed: all, or those with such names, or those with these TIDs. */
struct thread_filter {
	const char *names; /* a pattern; NULL: any */
	const pid_t *tids;
	size_t n_tids; /* 0: any */
};

struct session_config {
	pid_t tgid; /* of the target, or its first process */
	const struct processes *processes;
	struct thread_filter filter;
	unsigned int threads; /* the target has now, or will have */
	unsigned int banks;   /* windows that may be unread at a time, 1 to KD_MAX_BANKS */
	const char *btf_file; /* NULL: the kernel's own */
	bool upcalls;         /* count those of openvswitch, where the kernel can */

	/* By enum kd_role. The same probe for both is attached once. */
	struct trigger_sites triggers[KD_ROLES];
	struct tracing_config tracing;
	uint64_t detail_ns; /* where a thread waited is looked at after waits of so many ns */
	bool histograms;    /* of durations */
	bool interruptions;
	bool resources;
	const struct counter_set *counters; /* NULL: none */
	bool same_probe;
	bool everywhere; /* probes in files are hit by others, too; see struct trigger_set */
	bool target_only[KD_ROLES];
	bool same_thread, list_skipped;
	struct deltas deltas; /* of windows that triggers open and close */
	uint64_t interval;    /* ns from the end of a window to the next one's start */
};

/* What the collector reads; it is the memory of the maps. */
struct session_view {
	struct kd_thread *threads; /* slots of them; slot 0 is never used */
	struct kd_record *records; /* of the window's bank, by slot */
	uint32_t slots, bank;
	uint64_t epoch;
	uint32_t fault_gen;           /* a thread in a fault of another one has left it */
	uint64_t start, end;          /* of the window, since the epoch; end: KD_NEVER while open */
	uint64_t gen;                 /* 0: there is no window */
	int32_t opened_by, closed_by; /* as in struct kd_window */
};

/* The window word and the banks, as user space sees and sets them. Times count from the session's
 * epoch. */
struct windows {
	struct kernel_delay__data_word *shared;
	uint32_t banks, last; /* last: the bank that was used last by user space */
	uint64_t epoch;
	bool pairs;    /* of one thread: several windows may be open */
	uint32_t held; /* the bank that windows_hold() has taken; KD_NO_BANK: none */
	int token;     /* map to take the right to set edges from; -1: not needed */
};

/* A hash of the kernel side that is read for the window of a view. */
struct session_hash {
	const struct bpf_map *map;
	const struct windows *windows;
	const struct session_view *view; /* the window being read */
	struct lock_callers *callers;    /* completed later, see session_hashes() */
	void *context;                   /* of who reads it */
	struct thread_row *rows;
	const uint32_t
		*row_of; /* by slot: a thread's row is rows[row_of[slot] - 1]; 0: it has none */
};

/* Gets a system call that found no entry in its thread's table. Returns 1 to have it removed (its
 * thread must have ended or its window be closed), 0 to keep it, or a negative errno, which ends
 * the walk. */
typedef int session_overflow_fn(void *context, const struct kd_overflow_key *key,
				const struct kd_count *count);

#endif
