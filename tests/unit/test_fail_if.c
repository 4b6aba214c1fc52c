/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions on samples that are made by hand, so that what must exceed is known. */
#define _GNU_SOURCE
#include "cli/output/fail_if.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tap.h"

#define MS 1000000ULL
#define SECOND (1000 * MS)
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const struct fail_recorded all = { true, true, true, true, true, true }, none;

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
	{ "verdict.share>76.9", 1, 0, 5005 * MS }, /* of 6.5 s */
	{ "verdict.share>77", 0, 0, 0 },
	{ "verdict.task.max>=1s", 1, 0, SECOND },
	{ "verdict.t*.total>5s", 1, 0, 5005 * MS },
	{ "verdict.softirq.total>0", 0, 0, 0 }, /* less than 1 % */
	{ "verdict.disk.share<1", 1, 0, 0 },
	{ "lost>0", 1, 0, 3 },
	{ "lost>3", 0, 0, 0 },
	{ "threads>6", 1, 0, 7 },
	{ "threads<7", 0, 0, 0 },
	{ "upcalls>=45", 1, 0, 45 },
	{ "upcall_errors>2", 1, 0, 3 },
	{ " thread(rev*).voluntary  >=  15 ", 1, 11, 15 },
	{ "thread(a)b).voluntary>0", 0, 0, 0 },
};

static void check_expected(const struct expected *rows, size_t n, const struct sample *of)
{
	for (size_t i = 0; i < n; i++) {
		const struct expected *want = &rows[i];
		const struct excess *excess;
		struct fail_if *fail_if;

		is_i64(fail_if_new(&fail_if, "--fail-if", &want->text, 1, &all), 0, "'%s' is read",
		       want->text);
		fail_if_check(fail_if, of, 7);
		excess = fail_if_excess(fail_if, 0);
		is_u64(excess->times, want->times, "'%s': how often", want->text);
		is_i64(excess->tid, want->tid, "'%s': thread", want->text);
		is_u64(excess->value, want->value, "'%s': value", want->text);
		is_u64(excess->sample, want->times ? 7 : 0, "'%s': sample", want->text);
		fail_if_free(fail_if);
	}
}

static void test_values(void)
{
	check_expected(expected, COUNT(expected), &sample);
}

