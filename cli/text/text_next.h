/* SPDX-License-Identifier: Apache-2.0 */
/* What well-known programs tell of themselves. */
#ifndef TEXT_NEXT_H
#define TEXT_NEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/model/sample.h"

/* Writes the target's own means to see where it waits, or what it computes, by its name:
 * "jstack 4711 shows where its threads wait". Returns false if it has none that is known. */
bool text_next(char *advice, size_t size, const struct sample *sample, bool waits);

#endif
