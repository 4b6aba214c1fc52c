/* SPDX-License-Identifier: Apache-2.0 */
/* What kept a target from running, found in samples that are made up. */
#include <stdlib.h>

#include "cli/json/json.h"
#include "cli/text/text.h"
#include "verdict_said.h"

TEST(ready)
{
	struct thread_row row = spent(LEDGER_READY_WOKEN, 300 * MILLI);

	spend(&row, LEDGER_READY_PREEMPTED, 100 * MILLI);
	row.ready = times(10, 400 * MILLI, 90 * MILLI);
	judge(&row, "task 400/90 x10, kept 400 of 1000", "it waited for a CPU");

	row = runner(1, "main");
	row.run.count = 0;
	spend(&row, LEDGER_READY_PREEMPTED, SECOND);
	judge(&row, "task 1000/1000 x1, kept 1000 of 1000",
	      "it waited from edge to edge, without an event");
}

/* Who had the CPU, each to his cause; what is not known is unexplained. */
TEST(culprits)
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
		by(CULPRIT_DEADLINE, "", 0, 20 * MILLI),
	};
	struct thread_row row = runner(1, "main");
	struct sample sample = verdict_sample(&row, 1);

	culprits[1].own = true;
	culprits[2].kernel = culprits[2].ksoftirqd = true;
	culprits[5].rt_limit = true;
	culprits[6].longest_ns = MILLI / 2;
	memcpy(culprits[3].group, "/batch", sizeof("/batch"));
	spend(&row, LEDGER_READY_WOKEN, 605 * MILLI);
	spend(&row, LEDGER_THROTTLED, 90 * MILLI);
	row.ready = times(10, 675 * MILLI, 100 * MILLI);
	row.culprits = culprits;
	row.n_culprits = COUNT(culprits);
	is_verdict(&sample,
		   "task 200/100 x10 hog[812] policy 1 50, softirq 140/40 x20 ksoftirqd/0[16] "
		   "policy 1 50, own_threads 90/45 x10 worker[5] policy 1 50, throttled 70/35 x10 "
		   "/batch, rt_limit 55/27.5 x10 compiler[900] policy 1 50, idle_cpu 50/0.5 x10, "
		   "stolen 30/15 x10, deadline 20/10 x10, kept 695 of 1000, unexplained 40",
		   "who had the CPU");
}

/* Who had the CPU is of the same policy in the verdict, its sentence and the list of culprits. */
TEST(policy)
{
	struct culprit culprit = by(CULPRIT_TASK, "hog", 812, 200 * MILLI);
	struct thread_row row = runner(1, "main");
	struct sample sample = verdict_sample(&row, 1);
	struct verdict verdict = { 0 };
	const char *found;
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	culprit.policy = CULPRIT_POLICIES - 1;
	spend(&row, LEDGER_READY_WOKEN, 200 * MILLI);
	row.ready = times(10, 200 * MILLI, 100 * MILLI);
	row.culprits = &culprit;
	row.n_culprits = 1;
	need(out && !verdict_find(&verdict, &sample));
	sample.verdict = &verdict;
	is_i64(report_json(&sample, NULL, out), 0, "it is written");
	is_i64(report_text_verdict(&sample, out), 0, "its sentence, too");
	need(!fclose(out));
	found = strstr(text, "\"policy\":\"SCHED_EXT\"");
	ok(found && strstr(found + 1, "\"policy\":\"SCHED_EXT\""), "in both");
	ok(strstr(text, "hog[812] (SCHED_EXT)"), "in the sentence");
	verdict_clear(&verdict);
	free(text);
}

