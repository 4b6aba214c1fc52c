// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "html_part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "cli/json/json_recorded.h"
#include "cli/json/json_writer.h"
#include "cli/model/words.h"

/* --- Longest rows of lists --- */

/* A row of the full list. */
struct candidate {
	size_t at;
	uint64_t ns;
	bool is_first; /* of its stack */
	bool is_longest;
};

static int by_length(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return ORDER(y->is_first, x->is_first) ?: ORDER(y->ns, x->ns) ?: ORDER(x->at, y->at);
}

static int by_index(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return ORDER(x->at, y->at);
}

/* Keeps the HTML_ROWS longest, in list order. Returns how many are left out. */
static size_t longest_keep(struct candidate *candidates, size_t n)
{
	size_t shown = n < HTML_ROWS ? n : HTML_ROWS;

	ARRAY_SORT(candidates, n, by_length);
	for (size_t i = 0; i < shown; i++)
		candidates[i].is_longest = true;
	ARRAY_SORT(candidates, n, by_index);
	return n - shown;
}

/* Finds the stacks of a kind, and marks one row for each of the first most. Rows are numbers in
 * the full list for now, as are candidates. Returns 0 or -ENOMEM. */
static int stacks_find(struct html_list *list, const struct sample *full, enum trace_kind kind,
		       size_t most, struct candidate *candidates)
{
	const struct traces_merging merging = { .threads = MERGE_IN_NAME };
	struct trace_sum *sums;
	size_t n;
	int error = traces_merge(&full->traces, kind, full->end, merging, &sums, &n);

	if (error)
		return error;
	list->stacks = calloc(most, sizeof(*list->stacks));
	for (size_t i = 0; list->stacks && i < n; i++) {
		const size_t row = (size_t)(sums[i].longest - full->traces.rows);

		if (list->n == most) {
			list->others.count += sums[i].count;
			list->others.total += sums[i].total;
			continue;
		}
		list->stacks[list->n++] = (struct html_stack){ row, sums[i].count, sums[i].total };
		candidates[row].is_first = true;
	}
	free(sums);
	return list->stacks ? 0 : -ENOMEM;
}

/* Moves the chosen rows of a kind to the part, and renumbers its stacks. numbers has space for
 * each row of the full list. */
static void rows_take(struct html_part *part, const struct trace_list *full,
		      const struct candidate *candidates, size_t n, struct html_list *list,
		      size_t *numbers)
{
	size_t number = 0;

	for (size_t i = 0; i < n; i++) {
		if (!candidates[i].is_longest)
			continue;
		numbers[candidates[i].at] = number++;
		part->sample.traces.rows[part->sample.traces.n++] = full->rows[candidates[i].at];
	}
	for (size_t i = 0; i < list->n; i++)
		list->stacks[i].row = numbers[list->stacks[i].row];
}

static int traces_shorten(struct html_part *part, const struct sample *full)
{
	const struct trace_list *traces = &full->traces;
	struct candidate *candidates = calloc(traces->n, sizeof(*candidates));
	size_t *numbers = calloc(traces->n, sizeof(*numbers));
	int error = candidates && numbers ? 0 : -ENOMEM;

	for (size_t i = 0; !error && i < traces->n; i++)
		candidates[i] = (struct candidate){
			.at = i, .ns = trace_duration(traces, &traces->rows[i], full->end)
		};
	/* Rows of a kind are adjacent. */
	for (size_t i = 0, n; !error && i < traces->n; i += n) {
		const enum trace_kind kind = traces->rows[i].kind;
		struct html_list *list = &part->lists[kind];

		for (n = 1; i + n < traces->n && traces->rows[i + n].kind == kind; n++)
			;
		error = stacks_find(list, full, kind, n > HTML_ROWS ? HTML_STACKS : n, candidates);
		if (error)
			break;
		list->left_out = longest_keep(candidates + i, n);
		rows_take(part, traces, candidates + i, n, list, numbers);
	}
	free(candidates);
	free(numbers);
	return error;
}

static int interruptions_shorten(struct html_part *part, const struct sample *full)
{
	const size_t n = full->n_interruptions;
	struct candidate *candidates = calloc(n, sizeof(*candidates));
	struct sample *sample = &part->sample;

	if (!candidates)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		candidates[i] = (struct candidate){ .at = i, .ns = full->interruptions[i].ns };
	part->interruptions_left_out = longest_keep(candidates, n);
	for (size_t i = 0; i < n; i++)
		if (candidates[i].is_longest)
			sample->interruptions[sample->n_interruptions++] = full->interruptions[i];
	free(candidates);
	return 0;
}

