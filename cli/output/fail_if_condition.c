/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "fail_if_condition.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/clock.h"
#include "cli/base/log.h"
#include "cli/base/names.h"
#include "cli/base/parse.h"
#include "cli/base/syscall_set.h"
#include "cli/base/texts.h"
#include "cli/model/losses.h"
#include "cli/model/measure.h"
#include "cli/model/pressure.h"
#include "cli/model/resource.h"
#include "cli/model/rows.h"
#include "cli/model/thread_row.h"
#include "cli/model/verdict.h"
#include "cli/model/words.h"

/* --- Metrics of conditions --- */

#define HAS FAIL_HAS
#define RUNNING                                                                                    \
	(HAS(LEDGER_USER) | HAS(LEDGER_KERNEL) | HAS(LEDGER_FAULT) | HAS(LEDGER_RECLAIM) |         \
	 HAS(LEDGER_GUEST) | HAS(LEDGER_HARDIRQ) | HAS(LEDGER_SOFTIRQ))
#define READY (HAS(LEDGER_READY_WOKEN) | HAS(LEDGER_READY_PREEMPTED) | HAS(LEDGER_THROTTLED))
#define SHARE (HAS(FAIL_TOTAL) | HAS(FAIL_PCT))
#define SHARES                                                                                     \
	(HAS(FAIL_SHARES) | HAS(FAIL_SHARES + 1) | HAS(FAIL_SHARES + 2) | HAS(FAIL_SHARES + 3))
#define TIMES (HAS(FAIL_COUNT) | HAS(FAIL_TOTAL) | HAS(FAIL_MAX))
#define ALL (TIMES | SHARE)
#define VALUE HAS(FAIL_VALUE)

#define METRIC(text, has, ...)                                                                     \
	{                                                                                          \
		.name = (text), .fields = (has), __VA_ARGS__                                       \
	}
#define OF(function, ...) .figures = { .read = (function), __VA_ARGS__ }
#define NAMES(first, n, what)                                                                      \
	.names = (const char *const *)&(first), .n_names = (n), .step = sizeof(first),             \
	.unknown = (what)
#define COUNTER_METRIC(member, key, condition, label)                                              \
	METRIC(condition, VALUE, OF(figures_of_counter, .of = offsetof(struct thread_row, member))),
#define TIME_METRIC(member, key, condition, ...)                                                   \
	METRIC(condition, SHARE, OF(figures_of_counter, .of = offsetof(struct thread_row, member))),

/* Its condition says how it is called; fields are what its rows have. */
#define LIST_METRIC(of) METRIC(NULL, 0, OF(figures_of_list, .list = &(of)))

#define STATE_HAS_LIST(state) ((state) == LEDGER_HARDIRQ || (state) == LEDGER_SOFTIRQ)
#define STATE_LIST(state)                                                                          \
	((state) == LEDGER_HARDIRQ   ? &hardirq_list                                               \
	 : (state) == LEDGER_SOFTIRQ ? &softirq_list                                               \
				     : NULL)
#define STATE_FIGURES(state)                                                                       \
	(STATE_HAS_LIST(state)       ? figures_of_list                                             \
	 : (state) == LEDGER_STOPPED ? figures_of_period                                           \
				     : NULL)
#define STATE_FIELDS(state)                                                                        \
	(STATE_HAS_LIST(state) ? ALL | FAIL_NAMES : (state) == LEDGER_STOPPED ? ALL : SHARE)
/* Names of hard interrupts vary between machines. */
#define STATE_METRIC(state, key, title, ...)                                                       \
	METRIC(key, STATE_FIELDS(state), .states = HAS(state),                                     \
	       OF(STATE_FIGURES(state), .list = STATE_LIST(state), .of = OPEN_STOPPED),            \
	       NAMES(softirq_names[0], (state) == LEDGER_SOFTIRQ ? SOFTIRQS : 0,                   \
		     (state) == LEDGER_SOFTIRQ ? "there is no such softirq" : NULL)),
