/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions on samples that are made by hand, so that what must exceed is known. */
#define _GNU_SOURCE
#include "cli/output/fail_if.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/model/rows.h"
#include "captured.h"
#include "cases.h"
#include "everything.h"
#include "judged.h"
#include "tap.h"

#define MS 1000000ULL

static const struct counter_set counted = { .all = { { .name = "cs" }, { .name = "page-faults" } },
					    .n = 2 };
static const struct fail_recorded all = { false, ~0U, &counted }, none;
static const struct fail_recorded replayed = { .replayed = true };

/* 90 %, 9 % and 1 % of a thousand. */
static struct bucket ready_buckets[] = { { 1000, 900 }, { 5000, 90 }, { 2 * MS, 10 } };
static struct bucket run_buckets[] = { { 9, 1 }, { 90 * MS, 1 } };
static struct bucket futex_buckets[] = { { MS, 9 }, { 13 * MS, 1 } };
static struct bucket read_buckets[] = { { 2 * MS, 5 } };

static struct call_row calls[] = {
	{ SYS_futex, 10, 40 * MS, 12 * MS, { futex_buckets, 2 }, 0 },
	{ SYS_read, 5, 2 * MS, MS, { read_buckets, 1 }, 0 },
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
	{ .tid = 11,
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
	  .taken_by_others = 3 * MS,
	  .taken_by_own_threads = 1 * MS,
	  .voluntary = 15,
	  .involuntary = 4,
	  .migrations = 2 },
	{ .tid = 12,
	  .name = "revalidator2",
	  .members = 1,
	  .ledger = { .life = SECOND / 2,
		      .ns = { [LEDGER_USER] = 100 * MS, [LEDGER_BLOCKED] = 400 * MS } },
	  .run = { .count = 1, .total = 100 * MS, .max = 100 * MS, .min = 100 * MS },
	  .ready = { .count = 2, .total = 6 * MS, .max = 4 * MS },
	  .voluntary = 1 },
	{ /* five that got no CPU throughout: the tables have nothing of that */
	  .tid = 20,
	  .name = "starved",
	  .members = 5,
	  .ledger = { .life = 5 * SECOND, .ns = { [LEDGER_READY_WOKEN] = 5 * SECOND } } },
};

static struct upcall_row upcalls[] = { { 0, 0, 40 }, { 1, 0, 2 }, { 1, 12, 3 } };

static struct softirq_delay delays[] = {
	{ .name = "net_rx", .delays = { 3, 12 * MS, 7 * MS, 0 } },
	{ .cpu = 1, .name = "net_rx", .delays = { 1, 9 * MS, 9 * MS, 0 }, .open = true },
	{ .name = "net_tx", .delays = { 1, 1, 1, 0 } },
};

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
	.has_upcalls = true,
	.softirq_delays = delays,
	.n_softirq_delays = COUNT(delays),
	.has_softirq_delays = true,
	.pressures = {
		.ns = 2 * SECOND,
		.machine = { true, { { true, SECOND, 0 }, { true, 7, 3 }, { true, 0, 0 } } },
		.group = { true, { { true, 100 * MS, 20 * MS }, { false, 0, 0 }, { true, 5, 5 } } },
	},
	.distributions = true,
	.traces = { .rows = waits, .n = COUNT(waits), .waits_wanted = true },
	.losses = { [KD_LOSS_CALLS] = 2 },
	.hidden = 1,
};

/* What exceeds: how often, of which thread, if of any, and with which value. */
static const char *excess_in(const struct sample *of, const char *text)
{
	static char said[128];
	const struct excess *excess;
	struct fail_if *fail_if;
	bool right;

	if (fail_if_new(&fail_if, "--fail-if", &text, 1, &all))
		return "not read";
	fail_if_check(fail_if, judged(of), 7);
	excess = fail_if_excess(fail_if, 0);
	right = excess->sample == (excess->times ? 7 : 0);
	snprintf(said, sizeof(said), "%" PRIu64 "x ", excess->times);
	if (excess->tid)
		snprintf(said + strlen(said), 32, "%d ", excess->tid);
	snprintf(said + strlen(said), 64, "%" PRIu64, excess->value);
	if (!excess->times && !excess->tid && !excess->value)
		strcpy(said, "no");
	fail_if_free(fail_if);
	return right ? said : "of another sample";
}

