/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "text_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/parse.h"
#include "cli/model/traces.h"
#include "cli/model/words.h"
#include "text_words.h"

#define US 1000 /* ns */

/* Results of calls that a signal interrupted; the kernel keeps them to itself
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

/* A number, the name of an error, or what can only be an address. */
static void result_add(struct columns *columns, int64_t result)
{
	const char *error = result < 0 && result >= -4095 ? error_name((int)-result) : NULL;

	if (error) {
		columns_add(columns, error);
	} else if (result < -4095 || result > UINT32_MAX) {
		columns_hex(columns, (uint64_t)result);
	} else {
		if (result < 0)
			columns_add(columns, "-");
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

/* The call in a column of 16, whole even if it is longer. */
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
	columns_add(columns, "  ");
	if (row->earlier)
		columns_right(columns, "earlier", 19);
	else
		columns_count(columns, row->start, 19);
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
	columns_add(columns, "  ");
	if (row->waited)
		columns_count(columns, row->waited / US, 11);
	else
		columns_right(columns, "-", 11);
	columns_add(columns, "  ");
	if (row->end)
		result_add(columns, row->result);
	else
		columns_add(columns, "-");
	columns_add(columns, "\n");
}

/* "12 waits, 500,123 us": a sum over many. */
static void count_print(struct columns *columns, enum trace_kind kind, uint64_t count, uint64_t ns)
{
	static const char *const words[TRACE_KINDS] = {
		[TRACE_CALL] = "system call",
		[TRACE_WAIT] = "wait",
		[TRACE_SAMPLE] = "sample",
	};

	columns_print(columns, "%s %s%s", GROUPED(count), words[kind], count == 1 ? "" : "s");
	if (kind != TRACE_SAMPLE)
		columns_print(columns, ", %s us", GROUPED(ns / US));
}

/* What --threads leaves out of a list. */
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
	if (!count)
		return;
	columns_add(columns, "  Left out by --threads: ");
	count_print(columns, kind, count, ns);
	columns_add(columns, ".\n");
}

/* The waits that filters left out. */
static void other_waits(struct columns *columns, const struct trace_list *list)
{
	if (!list->left_out)
		return;
	columns_add(columns, "  Left out by --wait-filter='");
	columns_foreign(columns, list->wait_filter ? list->wait_filter : "", SIZE_MAX, SIZE_MAX);
	columns_add(columns, list->wait_calls_chosen ? "' and --syscall-filter: " : "': ");
	count_print(columns, TRACE_WAIT, list->left_out, list->left_out_ns);
	columns_add(columns, ".\n");
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

/* "12 name", "12 name (network)", or "timer". */
static void waker_add(struct columns *columns, const struct waker *waker)
{
	if (waker->tid) {
		columns_count(columns, (uint64_t)waker->tid, 0);
		columns_add(columns, " ");
	}
	if (waker->name[0])
		columns_foreign(columns, waker->name, KD_COMM_LEN, SIZE_MAX);
	else
		columns_add(columns, waker->tid ? "[unknown]" : "-");
	if (waker->tid && waker->from > KD_FROM_TASK)
		columns_print(columns, " (%s)", from_keys[waker->from]);
}

/* Who ended the longest wait of a sum, as far as all of them ended so and a step beyond. */
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
	const char *kind = wait_has_kind(row->state) ? awaited_words[row->awaited].key : "-";

	columns_gap_count(columns, sum->count, 8);
	columns_add(columns, " ");
	columns_ns(columns, sum->total / US, 15);
	columns_add(columns, " ");
	columns_ns(columns, sum->max / US, 15);
	columns_add(columns, " ");
	columns_count(columns, sum->threads, 7);
	columns_add(columns, " ");
	who_columns(columns, sample, sum->longest);
	columns_left(columns, state ? state->title : "[unknown]", 23);
	columns_add(columns, " ");
	columns_left(columns, kind, 11);
	columns_add(columns, " ");
	call_column(columns, sample, sum->longest->call);
	columns_add(columns, " ");
	ended_by(columns, sum);
}

static void sample_sum(struct columns *columns, const struct sample *sample,
		       const struct trace_sum *sum)
{
	char percent[NUMBER_LEN], buffer[TEXT_CALL];

	number_percent(percent, sum->count, sum->of_thread);
	columns_gap_count(columns, sum->count, 8);
	columns_add(columns, " ");
	columns_right(columns, percent, 7);
	columns_add(columns, " ");
	who_columns(columns, sample, sum->longest);
	columns_left(columns, sum->longest->state == KD_USER ? "user" : "kernel", 6);
	columns_add(columns, " ");
	columns_add(columns, row_call_name(sample, sum->longest->call, buffer));
	columns_add(columns, "\n");
}

/* What rows of a kind are together. */
static void sum_print(struct columns *columns, const struct trace_sum *sums, size_t n,
		      enum trace_kind kind)
{
	uint64_t count = 0, total = 0;

	for (size_t i = 0; i < n; i++) {
		count += sums[i].count;
		total = u64_add(total, sums[i].total);
	}
	count_print(columns, kind, count, total);
	columns_add(columns, ".\n");
}

/* The sums of a kind, each with its stacks. */
static void sums_list(struct columns *columns, const struct sample *sample, enum trace_kind kind,
		      struct traces_merging merging)
{
	bool waits = kind == TRACE_WAIT;
	struct trace_sum *sums;
	size_t n;
	int err = traces_merge(&sample->traces, kind, sample->end, merging, &sums, &n);

	if (err && !columns->err)
		columns->err = err;
	for (size_t i = 0; i < n && i < TEXT_TRACES_MOST; i++) {
		if (waits)
			wait_sum(columns, sample, &sums[i]);
		else
			sample_sum(columns, sample, &sums[i]);
		text_stacks(columns, sample, sums[i].longest, &sums[i]);
	}
	if (n > TEXT_TRACES_MOST) {
		columns_print(columns, "  and %s others: ", GROUPED(n - TEXT_TRACES_MOST));
		sum_print(columns, sums + TEXT_TRACES_MOST, n - TEXT_TRACES_MOST, kind);
	}
	columns_add(columns, "  All: ");
	sum_print(columns, sums, n, kind);
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
	if (sample->traces.calls_asked)
		calls(columns, sample, options->threads);
	if (sample->traces.waits_asked)
		waits(columns, sample, options);
	if (sample->traces.profile_hz)
		samples(columns, sample, options);
}
