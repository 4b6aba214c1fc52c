/* SPDX-License-Identifier: Apache-2.0 */
/* All data of a thread in a sample. */
#ifndef THREAD_ROW_H
#define THREAD_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"
#include "awaited.h"
#include "counter.h"
#include "culprit.h"
#include "distribution.h"
#include "interruption.h"
#include "words.h"

/* --- Counters --- */

/* Counters of threads, one row each. A counter in struct kd_record has a member of the same name
 * in struct thread_row. JSON, metrics, conditions, statistics and tables follow from these rows.
 * So do times derived from a thread's lists, which are also summed over processes and samples. */

/* FAMILY(name, unit, labels, help, counters): a metric family. COUNTER(member, key, condition,
 * label): JSON key, name in conditions, and label within the family ("" if alone). TIME(member,
 * key, condition, label, sum): same in ns; sum is a function that computes it from a const
 * struct thread_row *. */
/* clang-format off */
#define THREAD_COUNTERS(FAMILY, COUNTER, TIME) \
	FAMILY("context_switches", "", "thread,type", \
	       "Switches away from a thread: voluntary ones, when it had to wait, and preemptions.", \
	       COUNTER(voluntary, "voluntary_switches", "voluntary", "type=\"voluntary\"") \
	       COUNTER(involuntary, "involuntary_switches", "involuntary", "type=\"involuntary\"")) \
	FAMILY("migrations", "", "thread", \
	       "Moves of threads to another CPU.", \
	       COUNTER(migrations, "migrations", "migrations", "")) \
	FAMILY("migrations_by", "", "thread,cause", \
	       "Moves of threads to another CPU, by cause: chosen at a wakeup, by the load balancer, or " \
	       "because the thread was no longer allowed on its CPU.", \
	       COUNTER(wakeup_migrations, "wakeup_migrations", "wakeup_migrations", "cause=\"wakeup\"") \
	       COUNTER(balance_migrations, "balance_migrations", "balance_migrations", "cause=\"balance\"") \
	       COUNTER(affinity_migrations, "affinity_migrations", "affinity_migrations", "cause=\"affinity\"") \
	       COUNTER(other_migrations, "other_migrations", "other_migrations", "cause=\"other\"")) \
	FAMILY("page_faults", "", "thread,type", \
	       "Page faults of threads, in system calls, too: minor ones, and major ones, which read " \
	       "from a disk.", \
	       COUNTER(minor_faults, "minor_faults", "minor_faults", "type=\"minor\"") \
	       COUNTER(major_faults, "major_faults", "major_faults", "type=\"major\"")) \
	FAMILY("cpu_taken_seconds", "seconds", "thread,by", \
	       "Time that threads waited for a CPU while other tasks had it: others (of other processes " \
	       "or the kernel) or own_threads (of the target).", \
	       TIME(taken_by_others, "taken_by_others_ns", "taken_by_others", "by=\"others\"", taken_by_others) \
	       TIME(taken_by_own_threads, "taken_by_own_threads_ns", "taken_by_own_threads", "by=\"own_threads\"", taken_by_own_threads)) \
	FAMILY("cpu_waited_idle_seconds", "seconds", "thread,cpus", \
	       "Time that threads waited for a CPU, by what other CPUs did: one that the thread may use " \
	       "was idle (allowed), only ones that it may not use were (barred), or none was seen idle " \
	       "(none). Much of waits shorter than a tick is in none of these.", \
	       TIME(waited_idle_allowed, "waited_idle_allowed_ns", "waited_idle_allowed", "cpus=\"allowed\"", waited_idle_allowed) \
	       TIME(waited_idle_barred, "waited_idle_barred_ns", "waited_idle_barred", "cpus=\"barred\"", waited_idle_barred) \
	       TIME(waited_idle_none, "waited_idle_none_ns", "waited_idle_none", "cpus=\"none\"", waited_idle_none)) \
	FAMILY("kernel_outside_calls_seconds", "seconds", "thread", \
	       "Time in the kernel outside of system calls, page faults and interrupts, by the kernel's " \
	       "ticks: seccomp filters, breakpoints, closing files.", \
	       TIME(outside_calls, "outside_calls_ns", "outside_calls", "", outside_calls))
/* clang-format on */

/* Iterates over all counters, all times, or both. */
#define EACH_THREAD_COUNTER(COUNTER)                                                               \
	THREAD_COUNTERS(THREAD_COUNTERS_OF, COUNTER, THREAD_COUNTERS_NONE)
