/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Part of kernel_delay.h: who had the CPU while a thread waited for it. */
#ifndef KERNEL_DELAY_CULPRIT_H
#define KERNEL_DELAY_CULPRIT_H

#include "waker.h"

/* What is no task. */
enum kd_who {
	KD_WHO_HARDIRQ,
	KD_WHO_SOFTIRQ,
	KD_WHO_IDLE,      /* the CPU was idle: it was being woken up, or might not run the thread */
	KD_WHO_THROTTLED, /* a limit that has lost its cell or its name, see KD_WHO_LIMIT */
	KD_WHO_REST,      /* tasks that have lost their cell to one that had the CPU longer */
	KD_WHO_OWN,       /* the same of the target's own threads */
	KD_WHO_UNKNOWN,
	KD_WHO_HYPERVISOR, /* nobody had the CPU: it was taken from the virtual machine */
	KD_WHO_KINDS,
};
#define KD_WHO_ROOM 8 /* a power of two */

/* Keys of tasks and limits: an entry in kd_culprits, and which of those that have been there.
 * Those below KD_WHO_TASK are of enum kd_who. */
#define KD_CULPRIT_SETS 512 /* powers of two */
#define KD_CULPRIT_WAYS 4
#define KD_CULPRITS (KD_CULPRIT_SETS * KD_CULPRIT_WAYS)
#define KD_WHO_TASK (1U << 11)
#define KD_WHO_SERIAL_SHIFT 12
#define KD_WHO_SERIALS (1U << 17)
#define KD_WHO_LIMIT (1U << 29) /* no task, but what keeps tasks from running */
#define KD_WHO_OF_TARGET (1U << 30)
#define KD_WHO_SOFTIRQD (1U << 31) /* a thread that handles soft interrupts */
_Static_assert(KD_CULPRITS <= KD_WHO_TASK, "a bit that no index has");

/* A task that had a CPU: a thread of the target, or of the kernel; of other processes all
 * threads of one scheduling class and priority.
 *
 * Or a limit: the quota of a control group, whose ID is start and whose name is in both names
 * (its beginning, if it is long); or a thread's own SCHED_DEADLINE runtime (start is 0). */
struct kd_culprit {
	__u64 start; /* when the thread that had it last started: with the TID its identity */
	__u64 used;  /* when it had a CPU last */
	__u32 key;   /* 0: the entry is free */
	__u32 tid;   /* 0: several threads of the process */
	__u32 last;  /* TID of the one that had it last */
	__u32 tgid;
	__u32 prio;   /* as the kernel counts: below 100 real time, 120 + nice otherwise */
	__u32 policy; /* SCHED_* */
	__u32 flags;  /* PF_* */
	__u32 claims; /* CPUs that want to change the entry now: see culprit_claim() */
	__u64 quota_ns, period_ns; /* limits only */
	char comm[KD_COMM_LEN];    /* of the thread */
	char process[KD_COMM_LEN]; /* of the process's first one */
};
#define KD_LIMIT_NAME_LEN (2 * KD_COMM_LEN)

/* What one of them took from a thread in one window. */
struct kd_charge {
	__u64 woken;     /* while it waited after a wake-up, */
	__u64 preempted; /* and after it had lost its CPU */
	__u64 longest;   /* in one wait, also what of it lies outside the window */
};

#define KD_BLAMED 24
#define KD_BLAMED_ROOM 32 /* a power of two */
struct kd_blame {
	__u64 gen;
	struct kd_charge kinds[KD_WHO_ROOM]; /* by enum kd_who */
	__u32 keys[KD_BLAMED];               /* of tasks; 0: free, as are all behind it */
	struct kd_charge tasks[KD_BLAMED];
};

/* A CPU's run queue, as far as threads of the target wait there. Those that wake them
 * write here, too. Sums only grow, and only while somebody waits. Times of interrupts: since
 * they began; 1: one began while nobody waited. */
#define KD_WAITERS 16
#define KD_UNLISTED (KD_WAITERS + 1)
struct kd_runqueue {
	__u16 waiters[KD_WAITERS]; /* slots; 0: none */
	__u32 unlisted;            /* how many wait and have no entry there */
	__u32 client;           /* of others, which the recorder follows: it waits; 0: none does */
	__u64 hard_ns, soft_ns; /* that interrupts took, */
	__u64 hard_since, soft_since;
	__u64 soft_stolen;     /* by hard interrupts from the soft one */
	__u64 own_ns, idle_ns; /* that the target's threads had, and nobody, without interrupts */
	__u64 since;           /* when the present run began, as far as somebody waited; */
	__u64 irqs_ns;         /* hard_ns + soft_ns then; */
	__u16 runs;            /* whose the present run is: enum kd_runs */
	__u8 waited, others;   /* a switch: somebody waited when it began; another task leaves */
	struct kd_context context;
};

enum kd_runs { KD_RUNS_OTHER, KD_RUNS_OWN, KD_RUNS_IDLE };
_Static_assert(sizeof(struct kd_runqueue) == 128, "whole cache lines");

#define KD_CELL_HINTS 8 /* a power of two */
/* By its set: most tasks are in the first way of theirs. */
#define KD_CELL_HINT(key) ((key) / KD_CULPRIT_WAYS % KD_CELL_HINTS)

/* What limits had taken when they were looked at, see limit.bpf.h. */
struct kd_limited {
	__u64 look_at;    /* from then on they are to be looked at again */
	__u64 group;      /* the address of the group's run queue, */
	__u64 ns, before; /* how long it was throttled, and without the present time */
	__u32 limit;      /* the key of that which kept the thread from running; 0: none did */
	__u32 pad;
};

/* What each has taken in one wait, by key. */
#define KD_TAKERS 8 /* a power of two; of more the one that has taken least gives way */
struct kd_taker {
	__u64 ns;
	__u32 key;
	__u32 pad;
};
struct kd_takers {
	__u32 n;
	__u32 gone; /* tasks that have given way; one that comes again is another one */
	struct kd_taker of[KD_TAKERS];
};

/* Returns how much this one has taken by now. */
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
	/* Without branches, of which the verifier would follow each combination. */
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
	__u64 steal; /* of the CPU, at mark, with 1 added; 0: not known */
	__u32 cpu;
	__u32 index; /* in kd_runqueue.waiters; KD_UNLISTED: there was none; KD_WAITERS: no wait */
	__u32 prio;  /* of the thread itself */
	__u32 part_limit;             /* the key of what took part_limited, see below */
	__u8 cells[KD_CELL_HINTS];    /* by KD_CELL_HINT() of a task: its cell was this one */
	struct kd_limited limited[2]; /* at mark; and for the task iterator */
	struct kd_takers takers;
	__u64 own_ns, idle_ns; /* of the run queue, at mark, if it is not listed */
	__u64 ended;           /* then: a wait of which the end was not reported */
	/* What is being charged, see blame_book(). */
	__u64 part_total, part_hard, part_soft, part_limited, part_own, part_idle, part_steal;
	/* Written by the task iterator only: who had the CPU since that mark, and what a limit
	 * took of that. */
	__u64 seen_mark;
	__u64 seen_limited;
	__u32 seen_limit;
	__u32 seen_key;
};

_Static_assert(sizeof(struct kd_blame) % 8 == 0, "array elements are 8-byte aligned");

#endif
