/* SPDX-License-Identifier: Apache-2.0 */
/* Slow system calls, long waits and samples of running code: the part of a sample
 * that has stacks. Filled by capture/, read by the reports.
 *
 * Times are nanoseconds; points in time are CLOCK_MONOTONIC. */
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
	TRACE_SAMPLE, /* where a thread was running */
	TRACE_KINDS,
};

/* Who woke a thread, and from what context. */
struct waker {
	uint64_t at;   /* when */
	pid_t tid;     /* of the task; network: of the one that sent; 0: none */
	uint32_t from; /* enum kd_from; KD_FROM_UNKNOWN, no TID and no name: there is none */
	char name[KD_COMM_LEN]; /* of that task, not escaped; or the context's */
};

/* What a wait was for: the lock, and the disk whose request ended it. */
struct blocker {
	uint64_t lock; /* its address; 0: none */
	enum kd_lock kind;
	/* Who had it when the wait began: TID and, if it is another process' thread, PID; 0: not
	 * known. */
	pid_t holder, holder_pid;
	char holder_name[KD_COMM_LEN]; /* not escaped */
	uint64_t request;              /* how long the disk's request took; 0: none ended it */
	char disk[KD_DISK_NAME];       /* its name, not escaped; "": not known */
};

struct trace_row {
	enum trace_kind kind;
	pid_t pid; /* of its process; 0: not known */
	pid_t tid;
	char name[KD_COMM_LEN]; /* of the thread, not escaped */
	uint64_t start, end;    /* call: end 0: unfinished; sample: its time, twice */
	uint64_t waited;        /* call: its longest wait, which kernel is of; 0: it never slept */
	uint64_t since;         /* of the system call it belongs to; 0: none, or not known */
	uint32_t cpu;
	int32_t call;   /* number, or KD_CALL_* */
	int64_t result; /* of a finished call */
	/* Wait: KD_BLOCKED, KD_BLOCKED_UNINT, KD_STOPPED, KD_FROZEN, KD_READY_WOKEN or
	 * KD_READY_PREEMPTED; sample: KD_USER or KD_KERNEL. */
	uint32_t state;
	uint32_t awaited; /* blocked wait: enum kd_awaited */
	/* Wait: who ended it; who had woken that one since the wait began; and so on. */
	struct waker wakers[KD_WAKERS];
	/* The descriptor of the call, or of the one that it waited in, as descriptor_text() has
	 * it, behind "fd 5, "; not escaped. NULL: none, or not known. The run's. */
	const char *at;
	/* The path that the call was given, or that of the wait, as the process's memory had it
	 * when the call ended; not escaped. NULL: none, or not known. The list's own. */
	const char *path;
	bool path_cut; /* it goes on */
	bool no_path;  /* there is one, which could not be read */
	/* Of the wait, or of the call's longest; if that has no lock, the call's futex. */
	struct blocker blocker;
	uint64_t user_ip, user_sp;         /* 0: not known */
	const struct stack *kernel, *user; /* the run's; NULL: none */
	const char *no_user;   /* why there is no user stack, if more is known than limited says */
	const char *no_kernel; /* why there is no kernel stack; NULL: not known */
	bool limited;          /* its user stack was not copied: --stack-overhead */
	bool cut;              /* the user stack is larger than what may be copied */
	bool earlier;          /* it began before start, when that was not watched */
	bool tracing;          /* sample: of this program's own work there, see own_samples */
};

struct trace_list {
	struct trace_row *rows;
	size_t n, room;

	/* What was asked for. */
	bool calls_asked, waits_asked;
	uint64_t call_threshold, wait_threshold;
	unsigned int profile_hz; /* 0: no samples */
	bool kernel_stacks_asked, user_stacks_asked;
	uint64_t stack_share;           /* of each CPU, millionths; 0: no limit */
	const char *wait_filter;        /* as it was given; NULL: none */
	bool wait_calls_chosen;         /* waits in other system calls are left out, too */
	uint64_t left_out, left_out_ns; /* waits that are not listed for these reasons */

