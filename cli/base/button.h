/* SPDX-License-Identifier: Apache-2.0 */
/* SIGUSR1, by which an operator says: now. */
#ifndef BUTTON_H
#define BUTTON_H

#include <stdbool.h>

#include "exit_status.h"

struct button {
	int fd; /* to be polled: it is readable when the signal has come; -1: nobody waits for it */
};

/* From now on the signal is kept for button_pressed(), and does nothing else. Returns 0, or after
 * printing what failed an exit status. */
exit_status button_open(struct button *button);

/* Whether it has come since the last call, once or more often. */
bool button_pressed(const struct button *button);

/* From now on it is ignored; nothing if it was not opened. */
void button_close(struct button *button);

#endif
