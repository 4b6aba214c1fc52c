/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions of triggers: what their texts say; what they test at a site, compared with what C
 * makes of the same values; and where they are refused. */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>

#include "probes/condition.h"
#include "cases.h"

#define NOWHERE 4096 /* below, nothing is mapped (mmap_min_addr) */

/* Registers and what else a hit finds; memory is this process's own. */
static _Alignas(8) uint8_t context[512];

static uint64_t load(const void *at, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, at, size);
	return value;
}

static uint64_t context_load(uint16_t offset, size_t size)
{
	return offset == KD_NO_REGISTER ? 0 : load(context + offset, size);
}

/* As bpf/trigger.bpf.h. */
static bool term_holds(const struct kd_term *term)
{
	uint64_t value = context_load(term->base, term->loads ? 8 : term->size);
	unsigned int bits = 64 - 8 * term->size;

	value += context_load(term->index, 8) << term->shift;
	value += (uint64_t)term->offsets[0];
	for (unsigned int i = 0; i < term->loads; i++) {
		if (value < NOWHERE)
			return false;
		value = load((const void *)value, i + 1 == term->loads ? term->size : 8);
		value += (uint64_t)term->offsets[i + 1];
	}
	value <<= bits;
	value = term->is_signed ? (uint64_t)((int64_t)value >> bits) : value >> bits;
	return (value & term->mask) - term->first <= term->span;
}

static bool condition_holds(const struct kd_condition *condition)
{
	uint8_t holds = 0;

	for (unsigned int i = 0; i < condition->n; i++)
		holds |= (uint8_t)(term_holds(&condition->terms[i]) << i);
	for (unsigned int i = 0; i < KD_TERMS && condition->groups[i]; i++)
		if ((holds & condition->groups[i]) == condition->groups[i])
			return true;
	return false;
}

/* What condition_make() returns, or predicate_parse(). */
static int made(struct kd_condition *condition, const char *text,
		const struct condition_location *location, struct predicate_error *error)
{
	struct predicate predicate;
	int err;

	*error = (struct predicate_error){ 0 };
	err = predicate_parse(&predicate, text, error);
	return err ? err : condition_make(condition, &predicate, location, error);
}

/* 1, 0; or -1 if it is refused. */
static int holds(const char *text, const struct condition_location *location)
{
	struct kd_condition condition;
	struct predicate_error error;

	return made(&condition, text, location, &error) ? -1 : condition_holds(&condition);
}

static const char *numbered(int number)
{
	static char text[16];

	snprintf(text, sizeof(text), "%d", number);
	return text;
}

static void register_set(size_t offset, uint64_t value)
{
	memcpy(context + offset, &value, sizeof(value));
}

#define RDI 112 /* test_registers() has the truth */

/* All are of x86-64. */
static const struct condition_location entry = { .kind = TRIGGER_UPROBE, .at_entry = true };
static const struct condition_location kernel_entry = { .kind = TRIGGER_KPROBE, .at_entry = true };
static const struct condition_location inside = { .kind = TRIGGER_UPROBE };
static const struct condition_location at_return = { .kind = TRIGGER_URETPROBE };
static const struct condition_location kernel_return = { .kind = TRIGGER_KRETPROBE };
static const struct condition_location usdt = { .kind = TRIGGER_USDT, .arguments = "8@%rax" };
static const struct condition_location usdt_bare = { .kind = TRIGGER_USDT };
static const struct condition_location other_event = { .kind = TRIGGER_TRACEPOINT };
static const struct condition_location call = { .kind = TRIGGER_TRACEPOINT, .is_call = true };
static const struct condition_location call_exit = { .kind = TRIGGER_TRACEPOINT,
						     .is_call = true,
						     .call_exit = true };

/* Those at the edges of all types. */
static const char value_texts[] =
	"0 1 2 5 126 127 128 129 254 255 256 32767 32768 65535 65536 0x7ffffffe 0x7fffffff"
	" 0x80000000 0x80000001 0xfffffffe 0xffffffff 0x100000000 0x7ffffffffffffffe"
	" 0x7fffffffffffffff 0x8000000000000000 0x8000000000000001 0xfffffffffffffffb"
	" 0xfffffffffffffffe 0xffffffffffffffff 0x123456789abcdef0";
