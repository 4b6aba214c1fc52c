/* SPDX-License-Identifier: Apache-2.0 */
#include "text_thread.h"

#include <stdio.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/parse.h"
#include "cli/base/syscall_set.h"
#include "cli/model/rows.h"
#include "cli/model/words.h"
#include "text_culprits.h"
#include "text_distributions.h"
#include "text_parts.h"
#include "text_resources.h"

#define INDENT TEXT_INDENT
#define NAME_WIDTH TEXT_NAME_WIDTH
#define BRIEF_ROWS TEXT_BRIEF_ROWS
#define CALLS_HEADER "NAME                 NUMBER       COUNT          TOTAL ns            MAX ns"

/* True if below 1 % of a thread's life, and so left out of a brief block. */
static bool is_small(const struct text *text, const struct thread_row *thread, uint64_t ns)
{
	return text->brief && u64_times(ns, 100) < thread->ledger.life;
}

static bool is_poll(const struct text *text, uint32_t call)
{
	const char *name = text->sample->foreign_calls ? NULL : syscall_name(call);

	return name &&
	       (!strcmp(name, "poll") || !strcmp(name, "ppoll") || !strcmp(name, "ppoll_time64"));
}

void text_thread_id(struct text *text, const struct thread_row *thread)
{
	struct columns *columns = &text->columns;

	if (thread->members > 1)
		text_times(columns, thread->members, 10);
	else
		columns_count(columns, (uint64_t)thread->tid, 10);
	columns_add(columns, " ");
	text_thread_name(columns, text->sample, thread->name,
			 thread->members > 1 ? 0 : thread->tid);
}

static void call_line(struct text *text, const struct call_row *call)
{
	struct columns *columns = &text->columns;

	columns_add(columns, INDENT);
	text_call_columns(columns, text->sample, call->number);
	columns_add(columns, "  ");
	text_figures(text, TEXT_FIGURES(TEXT_COUNT(call->count, 10), TEXT_NS(call->total, 16),
					TEXT_NS(call->max, 16), TEXT_BEGAN(call->began)));
}

static void calls_total(struct text *text, uint64_t count, uint64_t total)
{
	struct columns *columns = &text->columns;

	if (!count)
		return;
	columns_add(columns, INDENT);
	/* Poll has an unknown number on other architectures. */
	columns_left(columns, text->sample->foreign_calls ? "TOTAL:" : "TOTAL( - poll):", 27 + 2);
	text_figures(text, TEXT_FIGURES(TEXT_COUNT(count, 10), TEXT_NS(total, 16)));
}

static void calls_full(struct text *text, const struct thread_row *thread)
{
	uint64_t count = 0, total = 0;

	columns_add(&text->columns, " [SYSCALL STATISTICS]\n" INDENT);
	columns_add(&text->columns, CALLS_HEADER TEXT_BEGAN_TITLE "\n");
	for (size_t i = 0; i < thread->n_calls; i++) {
		const struct call_row *call = &thread->calls[i];

		if (!call->count)
			continue; /* see in_flight() */
		call_line(text, call);
		if (is_poll(text, call->number))
			continue;
		count += call->count;
		total += call->total;
	}
	calls_total(text, count, total);
}

/* Calls with the most time. */
static void calls_brief(struct text *text, const struct thread_row *thread)
{
	struct text_list list = TEXT_LIST(thread->calls, thread->n_calls, count,
					  thread->ledger.life);
	struct text_cut cut;

	columns_add(&text->columns, "\n");
	while (list.n && !thread->calls[list.n - 1].count)
		list.n--; /* see in_flight() */
	cut = text_cut(text, &list, BRIEF_ROWS);
	if (!text_has_lines(&cut, &list))
		return;
	text_section(text, "[SYSCALL STATISTICS]", CALLS_HEADER);
	for (size_t i = 0; i < cut.shown; i++)
		call_line(text, &thread->calls[i]);
	text_others(text, &cut, NAME_WIDTH + 7);
}

static void span_section(struct text *text, const char *title, const char *header,
			 const struct kd_span *span, uint64_t time)
{
	text_line_section(text, title, header,
			  TEXT_FIGURES(TEXT_COUNT(span->count, 10), TEXT_NS(time, 16),
				       TEXT_NS(span->min, 16), TEXT_NS(span->max, 16),
				       TEXT_BEGAN(span->began)));
}

