// SPDX-License-Identifier: Apache-2.0
#include "return_sites.h"

#include <capstone/capstone.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/library.h"

/* Registers of either machine, by capstone's numbers. */
#define REGISTERS 512
_Static_assert(X86_REG_ENDING <= REGISTERS && ARM64_REG_ENDING <= REGISTERS, "an entry for each");

/* What a register holds of a jump table. */
struct loaded_entry {
	enum { ENTRY_NONE, ENTRY_DISTANCE, ENTRY_TARGET } state;
	uint64_t table;
	unsigned int size; /* of the table's entries; 0: not found */
};

/* Functions of the library in use. */
#define CAPSTONE(name) __typeof__(name) *name
struct capstone {
	void *library;
	CAPSTONE(cs_open);
	CAPSTONE(cs_close);
	CAPSTONE(cs_option);
	CAPSTONE(cs_malloc);
	CAPSTONE(cs_free);
	CAPSTONE(cs_disasm_iter);
	CAPSTONE(cs_insn_group);
	CAPSTONE(cs_regs_access);
};

struct instructions {
	struct capstone capstone;
	csh handle;
	cs_insn *decoded;
	const uint8_t *code;
	size_t left;
	uint64_t address;
	/* Found in address order, not in execution order, so results need a check later. */
	uint64_t base[REGISTERS]; /* last address put into each register; 0: none */
	struct loaded_entry entry[REGISTERS];
};

void *instructions_library(void)
{
	return library_open(INSTRUCTIONS_LIBRARY);
}

#define TAKE(capstone, name) library_take((capstone)->library, name, &(capstone)->name)

static bool capstone_load(struct capstone *capstone)
{
	capstone->library = instructions_library();
	return capstone->library && TAKE(capstone, cs_open) && TAKE(capstone, cs_close) &&
	       TAKE(capstone, cs_option) && TAKE(capstone, cs_malloc) && TAKE(capstone, cs_free) &&
	       TAKE(capstone, cs_disasm_iter) && TAKE(capstone, cs_insn_group) &&
	       TAKE(capstone, cs_regs_access);
}

int instructions_open(struct instructions **out, bool is_64)
{
	struct instructions *instructions = calloc(1, sizeof(*instructions));
	struct capstone *capstone;
	cs_err err;

	*out = NULL;
	if (!instructions)
		return -ENOMEM;
	capstone = &instructions->capstone;
	if (!capstone_load(capstone)) {
		instructions_close(instructions);
		return -ENOPKG;
	}
#if defined(__x86_64__)
	err = capstone->cs_open(CS_ARCH_X86, is_64 ? CS_MODE_64 : CS_MODE_32,
				&instructions->handle);
#else
	err = is_64 ? capstone->cs_open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, &instructions->handle)
		    : CS_ERR_ARCH;
#endif
	if (err) {
		instructions_close(instructions);
		return err == CS_ERR_MEM ? -ENOMEM : -ENOTSUP;
	}
	capstone->cs_option(instructions->handle, CS_OPT_DETAIL, CS_OPT_ON);
	instructions->decoded = capstone->cs_malloc(instructions->handle);
	if (!instructions->decoded) {
		instructions_close(instructions);
		return -ENOMEM;
	}
	*out = instructions;
	return 0;
}

void instructions_close(struct instructions *instructions)
{
	if (!instructions)
		return;
	if (instructions->decoded)
		instructions->capstone.cs_free(instructions->decoded, 1);
	if (instructions->handle)
		instructions->capstone.cs_close(&instructions->handle);
	if (instructions->capstone.library)
		library_close(instructions->capstone.library);
	free(instructions);
}

void instructions_begin(struct instructions *instructions, const void *code, size_t size,
			uint64_t address)
{
	instructions->code = code;
	instructions->left = size;
	instructions->address = address;
	memset(instructions->base, 0, sizeof(instructions->base));
	memset(instructions->entry, 0, sizeof(instructions->entry));
}

