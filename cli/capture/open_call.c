// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "open_call.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cli/base/proc_file.h"

/* Documentation/admin-guide/mm/pagemap.rst */
#define PAGE_IN_MEMORY (1ULL << 63)
#define PAGE_IN_SWAP (1ULL << 62)

/* A process whose memory is read, and which may do all it can to keep its reader
 * waiting. */
struct memory {
	pid_t pid;
	int pagemap; /* -1: this kernel has none */
	uint64_t page;
};

static bool memory_open(struct memory *memory, pid_t pid)
{
	char name[32];

	memory->pid = proc_thread(pid);
	snprintf(name, sizeof(name), "/proc/%d/pagemap", (int)memory->pid);
	memory->page = (uint64_t)sysconf(_SC_PAGESIZE);
	memory->pagemap = open(name, O_RDONLY | O_CLOEXEC);
	/* ENOENT: the process has gone, too; then its memory is not found either. */
	return memory->pagemap >= 0 || errno == ENOENT;
}

static void memory_close(const struct memory *memory)
{
	if (memory->pagemap >= 0)
		close(memory->pagemap);
}

/* To read a page that is neither in memory nor in swap may never end: a process
 * provides it (userfaultfd, FUSE), maybe the very one that is read, and only a
 * deadly signal interrupts that. There is none on a stack that is in use, either. */
static bool page_is_there(const struct memory *memory, uint64_t at)
{
	off_t entry_at = (off_t)(at / memory->page * sizeof(uint64_t));
	uint64_t entry = 0;

	if (memory->pagemap < 0)
		return true;
	return pread(memory->pagemap, &entry, sizeof(entry), entry_at) == sizeof(entry) &&
	       entry & (PAGE_IN_MEMORY | PAGE_IN_SWAP);
}

static bool page_copy(const struct memory *memory, uint64_t at, uint8_t *to, size_t size)
{
	struct iovec local = { to, size }, remote = { (void *)(uintptr_t)at, size };

	return process_vm_readv(memory->pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* As stack_copy() of bpf/stack.bpf.h does; but pages that are swapped out are
 * fetched. */
static uint32_t part_copy(const struct memory *memory, uint64_t at, uint64_t end, __u64 *pages,
			  size_t n_pages, uint8_t *data, uint32_t limit, bool *cut)
{
	uint32_t size = 0, part = KD_STACK_PAGE - at % KD_STACK_PAGE;

	for (size_t i = 0; i < n_pages && at < end && !*cut; i++) {
		uint32_t room = limit - size, wanted = part < room ? part : room;

		if (page_is_there(memory, at)) {
			*cut = wanted < part;
			if (wanted && page_copy(memory, at, data + size, wanted)) {
				pages[i / 64] |= 1ULL << i % 64;
				size += wanted;
			}
		}
		at += part;
		part = KD_STACK_PAGE;
	}
	return size;
}

static void stack_copy(const struct memory *memory, struct kd_trace *trace, uint8_t *data,
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
	struct memory memory;

	if (!data || !memory_open(&memory, pid)) {
		free(data);
		return NULL;
	}
	stack_copy(&memory, trace, data, limit);
	memory_close(&memory);
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
	struct memory memory;
	char *end = NULL;

	if (!memory_open(&memory, pid))
		return -EFAULT;
	for (; size <= KD_PATH_BYTES && !end; size += part) {
		part = memory.page - (address + size) % memory.page;
		if (part > KD_PATH_BYTES + 1 - size)
			part = KD_PATH_BYTES + 1 - size;
		if (!page_is_there(&memory, address + size) ||
		    !page_copy(&memory, address + size, (uint8_t *)path + size, part))
			break;
		end = memchr(path + size, '\0', part);
	}
	memory_close(&memory);
	if (end)
		return end - path + 1;
	return size > KD_PATH_BYTES ? KD_PATH_BYTES + 1 : -EFAULT;
}