/* What of the waits for an idle CPU is too long for a wake-up is unexplained. */
TEST(idle_cpu)
{
	struct culprit idle = by(CULPRIT_IDLE, "", 0, 300 * MILLI);
	struct thread_row row = runner(1, "main");
	struct sample sample = verdict_sample(&row, 1);

	spend(&row, LEDGER_READY_WOKEN, 300 * MILLI);
	row.ready = times(100, 300 * MILLI, 60 * MILLI);
	row.culprits = &idle;
	row.n_culprits = 1;
	idle.longest_ns = 60 * MILLI;
	is_verdict(&sample, "idle_cpu 240/0 x100, kept 300 of 1000, unexplained 60",
		   "not allowed to run it once");
	idle.longest_ns = 0.9 * MILLI;
	is_verdict(&sample, "idle_cpu 300/0.9 x100, kept 300 of 1000", "woken up each time");
}

/* What the hypervisor took from a thread while it ran; what was frozen, of which it is not known
 * how often. */
TEST(stolen_and_frozen)
{
	struct thread_row row = spent(LEDGER_STOLEN, 120 * MILLI);

	row.stolen = times(9, 121 * MILLI, 50 * MILLI);
	judge(&row, "stolen 120/50 x9, kept 120 of 1000", "for what is in the ledger");
	row = spent(LEDGER_FROZEN, 200 * MILLI);
	judge(&row, "frozen 200/0 x0, kept 200 of 1000", "it did not wait for work");
}

/* Hundred that have less than 1 % each are blamed together, with what has no name anyway; with a
 * name only if one of them has nearly all. */
TEST(small_ones)
{
	struct culprit culprits[100];
	struct thread_row row = runner(1, "main");

	for (int i = 0; i < 100; i++)
		culprits[i] = by(CULPRIT_TASK, "shell", 100 + i, 5 * MILLI);
	spend(&row, LEDGER_READY_WOKEN, 500 * MILLI);
	row.ready = times(100, 500 * MILLI, 9 * MILLI);
	row.culprits = culprits;
	row.n_culprits = 100;
	judge(&row, "task 500/2.5 x10000 shell policy 1 50, kept 500 of 1000", "one row");
	culprits[99] = by(CULPRIT_REST, "", 0, 200 * MILLI);
	spend(&row, LEDGER_READY_WOKEN, 195 * MILLI);
	judge(&row, "task 495/2.5 x9900 shell policy 1 50, task 200/100 x100, kept 695 of 1000",
	      "one row for all of the same program, one for who has no name");

	row = runner(1, "main");
	culprits[0] = by(CULPRIT_TASK, "hog", 100, 60 * MILLI);
	culprits[1] = by(CULPRIT_TASK, "shell", 101, MILLI);
	spend(&row, LEDGER_READY_WOKEN, 61 * MILLI);
	row.ready = times(2, 61 * MILLI, 60 * MILLI);
	row.culprits = culprits;
	row.n_culprits = 2;
	judge(&row, "task 61/30 x4 hog[100] policy 1 50, kept 61 of 1000",
	      "with the name of the one that has nearly all");
	culprits[0] = by(CULPRIT_TASK, "hog", 100, 200 * MILLI);
	culprits[2] = by(CULPRIT_TASK, "shell", 102, MILLI);
	spend(&row, LEDGER_READY_WOKEN, 141 * MILLI);
	row.ready = times(9, 202 * MILLI, 60 * MILLI);
	row.n_culprits = 3;
	judge(&row,
	      "task 200/100 x9 hog[100] policy 1 50, (task 2/0.5 x18 shell policy 1 50), kept 202 "
	      "of 1000",
	      "a large one stays by itself, the small ones have not its name");
}

TEST(interrupts)
{
	struct thread_row row = runner(1, "main");
	struct irq_row hard[] = {
		{ .name = "eth0", .count = 90, .total = 50 * MILLI, .max = MILLI },
		{ .name = "nvme", .count = 9, .total = 9 * MILLI, .max = 2 }
	};
	struct irq_row soft = {
		.name = "net_rx", .vector = 3, .count = 90, .total = 80 * MILLI, .max = 3 * MILLI
	};

	row.hardirqs = hard, row.n_hardirqs = 2;
	spend(&row, LEDGER_HARDIRQ, 60 * MILLI);
	judge(&row, "hardirq 60/1 x99 eth0, kept 60 of 1000", "interrupts");
	row.softirqs = &soft, row.n_softirqs = 1;
	spend(&row, LEDGER_SOFTIRQ, 80 * MILLI);
	judge(&row, "softirq 80/3 x90 net_rx, hardirq 60/1 x99 eth0, kept 140 of 1000",
	      "both kinds, the larger one first");
}

