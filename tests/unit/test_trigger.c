/* SPDX-License-Identifier: Apache-2.0 */
/* Triggers and their conditions: what their texts say, and which are refused; and of which system
 * call a tracepoint is. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "probes/kernel.h"
#include "probes/predicate.h"
#include "probes/trigger.h"
#include "cases.h"

/* Writes what was understood, in one way for all texts that say the same. */
static void describe(char *out, size_t size, const struct trigger *trigger)
{
	FILE *to = fmemopen(out, size, "w");

	fputs(trigger_kind_name(trigger->kind), to);
	if (trigger->object)
		fprintf(to, " in '%s'", trigger->object);
	if (trigger->group)
		fprintf(to, " %s:%s", trigger->group, trigger->name);
	else if (trigger->name)
		fprintf(to, " %s", trigger->name);
	if (trigger->offset)
		fprintf(to, " +%lu", trigger->offset);
	if (trigger->address)
		fprintf(to, " at 0x%lx", trigger->address);
	if (trigger_is_glob(trigger))
		fputs(", a pattern", to);
	if (trigger->condition)
		fprintf(to, ", if at %zu", trigger->condition_at);
	fclose(to);
}

static const char valid[] =
	/* As in the manual of kernel_delay.py. */
	"up:bridge_run = uprobe bridge_run|ur:bridge_run|upr:bridge_run = uretprobe bridge_run"
	"|u:udpif_revalidator:start_dump = usdt udpif_revalidator:start_dump"
	"|u:udpif_revalidator:sweep_done = usdt udpif_revalidator:sweep_done"
	"|t:openvswitch:ovs_dp_upcall = trace openvswitch:ovs_dp_upcall"
	"|k:ovs_dp_process_packet = kprobe ovs_dp_process_packet"
	"|kr:ovs_dp_process_packet = kretprobe ovs_dp_process_packet"
	/* Long forms. */
	"|usdt:a:b = usdt a:b|trace:a:b = trace a:b|kprobe:a = kprobe a|kretprobe:a = kretprobe a"
	"|uprobe:a = uprobe a|uretprobe:a = uretprobe a"
	/* Objects may be any text. */
	"|up:libvnet.so:f = uprobe in 'libvnet.so' f"
	"|up:/opt/a:b/c d:f = uprobe in '/opt/a:b/c d' f|up:a+0x10:f = uprobe in 'a+0x10' f"
	"|up:lib[1]*.so:f = uprobe in 'lib[1]*.so' f"
	"|u:lib.so.6:libc:longjmp = usdt in 'lib.so.6' libc:longjmp"
	"|u:/a:b:/c:p:n = usdt in '/a:b:/c' p:n|u::x:p:n = usdt in ':x' p:n"
	"|ur:o:0x40 = uretprobe in 'o' at 0x40"
	"|up:0xfFfFfFfFfFfFfFfF = uprobe at 0xffffffffffffffff"
	"|up:0x0000000000000000000000000000000001 = uprobe at 0x1"
	"|up:\xff\x80:\x01 = uprobe in '\xff\x80' \x01"
	/* Offsets. */
	"|k:f+0x10 = kprobe f +16|k:f+10 = kprobe f +10|k:f+0 = kprobe f|k:f+010 = kprobe f +10"
	"|up:o:f+18446744073709551615 = uprobe in 'o' f +18446744073709551615"
	"|up:ns::Foo<int>::bar = uprobe ns::Foo<int>::bar"
	"|up:lib.so:ns::f(a::b, int) = uprobe in 'lib.so' ns::f(a::b, int)"
	"|up:/a:b/lib.so:ns::f+0x4 = uprobe in '/a:b/lib.so' ns::f +4"
	"|ur:lib.so:::f = uretprobe in 'lib.so' ::f"
	"|up:o:ns::operator+ = uprobe in 'o' ns::operator+"
	"|up:ns::operator++(int) = uprobe ns::operator++(int)"
	"|up:ns::operator+= = uprobe ns::operator+=|up:ns::operator++4 = uprobe ns::operator+ +4"
	"|up:operator+2x = uprobe operator+2x|upr:operator+2x = uretprobe operator+2x"
	"|k:f++1 = kprobe f+ +1|up:a+b+1 = uprobe a+b +1"
	/* Names as linkers know them. */
	"|up:_ZNSt6vectorIiE9push_backEOi = uprobe _ZNSt6vectorIiE9push_backEOi"
	"|up:memcpy@@GLIBC_2.14 = uprobe memcpy@@GLIBC_2.14"
	"|k:tcp_ack.isra.0 = kprobe tcp_ack.isra.0"
	/* Wildcards. */
	"|up:libvnet.so:ip4_* = uprobe in 'libvnet.so' ip4_*, a pattern"
	"|u:*:gc__? = usdt *:gc__?, a pattern|u:p[ab]:n = usdt p[ab]:n, a pattern"
	"|t:syscalls:sys_*_poll = trace syscalls:sys_*_poll, a pattern"
	"|kr:ip_[a-f]* = kretprobe ip_[a-f]*, a pattern|up:f[ = uprobe f["
	/* Conditions. */
	"|up:f if arg0 == 3 = uprobe f, if at 7|up:f  if  arg0 == 3 = uprobe f, if at 8"
	"|up:lib.so:ns::f(a::b, int) if arg0:u32 = uprobe in 'lib.so' ns::f(a::b, int), if at 29"
	"|up:/a if b/c:f if ret = uprobe in '/a if b/c' f, if at 17|up:f ifx = uprobe f ifx"
	"|up:if = uprobe if";

