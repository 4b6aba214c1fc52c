// SPDX-License-Identifier: Apache-2.0
/* Limits, sums and shares of distributions, and samples kept for their length, against
 * plain arithmetic. */
#include "cli/model/distribution.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/kernel_delay.h"
#include "cli/model/trigger_stats.h"
#include "random.h"
#include "tap.h"

/* Beyond it no limit can be told in 64 bits. */
#define BUCKETS(bits) ((65U - (bits)) << (bits))

/* The longest of the durations that share a bucket with this one: those with the same
 * power of two and the same bits below it, as many as the buckets' resolution has. */
static uint64_t limit_of(uint64_t ns, unsigned int bits)
{
	uint64_t width = 1;

	while (ns / width >> (bits + 1))
		width *= 2;
	return ns / width * width + (width - 1);
}

static void test_limits(unsigned int bits)
{
	bool follow = true, same = true, near = true;
	uint64_t before = 0;

	for (unsigned int bucket = 0; bucket < BUCKETS(bits); bucket++) {
		uint64_t first = bucket ? before + 1 : 0, limit = distribution_limit(bucket, bits);

		follow = follow && limit >= first;
		same = same && limit_of(first, bits) == limit && limit_of(limit, bits) == limit;
		near = near && limit - first <= first >> bits;
		before = limit;
	}
	ok(follow, "%u bits: buckets follow one another", bits);
	ok(same, "each has what it is to have");
	ok(near, "no limit is more than 1/%u above a duration", 1U << bits);
	is_u64(before, UINT64_MAX, "the last one has the longest");
	for (uint64_t ns = 0; ns < 2U << bits; ns++)
		is_u64(distribution_limit((unsigned int)ns, bits), ns, "a bucket of its own");
	is_u64(distribution_limit(2U << bits, bits), (2U << bits) + 1, "then every two");
}

/* What the documents say of the kernel's histograms. */
TEST(kernels_limits)
{
	test_limits(KD_WINDOW_BITS);
	test_limits(KD_HISTOGRAM_BITS);
	is_u64(1U << KD_WINDOW_BITS, 32, "windows: 1/32");
	is_u64(1U << KD_HISTOGRAM_BITS, 16, "--histogram: 1/16");
	ok(KD_WINDOW_BUCKETS >= BUCKETS(KD_WINDOW_BITS), "every window has a bucket");
	is_u64(distribution_limit(KD_HISTOGRAM_BUCKETS - 2, KD_HISTOGRAM_BITS) / 1000000000, 8521,
	       "--histogram: the last bucket is for what is longer than 2.4 hours");
}

TEST(append)
{
	struct distribution distribution = { 0 };
	bool kept = true;

	is_u64(distribution_count(&distribution), 0, "nothing is counted");
	is_i64(distribution_append(&distribution, 5, 0), 0, "a bucket of none");
	ok(!distribution.n && !distribution.buckets, "is none");
	is_i64(distribution_append(&distribution, 0, 1), 0, "the shortest");
	is_i64(distribution_append(&distribution, 0, 1), -EINVAL, "not twice");
	for (uint64_t i = 1; i < 1000; i++)
		kept = kept && !distribution_append(&distribution, 3 * i, i + 1);
	is_i64(distribution_append(&distribution, 2996, 1), -EINVAL, "not below the others");
	is_i64(distribution_append(&distribution, 2998, 0), 0, "none above them");
	is_i64(distribution_append(&distribution, UINT64_MAX, 1), 0, "the longest");
	is_i64(distribution_append(&distribution, UINT64_MAX, 1), -EINVAL, "none above it");
	for (uint64_t i = 0; i < 1000; i++)
		kept = kept && distribution.buckets[i].le == 3 * i &&
		       distribution.buckets[i].count == i + 1;
	ok(kept && distribution.n == 1001, "all of them are there, nothing else is");
	is_u64(distribution_count(&distribution), 500501, "each counts");
	distribution_clear(&distribution);
	ok(!distribution.n && !distribution.buckets, "cleared");
	distribution_clear(&distribution);
}

#define LIMITS 40

/* By limit; the last one is the largest number. */
struct truth {
	uint64_t count[LIMITS];
};

static uint64_t limit_at(size_t i)
{
	return i + 1 < LIMITS ? 100 * i : UINT64_MAX;
}

