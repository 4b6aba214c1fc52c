// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "maps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "parts.h"
#include "kernel_delay.skel.h"

/* --- Memory of BPF maps --- */

#define MUCH (512ULL << 20) /* bytes: about 17,000 threads with triggers, 55,000 without */

/* The kernel rounds array entries up to 64-bit words. */
static size_t array_bytes(const struct bpf_map *map)
{
	return bpf_map__max_entries(map) * (((size_t)bpf_map__value_size(map) + 7) & ~(size_t)7);
}

void *session_map(struct session *session, const struct bpf_map *map)
{
	size_t size = array_bytes(map);
	void *memory = MAP_FAILED;

	errno = ENOMEM;
	if (session->n_memory < SESSION_MAPS)
		memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	if (memory == MAP_FAILED) {
		log_error("cannot map the BPF map %s: %s", bpf_map__name(map), strerror(errno));
		return NULL;
	}
	madvise(memory, size, MADV_DONTFORK);
	session->memory[session->n_memory++] = (struct session_memory){ memory, size };
	return memory;
}

void session_unmap(struct session *session)
{
	while (session->n_memory) {
		const struct session_memory *memory = &session->memory[--session->n_memory];

		munmap(memory->at, memory->size);
	}
}

exit_status session_map_resize(struct bpf_map *map, uint64_t entries)
{
	int error = entries > UINT32_MAX ? -E2BIG
					 : bpf_map__set_max_entries(map, (uint32_t)entries);

	if (!error)
		return 0;
	log_error("cannot size the BPF map %s: %s", bpf_map__name(map), strerror(-error));
	return EX_OSERR;
}

void session_maps_omit(struct bpf_map *const *maps, size_t n)
{
	for (size_t i = 0; i < n; i++)
		bpf_map__set_autocreate(maps[i], false);
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

/* Approximate bytes of a hash entry beside its key and value. Arrays have no keys. */
#define TABLE_ENTRY 64

static uint64_t map_bytes(const struct bpf_map *map)
{
	uint64_t value = bpf_map__value_size(map);

	if (bpf_map__type(map) == BPF_MAP_TYPE_HASH)
		value += bpf_map__key_size(map) + TABLE_ENTRY;
	return bpf_map__max_entries(map) * value;
}

void session_memory_tell(const struct session *session)
{
	const struct kernel_delay *skel = session->skel;
	const struct session_config *config = session->config;
	const char *banks =
		config->banks > 2 ? "; so do fewer banks of a trigger (banks=N)"
		: config->banks == 2
			? "; so does one sample, without --sample-count, --record-on and triggers"
			: "";
	uint64_t bytes = 0;
	struct bpf_map *map;

	bpf_object__for_each_map(map, skel->obj)
	{
		/* The user chose the recorder's size. */
		if (bpf_map__autocreate(map) && map != skel->maps.kd_recorded)
			bytes += map_bytes(map);
	}
	if (bytes < MUCH)
		return;
	log_warn("following up to %u threads takes %.1f GB of memory", session->slots,
		 (double)bytes / 1e9);
	log_hint("--tid or fewer processes take less%s%s", banks,
		 config->options->histogram ? ", and a run without --histogram" : "");
}

/* --- Queues of numbers shared with BPF programs --- */

/* The kernel may refuse the map's lock if that is a resilient one (rqspinlock, since 6.15). Here
 * it is retried. */

#define TRIES 1000
#define PAUSE_NS (100 * NSEC_PER_USEC)

/* Sleeps before the next try; false if there is none. */
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
