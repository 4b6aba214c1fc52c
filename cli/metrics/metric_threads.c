// SPDX-License-Identifier: Apache-2.0
/* Metrics of a sample's threads. Threads with equal labels are merged first: only then are the
 * largest system calls known. */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/model/field.h"
#include "cli/model/figures.h"
#include "cli/model/rows.h"
#include "cli/model/thread_row.h"
#include "cli/model/words.h"
#include "cli/text/text_parts.h"
#include "metric_values.h"

#define THREAD_LABELS (96 + METRIC_PROCESS_LABELS)

/* A thread with its labels: a 16-byte name, each byte of which may become 3, and a TID; with
 * several processes also process labels. */
struct labelled {
	const struct thread_row *row;
	bool with_tid;
	char labels[THREAD_LABELS];
};
_Static_assert(THREAD_LABELS - METRIC_PROCESS_LABELS >
		       sizeof("thread=\"\",tid=\"2147483647\"") + 3 * KD_COMM_LEN,
	       "room for all labels of a thread");

/* The thread whose rows are being updated. */
struct taking {
	struct metrics *metrics;
	const struct sample *sample;
	struct metric_row *thread;
	size_t n_labels; /* bytes of its labels, which rows extend */
	struct metric_labels labels;
};

static size_t name_length(const struct metrics *metrics, const char name[static KD_COMM_LEN])
{
	size_t length = strnlen(name, KD_COMM_LEN), digits = length;

	if (!metrics->options.fold_names)
		return length;
	while (digits && isdigit((unsigned char)name[digits - 1]))
		digits--;
	return digits ? digits : length;
}

/* An empty value would mean no label. tid 0: none. process: NULL if unknown. */
static void thread_labels(struct taking *taking, const char name[static KD_COMM_LEN], pid_t tid,
			  const struct process_row *process)
{
	const struct metrics *metrics = taking->metrics;
	struct metric_labels *labels = &taking->labels;

	labels->length = 0;
	labels->with_tid = tid > 0;
	if (name[0])
		metric_labels_foreign(labels, "thread", name, name_length(metrics, name), "");
	else
		metric_labels_add(labels, "thread", "[unknown]");
	if (metric_is_multiprocess(taking->sample))
		metric_process_labels(labels, process, tid > 0);
	else
		metric_target_labels(labels, taking->sample->capture);
	if (tid > 0)
		metric_labels_number(labels, "tid", (unsigned long)tid);
}

/* Sets the labels shared by all rows of a thread. */
static void thread_begin(struct taking *taking, const char *labels, bool with_tid)
{
	taking->labels.length = taking->n_labels = strlen(labels);
	taking->labels.with_tid = with_tid;
	memcpy(taking->labels.text, labels, taking->n_labels);
	taking->thread = metric_row_touch(taking->metrics, METRIC_THREAD, NULL, &taking->labels);
}

/* Returns the row of the labels, which become those of the thread again; NULL: none. */
static struct metric_row *labelled_row(struct taking *taking, enum metric_kind kind)
{
	struct metric_row *row = metric_row_touch(taking->metrics, kind, taking->thread,
						  &taking->labels);

	taking->labels.length = taking->n_labels;
	return row;
}

static void events_add(struct taking *taking, enum metric_kind kind, uint64_t count, uint64_t total,
		       uint64_t max)
{
	struct metric_row *row = labelled_row(taking, kind);

	if (!row)
		return;
	metric_row_sum(row, EVENTS_COUNT, count);
	metric_row_sum(row, EVENTS_TOTAL, total);
	metric_row_max(row, EVENTS_MAX, max);
}

/* Nothing if there were none. */
static void count_add(struct taking *taking, enum metric_kind kind, const struct kd_count *count)
{
	if (count->count)
		events_add(taking, kind, count->count, count->total, count->max);
}

static void call_label(struct taking *taking, int64_t number)
{
	char buffer[TEXT_CALL];

	metric_labels_add(&taking->labels, "syscall",
			  number < 0 ? "[unknown]"
				     : text_call(taking->sample, (uint32_t)number, buffer));
}

static void call_label_other(struct taking *taking)
{
	taking->labels.length = taking->n_labels;
	metric_labels_add(&taking->labels, "syscall", METRIC_OTHER);
}

