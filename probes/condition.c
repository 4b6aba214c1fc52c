// SPDX-License-Identifier: Apache-2.0
#include "condition.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/log.h"
#include "cli/base/names.h"
#include "kernel.h"

_Static_assert(PREDICATE_TERMS == KD_TERMS, "room for all");
_Static_assert(PREDICATE_LOADS < KD_TERM_LOADS, "and for an argument that is in memory");

/* Tracepoints of system calls pass the call's number, then its arguments or its result, each in
 * 8 bytes (kernel/trace/trace_syscalls.c: perf_call_bpf_enter()). */
#define CALL_VALUES 16
#define CALL_ARGUMENTS 6

/* A term being made. */
struct making {
	struct kd_term *term;
	const struct predicate_term *of;
	const struct condition_location *location;
	struct predicate_error *error;
	/* The value before any memory reads: */
	struct predicate_type type; /* its type there */
	bool typed;                 /* by the program, not by a register's size */
};

static int wrong_at(const struct making *making, size_t at, const char *why)
{
	*making->error = (struct predicate_error){ .at = at, .why = why };
	return -EINVAL;
}

static int wrong(const struct making *making, const char *why)
{
	return wrong_at(making, making->of->value_at, why);
}

static int register_use(struct making *making, uint16_t offset, uint8_t size)
{
	making->term->base = offset;
	making->type.size = size;
	return 0;
}

/* --- Where values are --- */

static int usdt_argument_use(struct making *making)
{
	const struct condition_location *location = making->location;
	struct kd_term *term = making->term;
	struct usdt_argument argument;
	const char *why;

	if (usdt_argument_read(&argument, location->machine, location->arguments ?: "",
			       making->of->value.argument, &why))
		return wrong(making, why);
	/* The upper half of a 16-bit register. */
	if (!argument.in_memory && argument.base.size == 1 && argument.size > 1)
		return wrong(making, "what the file says about this argument cannot be understood");
	if (argument.base.size)
		term->base = argument.base.offset;
	if (argument.index.size)
		term->index = argument.index.offset;
	term->shift = argument.shift;
	term->offsets[0] = argument.offset;
	term->loads = argument.in_memory;
	making->type = (struct predicate_type){ argument.size, argument.is_signed };
	making->typed = true;
	return 0;
}

static int function_argument_use(struct making *making)
{
	const struct call_registers *call = &call_registers[making->location->machine];
	unsigned int number = making->of->value.argument;

	if (!making->location->at_entry)
		return wrong(making, "arguments are known where a function begins, not within it: "
				     "%REGISTER is possible");
	if (number < call->n)
		return register_use(making, call->arguments[number], 8);
	making->term->offsets[0] = call->on_stack + 8 * (number - call->n);
	making->term->loads = 1;
	return register_use(making, call->stack, 8);
}

static int call_value_use(struct making *making)
{
	bool is_result = making->of->value.location == PREDICATE_RET;
	uint16_t index = is_result ? 0 : (uint16_t)making->of->value.argument;

	if (is_result != making->location->call_exit)
		return wrong(making,
			     is_result ? "a system call has its result at its exit (sys_exit_...)"
				       : "a system call has its arguments at its entry "
					 "(sys_enter_...)");
	if (index >= CALL_ARGUMENTS)
		return wrong(making, "a system call has arg0 to arg5");
	return register_use(making, (uint16_t)(CALL_VALUES + 8 * index), 8);
}

/* Finds a field by name. Returns false if there is none. */
static bool event_field_find(struct event_field *field, const char *format, const char *name)
{
	while (event_field_next(field, &format))
		if (strlen(name) == field->length && !memcmp(field->name, name, field->length))
			return true;
	return false;
}

static int field_use(struct making *making)
{
	const struct predicate_value *value = &making->of->value;
	const char *name = value->location == PREDICATE_RET ? "ret" : value->name;
	struct event_field field;

	if (value->location == PREDICATE_ARG)
		return wrong(making,
			     "this tracepoint has no arguments by number, but fields by name");
	if (!event_field_find(&field, making->location->format ?: "", name))
		return wrong(making, "the tracepoint has no such field");
	if (!field.is_number)
		return wrong(making, "this field is a text or an array, no number");
	making->type.is_signed = field.is_signed;
	making->typed = true;
	return register_use(making, field.offset, field.size);
}

static int tracepoint_value_use(struct making *making)
{
	enum predicate_location location = making->of->value.location;

	if (location == PREDICATE_REG)
		return wrong(making, "a tracepoint has no registers");
	return making->location->is_call && location != PREDICATE_FIELD ? call_value_use(making)
									: field_use(making);
}

