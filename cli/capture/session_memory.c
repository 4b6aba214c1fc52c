// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "session_memory.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>

#include "cli/base/log.h"

#define MUCH (512ULL << 20) /* bytes; of some 17,000 threads */

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

void session_memory_tell(const struct bpf_object *object, uint32_t threads)
{
	uint64_t bytes = 0;
	struct bpf_map *map;

	/* But for arrays it is a little more. */
	bpf_object__for_each_map(map, object) if (bpf_map__autocreate(map))
		bytes += (uint64_t)bpf_map__max_entries(map) *
			 (bpf_map__key_size(map) + bpf_map__value_size(map));
	if (bytes < MUCH)
		return;
	log_warn("room for %u threads takes %.1f GB of memory", threads, (double)bytes / 1e9);
	log_hint("--tid or fewer processes take less, and one sample (without --sample-count, "
		 "--record-on and triggers) half of it");
}
