/* SPDX-License-Identifier: Apache-2.0 */
/* All that a sample has of a thread. */
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

/* Sleeps that go on beyond the window, the longest with its length so far. */
struct sleeping {
	uint64_t count, max;
};

struct ledger {
	uint64_t life; /* of the thread inside the window */
	uint64_t ns[LEDGER_STATES];
	/* The kernel's own count of the run time (sum_exec_runtime) over the
	 * window; set only if exec_known. */
	uint64_t exec;
	bool exec_known;
	/* And its counts by ticks, utime and stime; the same. */
	uint64_t ticks_user, ticks_system;
	/* Blocked, interruptibly or not, by what for (enum kd_awaited): sleeps of which a part
	 * lies in the window, and their parts in it: they add up to LEDGER_BLOCKED and
	 * LEDGER_BLOCKED_UNINT. max is a whole one's, wherever it began since tracing did, up to
	 * the window's end. And which of them go on. */
	struct kd_count awaited[KD_AWAITED_KINDS];
	struct sleeping asleep[KD_AWAITED_KINDS];
	/* Of hard irq, what hit each of the first states; for thread_move_entries(). */
	uint64_t irq_in[KD_RUNNING];
	uint64_t timed_faults, untimed_faults, signals; /* for the same */
};

/* count is 0 if it only crosses the window's edges. */
struct call_row {
	uint32_t number; /* with its mode, see KD_CALL_COMPAT */
	uint64_t count, total, max;
	struct distribution times; /* --histogram only; with what began before the window */
};

/* Something that was open at an edge of the window; in a folded row, all of that kind and
 * number at the same edges. */
struct open_item {
	enum open_kind kind;
	int32_t number;     /* of a call, with its mode; KD_CALL_UNKNOWN: not known which */
	unsigned int count; /* how many: 1, unless folded */
	uint64_t since;     /* when it (the first) began; 0: before tracing began */
	uint64_t until;     /* when it (the last) ended; 0: it had not when it was read */
	uint64_t inside;    /* its share of the window, or the sum of theirs */
	/* How long it took, wherever it began, or until the window's end: the sum and the
	 * longest. At least, if it began before tracing. */
	uint64_t length, longest;
	bool at_start, at_end;
};

/* Calls that returned in the window without an error, and their bytes. */
struct io_row {
	struct kd_io read, written;
};

#define KERNEL_FUNCTION_LEN 64

/* One thread, or several that were folded because they are alike. */
struct thread_row {
	pid_t tid;              /* of the first, if folded */
	pid_t pid;              /* the sample's process with it; 0: not known */
	uint64_t process_start; /* and with this start */
	char name[KD_COMM_LEN]; /* as the kernel has it, not escaped; "" if unknown */
	bool ended;             /* inside the window */
	unsigned int members;   /* threads in this row; their figures are summed */

