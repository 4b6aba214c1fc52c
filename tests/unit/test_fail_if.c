/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions on samples that are made by hand, so that what must exceed is known. */
#define _GNU_SOURCE
#include "../../cli/fail_if.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tap.h"

#define MS 1000000ULL
#define SECOND (1000 * MS)
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* 90 %, 9 % and 1 % of a thousand. */
static struct bucket ready_buckets[] = { { 1000, 900 }, { 5000, 90 }, { 2 * MS, 10 } };
static struct bucket run_buckets[] = { { 9, 1 }, { 90 * MS, 1 } };
static struct bucket futex_buckets[] = { { MS, 9 }, { 13 * MS, 1 } };
static struct bucket read_buckets[] = { { 2 * MS, 5 } };

static struct call_row calls[] = {
	{ SYS_futex, 10, 40 * MS, 12 * MS, { futex_buckets, 2 } },
	{ SYS_read, 5, 2 * MS, MS, { read_buckets, 1 } },
};
static struct irq_row hardirqs[] = {
	{ .name = "virtio0-input.0", .count = 7, .total = 700, .max = 200 },
	{ .name = "local_timer", .count = 100, .total = 300000, .max = 9000 },
};
static struct irq_row softirqs[] = {
	{ .name = "net_rx", .vector = 3, .count = 3, .total = 60 * MS, .max = 30 * MS },
	{ .name = "rcu", .vector = 9, .count = 2, .total = 400, .max = 300 },
};

static struct thread_row threads[] = {
	{
		.tid = 11,
		.name = "revalidator1",
		.members = 1,
		.ledger = { .life = SECOND,
			    .ns = { [LEDGER_USER] = 300 * MS,
				    [LEDGER_KERNEL] = 100 * MS,
				    [LEDGER_HARDIRQ] = MS,
				    [LEDGER_SOFTIRQ] = 62500000,
				    [LEDGER_READY_WOKEN] = 3 * MS,
				    [LEDGER_READY_PREEMPTED] = 2 * MS,
				    [LEDGER_BLOCKED] = 500 * MS,
				    [LEDGER_BLOCKED_UNINT] = 31500000 } },
		.calls = calls,
		.n_calls = COUNT(calls),
		.hardirqs = hardirqs,
		.n_hardirqs = COUNT(hardirqs),
		.softirqs = softirqs,
		.n_softirqs = COUNT(softirqs),
		.run = { .count = 20, .total = 400 * MS, .max = 50 * MS, .min = 1 },
		.ready = { .count = 20, .total = 5 * MS, .max = 1500000 },
		.run_times = { run_buckets, 2 },
		.ready_times = { ready_buckets, 3 },
		.long_poll = { .count = 4, .total = 8 * MS, .max = 5 * MS, .min = MS },
		.voluntary = 15,
		.involuntary = 4,
		.migrations = 2,
	},
	{
		.tid = 12,
		.name = "revalidator2",
		.members = 1,
		.ledger = { .life = SECOND / 2,
			    .ns = { [LEDGER_USER] = 100 * MS, [LEDGER_BLOCKED] = 400 * MS } },
		.run = { .count = 1, .total = 100 * MS, .max = 100 * MS, .min = 100 * MS },
		.ready = { .count = 2, .total = 6 * MS, .max = 4 * MS },
		.voluntary = 1,
	},
	{
		/* five that got no CPU throughout: the tables have nothing of that */
		.tid = 20,
		.name = "starved",
		.members = 5,
		.ledger = { .life = 5 * SECOND, .ns = { [LEDGER_READY_WOKEN] = 5 * SECOND } },
	},
};

static struct upcall_row upcalls[] = { { 0, 0, 40 }, { 1, 0, 2 }, { 1, 12, 3 } };

static struct trace_row waits[] = {
	{ .kind = TRACE_CALL, .tid = 11, .name = "revalidator1", .start = 0, .end = 9 * SECOND },
	{ .kind = TRACE_WAIT, .tid = 11, .name = "revalidator1", .start = 5 * MS, .end = 7 * MS },
	{ .kind = TRACE_WAIT, .tid = 12, .name = "revalidator2", .start = 5 * MS, .end = 8 * MS },
	{ .kind = TRACE_WAIT, .tid = 11, .name = "revalidator1", .start = 8 * MS, .end = 9 * MS },
};

static const struct sample sample = {
	.pid = 11,
	.start = 10 * SECOND,
	.end = 11 * SECOND,
	.threads = threads,
	.n_threads = COUNT(threads),
	.upcalls = upcalls,
	.n_upcalls = COUNT(upcalls),
	.traces = { .rows = waits, .n = COUNT(waits), .waits_asked = true },
	.losses = { [KD_LOSS_CALLS] = 2 },
	.hidden = 1,
};

