// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "command.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/exit_status.h"
#include "cli/base/log.h"

/* --- Where a program begins whose probes have to be there before --- */

#define AUXV_MOST 128 /* entries; the kernel has some 24 */

/* The instruction that stops a process, and how far behind it the process then is. */
#if defined(__x86_64__)
#define BREAK_BYTES 1
#define BREAK_CODE 0xccUL
#define BEHIND_BREAK 1
#define PC(regs) ((regs)->rip)
#elif defined(__aarch64__)
#define BREAK_BYTES 4
#define BREAK_CODE 0xd4200000UL
#define BEHIND_BREAK 0
#define PC(regs) ((regs)->pc)
#else
#define BREAK_BYTES 0
#endif

#if BREAK_BYTES

static int registers_get(pid_t pid, struct user_regs_struct *regs)
{
	struct iovec part = { regs, sizeof(*regs) };

	if (ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &part))
		return -errno;
	/* Those of a 32-bit process are fewer. */
	return part.iov_len == sizeof(*regs) ? 0 : -ENOTSUP;
}

static int registers_set(pid_t pid, struct user_regs_struct *regs)
{
	struct iovec part = { regs, sizeof(*regs) };

	return ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRSTATUS, &part) ? -errno : 0;
}

/* Where the program begins, not its loader; as the kernel has said to it. */
static int entry_read(pid_t pid, uint64_t *entry)
{
	uint64_t words[2 * AUXV_MOST];
	char path[64];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	got = read(fd, words, sizeof(words));
	close(fd);
	for (ssize_t i = 0; (i + 2) * (ssize_t)sizeof(*words) <= got; i += 2) {
		*entry = words[i + 1];
		if (words[i] == AT_ENTRY)
			return 0;
	}
	return -ENOENT;
}

/* Lets the process go until it stops by itself. Signals are its own. -EAGAIN: it has become another
 * program, as sanitizers do to turn off the randomization of addresses. */
static int break_await(pid_t pid, int *status)
{
	long number = 0;

	for (;;) {
		if (ptrace(PTRACE_CONT, pid, NULL, (void *)number))
			return -errno;
		while (waitpid(pid, status, __WALL) < 0) {
			if (errno != EINTR)
				return -errno;
		}
		if (!WIFSTOPPED(*status))
			return -ECHILD;
		if (*status >> 8 == SIGTRAP)
			return 0;
		if (*status >> 16 == PTRACE_EVENT_EXEC)
			return -EAGAIN;
		number = *status >> 16 ? 0 : WSTOPSIG(*status);
	}
}

/* The same of the program that it is now. */
static int entry_reach(pid_t pid, int *status)
{
	struct user_regs_struct regs;
	uint64_t entry = 0;
	unsigned long code, mask = ~0UL >> (8 * (sizeof(mask) - BREAK_BYTES));
	int error = registers_get(pid, &regs) ?: entry_read(pid, &entry);

	if (error)
		return error;
	errno = 0;
	code = (unsigned long)ptrace(PTRACE_PEEKTEXT, pid, (void *)entry, NULL);
	if (errno)
		return -errno;
	if (ptrace(PTRACE_POKETEXT, pid, (void *)entry, (void *)((code & ~mask) | BREAK_CODE)))
		return -errno;
	error = break_await(pid, status);
	if (error == -ECHILD || error == -EAGAIN)
		return error; /* its memory is gone */
	if (ptrace(PTRACE_POKETEXT, pid, (void *)entry, (void *)code))
		return -errno;
	error = error ?: registers_get(pid, &regs);
	if (error || PC(&regs) != entry + BEHIND_BREAK)
		return error; /* another trap, which is its own */
	PC(&regs) = entry;
	return registers_set(pid, &regs);
}

/* Lets a process that this thread traces, stopped after its execve(), go on until its libraries are
 * mapped and initialized: to where its loader jumps to. It is stopped there as it was before, with
 * nothing left in its memory (a child that its libraries have forked meanwhile has the breakpoint
 * still). Returns 0; a negative errno, -ENOTSUP on machines of another kind; or -ECHILD if it has
 * ended: then *status is that of waitpid(). */
static int entry_point_reach(pid_t pid, int *status)
{
	int error;

	do
		error = entry_reach(pid, status);
	while (error == -EAGAIN);
	return error;
}

#else

int entry_point_reach(pid_t pid, int *status)
{
	(void)pid;
	(void)status;
	return -ENOTSUP;
}

#endif

/* --- The program --- */

struct command {
	pid_t pid;
	bool released, reaped;
	int status; /* of waitpid() */
};

static const int changed_signals[COMMAND_SIGNALS] = { SIGPIPE, SIGXFSZ, SIGCHLD };

void command_signals_read(struct command_signals *signals)
{
	for (int i = 0; i < COMMAND_SIGNALS; i++)
		sigaction(changed_signals[i], NULL, &signals->actions[i]);
}

