// SPDX-License-Identifier: Apache-2.0
#include "stack_copy.h"

#include <string.h>

/* --- Stack as copied by the kernel side --- */

/* Size of the code in the kernel's page for uprobes (kernel/events/uprobes.c), and of what a
 * call pushes. */
#if defined(__x86_64__)
#define TRAMPOLINE_SIZE 128
#define RETURN_SIZE 8
#else
#define TRAMPOLINE_SIZE 4
#define RETURN_SIZE 0
#endif

/* One of the two chunks of a copy. */
struct chunk {
	uint64_t start;
	const uint64_t *pages;
	uint64_t n_pages; /* bits in the bitmap */
	const uint8_t *data;
	uint64_t size;
};

static bool page_is_copied(const struct chunk *chunk, uint64_t page)
{
	return page < chunk->n_pages && chunk->pages[page / 64] >> (page % 64) & 1;
}

/* Number of copied pages before this one. */
static uint64_t pages_copied(const struct chunk *chunk, uint64_t page)
{
	uint64_t n = 0;

	for (uint64_t word = 0; word < page / 64; word++)
		n += (uint64_t)__builtin_popcountll(chunk->pages[word]);
	if (page % 64)
		n += (uint64_t)__builtin_popcountll(chunk->pages[page / 64] << (64 - page % 64));
	return n;
}

/* True if no copied page follows. */
static bool page_is_behind(const struct chunk *chunk, uint64_t page)
{
	return page >= chunk->n_pages ||
	       pages_copied(chunk, page) == pages_copied(chunk, chunk->n_pages);
}

/* Finds a byte in a chunk's data: its index, and how many bytes of its page follow. */
static enum stack_copy_found byte_find(const struct chunk *chunk, uint64_t address, uint64_t *index,
				       uint64_t *left)
{
	uint64_t lead = chunk->start % KD_STACK_PAGE; /* missing part of page 0 */
	uint64_t from_page, page;

	if (address < chunk->start)
		return STACK_COPY_BEFORE;
	if (!chunk->size)
		return STACK_COPY_HOLE;
	from_page = address - chunk->start + lead;
	page = from_page / KD_STACK_PAGE;
	if (!page_is_copied(chunk, page))
		return page_is_behind(chunk, page) ? STACK_COPY_BEYOND : STACK_COPY_HOLE;
	*index = pages_copied(chunk, page) * KD_STACK_PAGE + from_page % KD_STACK_PAGE;
	if (page_is_copied(chunk, 0))
		*index -= lead;
	if (*index >= chunk->size)
		return STACK_COPY_BEYOND;
	*left = KD_STACK_PAGE - from_page % KD_STACK_PAGE;
	if (*left > chunk->size - *index)
		*left = chunk->size - *index;
	return STACK_COPY_THERE;
}

static enum stack_copy_found word_find(const struct chunk *chunk, uint64_t address, uint64_t *word)
{
	uint8_t bytes[sizeof(*word)];
	size_t got = 0;

	/* At most two turns: a word spans one or two pages. */
	while (got < sizeof(bytes)) {
		uint64_t index, left;
		enum stack_copy_found found = byte_find(chunk, address + got, &index, &left);

		if (found != STACK_COPY_THERE)
			return found;
		if (left > sizeof(bytes) - got)
			left = sizeof(bytes) - got;
		memcpy(bytes + got, chunk->data + index, left);
		got += left;
	}
	memcpy(word, bytes, sizeof(bytes));
	return STACK_COPY_THERE;
}

