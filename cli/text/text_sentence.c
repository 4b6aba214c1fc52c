/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "text_sentence.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/escape.h"
#include "cli/base/parse.h"
#include "cli/base/texts.h"
#include "cli/model/wchan.h"
#include "text_limits.h"
#include "text_parts.h"
#include "text_who.h"

/* What happened to the threads, with the culprit's name (%s) and without. */
struct sentence {
	const char *named, *unnamed;
};

#define IDLE "waited for %s, which was idle, to wake up"
#define FROZEN " frozen by the freezer of a control group"
static const struct sentence sentences[CAUSES] = {
	[CAUSE_TASK] = { "waited for %s, on which %s ran", "waited for %s, on which others ran" },
	[CAUSE_OWN_THREADS] = { "waited for %s, on which %s of the same process ran",
				"waited for %s, on which others of the same process ran" },
	[CAUSE_THROTTLED] = { "had used up the CPU quota of the group %s",
			      "had used up its CPU quota" },
	[CAUSE_DEADLINE] = { "had used up its own SCHED_DEADLINE runtime%s",
			     "had used up its own SCHED_DEADLINE runtime" },
	[CAUSE_RT_LIMIT] = { "waited for %s, which the real-time limit gave to %s",
			     "waited for %s: the real-time limit was reached" },
	[CAUSE_IDLE] = { IDLE, IDLE },
	[CAUSE_HARDIRQ] = { "was interrupted, mostly by %s", "was interrupted by hardirqs" },
	[CAUSE_SOFTIRQ] = { "was interrupted by softirqs, mostly %s",
			    "was interrupted by softirqs" },
	[CAUSE_STOLEN] = { "had no CPU while the hypervisor ran %s",
			   "had no CPU while the hypervisor ran other machines" },
	[CAUSE_LOCK] = { "waited for a lock that %s held", "waited for locks" },
	[CAUSE_KERNEL_LOCK] = { "waited for %s that %s held", "waited for %s" },
	[CAUSE_DISK] = { "waited for the disk %s", "waited for disks" },
	[CAUSE_DISK_LIMIT] = { "was held back by the disk limit of the group %s",
			       "was held back by the disk limit of its group" },
	[CAUSE_PAGE_FAULT] = { "had page faults: it copied what it shares with %s since a fork",
			       "had page faults" },
	[CAUSE_MAJOR_FAULT] = { "had major page faults (pages read from disk or swap) under %s",
				"had major page faults (pages read from disk or swap)" },
	[CAUSE_RECLAIM] = { "was made to free memory by %s", "was made to free memory" },
	[CAUSE_PEER] = { "waited for %s, at the other end of a pipe or socket",
			 "waited for the other end of a pipe or socket" },
	[CAUSE_CHILD] = { "waited for its child %s", "waited for child processes" },
	[CAUSE_TIMER] = { "woke up later than its timers, for %s",
			  "woke up later than its timers" },
	[CAUSE_STOPPED] = { "was stopped by %s", "was stopped (SIGSTOP, a debugger, strace)" },
	[CAUSE_FROZEN] = { "was" FROZEN " (%s)", "was" FROZEN },
	[CAUSE_SERVER] = { "waited for %s, which has to answer",
			   "waited for another program to answer" },
	[CAUSE_KERNEL_WORK] = { "waited for %s, which works for the kernel",
				"waited for work of the kernel" },
	[CAUSE_DEVICE] = { "waited for a device, until %s woke it", "waited for a device" },
	[CAUSE_WAIT] = { "slept until %s woke it", "slept" },
};

/* Wording for several threads, if different. */
static const struct sentence plural[CAUSES] = {
	[CAUSE_OWN_THREADS] = { "waited for %s, on which %s, also of the target, ran",
				"waited for %s, on which other threads of the target ran" },
	[CAUSE_THROTTLED] = { .unnamed = "had used up their CPU quota" },
	[CAUSE_DEADLINE] = { "had used up their own SCHED_DEADLINE runtime%s",
			     "had used up their own SCHED_DEADLINE runtime" },
	[CAUSE_HARDIRQ] = { "were interrupted, mostly by %s", "were interrupted by hardirqs" },
	[CAUSE_SOFTIRQ] = { "were interrupted by softirqs, mostly %s",
			    "were interrupted by softirqs" },
	[CAUSE_DISK_LIMIT] = { "were held back by the disk limit of the group %s",
			       "were held back by the disk limit of their group" },
	[CAUSE_RECLAIM] = { "were made to free memory by %s", "were made to free memory" },
	[CAUSE_CHILD] = { .named = "waited for their child %s" },
	[CAUSE_TIMER] = { "woke up later than their timers, for %s",
			  "woke up later than their timers" },
	[CAUSE_STOPPED] = { "were stopped by %s", "were stopped (SIGSTOP, a debugger, strace)" },
	[CAUSE_FROZEN] = { "were" FROZEN " (%s)", "were" FROZEN },
};