/* Allocates n elements, but no more than most and at least one. */
static void *rows_new(size_t n, size_t most, size_t size)
{
	return calloc(n > most ? most : n ?: 1, size);
}

int html_part_make(struct html_part *part, const struct sample *full)
{
	struct sample *sample = &part->sample;
	int error = 0;

	*part = (struct html_part){ .sample = *full };
	part->recording_left_out = full->recording != NULL;
	sample->recording = NULL;
	sample->traces.n = sample->n_interruptions = 0;
	sample->traces.rows = rows_new(full->traces.n, TRACE_KINDS * HTML_ROWS,
				       sizeof(*sample->traces.rows));
	sample->interruptions = rows_new(full->n_interruptions, HTML_ROWS,
					 sizeof(*sample->interruptions));
	if (!sample->traces.rows || !sample->interruptions)
		error = -ENOMEM;
	if (!error && full->traces.n)
		error = traces_shorten(part, full);
	if (!error && full->n_interruptions)
		error = interruptions_shorten(part, full);
	if (error)
		html_part_clear(part);
	return error;
}

void html_part_clear(struct html_part *part)
{
	for (size_t i = 0; i < TRACE_KINDS; i++)
		free(part->lists[i].stacks);
	free(part->sample.traces.rows);
	free(part->sample.interruptions);
	*part = (struct html_part){ 0 };
}

bool html_part_is_shorter(const struct html_part *part)
{
	bool is_shorter = part->interruptions_left_out || part->recording_left_out;

	for (size_t i = 0; i < TRACE_KINDS; i++)
		is_shorter = is_shorter || part->lists[i].left_out;
	return is_shorter;
}

/* --- Recording: lanes of pieces --- */

#define FIRST_MERGED 1000 /* ns */

static const char *const html_class_keys[HTML_CLASSES] = {
	LEDGER_WORDS(WORD_KEY) /* "user" and so on */
		[HTML_OWN] = "own",
	[HTML_OTHER] = "other",
	[HTML_IDLE] = "idle",
	[HTML_UNKNOWN] = "unknown",
};

/* --- Pieces --- */

/* Visible segment of a lane's row. */
struct segment {
	uint64_t start, end;
	unsigned int class;
};

static bool is_idle(const struct span *run)
{
	return !run->of_target && !run->state && !run->tid && run->key == KD_WHO_IDLE;
}

static unsigned int class_of_state(uint8_t state)
{
	const struct ledger_words *words = ledger_words_of(state);

	return words ? (unsigned int)(words - ledger_words) : HTML_UNKNOWN;
}

static unsigned int class_of_run(const struct span *run)
{
	return run->of_target ? HTML_OWN : is_idle(run) ? HTML_IDLE : HTML_OTHER;
}

/* False if nothing is visible. */
static bool segment_of(const struct html_lanes *lanes, const struct html_lane *lane, size_t i,
		       struct segment *segment)
{
	const struct span *span = &lane->spans[i];

	segment->start = u64_max(span->start, lanes->from);
	segment->end = u64_min(span->end, lanes->until);
	segment->class = lane->is_cpu ? class_of_run(span) : class_of_state(span->state);
	return segment->start < segment->end;
}

struct pieces {
	struct html_piece *all; /* NULL: only count */
	size_t n, capacity;
	size_t cost; /* in pieces */
	bool wanted;
};

static int piece_end(struct pieces *pieces, struct html_piece *piece)
{
	if (!piece->rows)
		return 0;
	pieces->cost++;
	for (size_t i = 0; i < HTML_CLASSES && piece->rows > 1; i++)
		pieces->cost += piece->ns[i] > 0;
	if (pieces->wanted && ARRAY_ADD(pieces->all, pieces->n, pieces->capacity, *piece))
		return -ENOMEM;
	memset(piece, 0, sizeof(*piece));
	return 0;
}

static void piece_add(struct html_piece *piece, size_t row, const struct segment *segment)
{
	if (!piece->rows) {
		piece->start = piece->end = segment->start;
		piece->row = row;
	}
	piece->ns[HTML_UNKNOWN] += segment->start - piece->end;
	piece->ns[segment->class] += segment->end - segment->start;
	piece->end = segment->end;
	piece->rows++;
}

