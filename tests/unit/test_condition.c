/* SPDX-License-Identifier: Apache-2.0 */
/* What conditions of triggers test at a site: compared with what C makes of the same values. And
 * where they are refused. */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/user.h>

#include "condition_holds.h"
#include "probes/usdt_argument.h"
#include "tap.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const struct condition_place entry = {
	.machine = MACHINE_X86_64,
	.kind = TRIGGER_UPROBE,
	.at_entry = true,
};

static void register_set(size_t offset, uint64_t value)
{
	memcpy(context + offset, &value, sizeof(value));
}

#define RDI 112 /* test_registers() has the truth */

/* Those at the edges of all types. */
static const uint64_t values[] = {
	0,
	1,
	2,
	5,
	126,
	127,
	128,
	129,
	254,
	255,
	256,
	32767,
	32768,
	65535,
	65536,
	0x7ffffffe,
	0x7fffffff,
	0x80000000,
	0x80000001,
	0xfffffffe,
	0xffffffff,
	0x100000000,
	0x7ffffffffffffffe,
	0x7fffffffffffffff,
	0x8000000000000000,
	0x8000000000000001,
	0xfffffffffffffffb,
	0xfffffffffffffffe,
	0xffffffffffffffff,
	0x123456789abcdef0,
};

/* What of a register is a number of that type. */
static __int128 as_type(uint64_t value, unsigned int size, bool is_signed)
{
	switch (size) {
	case 1:
		return is_signed ? (__int128)(int8_t)value : (uint8_t)value;
	case 2:
		return is_signed ? (__int128)(int16_t)value : (uint16_t)value;
	case 4:
		return is_signed ? (__int128)(int32_t)value : (uint32_t)value;
	default:
		return is_signed ? (__int128)(int64_t)value : (__int128)value;
	}
}

static bool compared(__int128 value, unsigned int how, __int128 number)
{
	switch (how) {
	case 0:
		return value == number;
	case 1:
		return value != number;
	case 2:
		return value < number;
	case 3:
		return value <= number;
	case 4:
		return value > number;
	default:
		return value >= number;
	}
}

/* Whether one of such a type may be both. */
static bool is_open(unsigned int size, bool is_signed, unsigned int how, __int128 number)
{
	__int128 span = (__int128)1 << (8 * size), min = is_signed ? -span / 2 : 0;

	return !(how == 2 && number == min) && !(how == 3 && number == min + span - 1) &&
	       !(how == 4 && number == min + span - 1) && !(how == 5 && number == min);
}

static void type_compare(unsigned int size, bool is_signed)
{
	static const char *const symbols[] = { "==", "!=", "<", "<=", ">", ">=" };
	unsigned int wrong = 0, right = 0, refused = 0;
	struct predicate_error error;
	char text[128];

	for (size_t i = 0; i < COUNT(values); i++)
		for (size_t j = 0; j < COUNT(values); j++)
			for (unsigned int how = 0; how < COUNT(symbols); how++) {
				__int128 value = as_type(values[i], size, is_signed);
				__int128 number = as_type(values[j], size, is_signed);
				int result, want = compared(value, how, number);

				snprintf(text, sizeof(text), "arg0:%c%u %s %s%lu",
					 is_signed ? 's' : 'u', 8 * size, symbols[how],
					 number < 0 ? "-" : "",
					 (uint64_t)(number < 0 ? -number : number));
				register_set(RDI, values[i]);
				if (!is_open(size, is_signed, how, number))
					want = -1;
				result = holds(text, &entry, &error);
				right += result == want && want >= 0;
				refused += result == want && want < 0;
				if (result != want && !wrong++)
					ok(false, "0x%lx: '%s' is %d", values[i], text, want);
			}
	ok(!wrong && right > 1000 && refused, "%c%u: as C compares (%u), without what is always so",
	   is_signed ? 's' : 'u', 8 * size, right);
}

