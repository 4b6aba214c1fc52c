/* SPDX-License-Identifier: Apache-2.0 */
/* The files that a process has mapped to execute: its program and its shared
 * objects. */
#ifndef OBJECTS_H
#define OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The path belongs to the objects. */
struct object {
	const char *path; /* as the process has it mapped, without " (deleted)" */
	bool executable;  /* the program itself; exactly one object is it */
	bool deleted;     /* the path may lead to another file by now */
	uint64_t start;   /* the addresses of one of its mappings */
	uint64_t end;
	unsigned int major; /* of the device */
	unsigned int minor;
	uint64_t inode;
};

struct objects;

/* Reads what the process has mapped; each file is there once. Returns 0; -ESRCH
 * if there is no such process; -EPERM or -EACCES if it may not be looked at;
 * another -errno. The caller frees *objects. */
int objects_read(struct objects **objects, pid_t pid);

/* NULL is allowed. */
void objects_free(struct objects *objects);

/* In the order of their addresses. */
size_t objects_count(const struct objects *objects);
const struct object *objects_get(const struct objects *objects, size_t index);

/* The same number for all processes that have the same files mapped and run the same program. */
uint64_t objects_key(const struct objects *objects);

/* The process. */
pid_t objects_pid(const struct objects *objects);

/* Opens the very file that is mapped, for reading, also if it was deleted or
 * lies in another mount namespace. Returns a file descriptor, which the caller
 * closes; -ESTALE if the path leads to another file and there is no other way to
 * it; -ENOEXEC if it is not a regular file; another -errno. */
int objects_open(const struct objects *objects, const struct object *object);

/* The same for an object of the process pid that the caller has filled in. */
int object_open(pid_t pid, const struct object *object);

/* The path's last part. */
const char *object_basename(const struct object *object);

/* --- Which of them a name means, in triggers and in lists --- */

/* Finds the objects that an OBJECT means: by their path, the name of their file, their soname, or
 * one of the latter two without the version at its end (libvnet.so for libvnet.so.24.06); or by a
 * pattern of one of the first three (names.h). What fits best is meant. Without OBJECT (NULL) it is
 * the program. Notes in meant, which has room for all objects, which are; returns how many. */
size_t objects_meant(const struct objects *objects, const char *wanted, bool *meant);

/* What names this object in a trigger: the name of its file, or the path if
 * others have that name. */
const char *object_label(const struct objects *objects, const struct object *object);

/* --- Reads /proc/PID/maps --- */

/* One mapping. The path belongs to the reader. */
struct map {
	uint64_t start, end;
	uint64_t offset; /* in the file */
	unsigned int major, minor;
	uint64_t inode;
	bool executable, writable, shared;
	const char *path; /* as the kernel shows it; "": none; may also be "[heap]" and so on */
};

/* Called for a mapping. Not 0: no further ones. */
typedef int maps_take(void *context, const struct map *map);

/* Calls take for all mappings of a process, by address. Returns what it returned
 * last; 0 also for a process without memory, as one that has exited; -ESRCH if there
 * is none; another -errno. */
int maps_each(pid_t pid, maps_take *take, void *context);

/* Cuts " (deleted)" off a path as the kernel shows it. Returns whether it was there. */
bool maps_cut_deleted(char *path);

#endif
