/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEXT_FOOTER_H
#define TEXT_FOOTER_H

#include "../sample.h"
#include "columns.h"

/* Writes what is missing and what happened, a line each; nothing if there is
 * nothing to tell. A line "# WARNING" is there exactly if sample_lost() is not 0. */
void text_footer(struct columns *columns, const struct sample *sample);

#endif
