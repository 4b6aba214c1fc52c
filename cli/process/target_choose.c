// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "target_choose.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/base/log.h"
#include "appear.h"
#include "identity.h"
#include "pid_namespace.h"
#include "pidfile.h"
#include "target_name.h"

/* A daemon forks when it begins, and its first process ends. */
#define SETTLE_NS (50 * NSEC_PER_MSEC)
#define LEAST_PAUSE (50 * NSEC_PER_MSEC)
/* A file's time may be that of a coarse clock, a start that of a clock tick. */
#define TIME_SLACK (NSEC_PER_SEC)

/* --- Another PID namespace --- */

static exit_status namespace_failed(const struct options *options, pid_t pid, int error)
{
	log_error("--pid-ns %d: %s", (int)options->pid_ns,
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

/* Reads the PID as it is here. Returns 0, or a negative errno; *in_namespace says which of
 * both it is about. */
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

/* True if the file leads to a process that has written it, or that its parent has. */
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

struct namesake {
	const struct target_name *name;
	bool found;
};

static void namesake_compare(void *context, pid_t pid, const char *comm)
{
	struct namesake *namesake = context;

	namesake->found = namesake->found || target_name_fits(namesake->name, pid, comm);
}

static bool name_is_there(const struct target_name *name)
{
	struct namesake namesake = { .name = name };

	target_each(namesake_compare, &namesake);
	return namesake.found;
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
