/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict_limits.h"

#include <string.h>

struct verdict_who limit_who(const char *group)
{
	struct verdict_who who = { .tid = 0 };
	size_t length = strlen(group), capacity = sizeof(who.comm) - 1;

	memcpy(who.comm, group + (length > capacity ? length - capacity : 0),
	       length > capacity ? capacity : length);
	return who;
}

/* True if the limit is on the disk, one of its partitions, or a device it is part of. */
static bool is_of_disk(const struct disk_limit *limit, const char *disk)
{
	const size_t length = strlen(limit->device);

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
