/* SPDX-License-Identifier: Apache-2.0 */
/* What kept a target from running, found in samples that are made up. */
#include "cli/model/verdict.h"
#include "tap.h"
#include "verdict_sample.h"

/* The verdict on one thread; the caller clears it. */
static struct verdict judge(struct thread_row *row)
{
	struct sample sample = verdict_sample(row, 1);
	struct verdict verdict = { 0 };

	is_i64(verdict_find(&verdict, &sample), 0, "there is memory");
	return verdict;
}

/* The first row is of this cause, and blamed. */
static void is_blamed(const struct verdict *verdict, enum cause cause, uint64_t ns,
		      uint64_t longest, const char *who)
{
	const struct verdict_row *row = verdict->rows;

	ok(verdict->n_blamed == 1 && row && row->cause == cause, "%s is blamed",
	   cause_words[cause].key);
	if (!verdict->n_rows)
		return;
	is_u64(row->ns, ns, "for so long");
	is_u64(row->longest, longest, "and so long at once");
	is_str(row->who.comm, who, "by name");
	ok(row->worst && row->worst_ns == ns && row->threads == 1, "of the one thread");
	is_u64(verdict->unexplained, 0, "nothing is unexplained");
}

static void test_task(void)
{
	struct thread_row row = runner(1, "main");
	struct verdict verdict;

	spend(&row, LEDGER_READY_WOKEN, 300 * MILLI);
	spend(&row, LEDGER_READY_PREEMPTED, 100 * MILLI);
	row.ready = times(10, 400 * MILLI, 90 * MILLI);
	verdict = judge(&row);
	is_blamed(&verdict, CAUSE_TASK, 400 * MILLI, 90 * MILLI, "");
	is_u64(verdict.kept, 400 * MILLI, "so long it did not run");
	is_u64(verdict.busy, SECOND, "all of the time it was busy");
	verdict_clear(&verdict);
}

static struct culprit by(enum culprit_kind kind, const char *name, pid_t tid, uint64_t ns)
{
	struct culprit culprit = { .kind = kind,
				   .tid = tid,
				   .pid = tid,
				   .woken_ns = ns,
				   .longest_ns = ns / 2,
				   .policy = 1,
				   .priority = 50 };

	memcpy(culprit.name, name, strlen(name));
	return culprit;
}

/* Who had the CPU, each to his cause. */
static void test_culprits(void)
{
	struct culprit culprits[] = {
		by(CULPRIT_TASK, "hog", 812, 200 * MILLI),
		by(CULPRIT_TASK, "worker", 5, 90 * MILLI),
		by(CULPRIT_TASK, "ksoftirqd/0", 16, 80 * MILLI),
		by(CULPRIT_THROTTLED, "", 0, 70 * MILLI),
		by(CULPRIT_SOFTIRQ, "", 0, 60 * MILLI),
		by(CULPRIT_TASK, "compiler", 900, 55 * MILLI),
		by(CULPRIT_IDLE, "", 0, 50 * MILLI),
		by(CULPRIT_UNKNOWN, "", 0, 40 * MILLI),
		by(CULPRIT_STOLEN, "", 0, 30 * MILLI),
	};
	static const enum cause want[] = { CAUSE_TASK,      CAUSE_OWN_THREADS, CAUSE_SOFTIRQ,
					   CAUSE_THROTTLED, CAUSE_SOFTIRQ,     CAUSE_RT_LIMIT,
					   CAUSE_STOLEN };
	static const size_t whose[] = { 0, 1, 2, 3, 4, 5, 8 };
	struct thread_row row = runner(1, "main");
	struct sample sample = verdict_sample(&row, 1);
	struct verdict verdict = { 0 };

	culprits[1].own = true;
	culprits[2].kernel = culprits[2].ksoftirqd = true;
	culprits[5].rt_limit = true;
	memcpy(sample.quota.group, "/batch", sizeof("/batch"));
	spend(&row, LEDGER_READY_WOKEN, 605 * MILLI);
	spend(&row, LEDGER_THROTTLED, 70 * MILLI);
	row.ready = times(10, 675 * MILLI, 100 * MILLI);
	row.culprits = culprits;
	row.n_culprits = sizeof(culprits) / sizeof(*culprits);
	is_i64(verdict_find(&verdict, &sample), 0, "there is memory");
	is_u64(verdict.n_blamed, 7, "seven are blamed");
	for (size_t i = 0; i < verdict.n_blamed && i < 7; i++) {
		is_str(cause_words[verdict.rows[i].cause].key, cause_words[want[i]].key,
		       "cause %zu", i);
		is_u64(verdict.rows[i].ns, culprits[whose[i]].woken_ns, "its time");
		is_u64(verdict.rows[i].longest, culprits[whose[i]].longest_ns, "its longest case");
	}
	is_str(verdict.rows[0].who.comm, "hog", "its name");
	ok(verdict.rows[0].who.tid == 812 && verdict.rows[0].who.scheduled &&
		   verdict.rows[0].who.policy == 1 && verdict.rows[0].who.priority == 50,
	   "and who it is");
	is_str(verdict.rows[3].who.comm, "/batch", "the group whose quota it was");
	is_u64(verdict.unexplained, 90 * MILLI, "an idle CPU, and what is not known");
	verdict_clear(&verdict);
}

