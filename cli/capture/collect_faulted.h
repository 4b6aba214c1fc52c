/* SPDX-License-Identifier: Apache-2.0 */
/* What page faults were for. */
#ifndef COLLECT_FAULTED_H
#define COLLECT_FAULTED_H

#include "cli/model/sample.h"

/* Finds it for the thread that lost most to page faults, if that was 1 % of the window or more. */
void faulted_take(struct sample *sample);

#endif
