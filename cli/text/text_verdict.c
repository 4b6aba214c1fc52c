/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict in sentences. */
#define _GNU_SOURCE
#include "text_verdict.h"

#include <stdio.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/escape.h"
#include "cli/base/texts.h"
#include "text_advice.h"
#include "text_parts.h"
#include "text_sentence.h"
#include "text_who.h"
#include "text_window.h"

#define PREFIX "VERDICT "
#define PREFIX_WIDTH (sizeof(PREFIX) - 1)

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
		sentence_add(sentence, "%llu thread%s", (unsigned long long)threads,
			     threads == 1 ? "" : "s");
	else
		sentence_add(sentence, "%s", text_thread_who(who, most));
}

static void unexplained_make(char *sentence, const struct verdict *verdict)
{
	char who[WHO_LEN];
	const struct wait_words *wait = &verdict->unclaimed.wait;
	bool slept = verdict->unclaimed.ns > verdict->unexplained / 4 &&
		     (wait->words || wait->wchan);

	sentence_share(sentence, verdict, verdict->unexplained);
	sentence_add(sentence, ") unexplained: ");
	whose_add(sentence, verdict, thread_unexplained, verdict->unexplained);
	if (!slept) {
		sentence_add(sentence, " did not run, and the reason is unknown.");
		return;
	}
	sentence_add(sentence, " ");
	sentence_wait(sentence, wait);
	if (verdict->unclaimed.who.tid)
		sentence_add(sentence, ", until %s woke it",
			     text_who(who, verdict->unclaimed.who.comm, KD_COMM_LEN,
				      verdict->unclaimed.who.tid));
	sentence_add(sentence, ".");
}

/* Adds which of several threads computed, if one did for half of the window or more. */
static void runner_add(char *sentence, const struct sample *sample)
{
	const struct verdict *verdict = sample->verdict;
	const uint64_t ran = verdict_ran(verdict);
	char who[WHO_LEN];
	uint64_t threads;
	const struct thread_row *most = whose(verdict, thread_ran, ran, &threads);

	if (most && verdict->n_threads > 1 && ran >= (sample->end - sample->start) / 2)
		sentence_add(sentence, "; nearly all of it %s", text_thread_who(who, most));
}

#define COMPUTED_WIDTH 48 /* bytes of a name */
#define COMPUTED_LEAST 20 /* percent of a thread's time in user mode */

/* Adds " (84 % in hashTypeGet [redis-server])": where one that ran most was in user mode. */
static void computed_add(char *sentence, const struct verdict *verdict, const char *before,
			 const char *behind)
{
	uint64_t threads;
	const struct thread_row *most = whose(verdict, thread_ran, verdict_ran(verdict), &threads);
	const struct computed *computed = most ? &most->computed : NULL;
	char name[ESCAPE_SIZE(COMPUTED_WIDTH)], object[ESCAPE_SIZE(COMPUTED_WIDTH)];

	if (!computed || !computed->ticks ||
	    u64_times(computed->ticks, 100) < u64_times(computed->of, COMPUTED_LEAST))
		return;
	escape_text(name, sizeof(name), computed->function, COMPUTED_WIDTH);
	escape_text(object, sizeof(object), computed->object, COMPUTED_WIDTH);
	sentence_add(sentence, "%s%s of that in %s%s%s%s%s", before,
		     AS_SHARE(computed->ticks, computed->of), name, *object ? " [" : "", object,
		     *object ? "]" : "", behind);
}

/* It ran most of the time, or there is nothing else to say. */
static void ran_make(char *sentence, const struct sample *sample, bool multiple)
{
	const struct verdict *verdict = sample->verdict;
	const char *it = multiple ? "they" : "it";

	if (!verdict->life) {
		sentence_add(sentence, "There was no thread to look at.");
		return;
	}
	if (!verdict_is_undisturbed(verdict)) {
		/* Shares of the busy time, as all of this kind of sentence. */
		sentence_share(sentence, verdict, verdict_ran(verdict));
		sentence_add(sentence, "): ");
		whose_add(sentence, verdict, thread_ran, verdict_ran(verdict));
		sentence_add(sentence, " ran: user %s", AS_SHARE(verdict->user, verdict->busy));
		computed_add(sentence, verdict, " (", ")");
		sentence_add(sentence, ", kernel %s", AS_SHARE(verdict->kernel, verdict->busy));
		if (verdict->guest)
			sentence_add(sentence, ", guest %s",
				     AS_SHARE(verdict->guest, verdict->busy));
		sentence_add(sentence, ".");
		return;
	}
	if (verdict_had_little(verdict))
		sentence_add(sentence, "%s had little to do: ", multiple ? "They" : "It");
	else
		sentence_add(sentence, "Nothing kept %s from running: ", multiple ? "them" : "it");
	sentence_add(sentence, "%s ran for %s", it, AS_TIME(verdict_ran(verdict)));
	if (!verdict->work)
		sentence_add(sentence, " of %s", AS_TIME(verdict->life));
	if (verdict_ran(verdict)) {
		sentence_add(sentence, " (user %s", AS_TIME(verdict->user));
		computed_add(sentence, verdict, ", ", "");
		sentence_add(sentence, ", kernel %s", AS_TIME(verdict->kernel));
		if (verdict->guest)
			sentence_add(sentence, ", guest %s", AS_TIME(verdict->guest));
		runner_add(sentence, sample);
		sentence_add(sentence, ")");
	}
	if (verdict_had_little(verdict))
		sentence_add(sentence, ", %s kept from running for %s", multiple ? "were" : "was",
			     AS_TIME(verdict->delay));
	if (verdict->work)
		sentence_add(sentence, ", and waited for work for %s", AS_TIME(verdict->work));
	sentence_add(sentence, ".");
}

