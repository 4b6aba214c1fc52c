/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Part of kernel_delay.h: which tasks are the target's, and which of them are followed. */
#ifndef KD_TARGET_H
#define KD_TARGET_H

#include "stop.h"

#define KD_SLOT_FREE 0
#define KD_SLOT_REFUSED 0xffff  /* the thread got no slot, which has been counted */
#define KD_SLOT_UNWANTED 0xfffe /* one of the target's that is not followed */
/* A leader that the other threads outlive has ended: one that calls execve has its TID some time
 * before that is told. */
#define KD_SLOT_EXEC 0xfffd
#define KD_SLOTS_MAX 0xfffd

/* What stands before kd_tids, by the lower bits of a TID. One word, which is read at once. */
#define KD_TID_BITS 15 /* at least; the upper ones of the largest TID are 7 */
struct kd_tid_front {
	__u16 slot, upper; /* of one of these TIDs, and its upper bits + 1; both 0: of none */
	__u32 known;       /* how many of them are in kd_tids */
};
#define KD_TID_MARKS 4096 /* TIDs of threads without a slot, beside as many as there are slots */

#define KD_TGID_NONE (~0U) /* of no process; 0 is that of the idle threads */

/* Which threads have one: */
enum kd_filter {
	KD_FILTER_NONE,  /* all of them */
	KD_FILTER_NAMES, /* those whose name matches */
	KD_FILTER_TIDS,  /* those that user space has named; no others come */
};

/* A pattern of names as an automaton without branches: each state is a bit, and those in
 * which it may be after a byte are ((states & takes[byte]) << 1) | (states & stays). */
struct kd_names {
	__u64 starts, stays, ends;
	__u64 takes[256];
};

/* How long windows must be that threads end whose names match. */
#define KD_NAMED_DELTAS 8
struct kd_delta {
	struct kd_names names;
	__u64 ns;
};

/* One of several processes that are the target. */
struct kd_process {
	__u64 began;            /* to be one of them; 0: it was there before us */
	__u64 ended;            /* 0: it has not */
	__u64 mapped_at;        /* as kd_mapped_at; never 0 */
	__u32 exec_slot;        /* its last thread that entered execve */
	__u32 joined;           /* it has not begun as one of them, but was moved into the group */
	__u32 tgid;             /* the key */
	__u32 execs;            /* how often it has begun another program */
	char comm[KD_COMM_LEN]; /* at its end */
	struct kd_stopper stop_senders[KD_STOP_SIGNALS]; /* as kd_stop_senders */
};
#define KD_PROCESSES 16384 /* whose end user space has not read yet */
#define KD_REPLACED 1024   /* of those, whose TGID another one has got */

#define KD_GROUP_LEVELS 32 /* the target's control group, and levels of those below it */

#endif
