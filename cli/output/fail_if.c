/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "fail_if.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/names.h"
#include "cli/base/number.h"
#include "cli/base/parse.h"
#include "cli/base/syscall_names.h"
#include "cli/base/syscall_set.h"
#include "cli/model/comparison.h"
#include "cli/model/verdict.h"
#include "cli/model/words.h"
#include "fail_if_metrics.h"

#define OPTION "--fail-if"
#define TEXT_LEN 128
#define TIME_MAX (365 * 24 * 3600 * NSEC_PER_SEC)
#define PERCENT NSEC_PER_SEC /* thresholds of percentages have nine decimals */
#define PERCENT_MAX (1000000 * PERCENT)

struct condition {
	const char *text;
	char threads[TEXT_LEN]; /* a pattern; "": all */
	char part[TEXT_LEN];    /* a pattern; "": all */
	const struct fail_metric *metric;
	enum fail_field field;
	bool below, equal; /* < or <=; >= or <= */
	uint64_t threshold;
	struct excess excess;
};

struct fail_if {
	size_t n;
	struct condition conditions[];
};

/* --- Reading conditions --- */

static exit_status refuse(const char *text, const char *what, const char *hint)
{
	log_error("option " OPTION ": '%s': %s", text, what);
	log_hint("%s", hint);
	return EX_USAGE;
}

static const struct fail_metric *metric_named(const char *name)
{
	const struct fail_metric *metric;

	for (size_t i = 0; (metric = fail_metric_at(i)); i++)
		if (!strcmp(metric->name, name))
			return metric;
	return NULL;
}

/* Names as people type them, with all fields of each: METRIC[.NAME].FIELD|FIELD. */
struct metric_list {
	char text[1800]; /* all of them fit */
	size_t length;
};

static void list_append(struct metric_list *list, const char *before, const char *text)
{
	size_t room = sizeof(list->text) - list->length;
	int used = snprintf(list->text + list->length, room, "%s%s", before, text);

	list->length += (size_t)used < room ? (size_t)used : room - 1;
}

static void list_add(struct metric_list *list, const struct fail_metric *metric)
{
	const char *separator = ".";

	list_append(list, list->length ? ", " : "", metric->name);
	if (fail_metric_has_parts(metric))
		list_append(list, "", "[.NAME]");
	for (enum fail_field field = FAIL_COUNT; field < FAIL_FIELDS; field++) {
		if (!(metric->fields & FAIL_HAS(field)))
			continue;
		list_append(list, separator, fail_field_name(field));
		separator = "|";
	}
}

/* The metric of this name, else those of close names, else all. */
static void hint_metrics(const char *name)
{
	const struct fail_metric *metric = metric_named(name);
	struct metric_list list = { .length = 0 };
	struct names_closest closest;

	names_closest_init(&closest, name);
	if (metric)
		list_add(&list, metric);
	for (size_t i = 0; !metric && fail_metric_at(i); i++)
		names_closest_offer(&closest, fail_metric_at(i)->name);
	for (size_t i = 0; i < names_closest_count(&closest); i++)
		list_add(&list, metric_named(names_closest_get(&closest, i)));
	if (list.length) {
		log_hint("%s%s", metric ? "there are " : "similar names: ", list.text);
	} else {
		for (size_t i = 0; fail_metric_at(i); i++)
			list_add(&list, fail_metric_at(i));
		log_hint("there are %s", list.text);
	}
	names_closest_clear(&closest);
}

/* name is the part of the whole that should be a metric. */
static exit_status refuse_metric(const char *text, const char *whole, const char *name)
{
	log_error("option " OPTION ": '%s': there is no metric '%s'", text, whole);
	hint_metrics(name);
	return EX_USAGE;
}

static exit_status refuse_call(const char *text, const char *name)
{
	log_error("option " OPTION ": '%s': there is no such system call", text);
	syscall_set_hint(name, "give a name as in syscalls(2), or a pattern");
	return EX_USAGE;
}

static exit_status cause_check(const char *text, const char *part)
{
	struct metric_list list = { .length = 0 };

	for (size_t i = 0; i < CAUSES; i++) {
		if (!strcmp(part, cause_words[i].key))
			return 0;
		list_append(&list, i ? ", " : "there are ", cause_words[i].key);
	}
	return refuse(text, "there is no such cause", list.text);
}

