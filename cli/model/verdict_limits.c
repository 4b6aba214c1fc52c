/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "verdict_limits.h"

#include <string.h>

#include "cli/base/arith.h"

struct verdict_who limit_who(const char group[CULPRIT_GROUP_LEN])
{
	struct verdict_who who = { .tid = 0 };
	size_t length = strnlen(group, CULPRIT_GROUP_LEN), capacity = sizeof(who.comm) - 1;

	memcpy(who.comm, group + (length > capacity ? length - capacity : 0),
	       length > capacity ? capacity : length);
	return who;
}

/* True if the limit is on the disk, one of its partitions, or a device it is part of. */
static bool is_of_disk(const struct disk_limit *limit, const char *disk)
{
	const size_t length = strnlen(limit->device, sizeof(limit->device));

	if (!*disk || !strncmp(disk, "dm-", 3) || !strncmp(disk, "md", 2) ||
	    !strncmp(limit->device, "dm-", 3) || !strncmp(limit->device, "md", 2))
		return true;
	return !strncmp(disk, limit->device, length) &&
	       !(disk[length] >= 'a' && disk[length] <= 'o');
}

/* A disk that serves requests at once is not the reason to wait: the group's limit holds the
 * requests back. */
bool limit_holds_disk(const struct sample *sample, const struct descriptor_row *row, uint64_t ns)
{
	return row->awaited == KD_AWAITED_DISK && sample->disk_limit.per_second &&
	       sample->disk_limit.kind < DISK_LIMIT_KINDS && row->requests.total <= ns / 2 &&
	       is_of_disk(&sample->disk_limit, row->is.device);
}

/* Sleeps that go on in a frozen group, as far as they may be for that. */
static uint64_t asleep_still(const struct sample *sample, const struct thread_row *thread)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < KD_AWAITED_KINDS; i++) {
		const struct sleeping *asleep = &thread->ledger.asleep[i];
		uint64_t each = u64_min(asleep->max, sample->group_frozen_last_ns);

		ns = u64_add(ns, u64_times(each, asleep->count));
	}
	return ns;
}

uint64_t limit_frozen_asleep(const struct sample *sample, const struct thread_row *thread)
{
	uint64_t frozen = u64_times(sample->group_frozen_ns, thread->members);
	uint64_t most = u64_add(thread->overslept.late.total, asleep_still(sample, thread));
	enum ledger_state only;

	/* Of those that it noticed it is told. */
	frozen = u64_sub(frozen, thread->ledger.ns[LEDGER_FROZEN]);
	if (thread_is_silent(thread, &only) && only == LEDGER_BLOCKED)
		most = thread->ledger.ns[LEDGER_BLOCKED];
	return u64_min(u64_min(most, frozen), thread->ledger.ns[LEDGER_BLOCKED]);
}
