// SPDX-License-Identifier: Apache-2.0
#include "collect_awaited.h"

#include <string.h>

#include "cli/base/arith.h"
#include "cli/model/wchan.h"
#include "cli/process/awaited_process.h"

#define LOOKS_MOST 4 /* each of a few ms */

/* Returns false if nobody is known to end such a sleep. */
static bool sleep_is_for(const struct descriptor_row *sleep, enum awaited_as *as)
{
	const char *name = sleep->wchan;
	const struct wchan *wchan = wchan_find(&name, 1, NULL);

	if (sleep->awaited == KD_AWAITED_CHILD)
		*as = AWAITED_CHILD;
	else if (sleep->awaited == KD_AWAITED_LOCK && sleep->is.fd >= 0)
		*as = AWAITED_FILE_LOCK;
	else if (wchan && wchan->cause == WCHAN_LEASE)
		*as = AWAITED_LEASE;
	else if (wchan && wchan->cause == WCHAN_FUSE)
		*as = AWAITED_FUSE;
	else if (wchan && wchan->cause == WCHAN_PAGER)
		*as = AWAITED_PAGER;
	else if (sleep->awaited == KD_AWAITED_PIPE && wchan && wchan->cause == WCHAN_PEER)
		*as = AWAITED_READER;
	else
		return false;
	return true;
}

static void sleep_look(struct descriptor_row *sleep, enum awaited_as as, pid_t pid)
{
	struct awaited_process found;

	if (!awaited_process_find(&found, as, pid, sleep->is.fd))
		return;
	sleep->awaited_pid = found.pid;
	memcpy(sleep->awaited_name, found.name, sizeof(sleep->awaited_name));
	memcpy(sleep->awaited_state, found.state, sizeof(sleep->awaited_state));
}

void awaited_take(struct sample *sample)
{
	uint64_t least = (sample->end - sample->start) / 2;
	unsigned int looks = 0;

	for (size_t i = 0; i < sample->n_threads; i++) {
		const struct thread_row *thread = &sample->threads[i];

		for (size_t j = 0; j < thread->n_descriptors && looks < LOOKS_MOST; j++) {
			struct descriptor_row *sleep = &thread->descriptors[j];
			enum awaited_as as;

			if (!sleep->in_progress || sleep->waits.max < least ||
			    !sleep_is_for(sleep, &as))
				continue;
			sleep_look(sleep, as, thread->pid ? thread->pid : sample->pid);
			looks++;
		}
	}
}
