// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "jit_files.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <unistd.h>

#include "cli/base/clock.h"

#define INTERVAL NSEC_PER_SEC

/* Its writer maps it so that profilers see it. NULL: there is none. */
static const struct object *dump_find(const struct mapped *mapped, const struct mapped_files *files)
{
	size_t n;
	const struct mapping *mappings = mapped_mappings(mapped, &n);

	for (size_t i = n; i-- > 0;) {
		uint32_t number = mappings[i].object;

		if (number != SPACE_NO_FILE &&
		    !fnmatch("*/jit-[0-9]*.dump", mapped_files_path(files, number), 0))
			return mapped_files_object(files, number);
	}
	return NULL;
}

/* Returns a descriptor of what was not found before, else -1. */
static int file_look(struct jit_files *files, enum jit_file kind, pid_t pid,
		     const struct object *dump, struct opener *opener)
{
	struct jit_id *found = &files->found[kind], id;
	int fd = opener_jit(opener, pid, dump, &id);

	files->is_silent |= fd == -ETIMEDOUT;
	if (fd < 0)
		return -1;
	if (id.inode != found->inode || id.major != found->major || id.minor != found->minor) {
		*found = id;
		return fd;
	}
	close(fd);
	return -1;
}

/* Code that is in no ELF file may also be mapped from memory that has a name. */
static bool makes_code(const struct mapped *mapped, const struct mapped_files *files)
{
	size_t n;
	const struct mapping *mappings = mapped_mappings(mapped, &n);

	for (size_t i = 0; i < n; i++) {
		if (mappings[i].object == SPACE_NO_FILE
			    ? mappings[i].end != UINT64_MAX
			    : !mapped_files_is_elf(files, mappings[i].object))
			return true;
	}
	return false;
}

void jit_files_look(struct jit_files *files, pid_t pid, const struct mapped *mapped,
		    const struct mapped_files *mapped_files, struct opener *opener,
		    int fds[JIT_FILES])
{
	uint64_t now = clock_monotonic();
	const struct object *dump;

	for (unsigned int i = 0; i < JIT_FILES; i++)
		fds[i] = -1;
	if (files->is_silent || (files->looked && now - files->looked < INTERVAL) ||
	    !makes_code(mapped, mapped_files))
		return;
	files->looked = now;
	fds[JIT_PERF_MAP] = file_look(files, JIT_PERF_MAP, pid, NULL, opener);
	dump = dump_find(mapped, mapped_files);
	if (dump)
		fds[JIT_DUMP] = file_look(files, JIT_DUMP, pid, dump, opener);
}
