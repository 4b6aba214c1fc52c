/* SPDX-License-Identifier: Apache-2.0 */
/* The books of a thread, from the states of the kernel side. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/model/ledger.h"
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

static void is_balanced(const struct ledger *ledger, uint64_t life, const char *what)
{
	is_u64(ledger->life, life, "%s: life", what);
	is_u64(ledger_sum(ledger), life, "%s: the states add up to it", what);
}

static void test_silent(void)
{
	struct kd_thread thread = sleeper();
	struct kd_record record = { .gen = GEN - 1 }; /* of another window */
	struct ledger ledger;

	record.ns[KD_USER] = 12345;
	record.hardirq_ns = (struct kd_overlay){ GEN - 1, { 50, 50 } };
	is_i64(ledger_fill(&ledger, &thread, &record, &window), 1, "silent: filled");
	is_balanced(&ledger, END - START, "silent");
	is_u64(ledger.ns[LEDGER_BLOCKED], END - START, "silent: blocked throughout");

	thread.state = KD_UNSEEN;
	thread.seed_state = KD_BLOCKED_UNINT;
	ledger_fill(&ledger, &thread, &record, &window);
	is_u64(ledger.ns[LEDGER_BLOCKED_UNINT], END - START, "unseen: the seed's state");
}

static void test_tail(void)
{
	struct kd_thread thread = sleeper();
	struct kd_record record = booked(START + 300);
	struct ledger ledger;

	thread.since = START + 300;
	is_i64(ledger_fill(&ledger, &thread, &record, &window), 1, "tail: filled");
	is_balanced(&ledger, END - START, "tail");
	is_u64(ledger.ns[LEDGER_USER], 300, "tail: what was booked");
	is_u64(ledger.ns[LEDGER_BLOCKED], END - START - 300, "tail: the rest");

	thread.since = START + 400; /* an event between the two reads */
	is_i64(ledger_fill(&ledger, &thread, &record, &window), -EAGAIN, "torn: read again");
}

static void test_overshoot(void)
{
	struct kd_thread thread = sleeper();
	struct kd_record record = booked(END + 130);
	struct ledger ledger;

	thread.since = END + 130;
	is_i64(ledger_fill(&ledger, &thread, &record, &window), 1, "overshoot: filled");
	is_balanced(&ledger, END - START, "overshoot");
	is_u64(ledger.ns[LEDGER_USER], END - START, "overshoot: taken from the last state");
}

static void is_awaited(const struct ledger *ledger, enum kd_awaited kind, uint64_t count,
		       uint64_t total, uint64_t max, const char *what)
{
	uint64_t sum = 0;

	is_u64(ledger->awaited[kind].count, count, "%s: count", what);
	is_u64(ledger->awaited[kind].total, total, "%s: total", what);
	is_u64(ledger->awaited[kind].max, max, "%s: the longest", what);
	for (int i = 0; i < KD_AWAITED_KINDS; i++)
		sum += ledger->awaited[i].total;
	is_u64(sum, ledger_blocked(ledger), "%s: all kinds are what it was blocked", what);
}

