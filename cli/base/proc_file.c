// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "proc_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "arith.h"
#include "clock.h"

/* --- Small files in /proc/PID --- */

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

ssize_t proc_file_read(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	got = read(fd, text, size - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got;
}

ssize_t proc_comm_read(pid_t pid, char *comm, size_t size)
{
	ssize_t length = proc_file_read(pid, "comm", comm, size);

	if (length > 0 && comm[length - 1] == '\n') /* else it did not fit */
		comm[--length] = '\0';
	return length;
}

bool symlink_read(const char *path, char *target, size_t size)
{
	const ssize_t length = readlink(path, target, size);
	const bool fits = length > 0 && (size_t)length < size;

	target[fits ? length : 0] = '\0';
	return fits;
}

bool proc_link_read(pid_t pid, const char *name, char *target, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return symlink_read(path, target, size);
}

bool proc_fd_link(pid_t pid, int fd, char *target, size_t size)
{
	char name[32];

	snprintf(name, sizeof(name), "fd/%d", fd);
	return proc_link_read(pid, name, target, size);
}

int proc_fd_mode(pid_t pid, int fd)
{
	char name[32], text[512];
	const char *flags = NULL;

	snprintf(name, sizeof(name), "fdinfo/%d", fd);
	if (proc_file_read(pid, name, text, sizeof(text)) > 0)
		flags = strstr(text, "flags:");
	return flags ? (int)(strtoul(flags + strlen("flags:"), NULL, 8) & O_ACCMODE) : -1;
}

int proc_same_namespace(pid_t pid, const char *kind)
{
	struct stat own, other;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	if (stat(path, &own))
		return -errno;
	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)proc_thread(pid), kind);
	if (stat(path, &other))
		return -errno;
	return own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

/* Starts like "12 (a) b) S 1 ...": the name may contain anything. */
bool proc_stat_read(struct proc_stat *stat, pid_t pid)
{
	char text[1024], *begin, *end;
	unsigned long long ticks, code, stack;
	unsigned int flags;

	if (proc_file_read(pid, "stat", text, sizeof(text)) <= 0)
		return false;
	begin = strchr(text, '(');
	end = strrchr(text, ')');
	if (!begin || !end || (size_t)(end - begin) > sizeof(stat->comm) ||
	    sscanf(end + 1,
		   " %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %u %*d %llu "
		   "%*u %*d %*u %llu %*u %llu",
		   &stat->state, &stat->parent, &flags, &stat->threads, &ticks, &code, &stack) != 7)
		return false;
	/* An ended first thread counts while there are others. */
	if ((stat->state == 'Z' || stat->state == 'X') && stat->threads)
		stat->threads--;
	memcpy(stat->comm, begin + 1, (size_t)(end - begin - 1));
	stat->comm[end - begin - 1] = '\0';
	stat->kernel = flags & PF_KTHREAD;
	stat->code = code;
	stat->stack = stack;
	stat->started = ticks * (NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
	return true;
}

/* "7 0x7ffd1 0x1 0xffffffff 0x0 0x8 0x0 0x7ffd0 0x7f1" */
bool proc_call_read(struct proc_call *call, pid_t tid)
{
	uint64_t *to = call->arguments;
	char text[256];

	return proc_file_read(tid, "syscall", text, sizeof(text)) > 0 &&
	       sscanf(text,
		      "%" SCNi64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
		      " %" SCNx64 " %" SCNx64 " %" SCNx64,
		      &call->number, &to[0], &to[1], &to[2], &to[3], &to[4], &to[5], &call->sp,
		      &call->ip) == 9;
}

size_t proc_children(pid_t pid, pid_t *children, size_t most)
{
	struct proc_list threads;
	char name[64];
	size_t n = 0;
	pid_t child;
	FILE *file;

	proc_list_begin(&threads, "/proc/%d/task", (int)pid);
	while (proc_list_next(&threads)) {
		snprintf(name, sizeof(name), "/proc/%d/task/%d/children", (int)pid, threads.number);
		file = fopen(name, "re");
		while (file && fscanf(file, "%d", &child) == 1)
			if (n++ < most)
				children[n - 1] = child;
		if (file)
			fclose(file);
	}
	return n;
}

/* Newlines in the name are escaped there, so labels are never spoofed. Reads by line, as that of a
 * process's groups has no practical limit. */
uint64_t proc_status_number(pid_t pid, const char *label)
{
	char path[64], *line = NULL;
	uint64_t number = 0;
	bool found = false;
	size_t size = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	while (file && !found && getline(&line, &size, file) > 0) {
		found = !strncmp(line, label, strlen(label));
		if (found)
			number = strtoull(line + strlen(label), NULL, 10);
	}
	free(line);
	if (file)
		fclose(file);
	return number;
}

/* Tests for an address space by the link to the executable: ended threads have none. */
static bool has_memory(pid_t tid)
{
	char path[32], program[2];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)tid);
	return readlink(path, program, sizeof(program)) >= 0 || errno != ENOENT;
}

