/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Part of kernel_delay.h: the flight recorder (--record). Each CPU has a ring of what happened
 * last, which is overwritten for ever and read when a window is reported. */
#ifndef KERNEL_DELAY_RECORDING_H
#define KERNEL_DELAY_RECORDING_H

/* What a recorded event says. "Enters" are those of a thread's states: it is in the one until
 * the next; detail has that state, and the one before << KD_RECORDED_BEFORE. */
enum kd_recorded_kind {
	KD_RECORDED_NOTHING,
	/* Enters. */
	KD_RECORDED_RUN,       /* switched in; what: 0 */
	KD_RECORDED_STATE,     /* of the running ones, or in another way; what: 0 */
	KD_RECORDED_CALL,      /* enters a system call; what: its number */
	KD_RECORDED_RETURN,    /* leaves it; what: its result, cut to 32 bits */
	KD_RECORDED_SLEEP,     /* switched out, blocked; what: enum kd_awaited */
	KD_RECORDED_PREEMPTED, /* switched out, runnable, or for the last time; what: 0 */
	KD_RECORDED_WOKEN,     /* what: TID of who woke it (0: none), enum kd_from <<
				  KD_RECORDED_FROM, and of the target's threads enum kd_awaited <<
				  KD_RECORDED_AWAITED */
	KD_RECORDED_ENTERS,
	/* Others; tid as for enters, unless said otherwise. */
	KD_RECORDED_LEAD,   /* its run ended: so many ns (what) of it, in the state, came before its
				switch-in */
	KD_RECORDED_LOCK,   /* sleeps for a lock; what: TID of who has that */
	KD_RECORDED_STOLEN, /* its run lost so many ns (what) to the hypervisor */
	KD_RECORDED_HARDIRQ, /* one ended that had lasted so many ns (what); tid: it hit, 0: the
				idle task; detail: which, as in struct kd_record, and the
				running state that it is booked from << KD_RECORDED_HIT_STATE,
				of the target's; kept where a thread of the target ran or waited */
	KD_RECORDED_SOFTIRQ, /* the same; which: its vector */
	KD_RECORDED_HAD_CPU, /* had this CPU until now, where threads of the target waited, for so
				many ns (what) as far as one did */
	KD_RECORDED_CULPRIT, /* follows that; what: its key among the culprits */
	KD_RECORDED_HIT,     /* of a trigger's probe; detail: enum kd_role */
	KD_RECORDED_KINDS,
};
#define KD_RECORDED_BEFORE 4 /* bits */
#define KD_RECORDED_HIT_STATE 5
#define KD_RECORDED_FROM 24    /* bits: TIDs have 22 */
#define KD_RECORDED_AWAITED 27 /* bits: there are fewer than 8 contexts */

/* Small, as what they hold is what --record-memory buys. */
struct kd_recorded {
	__u64 word; /* when << KD_RECORDED_WHEN | detail << KD_RECORDED_DETAIL | kind */
	__u32 tid;
	__u32 what;
};
#define KD_RECORDED_DETAIL 5 /* bits for the kind; the detail has 8, */
#define KD_RECORDED_WHEN 13  /* and the time the other 51: it begins anew after 26 days */
_Static_assert(KD_RECORDED_KINDS <= 1 << KD_RECORDED_DETAIL, "room for each kind");

/* Each CPU has two rings, parts of kd_recorded: one for what it does, and a small one for events
 * that interrupt one which is being written. */
struct kd_recorder_ring {
	__u64 position; /* how many events there have been */
	__u32 next, first,
		end; /* entries of kd_recorded: of the next event, and what the ring has */
	__u32 pad;
};
struct kd_recorder {
	struct kd_recorder_ring rings[2];
	__u32 busy; /* how many events are being written */
	__u32 pad[3];
};
_Static_assert(sizeof(struct kd_recorder) == 64, "a cache line");

/* Tasks that are not the target's and have to do with it: one has woken a thread of it, or of
 * another one that is followed, or a thread of the target has woken it. Their switches and wake-ups
 * are recorded. Each has the entry of its TID, which it may lose to another one. */
struct kd_followed {
	__u64 start; /* with the TID its identity */
	__u32 tid, tgid;
	__u32 flags; /* PF_* */
	__u32 pad;
	char comm[KD_COMM_LEN];
};
#define KD_FOLLOWED 8192 /* a power of two */
#define KD_FOLLOWED_FILTER 512

#endif
