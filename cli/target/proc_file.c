// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "proc_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/clock.h"

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

	if (length > 0)
		comm[--length] = '\0';
	return length;
}

/* It begins as "12 (a) b) S 1 ...": the name may hold anything. */
bool proc_stat_read(struct proc_stat *stat, pid_t pid)
{
	char text[1024], *begin, *end;
	unsigned long long ticks;
	unsigned int flags;

	if (proc_file_read(pid, "stat", text, sizeof(text)) <= 0)
		return false;
	begin = strchr(text, '(');
	end = strrchr(text, ')');
	if (!begin || !end || (size_t)(end - begin) > sizeof(stat->comm) ||
	    sscanf(end + 1,
		   " %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %u %*d %llu",
		   &stat->state, &stat->parent, &flags, &stat->threads, &ticks) != 5)
		return false;
	memcpy(stat->comm, begin + 1, (size_t)(end - begin - 1));
	stat->comm[end - begin - 1] = '\0';
	stat->kernel = flags & PF_KTHREAD;
	stat->started = ticks * (NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
	return true;
}
