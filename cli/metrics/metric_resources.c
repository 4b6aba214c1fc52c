// SPDX-License-Identifier: Apache-2.0
/* What threads read and wrote, their requests to disks, and events that were counted. */
#include "metric_take.h"

static void io_take(struct metrics *metrics, struct metric_row *parent,
		    struct metric_labels *labels, const struct io_row *io)
{
	struct metric_row *row = metric_row_touch(metrics, METRIC_IO, parent, labels);

	if (!row)
		return;
	metric_row_sum(row, IO_READ_CALLS, io->read.calls);
	metric_row_sum(row, IO_WRITTEN_CALLS, io->written.calls);
	metric_row_sum(row, IO_READ_BYTES, io->read.bytes);
	metric_row_sum(row, IO_WRITTEN_BYTES, io->written.bytes);
}

static void block_take(struct metrics *metrics, struct metric_row *parent,
		       struct metric_labels *labels, const struct block_row *block)
{
	struct metric_row *row = metric_row_touch(metrics, METRIC_BLOCK, parent, labels);

	if (row) {
		metric_row_sum(row, EVENTS_COUNT, block->requests.count);
		metric_row_sum(row, EVENTS_TOTAL, block->requests.total);
		metric_row_max(row, EVENTS_MAX, block->requests.max);
		metric_row_sum(row, BLOCK_BYTES, block->bytes);
	}
	row = metric_row_touch(metrics, METRIC_BLOCK_TIMES, parent, labels);
	if (row)
		metric_row_distribution(row, &block->times, block->requests.total);
}

static void counters_take(struct metrics *metrics, struct metric_row *parent,
			  struct metric_labels *labels, const struct thread_row *thread)
{
	const size_t n_labels = labels->length;

	for (size_t i = 0; i < thread->n_counters; i++) {
		const struct counter_row *counter = &thread->counters[i];
		struct metric_row *row;

		metric_labels_foreign(labels, "event", counter->name, sizeof(counter->name), "");
		if (counter->cpu >= 0)
			metric_labels_number(labels, "cpu", (unsigned long)counter->cpu);
		row = metric_row_touch(metrics, METRIC_COUNTED, parent, labels);
		labels->length = n_labels;
		if (row)
			metric_row_sum(row, ONE_VALUE, counter->value);
	}
}

void metric_take_resources(struct metrics *metrics, struct metric_row *row,
			   struct metric_labels *labels, const struct thread_row *thread)
{
	const size_t n_labels = labels->length;

	for (unsigned int kind = 0; kind < KD_IO_KINDS; kind++) {
		const struct io_row *io = &thread->io[kind];

		if (!io->read.calls && !io->written.calls)
			continue;
		metric_labels_add(labels, "kind", io_keys[kind]);
		io_take(metrics, row, labels, io);
		labels->length = n_labels;
	}
	counters_take(metrics, row, labels, thread);
	/* They are few: see BLOCKS_MOST. */
	for (size_t i = 0; i < thread->n_blocks; i++) {
		const struct block_row *block = &thread->blocks[i];

		if (*block->device)
			metric_labels_foreign(labels, "device", block->device,
					      sizeof(block->device), "");
		else
			metric_labels_add(labels, "device", METRIC_OTHER);
		metric_labels_add(labels, "operation", block_keys[block->kind]);
		block_take(metrics, row, labels, block);
		labels->length = n_labels;
	}
}
