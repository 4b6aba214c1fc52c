// SPDX-License-Identifier: Apache-2.0
#include "known.h"

/* In n: it cannot be known. */
#define REFUSED UINT16_MAX

void known_begin(struct known *known, const struct stack_copy *copy)
{
	known->shape.ip = copy->regs[KD_REG_IP];
	known->shape.sp = copy->regs[KD_REG_SP];
	known->shape.regs = 1ULL << KD_REG_IP | 1ULL << KD_REG_SP;
	known->shape.n = 0;
	/* What was interrupted by a signal is elsewhere. */
	if (copy->other_start)
		known_refuse(known);
}

void known_register(struct known *known, unsigned int number)
{
	known->shape.regs |= 1ULL << number;
}

/* The number of a word, as the BPF programs count. */
static uint64_t word_number(const struct kd_shape *shape, uint64_t address)
{
	uint64_t from_start = address - (shape->sp - KD_RED_ZONE);

	return from_start % sizeof(uint64_t) ? UINT64_MAX : from_start / sizeof(uint64_t);
}

void known_word(struct known *known, uint64_t address)
{
	struct kd_shape *shape = &known->shape;
	uint64_t number = word_number(shape, address);

	if (shape->n == REFUSED)
		return;
	/* libunwind likes to read what it has just read. */
	if (shape->n && shape->words[shape->n - 1] == number)
		return;
	if (number > UINT16_MAX || shape->n == KD_SHAPE_WORDS)
		known_refuse(known);
	else
		shape->words[shape->n++] = (uint16_t)number;
}

void known_refuse(struct known *known)
{
	known->shape.n = REFUSED;
}

bool known_finish(struct known *known, const struct stack_copy *copy)
{
	const struct kd_shape *shape = &known->shape;
	uint64_t hash = kd_known_seed((uint32_t)copy->process);

	if (shape->n == REFUSED)
		return false;
	hash = kd_known_mix(kd_known_mix(hash, shape->n), shape->regs);
	for (unsigned int i = 0; i < shape->n; i++) {
		uint64_t number = shape->words[i], word;

		if (!stack_copy_read(copy, shape->sp - KD_RED_ZONE + number * sizeof(word), &word))
			return false;
		hash = kd_known_mix(hash, kd_known_word(number, word));
	}
	for (unsigned int i = 0; i < KD_REGS; i++)
		hash = kd_known_mix(hash, kd_known_register(shape->regs, i, copy->regs[i]));
	known->hash = hash;
	return true;
}