/* Registers are where ptrace(2) shows them. */
static void test_registers(void)
{
#if defined(__x86_64__)
#define AT(name)                                                                                   \
	{                                                                                          \
#name, offsetof(struct user_regs_struct, name), 8                                  \
	}
	static const struct {
		const char *name;
		size_t offset;
		uint8_t size;
	} want[] = {
		AT(r15),
		AT(r14),
		AT(r13),
		AT(r12),
		AT(rbp),
		AT(rbx),
		AT(r11),
		AT(r10),
		AT(r9),
		AT(r8),
		AT(rax),
		AT(rcx),
		AT(rdx),
		AT(rsi),
		AT(rdi),
		AT(rip),
		AT(rsp),
		{ "eax", offsetof(struct user_regs_struct, rax), 4 },
		{ "r9d", offsetof(struct user_regs_struct, r9), 4 },
		{ "r10w", offsetof(struct user_regs_struct, r10), 2 },
		{ "sil", offsetof(struct user_regs_struct, rsi), 1 },
		{ "bh", offsetof(struct user_regs_struct, rbx) + 1, 1 },
	};

	for (size_t i = 0; i < COUNT(want); i++) {
		struct register_part part = { 0 };

		ok(register_find(&part, MACHINE_X86_64, want[i].name, strlen(want[i].name)) &&
			   part.offset == want[i].offset && part.size == want[i].size,
		   "%%%s is at %zu", want[i].name, want[i].offset);
	}
#endif
	static const char *const none[] = { "", "r16", "rx", "axx", "r8x", "eip2", "orig_rax" };
	static const char *const arm_none[] = {
		"", "x", "x31", "x00", "x012", "w31", "rax", "x1a"
	};
	static const struct {
		const char *name;
		uint16_t offset;
		uint8_t size;
	} arm[] = { { "x0", 0, 8 },    { "w0", 0, 4 },   { "x9", 72, 8 },
		    { "x30", 240, 8 }, { "lr", 240, 8 }, { "fp", 232, 8 },
		    { "sp", 248, 8 },  { "pc", 256, 8 }, { "w17", 136, 4 } };
	struct register_part part;

	for (size_t i = 0; i < COUNT(none); i++)
		ok(!register_find(&part, MACHINE_X86_64, none[i], strlen(none[i])),
		   "x86-64 has no '%s'", none[i]);
	for (size_t i = 0; i < COUNT(arm_none); i++)
		ok(!register_find(&part, MACHINE_ARM64, arm_none[i], strlen(arm_none[i])),
		   "arm64 has no '%s'", arm_none[i]);
	for (size_t i = 0; i < COUNT(arm); i++)
		ok(register_find(&part, MACHINE_ARM64, arm[i].name, strlen(arm[i].name)) &&
			   part.offset == arm[i].offset && part.size == arm[i].size,
		   "arm64: %s", arm[i].name);
}

struct thing {
	uint64_t first;
	struct thing *next;
	int32_t number;
	uint16_t half;
	int8_t byte;
};

/* Values through memory, masks, alternatives, types that nobody gives. */
static void test_values(void)
{
	struct thing last = { .first = 7, .number = -5, .half = 65535, .byte = -1 };
	struct thing first = { .first = 1, .next = &last, .number = 42 };
	struct condition_place at_return = entry;
	uint64_t stack[4] = { 0xdead, 66, (uint64_t)-77, (uint64_t)&last };
	static const struct {
		const char *text;
		int want;
	} cases[] = {
		{ "[arg0] == 1", 1 },
		{ "[arg0+16]:s32 == 42", 1 },
		{ "[[arg0+8]] == 7", 1 },
		{ "[[arg0+8]+16]:s32 < 0", 1 },
		{ "[[arg0+8]+16]:u32 == 0xfffffffb", 1 },
		{ "[[arg0+8]+16]:s32 == -5 && [[arg0+8]+20]:u16 == 65535", 1 },
		{ "[[arg0+8]+22]:s8 == -1", 1 },
		{ "[[arg0+8]+22]:u8 == 255", 1 },
		{ "[[arg0+8]+22]:u8 & 0xf0 == 0xf0", 1 },
		{ "[[arg0+8]+22]:u8 & 0xf0 == 0xe0", 0 },
		{ "arg1 == 0xffffffff80000000", 1 },
		{ "arg1 == -2147483648", 1 },
		{ "arg1 < 0", 1 },
		{ "arg1 > 0xfffffffffffffff0", 0 },
		{ "arg1 > 0x8000000000000000", 1 },
		{ "arg1:u32 == 0x80000000", 1 },
		{ "arg1 & 0x80000000", 1 },
		{ "arg1 & 0x7fffffff", 0 },
		{ "%esi == 0x80000000", 1 },
		{ "%esi < 0", 1 },
		{ "%esi:u64 == 0x80000000", 1 },
		{ "%sil", 0 },
		{ "arg2", 0 },
		{ "arg2 == 0 && arg1 == 0 || arg1 < 0", 1 },
		{ "arg2 == 0 || [arg2] == 0", 1 },
		{ "arg2 && [arg2] == 0", 0 },
		{ "arg1 == 0 || arg2 == 1 || arg2 == 2", 0 },
		{ "arg6 == 66", 1 },
		{ "arg7 == -77", 1 },
		{ "arg7:s8 == -77", 1 },
		{ "[arg8] == 7", 1 },
		{ "[arg8+16]:s32 == -5", 1 },
		{ "[%rsp+8] == 66", 1 },
	};
	struct predicate_error error;

	memset(context, 0x55, sizeof(context));
	register_set(RDI, (uint64_t)&first);
	register_set(104, 0xffffffff80000000);
	register_set(96, 0);
	register_set(152, (uint64_t)stack);
	for (size_t i = 0; i < COUNT(cases); i++)
		is_i64(holds(cases[i].text, &entry, &error), cases[i].want, "'%s'", cases[i].text);
	at_return.kind = TRIGGER_URETPROBE;
	register_set(80, (uint64_t)-11);
	is_i64(holds("ret == -11", &at_return, &error), 1, "a result");
	is_i64(holds("ret:s32 < 0", &at_return, &error), 1, "that is an int");
	register_set(80, 0xfffffff5);
	is_i64(holds("ret < 0", &at_return, &error), 0, "of which all 64 bits are a large number");
	is_i64(holds("ret:s32 < 0", &at_return, &error), 1, "and 32 are negative");
}

