/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "probes/trigger.h"
#include "tap.h"

#define ROUNDS 300000U
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static void is_part(const char *text, const char *what, const char *got, const char *want)
{
	if (got || want)
		is_str(got, want, "'%s': %s", text, what);
}

static const struct {
	const char *text;
	enum trigger_kind kind;
	const char *object, *group, *name;
	uint64_t offset, address;
	bool glob;
} valid[] = {
	/* As in the manual of kernel_delay.py. */
	{ "up:bridge_run", TRIGGER_UPROBE, .name = "bridge_run" },
	{ "ur:bridge_run", TRIGGER_URETPROBE, .name = "bridge_run" },
	{ "upr:bridge_run", TRIGGER_URETPROBE, .name = "bridge_run" },
	{ "u:udpif_revalidator:start_dump", TRIGGER_USDT, .group = "udpif_revalidator",
	  .name = "start_dump" },
	{ "u:udpif_revalidator:sweep_done", TRIGGER_USDT, .group = "udpif_revalidator",
	  .name = "sweep_done" },
	{ "t:openvswitch:ovs_dp_upcall", TRIGGER_TRACEPOINT, .group = "openvswitch",
	  .name = "ovs_dp_upcall" },
	{ "k:ovs_dp_process_packet", TRIGGER_KPROBE, .name = "ovs_dp_process_packet" },
	{ "kr:ovs_dp_process_packet", TRIGGER_KRETPROBE, .name = "ovs_dp_process_packet" },
	/* Long forms. */
	{ "usdt:a:b", TRIGGER_USDT, .group = "a", .name = "b" },
	{ "trace:a:b", TRIGGER_TRACEPOINT, .group = "a", .name = "b" },
	{ "kprobe:a", TRIGGER_KPROBE, .name = "a" },
	{ "kretprobe:a", TRIGGER_KRETPROBE, .name = "a" },
	{ "uprobe:a", TRIGGER_UPROBE, .name = "a" },
	{ "uretprobe:a", TRIGGER_URETPROBE, .name = "a" },
	/* Objects may be any text. */
	{ "up:libvnet.so:f", TRIGGER_UPROBE, .object = "libvnet.so", .name = "f" },
	{ "up:/opt/a:b/c d:f", TRIGGER_UPROBE, .object = "/opt/a:b/c d", .name = "f" },
	{ "up:a+0x10:f", TRIGGER_UPROBE, .object = "a+0x10", .name = "f" },
	{ "up:lib[1]*.so:f", TRIGGER_UPROBE, .object = "lib[1]*.so", .name = "f" },
	{ "u:lib.so.6:libc:longjmp", TRIGGER_USDT, .object = "lib.so.6", .group = "libc",
	  .name = "longjmp" },
	{ "u:/a:b:/c:p:n", TRIGGER_USDT, .object = "/a:b:/c", .group = "p", .name = "n" },
	{ "u::x:p:n", TRIGGER_USDT, .object = ":x", .group = "p", .name = "n" },
	{ "ur:o:0x40", TRIGGER_URETPROBE, .object = "o", .address = 0x40 },
	{ "up:0xfFfFfFfFfFfFfFfF", TRIGGER_UPROBE, .address = UINT64_MAX },
	{ "up:0x0000000000000000000000000000000001", TRIGGER_UPROBE, .address = 1 },
	{ "up:\xff\x80:\x01", TRIGGER_UPROBE, .object = "\xff\x80", .name = "\x01" },
	/* Offsets. */
	{ "k:f+0x10", TRIGGER_KPROBE, .name = "f", .offset = 16 },
	{ "k:f+10", TRIGGER_KPROBE, .name = "f", .offset = 10 },
	{ "k:f+0", TRIGGER_KPROBE, .name = "f" },
	{ "k:f+010", TRIGGER_KPROBE, .name = "f", .offset = 10 },
	{ "up:o:f+18446744073709551615", TRIGGER_UPROBE, .object = "o", .name = "f",
	  .offset = UINT64_MAX },
	{ "up:ns::Foo<int>::bar", TRIGGER_UPROBE, .name = "ns::Foo<int>::bar" },
	{ "up:lib.so:ns::f(a::b, int)", TRIGGER_UPROBE, .object = "lib.so",
	  .name = "ns::f(a::b, int)" },
	{ "up:/a:b/lib.so:ns::f+0x4", TRIGGER_UPROBE, .object = "/a:b/lib.so", .name = "ns::f",
	  .offset = 4 },
	{ "ur:lib.so:::f", TRIGGER_URETPROBE, .object = "lib.so", .name = "::f" },
	{ "up:o:ns::operator+", TRIGGER_UPROBE, .object = "o", .name = "ns::operator+" },
	{ "up:ns::operator++(int)", TRIGGER_UPROBE, .name = "ns::operator++(int)" },
	{ "up:ns::operator+=", TRIGGER_UPROBE, .name = "ns::operator+=" },
	{ "up:a+b+1", TRIGGER_UPROBE, .name = "a+b", .offset = 1 },
	/* Names as linkers know them. */
	{ "up:_ZNSt6vectorIiE9push_backEOi", TRIGGER_UPROBE,
	  .name = "_ZNSt6vectorIiE9push_backEOi" },
	{ "up:memcpy@@GLIBC_2.14", TRIGGER_UPROBE, .name = "memcpy@@GLIBC_2.14" },
	{ "k:tcp_ack.isra.0", TRIGGER_KPROBE, .name = "tcp_ack.isra.0" },
	/* Wildcards. */
	{ "up:libvnet.so:ip4_*", TRIGGER_UPROBE, .object = "libvnet.so", .name = "ip4_*",
	  .glob = true },
	{ "u:*:gc__?", TRIGGER_USDT, .group = "*", .name = "gc__?", .glob = true },
	{ "u:p[ab]:n", TRIGGER_USDT, .group = "p[ab]", .name = "n", .glob = true },
	{ "t:syscalls:sys_*_poll", TRIGGER_TRACEPOINT, .group = "syscalls", .name = "sys_*_poll",
	  .glob = true },
	{ "kr:ip_[a-f]*", TRIGGER_KRETPROBE, .name = "ip_[a-f]*", .glob = true },
	{ "up:f[", TRIGGER_UPROBE, .name = "f[" },
};