/* What exceeds: of which thread (0: none), with which value, how often. */
static const struct expected {
	const char *text;
	uint64_t times;
	pid_t tid;
	uint64_t value;
} expected[] = {
	{ "ready.max>1ms", 3, 20, SECOND },
	{ "ready.max>4ms", 1, 20, SECOND },
	{ "ready.max>=4ms", 2, 20, SECOND },
	{ "ready.max>1s", 0, 0, 0 },
	{ "thread(revalidator*).ready.max>1ms", 2, 12, 4 * MS },
	{ "thread(revalidator1).ready.max>1ms", 1, 11, 1500000 },
	{ "thread(revalidator).ready.max>1ms", 0, 0, 0 },
	{ "ready.count>=20", 1, 11, 20 },
	{ "ready.p50>999ns", 1, 11, 1000 },
	{ "ready.p90>1us", 0, 0, 0 },
	{ "ready.p99>=5us", 1, 11, 5000 },
	{ "thread(*1).ready.p99_9>1ms", 1, 11, 1500000 }, /* no more than the longest */
	{ "thread(*1).run.p50<10ns", 1, 11, 9 },
	{ "run.p99>0", 1, 11, 50 * MS },
	{ "syscall.futex.p50>=1ms", 1, 11, MS },
	{ "syscall.futex.p99>10ms", 1, 11, 12 * MS },
	{ "syscall.read.p99>=1ms", 1, 11, MS },
	{ "syscall.p90>0", 1, 11, MS }, /* of either call */
	{ "syscall.p99>0", 1, 11, 12 * MS },
	{ "thread(r*).ready.total>4ms", 1, 11, 5 * MS },
	{ "ready.pct>=100", 1, 20, SECOND },
	{ "ready.pct>100", 0, 0, 0 },
	{ "ready_woken.total>=1s", 1, 20, SECOND },
	{ "ready_preempted.total>=2ms", 1, 11, 2 * MS },
	{ "run.max>50ms", 1, 12, 100 * MS },
	{ "run.total>463ms", 1, 11, 463500000 },
	{ "run.total>463.5ms", 0, 0, 0 },
	{ "run.pct>20", 1, 11, 463500000 },
	{ "run.pct>=20", 2, 11, 463500000 },
	{ "run.pct<25", 2, 20, 0 },
	{ "user.pct>=30", 1, 11, 300 * MS },
	{ "kernel.total>0", 1, 11, 100 * MS },
	{ "blocked.pct>60", 1, 12, 400 * MS },
	{ "blocked.total>400ms", 1, 11, 500 * MS },
	{ "blocked_uninterruptible.total>31ms", 1, 11, 31500000 },
	{ "stopped.total>0", 0, 0, 0 },
	{ "hardirq.total>=1ms", 1, 11, MS },
	{ "hardirq.count>106", 1, 11, 107 },
	{ "hardirq.max>1us", 1, 11, 9000 },
	{ "hardirq.virtio0-input.0.max>1ns", 1, 11, 200 },
	{ "hardirq.virtio*.count>6", 1, 11, 7 },
	{ "softirq.pct>6.24", 1, 11, 62500000 },
	{ "softirq.pct>=6.25%", 1, 11, 62500000 },
	{ "softirq.pct>6.25", 0, 0, 0 },
	{ "softirq.net_rx.pct>5.9", 1, 11, 60 * MS },
	{ "softirq.net_rx.pct>6", 0, 0, 0 },
	{ "softirq.rcu.max>299ns", 1, 11, 300 },
	{ "softirq.timer.count>0", 0, 0, 0 },
	{ "syscall.futex.max>10ms", 1, 11, 12 * MS },
	{ "syscall.futex.max>12ms", 0, 0, 0 },
	{ "syscall.count>14", 1, 11, 15 },
	{ "syscall.*.total>41ms", 1, 11, 42 * MS },
	{ "syscall.re[a-e]d.max>=1ms", 1, 11, MS },
	{ "syscall.read.count<5", 2, 12, 0 },
	{ "long_poll.max>=5ms", 1, 11, 5 * MS },
	{ "voluntary>1", 1, 11, 15 },
	{ "involuntary<=4", 3, 12, 0 },
	{ "migrations>1", 1, 11, 2 },
	{ "waits.max>=2ms", 2, 12, 3 * MS },
	{ "thread(*1).waits.max>1ms", 1, 11, 2 * MS },
	{ "waits.count>2", 1, 0, 3 },
	{ "waits.total>=6ms", 1, 0, 6 * MS },
	{ "thread(*2).waits.total>=6ms", 0, 0, 0 },
	{ "lost>0", 1, 0, 3 },
	{ "lost>3", 0, 0, 0 },
	{ "threads>6", 1, 0, 7 },
	{ "threads<7", 0, 0, 0 },
	{ "upcalls>=45", 1, 0, 45 },
	{ "upcall_errors>2", 1, 0, 3 },
	{ " thread(rev*).voluntary  >=  15 ", 1, 11, 15 },
	{ "thread(a)b).voluntary>0", 0, 0, 0 },
};

