/* SPDX-License-Identifier: Apache-2.0 */
/* From parts to what a thread feels as one interruption; and when ticks are due, as learnt from
 * interrupts, and which of them came late. */
#include <string.h>

#include "bpf/kernel_delay.h"
#include "cli/model/interruption.h"
#include "cli/model/sample.h"
#include "random.h"
#include "tap.h"

#define ENTRY 500
#define JOIN (1000 + 2 * ENTRY)

static struct kd_interruption part(enum kd_interrupted_by by, uint64_t since, uint64_t until)
{
	return (struct kd_interruption){ .since = since, .until = until, .tid = 7, .by = by };
}

/* Whether the parts are one interruption, of this length and these causes; the estimate is
 * that of a hard interrupt's entry and exit. */
static void is_one(const char *what, const struct kd_interruption *parts, size_t n, uint64_t ns,
		   const uint64_t by[INTERRUPTION_CAUSES])
{
	struct interruption interruption;
	struct gap gap = { 0 };
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		ok(gap_add(&gap, &parts[i], ENTRY), "%s: part %zu belongs to it", what, i);
	gap_end(&gap, &interruption);
	is_u64(interruption.ns, ns, "%s: its length", what);
	for (int i = 0; i < INTERRUPTION_CAUSES; i++) {
		is_u64(interruption.by[i], by[i], "%s: %s", what, interruption_keys[i]);
		sum += interruption.by[i];
	}
	is_u64(sum, interruption.ns, "%s: its causes add up to it", what);
	ok(!gap.until, "%s: the next one begins anew", what);
}

/* A page fault's last part, after the sleep, says that a page had to be read. */
static void test_major_fault(void)
{
	struct kd_interruption parts[] = { part(KD_BY_FAULT, 1000, 3000),
					   part(KD_BY_FAULT, 3000, 90000),
					   part(KD_BY_FAULT, 90000, 91000) };
	struct gap gap = { 0 };

	parts[2].who = 1;
	for (size_t i = 0; i < COUNT(parts); i++)
		gap_add(&gap, &parts[i], ENTRY);
	is_u64(gap_largest(&gap, INTERRUPTION_PAGE_FAULT)->who, 1,
	       "a fault that slept is a major one");
}

/* Two kinds of hard interrupts: each has its own estimate, which lies between them, and of one
 * outside. */
static void test_kinds(void)
{
	const struct kd_interruption tick = part(KD_BY_HARDIRQ, 1000, 2000),
				     sent = part(KD_BY_HARDIRQ, 2100, 3000);
	struct interruption interruption;
	struct gap gap = { 0 };

	ok(gap_add(&gap, &tick, ENTRY) && gap_add(&gap, &sent, ENTRY / 5), "both belong to it");
	gap_end(&gap, &interruption);
	is_u64(interruption.by[INTERRUPTION_HARDIRQ], 1900 + ENTRY + ENTRY / 5,
	       "with what each takes beyond what is seen");
	is_u64(interruption.by[INTERRUPTION_UNEXPLAINED], 0, "which is the time between them, too");
}

/* A late tick: nothing explains the time before it. */
static void test_late_tick(void)
{
	struct kd_interruption tick = part(KD_BY_HARDIRQ, 900000, 904000);
	struct interruption interruption;
	struct gap gap = { 0 };

	ok(gap_add(&gap, &tick, ENTRY), "a tick");
	gap_tick_late(&gap, 300000, 200000);
	gap_end(&gap, &interruption);
	is_u64(interruption.since, 700000, "as far as nothing explains it");
	is_u64(interruption.tick_late, 300000, "how late the tick was");
	is_u64(interruption.by[INTERRUPTION_UNEXPLAINED], 200000 - ENTRY,
	       "unexplained but for the interrupt's entry");
	is_u64(interruption.by[INTERRUPTION_HARDIRQ], 4000 + ENTRY, "which is the interrupt's");
	is_u64(interruption.ns, 204000, "its length");
	is_u64(interruption.cause, INTERRUPTION_UNEXPLAINED, "the cause");

	tick.since = 1000000, tick.until = 1004000;
	ok(gap_add(&gap, &tick, ENTRY), "the next one");
	gap_tick_late(&gap, 300000, 300000);
	gap_end(&gap, &interruption);
	is_u64(interruption.since, 904000, "not before the end of the last interruption");
	tick.since = 2000000, tick.until = 2004000;
	ok(gap_add(&gap, &tick, ENTRY), "a third one");
	gap_end(&gap, &interruption);
	is_u64(interruption.tick_late, 0, "was in time");
}