/* Merges pieces shorter than least into longer ones. */
static int pieces_make(struct pieces *pieces, const struct html_lanes *lanes,
		       const struct html_lane *lane, uint64_t least)
{
	struct html_piece piece = { 0 };
	struct segment segment;
	uint64_t last = 0;
	int error = 0;

	for (size_t i = 0; i < lane->n && !error; i++) {
		if (!segment_of(lanes, lane, i, &segment) || segment.start < last)
			continue;
		last = segment.end;
		if (segment.end - segment.start >= least || piece.end - piece.start >= least ||
		    (piece.rows && segment.start - piece.end >= least))
			error = piece_end(pieces, &piece);
		piece_add(&piece, i, &segment);
		if (!error && segment.end - segment.start >= least)
			error = piece_end(pieces, &piece);
	}
	return error ? error : piece_end(pieces, &piece);
}

int html_lane_pieces(const struct html_lanes *lanes, const struct html_lane *lane,
		     struct html_piece **out, size_t *n)
{
	struct pieces pieces = { .wanted = true };
	int error = pieces_make(&pieces, lanes, lane, lane->merged);

	*out = pieces.all;
	*n = pieces.n;
	return error;
}

static size_t cost_of(const struct html_lanes *lanes, const struct html_lane *lane)
{
	struct pieces pieces = { 0 };

	pieces_make(&pieces, lanes, lane, lane->merged);
	return pieces.cost;
}

/* Splits the space left so that the first lanes, which show more, may take more. */
static size_t lanes_fit(const struct html_lanes *lanes, struct html_lane *all, size_t n,
			size_t left)
{
	uint64_t span = lanes->until - lanes->from;

	for (size_t i = 0; i < n; i++) {
		struct html_lane *lane = &all[i];
		size_t share = 2 * left / (n - i + 1), cost = lane->n;

		while (cost > share && lane->merged < span) {
			lane->merged = lane->merged ? u64_times(lane->merged, 2) : FIRST_MERGED;
			/* Each pass visits all rows, so skip limits that cannot fit. */
			if (span / lane->merged / 4 > share)
				continue;
			cost = cost_of(lanes, lane);
		}
		left = u64_sub(left, cost);
	}
	return left;
}

/* --- Threads --- */

static bool has_trigger(const struct sample *sample, pid_t tid)
{
	return (sample->start_triggered && sample->started_on == tid) ||
	       (sample->stop_triggered && sample->stopped_on == tid);
}

static bool is_on_path(const struct critical_path *path, pid_t tid)
{
	bool is = path->thread.tid == tid;

	for (size_t i = 0; i < path->n_rows && !is; i++)
		is = path->rows[i].thread.tid == tid;
	return is;
}

static void thread_weigh(struct html_lane *lane, const struct sample *sample)
{
	const struct span *states = lane->spans;

	lane->rank = has_trigger(sample, lane->tid) || is_on_path(&sample->path, lane->tid)
			     ? 0
			     : 1 + !states->of_target;
	for (size_t i = 0; i < lane->n; i++)
		if (kd_is_ready(states[i].state) || states[i].state == KD_BLOCKED_UNINT ||
		    (states[i].state == KD_BLOCKED && states[i].awaited != KD_AWAITED_WORK))
			lane->weight = u64_add(lane->weight,
					       u64_sub(states[i].end, states[i].start));
}

static int thread_compare(const void *a, const void *b)
{
	const struct html_lane *x = a, *y = b;

	return ORDER(x->rank, y->rank) ?: ORDER(y->weight, x->weight) ?: ORDER(x->tid, y->tid);
}

static int threads_find(struct html_lanes *lanes, const struct sample *sample)
{
	const struct span *states = lanes->recording->spans[SPAN_STATES].all;
	size_t n = lanes->recording->spans[SPAN_STATES].n, end;

	for (size_t i = 0; i < n; i = end) {
		struct html_lane lane = { .spans = states + i, .tid = states[i].tid };

		for (end = i + 1; end < n && states[end].tid == lane.tid;)
			end++;
		lane.n = end - i;
		/* Without a piece it would have no line on the page. */
		if (!recording_thread(lanes->recording, lane.tid) || !cost_of(lanes, &lane))
			continue;
		thread_weigh(&lane, sample);
		if (ARRAY_ADD(lanes->threads, lanes->n_threads, lanes->capacity_threads, lane))
			return -ENOMEM;
	}
	ARRAY_SORT(lanes->threads, lanes->n_threads, thread_compare);
	lanes->threads_left_out = u64_sub(lanes->n_threads, HTML_THREADS);
	lanes->n_threads -= lanes->threads_left_out;
	return 0;
}

