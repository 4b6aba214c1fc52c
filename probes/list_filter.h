/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be listed: the pattern of --list-probes. Nothing is looked up here. */
#ifndef LIST_FILTER_H
#define LIST_FILTER_H

#include <stdbool.h>

#include "trigger.h"

struct list_filter {
	const char *glob; /* NULL: an overview */
	const char *rest; /* of it after the kind */
	char word[16];    /* its kind, as it is spelt; "" if it has none */
	enum trigger_kind kind;
	struct trigger trigger; /* the same as a trigger; zeros if it is none */
};

/* The caller clears the filter; glob has to outlive it. */
void list_filter_init(struct list_filter *filter, const char *glob);

void list_filter_clear(struct list_filter *filter);

/* True if probes of this kind, or on the return of such, may be wanted. */
bool list_filter_wants(const struct list_filter *filter, enum trigger_kind kind);

/* True if the pattern fits the text of a trigger, or the name in it. */
bool list_filter_takes(const struct list_filter *filter, const char *text, const char *name);

/* True if it would mean this name, with this provider or NULL, as a trigger in its OBJECT. */
bool list_filter_means(const struct list_filter *filter, const char *group, const char *name);

#endif
