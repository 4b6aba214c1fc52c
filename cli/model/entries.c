// SPDX-License-Identifier: Apache-2.0
#include "entries.h"

#include "cli/base/arith.h"
#include "ledger.h"

static void move(uint64_t *from, uint64_t *to, uint64_t ns)
{
	ns = u64_min(ns, *from);
	*from -= ns;
	*to += ns;
}

uint64_t irq_entry(const struct entry_cost *cost, bool sent)
{
	return sent && cost->ipi_ns ? cost->ipi_ns : cost->irq_ns;
}

void thread_move_entries(struct thread_row *thread, const struct entry_cost *cost)
{
	struct ledger *ledger = &thread->ledger;
	uint64_t *ns = ledger->ns, calls = 0, irqs = 0, seen = ns[LEDGER_HARDIRQ];
	uint64_t timed = ledger->timed_faults, faults, mean, user, rest;

	for (size_t i = 0; i < thread->n_hardirqs; i++)
		irqs = u64_add(irqs, u64_times(thread->hardirqs[i].count,
					       irq_entry(cost, thread->hardirqs[i].sent)));
	for (size_t i = 0; i < thread->n_calls; i++)
		calls = u64_add(calls, thread->calls[i].count);
	irqs = u64_min(irqs, ledger->life);
	rest = irqs;
	/* In one proportion with what the tracepoints have seen. */
	for (unsigned int i = 0; i < KD_RUNNING; i++) {
		double hit = (double)ledger->irq_in[i];
		uint64_t part = seen ? (uint64_t)((double)irqs * hit / (double)seen) : 0;

		if (LEDGER_USER + i == LEDGER_KERNEL)
			continue;
		part = u64_min(part, rest);
		move(&ns[LEDGER_USER + i], &ns[LEDGER_HARDIRQ], part);
		rest -= part;
	}
	move(&ns[LEDGER_KERNEL], &ns[LEDGER_HARDIRQ], rest);
	move(&ns[LEDGER_USER], &ns[LEDGER_KERNEL], u64_times(calls, cost->call_ns));
	faults = u64_times(timed, cost->fault_ns);
	mean = timed ? (ns[LEDGER_FAULT] + faults) / timed : cost->fault_mean_ns;
	faults = u64_add(faults,
			 u64_times(ledger->untimed_faults, u64_sub(mean, cost->fault_timing_ns)));
	/* What is dear there may be the hypervisor's work, which comes in user mode. */
	user = ledger_ticks_user(ledger);
	faults = u64_min(faults, u64_sub(ns[LEDGER_USER], user));
	move(&ns[LEDGER_USER], &ns[LEDGER_FAULT], faults);
	move(&ns[LEDGER_USER], &ns[LEDGER_KERNEL],
	     u64_min(u64_times(ledger->signals, cost->signal_ns), u64_sub(ns[LEDGER_USER], user)));
}
