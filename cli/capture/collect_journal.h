/* SPDX-License-Identifier: Apache-2.0 */
/* Whose data the journal waited for that threads waited for. */
#ifndef COLLECT_JOURNAL_H
#define COLLECT_JOURNAL_H

#include "cli/model/sample.h"
#include "cli/process/journal_look.h"

struct session_view;

#define JOURNAL_WRITERS 16

/* What was seen in a window. Zeroed at the beginning. */
struct journal_watch {
	uint64_t gen;
	uint64_t since; /* of the last sleep looked at */
	unsigned int looks;
	struct journal_process journals[JOURNAL_PROCESSES]; /* and how often each was seen: */
	unsigned int journal_looks[JOURNAL_PROCESSES];
	struct journal_process writers[JOURNAL_WRITERS];
	unsigned int writer_looks[JOURNAL_WRITERS];
	bool failed; /* there are too many processes: not tried again */
};

/* Looks a few times in a window, while a thread waits long for a disk: to be called every few ms.
 */
void journal_watch_look(struct journal_watch *watch, const struct session_view *view);

/* Gives the sample, which has its threads, the journal for which they waited longest, if that was a
 * good part of the window, and for whom it wrote. */
void journal_use_take(const struct journal_watch *watch, struct sample *sample);

#endif
