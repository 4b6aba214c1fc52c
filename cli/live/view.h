/* SPDX-License-Identifier: Apache-2.0 */
/* What the live view shows, and how: for layout.h, which draws it, and keys.h, which change it. */
#ifndef VIEW_H
#define VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/model/report_options.h"
#include "cli/model/sample.h"
#include "cli/model/verdict.h"
#include "history.h"

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

#endif