static uint64_t values[30];

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
				result = holds(text, &entry);
				right += result == want && want >= 0;
				refused += result == want && want < 0;
				if (result != want && !wrong++)
					ok(false, "0x%lx: '%s' is %d", values[i], text, want);
			}
	ok(!wrong && right > 1000 && refused, "%c%u: as C compares (%u), without what is always so",
	   is_signed ? 's' : 'u', 8 * size, right);
}

/* Registers are where ptrace(2) shows them. */
TEST(registers)
{
#define AT(name, size)                                                                             \
	{                                                                                          \
#name, offsetof(struct user_regs_struct, name), size                               \
	}
	static const struct {
		const char *name;
		size_t offset;
		unsigned int size; /* 0: there is none */
	} x86[] = {
#if defined(__x86_64__)
		AT(r15, 8), AT(r14, 8), AT(r13, 8), AT(r12, 8), AT(rbp, 8), AT(rbx, 8),
		AT(r11, 8), AT(r10, 8), AT(r9, 8), AT(r8, 8), AT(rax, 8), AT(rcx, 8),
		AT(rdx, 8), AT(rsi, 8), AT(rdi, 8), AT(rip, 8), AT(rsp, 8),
		{ "eax", offsetof(struct user_regs_struct, rax), 4 },
		{ "r9d", offsetof(struct user_regs_struct, r9), 4 },
		{ "r10w", offsetof(struct user_regs_struct, r10), 2 },
		{ "sil", offsetof(struct user_regs_struct, rsi), 1 },
		{ "bh", offsetof(struct user_regs_struct, rbx) + 1, 1 },
#endif
		{ "", 0, 0 }, { "r16", 0, 0 }, { "rx", 0, 0 }, { "axx", 0, 0 }, { "r8x", 0, 0 },
		{ "eip2", 0, 0 }, { "orig_rax", 0, 0 }
	}, arm[] = {
		{ "x0", 0, 8 }, { "w0", 0, 4 }, { "x9", 72, 8 }, { "x30", 240, 8 }, { "lr", 240, 8 },
		{ "fp", 232, 8 }, { "sp", 248, 8 }, { "pc", 256, 8 }, { "w17", 136, 4 },
		{ "", 0, 0 }, { "x", 0, 0 }, { "x31", 0, 0 }, { "x00", 0, 0 }, { "x012", 0, 0 },
		{ "w31", 0, 0 }, { "rax", 0, 0 }, { "x1a", 0, 0 }
	};

	for (size_t i = 0; i < sizeof(context); i++)
		context[i] = (uint8_t)(37 * i + 11);
	for (size_t i = 0; i < COUNT(x86) + COUNT(arm); i++) {
		bool is_arm = i >= COUNT(x86);
		const char *name = is_arm ? arm[i - COUNT(x86)].name : x86[i].name;
		size_t offset = is_arm ? arm[i - COUNT(x86)].offset : x86[i].offset;
		unsigned int size = is_arm ? arm[i - COUNT(x86)].size : x86[i].size;
		struct condition_location location = entry;
		char text[64];

		location.machine = is_arm ? MACHINE_ARM64 : MACHINE_X86_64;
		snprintf(text, sizeof(text), "%%%s == 0x%lx", name, load(context + offset, size));
		is_i64(holds(text, &location), size ? 1 : -1, "%s on %s", text,
		       is_arm ? "arm64" : "x86-64");
	}
}

struct thing {
	uint64_t first;
	struct thing *next;
	int32_t number;
	uint16_t half;
	int8_t byte;
};

