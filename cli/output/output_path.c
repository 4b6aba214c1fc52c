/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as in the kernel */

/* A path that is walked step by step. */
struct path_steps {
	int directory;
	unsigned int links;
	bool keep_last;
	char rest[PATH_MAX];
};

bool output_path_is_shared(const struct stat *directory)
{
	return directory->st_mode & (S_IWGRP | S_IWOTH) ||
	       (directory->st_uid && directory->st_uid != geteuid());
}

/* Continues in another directory; fd may be a failed open's. */
static int walk_enter(struct path_steps *walk, int fd)
{
	if (fd < 0)
		return -errno;
	if (walk->directory >= 0)
		close(walk->directory);
	walk->directory = fd;
	return 0;
}

static int walk_begin(struct path_steps *walk, bool absolute)
{
	return walk_enter(walk, open(absolute ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* The text of /proc links does not lead to their targets. */
static bool is_in_proc(int directory)
{
	struct statfs filesystem;

	return !fstatfs(directory, &filesystem) && filesystem.f_type == PROC_SUPER_MAGIC;
}

/* Substitutes a link's text for its name. */
static int walk_follow(struct path_steps *walk, const char *name, const char *after)
{
	char text[PATH_MAX], rest[PATH_MAX];
	struct stat directory;
	ssize_t length;
	int needed;

	if (fstat(walk->directory, &directory))
		return -errno;
	if (output_path_is_shared(&directory) || ++walk->links > LINKS_MAX)
		return -ELOOP;
	length = readlinkat(walk->directory, name, text, sizeof(text) - 1);
	if (length < 0)
		return -errno;
	text[length] = '\0';
	needed = snprintf(rest, sizeof(rest), "%s%s%s", text, *after ? "/" : "", after);
	if (needed < 0 || (size_t)needed >= sizeof(rest))
		return -ENAMETOOLONG;
	memcpy(walk->rest, rest, (size_t)needed + 1);
	return *text == '/' ? walk_begin(walk, true) : 0;
}

/* Walks one name of the path. Returns 1 if it was the last, with *entry set. */
static int walk_step(struct path_steps *walk, struct output_entry *entry)
{
	const char *from = walk->rest + strspn(walk->rest, "/"), *after;
	size_t length = strcspn(from, "/");
	struct stat found = { 0 };
	bool last;
	int error;

	if (length > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(entry->name, from, length);
	entry->name[length] = '\0';
	after = from + length + strspn(from + length, "/");
	last = !*after;
	/* Such an ending requires a directory. */
	if (last &&
	    (from[length] || !length || !strcmp(entry->name, ".") || !strcmp(entry->name, "..")))
		return -EISDIR;
	if (fstatat(walk->directory, entry->name, &found, AT_SYMLINK_NOFOLLOW) && !last)
		return -errno;
	if (S_ISLNK(found.st_mode) && !(last && walk->keep_last)) {
		if (!is_in_proc(walk->directory))
			return walk_follow(walk, entry->name, after);
		if (last)
			return -ELOOP;
	}
	if (last)
		return 1;
	error = walk_enter(walk, openat(walk->directory, entry->name,
					O_PATH | O_DIRECTORY | O_CLOEXEC |
						(S_ISLNK(found.st_mode) ? 0 : O_NOFOLLOW)));
	memmove(walk->rest, after, strlen(after) + 1);
	return error;
}

int output_path_find(const char *path, bool keep_last, struct output_entry *entry)
{
	struct path_steps walk = { .directory = -1, .keep_last = keep_last };
	struct stat directory;
	int result;

	*entry = (struct output_entry){ .directory = -1 };
	if (strlen(path) >= sizeof(walk.rest))
		return -ENAMETOOLONG;
	memcpy(walk.rest, path, strlen(path) + 1);
	result = walk_begin(&walk, *path == '/');
	while (!result)
		result = walk_step(&walk, entry);
	if (result > 0)
		result = fstat(walk.directory, &directory) ? -errno : 0;
	if (result) {
		if (walk.directory >= 0)
			close(walk.directory);
		return result;
	}
	entry->directory = walk.directory;
	entry->shared = output_path_is_shared(&directory);
	return 0;
}

bool output_path_varies(const char *path)
{
	for (const char *at = basename(path); (at = strchr(at, '%')); at += 2) {
		if (at[1] == 'n' || at[1] == 't')
			return true;
		if (!at[1])
			break;
	}
	return false;
}

/* Expands a sequence; returns its length in the path. */
static size_t expand_one(char text[static 32], const char *at, uint64_t number,
			 const struct timespec *when)
{
	struct tm utc;

	switch (*at == '%' ? at[1] : '\0') {
	case 'n':
		snprintf(text, 32, "%llu", (unsigned long long)number);
		return 2;
	case 'p':
		snprintf(text, 32, "%d", (int)getpid());
		return 2;
	case 't':
		if (!gmtime_r(&when->tv_sec, &utc) || !strftime(text, 32, "%Y%m%dT%H%M%SZ", &utc))
			snprintf(text, 32, "%lld", (long long)when->tv_sec);
		return 2;
	case '%':
		snprintf(text, 32, "%%");
		return 2;
	}
	snprintf(text, 32, "%c", *at);
	return 1;
}

int output_path_expand(char out[static PATH_MAX], const char *path, uint64_t number,
		       const struct timespec *when)
{
	const char *at = basename(path);
	size_t used = (size_t)(at - path);

	if (used >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(out, path, used);
	out[used] = '\0';
	while (*at) {
		char text[32];
		size_t length;

		at += expand_one(text, at, number, when);
		length = strlen(text);
		if (used + length >= PATH_MAX)
			return -ENAMETOOLONG;
		memcpy(out + used, text, length + 1);
		used += length;
	}
	return 0;
}
