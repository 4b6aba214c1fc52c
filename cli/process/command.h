/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a program to observe. The program is held at its first instruction until all probes are
 * attached, and then left alone. */
#ifndef COMMAND_H
#define COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"

struct command;

/* Signal handling of this process that a command must not inherit. */
enum { COMMAND_SIGNALS = 3 };
struct command_signals {
	struct sigaction actions[COMMAND_SIGNALS];
};

/* Reads the inherited actions; call before changing any. */
void command_signals_read(struct command_signals *signals);

/* Starts words[0], looked up in PATH, with these words; the rest is inherited. Call while this
 * process has no descriptors, threads or signal handlers of its own. Returns 0, or EX_NOTFOUND,
 * EX_NOTRUN or EX_OSERR after printing what is wrong. The caller calls command_close() in either
 * case. */
exit_status command_start(struct command **command, char *const words[],
			  const struct command_signals *signals);

/* Continues the program, before its release, until its libraries are mapped and initialized, and
 * holds it at its entry point. Returns 0, also where that is unsupported; or EX_NOTRUN or
 * EX_OSERR after printing what is wrong. */
exit_status command_load(struct command *command, const char *name);

pid_t command_pid(const struct command *command);

/* Lets the program run, unless it does already; NULL is allowed. Call from the thread that
 * started it. */
void command_release(struct command *command);

/* True after command_release(); NULL: false. */
bool command_is_released(const struct command *command);

/* Returns its exit status, 128 + N if signal N killed it; 0 if it was not released, has not
 * ended, or command is NULL. */
int command_status(struct command *command);

/* Frees it; kills a program that was not released. NULL is allowed. */
void command_close(struct command *command);

#endif