/* Forgets tables in registers that an instruction writes. */
static void entries_forget(struct instructions *instructions)
{
	cs_regs read, written;
	uint8_t n_read, n_written;

	if (instructions->capstone.cs_regs_access(instructions->handle, instructions->decoded, read,
						  &n_read, written, &n_written))
		return;
	for (uint8_t i = 0; i < n_written; i++)
		if (written[i] < REGISTERS)
			instructions->entry[written[i]].state = ENTRY_NONE;
}

static bool in_group(const struct instructions *instructions, unsigned int group)
{
	return instructions->capstone.cs_insn_group(instructions->handle, instructions->decoded,
						    group);
}

#if defined(__x86_64__)

/* "lea table(%rip), %base" */
static void base_take(struct instructions *instructions, const cs_x86 *x86)
{
	const cs_x86_op *to = &x86->operands[0], *from = &x86->operands[1];
	const cs_insn *insn = instructions->decoded;

	if (insn->id == X86_INS_LEA && from->mem.base == X86_REG_RIP && !from->mem.index)
		instructions->base[to->reg] = insn->address + insn->size + (uint64_t)from->mem.disp;
}

/* Returns the address of the table whose entry a memory operand is; 0: none. */
static uint64_t operand_table(const struct instructions *instructions, const cs_x86_op *operand,
			      int scale)
{
	const x86_op_mem *mem = &operand->mem;
	uint64_t base;

	if (operand->type != X86_OP_MEM || mem->segment || !mem->index || mem->scale != scale)
		return 0;
	if (!mem->base)
		return (uint64_t)mem->disp;
	base = instructions->base[mem->base];
	return base ? base + (uint64_t)mem->disp : 0;
}

/* "movslq (%base,%index,4), %to"; or "mov table(,%index,8), %to" for addresses. */
static struct loaded_entry entry_read(const struct instructions *instructions, const cs_x86 *x86)
{
	const struct loaded_entry none = { .state = ENTRY_NONE };
	struct loaded_entry entry = none;

	if (instructions->decoded->id == X86_INS_MOVSXD) {
		entry.state = ENTRY_DISTANCE;
		entry.size = 4;
	} else if (instructions->decoded->id == X86_INS_MOV && x86->operands[0].size == 8) {
		entry.state = ENTRY_TARGET;
		entry.size = 8;
	} else {
		return none;
	}
	entry.table = operand_table(instructions, &x86->operands[1], (int)entry.size);
	return entry.table ? entry : none;
}

/* "add %base, %to", in either order: the sum is a code address. */
static bool entry_add(struct instructions *instructions, const cs_x86 *x86)
{
	const cs_x86_op *to = &x86->operands[0], *from = &x86->operands[1];
	struct loaded_entry *entry = instructions->entry;
	x86_reg distance, base;

	if (instructions->decoded->id != X86_INS_ADD || from->type != X86_OP_REG)
		return false;
	distance = entry[to->reg].state == ENTRY_DISTANCE ? to->reg : from->reg;
	base = distance == to->reg ? from->reg : to->reg;
	if (entry[distance].state != ENTRY_DISTANCE ||
	    instructions->base[base] != entry[distance].table)
		return false;
	entry[to->reg] = entry[distance];
	entry[to->reg].state = ENTRY_TARGET;
	return true;
}

static void tables_follow(struct instructions *instructions)
{
	const cs_x86 *x86 = &instructions->decoded->detail->x86;
	struct loaded_entry taken;

	if (x86->op_count != 2 || x86->operands[0].type != X86_OP_REG) {
		entries_forget(instructions);
		return;
	}
	if (entry_add(instructions, x86))
		return;
	/* The entry may overwrite the index or base register. */
	taken = entry_read(instructions, x86);
	entries_forget(instructions);
	base_take(instructions, x86);
	if (taken.state != ENTRY_NONE)
		instructions->entry[x86->operands[0].reg] = taken;
}

static void jump_table_note(const struct instructions *instructions, const cs_x86_op *operand,
			    struct instruction *instruction)
{
	const struct loaded_entry *entry;

