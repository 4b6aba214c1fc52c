/* SPDX-License-Identifier: Apache-2.0 */
/* All data of a thread in a sample. */
#ifndef THREAD_ROW_H
#define THREAD_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "counter.h"
#include "culprit.h"
#include "descriptor.h"
#include "distribution.h"
#include "interruption.h"
#include "lists.h"
#include "thread_counters.h"
#include "words.h"

/* Sleeps still open at the window's end, and the longest so far. */
struct sleeping {
	uint64_t count, max;
};

struct ledger {
	uint64_t life; /* of the thread within the window */
	uint64_t ns[LEDGER_STATES];
	/* Kernel's run time (sum_exec_runtime) over the window; valid if exec_known. */
	uint64_t exec;
	bool exec_known;
	/* Kernel's tick counts utime and stime; valid if exec_known. */
	uint64_t ticks_user, ticks_system;
	/* Sleeps by enum kd_awaited. Totals are the parts inside the window and add up to
	 * LEDGER_BLOCKED and LEDGER_BLOCKED_UNINT. max is a full length since tracing began, up
	 * to the window's end. asleep: sleeps still open. */
	struct kd_count awaited[KD_AWAITED_KINDS];
	struct sleeping asleep[KD_AWAITED_KINDS];
	/* Hardirq time by running state that it hit; for thread_move_entries(). */
	uint64_t irq_in[KD_RUNNING];
	uint64_t timed_faults, untimed_faults, signals; /* for thread_move_entries() */
};

/* count is 0 if the call only crosses the window's edges. */
struct call_row {
	uint32_t number; /* with its mode bits, see KD_CALL_COMPAT */
	uint64_t count, total, max;
	struct distribution times; /* --histogram only; includes calls begun before the window */
};

/* An item open at an edge of the window; in a folded row, all items of this kind and number at
 * the same edges. */
struct open_item {
	enum open_kind kind;
	int32_t number;     /* of a call, with mode bits; KD_CALL_UNKNOWN: unknown */
	unsigned int count; /* 1, unless folded */
	uint64_t since;     /* start (of the first); 0: before tracing began */
	uint64_t until;     /* end (of the last); 0: still open when read */
	uint64_t inside;    /* time inside the window, summed if folded */
	/* Full length up to the window's end: sum and longest. A lower bound if it began before
	 * tracing. */
	uint64_t length, longest;
	bool at_start, at_end;
};

/* Calls that succeeded in the window, and their bytes. */
struct io_row {
	struct kd_io read, written;
};

#define KERNEL_FUNCTION_LEN 64

/* One thread, or several similar ones that were folded. */
struct thread_row {
	pid_t tid;              /* of the first, if folded */
	pid_t pid;              /* process in the sample; 0: unknown */
	uint64_t process_start; /* and its start */
	char name[KD_COMM_LEN]; /* raw, not escaped; "": unknown */
	bool ended;             /* inside the window */
	unsigned int members;   /* threads in this row; figures are sums */

	struct ledger ledger;
	struct call_row *calls; /* by descending total */
	size_t n_calls;
	struct irq_row *hardirqs; /* by descending total */
	size_t n_hardirqs;
	struct irq_row *softirqs; /* by descending total */
	size_t n_softirqs;
	struct lock_row *locks; /* by descending total */
	size_t n_locks;
	/* Kernel function of the longest KD_AWAITED_KERNEL sleeps; "": unknown. */
	char kernel_function[KERNEL_FUNCTION_LEN];
	uint64_t kernel_at;    /* its address while the row is being filled; 0: none */
	bool lock_in_progress; /* locks include a wait still open at the window's end */
	struct descriptor_row *descriptors; /* by descending total */
	size_t n_descriptors;
	struct kd_span run, long_poll; /* count 0: nothing to print */
	struct kd_count ready, stopped;
	struct kd_count stolen; /* per tick or run, and the largest */
	struct kd_overslept overslept;
	struct kd_majors majors;  /* timed major faults */
	struct culprit *culprits; /* what had the CPU while it was ready; by descending time */
	size_t n_culprits;
	struct stop_row *stops; /* by descending time */
	size_t n_stops;
	struct mover_row *movers; /* by descending count */
	size_t n_movers;
	struct distribution run_times, ready_times; /* as in struct call_row */
	struct interruption_sum *interrupted; /* --interruptions only, see thread_interrupted() */
	/* Late ticks in interruptions, and by how much. */
	struct kd_count late_ticks;
	/* --resources only. */
	struct io_row *io;        /* see thread_io() */
	uint64_t io_uring_calls;  /* calls of io_uring_enter; their bytes are not in io */
	uint64_t forks, execs;    /* children it started, programs it executed */
	struct block_row *blocks; /* by descending total */
	size_t n_blocks;
	struct counter_row *counters; /* --counters only; in the order given */
	size_t n_counters;

#define FIGURE_MEMBER(member, ...) uint64_t member;
	EACH_THREAD_FIGURE(FIGURE_MEMBER)
#undef FIGURE_MEMBER
	uint64_t cpus[KD_CPU_WORDS]; /* bitmap */
	bool cpus_beyond;            /* used CPUs beyond the bitmap */

	struct open_item *open; /* unfolded: at most two per kind */
	size_t n_open;
};

/* Bytes by enum kd_io_kind, and interruptions by cause with the total last. Stored by pointer
 * because most rows have none. */
const struct io_row *thread_io(const struct thread_row *thread);
const struct interruption_sum *thread_interrupted(const struct thread_row *thread);

uint64_t ledger_sum(const struct ledger *ledger);

/* Interruptible and uninterruptible. */
uint64_t ledger_blocked(const struct ledger *ledger);

/* Running as the scheduler sees it: user, kernel, page faults, reclaim and both interrupt
 * states. */
uint64_t ledger_running(const struct ledger *ledger);

/* Periods of a kind that began and ended in the window; not for OPEN_CALL. min is 0 where
 * unknown: OPEN_READY and OPEN_STOPPED. */
struct kd_span thread_period(const struct thread_row *thread, enum open_kind kind);

/* True if the thread had no event in the window; *state is its only state. */
bool thread_is_silent(const struct thread_row *thread, enum ledger_state *state);

/* Adds an open item, merging it with one of the same kind, number and edges. Makes a row for a
 * call without one. Returns 0 or -ENOMEM. */
int thread_add_open(struct thread_row *thread, const struct open_item *item);

/* Adds all figures of from, which stays unchanged. Returns 0 or -ENOMEM. */
int thread_merge(struct thread_row *into, const struct thread_row *from);

/* Computes the times of thread_counters.h from the thread's lists. */
void thread_times_sum(struct thread_row *thread);

/* Sorts calls, locks and other lists by total; in a folded row, also open items by time inside
 * the window. */
void thread_sort(struct thread_row *thread);

/* Frees what the row owns, not the row itself. */
void thread_clear(struct thread_row *thread);

/* --- Full periods. A thread's tables count what began and ended inside the window. These add
 * periods that only ended in it, and open ones with their length so far. --- */

struct complete {
	uint64_t max;   /* the longest of all */
	bool max_open;  /* max is open: a length so far */
	uint64_t total; /* of all that ended in the window, at full length */
	struct durations times;
	/* Longest one open at the window's end, so far; 0: none. */
	uint64_t open;
};

/* Periods of a kind other than OPEN_CALL. Event loop rounds count only once they end: many
 * threads poll once and never again. */
struct complete complete_period(const struct thread_row *thread, enum open_kind kind);

/* Calls of one number; the row may have a count of 0. */
struct complete complete_call(const struct thread_row *thread, const struct call_row *call);

#endif
