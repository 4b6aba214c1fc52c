/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of several culprits: what many small ones have in common, interrupts, locks of the kernel,
 * and their order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json/json.h"
#include "cli/model/verdict.h"
#include "cli/model/verdict_together.h"
#include "cli/text/text.h"
#include "cli/text/text_sentence.h"
#include "tap.h"
#include "verdict_sample.h"

/* The first row, as the first sentence names it. */
static void is_who(struct thread_row *row, const char *want, const char *what)
{
	struct sample sample = verdict_sample(row, 1);
	struct verdict verdict = { 0 };
	char who[WHO_LEN];

	need(!verdict_find(&verdict, &sample) && verdict.n_rows);
	is_str(text_row_who(who, &verdict.rows[0]), want, "%s", what);
	verdict_clear(&verdict);
}

static struct culprit from(const char *name, pid_t tid, const char *group, pid_t parent,
			   const char *parent_name)
{
	struct culprit culprit = by(CULPRIT_TASK, name, tid, 50 * MILLI + (uint64_t)tid * 1000);

	memcpy(culprit.group, group, strlen(group));
	culprit.parent = parent;
	memcpy(culprit.parent_name, parent_name, strlen(parent_name));
	return culprit;
}

/* Many small ones are named by what they have in common. */
TEST(common)
{
	struct thread_row row = runner(1, "main");
	struct culprit culprits[9];
	char name[KD_COMM_LEN];

	spend(&row, LEDGER_READY_WOKEN, 8 * 50 * MILLI + 500 * MILLI);
	row.ready = times(100, 900 * MILLI, 9 * MILLI);
	row.culprits = culprits;
	row.n_culprits = 8;
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "over%d", i);
		culprits[i] = from(name, 100 + i, "/batch", 7, "make");
	}
	is_who(&row, "8 processes of /batch (over7, over6, ...)", "control group");
	for (int i = 0; i < 8; i++)
		*culprits[i].group = '\0';
	is_who(&row, "8 children of make[7] (over7, over6, ...)", "parent");
	for (int i = 0; i < 8; i++)
		culprits[i].parent = 1;
	is_who(&row, "8 others", "children of init have nothing in common");
	for (int i = 0; i < 8; i++)
		culprits[i] = from("ip", 100 + i, "", 7, "deploy.sh");
	is_who(&row, "8 children of deploy.sh[7] (ip)", "program and parent");
	for (int i = 0; i < 8; i++)
		culprits[i] = from("ip", 100 + i, "", 7 + i, "");
	is_who(&row, "8 others (ip)", "program");
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "kworker/%d:0", i);
		culprits[i] = from(name, 100 + i, "", 2, "kthreadd");
		culprits[i].kernel = true;
	}
	is_who(&row, "8 kernel threads (kworker/7:0, kworker/6:0, ...)", "the kernel");
	/* Two are no many, and one that has half of it stands alone. */
	culprits[0] = from("over", 100, "/batch", 0, "");
	culprits[0].woken_ns = 199 * MILLI;
	culprits[1] = from("over", 101, "/batch", 0, "");
	culprits[2] = from("over", 102, "/batch", 0, "");
	row.n_culprits = 3;
	is_who(&row, "over[100]", "one has most of it");
}

/* One that has had several names is one, by that under which it took most; also among many. */
TEST(renamed)
{
	struct thread_row row = runner(1, "main");
	struct sample sample = verdict_sample(&row, 1);
	struct verdict verdict = { 0 };
	struct culprit culprits[6];

	spend(&row, LEDGER_READY_WOKEN, 400 * MILLI);
	row.ready = times(100, 400 * MILLI, 9 * MILLI);
	row.culprits = culprits;
	row.n_culprits = 3;
	for (int i = 0; i < 3; i++) {
		char name[KD_COMM_LEN];

		snprintf(name, sizeof(name), "step-%d", i);
		culprits[i] = by(CULPRIT_TASK, name, 100, i == 1 ? 90 * MILLI : 50 * MILLI);
	}
	is_who(&row, "step-1[100]", "one of three names");
	need(!verdict_find(&verdict, &sample));
	ok(verdict.n_rows == 1 && verdict.rows[0].ns == 190 * MILLI, "which has all of its time");
	verdict_clear(&verdict);
	for (int i = 0; i < 6; i++)
		culprits[i] = from("cc1", i < 2 ? 100 : 100 + i, "", 7, "make");
	strcpy(culprits[0].name, "sh");
	culprits[0].woken_ns = 9 * MILLI;
	row.n_culprits = 6;
	is_who(&row, "5 children of make[7] (cc1)", "and shares a row with others");
	need(!verdict_find(&verdict, &sample));
	ok(verdict.n_rows == 1, "which has all of it");
	verdict_clear(&verdict);
}

