/* SPDX-License-Identifier: Apache-2.0 */
/* A process of threads with roles: roles NAME[:ARG...]...
 *
 *   spin:CPU                  burns its CPU throughout
 *   fifo:CPU:RUN_MS:PERIOD_MS SCHED_FIFO, runs RUN_MS and rests until PERIOD_MS throughout
 *   relay:CPU:MS:NEXT_MS:PERIOD_MS  two SCHED_FIFO threads: throughout the first wakes the second,
 *                             runs for MS and rests until PERIOD_MS; the second runs for NEXT_MS
 *   poll                      one poll without end throughout
 *   convoy:CPU:RUN_US:SLEEP_US throughout takes one of four locks after another, runs with it
 *                             for RUN_US and sleeps for SLEEP_US
 *   enters:CPU:TURNS          getppid calls and, after each, so many turns of a loop
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
 * CPU -1 is any. */
#include "workload.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#define MAX_WORKERS 64
#define NS_PER_MS 1000000LL

struct role {
	const char *name;
	void (*run)(struct worker *);
	bool throughout;
	bool pair; /* two workers, joined by a pair of pipes */
};

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

static void run_for(long ms)
{
	long long until = clock_ns(CLOCK_MONOTONIC) + ms * NS_PER_MS;

	while (clock_ns(CLOCK_MONOTONIC) < until)
		;
}

static void be_fifo(long cpu, int priority)
{
	struct sched_param param = { .sched_priority = priority };

	pin(cpu);
	if (sched_setscheduler(0, SCHED_FIFO, &param))
		die("sched_setscheduler");
}

static void role_fifo(struct worker *worker)
{
	/* Not until a fixed time: if it is late for that, others would have to wait even longer. */
	long rest_ms = worker->args[2] > worker->args[1] ? worker->args[2] - worker->args[1] : 0;
	struct timespec rest = { .tv_nsec = rest_ms * NS_PER_MS };

	be_fifo(worker->args[0], 10);
	while (!stage_over(worker->stage)) {
		run_for(worker->args[1]);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, NULL);
	}
}

/* Of a lower priority, the second begins when the first rests. */
static void role_relay(struct worker *worker)
{
	long first_ms = worker->args[1], next_ms = worker->args[2], period_ms = worker->args[3];
	struct timespec rest = { .tv_nsec = (period_ms - first_ms) * NS_PER_MS };
	bool first = worker->in < worker->out;

	be_fifo(worker->args[0], first ? 10 : 9);
	while (!stage_over(worker->stage)) {
		if (first)
			pass_bytes(worker->out, 1);
		else
			take_bytes(worker->in, 1);
		run_for(first ? first_ms : next_ms);
		if (first)
			clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, NULL);
	}
	if (first)
		pass_bytes(worker->out, 1);
}

