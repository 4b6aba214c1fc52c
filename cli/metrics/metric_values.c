// SPDX-License-Identifier: Apache-2.0
#include "metric_values.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "cli/base/clock.h"
#include "cli/base/escape.h"
#include "cli/base/parse.h"

/* --- Labels --- */

#define VALUE_MOST 512 /* bytes of a foreign value */
#define REPLACEMENT "\xef\xbf\xbd"

/* Adds all of the text or nothing; leaves one byte for the quote. */
static bool text_add(struct metric_labels *labels, const char *text, size_t length)
{
	if (length >= sizeof(labels->text) - labels->length)
		return false;
	memcpy(labels->text + labels->length, text, length);
	labels->length += length;
	return true;
}

/* False if not even an empty value fits. */
static bool label_begin(struct metric_labels *labels, const char *name)
{
	size_t before = labels->length;

	if ((!before || text_add(labels, ",", 1)) && text_add(labels, name, strlen(name)) &&
	    text_add(labels, "=\"", 2))
		return true;
	labels->length = before;
	return false;
}

static void label_end(struct metric_labels *labels)
{
	labels->text[labels->length++] = '"';
}

void metric_labels_add(struct metric_labels *labels, const char *name, const char *value)
{
	if (!label_begin(labels, name))
		return;
	text_add(labels, value, strlen(value));
	label_end(labels);
}

/* Adds the first character or escape of an escaped text. Returns its length there. */
static size_t piece_add(struct metric_labels *labels, const char *escaped)
{
	if (*escaped == '"')
		return text_add(labels, "\\\"", 2) ? 1 : 0;
	if (*escaped != '\\') {
		size_t length = 1;

		while ((escaped[length] & 0xc0) == 0x80)
			length++;
		return text_add(labels, escaped, length) ? length : 0;
	}
	switch (escaped[1]) {
	case '\\':
	case 'n':
		return text_add(labels, escaped, 2) ? 2 : 0;
	case 't':
		return text_add(labels, "\t", 1) ? 2 : 0;
	}
	return text_add(labels, REPLACEMENT, strlen(REPLACEMENT)) ? escaped[1] == 'x' ? 4 : 2 : 0;
}

void metric_labels_foreign(struct metric_labels *labels, const char *name, const char *value,
			   size_t length, const char *mark)
{
	char escaped[ESCAPE_SIZE(VALUE_MOST)];
	const char *at = escaped;
	size_t piece;

	if (!label_begin(labels, name))
		return;
	escape_text(escaped, sizeof(escaped), value, length < VALUE_MOST ? length : VALUE_MOST);
	while (*at && (piece = piece_add(labels, at)))
		at += piece;
	text_add(labels, mark, strlen(mark));
	label_end(labels);
}

void metric_labels_number(struct metric_labels *labels, const char *name, unsigned long value)
{
	char text[NUMBER_LEN];

	number_plain(text, value);
	metric_labels_add(labels, name, text);
}

/* --- Labels of processes --- */

bool metric_is_multiprocess(const struct sample *sample)
{
	return (sample->capture && sample->capture->multiple) || processes_count(sample) > 1;
}

void metric_labels_process(struct metric_labels *labels, const char *name, const char *text)
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
	metric_labels_process(labels, "container", process->container);
	metric_labels_process(labels, "pod", process->pod);
	if (with_pid)
		metric_labels_number(labels, "pid", (unsigned long)process->pid);
}

void metric_target_labels(struct metric_labels *labels, const struct capture *capture)
{
	if (!capture)
		return;
	metric_labels_process(labels, "container", capture->container);
	metric_labels_process(labels, "pod", capture->pod);
}

/* --- Values --- */

#define PERIOD (60 * NSEC_PER_SEC) /* of maxima */
/* Prometheus also considers a series gone after this time without values. */
#define STALE (300 * NSEC_PER_SEC)

/* Most series per row of this kind. */
static size_t metric_kind_series(enum metric_kind kind)
{
	size_t series = 0;

	for (size_t i = 0; i < metric_n_families; i++) {
		const struct metric_family *family = &metric_families[i];

		if (family->kind == kind)
			series += family->type == METRIC_HISTOGRAM ? METRIC_BUCKETS + 3
								   : family->n_points;
	}
	return series;
}

struct metrics *metrics_new(const struct report_options *options)
{
	struct metrics *metrics = calloc(1, sizeof(*metrics));

	if (!metrics)
		return NULL;
	metrics->options = *options;
	metrics->limit = METRICS_SERIES;
	for (unsigned int kind = 0; kind < METRIC_KINDS; kind++)
		metrics->kind_series[kind] = metric_kind_series((enum metric_kind)kind);
	/* The target chooses names and must not be able to predict collisions. */
	metrics->seed = (uint32_t)((uintptr_t)metrics >> 4) ^ 2166136261U;
	return metrics;
}

