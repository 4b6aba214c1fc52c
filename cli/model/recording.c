// SPDX-License-Identifier: Apache-2.0
#include "recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"

/* --- Spans and threads --- */

int spans_add(struct spans *spans, const struct span *span)
{
	return ARRAY_ADD(spans->all, spans->n, spans->capacity, *span);
}

const struct span *spans_of_thread(const struct spans *spans, pid_t tid, size_t *n)
{
	const struct span *all = spans->all;
	size_t first = ARRAY_SPLIT(spans->n, i, all[i].tid < tid);

	*n = ARRAY_SPLIT(spans->n, j, all[j].tid <= tid) - first;
	return *n ? all + first : NULL;
}

const struct recorded_thread *recording_thread(const struct recording *recording, pid_t tid)
{
	const struct recorded_thread *threads = recording->threads;
	size_t at = ARRAY_SPLIT(recording->n_threads, i, threads[i].tid < tid);

	return at < recording->n_threads && threads[at].tid == tid ? threads + at : NULL;
}

const struct recorded_culprit *recording_culprit(const struct recording *recording, uint32_t key)
{
	const struct recorded_culprit *culprits = recording->culprits;
	size_t at = ARRAY_SPLIT(recording->n_culprits, i, culprits[i].key < key);

	return at < recording->n_culprits && culprits[at].key == key ? culprits + at : NULL;
}

struct recording_facts recording_facts(const struct recording *recording, uint64_t start)
{
	return (struct recording_facts){
		.wanted = recording->wanted,
		.held = u64_sub(start, recording->from),
		.events = recording->events,
		.memory = recording->memory,
		.overwritten = recording->overwritten,
		.cut = recording->from > start,
	};
}

void recording_clear(struct recording *recording)
{
	if (!recording)
		return;
	for (size_t i = 0; i < SPAN_LISTS; i++)
		free(recording->spans[i].all);
	free(recording->threads);
	free(recording->culprits);
	free(recording->irq_names);
	memset(recording, 0, sizeof(*recording));
}

/* --- CPU runs --- */

/* Source of a run. Where two overlap, the lower one wins. */
enum run_source {
	RUN_OF_TARGET, /* states of target threads, */
	RUN_OF_OTHER,  /* and of other threads */
	RUN_OF_CPU,    /* SPAN_RUNS */
};

static enum run_source source_of(const struct span *run)
{
	return run->of_target ? RUN_OF_TARGET : run->state ? RUN_OF_OTHER : RUN_OF_CPU;
}

static int run_compare(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return ORDER(x->cpu, y->cpu) ?: ORDER(x->start, y->start)
		       ?: ORDER(source_of(x), source_of(y));
}

struct making {
	struct spans *runs;
	const struct recording *recording;
	uint64_t from, until;
};

/* Adds the part of a run inside the range. */
static int run_add(struct making *making, struct span run)
{
	run.start = u64_max(run.start, making->from);
	run.end = u64_min(run.end, making->until);
	return run.start < run.end ? spans_add(making->runs, &run) : 0;
}

/* Merges consecutive running states into one run. */
static int states_add(struct making *making)
{
	const struct spans *states = &making->recording->spans[SPAN_STATES];
	struct span run = { 0 };
	int err = 0;

	for (size_t i = 0; i < states->n && !err; i++) {
		const struct span *state = &states->all[i];

		if (!kd_is_running(state->state))
			continue;
		if (state->tid == run.tid && state->cpu == run.cpu && state->start == run.end) {
			run.end = state->end;
			continue;
		}
		err = run_add(making, run);
		run = (struct span){ .start = state->start,
				     .end = state->end,
				     .tid = state->tid,
				     .cpu = state->cpu,
				     .state = KD_RUNNING,
				     .of_target = state->of_target };
	}
	return err ?: run_add(making, run);
}

static int rows_add(struct making *making)
{
	const struct spans *runs = &making->recording->spans[SPAN_RUNS];
	int err = 0;

	for (size_t i = 0; i < runs->n && !err; i++)
		err = run_add(making, runs->all[i]);
	return err;
}

/* Ends each run where one of a better source begins: some starts are only approximate, as is
 * whether others ran in between. */
static void ends_cut(struct spans *runs)
{
	uint64_t begins[RUN_OF_CPU + 1]; /* next start on this CPU, per source or better */

	for (size_t i = runs->n; i-- > 0;) {
		struct span *run = &runs->all[i];
		enum run_source source = source_of(run);

		if (i + 1 == runs->n || run[1].cpu != run->cpu)
			memset(begins, 0xff, sizeof(begins));
		if (source)
			run->end = u64_min(run->end, begins[source - 1]);
		for (; source <= RUN_OF_CPU; source++)
			begins[source] = run->start;
	}
}

/* Starts each run where the previous one ended: the scheduler counts some as running before the
 * switch to them. */
static void starts_cut(struct spans *runs)
{
	uint64_t last = 0;
	size_t n = 0;

	for (size_t i = 0; i < runs->n; i++) {
		struct span run = runs->all[i];

		if (!n || runs->all[n - 1].cpu != run.cpu)
			last = 0;
		run.start = u64_max(run.start, last);
		if (run.start >= run.end)
			continue;
		last = run.end;
		runs->all[n++] = run;
	}
	runs->n = n;
}

int cpu_runs_make(struct spans *runs, const struct recording *recording, uint64_t from,
		  uint64_t until)
{
	struct making making = { runs, recording, from, until };
	int err = states_add(&making) ?: rows_add(&making);

	if (err)
		return err;
	ARRAY_SORT(runs->all, runs->n, run_compare);
	ends_cut(runs);
	starts_cut(runs);
	return 0;
}

const char *cpu_run_name(const struct span *run, const struct recording *recording,
			 char buffer[CPU_RUN_NAME_LEN])
{
	const struct recorded_culprit *culprit = recording_culprit(recording, run->key);
	const struct recorded_thread *thread = run->tid ? recording_thread(recording, run->tid)
							: NULL;
	char label[CULPRIT_LABEL_LEN];

	if (thread && *thread->name)
		snprintf(buffer, CPU_RUN_NAME_LEN, "%.*s[%d]", KD_COMM_LEN, thread->name,
			 (int)run->tid);
	else if (source_of(run) == RUN_OF_CPU && run->key == KD_WHO_IDLE)
		snprintf(buffer, CPU_RUN_NAME_LEN, "idle");
	else if (source_of(run) == RUN_OF_CPU && culprit)
		snprintf(buffer, CPU_RUN_NAME_LEN, "%s", culprit_label(&culprit->is, label));
	else if (run->tid)
		snprintf(buffer, CPU_RUN_NAME_LEN, "[%d]", (int)run->tid);
	else
		snprintf(buffer, CPU_RUN_NAME_LEN, "another thread");
	return buffer;
}