TEST(memory)
{
	struct thread_row row = runner(1, "main");

	row.minor_faults = 190, row.major_faults = 10;
	spend(&row, LEDGER_FAULT, 300 * MILLI);
	judge(&row, "page_fault 300/0 x200, kept 300 of 1000",
	      "page faults are the kernel's doing");
	spend(&row, LEDGER_BLOCKED_UNINT, 200 * MILLI);
	row.ledger.awaited[KD_AWAITED_PAGE] = times(10, 200 * MILLI, 30 * MILLI);
	judge(&row, "page_fault 500/30 x200, kept 500 of 1000", "and so are waits for pages");
	row.ledger.awaited[KD_AWAITED_PAGE].max = 3000 * MILLI;
	judge(&row, "page_fault 500/3000 x200, kept 500 of 1000", "one began before the window");
	row.ledger.awaited[KD_AWAITED_PAGE].max = 150 * MILLI;
	row.majors = (struct kd_majors){ { 10, 170 * MILLI, 151 * MILLI, 0 }, 160 * MILLI };
	judge(&row, "page_fault 330/0 x190, major_fault 170/151 x10, kept 500 of 1000",
	      "those that read a disk are told apart");
	row = spent(LEDGER_RECLAIM, 30 * MILLI);
	judge(&row, "reclaim 30/0 x0, kept 30 of 1000", "reclaim");
}

TEST(stopped)
{
	struct thread_row row = spent(LEDGER_STOPPED, 200 * MILLI);

	row.stopped = times(1, 200 * MILLI, 200 * MILLI);
	judge(&row, "stopped 200/200 x1, kept 200 of 1000", "20 % once");
	row = spent(LEDGER_STOPPED, 50 * MILLI);
	row.stopped = times(1, 50 * MILLI, 50 * MILLI);
	judge(&row, "(stopped 50/50 x1), kept 50 of 1000", "5 % once: nobody, but it is listed");
	row.stopped.count = 3;
	judge(&row, "stopped 50/50 x3, kept 50 of 1000", "5 % in three times: blamed");

	row = runner(1, "reader");
	spend(&row, LEDGER_STOPPED, 300 * MILLI);
	spend(&row, LEDGER_BLOCKED, 690 * MILLI);
	row.stopped = times(3, 300 * MILLI, 100 * MILLI);
	row.ledger.awaited[KD_AWAITED_PIPE] = times(4, 690 * MILLI, 200 * MILLI);
	judge(&row, "stopped 300/100 x3, kept 300 of 310, work 690",
	      "asleep whenever it was not stopped: it is idle");
	row.ledger.awaited[KD_AWAITED_PIPE].count = 5;
	judge(&row, "peer 690/200 x5, stopped 300/100 x3, kept 990 of 1000",
	      "one sleep was ended by another: a peer");
}

/* Of those who stopped it, by name. */
TEST(stopper)
{
	struct stop_row stops[] = {
		{ KD_STOP_TRACER, 0, 2147483647, 4711, "sixteen letters!", { 1234, SECOND, 9, 0 } },
		{ KD_STOP_SIGNAL, 19, 4711, 4711, "sh", { 2, 30, 20, 0 } },
	};
	struct thread_row row = runner(1, "main");

	row.ledger.life = row.ledger.ns[LEDGER_USER] = 2 * SECOND;
	spend(&row, LEDGER_STOPPED, 2 * SECOND);
	row.stopped = times(1236, SECOND, 20);
	row.stops = stops, row.n_stops = 2;
	judge(&row,
	      "stopped 1000/9e-06 x1234 sixteen letters![2147483647], (stopped 3e-05/2e-05 x2 "
	      "sh[4711]), kept 2000 of 2000, unexplained 1000",
	      "the tracer, for its time");
}

