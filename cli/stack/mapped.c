// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "mapped.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/array.h"
#include "cli/base/clock.h"
#include "protocol.h"

#define VSYSCALL "[vsyscall]" /* the kernel's, which runs it on its own */

/* What is mapped, by address. */
struct ranges {
	struct mapping *mappings;
	size_t n, room;
};

struct mapped {
	struct mapped_files *files;
	pid_t pid;
	/* What was read when it was begun to read last; what is known; for the next.
	 */
	struct ranges seen, now, next;
	uint64_t seen_at;
};

struct mapped *mapped_new(struct mapped_files *files, pid_t pid)
{
	struct mapped *mapped = calloc(1, sizeof(*mapped));

	if (!mapped)
		return NULL;
	mapped->files = files;
	mapped->pid = pid;
	return mapped;
}

void mapped_free(struct mapped *mapped)
{
	if (!mapped)
		return;
	free(mapped->seen.mappings);
	free(mapped->now.mappings);
	free(mapped->next.mappings);
	free(mapped);
}

struct mapped *mapped_fork(const struct mapped *parent, pid_t pid)
{
	struct mapped *mapped = mapped_new(parent->files, pid);
	size_t n = parent->now.n;

	if (!mapped)
		return NULL;
	if (array_reserve(&mapped->now.mappings, n, &mapped->now.room,
			  sizeof(*mapped->now.mappings))) {
		mapped_free(mapped);
		return NULL;
	}
	if (n)
		memcpy(mapped->now.mappings, parent->now.mappings,
		       n * sizeof(*mapped->now.mappings));
	mapped->now.n = n;
	return mapped;
}

size_t mapped_size(const struct mapped *mapped)
{
	return mapped->now.room + mapped->seen.room + mapped->next.room;
}

const struct mapping *mapped_mappings(const struct mapped *mapped, size_t *n)
{
	*n = mapped->now.n;
	return mapped->now.mappings;
}

/* Appends a mapping, or makes the last one longer. Beyond the room there is
 * none. */
static int ranges_add(struct ranges *ranges, const struct mapping *mapping)
{
	struct mapping *last = ranges->n ? &ranges->mappings[ranges->n - 1] : NULL;

	if (last && last->end == mapping->start && last->object == mapping->object &&
	    (mapping->object == SPACE_NO_FILE ||
	     last->offset + (last->end - last->start) == mapping->offset)) {
		last->end = mapping->end;
		return 0;
	}
	if (mapping->start >= mapping->end || ranges->n == PROTOCOL_MAPPINGS)
		return 0;
	if (ARRAY_GROW(ranges->mappings, ranges->n, ranges->room))
		return -ENOMEM;
	last = &ranges->mappings[ranges->n++];
	memset(last, 0, sizeof(*last)); /* they are compared as bytes */
	last->start = mapping->start;
	last->end = mapping->end;
	last->offset = mapping->offset;
	last->object = mapping->object;
	return 0;
}

static int mapped_take(void *context, const struct map *map)
{
	struct mapped *mapped = context;
	struct ranges *seen = &mapped->seen;
	struct mapping mapping = { .start = map->start, .end = map->end, .offset = map->offset };
	int number;

	if (!map->executable || !strcmp(map->path, VSYSCALL) || seen->n == PROTOCOL_MAPPINGS ||
	    strlen(map->path) >= PROTOCOL_PATH)
		return 0;
	/* The kernel's list is not of one moment: a range may come twice. */
	if (seen->n && map->start < seen->mappings[seen->n - 1].end)
		return 0;
	if (*map->path != '/' && strcmp(map->path, MAPPED_VDSO) != 0) {
		mapping.object = SPACE_NO_FILE;
		return ranges_add(seen, &mapping);
	}
	number = mapped_files_find(mapped->files, mapped->pid, map,
				   seen->n ? seen->mappings[seen->n - 1].object : 0);
	if (number == -ENOSPC)
		return 0;
	if (number < 0)
		return number;
	mapping.object = (uint32_t)number;
	return ranges_add(seen, &mapping);
}

/* Reads what is mapped, unless that was done after t. */
static int mapped_look(struct mapped *mapped, uint64_t t, mapped_found *found, void *context)
{
	uint64_t now = clock_monotonic();
	int err;

	if (t <= mapped->seen_at)
		return 0;
	mapped->seen.n = 0;
	mapped->seen_at = 0;
	err = maps_each(mapped->pid, mapped_take, mapped);
	if (!err && !mapped->seen.n)
		err = -ESRCH; /* what is left of it has no memory */
	err = mapped_files_tell(mapped->files, found, context) ?: err;
	if (!err)
		mapped->seen_at = now;
	else
		mapped->seen.n = 0;
	return err;
}

/* What is next becomes what is known. Returns whether that is something else.
 */
static int mapped_step(struct mapped *mapped)
{
	struct ranges previous = mapped->now;

	if (mapped->next.n == previous.n &&
	    (!previous.n || !memcmp(mapped->next.mappings, previous.mappings,
				    previous.n * sizeof(*previous.mappings))))
		return 0;
	mapped->now = mapped->next;
	mapped->next = previous;
	return 1;
}

/* Appends what others have between start and end. */
static int ranges_add_part(struct ranges *ranges, const struct ranges *others, uint64_t start,
			   uint64_t end)
{
	int err = 0;

	for (size_t i = 0; !err && i < others->n; i++) {
		struct mapping part = others->mappings[i];

		if (part.end <= start || part.start >= end)
			continue;
		if (part.start < start) {
			part.offset += start - part.start;
			part.start = start;
		}
		if (part.end > end)
			part.end = end;
		err = ranges_add(ranges, &part);
	}
	return err;
}

