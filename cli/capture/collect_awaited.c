// SPDX-License-Identifier: Apache-2.0
#include "collect_awaited.h"

#include <string.h>

#include "cli/base/arith.h"
#include "cli/model/user_wait.h"
#include "cli/model/wchan.h"
#include "cli/process/awaited_process.h"
#include "cli/process/lock_holder.h"

#define LOOKS_MOST 4 /* each of a few ms */

typedef bool holder_find(struct awaited_process *found, pid_t pid);

/* Of sleeps that the program calls a lock, what finds who has it; NULL: nothing does. */
static holder_find *holder_finder(const struct descriptor_row *sleep)
{
	const struct user_wait *user = user_wait_of_sleep(sleep);

	if (!user || user->cause != WCHAN_LOCK)
		return NULL;
	return user->family == USER_SQLITE       ? lock_holder_of_file
	       : user->family == USER_POSTGRESQL ? lock_holder_of_session
						 : NULL;
}

/* A command that the program waits for by other means than wait4(). */
static bool is_for_child(const struct descriptor_row *sleep)
{
	const struct user_wait *user = user_wait_of_sleep(sleep);

	return user && user->cause == WCHAN_CHILD;
}

/* Returns false if nobody is known to end such a sleep. */
static bool sleep_is_for(const struct descriptor_row *sleep, enum awaited_as *as)
{
	const char *name = sleep->wchan;
	const struct wchan *wchan = wchan_find(&name, 1, NULL);

	if (sleep->awaited == KD_AWAITED_CHILD || is_for_child(sleep))
		*as = AWAITED_CHILD;
	else if (sleep->awaited == KD_AWAITED_LOCK && sleep->is.fd >= 0)
		*as = AWAITED_FILE_LOCK;
	else if (sleep->awaited == KD_AWAITED_PIPE && wchan && wchan->cause == WCHAN_PEER)
		*as = AWAITED_READER;
	else
		return false;
	return true;
}

static void awaited_set(struct descriptor_row *sleep, const struct awaited_process *found)
{
	sleep->awaited_pid = found->pid;
	memcpy(sleep->awaited_name, found->name, sizeof(sleep->awaited_name));
	memcpy(sleep->awaited_state, found->state, sizeof(sleep->awaited_state));
}

/* Returns whether it looked. Who tries again and again to get a lock has many sleeps; others have
 * to last, or the next one may be for somebody else. */
static bool sleep_look(struct descriptor_row *sleep, pid_t pid, uint64_t least)
{
	holder_find *find = holder_finder(sleep);
	struct awaited_process found;
	enum awaited_as as;

	const bool lasts = sleep->in_progress && sleep->waits.max >= least;

	if (sleep->awaited_pid || sleep->waits.total < least)
		return false;
	if (find && (lasts || user_wait_kind(sleep) == WCHAN_TIME)) {
		if (find(&found, pid))
			awaited_set(sleep, &found);
		return true;
	}
	if (!lasts || !sleep_is_for(sleep, &as))
		return false;
	if (awaited_process_find(&found, as, pid, sleep->is.fd))
		awaited_set(sleep, &found);
	return true;
}

void awaited_take(struct sample *sample)
{
	uint64_t least = (sample->end - sample->start) / 2;
	unsigned int looks = 0;

	for (size_t i = 0; i < sample->n_threads; i++) {
		const struct thread_row *thread = &sample->threads[i];

		for (size_t j = 0; j < thread->n_descriptors && looks < LOOKS_MOST; j++)
			looks += sleep_look(&thread->descriptors[j],
					    thread->pid ? thread->pid : sample->pid, least);
	}
}