/* What the hypervisor took from a thread while it ran. */
static void test_stolen(void)
{
	struct thread_row row = runner(1, "main");
	struct sample sample = verdict_sample(&row, 1);
	struct verdict verdict = { 0 };

	spend(&row, LEDGER_STOLEN, 120 * MILLI);
	row.stolen = times(9, 121 * MILLI, 50 * MILLI);
	is_i64(verdict_find(&verdict, &sample), 0, "there is memory");
	ok(verdict.n_blamed == 1 && verdict.rows[0].cause == CAUSE_STOLEN, "the hypervisor");
	is_u64(verdict.rows[0].ns, 120 * MILLI, "for what is in the ledger");
	is_u64(verdict.rows[0].count, 9, "so often");
	is_u64(verdict.rows[0].longest, 50 * MILLI, "at most so long at once");
	is_u64(verdict.unexplained, 0, "all is explained");
	verdict_clear(&verdict);
}

/* How often it was is not known. */
static void test_frozen(void)
{
	struct thread_row row = runner(1, "main");
	struct verdict verdict;

	spend(&row, LEDGER_FROZEN, 200 * MILLI);
	verdict = judge(&row);
	is_blamed(&verdict, CAUSE_FROZEN, 200 * MILLI, 0, "");
	is_u64(verdict.work, 0, "it did not wait for work");
	is_u64(verdict.unexplained, 0, "all is explained");
	verdict_clear(&verdict);
}

/* Hundred that have less than 1 % each are blamed together, with what has no name anyway. */
static void test_small_ones(void)
{
	struct culprit culprits[100];
	struct thread_row row = runner(1, "main");
	struct verdict verdict;

	for (int i = 0; i < 100; i++)
		culprits[i] = by(CULPRIT_TASK, "shell", 100 + i, 5 * MILLI);
	spend(&row, LEDGER_READY_WOKEN, 500 * MILLI);
	row.ready = times(100, 500 * MILLI, 9 * MILLI);
	row.culprits = culprits;
	row.n_culprits = 100;
	verdict = judge(&row);
	is_u64(verdict.n_rows, 1, "one row");
	is_blamed(&verdict, CAUSE_TASK, 500 * MILLI, 5 * MILLI / 2, "");
	verdict_clear(&verdict);
	culprits[99] = by(CULPRIT_REST, "", 0, 200 * MILLI);
	spend(&row, LEDGER_READY_WOKEN, 195 * MILLI);
	verdict = judge(&row);
	is_u64(verdict.n_rows, 1, "one row for all");
	is_blamed(&verdict, CAUSE_TASK, 695 * MILLI, 100 * MILLI, "");
	verdict_clear(&verdict);

	/* Once, and so too seldom to be blamed alone. */
	row = runner(1, "main");
	culprits[0] = by(CULPRIT_TASK, "hog", 100, 60 * MILLI);
	culprits[1] = by(CULPRIT_TASK, "shell", 101, MILLI);
	spend(&row, LEDGER_READY_WOKEN, 61 * MILLI);
	row.ready = times(2, 61 * MILLI, 60 * MILLI);
	row.culprits = culprits;
	row.n_culprits = 2;
	verdict = judge(&row);
	is_u64(verdict.n_rows, 1, "one row for both");
	is_str(verdict.rows[0].who.comm, "hog", "with the name of the one that has nearly all");
	verdict_clear(&verdict);
	culprits[0] = by(CULPRIT_TASK, "hog", 100, 200 * MILLI);
	culprits[2] = by(CULPRIT_TASK, "shell", 102, MILLI);
	spend(&row, LEDGER_READY_WOKEN, 141 * MILLI);
	row.ready = times(9, 202 * MILLI, 60 * MILLI);
	row.n_culprits = 3;
	verdict = judge(&row);
	is_u64(verdict.n_rows, 2, "a large one stays by itself");
	is_str(verdict.rows[1].who.comm, "", "and the small ones have not its name");
	verdict_clear(&verdict);
}

