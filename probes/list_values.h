/* SPDX-License-Identifier: Apache-2.0 */
/* Which values a condition of a trigger can name at a site, for --check. */
#ifndef LIST_VALUES_H
#define LIST_VALUES_H

#include "list_out.h"
#include "resolve.h"

/* Prints a line with the arguments of a USDT probe and where they are, or the fields of a
 * tracepoint; nothing for other sites, whose values no file describes, and where there are none. */
void list_print_values(struct list_out *out, const struct trigger *trigger,
		       const struct site *site);

#endif
