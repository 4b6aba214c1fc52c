// SPDX-License-Identifier: Apache-2.0
#include "recorder_rings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"

/* What an event's time may be before those that were written before it: a switch that was not
 * reported is noticed later. What lies longer back is not looked for. */
#define LATE_NS 100000000ULL

/* Longest time for which events may be written during the copy. */
#define LATEST_NS 3600000000000ULL

/* One ring: its entries, how many it holds, and how many were written. */
struct ring {
	const struct kd_recorded *entries;
	uint64_t capacity;
	const uint64_t *position;
	uint16_t cpu;
};

struct copy {
	struct recorded_event *events;
	size_t n, capacity;
	uint64_t since, epoch, complete;
	uint64_t latest; /* nothing happened later */
};

/* An event's time lacks its upper bits: takes the latest possible time. */
static uint64_t event_at(const struct copy *copy, uint64_t word)
{
	uint64_t ago = copy->latest - copy->epoch - (word >> KD_RECORDED_WHEN);

	return copy->latest - (ago << KD_RECORDED_WHEN >> KD_RECORDED_WHEN);
}

static struct recorded_event event_read(const struct copy *copy, const struct ring *ring,
					uint64_t i)
{
	const struct kd_recorded *entry = &ring->entries[i % ring->capacity];
	uint64_t word = __atomic_load_n(&entry->word, __ATOMIC_RELAXED);

	return (struct recorded_event){
		.at = event_at(copy, word),
		.tid = entry->tid,
		.what = entry->what,
		.cpu = ring->cpu,
		.kind = word & ((1U << KD_RECORDED_DETAIL) - 1),
		.detail = (uint8_t)(word >> KD_RECORDED_DETAIL),
	};
}

/* Drops events overwritten during the copy, and the one possibly being written: they come first. */
static int ring_copy(const struct ring *ring, struct copy *copy)
{
	uint64_t end = __atomic_load_n(ring->position, __ATOMIC_ACQUIRE), first, after, kept;
	uint64_t since = u64_sub(copy->since, LATE_NS);
	size_t begin = copy->n;

	first = end > ring->capacity ? end - ring->capacity : 0;
	first += ARRAY_SPLIT(end - first, i,
			     event_at(copy, ring->entries[(first + i) % ring->capacity].word) <
				     since);
	if (array_reserve(&copy->events, copy->n + (end - first), &copy->capacity,
			  sizeof(*copy->events)))
		return -ENOMEM;
	for (uint64_t i = first; i < end; i++)
		copy->events[copy->n++] = event_read(copy, ring, i);
	after = __atomic_load_n(ring->position, __ATOMIC_ACQUIRE);
	kept = after + 1 > ring->capacity ? after + 1 - ring->capacity : 0;
	if (kept > first && end > first) {
		size_t gone = u64_min(kept - first, end - first);

		memmove(copy->events + begin, copy->events + begin + gone,
			(end - first - gone) * sizeof(*copy->events));
		copy->n -= gone;
		copy->complete = u64_max(copy->complete,
					 copy->n > begin ? copy->events[begin].at : UINT64_MAX);
	}
	return 0;
}

/* Rings are ordered by CPU: the CPU's own ring, then the one for its interrupts. */
static uint32_t ring_first(const struct recorder_rings *rings, uint32_t cpu, bool spare)
{
	return cpu * (rings->capacity + rings->spare) + (spare ? rings->capacity : 0);
}

static uint32_t ring_end(const struct recorder_rings *rings, uint32_t cpu, bool spare)
{
	return ring_first(rings, cpu, spare) + (spare ? rings->spare : rings->capacity);
}

void recorder_rings_begin(struct recorder_rings *rings)
{
	for (uint32_t i = 0; i < rings->cpus * 2; i++) {
		struct kd_recorder_ring *ring = &rings->positions[i / 2].rings[i % 2];

		ring->first = ring->next = ring_first(rings, i / 2, i % 2);
		ring->end = ring_end(rings, i / 2, i % 2);
	}
}

int recorder_rings_copy(const struct recorder_rings *rings, uint64_t since, uint64_t now,
			uint64_t epoch, struct recorded_event **events, size_t *n,
			uint64_t *complete)
{
	struct copy copy = {
		.since = since, .epoch = epoch, .complete = since, .latest = u64_add(now, LATEST_NS)
	};
	int error = 0;

	for (uint32_t i = 0; i < rings->cpus * 2 && !error; i++) {
		const struct kd_recorder_ring *ring = &rings->positions[i / 2].rings[i % 2];
		uint32_t first = ring_first(rings, i / 2, i % 2);

		error = ring_copy(
			&(struct ring){
				.entries = rings->events + first,
				.capacity = ring_end(rings, i / 2, i % 2) - first,
				.position = (const uint64_t *)&ring->position,
				.cpu = (uint16_t)(i / 2),
			},
			&copy);
	}
	if (error)
		free(copy.events);
	*events = error ? NULL : copy.events;
	*n = error ? 0 : copy.n;
	*complete = copy.complete;
	return error;
}
