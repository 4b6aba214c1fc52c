// SPDX-License-Identifier: Apache-2.0
/* Threads that wait, each for one kind of thing, and log it.
 *
 *   blocked ROLE... [DIRECTORY]     see parts[]; a DIRECTORY (with a /) is for files
 *
 * Each thread waits again and again until the end. If another thread ends its waits, that one
 * sleeps for WAIT_MS first.
 *
 *   <- log      -> {"ROLE": {"tid": TID, "faults": N, "waits": [[before, woken, after], ...]},
 *               ...}: when it called, when that was about to end, when it returned;
 *               of the last MAX_WAITS
 *
 * faults: major ones of the thread so far. */
#include "stage.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pty.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#define WAIT_MS 7
#define MAX_WAITS 65536
#define LEAST_NS 100000 /* shorter ones are none, but where they end by themselves */
#define MAX_ROLES 24
#define PAGES 2048
#define AT_ONCE 8
#define DIRECT (1 << 18)
#define DIRECTS 32

struct wait {
	long long before, woken, after;
};

/* A thread that waits, and what there is between it and the one that ends its waits. */
struct pair {
	const struct part *part;
	struct worker *waiter;
	int near, far; /* descriptors: of the waiter, of the other */
	int word;      /* of the futex */
	_Atomic(long long) woken;
	_Atomic(int) n, faults;
	struct wait waits[MAX_WAITS];
	void *shared; /* with a child process */
	aio_context_t aio;
};

struct part {
	const char *name;
	void (*prepare)(struct pair *pair);
	void (*wait)(struct pair *pair);
	void (*wake)(struct pair *pair); /* NULL: the wait ends by itself */
};

static struct pair pairs[MAX_ROLES];
static int n_pairs;
static const char *directory = "/var/tmp/";

/* --- Descriptors that a byte or more come from --- */

static void tube_make(struct pair *pair)
{
	int ends[2];

	pipe_make(ends);
	pair->near = ends[0];
	pair->far = ends[1];
}

static void unix_make(struct pair *pair)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		die("socketpair");
	pair->near = ends[0];
	pair->far = ends[1];
}

static struct sockaddr_in listen_make(int *listener)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);

	*listener = socket(AF_INET, SOCK_STREAM, 0);
	if (*listener < 0 || bind(*listener, (struct sockaddr *)&address, length) ||
	    listen(*listener, 16) || getsockname(*listener, (struct sockaddr *)&address, &length))
		die("listen");
	return address;
}

static void connect_to(int fd, struct sockaddr_in address)
{
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)))
		die("connect");
}

/* At the end that made the connection: the other may wait for its client for ever, and is idle. */
static void tcp_make(struct pair *pair)
{
	int listener;
	struct sockaddr_in address = listen_make(&listener);

	pair->near = socket(AF_INET, SOCK_STREAM, 0);
	connect_to(pair->near, address);
	pair->far = accept(listener, NULL, NULL);
	if (pair->far < 0)
		die("accept");
}

static void eventfd_make(struct pair *pair)
{
	pair->near = pair->far = eventfd(0, 0);
	if (pair->near < 0)
		die("eventfd");
}

static void tty_make(struct pair *pair)
{
	if (openpty(&pair->far, &pair->near, NULL, NULL, NULL))
		die("openpty");
}

static void read_some(struct pair *pair)
{
	char bytes[8];

	if (read(pair->near, bytes, sizeof(bytes)) <= 0)
		die("read");
}

static void recv_some(struct pair *pair)
{
	char bytes[8];

	if (recv(pair->near, bytes, sizeof(bytes), 0) <= 0)
		die("recv");
}

static void write_some(struct pair *pair)
{
	static const char bytes[8] = "123456\n";

	if (write(pair->far, bytes, sizeof(bytes)) != sizeof(bytes))
		die("write");
}

/* --- Calls in which servers wait for work --- */

static void poll_one(struct pair *pair)
{
	struct pollfd fd = { .fd = pair->near, .events = POLLIN };

	poll(&fd, 1, -1);
	read_some(pair);
}

static void select_one(struct pair *pair)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(pair->near, &set);
	select(pair->near + 1, &set, NULL, NULL, NULL);
	read_some(pair);
}

static void epoll_one(struct pair *pair)
{
	struct epoll_event event = { .events = EPOLLIN };

	if (!pair->word) {
		pair->word = epoll_create1(0);
		if (pair->word < 0 || epoll_ctl(pair->word, EPOLL_CTL_ADD, pair->near, &event))
			die("epoll");
	}
	epoll_wait(pair->word, &event, 1, -1);
	read_some(pair);
}

static void accept_make(struct pair *pair)
{
	listen_make(&pair->near);
}