static void waits(struct text *text, const char *title, const char *header,
		  const struct kd_count *count)
{
	text_line_section(text, title, header,
			  TEXT_FIGURES(TEXT_COUNT(count->count, 10), TEXT_NS(count->total, 16),
				       TEXT_NS(count->max, 16), TEXT_BEGAN(count->began)));
}

struct sleeps {
	unsigned int kind;
	struct kd_count counts;
};

/* Sorts a thread's sleeps, largest sum first. */
static size_t awaited_sort(const struct ledger *ledger, struct sleeps sleeps[KD_AWAITED_KINDS])
{
	size_t n = 0;

	for (unsigned int kind = 0; kind < KD_AWAITED_KINDS; kind++) {
		size_t at = n;

		if (!ledger->awaited[kind].count)
			continue;
		for (; at && sleeps[at - 1].counts.total < ledger->awaited[kind].total; at--)
			sleeps[at] = sleeps[at - 1];
		sleeps[at] = (struct sleeps){ kind, ledger->awaited[kind] };
		n++;
	}
	return n;
}

/* Adds the kernel function, which may exceed its column. */
static void awaited_title(struct columns *columns, const struct thread_row *thread,
			  unsigned int kind)
{
	char title[sizeof("kernel ()") + KD_FUNCTION_LEN];

	snprintf(title, sizeof(title), "kernel (%.*s)", KD_FUNCTION_LEN, thread->kernel_function);
	if (kind == KD_AWAITED_KERNEL && *thread->kernel_function)
		columns_pad(columns, columns_foreign(columns, title, sizeof(title), sizeof(title)),
			    NAME_WIDTH);
	else
		columns_left(columns, awaited_titles[kind], NAME_WIDTH);
}

#define BLOCKED_HEADER "FOR                        COUNT          TOTAL ns            MAX ns"

static void blocked(struct text *text, const struct thread_row *thread)
{
	const struct ledger *ledger = &thread->ledger;
	struct columns *columns = &text->columns;
	struct sleeps sleeps[KD_AWAITED_KINDS];
	const struct text_list list = TEXT_LIST(sleeps, awaited_sort(ledger, sleeps), counts,
						ledger->life);
	const struct text_cut cut = text_cut(text, &list, BRIEF_ROWS);

	if (!text_has_lines(&cut, &list))
		return;
	text_section(text, "[THREAD BLOCKED STATISTICS]",
		     text->brief ? BLOCKED_HEADER : BLOCKED_HEADER TEXT_BEGAN_TITLE);
	for (size_t i = 0; i < cut.shown; i++) {
		const struct kd_count *count = &sleeps[i].counts;

		columns_add(columns, INDENT);
		awaited_title(columns, thread, sleeps[i].kind);
		columns_gap_count(columns, count->count, 10);
		columns_gap_ns(columns, count->total, 16);
		columns_gap_ns(columns, count->max, 16);
		text_began(text, count->began);
		if (count->max == ledger->asleep[sleeps[i].kind].max)
			columns_add(columns, " so far");
		columns_add(columns, count->max > count->total ? " began before\n" : "\n");
	}
	text_others(text, &cut, NAME_WIDTH);
}

static void percent_column(struct columns *columns, uint64_t part, uint64_t total)
{
	columns_add(columns, "  ");
	columns_right(columns, AS_PERCENT(part, total), 7);
}

static void ledger_line(struct columns *columns, const char *label, uint64_t ns, uint64_t life)
{
	columns_add(columns, INDENT);
	columns_left(columns, label, 24);
	columns_gap_ns(columns, ns, 18);
	percent_column(columns, ns, life);
	columns_add(columns, "\n");
}

/* Adds the kernel's own count and our signed difference. */
static void ledger_check(struct columns *columns, const struct ledger *ledger)
{
	uint64_t running = ledger_running(ledger);
	bool negative = running < ledger->exec;
	uint64_t off = negative ? ledger->exec - running : running - ledger->exec;
	char number[NUMBER_LEN + 1] = "-";

	if (!ledger->has_exec) {
		columns_add(columns, INDENT "KERNEL'S COUNT                       unknown\n");
		return;
	}
	ledger_line(columns, "KERNEL'S COUNT", ledger->exec, ledger->life);
	number_grouped(number + negative, off);
	columns_print(columns, INDENT "RESIDUAL                  %18s", number);
	number_percent(number + negative, off, ledger->life);
	columns_print(columns, "  %7s\n", number);
}

