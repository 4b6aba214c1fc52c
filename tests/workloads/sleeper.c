/* SPDX-License-Identifier: Apache-2.0 */
/* A process whose threads sleep with time-outs: sleeper CALL:MS:SLACK_US...
 *
 * Each has a timer slack of SLACK_US (0: the one it has) and sleeps for MS again and again:
 *   nanosleep  until  wall (until by CLOCK_REALTIME)  poll  ppoll  select  pselect  epoll  epoll2
 *   futex  condition (until by CLOCK_REALTIME)  fifo (nanosleep, SCHED_FIFO)
 *
 *   -> ready
 *   <- log   -> {"CALL": {"tid": ..., "sleeps": [[before, requested, after], ...]}, ...}: the
 *               last 1,000 sleeps; when each began and ended by CLOCK_MONOTONIC, and for how
 *               long it was to be, ns */
#include "workload.h"

#include <linux/futex.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

#define SLEEPS 1000
#define NSEC_PER_SEC 1000000000LL

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
	pthread_barrier_t *started;
	pid_t tid;
	atomic_int n; /* sleeps so far */
	long long log[SLEEPS][3];
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

static const struct sleeper calls[] = {
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
#define CALLS (sizeof(calls) / sizeof(*calls))

static void *sleeper_main(void *arg)
{
	const struct sched_param param = { .sched_priority = 1 };
	struct sleeper *sleeper = arg;

	prctl(PR_SET_NAME, sleeper->call);
	if (sleeper->slack_ns && prctl(PR_SET_TIMERSLACK, sleeper->slack_ns, 0, 0, 0))
		die("PR_SET_TIMERSLACK");
	if (sleeper->fifo && sched_setscheduler(0, SCHED_FIFO, &param))
		die("sched_setscheduler");
	sleeper->tid = gettid();
	pthread_barrier_wait(sleeper->started);
	for (;;) {
		int n = atomic_load(&sleeper->n);
		long long *log = sleeper->log[n % SLEEPS], until;

		until = clock_ns(sleeper->clock) + sleeper->ns;
		sleeper->until.tv_sec = until / NSEC_PER_SEC;
		sleeper->until.tv_nsec = until % NSEC_PER_SEC;
		log[0] = clock_ns(CLOCK_MONOTONIC);
		log[1] = sleeper->ns;
		sleeper->sleep(sleeper);
		log[2] = clock_ns(CLOCK_MONOTONIC);
		atomic_store(&sleeper->n, n + 1);
	}
	return NULL;
}

static void sleeper_set(struct sleeper *sleeper, char *arg)
{
	const char *name = strsep(&arg, ":"), *ms = strsep(&arg, ":");
	size_t i = 0;

	while (i < CALLS && strcmp(calls[i].call, name))
		i++;
	if (i == CALLS || !ms || !arg) {
		fprintf(stderr, "CALL:MS:SLACK_US expected\n");
		exit(2);
	}
	*sleeper = calls[i];
	sleeper->ns = atoll(ms) * 1000000;
	sleeper->slack_ns = atoll(arg) * 1000;
	sleeper->length.tv_nsec = sleeper->ns;
	sleeper->epoll = epoll_create1(0);
	pthread_mutex_init(&sleeper->mutex, NULL);
	pthread_cond_init(&sleeper->condition, NULL);
}

static void sleeper_print(struct sleeper *sleeper)
{
	int n = atomic_load(&sleeper->n);

	printf("\"%s\": {\"tid\": %d, \"sleeps\": [", sleeper->call, sleeper->tid);
	/* The oldest one may be being overwritten. */
	for (int i = n >= SLEEPS ? n - SLEEPS + 1 : 0, first = i; i < n; i++) {
		const long long *log = sleeper->log[i % SLEEPS];

		printf("%s[%lld, %lld, %lld]", i > first ? ", " : "", log[0], log[1], log[2]);
	}
	printf("]}");
}

int main(int argc, char **argv)
{
	struct sleeper *sleepers = calloc((size_t)argc, sizeof(*sleepers));
	pthread_barrier_t started;
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_barrier_init(&started, NULL, (unsigned int)argc);
	for (int i = 1; i < argc; i++) {
		sleeper_set(&sleepers[i], argv[i]);
		sleepers[i].started = &started;
		if (pthread_create(&thread, NULL, sleeper_main, &sleepers[i]))
			die("pthread_create");
	}
	pthread_barrier_wait(&started); /* their TIDs are known now */
	say("ready");
	for (;;) {
		wait_for("log");
		printf("{");
		for (int i = 1; i < argc; i++) {
			printf("%s", i > 1 ? ", " : "");
			sleeper_print(&sleepers[i]);
		}
		say("}");
	}
}
