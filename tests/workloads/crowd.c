/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads that wait in a few functions, and how often in which, by their own
 * count: crowd THREADS WAITS NS
 *
 * Each thread sleeps WAITS times for NS, by turns called by red(), green() and, from two
 * of its lines, blue(). Their frames are alike: the instruction and the stack pointer of
 * a sleep are the same for all of them; only a word further up tells who called. The
 * truths of a thread have the number of sleeps of each function. */
#include "workload.h"

#define MAX_WORKERS 200

static __attribute__((noinline)) void sleep_once(long ns)
{
	const struct timespec time = { .tv_nsec = ns };
	/* The callers' return addresses are not next to the stack pointer. */
	volatile char room[2000] = { 0 };

	if (clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL))
		die("clock_nanosleep");
	(void)room[0];
}

static __attribute__((noinline)) void red(long ns)
{
	sleep_once(ns);
	__asm__ volatile("" ::: "memory"); /* so that it is no jump */
}

static __attribute__((noinline)) void green(long ns)
{
	sleep_once(ns);
	__asm__ volatile("nop" ::: "memory");
}

static __attribute__((noinline)) void blue(long ns, bool other)
{
	if (other) {
		sleep_once(ns);
		__asm__ volatile("nop" ::: "memory");
	} else {
		sleep_once(ns);
		__asm__ volatile("nop; nop" ::: "memory");
	}
}

static void crowd(struct worker *worker)
{
	long long reds = 0, greens = 0, blues = 0;

	for (long i = 0; i < worker->args[0]; i++) {
		switch (i % 4) {
		case 0:
			red(worker->args[1]);
			reds++;
			break;
		case 1:
			green(worker->args[1]);
			greens++;
			break;
		default:
			blue(worker->args[1], i % 4 == 3);
			blues++;
		}
	}
	worker_note(worker, "red", reds);
	worker_note(worker, "green", greens);
	worker_note(worker, "blue", blues);
}

int main(int argc, char **argv)
{
	static struct worker workers[MAX_WORKERS];
	struct stage stage = { .workers = workers };

	if (argc != 4)
		die("crowd THREADS WAITS NS");
	stage.count = (int)strtol(argv[1], NULL, 10);
	if (stage.count < 1 || stage.count > MAX_WORKERS)
		die(argv[1]);
	for (int i = 0; i < stage.count; i++)
		workers[i] = (struct worker){
			.role = "crowd",
			.run = crowd,
			.args = { strtol(argv[2], NULL, 10), strtol(argv[3], NULL, 10) },
		};
	return stage_serve(&stage);
}
