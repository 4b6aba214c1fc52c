// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "open_call.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

/* Copies one page, or its part from at on. */
static bool page_copy(pid_t pid, uint64_t at, uint8_t *to, size_t size)
{
	struct iovec local = { to, size }, remote = { (void *)(uintptr_t)at, size };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* As stack_copy() of bpf/stack.bpf.h does; but pages that are swapped out are
 * fetched, and the first that is not mapped is the end. */
static uint32_t part_copy(pid_t pid, uint64_t at, uint64_t end, __u64 *pages, size_t n_pages,
			  uint8_t *data, uint32_t limit, bool *cut)
{
	uint32_t size = 0, part = KD_STACK_PAGE - at % KD_STACK_PAGE;

	for (size_t i = 0; i < n_pages && at < end; i++) {
		if (size + part > limit) {
			*cut = true;
			break;
		}
		if (!page_copy(pid, at, data + size, part))
			break;
		pages[i / 64] |= 1ULL << i % 64;
		size += part;
		at += part;
		part = KD_STACK_PAGE;
	}
	return size;
}

uint8_t *open_call_copy(pid_t pid, struct kd_trace *trace, uint32_t limit)
{
	uint8_t *data = malloc(limit), *shrunk;
	bool cut = false;

	if (!data)
		return NULL;
	memset(trace->pages, 0, sizeof(trace->pages));
	trace->other_pages = 0;
	trace->other_size = 0;
	trace->size = part_copy(pid, trace->stack_start, trace->stack_end, trace->pages,
				KD_STACK_PAGES, data, limit, &cut);
	if (trace->other_start)
		trace->other_size = part_copy(pid, trace->other_start,
					      trace->other_start + KD_OTHER_PAGES * KD_STACK_PAGE,
					      &trace->other_pages, KD_OTHER_PAGES,
					      data + trace->size, limit - trace->size, &cut);
	if (cut)
		trace->flags |= KD_TRACE_CUT;
	if (!trace->size) {
		free(data);
		return NULL;
	}
	shrunk = realloc(data, trace->size + trace->other_size);
	return shrunk ? shrunk : data;
}
