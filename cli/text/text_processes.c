/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "text_processes.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/escape.h"
#include "cli/base/parse.h"
#include "cli/model/verdict.h"
#include "text_parts.h"

#define TITLE_SCREEN 45 /* columns of a title on the first screen, */
#define TITLE_SHORT 60  /* in lines of short reports, */
#define TITLE_FULL 256  /* and elsewhere */
#define SCREEN_PROCESSES (SCREEN_THREADS / 2)

/* --- Cells --- */

/* Adds foreign text, cut at width columns: no character has more columns than bytes. */
static void foreign(struct columns *columns, const char *text, size_t size, size_t width)
{
	char escaped[ESCAPE_SIZE(PROCESS_TITLE)];

	escape_text(escaped, width + 1 < sizeof(escaped) ? width + 1 : sizeof(escaped), text, size);
	columns_add(columns, escaped);
}

/* "812", "5,000x"; "?" without a process. */
static void process_id(struct columns *columns, const struct process_row *process, size_t width)
{
	if (!process)
		columns_right(columns, "?", width);
	else if (process->members > 1)
		text_times(columns, process->members, width);
	else
		columns_count(columns, (uint64_t)process->pid, width);
}

static void process_title(struct columns *columns, const struct process_row *process, size_t width)
{
	if (!process)
		columns_add(columns, "<unknown>");
	else if (*process->title)
		foreign(columns, process->title, sizeof(process->title), width);
	else if (*process->name)
		foreign(columns, process->name, sizeof(process->name), width);
	else
		columns_add(columns, "<unknown>");
}

/* before: text before the first label. */
static void label(struct columns *columns, const char *what, const char *text, const char *before,
		  bool *any)
{
	if (!*text)
		return;
	columns_add(columns, *any ? ", " : before);
	columns_add(columns, what);
	foreign(columns, text, PROCESS_LABEL, PROCESS_LABEL);
	*any = true;
}

/* Location of a process: " [pod shop-0, container db, image postgres:16]". */
static void labels(struct columns *columns, const char *pod, const char *container,
		   const char *image, const char *before, const char *after)
{
	bool any = false;

	label(columns, "pod ", pod, before, &any);
	label(columns, "container ", container, before, &any);
	label(columns, "image ", image, before, &any);
	columns_add(columns, any ? after : "");
}

void text_target_labels(struct columns *columns, const struct capture *capture)
{
	if (capture)
		labels(columns, capture->pod, capture->container, capture->image, "# Runs in ",
		       "\n");
}

static void cell_time(struct columns *columns, uint64_t ns, size_t width)
{
	columns_right(columns, AS_TIME(ns), width);
}

static void cell_share(struct columns *columns, uint64_t part, uint64_t total)
{
	columns_right(columns, AS_SHARE(part, total), 8);
}

/* --- Processes without a line --- */

static struct process_sum rest_sum(const struct process_sum *sums, size_t n)
{
	struct process_sum rest = { 0 };

	for (size_t i = 0; i < n; i++)
		fields_merge(process_sum_fields, &rest, &sums[i]);
	return rest;
}

/* "12x" */
static void rest_id(struct columns *columns, const struct process_sum *sums, size_t n, size_t width)
{
	uint64_t members = 0;

	for (size_t i = 0; i < n; i++)
		members += sums[i].process->members ?: 1;
	text_times(columns, members, width);
}

/* --- First screen --- */

static void screen_figures(struct columns *columns, const struct process_sum *sum)
{
	cell_time(columns, sum->delay, 9);
	cell_share(columns, sum->delay, sum->busy);
	columns_count(columns, sum->threads, 8);
	columns_add(columns, "  ");
}

/* Lists processes that lost time, largest first. If space runs out, the last line sums up the
 * rest. */
int text_screen_processes(struct text *text)
{
	const struct sample *sample = text->sample;
	struct columns *columns = &text->columns;
	struct process_sum *sums = NULL;
	int error = processes_sum(sample, &sums);
	size_t n = 0, shown;

	while (sums && n < sample->n_processes && sums[n].delay)
		n++;
	shown = n > SCREEN_PROCESSES ? SCREEN_PROCESSES - 1 : n;
	if (n)
		text_bold(text, "    PID     KEPT OF BUSY THREADS  PROCESS");
	columns_add(columns, n ? "\n" : "");
	for (size_t i = 0; i < shown; i++) {
		process_id(columns, sums[i].process, 7);
		screen_figures(columns, &sums[i]);
		process_title(columns, sums[i].process, TITLE_SCREEN);
		columns_add(columns, "\n");
	}
	if (shown < n) {
		const struct process_sum rest = rest_sum(&sums[shown], n - shown);

		rest_id(columns, &sums[shown], n - shown, 7);
		screen_figures(columns, &rest);
		columns_add(columns, "all others\n");
	}
	free(sums);
	return error;
}

/* Text at an offset in each row, if all are equal; else "". */
static const char *shared_text(const struct sample *sample, size_t at, size_t size)
{
	const char *first = (const char *)&sample->processes[0] + at;

	for (size_t i = 1; i < sample->n_processes; i++)
		if (strncmp((const char *)&sample->processes[i] + at, first, size) != 0)
			return "";
	return first;
}

