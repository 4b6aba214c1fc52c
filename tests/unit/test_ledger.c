/* SPDX-License-Identifier: Apache-2.0 */
/* The books of a thread, from the states of the kernel side, in one line; and waits that are in no
 * list. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/model/ledger.h"
#include "cli/model/rows.h"
#include "cli/model/words.h"
#include "say.h"
#include "tap.h"

#define START 1000000ULL
#define END 2000000ULL
#define GEN 77ULL

static const struct ledger_window window = { START, END, GEN, true };

/* A thread that has slept since before the window, without a record. */
static struct kd_thread sleeper(void)
{
	return (struct kd_thread){
		.state = KD_BLOCKED,
		.since = START - 500,
		.call = 7,
		.call_since = START - 600,
		.restart_call = KD_CALL_NONE,
	};
}

/* One whose last event was then. */
static struct kd_thread sleeper_since(uint64_t since)
{
	struct kd_thread thread = sleeper();

	thread.since = since;
	return thread;
}

/* A record that is booked as running user up to a time. */
static struct kd_record booked(uint64_t upto)
{
	struct kd_record record = {
		.gen = GEN,
		.upto = upto,
		.last = KD_USER,
	};

	record.ns[KD_USER] = upto - START;
	return record;
}

/* The states, then what was awaited: how often, in all and the longest; with + that goes on, or
 * one that has the length behind it so far. They have to add up to the
 * life, and to what it was blocked. */
static void ledger_say(const struct ledger *ledger, char text[static SAY_LEN])
{
	uint64_t awaited = 0;

	for (int i = 0; i < LEDGER_STATES; i++)
		if (ledger->ns[i])
			say(text, "%s%s %" PRIu64, *text ? ", " : "", ledger_words[i].key,
			    ledger->ns[i]);
	if (ledger_sum(ledger) != ledger->life)
		say(text, " of %" PRIu64, ledger->life);
	for (int i = 0; i < KD_AWAITED_KINDS; i++) {
		const struct kd_count *is = &ledger->awaited[i];

		awaited += is->total;
		if (is->count)
			say(text, "; %s %" PRIu64 " %" PRIu64 " %" PRIu64, awaited_keys[i],
			    (uint64_t)is->count, (uint64_t)is->total, (uint64_t)is->max);
		if (ledger->asleep[i].count)
			say(text, "+");
		if (ledger->asleep[i].count && ledger->asleep[i].max != is->max)
			say(text, "%" PRIu64, ledger->asleep[i].max);
	}
	if (awaited != ledger_blocked(ledger))
		say(text, "; awaited %" PRIu64, awaited);
	if (ledger->has_exec)
		say(text, "; exec %" PRIu64, ledger->exec);
}

static void is_ledger(const struct kd_thread *thread, const struct kd_record *record,
		      const struct ledger_window *in, const char *want, const char *what)
{
	char text[SAY_LEN] = "";
	struct ledger ledger = { 0 };
	int result = ledger_fill(&ledger, thread, record, in);

	if (result == 1)
		ledger_say(&ledger, text);
	is_str(result == 1         ? text
	       : result == -EAGAIN ? "read again"
				   : "not in it",
	       want, "%s", what);
}

#define IS(want, what) is_ledger(&thread, &record, &window, want, what)

/* What crosses the window's edges: "<" the first, ">" the last; its share and its length. */
static void is_open(const struct kd_thread *thread, const struct kd_record *record,
		    const char *want, const char *what)
{
	static const char *const kinds[OPEN_KINDS] = { [OPEN_CALL] = "call",
						       [OPEN_READY] = "ready",
						       [OPEN_RUN] = "run",
						       [OPEN_STOPPED] = "stopped",
						       [OPEN_ROUND] = "round" };
	struct open_item items[LEDGER_OPEN_ITEMS];
	size_t n = ledger_open_items(items, thread, record, &window);
	char text[SAY_LEN] = "";

	for (size_t i = 0; i < n; i++) {
		const struct open_item *item = &items[i];

		say(text, "%s%s%s", i ? ", " : "", item->at_start ? "<" : "", kinds[item->kind]);
		if (item->kind == OPEN_CALL)
			say(text, " %d", item->number);
		say(text, "%s %" PRIu64 "/%" PRIu64, item->at_end ? ">" : "", item->inside,
		    item->longest);
		if (!item->since)
			say(text, " or longer");
		if (item->until)
			say(text, " over");
	}
	is_str(text, want, "%s", what);
}