/* All that was seen, and nothing else. */
static int mapped_take_all(struct mapped *mapped, uint64_t t, mapped_found *found, void *context)
{
	int err = mapped_look(mapped, t, found, context);

	mapped->next.n = 0;
	if (!err)
		err = ranges_add_part(&mapped->next, &mapped->seen, 0, UINT64_MAX);
	return err ? err : mapped_step(mapped);
}

/* It has gone, and is not what it was. */
static int mapped_forget(struct mapped *mapped)
{
	const struct mapping unknown = { .end = UINT64_MAX, .object = SPACE_NO_FILE };

	mapped->next.n = 0;
	return ranges_add(&mapped->next, &unknown) ?: mapped_step(mapped);
}

int mapped_read(struct mapped *mapped, mapped_found *found, void *context)
{
	return mapped_take_all(mapped, UINT64_MAX, found, context);
}

/* Only between start and end there is something else. */
static int mapped_replace(struct mapped *mapped, uint64_t start, uint64_t end,
			  const struct mapping *with, size_t n)
{
	struct ranges *next = &mapped->next;
	int err;

	next->n = 0;
	err = ranges_add_part(next, &mapped->now, 0, start);
	for (size_t i = 0; !err && i < n; i++)
		err = ranges_add(next, &with[i]);
	if (!err)
		err = ranges_add_part(next, &mapped->now, end, UINT64_MAX);
	return err ? err : mapped_step(mapped);
}

/* What was mapped between start and end can be executed now. */
static int mapped_changed(struct mapped *mapped, uint64_t start, uint64_t end)
{
	struct ranges parts = { 0 }, with = { 0 };
	uint64_t at = start;
	int err = ranges_add_part(&parts, &mapped->seen, start, end);

	for (size_t i = 0; !err && i <= parts.n; i++) {
		uint64_t upto = i < parts.n ? parts.mappings[i].start : end;
		const struct mapping gap = { .start = at, .end = upto, .object = SPACE_NO_FILE };

		err = at < upto ? ranges_add(&with, &gap) : 0;
		if (err || i == parts.n)
			break;
		err = ranges_add(&with, &parts.mappings[i]);
		at = parts.mappings[i].end;
	}
	if (!err)
		err = mapped_replace(mapped, start, end, with.mappings, with.n);
	free(parts.mappings);
	free(with.mappings);
	return err;
}

/* --- One file --- */

/* Puts the names together: "" if the path is not known. */
static void change_path(const struct kd_mapped *change, char path[PATH_MAX])
{
	size_t length = 0;

	*path = '\0';
	for (uint32_t i = change->n; change->whole && i > 0 && i <= KD_PATH_NAMES; i--)
		length += (size_t)snprintf(path + length, PATH_MAX - length, "/%.*s", KD_PATH_NAME,
					   change->names[i - 1]);
}

_Static_assert(KD_PATH_NAMES *(KD_PATH_NAME + 1) < PATH_MAX, "a path of names fits");

/* The object that was seen where the file was mapped, if it is that file. */
static int file_seen(const struct mapped *mapped, const struct mounted_file *file, uint64_t start,
		     uint64_t offset)
{
	for (size_t i = 0; i < mapped->seen.n; i++) {
		const struct mapping *mapping = &mapped->seen.mappings[i];

		if (start < mapping->start || start >= mapping->end)
			continue;
		if (mapping->offset + (start - mapping->start) != offset ||
		    !mapped_files_can_be(mapped->files, mapping->object, file))
			return -ENOENT;
		return (int)mapping->object;
	}
	return -ENOENT;
}

/* The number of the file's object; -ENOENT if there is none; another -errno. */
static int file_find(struct mapped *mapped, uint64_t t, const struct kd_mapped *change,
		     mapped_found *found, void *context)
{
	char path[PATH_MAX];
	const struct mounted_file file = { .major = change->device >> 20,
					   .minor = change->device & 0xfffff,
					   .inode = change->inode,
					   .path = path };
	int number, err;

	change_path(change, path);
	number = mapped_files_known(mapped->files, &file);
	if (number >= 0)
		return number;
	err = mapped_look(mapped, t, found, context);
	if (mapped_files_are_untold(mapped->files))
		return err; /* nobody listens any more */
	number = err ? -ENOENT : file_seen(mapped, &file, change->start, change->offset);
	if (number < 0)
		number = mapped_files_gone(mapped->files, mapped->pid, &file, found, context);
	if (number >= 0)
		mapped_files_name(mapped->files, &file, (uint32_t)number);
	return number;
}

int mapped_change(struct mapped *mapped, uint64_t t, const struct kd_mapped *change,
		  mapped_found *found, void *context)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct mapping mapping = { .start = change->start,
				   .offset = change->offset,
				   .object = SPACE_NO_FILE };
	int number = -ENOENT, err;

	if (change->kind == KD_MAPPED_ALL) {
		err = mapped_take_all(mapped, t, found, context);
		return err == -ESRCH ? mapped_forget(mapped) : err;
	}
	mapping.end = (change->start + change->length + page - 1) / page * page;
	if (mapping.end <= mapping.start || change->length > mapping.end)
		return 0;
	if (change->kind == KD_MAPPED_CHANGED) {
		err = mapped_look(mapped, t, found, context);
		return err ? err : mapped_changed(mapped, mapping.start, mapping.end);
	}
	if (change->kind == KD_MAPPED_FILE)
		number = file_find(mapped, t, change, found, context);
	if (number >= 0)
		mapping.object = (uint32_t)number;
	else if (number != -ENOENT)
		return number;
	return mapped_replace(mapped, mapping.start, mapping.end, &mapping, 1);
}