/* Interrupts that came while the threads waited for their CPU, on top of who had it. */
static const struct sentence handled[CAUSES] = {
	[CAUSE_HARDIRQ] = { "waited for %s, which handled interrupts, mostly %s",
			    "waited for %s, which handled interrupts" },
	[CAUSE_SOFTIRQ] = { "waited for %s, which handled softirqs, mostly %s",
			    "waited for %s, which handled softirqs" },
};

const char *text_thread_who(char who[static WHO_LEN], const struct thread_row *thread)
{
	return text_who(who, thread->name, KD_COMM_LEN, thread->tid);
}

/* Scheduling class, unless it is the default: "SCHED_FIFO 50", "nice 5", or "". */
#define CLASS_LEN 32
static const char *text_class(char class[static CLASS_LEN], const struct verdict_who *is)
{
	const char *policy = culprit_policies[is->policy];

	*class = '\0';
	if (is->policy == SCHED_FIFO || is->policy == SCHED_RR)
		snprintf(class, CLASS_LEN, "%s %d", policy, (int)is->priority);
	else if (is->policy != SCHED_OTHER && is->policy != CULPRIT_POLICY_UNKNOWN)
		snprintf(class, CLASS_LEN, "%s", policy);
	else if (is->priority)
		snprintf(class, CLASS_LEN, "nice %d", (int)is->priority);
	return class;
}

/* True if one thread lost nearly all of it. */
static bool is_of_one(const struct verdict_row *row)
{
	return row->worst->members == 1 && row->worst_ns >= row->ns - row->ns / 10;
}

/* Adds "main[4711] ", or the number of threads. */
static void subject_add(char *sentence, const struct verdict_row *row)
{
	char who[WHO_LEN];

	if (is_of_one(row))
		sentence_add(sentence, "%s ", text_thread_who(who, row->worst));
	else
		sentence_add(sentence, "%u thread%s ", row->threads, row->threads == 1 ? "" : "s");
}

/* "CPU 3" if the threads that lost most ran only there; else "a CPU". */
static const char *cpu_of(char cpu[static 32], const struct verdict_row *row)
{
	const int only = is_of_one(row) ? thread_only_cpu(row->worst) : row->cpu;

	snprintf(cpu, 32, "a CPU");
	/* Of a chain, another thread waited for it. */
	if (only >= 0 && !row->via)
		snprintf(cpu, 32, "CPU %d", only);
	return cpu;
}

/* True for interrupts that mostly came while the thread that lost most waited for its CPU. */
static bool is_handled(const struct verdict_row *row)
{
	const uint64_t *ns = row->worst->ledger.ns;
	const uint64_t own = ns[row->cause == CAUSE_HARDIRQ ? LEDGER_HARDIRQ : LEDGER_SOFTIRQ];
	const uint64_t ready = u64_add(ns[LEDGER_READY_WOKEN], ns[LEDGER_READY_PREEMPTED]);

	return handled[row->cause].unnamed && own < row->worst_ns / 2 && ready > row->worst_ns / 2;
}

/* Format for one thread of one process, or for several. With several processes, "own threads"
 * are those of all. */
static const char *format_of(const struct verdict_row *row, bool named, bool multiple)
{
	const struct sentence *one = &sentences[row->cause], *many = &plural[row->cause];
	bool is_one = is_of_one(row) && !(multiple && row->cause == CAUSE_OWN_THREADS);

	if (text_is_program(row))
		return is_one ? "waited for its children: %s" : "waited for their children: %s";
	if (is_handled(row))
		return named ? handled[row->cause].named : handled[row->cause].unnamed;
	if (named)
		return is_one || !many->named ? one->named : many->named;
	return is_one || !many->unnamed ? one->unnamed : many->unnamed;
}

