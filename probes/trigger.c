/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "trigger.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/names.h"

const char *const trigger_grammar[] = {
	"u|usdt:[OBJECT:]PROVIDER:PROBE        USDT probe of the target",
	"t|trace:SYSTEM:EVENT                  tracepoint of the kernel",
	"k|kprobe:FUNCTION[+OFFSET]            kernel function, or what is OFFSET bytes into it",
	"kr|kretprobe:FUNCTION                 return of a kernel function",
	"up|uprobe:[OBJECT:]FUNCTION[+OFFSET]  function of the target",
	"up|uprobe:[OBJECT:]0xADDRESS          instruction of the target",
	"ur|upr|uretprobe:[OBJECT:]FUNCTION    return of a function of the target",
	"ur|upr|uretprobe:[OBJECT:]0xADDRESS   return of the function that begins there",
	"Wildcards (*, ?, [a-z]) in FUNCTION, EVENT, PROVIDER, PROBE: all that match",
	"TRIGGER if CONDITION                  only hits such as those of 'ur:read if ret < 0'",
};
const size_t trigger_grammar_len = sizeof(trigger_grammar) / sizeof(*trigger_grammar);

/* A slice of the text during parsing. */
struct piece {
	const char *at;
	size_t length;
};

static struct piece piece_of(const char *text)
{
	return (struct piece){ .at = text, .length = strlen(text) };
}

/* Splits at a separator: *head gets what precedes it, *rest what follows. NULL: there is none. */
static bool piece_split_at(struct piece *head, struct piece *rest, const char *at)
{
	const char *end = rest->at + rest->length;

	if (!at)
		return false;
	*head = (struct piece){ .at = rest->at, .length = (size_t)(at - rest->at) };
	*rest = (struct piece){ .at = at + 1, .length = (size_t)(end - at) - 1 };
	return true;
}

/* Splits at the last separator. Returns false if there is none. */
static bool piece_split(struct piece *head, struct piece *rest, char separator)
{
	return piece_split_at(head, rest, memrchr(rest->at, separator, rest->length));
}

/* Splits an object from a function, which may contain ::. */
static bool piece_split_object(struct piece *head, struct piece *rest)
{
	const char *at = memrchr(rest->at, ':', rest->length);

	while (at && at > rest->at && at[-1] == ':')
		at = memrchr(rest->at, ':', (size_t)(at - rest->at) - 1);
	return piece_split_at(head, rest, at);
}

static bool piece_starts(const struct piece *piece, const char *text)
{
	return piece->length >= strlen(text) && !memcmp(piece->at, text, strlen(text));
}

/* Copies the piece into *string, or returns -ENOMEM. */
static int piece_copy(char **string, const struct piece *piece)
{
	*string = strndup(piece->at, piece->length);
	return *string ? 0 : -ENOMEM;
}

/* Reads the full piece as a decimal number or, with 0x, hexadecimal. Returns 0; -EINVAL; -ERANGE
 * if it does not fit. */
static int piece_number(const struct piece *piece, uint64_t *number)
{
	uint64_t value;
	char *end;

	if (!piece->length || !isxdigit((unsigned char)*piece->at))
		return -EINVAL;
	errno = 0;
	value = strtoull(piece->at, &end, piece_starts(piece, "0x") ? 16 : 10);
	if (end != piece->at + piece->length)
		return -EINVAL;
	*number = value;
	return -errno;
}

const char *trigger_function(const char *text)
{
	struct piece object, name = piece_of(text + strcspn(text, ":") + 1);

	piece_split_object(&object, &name);
	return name.at;
}

static int usdt_read(struct trigger *trigger, struct piece name, const char **why)
{
	struct piece object, group;
	int error;

	*why = "a USDT probe needs a provider and a name";
	if (!piece_split(&group, &name, ':'))
		return -EINVAL;
	/* Only the object may contain colons. */
	if (piece_split(&object, &group, ':')) {
		*why = "the object before the provider is empty";
		if (!object.length)
			return -EINVAL;
		error = piece_copy(&trigger->object, &object);
		if (error)
			return error;
	}
	*why = group.length ? "the name of the probe is empty" : "the provider is empty";
	if (!group.length || !name.length)
		return -EINVAL;
	error = piece_copy(&trigger->group, &group);
	return error ? error : piece_copy(&trigger->name, &name);
}