/* Values through memory, masks, alternatives, types that nobody gives. */
TEST(values)
{
	struct thing last = { .first = 7, .number = -5, .half = 65535, .byte = -1 };
	struct thing first = { .first = 1, .next = &last, .number = 42 };
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

	memset(context, 0x55, sizeof(context));
	register_set(RDI, (uint64_t)&first);
	register_set(104, 0xffffffff80000000);
	register_set(96, 0);
	register_set(152, (uint64_t)stack);
	for (size_t i = 0; i < COUNT(cases); i++)
		is_i64(holds(cases[i].text, &entry), cases[i].want, "'%s'", cases[i].text);
	register_set(80, (uint64_t)-11);
	is_i64(holds("ret == -11", &at_return), 1, "a result");
	is_i64(holds("ret:s32 < 0", &at_return), 1, "that is an int");
	register_set(80, 0xfffffff5);
	is_i64(holds("ret < 0", &at_return), 0, "of which all 64 bits are a large number");
	is_i64(holds("ret:s32 < 0", &at_return), 1, "and 32 are negative");
}

/* --- Of USDT probes --- */

/* What notes say, as gcc and clang write them (tests of libbpf's usdt.c, real files), and whether
 * a condition holds there; -1: refused. One with ? can be read, but leads to no address of this
 * process. */
static const char usdt_x86[] =
	"-4@$5 : arg0 == 5|-4@$-5 : arg0 == -5|1@$-1 : arg0 == 255 = 1"
	"|-4@$0x10 8@%rax : arg0 == 16 && arg1 == -1 = -1|8@%rax : arg0 == 0xffffffffffffffff"
	"|-8@%rax : arg0 == -1|-4@%eax : arg0 == -1|4@%eax : arg0 == 0xffffffff"
	"|4@%eax : arg0:s32 == -1|4@%eax : arg0:s64 == 0xffffffff"
	"|-4@%eax : arg0:u64 == 0xffffffffffffffff|-1@%al : arg0:u16 == 0xffff"
	"|-4@%eax : arg0:u8 == 255|1@%dh : arg0 == 0x12 = 1|2@%dh : arg0 == 0x12 = -1"
	"|-4@(%rbx) : arg0 == -3|-4@(%rbx) : arg0:s64 == -3|8@8(%rcx) : arg0 == 20"
	"|8@-8(%rcx,%rsi,8) : arg0 == 20|8@(%rcx,%rsi,8) : arg0 == 30 = 1"
	"|8@8(%rcx,%rsi) : ?arg0 == 10|8@(,%rsi,8) : ?arg0 == 1 = 0|8@%rcx : [arg0+16] == 30"
	"|8@%rcx 8@%rcx : [arg1]:u8 == 10 = 1|4@%ecx : [arg0+16] == 30|8f@%xmm0 : arg0 == 1"
	"|8@counter(%rip) : arg0 == 1|8@.LC0+4(%rip) : arg0 == 1"
	"|-4@40+CheckpointStats(%rip) : arg0 == 1 = -1|4@0(%rbx) : arg0 == 0xfffffffd = 1"
	"|%eax : arg0 == 1|8@%rax : arg1 == 1| : arg0 == 1|3@%rax : arg0 == 1|16@%rax : arg0 == 1"
	"|8@ : arg0 == 1|8@%rax, : arg0 == 1|8@(%rax,%rbx,3) : arg0 == 1|8@(%eax) : arg0 == 1"
	"|8@(%rax : arg0 == 1|8@() : arg0 == 1|8@x0 : arg0 == 1|4@%eax : arg0 < 0"
	"|4@%eax : arg0 == -1 = -1";
static const char usdt_arm[] =
	"-4@5 8@7 : arg0 == 5 && arg1 == 7|-4@w10 : arg0 == -1 = 1|8@x10 : arg0 == -1 = -1"
	"|8@[x11] : arg0 == 10|8@[x11, 8]  -4@w10 : arg0 == 20 && arg1 == -1"
	"|8@[x11, #16] : arg0 == 30 = 1|8@[x11,x13] : ?arg0 == 10 = 0|8@[x11, w13] : arg0 == 10"
	"|8@[x11, x13, lsl 3] : arg0 == 10|8@%rax : arg0 == 1|8@[x11 : arg0 == 1 = -1";
static enum register_machine usdt_machine;

static const char *held_at_usdt(const char *both)
{
	char arguments[CASE_LEN], *text = strstr(strcpy(arguments, both), " : ");
	struct condition_location location = usdt;
	struct predicate_error error;
	struct kd_condition condition;

	*text = '\0';
	location.machine = usdt_machine;
	location.arguments = arguments;
	return numbered(text[3] == '?' ? made(&condition, text + 4, &location, &error)
				       : holds(text + 3, &location));
}