/* The child: waits until it is traced, and becomes the program. If it cannot, the parent
 * is given the errno. */
static _Noreturn void child_run(int parent, char *const words[],
				const struct command_signals *signals)
{
	char go;
	int error;

	if (read(parent, &go, 1) != 1)
		_exit(EX_OSERR);
	for (int i = 0; i < COMMAND_SIGNALS; i++)
		sigaction(changed_signals[i], &signals->actions[i], NULL);
	execvp(words[0], words);
	error = errno;
	if (write(parent, &error, sizeof(error)) != sizeof(error))
		_exit(EX_OSERR);
	_exit(EX_NOTRUN);
}

static exit_status start_failed(const char *name, const char *what, int error)
{
	log_error("cannot start %s: %s: %s", name, what, strerror(error));
	if (error == EPERM || error == EACCES)
		log_hint("to hold it until everything is attached takes CAP_SYS_PTRACE; or start "
			 "it yourself, and give its PID");
	return EX_OSERR;
}

static exit_status exec_failed(const char *name, int error)
{
	log_error("cannot run %s: %s", name, strerror(error));
	if (error == ENOENT)
		log_hint("give a program in PATH or the path of one; a script also needs the "
			 "interpreter that its first line names");
	else
		log_hint("check the file's type and permissions, and those of its folders");
	return error == ENOENT ? EX_NOTFOUND : EX_NOTRUN;
}

/* Lets the traced child go until it has become the program, with no instruction of it run. */
static exit_status exec_await(struct command *command, const char *name, int child)
{
	int error = 0;

	for (;;) {
		int event;

		if (waitpid(command->pid, &command->status, __WALL) < 0) {
			if (errno == EINTR)
				continue;
			return start_failed(name, "waitpid", errno);
		}
		if (!WIFSTOPPED(command->status))
			break;
		event = command->status >> 16;
		if (event == PTRACE_EVENT_EXEC)
			return 0;
		/* Signals that come this early are its own, too. */
		ptrace(PTRACE_CONT, command->pid, NULL,
		       (void *)(long)(event ? 0 : WSTOPSIG(command->status)));
	}
	command->reaped = true;
	if (read(child, &error, sizeof(error)) == sizeof(error))
		return exec_failed(name, error);
	log_error("%s was killed before it began to run", name);
	return EX_NOTRUN;
}

exit_status command_start(struct command **out, char *const words[],
			  const struct command_signals *signals)
{
	struct command *command = calloc(1, sizeof(*command));
	int ends[2], status;

	*out = command;
	if (!command)
		return log_no_memory();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
		command->reaped = true;
		return start_failed(words[0], "socketpair", errno);
	}
	command->pid = fork();
	if (!command->pid) {
		close(ends[0]);
		child_run(ends[1], words, signals);
	}
	close(ends[1]);
	if (command->pid < 0) {
		command->reaped = true;
		status = start_failed(words[0], "fork", errno);
	} else if (ptrace(PTRACE_SEIZE, command->pid, NULL,
			  (void *)(PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL))) {
		status = start_failed(words[0], "ptrace", errno);
	} else if (write(ends[0], "", 1) != 1) {
		status = start_failed(words[0], "write", errno);
	} else {
		status = exec_await(command, words[0], ends[0]);
	}
	close(ends[0]);
	return status;
}

exit_status command_load(struct command *command, const char *name)
{
	int error = entry_point_reach(command->pid, &command->status);

	if (error == -ECHILD) {
		command->reaped = true;
		log_error("%s ended before its own code began", name);
		log_hint("what it has printed says why: often a library is missing");
		return EX_NOTRUN;
	}
	return error && error != -ENOTSUP ? start_failed(name, "ptrace", -error) : 0;
}

pid_t command_pid(const struct command *command)
{
	return command->pid;
}

void command_release(struct command *command)
{
	if (!command || command->released)
		return;
	command->released = true;
	/* Fails if it was killed meanwhile. */
	ptrace(PTRACE_DETACH, command->pid, NULL, NULL);
}

bool command_is_released(const struct command *command)
{
	return command && command->released;
}

int command_status(struct command *command)
{
	if (!command_is_released(command))
		return 0;
	if (!command->reaped)
		command->reaped = waitpid(command->pid, &command->status, WNOHANG) > 0;
	if (!command->reaped)
		return 0;
	return WIFSIGNALED(command->status) ? EX_SIGNALLED + WTERMSIG(command->status)
					    : WEXITSTATUS(command->status);
}

void command_close(struct command *command)
{
	if (!command)
		return;
	if (!command->released && !command->reaped) {
		kill(command->pid, SIGKILL);
		while (waitpid(command->pid, &command->status, __WALL) < 0 && errno == EINTR)
			;
	}
	free(command);
}