/* Who had the CPU, by name. */
static void test_culprits(void)
{
	static const struct expected rows[] = {
		{ "ready_by.total>=5s", 1, 20, 5 * SECOND },
		{ "ready_by.back*.total>3s", 1, 20, 4 * SECOND },
		{ "ready_by.backup.total>=3s", 1, 20, 3 * SECOND },
		{ "ready_by.back*.max>1s", 1, 20, 2 * SECOND },
		{ "ready_by.backup.max>2s", 0, 0, 0 },
		{ "ready_by.back*.pct>=40", 1, 20, 4 * SECOND },
		{ "ready_by.back*.pct>40", 0, 0, 0 },
		{ "ready_by.softirq.total>=1s", 1, 20, SECOND },
		{ "ready_by.hardirq.total>0", 0, 0, 0 },
		{ "thread(other).ready_by.pct>0", 0, 0, 0 },
	};
	struct culprit culprits[] = {
		{ .name = "backup", .pid = 4, .woken_ns = 3 * SECOND, .longest_ns = 2 * SECOND },
		{ .name = "backlog", .pid = 5, .woken_ns = SECOND - MS, .preempted_ns = MS },
		{ .kind = CULPRIT_SOFTIRQ, .woken_ns = SECOND, .longest_ns = MS },
	};
	struct thread_row thread = {
		.tid = 20,
		.name = "starved",
		.members = 1,
		.ledger = { .life = 10 * SECOND, .ns = { [LEDGER_READY_WOKEN] = 5 * SECOND } },
		.culprits = culprits,
		.n_culprits = COUNT(culprits),
	};
	struct sample one = { .threads = &thread, .n_threads = 1 };

	check_expected(rows, COUNT(rows), &one);
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
	is_i64(fail_if_new(&fail_if, "--fail-if", texts, COUNT(texts), &all), 0, "four conditions");
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

	is_i64(fail_if_new(&fail_if, "--fail-if", texts + 1, 1, &all), 0, "one condition");
	fail_if_check(fail_if, &sample, 1);
	ok(!fail_if_tell(fail_if), "nothing exceeded");
	fail_if_free(fail_if);
	is_i64(fail_if_new(&fail_if, "--fail-if", NULL, 0, &none), 0, "no condition");
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
	{ "ready.p99>1", "no unit" },
	{ "user.max>1ms", "there is no metric" },
	{ "lost.count>1", "there is no metric" },
	{ "Ready.max>1ms", "there is no metric" },
	{ "ready.x.max>1ms", "there is no metric" },
	{ "syscall..max>1ms", "there is no metric" },
	{ "syscall.futex>1ms", "there is no metric" },
	{ "syscall.futx.max>1ms", "no such system call" },
	{ "softirq.net.max>1ms", "no such softirq" },
	{ "interruptions.irq.max>1ms", "there are hardirq, softirq, preempted" },
	{ "thread(x.lost>0", "incomplete" },
	{ "thread().lost>0", "incomplete" },
	{ "thread(x)lost>0", "incomplete" },
	{ "thread(x).lost>0", "not one of threads" },
	{ "verdict>1", "there is no metric 'verdict'" },
	{ "verdict.pct>1", "there is no metric" },
	{ "verdict.share>1ms", "not a percentage" },
	{ "verdict.net_rx.share>1", "no such cause" },
	{ "thread(x).verdict.share>1", "not one of threads" },
	{ "ready.max>1", "give one: 1ns, 1us, 1ms, 1s or 1min" },
	{ "ready.max>1e3", "no unit" },
	{ "ready.max>", "not a time" },
	{ "ready.max>>1ms", "not a time" },
	{ "ready.max>-1ms", "not a time" },
	{ "ready.max>=ms", "not a time" },
	{ "ready.max>1h", "not a time" },
	{ "ready.max=>1ms", "there is no metric" },
	{ "ready.mx>1ms", "there are ready.count|total|max|p50|p90|p99|p99_9|pct\n" },
	{ "reday.max>1ms", "similar names: ready.count|total|max|p50|p90|p99|p99_9|pct" },
	{ "sofirq.net_rx.pct>5", "similar names: softirq[.NAME].count|total|max|pct" },
	{ "migration>5", "similar names: migrations, " },
	{ "xyzzyxyzzy>5", "there are run.count|total|max|" },
	{ "syscall.fuetx.max>1ms", "similar names: futex\n" },
	{ "syscall.xyzzyxyzzy.max>1ms", "as in syscalls(2)" },
	{ "ready.pct>1ms", "not a percentage" },
	{ "ready.pct>%", "not a percentage" },
	{ "ready.pct>", "not a percentage" },
	{ "ready.pct>1e3", "not a percentage" },
	{ "ready.pct>.", "not a percentage" },
	{ "ready.count>1.5", "not a whole number" },
	{ "lost>", "not a whole number" },
	{ "lost>-1", "not a whole number" },
	{ "lost>99999999999999999999", "not a whole number" },
	{ "lost\x1b>0", "'lost\\x1b" },
};

