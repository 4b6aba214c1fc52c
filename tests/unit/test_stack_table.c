/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of stacks: of both processes. */
#include <errno.h>
#include <string.h>

#include "cli/stack/seen.h"
#include "cli/stack/stack_table.h"
#include "tap.h"

static void test_seen(void)
{
	struct unwound unwound = { .n = 2, .ip = { 1, 2 } };
	struct seen *seen = seen_new(4);
	uint32_t first, id;
	bool added;

	seen_reserve(seen, 4);
	is_i64(seen_find(seen, 1, &unwound, &first, &added), 0, "a stack gets an ID");
	ok(added && first == 0, "the first");
	seen_find(seen, 1, &unwound, &id, &added);
	ok(!added && id == first, "the same one the same ID");
	unwound.exact[1] = true;
	seen_find(seen, 1, &unwound, &id, &added);
	ok(added && id == 1, "an interrupted instruction is another");
	seen_find(seen, 2, &unwound, &id, &added);
	ok(added && id == 2, "and with other mappings");
	unwound.stop = UNWIND_LOOP;
	seen_find(seen, 2, &unwound, &id, &added);
	ok(added && id == 3, "and for another reason");
	unwound.ip[0]++;
	is_i64(seen_find(seen, 2, &unwound, &id, &added), -ENOSPC, "then there is no room");
	seen_reserve(seen, 1);
	is_i64(seen_find(seen, 2, &unwound, &id, &added), 0, "until all is forgotten");
	ok(added && id == 0, "and IDs begin again");
	seen_free(seen);
	seen_free(NULL);
}

static void test_table(void)
{
	enum { MANY = 3000 };
	static const struct stack *stacks[MANY];
	struct stack_table *table = stack_table_new(MANY);
	struct frame frames[2] = { { .object = "object" },
				   { .function = "outer", .build_id = "" } };
	struct stack like = { .frames = frames, .n = 2 };
	unsigned int wrong = 0;
	char name[32];

	for (unsigned int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "function %u", i / 2);
		frames[0].function = name;
		frames[0].offset = i % 2;
		stacks[i] = stack_table_get(table, &like);
	}
	for (unsigned int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "function %u", i / 2);
		frames[0].function = name;
		frames[0].offset = i % 2;
		wrong += !stacks[i] || stack_table_get(table, &like) != stacks[i] ||
			 strcmp(stacks[i]->frames[0].function, name) != 0 ||
			 stacks[i]->frames[0].offset != i % 2 || stacks[i]->n != 2;
	}
	is_u64(wrong, 0, "%d stacks are kept once each", MANY);
	ok(stacks[0]->frames[0].object == stacks[1]->frames[0].object, "and their texts, too");
	like.n = 1;
	ok(!stack_table_get(table, &like), "no more than there is room for");
	like = (struct stack){ .frames = frames, .n = 2, .stop = "reason" };
	ok(!stack_table_get(table, &like), "incomplete is another");
	like = (struct stack){ .frames = frames, .n = 2, .by_frame_pointers = true };
	ok(!stack_table_get(table, &like), "that by frame pointers is another");
	like.by_frame_pointers = false;
	frames[1].build_id = NULL;
	ok(!stack_table_get(table, &like), "no text is not an empty one");
	stack_table_free(table);
	stack_table_free(NULL);
}

int main(void)
{
	test_seen();
	test_table();
	return done_testing();
}
