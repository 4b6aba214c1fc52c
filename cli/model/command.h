/* SPDX-License-Identifier: Apache-2.0 */
/* The target is a program that this one started: it ends with its main thread, so that what this
 * one waited for is what its time was. */
#ifndef COMMAND_H
#define COMMAND_H

#include "sample.h"

/* The main thread of a command, in a window that no trigger made; NULL: there is none, or it shares
 * its row with others. */
const struct thread_row *command_main(const struct sample *sample);

/* True if a thread needs a row of its own: it ended the longest of some sleeps of the main thread,
 * or is that. */
bool command_follows(const struct thread_row *main, const struct thread_row *thread);

/* Of threads that have ended, long sleeps are not known. If one ended a sleep of the main thread
 * that took most of its life, its life says what it did meanwhile: this adds the chain. Rows of
 * threads are not yet folded. Returns 0 or -ENOMEM. */
int command_chains(struct sample *sample);

#endif
