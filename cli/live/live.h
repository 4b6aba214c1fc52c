/* SPDX-License-Identifier: Apache-2.0 */
/* Live view (--live): windows on a terminal, each replacing the previous one. */
#ifndef LIVE_H
#define LIVE_H

#include "cli/base/exit_status.h"
#include "cli/base/signals.h"
#include "cli/model/sample.h"
#include "cli/output/outputs.h"

struct live;

/* Checks for a suitable terminal. Returns 0, or an exit status after printing what is missing. */
exit_status live_check(void);

/* Takes the terminal. Later writing uses the configuration, which must outlive the view, like
 * the signals. Messages appear in the view, and are printed at its end. Returns 0, or an exit
 * status after printing what failed. */
exit_status live_open(struct live **live, const struct outputs_config *outputs,
		      struct signals *signals);

/* Recordings are only read when a window is written: record(context, sample) adds the recording
 * to a copy of the sample. Returns 0 or a negative errno. */
typedef int live_recorder(void *context, struct sample *sample);
void live_record_with(struct live *live, live_recorder *record, void *context);

/* Shows a window with its verdict. Takes over their memory, except the capture and the stacks,
 * and zeroes both; a frozen view leaves them to the caller. live NULL is allowed. Returns 0 or a
 * negative errno. */
int live_show(struct live *live, struct sample *sample, struct verdict *verdict);

/* Call every few milliseconds: draws, and handles keys and signals. NULL is allowed. Returns 0;
 * 1 if the run should end; or a negative errno. */
int live_tick(struct live *live);

/* Restores the terminal. If the target has ended, prints its last window as text. NULL is
 * allowed. */
void live_close(struct live *live);

/* Longest delay of a key. */
#define LIVE_TICK_NS 50000000ULL

#endif
