// SPDX-License-Identifier: Apache-2.0
#include "collect_journal.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/capture/session/types.h"
#include "cli/model/verdict_row.h"
#include "cli/process/group.h"

#define LOOKS_MOST 4 /* in a window, of some ms each */
#define ASLEEP_LEAST_NS (15 * NSEC_PER_MSEC)
#define LIMITS_MOST 16

/* When a thread began to wait for a disk that still does; 0: none for long. */
static uint64_t waits_since(const struct session_view *view)
{
	const uint64_t now = clock_monotonic();

	for (uint32_t slot = 1; slot < view->slots; slot++) {
		const struct kd_thread *thread = &view->threads[slot];

		if (thread->task && thread_state(thread) == KD_BLOCKED_UNINT &&
		    thread->awaited == KD_AWAITED_DISK &&
		    thread->since + view->epoch + ASLEEP_LEAST_NS <= now)
			return thread->since;
	}
	return 0;
}

static void seen_add(struct journal_process *all, unsigned int *looks, size_t most,
		     const struct journal_process *process)
{
	for (size_t i = 0; i < most; i++) {
		if (looks[i] && all[i].pid != process->pid)
			continue;
		all[i] = *process;
		looks[i]++;
		return;
	}
}

void journal_watch_look(struct journal_watch *watch, const struct session_view *view)
{
	const bool open = view->gen && view->end == KD_NEVER, failed = watch->failed;
	struct journal_seen seen;
	uint64_t since;

	if (!open || failed)
		return;
	if (watch->gen != view->gen)
		*watch = (struct journal_watch){ .gen = view->gen };
	if (watch->looks == LOOKS_MOST)
		return;
	since = waits_since(view);
	if (!since || since == watch->since)
		return;
	watch->since = since;
	watch->looks++;
	watch->failed = !journal_look(&seen);
	for (size_t i = 0; i < seen.n_journals; i++)
		seen_add(watch->journals, watch->journal_looks, JOURNAL_PROCESSES,
			 &seen.journals[i]);
	for (size_t i = 0; i < seen.n_writers; i++)
		seen_add(watch->writers, watch->writer_looks, JOURNAL_WRITERS, &seen.writers[i]);
}

/* True if a journal's thread ended the waits, or nothing did yet in a function of journals. */
static bool is_for_journal(const struct descriptor_row *row)
{
	return journal_is_name(row->ended_name) ||
	       (!row->ended_by && !strncmp(row->wchan, "jbd2_", strlen("jbd2_")));
}

/* True if it is the journal of the device of the waits, or ended them. */
static bool is_journal_of(const struct journal_process *journal, const struct descriptor_row *row)
{
	char begin[KD_COMM_LEN + 1];

	if (row->ended_by)
		return journal->pid == row->ended_by;
	snprintf(begin, sizeof(begin), JOURNAL_NAME "%.10s-", row->is.device);
	return *row->is.device && !strncmp(journal->name, begin, strlen(begin));
}

/* The waits for a journal that took most; NULL: none for long. */
static const struct descriptor_row *journal_find(const struct sample *sample)
{
	uint64_t most = (sample->end - sample->start) / 100 * VERDICT_WINDOW_LEAST;
	const struct descriptor_row *found = NULL;

	for (size_t i = 0; i < sample->n_threads; i++)
		for (size_t j = 0; j < sample->threads[i].n_descriptors; j++) {
			const struct descriptor_row *row = &sample->threads[i].descriptors[j];

			if (row->awaited != KD_AWAITED_DISK || row->waits.total <= most ||
			    !is_for_journal(row))
				continue;
			most = row->waits.total;
			found = row;
		}
	return found;
}

/* The process whose data the journal waited for: in half of the looks, it slept until its own was
 * written, and has a file there. */
static const struct journal_process *writer_find(const struct journal_watch *watch,
						 const struct sample *sample, dev_t device,
						 unsigned int looks)
{
	const struct journal_process *found = NULL;

	for (size_t i = 0; i < JOURNAL_WRITERS; i++)
		if (watch->writer_looks[i] * 2 >= looks && watch->writer_looks[i] &&
		    !sample_has_process(sample, watch->writers[i].pid) &&
		    journal_has_file(watch->writers[i].pid, device)) {
			if (found)
				return NULL;
			found = &watch->writers[i];
		}
	return found;
}

/* The limit on that disk of a process's group. */
static void limit_find(struct disk_limit *limit, pid_t pid, dev_t disk)
{
	struct disk_count counts[LIMITS_MOST];
	const size_t n = group_disk_limits(pid, counts, LIMITS_MOST);

	for (size_t i = 0; i < n; i++)
		if (makedev(counts[i].major, counts[i].minor) == disk)
			*limit = counts[i].limit;
}

void journal_use_take(const struct journal_watch *watch, struct sample *sample)
{
	const struct descriptor_row *row = journal_find(sample);
	struct journal_use *use = &sample->journal_use;
	const struct journal_process *writer;
	unsigned int looks = 0;
	dev_t device, disk;

	if (!row)
		return;
	if (row->ended_by)
		memcpy(use->journal, row->ended_name, sizeof(use->journal));
	for (size_t i = 0; i < JOURNAL_PROCESSES && !looks; i++) {
		if (!watch->journal_looks[i] || !is_journal_of(&watch->journals[i], row))
			continue;
		looks = watch->journal_looks[i];
		memcpy(use->journal, watch->journals[i].name, sizeof(use->journal));
	}
	/* In the waits that were looked at, it waited itself. */
	if (!looks || looks * 2 < watch->looks || !journal_device(use->journal, &device, &disk))
		return;
	use->waits = true;
	writer = writer_find(watch, sample, device, looks);
	if (!writer)
		return;
	use->pid = writer->pid;
	memcpy(use->name, writer->name, sizeof(use->name));
	limit_find(&use->limit, writer->pid, disk);
}
