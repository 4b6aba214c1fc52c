/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "text.h"

#include <stdio.h>
#include <string.h>

#include "../escape.h"
#include "../syscall_names.h"
#include "columns.h"
#include "number.h"
#include "text_thread.h"
#include "text_upcalls.h"
#include "timestamp.h"

/* What a loss means to the reader: of what, for one and for several; then what
 * became of it, why, and what to do. */
struct warning {
	const char *one, *many;
	const char *what;
};

static const struct warning losses[KD_LOSSES] = {
	[KD_LOSS_THREADS] = {
		"thread is", "threads are",
		"missing (more threads at once than there is room for); take a shorter sample.",
	},
	[KD_LOSS_CALLS] = {
		"system call is", "system calls are",
		"missing in [SYSCALL STATISTICS], not in [THREAD TIME] (too many different ones); "
		"take a shorter sample.",
	},
	[KD_LOSS_IRQ_NAMES] = {
		"hard interrupt is", "hard interrupts are",
		"shown without a name (too many different ones); look up the number in "
		"/proc/interrupts.",
	},
	[KD_LOSS_PAIRS] = {
		"start trigger is", "start triggers are",
		"missing (on too many threads of other processes at once); add "
		"--trigger-target-only.",
	},
	[KD_LOSS_EDGES] = {
		"trigger is", "triggers are",
		"missing (another CPU was just setting an edge).",
	},
	[KD_LOSS_UNTRACKED] = {
		"event is", "events are",
		"missing (from threads that were not known yet); take another sample.",
	},
};

static const struct warning skipped = {
	"program run was",
	"program runs were",
	"skipped by the kernel (another BPF program was busy on that CPU), counts and times may "
	"be too small; stop other tracing tools and take another sample.",
};

static const struct warning hidden = {
	"thread is",
	"threads are",
	"missing (this kernel hides them from tracing).",
};

static const struct warning torn = {
	"thread was",
	"threads were",
	"not read consistently (too many events meanwhile, or an edge set late), figures may not "
	"fit together; take another sample.",
};

static void warning_line(struct columns *columns, const struct warning *warning, uint64_t count)
{
	if (!count)
		return;
	columns_add(columns, "# WARNING: ");
	columns_ns(columns, count, 0);
	columns_add(columns, " ");
	columns_add(columns, count == 1 ? warning->one : warning->many);
	columns_add(columns, " ");
	columns_add(columns, warning->what);
	columns_add(columns, "\n");
}

static void hit_line(struct columns *columns, const struct sample *sample, const char *which,
		     pid_t tid)
{
	char name[ESCAPE_SIZE(KD_COMM_LEN)] = "";

	for (size_t i = 0; i < sample->n_threads && !*name; i++)
		if (sample->threads[i].tid == tid && sample->threads[i].members == 1)
			escape_text(name, sizeof(name), sample->threads[i].name, KD_COMM_LEN);
	columns_add(columns, "# NOTE: The ");
	columns_add(columns, which);
	columns_add(columns, " hit on thread ");
	columns_count(columns, (uint64_t)tid, 0);
	if (*name) {
		columns_add(columns, " (");
		columns_add(columns, name);
		columns_add(columns, ")");
	}
	columns_add(columns, ".\n");
}

/* Whose doing the window is. */
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

static void footer(struct columns *columns, const struct sample *sample)
{
	if (sample_lost(sample) || sample->resynced || sample->n_absent || sample->interrupted ||
	    sample->target_exited || sample->expired || sample->overloaded ||
	    sample->start_triggered || sample->stop_triggered)
		columns_add(columns, "\n");
	hits(columns, sample);
	if (sample->target_exited)
		columns_add(columns, "# NOTE: The process exited; the sample ends there.\n");
	else if (sample->interrupted)
		columns_add(columns, "# NOTE: A signal ended the sample early.\n");
	else if (sample->overloaded)
		columns_add(columns, "# NOTE: The cost of the probes ended the sample early.\n");
	else if (sample->expired)
		columns_add(columns, "# NOTE: The end of the run ended the sample early.\n");

	for (size_t i = 0; i < KD_LOSSES; i++)
		warning_line(columns, &losses[i], sample->losses[i]);
	warning_line(columns, &hidden, sample->hidden);
	warning_line(columns, &skipped, sample->skipped_runs);
	warning_line(columns, &torn, sample->torn);

	if (sample->resynced) {
		columns_add(columns, "# NOTE: ");
		columns_ns(columns, sample->resynced, 0);
		columns_add(columns, sample->resynced == 1 ? " switch was" : " switches were");
		columns_add(columns, " not reported by the kernel, which hides some threads; "
				     "the times are from its count of the run time.\n");
	}
	for (size_t i = 0; i < sample->n_absent; i++) {
		columns_add(columns, "# NOTE: [");
		columns_add(columns, sample->absent[i].section);
		columns_add(columns, "] ");
		columns_add(columns, sample->absent[i].what);
		columns_add(columns, ".\n");
	}
}

static void mark(struct columns *columns, const char *what, uint64_t trigger,
		 const struct timespec *when)
{
	char time[TIMESTAMP_LEN];

	timestamp_format(time, when);
	columns_add(columns, "# ");
	columns_add(columns, what);
	if (trigger) {
		columns_add(columns, " (trigger@");
		columns_count(columns, trigger, 0);
		columns_add(columns, ")");
	}
	columns_add(columns, " @");
	columns_add(columns, time);
	columns_add(columns, "\n");
}

int report_text_mark(FILE *out, const char *what, uint64_t trigger, const struct timespec *when)
{
	struct columns columns;

	columns_begin(&columns, out);
	mark(&columns, what, trigger, when);
	return columns_end(&columns);
}

static void title(struct columns *columns, const struct sample *sample)
{
	char delta[NUMBER_LEN], what[80] = "Sample dump";

	if (sample->start_triggered && sample->stop_triggered) {
		number_grouped(delta, sample->end - sample->start);
		snprintf(what, sizeof(what), "Triggered sample dump, stop-start delta %s ns",
			 delta);
	}
	mark(columns, what, 0, &sample->wall_dump);
}

int report_text(const struct sample *sample, FILE *out)
{
	struct text text = {
		.sample = sample,
		.poll = syscall_number("poll"),
		.ppoll = syscall_number("ppoll"),
	};

	columns_begin(&text.columns, out);
	title(&text.columns, sample);
	columns_add(&text.columns,
		    "TID        THREAD           <RESOURCE SPECIFIC>\n"
		    "---------- ---------------- --------------------------------------"
		    "--------------------------------------\n");
	for (size_t i = 0; i < sample->n_threads; i++) {
		if (i)
			columns_add(&text.columns, "\n");
		text_thread(&text, &sample->threads[i]);
	}
	text_upcalls(&text.columns, sample);
	footer(&text.columns, sample);
	return columns_end(&text.columns);
}
