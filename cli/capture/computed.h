/* SPDX-License-Identifier: Apache-2.0 */
/* What threads compute: the function that most of the ticks hit. */
#ifndef COMPUTED_H
#define COMPUTED_H

#include <stdbool.h>

#include "cli/model/sample.h"

struct session;
struct stacks;

/* True if a thread of the sample computed for so long that it is worth looking where. */
bool computed_is_worth(const struct session *session, const struct sample *sample);

/* Fills in the functions of such threads, as far as they have names. */
void computed_find(const struct session *session, struct stacks *stacks, struct sample *sample);

#endif
