// SPDX-License-Identifier: Apache-2.0
#include "text_distributions.h"

#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/parse.h"
#include "cli/model/thread_row.h"
#include "cli/model/words.h"
#include "text_parts.h"

#define SHARE_WIDTH 14
#define LIMIT_WIDTH 17 /* enough for hours */
#define DRAWN 40       /* stars of the longest bar */
#define POWERS 64

/* A distribution in the section. */
struct shown_durations {
	const char *name;
	struct complete complete;
};

static void shares_header(struct columns *columns)
{
	columns_add(columns, "\n" TEXT_INDENT "[DISTRIBUTIONS]\n" TEXT_INDENT);
	columns_left(columns, "OF", TEXT_NAME_WIDTH);
	columns_right(columns, "COUNT", 12);
	for (size_t i = 0; i < DISTRIBUTION_SHARES; i++) {
		char label[16];

		strcat(strcpy(label, distribution_shares[i].label), " ns");
		columns_add(columns, "  ");
		columns_right(columns, label, SHARE_WIDTH);
	}
	columns_add(columns, "            MAX ns\n");
}

static void shares(struct columns *columns, const struct shown_durations *shown)
{
	columns_add(columns, TEXT_INDENT);
	columns_cut(columns, shown->name, TEXT_NAME_WIDTH);
	columns_gap_count(columns, durations_count(&shown->complete.times), 10);
	for (size_t i = 0; i < DISTRIBUTION_SHARES; i++)
		columns_gap_ns(
			columns,
			durations_permille(&shown->complete.times, distribution_shares[i].permille),
			SHARE_WIDTH);
	columns_gap_ns(columns, shown->complete.max, 16);
	columns_add(columns, shown->complete.max_open ? "+\n" : "\n");
}

/* Largest power of two up to ns; 0 below 2. */
static unsigned int power_of(uint64_t ns)
{
	return ns < 2 ? 0 : 63U - (unsigned int)__builtin_clzll(ns);
}

/* Counts durations by power of two. Returns the largest count. */
static uint64_t powers_count(const struct shown_durations *shown, uint64_t counts[static POWERS])
{
	const struct durations *times = &shown->complete.times;
	uint64_t most = 0;

	for (size_t i = 0; i < times->ended->n; i++) {
		const struct bucket *bucket = &times->ended->buckets[i];
		/* The very last bucket is unbounded. */
		uint64_t le = bucket->le < times->max ? bucket->le : times->max;
		uint64_t *count = &counts[power_of(le)];

		*count = u64_add(*count, bucket->count);
	}
	counts[power_of(times->open_max)] = u64_add(counts[power_of(times->open_max)], times->open);
	for (size_t power = 0; power < POWERS; power++)
		most = counts[power] > most ? counts[power] : most;
	return most;
}

static void bar(struct columns *columns, uint64_t count, uint64_t most)
{
	static const char stars[DRAWN + 1] = "****************************************";
	size_t length = (size_t)u64_share(count, DRAWN, most);

	columns_add(columns, " |");
	columns_bytes(columns, stars, length);
	columns_pad(columns, length, DRAWN);
	columns_add(columns, "|\n");
}

static void drawing(struct columns *columns, const struct shown_durations *shown)
{
	uint64_t counts[POWERS] = { 0 }, most = powers_count(shown, counts);
	unsigned int first = 0, last = POWERS - 1;

	while (!counts[first])
		first++;
	while (!counts[last])
		last--;
	columns_add(columns, "\n" TEXT_INDENT);
	columns_cut(columns, shown->name, TEXT_NAME_WIDTH);
	columns_add(columns, "                ns      COUNT  DISTRIBUTION\n");
	for (unsigned int power = first; power <= last; power++) {
		uint64_t from = power ? 1ULL << power : 0;

		columns_add(columns, TEXT_INDENT);
		columns_ns(columns, from, LIMIT_WIDTH);
		columns_add(columns, " -> ");
		columns_ns(columns, (2ULL << power) - 1, LIMIT_WIDTH);
		columns_gap_count(columns, counts[power], 9);
		columns_add(columns, " ");
		bar(columns, counts[power], most);
	}
}

/* Calls write for each non-empty distribution. Returns true if there was one. */
static bool each(struct columns *columns, const struct sample *sample,
		 const struct thread_row *thread,
		 void (*write)(struct columns *columns, const struct shown_durations *shown))
{
	const struct shown_durations periods[] = {
		{ period_words[OPEN_READY].label, complete_period(thread, OPEN_READY) },
		{ period_words[OPEN_RUN].label, complete_period(thread, OPEN_RUN) },
	};
	bool any = false;
	char buffer[TEXT_CALL];

	for (size_t i = 0; i < sizeof(periods) / sizeof(*periods); i++) {
		if (!periods[i].complete.times.ended->n)
			continue;
		if (write)
			write(columns, &periods[i]);
		any = true;
	}
	for (size_t i = 0; i < thread->n_calls; i++) {
		const struct call_row *call = &thread->calls[i];
		struct shown_durations shown;

		if (!call->times.n)
			continue;
		any = true;
		if (!write)
			break;
		shown = (struct shown_durations){ text_call(sample, call->number, buffer),
						  complete_call(thread, call) };
		write(columns, &shown);
	}
	return any;
}

void text_distributions(struct columns *columns, const struct sample *sample,
			const struct thread_row *thread)
{
	if (!each(columns, sample, thread, NULL))
		return;
	shares_header(columns);
	each(columns, sample, thread, shares);
	each(columns, sample, thread, drawing);
}
