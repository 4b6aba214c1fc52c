/* SPDX-License-Identifier: Apache-2.0 */
/* Wait channels: the table, the search in it, and what the running kernel says of threads that
 * wait in known ways. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/model/wchan.h"
#include "tap.h"

static const struct wchan rows[] = {
#include "wchan_table.inc"
};

/* --- The table --- */

static bool has_words(const char *words)
{
	size_t length = strlen(words);

	return length >= 3 && length <= 60 && words[length - 1] != '.' &&
	       strspn(words, " '():,.-_/ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			     "0123456789") == length;
}

#define NAMES(...) ((const char *const[]){ __VA_ARGS__ })

TEST(table)
{
	unsigned int disorder = 0, wordless = 0, of[WCHAN_CAUSES] = { 0 };

	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct wchan *last = i ? &rows[i - 1] : NULL;
		int order = last ? strcmp(last->function, rows[i].function) : -1;

		if (!order)
			order = strcmp(last->caller ? last->caller : "",
				       rows[i].caller ? rows[i].caller : "");
		if (order >= 0)
			printf("# %s: twice, or not in order\n", rows[i].function);
		disorder += order >= 0;
		if (!has_words(rows[i].words))
			printf("# %s: \"%s\"\n", rows[i].function, rows[i].words);
		wordless += !has_words(rows[i].words);
		of[rows[i].cause]++;
	}
	is_u64(disorder, 0, "rows are in order, and none is there twice");
	is_u64(wordless, 0, "words are short, plain, and go on in a sentence");
	for (int cause = 0; cause < WCHAN_CAUSES; cause++)
		ok(of[cause] && wchan_cause_keys[cause] && *wchan_cause_keys[cause],
		   "cause %d has a key, and rows", cause);
}

TEST(all_found)
{
	unsigned int missing = 0;

	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *names[] = { rows[i].function, rows[i].caller };
		const struct wchan *found;
		size_t at;

		if (rows[i].cause == WCHAN_THROUGH)
			continue;
		found = wchan_find(names, COUNT(names), &at);
		if (found && !at && !strcmp(found->function, rows[i].function) &&
		    !strcmp(found->caller ? found->caller : "",
			    rows[i].caller ? rows[i].caller : ""))
			continue;
		missing++;
		printf("# %s < %s\n", names[0], names[1] ? names[1] : "any");
	}
	is_u64(missing, 0, "each row is found by its names");
	missing = 0;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char text[64];
		const char *name = text;

		if (rows[i].cause == WCHAN_THROUGH)
			continue;
		wchan_name(text, sizeof(text), rows[i].function, &rows[i]);
		if (wchan_find(&name, 1, NULL) ==
		    wchan_find(NAMES(rows[i].function, rows[i].caller), 2, NULL))
			continue;
		missing++;
		printf("# %s\n", text);
	}
	is_u64(missing, 0, "and by the one that is written for it");
}

/* --- Names --- */

static void is_named(const char *name, const char *want)
{
	char got[64];

	snprintf(got, sizeof(got), "%.*s", (int)function_name_length(name), name);
	is_str(got, want, "name of %s", name);
}

TEST(names)
{
	is_named("do_wait", "do_wait");
	is_named("do_wait+0x5c/0x100", "do_wait");
	is_named("seccomp_do_user_notification.isra.0", "seccomp_do_user_notification");
	is_named("a.constprop.0.isra.12+0x1/0x2", "a");
	is_named("a.part.0.cold", "a");
	is_named("__futex_wait.llvm.1234567890", "__futex_wait");
	is_named("nfs_wait_bit_killable+0x1/0x30 [nfs]", "nfs_wait_bit_killable");
	is_named("nfs_wait_bit_killable [nfs]", "nfs_wait_bit_killable");
	is_u64(function_name_length(""), 0, "of nothing");
	is_u64(function_name_length(NULL), 0, "of NULL");
}

/* --- Stacks --- */

#define IS_FOUND(want, want_at, ...)                                                               \
	is_found(NAMES(__VA_ARGS__), COUNT(NAMES(__VA_ARGS__)), want, want_at)

static void is_found(const char *const *names, size_t n, const char *want, size_t want_at)
{
	size_t at = 99;
	const struct wchan *found = wchan_find(names, n, &at);

	is_str(found ? found->words : NULL, want, "%s < %s", names[0] ? names[0] : "NULL",
	       n > 1 && names[1] ? names[1] : "-");
	is_u64(at, want_at, "at");
}

