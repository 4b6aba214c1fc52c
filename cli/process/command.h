/* SPDX-License-Identifier: Apache-2.0 */
/* A program that is started to be watched: it is held at its first instruction until all is
 * attached, and then left alone. */
#ifndef COMMAND_H
#define COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"

struct command;

/* What this process does about signals and a command must not inherit. */
enum { COMMAND_SIGNALS = 3 };
struct command_signals {
	struct sigaction actions[COMMAND_SIGNALS];
};

/* Notes what was inherited; to be called before anything is changed. */
void command_signals_read(struct command_signals *signals);

/* Starts words[0], looked for in PATH, with these words; all else it has from this process.
 * To be called while this process has no descriptors, threads or signals of its own.
 * Returns 0, or after printing what is wrong EX_NOTFOUND, EX_NOTRUN or EX_OSERR. The caller
 * ends it with command_close() either way. */
exit_status command_start(struct command **command, char *const words[],
			  const struct command_signals *signals);

/* Lets it go, before it is released, until its libraries are mapped and initialized: then it is
 * held where its own code begins. Returns 0, also where that cannot be had; or after printing
 * what is wrong EX_NOTRUN or EX_OSERR. */
exit_status command_load(struct command *command, const char *name);

pid_t command_pid(const struct command *command);

/* Lets it run, if it does not yet; NULL is allowed. To be called by the thread that has
 * started it. */
void command_release(struct command *command);

/* True from then on; NULL: false. */
bool command_is_released(const struct command *command);

/* Returns its exit status, 128 + N if signal N ended it; 0 if it has not been released or has not
 * ended, or if command is NULL. */
int command_status(struct command *command);

/* Frees it; one that has not been released is killed first. NULL is allowed. */
void command_close(struct command *command);

#endif