static void role_stalls(struct worker *worker)
{
	struct sched_param normal = { 0 };
	struct timespec pause = { .tv_nsec = worker->args[2] * NS_PER_MS };
	long long longest = 0;

	be_fifo(worker->args[3], 10);
	for (long i = 0; i < worker->args[0]; i++) {
		long long from = clock_ns(CLOCK_MONOTONIC), now = from;

		while (now < from + worker->args[1] * NS_PER_MS)
			now = clock_ns(CLOCK_MONOTONIC);
		longest = now - from > longest ? now - from : longest;
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
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
	struct timespec pause = { .tv_nsec = worker->args[2] * 1000 };

	pin(worker->args[0]);
	for (unsigned int i = (unsigned int)worker->tid; !stage_over(worker->stage); i++) {
		long long until;

		pthread_mutex_lock(&locks[i % 4]);
		until = clock_ns(CLOCK_MONOTONIC) + worker->args[1] * 1000;
		while (clock_ns(CLOCK_MONOTONIC) < until)
			syscall(SYS_getppid);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		pthread_mutex_unlock(&locks[i % 4]);
	}
}

static void role_calls(struct worker *worker)
{
	struct timespec length = { .tv_nsec = worker->args[2] * 1000 };
	long long before;

	for (long i = 0; i < worker->args[0]; i++)
		syscall(SYS_getppid);
	before = clock_ns(CLOCK_MONOTONIC);
	for (long i = 0; i < worker->args[1]; i++)
		if (clock_nanosleep(CLOCK_MONOTONIC, 0, &length, NULL))
			die("clock_nanosleep");
	worker_note(worker, "getppid", worker->args[0]);
	worker_note(worker, "sleeps", worker->args[1]);
	worker_note(worker, "sleep_ns", worker->args[1] * worker->args[2] * 1000);
	worker_note(worker, "around_ns", clock_ns(CLOCK_MONOTONIC) - before);
}

static void role_pollonce(struct worker *worker)
{
	long long before = clock_ns(CLOCK_MONOTONIC);

	if (poll(NULL, 0, (int)worker->args[0]))
		die("poll");
	worker_note(worker, "around_ns", clock_ns(CLOCK_MONOTONIC) - before);
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
	struct timespec length = { .tv_sec = worker->args[0] / 1000,
				   .tv_nsec = worker->args[0] % 1000 * NS_PER_MS };
	long long before = clock_ns(CLOCK_MONOTONIC);
	pid_t child = vfork();

	if (!child) {
		nanosleep(&length, NULL);
		_exit(0);
	}
	worker_note(worker, "around_ns", clock_ns(CLOCK_MONOTONIC) - before);
	waitpid(child, NULL, 0);
}

static void role_udp(struct worker *worker)
{
	struct sockaddr_in self = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(self);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	long received = 0;
	char packet[64] = "";

	pin(worker->args[1]);
	if (fd < 0 || bind(fd, (struct sockaddr *)&self, length) ||
	    getsockname(fd, (struct sockaddr *)&self, &length))
		die("socket");
	for (long i = 0; i < worker->args[0]; i++) {
		if (sendto(fd, packet, sizeof(packet), 0, (struct sockaddr *)&self, length) < 0)
			die("sendto");
		received += recv(fd, packet, sizeof(packet), 0) == sizeof(packet);
	}
	worker_note(worker, "received", received);
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
	long long before = clock_ns(CLOCK_MONOTONIC), end = before + ns, longest = 0, now;

	for (; before < end; before = now) {
		now = clock_ns(CLOCK_MONOTONIC);
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

static const struct role roles[] = {
	{ "spin", role_spin, true, false },         { "fifo", role_fifo, true, false },
	{ "enters", role_enters, true, false },     { "poll", role_poll, true, false },
	{ "calls", role_calls, false, false },      { "pollonce", role_pollonce, false, false },
	{ "pingpong", role_pingpong, false, true }, { "yield", role_yield, false, true },
	{ "vfork", role_vfork, false, false },      { "udp", role_udp, false, false },
	{ "stalls", role_stalls, false, false },    { "timers", role_timers, false, false },
	{ "convoy", role_convoy, true, false },     { "relay", role_relay, true, true },
};

static const struct role *role_find(const char *name)
{
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		if (!strcmp(roles[i].name, name))
			return &roles[i];
	fprintf(stderr, "no role %s\n", name);
	exit(2);
}

/* Adds the worker or the two workers of one argument; returns how many. */
static int roles_add(char *text, struct worker *worker)
{
	const struct role *role = role_find(strtok(text, ":"));
	const char *arg;
	int there[2], back[2];

	worker->role = role->name;
	worker->run = role->run;
	worker->throughout = role->throughout;
	for (int i = 0; i < 4 && (arg = strtok(NULL, ":")); i++)
		worker->args[i] = strtol(arg, NULL, 10);
	if (!role->pair)
		return 1;
	/* The first of a pair reads from the lower descriptor. */
	if (pipe(back) || pipe(there))
		die("pipe");
	worker[1] = worker[0];
	worker[0].in = back[0];
	worker[0].out = there[1];
	worker[1].in = there[0];
	worker[1].out = back[1];
	return 2;
}

int main(int argc, char **argv)
{
	static struct worker workers[MAX_WORKERS];
	struct stage stage = { .workers = workers };

	for (int i = 1; i < argc && stage.count + 2 <= MAX_WORKERS; i++)
		stage.count += roles_add(argv[i], &workers[stage.count]);
	return stage_serve(&stage);
}
