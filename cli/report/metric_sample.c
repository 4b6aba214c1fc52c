// SPDX-License-Identifier: Apache-2.0
/* What a sample, and what triggers did, add to the metrics. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "metric_take.h"

#define NSEC 1000000000ULL

static const char *const loss_reasons[KD_LOSSES] = {
	[KD_LOSS_THREADS] = "threads",     [KD_LOSS_CALLS] = "syscalls",
	[KD_LOSS_IRQ_NAMES] = "irq_names", [KD_LOSS_UNTRACKED] = "untracked",
	[KD_LOSS_PAIRS] = "trigger_pairs", [KD_LOSS_EDGES] = "trigger_edges",
	[KD_LOSS_DURATIONS] = "durations",
};

/* Words for how samples end, each of which has its series from the first one on. */
enum ending { COMPLETE, SKIPPED, INTERRUPTED, EXITED, EXPIRED, OVERLOADED, ENDINGS };
static const char *const endings[ENDINGS] = {
	[COMPLETE] = "complete", [SKIPPED] = "skipped", [INTERRUPTED] = "interrupted",
	[EXITED] = "exited",     [EXPIRED] = "expired", [OVERLOADED] = "overloaded",
};

/* The row with this one label, which is a constant. NULL if there is no memory. */
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

static void run_take(struct metrics *metrics, const struct sample *sample, uint64_t window)
{
	const struct trace_list *traces = &sample->traces;
	const struct timespec *wall = &sample->wall_dump;
	struct metric_row *row = one_row(metrics, METRIC_RUN, NULL, NULL);

	if (!row)
		return;
	metric_row_sum(row, RUN_MEASURED, window);
	metric_row_sum(row, RUN_RESYNCED, sample->resynced);
	metric_row_sum(row, RUN_LIMITED, traces->limited);
	metric_row_sum(row, RUN_INCOMPLETE, traces->incomplete);
	row->values[RUN_DUMP] = wall->tv_sec > 0 && (uint64_t)wall->tv_sec < UINT64_MAX / NSEC
					? (uint64_t)wall->tv_sec * NSEC + (uint64_t)wall->tv_nsec
					: 0;
	row->values[RUN_CALL_THRESHOLD] = traces->calls_asked ? traces->call_threshold : 0;
	row->values[RUN_WAIT_THRESHOLD] = traces->waits_asked ? traces->wait_threshold : 0;
	row->values[RUN_PROFILE_HZ] = traces->profile_hz;
}

static void losses_take(struct metrics *metrics, const struct sample *sample)
{
	const struct {
		const char *reason;
		uint64_t count;
	} others[] = {
		{ "skipped_runs", sample->skipped_runs },
		{ "hidden_threads", sample->hidden },
		{ "torn_threads", sample->torn },
		{ "traces", sample->traces.lost },
		{ "stacks", sample->traces.beyond },
		{ "unresolved_stacks", sample->traces.failed },
		{ "series", 0 },
		{ "trigger_runs", 0 },
	};

	for (size_t i = 0; i < KD_LOSSES; i++)
		one_sum(metrics, METRIC_LOSS, "reason", loss_reasons[i], sample->losses[i]);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		one_sum(metrics, METRIC_LOSS, "reason", others[i].reason, others[i].count);
	for (size_t i = 0; i < sample->n_absent; i++)
		one_set(metrics, METRIC_ABSENCE, "section", sample->absent[i].section, 1);
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

int metrics_expect(struct metrics *metrics, const struct capture *capture, pid_t pid)
{
	const struct sample nothing = { .capture = capture, .pid = pid };

	metrics->failed = false;
	capture_take(metrics, &nothing);
	endings_add(metrics, ENDINGS);
	one_row(metrics, METRIC_RUN, NULL, NULL);
	one_row(metrics, METRIC_WINDOW, NULL, NULL);
	losses_take(metrics, &nothing);
	return metrics->failed ? -ENOMEM : 0;
}

int metrics_add(struct metrics *metrics, const struct sample *sample)
{
	uint64_t window = sample->end > sample->start ? sample->end - sample->start : 0;

	metrics->failed = false;
	metrics->now = sample->end;
	metrics->period = sample->end / (60 * NSEC);
	metrics->sample++;
	metrics->wall = sample->wall_dump;
	metric_rows_sweep(metrics);
	capture_take(metrics, sample);
	ending_take(metrics, sample);
	run_take(metrics, sample, window);
	window_take(metrics, window);
	losses_take(metrics, sample);
	upcalls_take(metrics, sample);
	metric_take_threads(metrics, sample);
	return metrics->failed ? -ENOMEM : 0;
}

static void trigger_set(struct metrics *metrics, const struct trigger_stats *stats,
			enum kd_role role)
{
	struct metric_row *row = one_row(metrics, METRIC_TRIGGER, "trigger",
					 role == KD_START ? "start" : "stop");

	if (!row)
		return;
	for (unsigned int i = 0; i < KD_OUTCOMES; i++)
		row->values[i] = stats->tally.outcome[role][i];
	if (__builtin_mul_overflow(stats->tally.hits[role], stats->cost[role],
				   &row->values[TRIGGER_COST]))
		row->values[TRIGGER_COST] = UINT64_MAX;
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
		row->values[RUN_FOREIGN] = tally->foreign;
		row->values[RUN_NESTED] = tally->nested;
	}
	for (unsigned int role = 0; role < KD_ROLES; role++)
		if (stats->names[role])
			trigger_set(metrics, stats, (enum kd_role)role);
	one_set(metrics, METRIC_LOSS, "reason", "trigger_runs", stats->skipped);
	one_set(metrics, METRIC_ENDING, "result", "skipped",
		tally->outcome[KD_STOP][KD_HIT_SKIPPED]);
	if (stats->names[KD_START] && stats->names[KD_STOP])
		windows_set(metrics, stats);
	return metrics->failed ? -ENOMEM : 0;
}