static int tracepoint_read(struct trigger *trigger, struct piece event, const char **why)
{
	struct piece system;
	int error;

	*why = "a tracepoint needs a system and an event";
	if (!piece_split(&system, &event, ':') || memchr(system.at, ':', system.length))
		return -EINVAL;
	*why = system.length ? "the event is empty" : "the system is empty";
	if (!system.length || !event.length)
		return -EINVAL;
	/* System and event become path components in tracefs. */
	*why = "a tracepoint has no / in its name";
	if (memchr(system.at, '/', system.length) || memchr(event.at, '/', event.length))
		return -EINVAL;
	error = piece_copy(&trigger->group, &system);
	if (!error)
		error = piece_copy(&trigger->name, &event);
	*why = "wildcards are allowed in the event only, not in its system";
	return !error && names_is_glob(trigger->group) ? -EINVAL : error;
}

/* True if a + after it belongs to C++: operator+, operator++, operator+=. */
static bool piece_names_plus(const struct piece *piece)
{
	const size_t plus = piece->length && piece->at[piece->length - 1] == '+';
	const size_t length = strlen("operator") + plus;

	return piece->length >= length &&
	       !memcmp(piece->at + piece->length - length, "operator", length - plus);
}

/* Reads the offset after the function's name. A + without a number is a mistake, as no name in a
 * linker has one. */
static int offset_read(struct trigger *trigger, struct piece *name, const char **why)
{
	struct piece function, offset = *name;
	int error;

	if (!piece_split(&function, &offset, '+'))
		return 0;
	error = piece_number(&offset, &trigger->offset);
	if (error == -EINVAL && piece_names_plus(&function))
		return 0;
	*why = "a probe on a return takes no offset";
	if (trigger_is_return(trigger))
		return -EINVAL;
	switch (error) {
	case -EINVAL:
		*why = "the offset after + must be a number, decimal or with 0x";
		return -EINVAL;
	case -ERANGE:
		*why = "the offset is too large";
		return -EINVAL;
	}
	*name = function;
	return 0;
}

static int function_read(struct trigger *trigger, struct piece name, const char **why)
{
	bool with_offset = memchr(name.at, '+', name.length);
	int error = offset_read(trigger, &name, why);

	if (error)
		return error;
	*why = "the name of the function is empty";
	if (!name.length)
		return -EINVAL;
	error = piece_copy(&trigger->name, &name);
	*why = "wildcards and an offset cannot be combined";
	return !error && with_offset && names_is_glob(trigger->name) ? -EINVAL : error;
}

static int kprobe_read(struct trigger *trigger, struct piece name, const char **why)
{
	*why = "a function of the kernel has no : in its name";
	if (memchr(name.at, ':', name.length))
		return -EINVAL;
	*why = "a function of the kernel is given by its name, not by an address";
	if (piece_starts(&name, "0x"))
		return -EINVAL;
	return function_read(trigger, name, why);
}

static int address_read(struct trigger *trigger, const struct piece *address, const char **why)
{
	switch (piece_number(address, &trigger->address)) {
	case -EINVAL:
		*why = memchr(address->at, '+', address->length)
			       ? "an address takes no offset: add it to the address"
			       : "the address must be a hexadecimal number";
		return -EINVAL;
	case -ERANGE:
		*why = "the address is too large";
		return -EINVAL;
	}
	*why = "the address is 0";
	return trigger->address ? 0 : -EINVAL;
}

static int uprobe_read(struct trigger *trigger, struct piece name, const char **why)
{
	struct piece object;
	int error;

	if (piece_split_object(&object, &name)) {
		*why = "the object before the function is empty";
		if (!object.length)
			return -EINVAL;
		error = piece_copy(&trigger->object, &object);
		if (error)
			return error;
	}
	if (piece_starts(&name, "0x"))
		return address_read(trigger, &name, why);
	return function_read(trigger, name, why);
}

/* Finds the last " if ", or one at the end of the text; NULL: none. Conditions contain no such
 * word. */
static const char *trigger_condition_find(const char *text)
{
	const char *found = NULL;

	for (const char *next = text; (next = strstr(next, " if")); next++)
		if (!next[3] || next[3] == ' ')
			found = next;
	return found;
}

