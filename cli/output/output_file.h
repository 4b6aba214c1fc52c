/* SPDX-License-Identifier: Apache-2.0 */
/* What an output writes to: a stream, or files of whole records only. A record of a
 * file is written under another name first. */
#ifndef OUTPUT_FILE_H
#define OUTPUT_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

struct output_file;

struct output_file_config {
	const char *path; /* with % sequences, see output_path.h; NULL: standard output */
	bool gather;      /* the records of one name follow one another; else the last replaces */
	mode_t mode;      /* of new files */
	uint64_t limit;   /* bytes that the files of this run may fill; 0: none */
};

/* Makes *file, and finds out now whether its files can be created. The path may name
 * a descriptor (/dev/stderr, /dev/fd/N), a FIFO, whose reader is waited for, or a
 * character device: these are streams. config->path has to outlive it. Returns 0 or
 * a negative errno: -ELOOP for a symbolic link that is not followed. The caller ends
 * it with output_file_close(), also after an error. */
int output_file_open(struct output_file **file, const struct output_file_config *config);

/* What is written goes to the reader at once, not in whole records. */
bool output_file_is_stream(const struct output_file *file);

/* It is a stream to a terminal. */
bool output_file_is_terminal(const struct output_file *file);

/* Both would write to the same place, by whatever names. What is neither kept nor shown, as in
 * /dev/null, is nobody's. */
bool output_file_is_same(const struct output_file *file, const struct output_file *other);

/* Begins a record, the text of which the caller writes to *out, but does not close.
 * Number and time are for the file's name. Returns 0 or a negative errno. */
int output_file_begin(struct output_file *file, uint64_t number, const struct timespec *when,
		      FILE **out);

/* Whether what has been begun is behind nothing: the first record of its file. */
bool output_file_is_new(const struct output_file *file);

/* Ends it. If writing failed (error, a negative errno) or fails now, files are as
 * they were before. Returns 0 or the first error; -EFBIG also if the record alone is
 * larger than the limit.
 *
 * Within the limit the oldest files of this run are removed; and a file of several
 * records that would exceed half of it is renamed to NAME.old before. */
int output_file_end(struct output_file *file, int error);

/* Takes the last record away again, which was written: what belongs to it was not. */
void output_file_undo(struct output_file *file);

/* Releases all; a record that was not ended is discarded. NULL is allowed. */
void output_file_close(struct output_file *file);

#endif
