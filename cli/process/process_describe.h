/* SPDX-License-Identifier: Apache-2.0 */
/* What a process is called besides its name. */
#ifndef PROCESS_DESCRIBE_H
#define PROCESS_DESCRIBE_H

#include <stdbool.h>

#include "cli/model/process.h"
#include "container.h"

/* Begins as zeros. All but the first field are its own business. */
struct process_describer {
	bool arguments;            /* titles have all arguments of the command line */
	char id[CONTAINER_ID + 1]; /* of the container that was described last */
	struct container_names names;
	unsigned int silent; /* processes that did not give their titles in time */
};

/* Sets the name of a row, which an exec may have changed; it stays as it was if the process has
 * ended. */
void process_name(struct process_row *row, pid_t pid);

/* The same for title, container, image and pod, by what /proc and the runtimes' files say of a
 * process; they stay empty if that is nothing. id, "" at first, is that of the container that the
 * row names: its files are read when it is another one. A process that cannot
 * be asked for its title without waiting for its memory costs 50 ms, and a few of them at most
 * are waited for. */
void process_describe(struct process_describer *describer, struct process_row *row,
		      char id[static CONTAINER_ID + 1], pid_t pid);

/* Container, image and pod alone. id as above. */
void process_container(struct process_describer *describer, struct process_row *row,
		       char id[static CONTAINER_ID + 1], pid_t pid);

#endif
