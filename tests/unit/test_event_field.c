/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions on fields of tracepoints, compared with what C makes of the same fields. And where
 * they are refused. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "condition_holds.h"
#include "probes/event_field.h"
#include "tap.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

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

static const struct condition_place here = { .kind = TRIGGER_TRACEPOINT, .format = event_format };

static void test_fields(void)
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
	struct predicate predicate;

	memset(context, 0, sizeof(context));
	memcpy(context, &event, sizeof(event));
	for (size_t i = 0; i < COUNT(cases); i++)
		is_i64(holds(cases[i].text, &here, &error), cases[i].want, "field: '%s'",
		       cases[i].text);
	is_i64(predicate_parse(&predicate, "[skb] == 1", &error), 0, "memory behind a field");
	is_i64(condition_make(&condition, &predicate, &here, &error), 0, "is possible");
	is_u64(condition.in_kernel, true, "and is the kernel's");
}

/* Cut anywhere, what is left is understood, or there is no such field. */
static void test_formats_cut(void)
{
	for (size_t length = 0; length < sizeof(event_format); length++) {
		char *cut = strndup(event_format, length);
		const char *rest = cut;
		struct event_field field;
		size_t n = 0;

		while (event_field_next(&field, &rest))
			n++;
		if (n > 8 || *rest ||
		    (event_field_find(&field, cut, "prev_state") &&
		     (field.offset != offsetof(struct event, prev_state) || field.size != 8)))
			ok(false, "a format of %zu bytes: %zu fields", length, n);
		free(cut);
	}
	ok(true, "formats that end anywhere");
}

static void test_refused(void)
{
	static const struct {
		const char *text;
		size_t at;
		const char *why; /* a part of it */
	} cases[] = {
		{ "arg0", 0, "by name" },
		{ "%rdi", 0, "no registers" },
		{ "prio", 0, "no such field" },
		{ "prev_pi", 0, "no such field" },
		{ "common_pid", 0, "no such field" },
		{ "next_comm", 0, "no number" },
		{ "device", 0, "no number" },
		{ "far", 0, "no such field" },
		{ "none", 0, "no such field" },
		{ "prev_pid && [prev_pid]", 12, "no address" },
		{ "has_flag < 0", 11, "never true" },
		{ "has_flag == 256", 12, "does not fit" },
	};
	struct predicate_error error;

	for (size_t i = 0; i < COUNT(cases); i++) {
		is_i64(holds(cases[i].text, &here, &error), -1, "'%s' is refused", cases[i].text);
		is_u64(error.at, cases[i].at, "'%s': where", cases[i].text);
		ok(error.why && strstr(error.why, cases[i].why), "'%s': %s", cases[i].text,
		   error.why);
	}
}

int main(void)
{
	test_fields();
	test_refused();
	test_formats_cut();
	return done_testing();
}
