/* SPDX-License-Identifier: Apache-2.0 */
#include "list_cells.h"

#include "cli/base/parse.h"
#include "wchan.h"

void cell_who(struct columns *columns, const char name[static KD_COMM_LEN], int32_t tid)
{
	columns_foreign(columns, name, KD_COMM_LEN, KD_COMM_LEN);
	if (tid)
		columns_print(columns, "[%d]", tid);
}

void cell_shorter(struct columns *columns, uint64_t ns)
{
	columns_add(columns, "all below ");
	columns_add(columns, ns % NSEC_PER_USEC ? AS_TIME(ns) : AS_LIMIT(ns));
}

void cell_tid(struct columns *columns, int32_t tid, const char name[static KD_COMM_LEN],
	      size_t width)
{
	if (!tid) {
		columns_add(columns, "-");
		return;
	}
	columns_count(columns, (uint64_t)tid, width);
	columns_add(columns, " ");
	columns_foreign(columns, name, KD_COMM_LEN, KD_COMM_LEN);
}

void cell_wchan(struct columns *columns, const char wchan[static KD_FUNCTION_LEN])
{
	const size_t length = wchan_function_length(wchan, KD_FUNCTION_LEN);

	if (!length)
		columns_add(columns, "-");
	columns_foreign(columns, wchan, length, KD_FUNCTION_LEN);
	if (length >= CELL_WCHAN)
		columns_add(columns, " ");
}
