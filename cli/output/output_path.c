/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "output_path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
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

#define DIGIT 1
#define DIGITS 2

void output_names_make(struct output_names *names, const char *name, bool varies)
{
	static const unsigned char number[] = { DIGIT, DIGITS, 0 };
	static const unsigned char moment[] = { DIGIT, DIGIT, DIGIT, DIGIT, DIGIT, DIGIT,
						DIGIT, DIGIT, 'T',   DIGIT, DIGIT, DIGIT,
						DIGIT, DIGIT, DIGIT, 'Z',   0 };
	const struct timespec never = { 0 };
	char text[32];
	size_t length;

	names->n = 0;
	for (const char *at = name; *at; names->n += length) {
		bool is_number = varies && at[0] == '%' && at[1] == 'n';
		bool is_time = varies && at[0] == '%' && at[1] == 't';

		at += varies ? expand_one(text, at, 0, &never)
			     : (size_t)snprintf(text, 2, "%c", *at);
		if (is_number || is_time)
			strcpy(text, (const char *)(is_number ? number : moment));
		length = strlen(text);
		if (names->n + length > sizeof(names->all))
			return; /* no name is that long */
		memcpy(names->all + names->n, text, length);
	}
}

static bool is_digit(unsigned char c)
{
	return c == DIGIT || c == DIGITS || (c >= '0' && c <= '9');
}

bool output_names_meet(const struct output_names *names, const struct output_names *others)
{
	/* meets[j]: what follows at names->all[i] can be what follows at others->all[j]. */
	bool meets[sizeof(others->all) + 1] = { false };

	for (size_t i = names->n + 1; i-- > 0;) {
		unsigned char one = i < names->n ? names->all[i] : '\0';
		bool after = false; /* behind both */

		for (size_t j = others->n + 1; j-- > 0;) {
			unsigned char other = j < others->n ? others->all[j] : '\0';
			bool behind_one = meets[j], behind_other = j < others->n && meets[j + 1];
			bool is = one == '\0' && other == '\0';

			if (one == DIGITS)
				is = behind_one || (is_digit(other) && behind_other);
			if (other == DIGITS)
				is = is || behind_other || (is_digit(one) && behind_one);
			if (one != DIGITS && other != DIGITS && one && other)
				is = after && (one == other || (is_digit(one) && is_digit(other) &&
								(one == DIGIT || other == DIGIT)));
			after = behind_one;
			meets[j] = is;
		}
	}
	return meets[0];
}

/* An existing directory may be anyone's: files in it are checked like any others. */
static int directory_make(const char *path, mode_t mode)
{
	struct output_entry entry;
	int error = output_path_find(path, false, &entry);

	if (error)
		return error == -EISDIR ? 0 : error; /* "." and the like */
	/* Whoever may read the directory may also enter it. */
	if (mkdirat(entry.directory, entry.name, 0700 | mode | (mode & 0444) >> 2) &&
	    errno != EEXIST)
		error = -errno;
	close(entry.directory);
	return error;
}

int output_directory_make(char out[static PATH_MAX], const char *wanted, mode_t mode)
{
	const struct timespec never = { 0 };
	size_t length = strlen(wanted);
	char path[PATH_MAX];

	while (length > 1 && wanted[length - 1] == '/')
		length--;
	if (length >= sizeof(path))
		return -ENAMETOOLONG;
	memcpy(path, wanted, length);
	path[length] = '\0';
	if (output_path_varies(path))
		return -EINVAL;
	return output_path_expand(out, path, 0, &never) ?: directory_make(out, mode);
}
