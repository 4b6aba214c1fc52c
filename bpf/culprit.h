/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Included by kernel_delay.h: what had the CPU while a thread waited for it. */
#ifndef KERNEL_DELAY_CULPRIT_H
#define KERNEL_DELAY_CULPRIT_H

#include "waker.h"

/* Culprits other than tasks. */
enum kd_who {
	KD_WHO_HARDIRQ,
	KD_WHO_SOFTIRQ,
	KD_WHO_IDLE,      /* the CPU was idle: waking up, or not allowed to run the thread */
	KD_WHO_THROTTLED, /* a limit that lost its cell or name, see KD_WHO_LIMIT */
	KD_WHO_REST,      /* tasks that lost their cell to one with more CPU time */
	KD_WHO_OWN,       /* target threads that lost their cell */
	KD_WHO_UNKNOWN,
	KD_WHO_HYPERVISOR, /* the CPU was taken from the virtual machine */
	KD_WHO_KINDS,
};
#define KD_WHO_PADDED 8 /* a power of two */

/* Keys of tasks and limits: an entry in kd_culprits, and a serial number of its users. Below
 * KD_WHO_TASK: enum kd_who. */
#define KD_CULPRIT_SETS 512 /* powers of two */
#define KD_CULPRIT_WAYS 4
#define KD_CULPRITS (KD_CULPRIT_SETS * KD_CULPRIT_WAYS)
#define KD_WHO_TASK (1U << 11)
#define KD_WHO_SERIAL_SHIFT 12
#define KD_WHO_SERIALS (1U << 17)
#define KD_WHO_LIMIT (1U << 29) /* not a task, but a limit that keeps tasks from running */
#define KD_WHO_OF_TARGET (1U << 30)
#define KD_WHO_SOFTIRQD (1U << 31) /* a thread that handles softirqs */
_Static_assert(KD_CULPRITS <= KD_WHO_TASK, "a bit that no index has");

/* A task that had a CPU: a target or kernel thread; in other processes, all threads of a
 * scheduling class and priority.
 *
 * Or a limit: the quota of a cgroup, with its ID in start and its name in both names (its
 * beginning, if too long); or a thread's own SCHED_DEADLINE runtime (start is 0). */
struct kd_culprit {
	__u64 start; /* start of the thread that had it last: its identity, with the TID */
	__u64 used;  /* last time on a CPU */
	__u32 key;   /* 0: the entry is free */
	__u32 tid;   /* 0: several threads of the process */
	__u32 last;  /* TID of the last thread with the entry */
	__u32 tgid;
	__u32 prio;                /* kernel priority: below 100 real-time, otherwise 120 + nice */
	__u32 policy;              /* SCHED_* */
	__u32 flags;               /* PF_* */
	__u32 claims;              /* CPUs trying to change the entry: see culprit_claim() */
	__u64 quota_ns, period_ns; /* limits only */
	char comm[KD_COMM_LEN];    /* of the thread */
	char process[KD_COMM_LEN]; /* of the process's first thread */
};
#define KD_LIMIT_NAME_LEN (2 * KD_COMM_LEN)

/* Time taken from a thread in one window. */
struct kd_charge {
	__u64 woken;     /* while it waited after a wakeup, */
	__u64 preempted; /* and after a preemption */
	__u64 longest;   /* in one wait, including time outside the window */
};

#define KD_BLAMED 24
#define KD_BLAMED_PADDED 32 /* a power of two */
struct kd_blame {
	__u64 gen;
	struct kd_charge kinds[KD_WHO_PADDED]; /* by enum kd_who */
	__u32 keys[KD_BLAMED];                 /* tasks; 0: free, as are all after it */
	struct kd_charge tasks[KD_BLAMED];
};

/* Waits of target threads on a CPU's run queue. Wakers on other CPUs write here, too. Sums only
 * grow, and only while a thread waits. Interrupt times: start; 1: began while no thread waited. */
