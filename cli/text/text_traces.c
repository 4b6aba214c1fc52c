/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "text_traces.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/escape.h"
#include "cli/base/parse.h"
#include "cli/base/texts.h"
#include "cli/model/traces.h"
#include "cli/model/wchan.h"
#include "cli/model/words.h"
#include "text_parts.h"
#include "text_processes.h"

/* --- Stacks --- */

#define INDENT "          " /* as in kernel_delay.py */
#define FUNCTION_MOST 1000  /* bytes; names of C++ templates may be very long */
#define OBJECT_MOST 255
#define US 1000         /* ns */
#define WAITED_FRAMES 8 /* of a kernel stack, in which what a thread waits for is looked up */

/* Adds a name from one of the target's files: length bytes, most of them at most. */
static void bytes_add(struct columns *columns, const char *name, size_t length, size_t most)
{
	char escaped[ESCAPE_SIZE(FUNCTION_MOST)];

	escape_text(escaped, sizeof(escaped), name, length > most ? most : length);
	columns_add(columns, escaped);
	if (length > most)
		columns_add(columns, "...");
}

static void name_add(struct columns *columns, const char *name, size_t most)
{
	bytes_add(columns, name, strnlen(name, most + 1), most);
}

/* Strips the path; objects other than files have brackets already. */
static void object_add(struct columns *columns, const char *object)
{
	const char *name = path_last(object);
	size_t length = strlen(object);

	if (name != object)
		name_add(columns, name, OBJECT_MOST);
	else if (length > 2 && object[0] == '[' && object[length - 1] == ']')
		bytes_add(columns, object + 1, length - 2, OBJECT_MOST);
	else
		name_add(columns, object, OBJECT_MOST);
}

/* varies: at several offsets in its function, which are not shown. */
static void frame_line(struct columns *columns, const struct frame *frame, bool is_kernel,
		       bool varies)
{
	bool is_named = frame->function && *frame->function;

	columns_add(columns, INDENT);
	if (is_named) {
		name_add(columns, frame->function, FUNCTION_MOST);
		if (!varies)
			columns_add(columns, "+");
	} else if (!frame->object) {
		columns_add(columns, is_kernel ? "[no symbol] " : "[unknown] ");
	}
	if (!is_named || !varies)
		columns_hex(columns, frame->offset);
	if (frame->object || is_kernel) {
		columns_add(columns, " [");
		if (frame->object)
			object_add(columns, frame->object);
		else
			columns_add(columns, "kernel");
		/* Finds the function on a machine with its symbols. */
		if (!is_named && frame->build_id) {
			columns_add(columns, " build-id ");
			name_add(columns, frame->build_id, OBJECT_MOST);
		}
		columns_add(columns, "]");
	}
	columns_add(columns, "\n");
}

static void stack_lines(struct columns *columns, const struct stack *stack, bool is_kernel,
			const struct frame_set *varies)
{
	for (size_t i = 0; i < stack->n; i++)
		frame_line(columns, &stack->frames[i], is_kernel,
			   varies && frame_set_has(varies, i));
	if (stack->by_frame_pointers)
		columns_add(columns, INDENT
			    "(some frames were found by frame pointers: callers may be missing)\n");
	if (!stack->stop)
		return;
	columns_add(columns, INDENT "(the stack goes on: ");
	name_add(columns, stack->stop, OBJECT_MOST);
	columns_add(columns, ")\n");
}

static void no_user_stack(struct columns *columns, const struct trace_row *row, bool show_ip)
{
	columns_add(columns, INDENT "(no user stack");
	if (row->no_user) {
		columns_add(columns, ": ");
		name_add(columns, row->no_user, OBJECT_MOST);
	} else if (row->limited) {
		columns_add(columns, ": more than overhead of --stack-trace-size allows");
	}
	if (show_ip && row->user_ip) {
		columns_add(columns, "; the instruction was at ");
		columns_hex(columns, row->user_ip);
	}
	columns_add(columns, ")\n");
}

static void no_kernel_stack(struct columns *columns, const struct trace_row *row)
{
	columns_print(columns, INDENT "(no kernel stack%s%s)\n", row->no_kernel ? ": " : "",
		      row->no_kernel ? row->no_kernel : "");
}

/* Adds the descriptor. */
static void at_line(struct columns *columns, const char *at, bool others)
{
	char escaped[ESCAPE_SIZE(DESCRIPTOR_TEXT_LEN)];

	escape_text(escaped, sizeof(escaped), at, SIZE_MAX);
	columns_print(columns, INDENT "(at %s%s)\n", escaped, others ? ", and others" : "");
}

