// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "windows.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "parts.h"
#include "kernel_delay.skel.h"

/* Lead time of an edge, see bpf/window.bpf.h. */
#define EDGE_LEAD_NS (30 * NSEC_PER_USEC)

static uint64_t load(const uint64_t *at)
{
	return __atomic_load_n(at, __ATOMIC_SEQ_CST);
}

static void store(__u64 *at, uint64_t value)
{
	__atomic_store_n(at, value, __ATOMIC_SEQ_CST);
}

static uint64_t word_load(const struct windows *windows)
{
	return load((const uint64_t *)&windows->shared->kd_word);
}

/* Lets a program go on, which may need this CPU: it may have been preempted by this process, whose
 * priority may be above that of its thread. */
static void program_await(void)
{
	clock_wait_until(clock_monotonic() + 10 * NSEC_PER_USEC);
}

/* Returns the word once no program is setting an edge. */
static uint64_t word_await(const struct windows *windows)
{
	uint64_t word = word_load(windows);

	while (word >> KD_WORD_SHIFT == KD_FAR) {
		program_await();
		word = word_load(windows);
	}
	return word;
}

/* Swaps a word that programs set too, if it has the old value. */
static bool u64_swap(struct windows *windows, __u64 *at, uint64_t old, uint64_t next)
{
	__u32 token = 1;
	__u64 expected = old;
	bool swapped;

	while (windows->token >= 0 && bpf_map_lookup_and_delete_elem(windows->token, NULL, &token))
		program_await();
	swapped = __atomic_compare_exchange_n(at, &expected, next, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_SEQ_CST);
	if (windows->token >= 0)
		bpf_map_update_elem(windows->token, NULL, &token, BPF_ANY);
	return swapped;
}

/* Returns an edge that programs learn of before it comes, no earlier than that time. */
static uint64_t edge_ahead(const struct windows *windows, uint64_t at)
{
	return u64_max(clock_monotonic() + EDGE_LEAD_NS - windows->epoch, at);
}

/* Returns such an edge just before it is published. Tries again if this process was delayed: events
 * beyond the edge would not see it. */
static uint64_t edge_now(const struct windows *windows, uint64_t at)
{
	uint64_t edge;

	do
		edge = edge_ahead(windows, at);
	while (clock_monotonic() - windows->epoch >= edge - EDGE_LEAD_NS / 2);
	return edge;
}

/* Takes a free bank for a window opened by user space. */
static uint32_t bank_take(struct windows *windows)
{
	uint32_t bank = windows->last;
	struct kd_window *window;

	do {
		bank = (bank + 1) % windows->banks;
	} while (windows->shared->kd_windows[bank].bank != KD_BANK_FREE && bank != windows->last);
	windows->last = bank;
	window = &windows->shared->kd_windows[bank];
	window->bank = KD_BANK_TAKEN;
	window->opened_by = window->closed_by = KD_BY_CLOCK;
	store(&window->traces_lost, 0);
	return bank;
}

/* Opens a window in a free bank; one must be free and no window open. Times are relative to the
 * epoch. */
