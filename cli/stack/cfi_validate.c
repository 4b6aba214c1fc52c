// SPDX-License-Identifier: Apache-2.0
#include "cfi_validate.h"

#include "cfi_read.h"

#define STATES_MAX 32 /* remembered at once; compilers nest few */

/* libunwind's limit, too (MAX_EXPR_STACK_SIZE). */
#define OPERANDS_MAX 64

/* DWARF 5, 6.4.2 and 7.24, and what GNU tools have added. */
enum {
	CFA_NOP = 0x00,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_AARCH64_NEGATE_RA_STATE = 0x2d,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
	/* With an operand in the low six bits: */
	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_PRIMARY = 0xc0,
};

/* DWARF 5, 2.5.1 and 7.7.1. */
enum {
	OP_ADDR = 0x03,
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S = 0x09,
	OP_CONST2U = 0x0a,
	OP_CONST2S = 0x0b,
	OP_CONST4U = 0x0c,
	OP_CONST4S = 0x0d,
	OP_CONST8U = 0x0e,
	OP_CONST8S = 0x0f,
	OP_DUP = 0x12,
	OP_DROP = 0x13,
	OP_OVER = 0x14,
	OP_PICK = 0x15,
	OP_SWAP = 0x16,
	OP_ROT = 0x17,
	OP_ABS = 0x19,
	OP_AND = 0x1a,
	OP_MINUS = 0x1c,
	OP_MUL = 0x1e,
	OP_NEG = 0x1f,
	OP_NOT = 0x20,
	OP_OR = 0x21,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_SHR = 0x25,
	OP_SHRA = 0x26,
	OP_XOR = 0x27,
	OP_EQ = 0x29,
	OP_NE = 0x2e,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_DEREF_SIZE = 0x94,
	OP_NOP = 0x96,
};

/* By what the CFA is defined. */
enum cfa { CFA_BY_NOTHING, CFA_BY_REGISTER, CFA_BY_EXPRESSION };

struct check {
	struct cfi_reader reader;
	enum cfa cfa;
	enum cfa remembered[STATES_MAX];
	unsigned int n_remembered;
};

/* Registers that have a place in libunwind's tables. */
static bool register_is_known(uint64_t number)
{
#if defined(__x86_64__)
	return number <= 16;
#else
	/* x0 to x30 and sp; ra_sign_state; v0 to v31 */
	return number <= 31 || number == 34 || (number >= 64 && number <= 95);
#endif
}

/* Registers with addresses in them. */
static bool register_is_general(uint64_t number)
{
#if defined(__x86_64__)
	return number <= 16;
#else
	return number <= 31;
#endif
}

static bool operand_sizes(uint8_t op, size_t *size)
{
	switch (op) {
	case OP_CONST1U:
	case OP_CONST1S:
		*size = 1;
		return true;
	case OP_CONST2U:
	case OP_CONST2S:
		*size = 2;
		return true;
	case OP_CONST4U:
	case OP_CONST4S:
		*size = 4;
		return true;
	case OP_ADDR:
	case OP_CONST8U:
	case OP_CONST8S:
		*size = 8;
		return true;
	default:
		return false;
	}
}

/* What an operation without operands takes from the stack and leaves there. */
static bool operation_effect(uint8_t op, unsigned int *takes, unsigned int *leaves)
{
	*takes = 2;
	*leaves = 1;
	switch (op) {
	case OP_AND:
	case OP_MINUS:
	case OP_MUL:
	case OP_OR:
	case OP_PLUS:
	case OP_SHL:
	case OP_SHR:
	case OP_SHRA:
	case OP_XOR:
		return true;
	case OP_DEREF:
	case OP_ABS:
	case OP_NEG:
	case OP_NOT:
		*takes = 1;
		return true;
	case OP_NOP:
		*takes = *leaves = 0;
		return true;
	case OP_DUP:
		*takes = 1;
		*leaves = 2;
		return true;
	case OP_DROP:
		*takes = 1;
		*leaves = 0;
		return true;
	case OP_OVER:
		*leaves = 3;
		return true;
	case OP_SWAP:
		*leaves = 2;
		return true;
	case OP_ROT:
		*takes = *leaves = 3;
		return true;
	default:
		return op >= OP_EQ && op <= OP_NE; /* eq, ge, gt, le, lt, ne */
	}
}

/* One operation, with its operands. Divisions trap on some values (libunwind divides
 * without looking), branches may never end: compilers need neither for a CFA. */
static bool operation_check(struct cfi_reader *reader, unsigned int *depth)
{
	uint8_t op = cfi_read_u8(reader);
	unsigned int takes = 0, leaves = 1;
	size_t size;

	if (operand_sizes(op, &size)) {
		cfi_read_bytes(reader, size);
	} else if (op >= OP_BREG0 && op <= OP_BREG31) {
		cfi_read_sleb(reader);
		if (!register_is_general((uint64_t)op - OP_BREG0))
			return false;
	} else if (op == OP_PLUS_UCONST) {
		cfi_read_uleb(reader);
		takes = 1;
	} else if (op == OP_DEREF_SIZE) {
		size = cfi_read_u8(reader);
		takes = 1;
		if (size != 1 && size != 2 && size != 4 && size != 8)
			return false;
	} else if (op == OP_PICK) {
		takes = cfi_read_u8(reader) + 1U;
		leaves = takes + 1;
	} else if (op < OP_LIT0 || op > OP_LIT31) {
		if (!operation_effect(op, &takes, &leaves))
			return false;
	}
	if (reader->failed || takes > *depth)
		return false;
	*depth = *depth - takes + leaves;
	return *depth <= OPERANDS_MAX;
}

