/* SPDX-License-Identifier: Apache-2.0 */
/* --- roles: a process of threads with roles, NAME[:ARG...]... ---
 *
 *   spin:CPU                  burns its CPU throughout
 *   fifo:CPU:RUN_MS:PERIOD_MS SCHED_FIFO, runs RUN_MS and rests until PERIOD_MS throughout
 *   relay:CPU:MS:NEXT_MS:PERIOD_MS  two SCHED_FIFO threads: throughout the first wakes the second,
 *                             runs for MS and rests until PERIOD_MS; the second runs for NEXT_MS
 *   poll                      one poll without end throughout
 *   convoy:CPU:RUN_US:SLEEP_US throughout takes one of four locks after another, runs with it
 *                             for RUN_US and sleeps for SLEEP_US
 *   hasty:CPU:RUN_MS          two threads: every 10 ms the first is about to sleep when
 *                             a signal comes, and the second, SCHED_FIFO, runs for RUN_MS
 *   enters:CPU:TURNS          getppid calls and, after each, so many turns of a loop
 *   outside:KIND              is in the kernel, but in no system call: 0: seccomp filters
 *                             before calls, 1: calls that they refuse, 2: breakpoints, 3: files
 *                             closed after calls, 4: the same time in calls
 * and from "go" on:
 *   stalls:N:MS:PAUSE_MS:CPU  SCHED_FIFO, N times: runs for MS, so that all others wait, then
 *                         sleeps for PAUSE_MS
 *   calls:N:SLEEPS:SLEEP_US   N getppid calls, then SLEEPS sleeps
 *   pollonce:MS               one poll that times out after MS
 *   pingpong:ROUNDS:CPU       two threads that wake each other ROUNDS times
 *   yield:N:CPU               two threads on one CPU, N sched_yield calls each
 *   vfork:MS                  parent of a vfork child that sleeps for MS
 *   udp:N:CPU                 N datagrams to itself over the loopback
 *
 *   timers:N:US:CPU       N times sets a timer to US ahead and reads the clock meanwhile and as
 *                         long again; the median of the longest times between two readings
 *
 *   deadline:RUN_MS:PERIOD_MS:N  SCHED_DEADLINE, never sleeps: N times off its CPU for 1 ms or more
 *
 * CPU -1 is any. */
#include "stage.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

static void role_spin(struct worker *worker)
{
	pin(worker->args[0]);
	while (!stage_over(worker->stage))
		;
}

static void role_enters(struct worker *worker)
{
	pin(worker->args[0]);
	while (!stage_over(worker->stage)) {
		syscall(SYS_getppid);
		for (volatile long i = 0; i < worker->args[1]; i++)
			;
	}
}

/* Compares the first argument with many numbers before each call, and refuses getppid, or not. */
static void filter_install(bool refuse)
{
	static struct sock_filter filter[1000];
	struct sock_fprog program = { COUNT(filter), filter };
	size_t last = COUNT(filter) - 1;

	filter[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, args[0]));
	for (size_t i = 1; i < last - 3; i++)
		filter[i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							 (unsigned int)(1000000 + i), 0, 0);
	filter[last - 3] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
							offsetof(struct seccomp_data, nr));
	filter[last - 2] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0,
							1);
	filter[last - 1] = (struct sock_filter)BPF_STMT(
		BPF_RET | BPF_K, refuse ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_ALLOW);
	filter[last] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		die("seccomp");
}

static void breakpoint_hit(int signal)
{
	(void)signal;
}

/* Of which the kernel tells nobody but the handler. */
static void raise_breakpoint(void)
{
#if defined(__x86_64__) || defined(__i386__)
	asm volatile("int3");
#else
	raise(SIGTRAP);
#endif
}

/* A file that is open until it is no longer mapped, when munmap() has ended; or truncated in a
 * call. */
static void file_free(bool in_call)
{
	int fd = memfd_create("outside", 0);
	void *page;

	if (fd < 0 || fallocate(fd, 0, 0, 4 << 20))
		die("memfd");
	page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED || (in_call && ftruncate(fd, 0)))
		die("mmap");
	close(fd);
	munmap(page, PAGE);
}

