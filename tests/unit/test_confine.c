/* SPDX-License-Identifier: Apache-2.0 */
/* A process that has given up its power: its attempts are refused, except for what was left to it
 * and what any process does. And how others that have done so are seen. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/sandbox/confine.h"
#include "probes/hazards.h"
#include "sanitized.h"
#include "tap.h"

#define KEPT (CAPABILITY(CAP_KILL) | CAPABILITY(CAP_SYS_PTRACE))
#define NOT_CONFINED 250

/* The errno of an attempt, in a process of its own that was confined so; 0: it succeeded. */
static int attempt(uint64_t capabilities, unsigned int calls, long (*act)(void))
{
	const struct confine left = { capabilities, calls };
	const char *what;
	int status = 0;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		if (confine(&left, &what))
			_exit(NOT_CONFINED);
		errno = 0;
		_exit(act() < 0 ? errno : 0);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* --- Attempts --- */

static char *const true_words[] = { (char *)"true", NULL };
static union bpf_attr attr;

static const struct
try {
	const char *name;
	long number, words[6];
	unsigned int calls; /* by which it is left; 0: by none */
}
tries[] = {
	{ "execve", SYS_execve, { (long)"/bin/true", (long)true_words }, CONFINE_EXECUTE },
	{ "execveat",
	  SYS_execveat,
	  { AT_FDCWD, (long)"/bin/true", (long)true_words },
	  CONFINE_EXECUTE },
	{ "ptrace", SYS_ptrace, { PTRACE_TRACEME }, 0 },
	/* Without a tracee the kernel says so. */
	{ "ptrace to detach", SYS_ptrace, { PTRACE_DETACH, 1 }, CONFINE_DETACH },
	{ "mount",
	  SYS_mount,
	  { (long)"none", (long)"/proc/self/fdinfo", (long)"tmpfs" },
	  CONFINE_MOUNT },
	{ "unshare", SYS_unshare, { 0 }, CONFINE_MOUNT },
	{ "setns", SYS_setns, { -1, 0 }, 0 },
	{ "clone with a user namespace", SYS_clone, { CLONE_NEWUSER | SIGCHLD }, 0 },
	{ "setresuid", SYS_setresuid, { -1, -1, -1 }, CONFINE_USERS },
	{ "chroot", SYS_chroot, { (long)"/" }, CONFINE_USERS },
	{ "socket", SYS_socket, { AF_INET, SOCK_STREAM, 0 }, CONFINE_SOCKETS },
	{ "connect", SYS_connect, { -1 }, CONFINE_SOCKETS },
	{ "init_module", SYS_init_module, { 0, 0, (long)"" }, 0 },
	{ "kexec_load", SYS_kexec_load, { 0 }, 0 },
	{ "reboot", SYS_reboot, { 0 }, 0 },
	{ "keyctl", SYS_keyctl, { 0, -3 }, 0 },
	{ "process_vm_writev", SYS_process_vm_writev, { 1 }, 0 },
	{ "io_uring_setup", SYS_io_uring_setup, { 0 }, 0 },
	{ "typing at a terminal", SYS_ioctl, { -1, 0x5412 /* TIOCSTI */, (long)"x" }, 0 },
	{ "loading a BPF program", SYS_bpf, { BPF_PROG_LOAD, (long)&attr }, CONFINE_ATTACH },
	{ "perf_event_open", SYS_perf_event_open, { 0, 0, 0, -1 }, CONFINE_ATTACH },
};

static const struct try *next;

static long act_try(void)
{
	const long *words = next->words;

	return syscall(next->number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

/* All capabilities are kept, so that only the filter refuses; what it lets pass fails for reasons
 * of its own, or not at all. */
TEST(refused)
{
	const unsigned int all = CONFINE_ATTACH | CONFINE_EXECUTE | CONFINE_USERS | CONFINE_DETACH |
				 CONFINE_MOUNT | CONFINE_SOCKETS;

	for (next = tries; next < tries + COUNT(tries); next++) {
		unsigned int calls = next->calls;

		is_i64(attempt(UINT64_MAX, all & ~calls, act_try), EPERM, "%s is refused",
		       next->name);
		/* Not everybody may do it, and not every machine knows it. */
		if (calls && !geteuid() && calls != CONFINE_MOUNT)
			ok(attempt(UINT64_MAX, calls, act_try) != EPERM,
			   "%s is not, where it is left", next->name);
	}
}

/* --- What goes on --- */

static void *thread_do(void *nothing)
{
	return nothing;
}

static long act_ordinary(void)
{
	pthread_t thread;
	int status = 0, ends[2];
	pid_t child = fork();
	void *memory;

	if (!child)
		_exit(7);
	if (child < 0 || waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7)
		return -1;
	if (pthread_create(&thread, NULL, thread_do, NULL) || pthread_join(thread, NULL))
		return -1;
	memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) || kill(getpid(), 0))
		return -1;
	return open("/proc/self/status", O_RDONLY);
}

/* --- Capabilities and flags --- */

static uint64_t status_number(const char *label, int base)
{
	char line[256];
	uint64_t number = UINT64_MAX;
	FILE *file = fopen("/proc/thread-self/status", "r");

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, label, strlen(label)) && line[strlen(label)] == ':')
			number = strtoull(line + strlen(label) + 1, NULL, base);
	if (file)
		fclose(file);
	return number;
}

