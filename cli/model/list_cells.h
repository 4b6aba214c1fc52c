/* SPDX-License-Identifier: Apache-2.0 */
/* What the descriptions of lists share: flags of keys, and cells of columns. */
#ifndef LIST_CELLS_H
#define LIST_CELLS_H

#include <stddef.h>
#include <stdint.h>

#include "cli/base/columns.h"
#include "rows.h"
#include "thread_row.h"

#define KEY_IF_ANY .flags = FIELD_IF_ANY | FIELD_KEY
#define KEY_REQUIRED .flags = FIELD_REQUIRED | FIELD_KEY

/* "taskset[4711]"; empty if unknown. */
void cell_who(struct columns *columns, const char name[static KD_COMM_LEN], int32_t tid);

/* "all below 20 us", for a row of short waits. */
void cell_shorter(struct columns *columns, uint64_t ns);

/* A wait channel without the caller that tells it apart from others, or "-". */
#define CELL_WCHAN 27 /* width of its column */
void cell_wchan(struct columns *columns, const char wchan[static KD_FUNCTION_LEN]);

/* "4711 sh", or "-" */
void cell_tid(struct columns *columns, int32_t tid, const char name[static KD_COMM_LEN],
	      size_t width);

#endif
