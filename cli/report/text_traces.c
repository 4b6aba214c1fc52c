/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "text_traces.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "text_stack.h"
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

static const char *call_name(const struct sample *sample, int32_t call, char buffer[static 32])
{
	if (call >= 0)
		return text_call(sample, (uint32_t)call, buffer);
	return call == KD_CALL_NONE ? "-" : "[unknown]";
}

/* The call in a column of 16, whole even if it is longer. */
static void call_column(struct columns *columns, const struct sample *sample, int32_t call)
{
	char buffer[32];

	columns_left(columns, call_name(sample, call, buffer), 16);
}

static void who_columns(struct columns *columns, const struct sample *sample,
			const struct trace_row *row)
{
	columns_count(columns, (uint64_t)row->tid, 10);
	columns_add(columns, " ");
	text_thread_name(columns, sample, row->name, row->tid);
	columns_add(columns, " ");
}

static void call_row(struct columns *columns, const struct sample *sample,
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

static void calls(struct columns *columns, const struct sample *sample)
{
	const struct trace_list *list = &sample->traces;

	columns_add(columns,
		    "\n# SYSCALL EVENTS:\n"
		    "           ENTRY (ns)           EXIT (ns)        TID COMM             "
		    "DELTA (us)  SYSCALL            CPU  WAITED (us)  RESULT\n"
		    "  ------------------- ------------------- ---------- ---------------- "
		    "----------  ----------------  ----  -----------  ----------------\n");
	for (size_t i = 0; i < list->n; i++) {
		if (list->rows[i].kind != TRACE_CALL)
			continue;
		call_row(columns, sample, &list->rows[i]);
		text_stacks(columns, list, &list->rows[i], true);
	}
}

static const char *wait_state(uint32_t state)
{
	switch (state) {
	case KD_BLOCKED:
		return text_state(LEDGER_BLOCKED);
	case KD_BLOCKED_UNINT:
		return text_state(LEDGER_BLOCKED_UNINT);
	case KD_STOPPED:
		return text_state(LEDGER_STOPPED);
	case KD_READY_WOKEN:
		return text_state(LEDGER_READY_WOKEN);
	case KD_READY_PREEMPTED:
		return text_state(LEDGER_READY_PREEMPTED);
	}
	return "[unknown]";
}

/* Who ended the longest wait of a sum. */
static void ended_by(struct columns *columns, const struct trace_sum *sum)
{
	const struct trace_row *row = sum->longest;

	if (row->ended_by) {
		columns_count(columns, (uint64_t)row->ended_by, 0);
		columns_add(columns, " ");
	}
	if (row->ended_by_name[0])
		text_foreign(columns, row->ended_by_name, KD_COMM_LEN, SIZE_MAX);
	else
		columns_add(columns, row->ended_by ? "[unknown]" : "-");
	if (!sum->same_end)
		columns_add(columns, ", others");
	columns_add(columns, "\n");
}

static void wait_sum(struct columns *columns, const struct sample *sample,
		     const struct trace_sum *sum)
{
	columns_gap_count(columns, sum->count, 8);
	columns_add(columns, " ");
	columns_ns(columns, sum->total / US, 15);
	columns_add(columns, " ");
	columns_ns(columns, sum->max / US, 15);
	columns_add(columns, " ");
	who_columns(columns, sample, sum->longest);
	columns_left(columns, wait_state(sum->longest->state), 23);
	columns_add(columns, " ");
	call_column(columns, sample, sum->longest->call);
	columns_add(columns, " ");
	ended_by(columns, sum);
}

static void sample_sum(struct columns *columns, const struct sample *sample,
		       const struct trace_sum *sum)
{
	char percent[NUMBER_LEN], buffer[32];

	number_percent(percent, sum->count, sum->of_thread);
	columns_gap_count(columns, sum->count, 8);
	columns_add(columns, " ");
	columns_right(columns, percent, 7);
	columns_add(columns, " ");
	who_columns(columns, sample, sum->longest);
	columns_left(columns, sum->longest->state == KD_USER ? "user" : "kernel", 6);
	columns_add(columns, " ");
	columns_add(columns, call_name(sample, sum->longest->call, buffer));
	columns_add(columns, "\n");
}

/* What all of a kind are, and how many were left out above. */
static void all_of_them(struct columns *columns, const struct trace_sum *sums, size_t n,
			const char *one, const char *many, bool with_total)
{
	uint64_t count = 0, total = 0;

	for (size_t i = 0; i < n; i++) {
		count += sums[i].count;
		if (__builtin_add_overflow(total, sums[i].total, &total))
			total = UINT64_MAX;
	}
	columns_add(columns, "  All: ");
	columns_ns(columns, count, 0);
	columns_add(columns, count == 1 ? one : many);
	if (with_total) {
		columns_add(columns, ", ");
		columns_ns(columns, total / US, 0);
		columns_add(columns, " us");
	}
	if (n > TEXT_TRACES_MOST) {
		columns_add(columns, "; the ");
		columns_count(columns, TEXT_TRACES_MOST, 0);
		columns_add(columns, " rows with the largest totals out of ");
		columns_ns(columns, n, 0);
		columns_add(columns, " are shown");
	}
	columns_add(columns, ".\n");
}

/* The sums of a kind, each with its stacks. */
static void sums_list(struct columns *columns, const struct sample *sample, enum trace_kind kind)
{
	bool waits = kind == TRACE_WAIT;
	struct trace_sum *sums;
	size_t n;
	int err = traces_merge(&sample->traces, kind, sample->end, &sums, &n);

	if (err && !columns->err)
		columns->err = err;
	for (size_t i = 0; i < n && i < TEXT_TRACES_MOST; i++) {
		if (waits)
			wait_sum(columns, sample, &sums[i]);
		else
			sample_sum(columns, sample, &sums[i]);
		text_stacks(columns, &sample->traces, sums[i].longest, sums[i].same_ip);
	}
	if (waits)
		all_of_them(columns, sums, n, " wait", " waits", true);
	else
		all_of_them(columns, sums, n, " sample", " samples", false);
	free(sums);
}

static void waits(struct columns *columns, const struct sample *sample)
{
	columns_add(columns,
		    "\n# OFF-CPU WAITS:\n"
		    "     COUNT      TOTAL (us)        MAX (us)        TID COMM             "
		    "STATE                   SYSCALL          ENDED BY\n"
		    "  -------- --------------- --------------- ---------- ---------------- "
		    "----------------------- ---------------- ----------------\n");
	sums_list(columns, sample, TRACE_WAIT);
}

static void samples(struct columns *columns, const struct sample *sample)
{
	columns_add(columns, "\n# ON-CPU SAMPLES (");
	columns_count(columns, sample->traces.profile_hz, 0);
	columns_add(columns,
		    " Hz):\n"
		    "     COUNT       %        TID COMM             MODE   SYSCALL\n"
		    "  -------- ------- ---------- ---------------- ------ ----------------\n");
	sums_list(columns, sample, TRACE_SAMPLE);
}

void text_traces(struct columns *columns, const struct sample *sample)
{
	if (sample->traces.calls_asked)
		calls(columns, sample);
	if (sample->traces.waits_asked)
		waits(columns, sample);
	if (sample->traces.profile_hz)
		samples(columns, sample);
}
