/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Included by kernel_delay.h: who acts on a thread. Its wakers, what had its CPU, what kept it from
 * its code, who stopped it and who moved it. */
#ifndef KERNEL_DELAY_OTHERS_H
#define KERNEL_DELAY_OTHERS_H

#define KD_COMM_LEN 16

/* --- Wakers --- */

/* Context of the CPU that woke a task. */
enum kd_from {
	KD_FROM_UNKNOWN,
	KD_FROM_TASK,
	KD_FROM_TIMER,     /* a high-resolution timer, or a timer softirq */
	KD_FROM_NETWORK,   /* a network softirq, nearly always NET_RX */
	KD_FROM_DISK,      /* a block softirq, or an interrupt that completed a request */
	KD_FROM_INTERRUPT, /* another one */
	KD_FROM_CONTEXTS,
};

struct kd_waker {
	__u64 at;   /* time of the wakeup */
	__u32 tid;  /* of the task, or of the packet's sender; 0: none */
	__u32 from; /* enum kd_from */
	char comm[KD_COMM_LEN];
};

/* Last waker of a task, that one's waker by then, and so on; ended by one of KD_FROM_UNKNOWN. */
#define KD_WAKERS 3
struct kd_wakers {
	__u64 start; /* start time of that task, its identity; 0: being written */
	struct kd_waker by[KD_WAKERS];
	__u64 pad[3];
};
_Static_assert(sizeof(struct kd_wakers) == 128, "whole cache lines");

/* Tasks of other processes have an entry by TID, which may be lost to another task. */
#define KD_WAKERS_OF_OTHERS 8192 /* a power of two */

/* Interrupt context of a CPU: complements hard_since and soft_since of struct kd_runqueue, which
 * tell if it is in one. */
struct kd_context {
	__u32 soft_tid; /* of the task with the softirq on top */
	__u32 sender;   /* TID of the task that queued a packet on this CPU; 0: none */
	__u8 hard;      /* enum kd_vector, or KD_HARDIRQ_OTHER */
	__u8 soft;      /* vector */
	__u8 marks;     /* since the last interrupt began */
	__u8 pad;
};
enum kd_mark {
	KD_MARK_TIMER = 1, /* a high-resolution timer expired */
	KD_MARK_DISK = 2,  /* a request to a block device was completed */
};

/* --- What had the CPU while a thread waited for it --- */

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
	__u32 parent;              /* the process that it is a child of */
	__u32 executed;            /* how many programs that process has executed, in 32 bits */
};
#define KD_LIMIT_NAME_LEN (2 * KD_COMM_LEN)

/* Time taken from a thread in one window. */
struct kd_charge {
	__u64 woken;     /* while it waited after a wakeup, */
	__u64 preempted; /* and after a preemption */
	__u64 longest;   /* in one wait, including time outside the window */
	__u64 began;     /* that wait */
};

/* What CPUs did while a thread waited for one: at least one that it may use was idle; or only
 * others were; or none. */
enum kd_idle_kind { KD_IDLE_BARRED, KD_IDLE_ALLOWED, KD_IDLE_NONE, KD_IDLE_KINDS };

/* A CPU as seen from another one, where threads wait, at the last two looks from there. */
struct kd_idle {
	__u64 busy;   /* run time of its tasks so far */
	__u64 ns;     /* it was idle between the two */
	__u64 so_far; /* idle until now; 0: it is not */
};
#define KD_IDLE_CPUS 256 /* a power of two; CPUs beyond are not looked at */
struct kd_idle_cpus {
	struct kd_idle of[KD_IDLE_CPUS];
};

#define KD_BLAMED 24
#define KD_BLAMED_PADDED 32 /* a power of two */
struct kd_blame {
	__u64 gen;
	__u64 idle[KD_IDLE_KINDS];             /* parts of its waits that were looked at */
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
	__u8 runs;             /* owner of the current run: enum kd_runs */
	__u8 waited, others;   /* switch: a thread waited at its start; another task leaves, */
	__u8 own;              /* and one of the target comes */
	struct kd_context context;
	__u64 kernels; /* address of the kernel's run queue; 0: unknown */
	__u64 looked;  /* last look from here at idle CPUs; 0: none */
	__u64 pad[6];
};

