/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a verdict: a cause that keeps threads from running, and who did it. */
#ifndef VERDICT_ROW_H
#define VERDICT_ROW_H

#include "sample.h"

/* Causes that keep a thread from running: ROW(cause, key, title, report section with the
 * figures). Keys are a promise to readers of JSON, metrics and conditions. */
/* clang-format off */
#define CAUSE_WORDS(ROW)                                                                           \
	ROW(CAUSE_TASK, "task", "CPU taken by others", "READY: WHO HAD THE CPU")                   \
	ROW(CAUSE_OWN_THREADS, "own_threads", "CPU taken by own threads", "READY: WHO HAD THE CPU") \
	ROW(CAUSE_THROTTLED, "throttled", "CPU quota used up", "READY: WHO HAD THE CPU")           \
	ROW(CAUSE_DEADLINE, "deadline", "SCHED_DEADLINE runtime", "READY: WHO HAD THE CPU")        \
	ROW(CAUSE_RT_LIMIT, "rt_limit", "real-time limit", "READY: WHO HAD THE CPU")               \
	ROW(CAUSE_IDLE, "idle_cpu", "wake-up of an idle CPU", "READY: WHO HAD THE CPU")            \
	ROW(CAUSE_HARDIRQ, "hardirq", "hardirqs", "HARD IRQ STATISTICS")                           \
	ROW(CAUSE_SOFTIRQ, "softirq", "softirqs", "SOFT IRQ STATISTICS")                           \
	ROW(CAUSE_STOLEN, "stolen", "CPU taken by hypervisor", "THREAD TIME")                      \
	ROW(CAUSE_LOCK, "lock", "lock", "THREAD BLOCKED STATISTICS")                               \
	ROW(CAUSE_KERNEL_LOCK, "kernel_lock", "lock in the kernel", "THREAD BLOCKED STATISTICS")   \
	ROW(CAUSE_DISK, "disk", "disk", "THREAD BLOCKED STATISTICS")                               \
	ROW(CAUSE_DISK_LIMIT, "disk_limit", "disk limit of its group", "THREAD BLOCKED STATISTICS") \
	ROW(CAUSE_PAGE_FAULT, "page_fault", "page faults", "THREAD TIME")                          \
	ROW(CAUSE_MAJOR_FAULT, "major_fault", "major page faults", "PAGE FAULTS")                  \
	ROW(CAUSE_RECLAIM, "reclaim", "reclaim of memory", "THREAD TIME")                          \
	ROW(CAUSE_PEER, "peer", "pipe or socket", "THREAD BLOCKED STATISTICS")                     \
	ROW(CAUSE_CHILD, "child", "child process", "THREAD BLOCKED STATISTICS")                    \
	ROW(CAUSE_TIMER, "timer", "timer", "THREAD BLOCKED STATISTICS")                            \
	ROW(CAUSE_STOPPED, "stopped", "stopped", "THREAD STOPPED STATISTICS")                      \
	ROW(CAUSE_FROZEN, "frozen", "frozen", "THREAD TIME")                                       \
	ROW(CAUSE_SERVER, "server", "program that serves it", "THREAD SLEEP STATISTICS")           \
	ROW(CAUSE_KERNEL_WORK, "kernel_work", "work of the kernel", "THREAD SLEEP STATISTICS")     \
	ROW(CAUSE_DEVICE, "device", "device", "THREAD SLEEP STATISTICS")                           \
	ROW(CAUSE_WAIT, "wait", "asleep", "THREAD SLEEP STATISTICS")
/* clang-format on */

#define CAUSE_ENUM(cause, key, title, evidence) cause,
enum cause { CAUSE_WORDS(CAUSE_ENUM) CAUSES };
#undef CAUSE_ENUM

/* Culprit: a thread, or else a kernel name such as of an interrupt or disk. All zeros: unknown. */
struct verdict_who {
	pid_t tid, pid;
	char comm[CULPRIT_GROUP_LEN];  /* raw, not escaped */
	bool scheduled;                /* policy and priority are known: */
	uint32_t policy;               /* SCHED_* */
	int32_t priority;              /* nice value, or real-time priority */
	bool same_group;               /* in the target's cgroup */
	uint64_t quota_ns, period_ns;  /* limits: time per period, 0: unknown */
	char group[CULPRIT_GROUP_LEN]; /* as in struct culprit */
	pid_t parent;                  /* the process that it is a child of; 0: unknown */
	char parent_name[KD_COMM_LEN]; /* raw; "" if that has ended */
	bool kernel;                   /* a kernel thread */
	const char *work;              /* that a worker did, owned by the sample; NULL: unknown */
	char stopped_by[STOP_HOW_LEN]; /* CAUSE_STOPPED, see stop_how(); "": unknown */
};

/* Fewer cases than this per thread are rare. */
#define VERDICT_TIMES 3

/* What several culprits have in common, the most telling first. */
enum verdict_common {
	COMMON_NOTHING,
	COMMON_GROUP,
	COMMON_CHILDREN, /* of one process, with the same program */
	COMMON_PROGRAM,
	COMMON_PARENT,
	COMMONS,
};
#define VERDICT_MEMBERS 2 /* their names that a row keeps */

