/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of fields. */
#ifndef CSV_WRITER_H
#define CSV_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/columns.h"

struct csv_writer {
	struct columns columns;
	bool comma;  /* before the next field */
	char id[64]; /* of the sample */
};

/* A field that is a constant of ours: letters, digits, what needs no quotes. */
void csv_word(struct csv_writer *writer, const char *word);
void csv_u64(struct csv_writer *writer, uint64_t number);
void csv_i64(struct csv_writer *writer, int64_t number);
void csv_bool(struct csv_writer *writer, bool truth);

/* An empty field: not known. */
void csv_nothing(struct csv_writer *writer);

/* Foreign text, which ends after so many bytes or at a NUL before that, escaped as in the text
 * report, so that it is one line of valid UTF-8; in quotes if it has commas or quotes; behind an
 * apostrophe if it begins as formulas of spreadsheets do. */
void csv_text(struct csv_writer *writer, const char *text, size_t length);

/* Ends a line, as RFC 4180 does: CR and LF. */
void csv_line_end(struct csv_writer *writer);

#endif
