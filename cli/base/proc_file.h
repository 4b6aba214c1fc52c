/* SPDX-License-Identifier: Apache-2.0 */
/* Small files of /proc/PID. */
#ifndef PROC_FILE_H
#define PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads what fits of a file, with a NUL behind it. Returns its length, -1 if it cannot be read. */
ssize_t proc_file_read(pid_t pid, const char *name, char *text, size_t size);

/* The same of a process's name, without the line feed at its end; others may be in it. */
ssize_t proc_comm_read(pid_t pid, char *comm, size_t size);

/* What /proc/PID/stat says of a process, or of the process of a thread. */
struct proc_stat {
	char comm[64]; /* of threads of the kernel longer than struct task_struct has it */
	bool kernel;   /* a thread of the kernel */
	pid_t parent;
	unsigned int threads; /* that have not ended; 0: the process has */
	uint64_t started;     /* ns since the machine's start, to a clock tick */
};

/* Reads it; false if there is none. */
bool proc_stat_read(struct proc_stat *stat, pid_t pid);

/* The thread by which a process's memory, files, namespaces and groups are to be had: the first
 * one, or where that has ended before the others (pthread_exit() in main()), another one. pid
 * itself if there is none. */
pid_t proc_thread(pid_t pid);

/* --- Another process's memory, which may do all it can to keep its reader waiting --- */

struct remote {
	pid_t pid;
	int pagemap; /* -1: this kernel has none */
	uint64_t page;
};

/* False if it may not be read. The caller closes it if not. */
bool remote_open(struct remote *remote, pid_t pid);
void remote_close(const struct remote *remote);

/* Whether the page of an address is in memory or in swap, so that to read it ends. */
bool remote_has_page(const struct remote *remote, uint64_t at);

/* Copies what is in one page. */
bool remote_copy(const struct remote *remote, uint64_t at, void *to, size_t size);

#endif
