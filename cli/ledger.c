// SPDX-License-Identifier: Apache-2.0
#include "ledger.h"

#include <errno.h>
#include <string.h>

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint32_t state_now(const struct kd_thread *thread)
{
	return thread->state == KD_UNSEEN ? thread->seed_state : thread->state;
}

/* Moves up to ns from a running state, and the rest from the other one: the
 * state that an interrupt hit may not have been known yet. Returns what was
 * moved. */
static uint64_t take(uint64_t *from, uint64_t *other, uint64_t ns)
{
	uint64_t first = earlier(*from, ns), second = earlier(*other, ns - first);

	*from -= first;
	*other -= second;
	return first + second;
}

/* Time lost to one class of interrupts, with the one in progress at the end. */
static uint64_t overlay_take(uint64_t ns[KD_STATES_ROOM], const struct kd_overlay *overlay,
			     const struct kd_irq_frame *frame, uint64_t gen, uint64_t from,
			     uint64_t to)
{
	uint64_t in_user = 0, in_kernel = 0, taken;

	if (overlay->gen == gen) {
		in_user = overlay->in_user;
		in_kernel = overlay->in_kernel;
	}
	if (frame->since && frame->since < to) {
		uint64_t open = to - later(frame->since, from);

		in_user += open > frame->stolen ? open - frame->stolen : 0;
	}
	taken = take(&ns[KD_USER], &ns[KD_KERNEL], in_user);
	return taken + take(&ns[KD_KERNEL], &ns[KD_USER], in_kernel);
}

/* The kernel's count over the window: our running time less what both counts
 * differ by between the two readings around the window. */
static void ledger_exec(struct ledger *ledger, const struct kd_thread *thread)
{
	const struct kd_reading *open = &thread->readings[KD_AT_OPEN];
	const struct kd_reading *close = &thread->readings[KD_AT_CLOSE];
	int64_t exec;

	ledger->exec_known = close->at && (open->at || thread->born);
	if (!ledger->exec_known)
		return;
	exec = (int64_t)ledger_running(ledger) - (int64_t)(close->run_ns - open->run_ns) +
	       (int64_t)(close->exec_ns - open->exec_ns);
	ledger->exec = exec > 0 ? (uint64_t)exec : 0;
}

/* From the last event to the end of the window the thread was in its present
 * state; but if the kernel found it running after a switch that it did not
 * report, it has been running for as long as the kernel counted. */
static void tail_book(uint64_t ns[KD_STATES_ROOM], const struct kd_thread *thread, uint32_t state,
		      uint64_t upto, uint64_t to)
{
	const struct kd_reading *close = &thread->readings[KD_AT_CLOSE];
	uint64_t ran = 0, after = close->at - to;

	if (close->at > to && close->ran > after && state > KD_KERNEL)
		ran = earlier(close->ran - after, to - upto);
	ns[state] += to - upto - ran;
	ns[thread->call == KD_CALL_NONE ? KD_USER : KD_KERNEL] += ran;
}

int ledger_fill(struct ledger *ledger, const struct kd_thread *thread,
		const struct kd_record *record, const struct ledger_window *window)
{
	uint64_t from = later(window->start, thread->born);
	uint64_t to = thread->died ? earlier(window->end, thread->died) : window->end;
	uint64_t ns[KD_STATES_ROOM] = { 0 }, upto = from;
	uint32_t state = state_now(thread);
	int result = 1;

	memset(ledger, 0, sizeof(*ledger));
	if (from >= to || state >= KD_STATES)
		return 0;
	ledger->life = to - from;
	if (record->gen == window->gen) {
		memcpy(ns, record->ns, sizeof(ns));
		upto = later(record->upto, from);
		/* If a trigger set the edge late, a thread may have changed its state
		 * meanwhile without knowing of the window. */
		if (record->first > from && record->first < to && record->before != KD_UNSEEN &&
		    record->before < KD_STATES)
			ns[record->before] += record->first - from;
		/* A program that began before the edge may have booked beyond. */
		if (upto > to && record->last < KD_STATES_ROOM)
			ns[record->last] -= earlier(ns[record->last], upto - to);
	}
	if (upto < to) {
		tail_book(ns, thread, state, upto, to);
		if (thread->since > upto)
			result = -EAGAIN;
	}
	ledger->ns[LEDGER_HARDIRQ] = overlay_take(ns, &record->hardirq_ns, &thread->hardirq,
						  window->gen, from, to);
	ledger->ns[LEDGER_SOFTIRQ] = overlay_take(ns, &record->softirq_ns, &thread->softirq,
						  window->gen, from, to);
	ledger->ns[LEDGER_USER] = ns[KD_USER];
	ledger->ns[LEDGER_KERNEL] = ns[KD_KERNEL];
	ledger->ns[LEDGER_READY_WOKEN] = ns[KD_READY_WOKEN];
	ledger->ns[LEDGER_READY_PREEMPTED] = ns[KD_READY_PREEMPTED];
	ledger->ns[LEDGER_BLOCKED] = ns[KD_BLOCKED];
	ledger->ns[LEDGER_BLOCKED_UNINT] = ns[KD_BLOCKED_UNINT];
	ledger->ns[LEDGER_STOPPED] = ns[KD_STOPPED];
	if (window->has_readings)
		ledger_exec(ledger, thread);
	return result;
}

/* A call that had returned when the record was read. */
static size_t returned_call(struct open_call *call, const struct kd_open_call *open,
			    const struct ledger_window *window)
{
	if (open->call < 0)
		return 0;
	*call = (struct open_call){
		.number = open->call,
		.since = open->since,
		.until = open->until,
		.inside = earlier(open->until, window->end) - later(open->since, window->start),
		.at_start = (open->since < window->start),
		.at_end = (open->until > window->end),
	};
	return 1;
}

/* The call that was still open when the record was read. */
static size_t pending_call(struct open_call *call, const struct kd_thread *thread,
			   const struct ledger_window *window)
{
	bool restarts = thread->call < 0 && thread->restart_call >= 0;
	int32_t number = restarts ? thread->restart_call : thread->call;
	uint64_t since = restarts ? thread->restart_since : thread->call_since;

	if (thread->state == KD_UNSEEN) {
		number = thread->seed_call;
		since = 0;
	}
	if (thread->died || number < 0 || since >= window->end)
		return 0;
	*call = (struct open_call){
		.number = number,
		.since = since,
		.inside = window->end - later(since, window->start),
		.at_start = (since < window->start),
		.at_end = true,
	};
	return 1;
}

size_t ledger_open_calls(struct open_call calls[2], const struct kd_thread *thread,
			 const struct kd_record *record, const struct ledger_window *window)
{
	size_t n = 0;

	if (record->gen == window->gen) {
		n += returned_call(&calls[n], &record->open_start, window);
		n += returned_call(&calls[n], &record->open_end, window);
	}
	if (n < 2)
		n += pending_call(&calls[n], thread, window);
	return n;
}
