/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of waits for locks: how they are added up, and the section of the report. */
#include <stdlib.h>
#include <string.h>

#include "cli/base/syscall_names.h"
#include "cli/model/doing.h"
#include "cli/model/sample.h"
#include "cli/text/text.h"
#include "golden.h"
#include "tap.h"

#define SECOND 1000000000ULL

static struct lock_row lock(uint64_t address, pid_t holder, uint64_t ns)
{
	return (struct lock_row){ .address = address,
				  .kind = KD_LOCK_MUTEX,
				  .holder = holder,
				  .waits = { 1, ns, ns },
				  .meanwhile = { ns, 0, 0 },
				  .slept_in = KD_CALL_NONE };
}

static void test_rows(void)
{
	struct thread_row a = { .members = 1 }, b = { .members = 1 };
	struct lock_row one = lock(1, 5, 10), other = lock(1, 6, 20);

	one.released_by = 7;
	ok(!thread_add_lock(&a, &one) && !thread_add_lock(&a, &other) && a.n_locks == 2,
	   "one row for each holder");
	one.released_by = 0;
	ok(!thread_add_lock(&b, &one) && !thread_merge(&a, &b) && a.n_locks == 2, "merged");
	is_u64(a.locks[0].waits.total, 20, "their waits are added");
	is_u64(a.locks[0].meanwhile.running, 20, "and what the holder did");
	is_i64(a.locks[0].released_by, 7, "who released it last stays");
	for (uint64_t i = 0; i < 2 * THREAD_LOCKS; i++) {
		one = lock(100 + i, 5, 1);
		if (thread_add_lock(&a, &one))
			abort();
	}
	is_u64(a.n_locks, THREAD_LOCKS + 1, "no more rows than there may be, and the others");
	is_u64(a.locks[THREAD_LOCKS].waits.count, THREAD_LOCKS + 2, "which have the rest");
	is_u64(a.locks[THREAD_LOCKS].address, 0, "of no address");
	thread_clear(&a);
	thread_clear(&b);
}

