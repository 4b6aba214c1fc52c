// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/elf/usdt.h"
#include "kernel.h"
#include "list.h"
#include "resolve.h"
#include "sites.h"

/* --- Values that a condition can name at a site, for --check --- */

static char sign_letter(bool is_signed)
{
	return is_signed ? 's' : 'u';
}

/* Returns the word in front of the assembler's text for a place. */
static const char *location_word(const struct usdt_argument *argument)
{
	if (argument->in_memory)
		return "at";
	return argument->base.size || argument->index.size ? "in" : "is";
}

static void argument_print(struct list_out *out, const struct usdt_argument *argument)
{
	char location[64];

	snprintf(location, sizeof(location), "%.*s", (int)argument->location_length,
		 argument->location);
	list_print(out, ":%c%d %s ", sign_letter(argument->is_signed), 8 * argument->size,
		   location_word(argument));
	list_print_text(out, location, 0);
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

/* Prints a line with a USDT probe's arguments and their places, or a tracepoint's fields. Prints
 * nothing where there are none, or for other sites, whose values no file describes. */
static void list_print_values(struct list_out *out, const struct trigger *trigger,
			      const struct site *site)
{
	if (trigger->kind == TRIGGER_USDT && site->arguments)
		arguments_print(out, site->arguments);
	else if (trigger->kind == TRIGGER_TRACEPOINT)
		fields_print(out, site);
}

/* --- The check --- */

/* Says why a hit costs what it does. */
static const char *cost_reason(const struct trigger *trigger, const struct site *site)
{
	if (!trigger_is_user(trigger))
		return "typical, not measured";
	if (site->on_return)
		return "return";
	return site->instruction == CLASS_OTHER ? "instruction single-stepped"
						: "instruction emulated";
}

static void site_print(struct list_out *out, const struct trigger *trigger, const struct site *site,
		       uint64_t cost)
{
	list_print(out, "  ");
	if (site->group) {
		list_print_text(out, site->group, 0);
		list_print(out, ":");
	}
	list_print_text(out, *site->name ? site->name : "(by address)", 0);
	if (trigger->offset)
		list_print(out, "+0x%" PRIx64, trigger->offset);
	if (site->danger)
		list_print(out, "%s0x%" PRIx64, site->into < 0 ? "-" : "+",
			   site->into < 0 ? -(uint64_t)site->into : (uint64_t)site->into);
	if (site->object) {
		list_print(out, "  at 0x%" PRIx64 " of ", site->offset);
		list_print_text(out, site->object, 0);
	}
	if (site->semaphore)
		list_print(out, ", semaphore at 0x%" PRIx64, site->semaphore);
	if (site->danger)
		list_print(out, ", a return instruction (%s)", site->danger);
	else if (site->on_return)
		list_print(out, ", by a return probe");
	list_print(out, "\n");
	list_print_values(out, trigger, site);
	list_print(out, "    about %" PRIu64 " ns per hit (%s)\n", cost,
		   cost_reason(trigger, site));
}

int triggers_check(FILE *file, const char *role, const struct trigger *trigger,
		   const struct sites *sites, bool target_only, const uint64_t *costs)
{
	struct list_out out = { .file = file };
	size_t n = sites_count(sites);

	list_print(&out, "%s ", role);
	list_print_text(&out, trigger->text, 0);
	list_print(&out, ": %s, %zu site%s, fires for %s%s\n", trigger_kind_name(trigger->kind), n,
		   n == 1 ? "" : "s",
		   target_only ? "the target only" : "any process, unless target-only is behind it",
		   trigger_is_user(trigger) && trigger->everywhere
			   ? "; other processes that run this code pay as much"
			   : "");
	for (size_t i = 0; i < n && !out.error; i++)
		site_print(&out, trigger, sites_get(sites, i), costs[i]);
	if (!out.error && fflush(file))
		out.error = errno ? -errno : -EIO;
	return out.error;
}
