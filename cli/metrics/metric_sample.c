// SPDX-License-Identifier: Apache-2.0
/* Metrics of a sample, and of triggers. */
#define _GNU_SOURCE
#include "metric_sample.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/model/losses.h"
#include "cli/model/resource.h"
#include "cli/model/summary.h"
#include "cli/model/verdict.h"
#include "cli/model/words.h"
#include "metric_values.h"

/* --- Processes --- */

/* Processes with equal labels share a row. */
static struct metric_row *row_of(struct metrics *metrics, enum metric_kind kind,
				 const struct process_row *process)
{
	bool single = !process->ended && process->members <= 1;
	struct metric_labels labels = { .length = 0 };

	labels.with_tid = metrics->options.per_thread && single;
	metric_process_labels(&labels, process, labels.with_tid);
	if (kind == METRIC_IMAGE)
		metric_labels_process(&labels, "image", process->image);
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
	metric_row_sum(row, process->ended ? PROCESS_ENDED : PROCESS_ALIVE, members);
	metric_row_sum(row, PROCESS_BUSY, sum->busy);
	metric_row_sum(row, PROCESS_DELAY, sum->delay);
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
	metric_labels_process(&labels, "image", sample->capture->image);
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

/* Adds their resources; nothing if unknown. */
static void metric_take_usages(struct metrics *metrics, const struct sample *sample)
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

/* Adds the metrics of processes. Failures are noted in metrics. */
static void metric_take_processes(struct metrics *metrics, const struct sample *sample)
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

/* --- One sample --- */

/* How samples end; each word has a series from the start. */
enum ending { COMPLETE, SKIPPED, INTERRUPTED, EXITED, EXPIRED, OVERLOADED, ENDINGS };
static const char *const endings[ENDINGS] = {
	[COMPLETE] = "complete", [SKIPPED] = "skipped", [INTERRUPTED] = "interrupted",
	[EXITED] = "exited",     [EXPIRED] = "expired", [OVERLOADED] = "overloaded",
};

/* Row with a single constant label. NULL without memory. */
static struct metric_row *one_row(struct metrics *metrics, enum metric_kind kind, const char *label,
				  const char *value)
{
	struct metric_labels labels = { .length = 0 };

	if (label)
		metric_labels_add(&labels, label, value);
	return metric_row_touch(metrics, kind, NULL, &labels);
}

static void one_sum(struct metrics *metrics, enum metric_kind kind, const char *label,
		    const char *value, uint64_t number)
{
	struct metric_row *row = one_row(metrics, kind, label, value);

	if (row)
		metric_row_sum(row, ONE_VALUE, number);
}

static void one_set(struct metrics *metrics, enum metric_kind kind, const char *label,
		    const char *value, uint64_t number)
{
	struct metric_row *row = one_row(metrics, kind, label, value);

	if (row)
		row->values[ONE_VALUE] = number;
}

static void capture_take(struct metrics *metrics, const struct sample *sample)
{
	const struct capture *capture = sample->capture;
	struct metric_labels labels = { .length = 0 };
	struct metric_row *row;

	if (capture && capture->version)
		metric_labels_foreign(&labels, "version", capture->version, SIZE_MAX, "");
	else
		metric_labels_add(&labels, "version", "unknown");
	row = metric_row_touch(metrics, METRIC_BUILD, NULL, &labels);
	if (row)
		row->values[ONE_VALUE] = 1;

	labels.length = 0;
	metric_labels_foreign(&labels, "process", capture ? capture->process : "", KD_COMM_LEN, "");
	metric_labels_number(&labels, "pid", (unsigned long)sample->pid);
	if (capture) {
		const char *start = capture->start_trigger, *stop = capture->stop_trigger;

		metric_labels_foreign(&labels, "host", capture->host, sizeof(capture->host), "");
		metric_labels_foreign(&labels, "kernel", capture->kernel, sizeof(capture->kernel),
				      "");
		metric_labels_foreign(&labels, "start_trigger", start ? start : "", SIZE_MAX, "");
		metric_labels_foreign(&labels, "stop_trigger", stop ? stop : "", SIZE_MAX, "");
	}
	row = metric_row_touch(metrics, METRIC_CAPTURE, NULL, &labels);
	if (row)
		row->values[ONE_VALUE] = 1;
}

/* ENDINGS: none. */
static void endings_add(struct metrics *metrics, enum ending ending)
{
	for (unsigned int i = 0; i < ENDINGS; i++)
		one_sum(metrics, METRIC_ENDING, "result", endings[i], i == ending);
}

static void ending_take(struct metrics *metrics, const struct sample *sample)
{
	enum ending ending = sample->target_exited ? EXITED
			     : sample->interrupted ? INTERRUPTED
			     : sample->overloaded  ? OVERLOADED
			     : sample->expired     ? EXPIRED
						   : COMPLETE;

	endings_add(metrics, ending);
}

static void window_take(struct metrics *metrics, uint64_t ns)
{
	struct metric_row *row = one_row(metrics, METRIC_WINDOW, NULL, NULL);

	if (!row || metrics->windows_set)
		return;
	metric_row_duration(row, ns);
}

static void run_take(struct metrics *metrics, const struct sample *sample)
{
	struct metric_row *row = one_row(metrics, METRIC_RUN, NULL, NULL);

	if (!row)
		return;
#define FIGURE_TAKE(id, type, when, name, unit, help, value)                                       \
	if (METRIC_##type == METRIC_COUNTER)                                                       \
		metric_row_sum(row, RUN_##id, value);                                              \
	else                                                                                       \
		row->values[RUN_##id] = value;
	SAMPLE_FIGURES(FIGURE_TAKE)
}

/* A saved sample may have any text there. */
static void absence_take(struct metrics *metrics, const char *section)
{
	struct metric_labels labels = { .length = 0 };
	struct metric_row *row;

	metric_labels_foreign(&labels, "section", section, SIZE_MAX, "");
	row = metric_row_touch(metrics, METRIC_ABSENCE, NULL, &labels);
	if (row)
		row->values[ONE_VALUE] = 1;
}

static void losses_take(struct metrics *metrics, const struct sample *sample)
{
	for (size_t i = 0; i < LOSSES; i++)
		one_sum(metrics, METRIC_LOSS, "reason", losses[i].key,
			loss_count(sample, &losses[i]));
	/* Series and trigger runs are counted elsewhere. */
	one_sum(metrics, METRIC_LOSS, "reason", "series", 0);
	one_sum(metrics, METRIC_LOSS, "reason", "trigger_runs", 0);
	for (size_t i = 0; i < sample->n_absent; i++)
		absence_take(metrics, sample->absent[i].section);
}

/* Adds every cause and the rest: a series that is there from the start has rates. */
static void verdict_take(struct metrics *metrics, const struct sample *sample)
{
	const struct verdict *verdict = sample->verdict;

	one_sum(metrics, METRIC_BUSY, NULL, NULL, verdict->busy);
	for (unsigned int cause = 0; cause < CAUSES; cause++)
		one_sum(metrics, METRIC_CAUSE, "cause", cause_words[cause].key, 0);
	for (size_t i = 0; i < verdict->n_rows; i++)
		one_sum(metrics, METRIC_CAUSE, "cause", cause_words[verdict->rows[i].cause].key,
			verdict->rows[i].ns);
	one_sum(metrics, METRIC_CAUSE, "cause", "unexplained", verdict->unexplained);
	metric_take_processes(metrics, sample);
}

static void pressure_add(struct metrics *metrics, const char *of, enum pressure_kind kind,
			 const char *waiting, uint64_t ns)
{
	struct metric_labels labels = { .length = 0 };
	struct metric_row *row;

	metric_labels_add(&labels, "of", of);
	metric_labels_add(&labels, "resource", pressure_keys[kind]);
	metric_labels_add(&labels, "waiting", waiting);
	row = metric_row_touch(metrics, METRIC_PRESSURE, NULL, &labels);
	if (row)
		metric_row_sum(row, ONE_VALUE, ns);
}

static void pressure_take(struct metrics *metrics, const char *of, const struct pressure_set *set)
{
	for (enum pressure_kind kind = 0; kind < PRESSURES; kind++) {
		if (!set->of[kind].known)
			continue;
		pressure_add(metrics, of, kind, "some", set->of[kind].some);
		pressure_add(metrics, of, kind, "full", set->of[kind].full);
	}
}

static void events_take(struct metric_row *row, const struct kd_count *events)
{
	metric_row_sum(row, EVENTS_COUNT, events->count);
	metric_row_sum(row, EVENTS_TOTAL, events->total);
	metric_row_max(row, EVENTS_MAX, events->max);
}

/* Sums over all threads: there are few disks, but series per thread and disk would be many. */
static void disk_take(struct metrics *metrics, const struct descriptor_row *row)
{
	struct metric_labels labels = { .length = 0 };
	struct metric_row *disk;

	metric_labels_foreign(&labels, "device", row->is.device, sizeof(row->is.device), "");
	if (metrics->kinds[METRIC_DISK].n >= METRIC_NAMED_ROWS &&
	    !metric_row_find(metrics, METRIC_DISK, &labels)) {
		labels.length = 0;
		metric_labels_add(&labels, "device", METRIC_OTHER);
	}
	disk = metric_row_touch(metrics, METRIC_DISK, NULL, &labels);
	if (!disk)
		return;
	events_take(disk, &row->requests);
}

static void disks_take(struct metrics *metrics, const struct sample *sample)
{
	for (size_t i = 0; i < sample->n_threads; i++) {
		const struct thread_row *thread = &sample->threads[i];

		for (size_t j = 0; j < thread->n_descriptors; j++)
			if (thread->descriptors[j].requests.count &&
			    thread->descriptors[j].is.device[0])
				disk_take(metrics, &thread->descriptors[j]);
	}
}

static void upcalls_take(struct metrics *metrics, const struct sample *sample)
{
	for (size_t i = 0; i < sample->n_upcalls; i++) {
		const struct upcall_row *upcall = &sample->upcalls[i];
		const char *error = upcall->error ? strerrorname_np((int)upcall->error) : "none";
		struct metric_labels labels = { .length = 0 };
		struct metric_row *row;

		metric_labels_number(&labels, "cpu", upcall->cpu);
		if (error)
			metric_labels_add(&labels, "error", error);
		else
			metric_labels_number(&labels, "error", upcall->error);
		row = metric_row_touch(metrics, METRIC_UPCALL, NULL, &labels);
		if (row)
			metric_row_sum(row, ONE_VALUE, upcall->count);
	}
}

static void softirq_delays_take(struct metrics *metrics, const struct sample *sample)
{
	for (size_t i = 0; i < sample->n_softirq_delays; i++) {
		const struct softirq_delay *delay = &sample->softirq_delays[i];
		struct metric_labels labels = { .length = 0 };
		struct metric_row *row;

		metric_labels_number(&labels, "cpu", delay->cpu);
		metric_labels_foreign(&labels, "vector", delay->name, sizeof(delay->name), "");
		row = metric_row_touch(metrics, METRIC_SOFTIRQ_DELAY, NULL, &labels);
		if (!row)
			continue;
		events_take(row, &delay->delays);
	}
}

int metrics_expect(struct metrics *metrics, const struct capture *capture, pid_t pid)
{
	const struct verdict nobody = { 0 };
	const struct sample nothing = { .capture = capture, .pid = pid, .verdict = &nobody };

	metrics->failed = false;
	capture_take(metrics, &nothing);
	endings_add(metrics, ENDINGS);
	one_row(metrics, METRIC_RUN, NULL, NULL);
	one_row(metrics, METRIC_WINDOW, NULL, NULL);
	verdict_take(metrics, &nothing);
	losses_take(metrics, &nothing);
	return metrics->failed ? -ENOMEM : 0;
}

int metrics_add(struct metrics *metrics, const struct sample *sample)
{
	uint64_t window = sample->end > sample->start ? sample->end - sample->start : 0;

	metrics->failed = false;
	metrics->now = sample->end;
	metrics->period = sample->end / (60 * NSEC_PER_SEC);
	metrics->sample++;
	metrics->wall = sample->wall_dump;
	metric_rows_sweep(metrics);
	capture_take(metrics, sample);
	ending_take(metrics, sample);
	run_take(metrics, sample);
	window_take(metrics, window);
	losses_take(metrics, sample);
	verdict_take(metrics, sample);
	pressure_take(metrics, "machine", &sample->pressures.machine);
	pressure_take(metrics, "group", &sample->pressures.group);
	disks_take(metrics, sample);
	upcalls_take(metrics, sample);
	softirq_delays_take(metrics, sample);
	metric_take_usages(metrics, sample);
	metric_take_threads(metrics, sample);
	return metrics->failed ? -ENOMEM : 0;
}

static void metrics_trigger_set(struct metrics *metrics, const struct trigger_stats *stats,
				enum kd_role role)
{
	struct metric_row *row = one_row(metrics, METRIC_TRIGGER, "trigger", role_keys[role]);

	if (!row)
		return;
	for (unsigned int i = 0; i < KD_OUTCOMES; i++)
		row->values[i] = stats->tally.outcome[role][i];
	row->values[TRIGGER_COST] = u64_times(tally_looked_at(&stats->tally, role),
					      stats->cost[role]);
	row->values[TRIGGER_UNMET] = stats->tally.unmet[role];
	row->values[TRIGGER_UNREAD] = stats->tally.unread[role];
}

static void windows_set(struct metrics *metrics, const struct trigger_stats *stats)
{
	struct metric_row *row = one_row(metrics, METRIC_WINDOW, NULL, NULL);

	if (!row)
		return;
	metrics->windows_set = true;
	memset(row->values, 0, HISTOGRAM_COLUMNS * sizeof(*row->values));
	metric_row_distribution(row, &stats->windows, stats->tally.total);
}

int metrics_add_triggers(struct metrics *metrics, const struct trigger_stats *stats)
{
	const struct kd_tally *tally = &stats->tally;
	struct metric_row *row = one_row(metrics, METRIC_RUN, NULL, NULL);

	metrics->failed = !row;
	if (row) {
#define FIGURE_SET(id, type, when, name, unit, help, value) row->values[RUN_##id] = value;
		TRIGGER_FIGURES(FIGURE_SET)
	}
	for (unsigned int role = 0; role < KD_ROLES; role++)
		if (stats->names[role])
			metrics_trigger_set(metrics, stats, (enum kd_role)role);
	one_set(metrics, METRIC_LOSS, "reason", "trigger_runs", stats->skipped);
	if (stats->dropped)
		one_set(metrics, METRIC_LOSS, "reason", "trigger_drops", stats->dropped);
	one_set(metrics, METRIC_ENDING, "result", "skipped",
		tally->outcome[KD_STOP][KD_HIT_SKIPPED]);
	if (stats->names[KD_START] && stats->names[KD_STOP])
		windows_set(metrics, stats);
	return metrics->failed ? -ENOMEM : 0;
}

/* --- Statistics over several samples --- */

#define BILLION 1e9

/* Value as stored in rows: ns, or billionths if not a time. */
static uint64_t figure_of(double value, double unit)
{
	value *= unit;
	return value < (double)UINT64_MAX ? (uint64_t)(value + 0.5) : UINT64_MAX;
}

static void statistic_take(struct metrics *metrics, enum metric_kind kind,
			   const struct metric_labels *labels, const struct statistic *statistic,
			   uint64_t n, double unit)
{
	struct metric_row *row = metric_row_touch(metrics, kind, NULL, labels);
	const double values[STATISTIC_COLUMNS] = {
		[STATISTIC_MIN] = statistic->min,
		[STATISTIC_MEAN] = statistic->mean,
		[STATISTIC_MAX] = statistic->max,
		[STATISTIC_STDDEV] = statistic_deviation(statistic, n),
		[STATISTIC_JITTER] = statistic_jitter(statistic, n),
		[STATISTIC_EWMA] = statistic->ewma,
	};

	for (unsigned int i = 0; row && i < STATISTIC_COLUMNS; i++)
		row->values[i] = figure_of(values[i], unit);
}

static void thread_take(struct metrics *metrics, const struct summary *summary,
			const struct summary_thread *thread, size_t *order, size_t most)
{
	size_t n = summary_rank_measures(summary, thread, order);

	for (size_t i = 0; i < n && i < most; i++) {
		const struct measure *measure = &summary->measures.all[order[i]];
		const struct statistic *value = summary_value(thread, order[i]);
		struct metric_labels labels = { .length = 0 };
		char title[MEASURE_KEY];
		struct statistic rate;

		if (thread != &summary->all)
			metric_labels_foreign(&labels, "thread",
					      *thread->name ? thread->name : "[unknown]",
					      KD_COMM_LEN, "");
		else
			metric_labels_add(&labels, "thread", "[all]");
		if (thread->tid)
			metric_labels_number(&labels, "tid", (unsigned long)thread->tid);
		measure_title(measure, title);
		metric_labels_add(&labels, "measure", title);
		statistic_take(metrics,
			       measure->is_time ? METRIC_STATISTIC_TIME : METRIC_STATISTIC_COUNT,
			       &labels, value, thread->n, measure->is_time ? 1 : BILLION);
		/* Time per time is a share: ns per second are billionths. */
		if (summary_rate(summary, thread, order[i], &rate))
			statistic_take(metrics, METRIC_STATISTIC_RATE, &labels, &rate, thread->n,
				       measure->is_time ? 1 : BILLION);
	}
}

int metrics_add_summary(struct metrics *metrics, const struct summary *summary)
{
	const struct summary_thread **threads = calloc(summary->n + 1, sizeof(*threads));
	size_t *order = calloc(summary->measures.n, sizeof(*order));

	metrics->failed = !threads || !order;
	if (!metrics->failed) {
		summary_rank_threads(summary, threads);
		thread_take(metrics, summary, &summary->all, order, SIZE_MAX);
		for (size_t i = 0; i < summary->n && i < METRIC_NAMED_ROWS; i++)
			thread_take(metrics, summary, threads[i], order, METRIC_NAMED_ROWS);
	}
	free(threads);
	free(order);
	return metrics->failed ? -ENOMEM : 0;
}