/* --- CPUs --- */

static int cpu_by_weight(const void *a, const void *b)
{
	const struct html_lane *x = a, *y = b;

	return ORDER(y->weight, x->weight) ?: ORDER(x->cpu, y->cpu);
}

static int cpu_by_number(const void *a, const void *b)
{
	const struct html_lane *x = a, *y = b;

	return ORDER(x->cpu, y->cpu);
}

static int cpus_find(struct html_lanes *lanes)
{
	int error = cpu_runs_make(&lanes->runs, lanes->recording, lanes->from, lanes->until);
	const struct span *runs = lanes->runs.all;
	size_t n = lanes->runs.n, end;

	for (size_t i = 0; i < n && !error; i = end) {
		struct html_lane lane = { .spans = runs + i, .is_cpu = true, .cpu = runs[i].cpu };

		for (end = i; end < n && runs[end].cpu == lane.cpu; end++)
			if (runs[end].of_target)
				lane.weight += runs[end].end - runs[end].start;
		lane.n = end - i;
		if (ARRAY_ADD(lanes->cpus, lanes->n_cpus, lanes->capacity_cpus, lane))
			return -ENOMEM;
	}
	if (!lanes->n_cpus)
		return error;
	ARRAY_SORT(lanes->cpus, lanes->n_cpus, cpu_by_weight);
	lanes->cpus_left_out = u64_sub(lanes->n_cpus, HTML_CPUS);
	lanes->n_cpus -= lanes->cpus_left_out;
	return error;
}

/* --- All lanes --- */

int html_lanes_make(struct html_lanes *lanes, const struct sample *sample)
{
	size_t left;
	int error;

	*lanes = (struct html_lanes){
		.recording = sample->recording,
		.from = sample->recording->from,
		.until = sample->end,
	};
	error = threads_find(lanes, sample) ?: cpus_find(lanes);
	if (error || lanes->from >= lanes->until)
		return error;
	left = lanes_fit(lanes, lanes->cpus, lanes->n_cpus, HTML_CPU_PIECES);
	lanes_fit(lanes, lanes->threads, lanes->n_threads, HTML_PIECES - HTML_CPU_PIECES + left);
	ARRAY_SORT(lanes->cpus, lanes->n_cpus, cpu_by_number);
	return 0;
}

void html_lanes_clear(struct html_lanes *lanes)
{
	free(lanes->threads);
	free(lanes->cpus);
	free(lanes->runs.all);
	*lanes = (struct html_lanes){ 0 };
}

/* --- Recording as JSON --- */

#define KINDS_MOST 4096 /* further kinds only have their state */

struct writing {
	struct json_writer writer;
	struct html_lanes lanes;
	struct recorded_kinds kinds;
};

/* --- Kinds --- */

/* Those of CPUs start at 1, which tells them from states. */
static struct span kind_of(const struct html_lane *lane, size_t row)
{
	struct span kind = lane->spans[row];

	kind.start = kind.end = 0;
	if (lane->is_cpu) {
		kind.cpu = 0;
		kind.start = 1;
	} else {
		kind.tid = 0;
	}
	return kind;
}

static void run_write(struct writing *writing, const struct span *run)
{
	char name[CPU_RUN_NAME_LEN];

	writer_word(&writing->writer, "state", html_class_keys[class_of_run(run)]);
	writer_text(&writing->writer, "name", cpu_run_name(run, writing->lanes.recording, name),
		    sizeof(name));
}

static void kinds_write(struct writing *writing)
{
	writer_array(&writing->writer, "kinds");
	for (size_t i = 0; i < writing->kinds.n; i++) {
		const struct span *kind = &writing->kinds.of[i];

		writer_object(&writing->writer, NULL);
		if (kind->start)
			run_write(writing, kind);
		else
			json_fields_write(&writing->writer, recorded_lists[SPAN_STATES].fields,
					  kind);
		writer_object_end(&writing->writer);
	}
	writer_array_end(&writing->writer);
}

/* --- Lanes --- */

/* Kind number of a piece; -1: merged. */
static int64_t kind_number(struct writing *writing, const struct html_lane *lane,
			   const struct html_piece *piece)
{
	struct span kind;
	size_t number;

	if (piece->rows > 1)
		return -1;
	kind = kind_of(lane, piece->row);
	number = recorded_kinds_number(&writing->kinds, &kind);
	return number < KINDS_MOST ? (int64_t)number : -1;
}

