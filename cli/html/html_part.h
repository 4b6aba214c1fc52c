/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a sample that a page has: its lists and its recording may be of any length, and a
 * page has to open in an instant. */
#ifndef HTML_PART_H
#define HTML_PART_H

#include <stdio.h>

#include "cli/model/recording.h"
#include "cli/model/sample.h"

/* --- Lists --- */

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
	bool recording_left_out; /* the page has what is drawn of it, see below */
};

/* Makes it of a whole sample, which has to stay. Returns 0 or -ENOMEM; then there is nothing to
 * clear. */
int html_part_make(struct html_part *part, const struct sample *whole);

/* Releases what html_part_make() took. */
void html_part_clear(struct html_part *part);

/* Whether anything is left out. */
bool html_part_is_shorter(const struct html_part *part);

/* --- The recording --- */

/* Writes and flushes, as JSON, what the timeline shows of a sample's recording. It is the page's
 * own form, no promise: from_ns            where it begins, from the window's start on classes what
 * parts of merged pieces are kinds              what pieces are, as in -o json, with the state or
 * class and, of CPUs, who threads, cpus      lanes: tid, name, own; cpu; merged_ns, below which
 * states were merged; and of pieces, columns as in -o json: kind (-1: merged, or of none of those),
 * after, ns; and in parts [class, ns, ...] for each -1 left_out           how many lanes are
 * Returns 0 or a negative errno. */
int html_recorded(const struct sample *sample, FILE *out);

/* --- Lanes of pieces of time --- */

/* At most, in a page. */
#define HTML_THREADS 150
#define HTML_CPUS 32
#define HTML_PIECES 100000    /* with what merged ones are made of */
#define HTML_CPU_PIECES 20000 /* of them, of CPUs */

/* What a piece is, or a part of it: a state (enum ledger_state), or who has a CPU. */
enum html_class {
	HTML_OWN = LEDGER_STATES,
	HTML_OTHER,
	HTML_IDLE,
	HTML_UNKNOWN,
	HTML_CLASSES,
};

struct html_piece {
	uint64_t start, end;
	size_t row, rows;          /* the first row of the lane, and how many it is made of */
	uint64_t ns[HTML_CLASSES]; /* which add up to it */
};

struct html_lane {
	const struct recorded_state *states; /* of a thread; NULL: of a CPU, */
	const struct cpu_run *runs;          /* these */
	size_t n;
	pid_t tid;
	uint32_t cpu;
	unsigned int rank; /* 0: of the critical path, or hit a trigger; 1: the target's */
	uint64_t weight;   /* ns for which it waited, or the target had the CPU */
	uint64_t merged;   /* what was shorter than this many ns; 0: nothing */
};

struct html_lanes {
	const struct recording *recording;
	uint64_t from, until;      /* what is shown */
	struct html_lane *threads; /* by rank, then weight */
	size_t n_threads, room_threads, threads_left_out;
	struct html_lane *cpus; /* by number */
	size_t n_cpus, room_cpus, cpus_left_out;
	struct cpu_runs runs;
};

/* Makes them of a sample that has a recording, both of which have to stay. Returns 0 or -ENOMEM;
 * html_lanes_clear() in any case. */
int html_lanes_make(struct html_lanes *lanes, const struct sample *sample);
void html_lanes_clear(struct html_lanes *lanes);

/* The pieces of a lane, in the order of time, which the caller releases. Returns 0 or -ENOMEM. */
int html_lane_pieces(const struct html_lanes *lanes, const struct html_lane *lane,
		     struct html_piece **pieces, size_t *n);

#endif
