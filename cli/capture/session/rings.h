/* SPDX-License-Identifier: Apache-2.0 */
/* Rings of records, whose times are relative to the epoch. */
#ifndef SESSION_RINGS_H
#define SESSION_RINGS_H

#include <stddef.h>

#include "cli/base/exit_status.h"
#include "types.h"

struct bpf_map;
struct session;

/* Returns a descriptor that is readable when the ring should be read at once. -1: no ring. */
int session_ring_fd(const struct session *session, enum session_ring which);

/* Calls found() for each record since the last call. Sleeps for a moment if there is only one that
 * is not complete, of which poll() says that it can be read. Returns 0 or a negative errno, which
 * may be from found(). */
int session_ring_read(struct session *session, enum session_ring which, record_found_fn *found,
		      void *context);

/* Opens a loaded map's ring. least: bytes of a record; shorter ones are skipped. Returns 0, or
 * EX_OSERR after printing what failed. */
exit_status session_ring_open(struct session *session, enum session_ring which,
			      const struct bpf_map *map, size_t least);
void session_rings_close(struct session *session);

#endif
