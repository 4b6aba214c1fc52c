// SPDX-License-Identifier: Apache-2.0
/* The call frame information of a hostile file, looked up and unwound by. An input is the
 * file. The stack leads back into it all the time. */
#define _GNU_SOURCE
#include "cli/stack/unwind.h"
#include "probes/elf/cfi.h"
#include "input.h"

#define PLACES 16 /* in the code */
#define WORDS 256 /* of the stack */
#define STACK 0x7ffc12340000UL

static struct unwinder *unwinder;
static struct unwind_object object = { .bias = 0x10000000 };
static uint64_t code_start, code_end;

static bool object_find(void *context, uint64_t address, struct unwind_object *found)
{
	(void)context;
	*found = object;
	return address - object.bias >= code_start && address - object.bias < code_end;
}

static uint64_t location(unsigned int i)
{
	return code_start + (code_end - code_start) / PLACES * (i % PLACES) + i % 3;
}

static void entries_find(struct cfi *cfi)
{
	struct cfi_fde fde;
	uint64_t word;

	for (unsigned int i = 0; i < PLACES; i++) {
		uint64_t address = location(i);

		if (cfi_find(cfi, address, &fde))
			continue;
		MUST(fde.start <= address && address < fde.end);
		MUST(cfi_word(cfi, fde.address, &word));
		cfi_word(cfi, fde.address - 3, &word);
		cfi_word(cfi, fde.address + fde.size, &word);
	}
}

static void stacks_unwind(void)
{
	static uint64_t words[WORDS];
	struct stack_copy copy = {
		.start = STACK,
		.pages = { 1 },
		.data = (const uint8_t *)words,
		.size = sizeof(words),
	};
	static struct unwound unwound;

	for (unsigned int i = 0; i < WORDS; i++)
		words[i] = i % 3 ? object.bias + location(i) : STACK + 8 * i + 64;
	for (unsigned int i = 0; i < KD_REGS; i++)
		copy.regs[i] = STACK + 64;
	copy.regs[KD_REG_SP] = STACK;
	for (unsigned int i = 0; i < 4; i++) {
		copy.regs[KD_REG_IP] = object.bias + location(5 * i);
		unwind(unwinder, &copy, &unwound);
		MUST(unwound.n && unwound.n <= UNWIND_FRAMES && unwound.stop < UNWIND_STOPS);
	}
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
	struct elf_file *file;

	if (elf_file_open_image(&file, input_copy_of((struct input){ bytes, size }), size))
		return 0;
	if (elf_file_code(file, &code_start, &code_end) && !cfi_open(&object.cfi, file)) {
		entries_find(object.cfi);
		stacks_unwind();
		unwinder_flush(unwinder);
		cfi_close(object.cfi);
	}
	elf_file_close(file);
	return 0;
}