/* Others that move the target's threads: those of a name together, if it was often. */
TEST(mover)
{
	struct mover_row movers[] = { { 4711, 4711, "self", 900 },
				      { 811, 811, "taskset", 6 },
				      { 812, 812, "taskset", 5 },
				      { 813, 813, "balancer", 10 },
				      { 0, 0, "", 900 } };
	struct thread_row row = runner(4712, "worker");

	row.movers = movers, row.n_movers = COUNT(movers);
	judge(&row, "kept 0 of 1000, moved 11 by taskset[0]",
	      "so often in a second, by several of a name");
	movers[3].count = 12;
	judge(&row, "kept 0 of 1000, moved 12 by balancer[813]", "who did it most often is one");
	movers[1].count = movers[3].count = 4;
	judge(&row, "kept 0 of 1000", "less than ten times a second is not often");
}

/* The disk, and how fast it is. */
TEST(disk)
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

	row.descriptors = disks, row.n_descriptors = 2;
	spend(&row, LEDGER_BLOCKED_UNINT, 400 * MILLI);
	row.ledger.awaited[KD_AWAITED_DISK] = times(10, 400 * MILLI, 100 * MILLI);
	judge(&row, "disk 400/100 x10 vda1 requests 339/99 x9, kept 400 of 1000",
	      "a disk by name, with its requests");
}

TEST(healthy)
{
	struct call_row calls[] = {
		{ (uint32_t)syscall_number("epoll_pwait"), 100, 700 * MILLI, 90 * MILLI, { 0 }, 0 },
		{ (uint32_t)syscall_number("write"), 100, 50 * MILLI, MILLI, { 0 }, 0 },
	};
	struct thread_row row = runner(1, "main");

	judge(&row, "kept 0 of 1000", "busy: nobody");
	row.calls = calls, row.n_calls = 2;
	spend(&row, LEDGER_BLOCKED, 690 * MILLI);
	spend(&row, LEDGER_READY_WOKEN, 3 * MILLI);
	row.ready = times(100, 3 * MILLI, MILLI);
	judge(&row, "(task 3/1 x100), kept 3 of 310, work 690",
	      "less than 1 % of what it was busy: nobody");
	spend(&row, LEDGER_READY_WOKEN, MILLI);
	judge(&row, "(task 4/1 x100), kept 4 of 310, work 690",
	      "more than 1 % of what it was busy, which is little of the window: nobody");
	spend(&row, LEDGER_READY_WOKEN, 16 * MILLI);
	judge(&row, "task 20/1 x100, kept 20 of 310, work 690", "2 % of the window: blamed");

	row = runner(1, "sleeper");
	row.run.count = 0;
	spend(&row, LEDGER_BLOCKED, SECOND);
	judge(&row, "kept 0 of 0, work 1000", "asleep throughout: nobody");
}

/* The holder of a lock, though the thread waits for it throughout. */
TEST(lock)
{
	struct lock_row locks[] = {
		{ .holder = 7, .holder_name = "holder", .waits = times(1, 3 * SECOND, 3 * SECOND) },
		{ .holder = 0, .waits = times(5, SECOND, SECOND) },
	};
	struct thread_row row = runner(1, "main");

	row.run.count = 0;
	row.locks = locks, row.n_locks = 2;
	spend(&row, LEDGER_BLOCKED, SECOND);
	row.ledger.awaited[KD_AWAITED_LOCK] = times(1, SECOND, SECOND);
	judge(&row, "lock 1000/3000 x1 holder[7], kept 1000 of 1000", "the holder of a lock");
	row.n_locks = 0;
	judge(&row, "kept 0 of 0, work 1000", "without a holder it may be idle");
}

