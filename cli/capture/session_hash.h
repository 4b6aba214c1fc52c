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

/* Gets what is found, and the thread's row that it belongs to. Returns 0 or a negative errno,
 * which ends the reading. */
typedef int session_found_fn(const struct session_hash *hash, const void *key, const void *value,
			     struct thread_row *row);

/* Reads what belongs to the window and these rows, and removes it from the map; so what belongs
 * to no window any more. *removed: how many entries it has removed; NULL is allowed. Returns 0,
 * -ENOMEM, or what found() returned. */
int session_hash_read(const struct session_hash *hash, session_found_fn *found, uint32_t *removed);

#endif
