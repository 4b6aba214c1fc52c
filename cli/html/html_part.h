/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a page. */
#ifndef HTML_PART_H
#define HTML_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/model/recording.h"
#include "cli/model/sample.h"

/* Part of a sample that a page contains: lists and recordings may be of any length, but a page
 * must open instantly. */

/* --- Lists --- */

/* Limits on the rows of a list: one row for each of the HTML_STACKS largest stacks, and the
 * longest other rows. */
#define HTML_ROWS 1500
#define HTML_STACKS 500

/* All rows of a list with the same functions in their stacks. */
struct html_stack {
	size_t row;            /* longest row: its index among the part's rows of this kind */
	uint64_t count, total; /* rows, and their durations, ns */
};

struct html_list {
	size_t left_out; /* rows left out */
	/* By descending total; others: stacks outside the part, without a row. */
	struct html_stack *stacks, others;
	size_t n;
};

struct html_part {
	struct sample sample; /* the sample with shortened lists, without the recording */
	struct html_list lists[TRACE_KINDS];
	size_t interruptions_left_out;
	bool recording_left_out; /* the page only has its drawing, see below */
};

/* --- Lanes of pieces of time --- */

/* Most lanes in a page. */
#define HTML_THREADS 150
#define HTML_CPUS 32
#define HTML_PIECES 100000    /* including the parts of merged ones */
#define HTML_CPU_PIECES 20000 /* share of the CPUs */

/* Class of a piece or a part of it: a state (enum ledger_state), or what has a CPU. */
enum html_class {
	HTML_OWN = LEDGER_STATES,
	HTML_OTHER,
	HTML_IDLE,
	HTML_UNKNOWN,
	HTML_CLASSES,
};

struct html_piece {
	uint64_t start, end;
	size_t row, rows;          /* first row in the lane, and number of rows merged */
	uint64_t ns[HTML_CLASSES]; /* adding up to the piece */
};

struct html_lane {
	const struct span *spans; /* states, or runs on a CPU */
	size_t n;
	bool is_cpu;
	pid_t tid;
	uint32_t cpu;
	unsigned int rank; /* 0: on the critical path, or hit a trigger; 1: target */
	uint64_t weight;   /* ns of waiting, or ns the target had the CPU */
	uint64_t merged;   /* limit below which pieces were merged, ns; 0: none */
};

struct html_lanes {
	const struct recording *recording;
	uint64_t from, until;      /* visible range */
	struct html_lane *threads; /* by rank, then weight */
	size_t n_threads, capacity_threads, threads_left_out;
	struct html_lane *cpus; /* by number */
	size_t n_cpus, capacity_cpus, cpus_left_out;
	struct spans runs;
};

/* Makes the part of a sample, which must outlive it. Returns 0 or -ENOMEM; then there is nothing
 * to clear. */
int html_part_make(struct html_part *part, const struct sample *full);

void html_part_clear(struct html_part *part);

/* True if anything is left out. */
bool html_part_is_shorter(const struct html_part *part);

/* Writes and flushes the timeline of a sample's recording as JSON. The format is private to the
 * page, not a promise:
 * from_ns        start, relative to the window's start
 * classes        classes of the parts of merged pieces
 * kinds          kinds of pieces as in -o json, with state or class; for CPUs also who
 * threads, cpus  lanes: tid, name, own; cpu; merged_ns, below which pieces were merged; and pieces
 *                as columns as in -o json: kind (-1: merged, or none of those), after, ns; and
 *                parts: [class, ns, ...] for each -1
 * left_out       number of lanes left out
 * Returns 0 or a negative errno. */
int html_recorded(const struct sample *sample, FILE *out);

/* Makes the lanes of a sample with a recording; both must outlive them. Returns 0 or -ENOMEM;
 * call html_lanes_clear() in either case. */
int html_lanes_make(struct html_lanes *lanes, const struct sample *sample);
void html_lanes_clear(struct html_lanes *lanes);

/* Pieces of a lane in order of time, which the caller frees. Returns 0 or -ENOMEM. */
int html_lane_pieces(const struct html_lanes *lanes, const struct html_lane *lane,
		     struct html_piece **pieces, size_t *n);

#endif
