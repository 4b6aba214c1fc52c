// SPDX-License-Identifier: Apache-2.0
/* --- led: a thread that waits for another one, which something else keeps ---
 *
 *   led WAIT WORK    calls probed_call() a few times when told to; in each call the main thread has
 *                    its worker do some WORK of 30 ms, and waits for it:
 *
 *   condition        by a condition variable
 *   poll             by poll() of an eventfd
 *   mutex            for a mutex that the worker has meanwhile
 *
 *   computes         it computes
 *   sleeps           it sleeps
 *   reads            it reads from another process ("outside"), which answers late
 *   crowded          it is ready, as that process has its CPU
 *   two              it waits for another thread ("second") by a condition variable, which reads
 *
 * Where there are several CPUs, the main thread has another one than the worker.
 *
 *   <- go  -> {"main": TID, "worker": TID, "second": TID, "outside": TID,
 *              "waits": [[before, waits from, work from, work until, after], ...]} */
#include "workload.h"

#include <poll.h>
#include <sys/eventfd.h>

#define ROUNDS 6
#define WORK_NS (30 * MS)
#define CPU 0
#define OTHER_CPU 1

struct turn {
	pthread_mutex_t mutex;
	pthread_cond_t condition;
	int asked, done; /* how often */
};

struct led {
	const char *wait, *work;
	struct turn worker, second;
	pthread_mutex_t held;
	int done, has_it; /* eventfds */
	int to_outside[2], from_outside[2];
	pid_t tids[4];
	long cpus;
	long long waits_from, works_from, works_until; /* of the last call */
};

static void turn_ask(struct turn *turn)
{
	pthread_mutex_lock(&turn->mutex);
	turn->asked++;
	pthread_cond_broadcast(&turn->condition);
	pthread_mutex_unlock(&turn->mutex);
}

static void turn_take(struct turn *turn)
{
	pthread_mutex_lock(&turn->mutex);
	while (turn->asked == turn->done)
		pthread_cond_wait(&turn->condition, &turn->mutex);
	pthread_mutex_unlock(&turn->mutex);
}

static void turn_end(struct turn *turn)
{
	pthread_mutex_lock(&turn->mutex);
	turn->done++;
	pthread_cond_broadcast(&turn->condition);
	pthread_mutex_unlock(&turn->mutex);
}

static void turn_wait(struct turn *turn)
{
	pthread_mutex_lock(&turn->mutex);
	while (turn->asked != turn->done)
		pthread_cond_wait(&turn->condition, &turn->mutex);
	pthread_mutex_unlock(&turn->mutex);
}

static void event_tell(int event)
{
	if (eventfd_write(event, 1))
		die("eventfd_write");
}

static void event_wait(int event)
{
	eventfd_t value;

	if (eventfd_read(event, &value))
		die("eventfd_read");
}

/* Answers after a time; with "crowded" it has the CPU until then. */
static _Noreturn void outside_run(struct led *led)
{
	bool crowded = !strcmp(led->work, "crowded");
	char c;

	prctl(PR_SET_NAME, "outside");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (crowded) {
		pin(CPU);
		be_fifo(10);
	}
	while (read(led->to_outside[0], &c, 1) == 1) {
		if (crowded)
			spin_ns(WORK_NS);
		else
			sleep_ns(WORK_NS);
		if (write(led->from_outside[1], &c, 1) != 1)
			die("write");
	}
	_exit(0);
}

static void outside_ask(struct led *led)
{
	char c = 'x';

	if (write(led->to_outside[1], &c, 1) != 1 || read(led->from_outside[0], &c, 1) != 1)
		die("outside");
}

static void work(struct led *led)
{
	if (!strcmp(led->work, "computes")) {
		/* Others may have its CPU, too. */
		for (long long from = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		     clock_ns(CLOCK_THREAD_CPUTIME_ID) - from < WORK_NS;)
			;
	} else if (!strcmp(led->work, "sleeps")) {
		sleep_ns(WORK_NS);
	} else if (!strcmp(led->work, "two")) {
		turn_ask(&led->second);
		turn_wait(&led->second);
	} else {
		outside_ask(led);
	}
}

