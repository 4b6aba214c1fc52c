/* SPDX-License-Identifier: Apache-2.0 */
/* Which windows of a run without triggers are reported: each of them, or those that meet
 * --record-on. Chosen once; a run asks this, and not the option. */
#ifndef RUN_SELECTION_H
#define RUN_SELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/exit_status.h"
#include "cli/model/sample.h"
#include "cli/output/fail_if.h"

struct selection {
	bool each;        /* known when a window begins; else only its end tells */
	const char *text; /* the condition, and what of it is underway */
	struct fail_if *condition;
	uint64_t windows; /* looked at */
	uint64_t hold;    /* longest wait for the end of a long wait, ns */
	uint64_t until;   /* when that ends; 0: not waiting */
	struct fulfilled fulfilled;
};

/* Parses the condition, whose text must outlive the selection; NULL: selects each window. hold: ns
 * to wait, at most, for the end of what made it true. Returns 0, or an exit status after printing
 * what is wrong. The caller calls selection_close() in either case. */
exit_status selection_open(struct selection *selection, const char *text, uint64_t hold,
			   const struct fail_recorded *recorded);

/* Decides whether to report a window: sets *wanted if so, or leaves it set. The sample gets the
 * condition that was true. Holds the report while a wait that made it true goes on, if a window
 * follows. Returns 0, or an exit status after printing that the result is unknown. */
exit_status selection_look(struct selection *selection, struct sample *sample, bool next_follows,
			   bool *wanted);

void selection_close(struct selection *selection);

#endif
