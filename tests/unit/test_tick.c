// SPDX-License-Identifier: Apache-2.0
/* When ticks are due, as learnt from interrupts, and which of them came late. */
#include "bpf/kernel_delay.h"
#include "cli/model/tick.h"
#include "random.h"
#include "tap.h"

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