TEST(usdt)
{
	int32_t number = -3;
	uint64_t array[3] = { 10, 20, 30 };

	memset(context, 0, sizeof(context));
	register_set(80, UINT64_MAX);        /* rax, x10 */
	register_set(96, 0x1234);            /* rdx, x12 */
	register_set(40, (uint64_t)&number); /* rbx, x5 */
	register_set(88, (uint64_t)array);   /* rcx, x11 */
	register_set(104, 2);                /* rsi, x13 */
	usdt_machine = MACHINE_X86_64;
	cases_check(usdt_x86, held_at_usdt, "x86-64");
	usdt_machine = MACHINE_ARM64;
	cases_check(usdt_arm, held_at_usdt, "arm64");
}

/* --- Of tracepoints --- */

/* As tracefs says of sched_switch, and of others what that does not have. */
static const char event_format[] =
	"name: sched_switch\n"
	"ID: 372\n"
	"format:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\n"
	"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:int ret;\toffset:28;\tsize:4;\tsigned:1;\n"
	"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
	"\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
	"\tfield:__data_loc char[] device;\toffset:56;\tsize:4;\tsigned:0;\n"
	"\tfield:bool has_flag;\toffset:60;\tsize:1;\tsigned:0;\n"
	"\tfield:const struct sk_buff * skb;\toffset:64;\tsize:8;\tsigned:0;\n"
	"\tfield:int far;\toffset:99999999999999999999;\tsize:4;\tsigned:1;\n"
	"\tfield:int;\n"
	"\n"
	"print fmt: \"field:int none; offset:8; size:4; signed:1;\", REC->prev_comm\n";

/* What a program is given of it. */
struct event {
	uint64_t registers;
	char prev_comm[16];
	int32_t prev_pid, ret;
	int64_t prev_state;
	char next_comm[16];
	uint32_t device;
	bool has_flag;
	const int32_t *skb;
};

static const struct condition_location event_here = { .kind = TRIGGER_TRACEPOINT,
						      .format = event_format };

TEST(fields)
{
	int32_t memory[4] = { 1, 2, -3, 4 };
	const struct event event = { .registers = UINT64_MAX,
				     .prev_comm = "\1\2\3\4\5\6",
				     .prev_pid = -7,
				     .ret = -11,
				     .prev_state = 1L << 40,
				     .device = 0x100020,
				     .has_flag = true,
				     .skb = memory };
	const struct {
		const char *text;
		bool want;
	} cases[] = {
		{ "prev_pid == -7", event.prev_pid == -7 },
		{ "prev_pid < 0", event.prev_pid < 0 },
		{ "prev_pid:u8 == 249", (uint8_t)event.prev_pid == 249 },
		{ "prev_pid:s64 == -7", event.prev_pid == -7 },
		{ "prev_state > 0xffffffff", event.prev_state > 0xffffffff },
		{ "prev_state & 0x20000000000", event.prev_state & 0x20000000000 },
		{ "ret == -11", event.ret == -11 },
		{ "has_flag", event.has_flag },
		{ "has_flag == 0", !event.has_flag },
		{ "[skb+8]:s32 == -3", event.skb[2] == -3 },
		{ "[skb+8]:s32 >= 0", event.skb[2] >= 0 },
	};
	struct kd_condition condition;
	struct predicate_error error;
	int before = -1, wrong = 0;

	memset(context, 0, sizeof(context));
	memcpy(context, &event, sizeof(event));
	for (size_t i = 0; i < COUNT(cases); i++)
		is_i64(holds(cases[i].text, &event_here), cases[i].want, "field: '%s'",
		       cases[i].text);
	is_i64(made(&condition, "[skb] == 1", &event_here, &error), 0, "memory behind a field");
	is_u64(condition.in_kernel, true, "is the kernel's");
	/* Cut anywhere, there is no such field at first, and then the right one. */
	for (size_t length = 0; length < sizeof(event_format); length++) {
		char *cut = strndup(event_format, length);
		const struct condition_location location = { .kind = TRIGGER_TRACEPOINT,
							     .format = cut };
		int result = holds("prev_state == 0x10000000000", &location);

		wrong += result != before && result != 1;
		before = result;
		free(cut);
	}
	ok(!wrong && before == 1, "formats that end anywhere");
}

