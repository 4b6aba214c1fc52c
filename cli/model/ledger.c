// SPDX-License-Identifier: Apache-2.0
#include "ledger.h"

#include <errno.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/syscall_set.h"
#include "rows.h"
#include "words.h"

/* --- Ledger --- */

static uint32_t state_now(const struct kd_thread *thread)
{
	return thread->state == KD_UNSEEN ? thread->seed_state : thread->state;
}

static uint32_t awaited_now(const struct kd_thread *thread)
{
	return thread->state == KD_UNSEEN ? thread->seed_awaited : thread->awaited;
}

/* Takes ns from one running state, and what it lacks from the others: the interrupted state may
 * not have been known yet. Returns what was taken. */
static uint64_t take(uint64_t running[KD_RUNNING], unsigned int from, uint64_t ns)
{
	uint64_t left = ns;

	for (unsigned int i = 0; i < KD_RUNNING; i++) {
		uint64_t *state = &running[(from + i) % KD_RUNNING], part = u64_min(*state, left);

		*state -= part;
		left -= part;
	}
	return ns - left;
}

/* Time lost to hardirqs or softirqs, including the one in progress at the end. */
static uint64_t overlay_take(uint64_t ns[KD_STATES_PADDED], const struct kd_overlay *overlay,
			     const struct kd_irq_frame *frame, uint64_t gen, uint64_t from,
			     uint64_t to)
{
	uint64_t in[KD_RUNNING] = { 0 }, taken = 0;

	if (overlay->gen == gen)
		memcpy(in, overlay->in, sizeof(in));
	if (frame->since && frame->since < to) {
		uint64_t open = to - u64_max(frame->since, from);

		in[0] += open > frame->stolen ? open - frame->stolen : 0;
	}
	for (unsigned int i = 0; i < KD_RUNNING; i++)
		taken += take(&ns[KD_USER], i, in[i]);
	return taken;
}

/* Reading at the end of the window or thread; NULL without one, or without one at the start. */
static const struct kd_reading *reading_at_end(const struct kd_thread *thread, uint64_t end)
{
	const struct kd_reading *close = &thread->readings[KD_AT_CLOSE];

	if (!thread->readings[KD_AT_OPEN].at && !thread->born)
		return NULL;
	if (close->at >= end)
		return close;
	return thread->died ? &thread->readings[KD_AT_DEATH] : NULL;
}

/* Stolen time since the last look at the thread, up to the window's end. Close to nothing on a
 * CPU with ticks; without ticks it may have been taken at any time. */
static uint64_t stolen_pending(const struct kd_thread *thread, uint64_t from, uint64_t to)
{
	const struct kd_reading *close = &thread->readings[KD_AT_CLOSE];
	uint64_t since = u64_max(thread->steal_at, from);

	if (!thread->steal || !thread->on_cpu || close->at < to || since >= to ||
	    close->stolen_ns <= thread->stolen_ns)
		return 0;
	return (uint64_t)((double)(close->stolen_ns - thread->stolen_ns) * (double)(to - since) /
			  (double)(close->at - thread->steal_at));
}

/* Moves stolen time to its state. A tick at best bounds when it was taken, so each running state
 * loses the same share. */
static void stolen_take(struct ledger *ledger, uint64_t running[KD_RUNNING], uint64_t stolen)
{
	uint64_t sum = 0, left;

	for (unsigned int i = 0; i < KD_RUNNING; i++)
		sum += running[i];
	stolen = left = u64_min(stolen, sum);
	for (unsigned int i = 0; i < KD_RUNNING && stolen; i++) {
		double share = (double)running[i] / (double)sum;
		uint64_t part = u64_min((uint64_t)(share * (double)stolen), left);

		part = u64_min(part, running[i]);
		running[i] -= part;
		left -= part;
	}
	ledger->ns[LEDGER_STOLEN] = stolen - left + take(running, 0, left);
}

/* Computes the kernel's run time over the window: ours, corrected by how far both counts differ
 * between the two readings. For an ended thread, the previous window's closing reading may be
 * all there is. */
