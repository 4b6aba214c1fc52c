// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/names.h"
#include "cli/base/proc_file.h"
#include "cli/base/texts.h"
#include "cli/sandbox/confine.h"
#include "pids.h"

/* --- Processes by name --- */

struct target_name target_name_of(const struct options *options)
{
	return (struct target_name){
		.comm = options->comm,
		.file = options->exe,
		.user = options->uid,
	};
}

/* Returns 0 or a negative errno. Uses cached attributes: the file system may not respond. */
static int file_look(struct statx *file, const char *path)
{
	return statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, file) ? -errno : 0;
}

static int file_fits(const char *file, pid_t pid)
{
	struct statx wanted, found;
	char path[32];
	int error;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)proc_thread(pid));
	error = file_look(&wanted, file) ?: file_look(&found, path);
	if (error)
		return error;
	return wanted.stx_dev_major == found.stx_dev_major &&
	       wanted.stx_dev_minor == found.stx_dev_minor && wanted.stx_ino == found.stx_ino;
}

static bool users_read(pid_t pid, unsigned int *real, unsigned int *effective)
{
	char status[4096], *line;

	if (proc_file_read(pid, "status", status, sizeof(status)) <= 0)
		return false;
	line = strstr(status, "\nUid:"); /* newlines in the name are escaped there */
	return line && sscanf(line, "\nUid: %u %u", real, effective) == 2;
}

/* A set-user-ID program keeps its caller as the real user. */
static bool user_fits(uid_t user, pid_t pid)
{
	unsigned int real, effective;

	return users_read(pid, &real, &effective) && real == user && effective == user;
}

bool target_name_fits(const struct target_name *name, pid_t pid, const char *comm)
{
	return !strcmp(comm, name->comm) && (name->user == UID_ANY || user_fits(name->user, pid)) &&
	       (!name->file || file_fits(name->file, pid) > 0);
}

/* --- All processes --- */

/* Goes to the next process that is alive, as target_next() does. */
static bool process_next(struct process_walk *walk)
{
	if (!walk->pid)
		proc_list_begin(&walk->list, "/proc");
	while (proc_list_next(&walk->list)) {
		walk->pid = walk->list.number;
		if (proc_stat_read(&walk->stat, walk->pid) && walk->stat.threads)
			return true;
	}
	return false;
}

bool target_next(struct process_walk *walk)
{
	bool found;

	do
		found = process_next(walk);
	while (found && (walk->stat.kernel || walk->pid == getpid()));
	return found;
}

/* After an error that nothing matches: explains how processes with this comm differ. Returns
 * false if there are none. */
static bool target_name_hint(const struct target_name *name)
{
	struct process_walk walk = { 0 };
	char file[PATH_MAX];
	unsigned int real = 0, effective = 0;
	pid_t first = 0;
	size_t n = 0;

	while (target_next(&walk))
		if (!strcmp(walk.stat.comm, name->comm) && !n++)
			first = walk.pid;
	if (!n)
		return false;
	if (name->file && file_fits(name->file, first) == -EACCES) {
		log_hint("whose executable process %d runs may not be read: that takes "
			 "CAP_SYS_PTRACE",
			 (int)first);
		return true;
	}
	proc_link_read(proc_thread(first), "exe", file, sizeof(file));
	users_read(first, &real, &effective);
	log_hint("%s%d has this name, but runs %s as user %u; --pid takes any process",
		 n > 1 ? "among others " : "", (int)first, *file ? file : "an unknown file",
		 effective);
	return true;
}

/* --- Choosing a process --- */

#define MAX_LISTED 16

struct matches {
	pid_t pids[MAX_LISTED];
	size_t n; /* may exceed the listed ones */
};

static struct matches processes_named(const struct target_name *name)
{
	struct process_walk walk = { 0 };
	struct matches matches = { .n = 0 };

	while (process_next(&walk)) {
		if (!target_name_fits(name, walk.pid, walk.stat.comm))
			continue;
		if (matches.n < MAX_LISTED)
			matches.pids[matches.n] = walk.pid;
		matches.n++;
	}
	return matches;
}

static void hint_names(const char *comm)
{
	struct process_walk walk = { 0 };
	struct names_closest closest;

	names_closest_init(&closest, comm);
	while (target_next(&walk))
		names_closest_offer(&closest, walk.stat.comm);
	names_closest_hint(&closest, "",
			   "`pgrep -af NAME` looks for it in command lines: give the PID");
	names_closest_clear(&closest);
}