static void test_awaited(void)
{
	struct kd_thread thread = sleeper();
	struct kd_record record = { .gen = GEN - 1 }; /* of another window */
	struct ledger ledger;

	record.awaited[KD_AWAITED_PIPE] = (struct kd_cell){ GEN - 1, 1, 2, 3 };
	thread.awaited = KD_AWAITED_LOCK;
	ledger_fill(&ledger, &thread, &record, &window);
	is_awaited(&ledger, KD_AWAITED_LOCK, 1, END - START, END - START, "throughout");
	thread.state = KD_UNSEEN;
	thread.seed_state = KD_BLOCKED_UNINT;
	thread.seed_awaited = KD_AWAITED_DISK;
	ledger_fill(&ledger, &thread, &record, &window);
	is_awaited(&ledger, KD_AWAITED_DISK, 1, END - START, END - START, "as it was seeded");
	thread.seed_awaited = 4711;
	ledger_fill(&ledger, &thread, &record, &window);
	is_awaited(&ledger, KD_AWAITED_OTHER, 1, END - START, END - START, "what is no kind");

	/* Booked, and the one that goes on. */
	thread = sleeper();
	record = booked(START + 300);
	record.ns[KD_USER] -= 120;
	record.ns[KD_BLOCKED] = 120;
	record.awaited[KD_AWAITED_LOCK] = (struct kd_cell){ GEN, 2, 120, 100 };
	record.awaited[KD_AWAITED_DISK] = (struct kd_cell){ GEN - 1, 9, 9, 9 };
	thread.since = START + 300;
	thread.awaited = KD_AWAITED_LOCK;
	ledger_fill(&ledger, &thread, &record, &window);
	is_balanced(&ledger, END - START, "a lock");
	is_awaited(&ledger, KD_AWAITED_LOCK, 3, END - START - 180, END - START - 300, "a lock");

	/* A trigger set the edge late: it had slept, and had woken. */
	record.first = START + 50;
	record.before = KD_BLOCKED_UNINT;
	record.before_awaited = KD_AWAITED_PAGE;
	record.ns[KD_USER] -= 50;
	ledger_fill(&ledger, &thread, &record, &window);
	is_balanced(&ledger, END - START, "a late edge");
	is_awaited(&ledger, KD_AWAITED_PAGE, 1, 50, 50, "a late edge");

	/* Booked beyond the end. */
	thread = sleeper();
	thread.since = END + 130;
	record = (struct kd_record){ .gen = GEN, .upto = END + 130, .last = KD_BLOCKED };
	record.ns[KD_BLOCKED] = END + 130 - START;
	record.last_awaited = KD_AWAITED_SOCKET;
	record.awaited[KD_AWAITED_SOCKET] = (struct kd_cell){ GEN, 1, END + 130 - START,
							      END + 130 - START };
	ledger_fill(&ledger, &thread, &record, &window);
	is_awaited(&ledger, KD_AWAITED_SOCKET, 1, END - START, END - START, "overshoot");
}

static void test_life(void)
{
	struct kd_thread thread = sleeper();
	struct kd_record record = { .gen = 0 };
	struct ledger ledger;

	thread.born = START + 100;
	thread.died = END - 200;
	thread.state = KD_DEAD;
	record = booked(END - 200);
	record.ns[KD_USER] = END - START - 300;
	ledger_fill(&ledger, &thread, &record, &window);
	is_balanced(&ledger, END - START - 300, "born and ended inside");

	thread.died = START - 1;
	is_i64(ledger_fill(&ledger, &thread, &record, &window), 0, "ended before the window");
	thread.died = 0;
	thread.born = END;
	is_i64(ledger_fill(&ledger, &thread, &record, &window), 0, "born after the window");
}

static void test_overlays(void)
{
	struct kd_thread thread = sleeper();
	struct kd_record record = booked(START + 1000);
	struct ledger ledger;

	record.ns[KD_USER] = 600;
	record.ns[KD_KERNEL] = 400;
	record.hardirq_ns = (struct kd_overlay){ GEN, { 100, 50 } };
	record.softirq_ns = (struct kd_overlay){ GEN, { 10, 500 } };
	thread.since = START + 1000;
	ledger_fill(&ledger, &thread, &record, &window);
	is_balanced(&ledger, END - START, "interrupts");
	is_u64(ledger.ns[LEDGER_HARDIRQ], 150, "hard ones");
	is_u64(ledger.ns[LEDGER_SOFTIRQ], 510, "soft ones");
	is_u64(ledger.ns[LEDGER_KERNEL], 0, "more than the kernel state had");
	is_u64(ledger.ns[LEDGER_USER], 340, "is taken from the other");

	record.hardirq_ns.in[0] = END; /* more than there was at all */
	ledger_fill(&ledger, &thread, &record, &window);
	is_balanced(&ledger, END - START, "too many interrupts");

	record.hardirq_ns.in[0] = 0;
	record.upto = END;
	record.ns[KD_USER] = END - START - 400;
	thread.hardirq = (struct kd_irq_frame){ .since = END - 70, .stolen = 20 };
	ledger_fill(&ledger, &thread, &record, &window);
	is_u64(ledger.ns[LEDGER_HARDIRQ], 50 + 50, "the one in progress at the end counts");
	is_balanced(&ledger, END - START, "interrupt in progress");
}