/* "a lock in the kernel (rtnl_mutex)", "locks in the kernel (mostly event_mutex)" */
#define LOCK_WIDTH 40 /* bytes of a name */
static const char *lock_text(char text[static WHO_LEN], const struct verdict_row *row, bool held)
{
	const struct lock_row *lock = row->lock_ns > row->ns / 2 ? row->lock : NULL;
	bool one = lock && row->lock_ns >= row->ns - row->ns / 10;
	char name[ESCAPE_SIZE(LOCK_WIDTH)];

	snprintf(text, WHO_LEN, "%s in the kernel", held || one ? "a lock" : "locks");
	if (!lock)
		return text;
	escape_text(name, sizeof(name), lock->symbol, LOCK_WIDTH);
	text_append(text, WHO_LEN, " (%s%s", one ? "" : "mostly ", name);
	if (lock->offset)
		text_append(text, WHO_LEN, "+%#llx", (unsigned long long)lock->offset);
	text_append(text, WHO_LEN, ")");
	return text;
}

/* Appends " (work: flush-254:0)". */
static void work_add(char *who, size_t size, const struct verdict_row *row)
{
	char work[ESCAPE_SIZE(WORK_LEN)];

	if (!row->who.work || row->culprits != 1)
		return;
	escape_text(work, sizeof(work), row->who.work, WORK_LEN);
	text_append(who, size, " (work: %.64s)", work);
}

/* What one culprit did, of several causes; %s: a CPU. */
static const char *const deeds[CAUSES] = {
	[CAUSE_TASK] = "had %s",
	[CAUSE_OWN_THREADS] = "had %s",
	[CAUSE_RT_LIMIT] = "got %s by the real-time limit",
	[CAUSE_SOFTIRQ] = "handled soft interrupts",
	[CAUSE_LOCK] = "held a lock",
	[CAUSE_KERNEL_LOCK] = "held a lock in the kernel",
	[CAUSE_PAGE_FAULT] = "shared the pages that were copied",
	[CAUSE_PEER] = "had the other end of a pipe or socket",
	[CAUSE_CHILD] = "is a child of theirs",
	[CAUSE_STOPPED] = "stopped them",
	[CAUSE_SERVER] = "had to answer",
	[CAUSE_KERNEL_WORK] = "worked for the kernel",
	[CAUSE_DEVICE] = "ended waits for a device",
	[CAUSE_WAIT] = "ended sleeps",
};

struct deed {
	const char *words;
	uint64_t ns;
};

/* What it did, each once: to a thread of the target a CPU is the same, whoever it belongs to. */
static unsigned int deeds_of(struct deed list[static VERDICT_PARTS], const struct verdict_row *row)
{
	unsigned int n = 0, at;

	for (unsigned int i = 0; i < row->n_parts; i++) {
		const enum cause cause = row->parts[i].cause;
		const char *words = deeds[cause] ?: cause_words[cause].title;

		if (is_of_one(row) && cause == CAUSE_STOPPED)
			words = "stopped it";
		else if (is_of_one(row) && cause == CAUSE_CHILD)
			words = row->culprits > 1 ? "are its children" : "is its child";
		for (at = 0; at < n && strcmp(list[at].words, words) != 0; at++)
			;
		if (at == n)
			list[n++] = (struct deed){ words, 0 };
		list[at].ns = u64_add(list[at].ns, row->parts[i].ns);
	}
	return n;
}

/* "waited for hog[4711] (nice 5), which had CPU 0 (310 ms) and held a lock (200 ms)" */
static void parts_add(char *sentence, const struct verdict_row *row)
{
	char who[WHO_LEN], class[CLASS_LEN], cpu[32];
	struct deed list[VERDICT_PARTS];
	const unsigned int n = deeds_of(list, row);

	sentence_add(sentence, "waited for %s", text_row_who(who, row));
	if (*text_class(class, &row->who))
		sentence_add(sentence, " (%s)", class);
	*who = '\0';
	work_add(who, sizeof(who), row);
	sentence_add(sentence, "%s", who);
	cpu_of(cpu, row);
	for (unsigned int i = 0; i < n; i++) {
		sentence_add(sentence, !i ? ", which " : i + 1 < n ? ", " : " and ");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		sentence_add(sentence, list[i].words, cpu);
#pragma GCC diagnostic pop
		sentence_add(sentence, " (%s)", AS_TIME(list[i].ns));
	}
}

