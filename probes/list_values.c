// SPDX-License-Identifier: Apache-2.0
#include "list_values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event_field.h"
#include "kernel.h"
#include "usdt_argument.h"

static char sign_letter(bool is_signed)
{
	return is_signed ? 's' : 'u';
}

/* What stands for a place in front of the assembler's words for it. */
static const char *place_word(const struct usdt_argument *argument)
{
	if (argument->in_memory)
		return "at";
	return argument->base.size || argument->index.size ? "in" : "is";
}

static void argument_print(struct list_out *out, const struct usdt_argument *argument)
{
	char place[64];

	snprintf(place, sizeof(place), "%.*s", (int)argument->place_length, argument->place);
	list_print(out, ":%c%d %s ", sign_letter(argument->is_signed), 8 * argument->size,
		   place_word(argument));
	list_print_text(out, place, 0);
}

static void arguments_print(struct list_out *out, const char *text)
{
	struct usdt_argument argument;
	const char *why;

	for (unsigned int i = 0; i < PREDICATE_ARGUMENTS; i++) {
		int error = usdt_argument_read(&argument, MACHINE_HERE, text, i, &why);

		if (error == -ENOENT) {
			list_print(out, "%s", i ? "\n" : "");
			return;
		}
		list_print(out, "%sarg%u", i ? ", " : "    arguments: ", i);
		if (error)
			list_print(out, " (%s)", why);
		else
			argument_print(out, &argument);
	}
	list_print(out, "\n");
}

static void fields_print(struct list_out *out, const struct site *site)
{
	struct event_field field;
	char *format;
	const char *rest;
	bool any = false;

	if (kernel_event_format(&format, site->group, site->name))
		return;
	rest = format;
	while (event_field_next(&field, &rest)) {
		if (!field.is_number)
			continue;
		list_print(out, "%s%.*s:%c%d", any ? ", " : "    fields: ", (int)field.length,
			   field.name, sign_letter(field.is_signed), 8 * field.size);
		any = true;
	}
	list_print(out, "%s", any ? "\n" : "");
	free(format);
}

void list_print_values(struct list_out *out, const struct trigger *trigger, const struct site *site)
{
	if (trigger->kind == TRIGGER_USDT && site->arguments)
		arguments_print(out, site->arguments);
	else if (trigger->kind == TRIGGER_TRACEPOINT)
		fields_print(out, site);
}
