/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Included by kernel_delay.h: tasks of the target, and which of them are followed. */
#ifndef KD_TARGET_H
#define KD_TARGET_H

#include "stop.h"

#define KD_SLOT_FREE 0
#define KD_SLOT_REFUSED 0xffff  /* the thread got no slot, which was counted */
#define KD_SLOT_UNWANTED 0xfffe /* a target thread that is not followed */
/* A leader has ended before its other threads: a thread that calls execve gets its TID some time
 * before this is reported. */
#define KD_SLOT_EXEC 0xfffd
#define KD_SLOTS_MAX 0xfffd

/* Precedes kd_tids, by the low bits of a TID. One word, read at once. */
#define KD_TID_BITS 15 /* at least; the high bits of the largest TID are 7 */
struct kd_tid_front {
	__u16 slot, upper; /* of one of these TIDs, and its high bits + 1; both 0: none */
	__u32 known;       /* how many of them are in kd_tids */
};
#define KD_TID_MARKS 4096 /* TIDs of threads without a slot, in addition to as many as slots */

#define KD_TGID_NONE (~0U) /* no process; 0 is the idle threads' TGID */

/* Threads with a slot: */
enum kd_filter {
	KD_FILTER_NONE,  /* all */
	KD_FILTER_NAMES, /* matching names */
	KD_FILTER_TIDS,  /* those that user space has named; never more */
};

/* A name pattern as a branchless automaton: each state is a bit. States after a byte are
 * ((states & takes[byte]) << 1) | (states & stays). */
struct kd_names {
	__u64 starts, stays, ends;
	__u64 takes[256];
};

/* Shortest windows ended by threads with matching names. */
#define KD_NAMED_DELTAS 8
struct kd_delta {
	struct kd_names names;
	__u64 ns;
};

/* One of several target processes. */
struct kd_process {
	__u64 began;            /* joining the target; 0: before tracing */
	__u64 ended;            /* 0: alive */
	__u64 mapped_at;        /* like kd_mapped_at; never 0 */
	__u32 exec_slot;        /* last thread that entered execve */
	__u32 joined;           /* was moved into the group, not created in the target */
	__u32 tgid;             /* the key */
	__u32 execs;            /* number of programs executed */
	char comm[KD_COMM_LEN]; /* at its end */
	struct kd_stopper stop_senders[KD_STOP_SIGNALS]; /* like kd_stop_senders */
};
#define KD_PROCESSES 16384 /* including ended ones that user space has not read yet */
#define KD_REPLACED 1024   /* of those, with a reused TGID */

#define KD_GROUP_LEVELS 32 /* the target's cgroup, and levels below it */

#endif