/* Arguments of USDT probes, as gcc and clang write them (tests of libbpf's usdt.c, real files). */
static const struct {
	const char *arguments, *text;
	int want; /* -1: refused */
	enum machine machine;
} usdt_cases[] = {
	{ "-4@$5", "arg0 == 5", 1, MACHINE_X86_64 },
	{ "-4@$-5", "arg0 == -5", 1, MACHINE_X86_64 },
	{ "1@$-1", "arg0 == 255", 1, MACHINE_X86_64 },
	{ "-4@$0x10 8@%rax", "arg0 == 16 && arg1 == -1", -1, MACHINE_X86_64 },
	{ "8@%rax", "arg0 == 0xffffffffffffffff", 1, MACHINE_X86_64 },
	{ "-8@%rax", "arg0 == -1", 1, MACHINE_X86_64 },
	{ "-4@%eax", "arg0 == -1", 1, MACHINE_X86_64 },
	{ "4@%eax", "arg0 == 0xffffffff", 1, MACHINE_X86_64 },
	{ "4@%eax", "arg0:s32 == -1", 1, MACHINE_X86_64 },
	{ "4@%eax", "arg0:s64 == 0xffffffff", 1, MACHINE_X86_64 },
	{ "-4@%eax", "arg0:u64 == 0xffffffffffffffff", 1, MACHINE_X86_64 },
	{ "-1@%al", "arg0:u16 == 0xffff", 1, MACHINE_X86_64 },
	{ "-4@%eax", "arg0:u8 == 255", 1, MACHINE_X86_64 },
	{ "1@%dh", "arg0 == 0x12", 1, MACHINE_X86_64 },
	{ "2@%dh", "arg0 == 0x12", -1, MACHINE_X86_64 },
	{ "-4@(%rbx)", "arg0 == -3", 1, MACHINE_X86_64 },
	{ "-4@(%rbx)", "arg0:s64 == -3", 1, MACHINE_X86_64 },
	{ "8@8(%rcx)", "arg0 == 20", 1, MACHINE_X86_64 },
	{ "8@-8(%rcx,%rsi,8)", "arg0 == 20", 1, MACHINE_X86_64 },
	{ "8@(%rcx,%rsi,8)", "arg0 == 30", 1, MACHINE_X86_64 },
	{ "8@8(%rcx,%rsi)", "arg0 == 10", -2, MACHINE_X86_64 },
	{ "8@(,%rsi,8)", "arg0 == 1", -2, MACHINE_X86_64 },
	{ "8@%rcx", "[arg0+16] == 30", 1, MACHINE_X86_64 },
	{ "8@%rcx 8@%rcx", "[arg1]:u8 == 10", 1, MACHINE_X86_64 },
	{ "4@%ecx", "[arg0+16] == 30", -1, MACHINE_X86_64 },
	{ "8f@%xmm0", "arg0 == 1", -1, MACHINE_X86_64 },
	{ "8@counter(%rip)", "arg0 == 1", -1, MACHINE_X86_64 },
	{ "8@.LC0+4(%rip)", "arg0 == 1", -1, MACHINE_X86_64 },
	{ "-4@40+CheckpointStats(%rip)", "arg0 == 1", -1, MACHINE_X86_64 },
	{ "4@0(%rbx)", "arg0 == 0xfffffffd", 1, MACHINE_X86_64 },
	{ "%eax", "arg0 == 1", -1, MACHINE_X86_64 },
	{ "8@%rax", "arg1 == 1", -1, MACHINE_X86_64 },
	{ "", "arg0 == 1", -1, MACHINE_X86_64 },
	{ "3@%rax", "arg0 == 1", -1, MACHINE_X86_64 },
	{ "16@%rax", "arg0 == 1", -1, MACHINE_X86_64 },
	{ "8@", "arg0 == 1", -1, MACHINE_X86_64 },
	{ "8@%rax,", "arg0 == 1", -1, MACHINE_X86_64 },
	{ "8@(%rax,%rbx,3)", "arg0 == 1", -1, MACHINE_X86_64 },
	{ "8@(%eax)", "arg0 == 1", -1, MACHINE_X86_64 },
	{ "8@(%rax", "arg0 == 1", -1, MACHINE_X86_64 },
	{ "8@()", "arg0 == 1", -1, MACHINE_X86_64 },
	{ "8@x0", "arg0 == 1", -1, MACHINE_X86_64 },
	{ "4@%eax", "arg0 < 0", -1, MACHINE_X86_64 },
	{ "4@%eax", "arg0 == -1", -1, MACHINE_X86_64 },
	{ "-4@5 8@7", "arg0 == 5 && arg1 == 7", 1, MACHINE_ARM64 },
	{ "-4@w10", "arg0 == -1", 1, MACHINE_ARM64 },
	{ "8@x10", "arg0 == -1", -1, MACHINE_ARM64 },
	{ "8@[x11]", "arg0 == 10", 1, MACHINE_ARM64 },
	{ "8@[x11, 8]  -4@w10", "arg0 == 20 && arg1 == -1", 1, MACHINE_ARM64 },
	{ "8@[x11, #16]", "arg0 == 30", 1, MACHINE_ARM64 },
	{ "8@[x11,x13]", "arg0 == 10", -2, MACHINE_ARM64 },
	{ "8@[x11, w13]", "arg0 == 10", -1, MACHINE_ARM64 },
	{ "8@[x11, x13, lsl 3]", "arg0 == 10", -1, MACHINE_ARM64 },
	{ "8@%rax", "arg0 == 1", -1, MACHINE_ARM64 },
	{ "8@[x11", "arg0 == 1", -1, MACHINE_ARM64 },
};