void metrics_free(struct metrics *metrics)
{
	if (!metrics)
		return;
	for (size_t kind = 0; kind < METRIC_KINDS; kind++) {
		for (size_t i = 0; i < metrics->kinds[kind].n; i++)
			free(metrics->kinds[kind].rows[i]);
		free(metrics->kinds[kind].rows);
	}
	free(metrics->table);
	free(metrics);
}

void metrics_limit(struct metrics *metrics, size_t series)
{
	metrics->limit = series;
}

size_t metrics_series(const struct metrics *metrics)
{
	return metrics->series;
}

/* FNV-1a. */
static uint32_t labels_hash(const struct metrics *metrics, enum metric_kind kind,
			    const struct metric_labels *labels)
{
	uint32_t hash = (metrics->seed ^ kind) * 16777619U;

	for (size_t i = 0; i < labels->length; i++)
		hash = (hash ^ (unsigned char)labels->text[i]) * 16777619U;
	return hash ^ hash >> 15;
}

/* Slot of the row with these labels, or a free one, which always exists. */
static struct metric_row **table_find(const struct metrics *metrics, enum metric_kind kind,
				      uint32_t hash, const char *labels, size_t length)
{
	size_t i = hash & (metrics->n_table - 1);
	const struct metric_row *row;

	for (; (row = metrics->table[i]); i = (i + 1) & (metrics->n_table - 1))
		if (row->hash == hash && row->kind == kind && row->length == length &&
		    !memcmp(row->labels, labels, length))
			break;
	return &metrics->table[i];
}

static void table_fill(struct metrics *metrics)
{
	for (size_t kind = 0; kind < METRIC_KINDS; kind++) {
		for (size_t i = 0; i < metrics->kinds[kind].n; i++) {
			struct metric_row *row = metrics->kinds[kind].rows[i];

			*table_find(metrics, row->kind, row->hash, row->labels, row->length) = row;
		}
	}
}

/* Makes a larger table. Returns false without memory. */
static bool table_make(struct metrics *metrics, size_t n)
{
	struct metric_row **table = calloc(n, sizeof(*table));

	if (!table)
		return false;
	free(metrics->table);
	metrics->table = table;
	metrics->n_table = n;
	table_fill(metrics);
	return true;
}

static bool rows_reserve(struct metrics *metrics, struct metric_rows *rows)
{
	if (ARRAY_GROW(rows->rows, rows->n, rows->capacity))
		return false;
	/* At most half full. */
	return 2 * metrics->n_rows < metrics->n_table ||
	       table_make(metrics, metrics->n_table ? 2 * metrics->n_table : 256);
}

/* Returns NULL without memory. */
static struct metric_row *row_new(enum metric_kind kind, const struct metric_labels *labels)
{
	size_t values = metric_columns[kind].n * sizeof(uint64_t);
	struct metric_row *row = calloc(1, sizeof(*row) + values + labels->length);

	if (!row)
		return NULL;
	row->kind = kind;
	row->length = (uint32_t)labels->length;
	row->with_tid = labels->with_tid;
	row->labels = (const char *)row + sizeof(*row) + values;
	memcpy((char *)row + sizeof(*row) + values, labels->text, labels->length);
	return row;
}

/* The run's own rows are few, and exempt from the limit. Thread histograms have many series
 * each; they get half of the limit, so that single series still fit. */
static bool series_fit(const struct metrics *metrics, enum metric_kind kind)
{
	bool is_times = kind == METRIC_PERIOD_TIMES || kind == METRIC_CALL_TIMES;
	size_t limit = is_times ? metrics->limit / 2 : metrics->limit;

	return kind < METRIC_UPCALL || kind == METRIC_LOSS || kind == METRIC_ABSENCE ||
	       metrics->series + metrics->kind_series[kind] <= limit;
}

static void refuse(struct metrics *metrics, enum metric_kind kind)
{
	static const struct metric_labels reason = { 15, false, "reason=\"series\"" };
	struct metric_row *row = metric_row_touch(metrics, METRIC_LOSS, NULL, &reason);

	metrics->refused = true;
	if (row)
		metric_row_sum(row, ONE_VALUE, metrics->kind_series[kind]);
}

static struct metric_row *row_add(struct metrics *metrics, enum metric_kind kind,
				  struct metric_row *parent, const struct metric_labels *labels,
				  uint32_t hash)
{
	struct metric_rows *rows = &metrics->kinds[kind];
	struct metric_row *row = NULL;

	if (!series_fit(metrics, kind)) {
		refuse(metrics, kind);
		return NULL;
	}
	if (rows_reserve(metrics, rows))
		row = row_new(kind, labels);
	if (!row) {
		metrics->failed = true;
		return NULL;
	}
	row->parent = parent;
	row->hash = hash;
	row->period = metrics->period;
	rows->rows[rows->n++] = row;
	*table_find(metrics, kind, hash, labels->text, labels->length) = row;
	metrics->n_rows++;
	metrics->series += metrics->kind_series[kind];
	return row;
}