static void role_outside(struct worker *worker)
{
	long kind = worker->args[0];

	if (kind < 2)
		filter_install(kind == 1);
	if (kind == 2 && signal(SIGTRAP, breakpoint_hit) == SIG_ERR)
		die("signal");
	while (!stage_over(worker->stage)) {
		if (kind < 2)
			syscall(SYS_getppid, 0);
		else if (kind == 2)
			raise_breakpoint();
		else
			file_free(kind == 4);
	}
}

/* In that order: to others there it is of that priority from the first moment. */
static void pin_as_fifo(long cpu, int priority)
{
	be_fifo(priority);
	pin(cpu);
}

static void role_fifo(struct worker *worker)
{
	/* Not until a fixed time: if it is late for that, others would have to wait even longer. */
	long rest_ms = worker->args[2] > worker->args[1] ? worker->args[2] - worker->args[1] : 0;

	pin_as_fifo(worker->args[0], 10);
	while (!stage_over(worker->stage)) {
		spin_ns(worker->args[1] * MS);
		sleep_ns(rest_ms * MS);
	}
}

static volatile sig_atomic_t caught;

static void signal_caught(int number)
{
	caught = number;
}

/* One interrupt does both. The sleep is begun so long after the time of that that the interrupt is
 * as often before it as after. */
static void role_hasty(struct worker *worker)
{
	const long long every = 10 * MS, from = now_ns() / every * every + every;
	const struct itimerspec times = { timespec_of(every), timespec_of(from) };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM };
	struct sigaction action = { .sa_handler = signal_caught };
	bool hasty = worker->in < worker->out;
	timer_t timer;

	event._sigev_un._tid = worker->tid;
	if (hasty &&
	    (sigaction(SIGALRM, &action, NULL) || timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	     timer_settime(timer, TIMER_ABSTIME, &times, NULL)))
		die("timer");
	if (hasty)
		pin(worker->args[0]);
	else
		pin_as_fifo(worker->args[0], 10);
	for (long long at = from, late = 0; !stage_over(worker->stage);) {
		caught = 0;
		if (hasty)
			spin_until(at + late);
		late += caught ? -4000 : 2000;
		sleep_until(hasty ? at + every / 2 : at);
		if (!hasty)
			spin_ns(worker->args[1] * MS);
		at = now_ns() / every * every + every;
	}
}

/* Of a lower priority, the second begins when the first rests. */
static void role_relay(struct worker *worker)
{
	long first_ms = worker->args[1], next_ms = worker->args[2], period_ms = worker->args[3];
	bool first = worker->in < worker->out;

	pin_as_fifo(worker->args[0], first ? 10 : 9);
	while (!stage_over(worker->stage)) {
		if (first)
			pass_bytes(worker->out, 1);
		else
			take_bytes(worker->in, 1);
		spin_ns((first ? first_ms : next_ms) * MS);
		if (first)
			sleep_ns((period_ms - first_ms) * MS);
	}
	if (first)
		pass_bytes(worker->out, 1);
}

static void role_stalls(struct worker *worker)
{
	struct sched_param normal = { 0 };
	long long longest = 0;

	pin_as_fifo(worker->args[3], 10);
	for (long i = 0; i < worker->args[0]; i++) {
		long long from = now_ns(), now = from;

		while (now < from + worker->args[1] * MS)
			now = now_ns();
		longest = now - from > longest ? now - from : longest;
		sleep_ns(worker->args[2] * MS);
	}
	sched_setscheduler(0, SCHED_OTHER, &normal);
	worker_note(worker, "longest_ns", longest);
}

static void role_poll(struct worker *worker)
{
	struct pollfd end = { .fd = worker->stage->end[0], .events = POLLIN };

	poll(&end, 1, -1);
}

/* Each begins with another lock, so that there are several queues. */
static void role_convoy(struct worker *worker)
{
	static pthread_mutex_t locks[] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
					   PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };

	pin(worker->args[0]);
	for (unsigned int i = (unsigned int)worker->tid; !stage_over(worker->stage); i++) {
		long long until;

		pthread_mutex_lock(&locks[i % 4]);
		until = now_ns() + worker->args[1] * 1000;
		while (now_ns() < until)
			syscall(SYS_getppid);
		sleep_ns(worker->args[2] * 1000);
		pthread_mutex_unlock(&locks[i % 4]);
	}
}