/* Interrupts in page faults, and in reclaim, are taken from those. */
static void test_faults(void)
{
	struct kd_thread thread = sleeper();
	struct kd_record record = booked(START + 1000);
	struct ledger ledger;

	record.ns[KD_USER] = 600;
	record.ns[KD_FAULT] = 300;
	record.ns[KD_RECLAIM] = 100;
	record.timed_faults = 5;
	record.hardirq_ns = (struct kd_overlay){ GEN, { 10, 0, 120, 30 } };
	thread.since = START + 1000;
	ledger_fill(&ledger, &thread, &record, &window);
	is_balanced(&ledger, END - START, "page faults");
	ok(ledger.ns[LEDGER_USER] == 590 && ledger.ns[LEDGER_FAULT] == 180 &&
		   ledger.ns[LEDGER_RECLAIM] == 70 && ledger.ns[LEDGER_HARDIRQ] == 160,
	   "interrupts are taken from what they hit");
	ok(ledger.irq_in[0] == 10 && ledger.irq_in[2] == 120, "which is kept");
	is_u64(ledger.timed_faults, 5, "so is the number of faults");
	is_u64(ledger_running(&ledger), 1000, "all of that is running");
}

static void test_exec(void)
{
	struct kd_thread thread = sleeper();
	struct kd_record record = booked(START + 1000);
	uint64_t minor = 0, major = 0;
	struct ledger ledger;

	thread.since = START + 1000;
	ledger_fill(&ledger, &thread, &record, &window);
	ok(!ledger.exec_known, "no readings: the kernel's count is not known");

	thread.readings[KD_AT_OPEN] = (struct kd_reading){ START - 10, 5000, 4000, 0, 7, 1, 0 };
	thread.readings[KD_AT_CLOSE] = (struct kd_reading){ END + 10, 6100, 5050, 0, 19, 4, 0 };
	ledger_fill(&ledger, &thread, &record, &window);
	ok(ledger.exec_known, "two readings: it is");
	is_u64(ledger.exec, 1000 + (1100 - 1050), "our running time, less the counts' difference");

	ledger_faults(&thread, &window, &minor, &major);
	ok(minor == 12 && major == 3, "and of page faults: their difference");

	thread.readings[KD_AT_OPEN].at = 0;
	minor = 77;
	ledger_faults(&thread, &window, &minor, &major);
	is_u64(minor, 77, "with one reading they are not known");
	ledger_fill(&ledger, &thread, &record, &window);
	ok(!ledger.exec_known, "one reading is not enough");
	thread.born = START + 1;
	ledger_fill(&ledger, &thread, &record, &window);
	ok(ledger.exec_known, "but it is for a thread born inside");
}

/* The kernel reported no switch-in, but found the thread running. */
static void test_unreported(void)
{
	struct kd_thread thread = sleeper();
	struct kd_record record = booked(START + 1000);
	struct ledger ledger;

	thread.state = KD_READY_PREEMPTED;
	thread.call = KD_CALL_NONE;
	thread.since = START + 1000;
	thread.readings[KD_AT_CLOSE] = (struct kd_reading){ END + 50, 900, 900, 350, 0, 0, 0 };
	ledger_fill(&ledger, &thread, &record, &window);
	is_balanced(&ledger, END - START, "unreported switch");
	is_u64(ledger.ns[LEDGER_USER], 1000 + 300, "it ran as long as the kernel counted");

	thread.state = KD_USER;
	ledger_fill(&ledger, &thread, &record, &window);
	is_balanced(&ledger, END - START, "a running thread needs no correction");
	is_u64(ledger.ns[LEDGER_USER], END - START, "it ran");
}

/* A trigger set the edge late: meanwhile the thread fell asleep and woke up. */
static void test_late_edge(void)
{
	struct kd_thread thread = sleeper();
	struct kd_record record = booked(END - 100);
	struct ledger ledger;

	thread.since = END - 100;
	record.ns[KD_USER] -= 300;
	record.first = START + 300;
	record.before = KD_READY_WOKEN;
	ledger_fill(&ledger, &thread, &record, &window);
	is_balanced(&ledger, END - START, "late edge");
	is_u64(ledger.ns[LEDGER_READY_WOKEN], 300, "what it did before is as it was");
	record.before = KD_UNSEEN;
	ledger_fill(&ledger, &thread, &record, &window);
	is_u64(ledger_sum(&ledger), END - START - 300, "and missing if that is not known");
	record.first = START - 300;
	record.before = KD_USER;
	record.ns[KD_USER] += 300;
	ledger_fill(&ledger, &thread, &record, &window);
	is_balanced(&ledger, END - START, "an edge in time");
}

