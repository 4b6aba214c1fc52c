/* SPDX-License-Identifier: Apache-2.0 */
#include "cpus.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/base/array.h"
#include "cli/model/cpu_runs.h"
#include "perfetto_fields.h"
#include "recorded.h"
#include "tracks.h"

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static int irq_compare(const void *a, const void *b)
{
	const struct recorded_irq *x = *(const struct recorded_irq *const *)a;
	const struct recorded_irq *y = *(const struct recorded_irq *const *)b;

	return ORDER(x->cpu, y->cpu) ?: ORDER(x->start, y->start) ?: ORDER(y->end, x->end);
}

/* --- Who ran --- */

static void run_write(struct pftrace *trace, const struct cpu_run *run)
{
	const struct recording *recording = trace->sample->recording;
	const struct recorded_thread *thread = recording_thread(recording, run->tid);
	uint64_t track = track_uuid(TRACK_CPU, (pid_t)run->cpu);
	char name[CPU_RUN_NAME_LEN];

	cpu_run_name(run, recording, name);
	event_begin(trace, TYPE_SLICE_BEGIN, track, run->start);
	event_category(trace, CATEGORY_RUN);
	event_name(trace, name, sizeof(name));
	if (run->tid)
		note_i64(trace, NOTE_TID, run->tid);
	if (thread && thread->pid)
		note_i64(trace, NOTE_PID, thread->pid);
	event_end(trace);
	slice_end(trace, track, run->end);
}

static void runs_write(struct pftrace *trace, const struct cpu_runs *runs)
{
	for (size_t i = 0; i < runs->n; i++) {
		const struct cpu_run *run = &runs->all[i];

		if (!i || run[-1].cpu != run->cpu)
			tracks_write_cpu(trace, run->cpu);
		run_write(trace, run);
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
	int err = cpu_runs_make(&runs, trace->sample->recording, trace->from, trace->sample->end);

	if (!err) {
		tracks_write_cpus(trace);
		runs_write(trace, &runs);
		err = irqs_write(trace, &runs);
	}
	free(runs.all);
	return err;
}