static void role_calls(struct worker *worker)
{
	struct timespec length = { .tv_nsec = worker->args[2] * 1000 };
	long long before;

	getppids(worker->args[0]);
	before = now_ns();
	for (long i = 0; i < worker->args[1]; i++)
		if (clock_nanosleep(CLOCK_MONOTONIC, 0, &length, NULL))
			die("clock_nanosleep");
	worker_note(worker, "getppid", worker->args[0]);
	worker_note(worker, "sleeps", worker->args[1]);
	worker_note(worker, "sleep_ns", worker->args[1] * worker->args[2] * 1000);
	worker_note(worker, "around_ns", now_ns() - before);
}

static void role_pollonce(struct worker *worker)
{
	long long before = now_ns();

	if (poll(NULL, 0, (int)worker->args[0]))
		die("poll");
	worker_note(worker, "around_ns", now_ns() - before);
}

static void note_switches(struct worker *worker, const struct rusage *before)
{
	struct rusage after;

	getrusage(RUSAGE_THREAD, &after);
	worker_note(worker, "nvcsw", after.ru_nvcsw - before->ru_nvcsw);
	worker_note(worker, "nivcsw", after.ru_nivcsw - before->ru_nivcsw);
}

static void role_pingpong(struct worker *worker)
{
	bool first = worker->in < worker->out;
	struct rusage before;

	pin(worker->args[1]);
	getrusage(RUSAGE_THREAD, &before);
	for (long i = 0; i < worker->args[0]; i++) {
		if (first)
			pass_bytes(worker->out, 1);
		take_bytes(worker->in, 1);
		if (!first)
			pass_bytes(worker->out, 1);
	}
	note_switches(worker, &before);
}

static void role_yield(struct worker *worker)
{
	struct rusage before;

	pin(worker->args[1]);
	/* Both must be at it at the same time. */
	pass_bytes(worker->out, 1);
	take_bytes(worker->in, 1);
	getrusage(RUSAGE_THREAD, &before);
	for (long i = 0; i < worker->args[0]; i++)
		sched_yield();
	note_switches(worker, &before);
}

static void role_vfork(struct worker *worker)
{
	struct timespec length = timespec_of(worker->args[0] * MS);
	long long before = now_ns();
	pid_t child = vfork();

	if (!child) {
		nanosleep(&length, NULL);
		_exit(0);
	}
	worker_note(worker, "around_ns", now_ns() - before);
	waitpid(child, NULL, 0);
}

/* A datagram that does not arrive in a second is sent again: others may fill the CPU's backlog. */
static void role_udp(struct worker *worker)
{
	const struct timeval patience = { .tv_sec = 1 };
	struct sockaddr_in self = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(self);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	long sent = 0, received = 0;
	char packet[64] = "";

	pin(worker->args[1]);
	if (fd < 0 || bind(fd, (struct sockaddr *)&self, length) ||
	    getsockname(fd, (struct sockaddr *)&self, &length) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)))
		die("socket");
	for (; received < worker->args[0]; sent++) {
		if (sendto(fd, packet, sizeof(packet), 0, (struct sockaddr *)&self, length) < 0)
			die("sendto");
		received += recv(fd, packet, sizeof(packet), 0) == sizeof(packet);
	}
	worker_note(worker, "sent", sent);
	close(fd);
}

static int longer(const void *a, const void *b)
{
	long long x = *(const long long *)a, y = *(const long long *)b;

	return (x > y) - (x < y);
}

/* The longest time for which the CPU did not run this loop, in the next ns. */
static long long longest_gap(long long ns)
{
	long long before = now_ns(), end = before + ns, longest = 0, now;

	for (; before < end; before = now) {
		now = now_ns();
		longest = now - before > longest ? now - before : longest;
	}
	return longest;
}

static void role_timers(struct worker *worker)
{
	const struct itimerspec ahead = { .it_value.tv_nsec = worker->args[1] * 1000 };
	long long *gaps = calloc((size_t)worker->args[0], sizeof(*gaps));
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	pin(worker->args[2]);
	if (!gaps || timer < 0)
		die("timerfd_create");
	for (long i = 0; i < worker->args[0]; i++) {
		if (timerfd_settime(timer, 0, &ahead, NULL))
			die("timerfd_settime");
		gaps[i] = longest_gap(worker->args[1] * 2000);
	}
	qsort(gaps, (size_t)worker->args[0], sizeof(*gaps), longer);
	worker_note(worker, "gap_ns", gaps[worker->args[0] / 2]);
	free(gaps);
	close(timer);
}

