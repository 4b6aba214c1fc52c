// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "disk_users.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "cli/base/clock.h"
#include "cli/base/proc_file.h"

/* Machines may have very many processes. CPU time. */
#define LOOK_MOST_NS (10 * NSEC_PER_MSEC)
#define SECTOR 512 /* in /proc/diskstats, whatever the disk has */

/* Returns the number after a label; 0: none. */
static uint64_t number_of(const char *text, const char *label)
{
	const char *at = strstr(text, label);

	return at ? strtoull(at + strlen(label), NULL, 10) : 0;
}

/* Adds a process. Kernel threads have none, and some may not be read. Returns false without memory.
 */
static bool user_add(struct disk_users *users, pid_t pid)
{
	struct disk_user user = { .pid = pid };
	char text[512];

	if (proc_file_read(pid, "io", text, sizeof(text)) <= 0)
		return true;
	user.bytes = u64_add(number_of(text, "\nread_bytes: "), number_of(text, "\nwrite_bytes: "));
	return !ARRAY_ADD(users->users, users->n_users, users->users_capacity, user);
}

/* "254 0 vda READS MERGED SECTORS MS WRITES MERGED SECTORS ..." */
static bool disks_read(struct disk_users *users)
{
	FILE *file = fopen("/proc/diskstats", "re");
	unsigned long long read, written;
	struct disk_total disk;
	char line[512];
	bool read_all = file;

	users->n_disks = 0;
	while (read_all && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%*u %*u %31s %*u %*u %llu %*u %*u %*u %llu", disk.name, &read,
			   &written) != 3)
			continue;
		disk.bytes = (read + written) * SECTOR;
		read_all = !ARRAY_ADD(users->disks, users->n_disks, users->disks_capacity, disk);
	}
	if (file)
		fclose(file);
	return read_all;
}

static int user_order(const void *a, const void *b)
{
	return ORDER(((const struct disk_user *)a)->pid, ((const struct disk_user *)b)->pid);
}

bool disk_users_read(struct disk_users *users)
{
	uint64_t until = clock_read(CLOCK_THREAD_CPUTIME_ID) + LOOK_MOST_NS;
	struct proc_list processes;
	bool is_read;

	proc_list_begin(&processes, "/proc");
	is_read = processes.directory && disks_read(users);
	users->n_users = 0;
	while (is_read && proc_list_next(&processes))
		is_read = clock_read(CLOCK_THREAD_CPUTIME_ID) < until &&
			  user_add(users, processes.number);
	proc_list_end(&processes);
	if (!is_read)
		users->n_users = users->n_disks = 0;
	ARRAY_SORT(users->users, users->n_users, user_order);
	return is_read;
}

bool disk_user_bytes(const struct disk_users *users, pid_t pid, uint64_t *bytes)
{
	const struct disk_user key = { .pid = pid }, *found = NULL;

	if (users->n_users)
		found = bsearch(&key, users->users, users->n_users, sizeof(key), user_order);
	if (found)
		*bytes = found->bytes;
	return found;
}

bool disk_total_bytes(const struct disk_users *users, const char *disk, uint64_t *bytes)
{
	for (size_t i = 0; i < users->n_disks; i++)
		if (!strcmp(users->disks[i].name, disk)) {
			*bytes = users->disks[i].bytes;
			return true;
		}
	return false;
}

void disk_name(char name[static KD_DISK_NAME], unsigned int major, unsigned int minor)
{
	char path[64], target[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major, minor);
	snprintf(name, KD_DISK_NAME, "%.31s",
		 strrchr(symlink_read(path, target, sizeof(target)) ? target : path, '/') + 1);
}

void disk_whole(char disk[static KD_DISK_NAME], const char *device)
{
	char path[64], target[PATH_MAX], *last;

	snprintf(disk, KD_DISK_NAME, "%s", device);
	snprintf(path, sizeof(path), "/sys/class/block/%.31s/partition", device);
	if (access(path, F_OK))
		return;
	/* ".../block/vda/vda1" */
	snprintf(path, sizeof(path), "/sys/class/block/%.31s", device);
	symlink_read(path, target, sizeof(target));
	last = strrchr(target, '/');
	if (!last)
		return;
	*last = '\0';
	last = strrchr(target, '/');
	if (last)
		snprintf(disk, KD_DISK_NAME, "%.31s", last + 1);
}

void disk_users_clear(struct disk_users *users)
{
	free(users->users);
	free(users->disks);
	memset(users, 0, sizeof(*users));
}