static void ledger_exec(struct ledger *ledger, const struct kd_thread *thread, uint64_t end)
{
	const struct kd_reading *open = &thread->readings[KD_AT_OPEN];
	const struct kd_reading *close = reading_at_end(thread, end);
	int64_t exec;

	ledger->has_exec = close != NULL;
	if (!close)
		return;
	exec = (int64_t)ledger_running(ledger) - (int64_t)(close->run_ns - open->run_ns) +
	       (int64_t)(close->stolen_ns - open->stolen_ns) +
	       (int64_t)(close->exec_ns - open->exec_ns);
	ledger->exec = exec > 0 ? (uint64_t)exec : 0;
	ledger->ticks_user = u64_sub(close->utime, open->utime);
	ledger->ticks_system = u64_sub(close->stime, open->stime);
	ledger->ticks_guest = u64_sub(close->gtime, open->gtime);
}

static bool is_blocked(uint32_t state)
{
	return state == KD_BLOCKED || state == KD_BLOCKED_UNINT;
}

/* ns: inside the window; length: of the entire wait so far, which began at since, or less. */
static void awaited_add(struct ledger *ledger, uint32_t kind, uint64_t since, uint64_t ns,
			uint64_t length)
{
	struct kd_count *count;

	if (kind >= KD_AWAITED_KINDS)
		kind = KD_AWAITED_OTHER;
	count = &ledger->awaited[kind];
	count->count++;
	count->total += ns;
	length = u64_max(ns, length);
	if (length > count->max)
		count->began = since;
	count->max = u64_max(count->max, length);
}

/* Reads the record, without the time beyond the window: see ledger_fill(). */
static void awaited_read(struct ledger *ledger, const struct kd_record *record, uint64_t beyond)
{
	uint32_t last = record->last_awaited;

	for (uint32_t i = 0; i < KD_AWAITED_KINDS; i++) {
		struct kd_count *count = &ledger->awaited[i];

		*count = record->awaited[i];
		if (is_blocked(record->last) && i == last)
			count->total -= u64_min(count->total, beyond);
	}
}

/* Notes a sleep that is still open at the window's end. */
static void asleep_note(struct ledger *ledger, uint32_t kind, uint64_t so_far)
{
	struct sleeping *asleep =
		&ledger->asleep[kind < KD_AWAITED_KINDS ? kind : KD_AWAITED_OTHER];

	asleep->count++;
	asleep->max = u64_max(asleep->max, so_far);
}

/* Adds the time from the last event to the window's end to the current state. If the kernel
 * found the thread running after an unreported switch, it ran for as long as the kernel counted.
 * Returns the time in the current state. */
static uint64_t tail_book(uint64_t ns[KD_STATES_PADDED], const struct kd_thread *thread,
			  uint32_t state, uint64_t upto, uint64_t to)
{
	const struct kd_reading *close = &thread->readings[KD_AT_CLOSE];
	uint64_t ran = 0, after = close->at - to;

	if (close->at > to && close->ran > after && !kd_is_running(state))
		ran = u64_min(close->ran - after, to - upto);
	ns[state] += to - upto - ran;
	ns[thread->call == KD_CALL_NONE ? KD_USER : KD_KERNEL] += ran;
	return to - upto - ran;
}