static void parts_write(struct writing *writing, const struct html_piece *piece)
{
	struct json_writer *writer = &writing->writer;

	writer_array(writer, NULL);
	for (unsigned int class = 0; class < HTML_CLASSES; class ++) {
		if (!piece->ns[class])
			continue;
		writer_u64(writer, NULL, class);
		writer_u64(writer, NULL, piece->ns[class]);
	}
	writer_array_end(writer);
}

static int pieces_write(struct writing *writing, const struct html_lane *lane)
{
	struct json_writer *writer = &writing->writer;
	struct html_piece *pieces;
	size_t n;
	int error = html_lane_pieces(&writing->lanes, lane, &pieces, &n);
	int64_t *kinds = error ? NULL : calloc(n + 1, sizeof(*kinds));

	if (!kinds) {
		free(pieces);
		return -ENOMEM;
	}
	writer_array(writer, "kind");
	for (size_t i = 0; i < n; i++)
		writer_i64(writer, NULL, kinds[i] = kind_number(writing, lane, &pieces[i]));
	writer_array_end(writer);
	writer_array(writer, "after");
	for (size_t i = 0; i < n; i++)
		writer_u64(writer, NULL,
			   pieces[i].start - (i ? pieces[i - 1].end : writing->lanes.from));
	writer_array_end(writer);
	writer_array(writer, "ns");
	for (size_t i = 0; i < n; i++)
		writer_u64(writer, NULL, pieces[i].end - pieces[i].start);
	writer_array_end(writer);
	writer_array(writer, "parts");
	for (size_t i = 0; i < n; i++)
		if (kinds[i] < 0)
			parts_write(writing, &pieces[i]);
	writer_array_end(writer);
	free(pieces);
	free(kinds);
	return 0;
}

static int lane_write(struct writing *writing, const struct html_lane *lane)
{
	struct json_writer *writer = &writing->writer;
	int error;

	writer_object(writer, NULL);
	if (lane->is_cpu) {
		writer_u64(writer, "cpu", lane->cpu);
	} else {
		const struct recorded_thread *thread = recording_thread(writing->lanes.recording,
									lane->tid);

		writer_i64(writer, "tid", lane->tid);
		writer_text(writer, "name", thread->name, sizeof(thread->name));
		writer_bool(writer, "own", thread->of_target);
	}
	writer_u64(writer, "merged_ns", lane->merged);
	error = pieces_write(writing, lane);
	writer_object_end(writer);
	return error;
}

static int lanes_write(struct writing *writing, const char *key, const struct html_lane *lanes,
		       size_t n)
{
	int error = 0;

	writer_array(&writing->writer, key);
	for (size_t i = 0; i < n && !error; i++)
		error = lane_write(writing, &lanes[i]);
	writer_array_end(&writing->writer);
	return error;
}

/* --- All of it --- */

static int all_write(struct writing *writing, const struct sample *sample)
{
	struct json_writer *writer = &writing->writer;
	const struct html_lanes *lanes = &writing->lanes;
	int error;

	writer_object(writer, NULL);
	writer_i64(writer, "from_ns", (int64_t)(lanes->from - sample->start));
	writer_array(writer, "classes");
	for (unsigned int i = 0; i < HTML_CLASSES; i++)
		writer_word(writer, NULL, html_class_keys[i]);
	writer_array_end(writer);
	error = lanes_write(writing, "threads", lanes->threads, lanes->n_threads)
			?: lanes_write(writing, "cpus", lanes->cpus, lanes->n_cpus);
	kinds_write(writing);
	writer_object(writer, "left_out");
	writer_u64(writer, "threads", lanes->threads_left_out);
	writer_u64(writer, "cpus", lanes->cpus_left_out);
	writer_object_end(writer);
	writer_object_end(writer);
	return error;
}

int html_recorded(const struct sample *sample, FILE *out)
{
	struct writing writing = { 0 };
	int error = recorded_kinds_begin(&writing.kinds, KINDS_MOST)
			    ?: html_lanes_make(&writing.lanes, sample);
	int failed = 0;

	if (!error) {
		writer_begin(&writing.writer, out);
		writing.writer.sample = sample;
		error = all_write(&writing, sample);
		failed = writer_end(&writing.writer);
	}
	html_lanes_clear(&writing.lanes);
	recorded_kinds_free(&writing.kinds);
	return error ?: failed;
}
