// SPDX-License-Identifier: Apache-2.0
#include "collect_disks.h"

#include <stdio.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/base/proc_file.h"
#include "cli/capture/session/types.h"
#include "cli/model/verdict_row.h"

static bool waits_for_disk(const struct session_view *view)
{
	for (uint32_t slot = 1; slot < view->slots; slot++) {
		const struct kd_thread *thread = &view->threads[slot];

		if (thread->task && thread_state(thread) == KD_BLOCKED_UNINT &&
		    thread->awaited == KD_AWAITED_DISK)
			return true;
	}
	return false;
}

void disk_watch_look(struct disk_watch *watch, const struct session_view *view)
{
	const bool open = view->gen && view->end == KD_NEVER;

	if (!open || watch->failed || watch->looked >= view->start + view->epoch ||
	    !waits_for_disk(view))
		return;
	watch->looked = clock_monotonic();
	watch->failed = !disk_users_read(&watch->before);
}

#define DEVICES_MOST 16

struct device_wait {
	const char *device;
	uint64_t ns;
};

/* Adds a wait to those for its device; beyond so many devices, it is left out. */
static void device_add(struct device_wait waits[static DEVICES_MOST],
		       const struct descriptor_row *row)
{
	for (size_t i = 0; i < DEVICES_MOST; i++) {
		if (waits[i].device && strcmp(waits[i].device, row->is.device) != 0)
			continue;
		waits[i].device = row->is.device;
		waits[i].ns = u64_add(waits[i].ns, row->waits.total);
		return;
	}
}

/* The device that threads waited for longest; NULL: for none long enough. */
static const char *device_find(const struct sample *sample)
{
	uint64_t most = (sample->end - sample->start) / 100 * VERDICT_SELDOM_LEAST;
	struct device_wait waits[DEVICES_MOST] = { { NULL, 0 } };
	const char *device = NULL;

	for (size_t i = 0; i < sample->n_threads; i++)
		for (size_t j = 0; j < sample->threads[i].n_descriptors; j++) {
			const struct descriptor_row *row = &sample->threads[i].descriptors[j];

			if (row->awaited == KD_AWAITED_DISK && *row->is.device)
				device_add(waits, row);
		}
	for (size_t i = 0; i < DEVICES_MOST && waits[i].device; i++)
		if (waits[i].ns > most) {
			most = waits[i].ns;
			device = waits[i].device;
		}
	return device;
}

/* What processes used since the look before; returns the sum of all. */
static uint64_t use_find(const struct disk_users *before, const struct disk_users *now,
			 const struct sample *sample, struct disk_use *use)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < now->n_users; i++) {
		uint64_t was = 0, bytes;

		/* One that has begun since, has done all of it since. */
		disk_user_bytes(before, now->users[i].pid, &was);
		bytes = u64_sub(now->users[i].bytes, was);
		sum = u64_add(sum, bytes);
		if (bytes <= use->bytes || sample_has_process(sample, now->users[i].pid))
			continue;
		use->bytes = bytes;
		use->pid = now->users[i].pid;
	}
	return sum;
}

void disk_use_take(const struct disk_watch *watch, struct sample *sample)
{
	const char *device = !watch->failed && watch->looked >= sample->start ? device_find(sample)
									      : NULL;
	struct disk_users now = { 0 };
	struct disk_use use = { .pid = 0 };
	char disk[KD_DISK_NAME], name[KD_COMM_LEN + 1] = "";
	uint64_t before, after, sum;

	if (!device)
		return;
	snprintf(use.device, sizeof(use.device), "%.31s", device);
	disk_whole(disk, device);
	if (disk_total_bytes(&watch->before, disk, &before) && disk_users_read(&now) &&
	    disk_total_bytes(&now, disk, &after)) {
		use.all_bytes = u64_sub(after, before);
		sum = use_find(&watch->before, &now, sample, &use);
		/* Processes' bytes are of all disks, and writes count before they reach one. */
		if (sum <= use.all_bytes + use.all_bytes / 4 && use.bytes > use.all_bytes / 2 &&
		    use.bytes <= use.all_bytes && proc_comm_read(use.pid, name, sizeof(name)) > 0) {
			memcpy(use.name, name, sizeof(use.name));
			sample->disk_use = use;
		}
	}
	disk_users_clear(&now);
}

void disk_watch_clear(struct disk_watch *watch)
{
	disk_users_clear(&watch->before);
}
