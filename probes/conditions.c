// SPDX-License-Identifier: Apache-2.0
#include "conditions.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/log.h"

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

static struct condition_place place_of(const struct trigger *trigger, const struct site *site)
{
	struct condition_place place = {
		.machine = MACHINE_HERE,
		.kind = trigger->kind,
		.at_entry = !trigger->offset,
		.arguments = site->arguments,
	};

	if (trigger->kind == TRIGGER_TRACEPOINT && !strcmp(site->group, "syscalls")) {
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

exit_status conditions_add(struct conditions **conditions, const struct trigger *trigger,
			   struct sites *sites)
{
	struct kd_condition condition;
	struct predicate_error error;

	if (!trigger->condition)
		return 0;
	if (!*conditions)
		*conditions = calloc(1, sizeof(**conditions));
	if (!*conditions)
		return log_no_memory();
	for (size_t i = 0; i < sites_count(sites); i++) {
		struct condition_place place = place_of(trigger, sites_get(sites, i));
		uint32_t number;

		if (condition_make(&condition, trigger->condition, &place, &error))
			return condition_refuse(trigger->text, trigger->condition_at + error.at,
						error.why);
		number = condition_number(*conditions, &condition);
		if (number == KD_CONDITIONS) {
			log_error("trigger '%s': its sites have the arguments in more than %d "
				  "different places",
				  trigger->text, KD_CONDITIONS);
			log_hint("name one object, or a probe that has fewer sites");
			return EX_CONFIG;
		}
		sites_set_condition(sites, i, number);
	}
	return 0;
}
