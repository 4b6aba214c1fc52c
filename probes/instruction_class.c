// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "instruction_class.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define LONGEST 16

#if defined(__x86_64__)

#define REX 0x40 /* to 0x4f */
#define OPERAND_SIZE 0x66
#define CS 0x2e /* what compilers fill nops up with */

static bool begins(const uint8_t *bytes, size_t n, const char *with, size_t length)
{
	return n >= length && !memcmp(bytes, with, length);
}

/* branch_setup_xol_ops() and push_setup_xol_ops() in arch/x86/kernel/uprobes.c. */
enum instruction_class instruction_classify(const uint8_t *bytes, size_t n)
{
	size_t prefixes = 0;
	uint8_t first, second;

	if (begins(bytes, n, "\xf3\x0f\x1e\xfa", 4))
		return CLASS_ENDBR;
	if (begins(bytes, n, "\x0f\x1f\x44\x00\x00", 5))
		return CLASS_NOP5;
	while (prefixes < n && (bytes[prefixes] == OPERAND_SIZE || bytes[prefixes] == CS))
		prefixes++;
	first = n > prefixes ? bytes[prefixes] : 0;
	second = n > prefixes + 1 ? bytes[prefixes + 1] : 0;
	if (first == 0x0f && second == 0x1f)
		return CLASS_NOP_LONG;
	if (first == 0x90)
		return prefixes ? CLASS_NOP_LONG : CLASS_NOP;
	if (prefixes)
		return CLASS_OTHER;
	if (first >= 0x50 && first <= 0x57)
		return CLASS_PUSH;
	if (first >= REX && first <= (REX | 15) && second >= 0x50 && second <= 0x57)
		return CLASS_PUSH_REX;
	if (first == 0xeb || first == 0xe9 || first == 0xe8 || (first & 0xf0) == 0x70 ||
	    (first == 0x0f && (second & 0xf0) == 0x80))
		return CLASS_BRANCH;
	return CLASS_OTHER;
}

#else

/* arch/arm64/kernel/probes/decode-insn.c. */
enum instruction_class instruction_classify(const uint8_t *bytes, size_t n)
{
	uint32_t code;

	if (n < sizeof(code))
		return CLASS_OTHER;
	memcpy(&code, bytes, sizeof(code));
	if (code == 0xd503201f)
		return CLASS_NOP;
	if ((code & 0xfffff000) == 0xd5032000) /* other hints: bti, paciasp */
		return CLASS_ENDBR;
	if ((code & 0xffc07fff) == 0xa9807bfd) /* stp x29, x30, [sp, #...]! */
		return CLASS_PUSH;
	if ((code & 0x7c000000) == 0x14000000 || /* b, bl */
	    (code & 0xff000010) == 0x54000000 || /* b.cond */
	    (code & 0x7c000000) == 0x34000000)   /* cbz, cbnz, tbz, tbnz */
		return CLASS_BRANCH;
	return CLASS_OTHER;
}

#endif

enum instruction_class instruction_class_read(int fd, uint64_t offset)
{
	uint8_t bytes[LONGEST];
	ssize_t n = pread(fd, bytes, sizeof(bytes), (off_t)offset);

	return n > 0 ? instruction_classify(bytes, (size_t)n) : CLASS_OTHER;
}