/* A call with a row keeps it; otherwise the row of the others would shrink. */
static void call_take(struct taking *taking, const struct thread_row *thread,
		      const struct call_row *call)
{
	const unsigned int most = taking->metrics->options.max_syscalls;
	uint64_t *rows = &taking->thread->values[THREAD_CALL_ROWS];

	call_label(taking, call->number);
	if (most && !metric_row_find(taking->metrics, METRIC_CALL, &taking->labels)) {
		if (*rows >= most)
			call_label_other(taking);
		else
			++*rows;
	}
	events_add(taking, METRIC_CALL, call->count, call->total, complete_call(thread, call).max);
}

static int call_by_total(const void *a, const void *b)
{
	const struct call_row *const *x = a, *const *y = b;

	return ORDER((*y)->total, (*x)->total) ?: ORDER((*x)->number, (*y)->number);
}

static void calls_take(struct taking *taking, const struct thread_row *thread)
{
	const struct call_row **calls;

	if (!thread->n_calls)
		return;
	calls = calloc(thread->n_calls, sizeof(struct call_row *));
	if (!calls) {
		taking->metrics->failed = true;
		return;
	}
	for (size_t i = 0; i < thread->n_calls; i++)
		calls[i] = &thread->calls[i];
	qsort(calls, thread->n_calls, sizeof(*calls), call_by_total);
	for (size_t i = 0; i < thread->n_calls; i++)
		call_take(taking, thread, calls[i]);
	free(calls);
}

/* Adds a call's label in another list, consistent with METRIC_CALL. */
static void call_label_like(struct taking *taking, int64_t number)
{
	call_label(taking, number);
	if (taking->metrics->options.max_syscalls &&
	    !metric_row_find(taking->metrics, METRIC_CALL, &taking->labels))
		call_label_other(taking);
}

static void open_calls_take(struct taking *taking, const struct thread_row *thread)
{
	for (size_t i = 0; i < thread->n_open; i++) {
		const struct open_item *item = &thread->open[i];

		if (item->kind != OPEN_CALL)
			continue;
		call_label_like(taking, item->number);
		events_add(taking, METRIC_OPEN_CALL, item->count, item->inside,
			   item->at_end ? item->longest : 0);
	}
}

/* Adds a row for a distribution whose durations sum up to total. */
static void times_add(struct taking *taking, enum metric_kind kind,
		      const struct distribution *times, uint64_t total)
{
	struct metric_row *row = labelled_row(taking, kind);

	if (row)
		metric_row_distribution(row, times, total);
}

/* Adds distributions, per thread before merging: durations without a histogram must be in
 * neither count nor sum. Call after calls_take(). */
static void durations_take(struct taking *taking, const struct thread_row *thread)
{
	static const enum open_kind kinds[] = { OPEN_RUN, OPEN_READY };
	const struct distribution *const times[] = { &thread->run_times, &thread->ready_times };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (!times[i]->n)
			continue;
		metric_labels_add(&taking->labels, "state", period_words[kinds[i]].label);
		times_add(taking, METRIC_PERIOD_TIMES, times[i],
			  complete_period(thread, kinds[i]).total);
	}
	for (size_t i = 0; i < thread->n_calls; i++) {
		const struct call_row *call = &thread->calls[i];

		if (!call->times.n)
			continue;
		call_label_like(taking, call->number);
		times_add(taking, METRIC_CALL_TIMES, &call->times,
			  complete_call(thread, call).total);
	}
}

static void periods_take(struct metric_row *row, const struct thread_row *thread)
{
#define PERIOD_KIND(kind, key, label) [PERIOD_##kind] = kind,
	static const enum open_kind kinds[PERIODS] = { PERIOD_WORDS(PERIOD_KIND, PERIOD_KIND) };

	for (unsigned int i = 0; i < PERIODS; i++) {
		const struct kd_span period = thread_period(thread, kinds[i]);
		const struct complete complete = complete_period(thread, kinds[i]);

		metric_row_sum(row, THREAD_PERIODS + i, period.count);
		metric_row_sum(row, THREAD_PERIOD_NS + i, period.total);
		metric_row_max(row, THREAD_MAX + i, complete.max);
		row->values[THREAD_MIN + i] = period.min;
		row->values[THREAD_OPEN + i] = complete.open;
	}
}

static void culprit_label_add(struct taking *taking, const struct culprit *culprit)
{
	char name[CULPRIT_NAME_LEN];

	culprit_name(culprit, name);
	metric_labels_foreign(&taking->labels, "culprit", *name ? name : "[unknown]",
			      culprit->kind == CULPRIT_TASK && *name
				      ? name_length(taking->metrics, name)
				      : CULPRIT_NAME_LEN,
			      "");
}

