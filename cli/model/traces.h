/* SPDX-License-Identifier: Apache-2.0 */
/* Slow system calls, long waits and samples of running code: the data with stacks. capture/
 * fills it, the reports read it. Times are nanoseconds; points in time are CLOCK_MONOTONIC. */
#ifndef TRACES_H
#define TRACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "cli/stack/stack_copy.h"

enum trace_kind {
	TRACE_CALL,   /* a slow system call */
	TRACE_WAIT,   /* a long wait, asleep or for a CPU */
	TRACE_SAMPLE, /* code a thread was running */
	TRACE_KINDS,
};

/* Waker of a thread, and its context. */
struct waker {
	uint64_t at;
	pid_t tid;              /* waking task; network: the sender; 0: none */
	uint32_t from;          /* enum kd_from; KD_FROM_UNKNOWN without TID and name: none */
	char name[KD_COMM_LEN]; /* of the task, not escaped; or of the context */
};

/* What blocked a wait: the lock, and the disk request that ended it. */
struct blocker {
	uint64_t lock; /* its address; 0: none */
	enum kd_lock kind;
	/* Holder when the wait began: TID, and PID if in another process; 0: unknown. */
	pid_t holder, holder_pid;
	char holder_name[KD_COMM_LEN]; /* not escaped */
	uint64_t request;              /* duration of the disk request; 0: none */
	char disk[KD_DISK_NAME];       /* not escaped; "": unknown */
};

/* The longest time that a thread was ready in a call, and the task that had its CPU for most of it.
 */
struct behind {
	uint64_t ns; /* 0: none, or no task had it */
	pid_t tid;
	char name[KD_COMM_LEN]; /* not escaped */
	uint32_t others;        /* tasks that had it, too */
};

struct trace_row {
	enum trace_kind kind;
	pid_t pid; /* 0: unknown */
	pid_t tid;
	char name[KD_COMM_LEN]; /* thread name, not escaped */
	uint64_t start, end;    /* call: end 0 if unfinished; sample: both the same */
	uint64_t waited;        /* call: longest wait, which the kernel stack is of; 0: never
				 * slept */
	bool timed;             /* call: what its time was is known: */
	uint64_t ran, ready;    /* and it slept for the rest */
	struct behind behind;
	uint64_t since; /* start of its system call; 0: none, or unknown */
	uint32_t cpu;
	int32_t call;   /* number, or KD_CALL_* */
	int64_t result; /* of a finished call */
	/* Wait: KD_BLOCKED, KD_BLOCKED_UNINT, KD_STOPPED, KD_FROZEN, KD_READY_WOKEN or
	 * KD_READY_PREEMPTED; sample: KD_USER or KD_KERNEL. */
	uint32_t state;
	uint32_t awaited; /* blocked wait: enum kd_awaited */
	/* Wait: its waker, that one's waker since the wait began, and so on. Call: who ended its
	 * longest wait, if that is a thread. */
	struct waker wakers[KD_WAKERS];
	/* Descriptor of the call, or of the wait's call: "fd 5, " and descriptor_text(); not
	 * escaped. NULL: none, or unknown. Owned by the list. */
	const char *at;
	/* Path argument of the call or the wait's call, read from process memory when the call
	 * ended; not escaped. NULL: none, or unknown. Owned by the list. */
	const char *path;
	bool path_cut; /* truncated */
	bool no_path;  /* could not be read */
	/* Blocker of the wait, or of the call's longest wait; without a lock there, the call's
	 * futex. */
	struct blocker blocker;
	uint64_t user_ip, user_sp;         /* 0: unknown */
	const struct stack *kernel, *user; /* owned by the run; NULL: none */
	const char *no_user;   /* why there is no user stack, beyond what limited says */
	const char *no_kernel; /* why there is no kernel stack; NULL: unknown */
	bool limited;          /* user stack not copied: too expensive */
	bool cut;              /* user stack larger than the copy limit */
	bool earlier;          /* began before start, when it was not yet traced */
	bool tracing;          /* sample: this program's own work, see own_samples */
};

struct trace_list {
	struct trace_row *rows;
	size_t n, capacity;

	/* Requested data. */
	bool calls_wanted, waits_wanted;
	uint64_t call_threshold, wait_threshold;
	unsigned int profile_hz; /* 0: no samples */
	bool kernel_stacks_wanted, user_stacks_wanted;
	uint64_t stack_share;           /* share of each CPU, in millionths; 0: no limit */
	const char *wait_filter;        /* as given; NULL: none */
	bool calls_chosen;              /* slow calls are of those that the user named */
	bool wait_calls_chosen;         /* waits in other system calls are left out */
	uint64_t left_out, left_out_ns; /* waits left out for these reasons */

