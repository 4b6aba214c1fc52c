// SPDX-License-Identifier: Apache-2.0
#include "seen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_WORDS ((UNWIND_FRAMES + 63) / 64)

/* All that makes a stack what it is: words, of which n + KEY_FIXED are used. */
#define KEY_FIXED (2 + EXACT_WORDS)
struct key {
	uint64_t words[KEY_FIXED + UNWIND_FRAMES];
	size_t n;
};

struct stack_seen {
	uint64_t hash;
	size_t n;
	uint64_t *words;
};

struct seen {
	uint32_t n, room;
	uint32_t mask;             /* of slots */
	struct stack_seen *stacks; /* by ID */
	uint32_t slots[];          /* ID + 1; 0: free */
};

struct seen *seen_new(uint32_t room)
{
	uint32_t slots = 1;
	struct seen *seen;

	while (slots < 2 * room)
		slots *= 2;
	seen = calloc(1, sizeof(*seen) + slots * sizeof(*seen->slots));
	if (!seen)
		return NULL;
	seen->room = room;
	seen->mask = slots - 1;
	seen->stacks = calloc(room, sizeof(*seen->stacks));
	if (!seen->stacks) {
		free(seen);
		return NULL;
	}
	return seen;
}

void seen_forget(struct seen *seen)
{
	for (uint32_t i = 0; i < seen->n; i++)
		free(seen->stacks[i].words);
	memset(seen->slots, 0, (seen->mask + 1) * sizeof(*seen->slots));
	seen->n = 0;
}

void seen_free(struct seen *seen)
{
	if (!seen)
		return;
	seen_forget(seen);
	free(seen->stacks);
	free(seen);
}

void seen_reserve(struct seen *seen, uint32_t n)
{
	if (n > seen->room - seen->n)
		seen_forget(seen);
}

static void key_make(struct key *key, uint64_t version, const struct unwound *unwound)
{
	uint64_t *exact = key->words + 2, *ip = key->words + KEY_FIXED;

	memset(key->words, 0, KEY_FIXED * sizeof(*key->words));
	key->words[0] = version;
	key->words[1] = unwound->stop | (uint64_t)unwound->by_frame_pointers << 32;
	for (unsigned int i = 0; i < unwound->n; i++) {
		exact[i / 64] |= (uint64_t)unwound->exact[i] << (i % 64);
		ip[i] = unwound->ip[i];
	}
	key->n = KEY_FIXED + unwound->n;
}

static uint64_t key_hash(const struct key *key)
{
	uint64_t hash = key->n;

	for (size_t i = 0; i < key->n; i++) {
		hash = (hash ^ key->words[i]) * 0x9fb21c651e98df25;
		hash ^= hash >> 32;
	}
	return hash;
}

int seen_find(struct seen *seen, uint64_t version, const struct unwound *unwound, uint32_t *id,
	      bool *added)
{
	struct stack_seen *stack;
	struct key key;
	uint64_t hash;
	uint32_t slot;

	if (unwound->n > UNWIND_FRAMES)
		return -ENOSPC;
	key_make(&key, version, unwound);
	hash = key_hash(&key);
	*added = false;
	for (slot = hash & seen->mask; seen->slots[slot]; slot = (slot + 1) & seen->mask) {
		*id = seen->slots[slot] - 1;
		stack = &seen->stacks[*id];
		if (stack->hash == hash && stack->n == key.n &&
		    !memcmp(stack->words, key.words, key.n * sizeof(*key.words)))
			return 0;
	}
	if (seen->n == seen->room)
		return -ENOSPC;
	stack = &seen->stacks[seen->n];
	stack->words = malloc(key.n * sizeof(*key.words));
	if (!stack->words)
		return -ENOMEM;
	memcpy(stack->words, key.words, key.n * sizeof(*key.words));
	stack->n = key.n;
	stack->hash = hash;
	*id = seen->n++;
	seen->slots[slot] = *id + 1;
	*added = true;
	return 0;
}
