/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Included by kernel_delay.h: which tasks are the target's, which windows are wanted, and which
 * hits of triggers open and close windows. */
#ifndef KERNEL_DELAY_TARGET_H
#define KERNEL_DELAY_TARGET_H

#include "others.h"

/* --- Tasks of the target, and which of them are followed --- */

#define KD_SLOT_FREE 0
#define KD_SLOT_REFUSED 0xffff  /* a thread that got no slot, which was counted */
#define KD_SLOT_UNWANTED 0xfffe /* a target thread that is not followed */
/* Mark of a leader that ended before its other threads: one that calls execve gets the leader's TID
 * some time before this is reported. */
#define KD_SLOT_EXEC 0xfffd
#define KD_SLOTS_MAX 0xfffd

/* Array in front of kd_tids, by low bits of TIDs. One word, slot and upper, is read at once. */
#define KD_TID_BITS 15 /* at least; the largest TID has 7 more */
struct kd_tid_front {
	__u16 slot, upper; /* of one such TID, and its high bits + 1; both 0: none */
	__u32 tids;        /* number of such TIDs in kd_tids */
};
#define KD_TID_MARKS 4096 /* entries for TIDs without a slot, besides one per slot */

#define KD_TGID_NONE (~0U) /* no process; 0 is the idle threads' TGID */

/* Threads that get slots: */
enum kd_filter {
	KD_FILTER_NONE,  /* all */
	KD_FILTER_NAMES, /* matching names */
	KD_FILTER_TIDS,  /* named by user space; never more */
};

/* A name pattern as a branchless automaton: each state is a bit. States after a byte are
 * ((states & takes[byte]) << 1) | (states & stays). */
struct kd_names {
	__u64 starts, stays, ends;
	__u64 takes[256];
};

/* Minimum lengths of windows that are ended by threads with matching names. */
#define KD_NAMED_DELTAS 8
struct kd_delta {
	struct kd_names names;
	__u64 ns;
};

/* One of several target processes. */
struct kd_process {
	__u64 began;            /* when it joined the target; 0: before tracing */
	__u64 ended;            /* 0: alive */
	__u64 mapped_at;        /* like kd_mapped_at; never 0 */
	__u32 exec_slot;        /* last thread that entered execve */
	__u32 joined;           /* was moved into the group, not created in the target */
	__u32 tgid;             /* the key */
	__u32 execs;            /* number of programs executed */
	char comm[KD_COMM_LEN]; /* at its end */
	struct kd_stopper stop_senders[KD_STOP_SIGNALS]; /* like kd_stop_senders */
};
#define KD_PROCESSES 16384 /* including ended ones that user space has not read yet */
#define KD_REPLACED 1024   /* of those, with a reused TGID */

#define KD_GROUP_LEVELS 32 /* the target's cgroup, and levels below it */

/* --- Windows of time, their banks, and the window word --- */

/* Windows of time. The window word has all that a program needs on its fast path: the last edge,
 * and whether it opened a window. The word of an open window is also the window's generation, and
 * never reused. */
#define KD_BANKS 8 /* array size; a power of two */
#define KD_MAX_BANKS 7
#define KD_NO_BANK 7ULL /* the window is timed, not recorded: no bank is free */
#define KD_WORD_OPEN 1ULL
#define KD_WORD_BANK_SHIFT 1
#define KD_WORD_BANK_MASK 7ULL
/* The other bits are the time: up to 4.5 years from the epoch. */
#define KD_WORD_SHIFT 7
#define KD_FAR (~0ULL >> KD_WORD_SHIFT) /* never comes: an edge is being set */
/* Word of a run with pairs per thread: several windows may be open, so programs read the banks. */
#define KD_WORD_PAIRS (KD_FAR << KD_WORD_SHIFT | 1ULL << 4)

/* Word after an edge. open: KD_WORD_OPEN, or 0. */
static __always_inline __u64 kd_word_compose(__u64 edge, __u64 bank, __u64 open)
{
	return edge << KD_WORD_SHIFT | bank << KD_WORD_BANK_SHIFT | open;
}

static __always_inline __u32 kd_word_bank(__u64 word)
{
	return word >> KD_WORD_BANK_SHIFT & KD_WORD_BANK_MASK;
}

/* Delay of an edge after the trigger's hit, so that no program reads a later time before it can see
 * the edge. */
#define KD_LEAD_NS 300

enum kd_bank {
	KD_BANK_FREE,
	KD_BANK_TAKEN,   /* its window is opening, open, or ending */
	KD_BANK_CLOSING, /* about to be ended (pairs per thread only) */
	KD_BANK_CLOSED,  /* not read yet */
	KD_BANK_READ,    /* being read */
};

