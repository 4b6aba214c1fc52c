/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged code, and code of no sense at all, through the search for return instructions: no
 * crash, bounded time, and never a place outside of the code. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "probes/returns.h"
#include "fuzz.h"
#include "returns_code.h"
#include "sanitized.h"
#include "tap.h"

/* With sanitizers tests/fuzz/fuzz_returns.c does the same. */
#define ROUNDS (SANITIZED ? 2000 : 6000)
#define SIZE 512
#define MOST_TIME 1.0 /* seconds for one, of which some us are usual */

static const struct code_part *seed_take(void)
{
	static struct code_part seeds[5];

	seeds[0] = (struct code_part)PART(two_returns);
	seeds[1] = (struct code_part)PART(with_table);
	seeds[2] = (struct code_part)PART(table_of_functions);
	seeds[3] = (struct code_part)PART(with_cold_cold);
	seeds[4] = (struct code_part)PART(over_lock);
	return &seeds[chance(5)];
}

/* Fills code with a function that is damaged, or with anything. */
static size_t code_make(uint8_t *code)
{
	const struct code_part *seed = seed_take();
	size_t size = 1 + chance(SIZE);

	for (size_t i = 0; i < size; i++)
		code[i] = (uint8_t)chance(256);
	if (chance(4)) {
		size = seed->size;
		memcpy(code, seed->code, size);
		for (uint64_t changes = chance(4); changes; changes--)
			code[chance(size)] ^= (uint8_t)(1U << chance(8));
	}
	return size;
}

static bool is_inside(const struct returns *returns, const struct code_part *part)
{
	for (uint32_t i = 0; i < returns->n; i++)
		if (returns->addresses[i] - part->address >= part->size)
			return false;
	return returns->n > 0;
}

int main(void)
{
	unsigned long rounds = fuzz_rounds(ROUNDS), found = 0, results[RETURNS_RESULTS] = { 0 };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	static struct returns returns;
	struct elf_file *program;
	bool inside = true;
	double slowest = 0;

	if (fd < 0 || elf_file_open(&program, fd))
		return EXIT_FAILURE;
	for (unsigned long round = 0; round < rounds; round++) {
		uint8_t *code = malloc(SIZE), *exact;
		size_t size = code_make(code);
		struct function_code function = { .n = 1, .is_64 = chance(8) > 0 };
		double start = cpu_seconds();

		exact = realloc(code, size); /* its end is guarded */
		function.parts[0] = (struct code_part){
			.address = chance(2) ? in_file(with_table) : 0 - (uint64_t)size,
			.code = exact,
			.size = size,
		};
		returns_search(&returns, &function);
		returns_confirm(&returns, &function, program);
		results[returns.result]++;
		found += returns.result == RETURNS_FOUND;
		inside = inside && (returns.result != RETURNS_FOUND ||
				    is_inside(&returns, &function.parts[0]));
		if (cpu_seconds() - start > slowest)
			slowest = cpu_seconds() - start;
		free(exact);
	}
	for (size_t i = 0; i < RETURNS_RESULTS; i++)
		printf("# %lu of result %zu\n", results[i], i);
	ok(found > rounds / 20 && found < rounds, "some have all of their returns");
	ok(inside, "which are all in the code");
	ok(slowest < MOST_TIME, "none takes long");
	elf_file_close(program);
	close(fd);
	return done_testing();
}
