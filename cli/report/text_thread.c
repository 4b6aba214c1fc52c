/* SPDX-License-Identifier: Apache-2.0 */
#include "text_thread.h"

#include <string.h>

#include "number.h"
#include "text_distributions.h"
#include "text_words.h"

#define INDENT TEXT_INDENT
#define NAME_WIDTH TEXT_NAME_WIDTH

static void section_begin(struct columns *columns, const char *title)
{
	columns_add(columns, "\n" INDENT);
	columns_add(columns, title);
	columns_add(columns, "\n");
}

/* The name gives way to the mark. */
static void irq_name(struct columns *columns, const struct irq_row *irq)
{
	const char *mark = irq->unhandled ? " [unhandled]" : "";
	size_t room = NAME_WIDTH - strlen(mark);
	size_t used = text_foreign(columns, irq->name, sizeof(irq->name), room);

	columns_add(columns, mark);
	columns_pad(columns, used, room);
}

static bool is_poll(const struct text *text, uint32_t number)
{
	return !text->sample->foreign_calls && (number == text->poll || number == text->ppoll);
}

static void who(struct text *text, const struct thread_row *thread)
{
	struct columns *columns = &text->columns;
	char number[NUMBER_LEN + 1];

	if (thread->members > 1) {
		strcpy(number + number_grouped(number, thread->members), "x");
		columns_right(columns, number, 10);
	} else {
		columns_count(columns, (uint64_t)thread->tid, 10);
	}
	columns_add(columns, " ");
	text_thread_name(columns, text->sample, thread->name,
			 thread->members > 1 ? 0 : thread->tid);
}

static void calls(struct text *text, const struct thread_row *thread)
{
	struct columns *columns = &text->columns;
	uint64_t count = 0, total = 0;
	char buffer[32];

	columns_add(columns, " [SYSCALL STATISTICS]\n" INDENT
			     "NAME                 NUMBER       COUNT          TOTAL ns"
			     "            MAX ns\n");
	for (size_t i = 0; i < thread->n_calls; i++) {
		const struct call_row *call = &thread->calls[i];

		columns_add(columns, INDENT);
		columns_cut(columns, text_call(text->sample, call->number, buffer), NAME_WIDTH);
		columns_add(columns, " ");
		columns_count(columns, call->number, 6);
		columns_gap_count(columns, call->count, 10);
		columns_gap_ns(columns, call->total, 16);
		columns_gap_ns(columns, call->max, 16);
		columns_add(columns, "\n");
		if (is_poll(text, call->number))
			continue;
		count += call->count;
		total += call->total;
	}
	if (!count)
		return;
	columns_add(columns, INDENT);
	/* In another architecture's calls we do not know poll. */
	columns_left(columns, text->sample->foreign_calls ? "TOTAL:" : "TOTAL( - poll):", 27);
	columns_gap_count(columns, count, 10);
	columns_gap_ns(columns, total, 16);
	columns_add(columns, "\n");
}

static void long_poll(struct columns *columns, const struct kd_span *span)
{
	if (!span->count)
		return;
	section_begin(columns, "[LONG POLL STATISTICS]");
	columns_add(columns, INDENT
		    "COUNT             AVERAGE ns            MIN ns            MAX ns\n" INDENT);
	columns_count(columns, span->count, 10);
	columns_gap_ns(columns, span->total / span->count, 16);
	columns_gap_ns(columns, span->min, 16);
	columns_gap_ns(columns, span->max, 16);
	columns_add(columns, "\n");
}

static void run(struct columns *columns, const struct kd_span *span)
{
	if (!span->count)
		return;
	section_begin(columns, "[THREAD RUN STATISTICS]");
	columns_add(columns, INDENT
		    "SCHED_CNT           TOTAL ns            MIN ns            MAX ns\n" INDENT);
	columns_count(columns, span->count, 10);
	columns_gap_ns(columns, span->total, 16);
	columns_gap_ns(columns, span->min, 16);
	columns_gap_ns(columns, span->max, 16);
	columns_add(columns, "\n");
}

static void waits(struct columns *columns, const char *title, const char *header,
		  const struct kd_count *count)
{
	if (!count->count)
		return;
	section_begin(columns, title);
	columns_add(columns, INDENT);
	columns_add(columns, header);
	columns_add(columns, "           TOTAL ns            MAX ns\n" INDENT);
	columns_count(columns, count->count, 10);
	columns_gap_ns(columns, count->total, 16);
	columns_gap_ns(columns, count->max, 16);
	columns_add(columns, "\n");
}

