/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of the live view. Pure: they change the view, and what needs more is the caller's. */
#ifndef KEYS_H
#define KEYS_H

#include <stdint.h>

#include "view.h"

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
