/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of outputs, which are safe to write to as root, and their % sequences. */
#ifndef OUTPUT_PATH_H
#define OUTPUT_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

/* An open directory (O_PATH), and a name in it. */
struct output_entry {
	int directory; /* closed by the caller; -1: none */
	bool shared;   /* others can write to the directory */
	char name[NAME_MAX + 1];
};

/* True if users other than root and this program's can change the directory: by its mode, or as
 * its owner. */
bool output_path_is_shared(const struct stat *directory);

/* Finds the directory and name of a path without creating anything. Follows symbolic links, the
 * last name included (unless keep_last), but not in shared directories: the link's owner would
 * choose what gets overwritten. The name need not exist. Returns 0, or a negative errno: -ELOOP
 * for such a link. */
int output_path_find(const char *path, bool keep_last, struct output_entry *entry);

/* True if the last name of the path has %n or %t. */
bool output_path_varies(const char *path);

/* Expands the % sequences in the last name of a path: %n to the number, %t to the time in UTC
 * (20261121T154400Z), %p to this process's PID, %% to %. Others stay. Returns 0 or
 * -ENAMETOOLONG. */
int output_path_expand(char out[static PATH_MAX], const char *path, uint64_t number,
		       const struct timespec *when);

/* Makes a directory for files of this mode, unless it is there. out: its path, expanded and without
 * slashes at the end. Returns 0 or a negative errno: -EINVAL if its name has %n or %t. */
int output_directory_make(char out[static PATH_MAX], const char *wanted, mode_t mode);

/* Names of all files that a path with % sequences stands for. */
struct output_names {
	size_t n;
	/* Characters, and: any digit; any digits, or none. A time is longer than its %t. */
	unsigned char all[8 * NAME_MAX];
};

/* Makes those of a file name; varies: it has % sequences. */
void output_names_make(struct output_names *names, const char *name, bool varies);

/* True if one of them can be one of the others, of any samples. */
bool output_names_meet(const struct output_names *names, const struct output_names *others);

#endif