/* From edge to edge, without an event. */
static void test_silent(void)
{
	struct thread_row row = runner(1, "main");
	struct verdict verdict;

	row.run.count = 0;
	spend(&row, LEDGER_READY_PREEMPTED, SECOND);
	verdict = judge(&row);
	is_blamed(&verdict, CAUSE_TASK, SECOND, SECOND, "");
	verdict_clear(&verdict);
}

static void test_interrupts(void)
{
	struct thread_row row = runner(1, "main");
	struct irq_row hard[] = {
		{ .name = "eth0", .count = 90, .total = 50 * MILLI, .max = MILLI },
		{ .name = "nvme", .count = 9, .total = 9 * MILLI, .max = 2 }
	};
	struct irq_row soft = {
		.name = "net_rx", .vector = 3, .count = 90, .total = 80 * MILLI, .max = 3 * MILLI
	};
	struct verdict verdict;

	row.hardirqs = hard, row.n_hardirqs = 2;
	spend(&row, LEDGER_HARDIRQ, 60 * MILLI);
	verdict = judge(&row);
	is_blamed(&verdict, CAUSE_HARDIRQ, 60 * MILLI, MILLI, "eth0");
	verdict_clear(&verdict);

	row.softirqs = &soft, row.n_softirqs = 1;
	spend(&row, LEDGER_SOFTIRQ, 80 * MILLI);
	verdict = judge(&row);
	is_u64(verdict.n_blamed, 2, "both kinds are blamed");
	ok(verdict.rows[0].cause == CAUSE_SOFTIRQ && verdict.rows[1].cause == CAUSE_HARDIRQ,
	   "the larger one first");
	is_str(verdict.rows[0].who.comm, "net_rx", "with its name");
	verdict_clear(&verdict);
}

/* Once, but for long; and once for a moment. */
static void test_memory(void)
{
	struct thread_row row = runner(1, "main");
	struct verdict verdict;

	row.minor_faults = 190, row.major_faults = 10;
	spend(&row, LEDGER_FAULT, 300 * MILLI);
	verdict = judge(&row);
	is_blamed(&verdict, CAUSE_PAGE_FAULT, 300 * MILLI, 0, "");
	is_u64(verdict.kept, 300 * MILLI, "page faults are the kernel's doing");
	verdict_clear(&verdict);

	spend(&row, LEDGER_BLOCKED_UNINT, 200 * MILLI);
	row.ledger.awaited[KD_AWAITED_PAGE] = times(10, 200 * MILLI, 30 * MILLI);
	verdict = judge(&row);
	is_blamed(&verdict, CAUSE_PAGE_FAULT, 500 * MILLI, 30 * MILLI, "");
	verdict_clear(&verdict);

	row = runner(1, "main");
	spend(&row, LEDGER_RECLAIM, 30 * MILLI);
	verdict = judge(&row);
	is_blamed(&verdict, CAUSE_RECLAIM, 30 * MILLI, 0, "");
	verdict_clear(&verdict);
}

