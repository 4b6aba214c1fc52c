// SPDX-License-Identifier: Apache-2.0
/* Conditions of triggers, and what the notes of USDT probes say of arguments and the formats of
 * tracepoints of fields. An input is a byte that says where the condition is to hold, its text, and
 * behind a line feed the note's or the format's. */
#define _GNU_SOURCE
#include <errno.h>

#include "probes/condition.h"
#include "probes/kernel.h"
#include "input.h"

#define CONTEXT_MAX EVENT_BYTES /* registers are in less */

static bool is_size(unsigned int size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static void predicate_check(const struct predicate *predicate, size_t length)
{
	MUST(predicate->n && predicate->n <= PREDICATE_TERMS);
	for (size_t i = 0; i < predicate->n; i++) {
		const struct predicate_term *term = &predicate->terms[i];

		MUST(term->value.loads <= PREDICATE_LOADS);
		MUST(term->value.argument < PREDICATE_ARGUMENTS);
		MUST(memchr(term->value.name, '\0', sizeof(term->value.name)));
		MUST(!term->value.type.size || is_size(term->value.type.size));
		MUST(term->value_at < length && term->number_at <= length);
	}
	MUST(predicate->terms[predicate->n - 1].ends);
}

static bool is_register(unsigned int offset)
{
	return offset == KD_NO_REGISTER || offset < CONTEXT_MAX;
}

/* What the kernel side takes for granted. */
static void condition_check(const struct kd_condition *condition)
{
	unsigned int terms = 0;

	MUST(condition->n && condition->n <= KD_TERMS && condition->groups[0]);
	for (size_t i = 0; i < KD_TERMS; i++) {
		MUST(!(condition->groups[i] & terms));
		terms |= condition->groups[i];
	}
	MUST(terms == (1U << condition->n) - 1);
	for (size_t i = 0; i < condition->n; i++) {
		const struct kd_term *term = &condition->terms[i];

		MUST(is_register(term->base) && is_register(term->index));
		MUST(term->shift <= 3 && term->loads <= KD_TERM_LOADS && is_size(term->size));
		MUST(term->mask && term->span < UINT64_MAX);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct input input = { bytes, size };
	uint8_t where = input_u8(&input);
	char *text = input_text_of(input), *note = strchr(text, '\n');
	struct condition_location location = {
		.machine = where & 1 ? MACHINE_ARM64 : MACHINE_X86_64,
		.at_entry = where & 2,
		.call_exit = where & 4,
		.is_call = where & 8,
		.kind = (enum trigger_kind)((where >> 4) % (TRIGGER_URETPROBE + 1)),
		.arguments = note ? note + 1 : NULL,
		.format = note ? note + 1 : NULL,
	};
	struct predicate_error error = { 0 };
	struct kd_condition condition;
	struct predicate predicate;
	int err;

	if (note)
		*note = '\0';
	err = predicate_parse(&predicate, text, &error);
	if (!err) {
		predicate_check(&predicate, strlen(text));
		MUST(predicate_is(&predicate, &predicate));
		err = condition_make(&condition, &predicate, &location, &error);
		if (!err)
			condition_check(&condition);
	}
	MUST(!err || (err == -EINVAL && error.why && *error.why && error.at <= strlen(text)));
	free(text);
	return 0;
}