/* Of the kernel: its holder, or nobody where that was a guess, which others' ends refute. Whoever
 * waits for one is not idle. */
TEST(kernel_lock)
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
	struct sample sample = verdict_sample(&row, 1);
	struct verdict verdict = { 0 };

	row.run.count = 0;
	row.locks = locks, row.n_locks = 2;
	row.descriptors = &pipe, row.n_descriptors = 1;
	spend(&row, LEDGER_BLOCKED, SECOND);
	row.ledger.awaited[KD_AWAITED_KERNEL_LOCK] = times(9, SECOND, 200 * MILLI);
	judge(&row, "kernel_lock 1000/200 x9 outsider[7], kept 1000 of 1000",
	      "the holder; no waker of a condition");
	ok(!verdict_find(&verdict, &sample) && verdict.rows[0].who.pid == 6 &&
		   verdict.rows[0].at == &pipe.is,
	   "its process, and which descriptor it was");
	verdict_clear(&verdict);
	locks[0].kind = KD_LOCK_KERNEL_RWSEM_WRITE;
	judge(&row, "kernel_lock 1000/200 x9, kept 1000 of 1000", "a guess that is refuted");
}

/* What is little of the window harms nobody, however much of the busy time it is. */
TEST(harm)
{
	struct culprit culprit = by(CULPRIT_TASK, "hog", 9, 9 * MILLI);
	struct thread_row row = spent(LEDGER_READY_WOKEN, 9 * MILLI);
	struct sample sample = verdict_sample(&row, 1);

	spend(&row, LEDGER_BLOCKED, 990 * MILLI);
	row.ledger.awaited[KD_AWAITED_TIMER] = times(90, 990 * MILLI, 11 * MILLI);
	row.ready = times(90, 9 * MILLI, MILLI);
	row.culprits = &culprit, row.n_culprits = 1;
	is_verdict(&sample, "(task 9/4.5 x90 hog[9] policy 1 50), kept 9 of 10, work 990",
		   "below 1 %");
	sample.end = sample.start + 900 * MILLI;
	is_verdict(&sample, "task 9/4.5 x90 hog[9] policy 1 50, kept 9 of 10, work 990", "1 %");
}

/* The lock of the address space, by the calls that need it; no longer than a sleep. */
TEST(memory_lock)
{
	struct call_row calls[] = {
		{ (uint32_t)syscall_number("mmap"), 9, 400 * MILLI, 90 * MILLI, { 0 }, 0 },
		{ (uint32_t)syscall_number("close"), 9, 300 * MILLI, 90 * MILLI, { 0 }, 0 },
	};
	struct thread_row row = runner(1, "main");

	row.calls = calls, row.n_calls = 2;
	spend(&row, LEDGER_BLOCKED_UNINT, 600 * MILLI);
	row.ledger.awaited[KD_AWAITED_OTHER] = times(18, 600 * MILLI, 80 * MILLI);
	judge(&row, "kernel_lock 400/80 x9, kept 600 of 1000, unexplained 200",
	      "what mmap took, not what close did");
}

/* Of a lock that does not record its holder: who ended the waits, as that one had it. */
TEST(no_owner)
{
	struct lock_row locks[] = {
		{ .waits = times(9, 100 * MILLI, MILLI), .released_by = 9, .released_name = "c" },
		{ .waits = times(9, 150 * MILLI, MILLI), .released_by = 8, .released_name = "b" },
		{ .waits = times(9, 60 * MILLI, MILLI), .released_by = 9, .released_name = "c" },
		{ .waits = times(9, 300 * MILLI, MILLI) }, /* nobody did */
	};
	struct thread_row rows[] = { runner(1, "main"), runner(2, "other") };
	struct sample sample = verdict_sample(rows, 2);

	for (size_t i = 0; i < 2; i++) {
		rows[i].locks = locks, rows[i].n_locks = 4;
		spend(&rows[i], LEDGER_BLOCKED, 610 * MILLI);
		rows[i].ledger.awaited[KD_AWAITED_LOCK] = times(36, 610 * MILLI, MILLI);
	}
	is_verdict(&sample,
		   "lock 320/1 x36 c[9] of 2 worst 160 main, lock 300/1 x18 b[8] of 2 worst 150 "
		   "main, kept 1220 of 2000, unexplained 600",
		   "those who gave it up");
}