/* Adds the path of the call, or why there is none. */
static void path_line(struct columns *columns, const struct trace_row *row, bool others)
{
	if (row->path) {
		columns_add(columns, INDENT "(path ");
		name_add(columns, row->path, FUNCTION_MOST);
		columns_print(columns, "%s%s)\n", row->path_cut ? "..." : "",
			      others ? ", and others" : "");
	} else if (row->no_path) {
		columns_add(columns, INDENT "(the path could not be read)\n");
	}
}

/* Adds the lock of the wait, and its holder. */
static void lock_line(struct columns *columns, const struct blocker *blocker, bool others)
{
	columns_add(columns, INDENT "(lock ");
	columns_hex(columns, blocker->lock);
	if (blocker->kind != KD_LOCK_NO_OWNER)
		columns_print(columns, ", %s", lock_keys[blocker->kind]);
	if (blocker->holder) {
		columns_print(columns, ", held by %u ", (unsigned int)blocker->holder);
		if (!columns_foreign(columns, blocker->holder_name, KD_COMM_LEN, SIZE_MAX))
			columns_add(columns, "[unknown]");
	}
	if (blocker->holder_pid)
		columns_print(columns, " of process %u", (unsigned int)blocker->holder_pid);
	columns_add(columns, others ? ", and others)\n" : ")\n");
}

/* Adds the duration of the disk request that ended the wait. */
static void disk_line(struct columns *columns, const struct blocker *blocker, bool others)
{
	columns_add(columns, INDENT "(disk ");
	if (!columns_foreign(columns, blocker->disk, sizeof(blocker->disk), SIZE_MAX))
		columns_add(columns, "[unknown]");
	columns_print(columns, ", its request took %s us%s)\n", GROUPED(blocker->request / US),
		      others ? ", and others" : "");
}

/* Adds the processes of a row or sum. */
static void processes_line(struct columns *columns, const struct sample *sample,
			   const struct trace_row *row, const struct trace_sum *sum)
{
	columns_add(columns, INDENT "(of ");
	if (sum && sum->processes > 1) {
		columns_print(columns, "%s processes: ", GROUPED(sum->processes));
		for (size_t i = 0; i < sum->processes && i < TRACE_PIDS; i++) {
			columns_add(columns, i ? ", " : "");
			columns_count(columns, (uint64_t)sum->pids[i], 0);
		}
		columns_add(columns, sum->processes > TRACE_PIDS ? ", ..." : "");
		columns_add(columns, "; the longest is of ");
	}
	text_process(columns, sample, row->pid, row->end ?: UINT64_MAX);
	columns_add(columns, ")\n");
}

/* "12 name", "12 name (network)", or "timer". */
static void waker_add(struct columns *columns, const struct waker *waker)
{
	if (waker->tid)
		columns_print(columns, "%d ", (int)waker->tid);
	if (waker->name[0])
		columns_foreign(columns, waker->name, KD_COMM_LEN, SIZE_MAX);
	else
		columns_add(columns, waker->tid ? "[unknown]" : "-");
	if (waker->tid && waker->from > KD_FROM_TASK)
		columns_print(columns, " (%s)", from_keys[waker->from]);
}

static void behind_add(struct columns *columns, const struct behind *behind)
{
	columns_print(columns, " behind %d ", (int)behind->tid);
	columns_foreign(columns, behind->name, KD_COMM_LEN, SIZE_MAX);
	if (behind->others)
		columns_print(columns, " and %u other%s", behind->others,
			      behind->others == 1 ? "" : "s");
}

/* The kernel function in which a call waited longest; NULL: unknown. */
static const char *waited_in(const struct trace_row *row)
{
	const char *names[WAITED_FRAMES];
	size_t n = 0, at;

	for (; row->waited && row->kernel && n < row->kernel->n && n < WAITED_FRAMES; n++)
		names[n] = row->kernel->frames[n].function;
	wchan_find(names, n, &at);
	return at < n ? names[at] : NULL;
}

/* Adds what a call's time was: "(11,996 us asleep in jbd2_log_wait_commit until 312 jbd2/vda1-8
 * woke it, 210 us ready, 175 us running)". */
