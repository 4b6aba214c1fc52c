/* SPDX-License-Identifier: Apache-2.0 */
/* Destination of an output: a stream, or files that only contain complete records. Records are
 * first written to a temporary file, without a name where the file system has such. */
#ifndef OUTPUT_FILE_H
#define OUTPUT_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

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

/* True if both write to the same place, under any names, or can do so for some sample. Sinks such
 * as /dev/null never count as the same. */
bool output_file_is_same(const struct output_file *file, const struct output_file *other);

/* Begins a record: the caller writes to *out, but does not close it. Number and time are for the
 * file's name. Returns 0 or a negative errno. */
int output_file_begin(struct output_file *file, uint64_t number, const struct timespec *when,
		      FILE **out);

/* True if the open record is the first in its file. */
bool output_file_is_new(const struct output_file *file);

/* Ends writing the record, for output_file_keep() or output_file_drop(). If writing failed (error,
 * a negative errno) or fails now, it is dropped. Returns 0 or the first error. */
int output_file_hold(struct output_file *file, int error);

/* Moves the record to its file; if that fails, files are unchanged. Nothing is to be done without
 * one, or for streams. Returns 0 or a negative errno; -EFBIG also if the record alone exceeds the
 * limit.
 *
 * To stay within the limit, the oldest files of this run are removed. A file of several records
 * that would exceed half of it is renamed to NAME.old first. */
int output_file_keep(struct output_file *file);

/* Discards the record, if there is one. */
void output_file_drop(struct output_file *file);

/* Holds and keeps it. */
int output_file_end(struct output_file *file, int error);

/* Removes the record that was kept last again, because data that belongs to it could not be
 * written; unless it has replaced the one before. */
void output_file_undo(struct output_file *file);

/* Frees everything; an open record is discarded. NULL is allowed. */
void output_file_close(struct output_file *file);

#endif
