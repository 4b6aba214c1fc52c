// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "remote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#include "proc_file.h"

/* Documentation/admin-guide/mm/pagemap.rst */
#define PAGE_IN_MEMORY (1ULL << 63)
#define PAGE_IN_SWAP (1ULL << 62)

bool remote_open(struct remote *remote, pid_t pid)
{
	char name[32];

	remote->pid = proc_thread(pid);
	snprintf(name, sizeof(name), "/proc/%d/pagemap", (int)remote->pid);
	remote->page = (uint64_t)sysconf(_SC_PAGESIZE);
	remote->pagemap = open(name, O_RDONLY | O_CLOEXEC);
	/* ENOENT: the process has gone, too; then its memory is not found either. */
	return remote->pagemap >= 0 || errno == ENOENT;
}

void remote_close(const struct remote *remote)
{
	if (remote->pagemap >= 0)
		close(remote->pagemap);
}

/* To read a page that is neither in memory nor in swap may never end: a process
 * provides it (userfaultfd, FUSE), maybe the very one that is read, and only a
 * deadly signal interrupts that. There is none on a stack that is in use, either. */
bool remote_has_page(const struct remote *remote, uint64_t at)
{
	off_t entry_at = (off_t)(at / remote->page * sizeof(uint64_t));
	uint64_t entry = 0;

	if (remote->pagemap < 0)
		return true;
	return pread(remote->pagemap, &entry, sizeof(entry), entry_at) == sizeof(entry) &&
	       entry & (PAGE_IN_MEMORY | PAGE_IN_SWAP);
}

bool remote_copy(const struct remote *remote, uint64_t at, void *to, size_t size)
{
	struct iovec local = { to, size }, from = { (void *)(uintptr_t)at, size };

	return process_vm_readv(remote->pid, &local, 1, &from, 1, 0) == (ssize_t)size;
}
