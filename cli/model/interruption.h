/* SPDX-License-Identifier: Apache-2.0 */
/* Interruptions: what kept a thread from its code, as the thread felt it. Pieces in close
 * succession are one interruption, such as a hardirq, the softirq it raised, and the task that
 * this one woke. Times are ns. */
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
	INTERRUPTION_PREEMPTED, /* another task had the CPU, or none */
	INTERRUPTION_THROTTLED,
	INTERRUPTION_PAGE_FAULT,
	INTERRUPTION_STOLEN,      /* by the hypervisor; always alone, see interruption_stolen() */
	INTERRUPTION_UNEXPLAINED, /* between pieces, or until a late tick */
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

/* Longest gap between two pieces of one interruption: what the kernel may need from one to the
 * next. On the way out of a hardirq that is longer in VMs. Otherwise the thread is in its own
 * system call, and works between the softirqs it raises there. entry_ns: cost of kernel entry
 * and exit for a hardirq, beyond what is measured. */
static inline uint64_t interruption_join_ns(bool leaving_hardirq, uint64_t entry_ns)
{
	return leaving_hardirq ? 1000 + 2 * entry_ns : 500;
}

#define INTERRUPTION_WHO_LEN 48

struct interruption {
	uint64_t since, until;            /* CLOCK_MONOTONIC, as seen in the kernel */
	uint64_t ns;                      /* length, including the estimate */
	uint64_t entry_ns;                /* estimate in ns: kernel entry and exit */
	uint64_t by[INTERRUPTION_CAUSES]; /* add up to ns */
	uint64_t tick_late; /* lateness of a tick in it or at its end; 0: none was late */
	pid_t tid;
	char name[KD_COMM_LEN];         /* thread's name, not escaped */
	uint32_t cpu;                   /* where it ended */
	bool moved;                     /* to another CPU than before */
	bool open;                      /* not over at the window's end */
	uint32_t cause;                 /* enum interruption_cause: what took most of it, */
	char who[INTERRUPTION_WHO_LEN]; /* and its name; not escaped; "": unknown */
	pid_t who_tid;                  /* of a task; 0: several, or none */
	uint32_t who_others;            /* further tasks that had the CPU for less time each */
};

/* All interruptions of a thread with this cause, of any length: how many contain it. */
struct interruption_sum {
	struct kd_count count;
	struct distribution times;
};
/* One per cause, and last the total. */
#define INTERRUPTION_SUMS (INTERRUPTION_CAUSES + 1)

/* An interruption under construction. Starts zeroed. */
#define GAP_PIECES 16
struct gap {
	struct kd_interruption last;
	struct kd_interruption largest[KD_INTERRUPTED_BY]; /* by kind */
	uint64_t largest_ns[KD_INTERRUPTED_BY];
	uint64_t since, until; /* 0: none */
	uint64_t ended;        /* end of the previous one */
	uint64_t tick_late;
	uint64_t by[INTERRUPTION_CAUSES];
	unsigned int hardirqs, n;
	uint64_t entries, entry; /* estimates: sum, and the largest one */
	struct gap_piece {
		uint64_t since, own;
	} pieces[GAP_PIECES]; /* the last ones, which the next one may contain */
	bool moved;
};

/* Adds a piece. entry_ns: unmeasured cost of such a hardirq, see above. Returns false, and does
 * nothing, if the piece belongs to another interruption. */
bool gap_add(struct gap *gap, const struct kd_interruption *piece, uint64_t entry_ns);

/* Marks the piece added last as a tick that was late. The ns before it are unexplained. */
void gap_tick_late(struct gap *gap, uint64_t late, uint64_t ns);

/* Largest piece of a cause; NULL: nothing names it. */
const struct kd_interruption *gap_largest(const struct gap *gap, enum interruption_cause cause);

/* Ends the interruption: fills times, causes, TID and CPU. */
void gap_end(struct gap *gap, struct interruption *interruption);

/* Makes an interruption of stolen time. The hypervisor took it some time between since and
 * until, the two reads of its clock. */
void interruption_stolen(const struct kd_interruption *piece, struct interruption *interruption);

/* Adds an interruption to a thread's sums; *sums NULL: allocates them. Returns 0 or -ENOMEM. */
int interruption_count(struct interruption_sum **sums, const struct interruption *interruption);

/* --- When ticks are due --- */

/* Predicts when a CPU's tick is due. The period is known; the phase is learned: ticks of the
 * local timer always come at the same phase, other timer interrupts at any. Times are ns. */

/* A tick this far past its usual time is late. */
#define TICK_LATE_NS 100000

#define TICK_PHASES 8
struct tick_phase {
	uint64_t offset; /* in the period; running mean */
	uint32_t count;
};

/* One CPU. Starts zeroed. */
struct tick {
	struct tick_phase phases[TICK_PHASES];
	uint32_t count;
};

/* Notes a local timer interrupt at t. If the CPU could take a tick from before to t and one was
 * due in between, returns how late that tick was: nothing in user mode holds it off. 0: on time,
 * or unknown. before KD_NEVER: only notes t. */
uint64_t tick_note(struct tick *tick, uint64_t period, uint64_t before, uint64_t t);

#endif
