// SPDX-License-Identifier: Apache-2.0
#include "cfi_validate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- Bounds-checked reader of call frame information --- */

#define PIECE 16384
#define MAX_SECTION (64UL << 20) /* the largest browsers have a third of it */

enum piece { PIECE_UNREAD, PIECE_READ, PIECE_FAILED };

int cfi_section_open(struct cfi_section *section, const struct elf_file *file, uint64_t offset,
		     uint64_t address, uint64_t size)
{
	uint64_t end;

	*section = (struct cfi_section){ .file = file, .offset = offset, .address = address };
	if (offset > elf_file_size(file) || size > elf_file_size(file) - offset ||
	    __builtin_add_overflow(address, size, &end))
		return -EBADMSG;
	if (size > MAX_SECTION)
		return -E2BIG;
	section->size = size;
	section->bytes = malloc(size + 1); /* pages that are never read take no memory */
	section->pieces = calloc(size / PIECE + 1, 1);
	return section->bytes && section->pieces ? 0 : -ENOMEM;
}

void cfi_section_close(struct cfi_section *section)
{
	free(section->bytes);
	free(section->pieces);
}

static bool piece_read(struct cfi_section *section, size_t piece)
{
	size_t from = piece * PIECE;
	size_t size = section->size - from < PIECE ? section->size - from : PIECE;

	if (section->pieces[piece] == PIECE_UNREAD)
		section->pieces[piece] = elf_file_read(section->file, section->offset + from,
						       section->bytes + from, size)
						 ? PIECE_FAILED
						 : PIECE_READ;
	return section->pieces[piece] == PIECE_READ;
}

const uint8_t *cfi_bytes_at(struct cfi_section *section, uint64_t address, size_t n)
{
	uint64_t from = address - section->address;

	if (address < section->address || from > section->size || n > section->size - from)
		return NULL;
	for (size_t piece = from / PIECE; piece * PIECE < from + n; piece++) {
		if (!piece_read(section, piece))
			return NULL;
	}
	return section->bytes + from;
}

struct cfi_reader cfi_reader_new(const uint8_t *bytes, size_t size, uint64_t address)
{
	return (struct cfi_reader){
		.at = bytes,
		.end = bytes ? bytes + size : NULL,
		.address = address,
		.failed = !bytes,
	};
}

const uint8_t *cfi_read_bytes(struct cfi_reader *reader, uint64_t n)
{
	const uint8_t *bytes = reader->at;

	if (reader->failed || n > (uint64_t)(reader->end - reader->at)) {
		reader->failed = true;
		return NULL;
	}
	reader->at += n;
	reader->address += n;
	return bytes;
}

/* Files have this machine's byte order, see elf_file_open(). */
#define DEFINE_READ(name, type)                                                                    \
	type name(struct cfi_reader *reader)                                                       \
	{                                                                                          \
		const uint8_t *bytes = cfi_read_bytes(reader, sizeof(type));                       \
		type value = 0;                                                                    \
                                                                                                   \
		if (bytes)                                                                         \
			memcpy(&value, bytes, sizeof(value));                                      \
		return value;                                                                      \
	}

DEFINE_READ(cfi_read_u8, uint8_t)
static DEFINE_READ(cfi_read_u16, uint16_t)
	DEFINE_READ(cfi_read_u32, uint32_t) static DEFINE_READ(cfi_read_u64, uint64_t)

		static uint64_t leb_read(struct cfi_reader *reader, bool is_signed)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 70; shift += 7) {
		uint8_t byte = cfi_read_u8(reader);

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if (is_signed && byte & 0x40 && shift < 57)
			value |= ~0ULL << (shift + 7);
		return reader->failed ? 0 : value;
	}
	reader->failed = true;
	return 0;
}

uint64_t cfi_read_uleb(struct cfi_reader *reader)
{
	return leb_read(reader, false);
}

int64_t cfi_read_sleb(struct cfi_reader *reader)
{
	return (int64_t)leb_read(reader, true);
}