#define EACH_THREAD_TIME(TIME) THREAD_COUNTERS(THREAD_COUNTERS_OF, THREAD_COUNTERS_NONE, TIME)
#define EACH_THREAD_FIGURE(FIGURE) THREAD_COUNTERS(THREAD_COUNTERS_OF, FIGURE, FIGURE)
#define THREAD_COUNTERS_OF(name, unit, labels, help, counters) counters
#define THREAD_COUNTERS_NONE(...)

/* --- Rows of lists --- */

/* The descriptions of these lists are in lists.c: see rows.h. */

struct row_list;

/* What a run looks at only if it wants it, as bits of a mask. Options say what is wanted, rows and
 * conditions what they need, and parts of a session which of these they look at. */
enum scan {
	SCAN_CALLS = 1,
	SCAN_WAITS = 2,
	SCAN_PROFILE = 4,
	SCAN_TRACES = SCAN_CALLS | SCAN_WAITS | SCAN_PROFILE,
	SCAN_RECORDING = 8,
	SCAN_HISTOGRAMS = 16,
	SCAN_INTERRUPTIONS = 32,
	SCAN_RESOURCES = 64,
	SCAN_COUNTERS = 128,
	SCAN_UPCALLS = 256,
};

enum list_id {
	LIST_STOPS,
	LIST_MOVERS,
	LIST_BLOCKS,
	LIST_COUNTERS,
	LIST_DESCRIPTORS,
	LIST_HARDIRQS,
	LIST_SOFTIRQS,
	LIST_LOCKS,
	LIST_CHAINS,
	LISTS
};

/* Stops of a thread by one other thread, as far as they lie in the window. Rows add up to the
 * state stopped of the ledger. */
struct stop_row {
	uint32_t kind;          /* enum kd_stop */
	int32_t signal;         /* KD_STOP_SIGNAL: signal number; 0: unknown */
	int32_t tid, pid;       /* 0: unknown, for stops before tracing began; or a terminal */
	char name[KD_COMM_LEN]; /* raw, not escaped; "terminal"; "" */
	struct kd_count stops;
};
extern const struct row_list stop_list;

/* By what it was stopped: "SIGSTOP", "signal 19", "ptrace", "unexplained". */
#define STOP_HOW_LEN 16
void stop_how(const struct stop_row *stop, char how[static STOP_HOW_LEN]);
#define STOPS_MOST 16

/* Moves of a thread forced by one caller of sched_setaffinity. The rest of affinity_migrations
 * has no known caller. */
struct mover_row {
	int32_t tid, pid;       /* 0: all others */
	char name[KD_COMM_LEN]; /* raw, not escaped */
	uint64_t count;
};
extern const struct row_list mover_list;
#define MOVERS_MOST 16

/* Requests of a thread to one disk that completed in the window. Times run from submission to
 * completion. */
struct block_row {
	struct kd_count requests; /* must be first, for FIELD_TIMES */
	struct distribution times;
	uint64_t bytes;
	uint32_t kind;             /* enum kd_block_kind */
	char device[KD_DISK_NAME]; /* raw, not escaped; "": unknown, or others */
};
extern const struct row_list block_list;
#define BLOCKS_MOST 32

/* Perf events: struct counter_row. */
extern const struct row_list counter_list;

#define WAIT_STATE_LEN (KD_FUNCTION_LEN + 16)
#define USER_FUNCTION_LEN 64

/* Sleeps of a thread in one wait channel, called from one system call, at one descriptor or none.
 * Counts sleeps that ended in the window at full length; an open one counts its length so far. */
struct descriptor_row {
	uint32_t awaited; /* enum kd_awaited */
	/* Function of the kernel that gave up the CPU; "": not looked at, or unknown. Of short
	 * sleeps only some are looked at, and stand for the others. */
	char wchan[KD_FUNCTION_LEN];
	int32_t call;            /* the system call, or KD_CALL_* */
	struct descriptor is;    /* fd -1: none */
	char child[KD_COMM_LEN]; /* program of the children that ended them; raw. "": none */
	uint64_t shorter;        /* all sleeps shorter than this, ns; else 0 */
	struct kd_count waits;
	pid_t ended_by, ended_pid;    /* waker of the longest wait; 0: unknown */
	char ended_name[KD_COMM_LEN]; /* name of that thread */
	uint64_t others;              /* about how many waits another thread ended */
	uint64_t in_progress;         /* waits still open at the window's end */
	/* The process that can end these, and what it did then: "stopped", "asleep in
	 * pipe_read"; raw, not escaped. 0 and "": unknown. */
	pid_t awaited_pid;
	char awaited_name[KD_COMM_LEN];
	char awaited_state[WAIT_STATE_LEN];
	/* A request of its own, sent so long before the window's end, or the wait's, on that
	 * descriptor to that address, was not answered meanwhile. 0: none. */
	uint64_t unanswered;
	int32_t asked_fd;
	char asked[DESCRIPTOR_ADDRESS_LEN]; /* raw, not escaped; "": unknown */
	bool for_child; /* only children can end these: by a signal, or what they have open */
	/* A connection that a client made, datagrams of anybody, or what children write now and
	 * then. */
	bool accepted;
	bool by_turns; /* a lock of who waits for connections: it waits for its turn to do that */
	uint32_t kept_back; /* enum kept_back (asked.h), seen in one of the waits */
	/* Function of the program in which it slept: one of user_waits.in, or the first outside
	 * of the C library; raw. "": not looked at, or unknown. */
	char user_function[USER_FUNCTION_LEN];
	/* Disk: requests whose completion ended the waits, and how long they were queued before the
	 * driver got them. */
	struct kd_count requests;
	uint64_t queued;
};
extern const struct row_list descriptor_list;

