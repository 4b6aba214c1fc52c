/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of processes and of stacks: which share an address space, when they leave it, which
 * are the same, and how many there may be. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/stack/client.h"
#include "cli/stack/protocol.h"
#include "cli/stack/server.h"
#include "cli/stack/stack_processes.h"
#include "sanitized.h"
#include "tap.h"

static struct opener *opener;
static struct mapped_files *files;

static int note_none(void *context, uint32_t number, int fd, const char *path)
{
	(void)context;
	(void)number;
	(void)fd;
	(void)path;
	return 0;
}

/* A process that has mapped what this one has. */
static struct stack_process *process_read(struct stack_processes *all, pid_t pid)
{
	struct stack_process *process = stack_process_add(all, pid, NULL);

	if (!process)
		return NULL;
	process->mapped = mapped_new(files, getpid());
	if (!process->mapped || mapped_read(process->mapped, note_none, NULL) < 0)
		abort();
	return process;
}

/* Of no file, somewhere. */
static void process_map(struct stack_process *process, uint64_t page)
{
	const struct kd_mapped change = { .kind = KD_MAPPED_NO_FILE,
					  .start = (page + 1) << 20,
					  .length = 1 << 12 };

	if (mapped_change(process->mapped, 1, &change, note_none, NULL) != 1)
		abort();
}

TEST(shared)
{
	struct stack_processes *all = stack_processes_new();
	struct stack_process *parent = process_read(all, 10), *twin, *child, *other;

	is_i64(stack_process_settle(all, parent), STACK_SPACE_BEGINS, "the first has a space");
	twin = process_read(all, 11);
	is_i64(stack_process_settle(all, twin), STACK_SPACE_SHARED, "another one shares it");
	is_u64(twin->space, parent->space, "the same one");
	child = stack_process_add(all, 12, parent);
	other = stack_process_add(all, 13, parent);
	is_u64(child->space, parent->space, "as a child does at once");
	process_map(child, 1);
	is_i64(stack_process_settle(all, child), STACK_SPACE_BEGINS,
	       "until it maps something else");
	ok(child->space != parent->space, "then it has its own");
	process_map(other, 1);
	is_i64(stack_process_settle(all, other), STACK_SPACE_SHARED, "or that of one like it");
	is_u64(other->space, child->space, "which is");
	process_map(parent, 2);
	is_i64(stack_process_settle(all, parent), STACK_SPACE_BEGINS, "its parent leaves, too");
	process_map(parent, 3);
	is_i64(stack_process_settle(all, parent), STACK_SPACE_CHANGES, "what is its own changes");
	child = stack_process_add(all, 14, parent);
	is_u64(child->space, parent->space, "and has a child again");
	process_map(twin, 2);
	is_i64(stack_process_settle(all, twin), STACK_SPACE_CHANGES,
	       "one that is left alone keeps it");
	other = process_read(all, 15);
	is_i64(stack_process_settle(all, other), STACK_SPACE_BEGINS,
	       "what was something else before is not shared");
	stack_processes_free(all);
}

TEST(replaced)
{
	struct stack_processes *all = stack_processes_new();
	struct stack_process *parent = process_read(all, 10), *child;
	uint32_t space;

	stack_process_settle(all, parent);
	child = stack_process_add(all, 11, parent);
	process_map(child, 1);
	stack_process_settle(all, child);
	space = child->space;
	stack_process_end(all, child);
	ok(stack_process_find(all, 11) == child, "one that has ended is still known");
	is_u64(child->space, space, "with what it had mapped");
	child = stack_process_add(all, 11, parent);
	is_u64(child->space, parent->space, "until another one has its PID");
	stack_process_refuse(all, child, -ENOSPC);
	ok(!child->mapped && child->space == STACK_NO_SPACE && child->error == -ENOSPC,
	   "of one that is refused nothing is known");
	ok(!stack_process_find(all, 12), "nor of one that was never told");
	stack_processes_free(all);
}

/* More than there is room for. */
TEST(room)
{
	struct stack_processes *all = stack_processes_new();
	struct stack_process *parent = process_read(all, 1), *child;
	unsigned int refused = 0, added = 0;

	stack_process_settle(all, parent);
	for (pid_t pid = 2; pid < STACK_PROCESSES + 10; pid++)
		added += stack_process_add(all, pid, parent) != NULL;
	is_u64(added, STACK_PROCESSES - 1, "as many processes as may be");
	stack_process_end(all, stack_process_find(all, 5));
	ok(stack_process_add(all, 100000, parent) != NULL, "one that has ended makes room");
	ok(!stack_process_find(all, 5), "and is forgotten");
	ok(!stack_process_add(all, 100001, parent), "no other is");
	for (pid_t pid = 10; pid < 10 + PROTOCOL_SPACES + 5; pid++) {
		child = stack_process_find(all, pid);
		process_map(child, (uint64_t)pid);
		refused += stack_process_settle(all, child) == -ENOSPC;
	}
	is_u64(refused, 6, "no more spaces than may be");
	for (pid_t pid = 10; pid < 20; pid++)
		stack_process_end(all, stack_process_find(all, pid));
	child = stack_process_find(all, 3000);
	process_map(child, 3000);
	is_i64(stack_process_settle(all, child), STACK_SPACE_BEGINS,
	       "those of ended processes are used again");
	stack_processes_free(all);
}