static uint64_t format_read(struct cfi_reader *reader, uint8_t format)
{
	switch (format) {
	case CFI_PE_ABSPTR:
	case CFI_PE_UDATA8:
	case CFI_PE_SDATA8:
		return cfi_read_u64(reader);
	case CFI_PE_UDATA2:
		return cfi_read_u16(reader);
	case CFI_PE_UDATA4:
		return cfi_read_u32(reader);
	case CFI_PE_SDATA2:
		return (uint64_t)(int64_t)(int16_t)cfi_read_u16(reader);
	case CFI_PE_SDATA4:
		return (uint64_t)(int64_t)(int32_t)cfi_read_u32(reader);
	default:
		reader->failed = true;
		return 0;
	}
}

uint64_t cfi_read_pointer(struct cfi_reader *reader, uint8_t encoding)
{
	uint64_t at = reader->address;
	uint64_t value = format_read(reader, encoding & CFI_PE_FORMAT);

	switch (encoding & CFI_PE_BASE) {
	case CFI_PE_ABSPTR:
		return value;
	case CFI_PE_PCREL:
		return value ? value + at : 0; /* 0 means no pointer, whatever the base */
	default:
		reader->failed = true;
		return 0;
	}
}

/* --- Validation for libunwind --- */

#define STATES_MAX 32 /* remembered at once; compilers rarely nest */

/* libunwind's own limit (MAX_EXPR_STACK_SIZE). */
#define OPERANDS_MAX 64

/* DWARF 5, 7.24. Opcodes with an operand in the low six bits: */
enum {
	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_PRIMARY = 0xc0,
};
/* Opcodes from one to the other include all that define the CFA as compilers do. */
enum { CFA_NOP = 0x00, CFA_DEF_CFA = 0x0c, CFA_DEF_CFA_EXPRESSION = 0x0f };

/* What the CFA is based on. */
enum cfa { CFA_BY_NOTHING, CFA_BY_REGISTER, CFA_BY_EXPRESSION };

struct check {
	struct cfi_reader reader;
	enum cfa cfa;
	enum cfa remembered[STATES_MAX];
	unsigned int n_remembered;
};

/* Registers in libunwind's tables. */
static bool register_is_supported(uint64_t number)
{
#if defined(__x86_64__)
	return number <= 16;
#else
	/* x0 to x30 and sp; ra_sign_state; v0 to v31 */
	return number <= 31 || number == 34 || (number >= 64 && number <= 95);
#endif
}

/* Registers that hold addresses. */
static bool register_is_general(uint64_t number)
{
#if defined(__x86_64__)
	return number <= 16;
#else
	return number <= 31;
#endif
}

/* DWARF 5, 2.5.1 and 7.7.1: operands and stack effects of operations. Divisions trap on some
 * values (libunwind does not check), branches may loop: compilers need neither for a CFA. */
enum operand {
	/* up to 8: number of bytes */
	OPERAND_ULEB = 16,
	OPERAND_BASE,  /* SLEB; the opcode contains the register */
	OPERAND_SIZE,  /* a byte: size of the access */
	OPERAND_INDEX, /* a byte: index into the stack */
};
#define OP_BREG0 0x70
#define OP(takes, leaves, operand)                                                                 \
	{                                                                                          \
		true, takes, leaves, operand                                                       \
	}
static const struct operation {
	bool is_supported;
	uint8_t takes, leaves, operand;
} operations[256] = {
	[0x03] = OP(0, 1, 8),                        /* addr */
	[0x06] = OP(1, 1, 0),                        /* deref */
	[0x08 ... 0x09] = OP(0, 1, 1),               /* const1u, const1s */
	[0x0a ... 0x0b] = OP(0, 1, 2),               /* const2u, const2s */
	[0x0c ... 0x0d] = OP(0, 1, 4),               /* const4u, const4s */
	[0x0e ... 0x0f] = OP(0, 1, 8),               /* const8u, const8s */
	[0x12] = OP(1, 2, 0),                        /* dup */
	[0x13] = OP(1, 0, 0),                        /* drop */
	[0x14] = OP(2, 3, 0),                        /* over */
	[0x15] = OP(0, 1, OPERAND_INDEX),            /* pick */
	[0x16] = OP(2, 2, 0),                        /* swap */
	[0x17] = OP(3, 3, 0),                        /* rot */
	[0x19] = OP(1, 1, 0),                        /* abs */
	[0x1a] = OP(2, 1, 0),                        /* and */
	[0x1c] = OP(2, 1, 0),                        /* minus */
	[0x1e] = OP(2, 1, 0),                        /* mul */
	[0x1f ... 0x20] = OP(1, 1, 0),               /* neg, not */
	[0x21 ... 0x22] = OP(2, 1, 0),               /* or, plus */
	[0x23] = OP(1, 1, OPERAND_ULEB),             /* plus_uconst */
	[0x24 ... 0x27] = OP(2, 1, 0),               /* shl, shr, shra, xor */
	[0x29 ... 0x2e] = OP(2, 1, 0),               /* eq, ge, gt, le, lt, ne */
	[0x30 ... 0x4f] = OP(0, 1, 0),               /* lit0 to lit31 */
	[OP_BREG0... 0x8f] = OP(0, 1, OPERAND_BASE), /* breg0 to breg31 */
	[0x94] = OP(1, 1, OPERAND_SIZE),             /* deref_size */
	[0x96] = OP(0, 0, 0),                        /* nop */
};