#define KD_WAITERS 16
#define KD_UNLISTED (KD_WAITERS + 1)
struct kd_runqueue {
	__u16 waiters[KD_WAITERS]; /* slots; 0: none */
	__u32 unlisted;            /* waiting threads without an entry */
	__u32 client;              /* a waiting task outside the target, followed by the recorder;
				    * 0: none */
	__u64 hard_ns, soft_ns;    /* taken by interrupts, */
	__u64 hard_since, soft_since;
	__u64 soft_stolen;     /* by hardirqs from softirqs */
	__u64 own_ns, idle_ns; /* time of target threads, and of idle, without interrupts */
	__u64 since;           /* start of the current run, as far as a thread waited; */
	__u64 irqs_ns;         /* hard_ns + soft_ns at that time; */
	__u16 runs;            /* owner of the current run: enum kd_runs */
	__u8 waited, others;   /* switch: a thread waited at its start; another task leaves */
	struct kd_context context;
};

enum kd_runs { KD_RUNS_OTHER, KD_RUNS_OWN, KD_RUNS_IDLE };
_Static_assert(sizeof(struct kd_runqueue) == 128, "whole cache lines");

#define KD_CELL_HINTS 8 /* a power of two */
/* By set: most tasks are in the first way. */
#define KD_CELL_HINT(key) ((key) / KD_CULPRIT_WAYS % KD_CELL_HINTS)

/* Throttled time at the last look, see limit.bpf.h. */
struct kd_limited {
	__u64 look_at;    /* when to look again */
	__u64 group;      /* address of the group's run queue, */
	__u64 ns, before; /* throttled time, and without the current throttling */
	__u32 limit;      /* key of the limit in effect; 0: none */
	__u32 pad;
};

/* Time taken in one wait, by key. */
#define KD_TAKERS 8 /* a power of two; beyond, the smallest is evicted */
struct kd_taker {
	__u64 ns;
	__u32 key;
	__u32 pad;
};
struct kd_takers {
	__u32 n;
	__u32 gone; /* evicted tasks; one that returns counts as another */
	struct kd_taker of[KD_TAKERS];
};

/* Returns the time this key has taken so far. */
static inline __attribute__((always_inline, unused)) __u64 kd_taker_add(struct kd_takers *takers,
									__u32 key, __u64 ns)
{
	struct kd_taker *least;
	__u64 order = ~0ULL >> 1, less;

	for (__u32 i = 0; i < KD_TAKERS; i++) {
		struct kd_taker *taker = &takers->of[i];

		if (i >= takers->n) {
			takers->n = i + 1;
			taker->key = key;
			return taker->ns = ns;
		}
		if (taker->key == key)
			return taker->ns += ns;
	}
	/* Branchless, because the verifier would follow each combination. */
	for (__u32 i = 0; i < KD_TAKERS; i++) {
		less = takers->of[i].ns * KD_TAKERS + i - order;
		__asm__ volatile("" : "+r"(less));
		order += less & (__u64)((__s64)less >> 63);
	}
	least = &takers->of[order & (KD_TAKERS - 1)];
	takers->gone += least->key >= KD_WHO_TASK && !(least->key & KD_WHO_LIMIT);
	least->key = key;
	return least->ns = ns;
}

/* A wait for a CPU that has not ended. */
struct kd_waiting {
	__u64 mark;    /* charged up to here */
	__u64 hard_ns; /* of the run queue, at mark */
	__u64 soft_ns;
	__u64 steal; /* of the CPU, at mark, plus 1; 0: unknown */
	__u32 cpu;
	__u32 index; /* in kd_runqueue.waiters; KD_UNLISTED: no free entry; KD_WAITERS: no wait */
	__u32 prio;  /* of the thread itself */
	__u32 part_limit;             /* key of the limit for part_limited, see below */
	__u8 cells[KD_CELL_HINTS];    /* by KD_CELL_HINT() of a task: last cell used */
	struct kd_limited limited[2]; /* at mark; and for the task iterator */
	struct kd_takers takers;
	__u64 own_ns, idle_ns; /* of the run queue, at mark, if not listed */
	__u64 ended;           /* end of a wait whose end was not reported */
	/* Being charged, see blame_book(). */
	__u64 part_total, part_hard, part_soft, part_limited, part_own, part_idle, part_steal;
	/* Written only by the task iterator: what had the CPU since that mark, and the part
	 * taken by a limit. */
	__u64 seen_mark;
	__u64 seen_limited;
	__u32 seen_limit;
	__u32 seen_key;
};

_Static_assert(sizeof(struct kd_blame) % 8 == 0, "array elements are 8-byte aligned");

#endif
