// SPDX-License-Identifier: Apache-2.0
/* Moves of threads to other CPUs, as noted by the BPF side. */
#include <string.h>

#include "cli/base/syscall_set.h"
#include "cli/capture/session/hashes.h"
#include "cli/capture/session/parts.h"
#include "cli/model/rows.h"
#include "kernel_delay.skel.h"

/* Sets the number of sched_setaffinity. */
static exit_status movers_select(struct session *session)
{
	int affinity = syscall_number("sched_setaffinity");

	if (affinity >= 0)
		session->skel->rodata->kd_affinity_call = affinity;
	return 0;
}

static int mover_found(const struct session_hash *hash, const void *key, const void *value,
		       struct thread_row *row)
{
	const struct kd_moves *moves = value;
	struct mover_row mover = {
		.tid = (int32_t)moves->by.tid,
		.pid = (int32_t)moves->by.tgid,
		.count = moves->count,
	};

	(void)hash;
	(void)key;
	memcpy(mover.name, moves->by.comm, sizeof(mover.name));
	return row_list_add(&mover_list, &row->movers, &row->n_movers, &mover);
}

static int movers_read(struct session *session, struct session_hash hash)
{
	return TABLE_READ(session, &hash, kd_moves, mover_found);
}

SESSION_PART(movers) = { .select = movers_select, .read = movers_read };