	struct ledger ledger;
	struct call_row *calls; /* by descending total */
	size_t n_calls;
	struct irq_row *hardirqs; /* by descending total */
	size_t n_hardirqs;
	struct irq_row *softirqs; /* by descending total */
	size_t n_softirqs;
	struct lock_row *locks; /* by descending total */
	size_t n_locks;
	/* Where it slept for KD_AWAITED_KERNEL, the longest time; "" if that is not known. */
	char kernel_function[KERNEL_FUNCTION_LEN];
	uint64_t kernel_at;    /* while it is filled in: its address; 0: it has none */
	bool lock_in_progress; /* among them is the wait that went on at the window's end */
	struct descriptor_row *descriptors; /* by descending total */
	size_t n_descriptors;
	struct kd_span run, long_poll; /* count 0: nothing to print */
	struct kd_count ready, stopped;
	struct kd_count stolen; /* in how many ticks or runs, of them the longest */
	struct kd_overslept overslept;
	struct kd_majors majors;  /* those that were timed */
	struct culprit *culprits; /* who had the CPU while it was ready; by descending time */
	size_t n_culprits;
	struct stop_row *stops; /* who stopped it; by descending time */
	size_t n_stops;
	struct mover_row *movers; /* who moved it to other CPUs; by descending count */
	size_t n_movers;
	struct distribution run_times, ready_times; /* as those of calls */
	struct interruption_sum *interrupted; /* --interruptions only, see thread_interrupted() */
	/* The same: interruptions in which a tick came late, by how much. */
	struct kd_count late_ticks;
	/* --resources only. */
	struct io_row *io;        /* see thread_io() */
	uint64_t io_uring_calls;  /* of io_uring_enter: what they move is not in io */
	uint64_t forks, execs;    /* processes that it began, programs that it became */
	struct block_row *blocks; /* by descending total */
	size_t n_blocks;
	struct counter_row *counters; /* --counters only; in the order in which they were given */
	size_t n_counters;

#define FIGURE_MEMBER(member, ...) uint64_t member;
	EACH_THREAD_FIGURE(FIGURE_MEMBER)
#undef FIGURE_MEMBER
	uint64_t cpus[KD_CPU_WORDS]; /* bitmap */
	bool cpus_beyond;            /* and CPUs that the bitmap cannot hold */

	struct open_item *open; /* of one thread at most two of each kind */
	size_t n_open;
};

/* Bytes by enum kd_io_kind; and interruptions by cause, and behind them all. These are far from the
 * row, as most rows have none of them. */
const struct io_row *thread_io(const struct thread_row *thread);
const struct interruption_sum *thread_interrupted(const struct thread_row *thread);

/* Sum of the ledger's lines. */
uint64_t ledger_sum(const struct ledger *ledger);

/* Blocked, interruptibly or not. */
uint64_t ledger_blocked(const struct ledger *ledger);

/* Running as the scheduler sees it: user, kernel, page faults, reclaim and both interrupt
 * lines. */
uint64_t ledger_running(const struct ledger *ledger);

/* The periods of a kind that began and ended in the window; none of OPEN_CALL. min is 0
 * where it is not known: of OPEN_READY and OPEN_STOPPED. */
struct kd_span thread_period(const struct thread_row *thread, enum open_kind kind);

/* True if the thread had no event in the window: it was in one state all the
 * time, which *state is set to. */
bool thread_is_silent(const struct thread_row *thread, enum ledger_state *state);

/* Adds what was open at an edge; to the row of its kind, number and edges if there is one.
 * A call gets a row in calls, too. Returns 0 or -ENOMEM. */
int thread_add_open(struct thread_row *thread, const struct open_item *item);

/* Adds all of from's figures to into. Takes over nothing: from is unchanged.
 * Returns 0 or -ENOMEM. */
int thread_merge(struct thread_row *into, const struct thread_row *from);

/* Adds up the times that follow from its rows, see thread_counters.h. */
void thread_times_sum(struct thread_row *thread);

/* Sorts what it has: calls, locks and rows of lists by total, what was open in a row of several by
 * its share of the window. */
void thread_sort(struct thread_row *thread);

/* Releases what the thread's row owns, not the row. */
void thread_clear(struct thread_row *thread);

/* --- Periods as a whole: the tables of a thread count what began and ended inside the window; here
 * those are joined by what ended in it, wherever it began, and by what was still open at its end,
 * with its length so far --- */

struct whole {
	uint64_t max;   /* the longest of all */
	bool max_open;  /* it is still open: max is its length so far */
	uint64_t total; /* of all that ended in the window, wherever they began */
	struct durations times;
	/* The longest that was open at the end, so far; 0: none was. */
	uint64_t open;
};

/* Of the thread's periods of a kind, which is not OPEN_CALL. A round of an event loop counts
 * when it ends only: many threads poll once and never again. */
struct whole whole_period(const struct thread_row *thread, enum open_kind kind);

/* Of one system call; the row may have a count of 0. */
struct whole whole_call(const struct thread_row *thread, const struct call_row *call);

#endif
