// SPDX-License-Identifier: Apache-2.0
/* The texts of triggers, and patterns. An input is a trigger, and behind a line feed a name
 * that its pattern may match. */
#define _GNU_SOURCE
#include <errno.h>

#include "cli/base/names.h"
#include "probes/trigger.h"
#include "input.h"

/* What is made of a text has all that its kind needs, and says the same. */
static void trigger_check(const struct trigger *trigger, const char *text)
{
	const char *parts[] = { trigger->object, trigger->group, trigger->name };
	bool has_group = trigger->kind == TRIGGER_USDT || trigger->kind == TRIGGER_TRACEPOINT;

	MUST(!strcmp(trigger->text, text) && strlen(text) <= TRIGGER_MAX);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		MUST(!parts[i] || (*parts[i] && strstr(text, parts[i])));
	MUST(!trigger->object || trigger_is_user(trigger));
	MUST(has_group == (trigger->group != NULL));
	MUST(trigger->name || (trigger->address && trigger_is_user(trigger)));
	MUST(!trigger->offset || (!trigger_is_return(trigger) && !trigger_is_glob(trigger)));
	MUST(trigger->kind != TRIGGER_TRACEPOINT ||
	     (!strchr(trigger->group, '/') && !strchr(trigger->name, '/')));
}

/* As the kernel side does it. */
static bool automaton_match(const struct kd_names *names, const char *name)
{
	uint64_t states = names->starts;

	for (; *name; name++)
		states = (states & names->takes[(unsigned char)*name]) << 1 |
			 (states & names->stays);
	return states & names->ends;
}

static void pattern_check(const char *pattern, const char *name)
{
	bool matches = names_match(pattern, name);
	struct names_closest closest;
	struct kd_names compiled;

	MUST(names_match(pattern, pattern));
	if (!names_is_glob(pattern))
		MUST(matches == !strcmp(pattern, name));
	if (names_compile(&compiled, pattern))
		MUST(automaton_match(&compiled, name) == matches);
	names_closest_init(&closest, pattern);
	names_closest_offer(&closest, name);
	names_closest_offer(&closest, pattern);
	names_closest_clear(&closest);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *text = input_text_of((struct input){ bytes, size });
	char *name = strchr(text, '\n');
	struct trigger trigger;
	const char *why = NULL;
	int err;

	if (name)
		*name++ = '\0';
	err = trigger_parse(&trigger, text, &why);
	MUST(!err || (err == -EINVAL && why && *why));
	if (!err) {
		trigger_check(&trigger, text);
		if (trigger.name)
			pattern_check(trigger.name, name ? name : "");
	}
	MUST(!err || (!trigger.text && !trigger.name));
	trigger_clear(&trigger);
	free(text);
	return 0;
}
