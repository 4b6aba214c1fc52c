/* SPDX-License-Identifier: Apache-2.0 */
/* A process in the sandbox, seen from outside: what the kernel says that it may do,
 * and what happens if it does something else. */
#define TAP_OWN_MAIN
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/unistd.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/sandbox/sandbox.h"
#include "cli/stack/protocol.h"
#include "sanitized.h"
#include "tap.h"

#define REACHED 42 /* exit status: the forbidden was possible */

static int connection[2];

/* A process in the sandbox that does this. */
static pid_t sandboxed(unsigned int without, void (*act)(void))
{
	pid_t parent = getpid(), child;
	const char *what = "";
	int err;

	fflush(stdout);
	child = fork();
	if (child)
		return child;
	err = sandbox_enter(connection[1], parent, without, &what);
	if (err) {
		fprintf(stderr, "# %s: %s\n", what, strerror(-err));
		_exit(1);
	}
	act();
	_exit(REACHED);
}

static int status_of(pid_t child)
{
	int status = -1;

	waitpid(child, &status, 0);
	return status;
}

/* Tells that it is there, and waits to be told to go. */
static void act_wait(void)
{
	static struct packet packet;

	packet_begin(&packet, MESSAGE_DONE);
	packet_send(SANDBOX_SOCKET, &packet, -1, 0);
	packet_receive(SANDBOX_SOCKET, &packet, true, 0);
}

/* The text behind a label of /proc/PID/status. */
static const char *status_field(pid_t pid, const char *label)
{
	static char line[256];
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, label, strlen(label)) && line[strlen(label)] == ':') {
			fclose(file);
			return line + strlen(label) + 2;
		}
	}
	if (file)
		fclose(file);
	return NULL;
}

static void check_files(pid_t pid)
{
	char path[64], to[256];
	struct dirent *entry;
	unsigned int n = 0;
	ssize_t length;
	DIR *list;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	list = opendir(path);
	while (list && (entry = readdir(list)))
		n += *entry->d_name != '.';
	if (list)
		closedir(list);
	is_u64(n, 4, "it has four descriptors");
	for (int fd = 0; fd < 4; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
		length = readlink(path, to, sizeof(to) - 1);
		to[length > 0 ? length : 0] = '\0';
		if (fd < 3)
			is_str(to, "/dev/null", "descriptor %d", fd);
		else
			ok(!strncmp(to, "socket:", 7), "descriptor %d is the socket: %s", fd, to);
	}
}

/* Both limits, as /proc/PID/limits shows them. */
static void check_limit(pid_t pid, const char *name, uint64_t most)
{
	unsigned long long soft = UINT64_MAX, hard = UINT64_MAX;
	char path[64], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/limits", (int)pid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, name, strlen(name)))
			sscanf(line + strlen(name), "%llu %llu", &soft, &hard);
	}
	if (file)
		fclose(file);
	ok(soft <= most && hard <= most, "%s: %llu, %llu", name, soft, hard);
}

static void test_privileges(void)
{
	static const char *const none[] = { "CapEff", "CapPrm", "CapInh", "CapAmb" };
	static struct packet packet;
	const unsigned int without = SANITIZED & ~SANDBOX_WITHOUT_SILENCE;
	pid_t child;
	int null = open("/dev/null", O_RDONLY); /* not close-on-exec: one more to close */

	child = sandboxed(without, act_wait);
	is_i64(packet_receive(connection[0], &packet, false, 0), 0, "it can send");
	for (size_t i = 0; i < COUNT(none); i++)
		is_str(status_field(child, none[i]), "0000000000000000", "no capabilities: %s",
		       none[i]);
	is_str(status_field(child, "NoNewPrivs"), "1", "it gets no new privileges");
	if (!SANITIZED)
		is_str(status_field(child, "Seccomp"), "2", "its system calls are filtered");
	if (!geteuid()) {
		is_str(status_field(child, "CapBnd"), "0000000000000000", "none can come back");
		is_str(status_field(child, "Uid"), "65534\t65534\t65534\t65534", "user: nobody");
		is_str(status_field(child, "Gid"), "65534\t65534\t65534\t65534", "group: nobody");
		is_str(status_field(child, "Groups"), " ", "no further groups");
		check_files(child);
	}
	is_str(status_field(child, "SigBlk"), "fffffffe7f7bfeff",
	       "signals are blocked, but for that of the limit of CPU time");
	check_limit(child, "Max file size", 0);
	check_limit(child, "Max processes", 0);
	check_limit(child, "Max core file size", 0);
	check_limit(child, "Max open files", 10500);
	check_limit(child, "Max cpu time", 3600);
	if (!SANITIZED)
		check_limit(child, "Max address space", 1ULL << 30);
	kill(child, SIGINT);
	kill(child, SIGTERM);
	kill(child, SIGHUP);
	is_i64(waitpid(child, NULL, WNOHANG), 0, "signals of the terminal do not end it");
	packet_begin(&packet, MESSAGE_DONE);
	packet_send(connection[0], &packet, -1, 0);
	is_i64(status_of(child), REACHED << 8, "it can receive");
	close(null);
}