static void test_values(void)
{
	for (size_t i = 0; i < COUNT(expected); i++) {
		const struct expected *want = &expected[i];
		const struct excess *excess;
		struct fail_if *fail_if;

		is_i64(fail_if_new(&fail_if, &want->text, 1, true, true), 0, "'%s' is read",
		       want->text);
		fail_if_check(fail_if, &sample, 7);
		excess = fail_if_excess(fail_if, 0);
		is_u64(excess->times, want->times, "'%s': how often", want->text);
		is_i64(excess->tid, want->tid, "'%s': thread", want->text);
		is_u64(excess->value, want->value, "'%s': value", want->text);
		is_u64(excess->sample, want->times ? 7 : 0, "'%s': sample", want->text);
		fail_if_free(fail_if);
	}
}

static FILE *swapped;
static int saved_stderr;

static void stderr_to_memory(void)
{
	fflush(stderr);
	swapped = tmpfile();
	saved_stderr = dup(STDERR_FILENO);
	dup2(fileno(swapped), STDERR_FILENO);
}

static void stderr_back(char *text, size_t size)
{
	size_t n;

	fflush(stderr);
	dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
	rewind(swapped);
	n = fread(text, 1, size - 1, swapped);
	text[n] = '\0';
	fclose(swapped);
}

/* The most extreme of several samples is told, and the number of all. */
static void test_telling(void)
{
	const char *const texts[] = { "ready.max>1ms", "lost>100",
				      "thread(revalidator2).ready.pct<5", "voluntary>=1" };
	struct thread_row hostile = threads[1];
	struct sample other = sample;
	struct fail_if *fail_if;
	char said[4096];
	bool any;

	memcpy(hostile.name, "\x1b[2J\nexactly 15", KD_COMM_LEN);
	hostile.ready.max = 2 * SECOND;
	hostile.voluntary = 3;
	other.threads = &hostile;
	other.n_threads = 1;
	is_i64(fail_if_new(&fail_if, texts, COUNT(texts), true, true), 0, "four conditions");
	fail_if_check(fail_if, &sample, 1);
	fail_if_check(fail_if, &other, 2);
	fail_if_check(fail_if, &sample, 3);
	stderr_to_memory();
	any = fail_if_tell(fail_if);
	stderr_back(said, sizeof(said));
	ok(any, "something exceeded");
	is_str(said,
	       "kernel_delay: --fail-if 'ready.max>1ms': 2,000,000,000 ns of thread 12 "
	       "'\\x1b[2J\\nexactly 15' in sample 2, and 6 more\n"
	       "kernel_delay: --fail-if 'thread(revalidator2).ready.pct<5': 0.00 % of thread 12 "
	       "'revalidator2' in sample 1, and 1 more\n"
	       "kernel_delay: --fail-if 'voluntary>=1': 15 of thread 11 'revalidator1' in sample "
	       "1, "
	       "and 4 more\n",
	       "what is said");
	fail_if_free(fail_if);

	is_i64(fail_if_new(&fail_if, texts + 1, 1, true, true), 0, "one condition");
	fail_if_check(fail_if, &sample, 1);
	ok(!fail_if_tell(fail_if), "nothing exceeded");
	fail_if_free(fail_if);
	is_i64(fail_if_new(&fail_if, NULL, 0, false, false), 0, "no condition");
	fail_if_check(fail_if, &sample, 1);
	ok(!fail_if_tell(fail_if), "nothing exceeds none");
	fail_if_free(fail_if);
	fail_if_free(NULL);
}

