/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel that lacks tracepoints.
 *
 * Runs the program, and whenever it asks to attach to one of these raw tracepoints, asks for one
 * that no kernel has instead: the program gets the kernel's own answer to that. */
#include "workload.h"

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

/* <linux/ptrace.h> and <sys/ptrace.h> exclude each other. */
#define GET_SYSCALL_INFO 0x420e
#define SYSCALL_ENTRY 1
struct call_info {
	__u8 op;
	__u8 pad[3];
	__u32 arch;
	__u64 ip, sp, number, args[6];
};

#define CALL_STOP (SIGTRAP | 0x80) /* PTRACE_O_TRACESYSGOOD */

static void child_read(pid_t pid, __u64 from, void *to, size_t size)
{
	struct iovec local = { to, size }, remote = { (void *)(uintptr_t)from, size };

	if (process_vm_readv(pid, &local, 1, &remote, 1, 0) < 0)
		die("process_vm_readv");
}

static bool is_listed(const char *names, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = names; (at = strstr(at, name)); at += length)
		if ((at == names || at[-1] == ',') && (at[length] == ',' || !at[length]))
			return true;
	return false;
}

/* Also where it is not to be written. */
static void byte_set(pid_t pid, __u64 address, char byte)
{
	long word;

	child_read(pid, address, &word, sizeof(word));
	*(char *)&word = byte;
	if (ptrace(PTRACE_POKEDATA, pid, (void *)(uintptr_t)address, (void *)word))
		die("PTRACE_POKEDATA");
}

/* A name whose first byte is another one for the time of a call; address 0: none. */
struct spoilt {
	__u64 address;
	char first;
};

static void call_look(pid_t pid, const char *names, struct spoilt *spoilt)
{
	struct call_info info;
	char name[64] = "";
	__u64 address;

	if (spoilt->address)
		byte_set(pid, spoilt->address, spoilt->first);
	spoilt->address = 0;
	if (ptrace((enum __ptrace_request)GET_SYSCALL_INFO, pid, (void *)sizeof(info), &info) < 0)
		die("PTRACE_GET_SYSCALL_INFO");
	if (info.op != SYSCALL_ENTRY || info.number != SYS_bpf ||
	    info.args[0] != BPF_RAW_TRACEPOINT_OPEN)
		return;
	child_read(pid, info.args[1] + offsetof(union bpf_attr, raw_tracepoint.name), &address,
		   sizeof(address));
	if (!address) /* one with BTF, which has the name */
		return;
	child_read(pid, address, name, sizeof(name));
	name[sizeof(name) - 1] = '\0';
	if (!is_listed(names, name))
		return;
	*spoilt = (struct spoilt){ address, *name };
	byte_set(pid, address, '#');
}

static void run(char **argv)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) || raise(SIGSTOP))
		die("PTRACE_TRACEME");
	execvp(*argv, argv);
	die(*argv);
}

VERB(hide, 2, MANY, "NAME[,NAME...] PROGRAM [ARG...]")
{
	struct spoilt spoilt = { 0 };
	pid_t pid;
	int status;

	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid)
		run(argv + 2);
	if (waitpid(pid, &status, 0) != pid ||
	    ptrace(PTRACE_SETOPTIONS, pid, NULL,
		   (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)))
		die("PTRACE_SETOPTIONS");
	for (long number = 0;;) {
		if (ptrace(PTRACE_SYSCALL, pid, NULL, (void *)number) ||
		    waitpid(pid, &status, 0) != pid)
			die("PTRACE_SYSCALL");
		if (WIFEXITED(status))
			return WEXITSTATUS(status);
		if (WIFSIGNALED(status))
			return 128 + WTERMSIG(status);
		number = WSTOPSIG(status);
		if (number == CALL_STOP)
			call_look(pid, argv[1], &spoilt);
		if (number == CALL_STOP || number == SIGTRAP) /* the latter: execve */
			number = 0;
	}
}