#define SHARED_TEXT(sample, member)                                                                \
	shared_text(sample, offsetof(struct process_row, member),                                  \
		    sizeof(((struct process_row *)NULL)->member))

void text_processes_name(char name[static PROCESSES_LEN], const struct sample *sample)
{
	const char *container = SHARED_TEXT(sample, container), *pod = SHARED_TEXT(sample, pod);
	const char *first = sample->processes[0].name, *label = *container ? container : pod;
	char escaped[PROCESSES_LEN / 2 + 1];

	if (*label) {
		escape_text(escaped, sizeof(escaped), label, PROCESS_LABEL);
		snprintf(name, PROCESSES_LEN, "%s %s", *container ? "container" : "pod", escaped);
		return;
	}
	escape_text(escaped, KD_COMM_LEN + 1, first, KD_COMM_LEN);
	snprintf(name, PROCESSES_LEN, "%s%s", *escaped ? escaped : "<unknown>",
		 *SHARED_TEXT(sample, name) ? "" : " and others");
}

/* --- Section --- */

/* ", frozen 20.0 ms": rare times that have no column. */
static void sum_note(struct columns *columns, const char *what, uint64_t ns)
{
	if (ns)
		columns_print(columns, ", %s %s", what, AS_TIME(ns));
}

static void sum_notes(struct columns *columns, const struct process_sum *sum)
{
	sum_note(columns, "stopped", sum->stopped);
	sum_note(columns, "frozen", sum->frozen);
	sum_note(columns, "stolen by the hypervisor", sum->stolen);
}

static void sum_line(struct text *text, const struct process_sum *sum)
{
	struct columns *columns = &text->columns;

	columns_count(columns, sum->threads, 8);
	cell_time(columns, sum->running, 10);
	cell_time(columns, sum->ready, 10);
	cell_time(columns, sum->throttled, 10);
	cell_time(columns, sum->blocked, 10);
	cell_time(columns, sum->delay, 10);
	cell_share(columns, sum->delay, sum->busy);
	columns_add(columns, "  ");
}

static void process_line(struct text *text, const struct process_sum *sum)
{
	struct columns *columns = &text->columns;
	const struct process_row *process = sum->process;

	process_id(columns, process, 10);
	sum_line(text, sum);
	process_title(columns, process, text->brief ? TITLE_SHORT : TITLE_FULL);
	labels(columns, process->pod, process->container, process->image, " [", "]");
	sum_notes(columns, sum);
	columns_add(columns, process->began && process->ended ? ", began and ended"
			     : process->began                 ? ", began"
			     : process->ended                 ? ", ended"
							      : "");
	columns_add(columns, "\n");
}

static void rest_line(struct text *text, const struct process_sum *sums, size_t n)
{
	struct columns *columns = &text->columns;
	const struct process_sum rest = rest_sum(sums, n);

	rest_id(columns, sums, n, 10);
	sum_line(text, &rest);
	columns_add(columns, "all others");
	sum_notes(columns, &rest);
	columns_add(columns, "\n");
}

int text_processes(struct text *text, size_t top)
{
	const struct sample *sample = text->sample;
	struct columns *columns = &text->columns;
	size_t n = sample->n_processes;
	struct process_sum *sums = NULL;
	int error = 0;

	if (!text_is_multiprocess(sample))
		return 0;
	error = processes_sum(sample, &sums);
	if (error)
		return error;
	columns_add(columns, "\n");
	text_bold(text, "# PROCESSES, sums over their threads:");
	columns_add(columns,
		    "\n       PID THREADS   RUNNING     READY THROTTLED   BLOCKED      KEPT "
		    "OF BUSY  PROCESS\n");
	/* A line for the rest only pays for two or more. */
	if (n <= top + 1)
		top = n;
	for (size_t i = 0; i < top; i++)
		process_line(text, &sums[i]);
	if (top < n)
		rest_line(text, &sums[top], n - top);
	free(sums);
	return 0;
}

/* --- Threads --- */

void text_process_heading(struct text *text, const struct thread_row *thread)
{
	struct columns *columns = &text->columns;
	const struct process_row *process = process_of(text->sample, thread);

	columns_add(columns, text->bold ? TEXT_BOLD : "");
	columns_add(columns, "PROCESS ");
	process_id(columns, process, 0);
	columns_add(columns, " ");
	process_title(columns, process, TITLE_FULL);
	columns_add(columns, text->bold ? TEXT_PLAIN : "");
	columns_add(columns, "\n");
}

void text_process(struct columns *columns, const struct sample *sample, pid_t pid, uint64_t at)
{
	const struct process_row *process = process_at(sample, pid, at);

	columns_count(columns, (uint64_t)pid, 0);
	if (!process || process->members > 1)
		return;
	columns_add(columns, " ");
	process_title(columns, process, TITLE_SHORT);
}

void text_process_of(struct text *text, const struct thread_row *thread)
{
	struct columns *columns = &text->columns;
	const struct process_row *process;

	if (!text_is_multiprocess(text->sample))
		return;
	process = process_of(text->sample, thread);
	columns_add(columns, ", of ");
	process_id(columns, process, 0);
	columns_add(columns, " ");
	process_title(columns, process, TITLE_SHORT);
}