static void test_stopped(void)
{
	struct thread_row row = runner(1, "main");
	struct verdict verdict;

	spend(&row, LEDGER_STOPPED, 200 * MILLI);
	row.stopped = times(1, 200 * MILLI, 200 * MILLI);
	verdict = judge(&row);
	is_blamed(&verdict, CAUSE_STOPPED, 200 * MILLI, 200 * MILLI, "");
	verdict_clear(&verdict);

	row = runner(1, "main");
	spend(&row, LEDGER_STOPPED, 50 * MILLI);
	row.stopped = times(1, 50 * MILLI, 50 * MILLI);
	verdict = judge(&row);
	is_u64(verdict.n_blamed, 0, "5 %% once: nobody");
	is_u64(verdict.n_rows, 1, "but it is listed");
	verdict_clear(&verdict);

	row.stopped.count = 3;
	verdict = judge(&row);
	is_u64(verdict.n_blamed, 1, "5 %% in three times: blamed");
	verdict_clear(&verdict);

	row = runner(1, "reader");
	spend(&row, LEDGER_STOPPED, 300 * MILLI);
	spend(&row, LEDGER_BLOCKED, 690 * MILLI);
	row.stopped = times(3, 300 * MILLI, 100 * MILLI);
	row.ledger.awaited[KD_AWAITED_PIPE] = times(4, 690 * MILLI, 200 * MILLI);
	verdict = judge(&row);
	is_blamed(&verdict, CAUSE_STOPPED, 300 * MILLI, 100 * MILLI, "");
	is_u64(verdict.work, 690 * MILLI, "asleep whenever it was not stopped: it is idle");
	verdict_clear(&verdict);

	row.ledger.awaited[KD_AWAITED_PIPE].count = 5;
	verdict = judge(&row);
	is_u64(verdict.n_blamed, 2, "one sleep was ended by another: a peer");
	verdict_clear(&verdict);
}

static void test_healthy(void)
{
	struct call_row calls[] = {
		{ (uint32_t)syscall_number("epoll_wait"), 100, 700 * MILLI, 90 * MILLI, { 0 } },
		{ (uint32_t)syscall_number("write"), 100, 50 * MILLI, MILLI, { 0 } },
	};
	struct thread_row row = runner(1, "main");
	struct verdict verdict = judge(&row);

	ok(!verdict.n_blamed && !verdict.n_rows && !verdict.kept, "busy: nobody");
	verdict_clear(&verdict);

	row.calls = calls, row.n_calls = 2;
	spend(&row, LEDGER_BLOCKED, 690 * MILLI);
	spend(&row, LEDGER_READY_WOKEN, 3 * MILLI);
	row.ready = times(100, 3 * MILLI, MILLI);
	verdict = judge(&row);
	is_u64(verdict.n_blamed, 0, "less than 1 %% of what it was busy: nobody");
	is_u64(verdict.work, 690 * MILLI, "it slept in epoll_wait");
	is_u64(verdict.busy, 310 * MILLI, "the rest it was busy");
	is_u64(verdict.unexplained, 0, "nothing is unexplained");
	verdict_clear(&verdict);

	spend(&row, LEDGER_READY_WOKEN, MILLI);
	verdict = judge(&row);
	is_u64(verdict.n_blamed, 1, "more than 1 %% of what it was busy: blamed");
	verdict_clear(&verdict);

	row = runner(1, "sleeper");
	row.run.count = 0;
	spend(&row, LEDGER_BLOCKED, SECOND);
	verdict = judge(&row);
	ok(!verdict.n_blamed && !verdict.busy && !verdict.unexplained, "asleep throughout: nobody");
	verdict_clear(&verdict);
}

