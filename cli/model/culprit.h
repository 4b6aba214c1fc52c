/* SPDX-License-Identifier: Apache-2.0 */
/* Who had the CPU while a thread waited for it. */
#ifndef CULPRIT_H
#define CULPRIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"
#include "cli/base/clock.h"

enum culprit_kind {
	CULPRIT_TASK,
	CULPRIT_HARDIRQ,
	CULPRIT_SOFTIRQ,
	CULPRIT_IDLE,      /* no one: the CPU was being woken up, or might not run the thread */
	CULPRIT_THROTTLED, /* the quota of its control group was used up */
	CULPRIT_DEADLINE,  /* the thread's own runtime of SCHED_DEADLINE was */
	CULPRIT_STOLEN,    /* the hypervisor had taken it from the virtual machine */
	CULPRIT_OWN,       /* threads of the target that are not told apart, */
	CULPRIT_REST,      /* and other tasks: each had less than those that are */
	CULPRIT_UNKNOWN,
	CULPRIT_KINDS,
};

/* An idle CPU that is woken up is back in less; one on which the thread may not run is not. */
#define WAKE_UP_NS NSEC_PER_MSEC

#define CULPRIT_GROUP_LEN 64

/* One row of a thread. Its time is a share of the thread's waits for a CPU: the rows add up
 * to the states ready_woken, ready_preempted and throttled of the ledger. */
struct culprit {
	enum culprit_kind kind;
	/* Tasks only. Of other processes all threads of a class and priority are one. */
	int32_t tid; /* 0: several threads of the process */
	int32_t pid;
	char name[KD_COMM_LEN]; /* not escaped: of the thread, or of the process if several */
	uint32_t policy;        /* SCHED_* of sched(7), in culprit_policies[] */
	int32_t priority;       /* fifo, rr: 1 to 99; other, batch, idle: nice; deadline: 0 */
	bool own;               /* a thread of the target; of CULPRIT_OWN, too */
	bool kernel;            /* one of the kernel, */
	bool ksoftirqd;         /* which handles soft interrupts */
	/* The thread is of real time and the task is not, or nobody ran: a limit kept it from
	 * running (sched_rt_runtime_us, the fair server). */
	bool rt_limit;
	/* Control group, not escaped: its path below the hierarchy's root, or the end of it. Of a
	 * task, if it is another one than the target's; "" also if the process had ended when it
	 * was asked for. Of CULPRIT_THROTTLED the one whose quota it was; "": not known. */
	char group[CULPRIT_GROUP_LEN];
	bool same_group; /* a task that is in the target's: nice values count between them */
	/* Of it, or of CULPRIT_DEADLINE: so much CPU time in each period, 0: not known. */
	uint64_t quota_ns, period_ns;

	uint64_t woken_ns;     /* while the thread waited after a wake-up, */
	uint64_t preempted_ns; /* and after it had lost its CPU */
	uint64_t longest_ns;   /* in one wait, also what of that lies outside the window */
};

/* What limits the CPU time of a control group: so much in each period. */
struct cpu_quota {
	char group[CULPRIT_GROUP_LEN]; /* as that of struct culprit */
	uint64_t quota_ns, period_ns;  /* period 0: there is no quota */
};

/* Of how many a report speaks by name; the others are "the rest". */
#define CULPRITS_SHOWN 5

uint64_t culprit_ns(const struct culprit *culprit);

/* Keys: ROW(kind, key); and policies as in sched(7). A promise, see words.h. */
#define CULPRIT_WORDS(ROW)                                                                         \
	ROW(CULPRIT_TASK, "task")                                                                  \
	ROW(CULPRIT_HARDIRQ, "hardirq")                                                            \
	ROW(CULPRIT_SOFTIRQ, "softirq")                                                            \
	ROW(CULPRIT_IDLE, "idle")                                                                  \
	ROW(CULPRIT_THROTTLED, "throttled")                                                        \
	ROW(CULPRIT_DEADLINE, "deadline")                                                          \
	ROW(CULPRIT_STOLEN, "stolen")                                                              \
	ROW(CULPRIT_OWN, "own")                                                                    \
	ROW(CULPRIT_REST, "rest")                                                                  \
	ROW(CULPRIT_UNKNOWN, "unexplained")
extern const char *const culprit_kinds[CULPRIT_KINDS];
#define CULPRIT_POLICIES 8
#define CULPRIT_POLICY_UNKNOWN 4 /* SCHED_ISO, which no kernel has */
extern const char *const culprit_policies[CULPRIT_POLICIES];

/* Sets policy and priority as the kernel has them in task_struct. */
void culprit_set_priority(struct culprit *culprit, uint32_t policy, uint32_t prio);

/* True if a thread with such a prio of task_struct is of real time, or has a deadline. */
bool culprit_prio_is_real_time(uint32_t prio);

/* Adds to the row of the same one, or a new row. In a long sample thousands of tasks may have had
 * the CPU: where there are many rows, the tasks that had least until then become CULPRIT_OWN and
 * CULPRIT_REST. Returns 0 or -ENOMEM. */
#define CULPRITS_MOST 128
int culprits_add(struct culprit **rows, size_t *n, const struct culprit *culprit);

/* Sorts by descending time; CULPRIT_OWN, CULPRIT_REST and CULPRIT_UNKNOWN come last. */
void culprits_sort(struct culprit *rows, size_t n);

/* Sum of the rows' times from an index on. */
uint64_t culprits_sum(const struct culprit *rows, size_t n, size_t from);

/* How many of sorted rows are to be shown by themselves; those behind are the rest. */
size_t culprits_shown(const struct culprit *rows, size_t n);

/* What conditions and metrics call it: the name of a task, not escaped, else the key of its
 * kind. Returns buffer. */
#define CULPRIT_NAME_LEN (KD_COMM_LEN + 1)
const char *culprit_name(const struct culprit *culprit, char buffer[CULPRIT_NAME_LEN]);

/* In a few words, as UTF-8 or any bytes: "backup[812]", "soft irq"; foreign text is not
 * escaped. Returns buffer. */
#define CULPRIT_LABEL_LEN (KD_COMM_LEN + 16)
const char *culprit_label(const struct culprit *culprit, char buffer[CULPRIT_LABEL_LEN]);

#endif
