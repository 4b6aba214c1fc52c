/* SPDX-License-Identifier: Apache-2.0 */
/* What is moved in the books of a thread to where it belongs: what entering and leaving the kernel
 * costs, and what only ticks tell. */
#include "cli/model/ledger.h"
#include "tap.h"

#define SECOND 1000000000ULL

/* A thread that was in user mode throughout. */
static struct thread_row in_user(void)
{
	struct thread_row row = { .tid = 1, .members = 1, .ledger.life = 1000 };

	row.ledger.ns[LEDGER_USER] = row.ledger.life;
	return row;
}

TEST(entries)
{
	struct call_row calls[] = { { .number = 1, .count = 3 }, { .number = 2, .count = 4 } };
	const struct entry_cost cost = { .call_ns = 10 };
	struct thread_row row = in_user();
	uint64_t life = row.ledger.life;

	thread_move_entries(&row, &cost);
	is_u64(row.ledger.ns[LEDGER_USER], life, "without calls nothing is moved");
	row.calls = calls, row.n_calls = 2;
	thread_move_entries(&row, &cost);
	ok(row.ledger.ns[LEDGER_USER] == life - 70 && row.ledger.ns[LEDGER_KERNEL] == 70,
	   "each call's entry is the kernel's");
	calls[1].count = UINT64_MAX;
	thread_move_entries(&row, &cost);
	ok(!row.ledger.ns[LEDGER_USER] && row.ledger.ns[LEDGER_KERNEL] == life,
	   "no more than there is");
	is_u64(ledger_sum(&row.ledger), life, "the sum stays");
}

/* A thousand in user mode, and as much in calls. */
static struct thread_row interrupted(struct irq_row *irqs, size_t n)
{
	struct thread_row row = in_user();

	row.ledger.life = 2100;
	row.ledger.ns[LEDGER_USER] = row.ledger.ns[LEDGER_KERNEL] = 1000;
	row.ledger.ns[LEDGER_HARDIRQ] = 100;
	row.ledger.irq_in[LEDGER_USER] = 75;
	row.ledger.irq_in[LEDGER_KERNEL] = 25;
	row.hardirqs = irqs, row.n_hardirqs = n;
	return row;
}

TEST(irq_entries)
{
	const struct entry_cost cost = { .irq_ns = 20 };
	struct irq_row irqs[] = { { .count = 3 }, { .count = 5 } };
	struct thread_row row = interrupted(irqs, 2);
	const uint64_t *ns = row.ledger.ns;

	thread_move_entries(&row, &cost);
	ok(ns[LEDGER_USER] == 880 && ns[LEDGER_KERNEL] == 960 && ns[LEDGER_HARDIRQ] == 260,
	   "each interrupt's entry is its own, out of what it hit");
	row = interrupted(irqs, 2);
	irqs[0].count = UINT64_MAX;
	thread_move_entries(&row, &cost);
	ok(!ns[LEDGER_USER] && ns[LEDGER_KERNEL] == 475 && ns[LEDGER_HARDIRQ] == 1625,
	   "no more than there is");
	is_u64(ledger_sum(&row.ledger), 2100, "the sum stays");
}

/* A second of running user, and the ticks that hit it. */
static struct thread_row ticked(uint64_t in_user, uint64_t in_kernel)
{
	struct thread_row row = { .tid = 1, .members = 1, .ledger.life = SECOND };

	row.ledger.ns[LEDGER_USER] = SECOND;
	row.ledger.ticks.user[0] = in_user, row.ledger.ticks.user[1] = in_kernel;
	row.ledger.ticks.all = in_user + in_kernel;
	return row;
}

static uint64_t moved(struct thread_row row, const struct entry_cost *cost)
{
	uint64_t life = ledger_sum(&row.ledger), kernel = row.ledger.ns[LEDGER_KERNEL];

	thread_move_entries(&row, cost);
	is_u64(ledger_sum(&row.ledger), life, "the sum stays");
	ok(row.ledger.ns[LEDGER_KERNEL] >= kernel + row.outside_calls, "is part of the kernel's");
	return row.outside_calls;
}

