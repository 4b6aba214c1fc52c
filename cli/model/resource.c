// SPDX-License-Identifier: Apache-2.0
#include "resource.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "sample.h"

static void add(uint64_t *into, uint64_t from)
{
	*into = u64_add(*into, from);
}

struct usage_row *usage_find(const struct sample *sample, pid_t pid)
{
	size_t low = 0, high = sample->n_usages; /* rows below low have smaller or equal PIDs */

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sample->usages[middle].pid <= pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low && sample->usages[low - 1].pid == pid ? &sample->usages[low - 1] : NULL;
}

static void io_sum(struct io_row *into, const struct io_row *from)
{
	for (size_t i = 0; i < KD_IO_KINDS; i++) {
		into[i].read.calls = u64_add(into[i].read.calls, from[i].read.calls);
		into[i].read.bytes = u64_add(into[i].read.bytes, from[i].read.bytes);
		into[i].written.calls = u64_add(into[i].written.calls, from[i].written.calls);
		into[i].written.bytes = u64_add(into[i].written.bytes, from[i].written.bytes);
	}
}

static void thread_sum(struct usage_row *usage, const struct thread_row *thread)
{
	const struct ledger *ledger = &thread->ledger;

	add(&usage->cpu_ns, ledger->exec_known ? ledger->exec : ledger_running(ledger));
	add(&usage->rings, thread->io_uring_calls);
	add(&usage->forks, thread->forks);
	add(&usage->execs, thread->execs);
	io_sum(usage->io, thread_io(thread));
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
				.pid = thread->pid ? thread->pid : sample->pid,
				.process_start = thread->process_start,
			};
		thread_sum(&rows[sample->n_usages - 1], thread);
	}
	return 0;
}

struct usage_row usages_sum(const struct usage_row *rows, size_t n)
{
	struct usage_row total = { 0 };

	for (size_t i = 0; i < n; i++) {
		const struct usage_row *row = &rows[i];

		add(&total.cpu_ns, row->cpu_ns);
		add(&total.memory.start, row->memory.start);
		add(&total.memory.end, row->memory.end);
		add(&total.memory.peak, row->memory.peak);
		io_sum(total.io, row->io);
		add(&total.disk_requests, row->disk_requests);
		add(&total.disk_bytes, row->disk_bytes);
		add(&total.rings, row->rings);
		add(&total.forks, row->forks);
		add(&total.execs, row->execs);
		add(&total.resent, row->resent);
	}
	return total;
}

struct usage_row usage_total(const struct sample *sample)
{
	return usages_sum(sample->usages, sample->n_usages);
}
