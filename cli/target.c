// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "target.h"

#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exit_status.h"
#include "log.h"

#define MAX_LISTED 16
#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

/* What /proc/PID/status and /proc/PID/stat say of a process. */
struct process {
	char comm[64];
	pid_t tgid;
	unsigned int threads;
	char state;
	bool kernel;
};

struct matches {
	pid_t pids[MAX_LISTED];
	size_t n; /* may exceed what is listed */
};

/* Reads a small file of /proc/PID. Returns its length, -1 if it cannot. */
static ssize_t proc_read(pid_t pid, const char *name, char *text, size_t size)
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

/* The number behind a label of /proc/PID/status, which escapes newlines in the
 * process's name: a line begins where it seems to. */
static long status_number(const char *status, const char *label)
{
	const char *found = strstr(status, label);

	return found ? strtol(found + strlen(label), NULL, 10) : 0;
}

static bool process_read(pid_t pid, struct process *process)
{
	char status[4096], stat[1024], *end;
	unsigned int flags = 0;
	ssize_t length = proc_read(pid, "comm", process->comm, sizeof(process->comm));

	if (length <= 0 || proc_read(pid, "status", status, sizeof(status)) <= 0 ||
	    proc_read(pid, "stat", stat, sizeof(stat)) <= 0)
		return false;
	process->comm[length - 1] = '\0';
	end = strrchr(stat, ')'); /* the name may hold anything */
	if (!end || sscanf(end + 1, " %c %*d %*d %*d %*d %*d %u", &process->state, &flags) != 2)
		return false;
	process->tgid = (pid_t)status_number(status, "\nTgid:");
	process->threads = (unsigned int)status_number(status, "\nThreads:");
	process->kernel = flags & PF_KTHREAD;
	return true;
}

static struct matches processes_named(const char *comm)
{
	struct matches matches = { .n = 0 };
	struct process process;
	struct dirent *entry;
	DIR *proc = opendir("/proc");

	while (proc && (entry = readdir(proc))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (!isdigit((unsigned char)*entry->d_name) || !process_read(pid, &process) ||
		    strcmp(process.comm, comm) || process.state == 'Z')
			continue;
		if (matches.n < MAX_LISTED)
			matches.pids[matches.n] = pid;
		matches.n++;
	}
	if (proc)
		closedir(proc);
	return matches;
}

static int matches_several(const struct matches *matches, const char *comm)
{
	char list[MAX_LISTED * 12] = "";
	size_t length = 0;

	for (size_t i = 0; i < matches->n && i < MAX_LISTED; i++)
		length += (size_t)snprintf(list + length, sizeof(list) - length, " %d",
					   (int)matches->pids[i]);
	log_error("%zu processes named %s are running:%s%s", matches->n, comm, list,
		  matches->n > MAX_LISTED ? " ..." : "");
	log_hint("choose one with --pid PID");
	return EX_NOINPUT;
}

static int pid_by_name(pid_t *pid, const char *comm)
{
	static const char *const defaults[] = { "ovs-vswitchd", "vpp_main", "vpp" };
	const char *const *names = comm ? &comm : defaults;
	size_t n = comm ? 1 : sizeof(defaults) / sizeof(*defaults);

	for (size_t i = 0; i < n; i++) {
		struct matches matches = processes_named(names[i]);

		if (matches.n > 1)
			return matches_several(&matches, names[i]);
		*pid = matches.pids[0];
		if (matches.n)
			return 0;
	}
	if (comm)
		log_error("no process named %s is running", comm);
	else
		log_error("neither ovs-vswitchd nor vpp_main is running");
	log_hint("name the process with --pid PID or --comm NAME");
	return EX_UNAVAILABLE;
}

static bool program_is_foreign(pid_t pid)
{
	unsigned char ident[EI_NIDENT] = { 0 };

	if (proc_read(pid, "exe", (char *)ident, sizeof(ident)) < EI_NIDENT - 1)
		return false;
	return ident[EI_CLASS] != (sizeof(long) == 8 ? ELFCLASS64 : ELFCLASS32);
}

unsigned int target_threads(pid_t pid)
{
	struct process process;

	return process_read(pid, &process) && process.state != 'Z' ? process.threads : 0;
}

int target_find(struct target *target, pid_t pid, const char *comm)
{
	struct process process;
	int status;

	if (!pid) {
		status = pid_by_name(&pid, comm);
		if (status)
			return status;
	}
	if (!process_read(pid, &process) || process.state == 'Z') {
		log_error("there is no process %d%s", (int)pid,
			  access("/proc/self/stat", R_OK) ? " to be seen: /proc is not mounted"
							  : "");
		log_hint("look for it with `pgrep -a NAME`; --comm NAME finds it by name");
		return EX_UNAVAILABLE;
	}
	if (process.kernel) {
		log_error("%d is a kernel thread: it has no user space to be delayed", (int)pid);
		log_hint("give the PID of a process");
		return EX_UNAVAILABLE;
	}
	if (process.tgid != pid) {
		log_error("%d is a thread of process %d", (int)pid, (int)process.tgid);
		log_hint("give the process: --pid %d", (int)process.tgid);
		return EX_UNAVAILABLE;
	}
	target->pid = pid;
	target->threads = process.threads;
	target->is_vswitchd = !strcmp(process.comm, "ovs-vswitchd");
	target->foreign_calls = program_is_foreign(pid);
	return 0;
}
