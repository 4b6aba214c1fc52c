// SPDX-License-Identifier: Apache-2.0
#include "conditions.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/choices.h"
#include "cli/base/log.h"
#include "event_field.h"
#include "kernel.h"

exit_status condition_refuse(const char *text, size_t at, const char *why)
{
	if (text[at])
		log_error("trigger '%s': at character %zu, '%s': %s", text, at + 1, text + at, why);
	else
		log_error("trigger '%s': at its end: %s", text, why);
	for (size_t i = 0; i < predicate_grammar_len; i++)
		log_hint("%s", predicate_grammar[i]);
	return EX_CONFIG;
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static bool is_of_calls(const struct trigger *trigger)
{
	return trigger->kind == TRIGGER_TRACEPOINT && !strcmp(trigger->group, "syscalls");
}

static struct condition_place place_of(const struct trigger *trigger, const struct site *site)
{
	struct condition_place place = {
		.machine = MACHINE_HERE,
		.kind = trigger->kind,
		.at_entry = !trigger->offset,
		.arguments = site->arguments,
	};

	if (is_of_calls(trigger)) {
		place.call_exit = begins(site->name, "sys_exit_");
		place.is_call = place.call_exit || begins(site->name, "sys_enter_");
	}
	return place;
}

/* Which one of the conditions it is, after adding it if it is none of them. KD_CONDITIONS: there
 * is no room. */
static uint32_t condition_number(struct conditions *conditions,
				 const struct kd_condition *condition)
{
	uint32_t number = 0;

	while (number < conditions->n &&
	       memcmp(&conditions->all[number], condition, sizeof(*condition)) != 0)
		number++;
	if (number == conditions->n && number < KD_CONDITIONS)
		conditions->all[conditions->n++] = *condition;
	return number;
}

/* Which fields a tracepoint has, for one whose condition names others. */
static void fields_hint(const char *format)
{
	struct choices fields = { 0 };
	struct event_field field;

	while (event_field_next(&field, &format))
		if (field.is_number)
			choices_add(&fields, "%.*s", (int)field.length, field.name);
	choices_hint(&fields);
	choices_clear(&fields);
}

/* The condition of one site. */
static exit_status condition_of_site(struct kd_condition *condition, const struct trigger *trigger,
				     const struct site *site)
{
	struct condition_place place = place_of(trigger, site);
	struct predicate_error wrong;
	char *format = NULL;
	int status = 0, error;

	if (trigger->kind == TRIGGER_TRACEPOINT) {
		error = kernel_event_format(&format, site->group, site->name);
		if (error) {
			log_error("trigger '%s': cannot read which fields %s:%s has: %s",
				  trigger->text, site->group, site->name, strerror(-error));
			log_hint("%s", kernel_events_hint(error));
			return EX_OSERR;
		}
		place.format = format;
	}
	if (condition_make(condition, trigger->condition, &place, &wrong)) {
		status = condition_refuse(trigger->text, trigger->condition_at + wrong.at,
					  wrong.why);
		if (format)
			fields_hint(format);
	}
	free(format);
	return status;
}

exit_status conditions_add(struct conditions **conditions, const struct trigger *trigger,
			   struct sites *sites)
{
	struct kd_condition condition;

	if (!trigger->condition)
		return 0;
	if (!*conditions)
		*conditions = calloc(1, sizeof(**conditions));
	if (!*conditions)
		return log_no_memory();
	for (size_t i = 0; i < sites_count(sites); i++) {
		int status = condition_of_site(&condition, trigger, sites_get(sites, i));
		uint32_t number;

		if (status)
			return status;
		number = condition_number(*conditions, &condition);
		/* Of system calls one program may stand for all, and is not told which. */
		if (number && is_of_calls(trigger)) {
			log_error("trigger '%s': its system calls have the values in different "
				  "places",
				  trigger->text);
			log_hint("name arguments by their numbers (arg0), or a single call");
			return EX_CONFIG;
		}
		if (number == KD_CONDITIONS) {
			log_error("trigger '%s': its sites have the values in more than %d "
				  "different places",
				  trigger->text, KD_CONDITIONS);
			log_hint("name one object, or what has fewer sites");
			return EX_CONFIG;
		}
		sites_set_condition(sites, i, number);
	}
	return 0;
}