/* The holder of a lock, though the thread waits for it throughout. */
static void test_lock(void)
{
	struct lock_row locks[] = {
		{ .holder = 7, .holder_name = "holder", .waits = times(1, 3 * SECOND, 3 * SECOND) },
		{ .holder = 0, .waits = times(5, SECOND, SECOND) },
	};
	struct thread_row row = runner(1, "main");
	struct verdict verdict;

	row.run.count = 0;
	row.locks = locks, row.n_locks = 2;
	spend(&row, LEDGER_BLOCKED, SECOND);
	row.ledger.awaited[KD_AWAITED_LOCK] = times(1, SECOND, SECOND);
	verdict = judge(&row);
	is_blamed(&verdict, CAUSE_LOCK, SECOND, 3 * SECOND, "holder");
	verdict_clear(&verdict);

	row.n_locks = 0;
	verdict = judge(&row);
	is_u64(verdict.n_rows, 0, "without a holder it may be idle");
	verdict_clear(&verdict);
}

/* Of the kernel: its holder, or nobody where that was a guess, which others' ends refute. Whoever
 * waits for one is not idle. */
static void test_kernel_lock(void)
{
	struct descriptor_row pipe = { .awaited = KD_AWAITED_KERNEL_LOCK,
				       .is = { .fd = 5 },
				       .waits = times(9, SECOND, 200 * MILLI) };
	struct lock_row locks[] = {
		{ .kind = KD_LOCK_KERNEL_MUTEX,
		  .holder = 7,
		  .holder_pid = 6,
		  .holder_name = "outsider",
		  .waits = times(9, SECOND, 200 * MILLI),
		  .others = 9 },
		{ .kind = KD_LOCK_NO_OWNER, .released_by = 8, .waits = times(5, SECOND, SECOND) },
	};
	struct thread_row row = runner(1, "main");
	struct verdict verdict;

	row.run.count = 0;
	row.locks = locks, row.n_locks = 2;
	row.descriptors = &pipe, row.n_descriptors = 1;
	spend(&row, LEDGER_BLOCKED, SECOND);
	row.ledger.awaited[KD_AWAITED_KERNEL_LOCK] = times(9, SECOND, 200 * MILLI);
	verdict = judge(&row);
	is_blamed(&verdict, CAUSE_KERNEL_LOCK, SECOND, 200 * MILLI, "outsider");
	is_i64(verdict.rows[0].who.pid, 6, "its process");
	ok(verdict.rows[0].at == &pipe.is, "which descriptor it was");
	is_u64(verdict.until_woken, SECOND, "the waker of a condition, and not of a kernel's lock");
	verdict_clear(&verdict);

	locks[0].kind = KD_LOCK_KERNEL_RWSEM_WRITE;
	verdict = judge(&row);
	is_blamed(&verdict, CAUSE_KERNEL_LOCK, SECOND, 200 * MILLI, "");
	verdict_clear(&verdict);
}

/* Of a file, which is no futex; also where the thread waits for it throughout. */
static void test_file_lock(void)
{
	struct lock_row futex = { .holder = 7,
				  .holder_name = "holder",
				  .waits = times(9, 200 * MILLI, 40 * MILLI) };
	struct call_row call = {
		(uint32_t)syscall_number("flock"), 9, 400 * MILLI, 90 * MILLI, { 0 }
	};
	struct open_item open = { .kind = OPEN_CALL,
				  .number = syscall_number("flock"),
				  .count = 1,
				  .inside = SECOND,
				  .longest = 2 * SECOND,
				  .at_start = true,
				  .at_end = true };
	struct thread_row row = runner(1, "main");
	struct verdict verdict;

	row.calls = &call, row.n_calls = 1;
	row.locks = &futex, row.n_locks = 1;
	spend(&row, LEDGER_BLOCKED, 550 * MILLI);
	row.ledger.awaited[KD_AWAITED_LOCK] = times(18, 550 * MILLI, 90 * MILLI);
	verdict = judge(&row);
	is_u64(verdict.n_blamed, 2, "two locks");
	is_u64(verdict.rows[0].ns, 350 * MILLI, "the file's has what the futex leaves");
	is_str(verdict.rows[0].who.comm, "", "whose holder is not known");
	is_u64(verdict.rows[1].ns, 200 * MILLI, "the futex has its time");
	is_u64(verdict.unexplained, 0, "nothing is unexplained");
	verdict_clear(&verdict);

	row = runner(1, "main");
	row.run.count = 0;
	row.open = &open, row.n_open = 1;
	spend(&row, LEDGER_BLOCKED, SECOND);
	row.ledger.awaited[KD_AWAITED_LOCK] = times(1, SECOND, 2 * SECOND);
	verdict = judge(&row);
	is_blamed(&verdict, CAUSE_LOCK, SECOND, 2 * SECOND, "");
	verdict_clear(&verdict);
}