static void accept_one(struct pair *pair)
{
	int fd = accept(pair->near, NULL, NULL);

	if (fd < 0)
		die("accept");
	close(fd);
}

static void connect_one(struct pair *pair)
{
	struct sockaddr_in address;
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (getsockname(pair->near, (struct sockaddr *)&address, &length))
		die("getsockname");
	connect_to(fd, address);
	close(fd);
}

/* --- Locks --- */

static void futex_one(struct pair *pair)
{
	while (!__atomic_load_n(&pair->word, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &pair->word, FUTEX_WAIT_PRIVATE, 0, NULL);
	__atomic_store_n(&pair->word, 0, __ATOMIC_RELEASE);
}

static void futex_wake(struct pair *pair)
{
	__atomic_store_n(&pair->word, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &pair->word, FUTEX_WAKE_PRIVATE, 1);
}

/* One that has had a name. */
static int file_make(const char *what)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/kernel_delay-%s-%d", directory, what, getpid());
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || unlink(path))
		die(path);
	return fd;
}

/* The same file, opened once more. */
static int file_again(int file, int flags)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		die(path);
	return fd;
}

/* Held by the other but for a moment after each wait. */
static void flock_make(struct pair *pair)
{
	pair->near = file_make("flock");
	pair->far = file_again(pair->near, O_RDWR);
	if (flock(pair->far, LOCK_EX))
		die("flock");
}

static void flock_one(struct pair *pair)
{
	if (flock(pair->near, LOCK_EX) || flock(pair->near, LOCK_UN))
		die("flock");
}

static void flock_pass(struct pair *pair)
{
	if (flock(pair->far, LOCK_UN))
		die("flock");
	sleep_ns(MS);
	if (flock(pair->far, LOCK_EX))
		die("flock");
}

/* --- What ends by itself --- */

static void child_make(struct pair *pair)
{
	pair->shared = memory_map(PAGE, MAP_SHARED);
}

static void child_wait(struct pair *pair)
{
	volatile long long *at = pair->shared;
	pid_t child = fork();

	if (child < 0)
		die("fork");
	if (!child) {
		sleep_ns(WAIT_MS * MS);
		*at = now_ns();
		_exit(0);
	}
	pair->waits[pair->n % MAX_WAITS].before = now_ns();
	if (waitpid(child, NULL, 0) != child)
		die("waitpid");
	atomic_store(&pair->woken, *at);
}

static void timer_wait(struct pair *pair)
{
	long long at = now_ns() + WAIT_MS * MS;

	sleep_until(at);
	atomic_store(&pair->woken, at);
}

static sigset_t signal_set(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return set;
}

static void signal_make(struct pair *pair)
{
	sigset_t set = signal_set();

	(void)pair;
	sigprocmask(SIG_BLOCK, &set, NULL); /* threads inherit it */
}

static void signal_wait(struct pair *pair)
{
	sigset_t set = signal_set();

	(void)pair;
	while (sigtimedwait(&set, NULL, NULL) < 0)
		;
}

static void signal_send(struct pair *pair)
{
	pthread_kill(pair->waiter->thread, SIGUSR1);
}

static void fsync_make(struct pair *pair)
{
	pair->near = file_make("fsync");
}

static void fsync_wait(struct pair *pair)
{
	char page[PAGE] = { (char)pair->n };

	if (pwrite(pair->near, page, sizeof(page), pair->n % 64 * PAGE) != sizeof(page) ||
	    fsync(pair->near))
		die("fsync");
}

static void pages_make(struct pair *pair)
{
	char page[PAGE] = "page";

	pair->near = file_make("pages");
	for (int i = 0; i < PAGES; i++)
		if (pwrite(pair->near, page, sizeof(page), (off_t)i * PAGE) != sizeof(page))
			die("write");
	if (fsync(pair->near))
		die("fsync");
	pair->shared = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ, MAP_SHARED, pair->near, 0);
	if (pair->shared == MAP_FAILED || madvise(pair->shared, (size_t)PAGES * PAGE, MADV_RANDOM))
		die("mmap");
}

/* Several at once, far from each other. */
static void page_wait(struct pair *pair)
{
	size_t at[AT_ONCE];
	struct rusage usage;

	for (int i = 0; i < AT_ONCE; i++) {
		at[i] = (size_t)(pair->n * AT_ONCE + i) * 97 % PAGES * PAGE;
		/* Out of this mapping, and then out of the page cache. */
		madvise((char *)pair->shared + at[i], PAGE, MADV_DONTNEED);
		posix_fadvise(pair->near, (off_t)at[i], PAGE, POSIX_FADV_DONTNEED);
	}
	getrusage(RUSAGE_THREAD, &usage);
	atomic_store(&pair->faults, (int)usage.ru_majflt);
	pair->waits[pair->n % MAX_WAITS].before = now_ns();
	for (int i = 0; i < AT_ONCE; i++)
		(void)((volatile char *)pair->shared)[at[i]];
}

