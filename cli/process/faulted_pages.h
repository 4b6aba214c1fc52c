/* SPDX-License-Identifier: Apache-2.0 */
/* What page faults were for, by the mappings of a process and its relatives. Reads files below a
 * root, which tests create; "" for this machine. */
#ifndef FAULTED_PAGES_H
#define FAULTED_PAGES_H

#include "cli/model/faulted.h"

/* Says what most of a thread's page faults were for, by some of their pages. pid: its process. */
void faulted_pages_find(struct faulted_thread *faulted, pid_t pid,
			uint64_t pages[KD_FAULTED_KINDS][KD_FAULTED]);

#endif
