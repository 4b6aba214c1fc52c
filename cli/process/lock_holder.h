/* SPDX-License-Identifier: Apache-2.0 */
/* Which process has a lock that a program waits for by means of its own, where the kernel knows of
 * no wait for it. */
#ifndef LOCK_HOLDER_H
#define LOCK_HOLDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct awaited_process;

/* Sets found to the only other process that has a lock of a file that this one has open, as SQLite
 * takes it: one for writing, if any. False: there is none, or more than one. */
bool lock_holder_of_file(struct awaited_process *found, pid_t pid);

/* The process that has a lock of a file, by its inode, and no other lock; 0: none. */
pid_t lock_holder_only(uint64_t inode);

/* Sets found to the process that has the lock of dpkg's database, as apt waits for it. */
bool lock_holder_of_dpkg(struct awaited_process *found, pid_t pid);

/* Sets found to the only process that has a lock of the file behind a descriptor of another one:
 * also one that got it from who took it, or which the kernel counts as the file's. */
bool lock_holder_at(struct awaited_process *found, pid_t pid, int fd);

/* The same for a backend of PostgreSQL that says in its title that it waits for a lock: the only
 * other backend of the server that is in a transaction and does not wait itself, by its title. */
bool lock_holder_of_session(struct awaited_process *found, pid_t pid);

/* The same for a lock that a session may have that is in no transaction. */
bool lock_holder_of_advisory(struct awaited_process *found, pid_t pid);

#endif
