/* SPDX-License-Identifier: Apache-2.0 */
/* Samples as flat tables for SQL: comma-separated values as RFC 4180 has them, with one header.
 * Columns are a promise to those who have loaded them: new ones are added at the end, or where the
 * table of measures has them; none changes its name. */
#ifndef CSV_H
#define CSV_H

#include <stdio.h>

#include "cli/model/sample.h"

struct csv_writer;

struct csv_table {
	const char *name; /* of the file, without its suffix */
	/* Writes the names of all columns but those of the sample, and its rows. Return 0 or
	 * -ENOMEM. */
	int (*header)(struct csv_writer *writer);
	int (*rows)(struct csv_writer *writer, const struct sample *sample);
};

/* All tables; the last one's name is NULL. */
#define CSV_TABLES 6
extern const struct csv_table csv_tables[CSV_TABLES + 1];

/* Write and flush the line of a table's column names, and the rows of a finished sample. Return 0
 * or a negative errno. */
int csv_write_header(const struct csv_table *table, FILE *out);
int csv_write_rows(const struct csv_table *table, const struct sample *sample, FILE *out);

#endif
