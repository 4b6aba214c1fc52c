// SPDX-License-Identifier: Apache-2.0
#include "stack_table.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MOST_MEMORY (256UL << 20)
#define CHUNK (64UL << 10)
#define FIRST_SLOTS 256

/* Memory that is freed as a whole. */
struct chunk {
	struct chunk *next;
	size_t used, room;
	_Alignas(16) char bytes[];
};

/* A hash table of texts or stacks. */
struct slot {
	uint64_t hash;
	const void *item; /* NULL: free */
};

struct index {
	struct slot *slots;
	size_t n, mask;
};

struct stack_table {
	size_t room;
	size_t memory;
	struct chunk *chunks;
	struct index texts;
	struct index stacks;
};

static int index_init(struct index *index)
{
	index->slots = calloc(FIRST_SLOTS, sizeof(*index->slots));
	index->mask = FIRST_SLOTS - 1;
	return index->slots ? 0 : -1;
}

static void index_put(struct slot *slots, size_t mask, uint64_t hash, const void *item)
{
	size_t at = hash & mask;

	while (slots[at].item)
		at = (at + 1) & mask;
	slots[at] = (struct slot){ hash, item };
}

/* Makes sure that another item finds room. */
static int index_reserve(struct index *index)
{
	size_t mask = index->mask * 2 + 1;
	struct slot *slots;

	if (index->n < index->mask / 2)
		return 0;
	slots = calloc(mask + 1, sizeof(*slots));
	if (!slots)
		return -1;
	for (size_t i = 0; i <= index->mask; i++) {
		if (index->slots[i].item)
			index_put(slots, mask, index->slots[i].hash, index->slots[i].item);
	}
	free(index->slots);
	index->slots = slots;
	index->mask = mask;
	return 0;
}

static uint64_t hash_add(uint64_t hash, const void *data, size_t size)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3;
	return hash ^ hash >> 29;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	return text ? hash_add(hash, text, strlen(text) + 1) : hash_add(hash, "\1", 1);
}

static uint64_t stack_hash(const struct frame *frames, size_t n)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < n; i++) {
		hash = hash_add(hash, &frames[i].offset, sizeof(frames[i].offset));
		hash = hash_text(hash, frames[i].function);
		hash = hash_text(hash, frames[i].object);
		hash = hash_text(hash, frames[i].build_id);
		hash = hash_add(hash, &frames[i].file, sizeof(frames[i].file));
	}
	return hash;
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool stacks_same(const struct stack *stack, const struct stack *like)
{
	const struct frame *frames = like->frames;

	if (stack->n != like->n || !is_same_text(stack->stop, like->stop) ||
	    stack->by_frame_pointers != like->by_frame_pointers)
		return false;
	for (size_t i = 0; i < like->n; i++) {
		if (stack->frames[i].offset != frames[i].offset ||
		    stack->frames[i].file != frames[i].file ||
		    !is_same_text(stack->frames[i].function, frames[i].function) ||
		    !is_same_text(stack->frames[i].object, frames[i].object) ||
		    !is_same_text(stack->frames[i].build_id, frames[i].build_id))
			return false;
	}
	return true;
}

static void *table_allocate(struct stack_table *table, size_t size)
{
	size_t room = size > CHUNK ? size : CHUNK;
	struct chunk *chunk = table->chunks;
	void *memory;

	size = (size + 15) / 16 * 16;
	if (!chunk || size > chunk->room - chunk->used) {
		room = (room + 15) / 16 * 16;
		if (room > MOST_MEMORY - table->memory)
			return NULL;
		chunk = malloc(sizeof(*chunk) + room);
		if (!chunk)
			return NULL;
		chunk->next = table->chunks;
		chunk->used = 0;
		chunk->room = room;
		table->chunks = chunk;
		table->memory += room;
	}
	memory = chunk->bytes + chunk->used;
	chunk->used += size;
	return memory;
}

/* Replaces a text by the one that is kept. */
static int table_keep_text(struct stack_table *table, const char **text)
{
	struct index *texts = &table->texts;
	uint64_t hash;
	char *kept;

	if (!*text)
		return 0;
	hash = hash_text(0, *text);
	for (size_t at = hash & texts->mask; texts->slots[at].item; at = (at + 1) & texts->mask) {
		if (texts->slots[at].hash == hash && !strcmp(texts->slots[at].item, *text)) {
			*text = texts->slots[at].item;
			return 0;
		}
	}
	kept = index_reserve(texts) ? NULL : table_allocate(table, strlen(*text) + 1);
	if (!kept)
		return -1;
	strcpy(kept, *text);
	index_put(texts->slots, texts->mask, hash, kept);
	texts->n++;
	*text = kept;
	return 0;
}

static const struct stack *table_add(struct stack_table *table, uint64_t hash,
				     const struct stack *like)
{
	struct index *stacks = &table->stacks;
	size_t n = like->n;
	struct frame *kept;
	struct stack *stack;

	if (stacks->n == table->room || index_reserve(stacks))
		return NULL;
	stack = table_allocate(table, sizeof(*stack));
	kept = stack ? table_allocate(table, n * sizeof(*kept)) : NULL;
	if (!kept)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		kept[i] = like->frames[i];
		if (table_keep_text(table, &kept[i].function) ||
		    table_keep_text(table, &kept[i].object) ||
		    table_keep_text(table, &kept[i].build_id))
			return NULL;
	}
	*stack = *like;
	stack->frames = kept;
	index_put(stacks->slots, stacks->mask, hash, stack);
	stacks->n++;
	return stack;
}

const struct stack *stack_table_get(struct stack_table *table, const struct stack *like)
{
	const struct index *stacks = &table->stacks;
	uint64_t hash = stack_hash(like->frames, like->n);

	for (size_t at = hash & stacks->mask; stacks->slots[at].item;
	     at = (at + 1) & stacks->mask) {
		if (stacks->slots[at].hash == hash && stacks_same(stacks->slots[at].item, like))
			return stacks->slots[at].item;
	}
	return table_add(table, hash, like);
}

struct stack_table *stack_table_new(size_t room)
{
	struct stack_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->room = room;
	if (!index_init(&table->texts) && !index_init(&table->stacks))
		return table;
	stack_table_free(table);
	return NULL;
}

void stack_table_free(struct stack_table *table)
{
	struct chunk *chunk, *next;

	if (!table)
		return;
	for (chunk = table->chunks; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	free(table->texts.slots);
	free(table->stacks.slots);
	free(table);
}