/* True if there is a row with these labels, or the thread may have another; *rows: its rows so
 * far. */
static bool has_named_row(const struct taking *taking, enum metric_kind kind, uint64_t *rows)
{
	if (metric_row_find(taking->metrics, kind, &taking->labels))
		return true;
	return *rows < METRIC_NAMED_ROWS && ++*rows;
}

static void culprits_take(struct taking *taking, const struct thread_row *thread)
{
	uint64_t *rows = &taking->thread->values[THREAD_CULPRIT_ROWS];

	for (size_t i = 0; i < thread->n_culprits; i++) {
		const struct culprit *culprit = &thread->culprits[i];

		culprit_label_add(taking, culprit);
		if (!has_named_row(taking, METRIC_READY_BY, rows)) {
			taking->labels.length = taking->n_labels;
			metric_labels_add(&taking->labels, "culprit", METRIC_OTHER);
		}
		events_add(taking, METRIC_READY_BY, 0, culprit_ns(culprit), culprit->longest_ns);
	}
}

/* others: uses the name of the row for names that are not kept. */
static void name_label(struct taking *taking, const struct row_list *list,
		       const struct field *field, const char *row, bool others)
{
	struct metric_labels *labels = &taking->labels;
	const char *name = row + field->at, *mark = list->mark ? list->mark(row) : "";
	uint32_t number;

	if (others || (!*name && !list->number && !list->unnamed)) {
		metric_labels_add(labels, field->label, METRIC_OTHER);
	} else if (!*name && list->number) {
		memcpy(&number, row + list->number, sizeof(number));
		metric_labels_number(labels, field->label, number);
	} else if (!*name) {
		metric_labels_foreign(labels, field->label, list->unnamed, SIZE_MAX, mark);
	} else {
		metric_labels_foreign(labels, field->label, name,
				      list->names_threads ? name_length(taking->metrics, name)
							  : field->size,
				      mark);
	}
}

static void row_labels(struct taking *taking, const struct row_list *list, const char *row,
		       bool others)
{
	struct metric_labels *labels = &taking->labels;

	for (const struct field *field = list->fields; field->key; field++) {
		uint32_t word;

		if (!field->label)
			continue;
		if (field->kind == FIELD_NAME) {
			name_label(taking, list, field, row, others);
			continue;
		}
		memcpy(&word, row + field->at, sizeof(word));
		if (field->kind == FIELD_WORD)
			metric_labels_add(labels, field->label,
					  field->words[word < field->of ? word : 0]);
		else if ((int32_t)word >= 0)
			metric_labels_number(labels, field->label, word);
	}
}

/* Adds the distribution of a row, if any. */
static void row_times_take(struct taking *taking, const struct row_list *list, const char *row)
{
	for (const struct field *field = list->fields; field->key; field++)
		if (field->kind == FIELD_TIMES)
			times_add(taking, METRIC_LIST_TIMES + list->id,
				  (const struct distribution *)(row + field->at),
				  row_figure(row, list->total));
}

static void row_take(struct taking *taking, const struct row_list *list, const char *row)
{
	const enum metric_kind kind = METRIC_LISTS + list->id;
	uint64_t *named = &taking->thread->values[THREAD_LIST_ROWS + list->id];
	const struct row_figures has = row_figures(list, row);
	struct metric_row *into;

	row_labels(taking, list, row, false);
	if (list->names_threads && !has_named_row(taking, kind, named)) {
		taking->labels.length = taking->n_labels;
		row_labels(taking, list, row, true);
	}
	into = metric_row_touch(taking->metrics, kind, taking->thread, &taking->labels);
	if (into) {
		metric_row_sum(into, EVENTS_COUNT, has.count);
		metric_row_sum(into, EVENTS_TOTAL, has.total);
		metric_row_max(into, EVENTS_MAX, has.max);
		metric_row_sum(into, LIST_BYTES, has.bytes);
	}
	row_times_take(taking, list, row);
	taking->labels.length = taking->n_labels;
}

/* Adds the lists with families. */
static void lists_take(struct taking *taking, const struct thread_row *thread)
{
	for (const struct field *field = thread_fields; field->key; field++) {
		const struct row_list *list = field->list;
		size_t n;
		const char *rows = list ? row_list_of(field, thread, &n) : NULL;

		if (!rows || !taking->metrics->kind_series[METRIC_LISTS + list->id])
			continue;
		for (size_t i = 0; i < n; i++)
			row_take(taking, list, rows + i * list->size);
	}
}

