/* SPDX-License-Identifier: Apache-2.0 */
/* The process that `make demo` looks at: threads that poll, sleep, wait for a
 * lock, and compete for a CPU. It ends when stdin does, on a signal, or after a
 * minute at the latest. A program of its own: who types that waits for no other one. */
#include "workload.h"

#include <poll.h>

#define LIFETIME_MS 60000
#define US 1000L

struct demo {
	pthread_barrier_t ready;
	pthread_mutex_t lock; /* between the workers */
	int food[2];          /* pipe from the feeder to the poller */
	long cpu;             /* for which the spinners compete */
};

/* Some polls end with a byte, some by their timeout. */
static void poller(struct demo *demo)
{
	struct pollfd food = { .fd = demo->food[0], .events = POLLIN };

	for (;;) {
		if (poll(&food, 1, 5) == 1)
			take_bytes(food.fd, 1);
		spin_ns(50 * US);
	}
}

static void feeder(struct demo *demo)
{
	for (;;) {
		sleep_ns(4 * MS);
		pass_bytes(demo->food[1], 1);
		sleep_ns(16 * MS);
	}
}

/* Two of these spend a good part of their time waiting for each other. */
static void worker(struct demo *demo)
{
	for (;;) {
		pthread_mutex_lock(&demo->lock);
		spin_ns(300 * US);
		sleep_ns(1 * MS);
		pthread_mutex_unlock(&demo->lock);
		sleep_ns(500 * US);
	}
}

/* Two of these share one CPU. */
static void spinner(struct demo *demo)
{
	pin(demo->cpu);
	for (;;) {
		spin_ns(200 * US);
		getppid();
	}
}

static void sleeper(struct demo *demo)
{
	(void)demo;
	for (;;)
		sleep_ns(10 * MS);
}

struct part {
	const char *name;
	void (*play)(struct demo *);
	struct demo *demo;
};

static void *part_main(void *arg)
{
	struct part *part = arg;

	prctl(PR_SET_NAME, part->name);
	pthread_barrier_wait(&part->demo->ready);
	part->play(part->demo);
	return NULL;
}

static long last_cpu(void)
{
	cpu_set_t allowed;
	long last = -1;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return last;
	for (long cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			last = cpu;
	return last;
}

int main(void)
{
	static struct demo demo = { .lock = PTHREAD_MUTEX_INITIALIZER };
	static struct part parts[] = {
		{ "poller", poller, &demo },    { "feeder", feeder, &demo },
		{ "worker1", worker, &demo },   { "worker2", worker, &demo },
		{ "spinner1", spinner, &demo }, { "spinner2", spinner, &demo },
		{ "sleeper", sleeper, &demo },
	};
	const unsigned int count = COUNT(parts);
	struct pollfd stdin_end = { .fd = STDIN_FILENO };

	demo.cpu = last_cpu();
	prctl(PR_SET_NAME, "kd_demo");
	pipe_make(demo.food);
	if (pthread_barrier_init(&demo.ready, NULL, count + 1))
		die("pthread_barrier_init");
	for (unsigned int i = 0; i < count; i++)
		thread_begin(part_main, &parts[i]);
	pthread_barrier_wait(&demo.ready);
	say("process %d (kd_demo) is ready with %u threads", (int)getpid(), count + 1);
	/* Only the end of stdin is waited for: it may be a terminal. */
	poll(&stdin_end, 1, LIFETIME_MS);
	return 0;
}
