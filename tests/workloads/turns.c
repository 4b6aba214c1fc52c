/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that have one PID, one after the other: turns
 *
 *   <- begin NAME   -> pid PID     a child of this name; the first one has any PID, those after it
 *                                  have the same, or: "taken", if another process has that by now
 *   <- work CALLS   -> done        the child makes so many getppid calls
 *   <- finish       -> finished    it has ended, and its PID is free
 */
#include "workload.h"

#include <errno.h>
#include <linux/sched.h>
#include <stdint.h>
#include <sys/wait.h>

struct child {
	pid_t pid;
	int to[2], from[2]; /* pipes */
};

/* Each number is so many calls, until the other end is closed. */
static _Noreturn void child_run(const struct child *child, const char *name)
{
	long calls;

	close(child->to[1]);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	pass_bytes(child->from[1], 1);
	while (read(child->to[0], &calls, sizeof(calls)) == sizeof(calls)) {
		for (long i = 0; i < calls; i++)
			syscall(SYS_getppid);
		pass_bytes(child->from[1], 1);
	}
	_exit(0);
}

/* With this PID, or any if it is 0. Returns false if another one has it. */
static bool child_begin(struct child *child, pid_t wanted, const char *name)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	long pid;

	if (wanted) {
		args.set_tid = (uintptr_t)&wanted;
		args.set_tid_size = 1;
	}
	if (pipe(child->to) || pipe(child->from))
		die("pipe");
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (!pid)
		child_run(child, name);
	if (pid < 0 && errno == EEXIST)
		return false;
	if (pid < 0)
		die("clone3");
	child->pid = (pid_t)pid;
	close(child->to[0]);
	close(child->from[1]);
	take_bytes(child->from[0], 1); /* it has its name */
	return true;
}

static void child_work(const struct child *child, long calls)
{
	if (write(child->to[1], &calls, sizeof(calls)) != sizeof(calls))
		die("write to the child");
	take_bytes(child->from[0], 1);
}

static void child_finish(const struct child *child)
{
	const struct timespec pause = { .tv_nsec = 2000000 };

	close(child->to[1]);
	close(child->from[0]);
	if (waitpid(child->pid, NULL, 0) != child->pid)
		die("waitpid");
	nanosleep(&pause, NULL); /* it may be on its way out of its CPU */
}

int main(void)
{
	struct child child = { .pid = 0 };
	char line[64];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	say("ready");
	for (;;) {
		read_line(line, sizeof(line));
		if (!strncmp(line, "begin ", 6)) {
			if (child_begin(&child, child.pid, line + 6))
				say("pid %d", child.pid);
			else
				say("taken");
		} else if (!strncmp(line, "work ", 5)) {
			child_work(&child, strtol(line + 5, NULL, 10));
			say("done");
		} else if (!strcmp(line, "finish")) {
			child_finish(&child);
			say("finished");
		} else {
			return 0;
		}
	}
}