#define IS_OPEN(want, what) is_open(&thread, &record, want, what)

TEST(silent)
{
	struct kd_thread thread = sleeper();
	struct kd_record record = { .gen = GEN - 1 }; /* of another window */

	record.ns[KD_USER] = 12345;
	record.hardirq_ns = (struct kd_overlay){ GEN - 1, { 50, 50 } };
	record.awaited[KD_AWAITED_PIPE] = (struct kd_count){ 1, 2, 3, 0 };
	IS("blocked 1000000; other 1 1000000 1000500+", "blocked throughout");
	thread.awaited = KD_AWAITED_LOCK;
	IS("blocked 1000000; lock 1 1000000 1000500+", "and for what");
	thread.state = KD_UNSEEN;
	thread.seed_state = KD_BLOCKED_UNINT;
	IS("blocked_uninterruptible 1000000; other 1 1000000 1000500+", "unseen: the seed's state");
	thread.seed_awaited = KD_AWAITED_DISK;
	IS("blocked_uninterruptible 1000000; disk 1 1000000 1000500+", "as it was seeded");
	thread.seed_awaited = 4711;
	IS("blocked_uninterruptible 1000000; other 1 1000000 1000500+", "what is no kind");
}

TEST(tail)
{
	struct kd_thread thread = sleeper_since(START + 300);
	struct kd_record record = booked(START + 300);

	IS("user 300, blocked 999700; other 1 999700 999700+", "what was booked, and the rest");
	thread.since = START + 400; /* an event between the two reads */
	IS("read again", "torn");
	thread.since = END + 130;
	record = booked(END + 130);
	IS("user 1000000", "overshoot: taken from the last state");
}

TEST(awaited)
{
	struct kd_thread thread = sleeper_since(START + 300);
	struct kd_record record = booked(START + 300);

	record.ns[KD_USER] -= 120;
	record.ns[KD_BLOCKED] = 120;
	record.awaited[KD_AWAITED_LOCK] = (struct kd_count){ 2, 120, 100, 0 };
	thread.awaited = KD_AWAITED_LOCK;
	IS("user 180, blocked 999820; lock 3 999820 999700+", "booked, and the one that goes on");
	record.first = START + 50;
	record.before = KD_BLOCKED_UNINT;
	record.before_awaited = KD_AWAITED_PAGE;
	record.ns[KD_USER] -= 50;
	IS("user 130, blocked 999820, blocked_uninterruptible 50; lock 3 999820 999700+; page 1 50 "
	   "50",
	   "a trigger set the edge late: it had slept, and had woken");
	thread = sleeper_since(END + 130);
	record = (struct kd_record){ .gen = GEN, .upto = END + 130, .last = KD_BLOCKED };
	record.ns[KD_BLOCKED] = END + 130 - START;
	record.last_awaited = KD_AWAITED_SOCKET;
	record.awaited[KD_AWAITED_SOCKET] = (struct kd_count){ 1, END + 130 - START,
							       END + 130 - START, 0 };
	IS("blocked 1000000; socket 1 1000000 1000130", "booked beyond the end");
	thread.state = KD_USER;
	record = (struct kd_record){ .gen = GEN, .upto = END, .last = KD_BLOCKED };
	record.ns[KD_BLOCKED] = END - START;
	record.asleep_since = END - 70;
	record.last_awaited = KD_AWAITED_SOCKET;
	record.awaited[KD_AWAITED_SOCKET] = (struct kd_count){ 2, END - START, 5000000, 0 };
	IS("blocked 1000000; socket 2 1000000 5000000+70",
	   "the longest began before the window; the last one ended behind it");
	thread.state = KD_DEAD;
	thread.died = END + 300;
	IS("blocked 1000000; socket 2 1000000 5000000+70", "and so did the thread");
}

TEST(life)
{
	struct kd_thread thread = sleeper();
	struct kd_record record = booked(END - 200);

	thread.born = START + 100;
	thread.died = END - 200;
	thread.state = KD_DEAD;
	record.ns[KD_USER] = END - START - 300;
	IS("user 999700; exec 999700", "born and ended inside");
	thread.died = START - 1;
	IS("not in it", "ended before the window");
	thread.died = 0;
	thread.born = END;
	IS("not in it", "born after the window");
}

