/* SPDX-License-Identifier: Apache-2.0 */
/* Small files in /proc/PID. */
#ifndef PROC_FILE_H
#define PROC_FILE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads what fits of a file, and adds a NUL. Returns the length, -1 if unreadable. */
ssize_t proc_file_read(pid_t pid, const char *name, char *text, size_t size);

/* Reads a process's name without its final line feed; it may contain others. */
ssize_t proc_comm_read(pid_t pid, char *comm, size_t size);

/* Reads where a symbolic link leads. Sets "" and returns false if there is none, or it does not
 * fit. */
bool symlink_read(const char *path, char *target, size_t size);

/* The same for one in /proc/PID, such as "exe". */
bool proc_link_read(pid_t pid, const char *name, char *target, size_t size);

/* The same for a descriptor. */
bool proc_fd_link(pid_t pid, int fd, char *target, size_t size);

/* How a descriptor was opened: O_RDONLY, O_WRONLY or O_RDWR; -1: not known. */
int proc_fd_mode(pid_t pid, int fd);

/* Returns 1 if a process is in this one's namespace of a kind, such as "net"; 0: in another; or a
 * negative errno. */
int proc_same_namespace(pid_t pid, const char *kind);

/* Data in /proc/PID/stat about a process, or the process of a thread. */
struct proc_stat {
	char comm[64]; /* longer for kernel threads than in struct task_struct */
	bool kernel;   /* a kernel thread */
	char state;    /* 'R': it runs, or waits for a CPU */
	pid_t parent;
	unsigned int threads; /* that are alive; 0: the process has ended */
	uint64_t started;     /* ns since boot, rounded to a clock tick */
	/* Where its code and its stack begin: execve() places them anew, fork() keeps them. 0 or
	 * 1: unknown. */
	uint64_t code, stack;
};

/* Reads it; false if missing. */
bool proc_stat_read(struct proc_stat *stat, pid_t pid);

/* Arguments of the system call in which a thread sleeps, and where it was in user mode. */
#define PROC_ARGUMENTS 6
struct proc_call {
	int64_t number;
	uint64_t arguments[PROC_ARGUMENTS], sp, ip;
};

/* Reads them from /proc/TID/syscall; false if it runs, or sleeps in none. */
bool proc_call_read(struct proc_call *call, pid_t tid);

/* Reads the PIDs of a process's children, most of them at most. Returns how many there are; 0 also
 * without CONFIG_PROC_CHILDREN. */
size_t proc_children(pid_t pid, pid_t *children, size_t most);

/* Returns the number after a label such as "Tgid:" in /proc/PID/status, also of a thread; 0:
 * absent. */
uint64_t proc_status_number(pid_t pid, const char *label);

/* Thread that gives access to a process's memory, files, namespaces and groups: the first one,
 * or another if that has ended earlier (pthread_exit() in main()). pid itself without any. */
pid_t proc_thread(pid_t pid);

/* --- Directories whose entries are numbers: processes, threads, descriptors --- */

struct proc_list {
	DIR *directory; /* NULL: at its end, or none */
	int number;
};

/* Begins to list one, such as "/proc/%d/task". One that cannot be read is empty. */
__attribute__((format(printf, 2, 3))) void proc_list_begin(struct proc_list *list,
							   const char *format, ...);

/* Goes to the next entry; false behind the last one. */
bool proc_list_next(struct proc_list *list);

/* Ends it, wherever it is. */
void proc_list_end(struct proc_list *list);

/* --- Memory of another process, which may try to block its reader --- */

struct remote {
	pid_t pid;
	int pagemap; /* -1: unsupported */
	uint64_t page;
};

/* False if it may not be read. Otherwise the caller closes it. */
bool remote_open(struct remote *remote, pid_t pid);
void remote_close(const struct remote *remote);

/* True if the page at an address is in memory or swap, so that reading it ends. */
bool remote_has_page(const struct remote *remote, uint64_t at);

/* How many of these bytes are in memory or swap before the first that is not; of at most
 * REMOTE_PAGES pages. */
#define REMOTE_PAGES 32
size_t remote_has_bytes(const struct remote *remote, uint64_t at, size_t size);

/* Copies data in pages that are there. */
bool remote_copy(const struct remote *remote, uint64_t at, void *to, size_t size);
/* Copies what lies in one page or two of a process, if they are there. */
bool remote_read(pid_t pid, uint64_t at, void *to, size_t size);

#endif
