/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of each list that a thread has, and the descriptions of these lists: see rows.h. */
#ifndef LISTS_H
#define LISTS_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"
#include "counter.h"
#include "descriptor.h"
#include "distribution.h"
#include "lock.h"

struct row_list;

enum list_id {
	LIST_STOPS,
	LIST_MOVERS,
	LIST_BLOCKS,
	LIST_COUNTERS,
	LIST_DESCRIPTORS,
	LIST_HARDIRQS,
	LIST_SOFTIRQS,
	LIST_LOCKS,
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

/* Waits of a thread at one descriptor. Counts waits that ended in the window at full length; an
 * open wait counts its length so far. */
struct descriptor_row {
	uint32_t awaited; /* enum kd_awaited */
	struct descriptor is;
	uint64_t shorter; /* all waits shorter than this, ns, at any descriptor; else 0 */
	struct kd_count waits;
	pid_t ended_by, ended_pid;    /* waker of the longest wait; 0: unknown */
	char ended_name[KD_COMM_LEN]; /* name of that thread */
	uint64_t others;              /* about how many waits another thread ended */
	uint64_t in_progress;         /* waits still open at the window's end */
	/* Disk: requests whose completion ended the waits. */
	struct kd_count requests;
};
extern const struct row_list descriptor_list;
#define DESCRIPTOR_ROWS 64

/* Interrupts that arrived while a thread ran. */
struct irq_row {
	char name[KD_IRQ_NAME_LEN + 16]; /* raw, not escaped */
	uint32_t vector;                 /* softirqs only */
	bool unhandled;                  /* hardirqs only: the handler returned IRQ_NONE */
	uint64_t count, total, max;
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
	uint64_t shorter;              /* all waits shorter than this, ns, for any lock; else 0 */
	struct kd_count waits;
	struct kd_activity meanwhile; /* the holder's states during the waits */
	uint64_t others;              /* waits ended by a thread that got the lock in between */
	int32_t slept_in;             /* where the holder slept last; KD_CALL_NONE: in no call */
	pid_t released_by;            /* waker of the last wait; 0: none, such as a timeout */
	char released_name[KD_COMM_LEN];
	/* Variable that contains the futex, as in struct data_location, and the caller of one of
	 * the longest waits, see lock_caller_text(). NULL: unknown. */
	const char *symbol, *object, *called_from;
	uint64_t offset;
	uint64_t caller; /* stack number while the row is being filled; 0: none */
};
extern const struct row_list lock_list;
#define LOCKS_MOST 64

#endif
