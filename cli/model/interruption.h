/* SPDX-License-Identifier: Apache-2.0 */
/* What kept a thread from its code, as the thread felt it: parts that follow one another
 * closely, such as a hard interrupt, the soft one that it raised and the task that this woke
 * up, are one interruption. Times are ns. */
#ifndef INTERRUPTION_H
#define INTERRUPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "distribution.h"

enum interruption_cause {
	INTERRUPTION_HARDIRQ,
	INTERRUPTION_SOFTIRQ,
	INTERRUPTION_PREEMPTED, /* another task had the CPU, or nobody had */
	INTERRUPTION_THROTTLED,
	INTERRUPTION_PAGE_FAULT,
	INTERRUPTION_STOLEN, /* by the hypervisor; never with others, see interruption_stolen() */
	INTERRUPTION_UNEXPLAINED, /* between its parts, or until a tick that came late */
	INTERRUPTION_CAUSES,
};

/* ROW(cause, key, title); keys are a promise, see words.h. */
#define INTERRUPTION_WORDS(ROW)                                                                    \
	ROW(INTERRUPTION_HARDIRQ, "hardirq", "hard irq")                                           \
	ROW(INTERRUPTION_SOFTIRQ, "softirq", "soft irq")                                           \
	ROW(INTERRUPTION_PREEMPTED, "preempted", "preempted")                                      \
	ROW(INTERRUPTION_THROTTLED, "throttled", "throttled")                                      \
	ROW(INTERRUPTION_PAGE_FAULT, "page_fault", "page fault")                                   \
	ROW(INTERRUPTION_STOLEN, "stolen", "stolen")                                               \
	ROW(INTERRUPTION_UNEXPLAINED, "unexplained", "unexplained")
extern const char *const interruption_keys[INTERRUPTION_CAUSES];
extern const char *const interruption_titles[INTERRUPTION_CAUSES];

/* Parts that begin within so long of the end of the one before belong to it: what the kernel
 * may need from one to the next. On the way out of a hard interrupt that is more in virtual
 * machines. Else the thread is in its own system call: soft interrupts that it raises there
 * itself, one after the other, have its own work in between. entry_ns: what entering and
 * leaving the kernel for a hard interrupt costs beyond what is booked. */
static inline uint64_t interruption_join_ns(bool leaving_hardirq, uint64_t entry_ns)
{
	return leaving_hardirq ? 1000 + 2 * entry_ns : 500;
}

#define INTERRUPTION_WHO_LEN 48

struct interruption {
	uint64_t since, until; /* CLOCK_MONOTONIC; as far as the kernel side saw */
	uint64_t ns;           /* its length; with the estimate */
	uint64_t entry_ns;     /* what of it is an estimate: entering and leaving the kernel */
	uint64_t by[INTERRUPTION_CAUSES]; /* add up to ns */
	uint64_t tick_late; /* so late came a tick of its CPU, in it or at its end; 0: none did */
	pid_t tid;
	char name[KD_COMM_LEN];         /* of the thread, not escaped */
	uint32_t cpu;                   /* on which it ended */
	bool moved;                     /* on another one than before */
	bool open;                      /* it had not ended with the window */
	uint32_t cause;                 /* enum interruption_cause: what took most of it, */
	char who[INTERRUPTION_WHO_LEN]; /* and which; not escaped; "" if not known */
	pid_t who_tid;                  /* of a task; 0: several, or none */
	uint32_t who_others;            /* tasks that had the CPU for less time each */
};

/* All interruptions of a thread by a cause, whatever their length: in how many it had a part. */
struct interruption_sum {
	struct kd_count count;
	struct distribution times;
};
/* Those of each cause, and behind them those of whole interruptions. */
#define INTERRUPTION_SUMS (INTERRUPTION_CAUSES + 1)

/* An interruption that is being put together. Starts as zeroes. */
#define GAP_PARTS 16
struct gap {
	struct kd_interruption last;
	struct kd_interruption largest[KD_INTERRUPTED_BY]; /* of each kind */
	uint64_t largest_ns[KD_INTERRUPTED_BY];
	uint64_t since, until; /* 0: there is none */
	uint64_t ended;        /* the one before */
	uint64_t tick_late;
	uint64_t by[INTERRUPTION_CAUSES];
	unsigned int hardirqs, n;
	uint64_t entries, entry; /* estimates of all, and the largest of one */
	struct gap_part {
		uint64_t since, own;
	} parts[GAP_PARTS]; /* the last ones, which the next one may contain */
	bool moved;
};

/* Adds a part; entry_ns: what a hard interrupt like this takes beyond what is seen, see above.
 * Returns false, and does nothing, if it belongs to another interruption. */
bool gap_add(struct gap *gap, const struct kd_interruption *part, uint64_t entry_ns);

/* The part that was added last is a tick, which came late by so much. Of ns before it nothing is
 * known. */
void gap_tick_late(struct gap *gap, uint64_t late, uint64_t ns);

/* The largest part of what a cause has taken; NULL: nothing names that. */
const struct kd_interruption *gap_largest(const struct gap *gap, enum interruption_cause cause);

/* Ends it: *interruption gets its times, causes, TID and CPU. */
void gap_end(struct gap *gap, struct interruption *interruption);

/* Makes one of what the hypervisor took. When it did so is not known: at some time, or times,
 * between the two looks at its clock that are since and until. */
void interruption_stolen(const struct kd_interruption *part, struct interruption *interruption);

/* Adds an interruption to the sums of a thread, which are made if it has none: *sums is NULL then.
 * Returns 0 or -ENOMEM. */
int interruption_count(struct interruption_sum **sums, const struct interruption *interruption);

#endif
