/* SPDX-License-Identifier: Apache-2.0 */
#include "list_filter.h"

#include <string.h>

#include "cli/base/names.h"

void list_filter_init(struct list_filter *filter, const char *glob)
{
	size_t length = glob ? trigger_kind_read(&filter->kind, glob) : 0;
	const char *why;

	*filter = (struct list_filter){ .glob = glob, .rest = glob, .kind = filter->kind };
	if (!length || length >= sizeof(filter->word))
		return;
	memcpy(filter->word, glob, length);
	filter->rest = glob + length + 1;
	trigger_parse(&filter->trigger, glob, &why); /* it need not be one */
}

void list_filter_clear(struct list_filter *filter)
{
	trigger_clear(&filter->trigger);
}

bool list_filter_wants(const struct list_filter *filter, enum trigger_kind kind)
{
	enum trigger_kind wanted = filter->kind;

	if (!*filter->word)
		return true;
	if (wanted == TRIGGER_KRETPROBE)
		wanted = TRIGGER_KPROBE;
	if (wanted == TRIGGER_URETPROBE)
		wanted = TRIGGER_UPROBE;
	return wanted == kind;
}

bool list_filter_takes(const struct list_filter *filter, const char *text, const char *name)
{
	if (!filter->glob || names_match(filter->rest, strchr(text, ':') + 1) ||
	    names_match(filter->rest, name))
		return true;
	return !*filter->word && names_match(filter->glob, text);
}

bool list_filter_means(const struct list_filter *filter, const char *group, const char *name)
{
	const struct trigger *wanted = &filter->trigger;

	return wanted->object && wanted->name && names_match(wanted->name, name) &&
	       (!wanted->group || (group && names_match(wanted->group, group)));
}