#define PERIOD_METRIC(kind, key, label) PERIOD_METRIC_##kind(key)
#define PERIOD_METRIC_OPEN_RUN(key)                                                                \
	METRIC(key, ALL | SHARES, .states = RUNNING, OF(figures_of_period, .of = OPEN_RUN)),
#define PERIOD_METRIC_OPEN_READY(key)                                                              \
	METRIC(key, ALL | SHARES, .states = READY, OF(figures_of_period, .of = OPEN_READY)),
#define PERIOD_METRIC_OPEN_STOPPED(key) /* a state as well */
#define PERIOD_METRIC_OPEN_ROUND(key) METRIC(key, TIMES, OF(figures_of_period, .of = OPEN_ROUND)),

#define MOVED (HAS(FAIL_COUNT) | HAS(FAIL_BYTES) | FAIL_NAMES)
#define IO_NAMES NAMES(io_keys[0], KD_IO_KINDS, "there is no such kind of descriptor")

static uint64_t threads_count(const struct sample *sample)
{
	uint64_t count = 0;

	for (size_t i = 0; i < sample->n_threads; i++)
		count += sample->threads[i].members > 1 ? sample->threads[i].members : 1;
	return count;
}

static uint64_t upcalls_count(const struct sample *sample)
{
	uint64_t count = 0;

	for (size_t i = 0; i < sample->n_upcalls; i++)
		count += sample->upcalls[i].count;
	return count;
}

static uint64_t upcall_errors_count(const struct sample *sample)
{
	uint64_t count = 0;

	for (size_t i = 0; i < sample->n_upcalls; i++)
		count += sample->upcalls[i].error ? sample->upcalls[i].count : 0;
	return count;
}

static uint64_t memory_used(const struct sample *sample)
{
	return usage_total(sample).memory.end;
}

static uint64_t segments_resent(const struct sample *sample)
{
	return usage_total(sample).resent;
}

static const struct pressure_set *machine_pressure(const struct sample *sample)
{
	return &sample->pressures.machine;
}

static const struct pressure_set *group_pressure(const struct sample *sample)
{
	return &sample->pressures.group;
}

#define PRESSURE_METRIC(text, function)                                                            \
	METRIC(text, SHARE | FAIL_NAMES, .kind = FAIL_PRESSURE, .needs = NEEDS_PRESSURE,           \
	       .pressure = (function),                                                             \
	       NAMES(pressure_figures[0], PRESSURE_FIGURES, "there is no such pressure"))
#define SAMPLE(function) .kind = FAIL_SAMPLE, .value = (function)