/* At the start of a period, moves the maxima to the columns of the previous one. */
static void maxima_age(const struct metrics *metrics, struct metric_row *row)
{
	const struct metric_columns *columns = &metric_columns[row->kind];
	uint64_t *now = row->values + columns->max, *before = now + columns->n_max;
	size_t size = columns->n_max * sizeof(*now);

	if (!size || row->period == metrics->period)
		return;
	if (row->period + 1 == metrics->period)
		memcpy(before, now, size);
	else
		memset(before, 0, size);
	memset(now, 0, size);
}

struct metric_row *metric_row_find(const struct metrics *metrics, enum metric_kind kind,
				   const struct metric_labels *labels)
{
	if (!metrics->n_table)
		return NULL;
	return *table_find(metrics, kind, labels_hash(metrics, kind, labels), labels->text,
			   labels->length);
}

struct metric_row *metric_row_touch(struct metrics *metrics, enum metric_kind kind,
				    struct metric_row *parent, const struct metric_labels *labels)
{
	uint32_t hash = labels_hash(metrics, kind, labels);
	struct metric_row *row = NULL;

	if (metrics->n_table)
		row = *table_find(metrics, kind, hash, labels->text, labels->length);
	if (!row)
		row = row_add(metrics, kind, parent, labels, hash);
	if (!row)
		return NULL;
	maxima_age(metrics, row);
	row->period = metrics->period;
	row->sample = metrics->sample;
	row->updated = metrics->now;
	return row;
}

/* A row of nothing but gauges shows the latest sample only: a target that renames itself, or is
 * another process after a restart, leaves one behind each time. Without room for all, threads and
 * processes that have ended, or have another name now, give way at once: whoever renames its
 * threads would keep others from having series. */
static bool is_stale(const struct metrics *metrics, const struct metric_row *row)
{
	const struct metric_row *thread = row->parent ? row->parent : row;
	bool is_past = thread->sample + 1 < metrics->sample;

	if (!metric_columns[row->kind].last || row->kind < METRIC_PROCESS)
		return is_past && !metric_columns[row->kind].last;
	return is_past &&
	       (metrics->refused || (thread->with_tid && metrics->now > thread->updated &&
				     metrics->now - thread->updated > STALE));
}

/* Parents (processes, threads) come first among the kinds, and are freed last. */
void metric_rows_sweep(struct metrics *metrics)
{
	size_t before = metrics->n_rows;

	for (size_t kind = METRIC_KINDS; kind-- > 0;) {
		struct metric_rows *rows = &metrics->kinds[kind];
		size_t left = 0;

		for (size_t i = 0; i < rows->n; i++) {
			if (!is_stale(metrics, rows->rows[i])) {
				rows->rows[left++] = rows->rows[i];
				continue;
			}
			free(rows->rows[i]);
			metrics->series -= metrics->kind_series[kind];
		}
		metrics->n_rows -= rows->n - left;
		rows->n = left;
	}
	metrics->refused = false;
	if (metrics->n_rows == before)
		return;
	memset(metrics->table, 0, metrics->n_table * sizeof(*metrics->table));
	table_fill(metrics);
}

void metric_row_sum(struct metric_row *row, unsigned int column, uint64_t value)
{
	row->values[column] = u64_add(row->values[column], value);
}

void metric_row_max(struct metric_row *row, unsigned int column, uint64_t value)
{
	row->values[column] = u64_max(row->values[column], value);
}

/* Bucket of a duration, searched from bucket on. */
static unsigned int bucket_of(uint64_t ns, unsigned int bucket)
{
	while (bucket < METRIC_BUCKETS && metric_buckets[bucket].ns < ns)
		bucket++;
	return bucket;
}

void metric_row_duration(struct metric_row *row, uint64_t ns)
{
	metric_row_sum(row, bucket_of(ns, 0), 1);
	metric_row_sum(row, HISTOGRAM_SUM, ns);
}

void metric_row_distribution(struct metric_row *row, const struct distribution *distribution,
			     uint64_t total)
{
	unsigned int bucket = 0;

	for (size_t i = 0; i < distribution->n; i++) {
		bucket = bucket_of(distribution->buckets[i].le, bucket);
		metric_row_sum(row, bucket, distribution->buckets[i].count);
	}
	metric_row_sum(row, HISTOGRAM_SUM, total);
}

uint64_t metric_row_value(const struct metrics *metrics, const struct metric_row *row,
			  unsigned int column)
{
	const struct metric_columns *columns = &metric_columns[row->kind];

	if (column >= columns->last)
		return row->sample == metrics->sample ? row->values[column] : 0;
	if (column < columns->max || column >= columns->max + columns->n_max)
		return row->values[column];
	if (row->period == metrics->period)
		return u64_max(row->values[column], row->values[column + columns->n_max]);
	return row->period + 1 == metrics->period ? row->values[column] : 0;
}
