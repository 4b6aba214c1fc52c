// SPDX-License-Identifier: Apache-2.0
/* Stops of threads, as noted by the BPF side. */
#include "stops.h"

#include <string.h>

#include "cli/base/arith.h"
#include "cli/capture/session/hashes.h"
#include "cli/capture/session/parts.h"
#include "cli/capture/session/types.h"
#include "cli/model/rows.h"
#include "kernel_delay.skel.h"

/* Returns the thread's stopped time that is in no row yet, ns. */
static uint64_t left_of(const struct thread_row *row)
{
	uint64_t left = row->ledger.ns[LEDGER_STOPPED];

	for (size_t i = 0; i < row->n_stops; i++)
		left -= u64_min(row->stops[i].stops.total, left);
	return left;
}

/* Adds a stop, but no more time than is left: a stop in progress may have ended during the read. */
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
	return row_list_add(&stop_list, &row->stops, &row->n_stops, &stop);
}

static int stop_found(const struct session_hash *hash, const void *key, const void *value,
		      struct thread_row *row)
{
	const struct kd_stop_times *times = value;

	(void)hash;
	(void)key;
	return stop_add(row, &times->by, times->count);
}

/* Also adds time without a known origin. */
static int stops_read(struct session *session, struct session_hash hash)
{
	static const struct kd_stopper nobody;
	int result = TABLE_READ(session, &hash, kd_stops, stop_found);

	for (uint32_t slot = 1; slot < hash.view->slots && !result; slot++) {
		struct thread_row *row = session_hash_row(&hash, slot);
		uint64_t left = row ? left_of(row) : 0;

		if (left)
			result = stop_add(row, &nobody, (struct kd_count){ 1, left, left, 0 });
	}
	return result;
}

SESSION_PART(stops) = { .read = stops_read };

int stops_read_open(const struct session_view *view, const struct kd_thread *thread,
		    struct thread_row *row)
{
	uint64_t since = u64_max(thread->since, view->start), ns = u64_sub(view->end, since);

	if (thread_state(thread) != KD_STOPPED || thread->died)
		return 0;
	return stop_add(row, &thread->stopper, (struct kd_count){ 1, ns, ns, since });
}
