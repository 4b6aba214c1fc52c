/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict in sentences. */
#define _GNU_SOURCE
#include "text_verdict.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/escape.h"
#include "cli/base/parse.h"
#include "cli/base/texts.h"
#include "text_advice.h"
#include "text_parts.h"
#include "text_who.h"

#define PREFIX "VERDICT "
#define PREFIX_WIDTH (sizeof(PREFIX) - 1)
#define SENTENCE_LEN 512

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
	[CAUSE_PAGE_FAULT] = { "had page faults, mostly %s", "had page faults" },
	[CAUSE_MAJOR_FAULT] = { "had major page faults (pages read from disk or swap), mostly %s",
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
	[CAUSE_RECLAIM] = { "were made to free memory by %s", "were made to free memory" },
	[CAUSE_CHILD] = { .named = "waited for their child %s" },
	[CAUSE_TIMER] = { "woke up later than their timers, for %s",
			  "woke up later than their timers" },
	[CAUSE_STOPPED] = { "were stopped by %s", "were stopped (SIGSTOP, a debugger, strace)" },
	[CAUSE_FROZEN] = { "were" FROZEN " (%s)", "were" FROZEN },
};

__attribute__((format(printf, 2, 3))) static void add(char sentence[static SENTENCE_LEN],
						      const char *format, ...)
{
	size_t used = strlen(sentence);
	va_list args;

	va_start(args, format);
	vsnprintf(sentence + used, SENTENCE_LEN - used, format, args);
	va_end(args);
}

static const char *thread_who(char who[static WHO_LEN], const struct thread_row *thread)
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
		add(sentence, "%s ", thread_who(who, row->worst));
	else
		add(sentence, "%u thread%s ", row->threads, row->threads == 1 ? "" : "s");
}

/* "CPU 3" if the threads that lost most ran only there; else "a CPU". */
static const char *cpu_of(char cpu[static 32], const struct verdict_row *row)
{
	const int only = is_of_one(row) ? thread_only_cpu(row->worst) : row->cpu;

	snprintf(cpu, 32, "a CPU");
	if (only >= 0)
		snprintf(cpu, 32, "CPU %d", only);
	return cpu;
}

/* Format for one thread of one process, or for several. With several processes, "own threads"
 * are those of all. */
static const char *format_of(const struct verdict_row *row, bool named, bool multiple)
{
	const struct sentence *one = &sentences[row->cause], *many = &plural[row->cause];
	bool is_one = is_of_one(row) && !(multiple && row->cause == CAUSE_OWN_THREADS);

	if (named)
		return is_one || !many->named ? one->named : many->named;
	return is_one || !many->unnamed ? one->unnamed : many->unnamed;
}

