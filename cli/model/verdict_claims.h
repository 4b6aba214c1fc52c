/* SPDX-License-Identifier: Apache-2.0 */
/* Where a thread's row says what each cause took from it. */
#ifndef VERDICT_CLAIMS_H
#define VERDICT_CLAIMS_H

#include "sample.h"

/* What can keep a thread from running: ROW(cause, key, title, where in the report the figures
 * stand). Keys are a promise to readers of JSON, metrics and conditions. */
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

/* Who did it: a thread; or, where there is none, what the kernel calls it, such as the name of
 * an interrupt or of a disk. All zeros: not known. */
struct verdict_who {
	pid_t tid, pid;
	char comm[CULPRIT_GROUP_LEN]; /* as the kernel has it: not escaped */
	bool scheduled;               /* policy and priority are known: */
	uint32_t policy;              /* SCHED_* */
	int32_t priority;             /* nice value; of real-time classes their priority */
	bool same_group;              /* it is in the target's control group */
	uint64_t quota_ns, period_ns; /* of limits: so much in each period, 0: not known */
};

/* What happened less often to a thread happened seldom. */
#define VERDICT_TIMES 3

/* What a thread lost to one culprit. */
struct claim {
	uint64_t ns;
	uint64_t count;   /* times that this happened; 0: not known */
	uint64_t longest; /* of them; 0: not known */
	uint64_t so_far;  /* the longest that goes on; 0: none that is known */
	struct verdict_who who;
	const struct descriptor *at; /* where it waited; NULL: at none */
	struct kd_count requests;    /* to a disk whose completion ended that */
};

/* Gets the claims, one after the other. */
struct claimant {
	void (*take)(struct claimant *claimant, enum cause cause, const struct claim *claim);
	const struct sample *sample;
};

/* Gives all claims on a thread to claimant->take(). */
void claims_find(struct claimant *claimant, const struct thread_row *thread);

/* How long a thread slept because it had nothing to do, ns: in poll, epoll_wait, accept and
 * their like, for a timer, a signal or a terminal; or interruptibly for all of the window. */
uint64_t claims_work(const struct sample *sample, const struct thread_row *thread);

#endif
