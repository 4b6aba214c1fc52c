// SPDX-License-Identifier: Apache-2.0
/* The texts of triggers, and patterns. An input is a trigger, and behind a line feed a name
 * that its pattern may match. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>

#include "cli/base/names.h"
#include "probes/trigger.h"
#include "input.h"

static bool is_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* The shortest text that says what a trigger says is read as the same. */
static void trigger_again(const struct trigger *trigger)
{
	static const char *const kinds[] = {
		[TRIGGER_USDT] = "u",       [TRIGGER_TRACEPOINT] = "t", [TRIGGER_KPROBE] = "k",
		[TRIGGER_KRETPROBE] = "kr", [TRIGGER_UPROBE] = "up",    [TRIGGER_URETPROBE] = "ur",
	};
	bool plus = trigger->name && strchr(trigger->name, '+');
	char text[2 * TRIGGER_MAX], rest[64] = "";
	struct trigger again;
	const char *why;

	if (trigger->group && plus) /* in the name of a probe or event it is no offset */
		return;
	if (!trigger->name)
		snprintf(rest, sizeof(rest), "0x%lx", trigger->address);
	else if (trigger->offset || (plus && !trigger_is_return(trigger)))
		snprintf(rest, sizeof(rest), "+%lu", trigger->offset);
	snprintf(text, sizeof(text), "%s:%s%s%s%s%s%s", kinds[trigger->kind],
		 trigger->object ? trigger->object : "", trigger->object ? ":" : "",
		 trigger->group ? trigger->group : "", trigger->group ? ":" : "",
		 trigger->name ? trigger->name : "", rest);
	if (strstr(text, " if")) /* what an object's or function's name has is no condition */
		return;
	MUST(!trigger_parse(&again, text, &why));
	MUST(again.kind == trigger->kind && again.offset == trigger->offset &&
	     again.address == trigger->address && is_same(again.object, trigger->object) &&
	     is_same(again.group, trigger->group) && is_same(again.name, trigger->name));
	trigger_clear(&again);
}

/* Whether a colon is in the name, but two together in that of a function of the target. */
static bool has_colon(const struct trigger *trigger)
{
	bool is_function = trigger->kind == TRIGGER_UPROBE || trigger->kind == TRIGGER_URETPROBE;

	for (const char *at = trigger->name; at && (at = strchr(at, ':')); at += 2)
		if (!is_function || at[1] != ':')
			return true;
	return false;
}

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
	MUST(!trigger->name == !!trigger->address);
	MUST(trigger->name || trigger_is_user(trigger));
	MUST(trigger->kind == TRIGGER_TRACEPOINT || !has_colon(trigger));
	MUST(!trigger->offset || (!trigger_is_return(trigger) && !trigger_is_glob(trigger)));
	MUST(trigger->kind != TRIGGER_TRACEPOINT ||
	     (!strchr(trigger->group, '/') && !strchr(trigger->name, '/')));
	trigger_again(trigger);
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
