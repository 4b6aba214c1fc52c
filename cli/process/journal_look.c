// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "journal_look.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "cli/base/clock.h"
#include "cli/base/proc_file.h"
#include "disk_users.h"

#define LOOK_MOST_NS (10 * NSEC_PER_MSEC) /* CPU time */
#define DESCRIPTORS_MOST 256              /* of a process that are looked at */

/* True if a process sleeps until pages are written: folio_wait_bit(), and as that was called
 * before, and balance_dirty_pages(). */
static bool awaits_data(pid_t pid)
{
	static const char *const functions[] = { "folio_wait_", "wait_on_page_",
						 "balance_dirty_pages" };
	char stat[256], wchan[64];
	const char *name_end;

	if (proc_file_read(pid, "stat", stat, sizeof(stat)) < 0)
		return false;
	name_end = strrchr(stat, ')');
	if (!name_end || strncmp(name_end, ") D", 3) != 0 ||
	    proc_file_read(pid, "wchan", wchan, sizeof(wchan)) <= 0)
		return false;
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (!strncmp(wchan, functions[i], strlen(functions[i])))
			return true;
	return false;
}

static void process_add(struct journal_process *all, size_t *n, pid_t pid, const char *name)
{
	if (*n == JOURNAL_PROCESSES)
		return;
	all[*n].pid = pid;
	memcpy(all[*n].name, name, KD_COMM_LEN);
	(*n)++;
}

bool journal_look(struct journal_seen *seen)
{
	const uint64_t until = clock_read(CLOCK_THREAD_CPUTIME_ID) + LOOK_MOST_NS;
	struct proc_list processes;
	bool is_read;

	seen->n_journals = seen->n_writers = 0;
	proc_list_begin(&processes, "/proc");
	is_read = processes.directory;
	while (is_read && proc_list_next(&processes)) {
		const pid_t pid = processes.number;
		char name[KD_COMM_LEN + 1] = "";

		is_read = clock_read(CLOCK_THREAD_CPUTIME_ID) < until;
		if (!awaits_data(pid) || proc_comm_read(pid, name, sizeof(name)) <= 0)
			continue;
		if (journal_is_name(name))
			process_add(seen->journals, &seen->n_journals, pid, name);
		else
			process_add(seen->writers, &seen->n_writers, pid, name);
	}
	proc_list_end(&processes);
	return is_read;
}

/* "254:1" */
static bool number_read(const char *device, dev_t *number)
{
	unsigned int major, minor;
	char path[64];
	FILE *file;
	bool is_read;

	snprintf(path, sizeof(path), "/sys/class/block/%.31s/dev", device);
	file = fopen(path, "re");
	is_read = file && fscanf(file, "%u:%u", &major, &minor) == 2;
	if (file)
		fclose(file);
	if (is_read)
		*number = makedev(major, minor);
	return is_read;
}

bool journal_device(const char name[KD_COMM_LEN], dev_t *device, dev_t *disk)
{
	char text[KD_COMM_LEN + 1] = "", whole[KD_DISK_NAME], *end;
	const size_t before = strlen(JOURNAL_NAME);

	memcpy(text, name, KD_COMM_LEN);
	end = strrchr(text, '-');
	if (!journal_is_name(text) || !end || strchr(text + before, '/'))
		return false;
	*end = '\0';
	disk_whole(whole, text + before);
	return number_read(text + before, device) && number_read(whole, disk);
}

bool journal_has_file(pid_t pid, dev_t device)
{
	struct statx is;
	char path[64];

	for (int fd = 0; fd < DESCRIPTORS_MOST; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
		/* Not asked of a server, which might be silent. */
		if (!statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE, &is) &&
		    makedev(is.stx_dev_major, is.stx_dev_minor) == device)
			return true;
	}
	return false;
}