/* Reads the condition. */
static int trigger_condition_read(struct trigger *trigger, const char *text, const char **why)
{
	struct predicate_error error;

	trigger->condition = calloc(1, sizeof(*trigger->condition));
	if (!trigger->condition)
		return -ENOMEM;
	trigger->condition_at = (size_t)(text - trigger->text);
	if (!predicate_parse(trigger->condition, text, &error))
		return 0;
	trigger->condition_at += error.at;
	*why = error.why;
	return -EINVAL;
}

const struct probe_kind probe_kinds[] = {
	[TRIGGER_USDT] = { { "usdt", "u" }, usdt_read, 1500, .is_user = true, .is_static = true },
	[TRIGGER_TRACEPOINT] = { { "trace", "t" }, tracepoint_read, 150, .is_static = true },
	[TRIGGER_KPROBE] = { { "kprobe", "k" }, kprobe_read, 200, .is_return = false },
	[TRIGGER_KRETPROBE] = { { "kretprobe", "kr" }, kprobe_read, 400, .is_return = true },
	[TRIGGER_UPROBE] = { { "uprobe", "up" }, uprobe_read, 1500, .is_user = true },
	[TRIGGER_URETPROBE] = { { "uretprobe", "ur", "upr" },
				uprobe_read,
				2000,
				.is_user = true,
				.is_return = true },
};

size_t trigger_kind_read(enum trigger_kind *kind, const char *text)
{
	size_t length = strcspn(text, ":");

	for (size_t i = 0; text[length] && i < TRIGGER_KINDS * TRIGGER_WORDS; i++) {
		const char *word = probe_kinds[i / TRIGGER_WORDS].words[i % TRIGGER_WORDS];

		if (word && strlen(word) == length && !memcmp(word, text, length)) {
			*kind = (enum trigger_kind)(i / TRIGGER_WORDS);
			return length;
		}
	}
	return 0;
}

static int kind_take(struct trigger *trigger, const char **rest, const char **why)
{
	size_t length = trigger_kind_read(&trigger->kind, trigger->text);

	*rest = trigger->text + length + 1;
	if (length && **rest)
		return 0;
	*why = length ? "nothing follows the kind of probe"
		      : "it does not begin with a kind of probe";
	return -EINVAL;
}

static int text_read(struct trigger *trigger, const char **why)
{
	const char *rest, *condition;
	struct piece probe;
	int error = kind_take(trigger, &rest, why);

	if (error)
		return error;
	probe = piece_of(rest);
	condition = trigger_condition_find(rest);
	if (condition)
		probe.length = (size_t)(condition - rest);
	while (condition && probe.length && probe.at[probe.length - 1] == ' ')
		probe.length--;
	error = probe_kinds[trigger->kind].read(trigger, probe, why);
	return error || !condition ? error : trigger_condition_read(trigger, condition + 3, why);
}

int trigger_parse(struct trigger *trigger, const char *text, const char **why)
{
	int error;

	memset(trigger, 0, sizeof(*trigger));
	*why = "it is too long";
	if (strnlen(text, TRIGGER_MAX + 1) > TRIGGER_MAX)
		return -EINVAL;
	trigger->text = strdup(text);
	error = trigger->text ? text_read(trigger, why) : -ENOMEM;
	if (error) {
		size_t at = trigger->condition_at;

		trigger_clear(trigger);
		trigger->condition_at = at;
	}
	return error;
}

void trigger_clear(struct trigger *trigger)
{
	free(trigger->text);
	free(trigger->object);
	free(trigger->group);
	free(trigger->name);
	free(trigger->condition);
	memset(trigger, 0, sizeof(*trigger));
}

bool trigger_is_glob(const struct trigger *trigger)
{
	return (trigger->name && names_is_glob(trigger->name)) ||
	       (trigger->group && names_is_glob(trigger->group));
}

bool trigger_is_of_calls(const struct trigger *trigger)
{
	return trigger_is_tracepoint(trigger) && !strcmp(trigger->group, "syscalls");
}

bool trigger_is_of_target(const struct trigger *trigger)
{
	return trigger_is_user(trigger) || trigger_is_of_calls(trigger);
}