	instruction->kind = INSTRUCTION_INDIRECT;
	if (operand->type == X86_OP_REG) {
		entry = &instructions->entry[operand->reg];
		if (entry->state != ENTRY_TARGET)
			return;
		instruction->table = entry->table;
		instruction->entry_size = entry->size;
	} else {
		instruction->table = operand_table(instructions, operand, 8);
		instruction->entry_size = 8;
		if (!instruction->table)
			return;
	}
	instruction->kind = INSTRUCTION_TABLE;
}

static void instruction_set_class(struct instructions *instructions,
				  struct instruction *instruction)
{
	const cs_insn *insn = instructions->decoded;
	const cs_x86 *x86 = &insn->detail->x86;

	switch (insn->id) {
	case X86_INS_RET:
		instruction->kind = INSTRUCTION_RETURN;
		return;
	case X86_INS_RETF:
	case X86_INS_RETFQ:
	case X86_INS_LJMP:
	case X86_INS_SYSRET:
	case X86_INS_SYSEXIT:
		instruction->kind = INSTRUCTION_FAR;
		return;
	}
	if (in_group(instructions, CS_GRP_IRET)) {
		instruction->kind = INSTRUCTION_FAR;
	} else if (!in_group(instructions, CS_GRP_CALL) &&
		   (in_group(instructions, CS_GRP_JUMP) ||
		    in_group(instructions, CS_GRP_BRANCH_RELATIVE))) {
		if (x86->operands[0].type == X86_OP_IMM) {
			instruction->kind = INSTRUCTION_JUMP;
			instruction->target = (uint64_t)x86->operands[0].imm;
		} else {
			jump_table_note(instructions, &x86->operands[0], instruction);
		}
	}
}

#else

/* "adr base, code", and "add to, base, entry, sxtb #2" for a table's entry. */
static void tables_follow(struct instructions *instructions)
{
	const cs_arm64 *arm = &instructions->decoded->detail->arm64;
	const cs_arm64_op *operands = arm->operands;

	entries_forget(instructions);
	if (instructions->decoded->id == ARM64_INS_ADR && arm->op_count == 2) {
		instructions->base[operands[0].reg] = (uint64_t)operands[1].imm;
	} else if (instructions->decoded->id == ARM64_INS_ADD && arm->op_count == 3 &&
		   operands[1].type == ARM64_OP_REG && operands[2].type == ARM64_OP_REG &&
		   operands[2].ext && instructions->base[operands[1].reg]) {
		instructions->entry[operands[0].reg] = (struct loaded_entry){
			.state = ENTRY_TARGET,
			.table = instructions->base[operands[1].reg],
		};
	}
}

static void instruction_set_class(struct instructions *instructions,
				  struct instruction *instruction)
{
	const cs_insn *insn = instructions->decoded;
	const cs_arm64 *arm = &insn->detail->arm64;
	const struct loaded_entry *entry;

	switch (insn->id) {
	case ARM64_INS_RET:
		instruction->kind = INSTRUCTION_RETURN;
		return;
	case ARM64_INS_ERET:
	case ARM64_INS_DRPS:
		instruction->kind = INSTRUCTION_FAR;
		return;
	case ARM64_INS_BR:
		entry = &instructions->entry[arm->operands[0].reg];
		instruction->kind = entry->state == ENTRY_TARGET ? INSTRUCTION_TABLE
								 : INSTRUCTION_INDIRECT;
		instruction->table = entry->table;
		return;
	case ARM64_INS_BL:
	case ARM64_INS_BLR:
		return;
	}
	if (!in_group(instructions, CS_GRP_JUMP) && !in_group(instructions, CS_GRP_BRANCH_RELATIVE))
		return;
	instruction->kind = INSTRUCTION_JUMP;
	instruction->target = (uint64_t)arm->operands[arm->op_count - 1].imm;
}

#endif

int instructions_next(struct instructions *instructions, struct instruction *instruction)
{
	*instruction = (struct instruction){ .address = instructions->address };
	if (!instructions->left)
		return 0;
	if (!instructions->capstone.cs_disasm_iter(instructions->handle, &instructions->code,
						   &instructions->left, &instructions->address,
						   instructions->decoded))
		return -EBADMSG;
	instruction->size = instructions->decoded->size;
	instruction_set_class(instructions, instruction);
	tables_follow(instructions);
	return 1;
}
