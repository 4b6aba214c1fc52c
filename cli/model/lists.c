// SPDX-License-Identifier: Apache-2.0
/* Keys of fields, and words, are a promise to readers of JSON: they are added to, never changed.
 * man/kernel_delay.schema.json explains them. */
#include "thread_row.h"

#include <stdio.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/base/columns.h"
#include "cli/base/parse.h"
#include "probes/elf/data.h"
#include "asked.h"
#include "list_cells.h"
#include "rows.h"
#include "words.h"

#define METRIC(name, help)                                                                         \
	{                                                                                          \
		"kernel_delay_" name, help                                                         \
	}
/* HELP texts are read one at a time: each says what it is about. */
#define LONGEST(what) "The longest " what " in the last one to two minutes."

/* --- Stops --- */

static const char *const stop_kinds[KD_STOP_KINDS] = {
	[KD_STOP_UNKNOWN] = "unexplained",
	[KD_STOP_SIGNAL] = "signal",
	[KD_STOP_TRACER] = "tracer",
};

void stop_how(const struct stop_row *stop, char how[static STOP_HOW_LEN])
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
static void stop_cell(struct columns *columns, const void *row)
{
	const struct stop_row *stop = row;
	char how[STOP_HOW_LEN];

	stop_how(stop, how);
	columns_add(columns, how);
	if (stop->tid || *stop->name) {
		columns_add(columns, " by ");
		cell_who(columns, stop->name, stop->tid);
	}
}