/* Sleeps are no delay but for what they were too long, if that was much. */
TEST(timer)
{
	struct thread_row row = spent(LEDGER_BLOCKED, 900 * MILLI);

	row.ledger.awaited[KD_AWAITED_TIMER] = times(90, 900 * MILLI, 30 * MILLI);
	row.overslept.by = times(90, 300 * MILLI, 20 * MILLI);
	judge(&row, "kept 0 of 100, work 900", "none was late: nobody");
	row.overslept.late = times(30, 250 * MILLI, 20 * MILLI);
	judge(&row, "timer 250/20 x30, kept 250 of 350, work 650", "woken late");
}

/* Of many culprits that have little each one row speaks, and what is large stays by itself. */
TEST(groups)
{
	struct culprit culprits[17];
	struct thread_row row = spent(LEDGER_READY_WOKEN, 600 * MILLI);
	struct sample sample = verdict_sample(&row, 1);
	struct verdict verdict = { 0 };

	row.ready = times(100, 600 * MILLI, 90 * MILLI);
	for (pid_t i = 0; i < 16; i++) {
		culprits[i] = by(CULPRIT_TASK, "worker", 100 + i, 25 * MILLI);
		culprits[i].own = true;
	}
	culprits[16] = by(CULPRIT_TASK, "hog", 99, 200 * MILLI);
	culprits[16].own = true;
	row.culprits = culprits, row.n_culprits = 17;
	ok(!verdict_find(&verdict, &sample) && verdict.n_blamed == 2 &&
		   verdict.rows[0].ns == 400 * MILLI && verdict.rows[0].culprits == 16 &&
		   !verdict.rows[0].and_others && !verdict.rows[0].who.tid &&
		   verdict.rows[1].who.tid == 99,
	   "sixteen threads are one row");
	ok(verdict.largest == VERDICT_BLAMED &&
		   verdict.rows[0].ns + verdict.rows[1].ns + verdict.unexplained == verdict.delay,
	   "and add up");
	verdict_clear(&verdict);
}

/* One of them that has most of what they have together is named. */
TEST(group_of_one)
{
	struct culprit culprits[9];
	struct thread_row row = spent(LEDGER_READY_WOKEN, 84 * MILLI);
	struct sample sample = verdict_sample(&row, 1);
	struct verdict verdict = { 0 };

	spend(&row, LEDGER_USER, 900 * MILLI);
	row.ready = times(100, 84 * MILLI, 9 * MILLI);
	for (pid_t i = 0; i < 8; i++)
		culprits[i] = by(CULPRIT_TASK, "worker", 100 + i, 3 * MILLI);
	culprits[8] = by(CULPRIT_TASK, "backup", 99, 60 * MILLI);
	row.culprits = culprits, row.n_culprits = 9;
	ok(!verdict_find(&verdict, &sample) && verdict.n_rows == 2 &&
		   verdict.rows[0].who.tid == 99 && verdict.rows[0].ns == 60 * MILLI &&
		   verdict.rows[1].culprits == 8,
	   "it is no part of the others' row");
	verdict_clear(&verdict);
}