TEST(stacks)
{
	IS_FOUND("a child process", 0, "do_wait+0x5c/0x100", "kernel_wait4", "__do_sys_wait4");
	IS_FOUND("a supervisor that answers for a call (seccomp)", 0,
		 "seccomp_do_user_notification.isra.0");
	IS_FOUND("a child process", 1, "unknown_function", "do_wait");
	IS_FOUND("a child process", 2, "", NULL, "do_wait");

	/* Of a pair, neither more nor less than the names counts. */
	IS_FOUND("a local listener whose backlog is full", 0, "unix_wait_for_peer",
		 "unix_stream_connect+0x1/0x2");
	IS_FOUND("a local socket whose reader is too slow", 0, "unix_wait_for_peer",
		 "unix_stream_connector");
	IS_FOUND("a local socket whose reader is too slow", 0, "unix_wait_for_peer",
		 "unix_stream_conn");
	IS_FOUND("a local socket whose reader is too slow", 0, "unix_wait_for_peer");
	IS_FOUND("a local socket whose reader is too slow", 0, "unix_wait_for_peer", NULL,
		 "unix_stream_connect");

	IS_FOUND("input from the terminal", 1, "wait_woken", "n_tty_read");
	IS_FOUND("data from a TCP connection", 1, "wait_woken", "sk_wait_data",
		 "tcp_recvmsg_locked");
	IS_FOUND("a page of a file to be written", 1, "folio_wait_bit_common", "folio_wait_bit",
		 "folio_wait_writeback");

	IS_FOUND(NULL, 0, "unknown_function", "other_function");
	IS_FOUND(NULL, 1, "wait_woken", "unknown_function", "other_function");
	IS_FOUND(NULL, 2, "wait_woken", "", "unknown_function");
	IS_FOUND(NULL, 1, "wait_woken");
	IS_FOUND(NULL, 2, "", NULL);
	IS_FOUND(NULL, 0, "do_wai");
	IS_FOUND(NULL, 0, "do_waits");
	IS_FOUND(NULL, 0, "0xffffffff81000000", "+0x5c/0x100");
	ok(!wchan_find(NULL, 0, NULL), "no names");
	ok(wchan_find(NAMES("do_wait"), 1, NULL) != NULL, "nobody wants to know where");
}

/* --- The running kernel: each of these blocks, or returns if it cannot be done here --- */

static char buffer[1 << 16];

static void read_from(int fd)
{
	while (read(fd, buffer, sizeof(buffer)) > 0)
		;
}

static void write_to(int fd)
{
	while (write(fd, buffer, sizeof(buffer)) > 0)
		;
}

static void pipe_empty(void)
{
	int ends[2];

	if (!pipe(ends))
		read_from(ends[0]);
}

static void pipe_full(void)
{
	int ends[2];

	if (!pipe(ends))
		write_to(ends[1]);
}

static void stream_empty(void)
{
	int ends[2];

	if (!socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		read_from(ends[0]);
}

static void stream_full(void)
{
	int ends[2];

	if (!socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		write_to(ends[0]);
}

static void datagram_none(void)
{
	int ends[2];

	if (!socketpair(AF_UNIX, SOCK_DGRAM, 0, ends))
		read_from(ends[0]);
}

static void datagrams_full(void)
{
	int ends[2];

	if (!socketpair(AF_UNIX, SOCK_DGRAM, 0, ends))
		while (send(ends[0], "", 1, 0) == 1)
			;
}

static void backlog_full(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t length = sizeof(address.sun_family);
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);

	/* The kernel chooses an abstract name. */
	if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 0))
		return;
	length = sizeof(address);
	if (getsockname(listener, (struct sockaddr *)&address, &length))
		return;
	while (!connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, length))
		;
}

static int bound(int type, struct sockaddr_in *address)
{
	socklen_t length = sizeof(*address);
	int fd = socket(AF_INET, type, 0);

	*address = (struct sockaddr_in){ .sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (bind(fd, (struct sockaddr *)address, length) ||
	    getsockname(fd, (struct sockaddr *)address, &length))
		_exit(1);
	return fd;
}

static void udp_none(void)
{
	struct sockaddr_in address;

	read_from(bound(SOCK_DGRAM, &address));
}

static void tcp_accept(void)
{
	struct sockaddr_in address;
	int listener = bound(SOCK_STREAM, &address);

	if (!listen(listener, 1))
		accept(listener, NULL, NULL);
}

static void tcp_backlog_full(void)
{
	struct sockaddr_in address;
	int listener = bound(SOCK_STREAM, &address);

	if (listen(listener, 0))
		return;
	while (!connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&address,
			sizeof(address)))
		;
}

static int tcp_connected(void)
{
	struct sockaddr_in address;
	int listener = bound(SOCK_STREAM, &address), fd = socket(AF_INET, SOCK_STREAM, 0);

	if (listen(listener, 1) || connect(fd, (struct sockaddr *)&address, sizeof(address)))
		_exit(1);
	return fd;
}