/* True if the row is of all those that have none of their own. */
bool descriptor_row_is_others(const struct descriptor_row *row);

/* True if several threads ended its sleeps, none of them nearly all. */
bool descriptor_row_of_several(const struct descriptor_row *row);
#define DESCRIPTOR_ROWS 64

/* Where a thread's long sleeps of one kind led: to what another thread of the target did meanwhile,
 * see chain.h. Only parts inside the window count. */
enum chain_state { CHAIN_UNKNOWN, CHAIN_RAN, CHAIN_READY, CHAIN_ASLEEP, CHAIN_STATES };
struct chain_row {
	char wchan[KD_FUNCTION_LEN]; /* of the sleeps, as in their struct descriptor_row, */
	int32_t call;                /* and their call */
	pid_t via;                   /* the thread of the target that ended them */
	char via_name[KD_COMM_LEN];
	pid_t tid; /* the thread at the end of the chain; 0: all others */
	char name[KD_COMM_LEN];
	uint32_t state; /* enum chain_state: what that one did */
	/* Where it slept; "" and KD_CALL_NONE: in short sleeps, or unknown. */
	char in_wchan[KD_FUNCTION_LEN];
	int32_t in_call;
	struct kd_count legs;
};
extern const struct row_list chain_list;
#define CHAINS_MOST 32

/* Interrupts that arrived while a thread ran. */
struct irq_row {
	char name[KD_IRQ_NAME_LEN + 16];   /* raw, not escaped */
	uint32_t vector;                   /* softirqs only */
	bool unhandled;                    /* hardirqs only: the handler returned IRQ_NONE */
	uint64_t count, total, max, began; /* as in struct kd_count */
};
extern const struct row_list hardirq_list, softirq_list;

/* Waits of a thread for one lock and holder: a futex, with the holder if the C library stores
 * it, or a kernel lock. Counts waits that ended in the window at full length; an open wait
 * counts its length so far. */
struct lock_row {
	/* Futex address in the target's memory, or address of the kernel's lock; 0: all others. */
	uint64_t address;
	enum kd_lock kind;
	pid_t holder;     /* 0: unknown; without a holder to follow, meanwhile is zero */
	pid_t holder_pid; /* holder's process, if not the waiting thread's; else 0 */
	char holder_name[KD_COMM_LEN]; /* "" if the holder has ended */
	pid_t holder_parent;           /* the process that holder_pid is a child of; 0: unknown */
	char holder_parent_name[KD_COMM_LEN]; /* "" if that has ended */
	uint64_t shorter; /* all waits shorter than this, ns, for any lock; else 0 */
	struct kd_count waits;
	struct kd_activity meanwhile; /* the holder's states during the waits */
	uint64_t others;              /* waits ended by a thread that got the lock in between */
	int32_t slept_in;             /* where the holder slept last; KD_CALL_NONE: in no call */
	pid_t released_by;            /* waker of the last wait; 0: none, such as a timeout */
	char released_name[KD_COMM_LEN];
	/* Variable that contains the futex, as in struct data_location, or the kernel's lock, of
	 * "kernel" or a module; and the caller of one of the longest waits, see
	 * lock_caller_text(). NULL: unknown. */
	const char *symbol, *object, *called_from;
	uint64_t offset;
	uint64_t caller; /* stack number while the row is being filled; 0: none */
};
extern const struct row_list lock_list;
#define LOCKS_MOST 64

/* Sleeps still open at the window's end, and the longest so far. */
struct sleeping {
	uint64_t count, max;
};

