/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions of triggers: what their text says, and where it is wrong. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probes/predicate.h"
#include "probes/trigger.h"
#include "tap.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Writes what was understood, in one way for all texts that say the same. */
static void describe(char *out, size_t size, const struct predicate *predicate)
{
	static const char *const symbols[] = {
		[PREDICATE_EQ] = "==", [PREDICATE_NE] = "!=", [PREDICATE_LT] = "<",
		[PREDICATE_LE] = "<=", [PREDICATE_GT] = ">",  [PREDICATE_GE] = ">=",
	};
	static const char *const before[] = {
		[PREDICATE_RET] = "ret",
		[PREDICATE_REG] = "%",
		[PREDICATE_FIELD] = "",
	};
	FILE *to = fmemopen(out, size, "w");

	for (size_t i = 0; i < predicate->n; i++) {
		const struct predicate_term *term = &predicate->terms[i];
		const struct predicate_value *value = &term->value;

		for (unsigned int j = 0; j < value->loads; j++)
			fputc('[', to);
		if (value->place == PREDICATE_ARG)
			fprintf(to, "arg%u", value->argument);
		else
			fprintf(to, "%s%s", before[value->place], value->name);
		for (unsigned int j = 0; j < value->loads; j++)
			fprintf(to, "%+ld]", value->offsets[j]);
		if (value->type.size)
			fprintf(to, ":%c%d", value->type.is_signed ? 's' : 'u',
				8 * value->type.size);
		if (value->mask)
			fprintf(to, "&%lu", value->mask);
		fprintf(to, "%s%s%lu", symbols[term->compare], term->number.negative ? "-" : "",
			term->number.magnitude);
		if (i + 1 < predicate->n)
			fputs(term->ends ? " or " : " and ", to);
		else if (!term->ends)
			fputs(" and nothing", to);
	}
	fclose(to);
}

#define LONG_NAME "a_name_of_sixty_three_bytes_which_is_more_than_any_of_kernel_fi"

static void test_valid(void)
{
	_Static_assert(sizeof(LONG_NAME) == PREDICATE_NAME, "as long as possible");
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "arg0 == 3", "arg0==3" },
		{ "arg0==3", "arg0==3" },
		{ " \targ0\t== 3 ", "arg0==3" },
		{ "arg31 != 0x1F", "arg31!=31" },
		{ "prev_prio < 100", "prev_prio<100" },
		{ "_x:s8 == -1 || argc & 1", "_x:s8==-1 or argc&1!=0" },
		{ "[arg+8] == 1 && retval", "[arg+8]==1 and retval!=0" },
		{ LONG_NAME " == 1", LONG_NAME "==1" },
		{ "ret < 0", "ret<0" },
		{ "ret <= -1", "ret<=-1" },
		{ "ret > -9223372036854775808", "ret>-9223372036854775808" },
		{ "ret >= 18446744073709551615", "ret>=18446744073709551615" },
		{ "ret == -0", "ret==0" },
		{ "%rdi == 1", "%rdi==1" },
		{ "%x30:u8 == 1", "%x30:u8==1" },
		{ "arg1", "arg1!=0" },
		{ "arg1 & 4", "arg1&4!=0" },
		{ "arg1:u16&0xff==16", "arg1:u16&255==16" },
		{ "arg1&4&&arg2", "arg1&4!=0 and arg2!=0" },
		{ "[arg0]:s32 == -5", "[arg0+0]:s32==-5" },
		{ "[arg0+8]", "[arg0+8]!=0" },
		{ "[ arg0 - 0x10 ]:u64>1", "[arg0-16]:u64>1" },
		{ "[[[[arg0]+1]+2]-3]:s8<1", "[[[[arg0+0]+1]+2]-3]:s8<1" },
		{ "[%rsp+9223372036854775807]", "[%rsp+9223372036854775807]!=0" },
		{ "arg0 && arg1 || ret", "arg0!=0 and arg1!=0 or ret!=0" },
		{ "arg0||arg1&&arg2||arg3", "arg0!=0 or arg1!=0 and arg2!=0 or arg3!=0" },
		{ "arg0&&arg0&&arg0&&arg0||arg0&&arg0||arg0||arg0",
		  "arg0!=0 and arg0!=0 and arg0!=0 and arg0!=0 or arg0!=0 and arg0!=0 or "
		  "arg0!=0 or arg0!=0" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct predicate predicate, again;
		struct predicate_error error;
		char says[512] = "";

		is_i64(predicate_parse(&predicate, cases[i].text, &error), 0, "'%s'",
		       cases[i].text);
		describe(says, sizeof(says), &predicate);
		is_str(says, cases[i].says, "'%s' is understood", cases[i].text);
		is_i64(predicate_parse(&again, cases[i].text, &error), 0, "and again");
		ok(predicate_is(&predicate, &again), "'%s' is what it is", cases[i].text);
	}
}

