// SPDX-License-Identifier: Apache-2.0
/* Keys of fields, and words, are a promise to readers of JSON: they are added to, never changed.
 * man/kernel_delay.schema.json says what they mean. */
#include "lists.h"

#include <stdio.h>
#include <string.h>

#include "cli/base/columns.h"
#include "rows.h"

#define KEY_IF_ANY .flags = FIELD_IF_ANY | FIELD_KEY

/* "taskset[4711]"; nothing of who is not known. */
static size_t who_write(struct columns *columns, const char name[static KD_COMM_LEN], int32_t tid)
{
	size_t used = columns_foreign(columns, name, KD_COMM_LEN, KD_COMM_LEN);
	char text[16];

	if (!tid)
		return used;
	used += (size_t)snprintf(text, sizeof(text), "[%d]", tid);
	columns_add(columns, text);
	return used;
}

/* --- Who stopped it --- */

static const char *const stop_kinds[KD_STOP_KINDS] = {
	[KD_STOP_UNKNOWN] = "unexplained",
	[KD_STOP_SIGNAL] = "signal",
	[KD_STOP_TRACER] = "tracer",
};

/* "SIGSTOP", "signal 19", "ptrace", "unexplained" */
#define STOP_HOW_LEN 16
static void stop_how(const struct stop_row *stop, char how[static STOP_HOW_LEN])
{
	static const char *const signals[KD_STOP_SIGNALS] = { "SIGSTOP", "SIGTSTP", "SIGTTIN",
							      "SIGTTOU" };
	uint32_t index = (uint32_t)stop->signal - KD_SIGSTOP;

	if (stop->kind == KD_STOP_SIGNAL && index < KD_STOP_SIGNALS)
		snprintf(how, STOP_HOW_LEN, "%s", signals[index]);
	else if (stop->kind == KD_STOP_SIGNAL && stop->signal > 0 && stop->signal <= 64)
		snprintf(how, STOP_HOW_LEN, "signal %u", (unsigned int)stop->signal % 100);
	else
		snprintf(how, STOP_HOW_LEN, "%s",
			 stop->kind == KD_STOP_SIGNAL   ? "a signal"
			 : stop->kind == KD_STOP_TRACER ? "ptrace"
							: stop_kinds[KD_STOP_UNKNOWN]);
}

/* "SIGSTOP by sh[4711]" */
static size_t stop_cell(struct columns *columns, const void *row)
{
	const struct stop_row *stop = row;
	char how[STOP_HOW_LEN];

	stop_how(stop, how);
	columns_add(columns, how);
	if (!stop->tid && !*stop->name)
		return strlen(how);
	columns_add(columns, " by ");
	return strlen(how) + strlen(" by ") + who_write(columns, stop->name, stop->tid);
}

#define STOP(key, kind, member, ...) FIELD(key, kind, struct stop_row, member, __VA_ARGS__)
const struct row_list stop_list = {
	.id = LIST_STOPS,
	.size = sizeof(struct stop_row),
	.fields =
		(const struct field[]){
			STOP("kind", FIELD_WORD, kind, .words = stop_kinds, .of = KD_STOP_KINDS,
			     .flags = FIELD_REQUIRED | FIELD_KEY, .label = "kind"),
			STOP("signal", FIELD_I32, signal, KEY_IF_ANY),
			STOP("tid", FIELD_I32, tid, KEY_IF_ANY, .order = 1),
			STOP("pid", FIELD_I32, pid, KEY_IF_ANY),
			STOP("name", FIELD_NAME, name, KEY_IF_ANY, .label = "stopper"),
			FIELDS_COUNTED(struct stop_row, stops.),
			FIELDS_END,
		},
	LIST_COUNTED(struct stop_row, stops.),
	.most = STOPS_MOST,
	.others = &(const struct stop_row){ .kind = KD_STOP_UNKNOWN },
	.title = "[STOPPED: BY WHOM]",
	.columns =
		(const struct column[]){
			{ .title = "FOR", .width = -42, .cell = stop_cell },
			COLUMNS_COUNTED(struct stop_row, stops.),
			{ .title = NULL },
		},
	.names_threads = true,
	.unnamed = "[unknown]",
};

/* --- Who moved it to other CPUs --- */

static size_t mover_cell(struct columns *columns, const void *row)
{
	const struct mover_row *mover = row;

	if (mover->tid)
		return who_write(columns, mover->name, mover->tid);
	columns_add(columns, "others");
	return strlen("others");
}