#define KD_BY_CLOCK (-1)  /* user space */
#define KD_BY_SIGNAL (-3) /* user space, requested by the operator */
#define KD_BY_EXIT (-2)   /* end of the process that opened it, one of several */

struct kd_window {
	__u64 start;
	__u64 end;                  /* KD_NEVER while the window is open */
	__u64 gen;                  /* 0: nothing to record */
	__u64 bank;                 /* enum kd_bank */
	__s32 opened_by, closed_by; /* TIDs, or KD_BY_... */
	__u32 opened_in, pad;       /* process of opened_by, if that is a TID */
	__u64 traces_lost;          /* records in it that did not fit their ring */
};
#define KD_NEVER (~0ULL)

#define KD_LONGEST 1000 /* most windows of which only the longest are wanted */

/* --- Conditions of triggers on values --- */

#define KD_TERMS 8       /* comparisons per condition, one bit each */
#define KD_TERM_LOADS 5  /* memory loads to get at a value */
#define KD_CONDITIONS 64 /* per trigger: one for each location of arguments at its sites */
#define KD_NO_REGISTER 0xffff

/* A comparison: true if a value is in a range. The value starts as base + (index << shift), from
 * registers. Each offset is added, followed by a load from there, as often as loads says. The range
 * starts at `first`, has length `span` and may wrap around: it covers == != < <= > >= for signed
 * and unsigned numbers. */
struct kd_term {
	__s64 offsets[KD_TERM_LOADS + 1];
	__u64 mask;        /* of the value's bits */
	__u64 first, span; /* value - first <= span */
	__u16 base, index; /* offsets in the program's context, or KD_NO_REGISTER */
	__u8 shift;
	__u8 loads;
	__u8 size; /* bytes of the last load; earlier loads are addresses */
	__u8 is_signed;
};

/* True if all terms of any group are true. */
struct kd_condition {
	__u8 groups[KD_TERMS]; /* bits of terms; 0: no more groups */
	__u32 n;               /* terms */
	__u32 in_kernel;       /* loads from kernel memory */
	struct kd_term terms[KD_TERMS];
};
_Static_assert(sizeof(struct kd_term) == 80 && sizeof(struct kd_condition) == 16 + 8 * 80,
	       "no holes");

/* --- Hits of triggers, and what became of them --- */

/* Outcomes of trigger hits; a start's is counted once its window is decided on. */
enum kd_outcome {
	KD_HIT_USED,       /* an edge of a window that counts */
	KD_HIT_SKIPPED,    /* of a window shorter than the delta */
	KD_HIT_MISSED,     /* of a longer one, without a free bank */
	KD_HIT_OVERLAPPED, /* start: another window was open; stop: its start was such */
	KD_HIT_IDLE,       /* not wanted: between samples, or after the last one */
	KD_HIT_ENDED,      /* start: its thread or program ended before the stop */
	KD_HIT_UNMATCHED,  /* stop without start */
	KD_OUTCOMES,
};

enum kd_role { KD_START, KD_STOP, KD_ROLES };

/* Bit of a trigger of this role at a system call's entry or exit. */
#define KD_AT(role, exit) (1U << ((role)*2 + (exit)))

/* Log-linear histograms of durations: values below 1 << bits have a bucket each, larger ones 1
 * << bits buckets per power of two. For windows: */
#define KD_WINDOW_BITS 5
#define KD_WINDOW_BUCKETS (64U << KD_WINDOW_BITS) /* a power of two */

/* Counted per CPU, over the entire run. */
struct kd_tally {
	__u64 hits[KD_ROLES];
	__u64 foreign; /* part of hits, unmet and unread: by threads without a slot */
	__u64 outside; /* by other processes, at probes that only count for the target: they cost
			* time, too */
	/* Not among the hits: the condition was false, or memory for it was unreadable. */
	__u64 unmet[KD_ROLES], unread[KD_ROLES];
	__u64 outcome[KD_ROLES][KD_OUTCOMES];
	__u64 nested;   /* pairs not shorter than the delta that overlapped another's window */
	__u64 unlisted; /* records that did not fit the ring */
	__u64 min;      /* complement, so that 0 is "none" */
	__u64 max;
	__u64 total;
	__u64 durations[KD_WINDOW_BUCKETS];
};

/* Events for user space; start and end are also edges. */
enum kd_event_type {
	KD_EVENT_OPENED, /* a window that user space must close */
	KD_EVENT_CLOSED, /* a window waits in its bank */
	KD_EVENT_SKIPPED,
	KD_EVENT_NESTED,
	KD_EVENT_EXEC, /* the target executed a new program */
};

struct kd_event {
	__u32 type; /* enum kd_event_type */
	__u32 tid;
	__u64 start, end;
	char comm[KD_COMM_LEN];
};

#endif