static exit_status matches_multiple(const struct matches *matches, const char *comm)
{
	char list[MAX_LISTED * 12] = "";

	for (size_t i = 0; i < matches->n && i < MAX_LISTED; i++)
		text_append(list, sizeof(list), " %d", (int)matches->pids[i]);
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
		log_hint("exe=%s: %s", name->file, strerror(errno));
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
			return matches_multiple(&matches, names[i].comm);
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
	bool known;

	if (!pid) {
		status = pid_by_name(&pid, name);
		if (status)
			return status;
	}
	known = proc_stat_read(&process, pid);
	if (!known && kill(pid, 0) && errno == EPERM) {
		log_error("process %d is hidden from this user: see hidepid= in proc(5)", (int)pid);
		capability_hint_ptrace(NULL);
		return EX_NOPERM;
	}
	if (!known || !process.threads || !(leader = (pid_t)proc_status_number(pid, "Tgid:"))) {
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

/* --- By options --- */

/* Daemons fork at startup, and the first process exits. */
#define SETTLE_NS (50 * NSEC_PER_MSEC)
#define LEAST_PAUSE (50 * NSEC_PER_MSEC)
/* File times may come from a coarse clock, start times are in clock ticks. */
#define TIME_SLACK (NSEC_PER_SEC)

/* --- Another PID namespace --- */

static exit_status namespace_failed(const struct options *options, pid_t pid, int error)
{
	log_error("ns=%d: %s", (int)options->pid_ns,
		  error == -ENOENT  ? "there is no such process"
		  : error == -ESRCH ? "there is no process with this PID in its namespace"
				    : strerror(-error));
	if (error == -ESRCH)
		log_hint("`nsenter -t %d -p -m ps -e` lists its processes, and %d is not one",
			 (int)options->pid_ns, (int)pid);
	else
		log_hint("give the PID, as seen from here, of any process in the container");
	return error == -EACCES || error == -EPERM ? EX_NOPERM : EX_UNAVAILABLE;
}

/* --- A file with the PID --- */

/* Reads the PID as seen here. Returns 0 or a negative errno; *in_namespace: the errno is about
 * the namespace. */
static int pidfile_find(const struct options *options, pid_t *pid, uint64_t *written,
			bool *in_namespace)
{
	int error = pidfile_read(options->pidfile, pid, written);

	*in_namespace = !error;
	if (!error && options->pid_ns)
		error = pid_namespace_find("/proc", options->pid_ns, *pid, pid);
	return error;
}

static exit_status pidfile_failed(const struct options *options, int error)
{
	log_error("cannot read a PID from %s: %s", options->pidfile,
		  error == -EINVAL    ? "its first line is not a PID"
		  : error == -ENODATA ? "it is empty"
				      : strerror(-error));
	log_hint("is the daemon running? --wait waits until it has written the file");
	return error == -EACCES || error == -EPERM ? EX_NOPERM : EX_UNAVAILABLE;
}

static exit_status pidfile_take(const struct options *options, pid_t *pid)
{
	struct identity process;
	bool in_namespace;
	uint64_t written;
	int error = pidfile_find(options, pid, &written, &in_namespace);

	if (error)
		return in_namespace ? namespace_failed(options, *pid, error)
				    : pidfile_failed(options, error);
	if (!identity_read(&process, *pid)) {
		log_error("%s: there is no process %d any more", options->pidfile, (int)*pid);
		log_hint("is the daemon running? --wait waits until it has written the file");
		return EX_UNAVAILABLE;
	}
	if (identity_started_at(&process) > written + TIME_SLACK)
		log_warn("%s is older than process %d (%s): it may be meant for one that has ended",
			 options->pidfile, (int)*pid, process.name);
	return 0;
}

/* True if the file names a process that wrote it, or whose parent did. */
static bool pidfile_is_ready(const struct options *options)
{
	struct identity process;
	bool in_namespace;
	uint64_t written;
	pid_t pid;

	return !pidfile_find(options, &pid, &written, &in_namespace) &&
	       identity_read(&process, pid) &&
	       identity_started_at(&process) <= written + TIME_SLACK;
}

/* --- Waiting --- */

static bool name_is_there(const struct target_name *name)
{
	struct process_walk walk = { 0 };
	bool found = false;

	while (target_next(&walk))
		found = found || target_name_fits(name, walk.pid, walk.stat.comm);
	return found;
}

/* Waits until a call may be worthwhile, for at most ns. */
static void appear_wait(const struct appear *appear, uint64_t ns)
{
	struct pollfd fd = { appear->fd, POLLIN, 0 };
	struct timespec timeout =
		clock_timespec(u64_min(ns, u64_sub(appear->next, clock_monotonic())));

	ppoll(&fd, 1, &timeout, NULL);
}

static void name_await(const struct target_name *name, uint64_t deadline)
{
	struct appear appear;
	uint64_t now;

	appear_open(&appear, name->comm);
	while ((now = clock_monotonic()) < deadline) {
		if (appear_look(&appear) && name_is_there(name)) {
			clock_wait_until(now + SETTLE_NS);
			if (name_is_there(name))
				break;
		}
		appear_wait(&appear, deadline - now);
	}
	appear_close(&appear);
}

static void pidfile_await(const struct options *options, uint64_t deadline)
{
	uint64_t began = clock_monotonic(), now;

	while (began < deadline && !pidfile_is_ready(options)) {
		now = clock_monotonic();
		now += u64_max(LEAST_PAUSE, APPEAR_SHARE * (now - began));
		clock_wait_until(u64_min(now, deadline));
		began = clock_monotonic();
	}
}

void target_await(const struct options *options)
{
	uint64_t deadline = u64_add(clock_monotonic(), options->wait);
	const struct target_name name = target_name_of(options);

	if (!options->wait)
		return;
	if (options->pidfile) {
		if (!pidfile_is_ready(options))
			log_note("waiting for the process of %s", options->pidfile);
		pidfile_await(options, deadline);
	} else {
		if (!name_is_there(&name))
			log_note("waiting for a process named %s", name.comm);
		name_await(&name, deadline);
	}
}

exit_status target_choose(struct target *target, const struct options *options, pid_t pid)
{
	const struct target_name name = target_name_of(options);
	int status = 0, error = 0;

	target_await(options);
	if (options->pidfile)
		status = pidfile_take(options, &pid);
	else if (options->pid_ns)
		error = pid_namespace_find("/proc", options->pid_ns, pid, &pid);
	if (error)
		status = namespace_failed(options, pid, error);
	return status ? status : target_find(target, pid, name.comm ? &name : NULL);
}
