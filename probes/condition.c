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

/* A value before any memory reads. */
struct source {
	struct predicate_type type; /* its type there */
	bool typed;                 /* by the program, not by a register's size */
};

static int wrong(struct predicate_error *error, size_t at, const char *why)
{
	*error = (struct predicate_error){ .at = at, .why = why };
	return -EINVAL;
}

static void register_use(struct kd_term *term, struct source *source, struct subregister sub)
{
	term->base = sub.offset;
	source->type.size = sub.size;
}

/* --- Where values are --- */

static int usdt_argument_use(struct kd_term *term, struct source *source,
			     const struct predicate_term *of,
			     const struct condition_location *location,
			     struct predicate_error *error)
{
	struct usdt_argument argument;
	const char *why;

	if (usdt_argument_read(&argument, location->machine, location->arguments ?: "",
			       of->value.argument, &why))
		return wrong(error, of->value_at, why);
	/* The upper half of a 16-bit register. */
	if (!argument.in_memory && argument.base.size == 1 && argument.size > 1)
		return wrong(error, of->value_at,
			     "what the file says about this argument cannot be understood");
	if (argument.base.size)
		term->base = argument.base.offset;
	if (argument.index.size)
		term->index = argument.index.offset;
	term->shift = argument.shift;
	term->offsets[0] = argument.offset;
	term->loads = argument.in_memory;
	source->type = (struct predicate_type){ argument.size, argument.is_signed };
	source->typed = true;
	return 0;
}

static int function_argument_use(struct kd_term *term, struct source *source,
				 const struct predicate_term *of,
				 const struct condition_location *location,
				 struct predicate_error *error)
{
	unsigned int number = of->value.argument,
		     in_registers = register_arguments(location->machine);

	if (!location->at_entry)
		return wrong(error, of->value_at,
			     "arguments are known where a function begins, not within it: "
			     "%REGISTER is possible");
	if (number < in_registers) {
		register_use(term, source, register_argument(location->machine, number));
		return 0;
	}
	register_use(term, source, register_stack_pointer(location->machine));
	term->offsets[0] = register_stack_arguments(location->machine) +
			   8 * (number - in_registers);
	term->loads = 1;
	return 0;
}

static int call_value_use(struct kd_term *term, struct source *source,
			  const struct predicate_term *of,
			  const struct condition_location *location, struct predicate_error *error)
{
	bool is_result = of->value.location == PREDICATE_RET;
	uint16_t index = is_result ? 0 : (uint16_t)of->value.argument;

	if (is_result != location->call_exit)
		return wrong(error, of->value_at,
			     is_result ? "a system call has its result at its exit (sys_exit_...)"
				       : "a system call has its arguments at its entry "
					 "(sys_enter_...)");
	if (index >= CALL_ARGUMENTS)
		return wrong(error, of->value_at, "a system call has arg0 to arg5");
	register_use(
		term, source,
		(struct subregister){ .offset = (uint16_t)(CALL_VALUES + 8 * index), .size = 8 });
	return 0;
}

/* Finds a field by name. Returns false if there is none. */
static bool event_field_find(struct event_field *field, const char *format, const char *name)
{
	while (event_field_next(field, &format))
		if (strlen(name) == field->length && !memcmp(field->name, name, field->length))
			return true;
	return false;
}

static int field_use(struct kd_term *term, struct source *source, const struct predicate_term *of,
		     const struct condition_location *location, struct predicate_error *error)
{
	const char *name = of->value.location == PREDICATE_RET ? "ret" : of->value.name;
	struct event_field field;

	if (of->value.location == PREDICATE_ARG)
		return wrong(error, of->value_at,
			     "this tracepoint has no arguments by number, but fields by name");
	if (!event_field_find(&field, location->format ?: "", name))
		return wrong(error, of->value_at, "the tracepoint has no such field");
	if (!field.is_number)
		return wrong(error, of->value_at, "this field is a text or an array, no number");
	register_use(term, source,
		     (struct subregister){ .offset = field.offset, .size = field.size });
	source->type.is_signed = field.is_signed;
	source->typed = true;
	return 0;
}

static int tracepoint_value_use(struct kd_term *term, struct source *source,
				const struct predicate_term *of,
				const struct condition_location *location,
				struct predicate_error *error)
{
	if (of->value.location == PREDICATE_REG)
		return wrong(error, of->value_at, "a tracepoint has no registers");
	if (location->is_call && of->value.location != PREDICATE_FIELD)
		return call_value_use(term, source, of, location, error);
	return field_use(term, source, of, location, error);
}

static int register_name_use(struct kd_term *term, struct source *source,
			     const struct predicate_term *of,
			     const struct condition_location *location,
			     struct predicate_error *error)
{
	struct subregister subregister;

	if (!register_find(&subregister, location->machine, of->value.name, strlen(of->value.name)))
		return wrong(error, of->value_at + of->value.loads,
			     "this machine has no such register");
	register_use(term, source, subregister);
	return 0;
}

static int source_find(struct kd_term *term, struct source *source, const struct predicate_term *of,
		       const struct condition_location *location, struct predicate_error *error)
{
	bool at_return = probe_kinds[location->kind].is_return;

	if (location->kind == TRIGGER_TRACEPOINT)
		return tracepoint_value_use(term, source, of, location, error);
	switch (of->value.location) {
	case PREDICATE_REG:
		return register_name_use(term, source, of, location, error);
	case PREDICATE_RET:
		if (!at_return)
			return wrong(error, of->value_at,
				     "a function has its result when it returns (ur:, kr:)");
		register_use(term, source, register_result(location->machine));
		return 0;
	case PREDICATE_FIELD:
		return wrong(error, of->value_at, "only tracepoints (t:) have fields with names");
	case PREDICATE_ARG:
		break;
	}
	if (at_return)
		return wrong(error, of->value_at,
			     "when a function returns its arguments are gone; there is ret");
	if (location->kind == TRIGGER_USDT)
		return usdt_argument_use(term, source, of, location, error);
	return function_argument_use(term, source, of, location, error);
}

