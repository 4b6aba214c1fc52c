/* SPDX-License-Identifier: Apache-2.0 */
#include "text_footer.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/escape.h"
#include "cli/model/ledger.h"
#include "cli/model/losses.h"
#include "cli/model/resource.h"
#include "text_parts.h"

/* Adds why user stacks are missing, which is only known now. */
static void reason_add(struct columns *columns, const struct trace_list *traces)
{
	char reason[ESCAPE_SIZE(128)] = "they could not be resolved";

	if (traces->failure)
		escape_text(reason, sizeof(reason), traces->failure, 128);
	columns_print(columns, "missing (%s); the rest of the report does not depend on them.",
		      reason);
}

static void warning_line(struct columns *columns, const struct sample *sample,
			 const struct loss *loss)
{
	uint64_t count = loss_count(sample, loss);

	if (!count)
		return;
	columns_print(columns, "# WARNING: %s %s ", GROUPED(count),
		      count == 1 ? loss->one : loss->many);
	if (loss->what)
		columns_add(columns, loss->what);
	else
		reason_add(columns, &sample->traces);
	columns_add(columns, "\n");
}

/* Prints missing threads before data that is missing from threads. */
static void warnings(struct columns *columns, const struct sample *sample)
{
	for (size_t i = 0; i < LOSSES; i++) {
		if (i == LOSS_SKIPPED_RUNS)
			warning_line(columns, sample, &losses[LOSS_HIDDEN_THREADS]);
		if (i != LOSS_HIDDEN_THREADS)
			warning_line(columns, sample, &losses[i]);
	}
}

/* what: text after "is" or "was", same for one and many. */
static void note_count(struct columns *columns, uint64_t count, const char *one, const char *many,
		       const char *what)
{
	if (count)
		columns_print(columns, "# NOTE: %s %s %s\n", GROUPED(count),
			      count == 1 ? one : many, what);
}

/* Millionths, without trailing zeros. */
static void percent_add(struct columns *columns, uint64_t share)
{
	uint64_t unit = 10000;

	columns_count(columns, share / unit, 0);
	if (share % unit)
		columns_add(columns, ".");
	while (share %= unit) {
		unit /= 10;
		columns_count(columns, share / unit, 0);
	}
}

static void trace_notes(struct columns *columns, const struct trace_list *traces)
{
	if (traces->limited && !traces->stack_share) {
		note_count(columns, traces->limited, "user stack was", "user stacks were",
			   "not copied, to spare the process: see overhead of --stack-trace-size.");
	} else if (traces->limited) {
		columns_print(columns,
			      "# NOTE: %s %s not copied, to spare the process: overhead of "
			      "--stack-trace-size is ",
			      GROUPED(traces->limited),
			      traces->limited == 1 ? "user stack was" : "user stacks were");
		percent_add(columns, traces->stack_share);
		columns_add(columns, " %.\n");
	}
	note_count(columns, traces->own_samples, "sample", "samples",
		   "hit this program's own work in the kernel, which is left out: each is listed "
		   "where that was called.");
	note_count(columns, traces->incomplete, "user stack is", "user stacks are",
		   "incomplete; the last line of each says why.");
	if (traces->kernel_hidden)
		columns_add(columns,
			    "# NOTE: This kernel hides the addresses of its functions, so their "
			    "names are unknown; grant CAP_SYSLOG, and set kernel.kptr_restrict to "
			    "1, or 0.\n");
}

static void hit_line(struct columns *columns, const struct sample *sample, const char *which,
		     pid_t tid)
{
	const struct thread_row *thread = sample_thread(sample, tid);
	char name[ESCAPE_SIZE(KD_COMM_LEN)] = "";

	if (thread)
		escape_text(name, sizeof(name), thread->name, KD_COMM_LEN);
	columns_print(columns, "# NOTE: The %s hit on thread %d%s%s%s.\n", which, (int)tid,
		      *name ? " (" : "", name, *name ? ")" : "");
}

/* Names the triggers of the window. */
static void hits(struct columns *columns, const struct sample *sample)
{
	bool start = sample->start_triggered, stop = sample->stop_triggered;

	if (start && stop && sample->started_on == sample->stopped_on) {
		hit_line(columns, sample, "triggers were", sample->started_on);
		return;
	}
	if (start)
		hit_line(columns, sample, "start trigger was", sample->started_on);
	if (stop)
		hit_line(columns, sample, "stop trigger was", sample->stopped_on);
}

/* Notes estimated time moved between states. */
static void entry_notes(struct columns *columns, const struct entry_cost *entry)
{
	note_count(columns, entry->call_ns, "ns", "ns",
		   "of each system call count as running kernel, not user (an estimate: entering "
		   "and leaving the kernel, and this program's part in it).");
	note_count(
		columns, entry->irq_ns, "ns", "ns",
		"of each interrupt count as hard irq, not as what it interrupted (an estimate of "
		"the same kind).");
	note_count(columns, entry->fault_ns, "ns", "ns",
		   "of each page fault from user mode count as page faults, not user (an estimate "
		   "of the same kind).");
}

