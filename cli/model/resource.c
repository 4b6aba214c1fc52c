// SPDX-License-Identifier: Apache-2.0
#include "resource.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"

static void add(uint64_t *into, uint64_t from)
{
	*into = u64_add(*into, from);
}

#define USAGE(key, kind, member, ...) FIELD(key, kind, struct usage_row, member, __VA_ARGS__)
#define USAGE_SUM(key, member, ...) FIELD_SUM(key, struct usage_row, member, __VA_ARGS__)
const struct field usage_fields[] = {
	USAGE("pid", FIELD_I32, pid, .flags = FIELD_REQUIRED),
	USAGE("process_start_ns", FIELD_U64, process_start, .flags = FIELD_IF_ANY),
	USAGE_SUM("cpu_ns", cpu_ns),
	USAGE_SUM("memory_start_bytes", memory.start, .flags = FIELD_IF_ANY),
	USAGE_SUM("memory_end_bytes", memory.end, .flags = FIELD_IF_ANY),
	USAGE_SUM("memory_peak_bytes", memory.peak, .flags = FIELD_IF_ANY),
	USAGE("io", FIELD_OBJECT, io, .fields = io_fields),
	USAGE_SUM("disk_requests", disk_requests),
	USAGE_SUM("disk_bytes", disk_bytes),
	USAGE_SUM("io_uring_calls", rings, .flags = FIELD_IF_ANY),
	USAGE_SUM("forks", forks, .flags = FIELD_IF_ANY),
	USAGE_SUM("execs", execs, .flags = FIELD_IF_ANY),
	USAGE_SUM("tcp_retransmissions", resent),
	FIELDS_END,
};

struct usage_row *usage_find(const struct sample *sample, pid_t pid)
{
	const struct usage_row *usages = sample->usages;
	size_t after = ARRAY_SPLIT(sample->n_usages, i, usages[i].pid <= pid);

	return after && usages[after - 1].pid == pid ? &sample->usages[after - 1] : NULL;
}

static void thread_sum(struct usage_row *usage, const struct thread_row *thread)
{
	const struct ledger *ledger = &thread->ledger;

	add(&usage->cpu_ns, ledger->has_exec ? ledger->exec : ledger_running(ledger));
	add(&usage->rings, thread->io_uring_calls);
	add(&usage->forks, thread->forks);
	add(&usage->execs, thread->execs);
	fields_merge(io_fields, usage->io, thread_io(thread));
	for (size_t i = 0; i < thread->n_blocks; i++) {
		add(&usage->disk_requests, thread->blocks[i].requests.count);
		add(&usage->disk_bytes, thread->blocks[i].bytes);
	}
}

int usage_sum(struct sample *sample)
{
	struct usage_row *rows = calloc(sample->n_threads + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	free(sample->usages);
	sample->usages = rows;
	sample->n_usages = 0;
	/* Threads are sorted by process. */
	for (size_t i = 0; i < sample->n_threads; i++) {
		const struct thread_row *thread = &sample->threads[i];

		if (!i || process_compare(&thread[-1], thread))
			rows[sample->n_usages++] = (struct usage_row){
				.pid = thread_pid(sample, thread),
				.process_start = thread->process_start,
			};
		thread_sum(&rows[sample->n_usages - 1], thread);
	}
	return 0;
}

struct usage_row usages_sum(const struct usage_row *rows, size_t n)
{
	struct usage_row total = { 0 };

	for (size_t i = 0; i < n; i++)
		fields_merge(usage_fields, &total, &rows[i]);
	return total;
}

struct usage_row usage_total(const struct sample *sample)
{
	return usages_sum(sample->usages, sample->n_usages);
}
