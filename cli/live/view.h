/* SPDX-License-Identifier: Apache-2.0 */
/* State of the live view; keys that change it; the bars of past windows; and what draws all that:
 * lines of the window, and the terminal. */
#ifndef VIEW_H
#define VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"
#include "cli/model/report_options.h"
#include "cli/model/sample.h"
#include "cli/model/verdict.h"

/* --- History: share of each recent window in which threads were kept from running --- */

#define HISTORY_WINDOWS 60

/* Identifies a thread across windows; or a row of several, by name and common state. */
struct thread_key {
	uint64_t process_start;
	pid_t pid;
	pid_t tid;              /* several: negative, see history_key() */
	char name[KD_COMM_LEN]; /* several; else zeros */
};

struct history_row {
	struct thread_key key;
	char name[KD_COMM_LEN];          /* latest name */
	uint64_t latest;                 /* latest window with it */
	bool ended;                      /* in that window */
	uint8_t levels[HISTORY_WINDOWS]; /* window N is at N modulo HISTORY_WINDOWS */
};

/* Zeroed: empty. */
struct history {
	struct history_row *rows; /* by key */
	size_t n, capacity;
	uint64_t windows; /* number of windows so far */
};

struct thread_key history_key(const struct thread_row *thread);
int history_key_compare(const struct thread_key *a, const struct thread_key *b);

/* Adds a window. Drops threads that were in none of the last HISTORY_WINDOWS. Returns 0 or
 * -ENOMEM. */
int history_add(struct history *history, const struct verdict *verdict);

/* Copies a history. Returns 0, or -ENOMEM with *copy unchanged. */
int history_copy(struct history *copy, const struct history *history);

/* Writes a bar of width columns, one character per window, the latest at the right. Its height
 * is the share of the thread's life in which it was kept from running: a dot for none, a space
 * for unknown. ascii: without block characters. */
void history_bar(const struct history *history, const struct thread_key *key, size_t width,
		 bool ascii, FILE *out);

/* Frees what it owns and zeroes it; safe on zeros. */
void history_clear(struct history *history);

/* --- State of the view --- */

#define VIEW_INPUT 1024
#define VIEW_MESSAGE 512

/* The window shown. */
struct shown {
	struct sample sample;
	bool filled; /* there is one */
	struct verdict verdict;
	const struct verdict_thread **order; /* listed threads */
	size_t n;
	struct history history; /* up to this window */
};

enum view_page {
	VIEW_THREADS, /* the first screen, and all threads */
	VIEW_THREAD,  /* a single thread */
	VIEW_HELP,
};

enum view_prompt {
	PROMPT_NONE,
	PROMPT_FILTER, /* a pattern of names */
	PROMPT_WRITE,  /* FORMAT:FILE */
};

struct view {
	size_t lines, columns; /* of the terminal */
	bool ascii;            /* no other characters */
	enum view_page page;
	enum report_sort sort;
	char filter[VIEW_INPUT]; /* a pattern of names; "": all */
	size_t cursor;           /* index of the thread that Enter opens */
	size_t listed;           /* threads that fit on the page */
	bool follows;            /* the cursor follows this thread: */
	struct thread_key followed;
	struct thread_key opened; /* VIEW_THREAD */
	size_t down, right;       /* lines and columns scrolled out of other pages */
	size_t down_most;         /* limit, so that some lines stay visible */
	bool frozen;
	enum view_prompt prompt;
	char input[VIEW_INPUT];
	char message[VIEW_MESSAGE]; /* not escaped; "": none */
};

/* --- Keys: change the view; further actions are left to the caller --- */

/* A key: a character, or one of these. */
#define KEY_SPECIAL 0x110000 /* beyond all characters */
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

/* Action left to the caller. */
enum view_action {
	VIEW_NOTHING,
	VIEW_REDRAW, /* the full screen, whatever it shows */
	VIEW_ORDER,  /* the list or its order changed */
	VIEW_FREEZE, /* or unfreeze: see view->frozen */
	VIEW_WRITE,  /* see view->input */
	VIEW_QUIT,
};

/* Handles a key. */
enum view_action keys_press(struct view *view, const struct shown *shown, uint32_t key);

/* Call after the list has changed: the cursor stays with its thread, or in place. */
void keys_follow(struct view *view, const struct shown *shown);

/* Help on keys, line by line; NULL after the last one. */
const char *keys_help(size_t line);

/* --- The live view as lines of text. Pure: draws words and figures of the text report --- */

/* Begins reverse video; TEXT_PLAIN ends it. */
#define LAYOUT_REVERSE "\033[7m"

#endif
