/* SPDX-License-Identifier: Apache-2.0 */
/* A process that has given up its power: what it tries is refused, and what was left to it, or is
 * what any process does, is not. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
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

#include "cli/base/confine.h"
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

static long act_execute(void)
{
	char *words[] = { (char *)"true", NULL };

	return execv("/bin/true", words);
}

static long act_execute_file(void)
{
	char *words[] = { (char *)"true", NULL };
	int fd = open("/bin/true", O_RDONLY | O_CLOEXEC);

	return syscall(SYS_execveat, fd, "", words, NULL, AT_EMPTY_PATH);
}

static long act_trace(void)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

/* Without a tracee the kernel says so. */
static long act_detach(void)
{
	return ptrace(PTRACE_DETACH, getppid(), NULL, NULL);
}

static long act_mount(void)
{
	return mount("none", "/proc/self/fdinfo", "tmpfs", 0, NULL);
}

static long act_user(void)
{
	return setresuid((uid_t)-1, (uid_t)-1, (uid_t)-1);
}

static long act_root(void)
{
	return chroot("/");
}

static long act_socket(void)
{
	return socket(AF_INET, SOCK_STREAM, 0);
}

static long act_connect(void)
{
	return connect(-1, NULL, 0);
}

static long act_module(void)
{
	return syscall(SYS_init_module, NULL, 0, "");
}

static long act_kexec(void)
{
	return syscall(SYS_kexec_load, 0, 0, NULL, 0);
}

static long act_reboot(void)
{
	return syscall(SYS_reboot, 0, 0, 0, NULL);
}

static long act_keys(void)
{
	return syscall(SYS_keyctl, 0, -3, 0, 0, 0);
}

static long act_namespace(void)
{
	return unshare(0);
}

static long act_namespace_of(void)
{
	return setns(-1, 0);
}

static long act_namespace_by_clone(void)
{
	return syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
}

static long act_write_memory(void)
{
	return process_vm_writev(getpid(), NULL, 0, NULL, 0, 0);
}

static long act_ring(void)
{
	return syscall(SYS_io_uring_setup, 0, NULL);
}

static long act_type(void)
{
	return syscall(SYS_ioctl, -1, 0x5412 /* TIOCSTI */, "x");
}

static long act_load(void)
{
	union bpf_attr attr = { 0 };

	return syscall(SYS_bpf, BPF_PROG_LOAD, &attr, 0);
}

static long act_event(void)
{
	return syscall(SYS_perf_event_open, NULL, 0, 0, -1, 0);
}

static const struct {
	const char *name;
	long (*act)(void);
	unsigned int calls; /* by which it is left; 0: by none */
} attempts[] = {
	{ "execve", act_execute, CONFINE_EXECUTE },
	{ "execveat", act_execute_file, CONFINE_EXECUTE },
	{ "ptrace", act_trace, 0 },
	{ "ptrace to detach", act_detach, CONFINE_DETACH },
	{ "mount", act_mount, CONFINE_MOUNT },
	{ "unshare", act_namespace, CONFINE_MOUNT },
	{ "setns", act_namespace_of, 0 },
	{ "clone with a user namespace", act_namespace_by_clone, 0 },
	{ "setresuid", act_user, CONFINE_USERS },
	{ "chroot", act_root, CONFINE_USERS },
	{ "socket", act_socket, CONFINE_SOCKETS },
	{ "connect", act_connect, CONFINE_SOCKETS },
	{ "init_module", act_module, 0 },
	{ "kexec_load", act_kexec, 0 },
	{ "reboot", act_reboot, 0 },
	{ "keyctl", act_keys, 0 },
	{ "process_vm_writev", act_write_memory, 0 },
	{ "io_uring_setup", act_ring, 0 },
	{ "typing at a terminal", act_type, 0 },
	{ "loading a BPF program", act_load, CONFINE_ATTACH },
	{ "perf_event_open", act_event, CONFINE_ATTACH },
};

/* All capabilities are kept, so that only the filter refuses; what it lets pass fails for reasons
 * of its own, or not at all. */
static void test_refused(void)
{
	const unsigned int all = CONFINE_ATTACH | CONFINE_EXECUTE | CONFINE_USERS | CONFINE_DETACH |
				 CONFINE_MOUNT | CONFINE_SOCKETS;

	for (size_t i = 0; i < sizeof(attempts) / sizeof(*attempts); i++) {
		unsigned int calls = attempts[i].calls;

		is_i64(attempt(UINT64_MAX, all & ~calls, attempts[i].act), EPERM, "%s is refused",
		       attempts[i].name);
		/* Not everybody may do it, and not every machine knows it. */
		if (calls && !geteuid() && calls != CONFINE_MOUNT)
			ok(attempt(UINT64_MAX, calls, attempts[i].act) != EPERM,
			   "%s is not, where it is left", attempts[i].name);
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
	for (size_t i = 0; i < sizeof(gone) / sizeof(*gone); i++)
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

static void test_threads(void)
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

int main(void)
{
	test_refused();
	is_i64(attempt(0, 0, act_ordinary), 0, "processes, threads, memory and files go on");
	if (!geteuid())
		is_i64(attempt(KEPT, 0, act_look), 0, "it has what it keeps, and nothing else");
	test_threads();
	return done_testing();
}
