// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "session_recorder.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "cli/base/clock.h"
#include "cli/base/log.h"
#include "session_memory.h"
#include "kernel_delay.skel.h"

#define SPARE_PARTS 16 /* of a ring, about, for events that interrupt others */
#define SPARE_LEAST 64

/* What an event's time may be before those that were written before it: a switch that was not
 * reported is noticed later. What lies longer back is not looked for. */
#define LATE_NS 100000000ULL

exit_status recorder_select(struct recorder *recorder, struct kernel_delay *skel, uint64_t bytes)
{
	uint32_t cpus = skel->rodata->kd_cpus;
	uint64_t entries = bytes / sizeof(struct kd_recorded) / cpus;
	uint32_t spare = SPARE_LEAST;
	int error;

	if (!bytes)
		return 0;
	while ((uint64_t)spare * 2 * SPARE_PARTS <= entries)
		spare *= 2;
	recorder->skel = skel;
	recorder->cpus = cpus;
	recorder->spare = skel->rodata->kd_recorded_spare = spare;
	recorder->room = skel->rodata->kd_recorded_room = entries > 2 * spare
								  ? (uint32_t)entries - spare
								  : spare;
	recorder->ended = calloc(ENDED_NAMES, sizeof(*recorder->ended));
	if (!recorder->ended)
		return log_no_memory();
	error = bpf_map__set_max_entries(skel->maps.kd_recorded,
					 cpus * (recorder->room + spare)) ?:
		bpf_map__set_max_entries(skel->maps.kd_recorders, cpus) ?:
		bpf_map__set_max_entries(skel->maps.kd_followed, KD_FOLLOWED);
	if (error)
		log_error("cannot size the BPF maps for --record: %s", strerror(-error));
	return error ? EX_OSERR : 0;
}

exit_status recorder_map(struct recorder *recorder)
{
	if (!recorder->skel)
		return 0;
	recorder->events = session_memory_map(recorder->skel->maps.kd_recorded,
					      recorder_bytes(recorder));
	recorder->rings = session_memory_map(recorder->skel->maps.kd_recorders,
					     recorder->cpus * sizeof(*recorder->rings));
	recorder->followed = session_memory_map(recorder->skel->maps.kd_followed,
						KD_FOLLOWED * sizeof(*recorder->followed));
	if (recorder->events && recorder->rings && recorder->followed)
		return 0;
	log_error("cannot map the BPF maps for --record: %s", strerror(errno));
	return EX_OSERR;
}

void recorder_begin(struct recorder *recorder)
{
	recorder->began = clock_monotonic();
}

uint64_t recorder_bytes(const struct recorder *recorder)
{
	return (uint64_t)recorder->cpus * (recorder->room + recorder->spare) *
	       sizeof(*recorder->events);
}

/* One ring: entries, of which room are kept, and how many there have been. */
struct ring {
	const struct kd_recorded *entries;
	uint64_t room;
	const uint64_t *position;
	uint16_t cpu;
};

struct copy {
	struct recorded_event *events;
	size_t n, room;
	uint64_t since, epoch, complete;
};

static uint64_t event_at(const struct kd_recorded *entry, uint64_t epoch)
{
	return (__atomic_load_n(&entry->word, __ATOMIC_RELAXED) >> KD_RECORDED_WHEN) + epoch;
}

static struct recorded_event event_read(const struct ring *ring, uint64_t i, uint64_t epoch)
{
	const struct kd_recorded *entry = &ring->entries[i % ring->room];
	uint64_t word = __atomic_load_n(&entry->word, __ATOMIC_RELAXED);

	return (struct recorded_event){
		.at = (word >> KD_RECORDED_WHEN) + epoch,
		.tid = entry->tid,
		.what = entry->what,
		.cpu = ring->cpu,
		.kind = (uint8_t)word,
		.detail = (uint8_t)(word >> KD_RECORDED_DETAIL),
	};
}

/* The events that were overwritten while they were copied, and the one that may just be, are
 * dropped: they are the first. */
static int ring_copy(const struct ring *ring, struct copy *copy)
{
	uint64_t end = __atomic_load_n(ring->position, __ATOMIC_ACQUIRE), first, after, kept;
	uint64_t since = u64_sub(copy->since, LATE_NS);
	size_t begin = copy->n;

	first = end > ring->room ? end - ring->room : 0;
	first += ARRAY_SPLIT(end - first, i,
			     event_at(&ring->entries[(first + i) % ring->room], copy->epoch) <
				     since);
	if (array_reserve(&copy->events, copy->n + (end - first), &copy->room,
			  sizeof(*copy->events)))
		return -ENOMEM;
	for (uint64_t i = first; i < end; i++)
		copy->events[copy->n++] = event_read(ring, i, copy->epoch);
	after = __atomic_load_n(ring->position, __ATOMIC_ACQUIRE);
	kept = after + 1 > ring->room ? after + 1 - ring->room : 0;
	if (kept > first) {
		size_t gone = u64_min(kept - first, end - first);

		memmove(copy->events + begin, copy->events + begin + gone,
			(end - first - gone) * sizeof(*copy->events));
		copy->n -= gone;
		copy->complete = u64_max(copy->complete,
					 copy->n > begin ? copy->events[begin].at : UINT64_MAX);
	}
	return 0;
}

int recorder_copy(const struct recorder *recorder, uint64_t since, uint64_t epoch,
		  struct recorded_event **events, size_t *n, uint64_t *complete)
{
	struct copy copy = { .since = since, .epoch = epoch, .complete = since };
	int error = 0;

	for (uint32_t cpu = 0; cpu < recorder->cpus && !error; cpu++) {
		const struct kd_recorder *position = &recorder->rings[cpu];
		struct ring ring = {
			.entries = recorder->events +
				   (size_t)cpu * (recorder->room + recorder->spare),
			.room = recorder->room,
			.position = (const uint64_t *)&position->position,
			.cpu = (uint16_t)cpu,
		};

		error = ring_copy(&ring, &copy);
		ring.entries += recorder->room;
		ring.room = recorder->spare;
		ring.position = (const uint64_t *)&position->spare;
		if (!error)
			error = ring_copy(&ring, &copy);
	}
	if (error)
		free(copy.events);
	*events = error ? NULL : copy.events;
	*n = error ? 0 : copy.n;
	*complete = copy.complete;
	return error;
}

void recorder_note(struct recorder *recorder, const struct kd_thread *thread)
{
	struct ended_name *name;

	if (!recorder->skel || !thread->tid)
		return;
	name = &recorder->ended[recorder->n_ended++ % ENDED_NAMES];
	name->tid = thread->tid;
	name->tgid = thread->tgid;
	memcpy(name->comm, thread->comm, sizeof(name->comm));
}

void recorder_close(struct recorder *recorder)
{
	if (recorder->events)
		munmap(recorder->events, recorder_bytes(recorder));
	if (recorder->rings)
		munmap(recorder->rings, recorder->cpus * sizeof(*recorder->rings));
	if (recorder->followed)
		munmap(recorder->followed, KD_FOLLOWED * sizeof(*recorder->followed));
	free(recorder->ended);
}