/* A line for one other state is no shorter than its own. */
static void states(struct text *text, const struct thread_row *thread)
{
	const struct ledger *ledger = &thread->ledger;
	uint64_t others_ns = 0;
	size_t others = 0;
	char label[24];

	for (size_t i = 0; i < LEDGER_STATES; i++)
		if (ledger->ns[i] && is_small(text, thread, ledger->ns[i])) {
			others_ns += ledger->ns[i];
			others++;
		}
	for (size_t i = 0; i < LEDGER_STATES; i++)
		if (text->brief ? ledger->ns[i] &&
					  (others < 2 || !is_small(text, thread, ledger->ns[i]))
				: ledger->ns[i] || !ledger_words[i].rare)
			ledger_line(&text->columns, ledger_words[i].title, ledger->ns[i],
				    ledger->life);
	snprintf(label, sizeof(label), "and %zu others", others);
	if (others > 1)
		ledger_line(&text->columns, label, others_ns, ledger->life);
}

static void thread_time(struct text *text, const struct thread_row *thread)
{
	static const char header[] = "STATE                               TOTAL ns        %";
	struct columns *columns = &text->columns;
	const struct ledger *ledger = &thread->ledger;
	char ended[NUMBER_LEN + 40] = "(ended during the sample)";

	if (thread->members > 1)
		snprintf(ended, sizeof(ended), "(%s threads, ended during the sample)",
			 GROUPED(thread->members));
	text_section(text, "[THREAD TIME]", thread->ended ? ended : header);
	if (thread->ended) {
		columns_add(columns, INDENT);
		columns_add(columns, header);
		columns_add(columns, "\n");
	}
	states(text, thread);
	ledger_line(columns, "SUM", ledger_sum(ledger), ledger->life);
	if (text->brief)
		return;
	ledger_line(columns, "RUNNING", ledger_running(ledger), ledger->life);
	ledger_check(columns, ledger);
}

static void switches(struct text *text, const struct thread_row *thread)
{
	struct columns *columns = &text->columns;
	enum ledger_state state;
	char cpus[TEXT_CPUS];

	if (thread_is_silent(thread, &state))
		return;
	text_section(text, "[THREAD SWITCHES]", "VOLUNTARY   INVOLUNTARY   MIGRATIONS  CPUS");
	columns_add(columns, INDENT);
	columns_count(columns, thread->voluntary, 9);
	columns_gap_count(columns, thread->involuntary, 12);
	columns_gap_count(columns, thread->migrations, 11);
	columns_add(columns, "  ");
	text_cpus(cpus, sizeof(cpus), thread->cpus, thread->cpus_beyond);
	columns_add(columns, cpus);
	columns_add(columns, "\n");
}

static void migrations(struct text *text, const struct thread_row *thread)
{
	/* Older files have no causes. */
	if (!(thread->wakeup_migrations | thread->balance_migrations | thread->affinity_migrations |
	      thread->other_migrations))
		return;
	text_section(text, "[MIGRATIONS]",
		     "     WAKEUP        BALANCE       AFFINITY          OTHER");
	columns_add(&text->columns, INDENT);
	text_figures(text, TEXT_FIGURES(TEXT_COUNT(thread->wakeup_migrations, 11),
					TEXT_COUNT(thread->balance_migrations, 13),
					TEXT_COUNT(thread->affinity_migrations, 13),
					TEXT_COUNT(thread->other_migrations, 13)));
}

static void page_faults(struct text *text, const struct thread_row *thread)
{
	if (!thread->minor_faults && !thread->major_faults)
		return;
	text_section(text, "[PAGE FAULTS]", "        MINOR          MAJOR");
	columns_add(&text->columns, INDENT);
	text_figures(text, TEXT_FIGURES(TEXT_COUNT(thread->minor_faults, 13),
					TEXT_COUNT(thread->major_faults, 13)));
}

static void in_flight_name(struct text *text, const struct open_item *item)
{
	static const char *const names[OPEN_KINDS] = {
		[OPEN_CALL] = "[unknown]",     [OPEN_READY] = "(ready)",
		[OPEN_RUN] = "(running)",      [OPEN_STOPPED] = "(stopped)",
		[OPEN_ROUND] = "(poll round)",
	};
	struct columns *columns = &text->columns;

	if (item->kind == OPEN_CALL && item->number >= 0) {
		text_call_columns(columns, text->sample, (uint32_t)item->number);
	} else {
		columns_left(columns, names[item->kind], NAME_WIDTH);
		columns_add(columns, "      -");
	}
}

