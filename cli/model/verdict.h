/* SPDX-License-Identifier: Apache-2.0 */
/* Verdict of a sample: what kept the target from running, and who did. Computed only from the
 * sample. Nothing is rescaled; what is unclear stays unexplained. */
#ifndef VERDICT_H
#define VERDICT_H

#include "field.h"
#include "sample.h"

/* --- Claims --- */

/* How much each cause took from a thread, by its row. */

/* Causes that keep a thread from running: ROW(cause, key, title, report section with the
 * figures). Keys are a promise to readers of JSON, metrics and conditions. */
#define CAUSE_WORDS(ROW)                                                                           \
	ROW(CAUSE_TASK, "task", "CPU taken by others", "READY: WHO HAD THE CPU")                   \
	ROW(CAUSE_OWN_THREADS, "own_threads", "CPU taken by own threads",                          \
	    "READY: WHO HAD THE CPU")                                                              \
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
	ROW(CAUSE_PAGE_FAULT, "page_fault", "page faults", "THREAD TIME")                          \
	ROW(CAUSE_MAJOR_FAULT, "major_fault", "major page faults", "PAGE FAULTS")                  \
	ROW(CAUSE_RECLAIM, "reclaim", "reclaim of memory", "THREAD TIME")                          \
	ROW(CAUSE_PEER, "peer", "pipe or socket", "THREAD BLOCKED STATISTICS")                     \
	ROW(CAUSE_CHILD, "child", "child process", "THREAD BLOCKED STATISTICS")                    \
	ROW(CAUSE_TIMER, "timer", "timer", "THREAD BLOCKED STATISTICS")                            \
	ROW(CAUSE_STOPPED, "stopped", "stopped", "THREAD STOPPED STATISTICS")                      \
	ROW(CAUSE_FROZEN, "frozen", "frozen", "THREAD TIME")

#define CAUSE_ENUM(cause, key, title, evidence) cause,
enum cause { CAUSE_WORDS(CAUSE_ENUM) CAUSES };
#undef CAUSE_ENUM

struct cause_words {
	const char *key, *title, *evidence;
};
extern const struct cause_words cause_words[CAUSES];

/* Culprit: a thread, or else a kernel name such as of an interrupt or disk. All zeros: unknown. */
struct verdict_who {
	pid_t tid, pid;
	char comm[CULPRIT_GROUP_LEN]; /* raw, not escaped */
	bool scheduled;               /* policy and priority are known: */
	uint32_t policy;              /* SCHED_* */
	int32_t priority;             /* nice value, or real-time priority */
	bool same_group;              /* in the target's cgroup */
	uint64_t quota_ns, period_ns; /* limits: time per period, 0: unknown */
};

/* Fewer cases than this per thread are rare. */
#define VERDICT_TIMES 3

/* Loss of a thread to one culprit. */
struct claim {
	uint64_t ns;
	uint64_t count;   /* cases; 0: unknown */
	uint64_t longest; /* longest case; 0: unknown */
	uint64_t so_far;  /* longest one still open; 0: none known */
	struct verdict_who who;
	const struct descriptor *at; /* descriptor waited at; NULL: none */
	struct kd_count requests;    /* disk requests that ended the waits */
};

/* Receives claims one by one. */
struct claimant {
	void (*take)(struct claimant *claimant, enum cause cause, const struct claim *claim);
	const struct sample *sample;
};

/* Passes all claims on a thread to claimant->take(). */
void claims_find(struct claimant *claimant, const struct thread_row *thread);

/* Time a thread slept for lack of work, ns: in poll, epoll_wait, accept and the like, for a
 * timer, signal or terminal; or interruptibly for the full window. */
uint64_t claims_work(const struct sample *sample, const struct thread_row *thread);

