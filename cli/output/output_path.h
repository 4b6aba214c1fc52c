/* SPDX-License-Identifier: Apache-2.0 */
/* Where an output's file is: paths that a root program may write to. */
#ifndef OUTPUT_PATH_H
#define OUTPUT_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

/* A directory, open (O_PATH), and a name in it. */
struct output_entry {
	int directory; /* the caller's to close; -1: none */
	bool shared;   /* others can write the directory */
	char name[NAME_MAX + 1];
};

/* True if someone else than root and this program's user can change what a
 * directory has: by its mode, or as its owner. */
bool output_path_is_shared(const struct stat *directory);

/* Finds the directory and the name that a path leads to without creating anything.
 * Symbolic links are followed, also that of the last name (unless keep_last), but none
 * that is in a shared directory: its owner would choose what gets overwritten. The name
 * need not exist.
 * Returns 0, or a negative errno: -ELOOP for such a link. */
int output_path_find(const char *path, bool keep_last, struct output_entry *entry);

/* True if the last name of the path has %n or %t. */
bool output_path_varies(const char *path);

/* Writes the path with the % sequences of its last name replaced: %n by the number,
 * %t by the time in UTC (20261121T154400Z), %p by this process's ID, %% by %; others
 * stay. Returns 0 or -ENAMETOOLONG. */
int output_path_expand(char out[static PATH_MAX], const char *path, uint64_t number,
		       const struct timespec *when);

#endif