/* One of these words. */
static exit_status word_check(const char *text, const char *name, const char *const *words,
			      size_t n, const char *what)
{
	struct metric_list list = { .length = 0 };

	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, words[i]))
			return 0;
	for (size_t i = 0; i < n; i++)
		list_append(&list, i ? ", " : "there are ", words[i]);
	return refuse(text, what, list.text);
}

/* A measure, or a cause. */
static exit_status changed_check(const char *text, const char *name)
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
		log_error("option " OPTION ": '%s': there is no measure '%s'", text, name);
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

/* A name that cannot be there would be a condition that is never true. */
static exit_status part_check(const struct condition *condition)
{
	const char *part = condition->part;

	if (!*part || names_is_glob(part))
		return 0;
	if (condition->metric->kind == FAIL_SYSCALL && !is_call(part))
		return refuse_call(condition->text, part);
	if (condition->metric->kind == FAIL_AWAITED)
		return word_check(condition->text, part, awaited_keys, KD_AWAITED_KINDS,
				  "threads are not blocked for that");
	if (condition->metric->kind == FAIL_INTERRUPTION)
		return word_check(condition->text, part, interruption_keys, INTERRUPTION_CAUSES,
				  "nothing of that name interrupts threads");
	if (condition->metric->kind == FAIL_READ || condition->metric->kind == FAIL_WRITTEN)
		return word_check(condition->text, part, io_keys, KD_IO_KINDS,
				  "there is no such kind of descriptor");
	if (condition->metric->kind == FAIL_VERDICT)
		return cause_check(condition->text, part);
	if (condition->metric->kind == FAIL_CHANGED)
		return changed_check(condition->text, part);
	if (condition->metric->kind != FAIL_SOFTIRQ)
		return 0; /* names of interrupts differ from machine to machine */
	return word_check(condition->text, part, softirq_names, SOFTIRQS,
			  "there is no such softirq");
}

static enum fail_field field_named(const char *name)
{
	enum fail_field field = FAIL_COUNT;

	while (field < FAIL_FIELDS && strcmp(fail_field_name(field), name))
		field++;
	return field;
}

/* METRIC[.NAME][.FIELD], which is cut into these. */
static exit_status metric_read(struct condition *condition, char *name)
{
	char *part = strchr(name, '.'), *field = strrchr(name, '.');
	bool has_part = part < field;
	char whole[TEXT_LEN];

	memcpy(whole, name, strlen(name) + 1);
	condition->field = FAIL_VALUE;
	if (field) {
		*part = *field = '\0';
		condition->field = field_named(field + 1);
	}
	condition->metric = metric_named(name);
	if (!condition->metric || condition->field == FAIL_FIELDS ||
	    !(condition->metric->fields & FAIL_HAS(condition->field)) ||
	    (has_part && (!part[1] || !fail_metric_has_parts(condition->metric))))
		return refuse_metric(condition->text, whole, name);
	if (has_part)
		memcpy(condition->part, part + 1, strlen(part + 1) + 1);
	if (*condition->threads && !fail_metric_of_threads(condition->metric) &&
	    condition->metric->kind != FAIL_WAITS && condition->metric->kind != FAIL_CHANGED)
		return refuse(condition->text, "this metric is not one of threads",
			      "give it without thread(...)");
	return part_check(condition);
}

static int threshold_read(struct condition *condition, const char *text)
{
	uint64_t *threshold = &condition->threshold;
	size_t length = strlen(text);
	char last = length ? text[length - 1] : '\0', digits[TEXT_LEN];
	char units[5 * TEXT_LEN + 64];

	if (fail_field_is_time(condition->field)) {
		int error = parse_duration(text, 0, TIME_MAX, threshold);

		if (!error)
			return 0;
		if (error == -EDOM) {
			snprintf(units, sizeof(units), "give one: %sns, %sus, %sms, %ss or %smin",
				 text, text, text, text, text);
			return refuse(condition->text, "the value has no unit", units);
		}
		return refuse(condition->text, "the value is not a time",
			      "give a number with ns, us, ms, s or min: 1ms");
	}
	if (fail_field_is_percentage(condition->field)) {
		memcpy(digits, text, length + 1);
		if (last == '%')
			digits[length - 1] = '\0';
		if (!digits[strspn(digits, "0123456789.")] &&
		    !parse_duration(digits, PERCENT, PERCENT_MAX, threshold))
			return 0;
		return refuse(condition->text, "the value is not a percentage",
			      "give a number, which may have a fraction: 2.5");
	}
	if (!parse_u64(text, 0, UINT64_MAX, threshold))
		return 0;
	return refuse(condition->text, "the value is not a whole number", "give a number: 0");
}