/* What ticks found in the kernel is the kernel's, as far as nothing else explains it. */
TEST(outside_calls)
{
	const struct entry_cost cost = { .call_ns = 100, .fault_mean_ns = 100 };
	struct call_row call = { .number = 1, .count = 1000000 };
	struct thread_row row = ticked(20, 80);

	is_u64(moved(row, &cost), SECOND / 100 * 80, "its share of the ticks");
	row.calls = &call, row.n_calls = 1;
	is_u64(moved(row, &cost), SECOND / 100 * 60, "but for twice what is estimated");
	row = ticked(70, 30), row.calls = &call, row.n_calls = 1;
	is_u64(moved(row, &cost), SECOND / 100 * 10, "a price that is too low is made up for");
	row = ticked(80, 20), row.ledger.untimed_faults = 10000000;
	row.ledger.ticks_user = row.ledger.ticks_system = SECOND / 2;
	thread_move_entries(&row, &cost);
	is_u64(row.ledger.ns[LEDGER_USER], SECOND / 2, "faults take what the sums of ticks leave");
	row = ticked(28, 12), row.calls = &call, row.n_calls = 1;
	is_u64(moved(row, &cost), 0, "but not by few ticks");
	is_u64(moved(ticked(98, 2), &cost), 0, "too few of them");
	is_u64(moved(ticked(0, 3), &cost), SECOND, "few, but all");
	is_u64(moved(ticked(100, 0), &cost), 0, "user mode stays");
	row = ticked(5, 0);
	row.ledger.ns[LEDGER_FAULT] = SECOND / 9, row.ledger.life += SECOND / 9;
	row.ledger.ticks.fault[1] = 90, row.ledger.ticks.all += 90;
	is_u64(moved(row, &cost), 0, "page faults are in the kernel");
	row.ledger.ticks.fault[0] = 5;
	is_u64(moved(row, &cost), SECOND / 9 * 10 * 9 / 10 - SECOND / 9,
	       "but not if there were some in user mode");
}

/* Where single ticks are not seen. */
TEST(ticks_summed)
{
	const struct entry_cost cost = { 0 };
	struct thread_row row = ticked(0, 0);
	struct ledger *ledger = &row.ledger;

	ledger->ticks_user = SECOND / 20, ledger->ticks_system = SECOND - SECOND / 20;
	is_u64(moved(row, &cost), SECOND / 20 * 19, "as utime and stime have it");
	ledger->ns[LEDGER_KERNEL] = 19 * SECOND, ledger->life = 20 * SECOND;
	is_u64(moved(row, &cost), 0, "not of a thread that runs in step with ticks");
	ledger->ns[LEDGER_KERNEL] = SECOND, ledger->life = 2 * SECOND;
	ledger->ticks_user = SECOND, ledger->ticks_system = SECOND / 10 * 11;
	is_u64(moved(row, &cost), 0, "nor what may be chance");
	row = ticked(60, 0);
	row.ledger.ticks_user = SECOND / 20, row.ledger.ticks_system = SECOND - SECOND / 20;
	is_u64(moved(row, &cost), 0, "single ticks say more than sums");
}

