/* SPDX-License-Identifier: Apache-2.0 */
/* What the live view shows, for layout.h, which draws it; how keys change that; and the bars of
 * past windows. Pure. */
#ifndef VIEW_H
#define VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "cli/model/report_options.h"
#include "cli/model/sample.h"
#include "cli/model/verdict.h"

/* --- How much of each of the last windows the threads were kept from running --- */

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

/* --- What is shown, and how --- */

#define VIEW_INPUT 1024
#define VIEW_MESSAGE 512

/* The window that is shown. */
struct shown {
	struct sample sample;
	bool known; /* there is one */
	struct verdict verdict;
	const struct verdict_thread **order; /* those that are listed */
	size_t n;
	struct history history; /* up to that window */
};

enum view_page {
	VIEW_THREADS, /* the first screen, and all threads */
	VIEW_THREAD,  /* one of them */
	VIEW_HELP,
};

enum view_prompt {
	PROMPT_NONE,
	PROMPT_FILTER, /* a pattern of names */
	PROMPT_WRITE,  /* FORMAT:FILE */
};

struct view {
	size_t lines, columns; /* of the terminal */
	bool ascii;            /* which shows no other characters */
	enum view_page page;
	enum report_sort sort;
	char filter[VIEW_INPUT]; /* a pattern of names; "": all */
	size_t cursor;           /* the thread in the list that would be opened */
	size_t listed;           /* how many threads have room on the page */
	bool follows;            /* the cursor stays with this thread: */
	struct thread_key followed;
	struct thread_key opened; /* VIEW_THREAD */
	size_t down, right;       /* lines and columns that are scrolled out of other pages */
	size_t down_most;         /* lines, so that something is left */
	bool frozen;
	enum view_prompt prompt;
	char input[VIEW_INPUT];
	char message[VIEW_MESSAGE]; /* not escaped; "": none */
};

/* --- Keys: they change the view, and what needs more is the caller's --- */

/* A key: the character that it is, or one of these. */
#define KEY_SPECIAL 0x110000 /* behind all characters */
enum view_key {
	VIEW_KEY_UP = KEY_SPECIAL,
	VIEW_KEY_DOWN,
	VIEW_KEY_PAGE_UP,
	VIEW_KEY_PAGE_DOWN,
	VIEW_KEY_HOME,
	VIEW_KEY_END,
	VIEW_KEY_LEFT,
	VIEW_KEY_RIGHT,
	VIEW_KEY_ENTER,
	VIEW_KEY_BACK, /* backspace */
	VIEW_KEY_OTHER,
};

/* What is left to do. */
enum view_action {
	VIEW_NOTHING,
	VIEW_REDRAW, /* all of the screen, whatever is on it */
	VIEW_ORDER,  /* other threads are listed, or in another order */
	VIEW_FREEZE, /* or the opposite: view->frozen says which */
	VIEW_WRITE,  /* as view->input says */
	VIEW_QUIT,
};

/* Presses a key. */
enum view_action keys_press(struct view *view, const struct shown *shown, uint32_t key);

/* To be called when other threads are listed: the cursor stays with its thread, or where it is. */
void keys_follow(struct view *view, const struct shown *shown);

/* What keys there are, a line each; NULL behind the last one. */
const char *keys_help(size_t line);

#endif