static char *trimmed(char *text)
{
	size_t length;

	text += strspn(text, " ");
	for (length = strlen(text); length && text[length - 1] == ' ';)
		text[--length] = '\0';
	return text;
}

static exit_status condition_read(struct condition *condition, const char *given)
{
	static const char prefix[] = "thread(";
	static const char grammar[] = "give METRIC>VALUE, with > or >=, < or <=: ready.max>1ms, "
				      "'thread(pmd*).softirq.pct>5', lost>0";
	char text[TEXT_LEN], *metric, *operator, * value;
	int status;

	condition->text = given;
	if (strlen(given) >= sizeof(text))
		return refuse(given, "it is too long", grammar);
	memcpy(text, given, strlen(given) + 1);
	metric = trimmed(text);
	if (!strncmp(metric, prefix, strlen(prefix))) {
		char *end = strstr(metric, ").");

		metric += strlen(prefix);
		if (!end || end == metric)
			return refuse(given, "thread(NAME) is incomplete", grammar);
		*end = '\0';
		memcpy(condition->threads, metric, strlen(metric) + 1);
		metric = end + 2;
	}
	operator= strpbrk(metric, "<>");
	if (!operator)
		return refuse(given, "there is no comparison", grammar);
	condition->below = *operator== '<';
	condition->equal = operator[1] == '=';
	value = trimmed(operator+ 1 + condition->equal);
	*operator= '\0';
	status = metric_read(condition, trimmed(metric));
	return status ? status : threshold_read(condition, value);
}

exit_status fail_if_new(struct fail_if **out, const char *const *texts, size_t n,
			const struct fail_recorded *recorded)
{
	struct fail_if *fail_if = calloc(1, sizeof(*fail_if) + n * sizeof(fail_if->conditions[0]));

	*out = fail_if;
	if (!fail_if)
		return log_no_memory();
	fail_if->n = n;
	for (size_t i = 0; i < n; i++) {
		struct condition *condition = &fail_if->conditions[i];
		int status = condition_read(condition, texts[i]);

		if (!status && condition->metric->kind == FAIL_WAITS && !recorded->waits)
			status = refuse(texts[i], "no waits are recorded", "give --off-cpu, too");
		if (!status && fail_field_is_share(condition->field) && !recorded->distributions)
			status = refuse(texts[i], "no distributions are recorded",
					"give --histogram, too");
		if (!status && condition->metric->kind == FAIL_INTERRUPTION &&
		    !recorded->interruptions)
			status = refuse(texts[i], "no interruptions are recorded",
					"give --interruptions, too");
		if (!status && fail_metric_of_resources(condition->metric) && !recorded->resources)
			status = refuse(texts[i], "no resources are recorded",
					"give --resources, too");
		if (!status && condition->metric->kind == FAIL_CHANGED && !recorded->comparison)
			status = refuse(texts[i], "nothing is compared", "give --compare, too");
		if (!status && condition->metric->kind == FAIL_COUNTED && !recorded->counters)
			status = refuse(texts[i], "no events are counted", "give --counters, too");
		if (status)
			return status;
	}
	return 0;
}

/* --- Looking at samples --- */

/* -1, 0 or 1: part/whole is less than, is, or is greater than other/other_whole. */
static int compare(uint64_t part, uint64_t whole, uint64_t other, uint64_t other_whole)
{
	__extension__ typedef unsigned __int128 wide;
	wide left = (wide)part * other_whole, right = (wide)other * whole;

	return left < right ? -1 : left > right;
}