static const char *understood(const char *text)
{
	static char says[512];
	const char *why = "";
	struct trigger trigger;
	int result = trigger_parse(&trigger, text, &why);

	snprintf(says, sizeof(says), "%s", why);
	if (!result)
		describe(says, sizeof(says), &trigger);
	is_str(trigger.text, text, "'%s': its text", text);
	trigger_clear(&trigger);
	trigger_clear(&trigger);
	ok(!trigger.text && !trigger.name, "'%s' is cleared", text);
	return says;
}

TEST(valid)
{
	cases_check(valid, understood, "what is understood");
}

static size_t refused_at;

/* NULL: it is not. */
static const char *why_refused(const char *text)
{
	struct trigger trigger;
	const char *why = "";
	int result = trigger_parse(&trigger, text, &why);

	refused_at = trigger.condition_at;
	if (result == -EINVAL && !trigger.text)
		return why;
	trigger_clear(&trigger);
	return NULL;
}

static void is_refused(const char *text, size_t at, const char *word)
{
	const char *why = why_refused(text);

	ok(case_has(why, word) && refused_at == at, "'%.40s' is refused: %s", text, why);
}

/* And a part of the reason. */
static const char invalid[] =
	"|:|up|bridge_run|UP:f| up:f|upx:f|uprobes:f|x:f = not begin with a kind"
	"|up: = nothing follows|u:probe = needs a provider|u::probe = provider is empty"
	"|u:provider:|u:o:provider: = probe is empty|u::p:n|u:::|up::f = object|t:sched"
	"|t:sched:sched:switch = system and an event|t:sched: = event is empty"
	"|t::switch = system is empty|t:../../x:id|t:a:b/ = no /|t:*:x = event only"
	"|k:openvswitch:f = no :|k:0xffffffff81000000 = by its name|k:+1|up:o:"
	"|up:o:+8 = function is empty|k:f+|k:f+0x|k:f+x|k:f+1 |k:f+ 1|k:f+-1|k:f+1a"
	"|k:f+0x1g = must be a number|k:f+18446744073709551616"
	"|k:f+99999999999999999999999999999999999999|k:f+0x10000000000000000"
	"|ur:o:0x10000000000000000 = too large|k:f*+1|k:f*+0 = cannot be combined|kr:f+1"
	"|ur:f+1 = return|up:0x|up:0xg|up:0x1* = hexadecimal|up:0x10+1 = no offset|up:0x0 = is 0";