static void in_flight_row(struct text *text, const struct open_item *item)
{
	struct columns *columns = &text->columns;
	const uint64_t start = text->sample->start;

	columns_add(columns, INDENT);
	in_flight_name(text, item);
	columns_gap_ns(columns, item->inside, 16);
	columns_add(columns, "  ");
	columns_left(columns, !item->at_start ? "end" : item->at_end ? "both" : "start", 5);
	columns_add(columns, "  ");
	if (!item->at_start)
		columns_right(columns, "-", 17);
	else if (!item->since)
		columns_right(columns, "unknown", 17);
	else
		columns_ns(columns, start > item->since ? start - item->since : 0, 17);
	columns_gap_ns(columns, item->longest, 16);
	columns_add(columns, item->at_end              ? "  still open"
			     : item->kind == OPEN_CALL ? "  returned"
						       : "  ended");
	if (item->count > 1)
		columns_print(columns, ", %s %s", GROUPED(item->count),
			      item->kind == OPEN_CALL ? "calls" : "of them");
	columns_add(columns, "\n");
}

static void in_flight(struct text *text, const struct thread_row *thread)
{
	struct columns *columns = &text->columns;
	size_t n = 0, shown = 0;
	uint64_t others_ns = 0;

	for (size_t i = 0; i < thread->n_open; i++)
		n += !is_small(text, thread, thread->open[i].inside);
	if (!n)
		return;
	if (text->brief && n > BRIEF_ROWS)
		n = BRIEF_ROWS;
	text_section(text, "[IN FLIGHT]",
		     "NAME                 NUMBER         INSIDE ns  EDGE     BEFORE START ns"
		     "        LONGEST ns  AT END");
	for (size_t i = 0; i < thread->n_open; i++) {
		/* A line for one other item is no shorter than its own. */
		if (thread->n_open > n + 1 &&
		    (shown == n || is_small(text, thread, thread->open[i].inside))) {
			others_ns = u64_add(others_ns, thread->open[i].inside);
			continue;
		}
		in_flight_row(text, &thread->open[i]);
		shown++;
	}
	if (shown == thread->n_open)
		return;
	text_others_label(columns, thread->n_open - shown, NAME_WIDTH + 7);
	columns_gap_ns(columns, others_ns, 16);
	columns_add(columns, "\n");
}

/* --- Below a lock's row: its variable, the waiters, and what its holder did --- */

/* Adds the variable that contains the lock. */
static void lock_location(struct columns *columns, const struct lock_row *lock)
{
	if (!lock->object)
		return;
	columns_add(columns, TEXT_INDENT "    is ");
	if (*lock->object == '[') {
		columns_add(columns, "in ");
		columns_foreign(columns, lock->object, SIZE_MAX, SIZE_MAX);
		columns_add(columns, "\n");
		return;
	}
	if (lock->symbol)
		columns_foreign(columns, lock->symbol, SIZE_MAX, SIZE_MAX);
	else
		columns_add(columns, "at ");
	if (lock->offset || !lock->symbol) {
		columns_add(columns, lock->symbol ? "+" : "");
		columns_hex(columns, lock->offset);
	}
	columns_add(columns, " [");
	columns_foreign(columns, lock->object, SIZE_MAX, SIZE_MAX);
	columns_add(columns, "]\n");
}

/* Adds what the holder did, if there is a known one. */
static void lock_meanwhile(struct text *text, const struct lock_row *lock)
{
	struct columns *columns = &text->columns;
	const struct kd_activity *activity = &lock->meanwhile;
	const uint64_t total = lock->waits.total;
	char buffer[TEXT_CALL];

	/* Unknown for a thread that is not tracked. */
	const bool tracked = activity->running + activity->ready + activity->asleep;

	if (!tracked && lock->holder && lock->holder_pid)
		columns_print(columns,
			      INDENT "    held by process %d, of which this report knows no more\n",
			      (int)lock->holder_pid);
	if (!tracked || !lock->holder)
		return;
	columns_add(columns, TEXT_INDENT "    meanwhile ");
	if (!columns_foreign(columns, lock->holder_name, KD_COMM_LEN, KD_COMM_LEN))
		columns_add(columns, "it");
	columns_print(columns, " ran %s %%, was ready without a CPU %s %%, slept %s %%",
		      AS_PERCENT(activity->running, total), AS_PERCENT(activity->ready, total),
		      AS_PERCENT(activity->asleep, total));
	if (activity->asleep && lock->slept_in >= 0)
		columns_print(columns, ", last in %s",
			      text_call(text->sample, (uint32_t)lock->slept_in, buffer));
	if (lock->others)
		columns_print(columns, "; %s ended by others who had it in between",
			      GROUPED(lock->others));
	columns_add(columns, "\n");
}

