/* SPDX-License-Identifier: Apache-2.0 */
/* What this process has mapped, and so any that it has forked, for a resolver. */
#ifndef TESTS_UNIT_SELF_MAPPED_H
#define TESTS_UNIT_SELF_MAPPED_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/stack/resolver.h"
#include "need.h"

#define SELF_MAPPED_AT 1000 /* the time from which on it is known */

struct self_mapped {
	struct mapping mappings[256];
	size_t n;
	uint32_t objects;
	uint64_t stack_end;
};

/* A descriptor of a file with these bytes. */
static int bytes_fd(const void *bytes, size_t size)
{
	int fd = memfd_create("bytes", MFD_CLOEXEC);

	need(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	return fd;
}

/* Adds all files, and the vdso, which is in none. */
static struct self_mapped self_add(struct resolver *resolver)
{
	char line[1024], path[512], last[512] = "";
	FILE *maps = fopen("/proc/self/maps", "re");
	struct self_mapped self = { .n = 0 };

	while (maps && fgets(line, sizeof(line), maps) && self.n < 256) {
		struct mapping *mapping = &self.mappings[self.n];
		char execute;

		*path = '\0';
		if (sscanf(line, "%lx-%lx %*2s%c%*c %lx %*s %*s %511s", &mapping->start,
			   &mapping->end, &execute, &mapping->offset, path) < 4)
			continue;
		if (!strcmp(path, "[stack]"))
			self.stack_end = mapping->end;
		if (execute != 'x' || (*path != '/' && strcmp(path, "[vdso]") != 0))
			continue;
		if (strcmp(path, last) != 0) {
			int fd = *path == '/' ? open(path, O_RDONLY | O_CLOEXEC)
					      : bytes_fd((const void *)mapping->start, /* NOLINT */
							 mapping->end - mapping->start);

			need(!resolver_add_object(resolver, self.objects++, fd, path));
			strcpy(last, path);
		}
		mapping->object = self.objects - 1;
		self.n++;
	}
	need(maps && !fclose(maps) &&
	     !resolver_set_mappings(resolver, SELF_MAPPED_AT, self.mappings, self.n));
	return self;
}

#endif
