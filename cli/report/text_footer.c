/* SPDX-License-Identifier: Apache-2.0 */
#include "text_footer.h"

#include <string.h>

#include "../escape.h"

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
	[KD_LOSS_DURATIONS] = {
		"duration is", "durations are",
		"missing in [DISTRIBUTIONS], not in the other sections (no room for so many "
		"histograms); take a shorter sample.",
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

static const struct warning traces_lost_in_ring = {
	"system call, wait or sample is",
	"system calls, waits or samples are",
	"missing in the lists (no room in the buffer, or for so many in a sample); raise "
	"--buffer-page-count, or the "
	"durations from which they are listed.",
};

static const struct warning stacks_beyond = {
	"stack is",
	"stacks are",
	"not shown (more different ones than are kept); raise --stack-trace-size.",
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

/* Its reason is known only now. */
static void failed_line(struct columns *columns, const struct trace_list *traces)
{
	char reason[ESCAPE_SIZE(128)] = "they could not be resolved";

	if (!traces->failed)
		return;
	if (traces->failure)
		escape_text(reason, sizeof(reason), traces->failure, 128);
	columns_add(columns, "# WARNING: ");
	columns_ns(columns, traces->failed, 0);
	columns_add(columns, traces->failed == 1 ? " user stack is" : " user stacks are");
	columns_add(columns, " missing (");
	columns_add(columns, reason);
	columns_add(columns, "); the rest of the report does not depend on them.\n");
}

static void trace_warnings(struct columns *columns, const struct trace_list *traces)
{
	warning_line(columns, &traces_lost_in_ring, traces->lost);
	warning_line(columns, &stacks_beyond, traces->beyond);
	failed_line(columns, traces);
}

static void note_count(struct columns *columns, uint64_t count, const char *one, const char *many)
{
	columns_add(columns, "# NOTE: ");
	columns_ns(columns, count, 0);
	columns_add(columns, count == 1 ? one : many);
}

static void trace_notes(struct columns *columns, const struct trace_list *traces)
{
	if (traces->limited) {
		note_count(columns, traces->limited, " user stack was", " user stacks were");
		columns_add(columns, " not copied, to spare the process: ");
		if (traces->stack_rate) {
			columns_add(columns, "--stack-rate is ");
			columns_count(columns, traces->stack_rate, 0);
			columns_add(columns, " per second.\n");
		} else {
			columns_add(columns, "see --stack-rate.\n");
		}
	}
	if (traces->incomplete) {
		note_count(columns, traces->incomplete, " user stack is", " user stacks are");
		columns_add(columns, " incomplete; the last line of each says why.\n");
	}
	if (traces->kernel_hidden)
		columns_add(columns,
			    "# NOTE: This kernel hides the addresses of its functions, so their "
			    "names are unknown; set kernel.kptr_restrict to 1, or 0.\n");
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

void text_footer(struct columns *columns, const struct sample *sample)
{
	if (sample_lost(sample) || sample->resynced || sample->n_absent || sample->interrupted ||
	    sample->target_exited || sample->expired || sample->overloaded ||
	    sample->start_triggered || sample->stop_triggered || sample->traces.limited ||
	    sample->traces.incomplete || sample->traces.kernel_hidden)
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
	trace_warnings(columns, &sample->traces);

	if (sample->resynced) {
		note_count(columns, sample->resynced, " switch was", " switches were");
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
	trace_notes(columns, &sample->traces);
}