int ledger_fill(struct ledger *ledger, const struct kd_thread *thread,
		const struct kd_record *record, const struct ledger_window *window)
{
	uint64_t from = u64_max(window->start, thread->born);
	uint64_t to = thread->died ? u64_min(window->end, thread->died) : window->end;
	uint64_t ns[KD_STATES_PADDED] = { 0 }, upto = from;
	uint32_t state = state_now(thread);
	int result = 1;

	memset(ledger, 0, sizeof(*ledger));
	if (from >= to || state >= KD_STATES)
		return 0;
	ledger->life = to - from;
	if (record->gen == window->gen) {
		memcpy(ns, record->ns, sizeof(ns));
		awaited_read(ledger, record, record->upto > to ? record->upto - to : 0);
		ledger->timed_faults = record->timed_faults;
		ledger->signals = record->signals;
		upto = u64_max(record->upto, from);
		/* A trigger may set the edge late. The thread may have changed state in between
		 * without knowing of the window. */
		if (record->first > from && record->first < to && record->before != KD_UNSEEN &&
		    record->before < KD_STATES) {
			ns[record->before] += record->first - from;
			if (is_blocked(record->before))
				awaited_add(ledger, record->before_awaited, from,
					    record->first - from, 0);
		}
		if (record->upto == window->end && is_blocked(record->last))
			asleep_note(ledger, record->last_awaited,
				    u64_sub(to, record->asleep_since));
		/* A program that began before the edge may have added time beyond it. */
		if (upto > to && record->last < KD_STATES_PADDED)
			ns[record->last] -= u64_min(ns[record->last], upto - to);
	}
	if (upto < to) {
		uint64_t tail = tail_book(ns, thread, state, upto, to);

		if (is_blocked(state)) {
			uint64_t since = u64_max(thread->since, thread->tracked);
			uint64_t so_far = u64_add(tail, u64_sub(upto, since));

			awaited_add(ledger, awaited_now(thread), since, tail, so_far);
			asleep_note(ledger, awaited_now(thread), so_far);
		}
		if (thread->since > upto)
			result = -EAGAIN;
	}
	memcpy(ledger->irq_in, &ns[KD_USER], sizeof(ledger->irq_in));
	ledger->ns[LEDGER_HARDIRQ] = overlay_take(ns, &record->hardirq_ns, &thread->hardirq,
						  window->gen, from, to);
	for (unsigned int i = 0; i < KD_RUNNING; i++)
		ledger->irq_in[i] -= ns[KD_USER + i];
	ledger->ns[LEDGER_SOFTIRQ] = overlay_take(ns, &record->softirq_ns, &thread->softirq,
						  window->gen, from, to);
	stolen_take(ledger, &ns[KD_USER],
		    (record->stolen.gen == window->gen ? record->stolen.total : 0) +
			    stolen_pending(thread, from, to));
	for (size_t i = 0; i < LEDGER_STATES; i++)
		if (ledger_words[i].of != KD_UNSEEN)
			ledger->ns[i] = ns[ledger_words[i].of];
	if (record->ticks.gen == window->gen)
		ledger->ticks = record->ticks;
	if (window->has_readings)
		ledger_exec(ledger, thread, window->end);
	return result;
}

void ledger_faults(const struct kd_thread *thread, const struct ledger_window *window,
		   uint64_t *minor, uint64_t *major)
{
	const struct kd_reading *open = &thread->readings[KD_AT_OPEN];
	const struct kd_reading *close = window->has_readings ? reading_at_end(thread, window->end)
							      : NULL;

	if (!close || close->minor_faults < open->minor_faults ||
	    close->major_faults < open->major_faults)
		return;
	*minor = close->minor_faults - open->minor_faults;
	*major = close->major_faults - open->major_faults;
}

/* Fills an item as seen from a window. until: 0 if still open. Returns the number of items: 1. */
static size_t item_fill(struct open_item *item, const struct kd_thread *thread,
			const struct ledger_window *window, uint64_t since, uint64_t until)
{
	bool has_start = thread->born ? since > 0 : since > thread->tracked;
	uint64_t end = until ? u64_min(until, window->end) : window->end;

	item->count = 1;
	item->since = has_start ? since : 0;
	item->until = until;
	item->inside = end - u64_max(since, window->start);
	item->at_start = since < window->start;
	item->at_end = !until || until > window->end;
	/* A lower bound if its start is unknown. */
	since = has_start ? since : thread->tracked;
	item->longest = item->length = u64_max(end > since ? end - since : 0, item->inside);
	return 1;
}

static enum open_kind kind_of(uint32_t state)
{
	return state == KD_STOPPED ? OPEN_STOPPED : kd_is_running(state) ? OPEN_RUN : OPEN_READY;
}

/* Item that had ended when the record was read. */
static size_t ended_item(struct open_item *item, enum open_kind kind, const struct kd_open *open,
			 const struct kd_thread *thread, const struct ledger_window *window)
{
	if (!open->until)
		return 0;
	*item = (struct open_item){
		.kind = kind,
		.number = kind == OPEN_CALL ? open->what : KD_CALL_UNKNOWN,
	};
	return item_fill(item, thread, window, open->since, open->until);
}

/* System call still open when the record was read. */
static size_t pending_call(struct open_item *item, const struct kd_thread *thread,
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
	*item = (struct open_item){ .kind = OPEN_CALL, .number = number };
	return item_fill(item, thread, window, since, 0);
}

/* Run, wait for a CPU, or stop still open when the record was read. */
static size_t pending_period(struct open_item *item, const struct kd_thread *thread,
			     const struct ledger_window *window)
{
	uint32_t state = state_now(thread);
	uint64_t since = thread->since;

	if (thread->died || state == KD_UNSEEN || state > KD_STOPPED || state == KD_BLOCKED ||
	    state == KD_BLOCKED_UNINT)
		return 0;
	if (kd_is_running(state))
		since = thread->run_since;
	if (since >= window->end)
		return 0;
	*item = (struct open_item){ .kind = kind_of(state), .number = KD_CALL_UNKNOWN };
	return item_fill(item, thread, window, since, 0);
}