pid_t proc_thread(pid_t pid)
{
	struct proc_list threads;
	pid_t found = pid;

	if (has_memory(pid))
		return pid;
	proc_list_begin(&threads, "/proc/%d/task", (int)pid);
	while (found == pid && proc_list_next(&threads))
		if (has_memory(threads.number))
			found = threads.number;
	proc_list_end(&threads);
	return found;
}

/* --- Directories whose entries are numbers --- */

void proc_list_begin(struct proc_list *list, const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	*list = (struct proc_list){ .directory = opendir(path) };
}

bool proc_list_next(struct proc_list *list)
{
	const struct dirent *entry;

	while (list->directory && (entry = readdir(list->directory))) {
		list->number = (int)strtol(entry->d_name, NULL, 10);
		if (isdigit((unsigned char)*entry->d_name))
			return true;
	}
	proc_list_end(list);
	return false;
}

void proc_list_end(struct proc_list *list)
{
	if (list->directory)
		closedir(list->directory);
	list->directory = NULL;
}

/* --- Memory of another process, which may try to block its reader --- */

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
	/* ENOENT: the process is gone as well; reading its memory fails too. */
	return remote->pagemap >= 0 || errno == ENOENT;
}

void remote_close(const struct remote *remote)
{
	if (remote->pagemap >= 0)
		close(remote->pagemap);
}

/* Reading a page that is neither in memory nor in swap may never end: a process (userfaultfd,
 * FUSE), maybe the same one, provides it, and only a fatal signal interrupts that. A stack in
 * use has no such pages. */
bool remote_has_page(const struct remote *remote, uint64_t at)
{
	off_t entry_at = (off_t)(at / remote->page * sizeof(uint64_t));
	uint64_t entry = 0;

	if (remote->pagemap < 0)
		return true;
	return pread(remote->pagemap, &entry, sizeof(entry), entry_at) == sizeof(entry) &&
	       entry & (PAGE_IN_MEMORY | PAGE_IN_SWAP);
}

size_t remote_has_bytes(const struct remote *remote, uint64_t at, size_t size)
{
	uint64_t entries[REMOTE_PAGES] = { 0 };
	const uint64_t lead = at % remote->page;
	size_t pages = (lead + size + remote->page - 1) / remote->page, n = 0;

	if (remote->pagemap < 0)
		return size;
	pages = pages < REMOTE_PAGES ? pages : REMOTE_PAGES;
	if (pread(remote->pagemap, entries, pages * sizeof(*entries),
		  (off_t)(at / remote->page * sizeof(*entries))) <= 0)
		return 0;
	while (n < pages && entries[n] & (PAGE_IN_MEMORY | PAGE_IN_SWAP))
		n++;
	if (!n)
		return 0;
	return n * remote->page - lead < size ? n * remote->page - lead : size;
}

bool remote_copy(const struct remote *remote, uint64_t at, void *to, size_t size)
{
	struct iovec local = { to, size }, from = { (void *)(uintptr_t)at, size };

	return process_vm_readv(remote->pid, &local, 1, &from, 1, 0) == (ssize_t)size;
}

bool remote_read(pid_t pid, uint64_t at, void *to, size_t size)
{
	struct remote remote;
	size_t first;
	bool copied;

	if (!remote_open(&remote, pid))
		return false;
	first = u64_min(size, remote.page - at % remote.page);
	copied = remote_has_page(&remote, at) && remote_copy(&remote, at, to, first);
	copied = copied && (first == size ||
			    (remote_has_page(&remote, at + first) &&
			     remote_copy(&remote, at + first, (char *)to + first, size - first)));
	remote_close(&remote);
	return copied;
}
