/* SPDX-License-Identifier: Apache-2.0 */
/* What entering and leaving the kernel costs is moved to where it belongs. */
#include "cli/model/entries.h"
#include "tap.h"

/* A thread that was in user mode throughout. */
static struct thread_row in_user(void)
{
	struct thread_row row = { .tid = 1, .members = 1, .ledger.life = 1000 };

	row.ledger.ns[LEDGER_USER] = row.ledger.life;
	return row;
}

static void test_entries(void)
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

static void test_irq_entries(void)
{
	const struct entry_cost cost = { .irq_ns = 20 };
	struct irq_row irqs[] = { { .count = 3 }, { .count = 5 } };
	struct thread_row row = interrupted(irqs, 2);
	const uint64_t *ns = row.ledger.ns;

	thread_move_entries(&row, &cost);
	ok(ns[LEDGER_USER] == 880 && ns[LEDGER_KERNEL] == 960 && ns[LEDGER_HARDIRQ] == 260,
	   "each interrupt's entry is its own, out of what it hit");
	irqs[1].sent = true;
	row = interrupted(irqs, 2);
	thread_move_entries(&row, &(struct entry_cost){ .irq_ns = 20, .ipi_ns = 4 });
	ok(ns[LEDGER_USER] == 940 && ns[LEDGER_KERNEL] == 980 && ns[LEDGER_HARDIRQ] == 180,
	   "of one that another CPU sends what that takes");
	row = interrupted(irqs, 2);
	thread_move_entries(&row, &cost);
	ok(ns[LEDGER_USER] == 880 && ns[LEDGER_KERNEL] == 960, "if that is not known, the others'");
	row = interrupted(irqs, 2);
	irqs[0].count = UINT64_MAX;
	thread_move_entries(&row, &cost);
	ok(!ns[LEDGER_USER] && ns[LEDGER_KERNEL] == 475 && ns[LEDGER_HARDIRQ] == 1625,
	   "no more than there is");
	is_u64(ledger_sum(&row.ledger), 2100, "the sum stays");
}

static void test_fault_entries(void)
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

int main(void)
{
	test_entries();
	test_irq_entries();
	test_fault_entries();
	return done_testing();
}