static const char *excess(const char *text)
{
	return excess_in(&sample, text);
}

/* Percentiles are no more than the longest; 77 % are 5.005 of 6.5 s; a softirq with less than 1 %
 * has no verdict. */
static const char expected[] =
	"ready.max>1ms = 3x 20 1000000000|ready.max>4ms = 1x 20 1000000000"
	"|ready.max>=4ms = 2x 20 1000000000|ready.max>1s = no"
	"|thread(revalidator*).ready.max>1ms = 2x 12 4000000"
	"|thread(revalidator1).ready.max>1ms = 1x 11 1500000"
	"|thread(revalidator).ready.max>1ms = no|ready.count>=20 = 1x 11 20"
	"|ready.p50>999ns = 1x 11 1000|ready.p90>1us = no|ready.p99>=5us = 1x 11 5000"
	"|thread(*1).ready.p99_9>1ms = 1x 11 1500000|thread(*1).run.p50<10ns = 1x 11 9"
	"|run.p99>0 = 1x 11 50000000|syscall.futex.p50>=1ms = 1x 11 1000000"
	"|syscall.futex.p99>10ms = 1x 11 12000000|syscall.read.p99>=1ms = 1x 11 1000000"
	"|syscall.p90>0 = 1x 11 1000000|syscall.p99>0 = 1x 11 12000000"
	"|thread(r*).ready.total>4ms = 1x 11 5000000|ready.pct>=100 = 1x 20 1000000000"
	"|ready.pct>100 = no|ready_woken.total>=1s = 1x 20 1000000000"
	"|ready_preempted.total>=2ms = 1x 11 2000000|run.max>50ms = 1x 12 100000000"
	"|run.total>463ms = 1x 11 463500000|run.total>463.5ms = no"
	"|run.pct>20 = 1x 11 463500000|run.pct>=20 = 2x 11 463500000|run.pct<25 = 2x 20 0"
	"|user.pct>=30 = 1x 11 300000000|kernel.total>0 = 1x 11 100000000"
	"|blocked.pct>60 = 1x 12 400000000|blocked.total>400ms = 1x 11 500000000"
	"|blocked_uninterruptible.total>31ms = 1x 11 31500000|stopped.total>0 = no"
	"|hardirq.total>=1ms = 1x 11 1000000|hardirq.count>106 = 1x 11 107"
	"|hardirq.max>1us = 1x 11 9000|hardirq.virtio0-input.0.max>1ns = 1x 11 200"
	"|hardirq.virtio*.count>6 = 1x 11 7|softirq.pct>6.24 = 1x 11 62500000"
	"|softirq.pct>=6.25% = 1x 11 62500000|softirq.pct>6.25 = no"
	"|softirq.net_rx.pct>5.9 = 1x 11 60000000|softirq.net_rx.pct>6 = no"
	"|softirq.rcu.max>299ns = 1x 11 300|softirq.timer.count>0 = no"
	"|syscall.futex.max>10ms = 1x 11 12000000|syscall.futex.max>12ms = no"
	"|syscall.count>14 = 1x 11 15|syscall.*.total>41ms = 1x 11 42000000"
	"|syscall.re[a-e]d.max>=1ms = 1x 11 1000000|syscall.read.count<5 = 2x 12 0"
	"|long_poll.max>=5ms = 1x 11 5000000|voluntary>1 = 1x 11 15|involuntary<=4 = 3x 12 0"
	"|taken_by_others.total>=3ms = 1x 11 3000000|taken_by_own_threads.total>1ms = no"
	"|taken_by_others.pct>=0.3 = 1x 11 3000000|taken_by_own_threads.pct>0.1 = no"
	"|migrations>1 = 1x 11 2|waits.max>=2ms = 2x 12 3000000"
	"|thread(*1).waits.max>1ms = 1x 11 2000000|waits.count>2 = 1x 3"
	"|waits.total>=6ms = 1x 6000000|thread(*2).waits.total>=6ms = no"
	"|verdict.share>76.9 = 1x 5005000000|verdict.share>77 = no"
	"|verdict.task.max>=1s = 1x 1000000000|verdict.t*.total>5s = 1x 5005000000"
	"|verdict.softirq.total>0 = no|verdict.disk.share<1 = 1x 0|lost>0 = 1x 3|lost>3 = no"
	"|pressure.cpu.pct>=50 = 1x 1000000000|pressure.cpu.pct>50 = no"
	"|pressure.total>5ns = 2x 1000000000|pressure.io.total>0 = no"
	"|pressure.*_full.total>2ns = 1x 3|group_pressure.cpu_full.pct>=1 = 1x 20000000"
	"|group_pressure.total>5ns = 2x 100000000|group_pressure.cpu.pct<6 = 1x 100000000"
	"|threads>6 = 1x 7|threads<7 = no|upcalls>=45 = 1x 45|upcall_errors>2 = 1x 3"
	"|softirq_delays.max>=9ms = 1x 9000000|softirq_delays.count>=5 = 1x 5"
	"|softirq_delays.net_*.total>21ms = 1x 21000001|softirq_delays.rcu.max>0 = no"
	"|softirq_delays.net_tx.max>1ns = no"
	"| thread(rev*).voluntary  >=  15  = 1x 11 15|thread(a)b).voluntary>0 = no"
	"|thread(a).b).voluntary>0 = no|thread(rev*[!).]1).ready.max>1ms = 1x 11 1500000";