static void test_invalid(void)
{
	static const struct {
		const char *text;
		size_t at;
		const char *why; /* a part of it */
	} cases[] = {
		{ "", 0, "a value is missing" },
		{ "  ", 2, "a value is missing" },
		{ "3 == arg0", 0, "value comes first" },
		{ "-3 == arg0", 0, "value comes first" },
		{ "arg32", 0, "no arguments beyond" },
		{ "arg99999999999999999999", 0, "no arguments beyond" },
		{ "arg1x == 1", 0, "an argument is arg0" },
		{ "% == 1", 1, "register" },
		{ "%" LONG_NAME "s == 1", 1, "register" },
		{ LONG_NAME "s == 1", 0, "the name is too long" },
		{ "(arg0 == 1)", 0, "no parentheses" },
		{ "!arg0", 0, "a value is missing" },
		{ "arg0 = 1", 5, "equal is ==" },
		{ "arg0 ==", 7, "a number is missing" },
		{ "arg0 == x", 8, "no digit" },
		{ "arg0 == 1x", 9, "no digit" },
		{ "arg0 == 0x", 8, "a number is missing" },
		{ "arg0 == 0xg", 10, "no digit" },
		{ "arg0 == - 1", 9, "a number is missing" },
		{ "arg0 == +1", 8, "a number is missing" },
		{ "arg0 == 18446744073709551616", 8, "64 bits" },
		{ "arg0 == -9223372036854775809", 8, "64 bits" },
		{ "arg0 == 1 arg1", 10, "&& or || must follow" },
		{ "arg0 == 1 & arg1", 10, "&& or || must follow" },
		{ "arg0 1", 5, "&& or || must follow" },
		{ "arg0 & 0", 7, "0 leaves no bits" },
		{ "arg0 & -1", 7, "a number is missing" },
		{ "arg0 &", 6, "a number is missing" },
		{ "arg0 &&", 7, "a value is missing" },
		{ "arg0 || ", 8, "a value is missing" },
		{ "arg0 && && arg1", 8, "a value is missing" },
		{ "arg0:u7", 5, "a type is" },
		{ "arg0:", 5, "a type is" },
		{ "arg0:x32", 5, "a type is" },
		{ "arg0:u320", 5, "a type is" },
		{ "arg0 :u32", 5, "&& or || must follow" },
		{ "[arg0", 5, "must follow" },
		{ "[arg0+]", 6, "a number is missing" },
		{ "[arg0*8]", 5, "must follow" },
		{ "[arg0+8:u32]", 7, "must follow" },
		{ "[arg0:u32]", 5, "must follow" },
		{ "[]", 1, "a value is missing" },
		{ "[arg0]]", 6, "&& or || must follow" },
		{ "[[[[[arg0]]]]]", 4, "more than four" },
		{ "[arg0+9223372036854775808]", 5, "too large" },
		{ "arg0||arg0||arg0||arg0||arg0||arg0||arg0||arg0||arg0", 48, "more than eight" },
		{ "arg0 == 1\n", 9, "must follow" },
		{ "\xff", 0, "a value is missing" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct predicate_error error = { .at = 999, .why = "" };
		struct predicate predicate;

		is_i64(predicate_parse(&predicate, cases[i].text, &error), -EINVAL,
		       "'%s' is refused", cases[i].text);
		is_u64(error.at, cases[i].at, "'%s': where", cases[i].text);
		ok(strstr(error.why, cases[i].why), "'%s': %s", cases[i].text, error.why);
	}
}

/* Texts that differ in one thing are told apart. */
static void test_different(void)
{
	static const char *const texts[] = {
		"arg0 == 1",     "arg1 == 1",        "ret == 1",         "%rdi == 1",
		"%rsi == 1",     "arg0 != 1",        "arg0 == 2",        "arg0 == -1",
		"[arg0] == 1",   "[arg0+1] == 1",    "arg0:u32 == 1",    "arg0:s32 == 1",
		"arg0 & 1 == 1", "arg0 == 1 || ret", "arg0 == 1 && ret",
	};

	for (size_t i = 0; i < COUNT(texts); i++)
		for (size_t j = 0; j < COUNT(texts); j++) {
			struct predicate one, two;
			struct predicate_error error;

			if (predicate_parse(&one, texts[i], &error) ||
			    predicate_parse(&two, texts[j], &error))
				ok(false, "'%s' and '%s' are conditions", texts[i], texts[j]);
			else if (predicate_is(&one, &two) != (i == j))
				ok(false, "'%s' and '%s' are told apart", texts[i], texts[j]);
		}
	ok(true, "texts that differ in one thing are told apart");
}

/* Within a trigger. */
static void test_triggers(void)
{
	static const struct {
		const char *text, *object, *name;
		size_t at; /* of the condition; 0: there is none */
	} valid[] = {
		{ "up:f if arg0 == 3", NULL, "f", 7 },
		{ "up:f  if  arg0 == 3", NULL, "f", 8 },
		{ "up:lib.so:ns::f(a::b, int) if arg0:u32", "lib.so", "ns::f(a::b, int)", 29 },
		{ "up:/a if b/c:f if ret", "/a if b/c", "f", 17 },
		{ "up:f ifx", NULL, "f ifx", 0 },
		{ "up:if", NULL, "if", 0 },
	};
	static const struct {
		const char *text;
		size_t at;
	} invalid[] = {
		{ "up:f if", 7 },
		{ "up:f if ", 8 },
		{ "up:f if arg0 == x", 16 },
		{ "up: if arg0", 0 },
	};

	for (size_t i = 0; i < COUNT(valid); i++) {
		struct trigger trigger;
		const char *why;

		is_i64(trigger_parse(&trigger, valid[i].text, &why), 0, "'%s'", valid[i].text);
		is_str(trigger.name, valid[i].name, "'%s': name", valid[i].text);
		if (valid[i].object)
			is_str(trigger.object, valid[i].object, "'%s': object", valid[i].text);
		is_u64(trigger.condition_at, valid[i].at, "'%s': where it is", valid[i].text);
		ok(!trigger.condition == !valid[i].at, "'%s': a condition or none", valid[i].text);
		is_str(trigger.text, valid[i].text, "'%s': all of it", valid[i].text);
		trigger_clear(&trigger);
	}
	for (size_t i = 0; i < COUNT(invalid); i++) {
		struct trigger trigger;
		const char *why = "";

		is_i64(trigger_parse(&trigger, invalid[i].text, &why), -EINVAL, "'%s' is refused",
		       invalid[i].text);
		is_u64(trigger.condition_at, invalid[i].at, "'%s': where: %s", invalid[i].text,
		       why);
	}
	for (size_t i = 0; i < predicate_grammar_len; i++)
		ok(strlen(predicate_grammar[i]) < 100, "line %zu of the grammar fits", i);
}

int main(void)
{
	test_valid();
	test_invalid();
	test_different();
	test_triggers();
	return done_testing();
}
