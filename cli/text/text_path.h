/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path. */
#ifndef TEXT_PATH_H
#define TEXT_PATH_H

struct text;

/* Writes how far back the recording goes, and the critical path: 12 lines at most. Skips what is
 * unknown. Returns 0 or -ENOMEM. */
int text_path(struct text *text);

#endif
