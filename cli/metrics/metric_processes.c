// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "cli/model/resource.h"
#include "metric_values.h"

bool metric_is_multiprocess(const struct sample *sample)
{
	return (sample->capture && sample->capture->multiple) || processes_count(sample) > 1;
}

static void label_add(struct metric_labels *labels, const char *name, const char *text)
{
	if (*text)
		metric_labels_foreign(labels, name, text, METRIC_PROCESS_LABEL, "");
}

void metric_process_labels(struct metric_labels *labels, const struct process_row *process,
			   bool with_pid)
{
	if (!process || !*process->name)
		metric_labels_add(labels, "process", "[unknown]");
	else
		metric_labels_foreign(labels, "process", process->name, KD_COMM_LEN, "");
	if (!process)
		return;
	label_add(labels, "container", process->container);
	label_add(labels, "pod", process->pod);
	if (with_pid)
		metric_labels_number(labels, "pid", (unsigned long)process->pid);
}

void metric_target_labels(struct metric_labels *labels, const struct capture *capture)
{
	if (!capture)
		return;
	label_add(labels, "container", capture->container);
	label_add(labels, "pod", capture->pod);
}

/* Processes with equal labels share a row. */
static struct metric_row *row_of(struct metrics *metrics, enum metric_kind kind,
				 const struct process_row *process)
{
	bool single = !process->ended && process->members <= 1;
	struct metric_labels labels = { .length = 0 };

	labels.with_tid = metrics->options.per_thread && single;
	metric_process_labels(&labels, process, labels.with_tid);
	if (kind == METRIC_IMAGE)
		label_add(&labels, "image", process->image);
	return metric_row_touch(metrics, kind, NULL, &labels);
}

static void sum_take(struct metrics *metrics, const struct process_sum *sum)
{
	const struct process_row *process = sum->process;
	struct metric_row *row = row_of(metrics, METRIC_PROCESS, process);
	uint64_t members = process->members ? process->members : 1;

	if (!row)
		return;
	if (process->began)
		metric_row_sum(row, PROCESS_BEGAN, members);
	if (process->ended)
		metric_row_sum(row, PROCESS_ENDED, members);
	else
		metric_row_sum(row, PROCESS_ALIVE, members);
	metric_row_sum(row, PROCESS_BUSY, sum->busy);
	metric_row_sum(row, PROCESS_KEPT, sum->kept);
}

/* A single process only has its container's labels. */
static void target_take(struct metrics *metrics, const struct sample *sample)
{
	struct metric_labels labels = { .length = 0 };
	struct metric_row *row;

	if (!sample->capture || !*sample->capture->image)
		return;
	metric_labels_foreign(&labels, "process", sample->capture->process, KD_COMM_LEN, "");
	metric_target_labels(&labels, sample->capture);
	label_add(&labels, "image", sample->capture->image);
	row = metric_row_touch(metrics, METRIC_IMAGE, NULL, &labels);
	if (row)
		row->values[ONE_VALUE] = 1;
}

/* The sample itself identifies a single process, so that row has no labels. */
static struct metric_row *usage_metric_row(struct metrics *metrics, const struct sample *sample,
					   const struct usage_row *usage)
{
	const struct process_row *process = process_at(sample, usage->pid, usage->process_start);
	struct metric_labels labels = { .length = 0 };

	if (metric_is_multiprocess(sample) && process)
		return row_of(metrics, METRIC_USAGE, process);
	if (metric_is_multiprocess(sample))
		metric_process_labels(&labels, NULL, false);
	return metric_row_touch(metrics, METRIC_USAGE, NULL, &labels);
}

void metric_take_usages(struct metrics *metrics, const struct sample *sample)
{
	struct metric_row *row;

	for (size_t i = 0; i < sample->n_usages; i++) {
		row = usage_metric_row(metrics, sample, &sample->usages[i]);
		if (row)
			row->values[USAGE_MEMORY] = row->values[USAGE_PEAK] = 0;
	}
	for (size_t i = 0; i < sample->n_usages; i++) {
		const struct usage_row *usage = &sample->usages[i];

		row = usage_metric_row(metrics, sample, usage);
		if (!row)
			continue;
		metric_row_sum(row, USAGE_CPU, usage->cpu_ns);
		metric_row_sum(row, USAGE_RESENT, usage->resent);
		metric_row_sum(row, USAGE_MEMORY, usage->memory.end);
		metric_row_sum(row, USAGE_PEAK, usage->memory.peak);
	}
}

void metric_take_processes(struct metrics *metrics, const struct sample *sample)
{
	struct process_sum *sums = NULL;
	struct metric_row *row;

	if (!metric_is_multiprocess(sample)) {
		target_take(metrics, sample);
		return;
	}
	if (processes_sum(sample, &sums)) {
		metrics->failed = true;
		return;
	}
	/* Only this sample's processes count as alive. */
	for (size_t i = 0; i < sample->n_processes; i++) {
		row = row_of(metrics, METRIC_PROCESS, sums[i].process);
		if (row)
			row->values[PROCESS_ALIVE] = 0;
		row = *sums[i].process->image ? row_of(metrics, METRIC_IMAGE, sums[i].process)
					      : NULL;
		if (row)
			row->values[ONE_VALUE] = 1;
	}
	for (size_t i = 0; i < sample->n_processes; i++)
		sum_take(metrics, &sums[i]);
	free(sums);
}