/* Adds figures by name that are not all 0. */
static void figures_take(struct taking *taking, const struct thread_row *thread,
			 enum metric_kind kind, const char *label,
			 const struct figures_source *source)
{
	struct figures figures;

	for (size_t i = 0; source->read(source, thread, i, &figures); i++) {
		if (!figures.count && !figures.total)
			continue;
		metric_labels_add(&taking->labels, label, figures.name);
		events_add(taking, kind, figures.count, figures.total, figures.complete.max);
	}
}

static void ios_take(struct taking *taking, const struct thread_row *thread)
{
	for (unsigned int kind = 0; kind < KD_IO_KINDS; kind++) {
		const struct io_row *io = &thread_io(thread)[kind];
		struct metric_row *row;

		if (!io->read.calls && !io->written.calls)
			continue;
		metric_labels_add(&taking->labels, "kind", io_keys[kind]);
		row = labelled_row(taking, METRIC_IO);
		if (!row)
			continue;
		metric_row_sum(row, IO_READ_CALLS, io->read.calls);
		metric_row_sum(row, IO_WRITTEN_CALLS, io->written.calls);
		metric_row_sum(row, IO_READ_BYTES, io->read.bytes);
		metric_row_sum(row, IO_WRITTEN_BYTES, io->written.bytes);
	}
}

static uint64_t cpus_count(const struct thread_row *thread)
{
	uint64_t count = thread->cpus_beyond;

	for (size_t i = 0; i < KD_CPU_WORDS; i++)
		count += (uint64_t)__builtin_popcountll(thread->cpus[i]);
	return count;
}

static void ledger_take(struct metric_row *row, const struct thread_row *thread)
{
	for (unsigned int i = 0; i < LEDGER_STATES; i++)
		metric_row_sum(row, i, thread->ledger.ns[i]);
	if (thread->ledger.has_exec)
		metric_row_sum(row, THREAD_EXEC, thread->ledger.exec);
	periods_take(row, thread);
#define FIGURE_TAKE(member, ...) metric_row_sum(row, THREAD_COUNTER_##member, thread->member);
	EACH_THREAD_FIGURE(FIGURE_TAKE)
	metric_row_sum(row, THREAD_RINGS, thread->io_uring_calls);
	row->values[THREAD_CPUS] = cpus_count(thread);
}

/* Adds a thread, or the sum of several with equal labels. */
static void thread_take(struct taking *taking, const struct thread_row *thread)
{
	if (!taking->thread)
		return;
	ledger_take(taking->thread, thread);
	culprits_take(taking, thread);
	/* An open one counts when it ends. */
	figures_take(taking, thread, METRIC_BLOCKED, "kind",
		     &(const struct figures_source){ .read = figures_of_awaited });
	count_add(taking, METRIC_OVERSLEPT, &thread->overslept.by);
	lists_take(taking, thread);
	ios_take(taking, thread);
	figures_take(taking, thread, METRIC_INTERRUPTION, "cause",
		     &(const struct figures_source){ .read = figures_of_cause });
	count_add(taking, METRIC_LATE_TICK, &thread->late_ticks);
	calls_take(taking, thread);
	open_calls_take(taking, thread);
}

static uint64_t members_of(const struct thread_row *thread)
{
	return thread->members ? thread->members : 1;
}

/* Counts living and ended threads separately. */
static void run_take(struct taking *taking, const struct labelled *run, size_t length)
{
	struct thread_row sum = { 0 };
	uint64_t alive = 0, ended = 0;
	bool failed = false;

	thread_begin(taking, run->labels, run->with_tid);
	for (size_t i = 0; i < length; i++)
		*(run[i].row->ended ? &ended : &alive) += members_of(run[i].row);
	if (taking->thread) {
		taking->thread->values[THREAD_MEMBERS] = alive;
		metric_row_sum(taking->thread, THREAD_ENDED, ended);
	}
	if (length == 1) {
		thread_take(taking, run->row);
		if (taking->thread)
			durations_take(taking, run->row);
		return;
	}
	for (size_t i = 0; i < length && !failed; i++)
		failed = thread_merge(&sum, run[i].row);
	taking->metrics->failed |= failed;
	thread_take(taking, &sum);
	for (size_t i = 0; i < length && taking->thread; i++)
		durations_take(taking, run[i].row);
	thread_clear(&sum);
}