/* One figure, of a whole if it is a share. */
static void figure_check(struct condition *condition, uint64_t value, uint64_t whole,
			 const struct excess *whose)
{
	bool share = fail_field_is_percentage(condition->field);
	struct excess *excess = &condition->excess;
	uint64_t times = excess->times;
	int order;

	if (share && !whole)
		return; /* a thread that did not live */
	order = share ? compare(value, whole, condition->threshold, 100 * PERCENT)
		      : compare(value, 1, condition->threshold, 1);
	if (condition->below)
		order = -order;
	if (order < 0 || (!order && !condition->equal))
		return;
	order = times ? compare(value, share ? whole : 1, excess->value, share ? excess->whole : 1)
		      : 1;
	if (!times || (condition->below ? order < 0 : order > 0)) {
		*excess = *whose;
		excess->value = value;
		excess->whole = share ? whole : 0;
	}
	excess->times = times + 1;
}

static bool wants_thread(const struct condition *condition, const char name[static KD_COMM_LEN])
{
	char text[KD_COMM_LEN + 1];

	snprintf(text, sizeof(text), "%.*s", KD_COMM_LEN, name);
	return !*condition->threads || names_match(condition->threads, text);
}

static void threads_check(struct condition *condition, const struct sample *sample, uint64_t number)
{
	for (size_t i = 0; i < sample->n_threads; i++) {
		const struct thread_row *thread = &sample->threads[i];
		uint64_t life = thread->ledger.life;
		struct excess whose = {
			.tid = thread->tid,
			.members = thread->members,
			.sample = number,
		};
		struct fail_figures figures;
		enum ledger_state only;

		if (!wants_thread(condition, thread->name))
			continue;
		memcpy(whose.name, thread->name, sizeof(whose.name));
		if (thread->members > 1 && thread_is_silent(thread, &only))
			life /= thread->members;
		figures = fail_metric_read(condition->metric, condition->part, sample, thread);
		whose.so_far = fail_figures_so_far(&figures, condition->field);
		figure_check(condition, fail_figures_field(&figures, condition->field), life,
			     &whose);
	}
}

/* The longest is one thread's; number and sum are of all of them. */
static void waits_check(struct condition *condition, const struct sample *sample, uint64_t number)
{
	const struct trace_list *list = &sample->traces;
	struct excess whose = { .sample = number };
	struct fail_figures sum = { 0 };

	for (size_t i = 0; i < list->n; i++) {
		const struct trace_row *row = &list->rows[i];
		uint64_t length = trace_duration(list, row, sample->end);

		if (row->kind != TRACE_WAIT || !wants_thread(condition, row->name))
			continue;
		sum.count++;
		sum.total += length;
		if (condition->field != FAIL_MAX)
			continue;
		whose.tid = row->tid;
		memcpy(whose.name, row->name, sizeof(whose.name));
		figure_check(condition, length, 0, &whose);
	}
	if (condition->field != FAIL_MAX)
		figure_check(condition, fail_figures_field(&sum, condition->field), 0, &whose);
}

/* Each culprit that is blamed. */
static void verdict_check(struct condition *condition, const struct sample *sample, uint64_t number)
{
	struct excess whose = { .sample = number };
	struct verdict verdict = { 0 };
	bool any = false;

	if (verdict_find(&verdict, sample))
		log_warn("no memory for " OPTION " '%s'", condition->text);
	for (size_t i = 0; i < verdict.n_blamed; i++) {
		const struct verdict_row *row = &verdict.rows[i];
		const struct fail_figures figures = { .count = row->count,
						      .total = row->ns,
						      .max = row->longest };

		if (*condition->part && !names_match(condition->part, cause_words[row->cause].key))
			continue;
		any = true;
		figure_check(condition, fail_figures_field(&figures, condition->field),
			     verdict.busy, &whose);
	}
	if (!any) /* nobody has a share of 0 */
		figure_check(condition, 0, 1, &whose);
	verdict_clear(&verdict);
}