/* clang-format off */
static const struct fail_metric metrics[] = {
	PERIOD_WORDS(PERIOD_METRIC, PERIOD_METRIC) /* "run", "ready" and so on */
	LEDGER_WORDS(STATE_METRIC)                 /* "user" and so on */
	METRIC("ready_by", SHARE | HAS(FAIL_MAX) | FAIL_NAMES, OF(figures_of_culprit), NAMES(culprit_kinds[CULPRIT_TASK + 1], CULPRIT_KINDS - 1, NULL)),
	METRIC("blocked_for", ALL | FAIL_NAMES, OF(figures_of_awaited), NAMES(awaited_keys[0], KD_AWAITED_KINDS, "threads are not blocked for that")),
	METRIC("interruptions", ALL | FAIL_NAMES, .needs = SCAN_INTERRUPTIONS, OF(figures_of_cause), .all = { .read = figures_of_interruption }, NAMES(interruption_keys[0], INTERRUPTION_CAUSES, "nothing of that name interrupts threads")),
	METRIC("syscall", ALL | SHARES | FAIL_NAMES, .needs = NEEDS_CALL_NAMES, OF(figures_of_call)),
	METRIC("waits", TIMES, .kind = FAIL_WAITS, .needs = SCAN_WAITS),
	METRIC("verdict", TIMES | HAS(FAIL_SHARE) | FAIL_NAMES, .kind = FAIL_VERDICT, NAMES(cause_words[0], CAUSES, "there is no such cause")),
	EACH_THREAD_COUNTER(COUNTER_METRIC) /* "voluntary" and so on */
	EACH_THREAD_TIME(TIME_METRIC)
	METRIC("read", MOVED, .needs = SCAN_RESOURCES, OF(figures_of_io, .of = offsetof(struct io_row, read)), IO_NAMES),
	METRIC("written", MOVED, .needs = SCAN_RESOURCES, OF(figures_of_io, .of = offsetof(struct io_row, written)), IO_NAMES),
	LIST_METRIC(stop_list),
	LIST_METRIC(mover_list),
	METRIC("overslept", TIMES, OF(figures_of_events, .of = offsetof(struct thread_row, overslept.by))),
	METRIC("late_ticks", TIMES, .needs = SCAN_INTERRUPTIONS, OF(figures_of_events, .of = offsetof(struct thread_row, late_ticks))),
	METRIC("softirq_delays", TIMES | FAIL_NAMES, .kind = FAIL_SOFTIRQS, .needs = SCAN_INTERRUPTIONS, NAMES(softirq_names[0], SOFTIRQS, "there is no such softirq")),
	LIST_METRIC(block_list),
	LIST_METRIC(counter_list),
	METRIC("memory", VALUE, .needs = SCAN_RESOURCES, SAMPLE(memory_used)),
	METRIC("tcp_retransmissions", VALUE, .needs = SCAN_RESOURCES, SAMPLE(segments_resent)),
	PRESSURE_METRIC("pressure", machine_pressure),
	PRESSURE_METRIC("group_pressure", group_pressure),
	METRIC("changed", HAS(FAIL_COUNT) | HAS(FAIL_PCT) | FAIL_NAMES, .kind = FAIL_CHANGED, .needs = NEEDS_COMPARISON),
	METRIC("threads", VALUE, SAMPLE(threads_count)),
	METRIC("upcalls", VALUE, .needs = SCAN_UPCALLS, SAMPLE(upcalls_count)),
	METRIC("upcall_errors", VALUE, .needs = SCAN_UPCALLS, SAMPLE(upcall_errors_count)),
	METRIC("lost", VALUE, SAMPLE(sample_lost)),
};
/* clang-format on */
_Static_assert(offsetof(struct cause_words, key) == 0, "the keys are names");

const struct fail_metric *fail_metric_at(size_t index)
{
	return index < sizeof(metrics) / sizeof(*metrics) ? &metrics[index] : NULL;
}

const char *fail_metric_title(const struct fail_metric *metric)
{
	return metric->name ?: metric->figures.list->condition;
}

unsigned int fail_metric_fields(const struct fail_metric *metric)
{
	const struct row_list *list = metric->figures.list;

	if (metric->fields)
		return metric->fields;
	return HAS(FAIL_COUNT) | (list->total ? HAS(FAIL_TOTAL) : 0) |
	       (list->max ? HAS(FAIL_MAX) : 0) | (list->bytes ? HAS(FAIL_BYTES) : 0) | FAIL_NAMES;
}

bool fail_field_is_share(enum fail_field field)
{
	return field >= FAIL_SHARES && field < FAIL_PCT;
}

bool fail_field_is_percentage(enum fail_field field)
{
	return field == FAIL_PCT || field == FAIL_SHARE;
}

bool fail_field_is_time(enum fail_field field)
{
	return field == FAIL_TOTAL || field == FAIL_MAX || fail_field_is_share(field);
}

const char *fail_field_name(enum fail_field field)
{
	static const char *const names[FAIL_FIELDS] = {
		[FAIL_VALUE] = "",         [FAIL_COUNT] = "count",      [FAIL_TOTAL] = "total",
		[FAIL_MAX] = "max",        [FAIL_SHARES] = "p50",       [FAIL_SHARES + 1] = "p90",
		[FAIL_SHARES + 2] = "p99", [FAIL_SHARES + 3] = "p99_9", [FAIL_PCT] = "pct",
		[FAIL_SHARE] = "share",    [FAIL_BYTES] = "bytes",
	};

	return names[field];
}

const char *fail_metric_name(const struct fail_metric *metric, size_t index)
{
	const char *names = (const char *)metric->names;

	return index < metric->n_names ? *(const char *const *)(names + index * metric->step)
				       : NULL;
}