/* The end of an interrupt's row; adds the row to the sums. */
static void irq_figures(struct columns *columns, const struct irq_row *irq, uint64_t *count,
			uint64_t *total)
{
	columns_gap_count(columns, irq->count, 10);
	columns_gap_ns(columns, irq->total, 16);
	columns_gap_ns(columns, irq->max, 16);
	columns_add(columns, "\n");
	*count += irq->count;
	*total += irq->total;
}

static void irq_total(struct columns *columns, size_t width, uint64_t count, uint64_t total)
{
	if (!count)
		return;
	columns_add(columns, INDENT);
	columns_left(columns, "TOTAL:", width);
	columns_gap_count(columns, count, 10);
	columns_gap_ns(columns, total, 16);
	columns_add(columns, "\n");
}

static void hardirqs(struct columns *columns, const struct thread_row *thread)
{
	uint64_t count = 0, total = 0;

	if (!thread->n_hardirqs)
		return;
	section_begin(columns, "[HARD IRQ STATISTICS]");
	columns_add(columns, INDENT
		    "NAME                       COUNT          TOTAL ns            MAX ns\n");
	for (size_t i = 0; i < thread->n_hardirqs; i++) {
		const struct irq_row *irq = &thread->hardirqs[i];

		columns_add(columns, INDENT);
		irq_name(columns, irq);
		irq_figures(columns, irq, &count, &total);
	}
	irq_total(columns, NAME_WIDTH, count, total);
}

static void softirqs(struct columns *columns, const struct thread_row *thread)
{
	uint64_t count = 0, total = 0;

	if (!thread->n_softirqs)
		return;
	section_begin(columns, "[SOFT IRQ STATISTICS]");
	columns_add(columns, INDENT "NAME                 VECT_NR       COUNT          TOTAL ns"
				    "            MAX ns\n");
	for (size_t i = 0; i < thread->n_softirqs; i++) {
		const struct irq_row *irq = &thread->softirqs[i];

		columns_add(columns, INDENT);
		irq_name(columns, irq);
		columns_add(columns, " ");
		columns_count(columns, irq->vector, 7);
		irq_figures(columns, irq, &count, &total);
	}
	irq_total(columns, 28, count, total);
}

static void percent_column(struct columns *columns, uint64_t part, uint64_t whole)
{
	char percent[NUMBER_LEN];

	number_percent(percent, part, whole);
	columns_add(columns, "  ");
	columns_right(columns, percent, 7);
}

static void ledger_line(struct columns *columns, const char *label, uint64_t ns, uint64_t life)
{
	columns_add(columns, INDENT);
	columns_left(columns, label, 24);
	columns_gap_ns(columns, ns, 18);
	percent_column(columns, ns, life);
	columns_add(columns, "\n");
}

/* What the kernel counted and how far we are off, which may be either way. */
static void ledger_check(struct columns *columns, const struct ledger *ledger)
{
	uint64_t running = ledger_running(ledger);
	bool negative = running < ledger->exec;
	uint64_t off = negative ? ledger->exec - running : running - ledger->exec;
	char number[NUMBER_LEN + 1] = "-", percent[NUMBER_LEN + 1] = "-";

	if (!ledger->exec_known) {
		columns_add(columns, INDENT "KERNEL'S COUNT                       unknown\n");
		return;
	}
	ledger_line(columns, "KERNEL'S COUNT", ledger->exec, ledger->life);
	number_grouped(number + negative, off);
	number_percent(percent + negative, off, ledger->life);
	columns_add(columns, INDENT);
	columns_left(columns, "RESIDUAL", 24);
	columns_add(columns, "  ");
	columns_right(columns, number, 18);
	columns_add(columns, "  ");
	columns_right(columns, percent, 7);
	columns_add(columns, "\n");
}

static void thread_time(struct columns *columns, const struct thread_row *thread)
{
	const struct ledger *ledger = &thread->ledger;

	section_begin(columns, "[THREAD TIME]");
	if (thread->ended) {
		columns_add(columns, INDENT "(");
		if (thread->members > 1) {
			columns_ns(columns, thread->members, 0);
			columns_add(columns, " threads, ");
		}
		columns_add(columns, "ended during the sample)\n");
	}
	columns_add(columns, INDENT "STATE                               TOTAL ns        %\n");
	for (size_t i = 0; i < LEDGER_STATES; i++)
		ledger_line(columns, text_state((enum ledger_state)i), ledger->ns[i], ledger->life);
	ledger_line(columns, "SUM", ledger_sum(ledger), ledger->life);
	ledger_line(columns, "RUNNING", ledger_running(ledger), ledger->life);
	ledger_check(columns, ledger);
}

static bool cpu_used(const struct thread_row *thread, unsigned int cpu)
{
	return cpu < KD_CPU_WORDS * 64 && thread->cpus[cpu / 64] >> cpu % 64 & 1;
}