/* Each thread that small culprits kept waiting counts once, and their CPU is named if it is one. */
TEST(victims)
{
	struct culprit culprits[4][2];
	struct thread_row rows[4];
	struct sample sample = verdict_sample(rows, 4);
	struct verdict verdict = { 0 };

	for (pid_t i = 0; i < 4; i++) {
		rows[i] = runner(10 + i, "worker");
		spend(&rows[i], LEDGER_READY_WOKEN, 60 * MILLI);
		rows[i].ready = times(100, 60 * MILLI, 9 * MILLI);
		for (pid_t j = 0; j < 2; j++) /* of neighbours, each thread shares one */
			culprits[i][j] = by(CULPRIT_TASK, "shell", 100 + i + j, 30 * MILLI);
		rows[i].culprits = culprits[i], rows[i].n_culprits = 2;
	}
	is_verdict(&sample,
		   "task 240/15 x800 shell policy 1 50 of 4 worst 60 worker, kept 240 of 4000",
		   "four threads, of which no culprit hit more than two");
	ok(!verdict_find(&verdict, &sample) && verdict.rows[0].cpu == 0, "all on CPU 0");
	verdict_clear(&verdict);
	rows[3].cpus[0] = 2;
	ok(!verdict_find(&verdict, &sample) && verdict.rows[0].cpu == -1, "on two CPUs");
	verdict_clear(&verdict);
}

/* What is said first is what there is most of. */
TEST(largest)
{
	struct thread_row row = spent(LEDGER_STOLEN, 21 * MILLI);
	struct sample sample = verdict_sample(&row, 1);
	struct verdict verdict = { 0 };

	spend(&row, LEDGER_BLOCKED_UNINT, 50 * MILLI);
	row.stolen = times(9, 21 * MILLI, 9 * MILLI);
	ok(!verdict_find(&verdict, &sample) && verdict.largest == VERDICT_RAN, "it computed");
	verdict_clear(&verdict);
	spend(&row, LEDGER_BLOCKED_UNINT, 750 * MILLI);
	ok(!verdict_find(&verdict, &sample) && verdict.largest == VERDICT_UNEXPLAINED,
	   "nobody knows");
	verdict_clear(&verdict);
}

/* A thread that polls for work never sleeps: how long it ran says little, if it lost much. */
TEST(poller)
{
	struct culprit culprit = by(CULPRIT_TASK, "hog", 812, 400 * MILLI);
	struct thread_row row = spent(LEDGER_READY_PREEMPTED, 400 * MILLI);
	struct sample sample = verdict_sample(&row, 1);
	struct verdict verdict = { 0 };

	row.ready = times(10, 400 * MILLI, 40 * MILLI);
	row.culprits = &culprit, row.n_culprits = 1;
	ok(!verdict_find(&verdict, &sample) && verdict.largest == VERDICT_BLAMED, "much");
	verdict_clear(&verdict);
	culprit.woken_ns = 190 * MILLI;
	ok(!verdict_find(&verdict, &sample) && verdict.largest == VERDICT_RAN,
	   "most of that to others");
	verdict_clear(&verdict);
	culprit.woken_ns = 400 * MILLI;
	row = spent(LEDGER_FAULT, 400 * MILLI);
	row.minor_faults = 100;
	ok(!verdict_find(&verdict, &sample) && verdict.largest == VERDICT_RAN, "by its own doing");
	verdict_clear(&verdict);
	row = spent(LEDGER_READY_PREEMPTED, 400 * MILLI);
	row.ready = times(10, 400 * MILLI, 40 * MILLI);
	row.culprits = &culprit, row.n_culprits = 1;
	spend(&row, LEDGER_BLOCKED, MILLI);
	ok(!verdict_find(&verdict, &sample) && verdict.largest == VERDICT_RAN, "it sleeps");
	verdict_clear(&verdict);
	row = spent(LEDGER_READY_PREEMPTED, 200 * MILLI);
	row.ready = times(10, 200 * MILLI, 40 * MILLI);
	row.culprits = &culprit, row.n_culprits = 1;
	culprit.woken_ns = 200 * MILLI;
	ok(!verdict_find(&verdict, &sample) && verdict.largest == VERDICT_RAN, "little");
	verdict_clear(&verdict);
}