/* The lock of the address space, by the calls that need it. */
static void test_memory_lock(void)
{
	struct call_row calls[] = {
		{ (uint32_t)syscall_number("mmap"), 9, 400 * MILLI, 90 * MILLI, { 0 } },
		{ (uint32_t)syscall_number("close"), 9, 300 * MILLI, 90 * MILLI, { 0 } },
	};
	struct thread_row row = runner(1, "main");
	struct verdict verdict;

	row.calls = calls, row.n_calls = 2;
	spend(&row, LEDGER_BLOCKED_UNINT, 600 * MILLI);
	row.ledger.awaited[KD_AWAITED_OTHER] = times(18, 600 * MILLI, 80 * MILLI);
	verdict = judge(&row);
	is_u64(verdict.n_blamed, 1, "one is blamed");
	ok(verdict.rows[0].cause == CAUSE_KERNEL_LOCK, "a lock in the kernel");
	is_u64(verdict.rows[0].ns, 400 * MILLI, "for what mmap took");
	is_u64(verdict.rows[0].longest, 80 * MILLI, "the longest is no longer than a sleep");
	is_u64(verdict.unexplained, 200 * MILLI, "what close waited for is unexplained");
	verdict_clear(&verdict);
}

/* Of a condition variable: of those who end its waits, the one with most. */
static void test_waker(void)
{
	struct lock_row locks[] = {
		{ .waits = times(9, 100 * MILLI, MILLI), .released_by = 9, .released_name = "c" },
		{ .waits = times(9, 150 * MILLI, MILLI), .released_by = 8, .released_name = "b" },
		{ .waits = times(9, 60 * MILLI, MILLI), .released_by = 9, .released_name = "c" },
		{ .waits = times(9, 300 * MILLI, MILLI) }, /* nobody did */
	};
	struct thread_row rows[] = { runner(1, "main"), runner(2, "other") };
	struct sample sample = verdict_sample(rows, 2);
	struct verdict verdict = { 0 };

	for (size_t i = 0; i < 2; i++) {
		rows[i].locks = locks, rows[i].n_locks = 4;
		spend(&rows[i], LEDGER_BLOCKED, 610 * MILLI);
		rows[i].ledger.awaited[KD_AWAITED_LOCK] = times(36, 610 * MILLI, MILLI);
	}
	is_i64(verdict_find(&verdict, &sample), 0, "there is memory");
	is_u64(verdict.n_blamed, 0, "a condition is nobody's");
	is_u64(verdict.unexplained, 1220 * MILLI, "its waits are unexplained");
	is_u64(verdict.until_woken, 320 * MILLI, "but one woke them");
	ok(verdict.waker.tid == 9 && !strcmp(verdict.waker.comm, "c"), "and who");
	verdict_clear(&verdict);
}

/* Sleeps are no delay but for what they were too long, if that was much. */
static void test_timer(void)
{
	struct thread_row row = runner(1, "main");
	struct verdict verdict;

	spend(&row, LEDGER_BLOCKED, 900 * MILLI);
	row.ledger.awaited[KD_AWAITED_TIMER] = times(90, 900 * MILLI, 30 * MILLI);
	row.overslept.by = times(90, 300 * MILLI, 20 * MILLI);
	verdict = judge(&row);
	is_u64(verdict.n_rows, 0, "none was late: nobody");
	is_u64(verdict.work, 900 * MILLI, "it had nothing to do");
	verdict_clear(&verdict);

	row.overslept.late = times(30, 250 * MILLI, 20 * MILLI);
	verdict = judge(&row);
	is_u64(verdict.work, 650 * MILLI, "but not for what it was woken late");
	is_blamed(&verdict, CAUSE_TIMER, 250 * MILLI, 20 * MILLI, "");
	is_u64(verdict.unexplained, 0, "nothing is unexplained");
	verdict_clear(&verdict);
}