enum kd_runs { KD_RUNS_OTHER, KD_RUNS_OWN, KD_RUNS_IDLE };
_Static_assert(sizeof(struct kd_runqueue) == 192, "whole cache lines");

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
static __always_inline __u64 kd_taker_add(struct kd_takers *takers, __u32 key, __u64 ns)
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
	__u64 mark; /* charged up to here */
	__u64 began;
	__u64 hard_ns; /* of the run queue, at mark */
	__u64 soft_ns;
	__u64 steal; /* of the CPU, at mark, plus 1; 0: unknown */
	__u32 cpu;
	__u32 index; /* in kd_runqueue.waiters; KD_UNLISTED: no free entry; KD_WAITERS: no wait */
	__u32 prio;  /* of the thread itself */
	__u32 share_limit;            /* key of the limit for share_limited, see below */
	__u8 cells[KD_CELL_HINTS];    /* by KD_CELL_HINT() of a task: last cell used */
	struct kd_limited limited[2]; /* at mark; and for the task iterator */
	struct kd_takers takers;
	__u64 own_ns, idle_ns; /* of the run queue, at mark, if not listed */
	__u64 ended;           /* end of a wait whose end was not reported */
	/* Idle CPUs were looked at up to here; the CPU that was idle longest since the look before,
	 * by enum kd_idle_kind. */
	__u64 looked, idle[2];
	/* Being charged, see blame_book(). */
	__u64 share_total, share_hard, share_soft, share_limited, share_own, share_idle,
		share_steal;
	/* Written only by the task iterator: what had the CPU since that mark, and the part
	 * taken by a limit. */
	__u64 iter_mark, iter_limited;
	__u32 iter_limit, iter_key;
};

_Static_assert(sizeof(struct kd_blame) % 8 == 0, "array elements are 8-byte aligned");

/* --- What keeps a running or runnable thread from its code (--interruptions) --- */

enum kd_interrupted_by {
	KD_BY_HARDIRQ,
	KD_BY_SOFTIRQ,
	KD_BY_TASK,       /* another task got its CPU, or none */
	KD_BY_FAULT,      /* a page fault from user mode, including sleeps in it */
	KD_BY_HYPERVISOR, /* some time between two looks at steal time, see steal.bpf.h */
	KD_INTERRUPTED_BY,
};

/* Excludes interrupts, which are pieces of their own, and limits, which are in taken. */
static __always_inline int kd_taker_counts(__u32 key)
{
	return key >= KD_WHO_TASK ? !(key & KD_WHO_LIMIT)
				  : key != KD_WHO_HARDIRQ && key != KD_WHO_SOFTIRQ &&
					    key != KD_WHO_THROTTLED && key != KD_WHO_HYPERVISOR;
}

/* Key of the culprit with the most CPU time; *others: number of other tasks. */
static __always_inline __u32 kd_taker_longest(const struct kd_takers *takers, __u32 *others)
{
	__u32 key = KD_WHO_UNKNOWN, tasks = takers->gone;
	__u64 ns = 0;

	for (__u32 i = 0; i < KD_TAKERS && i < takers->n; i++) {
		const struct kd_taker *taker = &takers->of[i];

		if (!kd_taker_counts(taker->key))
			continue;
		tasks += taker->key >= KD_WHO_TASK;
		if (taker->ns > ns) {
			ns = taker->ns;
			key = taker->key;
		}
	}
	*others = tasks - (key >= KD_WHO_TASK);
	return key;
}

/* A piece of an interruption, sent when it ends. Nested ones, such as a hardirq in a softirq,
 * were sent before. */
struct kd_interruption {
	__u64 since, until;
	__u64 taken; /* KD_BY_TASK: by the quota; KD_BY_HYPERVISOR: stolen time */
	__u32 slot, tid;
	__u32 from, cpu; /* the thread's CPU before and after */
	__u32 by;
	/* Interrupt, by its index in struct kd_record; key of the task with the most CPU time;
	 * 1: a major fault. */
	__u32 who;
	__u32 others; /* KD_BY_TASK: number of other tasks that had the CPU */
	__u32 lost;   /* 1: the thread was off its CPU, from since to until */
	/* Local timer interrupt: since when the thread had been in user mode on this CPU,
	 * without such an interrupt; KD_NEVER: it was not. */
	__u64 unticked;
};

/* --- Who stops a thread --- */

/* What stopped a thread. */
enum kd_stop {
	KD_STOP_UNKNOWN,
	KD_STOP_SIGNAL, /* job control: SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU */
	KD_STOP_TRACER, /* ptrace(2): a debugger, strace */
	KD_STOP_KINDS,
};
#define KD_STOP_SIGNALS 4 /* exactly these numbers */
#define KD_SIGSTOP 19

/* Sender of the signal, or tracer of the thread. */
struct kd_stopper {
	__u32 kind;   /* enum kd_stop */
	__u32 signal; /* KD_STOP_SIGNAL: number */
	__u32 tid;    /* 0: unknown, or a terminal */
	__u32 tgid;
	char comm[KD_COMM_LEN];
};

/* --- Why threads change CPUs, and who moves them --- */

/* Why a thread changed CPUs. */
enum kd_move {
	KD_MOVE_OTHER,    /* no event reported it, as at its birth */
	KD_MOVE_WAKEUP,   /* decided at its wakeup */
	KD_MOVE_BALANCE,  /* moved between run queues, or in an execve */
	KD_MOVE_AFFINITY, /* it was no longer allowed where it was */
};

/* Last caller of sched_setaffinity(2) for a thread, and when. */
struct kd_mover {
	__u64 at;
	__u32 tid, tgid; /* 0: none */
	char comm[KD_COMM_LEN];
};

#endif