bool fail_metric_of_threads(const struct fail_metric *metric)
{
	return metric->kind == FAIL_THREADS;
}

/* --- Parsing of conditions --- */

#define TIME_MAX (365 * 24 * 3600 * NSEC_PER_SEC)
#define PERCENT_MAX (1000000 * FAIL_PERCENT)

static exit_status refuse(const struct condition *condition, const char *what, const char *hint)
{
	log_error("option %s: '%s': %s", condition->option, condition->text, what);
	log_hint("%s", hint);
	return EX_USAGE;
}

static const struct fail_metric *metric_named(const char *name)
{
	const struct fail_metric *metric;

	for (size_t i = 0; (metric = fail_metric_at(i)); i++)
		if (!strcmp(fail_metric_title(metric), name))
			return metric;
	return NULL;
}

#define METRICS_LEN 1800 /* fits the list of all */

/* Adds a metric as users type it, with all fields: METRIC[.NAME].FIELD|FIELD. */
static void list_add(char list[static METRICS_LEN], const struct fail_metric *metric)
{
	const char *separator = ".";

	text_append(list, METRICS_LEN, "%s%s%s", *list ? ", " : "", fail_metric_title(metric),
		    fail_metric_fields(metric) & FAIL_NAMES ? "[.NAME]" : "");
	for (enum fail_field field = FAIL_COUNT; field < FAIL_FIELDS; field++) {
		if (!(fail_metric_fields(metric) & FAIL_HAS(field)))
			continue;
		text_append(list, METRICS_LEN, "%s%s", separator, fail_field_name(field));
		separator = "|";
	}
}

/* Hints at a metric with this name, or with similar names, or at all. */
static void hint_metrics(const char *name)
{
	const struct fail_metric *metric = metric_named(name);
	char list[METRICS_LEN] = "";
	struct names_closest closest;

	names_closest_init(&closest, name);
	if (metric)
		list_add(list, metric);
	for (size_t i = 0; !metric && fail_metric_at(i); i++)
		names_closest_offer(&closest, fail_metric_title(fail_metric_at(i)));
	for (size_t i = 0; i < closest.n; i++)
		list_add(list, metric_named(closest.best[i].name));
	if (*list) {
		log_hint("%s%s", metric ? "there are " : "similar names: ", list);
	} else {
		for (size_t i = 0; fail_metric_at(i); i++)
			list_add(list, fail_metric_at(i));
		log_hint("there are %s", list);
	}
	names_closest_clear(&closest);
}

/* name: the part of full_name that should be a metric. */
static exit_status refuse_metric(const struct condition *condition, const char *full_name,
				 const char *name)
{
	log_error("option %s: '%s': there is no metric '%s'", condition->option, condition->text,
		  full_name);
	hint_metrics(name);
	return EX_USAGE;
}

static exit_status refuse_call(const struct condition *condition, const char *name)
{
	log_error("option %s: '%s': there is no such system call", condition->option,
		  condition->text);
	syscall_set_hint(name, "give a name as in syscalls(2), or a pattern");
	return EX_USAGE;
}

/* Checks that the name is one of those that there are. */
static exit_status name_check(const struct condition *condition, const char *name)
{
	const struct fail_metric *metric = condition->metric;
	char list[METRICS_LEN] = "";
	const char *choice;

	for (size_t i = 0; (choice = fail_metric_name(metric, i)); i++) {
		if (!strcmp(name, choice))
			return 0;
		text_append(list, sizeof(list), "%s%s", i ? ", " : "there are ", choice);
	}
	return metric->unknown ? refuse(condition, metric->unknown, list) : 0;
}

/* Checks that the name is a measure or a cause. */
static exit_status changed_check(const struct condition *condition, const char *name)
{
	struct measures measures = { 0 };
	struct names_closest closest;
	bool found = measures_find(&measures) || measures_index(&measures, name) != SIZE_MAX;

	names_closest_init(&closest, name);
	for (size_t i = 0; i < measures.n; i++)
		names_closest_offer(&closest, measures.all[i].key);
	for (size_t i = 0; i < CAUSES; i++) {
		found |= !strcmp(name, cause_words[i].key);
		names_closest_offer(&closest, cause_words[i].key);
	}
	if (!found) {
		log_error("option %s: '%s': there is no measure '%s'", condition->option,
			  condition->text, name);
		names_closest_hint(&closest, "", "give one of JSON's, such as kept_ns");
	}
	names_closest_clear(&closest);
	measures_clear(&measures);
	return found ? 0 : EX_USAGE;
}