void fail_if_check(struct fail_if *fail_if, const struct sample *sample, uint64_t number)
{
	for (size_t i = 0; i < fail_if->n; i++) {
		struct condition *condition = &fail_if->conditions[i];
		struct excess whose = { .sample = number };
		struct fail_figures figures;

		if (condition->metric->kind == FAIL_CHANGED) {
			continue; /* it is looked at when all samples are there */
		} else if (condition->metric->kind == FAIL_WAITS) {
			waits_check(condition, sample, number);
		} else if (condition->metric->kind == FAIL_VERDICT) {
			verdict_check(condition, sample, number);
		} else if (fail_metric_of_threads(condition->metric)) {
			threads_check(condition, sample, number);
		} else {
			figures = fail_metric_read(condition->metric, "", sample, NULL);
			figure_check(condition, figures.count, 0, &whose);
		}
	}
}

static uint64_t whole_of(double value)
{
	return value < 1.8e19 ? (uint64_t)(value + 0.5) : UINT64_MAX;
}

/* How many differences there are, or by how much one is more than before. */
static void changed_look(struct condition *condition, const struct comparison *comparison)
{
	struct excess whose = { .sample = 0 };
	uint64_t count = 0;

	for (size_t i = 0; i < comparison->n; i++) {
		const struct difference *difference = &comparison->all[i];
		double before = difference->before.mean, more = difference->now.mean - before;
		const struct course_subject *subject = difference->subject;
		const char *key = difference->measure ? difference->measure->key
						      : cause_words[subject->cause].key;

		if ((subject->is_cause && *condition->threads) ||
		    (*condition->part && !names_match(condition->part, key)) ||
		    !wants_thread(condition, subject->name))
			continue;
		count++;
		memcpy(whose.name, subject->name, sizeof(whose.name));
		if (condition->field == FAIL_PCT && more > 0)
			figure_check(condition, whole_of(more), u64_max(whole_of(before), 1),
				     &whose);
	}
	if (condition->field == FAIL_COUNT)
		figure_check(condition, count, 0, &(struct excess){ .sample = 0 });
}

void fail_if_compare(struct fail_if *fail_if, const struct comparison *comparison)
{
	for (size_t i = 0; comparison && i < fail_if->n; i++)
		if (fail_if->conditions[i].metric->kind == FAIL_CHANGED)
			changed_look(&fail_if->conditions[i], comparison);
}

const struct excess *fail_if_excess(const struct fail_if *fail_if, size_t index)
{
	return &fail_if->conditions[index].excess;
}

static void excess_tell(const struct condition *condition)
{
	const struct excess *excess = &condition->excess;
	char value[NUMBER_LEN], whose[KD_COMM_LEN + 64] = "", times[64] = "",
						    where[64] = "the comparison";
	const char *unit = "";

	if (fail_field_is_percentage(condition->field)) {
		number_percent(value, excess->value, excess->whole);
		unit = " %";
	} else {
		number_grouped(value, excess->value);
		if (fail_field_is_time(condition->field))
			unit = " ns";
	}
	if (excess->members > 1)
		snprintf(whose, sizeof(whose), " of %u threads '%.*s'", excess->members,
			 KD_COMM_LEN, excess->name);
	else if (!excess->sample && *excess->name)
		snprintf(whose, sizeof(whose), " more of '%.*s'", KD_COMM_LEN, excess->name);
	else if (excess->tid)
		snprintf(whose, sizeof(whose), " of thread %d '%.*s'", (int)excess->tid,
			 KD_COMM_LEN, excess->name);
	if (excess->times > 1)
		snprintf(times, sizeof(times), ", and %llu more",
			 (unsigned long long)excess->times - 1);
	if (excess->sample)
		snprintf(where, sizeof(where), "sample %llu", (unsigned long long)excess->sample);
	log_error(OPTION " '%s': %s%s%s%s in %s%s", condition->text, value, unit,
		  excess->so_far ? " so far" : "", whose, where, times);
}

bool fail_if_tell(const struct fail_if *fail_if)
{
	bool any = false;

	for (size_t i = 0; i < fail_if->n; i++) {
		if (!fail_if->conditions[i].excess.times)
			continue;
		excess_tell(&fail_if->conditions[i]);
		any = true;
	}
	return any;
}

void fail_if_free(struct fail_if *fail_if)
{
	free(fail_if);
}