/* Many who had the CPU may each have had less of it than the thread, but more together. */
TEST(takers)
{
	struct culprit culprits[4];
	struct thread_row row = spent(LEDGER_READY_PREEMPTED, 600 * MILLI);
	struct sample sample = verdict_sample(&row, 1);
	struct verdict verdict = { 0 };

	for (int i = 0; i < 4; i++)
		culprits[i] = by(CULPRIT_TASK, "hog", 812 + i, 150 * MILLI);
	row.ready = times(10, 600 * MILLI, 40 * MILLI);
	row.culprits = culprits, row.n_culprits = 4;
	spend(&row, LEDGER_BLOCKED, MILLI);
	ok(!verdict_find(&verdict, &sample) && verdict.largest == VERDICT_BLAMED,
	   "600 of 1000, each a quarter of that");
	verdict_clear(&verdict);
}

/* What nobody claims stays what it is, and nobody's share grows by it. */
TEST(unexplained)
{
	struct call_row call = {
		(uint32_t)syscall_number("ioctl"), 9, 400 * MILLI, MILLI, { 0 }, 0
	};
	struct thread_row row = runner(1, "main");

	row.calls = &call, row.n_calls = 1;
	spend(&row, LEDGER_BLOCKED, 300 * MILLI);
	spend(&row, LEDGER_READY_WOKEN, 20 * MILLI);
	row.ready = times(9, 20 * MILLI, 3 * MILLI);
	judge(&row, "task 20/3 x9, kept 320 of 1000, unexplained 300",
	      "asleep in a call that says nothing");
}

TEST(sums)
{
	struct thread_row rows[3] = { runner(1, "a"), runner(2, "b"), runner(3, "c") };
	struct sample sample = verdict_sample(rows, 3);
	struct verdict verdict = { 0 };

	for (size_t i = 0; i < 3; i++) {
		spend(&rows[i], LEDGER_READY_WOKEN, (i + 1) * 100 * MILLI);
		rows[i].ready = times(1, (i + 1) * 100 * MILLI, (i + 1) * 100 * MILLI);
	}
	rows[2].members = 5;
	is_verdict(&sample, "task 600/300 x3 of 7 worst 300 c, kept 600 of 3000",
		   "all threads of all rows");
	is_i64(verdict_find(&verdict, &sample), 0, "three rows");
	is_u64(verdict.threads[1].delay, 200 * MILLI, "of each thread");
	verdict_clear(&verdict);
	ok(!verdict.rows && !verdict.threads, "cleared");
	verdict_clear(&verdict);
	sample.n_threads = 0;
	is_verdict(&sample, "kept 0 of 0", "no thread");
}

/* Whoever has a finished sample has its verdict. */
TEST(handed_on)
{
	struct thread_row rows[2] = { runner(1, "a"), runner(2, "b") };
	struct sample sample = verdict_sample(rows, 2);
	struct verdict verdict = { 0 };

	is_i64(verdict_find(&verdict, &sample), 0, "found");
	ok(sample.verdict == &verdict && verdict.n_threads == 2, "the sample has it");
	verdict_clear(&verdict);
	ok(!verdict.threads, "its owner has released it");
}

/* Figures that cannot be true stay within bounds. */
TEST(extremes)
{
	struct thread_row row = runner(1, "main");
	struct sample sample = verdict_sample(&row, 1);
	struct verdict verdict = { 0 };

	memset(row.ledger.ns, 0xff, sizeof(row.ledger.ns));
	row.ready = times(UINT64_MAX, UINT64_MAX, UINT64_MAX);
	ok(!verdict_find(&verdict, &sample) && verdict.delay <= verdict.busy &&
		   verdict.busy <= row.ledger.life,
	   "no more than its life");
	verdict_clear(&verdict);
	row.members = 0;
	row.ledger.ns[LEDGER_USER] = 0;
	row.ready = times(0, 0, 0);
	is_i64(verdict_find(&verdict, &sample), 0, "nor does nothing harm");
	verdict_clear(&verdict);
}
