// SPDX-License-Identifier: Apache-2.0
#include "returns.h"

#include <stdlib.h>
#include <string.h>

#include "instructions.h"

/* Of a table's entries as many are looked at as any table has. */
#define TABLE_ENTRIES 3

/* A search, and where instructions begin: a byte for each of the code. */
struct sweep {
	struct returns *returns;
	const struct function_code *function;
	uint8_t *begins[RETURNS_PARTS];
};

/* The part that has the address, or NULL. */
static const struct code_part *part_of(const struct function_code *function, uint64_t address)
{
	for (size_t i = 0; i < function->n; i++)
		if (address - function->parts[i].address < function->parts[i].size)
			return &function->parts[i];
	return NULL;
}

static bool failed(struct returns *returns, enum returns_result result, uint64_t at,
		   uint64_t target)
{
	returns->result = result;
	returns->at = at;
	returns->target = target;
	return false;
}

static bool return_add(struct returns *returns, uint64_t address)
{
	if (returns->n == RETURNS_MAX)
		return failed(returns, RETURNS_TOO_MANY, address, 0);
	returns->addresses[returns->n++] = address;
	return true;
}

static bool table_add(struct returns *returns, const struct instruction *instruction)
{
	if (returns->n_tables == RETURNS_TABLES)
		return failed(returns, RETURNS_TOO_MANY, instruction->address, 0);
	returns->tables[returns->n_tables++] = (struct jump_table){
		.at = instruction->address,
		.address = instruction->table,
		.entry_size = instruction->entry_size,
	};
	return true;
}

/* Returns false where the search ends. */
static bool instruction_take(struct sweep *sweep, const struct instruction *instruction)
{
	struct returns *returns = sweep->returns;

	switch (instruction->kind) {
	case INSTRUCTION_PLAIN:
		return true;
	case INSTRUCTION_RETURN:
		return return_add(returns, instruction->address);
	case INSTRUCTION_JUMP:
		if (part_of(sweep->function, instruction->target))
			return true;
		return failed(returns, RETURNS_LEAVES, instruction->address, instruction->target);
	case INSTRUCTION_TABLE:
		return table_add(returns, instruction);
	case INSTRUCTION_INDIRECT:
		return failed(returns, RETURNS_INDIRECT, instruction->address, 0);
	case INSTRUCTION_FAR:
		return failed(returns, RETURNS_FAR, instruction->address, 0);
	}
	return false;
}

static bool part_sweep(struct sweep *sweep, struct instructions *instructions, size_t i)
{
	const struct code_part *part = &sweep->function->parts[i];
	struct instruction instruction;
	int got;

	instructions_begin(instructions, part->code, part->size, part->address);
	while ((got = instructions_next(instructions, &instruction)) > 0) {
		sweep->begins[i][instruction.address - part->address] = 1;
		if (!instruction_take(sweep, &instruction))
			return false;
	}
	return !got || failed(sweep->returns, RETURNS_UNKNOWN, instruction.address, 0);
}

/* An instruction that another one jumps into the middle of would be one that was not seen.
 * Only a lock prefix may be jumped over, as the C library does where there is one
 * thread. */
static bool begins_there(const struct sweep *sweep, uint64_t target)
{
	const struct code_part *part = part_of(sweep->function, target);
	uint64_t offset = target - part->address;

	if (sweep->begins[part - sweep->function->parts][offset])
		return true;
#if defined(__x86_64__)
	return offset && part->code[offset - 1] == 0xf0;
#else
	return false;
#endif
}

static bool part_check_jumps(struct sweep *sweep, struct instructions *instructions, size_t i)
{
	const struct code_part *part = &sweep->function->parts[i];
	struct instruction instruction;

	instructions_begin(instructions, part->code, part->size, part->address);
	while (instructions_next(instructions, &instruction) > 0)
		if (instruction.kind == INSTRUCTION_JUMP &&
		    !begins_there(sweep, instruction.target))
			return failed(sweep->returns, RETURNS_UNKNOWN, instruction.address,
				      instruction.target);
	return true;
}

static void function_sweep(struct sweep *sweep, struct instructions *instructions)
{
	const struct function_code *function = sweep->function;

	for (size_t i = 0; i < function->n; i++)
		if (!part_sweep(sweep, instructions, i))
			return;
	for (size_t i = 0; i < function->n; i++)
		if (!part_check_jumps(sweep, instructions, i))
			return;
	if (!sweep->returns->n)
		failed(sweep->returns, RETURNS_NONE, 0, 0);
}

void returns_search(struct returns *returns, const struct function_code *function)
{
	struct sweep sweep = { .returns = returns, .function = function };
	struct instructions *instructions;
	bool memory = true;

	*returns = (struct returns){ .result = RETURNS_FOUND };
	if (instructions_open(&instructions, function->is_64)) {
		returns->result = RETURNS_FAILED;
		return;
	}
	for (size_t i = 0; i < function->n; i++) {
		sweep.begins[i] = calloc(function->parts[i].size + 1, 1);
		memory = memory && sweep.begins[i];
	}
	if (memory)
		function_sweep(&sweep, instructions);
	else
		returns->result = RETURNS_FAILED;
	for (size_t i = 0; i < function->n; i++)
		free(sweep.begins[i]);
	instructions_close(instructions);
}

/* Where entry i of a table leads. Returns false if there is no such entry. */
static bool entry_read(const struct elf_file *file, const struct jump_table *table, unsigned int i,
		       uint64_t *target)
{
	uint64_t offset, address = table->address + i * table->entry_size;
	int32_t distance;

	if (!elf_file_offset(file, address, 0, &offset))
		return false;
	if (table->entry_size == 8)
		return !elf_file_read(file, offset, target, sizeof(*target));
	if (elf_file_read(file, offset, &distance, sizeof(distance)))
		return false;
	*target = table->address + (uint64_t)(int64_t)distance;
	return true;
}

static bool table_is_inside(const struct elf_file *file, const struct jump_table *table,
			    const struct function_code *function)
{
	uint64_t target;

	if (!table->entry_size)
		return part_of(function, table->address);
	for (unsigned int i = 0; i < TABLE_ENTRIES; i++)
		if (!entry_read(file, table, i, &target) || !part_of(function, target))
			return false;
	return table->entry_size == 4 || table->entry_size == 8;
}

void returns_confirm(struct returns *returns, const struct function_code *function,
		     const struct elf_file *file)
{
	if (returns->result >= RETURNS_RESULTS || returns->n > RETURNS_MAX ||
	    returns->n_tables > RETURNS_TABLES)
		returns->result = RETURNS_FAILED;
	if (returns->result != RETURNS_FOUND)
		return;
	for (uint32_t i = 0; i < returns->n; i++)
		if (!part_of(function, returns->addresses[i]))
			returns->result = RETURNS_FAILED;
	for (uint32_t i = 0; i < returns->n_tables; i++)
		if (!table_is_inside(file, &returns->tables[i], function)) {
			failed(returns, RETURNS_INDIRECT, returns->tables[i].at, 0);
			return;
		}
}
