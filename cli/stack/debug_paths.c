// SPDX-License-Identifier: Apache-2.0
#include "debug_paths.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/proc_file.h"
#include "probes/elf/file.h"
#include "elf_magic.h"

#define DEBUG_ROOT "/usr/lib/debug"
#define BUILD_ID ".build-id/"
#define SUFFIX ".debug"
#define HEX "0123456789abcdef"
#define MOST_HEX 128 /* digits; a build ID has 40 */

static bool is_build_id(const char *path)
{
	size_t length;

	if (strspn(path, HEX) != 2 || path[2] != '/')
		return false;
	path += 3;
	length = strspn(path, HEX);
	return length && length <= MOST_HEX && !strcmp(path + length, SUFFIX);
}

/* Whether the first length bytes of a path are these three texts. */
static bool path_begins(const char *path, size_t length, const char *before, const char *directory,
			size_t directory_length, const char *behind)
{
	size_t first = strlen(before), last = strlen(behind);

	return length == first + directory_length + last && !memcmp(path, before, first) &&
	       !memcmp(path + first, directory, directory_length) &&
	       !memcmp(path + first + directory_length, behind, last);
}

static bool is_link(const char *object, const char *path)
{
	const char *name = strrchr(path, '/');
	size_t length = (size_t)(name - path);
	size_t directory = (size_t)(strrchr(object, '/') - object);

	name++;
	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return false;
	return path_begins(path, length, "", object, directory, "") ||
	       path_begins(path, length, "", object, directory, "/.debug") ||
	       path_begins(path, length, DEBUG_ROOT, object, directory, "");
}

bool debug_path_is_valid(const char *object, const char *path)
{
	if (!strncmp(path, BUILD_ID, strlen(BUILD_ID)))
		return is_build_id(path + strlen(BUILD_ID));
	return *object == '/' && *path == '/' && is_link(object, path);
}

int debug_path_open(pid_t pid, const char *object, const char *path)
{
	char root[32], full[PATH_MAX];
	int fd;

	if (!debug_path_is_valid(object, path))
		return -EINVAL;
	if (snprintf(full, sizeof(full), "%s%s", *path == '/' ? "" : DEBUG_ROOT "/", path) >=
	    (int)sizeof(full))
		return -ENAMETOOLONG;
	snprintf(root, sizeof(root), "/proc/%d/root", (int)proc_thread(pid));
	fd = elf_only(file_open(root, full));
	return fd < 0 ? elf_only(file_open(NULL, full)) : fd;
}
