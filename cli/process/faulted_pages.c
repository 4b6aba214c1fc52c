// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "faulted_pages.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/proc_file.h"
#include "group.h"

/* --- Mappings --- */

static enum faulted_kind kind_of(uint64_t page, bool shared, bool file, bool major)
{
	const bool copies = page & KD_FAULTED_PRESENT && page & KD_FAULTED_WRITE;

	if (copies && !major)
		return shared ? FAULTED_CLEAN : FAULTED_COPY;
	if (file)
		return FAULTED_FILE;
	return major ? FAULTED_SWAP : FAULTED_NEW;
}

/* Sets what those of the pages are for that lie in a mapping, of which this is the line: "7f00-7f80
 * rw-s 0 fe:00 12    /path". */
static void mapping_see(const char *line, uint64_t pages[KD_FAULTED_KINDS][KD_FAULTED],
			struct faulted found[KD_FAULTED_KINDS][KD_FAULTED])
{
	uint64_t from, to;
	char rights[8];
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s %n", &from, &to, rights, &at) < 3)
		return;
	for (unsigned int of = 0; of < KD_FAULTED_KINDS; of++)
		for (unsigned int i = 0; i < KD_FAULTED; i++) {
			const uint64_t page = pages[of][i];
			/* The kernel has a file behind anonymous memory that is shared, too. */
			const bool file = at && line[at] == '/' &&
					  strcmp(line + at, "/dev/zero (deleted)") != 0;

			if (!page || page < from || page >= to)
				continue;
			found[of][i].kind = kind_of(page, rights[3] == 's', file,
						    of == KD_FAULTED_MAJOR);
			if (file)
				group_path_cut(found[of][i].path, sizeof(found[of][i].path),
					       line + at);
		}
}

/* The kind that more than half of them have, and the file if they have that, too. */
static struct faulted most_of(const struct faulted found[KD_FAULTED])
{
	struct faulted most = { FAULTED_UNKNOWN, "" };
	unsigned int n = 0, count[FAULTED_SORTS] = { 0 };
	bool one = true;

	for (unsigned int i = 0; i < KD_FAULTED; i++)
		n += found[i].kind != FAULTED_UNKNOWN;
	for (unsigned int i = 0; i < KD_FAULTED; i++)
		if (++count[found[i].kind] > n / 2 && found[i].kind != FAULTED_UNKNOWN)
			most.kind = found[i].kind;
	if (most.kind != FAULTED_FILE && most.kind != FAULTED_CLEAN)
		return most;
	for (unsigned int i = 0; i < KD_FAULTED; i++) {
		if (found[i].kind != most.kind)
			continue;
		one &= !*most.path || !strcmp(most.path, found[i].path);
		memcpy(most.path, found[i].path, sizeof(most.path));
	}
	if (!one)
		*most.path = '\0';
	return most;
}

static void mappings_read(struct faulted_thread *faulted, pid_t pid,
			  uint64_t pages[KD_FAULTED_KINDS][KD_FAULTED])
{
	struct faulted found[KD_FAULTED_KINDS][KD_FAULTED] = { 0 };
	FILE *file = group_file_open("/proc/%d/maps", (int)proc_thread(pid));
	char *line = NULL;
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		mapping_see(line, pages, found);
	}
	free(line);
	if (file)
		fclose(file);
	faulted->minor = most_of(found[KD_FAULTED_MINOR]);
	faulted->major = most_of(found[KD_FAULTED_MAJOR]);
}

/* --- Forks --- */

#define CHILDREN 64

/* True if one is a copy of the other, by fork(). */
static bool is_copy(const struct proc_stat *a, const struct proc_stat *b)
{
	return a->code > 1 && a->stack > 1 && a->code == b->code && a->stack == b->stack;
}

/* The only child that has not started another program since its fork; else the parent. */
static void sharer_find(struct faulted_thread *faulted, pid_t pid)
{
	struct proc_stat own, other;
	pid_t children[CHILDREN], found = 0;
	size_t n = proc_children(pid, children, CHILDREN), copies = 0;

	if (!proc_stat_read(&own, pid) || n > CHILDREN)
		return;
	for (size_t i = 0; i < n; i++)
		if (proc_stat_read(&other, children[i]) && is_copy(&own, &other)) {
			found = children[i];
			copies++;
		}
	if (!copies && proc_stat_read(&other, own.parent) && is_copy(&own, &other))
		found = own.parent;
	if (copies > 1 || !found || !proc_stat_read(&other, found))
		return;
	faulted->shared_pid = found;
	memcpy(faulted->shared_name, other.comm, sizeof(faulted->shared_name));
}

void faulted_pages_find(struct faulted_thread *faulted, pid_t pid,
			uint64_t pages[KD_FAULTED_KINDS][KD_FAULTED])
{
	mappings_read(faulted, pid, pages);
	/* Old kernels also count faults that they had to begin again. */
	if (faulted->major.kind == FAULTED_SWAP && !proc_status_number(pid, "VmSwap:"))
		faulted->major.kind = FAULTED_UNKNOWN;
	if (faulted->minor.kind == FAULTED_COPY)
		sharer_find(faulted, pid);
}