static bool is_call(const char *name)
{
	return syscall_find(SYSCALL_NATIVE, name) >= 0 || syscall_find(SYSCALL_COMPAT, name) >= 0;
}

/* A name that never occurs would make a condition that is never true. */
static exit_status label_check(const struct condition *condition)
{
	const char *label = condition->glob;

	if (!*label || names_is_glob(label))
		return 0;
	if (condition->metric->needs == NEEDS_CALL_NAMES && !is_call(label))
		return refuse_call(condition, label);
	if (condition->metric->kind == FAIL_CHANGED)
		return changed_check(condition, label);
	return name_check(condition, label);
}

static enum fail_field field_named(const char *name)
{
	enum fail_field field = FAIL_COUNT;

	while (field < FAIL_FIELDS && strcmp(fail_field_name(field), name))
		field++;
	return field;
}

/* Splits METRIC[.NAME][.FIELD]. */
static exit_status metric_read(struct condition *condition, char *name)
{
	char *label = strchr(name, '.'), *field = strrchr(name, '.');
	bool has_label = label < field;
	char full_name[CONDITION_TEXT_LEN];

	memcpy(full_name, name, strlen(name) + 1);
	condition->field = FAIL_VALUE;
	if (field) {
		*label = *field = '\0';
		condition->field = field_named(field + 1);
	}
	condition->metric = metric_named(name);
	if (!condition->metric || condition->field == FAIL_FIELDS ||
	    !(fail_metric_fields(condition->metric) & FAIL_HAS(condition->field)) ||
	    (has_label && (!label[1] || !(fail_metric_fields(condition->metric) & FAIL_NAMES))))
		return refuse_metric(condition, full_name, name);
	if (has_label)
		memcpy(condition->glob, label + 1, strlen(label + 1) + 1);
	if (*condition->threads && !fail_metric_of_threads(condition->metric) &&
	    condition->metric->kind != FAIL_WAITS && condition->metric->kind != FAIL_CHANGED)
		return refuse(condition, "this metric is not one of threads",
			      "give it without thread(...)");
	return label_check(condition);
}

static int threshold_read(struct condition *condition, const char *text)
{
	uint64_t *threshold = &condition->threshold;
	size_t length = strlen(text);
	char last = length ? text[length - 1] : '\0', digits[CONDITION_TEXT_LEN];
	char units[5 * CONDITION_TEXT_LEN + 64];

	if (fail_field_is_time(condition->field)) {
		int error = parse_duration(text, 0, TIME_MAX, threshold);

		if (!error)
			return 0;
		if (error == -EDOM) {
			snprintf(units, sizeof(units), "give one: %sns, %sus, %sms, %ss or %smin",
				 text, text, text, text, text);
			return refuse(condition, "the value has no unit", units);
		}
		return refuse(condition, "the value is not a time",
			      "give a number with ns, us, ms, s or min: 1ms");
	}
	if (fail_field_is_percentage(condition->field)) {
		memcpy(digits, text, length + 1);
		if (last == '%')
			digits[length - 1] = '\0';
		if (!digits[strspn(digits, "0123456789.")] &&
		    !parse_duration(digits, FAIL_PERCENT, PERCENT_MAX, threshold))
			return 0;
		return refuse(condition, "the value is not a percentage",
			      "give a number, which may have a fraction: 2.5");
	}
	if (!parse_u64(text, 0, UINT64_MAX, threshold))
		return 0;
	return refuse(condition, "the value is not a whole number", "give a number: 0");
}

static char *trimmed(char *text)
{
	size_t length;

	text += strspn(text, " ");
	for (length = strlen(text); length && text[length - 1] == ' ';)
		text[--length] = '\0';
	return text;
}

