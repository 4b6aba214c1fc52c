/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of each list that a thread has, and what describes it: see rows.h. */
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

/* Who stopped a thread: what of its stops by one other lies in the window. The rows add up to the
 * state stopped of the ledger. */
struct stop_row {
	uint32_t kind;          /* enum kd_stop */
	int32_t signal;         /* KD_STOP_SIGNAL: its number; 0: not known */
	int32_t tid, pid;       /* 0: not known, as what came before tracing began; or a terminal */
	char name[KD_COMM_LEN]; /* as the kernel has it, not escaped; "terminal"; "" */
	struct kd_count stops;
};
extern const struct row_list stop_list;
#define STOPS_MOST 16

/* Who moved a thread to other CPUs: how often it had to leave a CPU as this one had called
 * sched_setaffinity. The rest of its affinity_migrations has no caller that is known. */
struct mover_row {
	int32_t tid, pid;       /* 0: all others together */
	char name[KD_COMM_LEN]; /* as the kernel has it, not escaped */
	uint64_t count;
};
extern const struct row_list mover_list;
#define MOVERS_MOST 16

/* Requests of a thread to one disk that were completed in the window: how many, how long they took
 * from when they were made, and how that is distributed. */
struct block_row {
	struct kd_count requests; /* first, for FIELD_TIMES */
	struct distribution times;
	uint64_t bytes;
	uint32_t kind;             /* enum kd_block_kind */
	char device[KD_DISK_NAME]; /* as the kernel has it, not escaped; "": not known, or others */
};
extern const struct row_list block_list;
#define BLOCKS_MOST 32

/* Perf events that were counted: struct counter_row. */
extern const struct row_list counter_list;

/* Waits of a thread at one of them: those that ended in the window, wherever they began, and
 * with its length so far one that the thread was in at the window's end. */
struct descriptor_row {
	uint32_t awaited; /* enum kd_awaited: for what */
	struct descriptor is;
	uint64_t shorter; /* than this, ns: all such waits, wherever; else 0 */
	struct kd_count waits;
	pid_t ended_by, ended_pid;    /* TID and PID of who ended the longest; 0: not known */
	char ended_name[KD_COMM_LEN]; /* of that thread */
	uint64_t others;              /* about how many were ended by others */
	uint64_t in_progress;         /* of waits: had not ended with the window */
	/* Of a disk: the requests whose completion ended them, how long they took together, and the
	 * longest. */
	struct kd_count requests;
};
extern const struct row_list descriptor_list;
#define DESCRIPTOR_ROWS 64

/* Interrupts that came while a thread ran. */
struct irq_row {
	char name[KD_IRQ_NAME_LEN + 16]; /* as the kernel has it: not escaped */
	uint32_t vector;                 /* softirqs only */
	bool unhandled;                  /* hardirqs only: the handler returned IRQ_NONE */
	uint64_t count, total, max;
};
extern const struct row_list hardirq_list, softirq_list;

/* Waits for one lock (of those of the C library that say who has them, any futex, or one of the
 * kernel) that one thread had when they began: those that ended in the window, wherever they
 * began, and with its length so far one that the thread was in at the window's end. */
struct lock_row {
	/* Of the futex, in the target's memory, or of the kernel's lock; 0: of all others
	 * together. */
	uint64_t address;
	enum kd_lock kind;
	pid_t holder;     /* 0: not known; then, and if it is not followed, meanwhile is zeros */
	pid_t holder_pid; /* its process, if that is not the waiting thread's; else 0 */
	char holder_name[KD_COMM_LEN]; /* "" if it has ended */
	uint64_t shorter; /* than this, ns: all such waits, for whatever lock; else 0 */
	struct kd_count waits;
	struct kd_doing meanwhile; /* what the holder did in that time */
	uint64_t others;           /* waits that were ended by others: they had it in between */
	int32_t slept_in;          /* where the holder slept last; KD_CALL_NONE: in no call */
	pid_t released_by;         /* who ended the last wait; 0: nobody, such as a time-out */
	char released_name[KD_COMM_LEN];
	/* The variable that the futex is, or is a part of, as in struct data_place; and the longest
	 * wait, or one of the longest, see lock_caller_text(). NULL: not known. */
	const char *symbol, *object, *called_from;
	uint64_t offset;
	uint64_t caller; /* while it is filled in: the number of a stack; 0: none */
};
extern const struct row_list lock_list;
#define LOCKS_MOST 64

#endif