TEST(invalid)
{
	static const struct {
		const char *text;
		size_t at; /* in which byte the condition is wrong */
	} conditions[] = { { "up:f if", 7 },
			   { "up:f if ", 8 },
			   { "up:f if arg0 == x", 16 },
			   { "up: if arg0", 0 } };
	static char text[1 << 20];
	struct trigger trigger;
	const char *why;

	cases_compare(invalid, case_has, why_refused, "refused");
	for (size_t i = 0; i < COUNT(conditions); i++)
		is_refused(conditions[i].text, conditions[i].at, "");
	memset(text, 'a', sizeof(text) - 1);
	memcpy(text, "up:", 3);
	is_refused(text, 0, "it is too long");
	text[TRIGGER_MAX + 1] = '\0';
	is_refused(text, 0, "it is too long");
	text[TRIGGER_MAX] = '\0';
	is_i64(trigger_parse(&trigger, text, &why), 0, "%d bytes are not too long", TRIGGER_MAX);
	trigger_clear(&trigger);
}

TEST(kinds)
{
	static const struct {
		const char *text;
		bool user, is_return, of_target;
	} cases[] = { { "u:a:b", true, false, true },
		      { "t:a:b", false, false, false },
		      { "k:syscalls", false, false, false },
		      { "t:syscalls:sys_enter_poll", false, false, true },
		      { "kr:a", false, true, false },
		      { "up:a", true, false, true },
		      { "ur:a", true, true, true },
		      { "upr:0x1", true, true, true } };
	enum trigger_kind kind;

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct trigger trigger;
		const char *why;

		ok(!trigger_parse(&trigger, cases[i].text, &why) &&
			   trigger_is_user(&trigger) == cases[i].user &&
			   trigger_is_return(&trigger) == cases[i].is_return &&
			   trigger_is_of_target(&trigger) == cases[i].of_target,
		   "'%s': where it fires, and for whom", cases[i].text);
		trigger_clear(&trigger);
	}
	ok(trigger_kind_read(&kind, "uretprobe:x") == 9 && kind == TRIGGER_URETPROBE,
	   "a kind alone is read");
	is_u64(trigger_kind_read(&kind, "uretprobe"), 0, "without a colon it is none");
	ok(trigger_grammar_len >= 8, "the grammar has a line for each form");
	for (size_t i = 0; i < trigger_grammar_len; i++)
		ok(strlen(trigger_grammar[i]) < 100, "line %zu fits", i);
}

TEST(calls)
{
	static const struct {
		const char *name, *group;
		int number;
		bool leaves;
	} cases[] = { { "sys_enter_futex", "syscalls", SYS_futex, false },
		      { "sys_exit_futex", "syscalls", SYS_futex, true },
		      { "sys_exit_newfstatat", "syscalls", SYS_newfstatat, true },
		      /* The kernel's functions have other names than the calls. */
		      { "sys_enter_newuname", "syscalls", SYS_uname, false },
		      { "sys_exit_newfstat", "syscalls", SYS_fstat, true },
		      { "sys_enter_umount", "syscalls", SYS_umount2, false },
		      { "sys_enter_sendfile64", "syscalls", SYS_sendfile, false },
		      { "sys_enter_no_such_call", "syscalls", -1, false },
		      { "sys_enter_", "syscalls", -1, false },
		      { "sys_futex", "syscalls", -1, false },
		      { "", "syscalls", -1, false },
		      { "sys_enter_futex", "raw_syscalls", -1, false },
		      { "sys_enter_futex", NULL, -1, false } };

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct site site = { .fd = -1,
					   .group = cases[i].group,
					   .name = cases[i].name };
		bool leaves = false;

		is_i64(site_call(&site, &leaves), cases[i].number, "call of '%s'", cases[i].name);
		ok(leaves == cases[i].leaves || cases[i].number < 0, "'%s': the exit or not",
		   cases[i].name);
	}
}

/* --- Conditions: the text alone --- */

