/* SPDX-License-Identifier: Apache-2.0 */
/* The list of where a thread's long sleeps led. Keys are a promise, as those of lists.c. */
#include "thread_row.h"

#include "list_cells.h"
#include "rows.h"

static const char *const chain_keys[CHAIN_STATES] = {
	[CHAIN_RAN] = "running",
	[CHAIN_READY] = "ready",
	[CHAIN_ASLEEP] = "asleep",
	[CHAIN_UNKNOWN] = "not_followed",
};

static void chain_wchan_cell(struct columns *columns, const void *row)
{
	cell_wchan(columns, ((const struct chain_row *)row)->wchan);
}

static void via_cell(struct columns *columns, const void *row)
{
	const struct chain_row *chain = row;

	cell_tid(columns, chain->via, chain->via_name, 10);
}

/* "flusher[88] asleep in pipe_read" */
static void chain_cell(struct columns *columns, const void *row)
{
	static const char *const did[CHAIN_STATES] = {
		[CHAIN_RAN] = " running",
		[CHAIN_READY] = " ready, without a CPU",
		[CHAIN_ASLEEP] = " asleep",
		[CHAIN_UNKNOWN] = " not followed until then",
	};
	const struct chain_row *chain = row;

	if (!chain->tid) {
		columns_add(columns, "others");
		return;
	}
	cell_who(columns, chain->name, chain->tid);
	columns_add(columns, did[chain->state]);
	if (chain->state == CHAIN_ASLEEP)
		columns_add(columns, *chain->in_wchan ? " in " : " for short");
	columns_foreign(columns, chain->in_wchan, KD_FUNCTION_LEN, KD_FUNCTION_LEN);
}

#define CHAIN(key, kind, member, ...) FIELD(key, kind, struct chain_row, member, __VA_ARGS__)
/* clang-format off */
const struct row_list chain_list = {
	.id = LIST_CHAINS,
	.size = sizeof(struct chain_row),
	.fields = (const struct field[]){
		CHAIN("wchan", FIELD_NAME, wchan, KEY_IF_ANY),
		CHAIN("call", FIELD_SLEPT_IN, call, .flags = FIELD_KEY),
		CHAIN("ended_by_tid", FIELD_I32, via, KEY_IF_ANY),
		CHAIN("ended_by_name", FIELD_NAME, via_name, .flags = FIELD_IF_ANY),
		CHAIN("tid", FIELD_I32, tid, KEY_IF_ANY, .order = 1),
		CHAIN("name", FIELD_NAME, name, .flags = FIELD_IF_ANY),
		CHAIN("state", FIELD_WORD, state, KEY_REQUIRED, .of = CHAIN_STATES, .words = chain_keys, .order = 2),
		CHAIN("in_wchan", FIELD_NAME, in_wchan, KEY_IF_ANY),
		CHAIN("in_call", FIELD_SLEPT_IN, in_call, .flags = FIELD_KEY),
		FIELDS_COUNTED(struct chain_row, legs.),
		FIELDS_END,
	},
	LIST_COUNTED(struct chain_row, legs.),
	.most = CHAINS_MOST,
	.others = &(const struct chain_row){ .call = KD_CALL_NONE, .in_call = KD_CALL_NONE },
	.title = "[THREAD CHAINS]",
	.columns = (const struct column[]){
		{ .title = "WCHAN", .width = -CELL_WCHAN, .cell = chain_wchan_cell },
		{ .title = "ENDED BY", .width = -29, .cell = via_cell },
		COLUMNS_COUNTED(struct chain_row, legs.),
		{ .title = "LED TO", .cell = chain_cell },
		{ .title = NULL },
	},
	.of_life = true,
};
/* clang-format on */
