/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that make slow system calls and log them by their own clock:
 * slow ROLE[:ARG...]...
 *
 * from "go" on, logging each call:
 *   sleeper:CALLS:SHORT_US:LONG_US:EVERY   sleeps, each EVERYth of them long
 *   failing:CALLS:US      futex, rt_sigtimedwait, which wait and fail, read, recvfrom,
 *                         which fail at once, in turn
 *   reader:CALLS:US       reads what "writer", a thread of its own, writes US later
 *   waiter:CALLS:US       waits in futex until "waker" wakes it, US later
 *   poller:CALLS:US       polls nothing
 *   faulter:CALLS:US      no call: writes to pages that "filler" fills in US later
 *   contender:CALLS:MB:CPU  writes to a file that "holder", on the same CPU, writes to without
 *                         end, so many MB each time: both need the lock of the inode
 *   zeros:CALLS:MB        reads /dev/zero: long without waiting
 *   quick:CALLS           getppid, at the end of a chain of functions, quick_1(), ... quick_5()
 *   gaps:MS:CPU           spins and logs where its clock jumped by GAP_NS or more, and notes when
 *                         it read that "from" and "until"
 * throughout:
 *   blocked               one poll without end
 *   hog:CPU               burns a CPU
 *   spinner               burns any CPU in spin_1(), ... spin_5()
 *   asker                 reads /dev/zero without end in ask_1(), ... ask_5()
 *   filtered              makes calls that filters of seccomp look at for long
 *
 * Commands besides the stage's:
 *   <- log    -> {"TID": [[before, after, call, result, least], ...]}: result is a
 *             negative errno for failures, least how long it was certainly inside */
#include "stage.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "late_page.h"

#define MAX_WORKERS 32
#define LOG_ROOM 8192
#define GAP_NS 100000

struct entry {
	long long before, after;
	const char *call;
	long long result, least;
};

static struct log {
	struct entry entries[LOG_ROOM];
	int n;
} logs[MAX_WORKERS];

static void log_add(const struct worker *worker, long long before, const char *call,
		    long long result, long long least)
{
	struct log *log = &logs[worker->number];

	if (log->n == LOG_ROOM)
		die("the log is full");
	log->entries[log->n++] = (struct entry){ before, now_ns(), call,
						 result < 0 ? -errno : result, least };
}

void sleeper_sleep(long us), reader_wait(int fd), faulter_touch(volatile char *page);
long waiter_wait(uint32_t *word, uint32_t value, long us);

FRAME void sleeper_sleep(long us)
{
	sleep_ns(us * 1000);
	RETURN_HERE();
}

static void sleeper(struct worker *worker)
{
	for (long i = 1; i <= worker->args[0]; i++) {
		long us = i % worker->args[3] ? worker->args[1] : worker->args[2];
		long long before = now_ns();

		sleeper_sleep(us);
		log_add(worker, before, "clock_nanosleep", 0, us * 1000LL);
	}
}

/* us < 0: for ever. */
FRAME long waiter_wait(uint32_t *word, uint32_t value, long us)
{
	struct timespec time = timespec_of(us * 1000LL);
	long result = syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, us < 0 ? NULL : &time,
			      NULL, 0);

	RETURN_HERE();
	return result;
}

static void failing(struct worker *worker)
{
	struct timespec time = timespec_of(worker->args[1] * 1000);
	long long least = worker->args[1] * 1000LL, before;
	uint32_t word = 0;
	sigset_t set;
	int pair[2];
	char c;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		die("socketpair");
	for (long i = 0; i < worker->args[0]; i++) {
		before = now_ns();
		log_add(worker, before, "futex", waiter_wait(&word, 0, worker->args[1]), least);
		before = now_ns();
		log_add(worker, before, "rt_sigtimedwait", sigtimedwait(&set, NULL, &time), least);
		before = now_ns();
		log_add(worker, before, "read", read(-1, &c, 1), 0);
		before = now_ns();
		log_add(worker, before, "recvfrom", recv(pair[0], &c, 1, MSG_DONTWAIT), 0);
	}
}

/* --- Pairs: the second thread answers the first one's requests, which come through a
 * pipe, after some time. --- */

struct pair {
	int asks[2], answers[2];
	uint32_t word;
	long us;
	struct late_page late;
	const char *role;
	void (*answer)(struct pair *pair);
	pid_t tid;
};

static void answer_write(struct pair *pair)
{
	pass_bytes(pair->answers[1], 1);
}