/* What is wrong if it is missing. live: NULL if that shows in a sample only; replayed: NULL if it
 * does not come from a file. */
struct need {
	unsigned int of;
	const char *live, *replayed, *hint;
};

/* NULL: nothing that only some samples have. */
static const struct need *need_of(const struct condition *condition)
{
	static const struct need needs[] = {
		{ SCAN_WAITS, "no waits are recorded", "waits", "give --off-cpu, too" },
		{ SCAN_HISTOGRAMS, "no distributions are recorded", "distributions",
		  "give --histogram, too" },
		{ SCAN_INTERRUPTIONS, "no interruptions are recorded", "interruptions",
		  "give --interruptions, too" },
		{ SCAN_RESOURCES, "no resources are recorded", "resources",
		  "give --resources, too" },
		{ SCAN_COUNTERS, "no such events are counted", "such counters",
		  "give their names with --counters, too" },
		{ NEEDS_COMPARISON, "nothing is compared", NULL, "give --compare, too" },
		{ SCAN_UPCALLS, NULL, "counted upcalls",
		  "they are counted of ovs-vswitchd, without --skip-upcall-stats" },
		{ NEEDS_PRESSURE, NULL, "figures of that pressure",
		  "the kernel needs psi=1; windows of triggers have none, nor has the root group" },
		{ NEEDS_CALL_NAMES, NULL, "names of system calls",
		  "it is of another kind of machine: look at it there" },
	};
	const struct fail_metric *metric = condition->metric;
	unsigned int of = metric->figures.list ? metric->figures.list->needs : metric->needs;

	if (fail_field_is_share(condition->field))
		of = SCAN_HISTOGRAMS;
	if (of == NEEDS_CALL_NAMES && !*condition->glob)
		return NULL;
	for (size_t i = 0; i < sizeof(needs) / sizeof(*needs); i++)
		if (needs[i].of == of)
			return &needs[i];
	return NULL;
}

static bool condition_names(const struct condition *condition, const char *name)
{
	return !*condition->glob || names_match(condition->glob, name);
}

static bool counters_have(const struct condition *condition, const struct counter_set *set)
{
	for (size_t i = 0; set && i < set->n; i++)
		if (condition_names(condition, set->all[i].name))
			return true;
	return false;
}

/* The data of a condition must be recorded, or it would never be true. */
static exit_status recorded_check(const struct condition *condition,
				  const struct fail_recorded *recorded)
{
	const struct need *need = need_of(condition);

	/* A comparison is made in this run. */
	if (!need || !need->live || (recorded->replayed && need->replayed))
		return 0;
	if (need->of == SCAN_COUNTERS ? counters_have(condition, recorded->counters)
				      : (recorded->has & need->of) != 0)
		return 0;
	return refuse(condition, need->live, need->hint);
}

/* Older files have distributions without saying so. */
static bool has_distributions(const struct sample *sample)
{
	bool has = sample->distributions;

	for (size_t i = 0; i < sample->n_threads && !has; i++) {
		const struct thread_row *thread = &sample->threads[i];

		has = thread->run_times.n || thread->ready_times.n;
		for (size_t j = 0; j < thread->n_calls && !has; j++)
			has = thread->calls[j].times.n;
	}
	return has;
}

/* Threads that did not run have no counts. */
static bool has_counters(const struct condition *condition, const struct sample *sample)
{
	uint64_t ran = 0;

	for (size_t i = 0; i < sample->n_threads; i++) {
		const struct thread_row *thread = &sample->threads[i];

		ran |= ledger_running(&thread->ledger);
		for (size_t j = 0; j < thread->n_counters; j++)
			if (condition_names(condition, thread->counters[j].name))
				return true;
	}
	return !ran;
}

static bool has_pressure(const struct condition *condition, const struct sample *sample)
{
	const struct pressure_set *set = condition->metric->pressure(sample);
	uint64_t ns;

	for (size_t i = 0; i < PRESSURE_FIGURES; i++)
		if (condition_names(condition, pressure_figures[i]) && pressure_figure(set, i, &ns))
			return true;
	return false;
}

