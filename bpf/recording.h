/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Included by kernel_delay.h: the flight recorder (--record). Each CPU has a ring of recent
 * events, which wraps forever and is read when a window is reported. */
#ifndef KERNEL_DELAY_RECORDING_H
#define KERNEL_DELAY_RECORDING_H

/* Kinds of recorded events. State entries begin a state that lasts until the next entry; detail
 * has that state, and the previous one << KD_RECORDED_BEFORE. */
enum kd_recorded_kind {
	KD_RECORDED_NOTHING,
	/* State entries. */
	KD_RECORDED_RUN,       /* switched in; what: 0 */
	KD_RECORDED_STATE,     /* between running states, or otherwise; what: 0 */
	KD_RECORDED_CALL,      /* enters a system call; what: number */
	KD_RECORDED_RETURN,    /* leaves it; what: result, truncated to 32 bits */
	KD_RECORDED_SLEEP,     /* switched out, blocked; what: enum kd_awaited */
	KD_RECORDED_PREEMPTED, /* switched out, runnable or dead; what: 0 */
	KD_RECORDED_WOKEN,     /* what: waker's TID (0: none), enum kd_from << KD_RECORDED_FROM,
				* and for target threads enum kd_awaited << KD_RECORDED_AWAITED */
	KD_RECORDED_ENTERS,
	/* Others; tid as for entries, unless noted. */
	KD_RECORDED_LEAD,    /* run ended; what: ns of it, in the state, before its switch-in */
	KD_RECORDED_LOCK,    /* sleeps for a lock; what: holder's TID */
	KD_RECORDED_STOLEN,  /* run lost time to the hypervisor; what: ns */
	KD_RECORDED_HARDIRQ, /* an interrupt ended; what: ns; tid: interrupted thread, 0: idle;
			      * detail: index as in struct kd_record, and for target threads the
			      * running state that loses the time << KD_RECORDED_HIT_STATE; only
			      * where a target thread ran or waited */
	KD_RECORDED_SOFTIRQ, /* as above; index: vector */
	KD_RECORDED_HAD_CPU, /* had this CPU until now, while target threads waited; what: ns, as
			      * far as one did */
	KD_RECORDED_CULPRIT, /* follows that; what: culprit key */
	KD_RECORDED_HIT,     /* of a trigger probe; detail: enum kd_role */
	KD_RECORDED_KINDS,
};
#define KD_RECORDED_BEFORE 4 /* bits */
#define KD_RECORDED_HIT_STATE 5
#define KD_RECORDED_FROM 24    /* bits: TIDs have 22 */
#define KD_RECORDED_AWAITED 27 /* bits: there are fewer than 8 contexts */

/* Small, because memory of --record is spent on these. */
struct kd_recorded {
	__u64 word; /* time << KD_RECORDED_WHEN | detail << KD_RECORDED_DETAIL | kind */
	__u32 tid;
	__u32 what;
};
#define KD_RECORDED_DETAIL 5 /* bits for the kind; the detail has 8, */
#define KD_RECORDED_WHEN 13  /* and the time the other 51: it wraps after 26 days */
_Static_assert(KD_RECORDED_KINDS <= 1 << KD_RECORDED_DETAIL, "room for each kind");

/* Each CPU has two rings in kd_recorded: one for its events, and a small one for events that
 * interrupt the writing of one. */
struct kd_recorder_ring {
	__u64 position;         /* number of events so far */
	__u32 next, first, end; /* entries of kd_recorded: next event, and end of the ring */
	__u32 pad;
};
struct kd_recorder {
	struct kd_recorder_ring rings[2];
	__u32 busy; /* events being written */
	__u32 pad[3];
};
_Static_assert(sizeof(struct kd_recorder) == 64, "a cache line");

/* Tasks outside the target that interact with it: they woke a target or followed thread, or were
 * woken by a target thread. Their switches and wakeups are recorded. Entries are by TID, and may
 * be lost to another task. */
struct kd_followed {
	__u64 start; /* identity, with the TID */
	__u32 tid, tgid;
	__u32 flags; /* PF_* */
	__u32 pad;
	char comm[KD_COMM_LEN];
};
#define KD_FOLLOWED 8192 /* a power of two */
#define KD_FOLLOWED_FILTER 512

#endif
