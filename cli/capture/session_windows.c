// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "session_windows.h"

#include <bpf/bpf.h>
#include <sched.h>

#include "../clock.h"
#include "kernel_delay.skel.h"

/* How far ahead an edge is announced, see bpf/window.bpf.h. */
#define EDGE_LEAD_NS (30 * NSEC_PER_USEC)

static uint64_t load(const uint64_t *place)
{
	return __atomic_load_n(place, __ATOMIC_SEQ_CST);
}

static void store(__u64 *place, uint64_t value)
{
	__atomic_store_n(place, value, __ATOMIC_SEQ_CST);
}

static uint64_t word_load(const struct windows *windows)
{
	return load((const uint64_t *)&windows->shared->kd_word);
}

/* The word, when no program is setting an edge. */
static uint64_t word_await(const struct windows *windows)
{
	uint64_t word = word_load(windows);

	while (word >> KD_WORD_SHIFT == KD_FAR) {
		clock_wait_until(clock_monotonic() + 10 * NSEC_PER_USEC);
		word = word_load(windows);
	}
	return word;
}

static uint32_t word_bank(uint64_t word)
{
	return word >> KD_WORD_BANK_SHIFT & KD_WORD_BANK_MASK;
}

/* Sets an edge if the last one is still the given one. */
static bool word_swap(struct windows *windows, uint64_t old, uint64_t word)
{
	__u32 token = 1;
	__u64 expected = old;
	bool swapped;

	while (windows->token >= 0 && bpf_map_lookup_and_delete_elem(windows->token, NULL, &token))
		sched_yield();
	swapped = __atomic_compare_exchange_n(&windows->shared->kd_word, &expected, word, false,
					      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	if (windows->token >= 0)
		bpf_map_update_elem(windows->token, NULL, &token, BPF_ANY);
	return swapped;
}

uint64_t windows_open(struct windows *windows)
{
	uint64_t word = word_await(windows), start, next, armed = windows->shared->kd_armed;
	uint32_t bank = windows->last;
	struct kd_window *window;

	do {
		bank = (bank + 1) % windows->banks;
	} while (windows->shared->kd_windows[bank].bank != KD_BANK_FREE && bank != windows->last);
	windows->last = bank;
	window = &windows->shared->kd_windows[bank];
	window->bank = KD_BANK_TAKEN;
	window->opened_by = window->closed_by = -1;
	store(&windows->shared->kd_armed, 0);
	do { /* again if this process was held up: programs may have missed the edge */
		store(&window->gen, 0);
		start = clock_monotonic() + EDGE_LEAD_NS - windows->epoch;
		next = start << KD_WORD_SHIFT | (uint64_t)bank << KD_WORD_BANK_SHIFT | KD_WORD_OPEN;
		window->start = start;
		window->end = KD_NEVER;
		store(&window->gen, next);
		if (!word_swap(windows, word, next)) { /* a stop that was under way */
			start = window->start = word >> KD_WORD_SHIFT;
			store(&window->gen, word);
			break;
		}
		word = next;
	} while (clock_monotonic() - windows->epoch >= start);
	clock_wait_until(start + windows->epoch);
	store(&windows->shared->kd_armed, armed);
	return start;
}

uint64_t windows_close(struct windows *windows)
{
	struct kd_window *window;
	uint64_t word, end;
	uint32_t bank;

	do {
		word = word_await(windows);
		if (!(word & KD_WORD_OPEN))
			return 0;
		bank = word_bank(word);
	} while (!word_swap(windows, word,
			    KD_FAR << KD_WORD_SHIFT | (uint64_t)bank << KD_WORD_BANK_SHIFT));
	window = &windows->shared->kd_windows[bank];
	end = clock_monotonic() + EDGE_LEAD_NS - windows->epoch;
	store(&window->end, end);
	window->closed_by = -1;
	store(&windows->shared->kd_word,
	      end << KD_WORD_SHIFT | (uint64_t)bank << KD_WORD_BANK_SHIFT);
	clock_wait_until(end + windows->epoch);
	if (bank == KD_NO_BANK)
		return 0;
	store(&window->bank, KD_BANK_CLOSED);
	return end;
}

uint32_t windows_current(const struct windows *windows, struct kd_window *window)
{
	uint64_t word = word_load(windows);
	uint32_t bank = word_bank(word);

	if (!(word & KD_WORD_OPEN) || bank >= windows->banks)
		return KD_NO_BANK;
	*window = (struct kd_window){
		.start = word >> KD_WORD_SHIFT,
		.end = KD_NEVER,
		.gen = word,
		.opened_by = windows->shared->kd_windows[bank].opened_by,
	};
	return bank;
}

uint32_t windows_closed(const struct windows *windows, struct kd_window *window)
{
	const struct kd_window *all = windows->shared->kd_windows;
	uint32_t oldest = KD_NO_BANK;

	for (uint32_t bank = 0; bank < windows->banks; bank++)
		if (load((const uint64_t *)&all[bank].bank) == KD_BANK_CLOSED &&
		    (oldest == KD_NO_BANK || all[bank].start < all[oldest].start))
			oldest = bank;
	if (oldest != KD_NO_BANK)
		*window = all[oldest];
	return oldest;
}

bool windows_have(const struct windows *windows, uint64_t gen)
{
	for (uint32_t bank = 0; bank < windows->banks; bank++)
		if (load((const uint64_t *)&windows->shared->kd_windows[bank].gen) == gen)
			return true;
	return false;
}

void windows_release(struct windows *windows, uint32_t bank)
{
	struct kd_window *window = &windows->shared->kd_windows[bank];

	store(&window->gen, 0);
	store(&window->bank, KD_BANK_FREE);
}
