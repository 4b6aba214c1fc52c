// SPDX-License-Identifier: Apache-2.0
/* The histogram's places, and samples kept for their length, against plain
 * arithmetic. */
#include "../../cli/distribution.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../cli/worst.h"
#include "tap.h"

/* The place of a value, found the slow way. */
static unsigned int place_of(uint64_t ns)
{
	unsigned int place = 0;

	while (distribution_limit(place) < ns)
		place++;
	return place;
}

static void test_limits(void)
{
	bool rises = true, narrow = true;

	for (unsigned int i = 1; i < KD_SUB * 58; i++) {
		uint64_t low = distribution_limit(i - 1) + 1, high = distribution_limit(i);

		rises = rises && high >= low;
		narrow = narrow && high - low <= low / KD_SUB;
	}
	ok(rises, "places follow one another");
	ok(narrow, "none is wider than 1/%u of its values", KD_SUB);
	for (uint64_t ns = 0; ns < 64; ns++)
		ok(place_of(ns) == ns, "small values have their own: %u", (unsigned int)ns);
	ok(distribution_limit(64) == 65, "then every two");
	ok(distribution_limit(KD_SUB * 57 + 31) >= 1ULL << 60, "and there is room for years");
}

static void test_shares(void)
{
	static uint64_t places[KD_DURATIONS];
	uint64_t got;

	ok(distribution_permille(places, 500) == 0, "of nothing: 0");
	for (uint64_t ns = 1; ns <= 10000; ns++)
		places[place_of(ns * 100)]++;
	ok(distribution_count(places) == 10000, "the count");
	for (unsigned int permille = 1; permille <= 1000; permille += 37) {
		got = distribution_permille(places, permille);
		ok(got >= permille * 1000 && got <= permille * 1000 * (KD_SUB + 1) / KD_SUB,
		   "%u/1000 of 100 to 1,000,000: %llu", permille, (unsigned long long)got);
	}
	memset(places, 0, sizeof(places));
	places[place_of(7)] = 1;
	ok(distribution_permille(places, 1) == 7, "the one value is any share's");
	ok(distribution_permille(places, 1000) == 7, "all of it, too");
	places[place_of(7)] = UINT64_MAX / 2;
	ok(distribution_permille(places, 999) == 7, "large counts do not overflow");
}

static struct sample sample_of(uint64_t length)
{
	struct sample sample = { .start = 1000, .end = 1000 + length };

	sample.threads = calloc(1, sizeof(*sample.threads));
	return sample;
}

static void test_worst(void)
{
	static const uint64_t lengths[] = { 50, 10, 90, 70, 70, 20, 95, 60 };
	struct worst worst;
	bool sorted = true;

	ok(!worst_init(&worst, 3), "room for three");
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		struct sample sample = sample_of(lengths[i]);

		ok(worst_bar(&worst) == (i < 3 ? 0 : worst.samples[2].end - 1000),
		   "the bar before sample %zu", i);
		worst_offer(&worst, &sample);
		sample_clear(&sample);
	}
	for (size_t i = 1; i < worst.n; i++)
		sorted = sorted && worst.samples[i - 1].end >= worst.samples[i].end;
	ok(worst.n == 3 && sorted, "three, the longest first");
	ok(worst.samples[0].end == 1095 && worst.samples[1].end == 1090 &&
		   worst.samples[2].end == 1070,
	   "95, 90, 70");
	worst_clear(&worst);
	ok(!worst_init(&worst, 0) && worst.n == 0, "room for none");
	worst_clear(&worst);
}

int main(void)
{
	test_limits();
	test_shares();
	test_worst();
	return done_testing();
}
