// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "json_names.h"
#include "json_parts.h"

#define CPUS (KD_CPU_WORDS * 64U)

static void ledger(struct json_writer *writer, const struct ledger *ledger)
{
	writer_object(writer, "ledger");
	writer_u64(writer, "life_ns", ledger->life);
	for (size_t i = 0; i < LEDGER_STATES; i++)
		writer_u64(writer, json_ledger_keys[i], ledger->ns[i]);
	if (ledger->exec_known)
		writer_u64(writer, "sum_exec_runtime_ns", ledger->exec);
	writer_object_end(writer);
}

static void syscalls(struct json_writer *writer, const struct sample *sample,
		     const struct thread_row *thread)
{
	writer_array(writer, "syscalls");
	for (size_t i = 0; i < thread->n_calls; i++) {
		const struct call_row *call = &thread->calls[i];

		writer_object(writer, NULL);
		json_syscall(writer, sample, call->number);
		writer_u64(writer, "count", call->count);
		writer_u64(writer, "total_ns", call->total);
		writer_u64(writer, "max_ns", call->max);
		json_distribution(writer, &call->times, 0, call->max);
		writer_object_end(writer);
	}
	writer_array_end(writer);
}

static void irqs(struct json_writer *writer, const char *key, const struct irq_row *rows, size_t n,
		 bool soft)
{
	writer_array(writer, key);
	for (size_t i = 0; i < n; i++) {
		const struct irq_row *irq = &rows[i];

		writer_object(writer, NULL);
		writer_text(writer, "name", irq->name, sizeof(irq->name));
		if (soft)
			writer_u64(writer, "vector", irq->vector);
		else
			writer_bool(writer, "unhandled", irq->unhandled);
		writer_u64(writer, "count", irq->count);
		writer_u64(writer, "total_ns", irq->total);
		writer_u64(writer, "max_ns", irq->max);
		writer_object_end(writer);
	}
	writer_array_end(writer);
}

/* times: NULL if they are never known. */
static void span(struct json_writer *writer, const char *key, const struct kd_span *span,
		 const struct distribution *times)
{
	writer_object(writer, key);
	writer_u64(writer, "count", span->count);
	writer_u64(writer, "total_ns", span->total);
	writer_u64(writer, "min_ns", span->min);
	writer_u64(writer, "max_ns", span->max);
	if (times)
		json_distribution(writer, times, span->min, span->max);
	writer_object_end(writer);
}

static void count(struct json_writer *writer, const char *key, const struct kd_count *count,
		  const struct distribution *times)
{
	writer_object(writer, key);
	writer_u64(writer, "count", count->count);
	writer_u64(writer, "total_ns", count->total);
	writer_u64(writer, "max_ns", count->max);
	if (times)
		json_distribution(writer, times, 0, count->max);
	writer_object_end(writer);
}

static bool cpu_used(const struct thread_row *thread, unsigned int cpu)
{
	return cpu < CPUS && thread->cpus[cpu / 64] >> cpu % 64 & 1;
}

/* As the kernel writes lists of CPUs: "0-1,3". */
static void cpus(struct json_writer *writer, const struct thread_row *thread)
{
	char list[4 * CPUS + 1] = "";
	size_t used = 0;

	for (unsigned int cpu = 0, last; cpu < CPUS; cpu = last + 1) {
		last = cpu;
		if (!(cpu & 63) && !thread->cpus[cpu / 64]) {
			last = cpu + 63;
			continue;
		}
		if (!cpu_used(thread, cpu))
			continue;
		while (cpu_used(thread, last + 1))
			last++;
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%u", used ? "," : "",
					 cpu);
		if (last > cpu)
			used += (size_t)snprintf(list + used, sizeof(list) - used, "-%u", last);
	}
	writer_word(writer, "cpus", list);
	writer_bool(writer, "cpus_beyond", thread->cpus_beyond);
}

static void in_flight(struct json_writer *writer, const struct sample *sample,
		      const struct thread_row *thread)
{
	writer_array(writer, "in_flight");
	for (size_t i = 0; i < thread->n_open; i++) {
		const struct open_call *call = &thread->open[i];

		writer_object(writer, NULL);
		if (call->number >= 0)
			json_syscall(writer, sample, (uint32_t)call->number);
		writer_u64(writer, "inside_ns", call->inside);
		writer_bool(writer, "at_start", call->at_start);
		writer_bool(writer, "at_end", call->at_end);
		if (call->since)
			writer_u64(writer, "since_ns", call->since);
		if (call->until)
			writer_u64(writer, "until_ns", call->until);
		writer_object_end(writer);
	}
	writer_array_end(writer);
}

void json_thread(struct json_writer *writer, const struct sample *sample,
		 const struct thread_row *thread)
{
	writer_object(writer, NULL);
	writer_i64(writer, "tid", thread->tid);
	writer_text(writer, "name", thread->name, sizeof(thread->name));
	writer_u64(writer, "members", thread->members);
	writer_bool(writer, "ended", thread->ended);
	ledger(writer, &thread->ledger);
	syscalls(writer, sample, thread);
	irqs(writer, "hardirqs", thread->hardirqs, thread->n_hardirqs, false);
	irqs(writer, "softirqs", thread->softirqs, thread->n_softirqs, true);
	span(writer, "run", &thread->run, &thread->run_times);
	count(writer, "ready", &thread->ready, &thread->ready_times);
	count(writer, "stopped", &thread->stopped, NULL);
	span(writer, "long_poll", &thread->long_poll, NULL);
	writer_u64(writer, "voluntary_switches", thread->voluntary);
	writer_u64(writer, "involuntary_switches", thread->involuntary);
	writer_u64(writer, "migrations", thread->migrations);
	cpus(writer, thread);
	in_flight(writer, sample, thread);
	writer_object_end(writer);
}