TEST(overlays)
{
	struct kd_thread thread = sleeper_since(START + 1000);
	struct kd_record record = booked(START + 1000);

	record.ns[KD_USER] = 600;
	record.ns[KD_KERNEL] = 400;
	record.hardirq_ns = (struct kd_overlay){ GEN, { 100, 50 } };
	record.softirq_ns = (struct kd_overlay){ GEN, { 10, 500 } };
	IS("user 340, hardirq 150, softirq 510, blocked 999000; other 1 999000 999000+",
	   "what the kernel state has not is taken from the other");
	record.hardirq_ns.in[0] = END;
	IS("hardirq 1000, blocked 999000; other 1 999000 999000+",
	   "more interrupts than there was at all");
	record.hardirq_ns.in[0] = 0;
	record.upto = END;
	record.ns[KD_USER] = END - START - 400;
	thread.hardirq = (struct kd_irq_frame){ .since = END - 70, .stolen = 20 };
	IS("user 999390, hardirq 100, softirq 510", "the one in progress at the end counts");
}

/* Interrupts in page faults, and in reclaim, are taken from those. */
TEST(faults)
{
	struct kd_thread thread = sleeper_since(START + 1000);
	struct kd_record record = booked(START + 1000);
	struct ledger ledger;

	record.ns[KD_USER] = 600;
	record.ns[KD_FAULT] = 300;
	record.ns[KD_RECLAIM] = 100;
	record.timed_faults = 5;
	record.hardirq_ns = (struct kd_overlay){ GEN, { 10, 0, 120, 30 } };
	IS("user 590, page_fault 180, reclaim 70, hardirq 160, blocked 999000; other 1 999000 "
	   "999000+",
	   "interrupts are taken from what they hit");
	ledger_fill(&ledger, &thread, &record, &window);
	ok(ledger.irq_in[0] == 10 && ledger.irq_in[2] == 120, "which is kept");
	is_u64(ledger.timed_faults, 5, "so is the number of faults");
	is_u64(ledger_running(&ledger), 1000, "all of that is running");
}

TEST(exec)
{
	struct kd_thread thread = sleeper_since(START + 1000);
	struct kd_record record = booked(START + 1000);
	uint64_t minor = 0, major = 0;

	IS("user 1000, blocked 999000; other 1 999000 999000+",
	   "no readings: the kernel's count is not known");
	thread.readings[KD_AT_OPEN] = (struct kd_reading){ .at = START - 10,
							   .exec_ns = 5000,
							   .run_ns = 4000,
							   .minor_faults = 7,
							   .major_faults = 1 };
	thread.readings[KD_AT_CLOSE] = (struct kd_reading){ .at = END + 10,
							    .exec_ns = 6100,
							    .run_ns = 5050,
							    .minor_faults = 19,
							    .major_faults = 4 };
	IS("user 1000, blocked 999000; other 1 999000 999000+; exec 1050",
	   "two: our running time, less the counts' difference");
	ledger_faults(&thread, &window, &minor, &major);
	ok(minor == 12 && major == 3, "and of page faults: their difference");
	thread.readings[KD_AT_OPEN].at = 0;
	minor = 77;
	ledger_faults(&thread, &window, &minor, &major);
	is_u64(minor, 77, "with one reading they are not known");
	IS("user 1000, blocked 999000; other 1 999000 999000+", "one reading is not enough");
	thread.born = START + 1;
	record.ns[KD_USER]--;
	IS("user 999, blocked 999000; other 1 999000 999000+; exec 1049",
	   "but it is for a thread born inside");
}

/* The kernel reported no switch-in, but found the thread running, for as long as it counted. */
TEST(unreported)
{
	struct kd_thread thread = sleeper_since(START + 1000);
	struct kd_record record = booked(START + 1000);

	thread.state = KD_READY_PREEMPTED;
	thread.call = KD_CALL_NONE;
	thread.readings[KD_AT_CLOSE] =
		(struct kd_reading){ .at = END + 50, .exec_ns = 900, .run_ns = 900, .ran = 350 };
	IS("user 1300, ready_preempted 998700", "an unreported switch");
	thread.state = KD_USER;
	IS("user 1000000", "a running thread needs no correction");
}