/* The only row of a cause. */
static void is_row(struct sample *sample, enum cause cause, struct kd_count want, const char *who,
		   const char *what)
{
	struct verdict verdict = { 0 };
	const struct verdict_row *found = NULL;
	unsigned int n = 0;

	need(!verdict_find(&verdict, sample));
	for (size_t i = 0; i < verdict.n_rows; i++) {
		if (verdict.rows[i].cause != cause)
			continue;
		found = &verdict.rows[i];
		n++;
	}
	ok(n == 1 && found->ns == want.total && found->count == want.count &&
		   found->longest == want.max && found->threads == 2 && found->culprits == 1 &&
		   !strcmp(found->who.comm, who),
	   "%s: %u rows, %s", what, n, n ? found->who.comm : "");
	verdict_clear(&verdict);
}

/* Interrupts of a kind are one row, of threads that ran and of those that waited for a CPU, with
 * the name of what has more than half of it. */
TEST(interrupts_once)
{
	struct irq_row soft[][2] = {
		{ { .name = "net_rx", .count = 40, .total = 45 * MILLI, .max = 2 * MILLI },
		  { .name = "rcu", .count = 20, .total = 30 * MILLI, .max = 4 * MILLI } },
		{ { .name = "net_rx", .count = 90, .total = 80 * MILLI, .max = 3 * MILLI } },
	};
	struct irq_row hard = {
		.name = "eth0", .count = 50, .total = 50 * MILLI, .max = 5 * MILLI
	};
	struct culprit culprits[] = {
		by(CULPRIT_SOFTIRQ, "", 0, 20 * MILLI),
		by(CULPRIT_TASK, "ksoftirqd/0", 16, 30 * MILLI),
		by(CULPRIT_TASK, "ksoftirqd/1", 23, 35 * MILLI),
		by(CULPRIT_HARDIRQ, "", 0, 60 * MILLI),
	};
	struct thread_row rows[2];
	struct sample sample = verdict_sample(rows, 2);

	for (size_t i = 0; i < 2; i++) {
		rows[i] = runner((pid_t)i + 1, i ? "other" : "main");
		rows[i].softirqs = soft[i], rows[i].n_softirqs = 2 - i;
		spend(&rows[i], LEDGER_SOFTIRQ, 80 * MILLI);
	}
	is_row(&sample, CAUSE_SOFTIRQ, times(150, 160 * MILLI, 4 * MILLI), "net_rx",
	       "no thread needs to have mostly what all have mostly");
	rows[0].hardirqs = &hard, rows[0].n_hardirqs = 1;
	spend(&rows[0], LEDGER_HARDIRQ, 50 * MILLI);
	culprits[1].kernel = culprits[1].ksoftirqd = true;
	culprits[2].kernel = culprits[2].ksoftirqd = true;
	rows[1].culprits = culprits, rows[1].n_culprits = COUNT(culprits);
	rows[1].ready = times(10, 145 * MILLI, 60 * MILLI);
	spend(&rows[1], LEDGER_READY_WOKEN, 145 * MILLI);
	is_row(&sample, CAUSE_SOFTIRQ, times(180, 245 * MILLI, 17.5 * MILLI), "net_rx",
	       "a part came while it waited, whose names are unknown");
	is_row(&sample, CAUSE_HARDIRQ, times(60, 110 * MILLI, 30 * MILLI), "",
	       "of these more than half");
	culprits[2].woken_ns += 14 * MILLI;
	spend(&rows[1], LEDGER_READY_WOKEN, 14 * MILLI);
	is_row(&sample, CAUSE_SOFTIRQ, times(180, 259 * MILLI, 17.5 * MILLI), "",
	       "nothing has half of it");
}