static void tcp_empty(void)
{
	read_from(tcp_connected());
}

static void tcp_full(void)
{
	write_to(tcp_connected());
}

static int terminal(int *other)
{
	int fd = posix_openpt(O_RDWR | O_NOCTTY);

	if (fd < 0 || grantpt(fd) || unlockpt(fd))
		_exit(1);
	*other = fd;
	return open(ptsname(fd), O_RDWR | O_NOCTTY);
}

static void terminal_empty(void)
{
	int other;

	read_from(terminal(&other));
}

static void terminal_full(void)
{
	int other;

	write_to(terminal(&other));
}

static void sleeping(void)
{
	nanosleep(&(struct timespec){ .tv_sec = 1000 }, NULL);
}

static void timer(void)
{
	struct itimerspec when = { .it_value.tv_sec = 1000 };
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);

	if (!timerfd_settime(fd, 0, &when, NULL))
		read_from(fd);
}

static void event_none(void)
{
	read_from(eventfd(0, 0));
}

static void event_full(void)
{
	uint64_t most = UINT64_MAX - 1;
	int fd = eventfd(0, 0);

	while (write(fd, &most, sizeof(most)) == sizeof(most))
		;
}

static void changes_none(void)
{
	read_from(inotify_init());
}

static void sigwait_none(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigwaitinfo(&set, NULL);
}

static void signalfd_none(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	read_from(signalfd(-1, &set, 0));
}

static void suspended(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigsuspend(&set);
}

#ifdef SYS_pause
static void paused(void)
{
	syscall(SYS_pause);
}
#endif

static void futex(void)
{
	static int word;

	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static void futex_pi(void)
{
	int *word = mmap(NULL, sizeof(*word), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			 -1, 0);
	pid_t pid = fork();

	/* The child takes it, and keeps it. */
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		syscall(SYS_futex, word, FUTEX_LOCK_PI, 0, NULL, NULL, 0);
		sleeping();
		_exit(0);
	}
	while (!__atomic_load_n(word, __ATOMIC_ACQUIRE))
		sched_yield();
	syscall(SYS_futex, word, FUTEX_LOCK_PI, 0, NULL, NULL, 0);
}

static void polling(void)
{
	struct pollfd event = { .fd = eventfd(0, 0), .events = POLLIN };

	poll(&event, 1, -1);
}

static void selecting(void)
{
	fd_set set;
	int fd = eventfd(0, 0);

	FD_ZERO(&set);
	FD_SET(fd, &set);
	select(fd + 1, &set, NULL, NULL, NULL);
}

static void epolling(void)
{
	struct epoll_event event;

	epoll_wait(epoll_create1(0), &event, 1, -1);
}

static void queue_empty(void)
{
	char name[32];
	mqd_t queue;

	snprintf(name, sizeof(name), "/test_wchan.%d", (int)getpid());
	queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, NULL);
	mq_unlink(name);
	mq_receive(queue, buffer, sizeof(buffer), NULL);
}

/* Opens a file twice. */
static int locked_file(int *again)
{
	char path[32];
	int fd = memfd_create("locked", MFD_CLOEXEC);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	*again = open(path, O_RDWR);
	return fd;
}

static void flocked(void)
{
	int again;

	if (!flock(locked_file(&again), LOCK_EX))
		flock(again, LOCK_EX);
}

static void fcntl_locked(void)
{
	struct flock lock = { .l_type = F_WRLCK };
	int again;

	if (!fcntl(locked_file(&again), F_OFD_SETLK, &lock))
		fcntl(again, F_OFD_SETLKW, &lock);
}

