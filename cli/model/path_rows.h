/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a critical path while they are collected, from its end to its beginning. They are few
 * however many legs there are: those that are shorter than some time share rows with their
 * neighbours, and that time grows when there are too many. */
#ifndef PATH_ROWS_H
#define PATH_ROWS_H

#include "critical_path.h"

struct path_rows {
	struct path_row *rows; /* by descending time */
	size_t n, room;
	uint64_t least; /* ns: legs that are shorter may share rows */
	bool failed;    /* there was no memory */
};

/* Adds a leg that ends where the last one began: its parts are set here, and those that are alike
 * are one. */
void path_rows_add(struct path_rows *rows, const struct path_row *leg);

/* Gives the rows to a path, by ascending time. Returns 0 or -ENOMEM; then the path has none. */
int path_rows_finish(struct path_rows *rows, struct critical_path *path);

#endif