	/* Missing data. */
	uint64_t lost;       /* records that did not fit the ring buffer */
	uint64_t beyond;     /* stacks beyond --stack-trace-size */
	uint64_t failed;     /* copied user stacks that could not be resolved */
	uint64_t unread;     /* rows whose user stack is in more files than are read */
	const char *failure; /* NULL: unknown */
	uint64_t limited;    /* user stacks over the limit of costs */
	uint64_t incomplete; /* user stacks that end early */
	bool kernel_hidden;  /* kallsyms hides addresses */
	/* Samples of this program's own work in the kernel. Their kernel stacks begin where it
	 * was called. */
	uint64_t own_samples;
};

/* Adds a copy of a row and of its descriptor and path. Returns 0 or -ENOMEM. */
int traces_add(struct trace_list *list, const struct trace_row *row);

/* Frees what a row owns where it is in no list. */
void trace_row_clear(struct trace_row *row);

/* Sorts rows by kind, then by end; unfinished calls last, by start. */
void traces_finish(struct trace_list *list);

/* Frees the rows, not the stacks, and clears the list; safe on a zeroed list. */
void traces_clear(struct trace_list *list);

/* True if the row's thread matches; NULL matches all. */
bool trace_is_of(const struct trace_row *row, const char *names);

/* Duration of a row: of the call or wait, of an unfinished call up to the window's end; one
 * period for a sample. */
uint64_t trace_duration(const struct trace_list *list, const struct trace_row *row,
			uint64_t window_end);

/* Number of wakers. */
size_t trace_wakers(const struct trace_row *row);

/* A set of frame indexes; larger indexes are never members. */
#define FRAME_SET_SIZE 256
struct frame_set {
	uint64_t words[FRAME_SET_SIZE / 64];
};
bool frame_set_has(const struct frame_set *set, size_t i);

/* Rules for merging rows. Merged rows always share kind, call and state, and waits also awaited.
 * Across processes, functions match only in the same file, and addresses outside files never
 * match. */
struct traces_merging {
	enum {
		MERGE_IN_THREAD, /* same TID and name */
		MERGE_IN_NAME,   /* same thread name */
		MERGE_IN_ALL,    /* any thread */
	} threads;
	bool processes;    /* within a process */
	const char *names; /* only threads with matching names; NULL: all */
	bool lines;        /* stacks must be identical; else only their functions */
};

/* Merged rows. */
#define TRACE_PIDS 8
struct trace_sum {
	const struct trace_row *longest; /* longest row; the first of equal ones */
	uint64_t count;
	uint64_t total, max;    /* durations */
	uint64_t threads;       /* distinct TIDs */
	uint64_t processes;     /* distinct PIDs */
	pid_t pids[TRACE_PIDS]; /* lowest PIDs */
	uint64_t of_thread;     /* rows of this kind for the thread, the name, or all */
	size_t same_wakers;     /* leading wakers that all rows share */
	bool other_wakers;      /* wakers differ beyond these */
	bool same_at;           /* all at the same descriptor, or all without */
	bool same_path;         /* all with the same path, or all without */
	bool same_lock;         /* all with the same lock and holder, or all without */
	bool same_disk;         /* all ended by requests of the same disk, or all without */
	bool same_ip;           /* all with the same user_ip in one process, or all without */
	/* Frames with different offsets in the same function. */
	struct frame_set kernel_varies, user_varies;
};

/* Merges the rows of a kind into *n sums, by descending total. The caller frees *sums, which
 * point into the list; NULL if none. Returns 0 or -ENOMEM. */
int traces_merge(const struct trace_list *list, enum trace_kind kind, uint64_t window_end,
		 struct traces_merging merging, struct trace_sum **sums, size_t *n);

/* --- Filter of listed waits, by state and awaited kind --- */

struct wait_filter {
	const char *text; /* as given */
	bool others;      /* all but these: */
	bool states[KD_STATES];
	bool awaited[KD_AWAITED_KINDS]; /* for blocked states */
};

/* Words of a filter: keys of states and of awaited kinds. NULL after the last. */
const char *wait_filter_word(size_t index);

/* Adds what a word or pattern matches. Returns false without a match. */
bool wait_filter_add(struct wait_filter *filter, const char *word);

/* True if the wait is listed. */
bool wait_filter_passes(const struct wait_filter *filter, const struct trace_row *row);

/* True if the state has an awaited kind. */
bool wait_has_kind(uint32_t state);

#endif
