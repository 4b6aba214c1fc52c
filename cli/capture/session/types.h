/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a session share: windows, hashes and rings as they are read. */
#ifndef SESSION_TYPES_H
#define SESSION_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"

struct kernel_delay__data_word;
struct lock_callers;
struct session;
struct thread_row;

/* --- Windows --- */

/* What the collector reads: the memory of the maps. */
struct session_view {
	struct kd_thread *threads; /* by slot; slot 0 is never used */
	struct kd_record *records; /* of the window's bank, by slot */
	uint32_t slots, bank;
	uint64_t epoch;
	uint32_t fault_gen;           /* a thread in a fault of another generation has left it */
	uint64_t start, end;          /* of the window, since the epoch; end: KD_NEVER while open */
	uint64_t gen;                 /* 0: no window */
	int32_t opened_by, closed_by; /* as in struct kd_window */
};

/* The window word and the banks, as seen and set by user space. Times are relative to the
 * session's epoch. */
struct windows {
	struct kernel_delay__data_word *shared;
	uint32_t banks, last; /* last: the bank last used by user space */
	uint64_t epoch;
	bool pairs;    /* of one thread: more than one window may be open */
	uint32_t held; /* bank taken by session_window_hold(); KD_NO_BANK: none */
	int token;     /* map with the token for setting edges; -1: not needed */
};

/* Returns the state of a thread; before its first event, as the iterator found it. */
static inline uint32_t thread_state(const struct kd_thread *thread)
{
	uint32_t state = __atomic_load_n(&thread->state, __ATOMIC_RELAXED);

	return state == KD_UNSEEN ? thread->seed_state : state;
}

/* True if a thread sleeps, but is not stopped or frozen. */
static inline bool thread_is_blocked(const struct kd_thread *thread)
{
	const uint32_t state = thread_state(thread);

	return state == KD_BLOCKED || state == KD_BLOCKED_UNINT;
}

/* --- Hashes with data of a thread in a window: keys begin with struct kd_row_key --- */

struct session_hash {
	const struct windows *windows;
	const struct session_view *view; /* the window being read */
	struct lock_callers *callers;    /* completed later, see session_hashes() */
	void *context;                   /* of its reader */
	struct thread_row *rows;
	const uint32_t *row_of; /* by slot: a thread's row is rows[row_of[slot] - 1]; 0: none */
};

/* Gets an entry and the thread row that it belongs to. Returns 0, or a negative errno that ends
 * the reading. */
typedef int session_found_fn(const struct session_hash *hash, const void *key, const void *value,
			     struct thread_row *row);

/* --- Rings of records, whose times are relative to the epoch --- */

enum session_ring {
	RING_TRACES,        /* struct kd_trace, whose size says where it ends */
	RING_INTERRUPTIONS, /* struct kd_interruption */
	RING_EVENTS, /* struct kd_event: a trigger has opened a window that no trigger closes,
		      * or has closed one, or the like */
	SESSION_RINGS,
};

/* Gets a record. Returns 0, or a negative errno that ends the walk. */
typedef int record_found_fn(void *context, void *data, size_t size);

#endif