/* A space that nobody has any more. */
TEST(left)
{
	struct stack_processes *all = stack_processes_new();
	struct stack_process *process = process_read(all, 1);

	is_i64(stack_process_settle(all, process), STACK_SPACE_BEGINS, "a space");
	is_u64(stack_processes_left(all), STACK_NO_SPACE, "is its process's");
	stack_process_refuse(all, process, -ENOSPC);
	is_u64(stack_processes_left(all), 0, "then the other process may forget it");
	is_u64(stack_processes_left(all), STACK_NO_SPACE, "once");
	stack_processes_free(all);
}

#define RANGES 2048

/* Of a parent that has mapped much, by forks alone. */
TEST(forks)
{
	struct stack_processes *all = stack_processes_new();
	struct stack_process *parent = process_read(all, 1), *child;
	size_t total = 0, refused = 0;

	for (uint64_t page = 0; page < RANGES; page++)
		process_map(parent, page);
	stack_process_settle(all, parent);
	for (pid_t pid = 2; pid < 2 + (pid_t)(STACK_MAPPINGS / RANGES); pid++) {
		child = stack_process_add(all, pid, parent);
		total += child->mapped ? mapped_size(child->mapped) : 0;
		refused += !child->mapped && child->error == -ENOSPC &&
			   child->space == STACK_NO_SPACE;
	}
	ok(total + mapped_size(parent->mapped) <= STACK_MAPPINGS, "no more than may be mapped: %zu",
	   total);
	ok(total > STACK_MAPPINGS / 2, "children have theirs as long as there is room");
	ok(refused, "the others are refused: %zu", refused);
	stack_process_end(all, stack_process_find(all, 2));
	child = stack_process_add(all, 2 + STACK_MAPPINGS / RANGES, parent);
	ok(child->mapped && !stack_process_find(all, 2), "one that has ended makes room");
	stack_processes_free(all);
}

/* Names of code are those of a space. */
TEST(names)
{
	struct stack_processes *all = stack_processes_new();
	struct stack_process *first = process_read(all, 1), *second, *third, *child;

	stack_process_settle(all, first);
	second = process_read(all, 2);
	stack_process_settle(all, second);
	is_u64(second->space, first->space, "two that are alike share a space");
	second->has_names = true;
	is_i64(stack_process_settle(all, second), STACK_SPACE_BEGINS,
	       "one with names gets its own");
	ok(second->space != first->space, "another one");
	process_map(first, 1);
	stack_process_settle(all, first);
	third = process_read(all, 3);
	is_i64(stack_process_settle(all, third), STACK_SPACE_BEGINS, "which nobody else gets");
	child = stack_process_add(all, 4, second);
	is_u64(child->space, second->space, "but a child, until it has its own");
	child->has_names = true;
	is_i64(stack_process_settle(all, child), STACK_SPACE_BEGINS, "then it leaves");
	ok(child->space != second->space && child->space != first->space, "for one of its own");
	is_i64(stack_process_settle(all, second), STACK_SPACE_CHANGES, "the other one stays");
	stack_processes_free(all);
}

/* --- Stacks, each kept once: in the child by addresses, here by texts --- */

TEST(seen)
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

TEST(table)
{
	enum { MANY = 3000 };
	static const struct stack *stacks[MANY];
	struct stack_table *table = stack_table_new(MANY);
	struct frame frames[2] = { { .object = "object" },
				   { .function = "outer", .build_id = "" } };
	struct stack like = { .frames = frames, .n = 2 };
	unsigned int wrong = 0;
	char name[32];

	frames[0].function = name;
	for (unsigned int n = 0; n < 2 * MANY; n++) {
		unsigned int i = n % MANY;

		snprintf(name, sizeof(name), "function %u", i / 2);
		frames[0].offset = i % 2;
		if (n < MANY) {
			stacks[i] = stack_table_get(table, &like);
			continue;
		}
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

void tests_begin(void)
{
	opener_open(&opener, NULL, SANITIZED);
	files = mapped_files_new(opener);
}

void tests_end(void)
{
	mapped_files_free(files);
	opener_close(opener);
}