	/* What is missing. */
	uint64_t lost;       /* records that found no room in the ring */
	uint64_t beyond;     /* stacks, of either kind: more different ones than are kept */
	uint64_t failed;     /* user stacks that were copied and could not be resolved */
	const char *failure; /* why; NULL: not known */
	uint64_t limited;    /* user stacks that --stack-overhead did not allow */
	uint64_t incomplete; /* user stacks with a reason to stop */
	bool kernel_hidden;  /* kallsyms hides addresses */
	/* Samples that hit this program's own work in the kernel. Their kernel stacks begin
	 * where that was called. */
	uint64_t own_samples;
};

/* Adds a copy of a row and its path. Returns 0 or -ENOMEM. */
int traces_add(struct trace_list *list, const struct trace_row *row);

/* Sorts the rows: by kind, then by their end; unfinished calls last, by their start. */
void traces_finish(struct trace_list *list);

/* Releases the rows, not the stacks, and clears the list; safe on a zeroed one. */
void traces_clear(struct trace_list *list);

/* Whether a row's thread has a name that matches; NULL: all do. */
bool trace_is_of(const struct trace_row *row, const char *names);

/* How long a row stands for: the call or wait, an unfinished call up to the window's
 * end; a sample one period. */
uint64_t trace_duration(const struct trace_list *list, const struct trace_row *row,
			uint64_t window_end);

/* How many wakers a row has. */
size_t trace_wakers(const struct trace_row *row);

/* Some of a stack's frames, by their index in it. Beyond there is no telling. */
#define FRAME_SET_ROOM 256
struct frame_set {
	uint64_t words[FRAME_SET_ROOM / 64];
};
bool frame_set_has(const struct frame_set *set, size_t i);

/* Which rows are alike. They always are of one kind, call and state, and waits are for the
 * same (awaited). Of several processes a function is the same only in the same file, and an address
 * in no file is never the same. */
struct traces_merging {
	enum {
		MERGE_IN_THREAD, /* of one thread: TID and name */
		MERGE_IN_NAME,   /* of threads of one name */
		MERGE_IN_ALL,    /* of any threads */
	} threads;
	bool processes;    /* of one process */
	const char *names; /* only of threads whose names match; NULL: of all */
	bool lines;        /* with the same stacks; else with stacks in the same functions */
};

/* Rows that are alike. */
#define TRACE_PIDS 8
struct trace_sum {
	const struct trace_row *longest; /* of them, the first of those that last as long */
	uint64_t count;
	uint64_t total, max;    /* durations */
	uint64_t threads;       /* different TIDs */
	uint64_t processes;     /* different PIDs */
	pid_t pids[TRACE_PIDS]; /* of them, the first by number */
	uint64_t of_thread;     /* count of all rows of its kind and thread; or name, or all */
	size_t same_wakers;     /* how many of the first wakers are the same in all */
	bool other_wakers;      /* those behind are not */
	bool same_at;           /* all at the same descriptor, or none */
	bool same_path;         /* all with the same path, or none */
	bool same_lock;         /* all for the same lock that the same thread had, or none */
	bool same_disk;         /* all ended by requests of the same disk, or none */
	bool same_ip;           /* all with the same user_ip in one process, or none */
	/* Frames that are at several offsets in their functions. */
	struct frame_set kernel_varies, user_varies;
};

/* Merges the rows of a kind. *sums, *n of them by descending total, becomes the
 * caller's to free() and points into the list; NULL if there are none. Returns 0 or
 * -ENOMEM. */
int traces_merge(const struct trace_list *list, enum trace_kind kind, uint64_t window_end,
		 struct traces_merging merging, struct trace_sum **sums, size_t *n);

/* --- Which waits are listed, by state and by what the thread waited for --- */

struct wait_filter {
	const char *text; /* as it was given */
	bool others;      /* all but these: */
	bool states[KD_STATES];
	bool awaited[KD_AWAITED_KINDS]; /* in the blocked states */
};

/* The words that a filter knows: a state's key, or that of what is awaited. NULL behind the
 * last one. */
const char *wait_filter_word(size_t index);

/* Adds what a word or pattern stands for. Returns false if there is no such thing. */
bool wait_filter_add(struct wait_filter *filter, const char *word);

/* Whether a wait is listed. */
bool wait_filter_passes(const struct wait_filter *filter, const struct trace_row *row);

/* Whether a thread in this state waits for something: only then kinds have a meaning. */
bool wait_has_kind(uint32_t state);

#endif
