/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes with data of a thread in a window: keys begin with struct kd_row_key. */
#ifndef SESSION_HASHES_H
#define SESSION_HASHES_H

#include <stddef.h>
#include <stdint.h>

#include "cli/model/thread_row.h"
#include "types.h"

struct bpf_map;

/* Reads the entries of the window and these rows from a map, and removes them, together with
 * entries of no window; if *used is 0, there are none. *removed: how many it removed; NULL is
 * allowed. Returns 0, -ENOMEM, or the result of found(). */
int session_hash_read(const struct session_hash *hash, const struct bpf_map *map, const __u32 *used,
		      session_found_fn *found, uint32_t *removed);

/* Returns the row of a slot's thread; NULL: none. */
static inline struct thread_row *session_hash_row(const struct session_hash *hash, uint32_t slot)
{
	return hash->row_of[slot] ? &hash->rows[hash->row_of[slot] - 1] : NULL;
}

/* session_hash_read() for a TABLE() of bpf/maps.bpf.h. */
#define TABLE_READ(session, hash, name, found)                                                     \
	session_hash_read(hash, (session)->skel->maps.name, &(session)->skel->bss->name##_used,    \
			  found, NULL)

#endif
