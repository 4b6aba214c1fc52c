/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Distributions of durations, if requested (--histogram). */
#ifndef HISTOGRAM_BPF_H
#define HISTOGRAM_BPF_H

#include "maps.bpf.h"

/* Logarithms of bytes. Binary search would mispredict on varying durations. */
#define TWO(n) n, n
#define FOUR(n) TWO(n), TWO(n)
#define EIGHT(n) FOUR(n), FOUR(n)
#define SIXTEEN(n) EIGHT(n), EIGHT(n)
#define SIXTY_FOUR(n) SIXTEEN(n), SIXTEEN(n), SIXTEEN(n), SIXTEEN(n)
const volatile __u8 kd_log2[256] = {
	0,          0,          TWO(1),        FOUR(2),       EIGHT(3),      SIXTEEN(4),
	SIXTEEN(5), SIXTEEN(5), SIXTY_FOUR(6), SIXTY_FOUR(7), SIXTY_FOUR(7),
};

/* Bucket of a duration in a log-linear histogram, see KD_WINDOW_BITS. */
static __always_inline u64 duration_bucket(u64 ns, u32 bits)
{
	u64 rest = ns, log = 0;

	if (unlikely(ns < 1U << bits))
		return ns;
	for (u32 step = 32; step >= 8; step /= 2) {
		if (rest >> step) {
			rest >>= step;
			log += step;
		}
	}
	log += kd_log2[BOUNDED(rest, 256)];
	log -= bits;
	return (log << bits) + (ns >> log);
}

/* Bucket in a kind of a thread, within bounds that the verifier can see. */
static __always_inline u64 histogram_bucket(u64 ns)
{
	u64 bucket = duration_bucket(ns, KD_HISTOGRAM_BITS);

	barrier_var(bucket);
	return likely(bucket < KD_HISTOGRAM_BUCKETS) ? bucket : KD_HISTOGRAM_BUCKETS - 1;
}

/* Handles a thread's first duration of a kind. If it cannot decide, the next one tries again. */
__noinline int histogram_take(u32 slot, u32 kind)
{
	struct kd_histogram_set *set = bpf_map_lookup_elem(&kd_histogram_sets, &slot);
	u32 index = KD_HISTOGRAM_NONE;
	long error;

	if (!set)
		return 0;
	error = queue_take(&kd_free_histograms, &index);
	if (!error || error == -ENOENT)
		set->of[BOUNDED(kind, KD_HISTOGRAMS)] = error ? KD_HISTOGRAM_REFUSED : index;
	return 0;
}

/* Resets a histogram at its first use in a window. */
__noinline int histogram_reset(u32 index, u64 gen)
{
	struct kd_histogram *histogram = bpf_map_lookup_elem(&kd_histograms, &index);

	if (!histogram)
		return 0;
	for (u32 i = 0; i < KD_HISTOGRAM_BUCKETS; i++)
		WRITE_ONCE(histogram->count[i], 0);
	histogram->gen = gen;
	return 0;
}

/* Result of counting in a record: a kind (see struct kd_histogram_set), or no histogram; and
 * whether it was the first in the window, which saves a check. */
enum counted {
	COUNTED_NO_DURATION = KD_HISTOGRAMS,
	COUNTED_FIRST = 2 * KD_HISTOGRAMS,
};

/* Adds the duration in the window with word gen. Only called on the CPU that runs the thread, or
 * is about to. Inline: a call would take as long as all this. */
static __always_inline void histogram_add(u32 slot, u32 counted, u64 gen, u64 ns)
{
	u32 kind = BOUNDED(counted, KD_HISTOGRAMS), index;
	struct kd_histogram *histogram;
	struct kd_histogram_set *set;
	u64 bucket;

	if (!kd_histograms_max || counted & COUNTED_NO_DURATION)
		return;
	set = bpf_map_lookup_elem(&kd_histogram_sets, &slot);
	if (!set)
		return;
	index = set->of[kind];
	if (unlikely(index == KD_HISTOGRAM_NONE)) {
		histogram_take(slot, kind);
		index = set->of[kind] ?: KD_HISTOGRAM_REFUSED;
		counted |= COUNTED_FIRST; /* first in it, whatever was lost before */
	}
	if (unlikely(index == KD_HISTOGRAM_REFUSED)) {
		loss_count(KD_LOSS_DURATIONS);
		return;
	}
	index += kd_word_bank(gen) * kd_histograms_max;
	if (unlikely(counted & COUNTED_FIRST))
		histogram_reset(index, gen);
	histogram = bpf_map_lookup_elem(&kd_histograms, &index);
	if (!histogram)
		return;
	bucket = histogram_bucket(ns);
	if (unlikely(histogram->count[bucket] == ~0U))
		loss_count(KD_LOSS_DURATIONS);
	else
		histogram->count[bucket]++;
}

#endif
