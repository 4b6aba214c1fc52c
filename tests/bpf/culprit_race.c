// SPDX-License-Identifier: Apache-2.0
/* Two CPUs that name one entry of kd_culprits at once: no key stands for two tasks, and none for a
 * mixture. As root; the kernel runs the program of culprit_race.bpf.c. */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/kernel_delay.h"
#include "culprit_race.h"
#include "culprit_race.skel.h"
#include "tests/unit/tap.h"

#define TRIES 30
#define RUNS (RACER_KEYS / RACE_TURNS) /* so many that all keys are kept */

/* Returns the CPU of which there are so many below, among those that this process may use. */
static int cpu_find(const cpu_set_t *all, int below)
{
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, all) && !below--)
			return cpu;
	return -1;
}

/* In a process of its own, whose name is what the entry gets. */
static void race(int program, uint64_t who, int cpu, int start)
{
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &who, .ctx_size_in = sizeof(who));
	cpu_set_t one;
	char byte;

	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) ||
	    prctl(PR_SET_NAME, who ? "the second" : "the first") || read(start, &byte, 1) != 1)
		_exit(1);
	for (int i = 0; i < RUNS; i++)
		if (bpf_prog_test_run_opts(program, &options))
			_exit(1);
	_exit(0);
}

static bool race_all(int program, const cpu_set_t *all)
{
	pid_t pids[RACERS];
	int start[2], status;
	bool all_well = true;

	if (pipe(start))
		return false;
	for (int i = 0; i < RACERS; i++) {
		pids[i] = fork();
		if (!pids[i])
			race(program, (uint64_t)i, cpu_find(all, i), start[0]);
	}
	all_well = write(start[1], "gg", RACERS) == RACERS;
	for (int i = 0; i < RACERS; i++)
		all_well &= waitpid(pids[i], &status, 0) == pids[i] && !status;
	close(start[0]);
	close(start[1]);
	return all_well;
}

static int key_compare(const void *a, const void *b)
{
	return (*(const __u32 *)a > *(const __u32 *)b) - (*(const __u32 *)a < *(const __u32 *)b);
}

/* How many keys were given twice. */
static size_t twice(const struct racer *racers)
{
	static __u32 keys[RACERS * RACER_KEYS];
	size_t n = 0, same = 0;

	for (size_t i = 0; i < RACERS; i++)
		for (__u32 j = 0; j < racers[i].n; j++)
			keys[n++] = racers[i].keys[j];
	qsort(keys, n, sizeof(*keys), key_compare);
	for (size_t i = 1; i < n; i++)
		same += keys[i] == keys[i - 1];
	return same;
}

static struct culprit_race *skel;

/* Again if they did not meet: others may have had one of the CPUs meanwhile. */
static bool race_met(const cpu_set_t *all)
{
	struct racer *racers = skel->bss->racers;
	bool done = true;

	for (int i = 0; i < TRIES && done && !(racers[0].refused && racers[1].refused); i++) {
		memset(racers, 0, sizeof(skel->bss->racers));
		done = race_all(bpf_program__fd(skel->progs.race), all);
	}
	return done;
}

void tests_begin(void)
{
	uint64_t who = 0;
	LIBBPF_OPTS(bpf_test_run_opts, first, .ctx_in = &who, .ctx_size_in = sizeof(who));
	cpu_set_t all;

	if (geteuid() || sched_getaffinity(0, sizeof(all), &all) || CPU_COUNT(&all) < RACERS) {
		puts("1..0 # SKIP needs root's rights and two CPUs");
		exit(0);
	}
	skel = culprit_race__open_and_load();
	if (!skel) {
		puts("Bail out! the kernel refused the BPF program");
		exit(1);
	}
	ok(race_met(&all), "both CPUs took all of their turns");
	/* The first one names it. */
	ok(!bpf_prog_test_run_opts(bpf_program__fd(skel->progs.race_limit), &first),
	   "a limit has an entry");
	ok(race_all(bpf_program__fd(skel->progs.race_limit), &all), "both CPUs look at it");
}

void tests_end(void)
{
	culprit_race__destroy(skel);
}

TEST(names)
{
	for (int i = 0; i < RACERS; i++) {
		const struct racer *racer = &skel->bss->racers[i];

		is_u64(racer->n + racer->refused, RUNS * RACE_TURNS, "CPU %d: turns", i);
		ok(racer->n, "CPU %d: names the entry", i);
		is_u64(racer->mixed, 0, "CPU %d: what has its key is all its own", i);
	}
	ok(skel->bss->racers[0].refused && skel->bss->racers[1].refused, "they meet");
}

TEST(keys)
{
	is_u64(twice(skel->bss->racers), 0, "keys that both were given");
}

TEST(limits)
{
	for (int i = 0; i < RACERS; i++) {
		ok(skel->bss->limits[i].named >= RUNS * RACE_TURNS, "CPU %d: a limit's name", i);
		is_u64(skel->bss->limits[i].unnamed, 0, "CPU %d: it always has it", i);
	}
}
