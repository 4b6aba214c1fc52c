/* SPDX-License-Identifier: Apache-2.0 */
/* Destination of an output: a stream, or files that only contain complete records. Records are
 * first written under a temporary name. */
#ifndef OUTPUT_FILE_H
#define OUTPUT_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

/* --- Where it is: paths that are safe to write to as root --- */

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

/* --- Records --- */

struct output_file;

struct output_file_config {
	const char *path; /* with % sequences, see output_path_expand(); NULL: standard output */
	bool gather;      /* append records of the same name; else replace */
	mode_t mode;      /* of new files */
	uint64_t limit;   /* bytes for all files of this run; 0: no limit */
};

/* Makes *file, and checks that its files can be created. Streams are descriptors (/dev/stderr,
 * /dev/fd/N), a FIFO, whose reader is awaited, or a character device. config->path must outlive
 * it. Returns 0 or a negative errno: -ELOOP for a symbolic link that is not followed. The caller
 * calls output_file_close() in either case. */
int output_file_open(struct output_file **file, const struct output_file_config *config);

/* Data goes to the reader at once, not record by record. */
bool output_file_is_stream(const struct output_file *file);

/* A stream to a terminal. */
bool output_file_is_terminal(const struct output_file *file);

/* True if both write to the same place, under any names. Sinks such as /dev/null never count as
 * the same. */
bool output_file_is_same(const struct output_file *file, const struct output_file *other);

/* Begins a record: the caller writes to *out, but does not close it. Number and time are for the
 * file's name. Returns 0 or a negative errno. */
int output_file_begin(struct output_file *file, uint64_t number, const struct timespec *when,
		      FILE **out);

/* True if the open record is the first in its file. */
bool output_file_is_new(const struct output_file *file);

/* Ends the record. If writing failed (error, a negative errno) or fails now, files are
 * unchanged. Returns 0 or the first error; -EFBIG also if the record alone exceeds the limit.
 *
 * To stay within the limit, the oldest files of this run are removed. A file of several records
 * that would exceed half of it is renamed to NAME.old first. */
int output_file_end(struct output_file *file, int error);

/* Removes the last record again, because data that belongs to it could not be written. */
void output_file_undo(struct output_file *file);

/* Frees everything; an open record is discarded. NULL is allowed. */
void output_file_close(struct output_file *file);

#endif
