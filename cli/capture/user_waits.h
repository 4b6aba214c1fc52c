/* SPDX-License-Identifier: Apache-2.0 */
/* What programs call their waits: the functions in which threads sleep, where the kernel cannot
 * tell what for. Registers and stacks of threads that sleep are read without stopping them, and are
 * only unwound if a sample needs them. */
#ifndef USER_WAITS_H
#define USER_WAITS_H

#include "cli/capture/session/types.h"
#include "cli/model/sample.h"

struct stacks;
struct user_waits;

/* Gets what unwinds stacks, which may have to be started; NULL: there are no stacks. */
typedef struct stacks *user_waits_open(void *context);

/* Returns NULL without memory. */
struct user_waits *user_waits_new(struct session *session, user_waits_open *open, void *context);

/* NULL is allowed. */
void user_waits_free(struct user_waits *user_waits);

/* Reads stacks of some threads that sleep now, if a window is open. Call it every few tens of
 * milliseconds. */
void user_waits_look(struct user_waits *user_waits);

/* Says in which functions the threads of a closed window slept: a row of sleeps becomes one for
 * each. Call it before rows are folded. Returns 0 or -ENOMEM. */
int user_waits_take(struct user_waits *user_waits, const struct session_view *view,
		    struct sample *sample);

#endif
