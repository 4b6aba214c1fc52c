// SPDX-License-Identifier: Apache-2.0
#include "session_movers.h"

#include <string.h>

#include "cli/base/syscall_names.h"
#include "kernel_delay.skel.h"

void movers_select(struct kernel_delay *skel)
{
	int affinity = syscall_number("sched_setaffinity");

	if (affinity >= 0)
		skel->rodata->kd_affinity_call = affinity;
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
	return movers_add(&row->movers, &row->n_movers, &mover);
}

int movers_read(const struct kernel_delay *skel, struct session_hash hash)
{
	if (!__atomic_load_n(&skel->bss->kd_moves_used, __ATOMIC_RELAXED))
		return 0;
	hash.map = skel->maps.kd_moves;
	return session_hash_read(&hash, mover_found, NULL);
}