static void answer_wake(struct pair *pair)
{
	__atomic_fetch_add(&pair->word, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &pair->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void answer_fill(struct pair *pair)
{
	late_page_bring(&pair->late, 0);
}

static void *pair_main(void *arg)
{
	struct pair *pair = arg;

	prctl(PR_SET_NAME, pair->role);
	pair->tid = gettid();
	pass_bytes(pair->answers[1], 1);
	for (;;) {
		take_bytes(pair->asks[0], 1);
		sleep_ns(pair->us * 1000);
		pair->answer(pair);
	}
	return NULL;
}

static void pair_start(struct pair *pair, struct worker *worker)
{
	pipe_make(pair->asks);
	pipe_make(pair->answers);
	thread_begin(pair_main, pair);
	take_bytes(pair->answers[0], 1);
	worker_note(worker, "partner", pair->tid);
}

FRAME void reader_wait(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		die("read from a pipe");
	RETURN_HERE();
}

static void reader(struct worker *worker)
{
	struct pair pair = { .us = worker->args[1], .role = "writer", .answer = answer_write };

	pair_start(&pair, worker);
	for (long i = 0; i < worker->args[0]; i++) {
		long long before = now_ns();

		pass_bytes(pair.asks[1], 1);
		reader_wait(pair.answers[0]);
		log_add(worker, before, "read", 1, 0);
	}
}

static void waiter(struct worker *worker)
{
	struct pair pair = { .us = worker->args[1], .role = "waker", .answer = answer_wake };

	pair_start(&pair, worker);
	for (uint32_t i = 0; i < worker->args[0]; i++) {
		long long before = now_ns();

		pass_bytes(pair.asks[1], 1);
		while (__atomic_load_n(&pair.word, __ATOMIC_SEQ_CST) == i)
			waiter_wait(&pair.word, i, -1);
		log_add(worker, before, "futex", 0, 0);
	}
}

struct contended {
	int file;
	size_t size;
	char *data;
};

/* The lock is held as long as this writes. */
static void *holder_main(void *arg)
{
	const struct contended *contended = arg;

	prctl(PR_SET_NAME, "holder");
	for (;;)
		if (pwrite(contended->file, contended->data, contended->size, 0) < 0)
			die("pwrite");
	return NULL;
}

FRAME void contender_write(int file)
{
	if (pwrite(file, "x", 1, 0) != 1)
		die("pwrite");
	RETURN_HERE();
}

static void contender(struct worker *worker)
{
	static struct contended contended;
	pthread_t thread;

	pin(worker->args[2]);
	contended.size = (size_t)worker->args[1] << 20;
	contended.data = calloc(1, contended.size);
	contended.file = memfd_create("contended", MFD_CLOEXEC);
	if (!contended.data || contended.file < 0)
		die("contender");
	thread = thread_begin(holder_main, &contended);
	for (long i = 0; i < worker->args[0]; i++) {
		long long before = now_ns();

		contender_write(contended.file);
		log_add(worker, before, "pwrite64", 1, 0);
		sleep_ns(MS);
	}
	pthread_cancel(thread);
	pthread_join(thread, NULL);
}

FRAME void faulter_touch(volatile char *page)
{
	*page = 1;
	RETURN_HERE();
}

static void faulter(struct worker *worker)
{
	struct pair pair = { .us = worker->args[1], .role = "filler", .answer = answer_fill };

	if (!late_page_make(&pair.late)) {
		worker_note(worker, "partner", 0);
		return;
	}
	pair_start(&pair, worker);
	for (long i = 0; i < worker->args[0]; i++) {
		long long before = now_ns();

		pass_bytes(pair.asks[1], 1);
		faulter_touch(pair.late.page);
		log_add(worker, before, "", 0, 0);
		late_page_drop(&pair.late);
	}
}

/* --- Alone --- */

static void poller(struct worker *worker)
{
	for (long i = 0; i < worker->args[0]; i++) {
		long long before = now_ns();

		log_add(worker, before, "poll", poll(NULL, 0, worker->args[1] / 1000),
			worker->args[1] / 1000 * 1000000LL);
	}
}

static void zeros(struct worker *worker)
{
	size_t size = (size_t)worker->args[1] << 20;
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	char *room = memory_map(size, MAP_PRIVATE | MAP_POPULATE);

	if (fd < 0)
		die("/dev/zero");
	for (long i = 0; i < worker->args[0]; i++) {
		long long before = now_ns();

		log_add(worker, before, "read", read(fd, room, size), 0);
	}
	munmap(room, size);
	close(fd);
}

static void gaps(struct worker *worker)
{
	long long now, last, end;

	pin(worker->args[1]);
	last = now_ns();
	worker_note(worker, "from", last);
	end = last + worker->args[0] * 1000000LL;
	while (last < end) {
		now = now_ns();
		if (now - last >= GAP_NS)
			log_add(worker, last, "", 0, 0);
		last = now;
	}
	worker_note(worker, "until", last);
}

static void blocked(struct worker *worker)
{
	(void)worker;
	poll(NULL, 0, -1);
	RETURN_HERE();
}

/* No frame of its own. */
static inline __attribute__((always_inline)) void burn(long rounds)
{
	for (volatile long i = 0; i < rounds; i++)
		;
}

static void hog(struct worker *worker)
{
	pin(worker->args[0]);
	while (!stage_over(worker->stage))
		burn(1000);
}

static int zero;

static inline __attribute__((always_inline)) void zero_read(void)
{
	char room[16384];

	for (int i = 0; i < 100; i++)
		if (read(zero, room, sizeof(room)) != sizeof(room))
			die("/dev/zero");
}

#define ENDS_IN(name, statement)                                                                   \
	void name##_5(void), name##_4(void), name##_3(void), name##_2(void), name##_1(void);       \
	FRAME void name##_5(void)                                                                  \
	{                                                                                          \
		statement;                                                                         \
		RETURN_HERE();                                                                     \
	}                                                                                          \
	PASSES_ON(name##_4, name##_5)                                                              \
	PASSES_ON(name##_3, name##_4)                                                              \
	PASSES_ON(name##_2, name##_3)                                                              \
	PASSES_ON(name##_1, name##_2)

ENDS_IN(spin, burn(1000000))
ENDS_IN(ask, zero_read())
ENDS_IN(quick, getppid())

static void spinner(struct worker *worker)
{
	while (!stage_over(worker->stage))
		spin_1();
}

static void asker(struct worker *worker)
{
	zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	while (!stage_over(worker->stage))
		ask_1();
}

#define FILTERS 8
#define FILTER_LENGTH 1000

/* A filter that looks at arguments has to run for each call. */
static void filtered(struct worker *worker)
{
	static struct sock_filter code[FILTER_LENGTH + 2];
	struct sock_fprog program = { FILTER_LENGTH + 2, code };

	code[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					       offsetof(struct seccomp_data, args[1]));
	for (unsigned int i = 1; i <= FILTER_LENGTH; i++)
		code[i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x7000000 + i, 0,
						       0);
	code[FILTER_LENGTH + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		die("prctl");
	for (int i = 0; i < FILTERS; i++)
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
			die("seccomp");
	while (!stage_over(worker->stage))
		syscall(SYS_getppid, 1, 2);
}

static void quick(struct worker *worker)
{
	for (long i = 0; i < worker->args[0]; i++)
		quick_1();
}

static void logs_print(const struct stage *stage)
{
	putchar('{');
	for (int i = 0; i < stage->count; i++) {
		printf("%s\"%d\": [", comma(i), stage->workers[i]->tid);
		for (int k = 0; k < logs[i].n; k++) {
			const struct entry *entry = &logs[i].entries[k];

			printf("%s[%lld, %lld, \"%s\", %lld, %lld]", comma(k), entry->before,
			       entry->after, entry->call, entry->result, entry->least);
		}
		putchar(']');
	}
	say("}");
}

VERB(slow, 0, MAX_WORKERS, "ROLE[:ARG...]...")
{
	static const struct role roles[] = {
		{ .name = "sleeper", .run = sleeper },
		{ .name = "failing", .run = failing },
		{ .name = "reader", .run = reader },
		{ .name = "waiter", .run = waiter },
		{ .name = "poller", .run = poller },
		{ .name = "faulter", .run = faulter },
		{ .name = "zeros", .run = zeros },
		{ .name = "quick", .run = quick },
		{ .name = "gaps", .run = gaps },
		{ .name = "contender", .run = contender },
		{ .name = "blocked", .run = blocked, .throughout = true },
		{ .name = "hog", .run = hog, .throughout = true },
		{ .name = "spinner", .run = spinner, .throughout = true },
		{ .name = "asker", .run = asker, .throughout = true },
		{ .name = "filtered", .run = filtered, .throughout = true },
		{ .name = NULL },
	};
	static struct stage stage = { .log = logs_print };

	stage_cast(&stage, argv + 1, roles, MAX_WORKERS);
	stage_serve(&stage);
}