static void act_compute(void)
{
	for (;;)
		__asm__ volatile("");
}

/* It comes 10 s before the limit, which is 11 s here, as this process may not raise it. */
static void test_cpu_time(void)
{
	const struct rlimit few = { .rlim_cur = 11, .rlim_max = 11 };
	pid_t middle;
	int status;

	fflush(stdout);
	middle = fork();
	if (!middle) {
		need(!setrlimit(RLIMIT_CPU, &few));
		status = status_of(sandboxed(SANITIZED, act_compute));
		_exit(WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	}
	is_i64(WEXITSTATUS(status_of(middle)), SIGXCPU, "the limit of CPU time has its own signal");
}

/* System calls that end a process in the sandbox. */
static _Alignas(4096) char page[4096];
static struct msghdr message;
static struct stat some_stat;
static char *const no_words[] = { NULL };
static char secret[] = "/tmp/kd-secret-XXXXXX"; /* which only its owner, root, may read */

static const struct call {
	const char *name;
	long number, words[6];
	enum {
		NEITHER,
		OPENS,
		BOTH
	} of; /* by a process that may open files: of it alone, or too */
} calls[] = {
	{ "open", SYS_openat, { AT_FDCWD, (long)"/etc/passwd", O_RDONLY }, NEITHER },
	{ "open for writing", SYS_openat, { AT_FDCWD, (long)secret, O_WRONLY }, OPENS },
	{ "open that creates",
	  SYS_openat,
	  { AT_FDCWD, (long)"/tmp/kd-created", O_CREAT, 0600 },
	  OPENS },
	{ "truncate", SYS_truncate, { (long)secret, 0 }, OPENS },
	{ "socket", SYS_socket, { AF_INET, SOCK_STREAM, 0 }, BOTH },
	{ "execve", SYS_execve, { (long)"/bin/true", (long)no_words, (long)no_words }, BOTH },
	{ "fork", SYS_clone, { SIGCHLD }, BOTH },
	{ "kill", SYS_kill, { 1, 0 }, BOTH },
	{ "ptrace", SYS_ptrace, { PTRACE_TRACEME }, BOTH },
	{ "process_vm_readv", SYS_process_vm_readv, { 1 }, BOTH },
	{ "write", SYS_write, { 1, (long)"x", 1 }, BOTH },
	{ "prctl", SYS_prctl, { PR_SET_DUMPABLE, 1 }, NEITHER },
	{ "mmap of executable memory",
	  SYS_mmap,
	  { 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1 },
	  NEITHER },
	{ "mmap of a file", SYS_mmap, { 0, 4096, PROT_READ, MAP_PRIVATE }, BOTH },
	{ "mprotect to executable",
	  SYS_mprotect,
	  { (long)page, sizeof(page), PROT_READ | PROT_EXEC },
	  NEITHER },
	{ "sendmsg on another descriptor", SYS_sendmsg, { 0, (long)&message }, NEITHER },
	{ "stat of a path",
	  SYS_newfstatat,
	  { AT_FDCWD, (long)"/etc/passwd", (long)&some_stat },
	  NEITHER },
	{ "ioctl", SYS_ioctl, { 0 }, NEITHER },
	{ "fcntl that sets something",
	  SYS_fcntl,
	  { SANDBOX_SOCKET, F_SETFL, O_NONBLOCK },
	  NEITHER },
	{ "setresuid", SYS_setresuid, { 0 }, BOTH },
	{ "unshare", SYS_unshare, { CLONE_NEWUSER }, NEITHER },
#if defined(__x86_64__)
	{ "a call of the x32 ABI", 0x40000000 | SYS_read, { 0 }, NEITHER },
#endif
};

static const struct call *call; /* the next one */

static void act_call(void)
{
	const long *words = call->words;

	syscall(call->number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

static void calls_end(unsigned int without, unsigned int of)
{
	for (call = calls; call < calls + COUNT(calls); call++) {
		int status;

		if (call->of != of && call->of != BOTH)
			continue;
		status = status_of(sandboxed(without, act_call));
		ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "%s%s ends it: status %x",
		   of == OPENS ? "opens: " : "", call->name, (unsigned int)status);
	}
}

#if defined(__x86_64__)
/* As a 32-bit program has it: 5 is open(). */
static void act_int80(void)
{
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "0"(5L), "b"(0L), "c"(0L) : "memory");
}
#endif

static void test_forbidden(void)
{
	calls_end(0, NEITHER);
#if defined(__x86_64__)
	int status = status_of(sandboxed(0, act_int80));

	/* Not every kernel has such calls. */
	ok(WIFSIGNALED(status) && (WTERMSIG(status) == SIGSYS || WTERMSIG(status) == SIGSEGV),
	   "a call of the 32-bit ABI ends it: status %x", (unsigned int)status);
#endif
}

/* --- One that may open files --- */

/* A filter cannot see the flags; each step that goes wrong has a number of its own. */
static void act_read_file(void)
{
	static const uint64_t flags[] = { O_RDWR, O_WRONLY, O_RDONLY | O_TRUNC };
	struct open_how how = { .flags = O_RDONLY };
	int fd = open(secret, O_RDONLY);
	char text[8];

	if (fd < 0 || pread(fd, text, 6, 0) != 6 || memcmp(text, "secret", 6) != 0)
		_exit(1);
	if (syscall(SYS_openat2, AT_FDCWD, secret, &how, sizeof(how)) < 0)
		_exit(2);
	for (size_t i = 0; i < COUNT(flags); i++) {
		how.flags = flags[i];
		if (syscall(SYS_openat2, AT_FDCWD, secret, &how, sizeof(how)) >= 0 ||
		    errno != EACCES)
			_exit(3);
	}
}

/* It reads all, and changes nothing. */
static void test_opens(void)
{
	static struct packet packet;
	struct stat stat;
	pid_t child;
	int fd;

	if (geteuid()) {
		printf("# only root has the capabilities to open files of others\n");
		return;
	}
	fd = mkstemp(secret);
	need(fd >= 0 && write(fd, "secret", 6) == 6);
	child = sandboxed(SANDBOX_OPENS | (SANITIZED & ~SANDBOX_WITHOUT_SILENCE), act_wait);
	packet_receive(connection[0], &packet, false, 0);
	is_str(status_field(child, "CapEff"), "0000010000080004", "it can open files of others");
	is_str(status_field(child, "CapPrm"), "0000010000080004", "and nothing else");
	is_str(status_field(child, "CapBnd"), "0000000000000000", "none can come back");
	is_str(status_field(child, "Uid"), "0\t0\t0\t65534", "for files it is nobody");
	packet_begin(&packet, MESSAGE_DONE);
	packet_send(connection[0], &packet, -1, 0);
	is_i64(status_of(child), REACHED << 8, "it can receive");
	is_i64(status_of(sandboxed(SANDBOX_OPENS | SANITIZED, act_read_file)), REACHED << 8,
	       "it reads what only root may, and cannot open it for writing");
	if (!SANITIZED)
		calls_end(SANDBOX_OPENS, OPENS);
	ok(!fstat(fd, &stat) && stat.st_size == 6, "the file is as it was");
	close(fd);
	unlink(secret);
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(int));
}