static int register_name_use(struct making *making)
{
	const struct predicate_value *value = &making->of->value;
	struct subregister subregister;

	if (!register_find(&subregister, making->location->machine, value->name,
			   strlen(value->name)))
		return wrong_at(making, making->of->value_at + value->loads,
				"this machine has no such register");
	return register_use(making, subregister.offset, subregister.size);
}

static int source_find(struct making *making)
{
	const struct probe_kind *kind = &probe_kinds[making->location->kind];

	if (kind->is_static && !kind->is_user)
		return tracepoint_value_use(making);
	switch (making->of->value.location) {
	case PREDICATE_REG:
		return register_name_use(making);
	case PREDICATE_RET:
		if (!kind->is_return)
			return wrong(making,
				     "a function has its result when it returns (ur:, kr:)");
		return register_use(making, call_registers[making->location->machine].result, 8);
	case PREDICATE_FIELD:
		return wrong(making, "only tracepoints (t:) have fields with names");
	case PREDICATE_ARG:
		break;
	}
	if (kind->is_return)
		return wrong(making,
			     "when a function returns its arguments are gone; there is ret");
	return kind->is_static ? usdt_argument_use(making) : function_argument_use(making);
}

/* Adds the memory reads that the text names. */
static int loads_add(struct making *making)
{
	const struct predicate_value *value = &making->of->value;
	struct kd_term *term = making->term;

	if (!value->loads)
		return 0;
	if (making->type.size != 8)
		return wrong(making, "this is no address: it has less than 8 bytes");
	for (unsigned int i = 0; i < value->loads; i++) {
		__s64 *offset = &term->offsets[term->loads];

		if (__builtin_add_overflow(*offset, value->offsets[i], offset))
			return wrong(making, "the offset is too large");
		term->loads++;
	}
	making->type = (struct predicate_type){ .size = 8 };
	making->typed = false;
	return 0;
}

/* --- Comparisons --- */

/* Range of a type, as the BPF side has it. */
static void type_range(const struct predicate_type *type, uint64_t *min, uint64_t *max)
{
	*min = 0;
	*max = UINT64_MAX >> (64 - 8 * type->size);
	if (!type->is_signed)
		return;
	*max >>= 1;
	*min = ~*max;
}

static bool number_fits(const struct predicate_number *number, const struct predicate_type *type)
{
	uint64_t min, max;

	type_range(type, &min, &max);
	return number->negative ? type->is_signed && number->magnitude <= -min
				: number->magnitude <= max;
}

/* Chooses the type: the given one, else the source's. A type that nobody gave is signed, unless the
 * number does not fit. */
static struct predicate_type type_choose(const struct making *making)
{
	const struct predicate_term *of = making->of;
	struct predicate_type type = of->value.type;

	if (!type.size) {
		type = making->type;
		if (!making->typed)
			type.is_signed = true;
		if (!making->typed && !number_fits(&of->number, &type))
			type.is_signed = false;
	}
	if (of->value.mask)
		type.is_signed = false;
	return type;
}

/* Sets what to read, and which bits count, for a number of that type. A smaller type takes the
 * lower bits. A larger one takes the value with its sign. */
static int value_shape(const struct making *making, const struct predicate_type *type)
{
	const uint64_t all = UINT64_MAX >> (64 - 8 * type->size);
	const struct predicate_value *value = &making->of->value;
	struct kd_term *term = making->term;

	term->size = type->size;
	term->is_signed = type->is_signed;
	term->mask = UINT64_MAX;
	if (!value->loads && making->type.size < type->size) {
		term->size = making->type.size;
		term->is_signed = making->type.is_signed;
		if (!type->is_signed)
			term->mask = all;
	}
	if (!value->mask)
		return 0;
	if (value->mask & ~all)
		return wrong(making, "the value has fewer bits than are named with &");
	term->mask = value->mask;
	return 0;
}