static bool sample_has(const struct condition *condition, const struct sample *sample,
		       unsigned int need)
{
	switch (need) {
	case SCAN_WAITS:
		return sample->traces.waits_wanted;
	case SCAN_HISTOGRAMS:
		return has_distributions(sample);
	case SCAN_INTERRUPTIONS:
		return condition->metric->kind == FAIL_SOFTIRQS ? sample->has_softirq_delays
								: sample->has_interruptions;
	case SCAN_RESOURCES:
		return sample->has_resources;
	case SCAN_COUNTERS:
		return has_counters(condition, sample);
	case SCAN_UPCALLS:
		return sample->has_upcalls;
	case NEEDS_PRESSURE:
		return has_pressure(condition, sample);
	case NEEDS_CALL_NAMES:
		return !sample->foreign_calls;
	default:
		return true;
	}
}

/* Reason why the kernel lacks this data; NULL: it has it. */
static const struct absence *absence_of(const struct condition *condition,
					const struct sample *sample)
{
	static const struct {
		const char *name, *section, *begins;
	} words[] = {
		{ "softirq", "SOFT IRQ STATISTICS", "is left out" },
		{ "softirq_delays", "SOFT IRQ DELAYS", "is left out" },
		{ "page_fault", "THREAD TIME", "has no page faults" },
		{ "stolen", "THREAD TIME", "does not show what the hypervisor" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strcmp(fail_metric_title(condition->metric), words[i].name) != 0 &&
		    strcmp(condition->glob, words[i].name) != 0)
			continue;
		for (size_t j = 0; j < sample->n_absent; j++)
			if (!strcmp(sample->absent[j].section, words[i].section) &&
			    !strncmp(sample->absent[j].what, words[i].begins,
				     strlen(words[i].begins)))
				return &sample->absent[j];
	}
	return NULL;
}

exit_status condition_find(const struct condition *condition, const struct sample *sample,
			   uint64_t number)
{
	const struct need *need = need_of(condition);
	const struct absence *absence = absence_of(condition, sample);

	if (!absence && (!need || sample_has(condition, sample, need->of)))
		return 0;
	if (absence) {
		log_error("option %s: '%s' cannot be judged for sample %llu: [%s] %s",
			  condition->option, condition->text, (unsigned long long)number,
			  absence->section, absence->what);
		return EX_DATAERR;
	}
	log_error("option %s: '%s' cannot be judged for sample %llu: it has no %s",
		  condition->option, condition->text, (unsigned long long)number, need->replayed);
	log_hint(need->live ? "where the sample is taken, %s" : "%s", need->hint);
	return EX_DATAERR;
}

exit_status condition_read(struct condition *condition, const char *option, const char *given,
			   const struct fail_recorded *recorded)
{
	static const char prefix[] = "thread(";
	static const char grammar[] = "give METRIC>VALUE, with > or >=, < or <=: ready.max>1ms, "
				      "'thread(pmd*).softirq.pct>5', lost>0";
	char text[CONDITION_TEXT_LEN], *metric, *operator, * value;
	int status;

	condition->option = option;
	condition->text = given;
	if (strlen(given) >= sizeof(text))
		return refuse(condition, "it is too long", grammar);
	memcpy(text, given, strlen(given) + 1);
	metric = trimmed(text);
	if (!strncmp(metric, prefix, strlen(prefix))) {
		char *end = NULL;

		for (char *at = metric; (at = strstr(at, ").")); at++)
			end = at; /* the last one: names may contain others */
		metric += strlen(prefix);
		if (!end || end == metric)
			return refuse(condition, "thread(NAME) is incomplete", grammar);
		*end = '\0';
		memcpy(condition->threads, metric, strlen(metric) + 1);
		metric = end + 2;
	}
	operator= strpbrk(metric, "<>");
	if (!operator)
		return refuse(condition, "there is no comparison", grammar);
	condition->below = *operator== '<';
	condition->equal = operator[1] == '=';
	value = trimmed(operator+ 1 + condition->equal);
	*operator= '\0';
	status = metric_read(condition, trimmed(metric));
	if (!status)
		status = threshold_read(condition, value);
	return status ? status : recorded_check(condition, recorded);
}