/* Compares numbers in names and TIDs by value. */
static int labelled_by_labels(const void *a, const void *b)
{
	const struct labelled *x = a, *y = b;

	return strverscmp(x->labels, y->labels) ?: ORDER(x->row, y->row);
}

static int labelled_by_tid(const void *a, const void *b)
{
	const struct labelled *const *x = a, *const *y = b;

	return ORDER((*x)->row->tid, (*y)->row->tid);
}

static void labelled_fill(struct taking *taking, struct labelled *labelled)
{
	const struct sample *sample = taking->sample;

	for (size_t i = 0; i < sample->n_threads; i++) {
		const struct thread_row *row = &sample->threads[i];
		bool single = !row->ended && row->members <= 1;

		thread_labels(taking, row->name,
			      taking->metrics->options.per_thread && single ? row->tid : 0,
			      process_of(sample, row));
		labelled[i].row = row;
		labelled[i].with_tid = taking->labels.with_tid;
		memcpy(labelled[i].labels, taking->labels.text, taking->labels.length);
		labelled[i].labels[taking->labels.length] = '\0';
	}
	if (sample->n_threads)
		qsort(labelled, sample->n_threads, sizeof(*labelled), labelled_by_labels);
}

static void trace_take(struct taking *taking, const struct trace_row *trace)
{
	uint64_t ns = trace_duration(&taking->sample->traces, trace, taking->sample->end);
	const struct ledger_words *state = ledger_words_of(trace->state);
	struct metric_row *row;

	switch (trace->kind) {
	case TRACE_CALL:
		call_label_like(taking, trace->call);
		events_add(taking, METRIC_SLOW_CALL, 1, ns, ns);
		break;
	case TRACE_WAIT:
		metric_labels_add(&taking->labels, "state", state ? state->key : "[unknown]");
		events_add(taking, METRIC_WAIT, 1, ns, ns);
		if (kd_is_ready(trace->state))
			break;
		metric_labels_add(&taking->labels, "context", from_keys[trace->wakers[0].from]);
		events_add(taking, METRIC_WAIT_END, 1, ns, ns);
		break;
	default:
		metric_labels_add(
			&taking->labels, "mode",
			ledger_words[trace->state == KD_USER ? LEDGER_USER : LEDGER_KERNEL].key);
		row = labelled_row(taking, METRIC_PROFILE);
		if (row)
			metric_row_sum(row, ONE_VALUE, 1);
	}
}

/* Traces get their thread's labels; a folded thread's traces are looked up by name. */
static void traces_take(struct taking *taking, const struct labelled *labelled)
{
	const struct sample *sample = taking->sample;
	const struct labelled **by_tid = calloc(sample->n_threads + 1, sizeof(struct labelled *));

	if (!by_tid) {
		taking->metrics->failed = true;
		return;
	}
	for (size_t i = 0; i < sample->n_threads; i++)
		by_tid[i] = &labelled[i];
	qsort(by_tid, sample->n_threads, sizeof(*by_tid), labelled_by_tid);
	for (size_t i = 0; i < sample->traces.n; i++) {
		const struct trace_row *trace = &sample->traces.rows[i];
		const struct thread_row wanted = { .tid = trace->tid };
		const struct labelled key = { .row = &wanted }, *key_at = &key, **found;
		char labels[THREAD_LABELS];

		found = bsearch(&key_at, by_tid, sample->n_threads, sizeof(*by_tid),
				labelled_by_tid);
		if (found) {
			thread_begin(taking, (*found)->labels, (*found)->with_tid);
		} else {
			thread_labels(taking, trace->name, 0, NULL);
			memcpy(labels, taking->labels.text, taking->labels.length);
			labels[taking->labels.length] = '\0';
			thread_begin(taking, labels, false);
		}
		if (taking->thread)
			trace_take(taking, trace);
	}
	free(by_tid);
}

void metric_take_threads(struct metrics *metrics, const struct sample *sample)
{
	struct labelled *labelled = calloc(sample->n_threads + 1, sizeof(*labelled));
	struct taking taking = { .metrics = metrics, .sample = sample };
	size_t length;

	if (!labelled) {
		metrics->failed = true;
		return;
	}
	labelled_fill(&taking, labelled);
	for (size_t i = 0; i < sample->n_threads; i += length) {
		for (length = 1; i + length < sample->n_threads; length++)
			if (strcmp(labelled[i].labels, labelled[i + length].labels))
				break;
		run_take(&taking, &labelled[i], length);
	}
	if (sample->traces.n)
		traces_take(&taking, labelled);
	free(labelled);
}