#define STOP(key, kind, member, ...) FIELD(key, kind, struct stop_row, member, __VA_ARGS__)
/* clang-format off */
const struct row_list stop_list = {
	.id = LIST_STOPS,
	.size = sizeof(struct stop_row),
	.fields = (const struct field[]){
		STOP("kind", FIELD_WORD, kind, KEY_REQUIRED, .of = KD_STOP_KINDS, .words = stop_kinds, .label = "kind"),
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
	.columns = (const struct column[]){
		{ .title = "FOR", .width = -42, .cell = stop_cell },
		COLUMNS_COUNTED(struct stop_row, stops.),
		{ .title = NULL },
	},
	.of_life = true,
	.condition = "stopped_by",
	.metrics = {
		[ROW_COUNT] = METRIC("stopped_by",
			"Stops of which a part lies in a window: kind is signal, tracer or unexplained, "
			"stopper the name of the signal's sender or the tracer, or terminal. Of each "
			"thread the first 16 have names, the others are other."),
		[ROW_TOTAL] = METRIC("stopped_by_seconds",
			"Time inside windows in which a thread was stopped, by who stopped it; all rows of a thread add up to its state stopped."),
		[ROW_MAX] = METRIC("stopped_by_max_seconds",
			"The longest part of a stop inside a window, in the last one to two minutes."),
	},
	.names_threads = true,
	.unnamed = "[unknown]",
};
/* clang-format on */

/* --- Forced moves to other CPUs --- */

static void mover_cell(struct columns *columns, const void *row)
{
	const struct mover_row *mover = row;

	if (mover->tid)
		cell_who(columns, mover->name, mover->tid);
	else
		columns_add(columns, "others");
}

#define MOVER(key, kind, member, ...) FIELD(key, kind, struct mover_row, member, __VA_ARGS__)
/* clang-format off */
const struct row_list mover_list = {
	.id = LIST_MOVERS,
	.size = sizeof(struct mover_row),
	.fields = (const struct field[]){
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
	.columns = (const struct column[]){
		{ .title = "BY", .width = -42, .cell = mover_cell },
		COLUMN_OF_COUNT(struct mover_row, count),
		{ .title = NULL },
	},
	.condition = "moved_by",
	.metrics = {
		[ROW_COUNT] = METRIC("moved_by",
			"Moves to another CPU that a call of sched_setaffinity caused (affinity in "
			"migrations_by), by the name of the calling thread. Of each thread the first 16 "
			"names are kept; the rest is other."),
	},
	.names_threads = true,
};
/* clang-format on */

/* --- Disk requests --- */

static const char *const block_keys[KD_BLOCK_KINDS] = {
	[KD_BLOCK_READ] = "read",
	[KD_BLOCK_WRITE] = "write",
	[KD_BLOCK_OTHER] = "other",
};

/* "vda: read" */
static void block_cell(struct columns *columns, const void *row)
{
	const struct block_row *block = row;

	if (*block->device)
		columns_foreign(columns, block->device, sizeof(block->device), 13);
	else
		columns_add(columns, "others");
	columns_add(columns, ": ");
	columns_add(columns, block_keys[block->kind]);
}

static void block_share(struct columns *columns, const struct block_row *block,
			unsigned int permille)
{
	columns_ns(columns, distribution_permille(&block->times, permille, 0, block->requests.max),
		   12);
}

static void block_p50_cell(struct columns *columns, const void *row)
{
	block_share(columns, row, 500);
}

static void block_p99_cell(struct columns *columns, const void *row)
{
	block_share(columns, row, 990);
}

#define BLOCK(key, kind, member, ...) FIELD(key, kind, struct block_row, member, __VA_ARGS__)
/* clang-format off */
const struct row_list block_list = {
	.id = LIST_BLOCKS,
	.size = sizeof(struct block_row),
	.fields = (const struct field[]){
		BLOCK("device", FIELD_NAME, device, .flags = FIELD_KEY, .label = "device", .order = 1),
		BLOCK("operation", FIELD_WORD, kind, KEY_REQUIRED | FIELD_EACH, .of = KD_BLOCK_KINDS, .words = block_keys, .label = "operation", .order = 2),
		FIELDS_COUNTED(struct block_row, requests.),
		FIELD_SUM("bytes", struct block_row, bytes),
		BLOCK("buckets", FIELD_TIMES, times),
		FIELDS_END,
	},
	LIST_COUNTED(struct block_row, requests.),
	.bytes = offsetof(struct block_row, bytes),
	.needs = SCAN_RESOURCES,
	.most = BLOCKS_MOST,
	.others = &(const struct block_row){ .device = "" },
	.title = "[THREAD BLOCK I/O STATISTICS]",
	.columns = (const struct column[]){
		{ .title = "FOR", .width = -22, .cell = block_cell },
		COLUMN_OF_COUNT(struct block_row, requests.count),
		COLUMN_OF("BYTES", COLUMN_SUM, struct block_row, bytes),
		COLUMN_OF("TOTAL ns", COLUMN_SUM, struct block_row, requests.total),
		{ .title = "P50 ns", .width = 12, .cell = block_p50_cell },
		{ .title = "P99 ns", .width = 12, .cell = block_p99_cell },
		COLUMN_OF("MAX ns", COLUMN_MAX, struct block_row, requests.max),
		COLUMN_OF_BEGAN(struct block_row, requests.began),
		{ .title = NULL },
	},
	.condition = "block_requests",
	.metrics = {
		[ROW_COUNT] = METRIC("block_requests",
			"Requests to disks that threads made and that were completed inside a window: "
			"read, write, other."),
		[ROW_TOTAL] = METRIC("block_request_seconds", "Time that requests to disks took, from when a thread made them."),
		[ROW_MAX] = METRIC("block_request_max_seconds", LONGEST("request of the thread to the disk")),
		[ROW_BYTES] = METRIC("block_request_bytes", "Bytes that these requests to disks read or wrote."),
		[ROW_TIMES] = METRIC("block_request_duration_seconds", "Durations of requests to disks; with --histogram."),
	},
};
/* clang-format on */

/* --- Perf events, in the order given --- */

#define COUNTED(key, kind, member, ...) FIELD(key, kind, struct counter_row, member, __VA_ARGS__)
/* clang-format off */
const struct row_list counter_list = {
	.id = LIST_COUNTERS,
	.size = sizeof(struct counter_row),
	.fields = (const struct field[]){
		COUNTED("name", FIELD_NAME, name, KEY_REQUIRED, .label = "event"),
		COUNTED("cpu", FIELD_I32, cpu, KEY_REQUIRED, .label = "cpu"),
		COUNTED("value", FIELD_U64, value, .merge = MERGE_SUM, .flags = FIELD_REQUIRED),
		FIELD_SUM("enabled_ns", struct counter_row, enabled_ns),
		FIELD_SUM("running_ns", struct counter_row, running_ns),
		COUNTED("scaled", FIELD_BOOL, scaled, .merge = MERGE_ANY, .flags = FIELD_IF_ANY),
		FIELDS_END,
	},
	.count = offsetof(struct counter_row, value),
	.needs = SCAN_COUNTERS,
	.condition = "counters",
	.metrics = {
		[ROW_COUNT] = METRIC("perf_events",
			"Perf events that were counted while threads ran; cpu only with per-cpu of "
			"--counters; with --counters."),
	},
};
/* clang-format on */

/* --- Sleeps --- */

/* Waits that have ended. */
static uint64_t waits_ended(const struct descriptor_row *row)
{
	return row->waits.count - u64_min(row->in_progress, row->waits.count);
}

/* Keeps the waker of the longer of both longest waits; nobody has ended those that go on. */
static void descriptor_meet(void *into_, const void *from_)
{
	struct descriptor_row *into = into_;
	const struct descriptor_row *from = from_;

	if (into->ended_by != from->ended_by)
		into->others = u64_add(into->others, u64_min(waits_ended(into), waits_ended(from)));
	if (waits_ended(from) && (!waits_ended(into) || from->waits.max > into->waits.max)) {
		into->ended_by = from->ended_by;
		into->ended_pid = from->ended_pid;
		memcpy(into->ended_name, from->ended_name, sizeof(into->ended_name));
	}
	into->in_progress = u64_add(into->in_progress, from->in_progress);
}

bool descriptor_row_is_others(const struct descriptor_row *row)
{
	return row->is.fd < 0 && !row->shorter && !*row->wchan && row->call == KD_CALL_NONE;
}

bool descriptor_row_of_several(const struct descriptor_row *row)
{
	return row->others > row->waits.count / 10;
}

static void awaited_cell(struct columns *columns, const void *row)
{
	const struct descriptor_row *descriptor = row;

	columns_add(columns, descriptor->shorter ? "short"
			     : descriptor_row_is_others(descriptor)
				     ? "others"
				     : awaited_keys[descriptor->awaited]);
}

static void wchan_cell(struct columns *columns, const void *row)
{
	cell_wchan(columns, ((const struct descriptor_row *)row)->wchan);
}

static void fd_cell(struct columns *columns, const void *row)
{
	const struct descriptor_row *descriptor = row;

	if (descriptor->is.fd < 0)
		columns_right(columns, "-", 7);
	else
		columns_count(columns, (uint64_t)descriptor->is.fd, 7);
}

static void ended_by_cell(struct columns *columns, const void *row)
{
	const struct descriptor_row *descriptor = row;

	cell_tid(columns, descriptor->ended_by, descriptor->ended_name, 10);
}

/* "; fd 3, asked 127.0.0.1:5432: no answer for 1,900,000,000 ns" */
static void unanswered_cell(struct columns *columns, const struct descriptor_row *row)
{
	columns_add(columns, "; fd ");
	columns_count(columns, (uint64_t)row->asked_fd, 0);
	if (*row->asked) {
		columns_add(columns, ", asked ");
		columns_foreign(columns, row->asked, sizeof(row->asked), sizeof(row->asked));
	}
	columns_add(columns, ": no answer for ");
	columns_ns(columns, row->unanswered, 0);
	columns_add(columns, " ns");
}

static void descriptor_cell(struct columns *columns, const void *row)
{
	const struct descriptor_row *descriptor = row;
	const struct kd_count *requests = &descriptor->requests;

	if (*descriptor->user_function) {
		columns_foreign(columns, descriptor->user_function, USER_FUNCTION_LEN,
				USER_FUNCTION_LEN);
		columns_add(columns, descriptor->is.fd < 0 ? "()" : "(), ");
	}
	if (descriptor->shorter)
		cell_shorter(columns, descriptor->shorter);
	else if (*descriptor->child)
		columns_foreign(columns, descriptor->child, KD_COMM_LEN, KD_COMM_LEN);
	else if (descriptor->is.fd >= 0 || !*descriptor->user_function)
		descriptor_write(columns, &descriptor->is);
	if (descriptor->unanswered)
		unanswered_cell(columns, descriptor);
	if (descriptor->kept_back)
		columns_add(columns, descriptor->kept_back == KEPT_OWN
					     ? "; data is kept back (Nagle)"
					     : "; the other end keeps data back (Nagle)");
	if (!requests->count)
		return;
	columns_add(columns, "; requests: ");
	columns_ns(columns, requests->count, 0);
	columns_add(columns, " in ");
	columns_ns(columns, requests->total, 0);
	columns_add(columns, " ns, longest ");
	columns_ns(columns, requests->max, 0);
	columns_add(columns, " ns");
}

static const char *const kept_keys[KEPT_KINDS] = {
	[KEPT_NOT] = "none",
	[KEPT_OWN] = "own",
	[KEPT_OTHER] = "other",
};

#define DESCRIPTOR(key, kind, member, ...)                                                         \
	FIELD(key, kind, struct descriptor_row, member, __VA_ARGS__)
/* clang-format off */
const struct row_list descriptor_list = {
	.id = LIST_DESCRIPTORS,
	.size = sizeof(struct descriptor_row),
	.fields = (const struct field[]){
		DESCRIPTOR("for", FIELD_WORD, awaited, KEY_REQUIRED, .of = KD_AWAITED_KINDS, .words = awaited_keys, .order = 2),
		DESCRIPTOR("wchan", FIELD_NAME, wchan, KEY_IF_ANY),
		DESCRIPTOR("call", FIELD_SLEPT_IN, call, .flags = FIELD_KEY),
		DESCRIPTOR("user_function", FIELD_NAME, user_function, KEY_IF_ANY),
		DESCRIPTOR("fd", FIELD_I32, is.fd, KEY_REQUIRED, .order = 1),
		DESCRIPTOR("inode", FIELD_U64, is.inode, KEY_IF_ANY, .order = 3),
		DESCRIPTOR("child", FIELD_NAME, child, KEY_IF_ANY),
		DESCRIPTOR("shorter_than_ns", FIELD_U64, shorter, KEY_IF_ANY),
		DESCRIPTOR("path", FIELD_NAME, is.path, .flags = FIELD_IF_ANY),
		DESCRIPTOR("device", FIELD_NAME, is.device, .flags = FIELD_IF_ANY),
		DESCRIPTOR("device_number", FIELD_NAME, is.device_number, .flags = FIELD_IF_ANY),
		DESCRIPTOR("protocol", FIELD_NAME, is.protocol, .flags = FIELD_IF_ANY),
		DESCRIPTOR("local", FIELD_NAME, is.local, .flags = FIELD_IF_ANY),
		DESCRIPTOR("peer", FIELD_NAME, is.peer, .flags = FIELD_IF_ANY),
		DESCRIPTOR("other_net", FIELD_U32, is.other_net, .flags = FIELD_IF_ANY),
		FIELDS_COUNTED(struct descriptor_row, waits.),
		DESCRIPTOR("ended_by_tid", FIELD_I32, ended_by, .flags = FIELD_IF_ANY),
		DESCRIPTOR("ended_by_pid", FIELD_I32, ended_pid, .flags = FIELD_IF_ANY),
		DESCRIPTOR("ended_by_name", FIELD_NAME, ended_name, .flags = FIELD_IF_ANY),
		FIELD_SUM("ended_by_others", struct descriptor_row, others),
		DESCRIPTOR("awaited_pid", FIELD_I32, awaited_pid, .flags = FIELD_IF_ANY),
		DESCRIPTOR("awaited_name", FIELD_NAME, awaited_name, .flags = FIELD_IF_ANY),
		DESCRIPTOR("awaited_state", FIELD_NAME, awaited_state, .flags = FIELD_IF_ANY),
		DESCRIPTOR("unanswered_ns", FIELD_U64, unanswered, .flags = FIELD_IF_ANY),
		DESCRIPTOR("asked_fd", FIELD_I32, asked_fd, .flags = FIELD_IF_ANY),
		DESCRIPTOR("asked", FIELD_NAME, asked, .flags = FIELD_IF_ANY),
		DESCRIPTOR("for_child", FIELD_BOOL, for_child, .flags = FIELD_IF_ANY),
		DESCRIPTOR("accepted", FIELD_BOOL, accepted, .flags = FIELD_IF_ANY),
		DESCRIPTOR("by_turns", FIELD_BOOL, by_turns, .flags = FIELD_IF_ANY),
		DESCRIPTOR("kept_back", FIELD_WORD, kept_back, .flags = FIELD_IF_ANY, .of = KEPT_KINDS, .words = kept_keys),
		FIELD_SUM("requests", struct descriptor_row, requests.count),
		FIELD_SUM("request_total_ns", struct descriptor_row, requests.total),
		FIELD_FIGURE("request_max_ns", MERGE_MAX, struct descriptor_row, requests.max),
		FIELD_BEGAN("request_max_at", struct descriptor_row, requests.max, requests.began),
		FIELD_FIGURE("request_queued_ns", MERGE_SUM, struct descriptor_row, queued, .flags = FIELD_IF_ANY),
		FIELDS_END,
	},
	LIST_COUNTED(struct descriptor_row, waits.),
	.most = DESCRIPTOR_ROWS,
	.others = &(const struct descriptor_row){ .awaited = KD_AWAITED_OTHER, .call = KD_CALL_NONE, .is = { .fd = -1 } },
	.meet = descriptor_meet,
	.title = "[THREAD SLEEP STATISTICS]",
	.columns = (const struct column[]){
		{ .title = "FOR", .width = -11, .cell = awaited_cell },
		{ .title = "FD", .width = 7, .cell = fd_cell },
		COLUMNS_COUNTED(struct descriptor_row, waits.),
		{ .title = "ENDED BY", .width = -29, .cell = ended_by_cell },
		{ .title = "WCHAN", .width = -CELL_WCHAN, .cell = wchan_cell },
		{ .title = "WHAT", .cell = descriptor_cell },
		{ .title = NULL },
	},
	.of_life = true,
};
/* clang-format on */

/* --- Interrupts that arrived while it ran --- */

static const char *irq_mark(const void *row)
{
	return ((const struct irq_row *)row)->unhandled ? " [unhandled]" : "";
}

/* The mark takes space from the name. */
static void irq_cell(struct columns *columns, const void *row)
{
	const struct irq_row *irq = row;
	const char *mark = irq_mark(row);

	columns_foreign(columns, irq->name, sizeof(irq->name), 20 - strlen(mark));
	columns_add(columns, mark);
}

static void vector_cell(struct columns *columns, const void *row)
{
	columns_count(columns, ((const struct irq_row *)row)->vector, 7);
}

#define IRQ(key, kind, member, ...) FIELD(key, kind, struct irq_row, member, __VA_ARGS__)
/* clang-format off */
const struct row_list hardirq_list = {
	.id = LIST_HARDIRQS,
	.size = sizeof(struct irq_row),
	.fields = (const struct field[]){
		IRQ("name", FIELD_NAME, name, .flags = FIELD_KEY, .label = "action", .order = 1),
		IRQ("unhandled", FIELD_BOOL, unhandled, .flags = FIELD_KEY, .order = 2),
		FIELDS_COUNTED(struct irq_row, ),
		FIELDS_END,
	},
	LIST_COUNTED(struct irq_row, ),
	.title = "[HARD IRQ STATISTICS]",
	.columns = (const struct column[]){
		{ .title = "NAME", .width = -22, .cell = irq_cell },
		COLUMNS_COUNTED(struct irq_row, ),
		{ .title = NULL },
	},
	.sums = true,
	.state = LEDGER_HARDIRQ,
	.metrics = {
		[ROW_COUNT] = METRIC("hardirqs",
			"Hard interrupts that came while a thread ran; [unhandled] if that action did not"
			" handle it."),
		[ROW_TOTAL] = METRIC("hardirq_seconds", "Time that hard interrupts took from a thread that ran."),
		[ROW_MAX] = METRIC("hardirq_max_seconds", LONGEST("hard interrupt")),
	},
	.unnamed = "[unknown]",
	.mark = irq_mark,
};
/* clang-format on */

/* clang-format off */
const struct row_list softirq_list = {
	.id = LIST_SOFTIRQS,
	.size = sizeof(struct irq_row),
	.fields = (const struct field[]){
		IRQ("name", FIELD_NAME, name, .flags = FIELD_KEY, .label = "vector", .order = 2),
		IRQ("vector", FIELD_U32, vector, .flags = FIELD_KEY, .order = 1),
		FIELDS_COUNTED(struct irq_row, ),
		FIELDS_END,
	},
	LIST_COUNTED(struct irq_row, ),
	.title = "[SOFT IRQ STATISTICS]",
	.columns = (const struct column[]){
		{ .title = "NAME", .width = -21, .cell = irq_cell },
		{ .title = "VECT_NR", .width = 7, .cell = vector_cell },
		COLUMNS_COUNTED(struct irq_row, ),
		{ .title = NULL },
	},
	.sums = true,
	.state = LEDGER_SOFTIRQ,
	.metrics = {
		[ROW_COUNT] = METRIC("softirqs", "Soft interrupts that came while a thread ran."),
		[ROW_TOTAL] = METRIC("softirq_seconds", "Time that soft interrupts took from a thread that ran."),
		[ROW_MAX] = METRIC("softirq_max_seconds", LONGEST("soft interrupt")),
	},
	.number = offsetof(struct irq_row, vector),
};
/* clang-format on */

/* --- Locks it waited for, and their holders --- */

/* Keeps the last waker and where the holder slept last. The row of others mixes locks and keeps
 * neither. */
static void lock_meet(void *into_, const void *from_)
{
	struct lock_row *into = into_;
	const struct lock_row *from = from_;

	if (!into->address)
		return;
	if (from->released_by) {
		into->released_by = from->released_by;
		memcpy(into->released_name, from->released_name, sizeof(into->released_name));
	}
	if (from->meanwhile.asleep)
		into->slept_in = from->slept_in;
}

static void address_cell(struct columns *columns, const void *row)
{
	const struct lock_row *lock = row;

	if (lock->shorter)
		cell_shorter(columns, lock->shorter);
	else if (lock->address)
		columns_hex(columns, lock->address);
	else
		columns_add(columns, "others");
}

static void kind_cell(struct columns *columns, const void *row)
{
	const struct lock_row *lock = row;

	columns_add(columns, lock->kind == KD_LOCK_OTHER ? "-" : lock_keys[lock->kind]);
}

static void holder_cell(struct columns *columns, const void *row)
{
	const struct lock_row *lock = row;

	cell_tid(columns, lock->holder, lock->holder_name, 10);
}

static void released_cell(struct columns *columns, const void *row)
{
	const struct lock_row *lock = row;

	cell_tid(columns, lock->released_by, lock->released_name, 0);
}

#define LOCK(key, kind, member, ...) FIELD(key, kind, struct lock_row, member, __VA_ARGS__)
/* clang-format off */
const struct row_list lock_list = {
	.id = LIST_LOCKS,
	.size = sizeof(struct lock_row),
	.fields = (const struct field[]){
		LOCK("address", FIELD_ADDRESS, address, .flags = FIELD_KEY, .order = 1),
		LOCK("kind", FIELD_LOCK, kind, .flags = FIELD_KEY),
		LOCK("shorter_than_ns", FIELD_U64, shorter, KEY_IF_ANY),
		LOCK("symbol", FIELD_OWN, symbol, .of = DATA_SYMBOL_LEN),
		LOCK("offset", FIELD_U64, offset, .flags = FIELD_IF_ANY),
		LOCK("object", FIELD_OWN, object, .of = DATA_OBJECT_LEN),
		LOCK("called_from", FIELD_OWN, called_from, .of = LOCK_CALLER_LEN),
		LOCK("holder_tid", FIELD_I32, holder, KEY_IF_ANY, .order = 2),
		LOCK("holder_pid", FIELD_I32, holder_pid, .flags = FIELD_IF_ANY),
		LOCK("holder_name", FIELD_NAME, holder_name, .flags = FIELD_IF_ANY),
		LOCK("holder_parent_pid", FIELD_I32, holder_parent, .flags = FIELD_IF_ANY),
		LOCK("holder_parent_name", FIELD_NAME, holder_parent_name, .flags = FIELD_IF_ANY),
		FIELDS_COUNTED(struct lock_row, waits.),
		FIELD_SUM("holder_running_ns", struct lock_row, meanwhile.running),
		FIELD_SUM("holder_ready_ns", struct lock_row, meanwhile.ready),
		FIELD_SUM("holder_asleep_ns", struct lock_row, meanwhile.asleep),
		LOCK("holder_slept_in", FIELD_SLEPT_IN, slept_in),
		FIELD_SUM("ended_by_others", struct lock_row, others),
		LOCK("released_by_tid", FIELD_I32, released_by, .flags = FIELD_IF_ANY),
		LOCK("released_by_name", FIELD_NAME, released_name, .flags = FIELD_IF_ANY),
		FIELDS_END,
	},
	LIST_COUNTED(struct lock_row, waits.),
	.most = LOCKS_MOST,
	.others = &(const struct lock_row){ .kind = KD_LOCK_OTHER, .slept_in = KD_CALL_NONE },
	.meet = lock_meet,
	.title = "[THREAD LOCK STATISTICS]",
	.columns = (const struct column[]){
		{ .title = "LOCK", .width = -19, .cell = address_cell },
		{ .title = "KIND", .width = -19, .cell = kind_cell },
		{ .title = "HELD BY", .width = -29, .cell = holder_cell },
		COLUMNS_COUNTED(struct lock_row, waits.),
		{ .title = "RELEASED BY", .cell = released_cell },
		{ .title = NULL },
	},
	.brief = 2, /* each takes two or three lines */
	.of_life = true,
};
/* clang-format on */