/* What nobody claims stays what it is. */
static void test_unexplained(void)
{
	struct call_row call = { (uint32_t)syscall_number("ioctl"), 9, 400 * MILLI, MILLI, { 0 } };
	struct thread_row row = runner(1, "main");
	struct verdict verdict;

	row.calls = &call, row.n_calls = 1;
	spend(&row, LEDGER_BLOCKED, 300 * MILLI);
	spend(&row, LEDGER_READY_WOKEN, 20 * MILLI);
	row.ready = times(9, 20 * MILLI, 3 * MILLI);
	verdict = judge(&row);
	is_u64(verdict.unexplained, 300 * MILLI, "asleep in a call that says nothing");
	is_u64(verdict.kept, 320 * MILLI, "is part of the time that it did not run");
	is_u64(verdict.rows[0].ns, 20 * MILLI, "and nobody's share grows by it");
	verdict_clear(&verdict);
}

static void test_sums(void)
{
	struct thread_row rows[3] = { runner(1, "a"), runner(2, "b"), runner(3, "c") };
	struct sample sample = verdict_sample(rows, 3);
	struct verdict verdict = { 0 };

	for (size_t i = 0; i < 3; i++) {
		spend(&rows[i], LEDGER_READY_WOKEN, (i + 1) * 100 * MILLI);
		rows[i].ready = times(1, (i + 1) * 100 * MILLI, (i + 1) * 100 * MILLI);
	}
	rows[2].members = 5;
	is_i64(verdict_find(&verdict, &sample), 0, "three rows");
	is_u64(verdict.n_rows, 1, "one culprit, as nobody knows who");
	is_u64(verdict.rows->ns, 600 * MILLI, "the sum");
	is_u64(verdict.rows->longest, 300 * MILLI, "the longest of all");
	is_u64(verdict.rows->threads, 7, "all threads of all rows");
	ok(verdict.rows->worst == &rows[2] && verdict.rows->worst_ns == 300 * MILLI, "the worst");
	is_u64(verdict.busy, 3 * SECOND, "life");
	is_u64(verdict.threads[1].kept, 200 * MILLI, "of each thread");
	verdict_clear(&verdict);
	ok(!verdict.rows && !verdict.threads, "cleared");
	verdict_clear(&verdict);

	sample.n_threads = 0;
	is_i64(verdict_find(&verdict, &sample), 0, "no thread");
	ok(!verdict.n_rows && !verdict.busy, "nothing");
	verdict_clear(&verdict);
}

/* Figures that cannot be true stay within bounds. */
static void test_extremes(void)
{
	struct thread_row row = runner(1, "main");
	struct verdict verdict;

	memset(row.ledger.ns, 0xff, sizeof(row.ledger.ns));
	row.ready = times(UINT64_MAX, UINT64_MAX, UINT64_MAX);
	verdict = judge(&row);
	ok(verdict.kept <= verdict.busy && verdict.busy <= row.ledger.life,
	   "no more than its life");
	verdict_clear(&verdict);
	row.members = 0;
	row.ledger.ns[LEDGER_USER] = 0;
	row.ready = times(0, 0, 0);
	verdict = judge(&row);
	verdict_clear(&verdict);
}

int main(void)
{
	test_task();
	test_culprits();
	test_stolen();
	test_frozen();
	test_small_ones();
	test_silent();
	test_interrupts();
	test_memory();
	test_stopped();
	test_healthy();
	test_lock();
	test_kernel_lock();
	test_file_lock();
	test_memory_lock();
	test_waker();
	test_timer();
	test_unexplained();
	test_sums();
	test_extremes();
	return done_testing();
}