static void test_bad(void)
{
	static char large[100000];
	const char *const texts[] = { large,
				      "waits.max>1ms",
				      "ready.p99>1ms",
				      "interruptions.max>1ms",
				      "read.network.bytes>0",
				      "changed.count>0",
				      "counters.cs.count>0" };
	static const struct {
		struct fail_recorded recorded;
		const char *missing;
	} without[] = {
		{ .recorded = { true, true, true, true, true, true } },
		{ { false, true, true, true, true, true }, "--off-cpu" },
		{ { true, false, true, true, true, true }, "--histogram" },
		{ { true, true, false, true, true, true }, "--interruptions" },
		{ { true, true, true, false, true, true }, "--resources" },
		{ { true, true, true, true, false, true }, "--compare" },
		{ { true, true, true, true, true, false }, "--counters" },
	};
	struct fail_if *fail_if;
	char said[4096];
	int status;

	for (size_t i = 0; i < COUNT(bad); i++) {
		stderr_to_memory();
		status = fail_if_new(&fail_if, "--fail-if", &bad[i].text, 1, &all);
		stderr_back(said, sizeof(said));
		is_i64(status, 64, "'%s' is refused with 64", bad[i].text);
		ok(strstr(said, bad[i].says), "'%s': says '%s'", bad[i].text, bad[i].says);
		if (!strstr(said, bad[i].says))
			tap_print_string("err", said);
		fail_if_free(fail_if);
	}
	memset(large, 'x', sizeof(large) - 1);
	stderr_to_memory();
	status = fail_if_new(&fail_if, "--fail-if", texts, 1, &all);
	fail_if_free(fail_if);
	stderr_back(said, sizeof(said));
	is_i64(status, 64, "a long one is refused");
	for (size_t i = 1; i < COUNT(texts); i++) {
		stderr_to_memory();
		status = fail_if_new(&fail_if, "--fail-if", texts + i, 1, &without[i].recorded);
		fail_if_free(fail_if);
		stderr_back(said, sizeof(said));
		is_i64(status, 64, "%s is not recorded", texts[i]);
		ok(strstr(said, without[i].missing), "and what to give");
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
		status = fail_if_new(&fail_if, "--fail-if", texts, 1, &all);
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

/* What crosses the edges of the window: as a whole, or so far. */
static void test_whole(void)
{
	static const struct {
		const char *text, *said;
	} cases[] = {
		{ "ready.max>100ms", "180,000,000 ns of thread 1 't'" },
		{ "ready.p99>100ms", "180,000,000 ns of thread 1 't'" },
		{ "ready.p50<1s", "1,000 ns of thread 1 't'" },
		{ "run.max>100ms", "190,000,000 ns so far of thread 1 't'" },
		{ "run.p99_9>100ms", "190,000,000 ns so far of thread 1 't'" },
		{ "run.p50>8ns", "9 ns of thread 1 't'" },
		{ "syscall.futex.max>1s", "2,000,000,000 ns so far of thread 1 't'" },
		{ "long_poll.max>0", NULL }, /* it may never end */
		{ "stopped.max>0", NULL },
	};
	struct bucket ready[] = { { 1000, 9 }, { 187 * MS, 1 } };
	struct bucket run[] = { { 9, 2 } };
	struct open_item open[] = {
		{ .number = SYS_futex, .count = 1, .longest = 2 * SECOND, .at_end = true },
		{ OPEN_READY, -1, 1, 0, 0, 0, 180 * MS, 180 * MS, .at_start = true },
		{ OPEN_RUN, -1, 1, 0, 0, 0, 190 * MS, 190 * MS, .at_end = true },
		{ OPEN_ROUND, -1, 1, 0, 0, 0, SECOND, SECOND, .at_end = true },
	};
	struct call_row call = { .number = SYS_futex };
	struct thread_row thread = {
		.tid = 1,
		.name = "t",
		.members = 1,
		.ready = { .count = 9, .total = 9000, .max = 1000 },
		.run = { .count = 2, .total = 18, .max = 9, .min = 9 },
		.ready_times = { ready, 2 },
		.run_times = { run, 1 },
		.calls = &call,
		.n_calls = 1,
		.open = open,
		.n_open = COUNT(open),
	};
	struct sample one = { .threads = &thread, .n_threads = 1 };

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct fail_if *fail_if;
		char said[4096];
		bool any;

		fail_if_new(&fail_if, "--fail-if", &cases[i].text, 1, &all);
		fail_if_check(fail_if, &one, 1);
		stderr_to_memory();
		any = fail_if_tell(fail_if);
		stderr_back(said, sizeof(said));
		ok(cases[i].said ? strstr(said, cases[i].said) != NULL : !any, "%s: %s",
		   cases[i].text, cases[i].said ? cases[i].said : "nothing");
		fail_if_free(fail_if);
	}
}

int main(void)
{
	test_whole();
	test_values();
	test_culprits();
	test_telling();
	test_bad();
	test_random();
	return done_testing();
}