/* A guest's time is in utime, and in the ledger it is the call's that runs it. */
TEST(guest)
{
	const struct entry_cost cost = { 0 };
	struct thread_row row = ticked(60, 0);
	struct ledger *ledger = &row.ledger;

	ledger->ns[LEDGER_USER] = SECOND / 10, ledger->ns[LEDGER_KERNEL] = SECOND / 10 * 9;
	ledger->ticks_user = SECOND / 10 * 9, ledger->ticks_system = SECOND / 10;
	ledger->ticks_guest = SECOND / 10 * 8;
	thread_move_entries(&row, &cost);
	is_u64(row.outside_calls, 0, "none of it is outside of calls");
	is_u64(ledger->ns[LEDGER_GUEST], SECOND / 10 * 8, "its share of the ticks");
	is_u64(ledger->ns[LEDGER_KERNEL], SECOND / 10, "the rest stays the kernel's");
	is_u64(ledger->ns[LEDGER_USER], SECOND / 10, "and none of it was user mode");
	ledger->ns[LEDGER_KERNEL] = SECOND / 10, ledger->ns[LEDGER_GUEST] = 0;
	thread_move_entries(&row, &cost);
	is_u64(ledger->ns[LEDGER_GUEST], SECOND / 10, "no more than the calls took");
	ledger->ns[LEDGER_KERNEL] = SECOND / 10, ledger->ns[LEDGER_GUEST] = 0;
	ledger->ticks_user = ledger->ticks_system = 0;
	thread_move_entries(&row, &cost);
	is_u64(ledger->ns[LEDGER_GUEST], 0, "nothing where its tick alone was seen");
	row = ticked(0, 0);
	ledger->ns[LEDGER_USER] = SECOND / 10, ledger->ns[LEDGER_KERNEL] = SECOND / 10 * 9;
	ledger->ticks_user = SECOND, ledger->ticks_guest = SECOND / 10 * 9;
	thread_move_entries(&row, &cost);
	is_u64(row.outside_calls, 0, "nor is it where only sums of ticks are known");
}

/* What is estimated leaves as much in user mode as the kernel's ticks have there. */
TEST(ticks)
{
	struct call_row call = { .number = 1, .count = 1000000 };
	struct thread_row row = ticked(5, 95);
	struct ledger *ledger = &row.ledger;

	ledger->signals = 1000;
	thread_move_entries(&row, &(struct entry_cost){ .signal_ns = 900000 });
	is_u64(ledger->ns[LEDGER_KERNEL], SECOND / 10 * 9, "a signal's price is the kernel's");
	row = ticked(5, 95);
	ledger->untimed_faults = 1000;
	thread_move_entries(&row, &(struct entry_cost){ .fault_mean_ns = 990000 });
	is_u64(ledger->ns[LEDGER_FAULT], SECOND / 20 * 19, "no more than the ticks leave");
	row = ticked(2, 38);
	ledger->untimed_faults = 1000;
	thread_move_entries(&row, &(struct entry_cost){ .fault_mean_ns = 990000 });
	is_u64(ledger->ns[LEDGER_FAULT], SECOND / 100 * 99, "too few say nothing of it");
	row = ticked(5, 95), row.calls = &call, row.n_calls = 1;
	thread_move_entries(&row, &(struct entry_cost){ .call_ns = 990 });
	is_u64(ledger->ns[LEDGER_USER], SECOND / 100,
	       "a call's price may leave less than the ticks");
	row = ticked(5, 95), row.calls = &call, row.n_calls = 1;
	thread_move_entries(&row, &(struct entry_cost){ .call_ns = 1000 });
	is_u64(ledger->ns[LEDGER_USER], SECOND / 20, "a price that would is too high");
}

TEST(fault_entries)
{
	const struct entry_cost cost = { .fault_ns = 30 };
	struct thread_row row = in_user();
	const uint64_t *ns = row.ledger.ns;

	row.ledger.life = 2000;
	row.ledger.ns[LEDGER_USER] = row.ledger.ns[LEDGER_FAULT] = 1000;
	row.ledger.timed_faults = 4;
	thread_move_entries(&row, &cost);
	ok(ns[LEDGER_USER] == 880 && ns[LEDGER_FAULT] == 1120,
	   "each page fault's entry is its own");
	row.ledger.untimed_faults = 2;
	thread_move_entries(&row, &(struct entry_cost){ 0 });
	ok(ns[LEDGER_USER] == 320 && ns[LEDGER_FAULT] == 1680,
	   "those that were not timed take as long as the others");
	row.ledger.ns[LEDGER_USER] = 1000, row.ledger.ns[LEDGER_FAULT] = 1000;
	thread_move_entries(&row, &(struct entry_cost){ .fault_timing_ns = 100 });
	ok(ns[LEDGER_USER] == 700 && ns[LEDGER_FAULT] == 1300, "but for what timing costs");
	row.ledger.untimed_faults = UINT64_MAX;
	thread_move_entries(&row, &cost);
	ok(!ns[LEDGER_USER] && ns[LEDGER_FAULT] == 2000, "no more than there is");
}
