// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "target.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/names.h"
#include "cli/base/proc_file.h"
#include "target_name.h"

#define MAX_LISTED 16

struct matches {
	const struct target_name *name;
	pid_t pids[MAX_LISTED];
	size_t n; /* may exceed what is listed */
};

/* The number behind a label of /proc/PID/status, which escapes newlines in the
 * process's name: a line begins where it seems to. */
static long status_number(const char *status, const char *label)
{
	const char *found = strstr(status, label);

	return found ? strtol(found + strlen(label), NULL, 10) : 0;
}

/* The process of a thread; 0 if it has ended. */
static pid_t leader_of(pid_t tid)
{
	char status[4096];

	return proc_file_read(tid, "status", status, sizeof(status)) > 0
		       ? (pid_t)status_number(status, "\nTgid:")
		       : 0;
}

/* Calls found() for every process that has not ended. */
static void processes_each(void (*found)(void *context, pid_t pid, const struct proc_stat *process),
			   void *context)
{
	struct proc_stat process;
	struct dirent *entry;
	DIR *proc = opendir("/proc");

	while (proc && (entry = readdir(proc))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (isdigit((unsigned char)*entry->d_name) && proc_stat_read(&process, pid) &&
		    process.threads)
			found(context, pid, &process);
	}
	if (proc)
		closedir(proc);
}

static void match(void *context, pid_t pid, const struct proc_stat *process)
{
	struct matches *matches = context;

	if (!target_name_fits(matches->name, pid, process->comm))
		return;
	if (matches->n < MAX_LISTED)
		matches->pids[matches->n] = pid;
	matches->n++;
}

static struct matches processes_named(const struct target_name *name)
{
	struct matches matches = { .name = name };

	processes_each(match, &matches);
	return matches;
}

struct finder {
	void (*found)(void *context, pid_t pid, const char *comm);
	void *context;
};

static void find(void *context, pid_t pid, const struct proc_stat *process)
{
	const struct finder *finder = context;

	if (!process->kernel && pid != getpid())
		finder->found(finder->context, pid, process->comm);
}

void target_each(void (*found)(void *context, pid_t pid, const char *comm), void *context)
{
	processes_each(find, &(struct finder){ found, context });
}

static void offer_name(void *context, pid_t pid, const char *comm)
{
	(void)pid;
	names_closest_offer(context, comm);
}

static void hint_names(const char *comm)
{
	struct names_closest closest;

	names_closest_init(&closest, comm);
	target_each(offer_name, &closest);
	names_closest_hint(&closest, "",
			   "`pgrep -af NAME` looks for it in command lines: give the PID");
	names_closest_clear(&closest);
}

static exit_status matches_several(const struct matches *matches, const char *comm)
{
	char list[MAX_LISTED * 12] = "";
	size_t length = 0;

	for (size_t i = 0; i < matches->n && i < MAX_LISTED; i++)
		length += (size_t)snprintf(list + length, sizeof(list) - length, " %d",
					   (int)matches->pids[i]);
	log_error("%zu processes named %s are running:%s%s", matches->n, comm, list,
		  matches->n > MAX_LISTED ? " ..." : "");
	log_hint("choose one with --pid PID, or watch all as one target with --comm %s --all",
		 comm);
	return EX_NOINPUT;
}

static void name_missing(const struct target_name *name)
{
	bool of_user = name->user != UID_ANY;
	char user[32] = "";

	if (of_user)
		snprintf(user, sizeof(user), " as user %u", (unsigned int)name->user);
	log_error("no process named %s is running%s%s%s", name->comm, name->file ? " " : "",
		  name->file ? name->file : "", user);
	if (name->file && access(name->file, F_OK))
		log_hint("--exe %s: %s", name->file, strerror(errno));
	else if ((!name->file && !of_user) || !target_name_hint(name))
		hint_names(name->comm);
}

static exit_status pid_by_name(pid_t *pid, const struct target_name *name)
{
	static const struct target_name defaults[] = { { "ovs-vswitchd", NULL, UID_ANY },
						       { "vpp_main", NULL, UID_ANY },
						       { "vpp", NULL, UID_ANY } };
	const struct target_name *names = name ? name : defaults;
	size_t n = name ? 1 : sizeof(defaults) / sizeof(*defaults);

	for (size_t i = 0; i < n; i++) {
		struct matches matches = processes_named(&names[i]);

		if (matches.n > 1)
			return matches_several(&matches, names[i].comm);
		*pid = matches.pids[0];
		if (matches.n)
			return 0;
	}
	if (name) {
		name_missing(name);
	} else {
		log_error("neither ovs-vswitchd nor vpp_main is running");
		log_hint("name the process, or give its PID");
	}
	return EX_UNAVAILABLE;
}

unsigned int target_threads(pid_t pid)
{
	struct proc_stat process;

	return proc_stat_read(&process, pid) ? process.threads : 0;
}

bool target_can_be(pid_t pid)
{
	struct proc_stat process;

	return pid != getpid() && proc_stat_read(&process, pid) && !process.kernel &&
	       process.parent != getpid();
}

static struct target target_fill(pid_t pid, const struct proc_stat *process)
{
	return (struct target){
		.pid = pid,
		.threads = process->threads,
		.is_vswitchd = !strcmp(process->comm, "ovs-vswitchd"),
	};
}

struct target target_of(pid_t pid)
{
	struct proc_stat process;

	return proc_stat_read(&process, pid) ? target_fill(pid, &process)
					     : (struct target){ .pid = pid };
}

exit_status target_find(struct target *target, pid_t pid, const struct target_name *name)
{
	struct proc_stat process;
	pid_t leader;
	int status;

	if (!pid) {
		status = pid_by_name(&pid, name);
		if (status)
			return status;
	}
	if (!proc_stat_read(&process, pid) || !process.threads || !(leader = leader_of(pid))) {
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
	if (leader != pid) {
		log_error("%d is a thread of process %d", (int)pid, (int)leader);
		log_hint("give the process: --pid %d", (int)leader);
		return EX_UNAVAILABLE;
	}
	*target = target_fill(pid, &process);
	return 0;
}
