/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "fail_if.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../probes/names.h"
#include "clock.h"
#include "exit_status.h"
#include "fail_if_metrics.h"
#include "log.h"
#include "parse.h"
#include "report/number.h"
#include "syscall_names.h"

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

static int refuse(const char *text, const char *what, const char *hint)
{
	log_error("option " OPTION ": '%s': %s", text, what);
	log_hint("%s", hint);
	return EX_USAGE;
}

static int refuse_metric(const char *text, const char *name)
{
	const struct fail_metric *metric;
	char list[900] = "";
	size_t used = 0;

	for (size_t i = 0; (metric = fail_metric_at(i)); i++) {
		char separator = '.';

		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s%s", i ? ", " : "",
					 metric->name,
					 fail_metric_has_parts(metric) ? "[.NAME]" : "");
		for (enum fail_field field = FAIL_COUNT; field < FAIL_FIELDS; field++) {
			if (!(metric->fields & FAIL_HAS(field)))
				continue;
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%c%s",
						 separator, fail_field_name(field));
			separator = '|';
		}
	}
	log_error("option " OPTION ": '%s': there is no metric '%s'", text, name);
	log_hint("there are %s", list);
	return EX_USAGE;
}

/* A name that cannot be there would be a condition that is never true. */
static int part_check(const struct condition *condition)
{
	static const char *const softirqs[] = { "hi",       "timer",   "net_tx", "net_rx",  "block",
						"irq_poll", "tasklet", "sched",  "hrtimer", "rcu" };
	const char *part = condition->part;

	if (!*part || names_is_glob(part))
		return 0;
	if (condition->metric->kind == FAIL_SYSCALL && syscall_number(part) < 0)
		return refuse(condition->text, "there is no such system call",
			      "give a name as in syscalls(2), or a pattern");
	if (condition->metric->kind != FAIL_SOFTIRQ)
		return 0; /* names of interrupts differ from machine to machine */
	for (size_t i = 0; i < sizeof(softirqs) / sizeof(*softirqs); i++)
		if (!strcmp(part, softirqs[i]))
			return 0;
	return refuse(condition->text, "there is no such softirq",
		      "there are hi, timer, net_tx, net_rx, block, irq_poll, tasklet, sched, "
		      "hrtimer, rcu");
}

static const struct fail_metric *metric_named(const char *name)
{
	const struct fail_metric *metric;

	for (size_t i = 0; (metric = fail_metric_at(i)); i++)
		if (!strcmp(metric->name, name))
			return metric;
	return NULL;
}

static enum fail_field field_named(const char *name)
{
	enum fail_field field = FAIL_COUNT;

	while (field < FAIL_FIELDS && strcmp(fail_field_name(field), name))
		field++;
	return field;
}

/* METRIC[.NAME][.FIELD], which is cut into these. */
static int metric_read(struct condition *condition, char *name)
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
		return refuse_metric(condition->text, whole);
	if (has_part)
		memcpy(condition->part, part + 1, strlen(part + 1) + 1);
	if (*condition->threads && !fail_metric_of_threads(condition->metric) &&
	    condition->metric->kind != FAIL_WAITS)
		return refuse(condition->text, "this is not a metric of threads",
			      "give it without thread(...)");
	return part_check(condition);
}

static int threshold_read(struct condition *condition, const char *text)
{
	uint64_t *threshold = &condition->threshold;
	size_t length = strlen(text);
	char last = length ? text[length - 1] : '\0', digits[TEXT_LEN];

	if (fail_field_is_time(condition->field)) {
		/* Elsewhere numbers without a unit are seconds, or nanoseconds. */
		if ((!strcmp(text, "0") || !strchr("0123456789.", last)) &&
		    !parse_duration(text, 1, TIME_MAX, threshold))
			return 0;
		return refuse(condition->text, "the value is no time",
			      "give a number with ns, us, ms, s or min: 1ms");
	}
	if (condition->field == FAIL_PCT) {
		memcpy(digits, text, length + 1);
		if (last == '%')
			digits[length - 1] = '\0';
		if (!digits[strspn(digits, "0123456789.")] &&
		    !parse_duration(digits, PERCENT, PERCENT_MAX, threshold))
			return 0;
		return refuse(condition->text, "the value is no percentage",
			      "give a number, which may have a fraction: 2.5");
	}
	if (!parse_u64(text, 0, UINT64_MAX, threshold))
		return 0;
	return refuse(condition->text, "the value is no whole number", "give a number: 0");
}

static char *trimmed(char *text)
{
	size_t length;

	text += strspn(text, " ");
	for (length = strlen(text); length && text[length - 1] == ' ';)
		text[--length] = '\0';
	return text;
}

static int condition_read(struct condition *condition, const char *given)
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
			return refuse(given, "thread(NAME) is not complete", grammar);
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

int fail_if_new(struct fail_if **out, const char *const *texts, size_t n, bool waits,
		bool distributions)
{
	struct fail_if *fail_if = calloc(1, sizeof(*fail_if) + n * sizeof(fail_if->conditions[0]));

	*out = fail_if;
	if (!fail_if) {
		log_error("no memory");
		return EX_OSERR;
	}
	fail_if->n = n;
	for (size_t i = 0; i < n; i++) {
		struct condition *condition = &fail_if->conditions[i];
		int status = condition_read(condition, texts[i]);

		if (!status && condition->metric->kind == FAIL_WAITS && !waits)
			status = refuse(texts[i], "no waits are recorded", "give --off-cpu, too");
		if (!status && fail_field_is_share(condition->field) && !distributions)
			status = refuse(texts[i], "no distributions are recorded",
					"give --histogram, too");
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
	bool share = condition->field == FAIL_PCT;
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

void fail_if_check(struct fail_if *fail_if, const struct sample *sample, uint64_t number)
{
	for (size_t i = 0; i < fail_if->n; i++) {
		struct condition *condition = &fail_if->conditions[i];
		struct excess whose = { .sample = number };
		struct fail_figures figures;

		if (condition->metric->kind == FAIL_WAITS) {
			waits_check(condition, sample, number);
		} else if (fail_metric_of_threads(condition->metric)) {
			threads_check(condition, sample, number);
		} else {
			figures = fail_metric_read(condition->metric, "", sample, NULL);
			figure_check(condition, figures.count, 0, &whose);
		}
	}
}

const struct excess *fail_if_excess(const struct fail_if *fail_if, size_t index)
{
	return &fail_if->conditions[index].excess;
}

static void excess_tell(const struct condition *condition)
{
	const struct excess *excess = &condition->excess;
	char value[NUMBER_LEN], whose[KD_COMM_LEN + 64] = "", times[64] = "";
	const char *unit = "";

	if (condition->field == FAIL_PCT) {
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
	else if (excess->tid)
		snprintf(whose, sizeof(whose), " of thread %d '%.*s'", (int)excess->tid,
			 KD_COMM_LEN, excess->name);
	if (excess->times > 1)
		snprintf(times, sizeof(times), ", and %llu more",
			 (unsigned long long)excess->times - 1);
	log_error(OPTION " '%s': %s%s%s in sample %llu%s", condition->text, value, unit, whose,
		  (unsigned long long)excess->sample, times);
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