/* As "0-1,3"; CPUs that the bitmap cannot hold as "1024+". */
static void cpu_list(struct columns *columns, const struct thread_row *thread)
{
	const char *comma = "";

	for (unsigned int cpu = 0, last; cpu < KD_CPU_WORDS * 64; cpu = last + 1) {
		last = cpu;
		if (!cpu_used(thread, cpu))
			continue;
		while (cpu_used(thread, last + 1))
			last++;
		columns_add(columns, comma);
		columns_count(columns, cpu, 0);
		if (last > cpu) {
			columns_add(columns, "-");
			columns_count(columns, last, 0);
		}
		comma = ",";
	}
	if (thread->cpus_beyond) {
		columns_add(columns, comma);
		columns_count(columns, KD_CPU_WORDS * 64, 0);
		columns_add(columns, "+");
	} else if (!*comma) {
		columns_add(columns, "-");
	}
}

static void switches(struct columns *columns, const struct thread_row *thread)
{
	section_begin(columns, "[THREAD SWITCHES]");
	columns_add(columns, INDENT "VOLUNTARY   INVOLUNTARY   MIGRATIONS  CPUS\n" INDENT);
	columns_count(columns, thread->voluntary, 9);
	columns_gap_count(columns, thread->involuntary, 12);
	columns_gap_count(columns, thread->migrations, 11);
	columns_add(columns, "  ");
	cpu_list(columns, thread);
	columns_add(columns, "\n");
}

static void in_flight_row(struct text *text, const struct open_call *call)
{
	struct columns *columns = &text->columns;
	const uint64_t start = text->sample->start;
	char buffer[32];

	columns_add(columns, INDENT);
	if (call->number >= 0) {
		columns_cut(columns, text_call(text->sample, (uint32_t)call->number, buffer),
			    NAME_WIDTH);
		columns_add(columns, " ");
		columns_count(columns, (uint64_t)call->number, 6);
	} else {
		columns_left(columns, "[unknown]", NAME_WIDTH);
		columns_add(columns, "      -");
	}
	columns_gap_ns(columns, call->inside, 16);
	columns_add(columns, "  ");
	columns_left(columns, !call->at_start ? "end" : call->at_end ? "both" : "start", 5);
	columns_add(columns, "  ");
	if (!call->at_start)
		columns_right(columns, "-", 17);
	else if (!call->since)
		columns_right(columns, "unknown", 17);
	else
		columns_ns(columns, start > call->since ? start - call->since : 0, 17);
	columns_add(columns, call->at_end ? "  still open\n" : "  returned\n");
}

static void in_flight(struct text *text, const struct thread_row *thread)
{
	if (!thread->n_open)
		return;
	section_begin(&text->columns, "[IN FLIGHT]");
	columns_add(&text->columns,
		    INDENT "NAME                 NUMBER         INSIDE ns  EDGE     BEFORE START ns"
			   "  AT END\n");
	for (size_t i = 0; i < thread->n_open; i++)
		in_flight_row(text, &thread->open[i]);
}

static void silent_threads(struct text *text, const struct thread_row *thread,
			   enum ledger_state state)
{
	struct columns *columns = &text->columns;
	const struct ledger *ledger = &thread->ledger;
	char buffer[32], percent[NUMBER_LEN];

	columns_add(columns, " [THREAD TIME] ");
	columns_add(columns, text_state(state));
	columns_add(columns, " ");
	columns_ns(columns, ledger->ns[state], 0);
	columns_add(columns, " ns ");
	number_percent(percent, ledger->ns[state], ledger->life);
	columns_add(columns, percent);
	columns_add(columns, " %, no event in the window");
	if (thread->n_open && thread->open[0].number >= 0) {
		columns_add(columns, ", in ");
		columns_add(columns,
			    text_call(text->sample, (uint32_t)thread->open[0].number, buffer));
	}
	columns_add(columns, "\n");
}

void text_thread(struct text *text, const struct thread_row *thread)
{
	struct columns *columns = &text->columns;
	enum ledger_state state;
	bool silent = thread_is_silent(thread, &state);

	who(text, thread);
	if (silent && thread->members > 1) {
		silent_threads(text, thread, state);
		return;
	}
	calls(text, thread);
	long_poll(columns, &thread->long_poll);
	run(columns, &thread->run);
	waits(columns, "[THREAD READY STATISTICS]", "SCHED_CNT", &thread->ready);
	waits(columns, "[THREAD STOPPED STATISTICS]", "STOP_CNT ", &thread->stopped);
	hardirqs(columns, thread);
	softirqs(columns, thread);
	thread_time(columns, thread);
	if (!silent)
		switches(columns, thread);
	in_flight(text, thread);
	text_distributions(columns, text->sample, thread);
}
