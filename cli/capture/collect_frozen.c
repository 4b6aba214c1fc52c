// SPDX-License-Identifier: Apache-2.0
#include "collect_frozen.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/capture/session/types.h"
#include "cli/capture/session/windows.h"
#include "cli/process/group.h"
#include "session.h"

/* Finds the cgroup that froze a thread which was seen to freeze. Reads all mounts, so only once a
 * second; in between, the process is taken to be frozen by the same cgroup. */
static void threads_look(struct frozen_watch *watch, const struct session *session, uint64_t now)
{
	struct session_view view = session_window_now(session);
	bool due = now - watch->looked >= NSEC_PER_SEC;
	pid_t unknown = 0;

	if (!session_has_frozen(session))
		return;
	for (uint32_t slot = 1; slot < view.slots; slot++) {
		const struct kd_thread *thread = &view.threads[slot];

		if (!thread->task || thread_state(thread) != KD_FROZEN ||
		    (pid_t)thread->tgid == unknown)
			continue;
		if (due) {
			bool found = group_frozen((pid_t)thread->tgid, watch->group,
						  sizeof(watch->group));

			watch->pid = found ? (pid_t)thread->tgid : 0;
			watch->looked = now;
		}
		if ((pid_t)thread->tgid == watch->pid) {
			watch->at = now - view.epoch;
			return;
		}
		unknown = (pid_t)thread->tgid;
	}
}

/* Opens the freezer.state of the target's group, if that can be frozen: the root cannot. Returns
 * false without a freezer of version 1. */
static bool state_open(struct frozen_watch *watch, pid_t pid)
{
	struct group_levels level;
	char path[PATH_MAX + 32];

	frozen_clear(watch);
	if (!group_levels_begin(&level, "", pid, "freezer") || !level.version_1)
		return false;
	if (!group_levels_next(&level))
		return true;
	snprintf(path, sizeof(path), "%s/freezer.state", level.directory);
	watch->state = open(path, O_RDONLY | O_CLOEXEC) + 1;
	return true;
}

/* Freezing is not frozen: some threads still run. */
static bool state_is_frozen(const struct frozen_watch *watch)
{
	char word[16] = "";

	return pread(watch->state - 1, word, sizeof(word) - 1, 0) > 0 &&
	       !strncmp(word, "FROZEN", strlen("FROZEN"));
}

/* The group may have been frozen, or thawed, at any time since the last look: half of that. */
static void state_look(struct frozen_watch *watch, pid_t pid, uint64_t now, uint64_t epoch)
{
	struct frozen_span *last = &watch->spans[(watch->n_spans - 1) % FROZEN_SPANS];
	const bool was = watch->n_spans && !last->to, is = state_is_frozen(watch);
	const uint64_t between = watch->seen ? now - (now - watch->seen) / 2 : now;

	watch->seen = now;
	if (was && !is)
		last->to = between;
	if (is && !was) {
		watch->spans[watch->n_spans++ % FROZEN_SPANS] = (struct frozen_span){ between, 0 };
		group_frozen(pid, watch->group, sizeof(watch->group));
	}
	if (is || was)
		watch->at = now - epoch;
}

void frozen_look(struct frozen_watch *watch, const struct session *session, pid_t pid)
{
	const uint64_t now = clock_monotonic();

	threads_look(watch, session, now);
	if (now >= watch->due) {
		watch->due = state_open(watch, pid) ? now + NSEC_PER_SEC : UINT64_MAX;
	}
	if (watch->state)
		state_look(watch, pid, now, session_window_now(session).epoch);
}

void frozen_take(const struct frozen_watch *watch, const struct session_view *view,
		 struct sample *sample)
{
	const uint64_t start = view->start + view->epoch, end = view->end + view->epoch;

	if (watch->at >= view->start)
		memcpy(sample->frozen_group, watch->group, sizeof(sample->frozen_group));
	for (size_t i = 0; i < FROZEN_SPANS && i < watch->n_spans; i++) {
		const struct frozen_span *span = &watch->spans[i];
		const uint64_t from = u64_max(span->from, start),
			       to = u64_min(span->to ?: end, end);

		sample->group_frozen_ns = u64_add(sample->group_frozen_ns, u64_sub(to, from));
		if (to == end)
			sample->group_frozen_last_ns = u64_sub(to, from);
	}
}

void frozen_clear(struct frozen_watch *watch)
{
	if (watch->state)
		close(watch->state - 1);
	watch->state = 0;
}
