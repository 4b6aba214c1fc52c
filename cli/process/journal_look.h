/* SPDX-License-Identifier: Apache-2.0 */
/* Whose data the journal of a file system waits for: a transaction that allocates space for data is
 * not written before that data is, whoever wrote it. */
#ifndef JOURNAL_LOOK_H
#define JOURNAL_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "cli/model/culprit.h"

#define JOURNAL_PROCESSES 8

struct journal_process {
	pid_t pid;
	char name[KD_COMM_LEN]; /* raw */
};

struct journal_seen {
	struct journal_process journals[JOURNAL_PROCESSES]; /* those that wait for data */
	size_t n_journals;
	struct journal_process writers[JOURNAL_PROCESSES]; /* who sleeps until data is written */
	size_t n_writers;
};

/* Looks at all processes, for 10 ms of CPU time at most. Returns false if there are too many. */
bool journal_look(struct journal_seen *seen);

/* The numbers of the device of which this is the journal's thread, "jbd2/vda1-8", and of the disk
 * that it is on, or is. */
bool journal_device(const char name[KD_COMM_LEN], dev_t *device, dev_t *disk);

/* True if a process has a file open there. */
bool journal_has_file(pid_t pid, dev_t device);

#endif
