/* SPDX-License-Identifier: Apache-2.0 */
/* HTML report: one file that loads nothing. html_begin() writes all code. Each record follows as
 * its JSON, with the text report below it for browsers without scripts. Enclosing elements stay
 * open, as HTML allows: records can be appended, and an interrupted run leaves a working page. */
#ifndef HTML_H
#define HTML_H

#include <stdio.h>

#include "cli/model/recording.h"
#include "cli/model/report_options.h"
#include "cli/model/sample.h"
#include "cli/model/trigger_stats.h"

struct summary;
struct comparison;

/* Writes and flushes the start of a page. Returns 0 or a negative errno. */
int html_begin(FILE *out);

/* Each writes and flushes a record. Returns as above. */
int report_html(const struct sample *sample, const struct report_options *options, FILE *out);
int report_html_summary(const struct summary *summary, const struct report_options *options,
			FILE *out);
int report_html_comparison(const struct comparison *comparison,
			   const struct report_options *options, FILE *out);
int report_html_triggers(const struct trigger_stats *stats, FILE *out);

/* --- Streams --- */

/* Streams that transform and pass on data to a stream of the caller's, so that no data forms or
 * ends an element. Closing them does not flush that stream. */

/* Text between elements. Data beyond most bytes is cut at the end of a line, and a last line
 * says so. Returns NULL with errno set. */
FILE *html_text_open(FILE *out, size_t most);

/* Any bytes, as lines of base64 of gzip: JSON shrinks to a seventh. Returns as above. */
FILE *html_packed_open(FILE *out);

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

/* Makes the part of a sample, which must outlive it. Returns 0 or -ENOMEM; then there is nothing
 * to clear. */
int html_part_make(struct html_part *part, const struct sample *full);

void html_part_clear(struct html_part *part);

/* True if anything is left out. */
bool html_part_is_shorter(const struct html_part *part);

/* --- The recording --- */

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

/* Makes the lanes of a sample with a recording; both must outlive them. Returns 0 or -ENOMEM;
 * call html_lanes_clear() in either case. */
int html_lanes_make(struct html_lanes *lanes, const struct sample *sample);
void html_lanes_clear(struct html_lanes *lanes);

/* Pieces of a lane in order of time, which the caller frees. Returns 0 or -ENOMEM. */
int html_lane_pieces(const struct html_lanes *lanes, const struct html_lane *lane,
		     struct html_piece **pieces, size_t *n);

#endif