static void times_line(struct columns *columns, const struct trace_row *row, uint64_t duration)
{
	const uint64_t asleep = u64_sub(duration, u64_add(row->ran, row->ready));
	const char *function = waited_in(row);

	columns_add(columns, INDENT "(");
	if (asleep >= US) {
		columns_print(columns, "%s us asleep", GROUPED(asleep / US));
		if (function && row->waited > asleep / 2) {
			columns_add(columns, " in ");
			name_add(columns, function, FUNCTION_MOST);
		}
		if (row->wakers[0].tid && row->waited > asleep / 2) {
			columns_add(columns, " until ");
			waker_add(columns, &row->wakers[0]);
			columns_add(columns, " woke it");
		}
		columns_add(columns, ", ");
	}
	if (row->ready >= US) {
		columns_print(columns, "%s us ready", GROUPED(row->ready / US));
		if (row->behind.ns > row->ready / 2)
			behind_add(columns, &row->behind);
		columns_add(columns, ", ");
	}
	columns_print(columns, "%s us running)\n", GROUPED(row->ran / US));
}

/* Writes a row's kernel stack, then its user stack, innermost frames first. A missing stack that
 * was asked for is replaced by the reason. The row stands alone, or for a sum. */
static void text_stacks(struct columns *columns, const struct sample *sample,
			const struct trace_row *row, const struct trace_sum *sum)
{
	const struct trace_list *list = &sample->traces;
	bool in_user = row->kind == TRACE_SAMPLE && row->state == KD_USER;

	if (text_is_multiprocess(sample) && row->pid)
		processes_line(columns, sample, row, sum);
	if (row->kind == TRACE_CALL && row->timed)
		times_line(columns, row, trace_duration(list, row, sample->end));
	if (row->at)
		at_line(columns, row->at, sum && !sum->same_at);
	path_line(columns, row, sum && !sum->same_path);
	if (row->blocker.lock)
		lock_line(columns, &row->blocker, sum && !sum->same_lock);
	if (row->blocker.request)
		disk_line(columns, &row->blocker, sum && !sum->same_disk);
	if (row->kernel)
		stack_lines(columns, row->kernel, true, sum ? &sum->kernel_varies : NULL);
	else if (list->kernel_stacks_wanted && !in_user)
		no_kernel_stack(columns, row);
	if (row->user)
		stack_lines(columns, row->user, false, sum ? &sum->user_varies : NULL);
	else if (list->user_stacks_wanted)
		no_user_stack(columns, row, !sum || sum->same_ip);
}

/* --- Lists of what has stacks --- */

/* Results of interrupted system calls, which the kernel never returns to user space
 * (include/linux/errno.h). */
static const struct {
	int error;
	const char *name;
} restarts[] = {
	{ 512, "ERESTARTSYS" },
	{ 513, "ERESTARTNOINTR" },
	{ 514, "ERESTARTNOHAND" },
	{ 516, "ERESTART_RESTARTBLOCK" },
};

static const char *error_name(int error)
{
	for (size_t i = 0; i < sizeof(restarts) / sizeof(*restarts); i++)
		if (restarts[i].error == error)
			return restarts[i].name;
	return strerrorname_np(error);
}

/* Adds a number, the name of an error, or what must be an address. */
static void result_add(struct columns *columns, int64_t result)
{
	const char *error = result < 0 && result >= -4095 ? error_name((int)-result) : NULL;

	if (error) {
		columns_add(columns, error);
	} else if (result < -4095 || result > UINT32_MAX) {
		columns_hex(columns, (uint64_t)result);
	} else {
		columns_add(columns, result < 0 ? "-" : "");
		columns_count(columns, (uint64_t)(result < 0 ? -result : result), 0);
	}
}

static const char *row_call_name(const struct sample *sample, int32_t call,
				 char buffer[static TEXT_CALL])
{
	if (call >= 0)
		return text_call(sample, (uint32_t)call, buffer);
	return call == KD_CALL_NONE ? "-" : "[unknown]";
}

/* Adds the call in a column of 16, or more if it is longer. */
static void call_column(struct columns *columns, const struct sample *sample, int32_t call)
{
	char buffer[TEXT_CALL];

	columns_left(columns, row_call_name(sample, call, buffer), 16);
}

static void who_columns(struct columns *columns, const struct sample *sample,
			const struct trace_row *row)
{
	columns_count(columns, (uint64_t)row->tid, 10);
	columns_add(columns, " ");
	text_thread_name(columns, sample, row->name, row->tid);
	columns_add(columns, " ");
}

