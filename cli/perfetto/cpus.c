/* SPDX-License-Identifier: Apache-2.0 */
#include "cpus.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/base/arith.h"
#include "perfetto_fields.h"
#include "recorded.h"
#include "tracks.h"

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* What counts where two say that they had the CPU: the first of these. */
enum source {
	SOURCE_TARGET, /* states of the target's threads, */
	SOURCE_OTHER,  /* and of others */
	SOURCE_RUN,
};

struct cpu_run {
	uint64_t start, end;
	uint32_t cpu;
	enum source source;
	pid_t tid;
	uint32_t key; /* SOURCE_RUN: see struct recorded_run */
};

struct cpu_runs {
	struct cpu_run *all;
	size_t n, room;
};

static int run_compare(const void *a, const void *b)
{
	const struct cpu_run *x = a, *y = b;

	return ORDER(x->cpu, y->cpu) ?: ORDER(x->start, y->start) ?: ORDER(x->source, y->source);
}

static int irq_compare(const void *a, const void *b)
{
	const struct recorded_irq *x = *(const struct recorded_irq *const *)a;
	const struct recorded_irq *y = *(const struct recorded_irq *const *)b;

	return ORDER(x->cpu, y->cpu) ?: ORDER(x->start, y->start) ?: ORDER(y->end, x->end);
}

/* --- Who ran --- */

static int run_add(struct cpu_runs *runs, const struct pftrace *trace, struct cpu_run run)
{
	struct span span = { run.start, run.end };

	if (!run.end || !pftrace_clip(trace, &span) || span.start == span.end)
		return 0;
	run.start = span.start;
	run.end = span.end;
	if (ARRAY_GROW(runs->all, runs->n, runs->room))
		return -ENOMEM;
	runs->all[runs->n++] = run;
	return 0;
}

/* Running states that follow one another are one run. */
static int states_add(struct cpu_runs *runs, const struct pftrace *trace)
{
	const struct recording *recording = trace->sample->recording;
	struct cpu_run run = { 0 };
	int err = 0;

	for (size_t i = 0; i < recording->n_states && !err; i++) {
		const struct recorded_state *state = &recording->states[i];

		if (!kd_is_running(state->state))
			continue;
		if (state->tid == run.tid && state->cpu == run.cpu && state->start == run.end) {
			run.end = state->end;
			continue;
		}
		err = run_add(runs, trace, run);
		run = (struct cpu_run){ .start = state->start,
					.end = state->end,
					.cpu = state->cpu,
					.source = state->of_target ? SOURCE_TARGET : SOURCE_OTHER,
					.tid = state->tid };
	}
	return err ?: run_add(runs, trace, run);
}

static int runs_add(struct cpu_runs *runs, const struct pftrace *trace)
{
	const struct recording *recording = trace->sample->recording;
	int err = 0;

	for (size_t i = 0; i < recording->n_runs && !err; i++) {
		const struct recorded_run *row = &recording->runs[i];

		err = run_add(runs, trace,
			      (struct cpu_run){ .start = row->start,
						.end = row->end,
						.cpu = row->cpu,
						.source = SOURCE_RUN,
						.tid = row->tid,
						.key = row->key });
	}
	return err;
}

static void run_name(char *text, size_t size, const struct recording *recording,
		     const struct cpu_run *run)
{
	const struct recorded_culprit *culprit = recording_culprit(recording, run->key);
	const struct recorded_thread *thread = run->tid ? recording_thread(recording, run->tid)
							: NULL;
	char label[CULPRIT_LABEL_LEN];

	if (thread && *thread->name)
		snprintf(text, size, "%.*s[%d]", KD_COMM_LEN, thread->name, (int)run->tid);
	else if (run->source == SOURCE_RUN && run->key == KD_WHO_IDLE)
		snprintf(text, size, "idle");
	else if (run->source == SOURCE_RUN && culprit)
		snprintf(text, size, "%s", culprit_label(&culprit->is, label));
	else if (run->tid)
		snprintf(text, size, "[%d]", (int)run->tid);
	else
		snprintf(text, size, "another thread");
}