/* Who had the CPU, by name; and its ticks. */
static const char expected_culprits[] =
	"ready_by.total>=5s = 1x 20 5000000000|ready_by.back*.total>3s = 1x 20 4000000000"
	"|ready_by.backup.total>=3s = 1x 20 3000000000"
	"|ready_by.back*.max>1s = 1x 20 2000000000|ready_by.backup.max>2s = no"
	"|ready_by.back*.pct>=40 = 1x 20 4000000000|ready_by.back*.pct>40 = no"
	"|ready_by.softirq.total>=1s = 1x 20 1000000000|ready_by.hardirq.total>0 = no"
	"|thread(other).ready_by.pct>0 = no|late_ticks.max>=5ms = 1x 20 5000000"
	"|late_ticks.total>9ms = no|late_ticks.count>=3 = 1x 20 3";

static const char *excess_of_culprits(const char *text)
{
	struct culprit culprits[] = {
		{ .name = "backup", .pid = 4, .woken_ns = 3 * SECOND, .longest_ns = 2 * SECOND },
		{ .name = "backlog", .pid = 5, .woken_ns = SECOND - MS, .preempted_ns = MS },
		{ .kind = CULPRIT_SOFTIRQ, .woken_ns = SECOND, .longest_ns = MS }
	};
	struct thread_row thread = { .tid = 20,
				     .name = "starved",
				     .members = 1,
				     .ledger = { .life = 10 * SECOND,
						 .ns = { [LEDGER_READY_WOKEN] = 5 * SECOND } },
				     .late_ticks = { 3, 9 * MS, 5 * MS, 0 },
				     .culprits = culprits,
				     .n_culprits = COUNT(culprits) };
	struct sample one = { .threads = &thread, .n_threads = 1, .has_interruptions = true };

	return excess_in(&one, text);
}

