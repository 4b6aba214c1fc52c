/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of waits at descriptors: how they are added up, their words, and the section of the
 * report. */
#include <stdlib.h>
#include <string.h>

#include "cli/model/verdict.h"
#include "cli/text/text.h"
#include "golden.h"
#include "tap.h"
#include "verdict_sample.h"

static struct descriptor_row at(int32_t fd, pid_t ended_by, uint64_t ns)
{
	return (struct descriptor_row){ .awaited = KD_AWAITED_PIPE,
					.is = { .fd = fd, .inode = 7 },
					.waits = { 1, ns, ns },
					.ended_by = ended_by };
}

static void test_rows(void)
{
	struct thread_row a = { .members = 1 }, b = { .members = 1 };
	struct descriptor_row row = at(3, 5, 10), longer = at(3, 6, 20), other = at(3, 5, 1);

	other.is.inode = 8;
	if (descriptors_add(&a.descriptors, &a.n_descriptors, &row) ||
	    descriptors_add(&a.descriptors, &a.n_descriptors, &other) ||
	    descriptors_add(&b.descriptors, &b.n_descriptors, &longer))
		abort();
	is_u64(a.n_descriptors, 2, "what has the same number later is another");
	ok(!thread_merge(&a, &b) && a.n_descriptors == 2, "merged");
	is_u64(a.descriptors[0].waits.total, 30, "their waits are added");
	is_i64(a.descriptors[0].ended_by, 6, "who ended the longest stays");
	is_u64(a.descriptors[0].others, 1, "others ended the other");
	row = at(3, 0, 5);
	row.in_progress = 1;
	row.requests = (struct kd_count){ 2, 8, 6 };
	if (descriptors_add(&a.descriptors, &a.n_descriptors, &row))
		abort();
	is_u64(a.descriptors[0].waits.count, 3, "and one that has not ended");
	is_u64(a.descriptors[0].others, 1, "which nobody has ended");
	is_u64(a.descriptors[0].requests.total, 8, "requests are added, too");
	for (int32_t i = 0; i < 2 * DESCRIPTOR_ROWS; i++) {
		row = at(100 + i, 5, 1);
		if (descriptors_add(&a.descriptors, &a.n_descriptors, &row))
			abort();
	}
	is_u64(a.n_descriptors, DESCRIPTOR_ROWS + 1, "no more rows than there may be, and others");
	is_u64(a.descriptors[DESCRIPTOR_ROWS].waits.count, DESCRIPTOR_ROWS + 2, "with the rest");
	is_i64(a.descriptors[DESCRIPTOR_ROWS].is.fd, -1, "which are no descriptor");
	thread_clear(&a);
	thread_clear(&b);
}

static void test_words(void)
{
	struct descriptor is = { .fd = 3 };
	char text[DESCRIPTOR_TEXT_LEN];

	is_str(descriptor_text(&is, text), "", "nothing is known");
	strcpy(is.device, "vda1");
	is_str(descriptor_text(&is, text), "on vda1", "a disk");
	strcpy(is.path, "/tmp/file");
	is_str(descriptor_text(&is, text), "/tmp/file on vda1", "a file on it");
	is = (struct descriptor){ .protocol = "tcp", .local = "[::1]:1", .other_net = 9 };
	is_str(descriptor_text(&is, text), "tcp [::1]:1 in net:[9]", "a socket that listens");
	strcpy(is.peer, "[::1]:2");
	is_str(descriptor_text(&is, text), "tcp [::1]:1 to [::1]:2 in net:[9]", "one with a peer");
	/* Whatever a file to be replayed has in them: none of them ends with a NUL. */
	memset(&is, 'x', sizeof(is));
	ok(strlen(descriptor_text(&is, text)) < sizeof(text), "whatever they hold, there is room");
}

static void test_text(void)
{
	struct descriptor_row rows[] = {
		{ .awaited = KD_AWAITED_PIPE,
		  .is = { .fd = 5, .inode = 9, .path = "/tmp/\033[2J\n\xff name" },
		  .waits = { 1234, 600000000, 123456789 },
		  .ended_by = 2147483647,
		  .ended_pid = 4711,
		  .ended_name = "sixteen letters!" },
		{ .awaited = KD_AWAITED_SOCKET,
		  .is = { .fd = 2147483647,
			  .inode = 10,
			  .protocol = "tcp",
			  .local = "10.0.0.1:45678",
			  .peer = "10.0.0.2:5432" },
		  .waits = { 2, 300000000, 200000000 } },
		{ .awaited = KD_AWAITED_DISK,
		  .is = { .fd = 7, .path = ".../file", .device = "vda1" },
		  .waits = { 1, 100000000, 100000000 },
		  .ended_by = 1,
		  .ended_name = "\033[2J" },
		{ .is = { .fd = -1 }, .waits = { 3, 3, 1 } },
	};
	struct thread_row row = {
		.tid = 9719,
		.name = "waiter",
		.members = 1,
		.ledger = { .life = SECOND, .ns = { [LEDGER_BLOCKED] = SECOND } },
		.voluntary = 1240,
		.descriptors = rows,
		.n_descriptors = sizeof(rows) / sizeof(*rows),
	};
	const struct sample sample = {
		.pid = 9719,
		.start = 100 * SECOND,
		.end = 101 * SECOND,
		.wall_dump = { .tv_sec = 1795218874, .tv_nsec = 981958999 },
		.threads = &row,
		.n_threads = 1,
	};
	FILE *out = tmpfile();

	is_i64(report_text(&sample, &(struct report_options){ 0 }, out), 0, "it is written");
	golden_compare(out, "descriptors");
}

/* The verdict on one thread; the caller clears it. */
static struct verdict judge(struct thread_row *row)
{
	struct sample sample = verdict_sample(row, 1);
	struct verdict verdict = { 0 };

	is_i64(verdict_find(&verdict, &sample), 0, "there is memory");
	return verdict;
}

/* The disk, and how fast it is. */
static void test_disk(void)
{
	struct descriptor_row disks[] = {
		{ .awaited = KD_AWAITED_DISK,
		  .is = { .fd = 3, .inode = 1, .device = "vda1" },
		  .waits = times(9, 300 * MILLI, 90 * MILLI),
		  .requests = times(8, 240 * MILLI, 80 * MILLI) },
		{ .awaited = KD_AWAITED_DISK,
		  .is = { .fd = 4, .inode = 2, .device = "vda1" },
		  .waits = times(1, 100 * MILLI, 100 * MILLI),
		  .requests = times(1, 99 * MILLI, 99 * MILLI) },
	};
	struct thread_row row = runner(1, "main");
	struct verdict verdict;

	row.descriptors = disks, row.n_descriptors = 2;
	spend(&row, LEDGER_BLOCKED_UNINT, 400 * MILLI);
	row.ledger.awaited[KD_AWAITED_DISK] = times(10, 400 * MILLI, 100 * MILLI);
	verdict = judge(&row);
	ok(verdict.n_blamed == 1 && verdict.rows[0].cause == CAUSE_DISK, "a disk is blamed");
	is_str(verdict.rows[0].who.comm, "vda1", "by name");
	is_u64(verdict.rows[0].requests.count, 9, "its requests");
	is_u64(verdict.rows[0].requests.total, 339 * MILLI, "which took so long");
	is_u64(verdict.rows[0].requests.max, 99 * MILLI, "and so long at most");
	verdict_clear(&verdict);
}

int main(void)
{
	test_rows();
	test_words();
	test_text();
	test_disk();
	return done_testing();
}