static size_t pending_round(struct open_item *item, const struct kd_thread *thread,
			    const struct ledger_window *window)
{
	if (thread->died || !thread->polls.since || thread->polls.since >= window->end)
		return 0;
	*item = (struct open_item){ .kind = OPEN_ROUND, .number = KD_CALL_UNKNOWN };
	return item_fill(item, thread, window, thread->polls.since, 0);
}

size_t ledger_open_items(struct open_item items[LEDGER_OPEN_ITEMS], const struct kd_thread *thread,
			 const struct kd_record *record, const struct ledger_window *window)
{
	static const struct kd_opens none;
	bool has_record = record->gen == window->gen;
	const struct kd_opens *start = has_record ? &record->open_start : &none;
	const struct kd_opens *end = has_record ? &record->open_end : &none;
	size_t n, first;

	n = ended_item(&items[0], OPEN_CALL, &start->call, thread, window);
	n += ended_item(&items[n], OPEN_CALL, &end->call, thread, window);
	if (n < 2)
		n += pending_call(&items[n], thread, window);
	first = n;
	n += ended_item(&items[n], kind_of((uint32_t)start->period.what), &start->period, thread,
			window);
	n += ended_item(&items[n], kind_of((uint32_t)end->period.what), &end->period, thread,
			window);
	if (n < first + 2)
		n += pending_period(&items[n], thread, window);
	first = n;
	n += ended_item(&items[n], OPEN_ROUND, &start->round, thread, window);
	n += ended_item(&items[n], OPEN_ROUND, &end->round, thread, window);
	if (n < first + 2)
		n += pending_round(&items[n], thread, window);
	return n;
}

/* --- Running user, as ticks found it --- */

static void move(uint64_t *from, uint64_t *to, uint64_t ns)
{
	ns = u64_min(ns, *from);
	*from -= ns;
	*to += ns;
}

/* Ticks are 1 to 10 ms apart. */
#define TICK_NS 10000000.0
#define TICKS_LEAST 50 /* less say nothing exact, */
#define TICKS_FEW 3    /* and less than this nothing at all */
#define SIGMAS 3       /* less may be chance: ticks hit user mode at random */

/* Ticks in some of the running time, how many of them found the CPU in the kernel, and how long the
 * ledger says that it was there. */
struct mode_ticks {
	double all, in_kernel;
	uint64_t ns, kernel_ns;
};

/* Where no tracepoint tells of ticks (nohz_full), only their sums are known, or exact times in
 * their place. They say nothing of a thread that runs in step with the ticks: their sum is not its
 * run time then. */
static void ticks_summed(struct mode_ticks *ticks, const struct ledger *ledger, uint64_t sum)
{
	double running = (double)ledger_running(ledger), off = (double)sum - running;

	ticks->all = (double)sum / TICK_NS;
	ticks->in_kernel = (double)u64_add(ledger->ticks_system, ledger->ticks_guest) / TICK_NS;
	ticks->ns = ledger_running(ledger);
	ticks->kernel_ns = u64_sub(ticks->ns, ledger->ns[LEDGER_USER]);
	if (ticks->all < TICKS_LEAST ||
	    off * off * ticks->all > SIGMAS * SIGMAS * running * running)
		ticks->all = ticks->in_kernel = 0;
}

/* A tick in user mode during a page fault tells that ends of faults were missed, as for those that
 * only emulate an instruction: their time is running user. */
static struct mode_ticks ticks_of(const struct ledger *ledger)
{
	const uint64_t sum = u64_add(ledger->ticks_user, ledger->ticks_system);
	const __u64 *user = ledger->ticks.user, *fault = ledger->ticks.fault;
	struct mode_ticks ticks = {
		.all = (double)user[0] + (double)user[1],
		.in_kernel = (double)user[1],
		.ns = ledger->ns[LEDGER_USER],
	};

	if ((double)ledger->ticks.all * TICK_NS < (double)sum / 2) {
		ticks_summed(&ticks, ledger, sum);
	} else if (fault[0]) {
		ticks.all += (double)fault[0] + (double)fault[1];
		ticks.in_kernel += (double)fault[1];
		ticks.kernel_ns = ledger->ns[LEDGER_FAULT];
		ticks.ns += ticks.kernel_ns;
	}
	return ticks;
}