/* Of what threads and processes used, and of the other lists. */
static const char expected_lists[] =
	"read.network.bytes>=4000000 = 1x 9719 4000000"
	"|thread(ovs*).read.network.count>999 = 1x 9719 1000|written.pipe.count>0 = no"
	"|written.network.bytes>123456789 = no|block_requests.max>1ms = 1x 9719 1500000"
	"|block_requests.bytes>=12288 = 1x 9719 12288|block_requests.vda.count>2 = no"
	"|counters.page-faults.count>0 = 1x 9719 18446744073709551615"
	"|counters.*-faults.count>=1 = 1x 9719 18446744073709551615|counters.cs.count>0 = no"
	"|memory>=123456789 = 1x 123456789|memory>987654320 = no|tcp_retransmissions>=3 = 1x 3"
	"|tcp_retransmissions>3 = no|interruptions.preempted.max>=1s = 1x 9719 1000000000"
	"|interruptions.count>2 = 1x 9719 3|interruptions.hardirq.total>24480ns = no"
	"|blocked_for.lock.max>=29ms = 1x 9719 29000000|blocked_for.work.total>31ms = no"
	"|blocked_for.lock.pct>=3 = 1x 9719 30000000|blocked_for.disk.count>0 = no"
	"|blocked_for.count>=19 = 1x 9719 19"
	"|stopped_by.count>=1241 = 1x 9719 1241|stopped_by.term*.total>20ns = no"
	"|stopped_by.six*.max>=9ns = 1x 9719 9|stopped_by.nobody.count>0 = no"
	"|moved_by.six*.count>1 = 1x 9719 18446744073709551615|moved_by.nobody.count>0 = no"
	"|overslept.max>=123456789ns = 1x 9719 123456789|overslept.count>12345 = no";

static const char *excess_of_everything(const char *text)
{
	struct thread_row rows[2];
	struct sample all_of = everything(rows);
	const char *said = excess_in(&all_of, text);

	everything_clear(&all_of);
	return said;
}

/* The most extreme of several samples is told, and the number of all. */
/* A list that names a condition has it. */
TEST(lists)
{
	for (const struct field *field = thread_fields; field->key; field++) {
		const struct fail_metric *metric;
		size_t i = 0;

		if (!field->list || !field->list->condition)
			continue;
		while ((metric = fail_metric_at(i)) && metric->figures.list != field->list)
			i++;
		is_str(metric ? fail_metric_title(metric) : NULL, field->list->condition,
		       "%s: its condition", field->key);
	}
}

TEST(telling)
{
	const char *const texts[] = { "ready.max>1ms", "lost>100",
				      "thread(revalidator2).ready.pct<5", "voluntary>=1" };
	struct thread_row hostile = threads[1];
	struct sample other = sample;
	struct fail_if *fail_if;
	bool any;

	memcpy(hostile.name, "\x1b[2J\nexactly 15", KD_COMM_LEN);
	hostile.ready.max = 2 * SECOND;
	hostile.voluntary = 3;
	other.threads = &hostile;
	other.n_threads = 1;
	is_i64(fail_if_new(&fail_if, "--fail-if", texts, COUNT(texts), &all), 0, "four conditions");
	fail_if_check(fail_if, judged(&sample), 1);
	fail_if_check(fail_if, judged(&other), 2);
	fail_if_check(fail_if, judged(&sample), 3);
	capture_begin();
	any = fail_if_tell(fail_if);
	is_str(capture_end(),
	       "kernel_delay: --fail-if 'ready.max>1ms': 2,000,000,000 ns of thread 12 "
	       "'\\x1b[2J\\nexactly 15' in sample 2, and 6 more\n"
	       "kernel_delay: --fail-if 'thread(revalidator2).ready.pct<5': 0.00 % of thread 12 "
	       "'revalidator2' in sample 1, and 1 more\n"
	       "kernel_delay: --fail-if 'voluntary>=1': 15 of thread 11 'revalidator1' in sample "
	       "1, "
	       "and 4 more\n",
	       "what is said");
	ok(any, "something exceeded");
	fail_if_free(fail_if);

	is_i64(fail_if_new(&fail_if, "--fail-if", texts + 1, 1, &all), 0, "one condition");
	fail_if_check(fail_if, judged(&sample), 1);
	ok(!fail_if_tell(fail_if), "nothing exceeded");
	fail_if_free(fail_if);
	is_i64(fail_if_new(&fail_if, "--fail-if", NULL, 0, &none), 0, "no condition");
	fail_if_check(fail_if, judged(&sample), 1);
	ok(!fail_if_tell(fail_if), "nothing exceeds none");
	fail_if_free(fail_if);
	fail_if_free(NULL);
}

