// SPDX-License-Identifier: Apache-2.0
#include "disk_limits.h"

#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"

#define LOOK_NS (200 * NSEC_PER_MSEC) /* several of the kernel's slices */
#define PROCESSES 8                   /* that are looked at, as each takes reading all mounts */

static bool is_same(const struct disk_count *a, const struct disk_count *b)
{
	return a->major == b->major && a->minor == b->minor && a->limit.kind == b->limit.kind &&
	       a->limit.per_second == b->limit.per_second &&
	       !strncmp(a->limit.group, b->limit.group, sizeof(a->limit.group));
}

static const struct disk_count *find(const struct disk_count *counts, size_t n,
				     const struct disk_count *like)
{
	for (size_t i = 0; i < n; i++)
		if (is_same(&counts[i], like))
			return &counts[i];
	return NULL;
}

static double part_of(const struct disk_limit *limit)
{
	return limit->per_second ? (double)limit->used / (double)limit->per_second : 0;
}

/* The process's limits become those that are known, each once. */
static void process_look(struct disk_limits *now, pid_t pid)
{
	struct disk_count found[DISK_LIMITS];
	const size_t n = group_disk_limits(pid, found, DISK_LIMITS);

	for (size_t i = 0; i < n && now->n < DISK_LIMITS; i++)
		if (!find(now->counts, now->n, &found[i]))
			now->counts[now->n++] = found[i];
}

/* The processes of threads that may wait for a disk. Returns how many. */
static size_t threads_look(struct disk_limits *now, const struct session_view *view)
{
	pid_t seen[PROCESSES];
	size_t n = 0, i;

	for (uint32_t slot = 1; slot < view->slots && n < PROCESSES; slot++) {
		const struct kd_thread *thread = &view->threads[slot];
		uint32_t state = __atomic_load_n(&thread->state, __ATOMIC_RELAXED);

		if (!thread->task || (state ? state : thread->seed_state) != KD_BLOCKED_UNINT)
			continue;
		for (i = 0; i < n && seen[i] != (pid_t)thread->tgid;)
			i++;
		if (i < n)
			continue;
		seen[n++] = (pid_t)thread->tgid;
		process_look(now, seen[n - 1]);
	}
	return n;
}

/* What was used of them since they were read last; the one of which most was. */
static void use_find(struct disk_limits *limits, const struct disk_limits *now, uint64_t epoch)
{
	struct disk_limit most = { .per_second = 0 };
	const double seconds = (double)(now->looked - limits->looked) / (double)NSEC_PER_SEC;

	for (size_t i = 0; i < now->n; i++) {
		const struct disk_count *before = find(limits->counts, limits->n, &now->counts[i]);
		struct disk_limit limit = now->counts[i].limit;

		if (!before)
			continue;
		limit.used =
			(uint64_t)((double)u64_sub(now->counts[i].count, before->count) / seconds);
		if (part_of(&limit) > part_of(&most))
			most = limit;
	}
	if (part_of(&most) * 100 < DISK_LIMIT_REACHED)
		return;
	limits->reached = most;
	limits->reached_at = now->looked - epoch;
}

void disk_limits_look(struct disk_limits *limits, const struct session_view *view)
{
	struct disk_limits now = { .looked = clock_monotonic() };
	bool waiting;

	if (now.looked < limits->due)
		return;
	waiting = threads_look(&now, view);
	limits->due = now.looked + (waiting && !now.n ? NSEC_PER_SEC : LOOK_NS);
	if (!now.n)
		return;
	if (limits->n)
		use_find(limits, &now, view->epoch);
	memcpy(limits->counts, now.counts, now.n * sizeof(*now.counts));
	limits->n = now.n;
	limits->looked = now.looked;
}

void disk_limits_take(struct disk_limits *limits, const struct session_view *view,
		      struct sample *sample)
{
	disk_limits_look(limits, view);
	if (limits->reached_at && limits->reached_at + LOOK_NS >= view->start)
		sample->disk_limit = limits->reached;
}
