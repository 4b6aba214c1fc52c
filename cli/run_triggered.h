/* SPDX-License-Identifier: Apache-2.0 */
/* Runs whose samples triggers start or stop. */
#ifndef RUN_TRIGGERED_H
#define RUN_TRIGGERED_H

#include "cli/base/exit_status.h"

struct run_state;

/* Takes samples that triggers start or stop. Returns an exit status. */
exit_status run_triggered(struct run_state *run);

#endif