static void lock_below(struct text *text, const void *row)
{
	struct columns *columns = &text->columns;
	const struct lock_row *lock = row;

	lock_location(columns, lock);
	if (lock->called_from) {
		columns_add(columns, TEXT_INDENT "    longest wait in ");
		columns_foreign(columns, lock->called_from, SIZE_MAX, SIZE_MAX);
		columns_add(columns, "\n");
	}
	lock_meanwhile(text, lock);
}

#define FOLLOWED_LEAST 90 /* percent of the time asleep */

/* Over which part of the time asleep chains speak, unless that is nearly all of it. */
static void followed(struct text *text, const struct thread_row *thread)
{
	const uint64_t asleep = ledger_blocked(&thread->ledger);

	if (thread->followed &&
	    u64_times(thread->followed, 100) < u64_times(asleep, FOLLOWED_LEAST))
		columns_print(&text->columns,
			      TEXT_INDENT "sleeps of %s ns were followed, of %s ns asleep\n",
			      GROUPED(thread->followed), GROUPED(asleep));
}

/* Section on sleeps with a timeout; nothing if none lasted that long. */
static void text_timers(struct text *text, const struct thread_row *thread)
{
	const struct kd_overslept *overslept = &thread->overslept;

	if (!is_small(text, thread, overslept->by.total))
		text_line_section(text, "[TIME-OUTS]",
				  "     COUNT       REQUESTED ns     OVERSLEPT ns"
				  "            MAX ns          SLACK ns",
				  TEXT_FIGURES(TEXT_COUNT(overslept->by.count, 10),
					       TEXT_NS(overslept->requested, 17),
					       TEXT_NS(overslept->by.total, 15),
					       TEXT_NS(overslept->by.max, 16),
					       TEXT_NS(overslept->slack, 16),
					       TEXT_BEGAN(overslept->by.began)));
}

/* --- Interruptions: sums by cause --- */

static void sum_row(struct text *text, const char *title, const struct interruption_sum *sum)
{
	struct columns *columns = &text->columns;
	const struct durations times = { .ended = &sum->times, .max = sum->count.max };

	if (!sum->count.count)
		return;
	columns_add(columns, TEXT_INDENT);
	columns_left(columns, title, TEXT_NAME_WIDTH + 2);
	text_figures(text, TEXT_FIGURES(TEXT_COUNT(sum->count.count, 10),
					TEXT_NS(sum->count.total, 16), TEXT_NS(sum->count.max, 16),
					TEXT_NS(durations_permille(&times, 500), 14),
					TEXT_NS(durations_permille(&times, 990), 14),
					TEXT_BEGAN(sum->count.began)));
}

#define INTERRUPTED_HEADER                                                                         \
	"BY                         COUNT          TOTAL ns            MAX ns"                     \
	"          P50 ns          P99 ns"

/* Section on interruptions of a thread; nothing without --interruptions. */
static void text_interruptions(struct text *text, const struct thread_row *thread)
{
	const struct interruption_sum *sums = thread_interrupted(thread);

	if (!sums[INTERRUPTION_CAUSES].count.count)
		return;
	text_section(text, "[INTERRUPTIONS]",
		     text->brief ? INTERRUPTED_HEADER : INTERRUPTED_HEADER TEXT_BEGAN_TITLE);
	for (int i = 0; i < INTERRUPTION_CAUSES; i++)
		sum_row(text, interruption_titles[i], &sums[i]);
	sum_row(text, "all", &sums[INTERRUPTION_CAUSES]);
}

/* --- All sections --- */

static void calls(struct text *text, const struct thread_row *thread)
{
	if (text->brief)
		calls_brief(text, thread);
	else
		calls_full(text, thread);
}

static void rounds(struct text *text, const struct thread_row *thread)
{
	span_section(text, "[LONG POLL STATISTICS]",
		     "COUNT             AVERAGE ns            MIN ns            MAX ns",
		     &thread->long_poll,
		     thread->long_poll.total / u64_max(thread->long_poll.count, 1));
}