static void test_valid(void)
{
	for (size_t i = 0; i < COUNT(valid); i++) {
		const char *text = valid[i].text, *why;
		struct trigger trigger;
		int result = trigger_parse(&trigger, text, &why);

		is_i64(result, 0, "'%s'", text);
		if (result)
			continue;
		is_str(trigger_kind_name(trigger.kind), trigger_kind_name(valid[i].kind),
		       "'%s': kind", text);
		is_str(trigger.text, text, "'%s': its text", text);
		is_part(text, "object", trigger.object, valid[i].object);
		is_part(text, "group", trigger.group, valid[i].group);
		is_part(text, "name", trigger.name, valid[i].name);
		ok(trigger.offset == valid[i].offset && trigger.address == valid[i].address,
		   "'%s': offset and address", text);
		ok(trigger_is_glob(&trigger) == valid[i].glob, "'%s': pattern or not", text);
		trigger_clear(&trigger);
		trigger_clear(&trigger);
		ok(!trigger.text && !trigger.name, "'%s' is cleared", text);
	}
}

static void test_invalid(void)
{
	static const struct {
		const char *text, *why; /* a word of the reason */
	} cases[] = {
		{ "", "not begin with a kind" },
		{ ":", "not begin with a kind" },
		{ "up", "not begin with a kind" },
		{ "up:", "nothing follows" },
		{ "bridge_run", "not begin with a kind" },
		{ "UP:f", "not begin with a kind" },
		{ " up:f", "not begin with a kind" },
		{ "upx:f", "not begin with a kind" },
		{ "uprobes:f", "not begin with a kind" },
		{ "x:f", "not begin with a kind" },
		{ "u:probe", "needs a provider" },
		{ "u::probe", "provider is empty" },
		{ "u:provider:", "probe is empty" },
		{ "u:o:provider:", "probe is empty" },
		{ "u::p:n", "object" },
		{ "u:::", "object" },
		{ "t:sched", "system and an event" },
		{ "t:sched:", "event is empty" },
		{ "t::switch", "system is empty" },
		{ "t:sched:sched:switch", "system and an event" },
		{ "t:../../x:id", "no /" },
		{ "t:*:x", "event only" },
		{ "t:a:b/", "no /" },
		{ "k:openvswitch:f", "no :" },
		{ "k:0xffffffff81000000", "by its name" },
		{ "k:+1", "function is empty" },
		{ "k:f+", "must be a number" },
		{ "k:f+0x", "must be a number" },
		{ "k:f+x", "must be a number" },
		{ "k:f+1 ", "must be a number" },
		{ "k:f+ 1", "must be a number" },
		{ "k:f++1", NULL },
		{ "k:f+-1", "must be a number" },
		{ "k:f+1a", "must be a number" },
		{ "k:f+0x1g", "must be a number" },
		{ "k:f+18446744073709551616", "too large" },
		{ "k:f+99999999999999999999999999999999999999", "too large" },
		{ "k:f+0x10000000000000000", "too large" },
		{ "k:f*+1", "cannot be combined" },
		{ "k:f*+0", "cannot be combined" },
		{ "kr:f+1", "return" },
		{ "ur:f+1", "return" },
		{ "up::f", "object" },
		{ "up:o:", "function is empty" },
		{ "up:o:+8", "function is empty" },
		{ "up:0x", "hexadecimal" },
		{ "up:0xg", "hexadecimal" },
		{ "up:0x1*", "hexadecimal" },
		{ "up:0x10+1", "no offset" },
		{ "up:0x0", "is 0" },
		{ "ur:o:0x10000000000000000", "too large" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct trigger trigger;
		const char *why = NULL;
		int result = trigger_parse(&trigger, cases[i].text, &why);

		if (!cases[i].why) {
			is_i64(result, 0, "'%s' is a name with a +", cases[i].text);
			trigger_clear(&trigger);
			continue;
		}
		is_i64(result, -EINVAL, "'%s' is refused", cases[i].text);
		ok(why && strstr(why, cases[i].why), "'%s': %s", cases[i].text, why);
	}
}

static void test_length(void)
{
	static char text[1 << 20];
	struct trigger trigger;
	const char *why;

	memset(text, 'a', sizeof(text) - 1);
	memcpy(text, "up:", 3);
	is_i64(trigger_parse(&trigger, text, &why), -EINVAL, "a megabyte is refused");
	is_str(why, "it is too long", "for its length");
	text[TRIGGER_MAX + 1] = '\0';
	is_i64(trigger_parse(&trigger, text, &why), -EINVAL, "so are 4097 bytes");
	text[TRIGGER_MAX] = '\0';
	is_i64(trigger_parse(&trigger, text, &why), 0, "4096 bytes are not");
	trigger_clear(&trigger);
}

static void test_kinds(void)
{
	static const struct {
		const char *text, *name;
		bool user, is_return, of_target;
	} cases[] = {
		{ "u:a:b", "usdt", true, false, true },
		{ "t:a:b", "trace", false, false, false },
		{ "t:syscalls:sys_enter_poll", "trace", false, false, true },
		{ "k:syscalls", "kprobe", false, false, false },
		{ "kr:a", "kretprobe", false, true, false },
		{ "up:a", "uprobe", true, false, true },
		{ "ur:a", "uretprobe", true, true, true },
		{ "upr:0x1", "uretprobe", true, true, true },
	};
	enum trigger_kind kind;

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct trigger trigger;
		const char *why;

		is_i64(trigger_parse(&trigger, cases[i].text, &why), 0, "'%s'", cases[i].text);
		is_str(trigger_kind_name(trigger.kind), cases[i].name, "its kind");
		ok(trigger_is_user(&trigger) == cases[i].user &&
			   trigger_is_return(&trigger) == cases[i].is_return,
		   "and where it fires");
		ok(trigger_is_of_target(&trigger) == cases[i].of_target, "and for whom");
		trigger_clear(&trigger);
	}
	is_u64(trigger_kind_read(&kind, "uretprobe:x"), 9, "a kind alone");
	ok(kind == TRIGGER_URETPROBE, "is read");
	is_u64(trigger_kind_read(&kind, "uretprobe"), 0, "without a colon it is none");
	ok(trigger_grammar_len >= 8, "the grammar has a line for each form");
	for (size_t i = 0; i < trigger_grammar_len; i++)
		ok(strlen(trigger_grammar[i]) < 100, "line %zu fits", i);
}