/* Writes what was understood, in one way for all texts that say the same. */
static void condition_describe(char *out, size_t size, const struct predicate *predicate)
{
	static const char *const symbols[] = {
		[PREDICATE_EQ] = "==", [PREDICATE_NE] = "!=", [PREDICATE_LT] = "<",
		[PREDICATE_LE] = "<=", [PREDICATE_GT] = ">",  [PREDICATE_GE] = ">="
	};
	static const char *const before[] = {
		[PREDICATE_RET] = "ret", [PREDICATE_REG] = "%", [PREDICATE_FIELD] = ""
	};
	FILE *to = fmemopen(out, size, "w");

	for (size_t i = 0; i < predicate->n; i++) {
		const struct predicate_term *term = &predicate->terms[i];
		const struct predicate_value *value = &term->value;

		for (unsigned int j = 0; j < value->loads; j++)
			fputc('[', to);
		if (value->location == PREDICATE_ARG)
			fprintf(to, "arg%u", value->argument);
		else
			fprintf(to, "%s%s", before[value->location], value->name);
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

TEST(valid_conditions)
{
	_Static_assert(sizeof(LONG_NAME) == PREDICATE_NAME, "as long as possible");
	static const struct {
		const char *text, *says;
	} cases[] = { { "arg0 == 3", "arg0==3" },
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
			"arg0!=0 or arg0!=0" } };

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct predicate predicate, again;
		struct predicate_error error;
		char says[512] = "";

		is_i64(predicate_parse(&predicate, cases[i].text, &error), 0, "'%s'",
		       cases[i].text);
		condition_describe(says, sizeof(says), &predicate);
		is_str(says, cases[i].says, "'%s' is understood", cases[i].text);
		ok(!predicate_parse(&again, cases[i].text, &error) &&
			   predicate_is(&predicate, &again),
		   "'%s' is what it is", cases[i].text);
	}
	for (size_t i = 0; i < predicate_grammar_len; i++)
		ok(strlen(predicate_grammar[i]) < 100, "line %zu of the grammar fits", i);
}

TEST(invalid_conditions)
{
	static const struct {
		const char *text;
		size_t at;
		const char *why; /* a part of it */
	} cases[] = { { "", 0, "a value is missing" },
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
		      { "arg0||arg0||arg0||arg0||arg0||arg0||arg0||arg0||arg0", 48,
			"more than eight" },
		      { "arg0 == 1\n", 9, "must follow" },
		      { "\xff", 0, "a value is missing" } };

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct predicate_error error = { .at = 999, .why = "" };
		struct predicate predicate;

		is_i64(predicate_parse(&predicate, cases[i].text, &error), -EINVAL,
		       "'%s' is refused", cases[i].text);
		ok(error.at == cases[i].at && strstr(error.why, cases[i].why), "'%s', byte %zu: %s",
		   cases[i].text, error.at, error.why);
	}
}

/* Texts that differ in one thing are told apart. */
TEST(different_conditions)
{
	static const char *const texts[] = {
		"arg0 == 1",     "arg1 == 1",        "ret == 1",        "%rdi == 1",
		"%rsi == 1",     "arg0 != 1",        "arg0 == 2",       "arg0 == -1",
		"[arg0] == 1",   "[arg0+1] == 1",    "arg0:u32 == 1",   "arg0:s32 == 1",
		"arg0 & 1 == 1", "arg0 == 1 || ret", "arg0 == 1 && ret"
	};
	unsigned int wrong = 0;

	for (size_t i = 0; i < COUNT(texts); i++)
		for (size_t j = 0; j < COUNT(texts); j++) {
			struct predicate one, two;
			struct predicate_error error;

			if ((predicate_parse(&one, texts[i], &error) ||
			     predicate_parse(&two, texts[j], &error) ||
			     predicate_is(&one, &two) != (i == j)) &&
			    !wrong++)
				printf("# '%s' and '%s'\n", texts[i], texts[j]);
		}
	is_u64(wrong, 0, "texts that differ in one thing are told apart");
}