static void run_write(struct pftrace *trace, const struct cpu_run *run, uint64_t start,
		      uint64_t end)
{
	const struct recording *recording = trace->sample->recording;
	const struct recorded_thread *thread = recording_thread(recording, run->tid);
	uint64_t track = track_uuid(TRACK_CPU, (pid_t)run->cpu);
	char name[CULPRIT_LABEL_LEN];

	run_name(name, sizeof(name), recording, run);
	event_begin(trace, TYPE_SLICE_BEGIN, track, start);
	event_category(trace, CATEGORY_RUN);
	event_name(trace, name, sizeof(name));
	if (run->tid)
		note_i64(trace, NOTE_TID, run->tid);
	if (thread && thread->pid)
		note_i64(trace, NOTE_PID, thread->pid);
	event_end(trace);
	slice_end(trace, track, end);
}

/* A run ends where that of a better source begins: of some the beginning, or whether others ran in
 * between, is only known about. */
static void runs_cut(struct cpu_runs *runs)
{
	uint64_t begins[SOURCE_RUN + 1]; /* of the next one of each source, or a better one */

	for (size_t i = runs->n; i-- > 0;) {
		struct cpu_run *run = &runs->all[i];

		if (i + 1 == runs->n || run[1].cpu != run->cpu)
			memset(begins, 0xff, sizeof(begins));
		if (run->source)
			run->end = u64_min(run->end, begins[run->source - 1]);
		for (enum source source = run->source; source <= SOURCE_RUN; source++)
			begins[source] = run->start;
	}
}

/* And begins where the one before has ended: the scheduler begins some before the switch to them.
 */
static void runs_write(struct pftrace *trace, const struct cpu_runs *runs)
{
	uint64_t last = 0;

	for (size_t i = 0; i < runs->n; i++) {
		const struct cpu_run *run = &runs->all[i];
		uint64_t start;

		if (!i || run[-1].cpu != run->cpu) {
			tracks_write_cpu(trace, run->cpu);
			last = 0;
		}
		start = u64_max(run->start, last);
		if (start >= run->end)
			continue;
		run_write(trace, run, start, run->end);
		last = run->end;
	}
}

/* --- Interrupts, and all --- */

static bool cpu_has_run(const struct cpu_runs *runs, uint32_t cpu)
{
	size_t at = ARRAY_SPLIT(runs->n, i, runs->all[i].cpu < cpu);

	return at < runs->n && runs->all[at].cpu == cpu;
}

static int irqs_write(struct pftrace *trace, const struct cpu_runs *runs)
{
	const struct recording *recording = trace->sample->recording;
	const struct recorded_irq **irqs = calloc(recording->n_irqs + 1, sizeof(*irqs));

	if (!irqs)
		return -ENOMEM;
	for (size_t i = 0; i < recording->n_irqs; i++)
		irqs[i] = &recording->irqs[i];
	if (recording->n_irqs)
		qsort(irqs, recording->n_irqs, sizeof(*irqs), irq_compare);
	for (size_t i = 0; i < recording->n_irqs; i++) {
		uint32_t cpu = irqs[i]->cpu;

		if ((!i || irqs[i - 1]->cpu != cpu) && !cpu_has_run(runs, cpu))
			tracks_write_cpu(trace, cpu);
		irq_write(trace, irqs[i], track_uuid(TRACK_CPU_IRQS, (pid_t)cpu));
	}
	free(irqs);
	return 0;
}

int cpus_write(struct pftrace *trace)
{
	struct cpu_runs runs = { 0 };
	int err = states_add(&runs, trace) ?: runs_add(&runs, trace);

	if (!err) {
		if (runs.n)
			qsort(runs.all, runs.n, sizeof(*runs.all), run_compare);
		runs_cut(&runs);
		tracks_write_cpus(trace);
		runs_write(trace, &runs);
		err = irqs_write(trace, &runs);
	}
	free(runs.all);
	return err;
}
