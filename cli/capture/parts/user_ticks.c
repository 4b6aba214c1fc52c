// SPDX-License-Identifier: Apache-2.0
#include "user_ticks.h"

#include "cli/capture/session/parts.h"
#include "cli/capture/session/slots.h"
#include "cli/capture/session/windows.h"

_Static_assert(KD_RING <= USER_TICKS && KD_RING_FIRST <= USER_TICKS, "all of a thread");

size_t session_user_ticks(const struct session *session, pid_t tid, uint64_t from, uint64_t to,
			  uint64_t ips[static USER_TICKS])
{
	const struct session_view view = session_window_now(session);
	const uint32_t slot = view_slot(&view, tid);
	const struct kd_ring_of ring = kd_ring_of(slot);
	const struct kd_user_tick *ticks = &session->user_ticks[ring.first];
	uint64_t n = slot ? session->threads[slot].user_ticks : 0;
	size_t found = 0;

	/* One that is overwritten meanwhile is of the same program. */
	for (uint64_t i = n > ring.n ? n - ring.n : 0; i < n; i++) {
		const struct kd_user_tick tick = ticks[i % ring.n];
		const uint64_t at = tick.at + session->epoch;

		if (at >= from && at <= to)
			ips[found++] = tick.ip;
	}
	return found;
}
