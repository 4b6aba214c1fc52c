/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a sample that a page has: its lists may be of any length, and a page has to open in
 * an instant. */
#ifndef HTML_PART_H
#define HTML_PART_H

#include "cli/model/sample.h"

/* Of a list with more rows, so many are in the page: one for each of so many stacks, those that
 * took the most time, and the longest rows. */
#define HTML_ROWS 1500
#define HTML_STACKS 500

/* All rows of a list with the same functions in their stacks. */
struct html_stack {
	size_t row; /* the longest of them: its number among the part's rows of this kind */
	uint64_t count, total; /* of them, and of their durations, ns */
};

struct html_list {
	size_t left_out; /* rows */
	/* By descending total; others are those that are not in the part, which have no row. */
	struct html_stack *stacks, others;
	size_t n;
};

struct html_part {
	struct sample sample; /* the whole one, but for its lists, and without the recording */
	struct html_list lists[TRACE_KINDS];
	size_t interruptions_left_out;
	bool recording_left_out; /* the page has what is drawn of it, see html_recorded.h */
};

/* Makes it of a whole sample, which has to stay. Returns 0 or -ENOMEM; then there is nothing to
 * clear. */
int html_part_make(struct html_part *part, const struct sample *whole);

/* Releases what html_part_make() took. */
void html_part_clear(struct html_part *part);

/* Whether anything is left out. */
bool html_part_is_shorter(const struct html_part *part);

#endif
