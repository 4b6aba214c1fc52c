// SPDX-License-Identifier: Apache-2.0
#include "verdict_together.h"

#include <string.h>

#include "cli/base/arith.h"
#include "verdict_fold.h"

static bool has_name(const struct verdict_row *row)
{
	bool one = row->common == COMMON_NOTHING && row->who.tid && row->who.pid;

	return row->ns && *row->who.comm &&
	       (one || row->common == COMMON_PROGRAM || row->common == COMMON_CHILDREN);
}

/* True for one process, or for short-lived ones of the same program, whose PIDs say nothing; for
 * threads of the target, which often have one name, only if they are the same. */
static bool is_same_one(const struct verdict_row *x, const struct verdict_row *y, pid_t own)
{
	const bool many = x->common != COMMON_NOTHING || y->common != COMMON_NOTHING;
	const bool by_thread = x->who.pid == own || y->who.pid == own ||
			       x->cause == CAUSE_OWN_THREADS || y->cause == CAUSE_OWN_THREADS;
	const bool same = x->who.pid == y->who.pid;

	return has_name(x) && has_name(y) &&
	       (by_thread ? same && x->who.tid == y->who.tid : many || same) &&
	       !strncmp(x->who.comm, y->who.comm, sizeof(x->who.comm));
}

/* True if what they took together exceeds each other row, and some of it is of another cause than
 * most of it. */
static bool is_largest(const struct verdict_row *rows, size_t n, const struct verdict_row *of,
		       pid_t own)
{
	uint64_t sum = 0, others = 0, most = 0;

	for (size_t i = 0; i < n; i++)
		if (!is_same_one(&rows[i], of, own)) {
			others = u64_max(others, rows[i].ns);
		} else {
			sum = u64_add(sum, rows[i].ns);
			most = u64_max(most, rows[i].ns);
		}
	return sum > others && most <= sum - sum / 100 * VERDICT_TOGETHER_LEAST;
}

static void part_add(struct verdict_row *into, const struct verdict_row *row)
{
	struct verdict_part *part = into->parts;

	while (part < into->parts + into->n_parts && part->cause != row->cause)
		part++;
	if (part == into->parts + VERDICT_PARTS)
		part--;
	else if (part == into->parts + into->n_parts)
		*part = (struct verdict_part){ .cause = row->cause };
	into->n_parts = (unsigned int)u64_max(into->n_parts, (uint64_t)(part - into->parts) + 1);
	part->ns = u64_add(part->ns, row->ns);
}

static void parts_sort(struct verdict_row *row)
{
	for (unsigned int i = 1; i < row->n_parts; i++)
		for (unsigned int j = i; j && row->parts[j].ns > row->parts[j - 1].ns; j--) {
			const struct verdict_part part = row->parts[j];

			row->parts[j] = row->parts[j - 1];
			row->parts[j - 1] = part;
		}
}

bool verdict_together(struct verdict_row *rows, size_t n, pid_t own, struct verdict_row *sum)
{
	const struct verdict_row *of = NULL;

	for (size_t i = 0; i < n; i++)
		if (has_name(&rows[i]) && (!of || rows[i].ns > of->ns) &&
		    is_largest(rows, n, &rows[i], own))
			of = &rows[i];
	if (!of)
		return false;
	*sum = *of;
	sum->n_parts = 0;
	sum->worst = sum->last = NULL;
	sum->worst_ns = sum->last_ns = 0;
	sum->threads = 0;
	for (size_t i = 0; i < n; i++) {
		struct verdict_row *row = &rows[i];
		const struct verdict_row most = *sum;

		row->together = row == of || is_same_one(row, of, own);
		if (!row->together)
			continue;
		part_add(sum, row);
		if (row == of)
			continue;
		verdict_row_add(sum, row);
		sum->who = most.who;
		if (row->who.tid != sum->who.tid && sum->who.tid)
			sum->who.tid = sum->who.pid;
		sum->common = most.common;
		sum->culprits = most.culprits;
	}
	parts_sort(sum);
	sum->rank = sum->ns;
	return sum->n_parts > 1;
}
