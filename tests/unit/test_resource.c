// SPDX-License-Identifier: Apache-2.0
/* What threads and processes used: how rows are added up, and the sections of the report. */
#include <stdlib.h>
#include <string.h>

#include "cli/model/sample.h"
#include "cli/text/text.h"
#include "golden.h"
#include "tap.h"

#define SECOND 1000000000ULL

static struct block_row block(const char *device, uint32_t kind, uint64_t ns)
{
	struct block_row row = { .requests = { 1, ns, ns }, .bytes = 4096, .kind = kind };

	strncpy(row.device, device, sizeof(row.device) - 1);
	if (distribution_add(&row.times, KD_HISTOGRAM_BITS, KD_HISTOGRAM_BUCKETS, ns))
		abort();
	return row;
}

static void blocks_put(struct thread_row *thread, const char *device, uint32_t kind, uint64_t ns)
{
	struct block_row row = block(device, kind, ns);

	if (blocks_add(&thread->blocks, &thread->n_blocks, &row))
		abort();
	distribution_clear(&row.times);
}

static void test_blocks(void)
{
	struct thread_row a = { .members = 1 }, b = { .members = 1 };
	char name[KD_DISK_NAME];

	blocks_put(&a, "vda", KD_BLOCK_READ, 1000);
	blocks_put(&a, "vda", KD_BLOCK_WRITE, 5000);
	blocks_put(&b, "vda", KD_BLOCK_READ, 3000);
	b.io[KD_IO_FILE] = (struct io_row){ { 2, 8192 }, { 1, 10 } };
	b.io_uring_calls = 7;
	ok(!thread_merge(&a, &b), "merged");
	is_u64(a.n_blocks, 2, "a row for each disk and operation");
	is_u64(a.blocks[0].requests.count, 2, "requests are added");
	is_u64(a.blocks[0].requests.max, 3000, "the longest is kept");
	is_u64(distribution_count(&a.blocks[0].times), 2, "and all are in the distribution");
	is_u64(a.io[KD_IO_FILE].read.bytes, 8192, "bytes are added");
	is_u64(a.io_uring_calls, 7, "and calls");
	blocks_sort(a.blocks, a.n_blocks);
	is_u64(a.blocks[0].kind, KD_BLOCK_WRITE, "the longest sum is the first");
	for (int i = 0; i < 2 * BLOCKS_MOST; i++) {
		snprintf(name, sizeof(name), "sd%d", i);
		blocks_put(&a, name, KD_BLOCK_READ, 10);
	}
	is_u64(a.n_blocks, BLOCKS_MOST + 1, "no more rows than there may be, and the others'");
	is_u64(a.blocks[BLOCKS_MOST].requests.count, BLOCKS_MOST + 2, "which has the rest");
	thread_clear(&a);
	thread_clear(&b);
}

static void test_usages(void)
{
	struct thread_row threads[] = {
		{ .pid = 5, .tid = 5, .ledger = { .exec = 100, .exec_known = true } },
		{ .pid = 5, .tid = 6, .ledger = { .ns = { [LEDGER_KERNEL] = 30 } } },
		{ .pid = 9, .tid = 9, .io = { { { 1, UINT64_MAX }, { 0, 0 } } } },
		{ .pid = 9,
		  .tid = 9,
		  .process_start = 70,
		  .ledger = { .exec = 7, .exec_known = true } },
	};
	struct sample sample = { .pid = 5, .threads = threads, .n_threads = 4 };
	struct usage_row total;

	threads[1].io[KD_IO_NETWORK].read = (struct kd_io){ 3, 300 };
	ok(!usage_sum(&sample), "added up");
	is_u64(sample.n_usages, 3, "a row for each process");
	is_u64(sample.usages[2].process_start, 70, "also for the next one of a PID");
	is_u64(sample.usages[2].cpu_ns, 7, "with what it used");
	is_u64(sample.usages[0].cpu_ns, 130, "the kernel's count of the run time, or ours");
	is_u64(sample.usages[0].io[KD_IO_NETWORK].read.bytes, 300, "their threads' bytes");
	ok(usage_find(&sample, 9) == &sample.usages[2] && usage_find(&sample, 5) == sample.usages,
	   "the last one of a PID is found");
	ok(!usage_find(&sample, 7), "and none that there was not");
	total = usage_total(&sample);
	is_u64(total.io[KD_IO_NETWORK].read.bytes, UINT64_MAX, "sums do not wrap");
	is_u64(total.io[KD_IO_NETWORK].read.calls, 4, "of all processes");
	free(sample.usages);
}

static void test_text(void)
{
	struct thread_row row = {
		.tid = 9719,
		.name = "server",
		.members = 1,
		.ledger = { .life = 2 * SECOND,
			    .ns = { [LEDGER_USER] = 2 * SECOND },
			    .exec = SECOND,
			    .exec_known = true },
		.io = { [KD_IO_NETWORK] = { { 1000, 4000000 }, { 2000, 123456789 } },
			[KD_IO_PIPE] = { { 1, 1 }, { 0, 0 } },
			[KD_IO_OTHER] = { { 0, 0 }, { UINT64_MAX, UINT64_MAX } } },
		.io_uring_calls = 12,
	};
	struct sample sample = {
		.pid = 9719,
		.start = 100 * SECOND,
		.end = 102 * SECOND,
		.wall_dump = { .tv_sec = 1795218874, .tv_nsec = 981958999 },
		.threads = &row,
		.n_threads = 1,
		.resources_known = true,
	};
	struct resent_row resent = { .pid = 9719,
				     .count = 3,
				     .is = { .fd = 5,
					     .protocol = "tcp",
					     .local = "10.0.0.1:80",
					     .peer = "10.0.0.2:4711" } };
	FILE *out = tmpfile();

	blocks_put(&row, "vda", KD_BLOCK_READ, 70000);
	blocks_put(&row, "vda", KD_BLOCK_READ, 1500000);
	blocks_put(&row, "a\033name that is\nlong", KD_BLOCK_OTHER, 5);
	ok(!usage_sum(&sample), "added up");
	sample.usages[0].memory = (struct memory){ 0, 123456789, 987654321 };
	sample.usages[0].resent = 3;
	sample.resent = &resent;
	sample.n_resent = 1;
	is_i64(report_text(&sample, &(struct report_options){ 0 }, out), 0, "it is written");
	golden_compare(out, "resources");
	free(sample.usages);
	thread_clear(&row);
}

int main(void)
{
	test_blocks();
	test_usages();
	test_text();
	return done_testing();
}
