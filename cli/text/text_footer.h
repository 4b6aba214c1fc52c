/* SPDX-License-Identifier: Apache-2.0 */
/* Warnings and notes. */
#ifndef TEXT_FOOTER_H
#define TEXT_FOOTER_H

struct text;

/* Writes warnings and notes, one line each. A "# WARNING" line appears exactly if sample_lost()
 * is not 0. */
void text_footer(struct text *text);

#endif
