/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of the kernel side that have something of a thread in a window: those whose keys begin
 * as struct kd_row_key. */
#ifndef SESSION_HASH_H
#define SESSION_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"
#include "cli/model/sample.h"
#include "session_types.h"

struct bpf_map;
struct windows;

struct session_hash {
	const struct bpf_map *map;
	const struct windows *windows;
	const struct session_view *view; /* the window being read */
	const void *context;             /* of who reads it */
	struct thread_row *rows;
	const uint32_t
		*row_of; /* by slot: a thread's row is rows[row_of[slot] - 1]; 0: it has none */
};

/* Gets what is found, and the thread's row that it belongs to. Returns 0 or a negative errno,
 * which ends the reading. */
typedef int session_found_fn(const struct session_hash *hash, const void *key, const void *value,
			     struct thread_row *row);

/* Reads what belongs to the window and these rows, and removes it from the map; so what belongs
 * to no window any more. *removed: how many entries it has removed; NULL is allowed. Returns 0,
 * -ENOMEM, or what found() returned. */
int session_hash_read(const struct session_hash *hash, session_found_fn *found, uint32_t *removed);

/* --- System calls that found no entry in their thread's table --- */

struct kernel_delay;

/* As session_overflow(). */
int overflow_read(const struct kernel_delay *skel, session_overflow_fn *found, void *context);

/* --- Who moved threads to other CPUs, as the kernel side has noted it --- */

/* Says before the programs are loaded which call to look at. */
void movers_select(struct kernel_delay *skel);

/* Adds the moves of a window to the rows of its threads (hash->map is set here). Returns 0 or
 * -ENOMEM. */
int movers_read(const struct kernel_delay *skel, struct session_hash hash);

/* --- Who stopped threads, as the kernel side has noted it --- */

/* Adds the stops of a window to the rows of its threads (hash->map is set here), and what of
 * their time nobody is known for. Returns 0 or -ENOMEM. */
int stops_read(const struct kernel_delay *skel, struct session_hash hash);

/* Adds the stop that a thread was in at the window's end, if it was in one. Returns 0 or
 * -ENOMEM. */
int stops_read_open(const struct session_view *view, const struct kd_thread *thread,
		    struct thread_row *row);

/* --- Waits at descriptors, as the kernel side has counted them --- */

struct file_names;

/* Makes room for them before the programs are loaded. Returns 0 or a negative errno. */
int files_select(struct kernel_delay *skel, uint32_t slots);

/* True if a thread slept at a descriptor at the window's end: the task iterator has to visit
 * it. Says which window that is. */
bool files_pending(struct kernel_delay *skel, const struct session_view *view);

/* Adds the waits of a window to the rows of its threads. Returns 0 or -ENOMEM. */
int files_read(struct kernel_delay *skel, struct session_hash hash, struct file_names *names);

#endif