/* What of running user was in user mode, by the ticks in that state or by the sums of all,
 * whichever is less: ticks may find faults that a hypervisor ends in user mode. 0 if there are too
 * few. */
static uint64_t user_least(const struct mode_ticks *ticks, const struct ledger *ledger)
{
	const uint64_t sum = u64_add(ledger->ticks_user, ledger->ticks_system);
	uint64_t by_state = 0, by_sum = 0;

	if (ticks->all >= TICKS_LEAST)
		by_state = (uint64_t)((double)ticks->ns * (1 - ticks->in_kernel / ticks->all));
	if ((double)sum >= TICKS_LEAST * TICK_NS)
		by_sum = (uint64_t)((double)ledger_running(ledger) *
				    (double)u64_sub(ledger->ticks_user, ledger->ticks_guest) /
				    (double)sum);
	return by_state && by_sum ? u64_min(by_state, by_sum) : by_state + by_sum;
}

/* How much longer the CPU was in the kernel than the ledger says, which has moved as much as is
 * estimated; 0 if that may be chance, or with few ticks a price that has doubled, as beside busy
 * neighbours. */
static uint64_t kernel_more(const struct mode_ticks *ticks, uint64_t estimated)
{
	double most, more, in_kernel, times = ticks->all < TICKS_LEAST ? 2 : 1;

	if (ticks->in_kernel < TICKS_FEW || !ticks->ns)
		return 0;
	in_kernel = ticks->in_kernel / ticks->all;
	most = ((double)ticks->kernel_ns + times * (double)estimated) / (double)ticks->ns;
	more = in_kernel - most;
	if (more <= 0 || more * more * ticks->all <= SIGMAS * SIGMAS * most * (1 - most))
		return 0;
	return (uint64_t)((double)ticks->ns * in_kernel) - ticks->kernel_ns - estimated;
}

/* Running in a guest is part of a system call, by which the kernel runs it: by the kernel's ticks,
 * or its exact times (nohz_full). */
static void guest_move(struct ledger *ledger)
{
	const uint64_t sum = u64_add(ledger->ticks_user, ledger->ticks_system);

	if (ledger->ticks_guest && sum) /* not read at once: a tick may come in between */
		move(&ledger->ns[LEDGER_KERNEL], &ledger->ns[LEDGER_GUEST],
		     (uint64_t)((double)ledger_running(ledger) * (double)ledger->ticks_guest /
				(double)sum));
}

/* --- Cost of kernel entry and exit --- */

void thread_move_entries(struct thread_row *thread, const struct entry_cost *cost)
{
	struct ledger *ledger = &thread->ledger;
	uint64_t *ns = ledger->ns, calls = 0, irqs = 0, measured = ns[LEDGER_HARDIRQ];
	uint64_t timed = ledger->timed_faults, faults, mean, before, least, rest, signals, more;
	struct mode_ticks ticks;

	for (size_t i = 0; i < thread->n_hardirqs; i++)
		irqs = u64_add(irqs, u64_times(thread->hardirqs[i].count, cost->irq_ns));
	for (size_t i = 0; i < thread->n_calls; i++)
		calls = u64_add(calls, thread->calls[i].count);
	irqs = u64_min(irqs, ledger->life);
	rest = irqs;
	/* In proportion to what the tracepoints measured. */
	for (unsigned int i = 0; i < KD_RUNNING; i++) {
		double hit = (double)ledger->irq_in[i];
		uint64_t part = measured ? (uint64_t)((double)irqs * hit / (double)measured) : 0;

		if (LEDGER_USER + i == LEDGER_KERNEL)
			continue;
		part = u64_min(part, rest);
		move(&ns[LEDGER_USER + i], &ns[LEDGER_HARDIRQ], part);
		rest -= part;
	}
	move(&ns[LEDGER_KERNEL], &ns[LEDGER_HARDIRQ], rest);
	before = ns[LEDGER_USER];
	ticks = ticks_of(ledger);
	least = user_least(&ticks, ledger);
	/* A price that leaves nothing is too high, as when it was measured beside other tracers. */
	calls = u64_times(calls, cost->call_ns);
	if (calls >= ns[LEDGER_USER])
		calls = u64_sub(ns[LEDGER_USER], least);
	move(&ns[LEDGER_USER], &ns[LEDGER_KERNEL], calls);
	faults = u64_times(timed, cost->fault_ns);
	mean = timed ? (ns[LEDGER_FAULT] + faults) / timed : cost->fault_mean_ns;
	faults = u64_add(faults,
			 u64_times(ledger->untimed_faults, u64_sub(mean, cost->fault_timing_ns)));
	/* The cost may be the hypervisor's work, which ticks count as user mode. */
	faults = u64_min(faults, u64_sub(ns[LEDGER_USER], least));
	move(&ns[LEDGER_USER], &ns[LEDGER_FAULT], faults);
	signals = u64_min(u64_times(ledger->signals, cost->signal_ns),
			  u64_sub(ns[LEDGER_USER], least));
	move(&ns[LEDGER_USER], &ns[LEDGER_KERNEL], signals);
	more = u64_min(kernel_more(&ticks, before - ns[LEDGER_USER]), ns[LEDGER_USER]);
	/* Prices may have doubled since they were measured, as beside busy neighbours; of faults
	 * that were only counted it is not known how long they took. */
	faults = ledger->untimed_faults ? more : u64_min(more, faults);
	move(&ns[LEDGER_USER], &ns[LEDGER_FAULT], faults);
	move(&ns[LEDGER_USER], &ns[LEDGER_KERNEL], more - faults);
	thread->outside_calls = u64_sub(more - faults, u64_add(calls, signals));
	guest_move(ledger);
}

