// SPDX-License-Identifier: Apache-2.0
#include <limits.h>
#include <stdlib.h>

#include "replay_parts.h"
#include "../report/json_names.h"

#define CPUS (KD_CPU_WORDS * 64U)

/* Rows that the sample owns: calloc()ed, NULL if there are none. */
static void *rows_new(struct reader *reader, size_t n, size_t size)
{
	void *rows = n ? calloc(n, size) : NULL;

	if (n && !rows) {
		reader->no_memory = true;
		reader_fail(reader, NULL, "no memory");
	}
	return rows;
}

static void ledger(struct reader *reader, const json_t *thread, struct ledger *ledger)
{
	const json_t *object = reader_enter(reader, thread, "ledger");

	ledger->life = reader_u64(reader, object, "life_ns");
	for (size_t i = 0; i < LEDGER_STATES; i++)
		ledger->ns[i] = reader_u64(reader, object, json_ledger_keys[i]);
	ledger->exec_known = reader_has(object, "sum_exec_runtime_ns");
	ledger->exec = reader_u64(reader, object, "sum_exec_runtime_ns");
	reader_leave(reader);
}

static void syscalls(struct reader *reader, const json_t *object, struct thread_row *thread)
{
	const json_t *array, *row;
	size_t n;

	array = reader_array(reader, object, "syscalls", &n);
	thread->calls = rows_new(reader, n, sizeof(*thread->calls));
	for (size_t i = 0; i < n && !reader->failed; i++) {
		struct call_row *call = &thread->calls[i];

		row = reader_element(reader, array, "syscalls", i);
		reader_require(reader, row, "number");
		call->number = reader_u32(reader, row, "number");
		call->count = reader_u64(reader, row, "count");
		call->total = reader_u64(reader, row, "total_ns");
		call->max = reader_u64(reader, row, "max_ns");
		replay_distribution(reader, row, &call->times);
		reader_leave(reader);
		thread->n_calls++;
	}
}

static void irqs(struct reader *reader, const json_t *object, const char *key,
		 struct irq_row **irqs, size_t *n_irqs)
{
	const json_t *array, *row;
	size_t n;

	array = reader_array(reader, object, key, &n);
	*irqs = rows_new(reader, n, sizeof(**irqs));
	for (size_t i = 0; i < n && !reader->failed; i++) {
		struct irq_row *irq = *irqs + i;

		row = reader_element(reader, array, key, i);
		reader_name(reader, row, "name", irq->name, sizeof(irq->name));
		irq->vector = reader_u32(reader, row, "vector");
		irq->unhandled = reader_bool(reader, row, "unhandled");
		irq->count = reader_u64(reader, row, "count");
		irq->total = reader_u64(reader, row, "total_ns");
		irq->max = reader_u64(reader, row, "max_ns");
		reader_leave(reader);
		++*n_irqs;
	}
}

/* times: NULL if they are never known. */
static void span(struct reader *reader, const json_t *thread, const char *key, struct kd_span *span,
		 struct distribution *times)
{
	const json_t *object = reader_enter(reader, thread, key);

	span->count = reader_u64(reader, object, "count");
	span->total = reader_u64(reader, object, "total_ns");
	span->min = reader_u64(reader, object, "min_ns");
	span->max = reader_u64(reader, object, "max_ns");
	if (times)
		replay_distribution(reader, object, times);
	reader_leave(reader);
}

static void count(struct reader *reader, const json_t *thread, const char *key,
		  struct kd_count *count, struct distribution *times)
{
	const json_t *object = reader_enter(reader, thread, key);

	count->count = reader_u64(reader, object, "count");
	count->total = reader_u64(reader, object, "total_ns");
	count->max = reader_u64(reader, object, "max_ns");
	if (times)
		replay_distribution(reader, object, times);
	reader_leave(reader);
}

/* A CPU's number that text begins with; NULL: there is none, or it is too large. */
static const char *cpu_parse(const char *text, unsigned int *cpu)
{
	const char *start = text;

	for (*cpu = 0; *text >= '0' && *text <= '9'; text++) {
		*cpu = *cpu * 10 + (unsigned int)(*text - '0');
		if (*cpu >= CPUS)
			return NULL;
	}
	return text == start ? NULL : text;
}

/* A list such as "0-1,3", in ascending order. */
static bool cpus_parse(const char *text, uint64_t cpus[KD_CPU_WORDS])
{
	unsigned int next = 0, first, last;

	while (*text) {
		text = cpu_parse(text, &first);
		last = first;
		if (text && *text == '-')
			text = cpu_parse(text + 1, &last);
		if (!text || first < next || last < first || (*text && *text != ',') ||
		    (*text && !text[1]))
			return false;
		for (unsigned int cpu = first; cpu <= last; cpu++)
			cpus[cpu / 64] |= 1ULL << cpu % 64;
		next = last + 1;
		text += *text == ',';
	}
	return true;
}

static void in_flight(struct reader *reader, const json_t *object, struct thread_row *thread)
{
	const size_t most = sizeof(thread->open) / sizeof(*thread->open);
	const json_t *array, *row;
	size_t n;

	array = reader_array(reader, object, "in_flight", &n);
	if (n > most)
		reader_fail(reader, "in_flight", "has more than %zu elements", most);
	for (size_t i = 0; i < n && !reader->failed; i++) {
		struct open_call *call = &thread->open[i];

		row = reader_element(reader, array, "in_flight", i);
		call->number = reader_has(row, "number")
				       ? (int32_t)reader_number(reader, row, "number", INT32_MAX)
				       : KD_CALL_UNKNOWN;
		call->inside = reader_u64(reader, row, "inside_ns");
		call->at_start = reader_bool(reader, row, "at_start");
		call->at_end = reader_bool(reader, row, "at_end");
		call->since = reader_u64(reader, row, "since_ns");
		call->until = reader_u64(reader, row, "until_ns");
		reader_leave(reader);
		thread->n_open++;
	}
}

void replay_thread(struct reader *reader, const json_t *object, struct thread_row *thread)
{
	const char *cpus;

	reader_require(reader, object, "tid");
	thread->tid = reader_i32(reader, object, "tid");
	reader_name(reader, object, "name", thread->name, sizeof(thread->name));
	thread->members = reader_has(object, "members") ? reader_u32(reader, object, "members") : 1;
	thread->ended = reader_bool(reader, object, "ended");
	ledger(reader, object, &thread->ledger);
	syscalls(reader, object, thread);
	irqs(reader, object, "hardirqs", &thread->hardirqs, &thread->n_hardirqs);
	irqs(reader, object, "softirqs", &thread->softirqs, &thread->n_softirqs);
	span(reader, object, "run", &thread->run, &thread->run_times);
	count(reader, object, "ready", &thread->ready, &thread->ready_times);
	count(reader, object, "stopped", &thread->stopped, NULL);
	span(reader, object, "long_poll", &thread->long_poll, NULL);
	thread->voluntary = reader_u64(reader, object, "voluntary_switches");
	thread->involuntary = reader_u64(reader, object, "involuntary_switches");
	thread->migrations = reader_u64(reader, object, "migrations");
	cpus = reader_text(reader, object, "cpus");
	if (cpus && !cpus_parse(cpus, thread->cpus))
		reader_fail(reader, "cpus", "a list such as \"0-1,3\" is expected, below %u", CPUS);
	thread->cpus_beyond = reader_bool(reader, object, "cpus_beyond");
	in_flight(reader, object, thread);
}