/* Past the page cache, many pages at once. */
static void direct_make(struct pair *pair)
{
	if (posix_memalign(&pair->shared, PAGE, DIRECT))
		die("posix_memalign");
	memset(pair->shared, 1, DIRECT);
	pair->far = file_make("direct");
	pair->near = file_again(pair->far, O_RDONLY | O_DIRECT);
	for (int i = 0; i < DIRECTS; i++)
		if (pwrite(pair->far, pair->shared, DIRECT, (off_t)i * DIRECT) != DIRECT)
			die("write");
	if (fsync(pair->far))
		die("fsync");
}

static void direct_wait(struct pair *pair)
{
	if (pread(pair->near, pair->shared, DIRECT, (off_t)(pair->n % DIRECTS) * DIRECT) != DIRECT)
		die("pread");
}

/* --- Requests of its own: asynchronous I/O of the kernel, io_uring --- */

static void aio_make(struct pair *pair)
{
	direct_make(pair);
	if (syscall(SYS_io_setup, 4, &pair->aio))
		die("io_setup");
}

static void aio_read(struct pair *pair, size_t size)
{
	struct iocb read = { .aio_lio_opcode = IOCB_CMD_PREAD,
			     .aio_fildes = (uint32_t)pair->near,
			     .aio_buf = (uintptr_t)pair->shared,
			     .aio_nbytes = size,
			     .aio_offset = (long long)(pair->n % DIRECTS) * DIRECT };
	struct iocb *reads[] = { &read };

	if (syscall(SYS_io_submit, pair->aio, 1, reads) != 1)
		die("io_submit");
}

/* Whoever has made the request. */
static void aio_end(struct pair *pair)
{
	struct io_event event;

	if (syscall(SYS_io_getevents, pair->aio, 1, 1, &event, NULL) != 1)
		die("io_getevents");
}

static void aio_wait(struct pair *pair)
{
	aio_read(pair, DIRECT);
	aio_end(pair);
}

static void aio_wake(struct pair *pair)
{
	aio_read(pair, PAGE);
}

static struct uring {
	int fd;
	unsigned int *sq_tail, *sq_array, *cq_head, *cq_tail;
	struct io_uring_sqe *sqes;
} uring;

static void uring_make(struct pair *pair)
{
	struct io_uring_params params = { 0 };
	char *sq, *cq;

	eventfd_make(pair);
	uring.fd = (int)syscall(SYS_io_uring_setup, 1, &params);
	if (uring.fd < 0)
		die("io_uring_setup");
	sq = mmap(NULL, params.sq_off.array + sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED,
		  uring.fd, IORING_OFF_SQ_RING);
	cq = mmap(NULL, params.cq_off.cqes, PROT_READ | PROT_WRITE, MAP_SHARED, uring.fd,
		  IORING_OFF_CQ_RING);
	uring.sqes = mmap(NULL, sizeof(*uring.sqes), PROT_READ | PROT_WRITE, MAP_SHARED, uring.fd,
			  IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || uring.sqes == MAP_FAILED)
		die("mmap");
	uring.sq_tail = (unsigned int *)(sq + params.sq_off.tail);
	uring.sq_array = (unsigned int *)(sq + params.sq_off.array);
	uring.cq_head = (unsigned int *)(cq + params.cq_off.head);
	uring.cq_tail = (unsigned int *)(cq + params.cq_off.tail);
}

/* Until the eventfd can be read. */
static void uring_wait(struct pair *pair)
{
	eventfd_t times;

	*uring.sqes = (struct io_uring_sqe){ .opcode = IORING_OP_POLL_ADD,
					     .fd = pair->near,
					     .poll_events = POLLIN };
	*uring.sq_array = 0;
	__atomic_store_n(uring.sq_tail, *uring.sq_tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, uring.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		die("io_uring_enter");
	__atomic_store_n(uring.cq_head, __atomic_load_n(uring.cq_tail, __ATOMIC_ACQUIRE),
			 __ATOMIC_RELEASE);
	eventfd_read(pair->near, &times);
}

/* Only this thread's calls of mkdirat() are another's to answer. */
static void seccomp_begin(struct pair *pair)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mkdirat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { COUNT(filter), filter };
	int fd;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		die("prctl");
	fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			  &program);
	if (fd < 0)
		die("seccomp");
	__atomic_store_n(&pair->far, fd, __ATOMIC_RELEASE);
}