/* Notes the thread that was longest in the kernel outside of calls. */
static void outside_note(struct columns *columns, const struct sample *sample)
{
	const struct thread_row *most = NULL;
	char name[ESCAPE_SIZE(KD_COMM_LEN)];

	for (size_t i = 0; i < sample->n_threads; i++)
		if (sample->threads[i].outside_calls > (most ? most->outside_calls : 0))
			most = &sample->threads[i];
	if (!most)
		return;
	escape_text(name, sizeof(name), most->name, sizeof(most->name));
	columns_print(columns,
		      "# NOTE: Running kernel of %s[%d] has %s ns outside of system calls, page "
		      "faults and interrupts, as the kernel's ticks (utime, stime) found it.\n",
		      name, (int)most->tid, GROUPED(most->outside_calls));
}

/* Notes which condition of --record-on was true. */
static void fulfilled_note(struct columns *columns, const struct fulfilled *fulfilled)
{
	char raw[EXCESS_WORDS_LEN], words[4 * EXCESS_WORDS_LEN],
		condition[4 * sizeof(fulfilled->condition)];

	excess_words(raw, &fulfilled->by);
	escape_text(words, sizeof(words), raw, sizeof(raw));
	escape_text(condition, sizeof(condition), fulfilled->condition,
		    sizeof(fulfilled->condition));
	columns_print(columns, "# NOTE: --record-on '%s' was true: %s.\n", condition, words);
}

/* Notes the cost of this program's own threads; its BPF programs run on the target's time. */
static void own_note(struct columns *columns, const struct own_cost *own)
{
	if (own->period_ns)
		columns_print(columns,
			      "# NOTE: This program itself took %s ns of CPU time and woke up %s "
			      "%s in %s ns.\n",
			      GROUPED(own->cpu_ns), GROUPED(own->wakeups),
			      own->wakeups == 1 ? "time" : "times", GROUPED(own->period_ns));
}

void text_footer(struct text *text)
{
	struct columns *columns = &text->columns;
	const struct sample *sample = text->sample;
	/* Only matters for the sum of a thread's states, which a brief block does not show. */
	bool estimates = !text->brief &&
			 (sample->entry.call_ns || sample->entry.irq_ns || sample->entry.fault_ns);
	const uint64_t rings = usage_total(sample).rings;

	if (sample_lost(sample) || sample->resynced || rings || sample->page_faults_untimed ||
	    estimates || sample->n_absent || sample->interrupted || sample->target_exited ||
	    sample->expired || sample->overloaded || sample->pressed ||
	    *sample->fulfilled.condition || sample->start_triggered || sample->stop_triggered ||
	    sample->traces.limited || sample->traces.incomplete || sample->traces.own_samples ||
	    sample->traces.kernel_hidden || sample->predecessor || sample->own.period_ns)
		columns_add(columns, "\n");
	if (sample->predecessor)
		columns_print(columns,
			      "# NOTE: The process was restarted: %d is the successor of %d%s.\n",
			      (int)sample->pid, (int)sample->predecessor,
			      sample->restarts > 1 ? ", and there were others in between" : "");
	hits(columns, sample);
	if (sample->target_exited && sample->start_triggered && sample->n_processes)
		columns_add(columns, "# NOTE: The process that hit the start trigger exited; "
				     "the sample ends there.\n");
	else if (sample->target_exited)
		columns_add(columns, "# NOTE: The process exited; the sample ends there.\n");
	else if (sample->interrupted)
		columns_add(columns, "# NOTE: A signal ended the sample early.\n");
	else if (sample->overloaded)
		columns_add(columns, "# NOTE: The cost of the probes ended the sample early.\n");
	else if (sample->expired)
		columns_add(columns, "# NOTE: The end of the run ended the sample early.\n");
	if (sample->pressed)
		columns_add(columns, "# NOTE: SIGUSR1 asked for this sample.\n");
	if (*sample->fulfilled.condition)
		fulfilled_note(columns, &sample->fulfilled);
	warnings(columns, sample);
	note_count(columns, sample->resynced, "switch was", "switches were",
		   "not reported by the kernel, which hides some threads; the times are from its "
		   "count of the run time.");
	if (sample->page_faults_untimed)
		columns_print(columns,
			      "# NOTE: For %s ns of the sample page faults were counted, but not "
			      "timed: there were too many. Each counts as long as the thread's "
			      "timed ones on average.\n",
			      GROUPED(sample->page_faults_untimed));
	if (!text->brief)
		outside_note(columns, sample);
	if (estimates)
		entry_notes(columns, &sample->entry);
	for (size_t i = 0; i < sample->n_absent; i++) {
		const struct absence *absence = &sample->absent[i];

		/* Without threads there are no times to qualify. */
		if (sample->n_threads || strcmp(absence->section, "THREAD TIME") != 0)
			columns_print(columns, "# NOTE: [%s] %s.\n", absence->section,
				      absence->what);
	}
	note_count(columns, rings, "call of io_uring_enter", "calls of io_uring_enter",
		   "moved what is not counted in [THREAD I/O STATISTICS].");
	trace_notes(columns, &sample->traces);
	own_note(columns, &sample->own);
}
