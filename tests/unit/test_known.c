/* SPDX-License-Identifier: Apache-2.0 */
/* What a copy of a stack says: by what it is unwound from, which stacks are the same, which are
 * not, and which cannot be known; and to where functions return whose return address the kernel has
 * taken the place of. */
#include <errno.h>
#include <string.h>

#include "cli/stack/protocol.h"
#include "tap.h"

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
static bool known_make(struct known *known, const struct stack_copy *copy, const uint64_t *words,
		       unsigned int n)
{
	known_begin(known, copy);
	known_register(known, KEPT_REGISTER);
	for (unsigned int i = 0; i < n; i++)
		known_word(known, address_of(words[i]));
	return known_finish(known, copy);
}

static const uint64_t words[] = { 20, 3, 700 };

/* What the programs find for a thread that has this now: they read the shape alone. */
static uint64_t hash_of(const struct kd_shape *shape, const struct stack_copy *copy)
{
	uint64_t hash = kd_known_seed((uint32_t)copy->process);

	hash = kd_known_mix(kd_known_mix(hash, shape->n), shape->regs);

	for (unsigned int i = 0; i < shape->n; i++)
		hash = kd_known_mix(hash, kd_known_word(shape->words[i], stack[shape->words[i]]));
	for (unsigned int i = 0; i < KD_REGS; i++)
		hash = kd_known_mix(hash, kd_known_register(shape->regs, i, copy->regs[i]));
	return hash;
}

TEST(same)
{
	struct stack_copy copy = copy_make();
	struct known known, again;

	ok(known_make(&known, &copy, words, 3), "a stack is known");
	is_u64(known.shape.ip, copy.regs[KD_REG_IP], "its instruction");
	is_u64(known.shape.sp, copy.regs[KD_REG_SP], "its stack pointer");
	is_u64(known.shape.regs, 1ULL << KD_REG_IP | 1ULL << KD_REG_SP | 1ULL << KEPT_REGISTER,
	       "the registers that were read");
	is_u64(known.shape.n, 3, "as many words as were read");
	for (unsigned int i = 0; i < 3; i++)
		is_u64(known.shape.words[i], words[i], "word %u", i);
	is_u64(known.hash, hash_of(&known.shape, &copy), "the hash is that of the programs");
	copy.regs[OTHER_REGISTER]++;
	stack[21]++;
	ok(known_make(&again, &copy, words, 3) && again.hash == known.hash,
	   "what was not read does not matter");
}

TEST(different)
{
	static const uint64_t others[] = { 20, 4, 700 }, order[] = { 3, 20, 700 };
	struct stack_copy copy = copy_make();
	struct known known, other;

	known_make(&known, &copy, words, 3);
	for (unsigned int i = 0; i < 3; i++) {
		stack[words[i]]++;
		ok(known_make(&other, &copy, words, 3) && other.hash != known.hash,
		   "word %u has another value: another stack", i);
		stack[words[i]]--;
	}
	copy.regs[KEPT_REGISTER]++;
	ok(known_make(&other, &copy, words, 3) && other.hash != known.hash,
	   "a register has another value");
	copy = copy_make();
	stack[4] = stack[3];
	ok(known_make(&other, &copy, others, 3) && other.hash != known.hash,
	   "the same value in another word");
	ok(known_make(&other, &copy, order, 3) && other.hash != known.hash, "in another order");
	ok(known_make(&other, &copy, words, 2) && other.hash != known.hash, "fewer words");
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
	struct known known;

	known_begin(&known, &copy);
	known_refuse(&known);
	known_word(&known, address_of(1));
	ok(!known_finish(&known, &copy), "one that is refused stays so");
	for (size_t i = 0; i < COUNT(cases); i++) {
		known_begin(&known, &copy);
		known_word(&known, cases[i].address);
		ok(!known_finish(&known, &copy), "%s", cases[i].what);
	}
	copy.other_start = START + (1 << 20);
	known_begin(&known, &copy);
	ok(!known_finish(&known, &copy), "a stack in two parts");
}

TEST(room)
{
	struct stack_copy copy = copy_make();
	struct known known;

	known_begin(&known, &copy);
	for (unsigned int i = 0; i < 3 * KD_SHAPE_WORDS; i++)
		known_word(&known, address_of(i / 3));
	ok(known_finish(&known, &copy),
	   "as many words as there is room for, each read three times");
	is_u64(known.shape.n, KD_SHAPE_WORDS, "each is there once");
	known_word(&known, address_of(KD_SHAPE_WORDS));
	ok(!known_finish(&known, &copy), "one more");
	for (unsigned int i = 0; i < 1000; i++)
		known_word(&known, address_of(i));
	ok(!known_finish(&known, &copy), "many more");
}

/* --- As it is sent --- */

static struct packet packet;

TEST(sent)
{
	struct stack_copy copy = copy_make();
	struct known known, got;

	known_make(&known, &copy, words, 3);
	packet_begin(&packet, MESSAGE_KNOWN);
	packet_put_known(&packet, &known);
	is_u64((uint64_t)-packet_get_known(&packet, &got), 0, "what was sent is received");
	is_u64(got.hash, known.hash, "with its hash");
	ok(got.shape.regs == known.shape.regs && got.shape.n == 3 &&
		   !memcmp(got.shape.words, known.shape.words, 3 * sizeof(*known.shape.words)),
	   "and its shape");
	packet.size--;
	is_u64((uint64_t)-packet_get_known(&packet, &got), EBADMSG, "half a word less");
	packet.size += 3;
	is_u64((uint64_t)-packet_get_known(&packet, &got), EBADMSG, "a word more");
	packet.size = 0;
	is_u64((uint64_t)-packet_get_known(&packet, &got), EBADMSG, "nothing");
}

/* Numbers of words that are not those sent, of a sender that is not to be believed. */
TEST(hostile)
{
	static const uint16_t numbers[] = { 0, KD_SHAPE_WORDS + 1, 0x7fff, UINT16_MAX };
	struct kd_shape shape = { .ip = 1, .sp = 2, .n = KD_SHAPE_WORDS };
	struct known got;

	packet_begin(&packet, MESSAGE_KNOWN);
	for (unsigned int i = 0; i < COUNT(numbers); i++) {
		shape.n = numbers[i];
		packet.size = sizeof(shape);
		memcpy(packet.payload, &shape, sizeof(shape));
		is_u64((uint64_t)-packet_get_known(&packet, &got), EBADMSG,
		       "the most words, and said to be %u", numbers[i]);
		packet.size = offsetof(struct kd_shape, words) + 2UL * numbers[i];
		if (packet.size > sizeof(shape) && packet.size <= PACKET_PAYLOAD)
			is_u64((uint64_t)-packet_get_known(&packet, &got), EBADMSG,
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
