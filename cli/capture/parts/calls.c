// SPDX-License-Identifier: Apache-2.0
/* System calls without an entry in their thread's table. */
#include <errno.h>

#include "cli/capture/session/hashes.h"
#include "cli/capture/session/parts.h"
#include "kernel_delay.skel.h"

/* If the call crosses an edge of the window, it has a row already. */
static int overflow_found(const struct session_hash *hash, const void *key_, const void *value,
			  struct thread_row *row)
{
	const struct kd_row_key *key = key_;
	const struct kd_count *count = value;
	struct call_row *call = thread_call_row(row, key->rest);

	(void)hash;
	if (!call)
		return -ENOMEM;
	call->count = count->count;
	call->total = count->total;
	call->max = count->max;
	call->began = count->began;
	return 0;
}

static int overflow_read(struct session *session, struct session_hash hash)
{
	return TABLE_READ(session, &hash, kd_overflow, overflow_found);
}

SESSION_PART(overflow) = { .read = overflow_read };
