/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUN_CONFINE_H
#define RUN_CONFINE_H

#include "run_sampling.h"

/* Gives up what only the beginning of a run needed; to be called when all is attached. Without a
 * session it is one that replays a file, of which only options and outputs are looked at. What
 * cannot be given up is told. */
void run_confine(const struct run *run);

#endif