/* What is refused, by what the message says. */
static const struct {
	const char *says, *texts;
} bad[] = {
	{ "no comparison", "|ready.max|ready.max=1ms" },
	{ "there is no metric ''", ">1" },
	{ "ready.count|total|max|p50|p90|p99|p99_9|pct", "foo>1" },
	{ "there is no metric 'ready'", "ready>1" },
	{ "there is no metric",
	  "ready.>1ms|.max>1ms|ready.min>1ms|ready.p95>1ms|ready.p99.9>1ms|softirq.p99>1ms"
	  "|user.max>1ms|lost.count>1|Ready.max>1ms|ready.x.max>1ms|syscall..max>1ms"
	  "|syscall.futex>1ms|verdict.pct>1|ready.max=>1ms" },
	{ "no unit", "ready.p99>1|ready.max>1e3" },
	{ "no such system call", "syscall.futx.max>1ms" },
	{ "no such softirq", "softirq.net.max>1ms" },
	{ "there are cpu, cpu_full, memory, memory_full, io", "pressure.disk.pct>1" },
	{ "there are pressure[.NAME].total|pct", "pressure.max>1ms" },
	{ "this metric is not one of threads", "thread(x).group_pressure.pct>1" },
	{ "there are hardirq, softirq, preempted", "interruptions.irq.max>1ms" },
	{ "there are other, work, ", "blocked_for.disc.max>1ms" },
	{ "there are network, file, ", "read.disc.bytes>0|written.disc.bytes>0" },
	{ "incomplete", "thread(x.lost>0|thread().lost>0|thread(x)lost>0" },
	{ "not one of threads", "thread(x).lost>0|thread(x).verdict.share>1" },
	{ "there is no metric 'verdict'", "verdict>1" },
	{ "not a percentage",
	  "verdict.share>1ms|ready.pct>1ms|ready.pct>%|ready.pct>|ready.pct>1e3|ready.pct>." },
	{ "no such cause", "verdict.net_rx.share>1" },
	{ "give one: 1ns, 1us, 1ms, 1s or 1min", "ready.max>1" },
	{ "not a time", "ready.max>|ready.max>>1ms|ready.max>-1ms|ready.max>=ms|ready.max>1h" },
	{ "there are ready.count|total|max|p50|p90|p99|p99_9|pct\n", "ready.mx>1ms" },
	{ "similar names: ready.count|total|max|p50|p90|p99|p99_9|pct", "reday.max>1ms" },
	{ "similar names: softirq[.NAME].count|total|max|pct", "sofirq.net_rx.pct>5" },
	{ "similar names: migrations, ", "migration>5" },
	{ "there are run.count|total|max|", "xyzzyxyzzy>5" },
	{ "similar names: futex\n", "syscall.fuetx.max>1ms" },
	{ "as in syscalls(2)", "syscall.xyzzyxyzzy.max>1ms" },
	{ "not a whole number", "ready.count>1.5|lost>|lost>-1|lost>99999999999999999999" },
	{ "'lost\\x1b", "lost\x1b>0" },
};

static void is_refused(const char *text, const struct fail_recorded *recorded, const char *says)
{
	struct fail_if *fail_if;
	const char *said;
	int status;

	capture_begin();
	status = fail_if_new(&fail_if, "--fail-if", &text, 1, recorded);
	fail_if_free(fail_if);
	said = capture_end();
	ok(status == 64 && strstr(said, says), "'%.50s' is refused with 64 and '%s'", text, says);
	if (!strstr(said, says))
		tap_print_string("err", said);
}