/* A distribution and the truth on it; sparse ones, full ones, with large counts or not. */
static void distribution_draw(struct distribution *distribution, struct truth *truth)
{
	uint64_t sparse = chance(6), large = chance(3);

	for (size_t i = 0; i < LIMITS; i++) {
		truth->count[i] = chance(5) < sparse ? 1 + chance(9) : 0;
		if (truth->count[i] && !chance(3))
			truth->count[i] <<= 20 * large;
		need(!distribution_append(distribution, limit_at(i), truth->count[i]));
	}
}

static bool is_truth(const struct distribution *distribution, const struct truth *truth)
{
	size_t n = 0;

	for (size_t i = 0; i < LIMITS; i++) {
		if (!truth->count[i])
			continue;
		if (n == distribution->n || distribution->buckets[n].le != limit_at(i) ||
		    distribution->buckets[n].count != truth->count[i])
			return false;
		n++;
	}
	return n == distribution->n;
}

TEST(merge)
{
	unsigned int wrong = 0, empty = 0;

	for (unsigned int round = 0; round < 2000; round++) {
		struct distribution sum = { 0 };
		struct truth all = { { 0 } };

		for (uint64_t times = chance(6); times; times--) {
			struct distribution one = { 0 };
			struct truth part;

			distribution_draw(&one, &part);
			for (size_t i = 0; i < LIMITS; i++)
				all.count[i] += part.count[i];
			wrong += distribution_merge(&sum, &one) != 0 || !is_truth(&one, &part);
			distribution_clear(&one);
		}
		wrong += !is_truth(&sum, &all);
		empty += !sum.n;
		distribution_clear(&sum);
	}
	is_u64(wrong, 0, "sums are those of the counts, what was added is unchanged");
	ok(empty, "empty ones among them");
}

TEST(merge_overflow)
{
	struct distribution a = { 0 }, b = { 0 };

	distribution_append(&a, 7, UINT64_MAX - 1);
	distribution_append(&a, 9, 1);
	distribution_append(&b, 7, 2);
	distribution_append(&b, UINT64_MAX, 3);
	is_i64(distribution_merge(&a, &b), 0, "large counts");
	ok(a.n == 3 && a.buckets[0].count == UINT64_MAX && a.buckets[1].count == 1 &&
		   a.buckets[2].le == UINT64_MAX && a.buckets[2].count == 3,
	   "a sum stops at the largest number");
	is_u64(distribution_count(&a), UINT64_MAX, "and so does that of all");
	is_u64(distribution_permille(&a, 500, 0, 100), 7, "which has shares");
	is_u64(distribution_permille(&a, 1000, 0, 100), 7, "that are told as far as can be");
	is_i64(distribution_merge(&b, &b), 0, "one with itself");
	ok(b.n == 2 && b.buckets[0].count == 4 && b.buckets[1].count == 6, "is twice as much");
	distribution_clear(&a);
	distribution_clear(&b);
}

#define VALUES 3000

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Sorts the values, and counts them by limit. */
static void distribution_of(struct distribution *distribution, uint64_t *values, size_t n)
{
	qsort(values, n, sizeof(*values), by_value);
	for (size_t i = 0, next; i < n; i = next) {
		uint64_t limit = limit_of(values[i], KD_HISTOGRAM_BITS);

		for (next = i; next < n && values[next] <= limit; next++)
			;
		need(!distribution_append(distribution, limit, next - i));
	}
}

/* Whether each share is that of the sorted values, but for what their buckets hide. */
static bool shares_right(const struct distribution *distribution, const uint64_t *values, size_t n)
{
	uint64_t min = values[0], max = values[n - 1];

	for (unsigned int permille = 1; permille <= 1000; permille++) {
		/* The least of the values that so many do not exceed. */
		size_t wanted = (n * permille + 999) / 1000;
		uint64_t limit = limit_of(values[wanted - 1], KD_HISTOGRAM_BITS), got;

		got = distribution_permille(distribution, permille, min, max);
		if (got == (limit < max ? limit : max))
			continue;
		printf("# %u/1000 of %zu: got %llu, want %llu\n", permille, n,
		       (unsigned long long)got, (unsigned long long)limit);
		return false;
	}
	return true;
}

