// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "session_memory.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>

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
