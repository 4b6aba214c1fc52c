/* SPDX-License-Identifier: Apache-2.0 */
#include "text_window.h"

#include <stdio.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "cli/base/escape.h"
#include "cli/base/parse.h"
#include "cli/base/texts.h"
#include "cli/model/verdict.h"
#include "probes/trigger.h"
#include "text_parts.h"
#include "text_sentence.h"
#include "text_who.h"

/* --- What took the time --- */

#define FUNCTION_WIDTH 40 /* bytes of a name */

/* The function of a trigger, as it was given: "sqlite3_step" of "up:libsqlite3.so.0:sqlite3_step if
 * arg0 > 1". Escaped. */
static void function_text(char text[static ESCAPE_SIZE(FUNCTION_WIDTH)], const char *trigger)
{
	const char *name = trigger_function(trigger), *end = strstr(name, " if ");
	size_t length = end ? (size_t)(end - name) : strlen(name);

	escape_text(text, ESCAPE_SIZE(FUNCTION_WIDTH), name, u64_min(length, FUNCTION_WIDTH));
}

/* "sqlite3_step took 634 ms in client[4711]", "A round of main[1] took 169 ms", "curl[12] took
 * 3.20 s", "1.00 s of curl[12]" */
static void what_add(char *sentence, size_t size, const struct sample *sample)
{
	char start[ESCAPE_SIZE(FUNCTION_WIDTH)], stop[ESCAPE_SIZE(FUNCTION_WIDTH)], who[WHO_LEN];
	const struct thread_row *subject = sample->verdict->subject;
	const struct capture *capture = sample->capture;
	const bool triggered = sample_is_triggered(sample);
	/* A command may end before its window does. */
	const char *took = AS_TIME(triggered ? sample->end - sample->start : subject->ledger.life);

	text_who(who, subject->name, KD_COMM_LEN, subject->tid);
	if (!triggered && sample->target_exited) {
		text_append(sentence, size, "%s took %s", who, took);
	} else if (!triggered || !capture || !capture->start_trigger || !capture->stop_trigger) {
		text_append(sentence, size, "%s of %s", took, who);
	} else if (*capture->start_trigger == '-') { /* an option */
		text_append(sentence, size, "A round of %s took %s", who, took);
	} else {
		function_text(start, capture->start_trigger);
		function_text(stop, capture->stop_trigger);
		text_append(sentence, size, "%s%s%s took %s in %s", start,
			    strcmp(start, stop) ? " to " : "", strcmp(start, stop) ? stop : "",
			    took, who);
	}
}

/* --- What it was --- */

#define PARTS 12
#define PARTS_SHOWN 4
#define PART_LEAST 1 /* percent of the window: less is not worth words of its own */
#define PART_WIDTH 160
#define SLEEPS_SHOWN 2

struct part {
	uint64_t ns;
	char what[PART_WIDTH];
};

struct parts {
	struct part all[PARTS];
	size_t n;
};

static void part_add(struct parts *parts, uint64_t ns, const char *what)
{
	struct part *part = &parts->all[parts->n];

	if (!ns || parts->n == PARTS)
		return;
	part->ns = ns;
	snprintf(part->what, sizeof(part->what), "%s", what);
	parts->n++;
}

static bool is_same_sleep(const struct descriptor_row *a, const struct descriptor_row *b)
{
	return a->call == b->call && !strncmp(a->wchan, b->wchan, sizeof(a->wchan));
}

/* "asleep in hrtimer_nanosleep (clock_nanosleep)" */
static void sleep_text(char text[static PART_WIDTH], const struct sample *sample,
		       const struct descriptor_row *sleep)
{
	char wchan[TEXT_WCHAN], call[TEXT_CALL];
	char asked[ESCAPE_SIZE(DESCRIPTOR_ADDRESS_LEN)];
	const bool in_call = sleep->call >= 0;

	text_wchan(wchan, sleep->wchan);
	if (in_call)
		text_call(sample, (uint32_t)sleep->call, call);
	if (*wchan)
		snprintf(text, PART_WIDTH, in_call ? "asleep in %s (%s)" : "asleep in %s", wchan,
			 call);
	else
		snprintf(text, PART_WIDTH, in_call ? "asleep in %s" : "asleep", call);
	if (!sleep->unanswered || !*sleep->asked)
		return;
	escape_text(asked, sizeof(asked), sleep->asked, sizeof(sleep->asked));
	text_append(text, PART_WIDTH, " without an answer from %.100s", asked);
}