/* "/pods/web (20 ms per 100 ms)", " of 5 ms per 20 ms". Returns who. */
static const char *limit_text(char who[static WHO_LEN + CLASS_LEN], const struct verdict_row *row)
{
	bool of_group = row->cause == CAUSE_THROTTLED;

	text_path_cut(who, WHO_LEN + CLASS_LEN, row->who.comm, sizeof(row->who.comm), PATH_WIDTH);
	if (row->who.period_ns && (*who || !of_group))
		text_append(who, WHO_LEN + CLASS_LEN, of_group ? " (%s per %s)" : " of %s per %s",
			    AS_LIMIT(row->who.quota_ns), AS_LIMIT(row->who.period_ns));
	return who;
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

/* What one culprit did, of several causes; %s: a CPU. */
static const char *const deeds[CAUSES] = {
	[CAUSE_TASK] = "had %s",
	[CAUSE_OWN_THREADS] = "had %s",
	[CAUSE_RT_LIMIT] = "was given %s by the real-time limit",
	[CAUSE_SOFTIRQ] = "handled soft interrupts",
	[CAUSE_LOCK] = "held a lock",
	[CAUSE_KERNEL_LOCK] = "held a lock in the kernel",
	[CAUSE_PEER] = "was at the other end of a pipe or socket",
	[CAUSE_STOPPED] = "stopped them",
};

/* "waited for hog[4711] (nice 5), which had CPU 0 (310 ms) and held a lock (200 ms)" */
static void parts_add(char *sentence, const struct verdict_row *row)
{
	char who[WHO_LEN], class[CLASS_LEN], cpu[32];

	add(sentence, "waited for %s", text_row_who(who, row));
	if (*text_class(class, &row->who))
		add(sentence, " (%s)", class);
	cpu_of(cpu, row);
	for (unsigned int i = 0; i < row->n_parts; i++) {
		const char *deed = deeds[row->parts[i].cause]
					   ?: cause_words[row->parts[i].cause].title;

		if (row->parts[i].cause == CAUSE_STOPPED && is_of_one(row))
			deed = "stopped it";
		add(sentence, !i ? ", which " : i + 1 < row->n_parts ? ", " : " and ");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		add(sentence, deed, cpu);
#pragma GCC diagnostic pop
		add(sentence, " (%s)", AS_TIME(row->parts[i].ns));
	}
}

static void what_add(char *sentence, const struct verdict_row *row, bool multiple)
{
	char who[WHO_LEN + CLASS_LEN + 4], class[CLASS_LEN], cpu[32], lock[WHO_LEN];
	bool waits = row->cause == CAUSE_TASK || row->cause == CAUSE_OWN_THREADS ||
		     row->cause == CAUSE_RT_LIMIT || row->cause == CAUSE_IDLE;
	bool named;
	const char *format;

	if (row->cause == CAUSE_THROTTLED || row->cause == CAUSE_DEADLINE)
		named = *limit_text(who, row);
	else
		named = *text_row_who(who, row);
	if (*text_class(class, &row->who))
		text_append(who, sizeof(who), " (%s)", class);
	if (*row->who.stopped_by)
		text_append(who, sizeof(who), named ? " (%s)" : "%s", row->who.stopped_by);
	named |= *row->who.stopped_by;
	format = format_of(row, named, multiple);
	cpu_of(cpu, row);
	/* All formats are in the tables above; they need not use all arguments. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	add(sentence, format,
	    waits                             ? cpu
	    : row->cause == CAUSE_KERNEL_LOCK ? lock_text(lock, row, named)
					      : who,
	    who);
#pragma GCC diagnostic pop
}

/* True if the cause alone says more than what the wait was for. */
static bool says_enough(const struct verdict_row *row)
{
	bool named = *row->who.comm;

	if (row->wait.user && !(named && row->cause == CAUSE_CHILD))
		return false;
	return row->cause == CAUSE_LOCK || row->cause == CAUSE_CHILD ||
	       (named && (row->cause == CAUSE_DISK || row->cause == CAUSE_PEER)) ||
	       (!row->wait.words && row->cause != CAUSE_WAIT);
}

/* "waited for a futex", "waited in do_that" */
static void wait_text_add(char *sentence, const struct wait_words *wait)
{
	char wchan[ESCAPE_SIZE(KD_FUNCTION_LEN)], function[ESCAPE_SIZE(USER_FUNCTION_LEN)];

	if (wait->words) {
		add(sentence, "waited for %s", wait->words);
	} else {
		escape_text(wchan, sizeof(wchan), wait->wchan, KD_FUNCTION_LEN);
		add(sentence, "waited in %s", wchan);
	}
	if (!wait->function)
		return;
	escape_text(function, sizeof(function), wait->function, USER_FUNCTION_LEN);
	add(sentence, wait->user ? " (%s)" : " (in %s)", function);
}

/* "waited for a pipe that is full", "waited for slowfs[12]: the program that serves its file system
 * (FUSE)", "waited in do_that, until main[12] woke it". Returns false if that is not known. */
static bool wait_add(char *sentence, const struct verdict_row *row)
{
	char who[WHO_LEN];
	const bool named = *text_row_who(who, row);
	const bool until = row->cause == CAUSE_WAIT || row->cause == CAUSE_LOCK;

	if (says_enough(row) || !(row->wait.words || row->wait.wchan) ||
	    row->wait_ns <= row->ns / 2)
		return false;
	if (row->wait.words && named && !until)
		add(sentence, "waited for %s: %s", who, row->wait.words);
	else
		wait_text_add(sentence, &row->wait);
	if (row->wait.held && named)
		add(sentence, row->so_far ? ", which %s has" : ", which %s had", who);
	else if (named && until)
		add(sentence, ", until %s woke it", who);
	else if (!named && row->wait.woken_by)
		add(sentence, ", until %s or others woke it",
		    text_who(who, row->wait.woken_name, KD_COMM_LEN, row->wait.woken_by));
	return true;
}

/* Adds ", which is stopped". */
static void state_add(char *sentence, const struct verdict_row *row)
{
	char state[ESCAPE_SIZE(WAIT_STATE_LEN)];

	if (!row->wait.state || row->culprits != 1 || row->wait_ns <= row->ns / 2)
		return;
	escape_text(state, sizeof(state), row->wait.state, WAIT_STATE_LEN);
	add(sentence, row->wait.held ? " (%s)" : ", which is %s", state);
}

/* Adds " (fd 5, /tmp/fifo)", cut at its start; nothing if no descriptor has most of the time. */
static void at_add(char *sentence, const struct verdict_row *row)
{
	char text[DESCRIPTOR_TEXT_LEN], escaped[ESCAPE_SIZE(DESCRIPTOR_TEXT_LEN)];

	if (!row->at || row->at->fd < 0 || row->at_ns <= row->ns / 2)
		return;
	text_path_cut(escaped, sizeof(escaped), descriptor_text(row->at, text), sizeof(text),
		      PATH_WIDTH);
	add(sentence, " (%sfd %d%s%.400s)", row->at_ns < row->ns - row->ns / 10 ? "mostly " : "",
	    (int)row->at->fd, *escaped ? ", " : "", escaped);
}

/* Adds ", mostly by /pods/web/sidecar (93 %)": who used up a quota, if that was not the target. */
static void user_add(char *sentence, const struct quota_use *use, const struct verdict_row *row)
{
	char escaped[ESCAPE_SIZE(CULPRIT_GROUP_LEN)];

	if (row->cause != CAUSE_THROTTLED || use->own || !*use->group ||
	    strncmp(use->group, row->who.comm, sizeof(use->group)) != 0 ||
	    use->used_ns <= use->all_ns / 2)
		return;
	text_path_cut(escaped, sizeof(escaped), use->user, sizeof(use->user), PATH_WIDTH);
	add(sentence, ", mostly by %.200s (%s)", escaped, AS_SHARE(use->used_ns, use->all_ns));
}

/* Adds "; 42 requests took 1.20 ms on average, 12.0 ms at most": the speed of a disk. */
static void requests_add(char *sentence, const struct kd_count *requests)
{
	if (requests->count == 1)
		add(sentence, "; its request took %s", AS_TIME(requests->max));
	else if (requests->count)
		add(sentence, "; %s requests took %s on average, %s at most",
		    GROUPED(requests->count), AS_TIME(requests->total / requests->count),
		    AS_TIME(requests->max));
}

/* "84 % (840 ms of 1.00 s" */
static void share_add(char *sentence, const struct verdict *verdict, uint64_t part)
{
	add(sentence, "%s (%s of %s", AS_SHARE(part, verdict->busy), AS_TIME(part),
	    AS_TIME(verdict->busy));
}

/* "64 % (637 ms of 1.00 s, longest 12.7 ms): main[4711] waited for CPU 0, on which ... ran." */
static void sentence_make(char *sentence, const struct sample *sample,
			  const struct verdict_row *row, bool multiple)
{
	const struct verdict *verdict = sample->verdict;

	share_add(sentence, verdict, row->ns);
	if (row->longest)
		add(sentence, ", longest %s%s%s", AS_TIME(row->longest),
		    row->longest == row->so_far ? " so far" : "",
		    row->before ? ", which began before" : "");
	add(sentence, "): ");
	subject_add(sentence, row);
	if (row->n_parts) {
		parts_add(sentence, row);
		add(sentence, ".");
		return;
	}
	if (!wait_add(sentence, row))
		what_add(sentence, row, multiple);
	state_add(sentence, row);
	user_add(sentence, &sample->quota_use, row);
	at_add(sentence, row);
	requests_add(sentence, &row->requests);
	add(sentence, ".");
}

static uint64_t thread_ran(const struct verdict_thread *thread)
{
	return thread->busy - thread->delay;
}

static uint64_t thread_unexplained(const struct verdict_thread *thread)
{
	return thread->unexplained;
}

static uint64_t thread_outside(const struct verdict_thread *thread)
{
	return thread->row->outside_calls;
}

/* The thread that has nearly all of a sum; NULL: none. Sets the number of those that have a part.
 */
static const struct thread_row *whose(const struct verdict *verdict,
				      uint64_t (*part)(const struct verdict_thread *), uint64_t sum,
				      uint64_t *threads)
{
	const struct verdict_thread *most = NULL;
	uint64_t most_ns = 0;

	*threads = 0;
	for (size_t i = 0; i < verdict->n_threads; i++) {
		const struct verdict_thread *thread = &verdict->threads[i];
		uint64_t ns = part(thread);

		*threads += ns ? thread->row->members : 0;
		if (ns > most_ns) {
			most = thread;
			most_ns = ns;
		}
	}
	return most && most->row->members == 1 && most_ns >= sum - sum / 10 ? most->row : NULL;
}

/* Adds "main[4711]" if one thread has nearly all of a sum, else "5 threads". */
static void whose_add(char *sentence, const struct verdict *verdict,
		      uint64_t (*part)(const struct verdict_thread *), uint64_t sum)
{
	uint64_t threads;
	const struct thread_row *most = whose(verdict, part, sum, &threads);
	char who[WHO_LEN];

	if (!most)
		add(sentence, "%llu thread%s", (unsigned long long)threads,
		    threads == 1 ? "" : "s");
	else
		add(sentence, "%s", thread_who(who, most));
}

/* A condition variable has no holder, but a thread wakes the waiters. */
static void unexplained_make(char *sentence, const struct verdict *verdict)
{
	char who[WHO_LEN], function[ESCAPE_SIZE(USER_FUNCTION_LEN)];
	bool woken = verdict->until_woken > verdict->unexplained / 2;
	const struct wait_words *wait = &verdict->unclaimed.wait;
	bool slept = verdict->unclaimed.ns > verdict->unexplained / 4 &&
		     (wait->words || wait->wchan);

	share_add(sentence, verdict, verdict->unexplained);
	add(sentence, ") unexplained: ");
	whose_add(sentence, verdict, thread_unexplained, verdict->unexplained);
	escape_text(function, sizeof(function), slept && wait->function ? wait->function : "futex",
		    USER_FUNCTION_LEN);
	if (woken)
		add(sentence, " waited in %s until %s woke it.", function,
		    text_who(who, verdict->waker.comm, sizeof(verdict->waker.comm),
			     verdict->waker.tid));
	else if (!slept)
		add(sentence, " did not run, and the reason is unknown.");
	if (!woken && slept) {
		add(sentence, " ");
		wait_text_add(sentence, wait);
		add(sentence, ".");
	}
}

static uint64_t ran_ns(const struct verdict *verdict)
{
	return verdict->busy - u64_min(verdict->delay, verdict->busy);
}

/* Adds which of several threads computed, if one did for half of the window or more. */
static void runner_add(char *sentence, const struct sample *sample)
{
	const struct verdict *verdict = sample->verdict;
	const uint64_t ran = ran_ns(verdict);
	char who[WHO_LEN];
	uint64_t threads;
	const struct thread_row *most = whose(verdict, thread_ran, ran, &threads);

	if (most && verdict->n_threads > 1 && ran >= (sample->end - sample->start) / 2)
		add(sentence, "; nearly all of it %s", thread_who(who, most));
}

/* It ran most of the time, or there is nothing else to say. */
static void ran_make(char *sentence, const struct sample *sample, bool multiple)
{
	const struct verdict *verdict = sample->verdict;
	const char *it = multiple ? "they" : "it";

	if (!verdict->life) {
		add(sentence, "There was no thread to look at.");
		return;
	}
	if (!verdict_is_undisturbed(verdict)) {
		/* Shares of the busy time, as all of this kind of sentence. */
		share_add(sentence, verdict, ran_ns(verdict));
		add(sentence, "): ");
		whose_add(sentence, verdict, thread_ran, ran_ns(verdict));
		add(sentence, " ran: user %s, kernel %s.", AS_SHARE(verdict->user, verdict->busy),
		    AS_SHARE(verdict->kernel, verdict->busy));
		return;
	}
	if (verdict_had_little(verdict))
		add(sentence, "%s had little to do: ", multiple ? "They" : "It");
	else
		add(sentence, "Nothing kept %s from running: ", multiple ? "them" : "it");
	add(sentence, "%s ran for %s", it, AS_TIME(ran_ns(verdict)));
	if (!verdict->work)
		add(sentence, " of %s", AS_TIME(verdict->life));
	if (ran_ns(verdict)) {
		add(sentence, " (user %s, kernel %s", AS_TIME(verdict->user),
		    AS_TIME(verdict->kernel));
		runner_add(sentence, sample);
		add(sentence, ")");
	}
	if (verdict_had_little(verdict))
		add(sentence, ", %s kept from running for %s", multiple ? "were" : "was",
		    AS_TIME(verdict->delay));
	if (verdict->work)
		add(sentence, ", and waited for work for %s", AS_TIME(verdict->work));
	add(sentence, ".");
}

#define OUTSIDE_LEAST 10 /* percent of the time that it ran; less is not worth a sentence */

static bool is_outside(const struct verdict *verdict)
{
	return verdict->outside_calls &&
	       u64_times(verdict->outside_calls, 100) >= u64_times(ran_ns(verdict), OUTSIDE_LEAST);
}

/* Kernel work that no system call, page fault or interrupt accounts for: part of the time that it
 * ran, see model/ledger.h. */
static void outside_make(char *sentence, const struct verdict *verdict)
{
	share_add(sentence, verdict, verdict->outside_calls);
	add(sentence, "): ");
	whose_add(sentence, verdict, thread_outside, verdict->outside_calls);
	add(sentence, " ran in the kernel outside system calls (seccomp filters, breakpoints, "
		      "closing files).");
}

/* Makes sentence i, largest share first. Returns false after the last one. Running time is only
 * mentioned if it is largest, or alone, and what of it was outside calls. */
static bool sentence_next(char sentence[static SENTENCE_LEN], const struct sample *sample, size_t i,
			  bool multiple)
{
	const struct verdict *verdict = sample->verdict;
	bool unexplained = verdict_is_unexplained(verdict);
	size_t before = 0;

	*sentence = '\0';
	if (verdict->largest == VERDICT_RAN) {
		if (!i) {
			ran_make(sentence, sample, multiple);
			return true;
		}
		i--;
	}
	if (is_outside(verdict)) {
		if (i == (verdict->largest != VERDICT_RAN)) {
			outside_make(sentence, verdict);
			return true;
		}
		i -= i > 0;
	}
	for (size_t j = 0; j < verdict->n_told_blamed; j++)
		if (verdict->told[j].ns >= verdict->unexplained)
			before = j + 1;
	if (unexplained && i == before) {
		unexplained_make(sentence, verdict);
		return true;
	}
	i -= unexplained && i > before;
	if (i >= verdict->n_told_blamed)
		return false;
	sentence_make(sentence, sample, &verdict->told[i], multiple);
	return true;
}

static bool ends_in_digit(const char *word)
{
	return *word && strchr("0123456789", word[strlen(word) - 1]);
}

/* Breaks a sentence into lines of the screen's width. Returns their number; sets the first
 * VERDICT_LINES of them. */
static unsigned int wrap(char *sentence, const char *lines[static VERDICT_LINES])
{
	unsigned int n = 0;
	size_t column = 0, width, unit;
	char *word;

	while ((word = strsep(&sentence, " "))) {
		width = escape_width(word);
		/* A number stays with its unit. */
		unit = sentence && ends_in_digit(word) ? 1 + strcspn(sentence, " ") : 0;
		if (n && column + 1 + width + unit <= SCREEN_WIDTH - PREFIX_WIDTH) {
			word[-1] = ' '; /* undo the break */
			column += 1 + width;
			continue;
		}
		if (n < VERDICT_LINES)
			lines[n] = word;
		n++;
		column = width;
	}
	return n;
}

static void lines_add(struct text *text, const char *const *lines, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		text_bold(text, i ? "        " : PREFIX);
		columns_add(&text->columns, lines[i]);
		columns_add(&text->columns, "\n");
	}
}

unsigned int text_verdict(struct text *text)
{
	char sentence[SENTENCE_LEN];
	const char *lines[VERDICT_LINES];
	unsigned int n, used = 0;
	bool multiple = text_is_multiprocess(text->sample);

	for (size_t i = 0; sentence_next(sentence, text->sample, i, multiple); i++) {
		n = wrap(sentence, lines);
		if (used && used + n > VERDICT_LINES)
			break;
		n = (unsigned int)u64_min(n, VERDICT_LINES);
		lines_add(text, lines, n);
		used += n;
	}
	return used;
}

void text_sentences(struct text *text)
{
	char sentence[SENTENCE_LEN];
	bool multiple = text_is_multiprocess(text->sample);

	for (size_t i = 0; sentence_next(sentence, text->sample, i, multiple); i++) {
		columns_add(&text->columns, sentence);
		columns_add(&text->columns, "\n");
	}
}
