/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Included by kernel_delay.h: windows of time, their banks, and the window word. */
#ifndef KERNEL_DELAY_WINDOW_H
#define KERNEL_DELAY_WINDOW_H

/* A window of time. The window word has all that a program needs on its fast path: when the last
 * edge was and whether it opened a window. The word of an open window is also its generation: it
 * is never reused. */
#define KD_BANKS 8 /* array size; a power of two */
#define KD_MAX_BANKS 7
#define KD_NO_BANK 7ULL /* the window is timed, not recorded: no bank is free */
#define KD_WORD_OPEN 1ULL
#define KD_WORD_BANK_SHIFT 1
#define KD_WORD_BANK_MASK 7ULL
/* The time has the other bits: 4.5 years since the epoch. */
#define KD_WORD_SHIFT 7
#define KD_FAR (~0ULL >> KD_WORD_SHIFT) /* never comes: an edge is being set */
/* Word of a run with pairs per thread: several windows may be open, look at the banks. */
#define KD_WORD_PAIRS (KD_FAR << KD_WORD_SHIFT | 1ULL << 4)

/* Word after an edge. open: KD_WORD_OPEN, or 0. */
static inline __attribute__((always_inline, unused)) __u64 kd_word_compose(__u64 edge, __u64 bank,
									   __u64 open)
{
	return edge << KD_WORD_SHIFT | bank << KD_WORD_BANK_SHIFT | open;
}

static inline __attribute__((always_inline, unused)) __u32 kd_word_bank(__u64 word)
{
	return word >> KD_WORD_BANK_SHIFT & KD_WORD_BANK_MASK;
}

/* Trigger edges are this much later than their hit, so that no program reads a later time before
 * it can see the edge. */
#define KD_LEAD_NS 300

enum kd_bank {
	KD_BANK_FREE,
	KD_BANK_TAKEN,   /* its window is opening, open, or ending */
	KD_BANK_CLOSING, /* about to be ended (pairs per thread only) */
	KD_BANK_CLOSED,  /* not read yet */
};

#define KD_BY_CLOCK (-1)  /* user space */
#define KD_BY_SIGNAL (-3) /* user space, requested by the operator */
#define KD_BY_EXIT (-2)   /* end of the process that opened it, one of several */

struct kd_window {
	__u64 start;
	__u64 end;                  /* KD_NEVER while the window is open */
	__u64 gen;                  /* 0: nothing to record */
	__u64 bank;                 /* enum kd_bank */
	__s32 opened_by, closed_by; /* TIDs; or one of those */
	__u32 opened_in, pad;       /* process of opened_by, if that is a TID */
	__u64 traces_lost;          /* records in it that did not fit their ring */
};
#define KD_NEVER (~0ULL)

#endif