static uint64_t windows_open(struct windows *windows, uint64_t at)
{
	uint64_t word = word_await(windows), start, next, armed = windows->shared->kd_armed;
	uint32_t bank = bank_take(windows);
	struct kd_window *window = &windows->shared->kd_windows[bank];

	store(&windows->shared->kd_armed, 0);
	do { /* again if this process was delayed: programs may have missed the edge */
		store(&window->gen, 0);
		start = edge_ahead(windows, at);
		next = kd_word_compose(start, bank, KD_WORD_OPEN);
		window->start = start;
		window->end = KD_NEVER;
		store(&window->gen, next);
		if (!u64_swap(windows, &windows->shared->kd_word, word,
			      next)) { /* a stop was in progress */
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

/* Returns the bank with the oldest window in this state; KD_NO_BANK: none. */
static uint32_t bank_oldest(const struct windows *windows, uint64_t state)
{
	const struct kd_window *all = windows->shared->kd_windows;
	uint32_t oldest = KD_NO_BANK;

	for (uint32_t bank = 0; bank < windows->banks; bank++)
		if (load((const uint64_t *)&all[bank].bank) == state && all[bank].gen &&
		    (oldest == KD_NO_BANK || all[bank].start < all[oldest].start))
			oldest = bank;
	return oldest;
}

/* Takes the bank of the oldest open window, unless its thread is ending it. KD_NO_BANK: none. */
static uint32_t pairs_take(struct windows *windows)
{
	uint32_t bank;

	do
		bank = bank_oldest(windows, KD_BANK_TAKEN);
	while (bank != KD_NO_BANK && !u64_swap(windows, &windows->shared->kd_windows[bank].bank,
					       KD_BANK_TAKEN, KD_BANK_CLOSING));
	return bank;
}

/* Takes the word of the open window, and sets its bank. A held window does not count. */
static bool word_take(struct windows *windows, uint32_t *bank)
{
	uint64_t word;

	if (windows->held != KD_NO_BANK)
		return false;
	do {
		word = word_await(windows);
		if (!(word & KD_WORD_OPEN))
			return false;
		*bank = kd_word_bank(word);
	} while (!u64_swap(windows, &windows->shared->kd_word, word,
			   kd_word_compose(KD_FAR, *bank, 0)));
	return true;
}

/* Ends a taken window. */
static uint64_t window_end(struct windows *windows, uint32_t bank, int32_t by)
{
	struct kd_window *window = &windows->shared->kd_windows[bank];
	uint64_t end;

	window->closed_by = by;
	end = edge_now(windows, 0);
	store(&window->end, end);
	if (!windows->pairs)
		store(&windows->shared->kd_word, kd_word_compose(end, bank, 0));
	clock_wait_until(end + windows->epoch);
	if (bank == KD_NO_BANK)
		return 0;
	store(&window->bank, KD_BANK_CLOSED);
	return end;
}

static uint64_t windows_close(struct windows *windows)
{
	uint32_t bank = windows->pairs ? pairs_take(windows) : KD_NO_BANK;

	if (windows->pairs ? bank == KD_NO_BANK : !word_take(windows, &bank))
		return 0;
	return window_end(windows, bank, KD_BY_CLOCK);
}

/* Opens a window while all events look at the banks, and triggers may take them. */
static uint32_t window_add(struct windows *windows)
{
	struct kd_window *all = windows->shared->kd_windows;
	uint64_t start;
	uint32_t bank = 0;

	while (bank < windows->banks &&
	       !u64_swap(windows, &all[bank].bank, KD_BANK_FREE, KD_BANK_CLOSING))
		bank++;
	if (bank == windows->banks)
		return KD_NO_BANK;
	store(&all[bank].traces_lost, 0);
	all[bank].opened_by = KD_BY_SIGNAL;
	all[bank].end = KD_NEVER;
	do { /* again if this process was delayed: programs may have missed the edge */
		start = edge_ahead(windows, 0);
		all[bank].start = start;
		store(&all[bank].gen, kd_word_compose(start, bank, KD_WORD_OPEN));
	} while (clock_monotonic() - windows->epoch >= start);
	clock_wait_until(start + windows->epoch);
	return bank;
}

/* Takes the word, which without pairs belongs to whoever sets an edge. Gives it back if it is open
 * for a window without a bank, which stays with its trigger. Returns the bank, or KD_NO_BANK. */
static uint32_t word_hold(struct windows *windows)
{
	uint64_t word;
	uint32_t bank;

	do
		word = word_await(windows);
	while (!u64_swap(windows, &windows->shared->kd_word, word,
			 kd_word_compose(KD_FAR, kd_word_bank(word), 0)));
	bank = word & KD_WORD_OPEN ? kd_word_bank(word) : window_add(windows);
	if (bank == KD_NO_BANK)
		store(&windows->shared->kd_word, word);
	return bank;
}

static uint64_t windows_turn(struct windows *windows, uint64_t at)
{
	struct kd_window *window, *next;
	uint64_t edge, word;
	uint32_t bank, next_bank;

	if (!word_take(windows, &bank))
		return 0;
	next_bank = bank_take(windows);
	window = &windows->shared->kd_windows[bank];
	next = &windows->shared->kd_windows[next_bank];
	next->end = KD_NEVER;
	next->start = edge = edge_now(windows, at);
	word = kd_word_compose(edge, next_bank, KD_WORD_OPEN);
	/* In this order: events in between, beyond the edge, are accounted in both windows, not
	 * in none, and taken from the first again (see ledger_fill()). */
	store(&next->gen, word);
	store(&window->end, edge);
	store(&windows->shared->kd_word, word);
	clock_wait_until(edge + windows->epoch);
	store(&window->bank, KD_BANK_CLOSED);
	return edge;
}

bool windows_are_busy(const struct windows *windows)
{
	uint64_t word = word_load(windows);

	if (!windows->pairs && (word & KD_WORD_OPEN || word >> KD_WORD_SHIFT == KD_FAR))
		return true;
	for (uint32_t bank = 0; bank < windows->banks; bank++)
		if (load((const uint64_t *)&windows->shared->kd_windows[bank].bank) ==
		    KD_BANK_CLOSING)
			return true;
	return false;
}

bool windows_have(const struct windows *windows, uint64_t gen)
{
	for (uint32_t bank = 0; bank < windows->banks; bank++)
		if (load((const uint64_t *)&windows->shared->kd_windows[bank].gen) == gen)
			return true;
	return false;
}

uint64_t windows_traces_lost(const struct windows *windows, uint32_t bank)
{
	return load((const uint64_t *)&windows->shared->kd_windows[bank].traces_lost);
}

void windows_trace_lost(struct windows *windows, uint32_t bank)
{
	__atomic_fetch_add(&windows->shared->kd_windows[bank].traces_lost, 1, __ATOMIC_RELAXED);
}

void windows_release(struct windows *windows, uint32_t bank)
{
	struct kd_window *window = &windows->shared->kd_windows[bank];

	store(&window->gen, 0);
	store(&window->bank, KD_BANK_FREE);
}

void windows_arm(struct windows *windows, uint64_t count)
{
	if (windows->pairs)
		store(&windows->shared->kd_word, KD_WORD_PAIRS);
	store(&windows->shared->kd_wanted, count);
	store(&windows->shared->kd_armed, 1);
}

void windows_disarm(struct windows *windows)
{
	store(&windows->shared->kd_armed, 0);
}

uint64_t windows_wanted(const struct windows *windows)
{
	return load((const uint64_t *)&windows->shared->kd_wanted);
}

void windows_want_another(struct windows *windows)
{
	__atomic_fetch_add(&windows->shared->kd_wanted, 1, __ATOMIC_SEQ_CST);
}

void windows_pause(struct windows *windows, uint64_t until)
{
	store(&windows->shared->kd_not_before, until - windows->epoch);
}

/* --- Windows with their records --- */

uint64_t session_window_open(struct session *session, uint64_t at)
{
	parts_open(session);
	return windows_open(&session->windows, u64_sub(at, session->epoch)) + session->epoch;
}

uint64_t session_window_close(struct session *session)
{
	uint64_t end = windows_close(&session->windows);

	session->skel->bss->kd_visit_end = end;
	return end ? end + session->epoch : 0;
}

uint64_t session_window_turn(struct session *session, uint64_t at)
{
	uint64_t edge;

	parts_open(session);
	edge = windows_turn(&session->windows, u64_sub(at, session->epoch));
	session->skel->bss->kd_visit_end = edge;
	return edge ? edge + session->epoch : 0;
}

/* window: in the bank; NULL: none. */
static struct session_view view_of(const struct session *session, uint32_t bank,
				   const struct kd_window *window)
{
	struct session_view view = {
		.threads = session->threads,
		.records = session->records,
		.slots = session->slots,
		.bank = bank,
		.epoch = session->epoch,
		.fault_gen = __atomic_load_n(&session->skel->data_word->kd_fault_gen,
					     __ATOMIC_RELAXED),
	};

	if (!window)
		return view;
	view.records += (size_t)bank * session->slots;
	view.start = window->start;
	view.end = window->end;
	view.gen = window->gen;
	view.opened_by = window->opened_by;
	view.closed_by = window->closed_by;
	return view;
}

struct session_view session_window_now(const struct session *session)
{
	const struct windows *windows = &session->windows;
	uint64_t word = word_load(windows);
	uint32_t bank = kd_word_bank(word);
	struct session_view view;

	if (windows->pairs) {
		bank = bank_oldest(windows, KD_BANK_TAKEN);
		return session_window_at(session, bank, &view) ? view
							       : view_of(session, KD_NO_BANK, NULL);
	}
	if (!(word & KD_WORD_OPEN) || bank >= windows->banks)
		return view_of(session, KD_NO_BANK, NULL);
	return view_of(session, bank,
		       &(struct kd_window){
			       .start = word >> KD_WORD_SHIFT,
			       .end = KD_NEVER,
			       .gen = word,
			       .opened_by = windows->shared->kd_windows[bank].opened_by,
		       });
}

bool session_window_at(const struct session *session, uint32_t bank, struct session_view *view)
{
	const struct kd_window *windows = session->windows.shared->kd_windows;

	if (bank >= session->banks || load((const uint64_t *)&windows[bank].bank) == KD_BANK_FREE)
		return false;
	*view = view_of(session, bank, &windows[bank]);
	return true;
}

uint64_t session_windows_since(const struct session *session, uint64_t least)
{
	struct session_view view;

	for (uint32_t bank = 0; bank < session->banks; bank++)
		if (session_window_at(session, bank, &view) && view.gen)
			least = u64_min(least, view.start + view.epoch);
	return least;
}

bool session_window_hold(struct session *session, struct session_view *view)
{
	struct windows *windows = &session->windows;
	uint32_t bank = windows->pairs ? pairs_take(windows) : word_hold(windows);

	if (windows->pairs && bank == KD_NO_BANK)
		bank = window_add(windows);
	windows->held = bank;
	parts_look(session);
	return bank != KD_NO_BANK && session_window_at(session, bank, view);
}

void session_window_let_go(struct session *session)
{
	window_end(&session->windows, session->windows.held, KD_BY_SIGNAL);
	session->windows.held = KD_NO_BANK;
	parts_look(session);
}

bool session_window_next(const struct session *session, struct session_view *view)
{
	return session_window_at(session, bank_oldest(&session->windows, KD_BANK_CLOSED), view);
}

bool session_window_take(struct session *session, uint64_t until, struct session_view *view)
{
	struct windows *windows = &session->windows;
	struct kd_window *all = windows->shared->kd_windows;
	uint32_t bank;

	do {
		bank = bank_oldest(windows, KD_BANK_CLOSED);
		if (bank == KD_NO_BANK || all[bank].start > until)
			return false;
	} while (!u64_swap(windows, &all[bank].bank, KD_BANK_CLOSED, KD_BANK_READ));
	return session_window_at(session, bank, view);
}