TEST(gaps)
{
	struct kd_interruption parts[40] = { part(KD_BY_HARDIRQ, 1000, 4000) };
	struct gap gap = { 0 };

	is_one("an interrupt", parts, 1, 3000 + ENTRY,
	       (uint64_t[INTERRUPTION_CAUSES]){ [INTERRUPTION_HARDIRQ] = 3000 + ENTRY });
	parts[1] = part(KD_BY_SOFTIRQ, 4300, 9300);
	is_one("hard and soft", parts, 2, 8300 + 200,
	       (uint64_t[INTERRUPTION_CAUSES]){
		       [INTERRUPTION_HARDIRQ] = 3000 + ENTRY, [INTERRUPTION_SOFTIRQ] = 5000 });
	parts[2] = part(KD_BY_TASK, 10300, 20300);
	parts[2].taken = 4000;
	is_one("and a task", parts, 3, 19300,
	       (uint64_t[INTERRUPTION_CAUSES]){ [INTERRUPTION_HARDIRQ] = 3000 + ENTRY,
						[INTERRUPTION_SOFTIRQ] = 5000,
						[INTERRUPTION_PREEMPTED] = 6000,
						[INTERRUPTION_THROTTLED] = 4000,
						[INTERRUPTION_UNEXPLAINED] = 800 });
	/* The inner one comes first, as it ends first. */
	parts[0] = part(KD_BY_HARDIRQ, 3000, 4000);
	parts[1] = part(KD_BY_SOFTIRQ, 1000, 9000);
	is_one("one inside another", parts, 2, 8000 + ENTRY,
	       (uint64_t[INTERRUPTION_CAUSES]){
		       [INTERRUPTION_HARDIRQ] = 1000 + ENTRY, [INTERRUPTION_SOFTIRQ] = 7000 });
	parts[0] = part(KD_BY_FAULT, 1000, 5000);
	parts[1] = part(KD_BY_FAULT, 5000, 90000);
	is_one("a page fault that sleeps", parts, 2, 89000,
	       (uint64_t[INTERRUPTION_CAUSES]){ [INTERRUPTION_PAGE_FAULT] = 89000 });
	for (uint64_t i = 0; i < COUNT(parts); i++)
		parts[i] = part(KD_BY_SOFTIRQ, 1000 * i, 1000 * i + 900);
	is_one("many", parts, COUNT(parts), 39900,
	       (uint64_t[INTERRUPTION_CAUSES]){ [INTERRUPTION_SOFTIRQ] = 900 * COUNT(parts),
						[INTERRUPTION_UNEXPLAINED] = 3900 });

	parts[0] = part(KD_BY_HARDIRQ, 1000, 4000);
	ok(gap_add(&gap, &parts[0], ENTRY), "a first one");
	parts[1] = part(KD_BY_HARDIRQ, 4001 + JOIN, 9000);
	ok(!gap_add(&gap, &parts[1], ENTRY), "too late to belong to it");
	parts[1] = part(KD_BY_HARDIRQ, 4100, 9000);
	parts[1].tid = 8;
	ok(!gap_add(&gap, &parts[1], ENTRY), "of another thread");
	parts[1] = part(KD_BY_HARDIRQ, 4100, 4000);
	ok(gap_add(&gap, &parts[1], ENTRY) && gap.n == 1, "a clock that steps back is nothing");
	parts[1] = part(KD_BY_TASK, 4100, 9000);
	parts[1].from = 1, parts[1].cpu = 2;
	ok(gap_add(&gap, &parts[1], ENTRY) && gap.moved, "moved to another CPU");
	parts[1] = part(99, 9100, 9200);
	ok(gap_add(&gap, &parts[1], ENTRY), "an unknown kind");
	ok(gap_largest(&gap, INTERRUPTION_PREEMPTED)->until == 9000, "the largest part of a cause");
	ok(!gap_largest(&gap, INTERRUPTION_UNEXPLAINED), "nothing has taken that");
	gap = (struct gap){ 0 };
	parts[0] = part(KD_BY_TASK, 1000, 2000);
	parts[1] = part(KD_BY_TASK, 2000, 9000);
	parts[2] = part(KD_BY_TASK, 9000, 9500);
	ok(gap_add(&gap, &parts[0], ENTRY) && gap_add(&gap, &parts[1], ENTRY) &&
		   gap_add(&gap, &parts[2], ENTRY) &&
		   gap_largest(&gap, INTERRUPTION_PREEMPTED)->until == 9000,
	   "the largest of three, which is neither the first nor the last");

	test_major_fault();
	test_kinds();
	test_late_tick();
	gap = (struct gap){ 0 };
	parts[0] = part(KD_BY_SOFTIRQ, 1000, 2000);
	parts[1] = part(KD_BY_SOFTIRQ, 2501, 3000);
	ok(gap_add(&gap, &parts[0], ENTRY) && !gap_add(&gap, &parts[1], ENTRY),
	   "soft interrupts of a system call have its work in between");
	gap = (struct gap){ 0 };
	parts[2] = part(KD_BY_HARDIRQ, 100, 200);
	ok(gap_add(&gap, &parts[2], ENTRY) && gap_add(&gap, &parts[0], ENTRY) &&
		   !gap_add(&gap, &parts[1], ENTRY),
	   "also after a hard one");
}

