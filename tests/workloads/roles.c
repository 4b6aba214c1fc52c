/* SPDX-License-Identifier: Apache-2.0 */
/* A process of threads with roles: roles NAME[:ARG...]...
 *
 *   spin:CPU                  burns its CPU throughout
 *   fifo:CPU:RUN_MS:PERIOD_MS SCHED_FIFO, runs RUN_MS of every PERIOD_MS throughout
 *   poll                      one poll without end throughout
 * and from "go" on:
 *   calls:N:SLEEPS:SLEEP_US   N getppid calls, then SLEEPS sleeps
 *   pollonce:MS               one poll that times out after MS
 *   pingpong:ROUNDS:CPU       two threads that wake each other ROUNDS times
 *   yield:N:CPU               two threads on one CPU, N sched_yield calls each
 *   vfork:MS                  parent of a vfork child that sleeps for MS
 *   udp:N:CPU                 N datagrams to itself over the loopback
 *
 * CPU -1 is any. */
#include "workload.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
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

static void role_fifo(struct worker *worker)
{
	struct sched_param param = { .sched_priority = 10 };
	struct timespec next;

	pin(worker->args[0]);
	if (sched_setscheduler(0, SCHED_FIFO, &param))
		die("sched_setscheduler");
	clock_gettime(CLOCK_MONOTONIC, &next);
	while (!stage_over(worker->stage)) {
		long long until = clock_ns(CLOCK_MONOTONIC) + worker->args[1] * NS_PER_MS;

		while (clock_ns(CLOCK_MONOTONIC) < until)
			;
		next.tv_nsec += worker->args[2] * NS_PER_MS;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
}

static void role_poll(struct worker *worker)
{
	struct pollfd end = { .fd = worker->stage->end[0], .events = POLLIN };

	poll(&end, 1, -1);
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

static const struct role roles[] = {
	{ "spin", role_spin, true, false },          { "fifo", role_fifo, true, false },
	{ "poll", role_poll, true, false },          { "calls", role_calls, false, false },
	{ "pollonce", role_pollonce, false, false }, { "pingpong", role_pingpong, false, true },
	{ "yield", role_yield, false, true },        { "vfork", role_vfork, false, false },
	{ "udp", role_udp, false, false },
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