static void what_add(char *sentence, const struct sample *sample, const struct verdict_row *row,
		     bool multiple)
{
	char who[WHO_LEN + CLASS_LEN + 4], class[CLASS_LEN], cpu[32], lock[WHO_LEN];
	bool waits = row->cause == CAUSE_TASK || row->cause == CAUSE_OWN_THREADS ||
		     row->cause == CAUSE_RT_LIMIT || row->cause == CAUSE_IDLE || is_handled(row);
	bool named;
	const char *format;

	if (text_limit(who, sizeof(who), sample, row))
		named = *who;
	else
		named = *text_row_who(who, row);
	if (*text_class(class, &row->who))
		text_append(who, sizeof(who), " (%s)", class);
	work_add(who, sizeof(who), row);
	if (*row->who.stopped_by)
		text_append(who, sizeof(who), named ? " (%s)" : "%s", row->who.stopped_by);
	named |= *row->who.stopped_by;
	format = named && text_quota_of_others(sample, row)
			 ? "got no CPU time: the quota of the group %s was used up"
			 : format_of(row, named, multiple);
	cpu_of(cpu, row);
	/* All formats are in the tables above; they need not use all arguments. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	sentence_add(sentence, format,
		     waits                             ? cpu
		     : row->cause == CAUSE_KERNEL_LOCK ? lock_text(lock, row, named)
						       : who,
		     who);
#pragma GCC diagnostic pop
}

/* True for a peer that has the other end of neither a pipe nor a socket. */
static bool is_at_other(const struct verdict_row *row)
{
	static const char *const others[] = { "message queue", "eventfd", "terminal" };

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (row->cause == CAUSE_PEER && row->wait.words &&
		    strstr(row->wait.words, others[i]))
			return true;
	return false;
}

/* True if the cause alone says more than what the wait was for. */
static bool says_enough(const struct verdict_row *row)
{
	bool named = *row->who.comm;

	if (is_at_other(row))
		return false;

	if (row->wait.user && !(named && row->cause == CAUSE_CHILD))
		return false;
	return row->cause == CAUSE_CHILD ||
	       (named && (row->cause == CAUSE_DISK || row->cause == CAUSE_DISK_LIMIT ||
			  row->cause == CAUSE_PEER || text_limit_is_memory(row))) ||
	       (!row->wait.words && row->cause != CAUSE_WAIT);
}

const char *text_wchan(char text[static TEXT_WCHAN], const char *wchan)
{
	escape_text(text, TEXT_WCHAN, wchan, wchan_function_length(wchan, KD_FUNCTION_LEN));
	return text;
}

/* "waited for a futex", "waited in do_that" */
void sentence_wait(char *sentence, const struct wait_words *wait)
{
	char wchan[TEXT_WCHAN], function[ESCAPE_SIZE(USER_FUNCTION_LEN)];

	if (wait->words) {
		sentence_add(sentence, "waited for %s", wait->words);
	} else {
		sentence_add(sentence, "waited in %s", text_wchan(wchan, wait->wchan));
	}
	if (!wait->function)
		return;
	escape_text(function, sizeof(function), wait->function, USER_FUNCTION_LEN);
	sentence_add(sentence, wait->user ? " (%s)" : " (in %s)", function);
}

static bool is_unanswered(const struct verdict_row *row)
{
	return row->wait.asked && row->wait_ns > row->ns / 2;
}

/* "got no answer for 1.90 s from postgres[12]", or from an address */
static void unanswered_add(char *sentence, const struct verdict_row *row)
{
	const struct descriptor_row *asked = row->wait.asked;
	char who[WHO_LEN], to[ESCAPE_SIZE(DESCRIPTOR_ADDRESS_LEN)];

	escape_text(to, sizeof(to), asked->asked, sizeof(asked->asked));
	text_row_who(who, row);
	sentence_add(sentence, "got no answer for %s from %s", AS_TIME(asked->unanswered),
		     row->who.pid ? who
		     : *to        ? to
				  : "the other end");
}

/* " (fd 3, 127.0.0.1:5432)" */
static void asked_add(char *sentence, const struct verdict_row *row)
{
	const struct descriptor_row *asked = row->wait.asked;
	char to[ESCAPE_SIZE(DESCRIPTOR_ADDRESS_LEN)];
	bool named = row->who.pid;

	escape_text(to, sizeof(to), asked->asked, sizeof(asked->asked));
	sentence_add(sentence, " (fd %d%s%s)", (int)asked->asked_fd, named && *to ? ", " : "",
		     named ? to : "");
}

/* Adds ", which is stopped". */
static void state_add(char *sentence, const struct verdict_row *row)
{
	char state[ESCAPE_SIZE(WAIT_STATE_LEN)];

	if (!row->wait.state || row->culprits != 1 || row->wait_ns <= row->ns / 2 ||
	    text_is_program(row))
		return;
	escape_text(state, sizeof(state), row->wait.state, WAIT_STATE_LEN);
	sentence_add(sentence, row->wait.held ? " (%s)" : ", which is %s", state);
}

/* "waited for a pipe that is full", "waited for slowfs[12], which is stopped: the program that
 * serves its file system (FUSE)", "waited in do_that, until main[12] woke it". Returns false if
 * that is not known. */
static bool wait_add(char *sentence, const struct verdict_row *row)
{
	char who[WHO_LEN];
	const bool named = *text_row_who(who, row);
	const bool until = row->cause == CAUSE_WAIT || (row->cause == CAUSE_LOCK && row->wait.user);

	if (is_unanswered(row)) {
		unanswered_add(sentence, row);
		state_add(sentence, row);
		return true;
	}
	if (says_enough(row) || !(row->wait.words || row->wait.wchan) ||
	    row->wait_ns <= row->ns / 2)
		return false;
	if (row->wait.words && named && !until) {
		work_add(who, sizeof(who), row);
		sentence_add(sentence, "waited for %s", who);
		state_add(sentence, row);
		sentence_add(sentence, ": %s", row->wait.words);
		return true;
	}
	sentence_wait(sentence, &row->wait);
	if (row->wait.held && named)
		sentence_add(sentence, row->so_far ? ", which %s has" : ", which %s had", who);
	else if (named && until)
		sentence_add(sentence, ", until %s woke %s", who, is_of_one(row) ? "it" : "them");
	else if (!named && row->wait.woken_by)
		sentence_add(sentence, ", until %s or others woke %s",
			     text_who(who, row->wait.woken_name, KD_COMM_LEN, row->wait.woken_by),
			     is_of_one(row) ? "it" : "them");
	state_add(sentence, row);
	return true;
}

/* Adds ", which ran meanwhile". */
static void did_add(char *sentence, const struct verdict_row *row)
{
	char wchan[TEXT_WCHAN];

	if (row->culprits != 1 || row->wait_ns <= row->ns / 2 || row->wait.hangs)
		return;
	if (row->wait.did == WAIT_RAN)
		sentence_add(sentence, ", which ran meanwhile");
	if (row->wait.did != WAIT_SLEPT)
		return;
	sentence_add(sentence, ", which slept meanwhile in %s",
		     text_wchan(wchan, row->wait.did_in));
}

/* Adds "waited for worker[12], which ": the thread of the target that the cause kept, and of a
 * single one that waited, who else is between; before is false for what is added behind a cause
 * that kept others, too. */
static void via_add(char *sentence, const struct verdict_row *row, bool before)
{
	const struct chain_row *via = row->via;
	char who[WHO_LEN];

	if (!via || row->via_ns <= row->ns / 2 || before != (row->via_ns >= row->ns - row->ns / 10))
		return;
	if (before && via->via != via->tid && is_of_one(row))
		sentence_add(sentence, "waited for %s, which ",
			     text_who(who, via->via_name, sizeof(via->via_name), via->via));
	text_who(who, via->name, sizeof(via->name), via->tid);
	sentence_add(sentence, before ? "waited for %s, which " : ", mostly by way of %s", who);
}

/* Adds " (fd 5, /tmp/fifo)", cut at its start; nothing if no descriptor has most of the time. */
static void at_add(char *sentence, const struct verdict_row *row)
{
	char text[DESCRIPTOR_TEXT_LEN], escaped[ESCAPE_SIZE(DESCRIPTOR_TEXT_LEN)];

	if (!row->at || row->at->fd < 0 || row->at_ns <= row->ns / 2 || text_is_program(row))
		return;
	text_path_cut(escaped, sizeof(escaped), descriptor_text(row->at, text), sizeof(text),
		      PATH_WIDTH);
	sentence_add(sentence, " (%sfd %d%s%.400s)",
		     row->at_ns < row->ns - row->ns / 10 ? "mostly " : "", (int)row->at->fd,
		     *escaped ? ", " : "", escaped);
}

/* Adds ", of whose bytes backup-agent[712] had 88 %". */
static void disk_use_add(char *sentence, const struct disk_use *use, const struct verdict_row *row)
{
	char who[WHO_LEN];

	if (row->cause == CAUSE_DISK && use->pid && row->culprits == 1 &&
	    !strncmp(use->device, row->who.comm, sizeof(use->device)))
		sentence_add(sentence, ", of whose bytes %s had %s",
			     text_who(who, use->name, sizeof(use->name), use->pid),
			     AS_SHARE(use->bytes, use->all_bytes));
}

bool text_is_journal(const struct verdict_row *row)
{
	const char *name = row->wait.wchan;
	const struct wchan *wchan = name ? wchan_find(&name, 1, NULL) : NULL;

	return row->cause == CAUSE_DISK && wchan && wchan->cause == WCHAN_FS &&
	       row->wait_ns > row->ns / 2;
}

/* Adds ": the journal (jbd2/vda1-8), which waited for data of backup[712], held back by the disk
 * limit of the group /batch": what a file system waits for before a change to it is certain. */
static void journal_add(char *sentence, const struct journal_use *use,
			const struct verdict_row *row)
{
	char name[ESCAPE_SIZE(KD_COMM_LEN)], who[WHO_LEN];
	char group[ESCAPE_SIZE(CULPRIT_GROUP_LEN)];

	if (!*use->journal || !text_is_journal(row))
		return;
	escape_text(name, sizeof(name), use->journal, sizeof(use->journal));
	sentence_add(sentence, ": the journal (%s)", name);
	if (!use->waits)
		return;
	sentence_add(sentence, ", which waited for data of ");
	if (use->pid)
		sentence_add(sentence, "%s", text_who(who, use->name, sizeof(use->name), use->pid));
	else
		sentence_add(sentence, "others");
	if (!use->limit.per_second)
		return;
	text_path_cut(group, sizeof(group), use->limit.group, sizeof(use->limit.group), PATH_WIDTH);
	sentence_add(sentence, ", held back by the disk limit of the group %.200s", group);
}

/* Adds ", mostly for pages of a mapped file (/var/lib/data)". */
static void faulted_add(char *sentence, const struct sample *sample, const struct verdict_row *row)
{
	const bool major = row->cause == CAUSE_MAJOR_FAULT;
	const struct faulted *of = major ? &sample->faulted.major : &sample->faulted.minor;
	char path[ESCAPE_SIZE(FAULTED_PATH)];

	if ((!major && row->cause != CAUSE_PAGE_FAULT) || row->who.tid ||
	    row->worst->tid != sample->faulted.tid || row->worst_ns <= row->ns / 2 ||
	    of->kind >= FAULTED_SORTS || !faulted_words[of->kind])
		return;
	sentence_add(sentence, ", mostly %s", faulted_words[of->kind]);
	if (!*of->path)
		return;
	text_path_cut(path, sizeof(path), of->path, sizeof(of->path), PATH_WIDTH);
	sentence_add(sentence, " (%.200s)", path);
}

/* Adds ", mostly by /pods/web/sidecar (93 %)", "... hog[712] (93 %)", "... others (93 %)". */
static void user_add(char *sentence, const struct sample *sample, const struct verdict_row *row)
{
	const struct quota_use *use = &sample->quota_use;
	char escaped[ESCAPE_SIZE(CULPRIT_GROUP_LEN)], who[WHO_LEN];
	const uint64_t most = use->all_ns / 2;

	if (!text_quota_of_others(sample, row))
		return;
	sentence_add(sentence, ", mostly by ");
	if (!use->own && use->used_ns > most) {
		text_path_cut(escaped, sizeof(escaped), use->user, sizeof(use->user), PATH_WIDTH);
		sentence_add(sentence, "%.200s (%s)", escaped, AS_SHARE(use->used_ns, use->all_ns));
	} else if (use->pid && use->pid_ns > most) {
		sentence_add(sentence, "%s (%s)",
			     text_who(who, use->name, sizeof(use->name), use->pid),
			     AS_SHARE(use->pid_ns, use->all_ns));
	} else {
		sentence_add(sentence, "others (%s)",
			     AS_SHARE(u64_sub(use->all_ns, use->target_ns), use->all_ns));
	}
}

/* Adds ", while a CPU that it may use was idle for 80.0 ms". */
static void idle_add(char *sentence, const struct verdict *verdict, const struct verdict_row *row)
{
	const enum kd_idle_kind kind = verdict_idle(verdict, row);
	const char *they = is_of_one(row) && !row->via ? "it" : "they";

	if (kind == KD_IDLE_ALLOWED)
		sentence_add(sentence, ", while a CPU that %s may use was idle for %s", they,
			     AS_TIME(row->idle[kind]));
	else if (kind == KD_IDLE_BARRED)
		sentence_add(sentence, ", while only CPUs that %s may not use were idle, for %s",
			     they, AS_TIME(row->idle[kind]));
}

/* Adds "; 42 requests took 1.20 ms on average, 12.0 ms at most, after 3.00 ms in the queue": the
 * speed of a disk, and what it had to do before. */
static void requests_add(char *sentence, const struct verdict_row *row)
{
	const struct kd_count *requests = &row->requests;

	if (requests->count == 1)
		sentence_add(sentence, "; its request took %s", AS_TIME(requests->max));
	else if (requests->count)
		sentence_add(sentence, "; %s requests took %s on average, %s at most",
			     GROUPED(requests->count), AS_TIME(requests->total / requests->count),
			     AS_TIME(requests->max));
	if (requests->count && row->queued > requests->total / 10)
		sentence_add(sentence, ", after %s in the queue",
			     AS_TIME(row->queued / requests->count));
}

/* Adds "; main[4711] for 1.97 s of 2.00 s": of several threads, the one that it kept longest; or
 * "; each up to 2.01 s", where all lost about as much. */
static void worst_add(char *sentence, const struct verdict_row *row)
{
	const struct thread_row *worst = row->worst;
	char who[WHO_LEN];

	if (is_of_one(row) || worst->members != 1)
		return;
	if (u64_times(row->worst_ns, row->threads) < row->ns + row->ns / 4)
		sentence_add(sentence, "; each up to %s", AS_TIME(row->worst_ns));
	else
		sentence_add(sentence, "; %s for %s of %s", text_thread_who(who, worst),
			     AS_TIME(row->worst_ns), AS_TIME(worst->ledger.life));
}

#define SEEN_LEAST 90 /* percent of the waits */

/* Adds "; seen in 41 % of that": chains know the last long sleeps only. */
static void seen_add(char *sentence, const struct verdict_row *row)
{
	if (row->chained > row->ns / 2 &&
	    u64_times(row->seen, 100) < u64_times(row->chained, SEEN_LEAST))
		sentence_add(sentence, "; seen in %s of that", AS_SHARE(row->seen, row->chained));
}

/* "84 % (840 ms of 1.00 s" */
void sentence_share(char *sentence, const struct verdict *verdict, uint64_t part)
{
	sentence_add(sentence, "%s (%s of %s", AS_SHARE(part, verdict->busy), AS_TIME(part),
		     AS_TIME(verdict->busy));
}

/* "64 % (637 ms of 1.00 s, longest 12.7 ms): main[4711] waited for CPU 0, on which ... ran." */
void sentence_of_row(char *sentence, const struct sample *sample, const struct verdict_row *row,
		     bool multiple)
{
	const struct verdict *verdict = sample->verdict;

	sentence_share(sentence, verdict, row->ns);
	if (row->longest)
		sentence_add(sentence, ", longest %s%s%s", AS_TIME(row->longest),
			     row->longest == row->so_far ? " so far" : "",
			     row->before ? ", which began before" : "");
	sentence_add(sentence, "): ");
	subject_add(sentence, row);
	if (row->n_parts) {
		parts_add(sentence, row);
		worst_add(sentence, row);
		sentence_add(sentence, ".");
		return;
	}
	via_add(sentence, row, true);
	if (!wait_add(sentence, row)) {
		what_add(sentence, sample, row, multiple);
		faulted_add(sentence, sample, row);
		journal_add(sentence, &sample->journal_use, row);
		disk_use_add(sentence, &sample->disk_use, row);
		state_add(sentence, row);
	}
	did_add(sentence, row);
	idle_add(sentence, verdict, row);
	user_add(sentence, sample, row);
	if (is_unanswered(row))
		asked_add(sentence, row);
	else
		at_add(sentence, row);
	via_add(sentence, row, false);
	requests_add(sentence, row);
	worst_add(sentence, row);
	seen_add(sentence, row);
	sentence_add(sentence, ".");
}
