// SPDX-License-Identifier: Apache-2.0
/* The search for the return instructions of a function, in the child and then in the process
 * with privileges. An input is flags, the size and bytes of the function, those of its cold
 * part, and the file's data, in which its tables of jumps are. */
#define _GNU_SOURCE
#include "probes/return_sites.h"
#include "tests/unit/elf_image.h"
#include "input.h"

#define COLD 0xc0 /* where in the code that part begins */

enum { FLAG_32 = 1, FLAG_COLD = 2, FLAG_END = 4 };

static struct elf_file *file_make(struct input code, struct input cold, struct input data)
{
	static struct image image;

	image_init(&image, true);
	if (code.left)
		memcpy(image.bytes + TEXT_OFFSET, code.at, code.left);
	if (cold.left)
		memcpy(image.bytes + TEXT_OFFSET + COLD, cold.at, cold.left);
	data = input_take(&data, 0x40); /* behind it is the dynamic section */
	if (data.left)
		memcpy(image.bytes + DATA_OFFSET, data.at, data.left);
	image_finish(&image);
	return image_open(&image);
}

/* Whether every place is in the function. */
static void found_check(const struct returns *returns, const struct function_code *function)
{
	MUST(returns->n && returns->n <= RETURNS_MAX);
	for (uint32_t i = 0; i < returns->n; i++) {
		bool inside = false;

		for (size_t chunk = 0; chunk < function->n; chunk++)
			inside |= returns->addresses[i] - function->chunks[chunk].address <
				  function->chunks[chunk].size;
		MUST(inside);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct input input = { bytes, size }, chunks[RETURNS_CHUNKS];
	uint8_t flags = input_u8(&input);
	struct function_code function = { .is_64 = !(flags & FLAG_32) };
	static struct returns returns;
	struct elf_file *file;

	for (size_t i = 0; i < RETURNS_CHUNKS; i++) {
		chunks[i] = input_part(&input);
		chunks[i] = input_take(&chunks[i], i ? TEXT_SIZE - COLD : COLD);
	}
	function.n = flags & FLAG_COLD ? 2 : 1;
	for (size_t i = 0; i < function.n; i++) {
		function.chunks[i] = (struct code_chunk){
			.address = TEXT_ADDRESS + (i ? COLD : 0),
			.code = input_copy_of(chunks[i]),
			.size = chunks[i].left,
		};
		if (flags & FLAG_END && !i) /* of all addresses */
			function.chunks[i].address = 0 - (uint64_t)chunks[i].left;
	}
	file = file_make(chunks[0], chunks[1], input);
	returns_search(&returns, &function);
	MUST(returns.result < RETURNS_RESULTS);
	returns_confirm(&returns, &function, file);
	MUST(returns.result < RETURNS_RESULTS);
	if (returns.result == RETURNS_FOUND)
		found_check(&returns, &function);
	elf_file_close(file);
	for (size_t i = 0; i < function.n; i++)
		free((void *)function.chunks[i].code);
	return 0;
}