#define OUTSIDE_LEAST 10 /* percent of the time that it ran; less is not worth a sentence */

static bool is_outside(const struct verdict *verdict)
{
	return verdict->outside_calls && u64_times(verdict->outside_calls, 100) >=
						 u64_times(verdict_ran(verdict), OUTSIDE_LEAST);
}

/* Kernel work that no system call, page fault or interrupt accounts for: part of the time that it
 * ran, see model/ledger.h. */
static void outside_make(char *sentence, const struct verdict *verdict)
{
	sentence_share(sentence, verdict, verdict->outside_calls);
	sentence_add(sentence, "): ");
	whose_add(sentence, verdict, thread_outside, verdict->outside_calls);
	sentence_add(sentence, " ran in the kernel outside system calls (signals, tracers, seccomp "
			       "filters, closing files).");
}

/* Most rows before the time outside of calls, which is on the first screen. */
#define ABOVE_OUTSIDE 1

/* The number of rows that come before so much time. */
static size_t rows_above(const struct verdict *verdict, uint64_t ns)
{
	size_t above = 0;

	for (size_t i = 0; i < verdict->n_told_blamed; i++)
		if (verdict->told[i].ns >= ns)
			above = i + 1;
	return above;
}

/* Makes sentence i, largest share first. Returns false after the last one. Running time is only
 * mentioned if it is largest, or alone, and what of it was outside calls. */
static bool share_next(char sentence[static SENTENCE_LEN], const struct sample *sample, size_t i,
		       bool multiple)
{
	const struct verdict *verdict = sample->verdict;
	bool unexplained = verdict_is_unexplained(verdict), outside = is_outside(verdict);
	const size_t before = rows_above(verdict, verdict->unexplained);
	size_t before_outside = rows_above(verdict, verdict->outside_calls), row = 0;

	if (before_outside > ABOVE_OUTSIDE)
		before_outside = ABOVE_OUTSIDE;
	*sentence = '\0';
	if (verdict->largest == VERDICT_RAN && !i--) {
		ran_make(sentence, sample, multiple);
		return true;
	}
	for (;; i--) {
		if (outside && row >= before_outside &&
		    !(unexplained && verdict->unexplained >= verdict->outside_calls)) {
			if (!i)
				outside_make(sentence, verdict);
			outside = false;
		} else if (unexplained && row >= before) {
			if (!i)
				unexplained_make(sentence, verdict);
			unexplained = false;
		} else if (row < verdict->n_told_blamed) {
			if (!i)
				sentence_of_row(sentence, sample, &verdict->told[row], multiple);
			row++;
		} else {
			return false;
		}
		if (!i)
			return true;
	}
}

/* The same, after what the time of a window was that the user chose. */
static bool sentence_next(char sentence[static SENTENCE_LEN], const struct sample *sample, size_t i,
			  bool multiple)
{
	if (!sample->verdict->subject)
		return share_next(sentence, sample, i, multiple);
	return i ? share_next(sentence, sample, i - 1, multiple)
		 : text_window(sentence, SENTENCE_LEN, sample);
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
	/* What the time of a window was says nothing yet of who is to blame, which the next one
	 * does. */
	const size_t always = text->sample->verdict->subject ? 2 : 1;
	const unsigned int most = VERDICT_LINES + (always == 2 ? 2 : 0);
	unsigned int n, used = 0;
	bool multiple = text_is_multiprocess(text->sample);

	for (size_t i = 0; sentence_next(sentence, text->sample, i, multiple); i++) {
		n = wrap(sentence, lines);
		if (i >= always && used + n > most)
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
