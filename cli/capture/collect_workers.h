/* SPDX-License-Identifier: Apache-2.0 */
/* What workers of the kernel did that kept threads waiting. */
#ifndef COLLECT_WORKERS_H
#define COLLECT_WORKERS_H

#include "cli/model/sample.h"

/* Looks for those that threads waited for, for 1 % of the window or more. Returns 0 or -ENOMEM. */
int workers_take(struct sample *sample);

#endif