TEST(bad)
{
	static char large[100000];
	static const struct {
		const char *text;
		struct fail_recorded recorded;
		const char *missing;
	} without[] = {
		{ "waits.max>1ms", { .has = 0 }, "--off-cpu" },
		{ "ready.p99>1ms", { .has = SCAN_WAITS }, "--histogram" },
		{ "interruptions.max>1ms", { .has = SCAN_HISTOGRAMS }, "--interruptions" },
		{ "read.network.bytes>0", { .has = SCAN_INTERRUPTIONS }, "--resources" },
		{ "memory>0", { .has = SCAN_INTERRUPTIONS }, "--resources" },
		{ "changed.count>0", { .has = SCAN_RESOURCES }, "--compare" },
		{ "changed.count>0", { .replayed = true }, "--compare" },
		{ "counters.cs.count>0", { .has = NEEDS_COMPARISON }, "--counters" },
		{ "counters.cycles.count>0", { .counters = &counted }, "--counters" },
		{ "counters.cyc*.count>0", { .counters = &counted }, "--counters" },
	};
	char one[CASE_LEN];

	for (size_t i = 0; i < COUNT(bad); i++)
		for (const char *texts = bad[i].texts; case_next(&texts, one);)
			is_refused(one, &all, bad[i].says);
	memset(large, 'x', sizeof(large) - 1);
	is_refused(large, &all, "");
	for (size_t i = 0; i < COUNT(without); i++)
		is_refused(without[i].text, &without[i].recorded, without[i].missing);
}

/* What a sample does not hold, nobody knows of it. */
static const char not_held[] =
	"waits.max>1ms = no waits|waits.count<1 = no waits|ready.p99>1ms = no distributions"
	"|syscall.p50<1s = no distributions|interruptions.preempted.max>1ms = no interruptions"
	"|softirq_delays.max>1ms = no interruptions|softirq_delays.rcu.count<1 = no interruptions"
	"|read.network.bytes>0 = no resources|memory>0 = no resources"
	"|block_requests.max>1ms = no resources|tcp_retransmissions>0 = no resources"
	"|counters.cycles.count>0 = no such counters|counters.cy*.count>0 = no such counters"
	"|pressure.pct>1 = no figures of that pressure|group_pressure.io.pct<1 = no figures of"
	"|upcalls>0 = no counted upcalls|upcall_errors<1 = no counted upcalls"
	"|syscall.futex.max>1ms = no names of system calls|softirq.max>1ms = lacks its tracepoints"
	"|softirq.rcu.max>1ms = lacks|verdict.softirq.share<1 = lacks|stolen.total>0 = hypervisor"
	"|page_fault.pct<1 = no page faults|ready.max>1ms = |syscall.max>1ms = |lost>0 = "
	"|counters.cs.count>0 = |counters.count>0 = |hardirq.max>1ms = |verdict.task.share>1 = ";

static const char *lacks(const char *text)
{
	static struct counter_row counters[] = { { .name = "cs", .cpu = -1 } };
	static const struct absence absent[] = {
		{ "SOFT IRQ STATISTICS", "is left out: this kernel lacks its tracepoints" },
		{ "THREAD TIME", "has no page faults, they are in running user" },
		{ "THREAD TIME", "does not show what the hypervisor takes" },
	};
	struct thread_row ran = threads[0];
	struct sample bare = { .threads = &ran,
			       .n_threads = 1,
			       .foreign_calls = true,
			       .absent = absent,
			       .n_absent = COUNT(absent) };
	static char said[512];
	struct fail_if *fail_if;
	int status;

	ran.run_times.n = ran.ready_times.n = ran.n_calls = 0;
	ran.counters = counters;
	ran.n_counters = COUNT(counters);
	capture_begin();
	status = fail_if_new(&fail_if, "--fail-if", &text, 1, &replayed)
			 ?: fail_if_check(fail_if, judged(&bare), 3);
	snprintf(said, sizeof(said), "%s", capture_end());
	fail_if_free(fail_if);
	return status == (*said ? 65 : 0) ? said : "another status";
}

static bool has_text(const char *got, const char *want)
{
	return *want ? strstr(got, want) && strstr(got, "sample 3") : !*got;
}

TEST(not_held)
{
	cases_compare(not_held, has_text, lacks, "told");
}