static void test_open_calls(void)
{
	struct kd_thread thread = sleeper();
	struct kd_record record = booked(START);
	struct open_item calls[LEDGER_OPEN_ITEMS];

	is_u64(ledger_open_items(calls, &thread, &record, &window), 1, "one call in flight");
	is_i64(calls[0].number, 7, "its number");
	is_u64(calls[0].inside, END - START, "inside");
	ok(calls[0].at_start && calls[0].at_end && !calls[0].until, "at both edges, still open");

	record.open_start.call = (struct kd_open){ START - 5, START + 20, 1, 0 };
	record.open_end.call = (struct kd_open){ END - 30, END + 10, 202, 0 };
	thread.call_since = END + 40; /* a call of after the window */
	is_u64(ledger_open_items(calls, &thread, &record, &window), 2, "two that returned");
	is_u64(calls[0].inside, 20, "the first's share");
	ok(calls[0].at_start && !calls[0].at_end, "of the start");
	is_u64(calls[1].inside, 30, "the second's share");
	ok(!calls[1].at_start && calls[1].at_end, "of the end");

	record = booked(START);
	thread.call = KD_CALL_NONE;
	is_u64(ledger_open_items(calls, &thread, &record, &window), 0, "in user mode: none");
	thread.restart_call = 7;
	thread.restart_since = START + 5;
	is_u64(ledger_open_items(calls, &thread, &record, &window), 1, "one that may go on");
	thread.died = END - 1;
	is_u64(ledger_open_items(calls, &thread, &record, &window), 0, "not of a dead thread");

	thread = sleeper();
	thread.state = KD_UNSEEN;
	thread.seed_call = 232;
	is_u64(ledger_open_items(calls, &thread, &record, &window), 1, "unseen: the seed's call");
	is_u64(calls[0].since, 0, "since when is not known");
}

/* What the hypervisor took is no part of the running states, each of which loses its share. */
static void test_stolen(void)
{
	struct kd_thread thread = sleeper();
	struct kd_record record = booked(END - 100);
	uint64_t user = record.ns[KD_USER], kernel = record.ns[KD_KERNEL];
	struct ledger ledger;

	ledger_fill(&ledger, &thread, &record, &window);
	is_u64(ledger.ns[LEDGER_STOLEN], 0, "nothing");
	record.stolen = (struct kd_cell){ GEN, 2, (user + kernel) / 2, 7 };
	ledger_fill(&ledger, &thread, &record, &window);
	is_u64(ledger.ns[LEDGER_STOLEN], (user + kernel) / 2, "half of what it ran");
	is_u64(ledger.ns[LEDGER_USER] + ledger.ns[LEDGER_KERNEL],
	       user + kernel - (user + kernel) / 2, "which it did not run");
	ok(ledger.ns[LEDGER_USER] + 1 >= user - user / 2 &&
		   ledger.ns[LEDGER_USER] <= user - user / 2 + 1,
	   "user mode has lost half");
	is_u64(ledger_sum(&ledger), ledger.life, "the lines add up");
	record.stolen.total = END - START;
	ledger_fill(&ledger, &thread, &record, &window);
	is_u64(ledger.ns[LEDGER_STOLEN], user + kernel, "no more than it ran");
	is_u64(ledger_sum(&ledger), ledger.life, "and they still add up");
	record.stolen.gen = GEN - 1;
	ledger_fill(&ledger, &thread, &record, &window);
	is_u64(ledger.ns[LEDGER_STOLEN], 0, "of another window: nothing");
}

/* The clock was last looked at by the events before the window's end, then by the iterator. */
static void test_stolen_pending(void)
{
	struct kd_thread thread = sleeper();
	struct kd_record record = booked(START);
	struct ledger_window readings = window;
	struct ledger ledger;

	record.gen = 0; /* it has run throughout */
	thread.state = KD_USER;
	thread.on_cpu = 1;
	thread.since = thread.run_since = START - 1000;
	thread.call = KD_CALL_NONE;
	thread.steal = 1;
	thread.steal_at = END - 100;
	thread.stolen_ns = 500;
	thread.readings[KD_AT_CLOSE] = (struct kd_reading){ .at = END + 100, .stolen_ns = 540 };
	readings.has_readings = true;
	ledger_fill(&ledger, &thread, &record, &readings);
	is_u64(ledger.ns[LEDGER_STOLEN], 20, "half of it before the end");
	is_u64(ledger_sum(&ledger), ledger.life, "the lines add up");
	thread.steal_at = END;
	ledger_fill(&ledger, &thread, &record, &readings);
	is_u64(ledger.ns[LEDGER_STOLEN], 0, "it came after the end");
	thread.steal_at = END - 100;
	thread.steal = 0;
	ledger_fill(&ledger, &thread, &record, &readings);
	is_u64(ledger.ns[LEDGER_STOLEN], 0, "not known since when");
}

