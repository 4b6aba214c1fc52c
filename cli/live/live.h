/* SPDX-License-Identifier: Apache-2.0 */
/* The live view, --live: windows on a terminal, each in place of the one before. */
#ifndef LIVE_H
#define LIVE_H

#include "cli/base/exit_status.h"
#include "cli/base/signals.h"
#include "cli/model/sample.h"
#include "cli/output/outputs.h"

struct live;

/* Whether there is a terminal for it. Returns 0, or after printing what is missing an exit
 * status. */
exit_status live_check(void);

/* Takes the terminal. What is written from there on is so as the configuration has it, which has to
 * outlive it, as the signals have to. Messages are shown in the view, and printed at its end.
 * Returns 0, or after printing what failed an exit status. */
exit_status live_open(struct live **live, const struct outputs_config *outputs,
		      struct signals *signals);

/* What was recorded of a window is taken when that is written, not before: record(context, sample)
 * adds it to a copy of the sample. Returns 0 or a negative errno. */
typedef int live_recorder(void *context, struct sample *sample);
void live_record_with(struct live *live, live_recorder *record, void *context);

/* Shows a window with its verdict. What they own, but the sample's capture and its stacks, becomes
 * the view's, and both are zeroed; if the view is frozen, it stays the caller's. NULL is allowed.
 * Returns 0 or a negative errno. */
int live_show(struct live *live, struct sample *sample, struct verdict *verdict);

/* To be called every few milliseconds: draws, and does what keys and signals ask for. NULL is
 * allowed. Returns 0; 1 if the run is to end; or a negative errno. */
int live_tick(struct live *live);

/* Gives the terminal back as it was. If the target has ended, its last window follows, as text.
 * NULL is allowed. */
void live_close(struct live *live);

/* How long a key may wait. */
#define LIVE_TICK_NS 50000000ULL

#endif