enum stack_copy_found stack_copy_find(const struct stack_copy *copy, uint64_t address,
				      uint64_t *word)
{
	struct chunk chunk = {
		.start = copy->start,
		.pages = copy->pages,
		.n_pages = KD_STACK_PAGES,
		.data = copy->data,
		.size = copy->size,
	};
	enum stack_copy_found found = word_find(&chunk, address, word);

	if (found == STACK_COPY_THERE || !copy->other_start)
		return found;
	chunk = (struct chunk){
		.start = copy->other_start,
		.pages = &copy->other_pages,
		.n_pages = 64,
		.data = copy->data + copy->size,
		.size = copy->other_size,
	};
	if (address - chunk.start >= chunk.n_pages * KD_STACK_PAGE)
		return found;
	return word_find(&chunk, address, word);
}

uint64_t stack_copy_behind(const struct kd_return *instance)
{
	return instance->stack + RETURN_SIZE;
}

uint64_t stack_copy_return(const struct stack_copy *copy, uint64_t address, uint64_t sp)
{
	if (!copy->trampoline || address != copy->trampoline)
		return address;
	for (size_t i = 0; i < copy->n_returns; i++)
		if (stack_copy_behind(&copy->returns[i]) == sp)
			return copy->returns[i].address;
	return address;
}

bool stack_copy_is_returning(const struct stack_copy *copy, uint64_t ip)
{
	return copy->trampoline && copy->n_returns && ip - copy->trampoline < TRAMPOLINE_SIZE;
}

/* --- Data that a stack is unwound from --- */

/* Value of n: cannot be known. */
#define REFUSED UINT16_MAX

bool stack_is_beyond(const struct stack *stack)
{
	for (size_t i = 0; i < stack->n; i++)
		if (stack->frames[i].object && !strcmp(stack->frames[i].object, FRAME_BEYOND))
			return true;
	return false;
}

void digest_begin(struct digest *digest, const struct stack_copy *copy)
{
	digest->shape.ip = copy->regs[KD_REG_IP];
	digest->shape.sp = copy->regs[KD_REG_SP];
	digest->shape.regs = 1ULL << KD_REG_IP | 1ULL << KD_REG_SP;
	digest->shape.n = 0;
	/* Code interrupted by a signal is on another stack. */
	if (copy->other_start)
		digest_refuse(digest);
}

void digest_register(struct digest *digest, unsigned int number)
{
	digest->shape.regs |= 1ULL << number;
}

/* Number of a word, as the BPF programs count. */
static uint64_t word_number(const struct kd_shape *shape, uint64_t address)
{
	uint64_t from_start = address - (shape->sp - KD_RED_ZONE);

	return from_start % sizeof(uint64_t) ? UINT64_MAX : from_start / sizeof(uint64_t);
}

void digest_word(struct digest *digest, uint64_t address)
{
	struct kd_shape *shape = &digest->shape;
	uint64_t number = word_number(shape, address);

	if (shape->n == REFUSED)
		return;
	/* libunwind often reads a word twice. */
	if (shape->n && shape->words[shape->n - 1] == number)
		return;
	if (number > UINT16_MAX || shape->n == KD_SHAPE_WORDS)
		digest_refuse(digest);
	else
		shape->words[shape->n++] = (uint16_t)number;
}

void digest_refuse(struct digest *digest)
{
	digest->shape.n = REFUSED;
}

bool digest_finish(struct digest *digest, const struct stack_copy *copy)
{
	const struct kd_shape *shape = &digest->shape;
	uint64_t hash = kd_hash_seed((uint32_t)copy->process);

	if (shape->n == REFUSED)
		return false;
	hash = kd_hash_mix(kd_hash_mix(hash, shape->n), shape->regs);
	for (unsigned int i = 0; i < shape->n; i++) {
		uint64_t number = shape->words[i], word;

		if (stack_copy_find(copy, shape->sp - KD_RED_ZONE + number * sizeof(word), &word) !=
		    STACK_COPY_THERE)
			return false;
		hash = kd_hash_mix(hash, kd_hash_word(number, word));
	}
	for (unsigned int i = 0; i < KD_REGS; i++)
		hash = kd_hash_mix(hash, kd_hash_register(shape->regs, i, copy->regs[i]));
	digest->hash = hash;
	return true;
}