/* struct sched_attr of include/uapi/linux/sched/types.h, which older headers of libc lack. */
struct deadline {
	unsigned int size, policy;
	unsigned long long flags;
	int nice;
	unsigned int priority;
	unsigned long long runtime, deadline, period;
};

static void role_deadline(struct worker *worker)
{
	unsigned long long period = (unsigned long long)worker->args[1] * MS;
	const struct deadline deadline = {
		.size = sizeof(deadline),
		.policy = 6,
		.runtime = (unsigned long long)worker->args[0] * MS,
		.deadline = period,
		.period = period,
	};
	struct sched_param normal = { 0 };
	long long last, now, kept = 0, longest = 0;

	if (syscall(SYS_sched_setattr, 0, &deadline, 0)) {
		worker_note(worker, "refused", errno);
		return;
	}
	last = now_ns();
	for (long left = worker->args[2]; left; last = now) {
		now = now_ns();
		if (now - last < MS)
			continue;
		kept += now - last;
		longest = now - last > longest ? now - last : longest;
		left--;
	}
	sched_setscheduler(0, SCHED_OTHER, &normal);
	worker_note(worker, "kept_ns", kept);
	worker_note(worker, "longest_ns", longest);
}

static const struct role roles[] = {
	{ "spin", role_spin, true, false },          { "fifo", role_fifo, true, false },
	{ "enters", role_enters, true, false },      { "outside", role_outside, true, false },
	{ "poll", role_poll, true, false },          { "calls", role_calls, false, false },
	{ "pollonce", role_pollonce, false, false }, { "pingpong", role_pingpong, false, true },
	{ "yield", role_yield, false, true },        { "vfork", role_vfork, false, false },
	{ "udp", role_udp, false, false },           { "stalls", role_stalls, false, false },
	{ "timers", role_timers, false, false },     { "convoy", role_convoy, true, false },
	{ "relay", role_relay, true, true },         { "deadline", role_deadline, false, false },
	{ "hasty", role_hasty, true, true },         { .name = NULL },
};

VERB(roles, 0, MANY, "NAME[:ARG...]...")
{
	static struct stage stage;

	stage_cast(&stage, argv + 1, roles, MANY);
	stage_serve(&stage);
}

/* --- sleeper: a process whose threads sleep with time-outs ---
 *
 * Each has a timer slack of SLACK_US (0: the one it has) and sleeps for MS again and again:
 *   nanosleep  until  wall (until by CLOCK_REALTIME)  poll  ppoll  select  pselect  epoll  epoll2
 *   futex  condition (until by CLOCK_REALTIME)  fifo (nanosleep, SCHED_FIFO)
 *
 *   -> ready
 *   <- log   -> {"CALL": {"tid": ..., "sleeps": [[before, requested, after], ...]}, ...}: the
 *               last 1,000 sleeps; when each began and ended by CLOCK_MONOTONIC, and for how
 *               long it was to be, ns */
#define SLEEPS 1000

struct sleeper {
	const char *call;
	void (*sleep)(struct sleeper *);
	clockid_t clock; /* of until */
	bool fifo;
	long long ns, slack_ns;
	struct timespec length, until;
	int epoll;
	pthread_mutex_t mutex;
	pthread_cond_t condition;
	pid_t tid;
	atomic_int n; /* sleeps so far */
	long long (*log)[3];
};

static void by_nanosleep(struct sleeper *sleeper)
{
	nanosleep(&sleeper->length, NULL);
}

static void by_until(struct sleeper *sleeper)
{
	clock_nanosleep(sleeper->clock, TIMER_ABSTIME, &sleeper->until, NULL);
}

static void by_poll(struct sleeper *sleeper)
{
	poll(NULL, 0, (int)(sleeper->ns / 1000000));
}

static void by_ppoll(struct sleeper *sleeper)
{
	ppoll(NULL, 0, &sleeper->length, NULL);
}

static void by_select(struct sleeper *sleeper)
{
	struct timeval length = { .tv_usec = sleeper->ns / 1000 };

	select(0, NULL, NULL, NULL, &length);
}

static void by_pselect(struct sleeper *sleeper)
{
	pselect(0, NULL, NULL, NULL, &sleeper->length, NULL);
}

static void by_epoll(struct sleeper *sleeper)
{
	struct epoll_event event;

	epoll_wait(sleeper->epoll, &event, 1, (int)(sleeper->ns / 1000000));
}