/* --- Waits whose wakeups were not reported: in the states, but in no list --- */

/* Returns the waits that are in the states, but in no row. A lower bound, as rows also count time
 * before the window. */
static struct kd_count unlisted(struct kd_count all, const struct kd_count *listed)
{
	struct kd_count left = { .count = u64_sub(all.count, listed->count),
				 .total = u64_sub(all.total, listed->total) };

	left.max = u64_min(all.max, left.total);
	left.began = left.max == all.max ? all.began : 0;
	if (left.max)
		left.count = u64_max(left.count, (left.total - 1) / left.max + 1);
	return left;
}

int thread_add_unlisted_locks(struct thread_row *thread)
{
	struct lock_row row = *(const struct lock_row *)lock_list.others;
	struct kd_count all = thread->ledger.awaited[KD_AWAITED_LOCK], listed = { 0 };

	/* Waits in semop have no list. */
	for (size_t i = 0; i < thread->n_calls; i++)
		if ((int)thread->calls[i].number == syscall_number("semop") ||
		    (int)thread->calls[i].number == syscall_number("semtimedop"))
			return 0;
	count_join(&all, &thread->ledger.awaited[KD_AWAITED_KERNEL_LOCK]);
	for (size_t i = 0; i < thread->n_locks; i++)
		count_join(&listed, &thread->locks[i].waits);
	for (size_t i = 0; i < thread->n_descriptors; i++)
		if (thread->descriptors[i].awaited == KD_AWAITED_LOCK &&
		    thread->descriptors[i].is.fd >= 0)
			count_join(&listed, &thread->descriptors[i].waits);
	row.waits = unlisted(all, &listed);
	return row.waits.max ? row_list_add(&lock_list, &thread->locks, &thread->n_locks, &row) : 0;
}

static int unlisted_sleeps_add(struct thread_row *thread)
{
	struct descriptor_row row = *(const struct descriptor_row *)descriptor_list.others;
	struct kd_count left[KD_AWAITED_KINDS], all = { 0 };
	struct kd_count unknown = { 0 }; /* rows of any kind */

	/* By kind: what a row has from before the window hides nothing of another kind. */
	memcpy(left, thread->ledger.awaited, sizeof(left));
	for (size_t i = 0; i < thread->n_descriptors; i++) {
		const struct descriptor_row *at = &thread->descriptors[i];

		if (at->shorter || descriptor_row_is_others(at))
			count_join(&unknown, &at->waits);
		else
			left[at->awaited] = unlisted(left[at->awaited], &at->waits);
	}
	for (uint32_t i = 0; i < KD_AWAITED_KINDS; i++)
		count_join(&all, &left[i]);
	row.waits = unlisted(all, &unknown);
	return row.waits.max ? row_list_add(&descriptor_list, &thread->descriptors,
					    &thread->n_descriptors, &row)
			     : 0;
}

int thread_add_unlisted(struct thread_row *thread)
{
	return thread_add_unlisted_locks(thread) ?: unlisted_sleeps_add(thread);
}
