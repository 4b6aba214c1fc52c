// SPDX-License-Identifier: Apache-2.0
#include "open_call.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/remote.h"

/* As stack_copy() of bpf/stack.bpf.h does; but pages that are swapped out are
 * fetched. */
static uint32_t part_copy(const struct remote *memory, uint64_t at, uint64_t end, __u64 *pages,
			  size_t n_pages, uint8_t *data, uint32_t limit, bool *cut)
{
	uint32_t size = 0, part = KD_STACK_PAGE - at % KD_STACK_PAGE;

	for (size_t i = 0; i < n_pages && at < end && !*cut; i++) {
		uint32_t room = limit - size, wanted = part < room ? part : room;

		if (remote_has_page(memory, at)) {
			*cut = wanted < part;
			if (wanted && remote_copy(memory, at, data + size, wanted)) {
				pages[i / 64] |= 1ULL << i % 64;
				size += wanted;
			}
		}
		at += part;
		part = KD_STACK_PAGE;
	}
	return size;
}

static void user_stack_copy(const struct remote *memory, struct kd_trace *trace, uint8_t *data,
			    uint32_t limit)
{
	bool cut = false;

	memset(trace->pages, 0, sizeof(trace->pages));
	trace->other_pages = 0;
	trace->other_size = 0;
	trace->size = part_copy(memory, trace->stack_start, trace->stack_end, trace->pages,
				KD_STACK_PAGES, data, limit, &cut);
	if (trace->other_start && !cut)
		trace->other_size = part_copy(memory, trace->other_start,
					      trace->other_start + KD_OTHER_PAGES * KD_STACK_PAGE,
					      &trace->other_pages, KD_OTHER_PAGES,
					      data + trace->size, limit - trace->size, &cut);
	if (cut)
		trace->flags |= KD_TRACE_CUT;
}

uint8_t *open_call_copy(pid_t pid, struct kd_trace *trace, uint32_t limit)
{
	uint8_t *data = malloc(limit), *shrunk;
	struct remote memory;

	if (!data || !remote_open(&memory, pid)) {
		free(data);
		return NULL;
	}
	user_stack_copy(&memory, trace, data, limit);
	remote_close(&memory);
	if (!trace->size) {
		free(data);
		return NULL;
	}
	shrunk = realloc(data, trace->size + trace->other_size);
	return shrunk ? shrunk : data;
}

/* Page by page: it may end right in front of one that is not there. */
int64_t open_call_path(pid_t pid, uint64_t address, char path[static KD_PATH_BYTES + 1])
{
	size_t size = 0, part;
	struct remote memory;
	char *end = NULL;

	if (!remote_open(&memory, pid))
		return -EFAULT;
	for (; size <= KD_PATH_BYTES && !end; size += part) {
		part = memory.page - (address + size) % memory.page;
		if (part > KD_PATH_BYTES + 1 - size)
			part = KD_PATH_BYTES + 1 - size;
		if (!remote_has_page(&memory, address + size) ||
		    !remote_copy(&memory, address + size, path + size, part))
			break;
		end = memchr(path + size, '\0', part);
	}
	remote_close(&memory);
	if (end)
		return end - path + 1;
	return size > KD_PATH_BYTES ? KD_PATH_BYTES + 1 : -EFAULT;
}