static void test_usdt(void)
{
	int32_t number = -3;
	uint64_t array[3] = { 10, 20, 30 };
	for (size_t i = 0; i < COUNT(usdt_cases); i++) {
		struct condition_place place = {
			.machine = usdt_cases[i].machine,
			.kind = TRIGGER_USDT,
			.arguments = usdt_cases[i].arguments,
		};
		struct predicate_error error;

		memset(context, 0, sizeof(context));
		register_set(80, UINT64_MAX);        /* rax, x10 */
		register_set(96, 0x1234);            /* rdx, x12 */
		register_set(40, (uint64_t)&number); /* rbx, x5 */
		register_set(88, (uint64_t)array);   /* rcx, x11 */
		register_set(104, 2);                /* rsi, x13 */
		if (usdt_cases[i].want == -2) {
			struct usdt_argument argument;
			const char *why;

			is_i64(usdt_argument_read(&argument, place.machine, place.arguments, 0,
						  &why),
			       0, "'%s' is an address that is not here", place.arguments);
			continue;
		}
		is_i64(holds(usdt_cases[i].text, &place, &error), usdt_cases[i].want, "'%s': '%s'",
		       usdt_cases[i].arguments, usdt_cases[i].text);
	}
}

/* Where they are possible, and where not. */
static const struct {
	struct condition_place place;
	const char *text;
	size_t at;
	const char *why; /* a part of it; NULL: it is possible */
} places[] = {
	{ { .kind = TRIGGER_UPROBE, .at_entry = true }, "ret == 1", 0, "when it returns" },
	{ { .kind = TRIGGER_KPROBE, .at_entry = true }, "arg0 && ret", 8, "when it returns" },
	{ { .kind = TRIGGER_UPROBE }, "arg0 == 1", 0, "where a function begins" },
	{ { .kind = TRIGGER_UPROBE }, "%rdi == 1", 0, NULL },
	{ { .kind = TRIGGER_URETPROBE }, "ret && arg0", 7, "arguments are gone" },
	{ { .kind = TRIGGER_KRETPROBE }, "ret", 0, NULL },
	{ { .kind = TRIGGER_USDT, .arguments = "8@%rax" }, "ret", 0, "when it returns" },
	{ { .kind = TRIGGER_USDT, .arguments = "8@%rax" }, "arg1", 0, "fewer" },
	{ { .kind = TRIGGER_USDT }, "arg0", 0, "fewer" },
	{ { .kind = TRIGGER_USDT }, "%rbx", 0, NULL },
	{ { .kind = TRIGGER_TRACEPOINT }, "prev_pid", 0, "no such field" },
	{ { .kind = TRIGGER_UPROBE, .at_entry = true }, "prev_pid", 0, "only tracepoints" },
	{ { .kind = TRIGGER_TRACEPOINT, .is_call = true }, "arg5", 0, NULL },
	{ { .kind = TRIGGER_TRACEPOINT, .is_call = true }, "arg6", 0, "arg0 to arg5" },
	{ { .kind = TRIGGER_TRACEPOINT, .is_call = true }, "ret", 0, "at its exit" },
	{ { .kind = TRIGGER_TRACEPOINT, .is_call = true }, "%rdi", 0, "no registers" },
	{ { .kind = TRIGGER_TRACEPOINT, .is_call = true, .call_exit = true }, "ret < 0", 0, NULL },
	{ { .kind = TRIGGER_TRACEPOINT, .is_call = true, .call_exit = true },
	  "arg0",
	  0,
	  "at its entry" },
	{ { .kind = TRIGGER_UPROBE, .at_entry = true }, "%x0", 0, "no such register" },
	{ { .kind = TRIGGER_UPROBE, .at_entry = true }, "[[%zz]]", 2, "no such register" },
	{ { .kind = TRIGGER_UPROBE, .at_entry = true }, "[%edi]", 0, "no address" },
	{ { .kind = TRIGGER_UPROBE, .at_entry = true }, "arg0:u8 == 256", 11, "does not fit" },
	{ { .kind = TRIGGER_UPROBE, .at_entry = true }, "arg0:s8 == 128", 11, "does not fit" },
	{ { .kind = TRIGGER_UPROBE, .at_entry = true }, "arg0:s8 == -129", 11, "does not fit" },
	{ { .kind = TRIGGER_UPROBE, .at_entry = true }, "arg0:u32 < -1", 11, "no sign" },
	{ { .kind = TRIGGER_UPROBE, .at_entry = true }, "arg0:u32 < 0", 11, "never true" },
	{ { .kind = TRIGGER_UPROBE, .at_entry = true }, "arg0:u32 >= 0", 12, "always true" },
	{ { .kind = TRIGGER_UPROBE, .at_entry = true }, "arg0:u8 <= 0xff", 11, "always true" },
	{ { .kind = TRIGGER_UPROBE, .at_entry = true }, "arg0 & 3 == 4", 12, "never true" },
	{ { .kind = TRIGGER_UPROBE, .at_entry = true }, "arg0 & 3 != 4", 12, "always true" },
	{ { .kind = TRIGGER_UPROBE, .at_entry = true }, "arg0:u8 & 0x100", 0, "fewer bits" },
	{ { .kind = TRIGGER_UPROBE, .at_entry = true }, "[arg8+9223372036854775807]", 0, NULL },
};

static void test_refused(void)
{
	for (size_t i = 0; i < COUNT(places); i++) {
		struct predicate_error error = { 0 };
		struct kd_condition condition;
		struct predicate predicate;
		int result;

		is_i64(predicate_parse(&predicate, places[i].text, &error), 0, "'%s' can be read",
		       places[i].text);
		result = condition_make(&condition, &predicate, &places[i].place, &error);
		if (!places[i].why) {
			is_i64(result, 0, "'%s' is possible there", places[i].text);
			continue;
		}
		is_i64(result, -EINVAL, "'%s' is refused", places[i].text);
		is_u64(error.at, places[i].at, "'%s': where", places[i].text);
		ok(error.why && strstr(error.why, places[i].why), "'%s': %s", places[i].text,
		   error.why);
	}
}

int main(void)
{
	test_registers();
	for (unsigned int size = 1; size <= 8; size *= 2) {
		type_compare(size, false);
		type_compare(size, true);
	}
	test_values();
	test_usdt();
	test_refused();
	return done_testing();
}
