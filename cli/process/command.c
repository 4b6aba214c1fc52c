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

/* --- Running a program up to its entry point --- */

#define AUXV_MOST 128 /* entries; the kernel has about 24 */

/* Breakpoint instruction, and the distance of the program counter after it. */
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
	/* A 32-bit process has fewer. */
	return part.iov_len == sizeof(*regs) ? 0 : -ENOTSUP;
}

static int registers_set(pid_t pid, struct user_regs_struct *regs)
{
	struct iovec part = { regs, sizeof(*regs) };

	return ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRSTATUS, &part) ? -errno : 0;
}

/* Reads the program's entry point, not the loader's, from the auxiliary vector. */
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

/* Continues the process until it stops by itself; signals are passed on. -EAGAIN: it executed
 * again, as sanitizers do to turn off address space randomization. */
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

/* Continues to the entry point of the current program. */
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
		return error; /* another trap, of its own */
	PC(&regs) = entry;
	return registers_set(pid, &regs);
}

/* Continues a process that this thread traces, stopped after execve(), until its libraries are
 * mapped and initialized: to where the loader jumps to the program. Stops it there in the
 * original state, with its memory restored. A child that its libraries forked meanwhile still
 * has the breakpoint. Returns 0; a negative errno, -ENOTSUP on other architectures; or -ECHILD
 * if it ended, with *status from waitpid(). */
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

/* --- Program --- */

struct command {
	pid_t pid;
	bool released, reaped;
	int status; /* from waitpid() */
};

static const int changed_signals[COMMAND_SIGNALS] = { SIGPIPE, SIGXFSZ, SIGCHLD };

void command_signals_read(struct command_signals *signals)
{
	for (int i = 0; i < COMMAND_SIGNALS; i++)
		sigaction(changed_signals[i], NULL, &signals->actions[i]);
}

/* Child: waits until it is traced, and executes the program. On failure, sends the errno to the
 * parent. */
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
		log_hint("it is held by ptrace() until everything is attached: does "
			 "kernel.yama.ptrace_scope or a security module forbid it? Or start it "
			 "yourself, and give its PID");
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

/* Continues the traced child until it has executed the program, before its first instruction. */
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
		/* Signals this early are passed on, too. */
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
	/* Fails if the child was killed meanwhile. */
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
