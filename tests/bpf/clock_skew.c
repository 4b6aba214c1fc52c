// SPDX-License-Identifier: Apache-2.0
/* Run times of a thread that runs, while CLOCK_MONOTONIC is slewed against the scheduler's clock:
 * compared with the thread's own clock. As root; the kernel runs the program of clock_skew.bpf.c.
 */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "bpf/kernel_delay.h"
#include "cli/base/clock.h"
#include "clock_skew.skel.h"
#include "tests/unit/tap.h"

#define SLEWED ((int64_t)(500 * NSEC_PER_MSEC))
#define TICK (10 * NSEC_PER_MSEC) /* a run queue's clock may lag by as much */

static struct clock_skew *skel;

static uint64_t own_clock(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return clock_ns(&time);
}

/* Runs the program with a wrong offset; true if the run time that it found then is this thread's.
 */
static bool is_right_after(int64_t ns)
{
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &ns, .ctx_size_in = sizeof(ns));
	uint64_t before = own_clock(), after;

	sched_yield(); /* updates the clock of the run queue, as session_visit() does */
	if (bpf_prog_test_run_opts(bpf_program__fd(skel->progs.skew), &options))
		return false;
	after = own_clock();
	return skel->bss->exec_right + TICK >= before && skel->bss->exec_right <= after + TICK;
}

void tests_begin(void)
{
	if (geteuid()) {
		puts("1..0 # SKIP needs root's rights");
		exit(0);
	}
	skel = clock_skew__open_and_load();
	if (!skel) {
		puts("Bail out! the kernel refused the BPF program");
		exit(1);
	}
}

void tests_end(void)
{
	clock_skew__destroy(skel);
}

TEST(slewed)
{
	int64_t offset;

	ok(is_right_after(0), "the first visit measures it");
	offset = skel->bss->kd_clock_skew.ns;
	ok(is_right_after(offset - SLEWED), "one that has become too small is not kept");
	ok(skel->bss->exec_wrong > skel->bss->exec_right + (uint64_t)SLEWED / 2,
	   "which would be as much run time");
	ok(is_right_after(offset + SLEWED), "nor is one that has become too large");
	ok(is_right_after(-SLEWED), "nor a negative one");
}