static void by_epoll2(struct sleeper *sleeper)
{
	struct epoll_event event;

	syscall(SYS_epoll_pwait2, sleeper->epoll, &event, 1, &sleeper->length, NULL, 0);
}

static void by_futex(struct sleeper *sleeper)
{
	int word = 0;

	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &sleeper->length, NULL, 0);
}

static void by_condition(struct sleeper *sleeper)
{
	pthread_mutex_lock(&sleeper->mutex);
	pthread_cond_timedwait(&sleeper->condition, &sleeper->mutex, &sleeper->until);
	pthread_mutex_unlock(&sleeper->mutex);
}

static const struct sleeper sleepers[] = {
	{ .call = "nanosleep", .sleep = by_nanosleep },
	{ .call = "until", .sleep = by_until, .clock = CLOCK_MONOTONIC },
	{ .call = "wall", .sleep = by_until, .clock = CLOCK_REALTIME },
	{ .call = "poll", .sleep = by_poll },
	{ .call = "ppoll", .sleep = by_ppoll },
	{ .call = "select", .sleep = by_select },
	{ .call = "pselect", .sleep = by_pselect },
	{ .call = "epoll", .sleep = by_epoll },
	{ .call = "epoll2", .sleep = by_epoll2 },
	{ .call = "futex", .sleep = by_futex },
	{ .call = "condition", .sleep = by_condition },
	{ .call = "fifo", .sleep = by_nanosleep, .fifo = true },
};

static pthread_barrier_t started;

static void *sleep_on(void *arg)
{
	struct sleeper *sleeper = arg;

	prctl(PR_SET_NAME, sleeper->call);
	if (sleeper->slack_ns && prctl(PR_SET_TIMERSLACK, sleeper->slack_ns, 0, 0, 0))
		die("PR_SET_TIMERSLACK");
	if (sleeper->fifo)
		be_fifo(1);
	sleeper->tid = gettid();
	pthread_barrier_wait(&started);
	for (;;) {
		int n = atomic_load(&sleeper->n);
		long long *log = sleeper->log[n % SLEEPS];

		sleeper->until = timespec_of(clock_ns(sleeper->clock) + sleeper->ns);
		log[0] = now_ns();
		log[1] = sleeper->ns;
		sleeper->sleep(sleeper);
		log[2] = now_ns();
		atomic_store(&sleeper->n, n + 1);
	}
	return NULL;
}

static void sleeper_set(struct sleeper *sleeper, char *arg)
{
	const char *name = strsep(&arg, ":"), *ms = strsep(&arg, ":");
	size_t i = 0;

	while (i < COUNT(sleepers) && strcmp(sleepers[i].call, name))
		i++;
	if (i == COUNT(sleepers) || !ms || !arg)
		die("CALL:MS:SLACK_US");
	*sleeper = sleepers[i];
	sleeper->log = calloc(SLEEPS, sizeof(*sleeper->log));
	if (!sleeper->log)
		die("calloc");
	sleeper->ns = number(ms) * MS;
	sleeper->slack_ns = number(arg) * 1000;
	sleeper->length.tv_nsec = sleeper->ns;
	sleeper->epoll = epoll_create1(0);
	pthread_mutex_init(&sleeper->mutex, NULL);
	pthread_cond_init(&sleeper->condition, NULL);
}

static void sleeper_print(const struct sleeper *sleeper)
{
	printf("\"%s\": {\"tid\": %d, \"sleeps\": ", sleeper->call, sleeper->tid);
	ring_print(*sleeper->log, atomic_load(&sleeper->n), SLEEPS, 3);
	putchar('}');
}

VERB(sleeper, 0, MANY, "CALL:MS:SLACK_US...")
{
	struct sleeper *all = calloc((size_t)argc, sizeof(*all));

	pthread_barrier_init(&started, NULL, (unsigned int)argc);
	for (int i = 1; i < argc; i++) {
		sleeper_set(&all[i], argv[i]);
		thread_begin(sleep_on, &all[i]);
	}
	pthread_barrier_wait(&started); /* their TIDs are known now */
	say_ready();
	for (;;) {
		wait_for("log");
		putchar('{');
		for (int i = 1; i < argc; i++) {
			printf("%s", comma(i > 1));
			sleeper_print(&all[i]);
		}
		say("}");
	}
	return 0;
}