/* The sentence and JSON have this. */
static void has_lock(struct thread_row *row, const char *sentence, const char *json)
{
	struct sample sample = verdict_sample(row, 1);
	struct verdict verdict = { 0 };
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	need(out && !verdict_find(&verdict, &sample) && !report_text_verdict(&sample, out));
	is_i64(report_json(&sample, NULL, out), 0, "JSON");
	need(!fclose(out));
	ok(strstr(text, sentence) != NULL, "%s", sentence);
	ok(strstr(text, json) != NULL, "%s", json);
	verdict_clear(&verdict);
	free(text);
}

/* The first sentence of the verdict. */
static void says(struct sample *sample, const char *sentence)
{
	struct verdict verdict = { 0 };
	char said[SENTENCE_LEN] = "";

	need(!verdict_find(&verdict, sample) && verdict.n_rows);
	sentence_of_row(said, sample, &verdict.rows[0], false);
	ok(strstr(said, sentence) != NULL, "%s: %s", sentence, said);
	verdict_clear(&verdict);
}

/* By its name, where most of the waits were for it, if it has one. */
TEST(kernel_lock_named)
{
	struct lock_row locks[] = {
		{ .address = 1,
		  .kind = KD_LOCK_KERNEL_MUTEX,
		  .symbol = "rtnl_mutex",
		  .object = "kernel",
		  .holder = 7,
		  .holder_name = "holder",
		  .waits = times(9, 190 * MILLI, 20 * MILLI) },
		{ .address = 2,
		  .kind = KD_LOCK_KERNEL_SEMAPHORE,
		  .waits = times(9, 10 * MILLI, 20 * MILLI) },
	};
	struct thread_row row = runner(1, "main");

	spend(&row, LEDGER_BLOCKED_UNINT, 200 * MILLI);
	row.locks = locks, row.n_locks = 2;
	row.ledger.awaited[KD_AWAITED_KERNEL_LOCK] = times(18, 200 * MILLI, 20 * MILLI);
	has_lock(&row, "waited for a lock in the kernel (rtnl_mutex) that holder[7] held.",
		 "\"lock\":{\"symbol\":\"rtnl_mutex\",\"object\":\"kernel\",\"ns\":190000000}");
	locks[0].holder = 0;
	locks[0].offset = 0x10;
	has_lock(&row, "waited for a lock in the kernel (rtnl_mutex+0x10).",
		 "\"lock\":{\"symbol\":\"rtnl_mutex\",\"offset\":16,\"object\":\"kernel\"");
	locks[0].offset = 0;
	locks[0].waits.total = 150 * MILLI;
	locks[1].waits.total = 50 * MILLI;
	has_lock(&row, "waited for locks in the kernel (mostly rtnl_mutex).",
		 "\"object\":\"kernel\",\"ns\":150000000}");
	locks[0].waits.total = 100 * MILLI;
	locks[1].waits.total = 100 * MILLI;
	has_lock(&row, "waited for locks in the kernel.", "\"ns\":100000000}");
	locks[1].symbol = "\033[2J";
	locks[1].waits.total = 150 * MILLI;
	locks[0].waits.total = 50 * MILLI;
	has_lock(&row, "waited for locks in the kernel (mostly \\x1b[2J).",
		 "\"lock\":{\"symbol\":\"\\u001B[2J\",\"ns\":150000000}");
}

/* Two that wait for one another's lock; a wait that is over, or whose holder may go on, hangs not.
 */
