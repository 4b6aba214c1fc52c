/* SPDX-License-Identifier: Apache-2.0 */
/* What kept a target from running in one sample, and who: read from the sample, which has
 * all figures. Nothing is rescaled; what cannot be told is unexplained. */
#ifndef VERDICT_H
#define VERDICT_H

#include "verdict_claims.h"

/* A cause with one culprit: its claims on all threads. */
struct verdict_row {
	enum cause cause;
	struct verdict_who who;
	unsigned int culprits; /* several: too small to be told apart; their name, if it is one */
	bool and_others;       /* and some that are not known */
	uint64_t ns;
	uint64_t count, longest;        /* 0: not known */
	uint64_t so_far;                /* the longest that goes on; 0: none that is known */
	const struct descriptor *at;    /* where it waited for that, most of the time; the */
	uint64_t at_ns;                 /* sample's; NULL: at none */
	struct kd_count requests;       /* to the disk that ended its waits */
	unsigned int threads;           /* how many of the target it kept from running */
	const struct thread_row *worst; /* the one that lost most; the sample's */
	uint64_t worst_ns;              /* and how much */
	const struct thread_row *last;  /* that had a claim, of which it may have several */
	uint64_t last_ns;
	bool blamed; /* enough to be named, see verdict_find() */
};

/* What one row of the sample's threads lost. */
struct verdict_thread {
	const struct thread_row *row;
	uint64_t busy;        /* its life less waiting for work */
	uint64_t kept;        /* of that it did not run, whoever is to blame */
	uint64_t unexplained; /* of that what nobody claims */
	uint64_t longest;     /* of one culprit the longest single case */
};

/* The parts of busy time: it ran, nobody claims it, or the first row does. */
enum verdict_part { VERDICT_RAN, VERDICT_UNEXPLAINED, VERDICT_BLAMED };

#define TIME_MEMBER(member, ...) uint64_t member;

/* Sums over all threads. busy is life less waiting for work; user and kernel is what of that it
 * ran, kept the rest; unexplained is the part of kept that nobody claims. The rows and unexplained
 * add up to kept. */
struct verdict {
	uint64_t life, work, busy, user, kernel, kept, unexplained;
	enum verdict_part largest;
	EACH_THREAD_TIME(TIME_MEMBER) /* see thread_counters.h */
	/* Who ended most of what the threads waited in futexes that nobody is known to have had,
	 * such as those of condition variables, and how much that was; 0: there was none. */
	struct verdict_who waker;
	uint64_t until_woken;
	/* Who moved threads from CPU to CPU, not being of the target; and how often, 0: nobody did.
	 */
	struct verdict_who mover;
	uint64_t moves;
	struct verdict_row *rows; /* those that are blamed first; by descending ns */
	size_t n_rows, n_blamed;
	struct verdict_thread *threads; /* in the sample's order */
	size_t n_threads;
};

/* What the threads of a process had, in sum. */
struct process_sum {
	const struct process_row *process; /* the sample's */
	uint64_t threads;
	uint64_t life, running, stolen, ready, throttled, blocked, stopped,
		frozen;               /* ns, as in the ledger */
	uint64_t busy, kept;          /* as in struct verdict_thread */
	EACH_THREAD_TIME(TIME_MEMBER) /* see thread_counters.h */
#undef TIME_MEMBER
	const struct thread_row *worst; /* the one that was kept from running for longest */
	uint64_t worst_kept;
};

/* Nobody is blamed for less than this. A case that happened seldom has to be a large one; what is
 * smaller than what the threads ran, or than what is unexplained, a part of the window. */
#define VERDICT_LEAST 1         /* percent of busy time, of VERDICT_TIMES cases, */
#define VERDICT_SELDOM_LEAST 10 /* and of fewer */
#define VERDICT_WINDOW_LEAST 2  /* percent of the window, and, unless a trigger chose that, */
#define VERDICT_NS_LEAST 1000000

/* From three on, culprits of one cause that have less than this share one row. */
#define VERDICT_ALONE_LEAST 10 /* percent of busy time */
#define VERDICT_GROUP 3

/* Unexplained time that is said. */
bool verdict_is_unexplained(const struct verdict *verdict);

/* Fills the zeroed verdict of a finished sample, which it points into, and hands it to the sample,
 * for all who write that. Returns 0 or -ENOMEM; the caller clears it in any case. */
int verdict_find(struct verdict *verdict, struct sample *sample);

/* Releases what it owns; safe on a zeroed one. */
void verdict_clear(struct verdict *verdict);

/* Adds one sum to another; whose that is stays. */
void process_sum_add(struct process_sum *into, const struct process_sum *from);

/* Sums for each row of the sample's processes, which the caller frees, those first that were kept
 * from running for longest. Returns 0 or -ENOMEM. */
int processes_sum(const struct sample *sample, struct process_sum **sums);

#endif
