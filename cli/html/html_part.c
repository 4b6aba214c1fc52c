// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "html_part.h"

#include <errno.h>
#include <stdlib.h>

/* A row of the whole list. */
struct candidate {
	size_t at;
	uint64_t ns;
	bool is_first; /* of its stack */
	bool is_kept;
};

static int by_length(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->is_first != y->is_first)
		return x->is_first ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static int by_place(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* Chooses HTML_ROWS of them; they are left in the order of the list. Returns how many are not
 * among them. */
static size_t longest_keep(struct candidate *candidates, size_t n)
{
	size_t kept = n < HTML_ROWS ? n : HTML_ROWS;

	qsort(candidates, n, sizeof(*candidates), by_length);
	for (size_t i = 0; i < kept; i++)
		candidates[i].is_kept = true;
	qsort(candidates, n, sizeof(*candidates), by_place);
	return n - kept;
}

/* Finds the stacks of a kind, and marks a row of each of the first ones, most of them; their rows
 * are numbers in the whole list for now. candidates are those of the whole list. Returns 0 or
 * -ENOMEM. */
static int stacks_find(struct html_list *list, const struct sample *whole, enum trace_kind kind,
		       size_t most, struct candidate *candidates)
{
	const struct traces_merging merging = { .threads = MERGE_IN_NAME };
	struct trace_sum *sums;
	size_t n;
	int error = traces_merge(&whole->traces, kind, whole->end, merging, &sums, &n);

	if (error)
		return error;
	list->stacks = calloc(most, sizeof(*list->stacks));
	for (size_t i = 0; list->stacks && i < n; i++) {
		const size_t row = (size_t)(sums[i].longest - whole->traces.rows);

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

/* The chosen rows of a kind go into the part, and its stacks get their numbers there. numbers has
 * room for each row of the whole list. */
static void rows_take(struct html_part *part, const struct trace_list *whole,
		      const struct candidate *candidates, size_t n, struct html_list *list,
		      size_t *numbers)
{
	size_t number = 0;

	for (size_t i = 0; i < n; i++) {
		if (!candidates[i].is_kept)
			continue;
		numbers[candidates[i].at] = number++;
		part->sample.traces.rows[part->sample.traces.n++] = whole->rows[candidates[i].at];
	}
	for (size_t i = 0; i < list->n; i++)
		list->stacks[i].row = numbers[list->stacks[i].row];
}

static int traces_part(struct html_part *part, const struct sample *whole)
{
	const struct trace_list *traces = &whole->traces;
	struct candidate *candidates = calloc(traces->n, sizeof(*candidates));
	size_t *numbers = calloc(traces->n, sizeof(*numbers));
	int error = candidates && numbers ? 0 : -ENOMEM;

	for (size_t i = 0; !error && i < traces->n; i++)
		candidates[i] = (struct candidate){
			.at = i, .ns = trace_duration(traces, &traces->rows[i], whole->end)
		};
	/* Rows of a kind follow one another. */
	for (size_t i = 0, n; !error && i < traces->n; i += n) {
		const enum trace_kind kind = traces->rows[i].kind;
		struct html_list *list = &part->lists[kind];

		for (n = 1; i + n < traces->n && traces->rows[i + n].kind == kind; n++)
			;
		error = stacks_find(list, whole, kind, n > HTML_ROWS ? HTML_STACKS : n, candidates);
		if (error)
			break;
		list->left_out = longest_keep(candidates + i, n);
		rows_take(part, traces, candidates + i, n, list, numbers);
	}
	free(candidates);
	free(numbers);
	return error;
}

static int interruptions_part(struct html_part *part, const struct sample *whole)
{
	const size_t n = whole->n_interruptions;
	struct candidate *candidates = calloc(n, sizeof(*candidates));
	struct sample *sample = &part->sample;

	if (!candidates)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		candidates[i] = (struct candidate){ .at = i, .ns = whole->interruptions[i].ns };
	part->interruptions_left_out = longest_keep(candidates, n);
	for (size_t i = 0; i < n; i++)
		if (candidates[i].is_kept)
			sample->interruptions[sample->n_interruptions++] = whole->interruptions[i];
	free(candidates);
	return 0;
}

/* Memory for so many elements, or as many as there are, at least for one. */
static void *room_for(size_t n, size_t most, size_t size)
{
	return calloc(n > most ? most : n ?: 1, size);
}

int html_part_make(struct html_part *part, const struct sample *whole)
{
	struct sample *sample = &part->sample;
	int error = 0;

	*part = (struct html_part){ .sample = *whole };
	part->recording_left_out = whole->recording != NULL;
	sample->recording = NULL;
	sample->traces.n = sample->n_interruptions = 0;
	sample->traces.rows = room_for(whole->traces.n, TRACE_KINDS * HTML_ROWS,
				       sizeof(*sample->traces.rows));
	sample->interruptions = room_for(whole->n_interruptions, HTML_ROWS,
					 sizeof(*sample->interruptions));
	if (!sample->traces.rows || !sample->interruptions)
		error = -ENOMEM;
	if (!error && whole->traces.n)
		error = traces_part(part, whole);
	if (!error && whole->n_interruptions)
		error = interruptions_part(part, whole);
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