static uint32_t draw(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(*seed >> 33);
}

/* Writes what the parts of a trigger say as the shortest text that says it. */
static void compose(char *text, size_t size, const struct trigger *trigger)
{
	static const char *const words[] = {
		[TRIGGER_USDT] = "u",       [TRIGGER_TRACEPOINT] = "t", [TRIGGER_KPROBE] = "k",
		[TRIGGER_KRETPROBE] = "kr", [TRIGGER_UPROBE] = "up",    [TRIGGER_URETPROBE] = "ur",
	};
	int length = snprintf(text, size, "%s:%s%s%s%s%s", words[trigger->kind],
			      trigger->object ? trigger->object : "", trigger->object ? ":" : "",
			      trigger->group ? trigger->group : "", trigger->group ? ":" : "",
			      trigger->name ? trigger->name : "");

	if (!trigger->name)
		snprintf(text + length, size - (size_t)length, "0x%" PRIx64, trigger->address);
	else if (trigger->offset || strchr(trigger->name, '+'))
		snprintf(text + length, size - (size_t)length, "+%" PRIu64, trigger->offset);
}

static bool same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool is_within(const char *part, const char *text)
{
	return !part || (*part && strstr(text, part));
}

/* Whether a colon is in the name, but two together in that of a function of the target. */
static bool has_colon(const struct trigger *trigger)
{
	bool is_function = trigger->kind == TRIGGER_UPROBE || trigger->kind == TRIGGER_URETPROBE;

	for (const char *at = trigger->name; (at = strchr(at, ':')); at += 2)
		if (!is_function || at[1] != ':')
			return true;
	return false;
}