struct ledger {
	uint64_t life; /* of the thread within the window */
	uint64_t ns[LEDGER_STATES];
	/* Kernel's run time (sum_exec_runtime) over the window; valid if has_exec. */
	uint64_t exec;
	bool has_exec;
	/* Kernel's tick counts utime, stime and gtime, which is part of utime; valid if has_exec.
	 */
	uint64_t ticks_user, ticks_system, ticks_guest;
	/* Sleeps by enum kd_awaited. Totals are the parts inside the window and add up to
	 * LEDGER_BLOCKED and LEDGER_BLOCKED_UNINT. max is a full length since tracing began, up
	 * to the window's end. asleep: sleeps still open. */
	struct kd_count awaited[KD_AWAITED_KINDS];
	struct sleeping asleep[KD_AWAITED_KINDS];
	/* Hardirq time by running state that it hit; for thread_move_entries(). */
	uint64_t irq_in[KD_RUNNING];
	/* For thread_move_entries(). */
	uint64_t timed_faults, untimed_faults, signals;
	struct kd_ticks ticks;
};

/* count is 0 if the call only crosses the window's edges. */
struct call_row {
	uint32_t number; /* with its mode bits, see KD_CALL_COMPAT */
	uint64_t count, total, max;
	struct distribution times; /* --histogram only; includes calls begun before the window */
	uint64_t began;            /* the longest, as in struct kd_count */
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

/* The function that most of the ticks hit in which a thread was in user mode. */
#define COMPUTED_LEN 128
struct computed {
	uint64_t ticks, of; /* so many, of all; 0: unknown */
	char function[COMPUTED_LEN];
	char object[COMPUTED_LEN]; /* its program or library, without directories; raw */
};

/* One thread, or several similar ones that were folded. */
struct thread_row {
	pid_t tid;              /* of the first, if folded */
	pid_t pid;              /* process in the sample; 0: unknown */
	uint64_t process_start; /* and its start */
	char name[KD_COMM_LEN]; /* raw, not escaped; "": unknown */
	bool ended;             /* inside the window */
	bool apart;             /* until all is known, not folded with others of its name */
	bool unseen;            /* slept until it had a CPU: wakeups were not reported */
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
	/* Wait channel of the longest KD_AWAITED_KERNEL sleeps; "": unknown. */
	char kernel_function[KD_FUNCTION_LEN];
	bool lock_in_progress; /* locks include a wait still open at the window's end */
	struct descriptor_row *descriptors; /* by descending total */
	size_t n_descriptors;
	struct computed computed;
	struct chain_row *chains; /* by descending total */
	size_t n_chains;
	/* With chains: the part inside the window of all sleeps that were followed, of whatever
	 * end, ns. */
	uint64_t followed;
	struct kd_span run, long_poll; /* count 0: nothing to print */
	struct kd_count ready, stopped;
	struct kd_count stolen; /* per tick or run, and the largest */
	struct kd_overslept overslept;
	struct kd_majors majors;                        /* timed major faults */
	uint64_t faulted[KD_FAULTED_KINDS][KD_FAULTED]; /* as in struct kd_record; not kept */
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

/* Adds the count and total, and takes the longer maximum, with when it began. */
void count_join(struct kd_count *into, const struct kd_count *from);

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

/* The only CPU on which it ran in the window; -1: none, or several. */
int thread_only_cpu(const struct thread_row *thread);

/* Finds or adds the row of a call. Returns NULL without memory. */
struct call_row *thread_call_row(struct thread_row *thread, uint32_t number);

/* Adds an open item, merging it with one of the same kind, number and edges. Makes a row for a
 * call without one. Returns 0 or -ENOMEM. */
int thread_add_open(struct thread_row *thread, const struct open_item *item);

/* Adds all figures of from, which stays unchanged. Returns 0 or -ENOMEM. */
int thread_merge(struct thread_row *into, const struct thread_row *from);

/* Computes the times above from the thread's lists. */
void thread_times_sum(struct thread_row *thread);

/* Sorts calls, locks and other lists by total; in a folded row, also open items by time inside
 * the window. */
void thread_sort(struct thread_row *thread);

/* Makes CLOCK_MONOTONIC of moments in a row that are relative to an epoch. */
void thread_moments_add(struct thread_row *thread, uint64_t epoch);

/* Frees what the row owns, not the row itself. */
void thread_clear(struct thread_row *thread);

/* --- Full periods. A thread's tables count what began and ended inside the window. These add
 * periods that only ended in it, and open ones with their length so far. --- */

struct complete {
	uint64_t max;   /* the longest of all */
	uint64_t began; /* and when it did; 0: unknown */
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
