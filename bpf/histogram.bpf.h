/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* How durations are distributed, if that is asked for (--histogram). */
#ifndef HISTOGRAM_BPF_H
#define HISTOGRAM_BPF_H

#include "maps.bpf.h"

/* The place of a duration in a log-linear histogram, see KD_WINDOW_BITS. */
static __always_inline u32 duration_place(u64 ns, u32 bits)
{
	u32 log = 0, shift;
	u64 rest = ns;

	if (ns < 1U << bits)
		return ns;
	for (u32 step = 32; step; step /= 2) {
		if (rest >> step) {
			rest >>= step;
			log += step;
		}
	}
	shift = log - bits;
	return (shift << bits) + (u32)(ns >> shift);
}

/* A thread's first duration of a kind. */
static __noinline u32 histogram_take(struct kd_histogram_set *set, u32 kind)
{
	u32 index;

	if (bpf_map_pop_elem(&kd_free_histograms, &index))
		index = KD_HISTOGRAM_REFUSED;
	set->of[BOUNDED(kind, KD_HISTOGRAMS)] = index;
	return index;
}

static __noinline void histogram_reset(struct kd_histogram *histogram, u64 gen)
{
	for (u32 i = 0; i < KD_HISTOGRAM_PLACES; i++)
		WRITE_ONCE(histogram->count[i], 0);
	histogram->gen = gen;
}

/* Counts a duration of the window whose word is gen. Only the CPU that runs the thread,
 * or is about to, comes here for it. */
__noinline int histogram_add(u32 slot, u32 kind, u64 gen, u64 ns)
{
	struct kd_histogram_set *set = bpf_map_lookup_elem(&kd_histogram_sets, &slot);
	struct kd_histogram *histogram;
	u64 place; /* 64 bits: what the verifier checks is what is used */
	u32 index;

	if (!set)
		return 0;
	index = set->of[BOUNDED(kind, KD_HISTOGRAMS)];
	if (unlikely(index == KD_HISTOGRAM_NONE))
		index = histogram_take(set, kind);
	if (unlikely(index == KD_HISTOGRAM_REFUSED)) {
		loss_count(KD_LOSS_DURATIONS);
		return 0;
	}
	index += (gen >> KD_WORD_BANK_SHIFT & KD_WORD_BANK_MASK) * kd_histogram_room;
	histogram = bpf_map_lookup_elem(&kd_histograms, &index);
	if (!histogram)
		return 0;
	if (unlikely(histogram->gen != gen))
		histogram_reset(histogram, gen);
	place = duration_place(ns, KD_HISTOGRAM_BITS);
	barrier_var(place);
	if (place >= KD_HISTOGRAM_PLACES)
		place = KD_HISTOGRAM_PLACES - 1;
	if (unlikely(histogram->count[place] == ~0U))
		loss_count(KD_LOSS_DURATIONS);
	else
		histogram->count[place]++;
	return 0;
}

#endif
