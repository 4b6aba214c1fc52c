/* SPDX-License-Identifier: Apache-2.0 */
/* What the reader of stacks keeps: processes and stacks: which share an address space, when they
 * leave it, which are the same, and how many there may be; and what a copy of a stack says: by what
 * it is unwound from, which stacks are the same, which are not, and which cannot be known; and to
 * where functions return whose return address the kernel has taken the place of. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/stack/protocol.h"
#include "cli/stack/stack_processes.h"
#include "sanitized.h"
#include "tap.h"
#include "cli/stack/client.h"
#include "cli/stack/server.h"
#include "cli/stack/mapped.h"

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
	need(process->mapped && mapped_read(process->mapped) >= 0);
	return process;
}

/* Of no file, somewhere. */
static void process_map(struct stack_process *process, uint64_t page)
{
	const struct kd_mapped change = { .kind = KD_MAPPED_NO_FILE,
					  .start = (page + 1) << 20,
					  .length = 1 << 12 };

	need(mapped_change(process->mapped, 1, &change) == 1);
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
TEST(capacity)
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

TEST(stack_cache)
{
	struct unwound unwound = { .n = 2, .ip = { 1, 2 } };
	struct stack_cache *cache = stack_cache_new(4);
	uint32_t first, id;
	bool added;

	stack_cache_reserve(cache, 4);
	is_i64(stack_cache_find(cache, 1, &unwound, &first, &added), 0, "a stack gets an ID");
	ok(added && first == 0, "the first");
	stack_cache_find(cache, 1, &unwound, &id, &added);
	ok(!added && id == first, "the same one the same ID");
	unwound.exact[1] = true;
	stack_cache_find(cache, 1, &unwound, &id, &added);
	ok(added && id == 1, "an interrupted instruction is another");
	stack_cache_find(cache, 2, &unwound, &id, &added);
	ok(added && id == 2, "and with other mappings");
	unwound.stop = UNWIND_LOOP;
	stack_cache_find(cache, 2, &unwound, &id, &added);
	ok(added && id == 3, "and for another reason");
	unwound.ip[0]++;
	is_i64(stack_cache_find(cache, 2, &unwound, &id, &added), -ENOSPC, "then there is no room");
	stack_cache_reserve(cache, 1);
	is_i64(stack_cache_find(cache, 2, &unwound, &id, &added), 0, "until all is forgotten");
	ok(added && id == 0, "and IDs begin again");
	stack_cache_free(cache);
	stack_cache_free(NULL);
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
	files = mapped_files_new(opener, note_none, NULL);
}

void tests_end(void)
{
	mapped_files_free(files);
	opener_close(opener);
}

/* --- Copies of stacks --- */

#define START 0x7ffd00001000ULL /* the copy's, at the edge of a page */
#define WORDS 1024              /* two pages */
#define KEPT_REGISTER 6
#define OTHER_REGISTER 3

static uint64_t stack[WORDS];

static struct stack_copy copy_make(void)
{
	struct stack_copy copy = {
		.start = START,
		.pages = { 3 },
		.data = (const uint8_t *)stack,
		.size = sizeof(stack),
	};

	for (uint64_t i = 0; i < WORDS; i++)
		stack[i] = i * i + 17;
	for (uint64_t i = 0; i < KD_REGS; i++)
		copy.regs[i] = 1000 + i;
	copy.regs[KD_REG_SP] = START + KD_RED_ZONE;
	return copy;
}

static uint64_t address_of(uint64_t word)
{
	return START + word * sizeof(*stack);
}

/* As if it was unwound from a register and these words. */
static bool digest_make(struct digest *digest, const struct stack_copy *copy, const uint64_t *words,
			unsigned int n)
{
	digest_begin(digest, copy);
	digest_register(digest, KEPT_REGISTER);
	for (unsigned int i = 0; i < n; i++)
		digest_word(digest, address_of(words[i]));
	return digest_finish(digest, copy);
}

static const uint64_t words[] = { 20, 3, 700 };

/* What the programs find for a thread that has this now: they read the shape alone. */
static uint64_t hash_of(const struct kd_shape *shape, const struct stack_copy *copy)
{
	uint64_t hash = kd_hash_seed((uint32_t)copy->process);

	hash = kd_hash_mix(kd_hash_mix(hash, shape->n), shape->regs);

	for (unsigned int i = 0; i < shape->n; i++)
		hash = kd_hash_mix(hash, kd_hash_word(shape->words[i], stack[shape->words[i]]));
	for (unsigned int i = 0; i < KD_REGS; i++)
		hash = kd_hash_mix(hash, kd_hash_register(shape->regs, i, copy->regs[i]));
	return hash;
}

TEST(same)
{
	struct stack_copy copy = copy_make();
	struct digest digest, again;

	ok(digest_make(&digest, &copy, words, 3), "a stack is known");
	is_u64(digest.shape.ip, copy.regs[KD_REG_IP], "its instruction");
	is_u64(digest.shape.sp, copy.regs[KD_REG_SP], "its stack pointer");
	is_u64(digest.shape.regs, 1ULL << KD_REG_IP | 1ULL << KD_REG_SP | 1ULL << KEPT_REGISTER,
	       "the registers that were read");
	is_u64(digest.shape.n, 3, "as many words as were read");
	for (unsigned int i = 0; i < 3; i++)
		is_u64(digest.shape.words[i], words[i], "word %u", i);
	is_u64(digest.hash, hash_of(&digest.shape, &copy), "the hash is that of the programs");
	copy.regs[OTHER_REGISTER]++;
	stack[21]++;
	ok(digest_make(&again, &copy, words, 3) && again.hash == digest.hash,
	   "what was not read does not matter");
}

TEST(different)
{
	static const uint64_t others[] = { 20, 4, 700 }, order[] = { 3, 20, 700 };
	struct stack_copy copy = copy_make();
	struct digest digest, other;

	digest_make(&digest, &copy, words, 3);
	for (unsigned int i = 0; i < 3; i++) {
		stack[words[i]]++;
		ok(digest_make(&other, &copy, words, 3) && other.hash != digest.hash,
		   "word %u has another value: another stack", i);
		stack[words[i]]--;
	}
	copy.regs[KEPT_REGISTER]++;
	ok(digest_make(&other, &copy, words, 3) && other.hash != digest.hash,
	   "a register has another value");
	copy = copy_make();
	stack[4] = stack[3];
	ok(digest_make(&other, &copy, others, 3) && other.hash != digest.hash,
	   "the same value in another word");
	ok(digest_make(&other, &copy, order, 3) && other.hash != digest.hash, "in another order");
	ok(digest_make(&other, &copy, words, 2) && other.hash != digest.hash, "fewer words");
}

/* What cannot be told, or would not be the same again. */
TEST(refused)
{
	static const struct {
		const char *what;
		uint64_t address;
	} cases[] = {
		{ "a word between two", START + 12 },
		{ "one below the stack", START - 8 },
		{ "one too far above", START + 8 * (UINT16_MAX + 1) },
		{ "one that was not copied", START + 8 * WORDS },
	};
	struct stack_copy copy = copy_make();
	struct digest digest;

	digest_begin(&digest, &copy);
	digest_refuse(&digest);
	digest_word(&digest, address_of(1));
	ok(!digest_finish(&digest, &copy), "one that is refused stays so");
	for (size_t i = 0; i < COUNT(cases); i++) {
		digest_begin(&digest, &copy);
		digest_word(&digest, cases[i].address);
		ok(!digest_finish(&digest, &copy), "%s", cases[i].what);
	}
	copy.other_start = START + (1 << 20);
	digest_begin(&digest, &copy);
	ok(!digest_finish(&digest, &copy), "a stack in two parts");
}

TEST(known_capacity)
{
	struct stack_copy copy = copy_make();
	struct digest digest;

	digest_begin(&digest, &copy);
	for (unsigned int i = 0; i < 3 * KD_SHAPE_WORDS; i++)
		digest_word(&digest, address_of(i / 3));
	ok(digest_finish(&digest, &copy),
	   "as many words as there is room for, each read three times");
	is_u64(digest.shape.n, KD_SHAPE_WORDS, "each is there once");
	digest_word(&digest, address_of(KD_SHAPE_WORDS));
	ok(!digest_finish(&digest, &copy), "one more");
	for (unsigned int i = 0; i < 1000; i++)
		digest_word(&digest, address_of(i));
	ok(!digest_finish(&digest, &copy), "many more");
}

/* --- As it is sent --- */

static struct packet packet;

TEST(sent)
{
	struct stack_copy copy = copy_make();
	struct digest digest, got;

	digest_make(&digest, &copy, words, 3);
	packet_begin(&packet, MESSAGE_DIGEST);
	packet_put_digest(&packet, &digest);
	is_u64((uint64_t)-packet_get_digest(&packet, &got), 0, "what was sent is received");
	is_u64(got.hash, digest.hash, "with its hash");
	ok(got.shape.regs == digest.shape.regs && got.shape.n == 3 &&
		   !memcmp(got.shape.words, digest.shape.words, 3 * sizeof(*digest.shape.words)),
	   "and its shape");
	packet.size--;
	is_u64((uint64_t)-packet_get_digest(&packet, &got), EBADMSG, "half a word less");
	packet.size += 3;
	is_u64((uint64_t)-packet_get_digest(&packet, &got), EBADMSG, "a word more");
	packet.size = 0;
	is_u64((uint64_t)-packet_get_digest(&packet, &got), EBADMSG, "nothing");
}

/* Numbers of words that are not those sent, of a sender that is not to be believed. */
TEST(hostile)
{
	static const uint16_t numbers[] = { 0, KD_SHAPE_WORDS + 1, 0x7fff, UINT16_MAX };
	struct kd_shape shape = { .ip = 1, .sp = 2, .n = KD_SHAPE_WORDS };
	struct digest got;

	packet_begin(&packet, MESSAGE_DIGEST);
	for (unsigned int i = 0; i < COUNT(numbers); i++) {
		shape.n = numbers[i];
		packet.size = sizeof(shape);
		memcpy(packet.payload, &shape, sizeof(shape));
		is_u64((uint64_t)-packet_get_digest(&packet, &got), EBADMSG,
		       "the most words, and said to be %u", numbers[i]);
		packet.size = offsetof(struct kd_shape, words) + 2UL * numbers[i];
		if (packet.size > sizeof(shape) && packet.size <= PACKET_PAYLOAD)
			is_u64((uint64_t)-packet_get_digest(&packet, &got), EBADMSG,
			       "%u words, and said so", numbers[i]);
	}
}

/* --- Return addresses that the kernel has taken the place of --- */

#define TRAMPOLINE 0x7fffffffe000
#define STACK 0x7ffc00001000

TEST(returns)
{
	const struct stack_copy copy = {
		.trampoline = TRAMPOLINE,
		.n_returns = 2,
		.returns = { { .stack = STACK, .address = 0x401000 },
			     { .stack = STACK + 64, .address = 0x402000 } },
	};
	uint64_t inner = stack_copy_behind(&copy.returns[0]);
	uint64_t outer = stack_copy_behind(&copy.returns[1]);

	is_u64(stack_copy_return(&copy, TRAMPOLINE, inner), 0x401000, "the innermost function");
	is_u64(stack_copy_return(&copy, TRAMPOLINE, outer), 0x402000, "its caller");
	is_u64(stack_copy_return(&copy, TRAMPOLINE, outer + 8), TRAMPOLINE, "none at this place");
	is_u64(stack_copy_return(&copy, 0x403000, inner), 0x403000,
	       "a place in the stack that is in use again");
	ok(stack_copy_is_returning(&copy, TRAMPOLINE), "it is just returning");
	ok(!stack_copy_is_returning(&copy, TRAMPOLINE + 128),
	   "it is in an instruction that is stepped through");
	ok(!stack_copy_is_returning(&copy, 0x401000), "it is not");
}

TEST(no_returns)
{
	const struct stack_copy none = { .trampoline = 0 }, empty = { .trampoline = TRAMPOLINE };

	is_u64(stack_copy_return(&none, 0, STACK), 0, "the outermost function");
	is_u64(stack_copy_return(&empty, TRAMPOLINE, STACK), TRAMPOLINE, "an empty list");
	ok(!stack_copy_is_returning(&none, 0) && !stack_copy_is_returning(&empty, TRAMPOLINE),
	   "nobody returns");
}