static void seccomp_wait(struct pair *pair)
{
	if (!pair->far)
		seccomp_begin(pair);
	pair->waits[pair->n % MAX_WAITS].before = now_ns();
	if (!mkdirat(AT_FDCWD, "/nowhere", 0700) || errno != EEXIST)
		die("mkdirat");
}

static void seccomp_answer(struct pair *pair)
{
	struct seccomp_notif_resp answer = { .error = -EEXIST };
	struct seccomp_notif call = { 0 };
	struct pollfd listener = { .fd = __atomic_load_n(&pair->far, __ATOMIC_ACQUIRE),
				   .events = POLLIN };

	if (!listener.fd || poll(&listener, 1, 0) <= 0 ||
	    ioctl(listener.fd, SECCOMP_IOCTL_NOTIF_RECV, &call))
		return;
	answer.id = call.id;
	ioctl(listener.fd, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

static const struct part parts[] = {
	{ "pipe", tube_make, read_some, write_some },
	{ "unix", unix_make, read_some, write_some },
	{ "tcp", tcp_make, recv_some, write_some },
	{ "eventfd", eventfd_make, read_some, write_some },
	{ "tty", tty_make, read_some, write_some },
	{ "poll", tube_make, poll_one, write_some },
	{ "select", eventfd_make, select_one, write_some },
	{ "epoll", unix_make, epoll_one, write_some },
	{ "accept", accept_make, accept_one, connect_one },
	{ "futex", NULL, futex_one, futex_wake },
	{ "flock", flock_make, flock_one, flock_pass },
	{ "signal", signal_make, signal_wait, signal_send },
	{ "child", child_make, child_wait, NULL },
	{ "timer", NULL, timer_wait, NULL },
	{ "fsync", fsync_make, fsync_wait, NULL },
	{ "page", pages_make, page_wait, NULL },
	{ "direct", direct_make, direct_wait, NULL },
	{ "aio", aio_make, aio_wait, NULL },
	{ "aio_idle", aio_make, aio_end, aio_wake },
	{ "uring", uring_make, uring_wait, write_some },
	{ "seccomp", NULL, seccomp_wait, seccomp_answer },
};

static void waiter(struct worker *worker)
{
	struct pair *pair = &pairs[worker->args[0]];

	while (!stage_over(worker->stage)) {
		struct wait *wait = &pair->waits[pair->n % MAX_WAITS];

		wait->before = now_ns();
		pair->part->wait(pair);
		wait->after = now_ns();
		wait->woken = atomic_load(&pair->woken);
		if (!pair->part->wake || wait->after - wait->before >= LEAST_NS)
			atomic_fetch_add(&pair->n, 1);
	}
}

static void waker(struct worker *worker)
{
	struct pair *pair = &pairs[worker->args[0]];

	while (!stage_over(worker->stage)) {
		sleep_ns(WAIT_MS * MS);
		atomic_store(&pair->woken, now_ns());
		pair->part->wake(pair);
	}
}

static void pair_add(struct stage *stage, struct pair *pair, const char *name)
{
	for (size_t i = 0; i < COUNT(parts); i++)
		if (!strcmp(parts[i].name, name))
			pair->part = &parts[i];
	if (!pair->part)
		die(name);
	if (pair->part->prepare)
		pair->part->prepare(pair);
	pair->waiter = stage_add(stage, pair->part->name, waiter);
	pair->waiter->throughout = true;
	pair->waiter->args[0] = pair - pairs;
	if (pair->part->wake) {
		struct worker *other = stage_add(stage, "waker", waker);

		other->throughout = true;
		other->args[0] = pair - pairs;
	}
}

static void logs_print(const struct stage *stage)
{
	(void)stage;
	putchar('{');
	for (int i = 0; i < n_pairs; i++) {
		printf("%s\"%s\": {\"tid\": %d, \"faults\": %d, \"waits\": ", comma(i),
		       pairs[i].part->name, pairs[i].waiter->tid, pairs[i].faults);
		ring_print(&pairs[i].waits->before, atomic_load(&pairs[i].n), MAX_WAITS, 3);
		putchar('}');
	}
	say("}");
}

VERB(blocked, 1, MAX_ROLES, "ROLE... [DIRECTORY]")
{
	static struct stage stage = { .log = logs_print };

	for (int i = 1; i < argc; i++)
		if (strchr(argv[i], '/'))
			directory = argv[i];
	for (int i = 1; i < argc; i++)
		if (!strchr(argv[i], '/'))
			pair_add(&stage, &pairs[n_pairs++], argv[i]);
	stage_serve(&stage);
}