/* What resolving needs; each wrong step has a number of its own. */
static void act_allowed(void)
{
	static struct packet packet;
	struct stat stat;
	char text[8] = "";
	int *many;
	char *most;

	if (packet_receive(SANDBOX_SOCKET, &packet, true, 0) || packet.fd < 0)
		_exit(2);
	if (fstat(packet.fd, &stat) || stat.st_size != 5 || pread(packet.fd, text, 8, 0) != 5 ||
	    strcmp(text, "hello") || fcntl(packet.fd, F_GETFD) < 0)
		_exit(3);
	/* Where root's rights were needed to hide the file system, it is still there. */
	if (!fstatat(AT_FDCWD, "/etc/passwd", &stat, AT_EMPTY_PATH) && packet.head.n)
		_exit(4);
	many = calloc(1 << 20, sizeof(*many));
	if (!many || many[77])
		_exit(5);
	qsort(many, 1 << 20, sizeof(*many), compare);
	many = realloc(many, 64 << 20);
	if (!many)
		_exit(6);
	free(many);
	/* With a constant the compiler would know better than to ask for it. */
	most = malloc((size_t)1 << (packet.head.number + 30));
	if (most)
		_exit(7);
	if (clock_monotonic() == 0)
		_exit(8);
}

static void test_allowed(void)
{
	static struct packet packet;
	FILE *file = tmpfile();
	pid_t child;

	fputs("hello", file);
	fflush(file);
	child = sandboxed(0, act_allowed);
	packet_begin(&packet, MESSAGE_FILE);
	packet.head.number = 1;
	packet.head.n = !geteuid();
	packet_send(connection[0], &packet, fileno(file), 0);
	is_i64(status_of(child), REACHED << 8,
	       "files that it is given, memory and time; not 2 GB, and no paths");
	fclose(file);
}