TEST(deadlock)
{
	struct lock_row locks[] = {
		{ .kind = KD_LOCK_MUTEX,
		  .holder = 2,
		  .holder_name = "other",
		  .waits = { 1, SECOND, 3 * SECOND, 98 * SECOND } },
		{ .kind = KD_LOCK_MUTEX,
		  .holder = 1,
		  .holder_name = "main",
		  .waits = { 1, SECOND / 2, 2 * SECOND, 99 * SECOND } },
	};
	struct thread_row rows[] = { runner(1, "main"), runner(2, "other") };
	struct sample sample = verdict_sample(rows, 2);

	for (int i = 0; i < 2; i++) {
		rows[i].run.count = 0;
		rows[i].locks = &locks[i], rows[i].n_locks = 1;
		spend(&rows[i], LEDGER_BLOCKED, locks[i].waits.total);
		rows[i].ledger.awaited[KD_AWAITED_LOCK] = locks[i].waits;
		rows[i].ledger.asleep[KD_AWAITED_LOCK].max = locks[i].waits.max;
	}
	says(&sample,
	     "main[1] waited for a lock that other[2] held, which is in a deadlock with it.");
	rows[1].ledger.asleep[KD_AWAITED_LOCK].max = 0;
	says(&sample, "main[1] waited for a lock that other[2] held.");
	rows[1].ledger.asleep[KD_AWAITED_LOCK].max = locks[1].waits.max = SECOND / 4;
	says(&sample, "main[1] waited for a lock that other[2] held.");
	sample.n_threads = 1;
	locks[0].holder = 1;
	memcpy(locks[0].holder_name, "main", sizeof("main"));
	says(&sample,
	     "main[1] waited for a lock that main[1] held, which is the same thread: a deadlock.");
	locks[0].holder = 9;
	*locks[0].holder_name = '\0';
	says(&sample, "main[1] waited for a lock that thread[9] held, which is gone, and did not "
		      "unlock it.");
	rows[0].ledger.asleep[KD_AWAITED_LOCK].max = 0;
	says(&sample, "main[1] waited for a lock that thread[9] held.");
}

/* Others come behind a named one that is larger than each of them, though it is less than all. */
TEST(named_before_others)
{
	struct thread_row row = runner(1, "main");
	struct sample sample = verdict_sample(&row, 1);
	struct verdict verdict = { 0 };
	struct culprit culprits[20];
	char name[KD_COMM_LEN];

	spend(&row, LEDGER_READY_WOKEN, 900 * MILLI);
	row.ready = times(100, 900 * MILLI, 9 * MILLI);
	row.culprits = culprits;
	row.n_culprits = 20;
	for (int i = 0; i < 18; i++) {
		snprintf(name, sizeof(name), "any%d", i);
		culprits[i] = by(CULPRIT_TASK, name, 100 + i, 20 * MILLI);
	}
	culprits[18] = by(CULPRIT_TASK, "fifo", 99, 350 * MILLI);
	culprits[19] = by(CULPRIT_REST, "", 0, 90 * MILLI);
	need(!verdict_find(&verdict, &sample) && verdict.n_rows == 2);
	ok(verdict.rows[0].who.tid == 99 && verdict.rows[0].ns == 350 * MILLI &&
		   verdict.rows[1].culprits == 18 && verdict.rows[1].ns == 450 * MILLI,
	   "450 ms of others, 350 of one");
	ok(verdict.largest == VERDICT_BLAMED, "what is blamed is the most, though not in one row");
	verdict_clear(&verdict);
}

/* A thread of a second, which waited for a CPU that others had, for a lock in the kernel, and for
 * another end of a pipe. */
static struct thread_row kept(struct culprit *culprits, size_t n, struct lock_row *lock,
			      struct descriptor_row *pipe)
{
	struct thread_row row = runner(1, "main");

	row.culprits = culprits;
	row.n_culprits = n;
	for (size_t i = 0; i < n; i++)
		spend(&row, LEDGER_READY_WOKEN, culprits[i].woken_ns);
	row.ready = times(100, row.ledger.ns[LEDGER_READY_WOKEN], 9 * MILLI);
	spend(&row, LEDGER_BLOCKED_UNINT, lock->waits.total);
	spend(&row, LEDGER_BLOCKED, pipe->waits.total);
	row.ledger.awaited[KD_AWAITED_KERNEL_LOCK] = lock->waits;
	row.ledger.awaited[KD_AWAITED_PIPE] = pipe->waits;
	row.locks = lock, row.n_locks = 1;
	row.descriptors = pipe, row.n_descriptors = 1;
	return row;
}

