/* SPDX-License-Identifier: Apache-2.0 */
/* Samples as flat tables for SQL: comma-separated values (RFC 4180) with a single header.
 * Columns are a promise to users who loaded them: new ones are added at the end, or where the
 * table of measures has them; names never change. */
#ifndef CSV_H
#define CSV_H

#include <stdio.h>

#include "cli/model/sample.h"

struct csv_writer;

struct csv_table {
	const char *name;    /* of the file, without suffix */
	const char *columns; /* except those of the sample */
	/* Writes the rows, and further column names; NULL: none. Return 0 or -ENOMEM. */
	int (*rows)(struct csv_writer *writer, const struct sample *sample);
	int (*more)(struct csv_writer *writer);
};

/* All tables, ended by a NULL name. */
#define CSV_TABLES 6
extern const struct csv_table csv_tables[CSV_TABLES + 1];

/* Write and flush a table's header line, and the rows of a finished sample. Return 0, and how many
 * rows there are; or a negative errno. */
int csv_write_header(const struct csv_table *table, FILE *out);
int csv_write_rows(const struct csv_table *table, const struct sample *sample, FILE *out);

#endif