static void test_text(void)
{
	struct lock_row locks[] = {
		{ .address = 0x7f0123456780,
		  .kind = KD_LOCK_ROBUST,
		  .holder = 2147483647,
		  .holder_name = "sixteen letters!",
		  .waits = { 1234, 600000000, 123456789 },
		  .meanwhile = { 60000000, 540000000, 0 },
		  .slept_in = KD_CALL_NONE,
		  .released_by = 2147483647,
		  .released_name = "sixteen letters!",
		  .is = { "queues", 0x1f8, "libqueue.so.1" },
		  .called_from = "queue_push+0x1c [libqueue.so.1] < serve+0x48 [server]" },
		{ .address = 1,
		  .kind = KD_LOCK_MUTEX,
		  .holder = 4711,
		  .waits = { 2, 300000000, 200000000 },
		  .meanwhile = { 0, 100000000, 200000000 },
		  .others = 1,
		  .slept_in = syscall_number("fsync"),
		  .released_by = 4712,
		  .released_name = "\033[2J",
		  .is = { "\033[2Jqueue\xff", 0, "a\nb" },
		  .called_from = "f\033[2J\xff+0x1 [a\nb]" },
		{ .address = UINT64_MAX,
		  .waits = { 1, 100000000, 100000000 },
		  .slept_in = KD_CALL_NONE,
		  .is = { "", 0x40, "PostgreSQL.1234" } },
		{ .address = 0x55d0c0ffee00,
		  .waits = { 1, 4, 4 },
		  .slept_in = KD_CALL_NONE,
		  .is = { .object = "[heap]" } },
		{ .waits = { 3, 3, 1 }, .slept_in = KD_CALL_NONE },
		{ .address = 0xffff88811c6e4b40,
		  .kind = KD_LOCK_KERNEL_RWSEM_WRITE,
		  .holder = 4711,
		  .holder_name = "holder",
		  .waits = { 2, 3, 2 },
		  .meanwhile = { 1, 0, 2 },
		  .slept_in = syscall_number("pwrite64"),
		  .released_by = 4711,
		  .released_name = "holder",
		  .called_from = "log_write+0x2f < main+0x77 [server]" },
		{ .address = 0xffff88811c6e43c0,
		  .kind = KD_LOCK_KERNEL_MUTEX,
		  .holder = 815,
		  .holder_pid = 800,
		  .holder_name = "outsider",
		  .waits = { 1, 2, 2 },
		  .slept_in = KD_CALL_NONE,
		  .released_by = 815,
		  .released_name = "outsider" },
	};
	struct thread_row row = {
		.tid = 9719,
		.name = "waiter",
		.members = 1,
		.ledger = { .life = SECOND,
			    .ns = { [LEDGER_BLOCKED] = SECOND },
			    .awaited = { [KD_AWAITED_LOCK] = { 1240, SECOND, 200000000 } } },
		.voluntary = 1240,
		.locks = locks,
		.n_locks = sizeof(locks) / sizeof(*locks),
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
	golden_compare(out, "locks");
}

/* A holder that was looked at after the wait's end. */
static void test_limit(void)
{
	struct kd_doing doing = { 60, 5, 35 };

	doing_limit(&doing, 100);
	ok(doing.running == 60 && doing.ready == 5 && doing.asleep == 35, "no more than the wait");
	doing_limit(&doing, 80);
	ok(doing.running == 40 && doing.ready == 5 && doing.asleep == 35, "it mostly ran");
	doing_limit(&doing, 3);
	is_u64(doing.running + doing.ready + doing.asleep, 3, "as long as the wait");
	doing = (struct kd_doing){ UINT64_MAX, UINT64_MAX, 0 };
	doing_limit(&doing, 0);
	ok(doing.running < UINT64_MAX, "figures that make no sense have an end, too");
}

static const char *caller_text(const struct frame *frames, size_t n)
{
	static char text[LOCK_CALLER_LEN];

	lock_caller_text(&(struct stack){ .frames = frames, .n = n }, text);
	return text;
}

static void test_callers(void)
{
	static const struct frame frames[] = {
		{ .function = "__lll_lock_wait", .offset = 0x2b, .object = "/lib/libc.so.6" },
		{ .function = "pthread_mutex_lock", .offset = 0x112, .object = "/opt/static" },
		{ .function = "queue_push", .offset = 0x1c, .object = "/lib/libqueue.so.1" },
		{ .offset = 0x4711, .object = "/usr/bin/server" },
		{ .function = "main", .offset = 0x77, .object = "/usr/bin/server" },
		{ .function = "outer", .offset = 1, .object = "/usr/bin/server" },
		{ .function = "start_thread", .offset = 2, .object = "/lib/libc.so.6" },
	};
	static const struct frame odd[] = {
		{ .offset = 0x7f0012345678 },
		{ .function = "vector", .offset = 0, .object = "[vsyscall]" },
	};
	char name[2 * LOCK_CALLER_LEN], text[LOCK_CALLER_LEN] = "x";
	const struct frame endless[] = { { .function = name, .object = "/a" },
					 { .function = "b" } };

	is_str(caller_text(frames, 7),
	       "queue_push+0x1c [libqueue.so.1] < 0x4711 < main+0x77 [server]",
	       "three functions, without the C library's");
	is_str(caller_text(frames + 4, 3), "main+0x77 < outer+0x1 [server]", "what began it, too");
	is_str(caller_text(frames, 2), "", "none of the program");
	is_str(caller_text(frames + 4, 0), "", "none at all");
	is_str(caller_text(odd, 2), "0x7f0012345678 < vector+0x0 [vsyscall]", "in no file");
	lock_caller_text(NULL, text);
	is_str(text, "", "no stack");
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	is_u64(strlen(caller_text(endless, 2)), LOCK_CALLER_LEN - 1, "a long name is cut");
	is_str(caller_text(endless, 2) + LOCK_CALLER_LEN - 4, "...", "and says so");
}

int main(void)
{
	test_callers();
	test_rows();
	test_limit();
	test_text();
	return done_testing();
}
