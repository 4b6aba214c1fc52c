/* SPDX-License-Identifier: Apache-2.0 */
/* What the page's timeline shows of a recording: lanes of pieces of time, for threads and for CPUs.
 * A page is bounded: where there are too many pieces, short ones are merged with their neighbours,
 * and the piece says how much of it was what. */
#ifndef HTML_LANES_H
#define HTML_LANES_H

#include "cli/model/cpu_runs.h"
#include "cli/model/sample.h"

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
extern const char *const html_class_keys[HTML_CLASSES];

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