/* Whether the parts of a trigger hold together and say what its text says. Returns
 * what does not, or NULL. */
static const char *fault_of(const struct trigger *trigger, const char *text)
{
	char again[2 * TRIGGER_MAX];
	struct trigger second;
	const char *why, *fault = NULL;

	if (!same(trigger->text, text))
		return "text";
	if (!is_within(trigger->object, text) || !is_within(trigger->group, text) ||
	    !is_within(trigger->name, text))
		return "a part is empty or not from the text";
	if (!trigger->name != !!trigger->address)
		return "neither or both of name and address";
	if ((trigger->kind == TRIGGER_USDT || trigger->kind == TRIGGER_TRACEPOINT) !=
	    !!trigger->group)
		return "group";
	if ((trigger->object || trigger->address) && !trigger_is_user(trigger))
		return "object or address in the kernel";
	if (trigger->offset && (trigger_is_return(trigger) || trigger_is_glob(trigger) ||
				trigger->group || trigger->address))
		return "offset";
	if (trigger->name && trigger->kind != TRIGGER_TRACEPOINT && has_colon(trigger))
		return "name with a colon";
	compose(again, sizeof(again), trigger);
	/* A + in a probe's or event's name is no offset. */
	if (trigger->group && strchr(trigger->name, '+'))
		return NULL;
	if (trigger_parse(&second, again, &why))
		return "what it says is refused";
	if (second.kind != trigger->kind || !same(second.object, trigger->object) ||
	    !same(second.group, trigger->group) || !same(second.name, trigger->name) ||
	    second.offset != trigger->offset || second.address != trigger->address)
		fault = "what it says is understood differently";
	trigger_clear(&second);
	return fault;
}