/* Nothing was asked for, so nothing comes. */
static void io_uring_none(void)
{
	struct io_uring_params params = { 0 };
	int fd = (int)syscall(SYS_io_uring_setup, 4, &params);

	syscall(SYS_io_uring_enter, fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
}

static void aio_none(void)
{
	aio_context_t context = 0;
	struct io_event event;

	if (!syscall(SYS_io_setup, 4, &context))
		syscall(SYS_io_getevents, context, 1, 1, &event, NULL);
}

static void child(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sleeping();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void vforked(void)
{
	pid_t pid = vfork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sleeping();
		_exit(0);
	}
}

static void stopped(void)
{
	raise(SIGSTOP);
}

/* The innermost functions of a sleeping process, as many as are kept of a wait. */
#define DEPTH 3
#define LINE 128

static size_t stack_read(pid_t pid, char lines[DEPTH][LINE])
{
	char path[32];
	size_t n = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stack", (int)pid);
	file = fopen(path, "re");
	while (file && n < DEPTH && fgets(lines[n], LINE, file)) {
		char *name = strchr(lines[n], ' ');

		if (!name)
			continue;
		memmove(lines[n], name + 1, strlen(name));
		lines[n][strcspn(lines[n], "\n")] = '\0';
		n++;
	}
	if (file)
		fclose(file);
	return n;
}

/* Whether the process comes to sleep where that is the cause; says where it was seen last. */
static void waits_for(pid_t pid, enum wchan_cause want, const char *what)
{
	char lines[DEPTH][LINE];
	const char *names[DEPTH];
	const struct wchan *found = NULL;
	size_t n = 0;

	for (int tries = 0; tries < 1000; tries++) {
		n = stack_read(pid, lines);
		for (size_t i = 0; i < n; i++)
			names[i] = lines[i];
		found = wchan_find(names, n, NULL);
		if (found && found->cause == want)
			break;
		if (waitpid(pid, NULL, WNOHANG)) {
			skip("it cannot be made here", "%s", what);
			return;
		}
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	}
	is_str(found ? wchan_cause_keys[found->cause] : NULL, wchan_cause_keys[want], "%s: %s",
	       what, found ? found->words : "no row");
	for (size_t i = 0; i < n && tap_explains(found && found->cause == want); i++)
		printf("#  in %s\n", lines[i]);
}

static const struct {
	const char *what;
	enum wchan_cause cause;
	void (*wait)(void);
} waits[] = {
	{ "read() of a pipe", WCHAN_IDLE, pipe_empty },
	{ "write() to a full pipe", WCHAN_PEER, pipe_full },
	{ "read() of a local socket", WCHAN_IDLE, stream_empty },
	{ "write() to a full local socket", WCHAN_PEER, stream_full },
	{ "read() of local datagrams", WCHAN_IDLE, datagram_none },
	{ "send() of local datagrams to a full socket", WCHAN_PEER, datagrams_full },
	{ "connect() to a full backlog", WCHAN_PEER, backlog_full },
	{ "read() of UDP datagrams", WCHAN_IDLE, udp_none },
	{ "accept() of TCP", WCHAN_IDLE, tcp_accept },
	{ "connect() of TCP to a full backlog", WCHAN_PEER, tcp_backlog_full },
	{ "read() of TCP", WCHAN_IDLE, tcp_empty },
	{ "write() to a full TCP connection", WCHAN_PEER, tcp_full },
	{ "read() of a terminal", WCHAN_IDLE, terminal_empty },
	{ "write() to a full terminal", WCHAN_PEER, terminal_full },
	{ "nanosleep()", WCHAN_TIME, sleeping },
	{ "read() of a timerfd", WCHAN_TIME, timer },
	{ "read() of an eventfd", WCHAN_IDLE, event_none },
	{ "write() to a full eventfd", WCHAN_PEER, event_full },
	{ "read() of inotify", WCHAN_IDLE, changes_none },
	{ "sigwaitinfo()", WCHAN_IDLE, sigwait_none },
	{ "read() of a signalfd", WCHAN_IDLE, signalfd_none },
	{ "sigsuspend()", WCHAN_IDLE, suspended },
#ifdef SYS_pause
	{ "pause()", WCHAN_IDLE, paused },
#endif
	{ "a futex", WCHAN_FUTEX, futex },
	{ "a futex with priority inheritance", WCHAN_LOCK, futex_pi },
	{ "poll()", WCHAN_POLL, polling },
	{ "select()", WCHAN_POLL, selecting },
	{ "epoll_wait()", WCHAN_POLL, epolling },
	{ "mq_receive()", WCHAN_IDLE, queue_empty },
	{ "io_uring_enter()", WCHAN_POLL, io_uring_none },
	{ "io_getevents()", WCHAN_POLL, aio_none },
	{ "flock()", WCHAN_FILELOCK, flocked },
	{ "fcntl() for a lock", WCHAN_FILELOCK, fcntl_locked },
	{ "waitpid()", WCHAN_CHILD, child },
	{ "vfork()", WCHAN_CHILD, vforked },
	{ "a stopped process", WCHAN_STOP, stopped },
};

TEST(kernel)
{
	char lines[DEPTH][LINE];

	if (!stack_read(getpid(), lines)) {
		skip("/proc/PID/stack cannot be read", "where threads wait");
		return;
	}
	for (size_t i = 0; i < COUNT(waits); i++) {
		pid_t pid;

		fflush(stdout);
		pid = fork();
		need(pid >= 0);
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			signal(SIGPIPE, SIG_DFL);
			waits[i].wait();
			_exit(1);
		}
		waits_for(pid, waits[i].cause, waits[i].what);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}