/* Which part is wrong; 0: none. */
static long act_look(void)
{
	static const char *const gone[] = { "CapInh", "CapAmb", "CapBnd" };

	errno = 1;
	if (status_number("CapPrm", 16) != KEPT || status_number("CapEff", 16) != KEPT)
		return -1;
	for (size_t i = 0; i < COUNT(gone); i++)
		if (errno++, status_number(gone[i], 16))
			return -1;
	errno = 5;
	if (status_number("NoNewPrivs", 10) != 1)
		return -1;
	errno = 6;
	return status_number("Seccomp", 10) == 2 ? 0 : -1;
}

static uint64_t other_state[2];
static int ends_of_other[2];

/* A thread that was there before. */
static void *other_look(void *nothing)
{
	char go;

	if (read(ends_of_other[0], &go, 1) != 1)
		return NULL;
	other_state[0] = status_number("NoNewPrivs", 10);
	other_state[1] = status_number("Seccomp", 10);
	return nothing;
}

TEST(threads)
{
	const struct confine left = { 0 };
	const char *what;
	pthread_t thread;
	int status = 0;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		if (pipe(ends_of_other) || pthread_create(&thread, NULL, other_look, NULL) ||
		    confine(&left, &what) || write(ends_of_other[1], "", 1) != 1)
			_exit(1);
		pthread_join(thread, NULL);
		_exit(other_state[0] == 1 && other_state[1] == 2 ? 0 : 2);
	}
	waitpid(child, &status, 0);
	is_i64(status, 0, "other threads get no_new_privs and the filter, too");
}

/* --- How one that is confined by somebody else is seen --- */

/* A process that is confined or not, and waits. */
static pid_t waiter(bool confined)
{
	int ready[2], wait[2]; /* pipes */
	char byte = 0;
	pid_t child;

	if (pipe(ready) || pipe(wait)) {
		perror("pipe");
		exit(1);
	}
	child = fork();
	if (!child) {
		if (confined)
			prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
		/* These two are what strict mode allows. */
		if (write(ready[1], &byte, 1) == 1)
			while (read(wait[0], &byte, 1) < 0)
				;
		_exit(0);
	}
	ok(child > 0 && read(ready[0], &byte, 1) == 1, "a process is ready");
	return child;
}

TEST(process)
{
	pid_t confined = waiter(true), open = waiter(false);

	ok(process_is_confined(confined), "a process in strict mode is confined");
	ok(!process_is_confined(open), "another one is not");
	kill(confined, SIGKILL);
	kill(open, SIGKILL);
	waitpid(confined, NULL, 0);
	waitpid(open, NULL, 0);
	ok(!process_is_confined(confined), "nor one that is gone");
}

TEST(calls)
{
	ok(call_is_filtered(SYS_getppid), "filters are asked about getppid");
	ok(!call_is_filtered(2000), "and not about a call that does not exist");
}

TEST(allowed)
{
	is_i64(attempt(0, 0, act_ordinary), 0, "processes, threads, memory and files go on");
	if (!geteuid())
		is_i64(attempt(KEPT, 0, act_look), 0, "it has what it keeps, and nothing else");
}
