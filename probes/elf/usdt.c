// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "usdt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- Notes --- */

#define MAX_NOTES (16ULL << 20) /* bytes; the largest known have 1/100 of it */
#define NOTE_NAME "stapsdt"
#define NOTE_TYPE 3

static uint64_t word_read(const struct elf_file *file, const uint8_t *at)
{
	uint32_t narrow;
	uint64_t wide;

	if (elf_file_is_64(file)) {
		memcpy(&wide, at, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, at, sizeof(narrow));
	return narrow;
}

/* Parses a note: three addresses, then provider, name and arguments, each with a NUL. Addresses
 * are from link time; if prelink moved them, the section .stapsdt.base moved equally. */
static int site_parse(struct usdt_site *site, const struct elf_file *file,
		      const struct elf_note *note, uint64_t moved)
{
	size_t word = elf_file_is_64(file) ? 8 : 4, left;
	uint64_t base;
	const char *end;

	if (note->desc_size < 3 * word)
		return -EBADMSG;
	site->address = word_read(file, note->desc);
	base = word_read(file, note->desc + word);
	site->semaphore = word_read(file, note->desc + 2 * word);
	if (base && moved) {
		site->address += moved - base;
		if (site->semaphore)
			site->semaphore += moved - base;
	}
	site->provider = (const char *)note->desc + 3 * word;
	left = note->desc_size - 3 * word;
	end = memchr(site->provider, '\0', left);
	if (!end)
		return -EBADMSG;
	left -= (size_t)(end + 1 - site->provider);
	site->name = end + 1;
	end = memchr(site->name, '\0', left);
	if (!end)
		return -EBADMSG;
	left -= (size_t)(end + 1 - site->name);
	/* Notes of the first version end here. */
	site->arguments = memchr(end + 1, '\0', left) ? end + 1 : end;
	return 0;
}

/* The semaphore is a counter in writable, per-process memory. */
static void site_locate(struct usdt_site *site, const struct elf_file *file)
{
	site->offset = site->semaphore_offset = 0;
	site->usable = elf_file_offset(file, site->address, PF_X, &site->offset) &&
		       (!site->semaphore ||
			elf_file_offset(file, site->semaphore, PF_W, &site->semaphore_offset));
}

static int notes_each(const struct elf_file *file, const uint8_t *notes, size_t size,
		      usdt_found *found, void *context)
{
	uint64_t moved = 0;
	struct elf_note note;
	size_t at = 0;
	int err;

	elf_file_section_address(file, ".stapsdt.base", &moved);
	while ((err = elf_note_next(&note, notes, size, &at)) > 0) {
		struct usdt_site site;

		if (note.type != NOTE_TYPE || note.name_size != sizeof(NOTE_NAME) ||
		    memcmp(note.name, NOTE_NAME, sizeof(NOTE_NAME)) != 0)
			continue;
		err = site_parse(&site, file, &note, moved);
		if (err)
			return err;
		site_locate(&site, file);
		err = found(context, &site);
		if (err)
			return err;
	}
	return err;
}

int usdt_each(const struct elf_file *file, usdt_found *found, void *context)
{
	const Elf64_Shdr *section = NULL;
	uint64_t size = 0;
	int err = 0;

	while (!err && (section = elf_file_section(file, section, SHT_NOTE, ".note." NOTE_NAME))) {
		uint8_t *notes;

		/* Sections may overlap: limits their sum. */
		size += section->sh_size;
		if (size > MAX_NOTES)
			return -E2BIG;
		notes = malloc(section->sh_size + 1);
		if (!notes)
			return -ENOMEM;
		err = elf_file_read(file, section->sh_offset, notes, section->sh_size);
		if (!err)
			err = notes_each(file, notes, section->sh_size, found, context);
		free(notes);
	}
	return err;
}

/* --- Registers by name --- */

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* arch/x86/include/uapi/asm/ptrace.h; NULL: this part has no name. */
static const struct {
	const char *names[5]; /* 64, 32, 16, low 8 bits, and bits 8 to 15 */
	uint16_t offset;
} x86_registers[] = {
	{ { "rdi", "edi", "di", "dil" }, 112 },
	{ { "rsi", "esi", "si", "sil" }, 104 },
	{ { "rdx", "edx", "dx", "dl", "dh" }, 96 },
	{ { "rcx", "ecx", "cx", "cl", "ch" }, 88 },
	{ { "r8", "r8d", "r8w", "r8b" }, 72 },
	{ { "r9", "r9d", "r9w", "r9b" }, 64 },
	{ { "rax", "eax", "ax", "al", "ah" }, 80 },
	{ { "rsp", "esp", "sp", "spl" }, 152 },
	{ { "rbx", "ebx", "bx", "bl", "bh" }, 40 },
	{ { "rbp", "ebp", "bp", "bpl" }, 32 },
	{ { "r10", "r10d", "r10w", "r10b" }, 56 },
	{ { "r11", "r11d", "r11w", "r11b" }, 48 },
	{ { "r12", "r12d", "r12w", "r12b" }, 24 },
	{ { "r13", "r13d", "r13w", "r13b" }, 16 },
	{ { "r14", "r14d", "r14w", "r14b" }, 8 },
	{ { "r15", "r15d", "r15w", "r15b" }, 0 },
	{ { "rip", "eip" }, 128 },
};

/* arch/arm64/include/uapi/asm/ptrace.h: x0 to x30, stack pointer, program counter. */
#define ARM64_REGISTERS 31
#define ARM64_STACK (ARM64_REGISTERS * 8)
#define ARM64_COUNTER (ARM64_STACK + 8)

static bool name_is(const char *name, size_t length, const char *other)
{
	return other && strlen(other) == length && !memcmp(name, other, length);
}

static bool x86_find(struct subregister *subregister, const char *name, size_t length)
{
	static const uint8_t sizes[] = { 8, 4, 2, 1, 1 };

	for (size_t i = 0; i < COUNT(x86_registers); i++)
		for (size_t j = 0; j < COUNT(sizes); j++) {
			if (!name_is(name, length, x86_registers[i].names[j]))
				continue;
			subregister->offset = (uint16_t)(x86_registers[i].offset + (j == 4));
			subregister->size = sizes[j];
			return true;
		}
	return false;
}

static bool arm64_find(struct subregister *subregister, const char *name, size_t length)
{
	static const struct {
		const char *name;
		uint16_t offset;
	} special[] = {
		{ "sp", ARM64_STACK },
		{ "pc", ARM64_COUNTER },
		{ "fp", 29 * 8 },
		{ "lr", 30 * 8 },
	};
	unsigned int number = 0;

	subregister->size = 8;
	for (size_t i = 0; i < COUNT(special); i++)
		if (name_is(name, length, special[i].name)) {
			subregister->offset = special[i].offset;
			return true;
		}
	if (length < 2 || length > 3 || (*name != 'x' && *name != 'w') ||
	    (length == 3 && name[1] == '0'))
		return false;
	for (size_t i = 1; i < length; i++) {
		if (name[i] < '0' || name[i] > '9')
			return false;
		number = number * 10 + (unsigned int)(name[i] - '0');
	}
	subregister->offset = (uint16_t)(number * 8);
	subregister->size = *name == 'x' ? 8 : 4;
	return number < ARM64_REGISTERS;
}

bool register_find(struct subregister *subregister, enum register_machine machine, const char *name,
		   size_t length)
{
	return machine == MACHINE_X86_64 ? x86_find(subregister, name, length)
					 : arm64_find(subregister, name, length);
}

/* System V ABI for AMD64: rdi, rsi, rdx, rcx, r8, r9, then above the return address; AAPCS64. */
const struct call_registers call_registers[] = {
	[MACHINE_X86_64] = { 6, { 112, 104, 96, 88, 72, 64 }, .result = 80, .stack = 152, 8 },
	[MACHINE_ARM64] = { 8, { 0, 8, 16, 24, 32, 40, 48, 56 }, 0, ARM64_STACK, 0 },
};

/* --- Arguments in assembler syntax --- */

/* Unread rest of an argument's text. */
struct rest {
	const char *at, *end;
};

static bool take(struct rest *rest, char c)
{
	if (rest->at == rest->end || *rest->at != c)
		return false;
	rest->at++;
	return true;
}

static void blanks_skip(struct rest *rest)
{
	while (take(rest, ' '))
		;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Parses a signed number, decimal or with 0x. Returns false, and takes nothing, without one or
 * if it is too long. */
static bool number_take(struct rest *rest, int64_t *number)
{
	struct rest ahead = *rest;
	bool negative = take(&ahead, '-');
	bool is_hex = ahead.end - ahead.at > 2 && ahead.at[0] == '0' && ahead.at[1] == 'x';
	uint64_t magnitude;
	char *end;

	if (ahead.at == ahead.end || !is_digit(*ahead.at))
		return false;
	errno = 0;
	magnitude = strtoull(ahead.at, &end, is_hex ? 16 : 10); /* a blank or NUL follows */
	if (errno || end > rest->end || (negative && magnitude > 1ULL << 63))
		return false;
	*number = (int64_t)(negative ? -magnitude : magnitude);
	rest->at = end;
	return true;
}

/* Parses a register name without its %. */
static bool register_take(struct rest *rest, enum register_machine machine,
			  struct subregister *subregister)
{
	const char *name = rest->at;

	while (rest->at < rest->end &&
	       (is_digit(*rest->at) || (*rest->at >= 'a' && *rest->at <= 'z')))
		rest->at++;
	return register_find(subregister, machine, name, (size_t)(rest->at - name));
}

/* "(base)", "(base,index)", "(base,index,scale)", "(,index,scale)" */
static bool x86_address_read(struct rest *rest, struct usdt_argument *argument)
{
	int64_t scale = 1;

	if (!take(rest, '('))
		return false;
	if (take(rest, '%') && !register_take(rest, MACHINE_X86_64, &argument->base))
		return false;
	if (take(rest, ',')) {
		if (!take(rest, '%') || !register_take(rest, MACHINE_X86_64, &argument->index))
			return false;
		if (take(rest, ',') && !number_take(rest, &scale))
			return false;
	}
	if (scale != 1 && scale != 2 && scale != 4 && scale != 8)
		return false;
	argument->shift = (uint8_t)__builtin_ctzll((uint64_t)scale);
	/* Addresses use full registers. */
	return take(rest, ')') && (argument->base.size == 8 || argument->index.size == 8) &&
	       argument->base.size % 8 == 0 && argument->index.size % 8 == 0;
}

static bool x86_read(struct rest *rest, struct usdt_argument *argument)
{
	if (take(rest, '$'))
		return number_take(rest, &argument->offset);
	if (take(rest, '%'))
		return register_take(rest, MACHINE_X86_64, &argument->base);
	argument->in_memory = true;
	number_take(rest, &argument->offset);
	return x86_address_read(rest, argument);
}

/* "5", "x0", "[x0]", "[x0, 8]", "[x0, x1]" */
static bool arm64_read(struct rest *rest, struct usdt_argument *argument)
{
	if (!take(rest, '['))
		return number_take(rest, &argument->offset) ||
		       register_take(rest, MACHINE_ARM64, &argument->base);
	argument->in_memory = true;
	if (!register_take(rest, MACHINE_ARM64, &argument->base))
		return false;
	blanks_skip(rest);
	if (take(rest, ',')) {
		blanks_skip(rest);
		take(rest, '#');
		if (!number_take(rest, &argument->offset) &&
		    !register_take(rest, MACHINE_ARM64, &argument->index))
			return false;
		blanks_skip(rest);
	}
	return take(rest, ']') && argument->base.size == 8 && argument->index.size % 8 == 0;
}

/* Arguments are separated by blanks, except inside brackets. */
static bool argument_find(struct rest *rest, const char *text, unsigned int number)
{
	const char *end = text + strnlen(text, USDT_ARGUMENTS_MAX);

	rest->at = text;
	for (;; number--) {
		bool within = false;

		rest->end = end;
		blanks_skip(rest);
		if (rest->at == end)
			return false;
		for (rest->end = rest->at; rest->end < end && (within || *rest->end != ' ');
		     rest->end++)
			within = *rest->end == '[' || (within && *rest->end != ']');
		if (!number)
			return true;
		rest->at = rest->end;
	}
}

/* "-4@": the size, negative if signed. */
static int size_read(struct rest *rest, struct usdt_argument *argument, const char **why)
{
	int64_t size;

	if (!number_take(rest, &size) || !size || size < -8 || size > 8)
		return -EINVAL;
	argument->is_signed = size < 0;
	argument->size = (uint8_t)(size < 0 ? -size : size);
	if (take(rest, 'f')) {
		*why = "this argument is no whole number (but float or double)";
		return -ENOTSUP;
	}
	return !(argument->size & (argument->size - 1)) && take(rest, '@') ? 0 : -EINVAL;
}

/* A variable, as in "40+name(%rip)": the linker resolves it in the code, but not here. */
static bool is_variable(const struct rest *rest)
{
	const char *at = rest->at;
	char c;

	while (at < rest->end && (is_digit(*at) || *at == '+' || *at == '-'))
		at++;
	c = at < rest->end ? *at : '0';
	return c == '_' || c == '.' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

int usdt_argument_read(struct usdt_argument *argument, enum register_machine machine,
		       const char *text, unsigned int number, const char **why)
{
	struct rest rest, start;
	int error;

	memset(argument, 0, sizeof(*argument));
	*why = "the probe has fewer arguments";
	if (!argument_find(&rest, text, number))
		return -ENOENT;
	*why = "what the file says about this argument cannot be understood";
	error = size_read(&rest, argument, why);
	if (error)
		return error;
	start = rest;
	argument->location = rest.at;
	argument->location_length = (size_t)(rest.end - rest.at);
	if ((machine == MACHINE_X86_64 ? x86_read(&rest, argument) : arm64_read(&rest, argument)) &&
	    rest.at == rest.end)
		return 0;
	if (!is_variable(&start))
		return -EINVAL;
	*why = "this argument is a global variable, whose address the file does not say";
	return -ENOTSUP;
}
