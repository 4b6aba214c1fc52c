/* SPDX-License-Identifier: Apache-2.0 */
/* Executable files mapped by a process: its program and shared objects. */
#ifndef OBJECTS_H
#define OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Identifies a file as the kernel does in lists of mappings. */
struct inode_key {
	unsigned int major, minor; /* of its device */
	uint64_t inode;
};

/* Orders them. */
int inode_key_compare(const struct inode_key *a, const struct inode_key *b);

static inline bool inode_key_is(const struct inode_key *a, const struct inode_key *b)
{
	return !inode_key_compare(a, b);
}

/* The objects own the path. */
struct object {
	const char *path;    /* as mapped by the process, without " (deleted)" */
	bool executable;     /* the program itself; true for exactly one object */
	bool deleted;        /* the path may now be another file */
	uint64_t start, end; /* of one of its mappings */
	struct inode_key key;
};

struct objects;

/* Reads the process's mappings; each file appears once. Returns 0; -ESRCH: no such process;
 * -EPERM or -EACCES: not permitted; another -errno. The caller frees *objects. */
int objects_read(struct objects **objects, pid_t pid);

/* NULL is allowed. */
void objects_free(struct objects *objects);

/* Sorted by address. */
size_t objects_count(const struct objects *objects);
const struct object *objects_get(const struct objects *objects, size_t index);

/* Equal for processes that map the same files and run the same program. */
uint64_t objects_key(const struct objects *objects);

pid_t objects_pid(const struct objects *objects);

/* Opens the mapped file for reading, even if it was deleted or is in another mount namespace.
 * Returns a descriptor, which the caller closes; -ESTALE: only reachable by its path, which now
 * leads to another file; -ENOEXEC: not a regular file; another -errno. */
int objects_open(const struct objects *objects, const struct object *object);

/* Opens an object of process pid that the caller filled in. */
int object_open(pid_t pid, const struct object *object);

/* Last component of the path. */
const char *object_basename(const struct object *object);

/* --- Lookup by name, for triggers and lists --- */

/* Finds objects for an OBJECT: by path, file name, soname, or one of the latter two without the
 * version suffix (libvnet.so for libvnet.so.24.06); or by a pattern of one of the first three
 * (names.h). Only the best matches count. NULL means the program. Marks them in meant, which has
 * space for all objects; returns their number. */
size_t objects_meant(const struct objects *objects, const char *wanted, bool *meant);

/* Name of an object in a trigger: its file name, or its path if that is ambiguous. */
const char *object_label(const struct objects *objects, const struct object *object);

/* --- Reading /proc/PID/maps --- */

/* A mapping. The reader owns the path. */
struct map {
	uint64_t start, end;
	uint64_t offset; /* in the file */
	struct inode_key key;
	bool executable, writable, shared;
	const char *path; /* as shown by the kernel; "": none; may be "[heap]" and the like */
};

/* Receives a mapping. Nonzero: no more calls. */
typedef int maps_take(void *context, const struct map *map);

/* Calls take for all mappings of a process, by address. Returns its last result; 0 also for a
 * process without memory, such as an exited one; -ESRCH: no such process; another -errno. */
int maps_each(pid_t pid, maps_take *take, void *context);

/* Removes " (deleted)" from a kernel path. Returns whether it was there. */
bool maps_cut_deleted(char *path);

#endif
