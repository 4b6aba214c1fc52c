/* SPDX-License-Identifier: Apache-2.0 */
/* BPF-side hashes with data of a thread in a window: keys begin with struct kd_row_key. */
#ifndef SESSION_HASH_H
#define SESSION_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"
#include "cli/model/sample.h"
#include "session_types.h"

/* Gets an entry and the thread row that it belongs to. Returns 0, or a negative errno that ends
 * the reading. */
typedef int session_found_fn(const struct session_hash *hash, const void *key, const void *value,
			     struct thread_row *row);

/* Reads the entries of the window and these rows, and removes them from the map, together with
 * entries of no window. *removed: how many it removed; NULL is allowed. Returns 0, -ENOMEM, or
 * the result of found(). */
int session_hash_read(const struct session_hash *hash, session_found_fn *found, uint32_t *removed);

#endif