/* --- Where they are possible, and where not --- */

static const struct {
	const struct condition_location *location;
	const char *text;
	size_t at;
	const char *why; /* a part of it; NULL: it is possible */
} locations[] = {
	{ &entry, "ret == 1", 0, "when it returns" },
	{ &kernel_entry, "arg0 && ret", 8, "when it returns" },
	{ &inside, "arg0 == 1", 0, "where a function begins" },
	{ &inside, "%rdi == 1", 0, NULL },
	{ &at_return, "ret && arg0", 7, "arguments are gone" },
	{ &kernel_return, "ret", 0, NULL },
	{ &usdt, "ret", 0, "when it returns" },
	{ &usdt, "arg1", 0, "fewer" },
	{ &usdt_bare, "arg0", 0, "fewer" },
	{ &usdt_bare, "%rbx", 0, NULL },
	{ &other_event, "prev_pid", 0, "no such field" },
	{ &entry, "prev_pid", 0, "only tracepoints" },
	{ &call, "arg5", 0, NULL },
	{ &call, "arg6", 0, "arg0 to arg5" },
	{ &call, "ret", 0, "at its exit" },
	{ &call, "%rdi", 0, "no registers" },
	{ &call_exit, "ret < 0", 0, NULL },
	{ &call_exit, "arg0", 0, "at its entry" },
	{ &entry, "%x0", 0, "no such register" },
	{ &entry, "[[%zz]]", 2, "no such register" },
	{ &entry, "[%edi]", 0, "no address" },
	{ &entry, "arg0:u8 == 256", 11, "does not fit" },
	{ &entry, "arg0:s8 == 128", 11, "does not fit" },
	{ &entry, "arg0:s8 == -129", 11, "does not fit" },
	{ &entry, "arg0:u32 < -1", 11, "no sign" },
	{ &entry, "arg0:u32 < 0", 11, "never true" },
	{ &entry, "arg0:u32 >= 0", 12, "always true" },
	{ &entry, "arg0:u8 <= 0xff", 11, "always true" },
	{ &entry, "arg0 & 3 == 4", 12, "never true" },
	{ &entry, "arg0 & 3 != 4", 12, "always true" },
	{ &entry, "arg0:u8 & 0x100", 0, "fewer bits" },
	{ &entry, "[arg8+9223372036854775807]", 0, NULL },
	{ &event_here, "arg0", 0, "by name" },
	{ &event_here, "%rdi", 0, "no registers" },
	{ &event_here, "prio", 0, "no such field" },
	{ &event_here, "prev_pi", 0, "no such field" },
	{ &event_here, "common_pid", 0, "no such field" },
	{ &event_here, "next_comm", 0, "no number" },
	{ &event_here, "device", 0, "no number" },
	{ &event_here, "far", 0, "no such field" },
	{ &event_here, "none", 0, "no such field" },
	{ &event_here, "prev_pid && [prev_pid]", 12, "no address" },
	{ &event_here, "has_flag < 0", 11, "never true" },
	{ &event_here, "has_flag == 256", 12, "does not fit" },
};

TEST(refused)
{
	for (size_t i = 0; i < COUNT(locations); i++) {
		struct predicate_error error;
		struct kd_condition condition;
		int result = made(&condition, locations[i].text, locations[i].location, &error);

		if (!locations[i].why)
			is_i64(result, 0, "'%s' is possible there", locations[i].text);
		else
			ok(result == -EINVAL && error.at == locations[i].at && error.why &&
				   strstr(error.why, locations[i].why),
			   "'%s' is refused at %zu: %s", locations[i].text, error.at, error.why);
	}
}

TEST(types)
{
	char *at = (char *)value_texts;

	for (size_t i = 0; i < COUNT(values); i++)
		values[i] = strtoull(at, &at, 0);
	for (unsigned int size = 1; size <= 8; size *= 2) {
		type_compare(size, false);
		type_compare(size, true);
	}
}
