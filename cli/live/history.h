/* SPDX-License-Identifier: Apache-2.0 */
/* How much of each window the threads were kept from running, for the last ones. Pure. */
#ifndef HISTORY_H
#define HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "cli/model/sample.h"
#include "cli/model/verdict.h"

#define HISTORY_WINDOWS 60

/* By what a thread is known from window to window; or a row of several, by their name and by the
 * state that they are all in. */
struct thread_key {
	uint64_t process_start;
	pid_t pid;
	pid_t tid;              /* of several: negative, see history_key() */
	char name[KD_COMM_LEN]; /* of several; else zeros */
};

struct history_row {
	struct thread_key key;
	char name[KD_COMM_LEN];          /* as it was last */
	uint64_t seen;                   /* the last window that it was in */
	bool ended;                      /* there */
	uint8_t levels[HISTORY_WINDOWS]; /* window N at N modulo HISTORY_WINDOWS */
};

/* Zeros: nothing yet. */
struct history {
	struct history_row *rows; /* by key */
	size_t n, room;
	uint64_t windows; /* so many until now */
};

struct thread_key history_key(const struct thread_row *thread);
int history_key_compare(const struct thread_key *a, const struct thread_key *b);

/* Adds a window. Threads that were in none of the last HISTORY_WINDOWS are forgotten. Returns 0 or
 * -ENOMEM. */
int history_add(struct history *history, const struct verdict *verdict);

/* Makes *copy the same. Returns 0, or -ENOMEM and leaves it as it was. */
int history_copy(struct history *copy, const struct history *history);

/* Writes a bar of so many columns: a character for each window, the last at the right. It is as
 * high as the share of the thread's life in which it was kept from running: a dot for none, a space
 * for a window of which nothing is known. ascii: without block characters. */
void history_bar(const struct history *history, const struct thread_key *key, size_t width,
		 bool ascii, FILE *out);

/* Releases what it owns; safe on zeros, which it becomes. */
void history_clear(struct history *history);

#endif