bool cfi_expression_is_valid(const uint8_t *bytes, size_t size)
{
	struct cfi_reader reader = cfi_reader_new(bytes, size, 0);
	unsigned int depth = 1; /* libunwind begins with the CFA, or with 0 in its place */

	while (!reader.failed && reader.at < reader.end) {
		if (!operation_check(&reader, &depth))
			return false;
	}
	return !reader.failed && depth > 0;
}

static bool expression_check(struct check *check)
{
	uint64_t size = cfi_read_uleb(&check->reader);
	const uint8_t *bytes = cfi_read_bytes(&check->reader, size);

	return bytes && cfi_expression_is_valid(bytes, size);
}

static bool register_check(struct check *check)
{
	return register_is_known(cfi_read_uleb(&check->reader));
}

static bool general_register_check(struct check *check)
{
	return register_is_general(cfi_read_uleb(&check->reader));
}

/* An instruction that ends a row, or changes rows as a whole. */
static bool row_instruction_check(struct check *check, uint8_t opcode)
{
	static const uint8_t sizes[] = {
		[CFA_ADVANCE_LOC1] = 1,
		[CFA_ADVANCE_LOC2] = 2,
		[CFA_ADVANCE_LOC4] = 4,
	};

	switch (opcode) {
	case CFA_NOP:
		return true;
	case CFA_ADVANCE_LOC1:
	case CFA_ADVANCE_LOC2:
	case CFA_ADVANCE_LOC4:
		cfi_read_bytes(&check->reader, sizes[opcode]);
		return check->cfa != CFA_BY_NOTHING;
	case CFA_REMEMBER_STATE:
		if (check->n_remembered == STATES_MAX)
			return false;
		check->remembered[check->n_remembered++] = check->cfa;
		return true;
	case CFA_RESTORE_STATE:
		if (!check->n_remembered)
			return false;
		check->cfa = check->remembered[--check->n_remembered];
		return true;
	case CFA_GNU_ARGS_SIZE:
		cfi_read_uleb(&check->reader);
		return true;
#if defined(__aarch64__)
	case CFA_AARCH64_NEGATE_RA_STATE:
		return true;
#endif
	default:
		return false;
	}
}

/* An instruction that defines the CFA. */
static bool cfa_instruction_check(struct check *check, uint8_t opcode)
{
	switch (opcode) {
	case CFA_DEF_CFA:
	case CFA_DEF_CFA_SF:
		if (!general_register_check(check))
			return false;
		cfi_read_uleb(&check->reader); /* as long as a signed one */
		check->cfa = CFA_BY_REGISTER;
		return true;
	case CFA_DEF_CFA_REGISTER:
		/* After an expression, too, with the offset before that: hand-written code
		 * (libgcrypt) relies on it, and all unwinders do so. */
		if (check->cfa == CFA_BY_NOTHING)
			return false;
		check->cfa = CFA_BY_REGISTER;
		return general_register_check(check);
	case CFA_DEF_CFA_OFFSET:
	case CFA_DEF_CFA_OFFSET_SF:
		cfi_read_uleb(&check->reader);
		return check->cfa == CFA_BY_REGISTER;
	case CFA_DEF_CFA_EXPRESSION:
		check->cfa = CFA_BY_EXPRESSION;
		return expression_check(check);
	default:
		return row_instruction_check(check, opcode);
	}
}

static bool instruction_check(struct check *check)
{
	uint8_t opcode = cfi_read_u8(&check->reader);

	switch (opcode & CFA_PRIMARY) {
	case CFA_ADVANCE_LOC:
		return check->cfa != CFA_BY_NOTHING;
	case CFA_OFFSET:
		cfi_read_uleb(&check->reader);
		return register_is_known(opcode & ~CFA_PRIMARY);
	case CFA_RESTORE:
		return register_is_known(opcode & ~CFA_PRIMARY);
	}
	switch (opcode) {
	case CFA_OFFSET_EXTENDED:
	case CFA_OFFSET_EXTENDED_SF:
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		if (!register_check(check))
			return false;
		cfi_read_uleb(&check->reader);
		return true;
	case CFA_RESTORE_EXTENDED:
	case CFA_UNDEFINED:
	case CFA_SAME_VALUE:
		return register_check(check);
	case CFA_REGISTER:
		return register_check(check) && general_register_check(check);
	case CFA_EXPRESSION:
	case CFA_VAL_EXPRESSION:
		return register_check(check) && expression_check(check);
	default:
		return cfa_instruction_check(check, opcode);
	}
}

static bool program_check(struct check *check, struct cfi_program program)
{
	if (program.size > CFI_PROGRAM_MAX)
		return false;
	check->reader = cfi_reader_new(program.bytes, program.size, 0);
	check->n_remembered = 0; /* libunwind forgets what a CIE remembers */
	while (check->reader.at < check->reader.end) {
		if (!instruction_check(check) || check->reader.failed)
			return false;
	}
	return true;
}

bool cfi_programs_are_valid(struct cfi_program cie, struct cfi_program fde)
{
	struct check check = { .cfa = CFA_BY_NOTHING };

	/* Every row has a CFA: libunwind asserts that. */
	return program_check(&check, cie) && program_check(&check, fde) &&
	       check.cfa != CFA_BY_NOTHING;
}
