// SPDX-License-Identifier: Apache-2.0
#include "text_culprits.h"

#include <stdio.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/parse.h"
#include "text_parts.h"

#define NAME_WIDTH TEXT_NAME_WIDTH
#define CLASS_WIDTH 10

/* A row, or a sum of rows. */
struct line {
	uint64_t woken, preempted, longest, began;
};

static void line_add(struct line *line, const struct culprit *culprit)
{
	line->woken = u64_add(line->woken, culprit->woken_ns);
	line->preempted = u64_add(line->preempted, culprit->preempted_ns);
	if (culprit->longest_ns > line->longest)
		line->began = culprit->longest_began;
	line->longest = u64_max(line->longest, culprit->longest_ns);
}

static void figures_columns(struct text *text, const struct line *line, uint64_t total)
{
	struct columns *columns = &text->columns;

	columns_gap_ns(columns, line->woken, 16);
	columns_gap_ns(columns, line->preempted, 16);
	columns_gap_ns(columns, line->longest, 16);
	columns_add(columns, "  ");
	columns_right(columns, AS_PERCENT(u64_add(line->woken, line->preempted), total), 7);
	text_began(text, line->began);
}

/* "FIFO 50", "nice 19". */
static void class_column(struct columns *columns, const struct culprit *culprit)
{
	const char *policy = culprit_policies[culprit->policy], *end = strchr(policy, '_');
	const char *name = end ? end + 1 : "?";
	char text[48];

	if (!strcmp(name, "OTHER"))
		snprintf(text, sizeof(text), "nice %d", culprit->priority);
	else if (!strcmp(name, "IDLE") || !strcmp(name, "DEADLINE"))
		snprintf(text, sizeof(text), "%s", name);
	else
		snprintf(text, sizeof(text), "%s %d", name, culprit->priority);
	columns_cut(columns, text, CLASS_WIDTH);
}

static void number_column(struct columns *columns, int32_t number)
{
	if (number > 0)
		columns_count(columns, (uint64_t)number, 10);
	else
		columns_right(columns, "-", 10);
	columns_add(columns, " ");
}

static void limit(struct columns *columns, const struct culprit *culprit)
{
	if (culprit->kind == CULPRIT_THROTTLED && (*culprit->group || culprit->period_ns)) {
		columns_add(columns, "  ");
		columns_foreign(columns, culprit->group,
				strnlen(culprit->group, sizeof(culprit->group)), 256);
	}
	if (culprit->period_ns)
		columns_print(columns, "%s may have %s per %s",
			      culprit->kind == CULPRIT_THROTTLED ? "" : "  it",
			      AS_LIMIT(culprit->quota_ns), AS_LIMIT(culprit->period_ns));
}

static void remarks(struct columns *columns, const struct culprit *culprit)
{
	limit(columns, culprit);
	if (culprit->own)
		columns_add(columns, "  own thread");
	if (culprit->kernel)
		columns_add(columns, culprit->ksoftirqd ? "  kernel: soft irqs" : "  kernel");
	if (culprit->kind == CULPRIT_TASK && !culprit->tid)
		columns_add(columns, "  several threads");
	if (culprit->rt_limit)
		columns_add(columns, "  real-time limit");
	if (culprit->longest_ns > culprit_ns(culprit))
		columns_add(columns, "  longest began before");
	if (culprit->kind != CULPRIT_TASK || !*culprit->group)
		return;
	columns_add(columns, "  in ");
	columns_foreign(columns, culprit->group, strnlen(culprit->group, sizeof(culprit->group)),
			256);
}

static void row(struct text *text, const struct culprit *culprit, uint64_t total)
{
	struct columns *columns = &text->columns;
	char label[CULPRIT_LABEL_LEN];
	struct line line = { 0 };

	columns_add(columns, TEXT_INDENT);
	if (culprit->kind == CULPRIT_TASK) {
		columns_pad(
			columns,
			columns_foreign(columns, culprit->name, sizeof(culprit->name), NAME_WIDTH),
			NAME_WIDTH);
		columns_add(columns, " ");
		number_column(columns, culprit->tid);
		number_column(columns, culprit->pid);
		class_column(columns, culprit);
	} else {
		columns_left(columns, culprit_label(culprit, label), NAME_WIDTH + 1);
		number_column(columns, 0);
		number_column(columns, 0);
		columns_left(columns, "-", CLASS_WIDTH);
	}
	line_add(&line, culprit);
	figures_columns(text, &line, total);
	remarks(columns, culprit);
	columns_add(columns, "\n");
}

static void figures_row(struct text *text, const char *label, const struct line *line,
			uint64_t total)
{
	struct columns *columns = &text->columns;

	if (!u64_add(line->woken, line->preempted))
		return;
	columns_add(columns, TEXT_INDENT);
	columns_left(columns, label, NAME_WIDTH + 1 + 11 + 11 + CLASS_WIDTH);
	figures_columns(text, line, total);
	columns_add(columns, "\n");
}

#define HEADER                                                                                     \
	"NAME                        TID        PID CLASS     "                                    \
	"   AFTER WAKEUP ns   PREEMPTED ns        LONGEST ns        %"

void text_culprits(struct text *text, const struct thread_row *thread)
{
	size_t n = thread->n_culprits, shown = culprits_shown(thread->culprits, n);
	uint64_t sum = culprits_sum(thread->culprits, n, 0);
	struct line own = { 0 }, rest = { 0 }, unknown = { 0 }, total = { 0 };

	/* A brief block shows only what matters. */
	if (!sum || (text->brief && u64_times(sum, 100) < thread->ledger.life))
		return;
	text_section(text, "[READY: WHO HAD THE CPU]",
		     text->brief ? HEADER : HEADER "       LONGEST AT");
	if (text->brief)
		shown = u64_min(shown, TEXT_BRIEF_ROWS);
	while (text->brief && shown &&
	       u64_times(culprit_ns(&thread->culprits[shown - 1]), 100) < sum)
		shown--;
	for (size_t i = 0; i < n; i++) {
		const struct culprit *culprit = &thread->culprits[i];

		line_add(&total, culprit);
		if (i < shown)
			row(text, culprit, sum);
		else
			line_add(culprit->kind == CULPRIT_UNKNOWN ? &unknown
				 : culprit->own                   ? &own
								  : &rest,
				 culprit);
	}
	figures_row(text, "other own threads", &own, sum);
	figures_row(text, "the rest", &rest, sum);
	figures_row(text, "unexplained", &unknown, sum);
	if (!text->brief)
		figures_row(text, "TOTAL:", &total, sum);
}