static void call_row_show(struct columns *columns, const struct sample *sample,
			  const struct trace_row *row)
{
	if (row->earlier)
		columns_right(columns, "earlier", 2 + 19);
	else
		columns_gap_count(columns, row->start, 19);
	columns_add(columns, " ");
	if (row->end)
		columns_count(columns, row->end, 19);
	else
		columns_right(columns, "unfinished", 19);
	columns_add(columns, " ");
	who_columns(columns, sample, row);
	columns_count(columns, trace_duration(&sample->traces, row, sample->end) / US, 10);
	columns_add(columns, "  ");
	call_column(columns, sample, row->call);
	columns_gap_count(columns, row->cpu, 4);
	if (row->waited)
		columns_gap_count(columns, row->waited / US, 11);
	else
		columns_right(columns, "-", 2 + 11);
	columns_add(columns, "  ");
	if (row->end)
		result_add(columns, row->result);
	else
		columns_add(columns, "-");
	columns_add(columns, "\n");
}

/* "12 waits, 500,123 us." */
static void count_print(struct columns *columns, const char *before, enum trace_kind kind,
			uint64_t count, uint64_t ns)
{
	static const char *const words[TRACE_KINDS] = {
		[TRACE_CALL] = "system call",
		[TRACE_WAIT] = "wait",
		[TRACE_SAMPLE] = "sample",
	};

	columns_print(columns, "%s%s %s%s", before, GROUPED(count), words[kind],
		      count == 1 ? "" : "s");
	if (kind != TRACE_SAMPLE)
		columns_print(columns, ", %s us", GROUPED(ns / US));
	columns_add(columns, ".\n");
}

/* Adds what --threads leaves out. */
static void other_threads(struct columns *columns, const struct sample *sample,
			  enum trace_kind kind, const char *names)
{
	const struct trace_list *list = &sample->traces;
	uint64_t count = 0, ns = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct trace_row *row = &list->rows[i];

		if (row->kind != kind || trace_is_of(row, names))
			continue;
		count++;
		ns = u64_add(ns, trace_duration(list, row, sample->end));
	}
	if (count)
		count_print(columns, "  Left out by --threads: ", kind, count, ns);
}

/* Adds the waits that filters leave out. */
static void other_waits(struct columns *columns, const struct trace_list *list)
{
	if (!list->left_out)
		return;
	columns_add(columns, "  Left out by --wait-filter='");
	columns_foreign(columns, list->wait_filter ? list->wait_filter : "", SIZE_MAX, SIZE_MAX);
	count_print(columns,
		    list->wait_calls_chosen ? "' and --syscall-filter: " : "': ", TRACE_WAIT,
		    list->left_out, list->left_out_ns);
}

static void calls(struct columns *columns, const struct sample *sample, const char *names)
{
	const struct trace_list *list = &sample->traces;

	columns_add(columns,
		    "\n# SYSCALL EVENTS:\n"
		    "           ENTRY (ns)           EXIT (ns)        TID COMM             "
		    "DELTA (us)  SYSCALL            CPU  WAITED (us)  RESULT\n"
		    "  ------------------- ------------------- ---------- ---------------- "
		    "----------  ----------------  ----  -----------  ----------------\n");
	for (size_t i = 0; i < list->n; i++) {
		if (list->rows[i].kind != TRACE_CALL || !trace_is_of(&list->rows[i], names))
			continue;
		call_row_show(columns, sample, &list->rows[i]);
		text_stacks(columns, sample, &list->rows[i], NULL);
	}
	other_threads(columns, sample, TRACE_CALL, names);
}

/* Adds the wakers of the longest wait in a sum, up to one beyond those that all share. */
static void ended_by(struct columns *columns, const struct trace_sum *sum)
{
	size_t n = trace_wakers(sum->longest), shown = n;

	if (sum->other_wakers && shown > sum->same_wakers + 1)
		shown = sum->same_wakers + 1;
	if (!n)
		columns_add(columns, "-");
	for (size_t i = 0; i < shown; i++) {
		columns_add(columns, i ? " < " : "");
		waker_add(columns, &sum->longest->wakers[i]);
	}
	if (sum->other_wakers)
		columns_add(columns, n && n == sum->same_wakers ? " < others" : ", others");
	columns_add(columns, "\n");
}