static void runs(struct text *text, const struct thread_row *thread)
{
	span_section(text, "[THREAD RUN STATISTICS]",
		     "SCHED_CNT           TOTAL ns            MIN ns            MAX ns",
		     &thread->run, thread->run.total);
}

static void ready(struct text *text, const struct thread_row *thread)
{
	waits(text, "[THREAD READY STATISTICS]", "SCHED_CNT           TOTAL ns            MAX ns",
	      &thread->ready);
}

static void stopped(struct text *text, const struct thread_row *thread)
{
	waits(text, "[THREAD STOPPED STATISTICS]", "STOP_CNT            TOTAL ns            MAX ns",
	      &thread->stopped);
}

static void distributions(struct text *text, const struct thread_row *thread)
{
	text_distributions(&text->columns, text->sample, thread);
}

/* In order. A section is that of a list, or has a function; both write nothing if there is
 * nothing. */
static const struct section {
	void (*write)(struct text *text, const struct thread_row *thread);
	const struct row_list *list;
	void (*below)(struct text *text, const void *row); /* adds lines after each row */
	void (*after)(struct text *text, const struct thread_row *thread); /* after all of them */
	bool full; /* not in a brief block */
} sections[] = {
	/* clang-format off */
	{ .write = calls },
	{ .write = rounds },
	{ .write = runs, .full = true },
	{ .write = ready },
	{ .write = text_culprits },
	{ .write = blocked },
	{ .write = text_timers },
	{ .list = &lock_list, .below = lock_below },
	{ .list = &descriptor_list },
	{ .list = &chain_list, .after = followed },
	{ .write = text_io },
	{ .list = &block_list },
	{ .write = text_counters },
	{ .write = stopped },
	{ .list = &stop_list },
	{ .list = &hardirq_list },
	{ .list = &softirq_list },
	{ .write = text_interruptions },
	{ .write = thread_time },
	{ .write = switches, .full = true },
	{ .write = migrations, .full = true },
	{ .list = &mover_list, .full = true },
	{ .write = page_faults, .full = true },
	{ .write = in_flight },
	{ .write = distributions },
	/* clang-format on */
};

static void list_write(struct text *text, const struct thread_row *thread,
		       const struct section *section)
{
	const struct row_list *list = section->list;
	const struct field *field = thread_fields;
	const void *rows;
	size_t n;

	while (field->list != list)
		field++;
	rows = row_list_of(field, thread, &n);
	if (list->state && is_small(text, thread, thread->ledger.ns[list->state]))
		return;
	if (text_rows(text, list, rows, n, list->of_life ? thread->ledger.life : 0,
		      section->below) &&
	    section->after)
		section->after(text, thread);
}

static void silent_threads(struct text *text, const struct thread_row *thread,
			   enum ledger_state state)
{
	struct columns *columns = &text->columns;
	const struct ledger *ledger = &thread->ledger;
	char buffer[TEXT_CALL];

	columns_print(columns, " [THREAD TIME] %s %s ns %s %%, no event in the window",
		      ledger_words[state].title, GROUPED(ledger->ns[state]),
		      AS_PERCENT(ledger->ns[state], ledger->life));
	for (size_t i = 0; i < thread->n_open; i++) {
		const struct open_item *call = &thread->open[i];

		if (call->kind != OPEN_CALL)
			continue;
		columns_add(columns, i ? ", " : ", in ");
		columns_add(columns, call->number < 0 ? "[unknown]"
						      : text_call(text->sample,
								  (uint32_t)call->number, buffer));
		if (call->count != thread->members)
			columns_print(columns, " (%s)", GROUPED(call->count));
	}
	columns_add(columns, "\n");
}

void text_thread(struct text *text, const struct thread_row *thread)
{
	enum ledger_state state;

	columns_add(&text->columns, text->bold ? TEXT_BOLD : "");
	text_thread_id(text, thread);
	columns_add(&text->columns, text->bold ? TEXT_PLAIN : "");
	if (thread->members > 1 && thread_is_silent(thread, &state)) {
		silent_threads(text, thread, state);
		return;
	}
	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
		const struct section *section = &sections[i];

		if (text->brief && section->full)
			continue;
		if (section->list)
			list_write(text, thread, section);
		else
			section->write(text, thread);
	}
}
