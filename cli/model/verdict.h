/* SPDX-License-Identifier: Apache-2.0 */
/* Verdict of a sample: what kept the target from running, and who did. Computed only from the
 * sample. Nothing is rescaled; what is unclear stays unexplained. */
#ifndef VERDICT_H
#define VERDICT_H

#include "cli/base/arith.h"
#include "field.h"
#include "sample.h"
#include "verdict_claims.h"

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

/* Sums over all threads. busy is life minus waiting for work; it splits into user, kernel,
 * guest and delay. The rows and unexplained add up to delay. */
struct verdict {
	/* The thread that opened a window which triggers made, or the main one of a command: the
	 * verdict is of it alone, and nothing of it is idle, as the user chose the window. NULL: of
	 * all threads. */
	const struct thread_row *subject;
	uint64_t least; /* ns; less than this harms nobody */
	uint64_t life, work, busy, user, kernel, guest, delay, unexplained;
	enum verdict_share largest;
	EACH_THREAD_TIME(TIME_MEMBER) /* see thread_row.h */
	/* The largest of the sleeps that nothing claims. */
	struct claim unclaimed;
	/* Thread outside the target that moved target threads between CPUs, and how often; 0:
	 * never. */
	struct verdict_who mover;
	uint64_t moves;
	struct verdict_row *rows; /* blamed ones first; by descending ns */
	size_t n_rows, n_blamed;
	/* The same as they are told: those of one culprit that took most by several causes
	 * together are one, the first; else the rows themselves. */
	struct verdict_row *told;
	size_t n_told, n_told_blamed;
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

/* True if the verdict counts a thread of the sample. */
static inline bool verdict_is_about(const struct verdict *verdict, const struct thread_row *thread)
{
	return !verdict->subject || verdict->subject == thread;
}

/* The busy time in which they ran, ns. */
static inline uint64_t verdict_ran(const struct verdict *verdict)
{
	return u64_sub(verdict->busy, verdict->delay);
}

/* True if the unexplained time is worth reporting. */
bool verdict_is_unexplained(const struct verdict *verdict);

/* Whether CPUs were idle while threads waited for one, and mattered; KD_IDLE_KINDS: not known. */
enum kd_idle_kind verdict_idle(const struct verdict *verdict, const struct verdict_row *row);

/* True if nobody is blamed, and little of the threads' life was lost. */
bool verdict_is_undisturbed(const struct verdict *verdict);

/* True if that little is much of the time in which they had something to do. */
bool verdict_had_little(const struct verdict *verdict);

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
