/* SPDX-License-Identifier: Apache-2.0 */
/* A verdict in one line: the causes that are blamed, "(the others)", each with its time and the
 * longest case in ms, and how often; then sums. */
#ifndef TESTS_UNIT_VERDICT_SAID_H
#define TESTS_UNIT_VERDICT_SAID_H

#include "cli/model/verdict.h"
#include "say.h"
#include "tap.h"
#include "verdict_sample.h"

/* A thread that was so long in a state, and else in user mode. */
__attribute__((unused)) static struct thread_row spent(enum ledger_state state, uint64_t ns)
{
	struct thread_row row = runner(1, "main");

	spend(&row, state, ns);

	return row;
}

__attribute__((unused)) static double ms(uint64_t ns)
{
	return (double)ns / (double)MILLI;
}

__attribute__((unused)) static void say_row(char text[static SAY_LEN],
					    const struct verdict_row *row, bool blamed)
{
	say(text, "%s%s %g/%g x%" PRIu64, blamed ? "" : "(", cause_words[row->cause].key,
	    ms(row->ns), ms(row->longest), row->count);
	if (*row->who.comm)
		say(text, " %s", row->who.comm);
	if (row->who.tid)
		say(text, "[%d]", row->who.tid);
	if (row->who.scheduled)
		say(text, " policy %u %d", row->who.policy, row->who.priority);
	if (row->threads != 1)
		say(text, " of %" PRIu64, (uint64_t)row->threads);
	if (!row->worst)
		say(text, " of nobody");
	else if (row->worst_ns != row->ns)
		say(text, " worst %g %.16s", ms(row->worst_ns), row->worst->name);
	if (row->requests.count)
		say(text, " requests %g/%g x%" PRIu64, ms(row->requests.total),
		    ms(row->requests.max), (uint64_t)row->requests.count);
	if (row->seen < row->chained)
		say(text, " seen in %g", ms(row->seen));
	if (row->queued)
		say(text, " queued %g", ms(row->queued));
	say(text, "%s, ", blamed ? "" : ")");
}

/* The verdict on a sample. */
__attribute__((unused)) static void is_verdict(struct sample *sample, const char *want,
					       const char *what)
{
	struct verdict verdict = { 0 };
	char text[SAY_LEN] = "";

	need(!verdict_find(&verdict, sample));
	for (size_t i = 0; i < verdict.n_rows; i++)
		say_row(text, &verdict.rows[i], i < verdict.n_blamed);
	say(text, "kept %g of %g", ms(verdict.delay), ms(verdict.busy));
	if (verdict.work)
		say(text, ", work %g", ms(verdict.work));
	if (verdict.unexplained)
		say(text, ", unexplained %g", ms(verdict.unexplained));
	if (verdict.moves)
		say(text, ", moved %u by %s[%d]", (unsigned int)verdict.moves, verdict.mover.comm,
		    verdict.mover.tid);
	is_str(text, want, "%s", what);
	verdict_clear(&verdict);
}

/* On one thread. */
__attribute__((unused)) static void judge(struct thread_row *row, const char *want,
					  const char *what)
{
	struct sample sample = verdict_sample(row, 1);

	is_verdict(&sample, want, what);
}

#endif
