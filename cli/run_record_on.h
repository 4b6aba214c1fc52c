/* SPDX-License-Identifier: Apache-2.0 */
/* --record-on: windows are taken one after the other, and reported when a condition is true of
 * one. */
#ifndef RUN_RECORD_ON_H
#define RUN_RECORD_ON_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/exit_status.h"
#include "cli/model/sample.h"
#include "cli/output/fail_if.h"

struct record_on {
	const char *text;
	struct fail_if *condition;
	uint64_t windows; /* looked at */
	uint64_t hold;    /* ns for which what is not over is waited for at most */
	uint64_t until;   /* it is waited for until then; 0: for nothing */
	struct fulfilled fulfilled;
};

/* The word for no condition: only what the operator asks for is reported. */
#define RECORD_ON_SIGNAL "signal"

/* Reads the condition, which has to outlive it. hold: for how many ns at most it waits for the end
 * of what made it true. Returns 0, or after printing what is wrong an exit status. The caller ends
 * it with record_on_close(), which NULL is allowed for. */
exit_status record_on_open(struct record_on **record_on, const char *text, uint64_t hold,
			   const struct fail_recorded *recorded);

/* Whether a window is to be reported: *wanted is true then, or if the caller says so; and the
 * sample gets which condition was true. A wait that made it true and goes on is waited for, if a
 * window follows. Returns 0, or after printing that nobody knows an exit status. */
exit_status record_on_look(struct record_on *record_on, struct sample *sample, bool next_follows,
			   bool *wanted);

void record_on_close(struct record_on *record_on);

#endif
