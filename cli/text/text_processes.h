/* SPDX-License-Identifier: Apache-2.0 */
/* Processes, if the target has more than one. */
#ifndef TEXT_PROCESSES_H
#define TEXT_PROCESSES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/model/sample.h"

struct capture;
struct columns;
struct text;
struct thread_row;

/* First screen: lines of the processes kept from running longest. Returns 0 or -ENOMEM. */
int text_screen_processes(struct text *text);

/* Section with sums per process: the first top ones, and the rest in one line; nothing for a
 * single process. Returns as above. */
int text_processes(struct text *text, size_t top);

/* Adds the line above the threads of a process. */
void text_process_heading(struct text *text, const struct thread_row *thread);

/* Adds a thread's process: ", of 812 postgres: alice db SELECT"; nothing for a single process. */
void text_process_of(struct text *text, const struct thread_row *thread);

/* Adds "812 postgres: alice db SELECT"; no title if the sample lacks this PID. */
void text_process(struct columns *columns, const struct sample *sample, pid_t pid, uint64_t at);

/* Common name of all processes, escaped: "container db", "postgres", "postgres and others". */
#define PROCESSES_LEN 48
void text_processes_name(char name[static PROCESSES_LEN], const struct sample *sample);

/* Adds a line with the container of a single process, if known. */
void text_target_labels(struct columns *columns, const struct capture *capture);

#endif