/* Causes by which one culprit took time; each of those that have a thread. */
#define VERDICT_PARTS 8
struct verdict_part {
	enum cause cause;
	uint64_t ns;
};

/* What a wait was for: words that follow "waited for", NULL: the cause says it, or nobody knows;
 * the wait channel; what the culprit did at the window's end; and the function of the program, all
 * owned by the sample, not escaped; NULL: unknown. did: what a culprit in the target did meanwhile;
 * did_in: where it slept, like wchan. user: what the program calls it, by that function; NULL:
 * unknown. held: the culprit has what was waited for. woken_by: a thread that ended one of several
 * such waits, with its name; 0: unknown. */
struct wait_words {
	const char *words, *wchan, *state, *function;
	enum wait_did { WAIT_UNKNOWN, WAIT_RAN, WAIT_SLEPT } did;
	const char *did_in;
	uint64_t did_ns;                    /* for the longest; 0: did is WAIT_UNKNOWN */
	const struct descriptor_row *asked; /* with a request that was not answered */
	const struct user_wait *user;
	bool held;
	bool kept_back; /* see enum kept_back */
	bool hangs;     /* nothing will end it: a deadlock */
	pid_t woken_by;
	const char *woken_name;
};

/* A cause with one culprit, summed over all threads. */
struct verdict_row {
	enum cause cause;
	struct verdict_who who;
	unsigned int culprits;      /* if above 1: culprits too small for rows; who has their common
				     * name, if any */
	bool and_others;            /* and unknown ones */
	enum verdict_common common; /* of several */
	char members[VERDICT_MEMBERS][KD_COMM_LEN]; /* of those that took most; raw */
	uint64_t ns;
	uint64_t most; /* the largest of them */
	/* Order among rows: ns, but of several with nothing in common just below that of each
	 * named one that is larger than each of them. */
	uint64_t rank;
	uint64_t count, longest;     /* 0: unknown */
	uint64_t so_far;             /* longest one still open; 0: none known */
	uint64_t began;              /* when the longest did; 0: unknown */
	bool before;                 /* the longest began before the window, so may exceed ns */
	const struct descriptor *at; /* descriptor of most of the waits, owned by the */
	uint64_t at_ns;              /* sample; NULL: none */
	const struct lock_row *lock; /* the kernel's lock with a name of most of the waits, */
	uint64_t lock_ns;            /* also owned by the sample; NULL: none */
	struct wait_words wait;      /* of most of the waits, */
	uint64_t wait_ns;            /* and these */
	const struct chain_row *via; /* chain to the thread that the cause kept, for which others */
	uint64_t via_ns;             /* waited; owned by the sample; NULL: none */
	uint64_t chained, seen;      /* time that chains explain, and that of waits they are of */
	struct kd_count requests;    /* disk requests that ended the waits, */
	uint64_t queued;             /* and how long the driver did not have them */
	/* CAUSE_TASK, CAUSE_OWN_THREADS: for so long of it a CPU that the threads may use was idle,
	 * or only others, or none. What is in none of these is not known. */
	uint64_t idle[KD_IDLE_KINDS];
	unsigned int threads;           /* target threads affected */
	int cpu;                        /* the only one on which these ran; -1: none, or several */
	const struct thread_row *worst; /* thread that lost most; owned by the sample */
	uint64_t worst_ns;
	const struct thread_row *last; /* latest thread with claims, which may have several */
	uint64_t last_ns;
	size_t number; /* in the order of finding */
	bool blamed;   /* large enough to name, see verdict_find() */
	bool together; /* one of several of its culprit, see struct verdict */
	/* Of several rows of one culprit: by descending ns; cause is that of the first. */
	struct verdict_part parts[VERDICT_PARTS];
	unsigned int n_parts; /* 0: it is of one cause */
};

/* Least time to blame a culprit. Rare cases must be larger. A culprit with less than the running
 * or the unexplained time must also reach a share of the window. */
#define VERDICT_LEAST 1         /* percent of busy time, for VERDICT_TIMES cases or more */
#define VERDICT_SELDOM_LEAST 10 /* the same for fewer cases */
#define VERDICT_WINDOW_LEAST 2  /* percent of the window, and, unless triggers made it, */
#define VERDICT_NS_LEAST 1000000
/* Nobody is blamed for less than this, unless triggers made the window. */
#define VERDICT_HARM_LEAST 1 /* percent of the window */

/* Three or more culprits of a cause below this share are merged into one row. */
#define VERDICT_ALONE_LEAST 10 /* percent of busy time */
#define VERDICT_GROUP 3

/* Idle CPUs matter for this part of a wait for a CPU or more. */
#define VERDICT_IDLE_LEAST 20 /* percent */

/* As many that have something in common are one row, unless one has half of it or this share. */
#define VERDICT_COMMON_MOST 20 /* percent of busy time */

#endif
