/* SPDX-License-Identifier: Apache-2.0 */
/* Claims: how much each cause took from a thread, by its row. */
#ifndef VERDICT_CLAIMS_H
#define VERDICT_CLAIMS_H

#include "sample.h"

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

#endif