/* Waits, runs, stops and rounds that cross the edges, with their whole length. */
static void test_open_periods(void)
{
	struct kd_thread thread = sleeper();
	struct kd_record record = booked(END - 100);
	struct open_item items[LEDGER_OPEN_ITEMS];

	thread.call = KD_CALL_NONE;
	thread.state = KD_READY_PREEMPTED;
	thread.since = START - 180;
	is_u64(ledger_open_items(items, &thread, &record, &window), 1, "a wait throughout");
	ok(items[0].kind == OPEN_READY && items[0].at_start && items[0].at_end, "at both edges");
	is_u64(items[0].longest, END - START + 180, "its length so far");
	is_u64(items[0].inside, END - START, "its share of the window");

	thread.seen = START - 180;
	is_u64(ledger_open_items(items, &thread, &record, &window), 1, "from before tracing");
	ok(!items[0].since && items[0].longest == END - START + 180, "at least so long");
	thread.born = thread.seen;
	ledger_open_items(items, &thread, &record, &window);
	is_u64(items[0].since, START - 180, "or exactly, from its birth");

	record.open_start.period = (struct kd_open){ START - 180, START + 20, KD_READY_WOKEN, 0 };
	record.open_end.period = (struct kd_open){ END - 30, END + 10, KD_USER, 0 };
	thread.since = END + 10;
	is_u64(ledger_open_items(items, &thread, &record, &window), 2, "two that are over");
	ok(items[0].kind == OPEN_READY && !items[0].at_end && items[0].longest == 200,
	   "a wait that ended inside counts as a whole");
	ok(items[1].kind == OPEN_RUN && items[1].at_end && items[1].longest == 30,
	   "a run that ended later until the end");
	record.open_start.period.until = END + 5;
	record.open_end.period.until = 0;
	is_u64(ledger_open_items(items, &thread, &record, &window), 1, "one that spans the window");
	is_u64(items[0].longest, END - START + 180, "has its length so far");

	record = booked(END - 100);
	thread.state = KD_KERNEL;
	thread.since = END - 10;
	thread.run_since = START + 10;
	thread.poll_since = START - 7;
	is_u64(ledger_open_items(items, &thread, &record, &window), 2, "a run and a round go on");
	ok(items[0].kind == OPEN_RUN && items[0].longest == END - START - 10, "the run");
	ok(items[1].kind == OPEN_ROUND && items[1].longest == END - START + 7, "the round");
	thread.run_since = thread.poll_since = END;
	is_u64(ledger_open_items(items, &thread, &record, &window), 0, "later ones do not count");
	thread.state = KD_STOPPED;
	is_u64(ledger_open_items(items, &thread, &record, &window), 1, "a stop");
	ok(items[0].kind == OPEN_STOPPED, "is one");
	thread.state = KD_BLOCKED;
	is_u64(ledger_open_items(items, &thread, &record, &window), 0, "sleep is none");
	thread.state = KD_FROZEN;
	is_u64(ledger_open_items(items, &thread, &record, &window), 0, "nor is being frozen");
	thread.state = KD_STOPPED;
	thread.died = END - 5;
	is_u64(ledger_open_items(items, &thread, &record, &window), 0, "nor is death");
}

/* Whatever the maps hold, the books do not get out of hand. */
static void test_random(void)
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

int main(void)
{
	test_silent();
	test_tail();
	test_overshoot();
	test_awaited();
	test_life();
	test_overlays();
	test_faults();
	test_exec();
	test_unreported();
	test_late_edge();
	test_open_calls();
	test_open_periods();
	test_stolen();
	test_stolen_pending();
	test_random();
	return done_testing();
}