static int range_find(const struct making *making, const struct predicate_type *type)
{
	static const char never[] = "this is never true, whatever the value",
			  always[] = "this is always true, whatever the value";
	const struct predicate_term *of = making->of;
	const bool strictly = of->compare == PREDICATE_LT || of->compare == PREDICATE_GT;
	uint64_t number = of->number.negative ? -of->number.magnitude : of->number.magnitude;
	struct kd_term *term = making->term;
	uint64_t min, max;

	if (!number_fits(&of->number, type))
		return wrong_at(making, of->number_at,
				of->number.negative && !type->is_signed
					? "the value has no sign: it is never negative"
					: "the number does not fit in the value's type");
	type_range(type, &min, &max);
	switch (of->compare) {
	case PREDICATE_EQ:
	case PREDICATE_NE:
		if (of->value.mask && number & ~of->value.mask)
			return wrong_at(making, of->number_at,
					of->compare == PREDICATE_EQ ? never : always);
		term->first = number + (of->compare == PREDICATE_NE);
		term->span = of->compare == PREDICATE_NE ? UINT64_MAX - 1 : 0;
		return 0;
	case PREDICATE_LT:
	case PREDICATE_LE:
		if (number == (strictly ? min : max))
			return wrong_at(making, of->number_at, strictly ? never : always);
		term->first = min;
		term->span = number - min - strictly;
		return 0;
	case PREDICATE_GT:
	case PREDICATE_GE:
		if (number == (strictly ? max : min))
			return wrong_at(making, of->number_at, strictly ? never : always);
		term->first = number + strictly;
		term->span = max - term->first;
		return 0;
	}
	return -EINVAL;
}

static int term_make(struct making *making)
{
	struct predicate_type type;

	*making->term = (struct kd_term){ .base = KD_NO_REGISTER, .index = KD_NO_REGISTER };
	if (source_find(making) || loads_add(making))
		return -EINVAL;
	type = type_choose(making);
	return value_shape(making, &type) ?: range_find(making, &type);
}

int condition_make(struct kd_condition *condition, const struct predicate *predicate,
		   const struct condition_location *location, struct predicate_error *error)
{
	size_t group = 0;

	memset(condition, 0, sizeof(*condition));
	condition->n = (uint32_t)predicate->n;
	condition->in_kernel = !probe_kinds[location->kind].is_user && !location->is_call;
	for (size_t i = 0; i < predicate->n; i++) {
		struct making making = {
			.term = &condition->terms[i],
			.of = &predicate->terms[i],
			.location = location,
			.error = error,
		};

		if (term_make(&making))
			return -EINVAL;
		condition->groups[group] |= (uint8_t)(1U << i);
		group += predicate->terms[i].ends;
	}
	return 0;
}

/* --- The conditions of a trigger's sites --- */

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

static struct condition_location location_of(const struct trigger *trigger, const struct site *site)
{
	struct condition_location location = {
		.machine = MACHINE_HERE,
		.kind = trigger->kind,
		.at_entry = !trigger->offset,
		.arguments = site->arguments,
	};

	if (trigger_is_of_calls(trigger)) {
		location.call_exit = begins(site->name, "sys_exit_");
		location.is_call = location.call_exit || begins(site->name, "sys_enter_");
	}
	return location;
}

/* Returns the condition's number, after adding it if it is new. KD_CONDITIONS: no space. */
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

/* Lists a tracepoint's fields, for a condition that names others. */
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

/* Makes the condition of one site. */
static exit_status condition_of_site(struct kd_condition *condition, const struct trigger *trigger,
				     const struct site *site)
{
	struct condition_location location = location_of(trigger, site);
	struct predicate_error wrong;
	char *format = NULL;
	int status = 0, error;

	if (trigger_is_tracepoint(trigger)) {
		error = kernel_event_format(&format, site->group, site->name);
		if (error) {
			log_error("trigger '%s': cannot read which fields %s:%s has: %s",
				  trigger->text, site->group, site->name, strerror(-error));
			log_hint("%s", kernel_events_hint(error));
			return kernel_events_status(error);
		}
		location.format = format;
	}
	if (condition_make(condition, trigger->condition, &location, &wrong)) {
		status = condition_refuse(trigger->text, trigger->condition_at + wrong.at,
					  wrong.why);
		if (format)
			fields_hint(format);
	}
	free(format);
	return status;
}

exit_status conditions_add(struct trigger_sites *given, struct sites *sites)
{
	const struct trigger *trigger = &given->trigger;
	struct kd_condition condition;

	if (!trigger->condition)
		return 0;
	if (!given->conditions)
		given->conditions = calloc(1, sizeof(*given->conditions));
	if (!given->conditions)
		return log_no_memory();
	for (size_t i = 0; i < sites->n; i++) {
		int status = condition_of_site(&condition, trigger, &sites->all[i]);
		uint32_t number;

		if (status)
			return status;
		number = condition_number(given->conditions, &condition);
		/* One program may serve all system calls, without learning which one it is. */
		if (number && trigger_is_of_calls(trigger)) {
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
		sites->all[i].condition = number;
	}
	return 0;
}