/* Joins pieces of triggers, and then may damage a few bytes. */
static void random_trigger(char *text, size_t size, uint64_t *seed)
{
	static const char *const pieces[] = {
		"u",    "usdt",    "t",    "trace", "k",     "kprobe", "kr",   "kretprobe",
		"up",   "uprobe",  "ur",   "upr",   "u:",    "up:",    ":",    ":",
		":",    "::",      "+",    "+0x",   "+1",    "0x",     "0x0",  "0x7f",
		"ffff", "1844674", "*",    "?",     "[a-z]", "[",      "]",    "@@V_1",
		"/",    "..",      "main", "a b",   "\x01",  "\xff",   "%s%n", "sched",
	};
	size_t length = 0, n = 1 + draw(seed) % 9;

	text[0] = '\0';
	if (draw(seed) % 4)
		length = (size_t)snprintf(text, size, "%s:", pieces[draw(seed) % 12]);
	for (size_t i = 0; i < n; i++)
		length += (size_t)snprintf(text + length, size - length, "%s",
					   pieces[draw(seed) % COUNT(pieces)]);
	if (draw(seed) % 1000 == 0) {
		memset(text + length, "a:*+0"[draw(seed) % 5], size - 1 - length);
		length = length + draw(seed) % (size - length);
		text[length] = '\0';
	}
	for (size_t i = draw(seed) % 6; length && i > 3; i--)
		text[draw(seed) % length] = (char)(1 + draw(seed) % 255);
}

static void test_random(void)
{
	static char text[TRIGGER_MAX + 100];
	unsigned int wrong = 0, accepted = 0, of_kind[TRIGGER_URETPROBE + 1] = { 0 };
	unsigned int without_reason = 0;
	clock_t start = clock();
	uint64_t seed = 42;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct trigger trigger;
		const char *why = NULL, *fault;
		/* Its end is the end of the memory, for the sanitizer. */
		char *copy;
		int result;

		random_trigger(text, sizeof(text), &seed);
		copy = strdup(text);
		if (!copy)
			break;
		result = trigger_parse(&trigger, copy, &why);
		if (result) {
			without_reason += result != -EINVAL || !why || trigger.text;
			free(copy);
			continue;
		}
		accepted++;
		of_kind[trigger.kind]++;
		fault = fault_of(&trigger, copy);
		if (fault && !wrong++) {
			tap_print_string("trigger", text);
			tap_print_string("fault", fault);
		}
		trigger_clear(&trigger);
		free(copy);
	}
	is_u64(wrong, 0, "%u random texts: what is accepted says what it says", ROUNDS);
	is_u64(without_reason, 0, "what is refused has a reason, and owns nothing");
	printf("# %u are valid, %.2f s\n", accepted, (double)(clock() - start) / CLOCKS_PER_SEC);
	ok(accepted > ROUNDS / 20 && accepted < ROUNDS - ROUNDS / 20, "some are valid");
	for (size_t i = 0; i < COUNT(of_kind); i++)
		ok(of_kind[i] > 1000, "of each kind: %u", of_kind[i]);
	ok(clock() - start < 5 * CLOCKS_PER_SEC, "in bounded time");
}

int main(void)
{
	test_valid();
	test_invalid();
	test_length();
	test_kinds();
	test_random();
	return done_testing();
}