/* Nothing in a condition is read beyond its end or kept beyond its room. */
TEST(random)
{
	static const char *const pieces[] = {
		"thread(", ")", ").", ".",    "ready", "max",   ">",
		"<",       "=", "1",  "ms",   "%",     "pct",   "p99",
		"syscall", "*", "[",  "lost", "waits", "futex", "\xff"
	};
	uint64_t state = 0x9e3779b97f4a7c15;
	unsigned int wrong = 0, accepted = 0;

	capture_begin();
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
			fail_if_check(fail_if, judged(&sample), 1);
			accepted++;
		}
		fail_if_free(fail_if);
	}
	capture_end();
	is_u64(wrong, 0, "random conditions are accepted or refused");
	ok(accepted, "%u of them are accepted", accepted);
}

/* What crosses the edges of the window: as a whole, or so far. */
TEST(whole)
{
	static const struct {
		const char *text, *said;
	} cases[] = { { "ready.max>100ms", "180,000,000 ns of thread 1 't'" },
		      { "ready.p99>100ms", "180,000,000 ns of thread 1 't'" },
		      { "ready.p50<1s", "1,000 ns of thread 1 't'" },
		      { "run.max>100ms", "190,000,000 ns so far of thread 1 't'" },
		      { "run.p99_9>100ms", "190,000,000 ns so far of thread 1 't'" },
		      { "run.p50>8ns", "9 ns of thread 1 't'" },
		      { "syscall.futex.max>1s", "2,000,000,000 ns so far of thread 1 't'" },
		      { "blocked_for.lock.max>100ms", "400,000,000 ns so far of thread 1 't'" },
		      { "blocked_for.lock.count>1", NULL }, /* one goes on */
		      { "long_poll.max>0", NULL },          /* it may never end */
		      { "stopped.max>0", NULL } };
	struct bucket ready[] = { { 1000, 9 }, { 187 * MS, 1 } };
	struct bucket run[] = { { 9, 2 } };
	struct open_item open[] = {
		{ .number = SYS_futex, .count = 1, .longest = 2 * SECOND, .at_end = true },
		{ OPEN_READY, -1, 1, 0, 0, 0, 180 * MS, 180 * MS, .at_start = true },
		{ OPEN_RUN, -1, 1, 0, 0, 0, 190 * MS, 190 * MS, .at_end = true },
		{ OPEN_ROUND, -1, 1, 0, 0, 0, SECOND, SECOND, .at_end = true }
	};
	struct call_row call = { .number = SYS_futex };
	struct thread_row thread = { .tid = 1,
				     .name = "t",
				     .members = 1,
				     .ready = { .count = 9, .total = 9000, .max = 1000 },
				     .run = { .count = 2, .total = 18, .max = 9, .min = 9 },
				     .ready_times = { ready, 2 },
				     .run_times = { run, 1 },
				     .calls = &call,
				     .n_calls = 1,
				     .open = open,
				     .n_open = COUNT(open) };
	struct sample one = { .threads = &thread, .n_threads = 1 };

	thread.ledger.awaited[KD_AWAITED_LOCK] = (struct kd_count){ 2, 401 * MS, 400 * MS, 0 };
	thread.ledger.asleep[KD_AWAITED_LOCK] = (struct sleeping){ .count = 1, .max = 400 * MS };
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct fail_if *fail_if;
		const char *said;
		bool any;

		fail_if_new(&fail_if, "--fail-if", &cases[i].text, 1, &all);
		fail_if_check(fail_if, judged(&one), 1);
		capture_begin();
		any = fail_if_tell(fail_if);
		said = capture_end();
		ok(cases[i].said ? strstr(said, cases[i].said) != NULL : !any, "%s: %s",
		   cases[i].text, cases[i].said ? cases[i].said : "nothing");
		fail_if_free(fail_if);
	}
}

TEST(exceeded)
{
	cases_check(expected, excess, "exceeded");
	cases_check(expected_culprits, excess_of_culprits, "exceeded");
	cases_check(expected_lists, excess_of_everything, "exceeded");
}
