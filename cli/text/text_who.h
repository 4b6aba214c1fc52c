/* SPDX-License-Identifier: Apache-2.0 */
/* Names of culprits, of one or of several together. */
#ifndef TEXT_WHO_H
#define TEXT_WHO_H

#include <stddef.h>
#include <sys/types.h>

#include "cli/model/verdict_row.h"

#define WHO_LEN 256
#define PATH_WIDTH 47 /* columns of a path */

/* Name, escaped: "backup-agent[812]"; without a TID that of another culprit, "" if unknown. */
const char *text_who(char who[static WHO_LEN], const char *comm, size_t size, pid_t tid);

/* True if the culprits are children of which only the program is the same. */
bool text_is_program(const struct verdict_row *row);

/* Culprit, escaped: "backup-agent[812]", "sed (20 times)"; "" if unknown. Several culprits: "16
 * threads (worker)", "8 processes of /batch (over0, over1, ...)"; "" if not threads. */
const char *text_row_who(char who[static WHO_LEN], const struct verdict_row *row);

/* The same in a column: "8 processes of /batch"; a longer path or name is cut. */
const char *text_row_who_brief(char who[static WHO_LEN], const struct verdict_row *row,
			       size_t width);

#endif