static void act_pause(void)
{
	static struct packet packet;

	packet_receive(SANDBOX_SOCKET, &packet, false, 0);
}

/* A process that starts one in the sandbox and ends: the other has to end, too,
 * although the connection stays open. */
static void test_orphan(void)
{
	struct pollfd poller = { .events = POLLIN };
	int lifeline[2];
	pid_t parent;

	if (pipe(lifeline))
		return;
	fflush(stdout);
	parent = fork();
	if (!parent) {
		pid_t child = sandboxed(SANITIZED | SANDBOX_WITHOUT_SILENCE, act_pause);

		if (write(lifeline[1], &child, sizeof(child)) < 0)
			_exit(1);
		while (!status_field(child, "NoNewPrivs") ||
		       strcmp(status_field(child, "NoNewPrivs"), "1"))
			usleep(1000);
		_exit(0);
	}
	is_i64(status_of(parent), 0, "a process starts another in the sandbox");
	if (read(lifeline[0], &parent, sizeof(parent)) != sizeof(parent))
		parent = 0;
	poller.fd = (int)syscall(SYS_pidfd_open, parent, 0);
	ok(poller.fd < 0 || poll(&poller, 1, -1) == 1, "which ends with it");
	close(poller.fd);
	close(lifeline[0]);
	close(lifeline[1]);
}

static void test_no_parent(void)
{
	const char *what = "";
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		int err = sandbox_enter(connection[1], 1, SANITIZED, &what);

		_exit(err == -ESRCH && *what ? 7 : 8);
	}
	is_i64(status_of(child), 7 << 8, "one whose parent is another says so");
}

/* Whoever ends without having read all says why before. */
static void test_last_words(void)
{
	static struct packet packet;
	int ends[2];

	if (packet_connect(ends))
		return;
	packet_begin(&packet, 1);
	is_i64(packet_send(ends[0], &packet, -1, 0), 0, "a message that is not read");
	packet_begin(&packet, 2);
	is_i64(packet_send(ends[1], &packet, -1, 0), 0, "and one the other way");
	close(ends[1]);
	is_i64(packet_receive(ends[0], &packet, false, 0), 0, "what was sent before the end comes");
	is_u64(packet.head.type, 2, "and is it");
	is_i64(packet_receive(ends[0], &packet, false, 0), -EPIPE, "then the end");
	close(ends[0]);
}

int main(void)
{
	if (packet_connect(connection)) {
		ok(false, "a connection");
		return done_testing();
	}
	test_last_words();
	test_privileges();
	test_cpu_time();
	test_no_parent();
	test_orphan();
	test_opens();
	if (!SANITIZED) {
		test_forbidden();
		test_allowed();
	}
	return done_testing();
}