#define MOVER(key, kind, member, ...) FIELD(key, kind, struct mover_row, member, __VA_ARGS__)
const struct row_list mover_list = {
	.id = LIST_MOVERS,
	.size = sizeof(struct mover_row),
	.fields =
		(const struct field[]){
			MOVER("tid", FIELD_I32, tid, KEY_IF_ANY, .order = 1),
			MOVER("pid", FIELD_I32, pid, KEY_IF_ANY),
			MOVER("name", FIELD_NAME, name, KEY_IF_ANY, .label = "mover"),
			FIELD_COUNT(struct mover_row, ),
			FIELDS_END,
		},
	.count = offsetof(struct mover_row, count),
	.most = MOVERS_MOST,
	.others = &(const struct mover_row){ 0 },
	.title = "[AFFINITY SET: BY WHOM]",
	.columns =
		(const struct column[]){
			{ .title = "BY", .width = -42, .cell = mover_cell },
			COLUMN_OF_COUNT(struct mover_row, count),
			{ .title = NULL },
		},
	.names_threads = true,
};

/* --- Its requests to disks --- */

static const char *const block_keys[KD_BLOCK_KINDS] = {
	[KD_BLOCK_READ] = "read",
	[KD_BLOCK_WRITE] = "write",
	[KD_BLOCK_OTHER] = "other",
};

/* "vda: read" */
static size_t block_cell(struct columns *columns, const void *row)
{
	const struct block_row *block = row;
	size_t used = strlen("others");

	if (*block->device)
		used = columns_foreign(columns, block->device, sizeof(block->device), 13);
	else
		columns_add(columns, "others");
	columns_add(columns, ": ");
	columns_add(columns, block_keys[block->kind]);
	return used + 2 + strlen(block_keys[block->kind]);
}

static size_t block_share(struct columns *columns, const struct block_row *block,
			  unsigned int permille)
{
	columns_ns(columns, distribution_permille(&block->times, permille, 0, block->requests.max),
		   12);
	return 12;
}

static size_t block_p50_cell(struct columns *columns, const void *row)
{
	return block_share(columns, row, 500);
}

static size_t block_p99_cell(struct columns *columns, const void *row)
{
	return block_share(columns, row, 990);
}

#define BLOCK(key, kind, member, ...) FIELD(key, kind, struct block_row, member, __VA_ARGS__)
const struct row_list block_list = {
	.id = LIST_BLOCKS,
	.size = sizeof(struct block_row),
	.fields =
		(const struct field[]){
			BLOCK("device", FIELD_NAME, device, .flags = FIELD_KEY, .label = "device",
			      .order = 1),
			BLOCK("operation", FIELD_WORD, kind, .words = block_keys,
			      .of = KD_BLOCK_KINDS,
			      .flags = FIELD_REQUIRED | FIELD_KEY | FIELD_EACH,
			      .label = "operation", .order = 2),
			FIELDS_COUNTED(struct block_row, requests.),
			FIELD_SUM("bytes", struct block_row, bytes),
			BLOCK("buckets", FIELD_TIMES, times),
			FIELDS_END,
		},
	LIST_COUNTED(struct block_row, requests.),
	.bytes = offsetof(struct block_row, bytes),
	.needs = ROWS_OF_RESOURCES,
	.most = BLOCKS_MOST,
	.others = &(const struct block_row){ .device = "" },
	.title = "[THREAD BLOCK I/O STATISTICS]",
	.columns =
		(const struct column[]){
			{ .title = "FOR", .width = -22, .cell = block_cell },
			COLUMN_OF_COUNT(struct block_row, requests.count),
			COLUMN_OF("BYTES", COLUMN_SUM, struct block_row, bytes),
			COLUMN_OF("TOTAL ns", COLUMN_SUM, struct block_row, requests.total),
			{ .title = "P50 ns", .width = 12, .cell = block_p50_cell },
			{ .title = "P99 ns", .width = 12, .cell = block_p99_cell },
			COLUMN_OF("MAX ns", COLUMN_MAX, struct block_row, requests.max),
			{ .title = NULL },
		},
};

/* --- Its perf events, in the order in which they were given --- */

#define COUNTED(key, kind, member, ...) FIELD(key, kind, struct counter_row, member, __VA_ARGS__)
const struct row_list counter_list = {
	.id = LIST_COUNTERS,
	.size = sizeof(struct counter_row),
	.fields =
		(const struct field[]){
			COUNTED("name", FIELD_NAME, name, .flags = FIELD_REQUIRED | FIELD_KEY,
				.label = "event"),
			COUNTED("cpu", FIELD_I32, cpu, .flags = FIELD_REQUIRED | FIELD_KEY,
				.label = "cpu"),
			COUNTED("value", FIELD_U64, value, .flags = FIELD_REQUIRED,
				.merge = MERGE_SUM),
			FIELD_SUM("enabled_ns", struct counter_row, enabled_ns),
			FIELD_SUM("running_ns", struct counter_row, running_ns),
			COUNTED("scaled", FIELD_BOOL, scaled, .flags = FIELD_IF_ANY,
				.merge = MERGE_ANY),
			FIELDS_END,
		},
	.count = offsetof(struct counter_row, value),
	.needs = ROWS_OF_COUNTERS,
};