static void *worker_run(void *of)
{
	struct led *led = of;
	bool holds = !strcmp(led->wait, "mutex");

	prctl(PR_SET_NAME, "worker");
	led->tids[1] = (pid_t)syscall(SYS_gettid);
	pin(led->cpus > 1 ? CPU : -1);
	for (;;) {
		turn_take(&led->worker);
		if (holds)
			pthread_mutex_lock(&led->held);
		event_tell(led->has_it);
		led->works_from = now_ns();
		work(led);
		led->works_until = now_ns();
		if (holds)
			pthread_mutex_unlock(&led->held);
		event_tell(led->done);
		turn_end(&led->worker);
	}
	return NULL;
}

static void *second_run(void *of)
{
	struct led *led = of;

	prctl(PR_SET_NAME, "second");
	led->tids[2] = (pid_t)syscall(SYS_gettid);
	for (;;) {
		turn_take(&led->second);
		outside_ask(led);
		turn_end(&led->second);
	}
	return NULL;
}

static void request(void *of)
{
	struct led *led = of;
	struct pollfd done = { .fd = led->done, .events = POLLIN };

	turn_ask(&led->worker);
	event_wait(led->has_it);
	led->waits_from = now_ns();
	if (!strcmp(led->wait, "mutex")) {
		pthread_mutex_lock(&led->held);
		pthread_mutex_unlock(&led->held);
	} else if (!strcmp(led->wait, "poll")) {
		while (poll(&done, 1, -1) < 1)
			;
	} else {
		turn_wait(&led->worker);
	}
}

VERB(led, 2, 2, "WAIT WORK")
{
	static struct led led;
	pthread_t thread;

	led = (struct led){ .wait = argv[1], .work = argv[2] };
	for (struct turn *turn = &led.worker; turn <= &led.second; turn++) {
		pthread_mutex_init(&turn->mutex, NULL);
		pthread_cond_init(&turn->condition, NULL);
	}
	pthread_mutex_init(&led.held, NULL);
	led.done = eventfd(0, 0);
	led.has_it = eventfd(0, 0);
	if (led.done < 0 || led.has_it < 0 || pipe(led.to_outside) || pipe(led.from_outside))
		die("descriptors");
	led.cpus = sysconf(_SC_NPROCESSORS_ONLN);
	pin(led.cpus > 1 ? OTHER_CPU : -1);
	led.tids[0] = getpid();
	led.tids[3] = fork();
	if (led.tids[3] < 0)
		die("fork");
	if (!led.tids[3])
		outside_run(&led);
	if (pthread_create(&thread, NULL, worker_run, &led) ||
	    pthread_create(&thread, NULL, second_run, &led))
		die("pthread_create");
	while (!__atomic_load_n(&led.tids[1], __ATOMIC_RELAXED) ||
	       !__atomic_load_n(&led.tids[2], __ATOMIC_RELAXED))
		sleep_ns(MS);
	say_ready();
	wait_for("go");
	printf("{\"main\": %d, \"worker\": %d, \"second\": %d, \"outside\": %d, \"waits\": [",
	       (int)led.tids[0], (int)led.tids[1], (int)led.tids[2], (int)led.tids[3]);
	for (int i = 0; i < ROUNDS; i++) {
		long long before = now_ns(), after;

		probed_call(request, &led);
		after = now_ns();
		event_wait(led.done);
		turn_wait(&led.worker);
		printf("%s[%lld, %lld, %lld, %lld, %lld]", i ? ", " : "", before, led.waits_from,
		       led.works_from, led.works_until, after);
		sleep_ns(WORK_NS);
	}
	say("]}");
	command();
	return 0;
}