/* What the hypervisor took lies anywhere between its two times, by itself. */
TEST(stolen)
{
	struct kd_interruption taken = part(KD_BY_HYPERVISOR, 1000, 9000);
	struct thread_row row = { .members = 1 };
	struct interruption stolen;

	taken.taken = 3000;
	interruption_stolen(&taken, &stolen);
	ok(stolen.since == 1000 && stolen.until == 9000 && stolen.tid == (pid_t)taken.tid,
	   "between two looks at the clock");
	ok(stolen.ns == 3000 && stolen.by[INTERRUPTION_STOLEN] == 3000,
	   "as long as the clock says");
	is_u64(stolen.cause, INTERRUPTION_STOLEN, "its cause");
	ok(!interruption_count(&row.interrupted, &stolen), "it is counted");
	is_u64(row.interrupted[INTERRUPTION_STOLEN].count.total, 3000, "as stolen");
	is_u64(row.interrupted[INTERRUPTION_CAUSES].count.total, 3000, "and as one of all");
	thread_clear(&row);
}

/* Of the tasks that had a thread's CPU, who had it longest, and how many more there were. */
TEST(takers)
{
	struct kd_takers takers = { 0 };
	const uint32_t a = KD_WHO_TASK | 7, b = KD_WHO_TASK | KD_WHO_OF_TARGET | 8;
	uint32_t others;

	is_u64(kd_taker_longest(&takers, &others), KD_WHO_UNKNOWN, "nobody is known");
	is_u64(others, 0, "nor others");
	kd_taker_add(&takers, a, 300);
	kd_taker_add(&takers, b, 200);
	kd_taker_add(&takers, KD_WHO_IDLE, 10);
	is_u64(kd_taker_longest(&takers, &others), a, "the one that had it longest");
	is_u64(others, 1, "the other task; nobody is none");
	kd_taker_add(&takers, b, 101);
	is_u64(kd_taker_longest(&takers, &others), b, "all its times together");
	is_u64(others, 1, "still one other");
	for (uint32_t i = 0; i < 10; i++)
		kd_taker_add(&takers, KD_WHO_TASK | (100 + i), 20);
	is_u64(kd_taker_longest(&takers, &others), b, "short ones give way to each other");
	is_u64(others, 11, "and are counted");
	kd_taker_add(&takers, KD_WHO_IDLE, 1000);
	is_u64(kd_taker_longest(&takers, &others), KD_WHO_IDLE, "nobody had it for longest");
	is_u64(others, 12, "beside all tasks");
}

TEST(counts)
{
	struct thread_row a = { .members = 1 }, b = { .members = 1 };
	const struct interruption interruption = {
		.ns = 5000, .by = { [INTERRUPTION_HARDIRQ] = 2000, [INTERRUPTION_SOFTIRQ] = 3000 }
	};

	ok(!interruption_count(&a.interrupted, &interruption) &&
		   !interruption_count(&a.interrupted, &interruption) &&
		   !interruption_count(&b.interrupted, &interruption),
	   "three are counted");
	ok(!thread_merge(&a, &b), "two rows are merged");
	is_u64(a.interrupted[INTERRUPTION_SOFTIRQ].count.count, 3, "count");
	is_u64(a.interrupted[INTERRUPTION_SOFTIRQ].count.total, 9000, "total");
	is_u64(a.interrupted[INTERRUPTION_SOFTIRQ].count.max, 3000, "max");
	is_u64(distribution_count(&a.interrupted[INTERRUPTION_SOFTIRQ].times), 3, "distribution");
	is_u64(a.interrupted[INTERRUPTION_CAUSES].count.max, 5000, "whole ones");
	is_u64(a.interrupted[INTERRUPTION_PREEMPTED].count.count, 0, "no other cause");
	thread_clear(&a);
	thread_clear(&b);
}

