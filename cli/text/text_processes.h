/* SPDX-License-Identifier: Apache-2.0 */
/* What a report says of processes, if the target is more than one. */
#ifndef TEXT_PROCESSES_H
#define TEXT_PROCESSES_H

#include "text_parts.h"

/* Of the first screen: lines of the processes that were kept from running for longest. Returns 0
 * or -ENOMEM. */
int text_screen_processes(struct text *text);

/* The section with sums over the threads of each process: of the first few, and of all others
 * together; nothing if there is but one process. Returns as above. */
int text_processes(struct text *text, size_t top);

/* The line above threads of a process. */
void text_process_heading(struct text *text, const struct thread_row *thread);

/* Of which process a thread is: ", of 812 postgres: alice db SELECT"; "" if there is but one. */
void text_process_of(struct text *text, const struct thread_row *thread);

/* "812 postgres: alice db SELECT"; without a title if the sample has none of that PID. */
void text_process(struct columns *columns, const struct sample *sample, pid_t pid, uint64_t at);

/* What all processes are called, escaped: "container db", "postgres", "postgres and others". */
#define PROCESSES_LEN 48
void text_processes_name(char name[static PROCESSES_LEN], const struct sample *sample);

/* In which container one process runs, in a line of its own, if that is known. */
void text_target_labels(struct columns *columns, const struct capture *capture);

#endif
