/* SPDX-License-Identifier: Apache-2.0 */
/* Opens files whose paths another process chose. */
#ifndef FILE_H
#define FILE_H

/* Opens a file for reading, which must be a regular one: nothing is done to any
 * other, not even opening it. root is a directory that neither ".." nor links lead
 * out of, such as /proc/PID/root; NULL: path is as the kernel takes it, and may be
 * one of its links to open files. Returns a file descriptor, which the caller
 * closes; -ENOEXEC if it is not a regular file; another -errno. */
int file_open(const char *root, const char *path);

/* The same, but a link as the last part of the path is not followed: it is no regular file. */
int file_open_itself(const char *root, const char *path);

#endif
