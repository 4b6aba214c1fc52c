// SPDX-License-Identifier: Apache-2.0
#include "tick.h"

#include <stdbool.h>
#include <stddef.h>

#include "bpf/kernel_delay.h"

#define JITTER_NS 50000 /* still the same offset, in either direction */
#define MEAN_OF 8       /* running mean over about this many */
#define REGULAR 10      /* interrupts that make an offset the tick's, */
#define RATHER 2        /* if it has this many times more than any other */
#define MEMORY 200      /* then all counts are halved */
#define EARLY_PART 4    /* of the period: a tick may come this much early */

/* Signed distance between two offsets: -period / 2 to period / 2. */
static int64_t later(uint64_t offset, uint64_t than, uint64_t period)
{
	uint64_t ns = (offset + period - than) % period;

	return ns > period / 2 ? (int64_t)ns - (int64_t)period : (int64_t)ns;
}

static void phase_note(struct tick_phase *phase, uint64_t period, int64_t by)
{
	phase->offset = (phase->offset + period + (uint64_t)(by / MEAN_OF)) % period;
	phase->seen++;
}

static void offset_note(struct tick *tick, uint64_t period, uint64_t offset)
{
	struct tick_phase *least = &tick->phases[0];

	if (tick->seen++ == MEMORY) {
		tick->seen = 0;
		for (size_t i = 0; i < TICK_PHASES; i++)
			tick->phases[i].seen /= 2;
	}
	for (size_t i = 0; i < TICK_PHASES; i++) {
		struct tick_phase *phase = &tick->phases[i];
		int64_t by = later(offset, phase->offset, period);

		if (phase->seen && by >= -JITTER_NS && by <= JITTER_NS) {
			phase_note(phase, period, by);
			return;
		}
		if (phase->seen < least->seen)
			least = phase;
	}
	*least = (struct tick_phase){ .offset = offset, .seen = 1 };
}

/* NULL: none stands out. */
static const struct tick_phase *phase_of(const struct tick *tick)
{
	const struct tick_phase *most = &tick->phases[0];
	uint32_t next = 0;

	for (size_t i = 1; i < TICK_PHASES; i++)
		if (tick->phases[i].seen > most->seen)
			most = &tick->phases[i];
	for (size_t i = 0; i < TICK_PHASES; i++)
		if (&tick->phases[i] != most && tick->phases[i].seen > next)
			next = tick->phases[i].seen;
	return most->seen >= REGULAR && most->seen >= RATHER * next ? most : NULL;
}

uint64_t tick_note(struct tick *tick, uint64_t period, uint64_t before, uint64_t t)
{
	const struct tick_phase *phase;
	uint64_t due = 0;

	if (period <= 4 * JITTER_NS)
		return 0;
	phase = phase_of(tick);
	if (phase && before < t) {
		/* A tick that was due soon after may have come before, or together with it. */
		due = before + period / EARLY_PART;
		due += (phase->offset + period - due % period) % period;
	}
	offset_note(tick, period, t % period);
	return due && t > due + TICK_LATE_NS ? t - due : 0;
}