TEST(shares)
{
	static uint64_t values[VALUES];
	unsigned int wrong = 0;

	for (unsigned int round = 0; round < 100; round++) {
		struct distribution distribution = { 0 };
		size_t n = 1 + chance(chance(2) ? VALUES : 12);
		uint64_t shift = chance(64);

		for (size_t i = 0; i < n; i++)
			values[i] = (chance(UINT64_MAX) >> shift) >> chance(12);
		distribution_of(&distribution, values, n);
		wrong += !shares_right(&distribution, values, n);
		wrong += distribution_count(&distribution) != n;
		distribution_clear(&distribution);
	}
	is_u64(wrong, 0, "shares are those of the sorted values");
}

/* Of durations whose shortest and longest is known better than by their buckets. */
TEST(clipping)
{
	struct distribution distribution = { 0 };

	is_u64(distribution_permille(&distribution, 500, 5, 9), 0, "of nothing: 0");
	distribution_append(&distribution, 103, 10);
	is_u64(distribution_permille(&distribution, 1, 0, 100), 100, "none exceeds the longest");
	is_u64(distribution_permille(&distribution, 1000, 0, 103), 103, "nor the limit");
	distribution_append(&distribution, UINT64_MAX, 10);
	is_u64(distribution_permille(&distribution, 500, 104, 1ULL << 50), 104,
	       "none is below the shortest");
	is_u64(distribution_permille(&distribution, 501, 104, 1ULL << 50), 1ULL << 50,
	       "the last bucket is as long as the longest");
	is_u64(distribution_permille(&distribution, 501, 0, UINT64_MAX), UINT64_MAX,
	       "however long that is");
	is_u64(distribution_permille(&distribution, 500, 9, 5), 5,
	       "a foreign file's are not longer than the longest");
	distribution_clear(&distribution);
}

TEST(large_counts)
{
	struct distribution distribution = { 0 };

	distribution_append(&distribution, 1, UINT64_MAX / 1000 * 999);
	distribution_append(&distribution, 2, UINT64_MAX / 1000);
	is_u64(distribution_permille(&distribution, 999, 0, 9), 1, "large counts do not overflow");
	is_u64(distribution_permille(&distribution, 1000, 0, 9), 2, "all of them");
	distribution_clear(&distribution);
}

static struct sample sample_of(uint64_t length)
{
	struct sample sample = { .start = 1000, .end = 1000 + length };

	sample.threads = calloc(1, sizeof(*sample.threads));
	return sample;
}

TEST(worst)
{
	static const uint64_t lengths[] = { 50, 10, 90, 70, 70, 20, 95, 60 };
	struct worst worst;
	bool sorted = true;

	ok(!worst_init(&worst, 3), "room for three");
	for (size_t i = 0; i < COUNT(lengths); i++) {
		struct sample sample = sample_of(lengths[i]);

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

/* A duration goes where the kernel side would have put it. */
TEST(add)
{
	struct distribution times = { 0 };
	unsigned int faults = 0;

	for (uint64_t ns = 0; ns < 1ULL << 42; ns += 1 + ns / 7) {
		struct distribution one = { 0 };
		uint64_t le, least;

		need(!distribution_add(&one, 4, 640, ns) && !distribution_add(&times, 4, 640, ns));
		le = one.buckets[0].le;
		least = ns < 32 ? ns : ns + ns / 16;
		faults += one.n != 1 || one.buckets[0].count != 1 || le < ns || le > least;
		distribution_clear(&one);
	}
	is_u64(faults, 0, "durations are in buckets of their own size");
	distribution_clear(&times);
	distribution_add(&times, 4, 640, UINT64_MAX);
	distribution_add(&times, 4, 640, 1ULL << 60);
	is_u64(times.buckets[0].le, UINT64_MAX, "the last one has no limit");
	is_u64(distribution_count(&times), 2, "and has all that is longer");
	distribution_clear(&times);
}

/* What is not over yet is among the others by its length so far. */
TEST(open)
{
	struct bucket buckets[] = { { 10, 5 }, { 100, 4 } };
	struct distribution ended = { buckets, 2 };
	struct durations all = { .ended = &ended, .open = 1, .open_max = 50, .max = 90 };

	is_u64(durations_count(&all), 10, "it counts");
	is_u64(durations_permille(&all, 500), 10, "half are shorter");
	is_u64(durations_permille(&all, 600), 50, "it has its bucket");
	is_u64(durations_permille(&all, 700), 90, "others are longer");
	all.open_max = all.max = 500;
	is_u64(durations_permille(&all, 900), 100, "it may be the longest");
	is_u64(durations_permille(&all, 999), 500, "of all");
	ended.n = 0;
	is_u64(durations_permille(&all, 1), 500, "or the only one");
}
