/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that sleep in functions with the names of those of known programs, below others that have
 * frames of different sizes.
 *
 *   -> ready TID...     of lock, idle, turns, own
 *   <- log              -> {"lock": [[NUMBER, BEGAN, ENDED], ...], ...}: the sleeps that have
 * ended, with the number of the function, and {"early": N}: sleeps cut short
 *   <- end */
#include "workload.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>

#define SLEEPS 20000

struct sleeper {
	void (*run)(struct sleeper *);
	const char *name;
	pthread_t thread;
	atomic_int tid;
	atomic_int n;
	struct sleep {
		int function;
		long long began, ended;
	} sleeps[SLEEPS];
};

static atomic_int early;

static void sleep_note(struct sleeper *sleeper, int function, long long began)
{
	int n = atomic_load(&sleeper->n);

	if (n == SLEEPS)
		return;
	sleeper->sleeps[n] = (struct sleep){ function, began, now_ns() };
	atomic_store(&sleeper->n, n + 1);
}

/* A frame of a size that only the frame pointer knows. */
FRAME void frame_pass(void (*sleep)(long), long ms, size_t size)
{
	char frame[size];

	asm volatile("" ::"r"(frame) : "memory");
	sleep(ms);
	asm volatile("" ::"r"(frame) : "memory");
}

FRAME void in_futex(long ms)
{
	static int word;
	struct timespec time = timespec_of(ms * MS);
	long long began = now_ns();

	if (syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, ms < 0 ? NULL : &time, NULL, 0) !=
		    -1 ||
	    errno != ETIMEDOUT || now_ns() < began + ms * MS)
		atomic_fetch_add(&early, 1);
}

FRAME void in_poll(long ms)
{
	if (poll(NULL, 0, (int)ms))
		atomic_fetch_add(&early, 1);
}

#define SLEEPS_IN(name, in, ms)                                                                    \
	FRAME void name(long size)                                                                 \
	{                                                                                          \
		frame_pass(in, ms, (size_t)size);                                                  \
		RETURN_HERE();                                                                     \
	}

SLEEPS_IN(take_gil, in_futex, 37)
SLEEPS_IN(secure_read, in_poll, -1)
/* Not in step with the looks, every 20 ms. */
SLEEPS_IN(XactLockTableWait, in_poll, 33)
SLEEPS_IN(pg_sleep, in_poll, 14)

static void lock_run(struct sleeper *sleeper)
{
	for (;;) {
		long long began = now_ns();

		take_gil(512);
		sleep_note(sleeper, 0, began);
	}
}

static void idle_run(struct sleeper *sleeper)
{
	(void)sleeper;
	secure_read(100);
}

static void turns_run(struct sleeper *sleeper)
{
	for (;;) {
		long long began = now_ns();

		XactLockTableWait(2000);
		sleep_note(sleeper, 0, began);
		began = now_ns();
		pg_sleep(300);
		sleep_note(sleeper, 1, began);
	}
}

static void own_run(struct sleeper *sleeper)
{
	for (;;) {
		long long began = now_ns();

		in_futex(37);
		sleep_note(sleeper, 0, began);
	}
}

static void *sleeper_main(void *sleeper_)
{
	struct sleeper *sleeper = sleeper_;

	prctl(PR_SET_NAME, sleeper->name);
	atomic_store(&sleeper->tid, (int)syscall(SYS_gettid));
	sleeper->run(sleeper);
	return NULL;
}

static void log_print(struct sleeper *const *sleepers, size_t n)
{
	printf("{\"early\": %d", atomic_load(&early));
	for (size_t i = 0; i < n; i++) {
		int sleeps = atomic_load(&sleepers[i]->n);

		printf(", \"%s\": [", sleepers[i]->name);
		for (int j = 0; j < sleeps; j++)
			printf("%s[%d, %lld, %lld]", j ? ", " : "", sleepers[i]->sleeps[j].function,
			       sleepers[i]->sleeps[j].began, sleepers[i]->sleeps[j].ended);
		printf("]");
	}
	printf("}\n");
	fflush(stdout);
}

VERB(sleepers, 0, 0, "")
{
	static struct sleeper lock = { .run = lock_run, .name = "lock" };
	static struct sleeper idle = { .run = idle_run, .name = "idle" };
	static struct sleeper turns = { .run = turns_run, .name = "turns" };
	static struct sleeper own = { .run = own_run, .name = "own" };
	struct sleeper *const all[] = { &lock, &idle, &turns, &own };

	for (size_t i = 0; i < COUNT(all); i++) {
		if (pthread_create(&all[i]->thread, NULL, sleeper_main, all[i]))
			die("pthread_create");
		while (!atomic_load(&all[i]->tid))
			sched_yield();
	}
	printf("ready %d %d %d %d\n", lock.tid, idle.tid, turns.tid, own.tid);
	fflush(stdout);
	for (;;) {
		wait_for("log");
		log_print(all, COUNT(all));
	}
}
