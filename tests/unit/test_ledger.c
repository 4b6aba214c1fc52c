/* SPDX-License-Identifier: Apache-2.0 */
/* The books of a thread, from the states of the kernel side. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../cli/ledger.h"
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
		.open_start.call = KD_CALL_NONE,
		.open_end.call = KD_CALL_NONE,
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
	record.hardirq_ns = (struct kd_overlay){ GEN - 1, 50, 50 };
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
	record.hardirq_ns = (struct kd_overlay){ GEN, 100, 50 };
	record.softirq_ns = (struct kd_overlay){ GEN, 10, 500 };
	thread.since = START + 1000;
	ledger_fill(&ledger, &thread, &record, &window);
	is_balanced(&ledger, END - START, "interrupts");
	is_u64(ledger.ns[LEDGER_HARDIRQ], 150, "hard ones");
	is_u64(ledger.ns[LEDGER_SOFTIRQ], 510, "soft ones");
	is_u64(ledger.ns[LEDGER_KERNEL], 0, "more than the kernel state had");
	is_u64(ledger.ns[LEDGER_USER], 340, "is taken from the other");

	record.hardirq_ns.in_user = END; /* more than there was at all */
	ledger_fill(&ledger, &thread, &record, &window);
	is_balanced(&ledger, END - START, "too many interrupts");

	record.hardirq_ns.in_user = 0;
	record.upto = END;
	record.ns[KD_USER] = END - START - 400;
	thread.hardirq = (struct kd_irq_frame){ END - 70, 20 };
	ledger_fill(&ledger, &thread, &record, &window);
	is_u64(ledger.ns[LEDGER_HARDIRQ], 50 + 50, "the one in progress at the end counts");
	is_balanced(&ledger, END - START, "interrupt in progress");
}

static void test_exec(void)
{
	struct kd_thread thread = sleeper();
	struct kd_record record = booked(START + 1000);
	struct ledger ledger;

	thread.since = START + 1000;
	ledger_fill(&ledger, &thread, &record, &window);
	ok(!ledger.exec_known, "no readings: the kernel's count is not known");

	thread.readings[KD_AT_OPEN] = (struct kd_reading){ START - 10, 5000, 4000, 0 };
	thread.readings[KD_AT_CLOSE] = (struct kd_reading){ END + 10, 6100, 5050, 0 };
	ledger_fill(&ledger, &thread, &record, &window);
	ok(ledger.exec_known, "two readings: it is");
	is_u64(ledger.exec, 1000 + (1100 - 1050), "our running time, less the counts' difference");

	thread.readings[KD_AT_OPEN].at = 0;
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
	thread.readings[KD_AT_CLOSE] = (struct kd_reading){ END + 50, 900, 900, 350 };
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
	struct open_call calls[2];

	is_u64(ledger_open_calls(calls, &thread, &record, &window), 1, "one call in flight");
	is_i64(calls[0].number, 7, "its number");
	is_u64(calls[0].inside, END - START, "inside");
	ok(calls[0].at_start && calls[0].at_end && !calls[0].until, "at both edges, still open");

	record.open_start = (struct kd_open_call){ START - 5, START + 20, 1, 0 };
	record.open_end = (struct kd_open_call){ END - 30, END + 10, 202, 0 };
	thread.call_since = END + 40; /* a call of after the window */
	is_u64(ledger_open_calls(calls, &thread, &record, &window), 2, "two that returned");
	is_u64(calls[0].inside, 20, "the first's share");
	ok(calls[0].at_start && !calls[0].at_end, "of the start");
	is_u64(calls[1].inside, 30, "the second's share");
	ok(!calls[1].at_start && calls[1].at_end, "of the end");

	record = booked(START);
	thread.call = KD_CALL_NONE;
	is_u64(ledger_open_calls(calls, &thread, &record, &window), 0, "in user mode: none");
	thread.restart_call = 7;
	thread.restart_since = START + 5;
	is_u64(ledger_open_calls(calls, &thread, &record, &window), 1, "one that may go on");
	thread.died = END - 1;
	is_u64(ledger_open_calls(calls, &thread, &record, &window), 0, "not of a dead thread");

	thread = sleeper();
	thread.state = KD_UNSEEN;
	thread.seed_call = 232;
	is_u64(ledger_open_calls(calls, &thread, &record, &window), 1, "unseen: the seed's call");
	is_u64(calls[0].since, 0, "since when is not known");
}

/* Whatever the maps hold, the books do not get out of hand. */
static void test_random(void)
{
	unsigned char bytes[sizeof(struct kd_thread)];
	struct kd_thread thread;
	struct kd_record record;
	struct open_call calls[2];
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
		if (ledger_open_calls(calls, &thread, &record, &window) > 2)
			faults++;
	}
	is_i64(faults, 0, "random records: no life longer than the window");
}

int main(void)
{
	test_silent();
	test_tail();
	test_overshoot();
	test_life();
	test_overlays();
	test_exec();
	test_unreported();
	test_late_edge();
	test_open_calls();
	test_random();
	return done_testing();
}