static void wait_sum(struct columns *columns, const struct sample *sample,
		     const struct trace_sum *sum)
{
	const struct trace_row *row = sum->longest;
	const struct ledger_words *state = ledger_words_of(row->state);
	const char *kind = wait_has_kind(row->state) ? awaited_keys[row->awaited] : "-";

	columns_print(columns, "  %8" PRIu64 " %15s %15s %7" PRIu64 " ", sum->count,
		      GROUPED(sum->total / US), GROUPED(sum->max / US), sum->threads);
	who_columns(columns, sample, row);
	columns_print(columns, "%-23s %-11s ", state ? state->title : "[unknown]", kind);
	call_column(columns, sample, row->call);
	columns_add(columns, " ");
	ended_by(columns, sum);
}

static void sample_sum(struct columns *columns, const struct sample *sample,
		       const struct trace_sum *sum)
{
	char buffer[TEXT_CALL];

	columns_print(columns, "  %8" PRIu64 " %7s ", sum->count,
		      AS_PERCENT(sum->count, sum->of_thread));
	who_columns(columns, sample, sum->longest);
	columns_print(columns, "%-6s %s\n", sum->longest->state == KD_USER ? "user" : "kernel",
		      row_call_name(sample, sum->longest->call, buffer));
}

/* Sums up the rows of a kind. */
static void sum_print(struct columns *columns, const char *before, const struct trace_sum *sums,
		      size_t n, enum trace_kind kind)
{
	uint64_t count = 0, total = 0;

	for (size_t i = 0; i < n; i++) {
		count += sums[i].count;
		total = u64_add(total, sums[i].total);
	}
	count_print(columns, before, kind, count, total);
}

#define MOST_SUMS 50 /* listed; the last line covers all */

/* Lists the sums of a kind with their stacks. */
static void sums_list(struct columns *columns, const struct sample *sample, enum trace_kind kind,
		      struct traces_merging merging)
{
	bool waits = kind == TRACE_WAIT;
	struct trace_sum *sums;
	size_t n;
	int err = traces_merge(&sample->traces, kind, sample->end, merging, &sums, &n);

	if (err && !columns->err)
		columns->err = err;
	for (size_t i = 0; i < n && i < MOST_SUMS; i++) {
		if (waits)
			wait_sum(columns, sample, &sums[i]);
		else
			sample_sum(columns, sample, &sums[i]);
		text_stacks(columns, sample, sums[i].longest, &sums[i]);
	}
	if (n > MOST_SUMS) {
		columns_print(columns, "  and %s others", GROUPED(n - MOST_SUMS));
		sum_print(columns, ": ", sums + MOST_SUMS, n - MOST_SUMS, kind);
	}
	sum_print(columns, "  All: ", sums, n, kind);
	other_threads(columns, sample, kind, merging.names);
	free(sums);
}

static void waits(struct columns *columns, const struct sample *sample,
		  const struct report_options *options)
{
	const struct traces_merging merging = {
		.threads = options->waits_per_thread ? MERGE_IN_THREAD : MERGE_IN_ALL,
		.names = options->threads,
		.lines = options->lines,
	};

	columns_add(
		columns,
		"\n# OFF-CPU WAITS:\n"
		"     COUNT      TOTAL (us)        MAX (us) THREADS        TID COMM             "
		"STATE                   FOR         SYSCALL          ENDED BY\n"
		"  -------- --------------- --------------- ------- ---------- ---------------- "
		"----------------------- ----------- ---------------- ----------------\n");
	sums_list(columns, sample, TRACE_WAIT, merging);
	other_waits(columns, &sample->traces);
}

static void samples(struct columns *columns, const struct sample *sample,
		    const struct report_options *options)
{
	const struct traces_merging merging = { .threads = MERGE_IN_THREAD,
						.names = options->threads,
						.lines = options->lines };

	columns_print(columns,
		      "\n# ON-CPU SAMPLES (%u Hz):\n"
		      "     COUNT       %%        TID COMM             MODE   SYSCALL\n"
		      "  -------- ------- ---------- ---------------- ------ ----------------\n",
		      sample->traces.profile_hz);
	sums_list(columns, sample, TRACE_SAMPLE, merging);
}

void text_traces(struct columns *columns, const struct sample *sample,
		 const struct report_options *options)
{
	if (sample->traces.calls_wanted)
		calls(columns, sample, options->threads);
	if (sample->traces.waits_wanted)
		waits(columns, sample, options);
	if (sample->traces.profile_hz)
		samples(columns, sample, options);
}