/* Time of all sleeps like this row's; 0 if one before it has them. */
static uint64_t sleep_sum(const struct thread_row *thread, size_t i)
{
	const struct descriptor_row *rows = thread->descriptors;
	uint64_t ns = 0;

	for (size_t j = 0; j < thread->n_descriptors; j++) {
		if (!is_same_sleep(&rows[i], &rows[j]) || rows[j].shorter)
			continue;
		if (j < i)
			return 0;
		ns = u64_add(ns, rows[j].waits.total);
	}
	return ns;
}

/* The sleeps with most of the time, and the others together. Rows may begin before the window. */
static void sleeps_add(struct parts *parts, const struct sample *sample,
		       const struct thread_row *thread)
{
	uint64_t left = ledger_blocked(&thread->ledger), above = UINT64_MAX;
	char text[PART_WIDTH];

	for (size_t n = 0; n < SLEEPS_SHOWN; n++) {
		const struct descriptor_row *most = NULL;
		uint64_t ns = 0;

		for (size_t i = 0; i < thread->n_descriptors; i++) {
			const struct descriptor_row *row = &thread->descriptors[i];
			uint64_t sum = row->shorter || descriptor_row_is_others(row)
					       ? 0
					       : sleep_sum(thread, i);

			if (sum > ns && sum < above) {
				most = row;
				ns = sum;
			}
		}
		if (!most)
			break;
		above = ns;
		sleep_text(text, sample, most);
		part_add(parts, u64_min(ns, left), text);
		left = u64_sub(left, ns);
	}
	part_add(parts, left, parts->n ? "asleep elsewhere" : "asleep");
}

/* Behind whom it waited for a CPU. */
static void ready_add(struct parts *parts, const struct sample *sample, uint64_t ns)
{
	char text[PART_WIDTH] = "ready", who[WHO_LEN];
	const struct verdict *verdict = sample->verdict;

	for (size_t i = 0; i < verdict->n_rows; i++) {
		const struct verdict_row *row = &verdict->rows[i];

		if ((row->cause == CAUSE_TASK || row->cause == CAUSE_OWN_THREADS) &&
		    row->culprits == 1 && row->ns > ns / 2 && *text_row_who(who, row)) {
			snprintf(text, sizeof(text), "ready behind %.120s", who);
			break;
		}
	}
	part_add(parts, ns, text);
}

static int part_order(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return ORDER(y->ns, x->ns);
}

static void parts_find(struct parts *parts, const struct sample *sample)
{
	static const struct {
		enum ledger_state state;
		const char *words;
	} others[] = {
		{ LEDGER_THROTTLED, "throttled" },
		{ LEDGER_STOLEN, "without the CPU, which the hypervisor took" },
		{ LEDGER_STOPPED, "stopped" },
		{ LEDGER_FROZEN, "frozen" },
	};
	const struct thread_row *subject = sample->verdict->subject;
	const struct ledger *ledger = &subject->ledger;

	sleeps_add(parts, sample, subject);
	part_add(parts, ledger_running(ledger), "running");
	ready_add(parts, sample,
		  u64_add(ledger->ns[LEDGER_READY_WOKEN], ledger->ns[LEDGER_READY_PREEMPTED]));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		part_add(parts, ledger->ns[others[i].state], others[i].words);
	ARRAY_SORT(parts->all, parts->n, part_order);
}

bool text_window(char *sentence, size_t size, const struct sample *sample)
{
	struct parts parts = { .n = 0 };
	uint64_t rest = 0;
	size_t shown = 0;

	if (!sample->verdict->subject)
		return false;
	*sentence = '\0';
	parts_find(&parts, sample);
	what_add(sentence, size, sample);
	for (; shown < parts.n && shown < PARTS_SHOWN; shown++) {
		const struct part *part = &parts.all[shown];

		if (u64_times(part->ns, 100) < u64_times(sample->end - sample->start, PART_LEAST))
			break;
		text_append(sentence, size, "%s%s %s", shown ? ", " : ": ", AS_TIME(part->ns),
			    part->what);
	}
	for (size_t i = shown; i < parts.n; i++)
		rest = u64_add(rest, parts.all[i].ns);
	if (rest)
		text_append(sentence, size, "%s%s else", shown ? ", " : ": ", AS_TIME(rest));
	text_append(sentence, size, ".");
	return true;
}