/* What is refused, and what the message says. */
static const struct {
	const char *text, *says;
} bad[] = {
	{ "", "no comparison" },
	{ "ready.max", "no comparison" },
	{ "ready.max=1ms", "no comparison" },
	{ ">1", "there is no metric ''" },
	{ "foo>1", "ready.count|total|max|p50|p90|p99|p99_9|pct" },
	{ "ready>1", "there is no metric 'ready'" },
	{ "ready.>1ms", "there is no metric" },
	{ ".max>1ms", "there is no metric" },
	{ "ready.min>1ms", "there is no metric" },
	{ "ready.p95>1ms", "there is no metric" },
	{ "ready.p99.9>1ms", "there is no metric" },
	{ "softirq.p99>1ms", "there is no metric" },
	{ "ready.p99>1", "no time" },
	{ "user.max>1ms", "there is no metric" },
	{ "lost.count>1", "there is no metric" },
	{ "Ready.max>1ms", "there is no metric" },
	{ "ready.x.max>1ms", "there is no metric" },
	{ "syscall..max>1ms", "there is no metric" },
	{ "syscall.futex>1ms", "there is no metric" },
	{ "syscall.futx.max>1ms", "no such system call" },
	{ "softirq.net.max>1ms", "no such softirq" },
	{ "thread(x.lost>0", "not complete" },
	{ "thread().lost>0", "not complete" },
	{ "thread(x)lost>0", "not complete" },
	{ "thread(x).lost>0", "not a metric of threads" },
	{ "ready.max>1", "no time" },
	{ "ready.max>1e3", "no time" },
	{ "ready.max>", "no time" },
	{ "ready.max>>1ms", "no time" },
	{ "ready.max>-1ms", "no time" },
	{ "ready.max>=ms", "no time" },
	{ "ready.max>1h", "no time" },
	{ "ready.max=>1ms", "there is no metric" },
	{ "ready.pct>1ms", "no percentage" },
	{ "ready.pct>%", "no percentage" },
	{ "ready.pct>", "no percentage" },
	{ "ready.pct>1e3", "no percentage" },
	{ "ready.pct>.", "no percentage" },
	{ "ready.count>1.5", "no whole number" },
	{ "lost>", "no whole number" },
	{ "lost>-1", "no whole number" },
	{ "lost>99999999999999999999", "no whole number" },
	{ "lost\x1b>0", "'lost\\x1b" },
};

static void test_bad(void)
{
	static char large[100000];
	const char *const texts[] = { large, "waits.max>1ms", "ready.p99>1ms" };
	struct fail_if *fail_if;
	char said[4096];
	int status;

	for (size_t i = 0; i < COUNT(bad); i++) {
		stderr_to_memory();
		status = fail_if_new(&fail_if, &bad[i].text, 1, true, true);
		stderr_back(said, sizeof(said));
		is_i64(status, 64, "'%s' is refused with 64", bad[i].text);
		ok(strstr(said, bad[i].says), "'%s': says '%s'", bad[i].text, bad[i].says);
		if (!strstr(said, bad[i].says))
			tap_print_string("err", said);
		fail_if_free(fail_if);
	}
	memset(large, 'x', sizeof(large) - 1);
	stderr_to_memory();
	status = fail_if_new(&fail_if, texts, 1, true, true);
	fail_if_free(fail_if);
	stderr_back(said, sizeof(said));
	is_i64(status, 64, "a long one is refused");
	for (int i = 1; i < 3; i++) {
		stderr_to_memory();
		status = fail_if_new(&fail_if, texts + i, 1, i != 1, i != 2);
		fail_if_free(fail_if);
		stderr_back(said, sizeof(said));
		is_i64(status, 64, "%s is not recorded", texts[i]);
		ok(strstr(said, i == 1 ? "--off-cpu" : "--histogram"), "and what to give");
	}
}

/* Nothing in a condition is read beyond its end or kept beyond its room. */
static void test_random(void)
{
	static const char *const pieces[] = {
		"thread(", ")", ").", ".",    "ready", "max",   ">",
		"<",       "=", "1",  "ms",   "%",     "pct",   "p99",
		"syscall", "*", "[",  "lost", "waits", "futex", "\xff"
	};
	uint64_t state = 0x9e3779b97f4a7c15;
	unsigned int wrong = 0, accepted = 0;
	char said[64];

	stderr_to_memory();
	for (int round = 0; round < 20000; round++) {
		char text[200] = "";
		const char *texts[] = { text };
		struct fail_if *fail_if;
		int status;

		for (int i = 0; i < 20; i++) {
			state = state * 6364136223846793005 + 1442695040888963407;
			if (state >> 61 == 0)
				break;
			strcat(text, pieces[(state >> 33) % COUNT(pieces)]);
		}
		status = fail_if_new(&fail_if, texts, 1, true, true);
		wrong += status != 0 && status != 64;
		if (!status) {
			fail_if_check(fail_if, &sample, 1);
			accepted++;
		}
		fail_if_free(fail_if);
	}
	stderr_back(said, sizeof(said));
	is_u64(wrong, 0, "random conditions are accepted or refused");
	ok(accepted, "%u of them are accepted", accepted);
}

int main(void)
{
	test_values();
	test_telling();
	test_bad();
	test_random();
	return done_testing();
}
