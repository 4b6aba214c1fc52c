// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "entry_point.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

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

int entry_point_reach(pid_t pid, int *status)
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