/* A cause with one culprit, summed over all threads. */
struct verdict_row {
	enum cause cause;
	struct verdict_who who;
	unsigned int culprits; /* if above 1: culprits too small for rows; who has their common
				* name, if any */
	bool and_others;       /* and unknown ones */
	uint64_t ns;
	uint64_t count, longest;        /* 0: unknown */
	uint64_t so_far;                /* longest one still open; 0: none known */
	const struct descriptor *at;    /* descriptor of most of the waits, owned by the */
	uint64_t at_ns;                 /* sample; NULL: none */
	struct kd_count requests;       /* disk requests that ended the waits */
	unsigned int threads;           /* target threads affected */
	const struct thread_row *worst; /* thread that lost most; owned by the sample */
	uint64_t worst_ns;
	const struct thread_row *last; /* latest thread with claims, which may have several */
	uint64_t last_ns;
	bool blamed; /* large enough to name, see verdict_find() */
};

/* Losses of one thread row. */
struct verdict_thread {
	const struct thread_row *row;
	uint64_t busy;        /* life minus waiting for work */
	uint64_t delay;       /* busy time in which it did not run */
	uint64_t unexplained; /* delay that nothing claims */
	uint64_t longest;     /* longest single case of a culprit */
};

/* Largest share of busy time: it ran, nothing claims it, or the first row claims it. */
enum verdict_share { VERDICT_RAN, VERDICT_UNEXPLAINED, VERDICT_BLAMED };

#define TIME_MEMBER(member, ...) uint64_t member;

/* Sums over all threads. busy is life minus waiting for work; it splits into user, kernel and
 * delay. The rows and unexplained add up to delay. */
struct verdict {
	uint64_t life, work, busy, user, kernel, delay, unexplained;
	enum verdict_share largest;
	EACH_THREAD_TIME(TIME_MEMBER) /* see thread_row.h */
	/* Thread that ended most of the waits in futexes without a known holder, such as
	 * condition variables, and the time of these waits; 0: none. */
	struct verdict_who waker;
	uint64_t until_woken;
	/* Thread outside the target that moved target threads between CPUs, and how often; 0:
	 * never. */
	struct verdict_who mover;
	uint64_t moves;
	struct verdict_row *rows; /* blamed ones first; by descending ns */
	size_t n_rows, n_blamed;
	struct verdict_thread *threads; /* in the sample's order */
	size_t n_threads;
};

/* Sums over the threads of a process. */
struct process_sum {
	const struct process_row *process; /* owned by the sample */
	uint64_t threads;
	uint64_t life, running, stolen, ready, throttled, blocked, stopped,
		frozen;               /* ns, as in the ledger */
	uint64_t busy, delay;         /* as in struct verdict_thread */
	EACH_THREAD_TIME(TIME_MEMBER) /* see thread_row.h */
#undef TIME_MEMBER
	const struct thread_row *worst; /* thread that was kept from running longest */
	uint64_t worst_delay;
};

/* Least time to blame a culprit. Rare cases must be larger. A culprit with less than the running
 * or the unexplained time must also reach a share of the window. */
#define VERDICT_LEAST 1         /* percent of busy time, for VERDICT_TIMES cases or more */
#define VERDICT_SELDOM_LEAST 10 /* the same for fewer cases */
#define VERDICT_WINDOW_LEAST 2  /* percent of the window, and, unless triggers made it, */
#define VERDICT_NS_LEAST 1000000

/* Three or more culprits of a cause below this share are merged into one row. */
#define VERDICT_ALONE_LEAST 10 /* percent of busy time */
#define VERDICT_GROUP 3

/* True if the unexplained time is worth reporting. */
bool verdict_is_unexplained(const struct verdict *verdict);

/* Fills a zeroed verdict, which points into the finished sample, and attaches it to the sample.
 * Returns 0 or -ENOMEM; the caller clears it in either case. */
int verdict_find(struct verdict *verdict, struct sample *sample);

/* Frees its memory; safe on a zeroed verdict. */
void verdict_clear(struct verdict *verdict);

/* For adding up sums, which needs no memory and keeps the process, and for their JSON. */
extern const struct field process_sum_fields[];

/* Sums up each process of the sample, sorted by time kept from running. The caller frees *sums.
 * Returns 0 or -ENOMEM. */
int processes_sum(const struct sample *sample, struct process_sum **sums);

#endif