/* Adds the memory reads that the text names. */
static int loads_add(struct kd_term *term, struct source *source, const struct predicate_term *of,
		     struct predicate_error *error)
{
	const struct predicate_value *value = &of->value;

	if (!value->loads)
		return 0;
	if (source->type.size != 8)
		return wrong(error, of->value_at, "this is no address: it has less than 8 bytes");
	for (unsigned int i = 0; i < value->loads; i++) {
		__s64 *offset = &term->offsets[term->loads];

		if (__builtin_add_overflow(*offset, value->offsets[i], offset))
			return wrong(error, of->value_at, "the offset is too large");
		term->loads++;
	}
	*source = (struct source){ .type.size = 8 };
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
static struct predicate_type type_choose(const struct source *source,
					 const struct predicate_term *of)
{
	struct predicate_type type = of->value.type;

	if (!type.size) {
		type = source->type;
		if (!source->typed)
			type.is_signed = true;
		if (!source->typed && !number_fits(&of->number, &type))
			type.is_signed = false;
	}
	if (of->value.mask)
		type.is_signed = false;
	return type;
}

/* Sets what to read, and which bits count, for a number of that type. A smaller type takes the
 * lower bits. A larger one takes the value with its sign. */
static int value_shape(struct kd_term *term, const struct source *source,
		       const struct predicate_type *type, const struct predicate_term *of,
		       struct predicate_error *error)
{
	const uint64_t all = UINT64_MAX >> (64 - 8 * type->size);
	bool is_read = of->value.loads > 0;

	term->size = type->size;
	term->is_signed = type->is_signed;
	term->mask = UINT64_MAX;
	if (!is_read && source->type.size < type->size) {
		term->size = source->type.size;
		term->is_signed = source->type.is_signed;
		if (!type->is_signed)
			term->mask = all;
	}
	if (!of->value.mask)
		return 0;
	if (of->value.mask & ~all)
		return wrong(error, of->value_at, "the value has fewer bits than are named with &");
	term->mask = of->value.mask;
	return 0;
}

static int range_find(struct kd_term *term, const struct predicate_type *type,
		      const struct predicate_term *of, struct predicate_error *error)
{
	static const char never[] = "this is never true, whatever the value",
			  always[] = "this is always true, whatever the value";
	uint64_t number = of->number.negative ? -of->number.magnitude : of->number.magnitude;
	uint64_t min, max;

	if (!number_fits(&of->number, type))
		return wrong(error, of->number_at,
			     of->number.negative && !type->is_signed
				     ? "the value has no sign: it is never negative"
				     : "the number does not fit in the value's type");
	type_range(type, &min, &max);
	switch (of->compare) {
	case PREDICATE_EQ:
		if (of->value.mask && number & ~of->value.mask)
			return wrong(error, of->number_at, never);
		term->first = number;
		term->span = 0;
		return 0;
	case PREDICATE_NE:
		if (of->value.mask && number & ~of->value.mask)
			return wrong(error, of->number_at, always);
		term->first = number + 1;
		term->span = UINT64_MAX - 1;
		return 0;
	case PREDICATE_LT:
	case PREDICATE_LE:
		if (of->compare == PREDICATE_LT ? number == min : number == max)
			return wrong(error, of->number_at,
				     of->compare == PREDICATE_LT ? never : always);
		term->first = min;
		term->span = number - min - (of->compare == PREDICATE_LT);
		return 0;
	case PREDICATE_GT:
	case PREDICATE_GE:
		if (of->compare == PREDICATE_GT ? number == max : number == min)
			return wrong(error, of->number_at,
				     of->compare == PREDICATE_GT ? never : always);
		term->first = number + (of->compare == PREDICATE_GT);
		term->span = max - term->first;
		return 0;
	}
	return -EINVAL;
}

static int term_make(struct kd_term *term, const struct predicate_term *of,
		     const struct condition_location *location, struct predicate_error *error)
{
	struct source source = { 0 };
	struct predicate_type type;

	*term = (struct kd_term){ .base = KD_NO_REGISTER, .index = KD_NO_REGISTER };
	if (source_find(term, &source, of, location, error) || loads_add(term, &source, of, error))
		return -EINVAL;
	type = type_choose(&source, of);
	if (value_shape(term, &source, &type, of, error))
		return -EINVAL;
	return range_find(term, &type, of, error);
}

int condition_make(struct kd_condition *condition, const struct predicate *predicate,
		   const struct condition_location *location, struct predicate_error *error)
{
	size_t group = 0;

	memset(condition, 0, sizeof(*condition));
	condition->n = (uint32_t)predicate->n;
	condition->in_kernel = !probe_kinds[location->kind].is_user && !location->is_call;
	for (size_t i = 0; i < predicate->n; i++) {
		if (term_make(&condition->terms[i], &predicate->terms[i], location, error))
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

	if (trigger->kind == TRIGGER_TRACEPOINT) {
		error = kernel_event_format(&format, site->group, site->name);
		if (error) {
			log_error("trigger '%s': cannot read which fields %s:%s has: %s",
				  trigger->text, site->group, site->name, strerror(-error));
			log_hint("%s", kernel_events_hint(error));
			return EX_OSERR;
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
		sites_set_condition(sites, i, number);
	}
	return 0;
}
