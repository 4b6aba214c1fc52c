/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of many small culprits: what they have in common, and their order. */
#include <stdio.h>

#include "cli/model/verdict.h"
#include "cli/text/text_verdict.h"
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