/* What one did in several ways is one row, if together it is the most; JSON keeps its causes. */
TEST(together)
{
	struct culprit culprits[] = { by(CULPRIT_TASK, "hog", 7, 150 * MILLI),
				      by(CULPRIT_TASK, "other", 8, 200 * MILLI) };
	struct lock_row lock = { .address = 1,
				 .kind = KD_LOCK_KERNEL_MUTEX,
				 .holder = 71,
				 .holder_pid = 7,
				 .holder_name = "hog",
				 .waits = { 9, 120 * MILLI, 80 * MILLI, 100 * SECOND + 5 } };
	struct descriptor_row pipe = { .awaited = KD_AWAITED_PIPE,
				       .is = { .fd = 3 },
				       .waits = { 9, 30 * MILLI, 20 * MILLI, 0 },
				       .ended_by = 7,
				       .ended_pid = 7,
				       .ended_name = "hog" };
	struct thread_row row = kept(culprits, 2, &lock, &pipe);
	struct sample sample = verdict_sample(&row, 1);
	struct verdict verdict = { 0 };
	const struct verdict_row *first;

	need(!verdict_find(&verdict, &sample) && verdict.n_told);
	first = verdict.told;
	ok(first->ns == 300 * MILLI && first->who.tid == 7 && first->longest == 80 * MILLI &&
		   first->began == 100 * SECOND + 5 && first->worst == &row && first->threads == 1,
	   "three causes, one culprit");
	ok(first->n_parts == 3 && first->parts[0].cause == CAUSE_TASK &&
		   first->parts[1].cause == CAUSE_KERNEL_LOCK &&
		   first->parts[1].ns == 120 * MILLI && first->parts[2].cause == CAUSE_PEER,
	   "what it did, the most first");
	ok(verdict.n_told == 2 && verdict.told[1].who.tid == 8 && verdict.n_rows == 4,
	   "the other one is behind it, and all causes are still there");
	verdict_clear(&verdict);

	culprits[1].woken_ns = 310 * MILLI;
	row = kept(culprits, 2, &lock, &pipe);
	need(!verdict_find(&verdict, &sample));
	ok(verdict.told == verdict.rows && verdict.rows[0].who.tid == 8, "another one took more");
	verdict_clear(&verdict);

	culprits[1].woken_ns = 200 * MILLI;
	lock.holder_pid = 9;
	row = kept(culprits, 2, &lock, &pipe);
	need(!verdict_find(&verdict, &sample));
	ok(verdict.told == verdict.rows, "a process of the same name is another one");
	verdict_clear(&verdict);

	culprits[0].woken_ns = 400 * MILLI;
	lock.holder_pid = 7;
	lock.waits.total = 1 * MILLI;
	row = kept(culprits, 2, &lock, &pipe);
	need(!verdict_find(&verdict, &sample));
	ok(verdict.told == verdict.rows, "one cause has nearly all");
	verdict_clear(&verdict);
}

/* Programs that end soon are one by their name; but no thread of the target is one of them. */
TEST(namesakes)
{
	struct verdict_row rows[] = {
		{ .cause = CAUSE_KERNEL_LOCK, .who = { .tid = 4712, .pid = 4712 }, .ns = 600 },
		{ .cause = CAUSE_TASK, .common = COMMON_PROGRAM, .culprits = 25, .ns = 400 },
	};
	struct verdict_row sum;

	for (size_t i = 0; i < 2; i++)
		memcpy(rows[i].who.comm, "python3", sizeof("python3"));
	ok(verdict_together(rows, 2, 4711, &sum), "of another process");
	rows[0].who.pid = 4711;
	ok(!verdict_together(rows, 2, 4711, &sum), "a thread of the target");
	rows[1].who = rows[0].who;
	rows[1].common = COMMON_NOTHING;
	ok(verdict_together(rows, 2, 4711, &sum), "the same thread");
}

static void is_row_who(struct verdict_row row, const char *name, const char *want)
{
	char who[WHO_LEN];

	memcpy(row.who.comm, name, strlen(name));
	is_str(text_row_who(who, &row), want, "%s", *want ? want : "nobody");
}

/* Children by their program; and threads of one process, or several processes. */
TEST(programs)
{
	const struct verdict_row child = { .cause = CAUSE_CHILD, .count = 20 };
	struct verdict_row many = { .cause = CAUSE_CHILD, .culprits = 2 };

	is_row_who(child, "sleep", "sleep (20 times)");
	is_row_who(many, "", "");
	many.common = COMMON_PROGRAM;
	is_row_who(many, "ls", "2 processes (ls)");
	many.cause = CAUSE_PEER;
	is_row_who(many, "ls", "2 processes (ls)");
	many.who.pid = 4711;
	is_row_who(many, "worker", "2 threads (worker)");
}