/* Checks one operation with its operands. */
static bool operation_check(struct cfi_reader *reader, unsigned int *depth)
{
	uint8_t code = cfi_read_u8(reader), size;
	const struct operation *operation = &operations[code];
	unsigned int takes = operation->takes, leaves = operation->leaves;

	if (!operation->is_supported)
		return false;
	switch (operation->operand) {
	case OPERAND_ULEB:
		cfi_read_uleb(reader);
		break;
	case OPERAND_BASE:
		cfi_read_sleb(reader);
		if (!register_is_general(code - OP_BREG0))
			return false;
		break;
	case OPERAND_SIZE:
		size = cfi_read_u8(reader);
		if (size != 1 && size != 2 && size != 4 && size != 8)
			return false;
		break;
	case OPERAND_INDEX:
		takes = cfi_read_u8(reader) + 1U;
		leaves = takes + 1;
		break;
	default:
		cfi_read_bytes(reader, operation->operand);
	}
	if (reader->failed || takes > *depth)
		return false;
	*depth = *depth - takes + leaves;
	return *depth <= OPERANDS_MAX;
}

/* True if a DWARF expression is known and complete, has no branches or divisions, and leaves a
 * value. */
static bool cfi_expression_is_valid(const uint8_t *bytes, size_t size)
{
	struct cfi_reader reader = cfi_reader_new(bytes, size, 0);
	unsigned int depth = 1; /* libunwind starts with the CFA, or with 0 in its place */

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

/* Effect of an instruction on the CFA, or its precondition. */
enum effect {
	EFFECT_NONE,
	ENDS_ROW,
	DEFINES_REGISTER,
	DEFINES_EXPRESSION,
	/* Also after an expression, with the offset from before it: hand-written code
	 * (libgcrypt) relies on this, and all unwinders support it. */
	CHANGES_REGISTER,
	CHANGES_OFFSET,
	REMEMBERS,
	RESTORES,
};

/* DWARF 5, 6.4.2 and 7.24, and GNU extensions. Operands: a register, r, or one that holds
 * addresses, g; a number, u; an expression, e; bytes. */
static const struct cfa_instruction {
	const char *operands; /* NULL: unknown */
	enum effect effect;
} instructions[CFA_ADVANCE_LOC] = {
	[CFA_NOP] = { "", EFFECT_NONE },
	[0x02] = { "1", ENDS_ROW }, /* advance_loc1 */
	[0x03] = { "2", ENDS_ROW },
	[0x04] = { "4", ENDS_ROW },
	[0x05] = { "ru", EFFECT_NONE }, /* offset_extended */
	[0x06] = { "r", EFFECT_NONE },  /* restore_extended */
	[0x07] = { "r", EFFECT_NONE },  /* undefined */
	[0x08] = { "r", EFFECT_NONE },  /* same_value */
	[0x09] = { "rg", EFFECT_NONE }, /* register */
	[0x0a] = { "", REMEMBERS },     /* remember_state */
	[0x0b] = { "", RESTORES },      /* restore_state */
	[CFA_DEF_CFA] = { "gu", DEFINES_REGISTER },
	[0x0d] = { "g", CHANGES_REGISTER }, /* def_cfa_register */
	[0x0e] = { "u", CHANGES_OFFSET },   /* def_cfa_offset */
	[CFA_DEF_CFA_EXPRESSION] = { "e", DEFINES_EXPRESSION },
	[0x10] = { "re", EFFECT_NONE },      /* expression */
	[0x11] = { "ru", EFFECT_NONE },      /* offset_extended_sf: as long as an unsigned one */
	[0x12] = { "gu", DEFINES_REGISTER }, /* def_cfa_sf */
	[0x13] = { "u", CHANGES_OFFSET },    /* def_cfa_offset_sf */
	[0x16] = { "re", EFFECT_NONE },      /* val_expression */
#if defined(__aarch64__)
	[0x2d] = { "", EFFECT_NONE }, /* AARCH64_negate_ra_state */
#endif
	[0x2e] = { "u", EFFECT_NONE },  /* GNU_args_size */
	[0x2f] = { "ru", EFFECT_NONE }, /* GNU_negative_offset_extended */
};

static bool operand_check(struct check *check, char operand)
{
	switch (operand) {
	case 'r':
		return register_is_supported(cfi_read_uleb(&check->reader));
	case 'g':
		return register_is_general(cfi_read_uleb(&check->reader));
	case 'e':
		return expression_check(check);
	case 'u':
		cfi_read_uleb(&check->reader);
		return true;
	default:
		cfi_read_bytes(&check->reader, (size_t)(operand - '0'));
		return true;
	}
}

static bool effect_check(struct check *check, enum effect effect)
{
	bool is_defined = check->cfa != CFA_BY_NOTHING;

	switch (effect) {
	case EFFECT_NONE:
		return true;
	case ENDS_ROW:
		return is_defined;
	case DEFINES_REGISTER:
		check->cfa = CFA_BY_REGISTER;
		return true;
	case DEFINES_EXPRESSION:
		check->cfa = CFA_BY_EXPRESSION;
		return true;
	case CHANGES_REGISTER:
		check->cfa = CFA_BY_REGISTER;
		return is_defined;
	case CHANGES_OFFSET:
		return check->cfa == CFA_BY_REGISTER;
	case REMEMBERS:
		if (check->n_remembered == STATES_MAX)
			return false;
		check->remembered[check->n_remembered++] = check->cfa;
		return true;
	case RESTORES:
		if (!check->n_remembered)
			return false;
		check->cfa = check->remembered[--check->n_remembered];
		return true;
	}
	return false;
}

static bool instruction_check(struct check *check)
{
	uint8_t opcode = cfi_read_u8(&check->reader);
	const struct cfa_instruction *instruction = &instructions[opcode & ~CFA_PRIMARY];

	switch (opcode & CFA_PRIMARY) {
	case CFA_ADVANCE_LOC:
		return effect_check(check, ENDS_ROW);
	case CFA_OFFSET:
		cfi_read_uleb(&check->reader);
		/* fall through */
	case CFA_RESTORE:
		return register_is_supported(opcode & ~CFA_PRIMARY);
	}
	if (!instruction->operands)
		return false;
	for (const char *operand = instruction->operands; *operand; operand++)
		if (!operand_check(check, *operand))
			return false;
	return effect_check(check, instruction->effect);
}

static bool program_check(struct check *check, struct cfi_program program)
{
	if (program.size > CFI_PROGRAM_MAX)
		return false;
	check->reader = cfi_reader_new(program.bytes, program.size, 0);
	check->n_remembered = 0; /* libunwind discards what a CIE remembers */
	while (check->reader.at < check->reader.end) {
		if (!instruction_check(check) || check->reader.failed)
			return false;
	}
	return true;
}

bool cfi_programs_are_valid(struct cfi_program cie, struct cfi_program fde)
{
	struct check check = { .cfa = CFA_BY_NOTHING };

	/* Every row has a CFA: libunwind asserts it. */
	return program_check(&check, cie) && program_check(&check, fde) &&
	       check.cfa != CFA_BY_NOTHING;
}

bool cfi_program_begins_inside(struct cfi_program fde)
{
	uint8_t first = fde.size ? fde.bytes[0] : CFA_NOP;

	return (first & CFA_PRIMARY) == CFA_OFFSET ||
	       (first >= CFA_DEF_CFA && first <= CFA_DEF_CFA_EXPRESSION);
}