/* A trigger set the edge late: meanwhile the thread fell asleep and woke up. */
TEST(late_edge)
{
	struct kd_thread thread = sleeper_since(END - 100);
	struct kd_record record = booked(END - 100);

	record.ns[KD_USER] -= 300;
	record.first = START + 300;
	record.before = KD_READY_WOKEN;
	IS("user 999600, ready_woken 300, blocked 100; other 1 100 100+",
	   "what it did before is as it was");
	record.before = KD_UNSEEN;
	IS("user 999600, blocked 100 of 1000000; other 1 100 100+",
	   "and missing if that is not known");
	record.first = START - 300;
	record.before = KD_USER;
	record.ns[KD_USER] += 300;
	IS("user 999900, blocked 100; other 1 100 100+", "an edge in time");
}

TEST(open_calls)
{
	struct kd_thread thread = sleeper();
	struct kd_record record = booked(START);

	IS_OPEN("<call 7> 1000000/1000600", "one call in flight");
	record.open_start.call = (struct kd_open){ START - 5, START + 20, 1, 0 };
	record.open_end.call = (struct kd_open){ END - 30, END + 10, 202, 0 };
	thread.call_since = END + 40; /* a call of after the window */
	IS_OPEN("<call 1 20/25 over, call 202> 30/30 over", "two that returned");
	record = booked(START);
	thread.call = KD_CALL_NONE;
	IS_OPEN("", "in user mode: none");
	thread.restart_call = 7;
	thread.restart_since = START + 5;
	IS_OPEN("call 7> 999995/999995", "one that may go on");
	thread.died = END - 1;
	IS_OPEN("", "not of a dead thread");
	thread = sleeper();
	thread.state = KD_UNSEEN;
	thread.seed_call = 232;
	IS_OPEN("<call 232> 1000000/2000000 or longer", "unseen: the seed's call");
}

/* What the hypervisor took is no part of the running states, each of which loses its share. */
TEST(stolen)
{
	struct kd_thread thread = sleeper_since(END - 100);
	struct kd_record record = booked(END - 100);

	record.ns[KD_USER] -= 400;
	record.ns[KD_KERNEL] = 400;
	IS("user 999500, kernel 400, blocked 100; other 1 100 100+", "nothing is stolen");
	record.stolen = (struct kd_cell){ GEN, 2, (END - START - 100) / 2, 7 };
	IS("user 499750, kernel 200, stolen 499950, blocked 100; other 1 100 100+",
	   "half of what it ran");
	record.stolen.total = END - START;
	IS("stolen 999900, blocked 100; other 1 100 100+", "no more than it ran");
	record.stolen.gen = GEN - 1;
	IS("user 999500, kernel 400, blocked 100; other 1 100 100+", "of another window: nothing");
}

/* The clock was last looked at by the events before the window's end, then by the iterator. */
TEST(stolen_pending)
{
	struct kd_thread thread = sleeper_since(START - 1000);
	struct kd_record record = booked(START);

	record.gen = 0; /* it has run throughout */
	thread.state = KD_USER;
	thread.on_cpu = 1;
	thread.run_since = thread.since;
	thread.call = KD_CALL_NONE;
	thread.steal = 1;
	thread.steal_at = END - 100;
	thread.stolen_ns = 500;
	thread.readings[KD_AT_CLOSE] = (struct kd_reading){ .at = END + 100, .stolen_ns = 540 };
	IS("user 999980, stolen 20", "half of it before the end");
	thread.steal_at = END;
	IS("user 1000000", "it came after the end");
	thread.steal_at = END - 100;
	thread.steal = 0;
	IS("user 1000000", "not known since when");
}

