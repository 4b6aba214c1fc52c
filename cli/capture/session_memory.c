// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "session_memory.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "cli/base/clock.h"
#include "cli/base/log.h"
#include "session.h"
#include "kernel_delay.skel.h"

#define MUCH (512ULL << 20) /* bytes; of some 17,000 threads with triggers, 55,000 without */

void *session_memory_map(const struct bpf_map *map, size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	if (memory == MAP_FAILED)
		return NULL;
	madvise(memory, size, MADV_DONTFORK);
	return memory;
}

void session_memory_keep(struct bpf_object *object)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		size_t size;
		const void *memory = bpf_map__initial_value(map, &size);

		if (memory)
			madvise((void *)memory, size, MADV_DONTFORK);
	}
}

/* Arrays have no keys; what a table has for each entry beside key and value, is about this. */
#define TABLE_ENTRY 64

static uint64_t map_bytes(const struct bpf_map *map)
{
	uint64_t value = bpf_map__value_size(map);

	if (bpf_map__type(map) == BPF_MAP_TYPE_HASH)
		value += bpf_map__key_size(map) + TABLE_ENTRY;
	return bpf_map__max_entries(map) * value;
}

void session_memory_tell(const struct kernel_delay *skel, const struct session_config *config,
			 uint32_t threads)
{
	const char *banks =
		config->banks > 2 ? "; so does a smaller --window-banks"
		: config->banks == 2
			? "; so does one sample, without --sample-count, --record-on and triggers"
			: "";
	uint64_t bytes = 0;
	struct bpf_map *map;

	bpf_object__for_each_map(map, skel->obj)
	{
		/* How much is recorded was asked for. */
		if (bpf_map__autocreate(map) && map != skel->maps.kd_recorded)
			bytes += map_bytes(map);
	}
	if (bytes < MUCH)
		return;
	log_warn("room for %u threads takes %.1f GB of memory", threads, (double)bytes / 1e9);
	log_hint("--tid or fewer processes take less%s%s", banks,
		 config->histograms ? ", and a run without --histogram" : "");
}

/* --- Queues of numbers that BPF programs take from, too --- */

/* The kernel may refuse the map's lock where that is a resilient one (rqspinlock, since 6.15): here
 * that is waited for. */

#define TRIES 1000
#define PAUSE_NS (100 * NSEC_PER_USEC)

/* Waits before the next try, if there is one. */
static bool again(unsigned int tries)
{
	if (errno != EBUSY || tries + 1 >= TRIES)
		return false;
	clock_wait_until(clock_monotonic() + PAUSE_NS);
	return true;
}

int queue_put(int fd, uint32_t number)
{
	for (unsigned int tries = 0; bpf_map_update_elem(fd, NULL, &number, BPF_ANY); tries++)
		if (!again(tries))
			return -1;
	return 0;
}

int queue_take(int fd, uint32_t *number)
{
	for (unsigned int tries = 0; bpf_map_lookup_and_delete_elem(fd, NULL, number); tries++)
		if (!again(tries))
			return -1;
	return 0;
}
