// SPDX-License-Identifier: Apache-2.0
#include "session_stops.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "kernel_delay.skel.h"

/* What of the thread's stops has no row yet, ns. */
static uint64_t left_of(const struct thread_row *row)
{
	uint64_t left = row->ledger.ns[LEDGER_STOPPED];

	for (size_t i = 0; i < row->n_stops; i++)
		left -= u64_min(row->stops[i].stops.total, left);
	return left;
}

/* No more than there is: one that goes on may have ended while it was being read. */
static int stop_add(struct thread_row *row, const struct kd_stopper *by, struct kd_count stops)
{
	struct stop_row stop = {
		.kind = by->kind < KD_STOP_KINDS ? by->kind : KD_STOP_UNKNOWN,
		.signal = (int32_t)by->signal,
		.tid = (int32_t)by->tid,
		.pid = (int32_t)by->tgid,
	};

	stops.total = u64_min(stops.total, left_of(row));
	stops.max = u64_min(stops.max, stops.total);
	if (!stops.total)
		return 0;
	stop.stops = stops;
	memcpy(stop.name, by->comm, sizeof(stop.name));
	return stops_add(&row->stops, &row->n_stops, &stop);
}

static int stop_found(const struct session_hash *hash, const void *key, const void *value,
		      struct thread_row *row)
{
	const struct kd_stop_times *times = value;

	(void)hash;
	(void)key;
	return stop_add(row, &times->by, times->count);
}

int stops_read(const struct kernel_delay *skel, struct session_hash hash)
{
	static const struct kd_stopper nobody;
	int result = 0;

	hash.map = skel->maps.kd_stops;
	if (__atomic_load_n(&skel->bss->kd_stops_used, __ATOMIC_RELAXED))
		result = session_hash_read(&hash, stop_found, NULL);
	for (uint32_t slot = 1; slot < hash.view->slots && !result; slot++) {
		struct thread_row *row;
		uint64_t left;

		if (!hash.row_of[slot])
			continue;
		row = &hash.rows[hash.row_of[slot] - 1];
		left = left_of(row);
		if (left)
			result = stop_add(row, &nobody, (struct kd_count){ 1, left, left });
	}
	return result;
}

int stops_read_open(const struct session_view *view, const struct kd_thread *thread,
		    struct thread_row *row)
{
	uint32_t state = thread->state == KD_UNSEEN ? thread->seed_state : thread->state;
	uint64_t since = u64_max(thread->since, view->start);
	uint64_t ns = view->end > since ? view->end - since : 0;

	if (state != KD_STOPPED || thread->died)
		return 0;
	return stop_add(row, &thread->stopper, (struct kd_count){ 1, ns, ns });
}