/* Waits, runs, stops and rounds that cross the edges, with their whole length. */
TEST(open_periods)
{
	struct kd_thread thread = sleeper_since(START - 180);
	struct kd_record record = booked(END - 100);

	thread.call = KD_CALL_NONE;
	thread.state = KD_READY_PREEMPTED;
	IS_OPEN("<ready> 1000000/1000180", "a wait throughout, its length so far");
	thread.tracked = START - 180;
	IS_OPEN("<ready> 1000000/1000180 or longer", "from before tracing: at least so long");
	thread.born = thread.tracked;
	IS_OPEN("<ready> 1000000/1000180", "or exactly, from its birth");
	record.open_start.period = (struct kd_open){ START - 180, START + 20, KD_READY_WOKEN, 0 };
	record.open_end.period = (struct kd_open){ END - 30, END + 10, KD_USER, 0 };
	thread.since = END + 10;
	IS_OPEN("<ready 20/200 over, run> 30/30 over",
		"one that ended inside as a whole, one that ended later until the end");
	record.open_start.period.until = END + 5;
	record.open_end.period.until = 0;
	IS_OPEN("<ready> 1000000/1000180 over", "one that spans the window has its length so far");
	record = booked(END - 100);
	thread.state = KD_KERNEL;
	thread.since = END - 10;
	thread.run_since = START + 10;
	thread.polls.since = START - 7;
	IS_OPEN("run> 999990/999990, <round> 1000000/1000007", "a run and a round go on");
	thread.run_since = thread.polls.since = END;
	IS_OPEN("", "later ones do not count");
	thread.state = KD_STOPPED;
	IS_OPEN("stopped> 10/10", "a stop is one");
	thread.state = KD_BLOCKED;
	IS_OPEN("", "sleep is none");
	thread.state = KD_FROZEN;
	IS_OPEN("", "nor is being frozen");
	thread.state = KD_STOPPED;
	thread.died = END - 5;
	IS_OPEN("", "nor is death");
}

/* Whatever the maps hold, the books do not get out of hand. */
TEST(random)
{
	unsigned char bytes[sizeof(struct kd_thread)];
	struct kd_thread thread;
	struct kd_record record;
	struct open_item calls[LEDGER_OPEN_ITEMS];
	struct ledger ledger;
	int faults = 0;

	srandom(1);
	for (int i = 0; i < 20000; i++) {
		for (size_t j = 0; j < sizeof(bytes); j++)
			bytes[j] = (unsigned char)random();
		memcpy(&thread, bytes, sizeof(thread));
		memset(&record, 0, sizeof(record));
		memcpy(&record, bytes, sizeof(bytes) / 2);
		record.gen = i % 2 ? GEN : 0;
		thread.state %= KD_STATES + 1;
		if (ledger_fill(&ledger, &thread, &record, &window) && ledger.life > END - START)
			faults++;
		if (ledger_open_items(calls, &thread, &record, &window) > LEDGER_OPEN_ITEMS)
			faults++;
	}
	is_i64(faults, 0, "random records: no life longer than the window");
}

/* As a thread had them that read from a terminal beside others: a wait at a pipe began 8 ms before
 * the window, and is longer in its row than all that the states have at terminals. */
TEST(unlisted)
{
	const struct descriptor_row pipe = { .awaited = KD_AWAITED_PIPE,
					     .call = KD_CALL_NONE,
					     .is.fd = 3,
					     .waits = { 2, 23411912, 15161481, 0 } };
	const struct descriptor_row shorter = { .awaited = KD_AWAITED_OTHER,
						.call = KD_CALL_NONE,
						.is.fd = -1,
						.shorter = 20000,
						.waits = { 6, 51264, 13119, 0 } };
	struct thread_row row = { .members = 1 };
	const struct descriptor_row *added;

	row.ledger.awaited[KD_AWAITED_PIPE] = (struct kd_count){ 2, 21746948, 15161481, 0 };
	row.ledger.awaited[KD_AWAITED_TTY] = (struct kd_count){ 10, 311268, 119006, 0 };
	need(!row_list_add(&descriptor_list, &row.descriptors, &row.n_descriptors, &pipe));
	need(!row_list_add(&descriptor_list, &row.descriptors, &row.n_descriptors, &shorter));
	is_i64(thread_add_unlisted(&row), 0, "added");
	is_u64(row.n_descriptors, 3, "a row more");
	added = &row.descriptors[row.n_descriptors - 1];
	is_u64(added->waits.count, 4, "four waits at the terminal");
	is_u64(added->waits.total, 311268 - 51264, "for as long as the states have more");
	is_u64(added->waits.max, 119006, "and the longest");
	is_i64(thread_add_unlisted(&row), 0, "once more");
	is_u64(row.n_descriptors, 3, "then all are listed");
	row_list_free(&descriptor_list, row.descriptors, row.n_descriptors);
}
