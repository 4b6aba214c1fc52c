/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict_mover.h"

#include <string.h>

#include "cli/base/arith.h"

/* More names than this are not told apart: those that come first have their own sums. */
#define NAMES_MOST 16

static bool is_own(const struct sample *sample, const struct mover_row *mover)
{
	return mover->pid == sample->pid || process_at(sample, mover->pid, UINT64_MAX);
}

/* Adds to the row of its name, whose TIDs are 0 if there are several. Returns the number of rows,
 * of which there are n now. */
static size_t name_add(struct mover_row names[static NAMES_MOST], size_t n,
		       const struct mover_row *mover)
{
	for (size_t i = 0; i < n; i++) {
		if (strncmp(names[i].name, mover->name, sizeof(mover->name)) != 0)
			continue;
		names[i].count = u64_add(names[i].count, mover->count);
		if (names[i].tid != mover->tid)
			names[i].tid = names[i].pid = 0;
		return n;
	}
	if (n < NAMES_MOST)
		names[n++] = *mover;
	return n;
}

uint64_t verdict_mover(const struct sample *sample, struct verdict_who *who)
{
	struct mover_row names[NAMES_MOST] = { { 0 } };
	const struct mover_row *most = names;
	size_t n = 0;

	for (size_t i = 0; i < sample->n_threads; i++) {
		const struct thread_row *thread = &sample->threads[i];

		for (size_t j = 0; j < thread->n_movers; j++)
			if (thread->movers[j].tid && !is_own(sample, &thread->movers[j]))
				n = name_add(names, n, &thread->movers[j]);
	}
	for (size_t i = 1; i < n; i++)
		if (names[i].count > most->count)
			most = &names[i];
	if (most->count < VERDICT_MOVES ||
	    u64_times(most->count, 1000000000) / VERDICT_MOVES_PER_SECOND <
		    sample->end - sample->start)
		return 0;
	*who = (struct verdict_who){ .tid = most->tid, .pid = most->pid };
	memcpy(who->comm, most->name, sizeof(most->name));
	return most->count;
}
