// SPDX-License-Identifier: Apache-2.0
/* Stacks, registers and the instructions of call frame information: whatever passes
 * validation is given to libunwind. An input is
 *   flags, instructions of a CIE, of PARTS FDEs
 *   start of the stack in its page, how many of its bytes belong to the other part
 *   KD_REGS registers and the words of the stack, of three bytes each: see word_read() */
#define _GNU_SOURCE
#include "cli/stack/unwind.h"
#include "probes/elf/cfi.h"
#include "tests/unit/frames_image.h"
#include "input.h"

#define PARTS 4
#define WORDS 512
#define STACK 0x7ffc12340000
#define OTHER 0x7f0000000000
#define BIAS 0x10000000
#define PROGRAM_MAX 1024

enum { FLAG_SIGNAL = 1, FLAG_OTHER = 2, FLAG_RETURNS = 4, FLAG_HOLE = 8 };

static struct unwinder *unwinder;
static struct unwind_object object = { .bias = BIAS };

static bool object_find(void *context, uint64_t address, struct unwind_object *found)
{
	(void)context;
	*found = object;
	return address - BIAS - TEXT_ADDRESS < TEXT_SIZE;
}

/* --- The file --- */

/* Behind what a CIE begins with, if it is one's. */
static struct frames_program program_take(struct input *input, uint8_t *capacity, bool of_cie)
{
	struct input program = input_part(input);
	size_t size = of_cie ? sizeof(frames_begin) : 0;

	program = input_take(&program, PROGRAM_MAX);
	memcpy(capacity, frames_begin, size);
	if (program.left)
		memcpy(capacity + size, program.at, program.left);
	return (struct frames_program){ capacity, size + program.left };
}

static struct elf_file *file_make(struct input *input, bool signal)
{
	static uint8_t rooms[PARTS + 1][PROGRAM_MAX + sizeof(frames_begin)];
	struct frames_program cie = program_take(input, rooms[PARTS], true), fdes[PARTS];

	for (unsigned int i = 0; i < PARTS; i++)
		fdes[i] = program_take(input, rooms[i], false);
	return frames_file(cie, fdes, PARTS, signal);
}

/* --- The stack --- */

/* Mostly addresses of what is there. */
static uint64_t word_read(struct input *input)
{
	uint8_t kind = input_u8(input);
	uint64_t value = input_u16(input);

	switch (kind % 6) {
	case 0:
		return value;
	case 1:
		return STACK + value % (8 * WORDS + 64);
	case 2:
	case 3:
		return BIAS + TEXT_ADDRESS + value % TEXT_SIZE;
	case 4:
		return OTHER + value;
	default:
		return 0 - value;
	}
}

static void copy_read(struct input *input, struct stack_copy *copy, uint8_t flags)
{
	uint64_t *words = malloc(WORDS * sizeof(*words));
	size_t n = 0;

	MUST(words);
	*copy = (struct stack_copy){ .start = STACK + input_u8(input) % KD_STACK_PAGE };
	copy->other_size = input_u16(input);
	for (unsigned int i = 0; i < KD_REGS; i++)
		copy->regs[i] = word_read(input);
	memset(copy->pages, 0xff, sizeof(copy->pages));
	if (flags & FLAG_HOLE)
		copy->pages[0] = input_u64(input);
	if (flags & FLAG_RETURNS) {
		copy->trampoline = word_read(input);
		copy->n_returns = input_u8(input) % (KD_RETURNS + 1);
		for (size_t i = 0; i < copy->n_returns; i++)
			copy->returns[i] = (struct kd_return){ .stack = word_read(input),
							       .address = word_read(input) };
	}
	while (input->left && n < WORDS)
		words[n++] = word_read(input);
	copy->size = n * sizeof(*words);
	if (flags & FLAG_OTHER && copy->other_size < copy->size) {
		copy->other_start = OTHER;
		copy->other_pages = UINT64_MAX;
		copy->size -= copy->other_size;
	} else {
		copy->other_size = 0;
	}
	copy->data = realloc(words, n ? n * sizeof(*words) : 1); /* its end is guarded */
	MUST(copy->data);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	unwinder = unwinder_new(object_find, NULL);
	MUST(unwinder);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct input input = { bytes, size };
	uint8_t flags = input_u8(&input);
	struct elf_file *file = file_make(&input, flags & FLAG_SIGNAL);
	static struct unwound unwound;
	struct stack_copy copy;
	struct cfi_fde fde;

	MUST(!cfi_open(&object.cfi, file));
	copy_read(&input, &copy, flags);
	unwind(unwinder, &copy, &unwound);
	MUST(unwound.n && unwound.n <= UNWIND_FRAMES && unwound.stop < UNWIND_STOPS);
	for (unsigned int i = 0; i < PARTS; i++) /* those the stack does not lead to */
		cfi_find(object.cfi, TEXT_ADDRESS + i * (TEXT_SIZE / PARTS), &fde);
	digest_finish(&unwound.digest, &copy);
	unwinder_flush(unwinder);
	cfi_close(object.cfi);
	elf_file_close(file);
	free((void *)copy.data);
	return 0;
}
