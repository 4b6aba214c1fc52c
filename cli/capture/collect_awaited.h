/* SPDX-License-Identifier: Apache-2.0 */
/* Who can end the sleeps that go on when a window ends: nobody has ended them. */
#ifndef COLLECT_AWAITED_H
#define COLLECT_AWAITED_H

#include "cli/model/sample.h"

/* Looks for them, if a thread slept for most of the window; for a few sleeps at most. */
void awaited_take(struct sample *sample);

#endif
