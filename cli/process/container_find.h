/* SPDX-License-Identifier: Apache-2.0 */
/* The container that a word on the command line means. */
#ifndef CONTAINER_FIND_H
#define CONTAINER_FIND_H

#include <stddef.h>

#include "cli/base/exit_status.h"

/* Sets *path, of so many bytes, to the control group of the running container with a name, POD/NAME
 * or ID, the beginning of which is enough; or of the pod with that name or UID. What is said in
 * full comes before beginnings of IDs. Returns 0, or after printing what is wrong
 * EX_UNAVAILABLE (there is none), EX_NOINPUT (several; they are listed), or EX_OSERR. */
exit_status container_find(const char *word, char *path, size_t size);

#endif