/* --- Ticks --- */

#define PERIOD 4000000ULL
#define AT 1234567ULL /* in the period: where the ticks are */
#define US 1000ULL
#define TOOK (8 * US) /* an interrupt */

/* A CPU whose thread runs in user mode all the time. */
struct cpu {
	struct tick tick;
	uint64_t before; /* the end of the last interrupt */
};

/* An interrupt; what tick_note() says. */
static uint64_t interrupt(struct cpu *cpu, uint64_t t)
{
	uint64_t late = tick_note(&cpu->tick, PERIOD, cpu->before, t);

	cpu->before = t + TOOK;
	return late;
}

/* Ticks from the first to before the last one, a little late as they always are; and so many
 * other interrupts in each period. Returns how often one was said to be late. */
static unsigned int ticks(struct cpu *cpu, uint64_t first, uint64_t last, unsigned int others)
{
	unsigned int late = 0;

	for (uint64_t n = first; n < last; n++) {
		uint64_t t = n * PERIOD + AT + chance(20 * US);

		late += interrupt(cpu, t) > 0;
		for (unsigned int i = 1; i <= others; i++)
			late += interrupt(cpu, t + i * PERIOD / (others + 2) + chance(300 * US)) >
				0;
	}
	return late;
}

TEST(late)
{
	struct cpu cpu = { 0 };
	uint64_t late;

	is_u64(ticks(&cpu, 1, 30, 0), 0, "ticks in time");
	late = interrupt(&cpu, 33 * PERIOD + AT + 700 * US); /* 30 was due */
	ok(late > 3 * PERIOD + 650 * US && late <= 3 * PERIOD + 700 * US,
	   "the first that was due is late by %llu", (unsigned long long)late);
	is_u64(ticks(&cpu, 34, 60, 0), 0, "then they are in time again");
	is_u64(interrupt(&cpu, 60 * PERIOD + AT + TICK_LATE_NS), 0, "a little late is in time");
	is_u64(ticks(&cpu, 61, 80, 0), 0, "then also");
	cpu.before = KD_NEVER;
	is_u64(interrupt(&cpu, 90 * PERIOD + AT + 700 * US), 0,
	       "no tick was due: the thread was not in user mode");
	cpu.before = 95 * PERIOD + AT + 100 * US;
	is_u64(interrupt(&cpu, 95 * PERIOD + AT + 700 * US), 0, "it has been since it was due");
	cpu.before = 97 * PERIOD + AT - 10 * US;
	is_u64(interrupt(&cpu, 98 * PERIOD + AT), 0, "the one before was taken with another");
}

/* Other timers may come as often, or more often. */
TEST(others)
{
	struct cpu cpu = { 0 };

	is_u64(ticks(&cpu, 1, 300, 3), 0, "other interrupts between ticks are not late");
	ok(interrupt(&cpu, 302 * PERIOD + AT) > PERIOD / 2, "nor hide one that is");
}

/* An emulated timer may be early by far more than others differ. */
TEST(early)
{
	struct cpu cpu = { 0 };
	unsigned int late = 0;

	for (uint64_t n = 1; n < 200; n++)
		late += interrupt(&cpu, n * PERIOD + AT - (n % 3 ? 0 : 300 * US)) > 0;
	is_u64(late, 0, "an early tick is not waited for");
	ok(interrupt(&cpu, 202 * PERIOD + AT) > PERIOD / 2,
	   "one that is late is found all the same");
}

TEST(unknown)
{
	struct cpu cpu = { 0 };
	unsigned int late = 0;

	is_u64(ticks(&cpu, 1, 10, 0), 0, "too few");
	is_u64(interrupt(&cpu, 12 * PERIOD + AT), 0, "to know when one is due");
	cpu = (struct cpu){ 0 };
	for (unsigned int i = 0; i < 1000; i++)
		late += interrupt(&cpu, cpu.before + chance(10 * PERIOD)) > 0;
	is_u64(late, 0, "a CPU without ticks, only with timers");
	is_u64(tick_note(&cpu.tick, 0, 1, PERIOD), 0, "no period is known");
}
